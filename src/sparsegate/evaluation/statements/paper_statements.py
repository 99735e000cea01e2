"""The paper's statements and values, each with a check that reads the results and nothing else.

A statement about how methods compare is checked on stand-ins, too, and the numbers name them. A published value of a
real dataset says nothing about a stand-in for it, nor about a part of it scaled up, and the other way round; ``kinds``
says on which kind of dataset a value can be met. A comparison counts only if it is beyond both 0.01 and four standard
errors.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sparsegate.evaluation.statements import checks
from sparsegate.evaluation.statements.checks import SIGMAS, SVT_S, Judgement, Support
from sparsegate.evaluation.statements.findings import Findings, Row

PAPER = "printed in the paper, 100 runs"
CHECK = "independent per-item simulation, 30 runs"
_NAMES = {"stand-in": "a stand-in", "scaled": "a part of the data, scaled", "real": "the whole data"}


@dataclass(frozen=True, kw_only=True)
class PaperStatement:
    """``claim`` is the paper's, in our words; ``rule`` is what counts as support; ``check`` applies it."""

    key: str
    claim: str
    rule: str
    check: Callable[[Findings], Judgement]


@dataclass(frozen=True, kw_only=True)
class Checked:
    """A statement with what the results say about it."""

    statement: PaperStatement
    judgement: Judgement


