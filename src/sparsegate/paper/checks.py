"""How each of the paper's statements is checked: results in, what they decide on each dataset out, by ``decisions``.

Margins are our reading of the paper's words, "clearly", "essentially", "quite accurate" and so on, which are not
defined there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import permutations
from statistics import fmean
from typing import NamedTuple

import numpy as np

from sparsegate.paper.decisions import (
    MARGIN,
    Combine,
    Decision,
    Quantity,
    Support,
    Term,
    above,
    all_of,
    any_of,
    at_most,
    derived,
    empty_places,
    mean_of,
    mean_over_runs,
    most_of,
    opposite,
    rate,
    variance,
)
from sparsegate.paper.methods import DEFAULT_METHODS
from sparsegate.paper.results import CLAIMED, CORRECTED, CellKey, Findings, Row, UseRow, epsilon_text

# Quite accurate: a SER of at most this. Very inaccurate: of more than this; the paper calls 0.705 meaningless.
ACCURATE, INACCURATE = 0.1, 0.7

CLEARLY = 0.05  # clearly better: by more than this, in most cases
PRONOUNCED = 0.1  # much, significantly or pronouncedly: by more than this
DEVIATES = 1.2  # A significantly larger standard deviation: more than this many times as large
DISTANCE = 0.1  # two methods that lie this far apart in SER have a distance worth explaining
TOGETHER = 0.9  # rates that go together: a rank correlation of more than this
MOSTLY = 0.5  # mostly a matter of eps/c: it explains more of the variance of SER than all the rest together

SPAN = 4  # small and large c: the largest is at least so many times the smallest

BOOTSTRAPS = 200

INTERACTIVE = ("svt-dpbook", "svt-s-1:1", "svt-s-1:3", "svt-s-1:c", "svt-s-1:c23")
RAISES = tuple(f"svt-retr-{k}d" for k in range(1, 6))
PLAIN = "svt-s-1:c23"
# SVT-DPBook with one part changed
CHANGES = {"svt-dpbook-monotonic": "ν halved", "svt-alg1": "ρ of Alg. 1", "svt-dpbook-once": "ρ drawn once"}

# A dataset or a use, what is decided there, and its numbers; "" is the whole, where that is no vote of all
Decided = tuple[str, Decision, str]


class Missing(Exception):
    """The results lack what a statement is about; the message says what."""


class _Comparison(NamedTuple):
    """A quantity with a decision on it; ``text`` says where it was measured."""

    quantity: Quantity
    decision: Decision
    text: str

    def __str__(self) -> str:
        value, low, high = self.quantity.value, self.quantity.lowest, self.quantity.highest
        return f"{value:+.3f} [{low:+.3f}, {high:+.3f}] ({self.text})"


def _higher(row: Row, other: Row, metric: str = "ser", margin: float = MARGIN) -> _Comparison:
    quantity = rate(row, metric) - rate(other, metric)
    return _Comparison(quantity, above(quantity, margin), f"{metric.upper()}, c = {row.count}")


def _gaps(pairs: Iterable[tuple[Row, ...]], lead: float = MARGIN) -> tuple[list[_Comparison], list[_Comparison]]:
    """Of each pair, whether the first is behind the second, and whether it is ahead of it by so much."""
    rows = list(pairs)
    return [_higher(a, b) for a, b in rows], [_higher(b, a, margin=lead) for a, b in rows]


def _largest(comparisons: Iterable[_Comparison]) -> _Comparison:
    return max(comparisons, key=lambda gap: (gap.decision.holds, gap.quantity.value))


def _most(comparisons: Iterable[_Comparison]) -> _Comparison:
    return max(comparisons, key=lambda gap: gap.quantity.value)


def _none(comparisons: Iterable[_Comparison]) -> Decision:
    return all_of(opposite(gap.decision) for gap in comparisons)


def _any(comparisons: Iterable[_Comparison]) -> Decision:
    return any_of(gap.decision for gap in comparisons)


def _sure(comparisons: Iterable[_Comparison]) -> int:
    return sum(gap.decision.holds for gap in comparisons)


def _sides(behind: Sequence[_Comparison], ahead: Sequence[_Comparison]) -> str:
    failed, wide = _sure(behind), sum(gap.decision.support is Support.UNDECIDED for gap in behind)
    undecided = f", undecided in {wide}" if wide else ""
    worst = f", most {_largest(behind)}" if failed or wide else ""
    return f"lower in {_sure(ahead)}, higher in {failed}{undecided} of {len(behind)} cases{worst}"


def _beside(findings: Findings, *methods: str) -> Iterable[tuple[str, list[tuple[Row, ...]]]]:
    """Each dataset with the rows of these methods side by side; Missing where no dataset has them."""
    if not (cases := findings.beside(*methods)):
        raise Missing(f"needs {' and '.join(methods)}")
    return cases.items()


def _rows(findings: Findings, methods: Sequence[str], counts: Sequence[int]) -> Iterator[tuple[str, list[Row]]]:
    for dataset in findings.datasets:
        cells = (findings.get(dataset, method, count) for method in methods for count in counts)
        if rows := [row for row in cells if row]:
            yield dataset, rows


def accurate(findings: Findings) -> Iterator[Decided]:
    """Every interactive method has a low SER at c = 25; shown is the highest."""
    for dataset, rows in _rows(findings, INTERACTIVE, [25]):
        yield dataset, all_of(at_most(rate(row), ACCURATE) for row in rows), _where(max(rows, key=_ser))


def inaccurate(findings: Findings) -> Iterator[Decided]:
    """Every interactive method has a high SER on Zipf from c = 100 on; shown is the lowest."""
    counts = [count for count in findings.counts if count >= 100]
    for dataset, rows in _rows(findings, INTERACTIVE, counts):
        if dataset == "zipf":
            yield dataset, all_of(above(rate(row), INACCURATE) for row in rows), _where(min(rows, key=_ser))


def _ser(row: Row) -> float:
    return row.ser_mean


def _where(row: Row) -> str:
    return f"{rate(row)} ({row.method}, c = {row.count})"


def ordered(findings: Findings, *pairs: tuple[str, str]) -> Iterator[Decided]:
    """The first of each pair is never worse than the second, and better somewhere."""
    lags: dict[str, list[_Comparison]] = {}
    texts: dict[str, list[str]] = {}
    somewhere: list[Decision] = []
    for better, worse in pairs:
        leads: list[_Comparison] = []
        for dataset, rows in _beside(findings, better, worse):
            behind, ahead = _gaps(rows)
            lags.setdefault(dataset, []).extend(behind)
            texts.setdefault(dataset, []).append(f"{better} vs {worse} {_sides(behind, ahead)}")
            leads += ahead
        somewhere.append(_any(leads))
    decisions = {dataset: _none(behind) for dataset, behind in lags.items()}
    yield from ((dataset, decision, ", ".join(texts[dataset])) for dataset, decision in decisions.items())
    yield "", all_of([all_of(decisions.values()), *somewhere]), ""


def _check_span(findings: Findings) -> None:
    """What is said of small or of large c needs both: the one c of a small run is neither."""
    if findings.counts[-1] < SPAN * findings.counts[0]:
        raise Missing(f"needs small and large c, the largest {SPAN} times the smallest")


def first_ahead(findings: Findings, better: str, worse: str, end: str) -> Iterator[Decided]:
    """Going through c from one end, "small" or "large", the first at which the two differ has ``better`` ahead."""
    _check_span(findings)
    for dataset, rows in _beside(findings, better, worse):
        cases = rows[::-1] if end == "large" else rows
        sides = [_ahead(a, b) for a, b in cases], [_ahead(b, a) for a, b in cases]
        won, lost = (
            _spans(findings.counts, [row.count for (row, _), lead in zip(cases, side, strict=True) if lead.holds])
            for side in sides
        )
        ahead, behind = sides
        decision = any_of(all_of([lead, *map(opposite, behind[:i])]) for i, lead in enumerate(ahead))
        yield dataset, decision, f"{better} ahead at c = {won}, {worse} at c = {lost}"


def _ahead(row: Row, other: Row) -> Decision:
    """Whether one row has a lower SER or FNR than another, and neither of them higher."""
    lower, upper = ([_higher(*rows, metric) for metric in ("ser", "fnr")] for rows in ((other, row), (row, other)))
    return all_of([_any(lower), *(opposite(gap.decision) for gap in upper)])


def _spans(counts: Sequence[int], chosen: Iterable[int]) -> str:
    """Some of the values of c, neighbours as a span: 25, 75 to 125."""
    spans: list[list[int]] = []
    for place in sorted(counts.index(count) for count in chosen):
        if spans and spans[-1][-1] == place - 1:
            spans[-1][1:] = [place]
        else:
            spans.append([place])
    return ", ".join(" to ".join(str(counts[end]) for end in span) for span in spans) or "none"


def deviates(findings: Findings) -> Iterator[Decided]:
    """The ratio of standard deviations of total SER, 1:c over 1:c^(2/3), pooled over c: sqrt of the mean variance.

    Not of SER, where c items were not selected: a few runs far below 0 decide its variance, and how few nobody knows.
    """
    for dataset, rows in _beside(findings, "svt-s-1:c", "svt-s-1:c23"):
        if any(row.runs < 2 for pair in rows for row in pair):
            raise Missing("needs at least 2 runs")
        wide, narrow = (mean_of([variance(row) for row in side]) for side in zip(*rows, strict=True))
        of_ser = [fmean(row.ser_std**2 for row in side) for side in zip(*rows, strict=True)]
        times, of_means = (math.sqrt(a / max(b, 1e-24)) for a, b in ((wide.value, narrow.value), of_ser))
        yield dataset, above(wide - DEVIATES**2 * narrow, 0.0), f"{times:.2f} times ({of_means:.2f} in SER)"


def em_best(findings: Findings) -> Iterator[Decided]:
    """EM is behind no retraversal."""
    pairs: dict[str, list[tuple[Row, ...]]] = {}
    for key in findings.keys("svt-retr-"):
        for dataset, cases in findings.beside("em", key).items():
            pairs.setdefault(dataset, []).extend(cases)
    for dataset, cases in pairs.items():
        behind, ahead = _gaps(cases)
        yield dataset, _none(behind), _sides(behind, ahead)


def clearly_better(findings: Findings, better: str, worse: str) -> Iterator[Decided]:
    """``better`` is never worse than the other, and in most cases of each dataset better by a clear margin."""
    for dataset, rows in _beside(findings, better, worse):
        behind, ahead = _gaps(rows, CLEARLY)
        decision = all_of([most_of(gap.decision for gap in ahead), *(opposite(gap.decision) for gap in behind)])
        least = min(ahead, key=lambda gap: gap.quantity.value)
        yield dataset, decision, f"clearly in {_sure(ahead)} of {len(rows)} cases; lead {least} to {_most(ahead)}"


def the_same(findings: Findings, method: str, other: str) -> Iterator[Decided]:
    """Two methods that differ nowhere by more than the margin, in either direction."""
    for dataset, rows in _beside(findings, method, other):
        differences = [_higher(*side) for a, b in rows for side in ((a, b), (b, a))]
        shown = f"differ in {_sure(differences)} of {len(rows)} cases; most {_largest(differences)}"
        yield dataset, _none(differences), shown


def best_raise(findings: Findings) -> Iterator[Decided]:
    """Every raise is beaten by another one at some c, on some dataset: it may be best everywhere on another."""
    raises = [key for key in findings.keys("svt-retr-") if key != "svt-retr-0d"]
    if len(raises) < 2:
        raise Missing("needs two svt-retr or more")
    beside = _beside(findings, *raises)
    if sum(len(cases) for _, cases in beside) < 2:
        raise Missing("needs two datasets or values of c: among one case there is always a best raise")
    beaten: dict[str, list[_Comparison]] = {key: [] for key in raises}
    for dataset, cases in beside:
        lost: dict[str, list[_Comparison]] = {key: [] for key in raises}
        for row, other in (pair for rows in cases for pair in permutations(rows, 2)):
            lost[row.method] += [_higher(row, other, metric) for metric in ("ser", "fnr")]
        for key, lags in lost.items():
            beaten[key] += lags
        shown = ", ".join(f"{key} {_largest(lags)}" for key, lags in lost.items())
        yield dataset, all_of(map(_any, lost.values())), f"most behind another: {shown}"
    yield "", all_of(map(_any, beaten.values())), ""


def threshold_noise(findings: Findings) -> Iterator[Decided]:
    """Half is gone where (book + plain)/2 is at least the changed one; where book - plain is above ``DISTANCE``."""
    votes: dict[str, list[Decision]] = {}
    for dataset, rows in findings.beside("svt-dpbook", "svt-alg1", "svt-s-1:1").items():
        for book, changed, plain in rows:
            far = above(rate(book) - rate(plain), DISTANCE)
            if far.holds:
                far = opposite(above(rate(changed) - 0.5 * (rate(book) + rate(plain)), 0.0))
            elif far.support is Support.NOT_SUPPORTED:
                continue
            votes.setdefault(dataset, []).append(far)
    shares = removed_shares(findings)
    for dataset, members in votes.items():
        parts = {CHANGES[key]: by_dataset.get(dataset) for key, by_dataset in shares.items()}
        shown = ", ".join(f"{name} {share.value:.0%}" for name, share in parts.items() if share)
        yield dataset, most_of(members), shown
    if votes:
        yield "", most_of(vote for members in votes.values() for vote in members), ""


def removed_shares(findings: Findings) -> dict[str, dict[str, Quantity]]:
    """By change and dataset: the sum over c of SER(book) - SER(changed), over that of SER(book) - SER(SVT-S 1:1).

    Over every c where the latter difference is more than ``DISTANCE``: nearer, there is nothing to explain. "" stands
    for all datasets together.
    """
    shares: dict[str, dict[str, Quantity]] = {}
    for key in CHANGES:
        removed: dict[str, list[tuple[Quantity, Quantity]]] = {}
        for dataset, cases in findings.beside("svt-dpbook", key, "svt-s-1:1").items():
            for book, changed, plain in cases:
                if book.ser_mean - plain.ser_mean > DISTANCE:
                    for place in (dataset, ""):
                        pair = (rate(book) - rate(changed), rate(book) - rate(plain))
                        removed.setdefault(place, []).append(pair)
        for dataset, pairs in removed.items():
            above, below = (mean_of(side) for side in zip(*pairs, strict=True))
            shares.setdefault(key, {})[dataset] = above / below
    return shares


def pronounced(findings: Findings, worse: str, *better: Sequence[str]) -> Iterator[Decided]:
    """Of each group one method has a SER that is pronouncedly lower than the other's, at some c of every dataset."""
    for dataset in findings.datasets:
        groups = [
            [
                (_higher(beaten, row, margin=PRONOUNCED), key)
                for key in group
                for row, beaten in findings.beside(key, worse).get(dataset, [])
            ]
            for group in better
        ]
        if all(groups):
            leads = (max(group, key=lambda pair: pair[0].quantity.value) for group in groups)
            decision = all_of(_any(gap for gap, _ in group) for group in groups)
            yield dataset, decision, ", ".join(f"{key} by {lead}" for lead, key in leads)


