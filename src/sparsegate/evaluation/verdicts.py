"""What a check says, and when one method counts as worse than another."""

from __future__ import annotations

import enum
import math
from collections.abc import Iterable
from dataclasses import dataclass

from sparsegate.evaluation.findings import Row

MARGIN = 0.01
"""A difference of rates that matters at all."""

SIGMAS = 4.0
"""A difference that is not chance, in standard errors: false alarm 3e-5 for each comparison."""


class Verdict(enum.Enum):
    """What the results say about a statement."""

    SUPPORTED = "supported"
    NOT_SUPPORTED = "not supported"
    NOT_COMPARABLE = "not comparable"
    NOT_RUN = "not run"

    @classmethod
    def of(cls, holds: bool) -> Verdict:
        """Supported or not."""
        return cls.SUPPORTED if holds else cls.NOT_SUPPORTED


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """A verdict and the numbers it hangs on."""

    verdict: Verdict
    numbers: str


@dataclass(frozen=True, kw_only=True)
class Excess:
    """By how much the error of one row exceeds that of another, and whether that counts."""

    row: Row
    other: Row
    metric: str
    difference: float
    counts: bool

    def __str__(self) -> str:
        return f"{self.difference:+.3f} in {self.metric.upper()} ({self.row.place}, c = {self.row.count})"


def excess(row: Row, other: Row, metric: str = "ser") -> Excess:
    """Compare two rows: an excess counts if it is beyond both the margin and chance."""
    difference = getattr(row, f"{metric}_mean") - getattr(other, f"{metric}_mean")
    chance = SIGMAS * math.hypot(getattr(row, f"{metric}_error"), getattr(other, f"{metric}_error"))
    return Excess(
        row=row, other=other, metric=metric, difference=difference, counts=bool(difference > max(MARGIN, chance))
    )


def largest(found: Iterable[Excess]) -> Excess:
    """The largest excess, those that count first."""
    return max(found, key=lambda one: (one.counts, one.difference))