@dataclass(frozen=True, kw_only=True)
class ReferenceValue:
    """A mean SER at epsilon 0.1, to this many digits, of this many runs; with ``below`` only a bound on it is known."""

    dataset: str
    method: str
    count: int
    ser: float
    digits: int
    runs: int
    kinds: tuple[str, ...]
    source: str
    below: bool = False

    @property
    def statement(self) -> PaperStatement:
        """The value as a statement."""
        return PaperStatement(
            key=f"value-{self.dataset}-{self.count}-{self.method}-{self.kinds[0]}",
            claim=f"{self.dataset}, c = {self.count}, ε = 0.1: {self.method} has a SER "
            f"{'below' if self.below else 'of'} {self.ser:.{self.digits}f} ({self.source}).",
            rule="not above, within four standard errors"
            if self.below
            else "equal within rounding and four standard errors",
            check=self.check,
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
        if kind not in self.kinds:
            return Judgement(support=Support.NOT_COMPARABLE, numbers=f"{numbers}, but on {_NAMES.get(kind, kind)}")
        return Judgement.of(self.holds(row), numbers)

    def holds(self, row: Row) -> bool:
        """Whether the row agrees with the value, within rounding and Monte Carlo error."""
        theirs = 0.0 if self.below else row.ser_std / self.runs**0.5
        tolerance = 0.5 * 10**-self.digits + SIGMAS * math.hypot(row.ser_error, theirs)
        excess = row.ser_mean - self.ser
        return bool(excess <= tolerance and (self.below or excess >= -tolerance))


def _values(
    dataset: str, count: int, sers: Mapping[str, float], *, digits: int, kind: str, below: bool = False
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
    *_values("aol", 150, {"em": 0.15, "svt-s-1:c23": 0.59, "svt-s-1:1": 0.99}, digits=2, kind="real"),
    *_values("zipf", 100, _ON_ZIPF_100, digits=3, kind="exact"),
    *_values("kosarak", 50, {"svt-dpbook": 0.66}, digits=2, kind="scaled"),
    *_values("kosarak", 50, _ON_KOSARAK_50, digits=3, kind="scaled"),
    *_values("kosarak", 100, _ON_KOSARAK_100, digits=3, kind="scaled"),
)
"""Every value; the scaled ones are of the first 100,000 records of Kosarak."""


STATEMENTS = (
    PaperStatement(
        key="accurate-at-25",
        claim="At c = 25 every interactive method is quite accurate.",
        rule="SER below 0.1 for all of them on every dataset, within four standard errors",
        check=checks.accurate_at_25,
    ),
    PaperStatement(
        key="inaccurate-on-zipf",
        claim="On Zipf with c ≥ 100 every interactive method is very inaccurate.",
        rule="SER of at least 0.7 for all of them, within four standard errors; the paper calls 0.705 meaningless",
        check=checks.inaccurate_on_zipf,
    ),
    PaperStatement(
        key="dpbook-worst",
        claim="SVT-DPBook performs worst of the interactive methods.",
        rule="no SVT-S has a higher SER at any dataset and c, and each has a lower one somewhere",
        check=lambda findings: checks.ordered(findings, [(key, "svt-dpbook") for key in SVT_S]),
    ),
    PaperStatement(
        key="allocations",
        claim="1:c^(2/3) and 1:c are better than 1:3, which is better than 1:1.",
        rule="the better one never has a higher SER, and a lower one somewhere",
        check=lambda findings: checks.ordered(
            findings, [("svt-s-1:c23", "svt-s-1:3"), ("svt-s-1:c", "svt-s-1:3"), ("svt-s-1:3", "svt-s-1:1")]
        ),
    ),
    PaperStatement(
        key="1:c-at-large-c",
        claim="1:c is better than 1:c^(2/3) at large c.",
        rule="over the larger half of c its mean SER is lower, on most datasets",
        check=lambda findings: checks.halves(findings, "svt-s-1:c", "svt-s-1:c23", large=True),
    ),
    PaperStatement(
        key="1:c23-at-small-c",
        claim="1:c^(2/3) is better than 1:c at small c.",
        rule="over the smaller half of c its mean SER is lower, on most datasets",
        check=lambda findings: checks.halves(findings, "svt-s-1:c23", "svt-s-1:c", large=False),
    ),
    PaperStatement(
        key="1:c-deviates",
        claim="1:c has a significantly larger standard deviation than 1:c^(2/3).",
        rule="averaged over c its standard deviation of SER is at least 1.2 times as large, on every dataset",
        check=checks.deviates,
    ),
    PaperStatement(
        key="em-best",
        claim="EM is at least as good as SVT-ReTr with any raise of the threshold.",
        rule="no SVT-ReTr has a lower SER at any dataset and c",
        check=checks.em_best,
    ),
    PaperStatement(
        key="retraversal-alone",
        claim="SVT-ReTr without a raise performs essentially as SVT-S 1:c^(2/3) does.",
        rule="no difference of SER counts, in either direction",
        check=checks.retraversal_alone,
    ),
    PaperStatement(
        key="best-raise",
        claim="The best raise of the threshold depends on the dataset and on c.",
        rule="every raise has a higher SER or FNR than the best one at some dataset and c",
        check=checks.best_raise,
    ),
    PaperStatement(
        key="fnr-is-fpr",
        claim="When c items are selected, FNR and FPR are the same.",
        rule="equal in every case whose runs all selected c",
        check=checks.fnr_is_fpr,
    ),
    PaperStatement(
        key="fnr-with-ser",
        claim="FNR and SER go together.",
        rule="rank correlation over all cases of at least 0.9, on every dataset",
        check=checks.fnr_with_ser,
    ),
    PaperStatement(
        key="epsilon-over-c",
        claim="Accuracy depends mostly on ε/c, so other values of ε can be read off at other values of c.",
        rule="two cases of a method with the same ε/c and different c differ by at most 0.05 in SER, on average",
        check=checks.epsilon_over_c,
    ),
    PaperStatement(
        key="dpbook-threshold-noise",
        claim="SVT-DPBook performs poorly because of its large threshold noise, of scale cΔ/ε₁.",
        rule="with the threshold noise of Alg. 1 instead, at least half of its distance to SVT-S 1:1 is gone",
        check=checks.threshold_noise,
    ),
    *(value.statement for value in VALUES),
)
"""Every statement, the published values last."""


def check_all(findings: Findings) -> list[Checked]:
    """Check every statement; where the results lack what it needs, the judgement is "not run"."""
    found = []
    for statement in STATEMENTS:
        try:
            judgement = statement.check(findings)
        except checks.Missing as missing:
            judgement = Judgement(support=Support.NOT_RUN, numbers=str(missing))
        found.append(Checked(statement=statement, judgement=judgement))
    return found
