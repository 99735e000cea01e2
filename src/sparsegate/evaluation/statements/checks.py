"""How each of the paper's statements is checked: results in, a judgement with its numbers out.

Every check makes a decision for each dataset, by the rule of ``decisions``, and one of all of them. Margins are our
reading of the paper's words: "clearly", "essentially", "quite accurate" and so on are not defined there.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import fmean, median

from sparsegate.evaluation.statements.comparisons import (
    Comparison,
    Missing,
    higher,
    judged,
    largest,
    sides,
    some,
)
from sparsegate.evaluation.statements.decisions import (
    Decision,
    above,
    all_of,
    any_of,
    at_most,
    mean_of,
    most_of,
    opposite,
    rate,
    variance,
)
from sparsegate.evaluation.statements.findings import Findings, Row
from sparsegate.evaluation.statements.judgements import Judgement, Support

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
            text = f"{row.ser_mean:.3f} ± {row.ser_error:.3f} ({row.method}, c = {row.count})"
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