def five_deviations(findings: Findings) -> Iterator[Decided]:
    """Where 5D does as well as any lesser raise, and where not: FNR, the mean over small, large or all c."""
    _check_span(findings)
    middle = len(findings.counts) // 2
    small, large = findings.counts[:middle], findings.counts[middle:]
    well = {"zipf": findings.counts, "kosarak": large, "aol": large}
    poorly = {"bms-pos": findings.counts, "kosarak": small, "aol": small}
    for dataset in findings.datasets:
        good, poor = (_lags(findings, dataset, spans.get(dataset, ())) for spans in (well, poorly))
        decisions = [opposite(gap.decision) for gap in good]
        if decisions := decisions + [_any(poor)] * bool(poor):
            yield dataset, all_of(decisions), ", ".join(str(_most(group)) for group in (good, poor) if group)


def _lags(findings: Findings, dataset: str, counts: Sequence[int]) -> list[_Comparison]:
    """By how much the FNR of 5D is above that of each lesser raise, on average over these c."""
    lags = []
    for key in RAISES[:-1]:
        pairs = [pair for pair in findings.beside(RAISES[-1], key).get(dataset, []) if pair[0].count in counts]
        if pairs:
            lag = mean_of([rate(row, "fnr") - rate(lesser, "fnr") for row, lesser in pairs])
            text = f"{key}, mean FNR, c = {counts[0]} to {counts[-1]}"
            lags.append(_Comparison(lag, above(lag), text))
    return lags


