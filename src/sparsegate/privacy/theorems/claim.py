"""What a claim is, and how a measurement becomes a verdict.

A claim is cut into parts, each of which is one number held against what is said of it. The verdict follows
from the parts alone:

    holds and is tight   every part holds, and every bound is met within 0.1 %
    holds                every part holds
    over-claims          some parts hold and some fail: a weaker claim is true
    wrong                no part holds

``expected`` records this project's position on a claim; no check reads it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction

from sparsegate.budget import Allocation, Number, advanced, allocation_ratio, exact_epsilon
from sparsegate.mechanisms.approximate import renyi_bound
from sparsegate.mechanisms.bounded_range import round_epsilon
from sparsegate.mechanisms.bounds import Loss, outcome_loss
from sparsegate.mechanisms.exponential import selection_rate
from sparsegate.mechanisms.noisy_scores import noisy_scale
from sparsegate.mechanisms.variants import VARIANTS, Variant

ROUNDING = 1e-9
"""Absolute and relative: what the quadrature may add to a loss."""

NEAR = 1e-3
"""A bound is tight if the measurement comes within this share of it."""


class ClaimVerdict(StrEnum):
    """What a measurement says about a claim."""

    TIGHT = "holds and is tight"
    HOLDS = "holds"
    OVER_CLAIMS = "over-claims"
    WRONG = "wrong"


@dataclass(frozen=True, kw_only=True)
class ClaimPart:
    """One measured number beside the number claimed; ``tight`` is None where the part is no bound."""

    what: str
    measured: float
    relation: str
    claimed: float
    holds: bool
    tight: bool | None = None


def at_most(what: str, measured: float, bound: float) -> ClaimPart:
    """An upper bound: it fails where the measurement exceeds it, and is tight where the measurement reaches it.

    >>> at_most("loss", 0.9999, 1.0).tight, at_most("loss", 1.01, 1.0).holds
    (True, False)
    """
    return ClaimPart(
        what=what,
        measured=measured,
        relation="<=",
        claimed=bound,
        holds=measured <= bound + _slack(bound),
        tight=measured >= bound * (1 - NEAR),
    )


def at_least(what: str, measured: float, bound: float) -> ClaimPart:
    """A lower bound, with the same tolerances."""
    return ClaimPart(
        what=what,
        measured=measured,
        relation=">=",
        claimed=bound,
        holds=measured >= bound - _slack(bound),
        tight=measured <= bound * (1 + NEAR),
    )


def within(what: str, measured: float, limit: float) -> ClaimPart:
    """An upper limit that nobody says is reached."""
    return ClaimPart(
        what=what, measured=measured, relation="<=", claimed=limit, holds=measured <= limit + _slack(limit)
    )


def exceeds(what: str, measured: float, limit: float) -> ClaimPart:
    """More than the limit, by more than rounding."""
    return ClaimPart(what=what, measured=measured, relation=">", claimed=limit, holds=measured > limit + _slack(limit))


def equals(what: str, measured: float, value: float) -> ClaimPart:
    """The same number up to rounding; infinities are equal."""
    same = measured == value or math.isclose(measured, value, rel_tol=ROUNDING, abs_tol=ROUNDING)
    return ClaimPart(what=what, measured=measured, relation="=", claimed=value, holds=same)


def _slack(bound: float) -> float:
    return ROUNDING * (1 + abs(bound)) if math.isfinite(bound) else 0.0


@dataclass(frozen=True, kw_only=True)
class Measured:
    """The parts of a claim, and one line that says what was seen."""

    parts: tuple[ClaimPart, ...]
    evidence: str


def verdict(parts: Sequence[ClaimPart]) -> ClaimVerdict:
    """The verdict that follows from the parts, and from nothing else.

    >>> verdict([at_most("loss", 1.0, 1.0)]), verdict([at_most("loss", 0.7, 1.0)]), verdict([at_most("loss", 2.0, 1.0)])
    (<ClaimVerdict.TIGHT: 'holds and is tight'>, <ClaimVerdict.HOLDS: 'holds'>, <ClaimVerdict.WRONG: 'wrong'>)
    """
    if not all(part.holds for part in parts):
        return ClaimVerdict.OVER_CLAIMS if any(part.holds for part in parts) else ClaimVerdict.WRONG
    bounds = [part.tight for part in parts if part.tight is not None]
    return ClaimVerdict.TIGHT if bounds and all(bounds) else ClaimVerdict.HOLDS


def _laplace_scale(epsilon: Number) -> Fraction:
    return 1 / exact_epsilon(epsilon)


@dataclass(frozen=True, kw_only=True)
class Subject:
    """What the claims are measured on: this library's rows and rules. Swap one for another, and the checks must notice.

    ``laplace_scale`` is the scale of the Laplace mechanism at Delta = 1.
    """

    rows: Mapping[str, Variant] = field(default_factory=lambda: VARIANTS)
    laplace_scale: Callable[[Number], Fraction] = _laplace_scale
    selection_rate: Callable[..., Fraction] = selection_rate
    ratio: Callable[..., Fraction] = allocation_ratio
    advanced: Callable[..., float] = advanced
    outcome_loss: Callable[..., Loss] = outcome_loss
    noisy_scale: Callable[..., Fraction] = noisy_scale
    round_epsilon: Callable[..., Fraction] = round_epsilon
    renyi_bound: Callable[..., float] = renyi_bound

    def allocation(self, cutoff: int, *, monotonic: bool, rule: Allocation = "optimal") -> Fraction:
        """The number r of the split eps1 : eps2 = 1 : r."""
        return self.ratio(rule, cutoff=cutoff, monotonic=monotonic)


@dataclass(frozen=True, kw_only=True)
class ClaimFinding:
    """What a check saw."""

    key: str
    verdict: ClaimVerdict
    evidence: str
    parts: tuple[ClaimPart, ...]


@dataclass(frozen=True, kw_only=True)
class Claim:
    """One claim: its place or source, what it says, how it is measured, and the verdict this project documents."""

    key: str
    place: str
    statement: str
    expected: ClaimVerdict
    measure: Callable[[Subject], Measured]

    def check(self, subject: Subject | None = None) -> ClaimFinding:
        """Measure the claim, on this library's own rows unless told otherwise."""
        measured = self.measure(Subject() if subject is None else subject)
        return ClaimFinding(
            key=self.key, verdict=verdict(measured.parts), evidence=measured.evidence, parts=measured.parts
        )
