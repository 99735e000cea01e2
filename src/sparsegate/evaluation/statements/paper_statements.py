"""The paper's statements, each with a check that reads the results and nothing else.

A statement about how methods compare is checked on stand-ins, too, and the numbers name them. Every comparison is
decided by the rule of ``decisions``.
"""

from __future__ import annotations

from sparsegate.evaluation.statements import checks, metric_checks
from sparsegate.evaluation.statements.checks import SVT_S
from sparsegate.evaluation.statements.comparisons import Missing
from sparsegate.evaluation.statements.findings import Findings
from sparsegate.evaluation.statements.judgements import Checked, Judgement, PaperStatement, Support
from sparsegate.evaluation.statements.reference_values import VALUES

INTERACTIVE, NON_INTERACTIVE = "Sec. 6, interactive setting", "Sec. 6, non-interactive setting"


STATEMENTS = (
    PaperStatement(
        key="accurate-at-25",
        claim="At c = 25 every interactive method is quite accurate.",
        rule="SER of at most 0.1 for all of them on every dataset",
        check=checks.accurate_at_25,
        where=INTERACTIVE,
    ),
    PaperStatement(
        key="inaccurate-on-zipf",
        claim="On Zipf with c ≥ 100 every interactive method is very inaccurate.",
        rule="SER of more than 0.7 for all of them; the paper calls 0.705 meaningless",
        check=checks.inaccurate_on_zipf,
        where=INTERACTIVE,
    ),
    PaperStatement(
        key="dpbook-worst",
        claim="SVT-DPBook performs worst of the interactive methods.",
        rule="no SVT-S has a SER higher by more than 0.02 at any dataset and c, and each has a lower one somewhere",
        check=lambda findings: checks.ordered(findings, [(key, "svt-dpbook") for key in SVT_S]),
        where=INTERACTIVE,
    ),
    PaperStatement(
        key="allocations",
        claim="1:c^(2/3) and 1:c are better than 1:3, which is better than 1:1.",
        rule="the better one never has a SER higher by more than 0.02, and a lower one somewhere",
        check=lambda findings: checks.ordered(
            findings, [("svt-s-1:c23", "svt-s-1:3"), ("svt-s-1:c", "svt-s-1:3"), ("svt-s-1:3", "svt-s-1:1")]
        ),
        where=INTERACTIVE,
    ),
    PaperStatement(
        key="1:c-at-large-c",
        claim="1:c is better than 1:c^(2/3) at large c.",
        rule="at the largest c where SER or FNR differ by more than 0.02 they are lower for it, on most datasets",
        check=lambda findings: checks.first_ahead(findings, "svt-s-1:c", "svt-s-1:c23", largest_first=True),
        where=INTERACTIVE,
    ),
    PaperStatement(
        key="1:c23-at-small-c",
        claim="1:c^(2/3) is better than 1:c at small c.",
        rule="at the smallest c where SER or FNR differ by more than 0.02 they are lower for it, on most datasets",
        check=lambda findings: checks.first_ahead(findings, "svt-s-1:c23", "svt-s-1:c", largest_first=False),
        where=INTERACTIVE,
    ),
    PaperStatement(
        key="1:c-deviates",
        claim="1:c has a significantly larger standard deviation than 1:c^(2/3).",
        rule="pooled over c its standard deviation of SER is more than 1.2 times as large, on every dataset",
        check=checks.deviates,
        where=INTERACTIVE,
    ),
    PaperStatement(
        key="em-clearly-better",
        claim="EM performs clearly better than SVT-ReTr.",
        rule="without a raise, SVT-ReTr has a SER higher by more than 0.05 in most cases of every dataset, and nowhere "
        "one lower by more than 0.02",
        check=lambda findings: checks.clearly_better(findings, "em", "svt-retr-0d"),
        where=NON_INTERACTIVE,
    ),
    PaperStatement(
        key="em-best",
        claim="Even with the best raise of the threshold, SVT-ReTr performs no better than EM.",
        rule="no SVT-ReTr has a SER lower by more than 0.02 at any dataset and c",
        check=checks.em_best,
        where=NON_INTERACTIVE,
    ),
    PaperStatement(
        key="retraversal-alone",
        claim="SVT-ReTr without a raise performs essentially as SVT-S 1:c^(2/3) does.",
        rule="no two SER are more than 0.02 apart, in either direction",
        check=lambda findings: checks.the_same(findings, "svt-retr-0d", "svt-s-1:c23"),
        where=NON_INTERACTIVE,
    ),
    PaperStatement(
        key="best-raise",
        claim="The best raise of the threshold depends on the dataset and on c.",
        rule="every raise has a SER or FNR higher by more than 0.02 than another at some dataset and c",
        check=checks.best_raise,
        where=NON_INTERACTIVE,
    ),
    PaperStatement(
        key="fnr-is-fpr",
        claim="When c items are selected, FNR and FPR are the same.",
        rule="equal in every case whose runs all selected c",
        check=metric_checks.fnr_is_fpr,
        where="Sec. 6, utility measures",
    ),
    PaperStatement(
        key="fnr-with-ser",
        claim="FNR and SER go together.",
        rule="rank correlation over all cases of more than 0.9, on every dataset",
        check=metric_checks.fnr_with_ser,
        where="Sec. 6, utility measures",
    ),
    PaperStatement(
        key="epsilon-over-c",
        claim="Accuracy depends mostly on ε/c, so other values of ε can be read off at other values of c.",
        rule="two cases of a method with the same ε/c and different c differ by at most 0.05 in SER, on average, on "
        "every dataset",
        check=metric_checks.epsilon_over_c,
        where="Sec. 6, setup",
    ),
    PaperStatement(
        key="dpbook-threshold-noise",
        claim="SVT-DPBook performs poorly because of its large threshold noise, of scale cΔ/ε₁.",
        rule="with the threshold noise of Alg. 1 instead, at least half of its distance in SER to SVT-S 1:1 is gone, "
        "in most cases where that is more than 0.1",
        check=checks.threshold_noise,
        where=INTERACTIVE,
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
        except Missing as missing:
            judgement = Judgement(support=Support.NOT_RUN, numbers=str(missing))
        found.append(Checked(statement=statement, judgement=judgement))
    return found