def off(findings: Findings, keys: Sequence[str], what: str) -> Iterator[Decided]:
    """Methods whose threshold is off beside one with the right one, of which one is enough: see ``_OFF``.

    Shown is where the metric is most above.
    """
    decide, combine, metric = _OFF[what]
    cases: dict[str, list[list[tuple[Row, ...]]]] = {}
    for dataset, rows in (entry for key in keys for entry in _beside(findings, key, PLAIN)):
        cases.setdefault(dataset, []).append(rows)
    for dataset, by_method in cases.items():
        pairs = (pair for pairs in by_method for pair in pairs)
        off, right = max(pairs, key=lambda pair: rate(pair[0], metric).value - rate(pair[1], metric).value)
        shown = (
            f"{off.method}, c = {off.count}, {empty_places(off).value:.0%} of the places empty, FNR "
            f"{rate(off, 'fnr')} against {rate(right, 'fnr')}, total SER {rate(off, 'total_ser')} against "
            f"{rate(right, 'total_ser')}"
        )
        yield dataset, any_of(combine(all_of(decide(a, b)) for a, b in pairs) for pairs in by_method), shown


def _missed(off: Row, right: Row, metric: str = "total_ser", margin: float = MARGIN) -> Decision:
    return _higher(off, right, metric, margin=margin).decision


