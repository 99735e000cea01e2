"""What the results say about a statement: in all, and at each dataset, with the rows that it depends on."""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sparsegate.evaluation.statements.findings import Findings


class Support(enum.Enum):
    """What the results say about a statement."""

    SUPPORTED = "supported"
    NOT_SUPPORTED = "not supported"
    UNDECIDED = "undecided"
    NOT_COMPARABLE = "not comparable"
    CIRCULAR = "circular"
    NOT_RUN = "not run"


KINDS = ("statement", "printed", "self-check")
"""The paper's statement, a number printed in the paper, or a number of our own independent simulation."""


@dataclass(frozen=True, order=True)
class CellKey:
    """Which row of the results: one dataset, method, epsilon and c."""

    dataset: str
    method: str
    epsilon: float
    count: int


@dataclass(frozen=True, kw_only=True)
class PlaceJudgement:
    """What the results on one dataset say, and the rows it was read off."""

    support: Support
    numbers: str
    cells: tuple[CellKey, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """What all results say, the numbers that it depends on, and the same at each dataset.

    ``wanting`` are the rows that need more runs for a decision, and how many times as many: none, once there is one.
    """

    support: Support
    numbers: str
    places: Mapping[str, PlaceJudgement] = field(default_factory=dict)
    wanting: Mapping[CellKey, float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class PaperStatement:
    """``claim`` is the paper's, in our words; ``rule`` is what counts as support; ``check`` applies it.

    ``kind`` is one of ``KINDS``; ``where`` is the place in the paper.
    """

    key: str
    claim: str
    rule: str
    check: Callable[[Findings], Judgement]
    kind: str = "statement"
    where: str


@dataclass(frozen=True, kw_only=True)
class Checked:
    """A statement with what the results say about it."""

    statement: PaperStatement
    judgement: Judgement


@dataclass(frozen=True)
class VerdictTally:
    """How many statements, printed numbers and self-checks there are of each support."""

    counts: Mapping[str, Counter[Support]]

    def __str__(self) -> str:
        """One sentence.

        >>> counts = {"statement": Counter({Support.SUPPORTED: 2, Support.UNDECIDED: 1})}
        >>> str(VerdictTally({**counts, "printed": Counter({Support.CIRCULAR: 3}), "self-check": Counter()}))
        '2 of 3 statements supported, 1 undecided; 0 of 3 printed numbers comparable; 0 of 0 self-checks met'
        """
        statements = self.counts["statement"]
        parts = [f"{statements[Support.SUPPORTED]} of {statements.total()} statements supported"]
        others = (Support.NOT_SUPPORTED, Support.UNDECIDED, Support.NOT_COMPARABLE, Support.CIRCULAR, Support.NOT_RUN)
        names = {Support.NOT_SUPPORTED: "not"}
        parts += [f"{statements[one]} {names.get(one, one.value)}" for one in others if statements[one]]
        printed, own = self.counts["printed"], self.counts["self-check"]
        met = f", {printed[Support.SUPPORTED]} met" if self.comparable("printed") else ""
        return (
            f"{', '.join(parts)}; {self.comparable('printed')} of {printed.total()} printed numbers comparable{met}; "
            f"{own[Support.SUPPORTED]} of {self.comparable('self-check')} self-checks met"
        )

    def comparable(self, kind: str) -> int:
        """How many of a kind could be compared with the results at all."""
        return sum(self.counts[kind][one] for one in (Support.SUPPORTED, Support.NOT_SUPPORTED, Support.UNDECIDED))


def tally(checked: Iterable[Checked]) -> VerdictTally:
    """How many were supported: "9 of 15 statements supported, ...", a sentence as ``str``."""
    counts: dict[str, Counter[Support]] = {kind: Counter() for kind in KINDS}
    for one in checked:
        counts[one.statement.kind][one.judgement.support] += 1
    return VerdictTally(counts)
