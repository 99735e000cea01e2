"""Two rows compared, and what is decided at each dataset put together: what the checks of all statements share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from sparsegate.evaluation.statements.decisions import MARGIN, Combine, Decision, Quantity, above, all_of, rate
from sparsegate.evaluation.statements.findings import Findings, Row
from sparsegate.evaluation.statements.judgements import Judgement, PlaceJudgement, Support

_T = TypeVar("_T")


class Missing(Exception):
    """The results lack what a statement is about; the message says what."""


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """A quantity with a decision on it; ``text`` says where it was measured."""

    quantity: Quantity
    decision: Decision
    text: str

    @property
    def sure(self) -> bool:
        """Whether it is supported."""
        return self.decision.support is Support.SUPPORTED

    def __str__(self) -> str:
        return f"{self.quantity.value:+.3f} ± {self.quantity.error:.3f} ({self.text})"


def higher(row: Row, other: Row, metric: str = "ser", margin: float = MARGIN) -> Comparison:
    """Whether the error of one row is above that of another by more than a margin."""
    quantity = rate(row, metric) - rate(other, metric)
    text = f"{metric.upper()}, c = {row.count}"
    return Comparison(quantity=quantity, decision=above(quantity, margin), text=text)


def largest(found: Iterable[Comparison]) -> Comparison:
    """The largest difference, those that are sure first."""
    return max(found, key=lambda one: (one.sure, one.quantity.value))


def some(found: Mapping[str, _T], what: str) -> Mapping[str, _T]:
    """The findings by dataset, or Missing where there are none."""
    if not found:
        raise Missing(f"needs {what}")
    return found


def judged(
    findings: Findings,
    places: Mapping[str, tuple[Decision, str]],
    *,
    also: Sequence[Decision] = (),
    combine: Combine = all_of,
    head: str = "",
) -> Judgement:
    """The judgement of what was decided, and said, at each dataset; ``also`` must be supported, too."""
    decision = combine(decision for decision, _ in places.values())
    decision = all_of([decision, *also]) if also else decision
    shown = "; ".join(f"{findings.place(dataset)}: {text}" for dataset, (_, text) in places.items())
    return Judgement(
        support=decision.support,
        numbers=head + shown,
        places={
            dataset: PlaceJudgement(support=one.support, numbers=text, cells=one.cells)
            for dataset, (one, text) in places.items()
        },
        wanting=decision.wanting,
    )


def sides(against: Sequence[Comparison], ahead: Sequence[Comparison]) -> str:
    """In how many cases one method is higher or lower than another."""
    lower, failed = sum(one.sure for one in ahead), sum(one.sure for one in against)
    wide = sum(one.decision.support is Support.UNDECIDED for one in against)
    parts = [f"lower in {lower}", f"higher in {failed}", *([f"undecided in {wide}"] if wide else [])]
    worst = f", most {largest(against)}" if failed or wide else ""
    return f"{', '.join(parts)} of {len(against)} cases{worst}"