# What of a threshold that is off is decided at each c, beside the right one, how these are combined, and what is shown.
# Many places stay empty, and more of the total is missed; the places are filled, and many more of the top c are missed;
# they are filled, and no more of the total is missed.
_OFF: dict[str, tuple[Callable[[Row, Row], list[Decision]], Combine, str]] = {
    "wasted": (lambda a, b: [above(empty_places(a), PRONOUNCED), _missed(a, b)], any_of, "total_ser"),
    "too_early": (lambda a, b: [at_most(empty_places(a), PRONOUNCED), _missed(a, b, "fnr", PRONOUNCED)], any_of, "fnr"),
    "dealt_with": (lambda a, b: [at_most(empty_places(a)), opposite(_missed(a, b))], all_of, "total_ser"),
}

# What the paper names and says nothing of: a text, methods, and the values of c, or every c
_MEASURED = (
    ("c = 400, the largest of LC14's itemsets", ("em", "svt-retr-5d", PLAIN), (400,)),
    ("c = 140,106, the largest of SS15's gradients", ("em",), (140_106,)),
    ("T doubled, and retraversed a million times", ("svt-s-double-t-retr",), (25, 300)),
)


def measurements(findings: Findings) -> list[tuple[str, Row]]:
    """Rows that no claim of the paper is about, with what they are."""
    cases = ((text, _rows(findings, methods, counts)) for text, methods, counts in _MEASURED)
    return [(text, row) for text, by_dataset in cases for _, rows in by_dataset for row in rows]


