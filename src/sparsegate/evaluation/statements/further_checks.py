"""Checks of what the paper says without showing it: raises, thresholds that are off, noise without c, and large c.

The rule is that of ``decisions``; "much", "significantly" and "quite pronounced" are read as ``PRONOUNCED``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sparsegate.evaluation.statements.checks import INACCURATE
from sparsegate.evaluation.statements.comparisons import Comparison, Missing, higher, judged, some
from sparsegate.evaluation.statements.decisions import (
    Combine,
    Decision,
    above,
    all_of,
    any_of,
    at_most,
    empty_places,
    mean_of,
    opposite,
    rate,
)
from sparsegate.evaluation.statements.findings import Findings, Row
from sparsegate.evaluation.statements.judgements import Judgement

PRONOUNCED = 0.1
"""Much, significantly or pronouncedly: by more than this."""

RAISES = tuple(f"svt-retr-{k}d" for k in range(1, 6))
PLAIN = "svt-s-1:c23"


def pronounced(findings: Findings, worse: str, *better: Sequence[str]) -> Judgement:
    """Of each group one method has a SER that is pronouncedly lower than the other's, at some c of every dataset."""
    places = {}
    for dataset in findings.datasets:
        groups = [
            [
                (key, higher(beaten, row, margin=PRONOUNCED))
                for key in group
                for row, beaten in findings.beside(key, worse).get(dataset, [])
            ]
            for group in better
        ]
        if all(groups):
            decision = all_of(any_of(one.decision for _, one in group) for group in groups)
            leads = (max(group, key=lambda pair: pair[1].quantity.value) for group in groups)
            places[dataset] = (decision, ", ".join(f"{key} by {lead}" for key, lead in leads))
    some(places, f"{worse} and {', '.join(key for group in better for key in group)}")
    return judged(findings, places, head=f"most ahead of {worse}: ")


def five_deviations(findings: Findings) -> Judgement:
    """Where 5D does as well as any lesser raise, and where not: FNR, the mean over small, large or all c."""
    middle = len(findings.counts) // 2
    small, large = findings.counts[:middle], findings.counts[middle:]
    well = {"zipf": findings.counts, "kosarak": large, "aol": large}
    poorly = {"bms-pos": findings.counts, "kosarak": small, "aol": small}
    places = {}
    for dataset in findings.datasets:
        good, poor = (_behind(findings, dataset, spans.get(dataset, ())) for spans in (well, poorly))
        decisions = [opposite(one.decision) for one in good]
        decisions += [any_of(one.decision for one in poor)] if poor else []
        if decisions:
            most = (max(group, key=lambda one: one.quantity.value) for group in (good, poor) if group)
            places[dataset] = (all_of(decisions), ", ".join(map(str, most)))
    some(places, "svt-retr-5d and a lesser raise on a dataset of the paper")
    return judged(findings, places, head="5D most behind a lesser raise: ")


def _behind(findings: Findings, dataset: str, counts: Sequence[int]) -> list[Comparison]:
    """By how much the FNR of 5D is above that of each lesser raise, on average over these c."""
    found = []
    for key in RAISES[:-1]:
        pairs = [pair for pair in findings.beside(RAISES[-1], key).get(dataset, []) if pair[0].count in counts]
        if pairs:
            lag = mean_of([rate(row, "fnr") - rate(lesser, "fnr") for row, lesser in pairs])
            text = f"{key}, mean FNR, c = {counts[0]} to {counts[-1]}"
            found.append(Comparison(quantity=lag, decision=above(lag), text=text))
    return found


def threshold_too_high(findings: Findings) -> Judgement:
    """T doubled: at some c many places stay empty, and more of the total score is missed than with T."""

    def wasted(off: Row, right: Row) -> Decision:
        return all_of([above(empty_places(off), PRONOUNCED), higher(off, right, "total_ser").decision])

    return _off(findings, "svt-s-double-t", wasted, any_of, metric="total_ser")


def threshold_too_low(findings: Findings) -> Judgement:
    """T halved: at some c the places are filled, and many more of the true top c are missed than with T."""

    def too_early(off: Row, right: Row) -> Decision:
        return all_of([at_most(empty_places(off), PRONOUNCED), higher(off, right, "fnr", margin=PRONOUNCED).decision])

    return _off(findings, "svt-s-half-t", too_early, any_of, metric="fnr")


def retraversal_deals_with_it(findings: Findings) -> Judgement:
    """T doubled, and retraversed: at every c the places are filled, and no more of the total score is missed."""

    def dealt_with(off: Row, right: Row) -> Decision:
        return all_of([at_most(empty_places(off)), opposite(higher(off, right, "total_ser").decision)])

    return _off(findings, "svt-s-double-t-retr", dealt_with, all_of, metric="total_ser")


def _off(
    findings: Findings, key: str, decide: Callable[[Row, Row], Decision], combine: Combine, *, metric: str
) -> Judgement:
    """A method whose threshold is off beside the same with the right one; shown where the metric is most above."""
    places = {}
    for dataset, rows in some(findings.beside(key, PLAIN), key).items():
        off, right = max(rows, key=lambda pair: higher(pair[0], pair[1], metric).quantity.value)
        shown = (
            f"c = {off.count}, {empty_places(off).value:.0%} of the places empty, FNR {off.fnr_mean:.3f} against "
            f"{right.fnr_mean:.3f}, total SER {off.total_ser_mean:.3f} against {right.total_ser_mean:.3f}"
        )
        places[dataset] = (combine(decide(*pair) for pair in rows), shown)
    return judged(findings, places, head="where it is worst: ")


def of_use_at(findings: Findings, count: int) -> Judgement:
    """Whether EM, the best that the paper has, is not very inaccurate at a c that the paper names."""
    places = {}
    for dataset in findings.datasets:
        rows = [row for key in ("em", "svt-retr-5d", PLAIN) if (row := findings.get(dataset, key, count))]
        if rows and rows[0].method == "em":
            shown = ", ".join(f"{row.method} {row.ser_mean:.3f} ± {row.ser_error:.3f}" for row in rows)
            places[dataset] = (at_most(rate(rows[0]), INACCURATE), shown)
    if not places:
        raise Missing(f"needs em at c = {count} on a dataset of more items")
    return judged(findings, places, head=f"SER at c = {count}: ")
