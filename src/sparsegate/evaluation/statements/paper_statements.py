"""The paper's statements, each with a check that reads the results and nothing else.

A statement about how methods compare is checked on stand-ins, too, and the numbers name them. Every comparison is
decided by the rule of ``decisions``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sparsegate.evaluation.statements import checks, further_checks, metric_checks, use_checks
from sparsegate.evaluation.statements.checks import SVT_S
from sparsegate.evaluation.statements.comparisons import Missing
from sparsegate.evaluation.statements.decisions import most_wanting
from sparsegate.evaluation.statements.findings import Findings
from sparsegate.evaluation.statements.further_checks import RAISES
from sparsegate.evaluation.statements.judgements import CellKey, Checked, Judgement, PaperStatement, Support
from sparsegate.evaluation.statements.reference_values import VALUES

INTERACTIVE, NON_INTERACTIVE = "Sec. 6, interactive setting", "Sec. 6, non-interactive setting"
VARIANTS, RETRAVERSAL = "Sec. 3", "Sec. 5, SVT with retraversal"


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
        rule="pooled over c its standard deviation of total SER, which is SER where c were selected, is more than 1.2 "
        "times as large, on every dataset",
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
    PaperStatement(
        key="pronounced-over-1:1",
        claim="The advantage of 1:c and 1:c^(2/3) over 1:1 is quite pronounced.",
        rule="each has a SER lower by more than 0.1 at some c of every dataset",
        check=lambda findings: further_checks.pronounced(findings, "svt-s-1:1", ["svt-s-1:c"], ["svt-s-1:c23"]),
        where=INTERACTIVE,
    ),
    PaperStatement(
        key="pronounced-over-dpbook",
        claim="SVT-S 1:c^(2/3) is much better than SVT as it is used in the literature.",
        rule="its SER is lower by more than 0.1 than that of SVT-DPBook at some c of every dataset",
        check=lambda findings: further_checks.pronounced(findings, "svt-dpbook", ["svt-s-1:c23"]),
        where=NON_INTERACTIVE,
    ),
    PaperStatement(
        key="raise-improves",
        claim="Raising the threshold can significantly improve SVT-ReTr.",
        rule="some raise has a SER lower by more than 0.1 than no raise, at some c of every dataset",
        check=lambda findings: further_checks.pronounced(findings, "svt-retr-0d", RAISES),
        where=NON_INTERACTIVE,
    ),
    PaperStatement(
        key="5d",
        claim="A raise by 5D works well for Zipf, and for Kosarak and AOL at large c, but not as well for BMS-POS, and "
        "for Kosarak and AOL at small c.",
        rule="averaged over all c, over the larger or over the smaller half of them, the FNR of 5D is above that of a "
        "lesser raise by more than 0.02 where it works not as well, and nowhere else",
        check=further_checks.five_deviations,
        where=NON_INTERACTIVE,
    ),
    PaperStatement(
        key="threshold-too-high",
        claim="When T is high, fewer than c queries may be selected, which wastes the budget that is left.",
        rule="with T doubled, at some c of every dataset more than 0.1 of the c places stay empty and the total SER is "
        "higher by more than 0.02 than with T",
        check=further_checks.threshold_too_high,
        where=RETRAVERSAL,
    ),
    PaperStatement(
        key="threshold-too-low",
        claim="When T is low, c queries may be selected before later ones are met, however large these are.",
        rule="with T halved, at some c of every dataset at most 0.1 of the c places stay empty, and the FNR is higher "
        "by more than 0.1 than with T",
        check=further_checks.threshold_too_low,
        where=RETRAVERSAL,
    ),
    PaperStatement(
        key="retraversal-deals-with-it",
        claim="One can use a higher T, and retraverse the queries until c are selected.",
        rule="with T doubled, and as many passes as the reading allows (in ours a million), at most 0.02 of the places "
        "stay empty, and the total SER is not higher by more than 0.02 than in one pass with T, at every c",
        check=further_checks.retraversal_deals_with_it,
        where=RETRAVERSAL,
    ),
    PaperStatement(
        key="alg-2-worse",
        claim="The factor c in the threshold noise of Alg. 2 makes it much less accurate than Alg. 1.",
        rule="Alg. 1 has a SER lower by more than 0.1 than Alg. 2 at some c of every dataset",
        check=lambda findings: further_checks.pronounced(findings, "svt-dpbook", ["svt-alg1"]),
        where=VARIANTS,
    ),
    PaperStatement(
        key="without-c",
        claim="Query noise without the factor c gives better utility (and no privacy).",
        rule="Alg. 4 has a SER lower by more than 0.1 than SVT-S at the same split, 1:3, at some c of every dataset",
        check=lambda findings: further_checks.pronounced(findings, "svt-s-1:3", ["alg-4"]),
        where=VARIANTS,
    ),
    PaperStatement(
        key="c-400",
        claim="c can be quite large: up to 400 for frequent itemsets (Lee and Clifton), and of use there.",
        rule="at c = 400 EM has a SER of at most 0.7 on every dataset: the paper calls 0.705 meaningless. It says "
        "nothing of accuracy there; that a selection is of use is our reading",
        check=lambda findings: further_checks.of_use_at(findings, 400),
        where=VARIANTS,
    ),
    PaperStatement(
        key="c-140106",
        claim="c can be quite large: up to 140,106 for gradients (Shokri and Shmatikov), and of use there.",
        rule="at c = 140,106 EM has a SER of at most 0.7 on every dataset of more items, with the same reading",
        check=lambda findings: further_checks.of_use_at(findings, 140_106),
        where=VARIANTS,
    ),
    PaperStatement(
        key="uses-less-accurate",
        claim="With a correct SVT, frequent itemsets (LC14), feature selection (SCM14) and attribute pairs (CXZX15) "
        "would have significantly worse accuracy.",
        rule="at some ε of each use, the correct SVT misses a share of the c best that is higher by more than 0.1 than "
        "that of the original at the same claim; on made data, with the best threshold there is",
        check=use_checks.less_accurate,
        where="Sec. 1",
    ),
    *(value.statement for value in VALUES),
)
"""Every statement, the published values last."""


def check_all(findings: Findings, statements: Iterable[PaperStatement] = STATEMENTS) -> list[Checked]:
    """Check every statement, or those given; where the results lack what it needs, the judgement is "not run"."""
    found = []
    for statement in statements:
        try:
            judgement = statement.check(findings)
        except Missing as missing:
            judgement = Judgement(support=Support.NOT_RUN, numbers=str(missing))
        found.append(Checked(statement=statement, judgement=judgement))
    return found


@dataclass(kw_only=True)
class OpenStatements:
    """Statements that are run for until all are decided. A look checks those alone that the last one left undecided.

    When none of them is left, all are checked again: runs that were made for one may have moved another.
    """

    statements: Sequence[PaperStatement] = STATEMENTS
    undecided: Sequence[PaperStatement] = STATEMENTS

    def wanting(self, findings: Findings) -> dict[CellKey, float]:
        """What they want more runs of."""
        found = _undecided(findings, self.undecided) or _undecided(findings, self.statements)
        self.undecided = [one.statement for one in found] or self.statements
        return most_wanting(one.judgement.wanting for one in found)


def _undecided(findings: Findings, statements: Iterable[PaperStatement]) -> list[Checked]:
    return [one for one in check_all(findings, statements) if one.judgement.support is Support.UNDECIDED]