def fnr_is_fpr(findings: Findings) -> Iterator[Decided]:
    """The largest difference of FNR and FPR where every run selected c: an identity, so no interval is needed."""
    for dataset in findings.datasets:
        rows = [row for row in findings.rows.values() if row.dataset == dataset and row.selected_mean == row.count]
        if rows:
            difference = max(abs(row.fnr_mean - row.fpr_mean) for row in rows)
            decision = Decision.sure(difference < 1e-9, tuple((row.cell, "fnr") for row in rows))
            yield dataset, decision, f"{len(rows)} cases, largest difference {difference:.1g}"


def fnr_with_ser(findings: Findings) -> Iterator[Decided]:
    """The rank correlation over the paper's cases of each dataset."""
    for dataset, rows in _rows(findings, DEFAULT_METHODS, findings.counts):
        if len(rows) > 2 and all(len({row.mean(measure) for row in rows}) > 1 for measure in ("ser", "fnr")):
            correlation = _rank_correlation(rows)
            yield dataset, above(correlation, TOGETHER), str(correlation)


def _rank_correlation(rows: Sequence[Row]) -> Quantity:
    """Spearman's, with an error by bootstrap: each mean moved by its standard error, and by what one run can do.

    So a mean of runs that were all the same moves, too, by 1/n of the way to 1 and of the least SER. What moves is
    taken from the correlation found, not from its mean: noise hides a relation, and that bias counts.
    """
    from scipy.stats import rankdata

    means = np.array([[row.mean(measure) for row in rows] for measure in ("ser", "fnr")])
    seen = np.array([[row.error(measure) for row in rows] for measure in ("ser", "fnr")])
    unseen = 1 - np.clip(means, 0.0, 1.0) - np.array([[row.ser_least for row in rows], [0.0] * len(rows)])
    errors = np.hypot(seen, unseen / np.array([row.runs for row in rows]))
    noise = np.random.default_rng(0).standard_normal((BOOTSTRAPS + 1, *means.shape))
    noise[0] = 0.0
    ranks = rankdata(means + errors * noise, axis=-1)
    centred = ranks - ranks.mean(axis=-1, keepdims=True)
    products = (centred[:, 0] * centred[:, 1]).sum(axis=-1)
    correlations = products / np.sqrt((centred**2).sum(axis=-1).prod(axis=-1))
    error = math.sqrt(float(np.mean((correlations[1:] - correlations[0]) ** 2)))
    error = error if min(row.runs for row in rows) > 1 else math.inf
    weights = np.hypot(*errors) + 1e-12  # a row has its share by how far its means move
    shares = (weights / np.linalg.norm(weights)).tolist()
    terms = {(row.cell, "rank"): Term(error * share) for row, share in zip(rows, shares, strict=True)}
    return Quantity(value=float(correlations[0]), terms=terms)


