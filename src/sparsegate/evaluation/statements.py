"""The paper's statements, each with a check that reads the results and nothing else.

A statement about how methods compare is checked on stand-ins, too, and the numbers name them; a published value is not
(see ``published``). A comparison counts only if it is beyond both 0.01 and four standard errors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sparsegate.evaluation import checks
from sparsegate.evaluation.findings import Findings
from sparsegate.evaluation.reference_values import VALUES
from sparsegate.evaluation.verdicts import Outcome, Verdict


@dataclass(frozen=True, kw_only=True)
class Statement:
    """``claim`` is the paper's, in our words; ``rule`` is what counts as support; ``check`` applies it."""

    key: str
    claim: str
    rule: str
    check: Callable[[Findings], Outcome]


@dataclass(frozen=True, kw_only=True)
class Checked:
    """A statement with what the results say about it."""

    statement: Statement
    outcome: Outcome


STATEMENTS = (
    Statement(
        key="accurate-at-25",
        claim="At c = 25 every interactive method is quite accurate.",
        rule="SER below 0.1 for all of them on every dataset, within four standard errors",
        check=checks.accurate_at_25,
    ),
    Statement(
        key="inaccurate-on-zipf",
        claim="On Zipf with c ≥ 100 every interactive method is very inaccurate.",
        rule="SER of at least 0.7 for all of them, within four standard errors; the paper calls 0.705 meaningless",
        check=checks.inaccurate_on_zipf,
    ),
    Statement(
        key="dpbook-worst",
        claim="SVT-DPBook performs worst of the interactive methods.",
        rule="no SVT-S has a higher SER at any dataset and c, and each has a lower one somewhere",
        check=lambda findings: checks.ordered(findings, [(key, "svt-dpbook") for key in checks.SVT_S]),
    ),
    Statement(
        key="allocations",
        claim="1:c^(2/3) and 1:c are better than 1:3, which is better than 1:1.",
        rule="the better one never has a higher SER, and a lower one somewhere",
        check=lambda findings: checks.ordered(
            findings, [("svt-s-1:c23", "svt-s-1:3"), ("svt-s-1:c", "svt-s-1:3"), ("svt-s-1:3", "svt-s-1:1")]
        ),
    ),
    Statement(
        key="1:c-at-large-c",
        claim="1:c is better than 1:c^(2/3) at large c.",
        rule="over the larger half of c its mean SER is lower, on most datasets",
        check=lambda findings: checks.halves(findings, "svt-s-1:c", "svt-s-1:c23", large=True),
    ),
    Statement(
        key="1:c23-at-small-c",
        claim="1:c^(2/3) is better than 1:c at small c.",
        rule="over the smaller half of c its mean SER is lower, on most datasets",
        check=lambda findings: checks.halves(findings, "svt-s-1:c23", "svt-s-1:c", large=False),
    ),
    Statement(
        key="1:c-deviates",
        claim="1:c has a significantly larger standard deviation than 1:c^(2/3).",
        rule="averaged over c its standard deviation of SER is at least 1.2 times as large, on every dataset",
        check=checks.deviates,
    ),
    Statement(
        key="em-best",
        claim="EM is at least as good as SVT-ReTr with any raise of the threshold.",
        rule="no SVT-ReTr has a lower SER at any dataset and c",
        check=checks.em_best,
    ),
    Statement(
        key="retraversal-alone",
        claim="SVT-ReTr without a raise performs essentially as SVT-S 1:c^(2/3) does.",
        rule="no difference of SER counts, in either direction",
        check=checks.retraversal_alone,
    ),
    Statement(
        key="best-raise",
        claim="The best raise of the threshold depends on the dataset and on c.",
        rule="every raise has a higher SER or FNR than the best one at some dataset and c",
        check=checks.best_raise,
    ),
    Statement(
        key="fnr-is-fpr",
        claim="When c items are selected, FNR and FPR are the same.",
        rule="equal in every cell whose runs all selected c",
        check=checks.fnr_is_fpr,
    ),
    Statement(
        key="fnr-with-ser",
        claim="FNR and SER go together.",
        rule="rank correlation over all cells of at least 0.9, on every dataset",
        check=checks.fnr_with_ser,
    ),
    Statement(
        key="epsilon-over-c",
        claim="Accuracy hangs mostly on ε/c, so other values of ε can be read off at other values of c.",
        rule="two cells of a method with the same ε/c and different c differ by at most 0.05 in SER, on average",
        check=checks.epsilon_over_c,
    ),
    Statement(
        key="dpbook-threshold-noise",
        claim="SVT-DPBook performs poorly because of its large threshold noise, of scale cΔ/ε₁.",
        rule="with the threshold noise of Alg. 1 instead, at least half of its distance to SVT-S 1:1 is gone",
        check=checks.threshold_noise,
    ),
    *(
        Statement(
            key=f"value-{value.dataset}-{value.count}-{value.method}-{value.kinds[0]}",
            claim=f"{value.dataset}, c = {value.count}, ε = 0.1: {value.method} has a SER "
            f"{'below' if value.below else 'of'} {value.ser:.{value.digits}f} ({value.source}).",
            rule="equal within rounding and four standard errors"
            if not value.below
            else "not above, within four standard errors",
            check=value.check,
        )
        for value in VALUES
    ),
)
"""Every statement, the published values last."""


def check_all(findings: Findings) -> list[Checked]:
    """Check every statement; where the results lack what it needs, the verdict is "not run"."""
    found = []
    for statement in STATEMENTS:
        try:
            outcome = statement.check(findings)
        except checks.Missing as missing:
            outcome = Outcome(verdict=Verdict.NOT_RUN, numbers=str(missing))
        found.append(Checked(statement=statement, outcome=outcome))
    return found
