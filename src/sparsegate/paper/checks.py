"""How each of the paper's statements is checked: results in, a judgement with its numbers out.

Every check makes a decision for each dataset, by the rule of ``decisions``, and one of all of them. Margins are our
reading of the paper's words: "clearly", "essentially", "quite accurate" and so on are not defined there.

Two rows compared, and what is decided at each dataset put together: what the checks of all statements share.

Checks of what the paper says without showing it: raises, thresholds that are off, noise without c, and large c.

The rule is that of ``decisions``; "much", "significantly" and "quite pronounced" are read as ``PRONOUNCED``.

Checks of what the paper says about its measures, FNR and SER, and about eps/c as the one thing that matters.

The check of the Introduction's statement on the uses: the correct gate in the place of the original one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean, median
from typing import TypeVar

import numpy as np

from sparsegate.paper.decisions import (
    MARGIN,
    Combine,
    Decision,
    Quantity,
    Term,
    above,
    all_of,
    any_of,
    at_most,
    empty_places,
    mean_of,
    mean_over_runs,
    most_of,
    opposite,
    rate,
    variance,
)
from sparsegate.paper.findings import (
    CLAIMED,
    CORRECTED,
    CellKey,
    Findings,
    Judgement,
    PlaceJudgement,
    Row,
    Support,
    UseRow,
    epsilon_text,
)
from sparsegate.paper.methods import DEFAULT_METHODS

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


ACCURATE, INACCURATE = 0.1, 0.7
"""Quite accurate: a SER of at most this. Very inaccurate: of more than this; the paper calls 0.705 meaningless."""

CLEARLY = 0.05
"""Clearly better: by more than this, in most cases."""

DEVIATES = 1.2
"""A significantly larger standard deviation: more than this many times as large."""

DISTANCE = 0.1
"""Two methods that lie this far apart in SER have a distance worth explaining."""

SVT_S = ("svt-s-1:1", "svt-s-1:3", "svt-s-1:c", "svt-s-1:c23")
INTERACTIVE = ("svt-dpbook", *SVT_S)


def accurate_at_25(findings: Findings) -> Judgement:
    """The highest SER of an interactive method at c = 25."""
    return _bounded(findings, [25], findings.datasets, above_it=False)


def inaccurate_on_zipf(findings: Findings) -> Judgement:
    """The lowest SER of an interactive method on Zipf from c = 100 on."""
    return _bounded(findings, [count for count in findings.counts if count >= 100], ["zipf"], above_it=True)


def _bounded(findings: Findings, counts: Sequence[int], datasets: Iterable[str], *, above_it: bool) -> Judgement:
    """Whether every interactive method is inaccurate, or accurate, at these c."""
    places = {}
    for dataset in datasets:
        found = [findings.get(dataset, key, count) for key in INTERACTIVE for count in counts]
        if rows := [row for row in found if row is not None]:
            row = (min if above_it else max)(rows, key=lambda row: row.ser_mean)
            text = f"{row.ser_text} ({row.method}, c = {row.count})"
            decisions = (above(rate(row), INACCURATE) if above_it else at_most(rate(row), ACCURATE) for row in rows)
            places[dataset] = (all_of(decisions), text)
    some(places, f"an interactive method at {'c >= 100 on zipf' if above_it else 'c = 25'}")
    return judged(findings, places, head=f"{'lowest' if above_it else 'highest'} SER: ")


def ordered(findings: Findings, pairs: Sequence[tuple[str, str]]) -> Judgement:
    """The first of each pair is never worse than the second, and better somewhere."""
    behind: dict[str, dict[str, list[Comparison]]] = {}
    ahead: list[Decision] = []
    texts: dict[str, list[str]] = {}
    for better, worse in pairs:
        cases = some(findings.beside(better, worse), f"{better} and {worse}")
        won: list[Comparison] = []
        for dataset, rows in cases.items():
            against = [higher(a, b) for a, b in rows]
            here = [higher(b, a) for a, b in rows]
            behind.setdefault(dataset, {})[f"{better} {worse}"] = against
            texts.setdefault(dataset, []).append(f"{better} vs {worse} {sides(against, here)}")
            won += here
        ahead.append(any_of(one.decision for one in won))
    places = {
        dataset: (
            all_of(opposite(one.decision) for against in found.values() for one in against),
            ", ".join(texts[dataset]),
        )
        for dataset, found in behind.items()
    }
    return judged(findings, places, also=ahead)


def first_ahead(findings: Findings, better: str, worse: str, *, largest_first: bool) -> Judgement:
    """Going through c from one end, the first at which the two differ has ``better`` ahead; on most datasets."""
    places = {}
    for dataset, rows in some(findings.beside(better, worse), f"{better} and {worse}").items():
        cases = rows[::-1] if largest_first else rows
        ahead, behind = [_ahead(a, b) for a, b in cases], [_ahead(b, a) for a, b in cases]
        decision = any_of(all_of([one, *map(opposite, behind[:i])]) for i, one in enumerate(ahead))
        won, lost = (
            [row.count for (row, _), one in zip(cases, found, strict=True) if one.support is Support.SUPPORTED]
            for found in (ahead, behind)
        )
        shown = f"{better} ahead at c = {_spans(findings.counts, won)}, {worse} at c = {_spans(findings.counts, lost)}"
        places[dataset] = (decision, shown)
    return judged(findings, places, combine=most_of)


def _ahead(row: Row, other: Row) -> Decision:
    """Whether one row has a lower SER or FNR than another, and neither of them higher."""
    metrics = ("ser", "fnr")
    lower = any_of(higher(other, row, metric).decision for metric in metrics)
    return all_of([lower, *(opposite(higher(row, other, metric).decision) for metric in metrics)])


def _spans(counts: Sequence[int], chosen: Iterable[int]) -> str:
    """Some of the values of c, neighbours as a span.

    >>> _spans([25, 50, 75, 100, 125], [25, 75, 100, 125]), _spans([25], [])
    ('25, 75 to 125', 'none')
    """
    groups: list[list[int]] = []
    for place in sorted(counts.index(count) for count in chosen):
        if groups and groups[-1][-1] == place - 1:
            groups[-1].append(place)
        else:
            groups.append([place])
    shown = [
        f"{counts[group[0]]} to {counts[group[-1]]}" if len(group) > 1 else str(counts[group[0]]) for group in groups
    ]
    return ", ".join(shown) or "none"


def deviates(findings: Findings) -> Judgement:
    """The ratio of standard deviations of total SER, 1:c over 1:c^(2/3), pooled over c: sqrt of the mean variance.

    Not of SER, where c items were not selected: a few runs far below 0 decide its variance, and how few nobody knows.
    """
    places = {}
    for dataset, rows in some(findings.beside("svt-s-1:c", "svt-s-1:c23"), "svt-s-1:c and svt-s-1:c23").items():
        if any(row.runs < 2 for pair in rows for row in pair):
            raise Missing("needs at least 2 runs")
        wide, narrow = (mean_of([variance(row) for row in side]) for side in zip(*rows, strict=True))
        of_ser = (fmean(row.ser_std**2 for row in side) for side in zip(*rows, strict=True))
        decision = above(wide - DEVIATES**2 * narrow, 0.0)
        places[dataset] = (decision, f"{_times(wide.value, narrow.value):.2f} times ({_times(*of_ser):.2f} in SER)")
    return judged(findings, places)


def _times(wide: float, narrow: float) -> float:
    return math.sqrt(wide / max(narrow, 1e-24))


def em_best(findings: Findings) -> Judgement:
    """How far EM is behind any retraversal, and ahead of the best."""
    places = {}
    for dataset in findings.datasets:
        pairs = [pair for key in findings.keys("svt-retr-") for pair in findings.beside("em", key).get(dataset, [])]
        if pairs:
            behind, ahead = [higher(a, b) for a, b in pairs], [higher(b, a) for a, b in pairs]
            places[dataset] = (all_of(opposite(one.decision) for one in behind), sides(behind, ahead))
    some(places, "em and a svt-retr")
    return judged(findings, places, head="SER of EM: ")


def clearly_better(findings: Findings, better: str, worse: str) -> Judgement:
    """``better`` is never worse than the other, and in most cases of each dataset better by a clear margin."""
    places = {}
    for dataset, rows in some(findings.beside(better, worse), f"{better} and {worse}").items():
        behind, ahead = [higher(a, b) for a, b in rows], [higher(b, a, margin=CLEARLY) for a, b in rows]
        decision = all_of([most_of(one.decision for one in ahead), *(opposite(one.decision) for one in behind)])
        most, least = (pick(ahead, key=lambda one: one.quantity.value) for pick in (max, min))
        clear = sum(one.sure for one in ahead)
        places[dataset] = (decision, f"clearly in {clear} of {len(rows)} cases; lead {least} to {most}")
    return judged(findings, places)


def the_same(findings: Findings, one: str, other: str) -> Judgement:
    """Two methods that differ nowhere by more than the margin, in either direction."""
    places = {}
    for dataset, rows in some(findings.beside(one, other), f"{one} and {other}").items():
        differences = [higher(*side) for a, b in rows for side in ((a, b), (b, a))]
        failed = sum(found.sure for found in differences)
        text = f"differ in {failed} of {len(rows)} cases; most {largest(differences)}"
        places[dataset] = (all_of(opposite(found.decision) for found in differences), text)
    return judged(findings, places)


def best_raise(findings: Findings) -> Judgement:
    """Whether every raise is beaten by another one at some c, in SER or FNR; in all, and on each dataset."""
    raises = [key for key in findings.keys("svt-retr-") if key != "svt-retr-0d"]
    if len(raises) < 2:
        raise Missing("needs two svt-retr or more")
    cases = some(findings.beside(*raises), " and ".join(raises))
    beaten: dict[str, dict[str, list[Comparison]]] = {}
    for dataset, found in cases.items():
        lost: dict[str, list[Comparison]] = {key: [] for key in raises}
        for rows in found:
            for metric in ("ser", "fnr"):
                for row in rows:
                    lost[row.method] += [higher(row, other, metric) for other in rows if other is not row]
        beaten[dataset] = lost
    places = {}
    for dataset, lost in beaten.items():
        decision = all_of(any_of(one.decision for one in found) for found in lost.values())
        texts = (f"{key} {largest(found)}" for key, found in lost.items())
        places[dataset] = (decision, f"most behind another: {', '.join(texts)}")
    # The statement is about all datasets: a raise that is best everywhere on one of them may be beaten on another.
    whole = all_of(any_of(one.decision for lost in beaten.values() for one in lost[key]) for key in raises)
    return judged(findings, places, combine=lambda _: whole)


def threshold_noise(findings: Findings) -> Judgement:
    """Whether the threshold noise of Alg. 1 removes half of DPBook's distance to SVT-S 1:1, in most cases that have it.

    Half is gone where (book + plain)/2 is at least the changed one; a case has the distance where book - plain is above
    ``DISTANCE``.
    """
    decided: dict[str, list[Decision]] = {}
    for dataset, rows in findings.beside("svt-dpbook", "svt-alg1", "svt-s-1:1").items():
        far = [(case, above(rate(case[0]) - rate(case[2]), DISTANCE)) for case in rows]
        members = [
            opposite(above(rate(changed) - 0.5 * (rate(book) + rate(plain)), 0.0))
            if distance.support is Support.SUPPORTED
            else distance
            for (book, changed, plain), distance in far
            if distance.support is not Support.NOT_SUPPORTED
        ]
        if members:
            decided[dataset] = members
    some(decided, "svt-alg1, svt-dpbook and svt-s-1:1 where the last two differ")
    places = {dataset: (most_of(members), _removed(findings, dataset)) for dataset, members in decided.items()}
    whole = most_of(one for members in decided.values() for one in members)
    return judged(findings, places, combine=lambda _: whole, head="share of the distance that goes, median of cases: ")


def _removed(findings: Findings, dataset: str) -> str:
    """The share of the distance that each change removes, (book - changed) / (book - plain): its median over c."""
    texts = []
    names = {"svt-alg1": "ρ of Alg. 1", "svt-dpbook-once": "ρ drawn once", "svt-dpbook-monotonic": "ν halved"}
    for key, name in names.items():
        shares = [
            (book.ser_mean - changed.ser_mean) / (book.ser_mean - plain.ser_mean)
            for book, changed, plain in findings.beside("svt-dpbook", key, "svt-s-1:1").get(dataset, [])
            if book.ser_mean - plain.ser_mean > DISTANCE
        ]
        texts += [f"{name} {median(shares):.0%}"] if shares else []
    return ", ".join(texts)


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
            shown = ", ".join(f"{row.method} {row.ser_text}" for row in rows)
            places[dataset] = (at_most(rate(rows[0]), INACCURATE), shown)
    if not places:
        raise Missing(f"needs em at c = {count} on a dataset of more items")
    return judged(findings, places, head=f"SER at c = {count}: ")


TOGETHER = 0.9
"""Rates that go together: a rank correlation of more than this."""

MOSTLY = 0.05
"""Mostly a matter of eps/c: SER differs by at most this on average, where eps/c is the same."""

BOOTSTRAPS = 200


def fnr_is_fpr(findings: Findings) -> Judgement:
    """The largest difference of FNR and FPR where every run selected c: an identity, so no interval is needed."""
    places = {}
    for dataset in findings.datasets:
        rows = [row for row in findings.rows.values() if row.dataset == dataset and row.selected_mean == row.count]
        if rows:
            most = max(abs(row.fnr_mean - row.fpr_mean) for row in rows)
            decision = Decision.sure(most < 1e-9, tuple(row.cell for row in rows))
            places[dataset] = (decision, f"{len(rows)} cases, largest difference {most:.1g}")
    return judged(findings, some(places, "a case with c selected"))


def fnr_with_ser(findings: Findings) -> Judgement:
    """Spearman's rank correlation over the paper's cases of each dataset."""
    places = {}
    for dataset in findings.datasets:
        found = (findings.get(dataset, key, count) for key in DEFAULT_METHODS for count in findings.counts)
        rows = [row for row in found if row is not None]
        if len(rows) > 2 and all(len({getattr(row, name) for row in rows}) > 1 for name in ("ser_mean", "fnr_mean")):
            correlation = _rank_correlation(rows)
            text = f"{correlation.value:.3f} ± {correlation.error:.3f}"
            places[dataset] = (above(correlation, TOGETHER), text)
    some(places, "three cases or more of a dataset")
    return judged(findings, places, head="rank correlation ")


def _rank_correlation(rows: Sequence[Row]) -> Quantity:
    """The correlation with an error by bootstrap: each mean moved by its standard error, and by what one run can do.

    So a mean of runs that were all the same moves, too, by 1/n of the way to 1. What moves is taken from the
    correlation found, not from its mean: noise hides a relation, and that bias counts.
    """
    from scipy.stats import rankdata

    means = np.array([[row.ser_mean for row in rows], [row.fnr_mean for row in rows]])
    seen = np.array([[row.error(measure) for row in rows] for measure in ("ser", "fnr")])
    errors = np.hypot(seen, (1 - np.clip(means, 0.0, 1.0)) / np.array([row.runs for row in rows]))
    noise = np.random.default_rng(0).standard_normal((BOOTSTRAPS + 1, *means.shape))
    noise[0] = 0.0
    ranks = rankdata(means + errors * noise, axis=-1)
    centred = ranks - ranks.mean(axis=-1, keepdims=True)
    products = (centred[:, 0] * centred[:, 1]).sum(axis=-1)
    found = products / np.sqrt((centred**2).sum(axis=-1).prod(axis=-1))
    error = math.sqrt(float(np.mean((found[1:] - found[0]) ** 2))) if min(row.runs for row in rows) > 1 else math.inf
    weights = np.hypot(*errors) + 1e-12  # a row has its share by how far its means move
    shares = (weights / np.linalg.norm(weights)).tolist()
    terms = {(row.cell, "rank"): Term(error * share) for row, share in zip(rows, shares, strict=True)}
    return Quantity(value=float(found[0]), terms=terms)


def epsilon_over_c(findings: Findings) -> Judgement:
    """Differences of SER between cases of one dataset and method that share eps/c: the mean of their sizes."""
    groups: dict[str, dict[tuple[str, str], list[Row]]] = {}
    for row in findings.rows.values():
        share = f"{row.epsilon / row.count:.9g}"
        groups.setdefault(row.dataset, {}).setdefault((row.method, share), []).append(row)
    places = {}
    for dataset, found in groups.items():
        pairs = [
            sorted(pair, key=lambda row: -row.ser_mean) for rows in found.values() for pair in combinations(rows, 2)
        ]
        if pairs:
            differences = [rate(a) - rate(b) for a, b in pairs]
            mean = mean_of(differences)
            a, b = max(pairs, key=lambda pair: pair[0].ser_mean - pair[1].ser_mean)
            text = (
                f"{len(pairs)} pairs, mean difference {mean.value:.3f} ± {mean.error:.3f}; most ({a.method}) "
                f"{a.ser_mean:.3f} at ε = {a.epsilon:g}, c = {a.count} and {b.ser_mean:.3f} at ε = {b.epsilon:g}, "
                f"c = {b.count}"
            )
            places[dataset] = (at_most(mean, MOSTLY), text)
    return judged(findings, some(places, "cases of the same eps/c"))


def less_accurate(findings: Findings) -> Judgement:
    """At some epsilon of each use, the correct gate misses pronouncedly more than the original at its claim."""
    places = {}
    for use in dict.fromkeys(row.use for row in findings.uses):
        rows = {(row.mechanism, row.epsilon): row for row in findings.uses if row.use == use}
        pairs = [
            (row, rows[CORRECTED, epsilon])
            for (mechanism, epsilon), row in rows.items()
            if mechanism == CLAIMED and (CORRECTED, epsilon) in rows
        ]
        if pairs:
            found = [_missed(corrected) - _missed(original) for original, corrected in pairs]
            most, (original, corrected) = max(zip(found, pairs, strict=True), key=lambda one: one[0].value)
            numbers = (
                f"{corrected.mean:.3f} against {original.mean:.3f}, {most.value:+.3f} ± {most.error:.3f} at "
                f"ε = {original.epsilon:g}, where the original costs {epsilon_text(original.true_epsilon)}"
            )
            decision = any_of(above(one, PRONOUNCED) for one in found)
            places[use] = (decision, numbers)
    some(places, "the uses, which `sparsegate reproduce` measures")
    # No round asks for more runs of them: they have theirs.
    return Judgement(
        support=all_of(decision for decision, _ in places.values()).support,
        numbers="share missed: " + "; ".join(f"{use}: {numbers}" for use, (_, numbers) in places.items()),
        places={
            use: PlaceJudgement(support=decision.support, numbers=numbers)
            for use, (decision, numbers) in places.items()
        },
    )


def _missed(row: UseRow) -> Quantity:
    cell = CellKey(row.use, row.mechanism, row.epsilon, 0)
    return mean_over_runs((cell, "missed"), row.mean, row.std, row.runs)