def epsilon_over_c(findings: Findings) -> Iterator[Decided]:
    """The share of the variance of SER that eps/c explains, over the cases of a method that share it with another.

    With x_i the SER of case i, m the mean of its method and g that of its method at its eps/c, it is

        1 - W / V,    W = sum (x_i - g)^2,    V = sum (x_i - m)^2,

    and moves with x_i by (2 (W/V) (x_i - m) - 2 (x_i - g)) / V, where x_i - g has the whole interval of x_i added.
    """
    groups: dict[str, dict[str, dict[str, list[Row]]]] = {}
    for row in findings.rows.values():
        by_share = groups.setdefault(row.dataset, {}).setdefault(row.method, {})
        by_share.setdefault(f"{row.epsilon / row.count:.9g}", []).append(row)
    for dataset, methods in groups.items():
        off: list[tuple[Row, float, float]] = []  # each case with its distance to m, and to g
        for by_share in methods.values():
            shared = [rows for rows in by_share.values() if len(rows) > 1]
            mean = fmean(row.ser_mean for rows in shared for row in rows) if shared else 0.0
            for rows in shared:
                own = fmean(row.ser_mean for row in rows)
                off += [(row, row.ser_mean - mean, row.ser_mean - own) for row in rows]
        if total := sum(from_mean**2 for _, from_mean, _ in off):
            left = sum(from_own**2 for _, _, from_own in off) / total
            slopes = []
            for row, from_mean, from_own in off:
                ser = rate(row)
                farthest = from_own + math.copysign(ser.highest - ser.lowest, from_own)
                slopes.append((ser, 2 * (left * from_mean - farthest) / total))
            explained = derived(1 - left, *slopes)
            row, _, most = max(off, key=lambda each: each[2])
            shown = f"{explained} of {len(off)} cases; most {most:.3f} from its mean ({row.method}, "
            yield dataset, above(explained, MOSTLY), f"{shown}ε = {row.epsilon:g}, c = {row.count})"


def less_accurate(findings: Findings) -> Iterator[Decided]:
    """At some epsilon of each use, the correct gate misses pronouncedly more than the original at its claim."""
    missed: dict[tuple[str, float], dict[str, tuple[UseRow, Quantity]]] = {}
    for row in findings.uses:
        source = (CellKey(row.use, row.mechanism, row.epsilon, 0), "missed")
        mean = mean_over_runs(source, row.mean, row.std, row.runs)
        missed.setdefault((row.use, row.epsilon), {})[row.mechanism] = row, mean
    losses: dict[str, list[tuple[Quantity, UseRow, UseRow]]] = {}
    for (use, _), rows in missed.items():
        if CORRECTED in rows and CLAIMED in rows:
            (row, mean), (original, original_mean) = rows[CORRECTED], rows[CLAIMED]
            losses.setdefault(use, []).append((mean - original_mean, original, row))
    for use, several in losses.items():
        loss, original, row = max(several, key=lambda each: each[0].value)
        numbers = (
            f"{row.mean:.3f} against {original.mean:.3f}, higher by {loss} at "
            f"ε = {original.epsilon:g}, where the original costs {epsilon_text(original.true_epsilon)}"
        )
        yield use, any_of(above(each, PRONOUNCED) for each, _, _ in several), numbers
