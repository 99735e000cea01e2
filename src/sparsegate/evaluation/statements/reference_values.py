"""Published values, and those of our own independent simulation: which rows can meet them, and whether they do.

A published value of a real dataset says nothing about a stand-in for it, nor about a part of it scaled up, and the
other way round; ``kinds`` says on which kind of dataset a value can be met. Where the stand-in was fitted to the value,
meeting it is circular.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sparsegate.evaluation.data.datasets import OWN, UNVERIFIED
from sparsegate.evaluation.experiment.readings import OURS
from sparsegate.evaluation.statements.checks import SVT_S
from sparsegate.evaluation.statements.decisions import Decision, above, all_of, at_most, rate
from sparsegate.evaluation.statements.findings import Findings, Row
from sparsegate.evaluation.statements.judgements import Judgement, PaperStatement, PlaceJudgement, Support

PAPER = "printed in the paper, 100 runs"
CHECK = "independent per-item simulation, 30 runs"
THEIR_ERRORS = 4.0
"""A published mean may be this many of its own standard errors off."""

_NAMES = {
    "stand-in": "a stand-in",
    "scaled": "a part of the data, scaled",
    "real": "the whole data",
    "rescaled": "another total",
    UNVERIFIED: "an unverified file",
    OWN: "a file of its own",
}


@dataclass(frozen=True, kw_only=True)
class ReferenceValue:
    """A mean SER at epsilon 0.1, to this many digits, of this many runs; with ``below`` only a bound on it is known.

    ``fitted``: the dataset's stand-in was made to have this value.
    """

    dataset: str
    method: str
    count: int
    ser: float
    digits: int
    runs: int
    kinds: tuple[str, ...]
    source: str
    below: bool = False
    fitted: bool = False

    @property
    def statement(self) -> PaperStatement:
        """The value as a statement."""
        printed = self.source == PAPER
        return PaperStatement(
            key=f"value-{self.dataset}-{self.count}-{self.method}-{self.kinds[0]}",
            claim=f"{self.dataset}, c = {self.count}, ε = 0.1: {self.method} has a SER "
            f"{'below' if self.below else 'of'} {self.ser:.{self.digits}f} ({self.source}).",
            rule="at most that" if self.below else "equal within rounding and four of its own standard errors",
            check=self.check,
            kind="printed" if printed else "self-check",
            where="Sec. 6" if printed else "our own",
        )

    def __str__(self) -> str:
        return f"{'< ' if self.below else ''}{self.ser:.{self.digits}f}"

    def check(self, findings: Findings) -> Judgement:
        """Compare with the results; the other side's Monte Carlo error is taken to be like ours."""
        row = findings.get(self.dataset, self.method, self.count, 0.1)
        if row is None:
            return Judgement(support=Support.NOT_RUN, numbers="")
        numbers = f"SER {row.ser_mean:.3f} ± {row.ser_error:.3f}"
        kind = findings.datasets[self.dataset]["kind"]
        decision = self.decide(row)
        support, wanting = decision.support, decision.wanting
        if self.source == CHECK and kind in self.kinds and findings.reading != OURS:
            support, wanting, numbers = Support.NOT_COMPARABLE, {}, f"{numbers}, but of another reading"
        elif kind not in self.kinds:
            support, wanting = Support.NOT_COMPARABLE, {}
            numbers += f", but on {_NAMES.get(kind, kind)}"
            if self.fitted and kind == "stand-in":
                support, numbers = Support.CIRCULAR, f"{numbers} that was fitted to this value"
        places = {self.dataset: PlaceJudgement(support=support, numbers=numbers, cells=(row.cell,))}
        return Judgement(support=support, numbers=numbers, places=places, wanting=wanting)

    def decide(self, row: Row) -> Decision:
        """Whether the row agrees with the value, within rounding and the value's own Monte Carlo error."""
        if self.below:
            return at_most(rate(row), self.ser)
        tolerance = 0.5 * 10**-self.digits + THEIR_ERRORS * row.ser_std / self.runs**0.5
        return all_of([at_most(rate(row), self.ser + tolerance), above(rate(row), self.ser - tolerance)])


def _values(
    dataset: str,
    count: int,
    sers: Mapping[str, float],
    *,
    digits: int,
    kind: str,
    below: bool = False,
    fitted: bool = False,
) -> tuple[ReferenceValue, ...]:
    source, runs = (PAPER, 100) if kind == "real" else (CHECK, 30)
    return tuple(
        ReferenceValue(
            dataset=dataset,
            method=method,
            count=count,
            ser=ser,
            digits=digits,
            runs=runs,
            kinds=(kind,),
            source=source,
            below=below,
            fitted=fitted,
        )
        for method, ser in sers.items()
    )


_ON_ZIPF_100 = {
    "svt-dpbook": 0.970,
    "svt-s-1:1": 0.960,
    "svt-s-1:3": 0.949,
    "svt-s-1:c23": 0.950,
    "em": 0.261,
    "svt-retr-1d": 0.839,
    "svt-retr-3d": 0.273,
    "svt-retr-5d": 0.274,
}
_ON_KOSARAK_50 = {"svt-s-1:1": 0.066, "svt-s-1:3": 0.015, "svt-s-1:c23": 0.005, "em": 0.000}
_ON_KOSARAK_100 = {"svt-dpbook": 0.973, "svt-s-1:1": 0.904, "svt-s-1:3": 0.643, "svt-s-1:c23": 0.353, "em": 0.034}

VALUES = (
    *_values("kosarak", 50, {"svt-dpbook": 0.705}, digits=3, kind="real"),
    *_values("kosarak", 50, dict.fromkeys(SVT_S, 0.05), digits=2, kind="real", below=True),
    *_values("aol", 150, {"em": 0.15, "svt-s-1:c23": 0.59, "svt-s-1:1": 0.99}, digits=2, kind="real", fitted=True),
    *_values("zipf", 100, _ON_ZIPF_100, digits=3, kind="exact"),
    *_values("kosarak", 50, {"svt-dpbook": 0.66}, digits=2, kind="scaled"),
    *_values("kosarak", 50, _ON_KOSARAK_50, digits=3, kind="scaled"),
    *_values("kosarak", 100, _ON_KOSARAK_100, digits=3, kind="scaled"),
)
"""Every value; the scaled ones are of the first 100,000 records of Kosarak."""
