"""The event that tells two samples apart best: cells in order of likelihood ratio, as many as promise most.

One part of the training runs orders the cells of a partition by the observed log ratio less its standard error; another
estimates the probabilities of each initial segment of that order, and the one is chosen that promises the largest bound
at the sample size of the certification. Both directions are tried, and *magnified pairs*: inputs that lie A times as
far apart differ by up to A epsilon, and show the same structure with A^2 times fewer runs. Certification magnifies
nothing.

A partition is learned from training samples and then fixed: ``cells`` is a function of one outcome alone. So scores
are sums and comparisons of numbers of its own row, column after column, and no matrix product, whose last bit depends
on how many rows there are: docs/explanation/proofs_in_words/auditor.md.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import NormalDist
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sparsegate.auditor.betting import promise, promised_rho
from sparsegate.auditor.encoding import BITS, UNKNOWN, Integers, Reals, Sample, Shape, joined, outcome_text

Cells = NDArray[np.intp]
Keys = NDArray[np.uint64]
_DENSE: Final = 1 << 16
_ODD: Final = np.uint64(0x9E3779B97F4A7C15)
_MOST_ATOMS: Final = 1 << 13
_FREQUENT: Final = 1 / 500
_MOST_GROUPS: Final = 256
_FEW_VALUES: Final = 12
_RUNS_A_CELL: Final = 25
_BESIDE: Final = 3
_CUTS: Final = 63


def keys(word: Integers, columns: Reals) -> Keys:
    """One key for each outcome, equal for equal outcomes; two different ones share a key once in 10^19.

    A collision merges two outcomes into one: it can hide an event, but cannot make a bound wrong. Without columns the
    key is the word.
    """
    key = word.astype(np.uint64)
    for column in columns.T:
        # -0.0 is 0.0, and there is one NaN.
        bits = np.where(np.isnan(column), np.nan, column + 0.0).view(np.uint64)
        # Small whole numbers have all their bits at the top, where a product would lose them.
        key = (key ^ (key >> np.uint64(29)) ^ bits ^ (bits >> np.uint64(32))) * _ODD
    return key


def place_of(wanted: Keys, known: Keys) -> Cells:
    """The place of each key in a sorted list, or the length of the list for a key that is not in it."""
    if not known.size:
        return np.zeros(wanted.size, dtype=np.intp)
    span = int(known[-1] - known[0]) + 1
    if span < _DENSE:  # bits of one shape: a table with a place for each is quicker than a search
        table = np.full(span + 1, known.size, dtype=np.intp)
        table[(known - known[0]).astype(np.intp)] = np.arange(known.size)
        # What is smaller than the first wraps around, to beyond the table.
        dense: Cells = table[np.minimum(wanted - known[0], np.uint64(span)).astype(np.intp)]
        return dense
    place = np.minimum(np.searchsorted(known, wanted), known.size - 1)
    return np.where(known[place] == wanted, place, known.size)


@dataclass(frozen=True, kw_only=True)
class Bins:
    """Groups of outcomes that agree in their ``discrete`` columns; ``cuts`` slice numeric columns of some groups.

    The cells of a group count from ``first``; the last cell is for all the rest. ``blunt`` says that some group varies
    in several numbers at once, where a grid is coarse and a score may do better.
    """

    width: int
    size: int
    discrete: Cells
    known: Keys
    examples: Sample
    first: Cells
    cuts: dict[int, tuple[tuple[int, Reals], ...]]
    blunt: bool = False

    @staticmethod
    def atoms(sample: Sample) -> tuple[Bins, int]:
        """A cell for each outcome that came up more than once, and how many there were in all.

        Of outcomes with numbers only the frequent ones: groups do the rest.
        """
        width = sample.columns.shape[1]
        distinct, first, count = np.unique(keys(sample.word, sample.columns), return_index=True, return_counts=True)
        keep = np.flatnonzero(count > max(1, len(sample) * _FREQUENT if width else 1))
        if keep.size > _MOST_ATOMS:
            keep = np.sort(keep[np.argsort(-count[keep], kind="stable")[:_MOST_ATOMS]])
        atoms = Bins(
            width=width,
            size=keep.size + 1,
            discrete=np.arange(width),
            known=distinct[keep],
            examples=sample.part(first[keep]),
            first=np.arange(keep.size),
            cuts={},
        )
        return atoms, distinct.size

    @staticmethod
    def learned(sample: Sample) -> Bins | None:
        """None where no column is numeric: then the atoms say it all."""
        columns = sample.columns
        few = np.array([np.unique(column[:4096]).size <= _FEW_VALUES for column in columns.T], dtype=np.bool_)
        if few.all():
            return None
        discrete, numeric = np.flatnonzero(few), np.flatnonzero(~few)
        discrete_keys = keys(sample.word, columns[:, discrete])
        kinds, inverse, count = np.unique(discrete_keys, return_inverse=True, return_counts=True)
        keep = np.sort(np.argsort(-count, kind="stable")[:_MOST_GROUPS])
        examples, first, cuts, blunt = [], [0], {}, False
        for group, number in enumerate(keep):
            rows = np.flatnonzero(inverse == number)
            varying = [int(c) for c in numeric if np.unique(columns[rows[:256], c]).size > 1]
            cuts[group] = _cuts(columns[rows], varying, int(min(max(rows.size / _RUNS_A_CELL, 4), _CUTS + 1)))
            examples.append(int(rows[0]))
            first.append(first[-1] + math.prod(cut.size + 1 for _, cut in cuts[group]))
            blunt = blunt or len(varying) > 1
        return Bins(
            width=columns.shape[1],
            size=first[-1] + 1,
            discrete=discrete,
            known=kinds[keep],
            examples=sample.part(np.array(examples)),
            first=np.array(first[:-1]),
            cuts={group: cut for group, cut in cuts.items() if cut},
            blunt=blunt,
        )

    def cells(self, sample: Sample) -> Cells:
        columns = sample.wide(self.width)
        place = place_of(keys(sample.word, columns[:, self.discrete]), self.known)
        result = np.append(self.first, self.size - 1)[place]
        for group, cuts in self.cuts.items():
            rows = np.flatnonzero(place == group)
            inside = np.zeros(rows.size, dtype=np.intp)
            for column, cut in cuts:
                inside = inside * (cut.size + 1) + np.searchsorted(cut, columns[rows, column])
            result[rows] += inside
        return result

    def smooth(self, counts: Reals) -> Reals:
        """Each count with those of the cells beside it: likelihood ratios seldom jump along a number."""
        result = counts.copy()
        for group, cuts in self.cuts.items():
            if len(cuts) == 1:
                cells = slice(self.first[group], self.first[group] + cuts[0][1].size + 1)
                result[cells] = np.convolve(np.pad(counts[cells], _BESIDE, "edge"), np.ones(2 * _BESIDE + 1), "valid")
        return result

    def words(self, chosen: list[int], shapes: list[Shape]) -> str:
        inside: dict[int, list[int]] = {}
        for cell in sorted(set(chosen) - {self.size - 1}):
            group = int(np.searchsorted(self.first, cell, side="right")) - 1
            inside.setdefault(group, []).append(cell - int(self.first[group]))
        texts = []
        for group, cells in inside.items():
            cuts, word = self.cuts.get(group, ()), int(self.examples.word[group])
            outcome = "anything unknown"
            if word != UNKNOWN:
                blank = {column for column, _ in cuts}
                outcome = outcome_text(shapes[word >> BITS], word, self.examples.columns[group], blank)
            ranges = _stretches(cuts[0][1], cells) if len(cuts) == 1 else []
            within = " or ".join(ranges) if len(ranges) <= 3 else f"x in one of {len(ranges)} ranges"
            if len(cuts) > 1:
                within = f"its numbers x in {len(cells)} of {math.prod(cut.size + 1 for _, cut in cuts)} boxes"
            texts.append(f"{outcome} with {within}" if cuts else outcome)
        if len(texts) > 3:
            kind = "outcomes" if self.discrete.size == self.width else "kinds"
            texts[2:] = [f"one of {len(texts) - 2} other {kind}"]
        return " or ".join([*texts, *(["an outcome too rare to be listed"] if self.size - 1 in chosen else [])])


def _cuts(columns: Reals, varying: list[int], cells: int) -> tuple[tuple[int, Reals], ...]:
    """Quantiles of the columns that vary in this group: a fine cut of one, a coarse grid of two or three."""
    if not 1 <= len(varying) <= 3:
        return ()
    each = max(2, round(cells ** (1 / len(varying))))
    cuts = []
    for column in varying:
        values = columns[:, column]
        values = values[np.isfinite(values)]
        if values.size:
            # A cut at an observed value: it belongs to the cell below, so a value of large mass ends a cell.
            cuts.append((column, np.unique(np.quantile(values, np.arange(1, each) / each, method="lower"))))
    return tuple(cuts)


def _stretches(cuts: Reals, cells: list[int]) -> list[str]:
    """The ranges of these cells in words, those beside one another as one."""
    edges = np.concatenate([[-np.inf], cuts, [np.inf]])
    first = [cell for cell in cells if cell - 1 not in cells]
    last = [cell for cell in cells if cell + 1 not in cells]
    return [range_of(edges[low], edges[high + 1]) for low, high in zip(first, last, strict=True)]


def range_of(low: float, high: float) -> str:
    """The range (low, high] in words.

    >>> range_of(1.5, 2.0), range_of(float("-inf"), 2.0)
    ('1.5 < x <= 2', 'x <= 2')
    """
    if np.isfinite(low) and np.isfinite(high):
        return f"{low:.6g} < x <= {high:.6g}"
    if np.isfinite(high):
        return f"x <= {high:.6g}"
    return f"x > {low:.6g}" if np.isfinite(low) else "any x"


_CONFUSED: Final = 1e-9
_FAR: Final = 1e12
_KNOTS: Final = 33
_MOST_SHAPES: Final = 16
_MOST_ROWS: Final = 30_000
_RIDGE: Final = 1e-3
_STEPS: Final = 12


def _features(training: Sample) -> Callable[[Sample], Reals]:
    """An outcome as numbers of about the same size: its shape, its bits, the rank of each number and its square.

    Ranks are read off quantiles of the training sample.
    """
    shapes, count = np.unique(training.word >> BITS, return_counts=True)
    common, bits, knots = shapes[np.argsort(-count)[1:_MOST_SHAPES]], _bits_used(training), []
    for column in training.columns.T:
        finite = column[np.isfinite(column)]
        knots.append(np.unique(np.quantile(finite, np.linspace(0, 1, _KNOTS))) if finite.size else finite)

    def features(sample: Sample) -> Reals:
        rows = [np.ones(len(sample)), *(sample.word >> BITS == shape for shape in common)]
        rows += [(sample.word >> bit) & 1 for bit in range(bits)]
        for column, spread in zip(sample.wide(len(knots)).T, knots, strict=True):
            if spread.size > 1:
                rank = _rank(column, spread)
                rows += [rank, rank * rank] if spread.size > 2 else [rank]
        return np.column_stack(rows).astype(np.float64)

    return features


def _bits_used(sample: Sample) -> int:
    return int(np.bitwise_or.reduce(np.maximum(sample.word, 0) & ((1 << BITS) - 1))).bit_length()


@dataclass(frozen=True, kw_only=True)
class Slices:
    """A score of each outcome, by a classifier or as a ``tally`` of its answers, cut into cells."""

    score: Callable[[Sample], Reals]
    cuts: Reals
    label: str
    tally: bool = False

    @staticmethod
    def learned(first: Sample, second: Sample, *, boosted: bool, seed: int) -> Slices | None:
        """Train on the two samples; None where scikit-learn would be needed and is not there."""
        size = min(len(first), len(second), _MOST_ROWS)
        both = joined([first.part(slice(size)), second.part(slice(size))])
        label = np.repeat([1.0, 0.0], size)
        features = _features(both)
        table = features(both)
        fit = _boosting(table, label, seed) if boosted else _logistic(table, label)
        if fit is None:
            return None
        learner = "gradient boosting" if boosted else "logistic regression"
        cuts, label_text = _classifier_cuts(fit(table)), f"whose score x by {learner} has"
        return Slices(score=lambda sample: fit(features(sample)), cuts=cuts, label=label_text)

    @staticmethod
    def tallies(sample: Sample, moves: Reals | None) -> Iterator[Slices]:
        """Sums of truths and sums of numbers, plain and by the moves of the neighbour where they fit."""
        used, truth = _bits_used(sample), np.zeros(sample.columns.shape[1], dtype=np.bool_)
        if used == BITS:  # those that had no room in the word
            truth = np.array([np.isin(column, (0.0, 1.0)).all() for column in sample.columns.T], dtype=np.bool_)
        for what, bits, chosen in (("answers True", used, truth), ("the sum of the numbers", 0, ~truth)):
            size = bits + int(chosen.sum())
            for by_move in (True, False) if moves is not None and size <= moves.size else (False,):
                weights = moves[:size] if by_move and moves is not None else np.ones(size)
                if size < 2 or (by_move and np.all(weights == weights[0])):
                    continue
                spread = np.zeros(truth.size)
                spread[chosen] = weights[bits:]
                score = _weighed_sum(weights[:bits].tolist(), spread.tolist())
                label = f"with x = {what}{', each times the move of its question' if by_move else ''},"
                yield Slices(score=score, cuts=_classifier_cuts(score(sample)), label=label, tally=True)

    @property
    def size(self) -> int:
        return self.cuts.size + 1

    def cells(self, sample: Sample) -> Cells:
        return np.searchsorted(self.cuts, self.score(sample))

    def words(self, chosen: list[int], shapes: list[Shape]) -> str:
        texts = _stretches(self.cuts, chosen)
        return f"an outcome {self.label} {texts[0] if len(texts) == 1 else 'x in some ranges'}"


def _weighed_sum(bits: list[float], columns: list[float]) -> Callable[[Sample], Reals]:
    """Of the bits and columns of an outcome; each row is summed on its own, in order."""

    def score(sample: Sample) -> Reals:
        total = np.zeros(len(sample))
        for bit, weight in enumerate(bits):
            total += weight * ((sample.word >> bit) & 1)
        for column, weight in zip(sample.wide(len(columns)).T, columns, strict=True):
            if weight:
                total += weight * np.nan_to_num(column, nan=0.0, posinf=_FAR, neginf=-_FAR)
        return total

    return score


Partition: TypeAlias = Bins | Slices
"""Numbers the cell of each outcome, from 0 to ``size`` - 1."""


def _rank(column: Reals, knots: Reals) -> Reals:
    """Where a number lies among the knots, from -1 to 1, linear in between; 0 where there is none."""
    inside = np.clip(column, knots[0], knots[-1])
    below = np.clip(np.searchsorted(knots, inside, side="right") - 1, 0, knots.size - 2)
    part = (inside - knots[below]) / (knots[below + 1] - knots[below])
    return np.where(np.isnan(column), 0.0, (below + part) * 2 / (knots.size - 1) - 1)


def _classifier_cuts(scores: Reals) -> Reals:
    """Slices of about the same mass; each cut lies midway between two scores that rounding cannot confuse."""
    distinct, count = np.unique(scores, return_counts=True)
    gaps = np.flatnonzero(np.diff(distinct) > _CONFUSED * np.abs(distinct).max())
    mass = np.cumsum(count)[gaps] / scores.size
    wanted = np.unique(np.searchsorted(mass, np.arange(1, _CUTS + 1) / (_CUTS + 1)))
    at = gaps[wanted[wanted < gaps.size]]
    return (distinct[at] + distinct[at + 1]) / 2


def _logistic(table: Reals, label: Reals) -> Callable[[Reals], Reals]:
    """Newton's method for logistic regression with a ridge."""
    weights = np.zeros(table.shape[1])
    ridge = _RIDGE * len(label)
    for _ in range(_STEPS):
        chance = 1 / (1 + np.exp(-np.clip(table @ weights, -30, 30)))
        curvature = (table * (chance * (1 - chance))[:, None]).T @ table + ridge * np.eye(weights.size)
        step = np.linalg.solve(curvature, table.T @ (label - chance) - ridge * weights)
        weights = weights + step
        if np.abs(step).max() < 1e-6:
            break

    def score(rows: Reals) -> Reals:
        total = np.zeros(len(rows))
        for column, weight in zip(rows.T, weights, strict=True):
            total += column * weight
        return total

    return score


def _boosting(table: Reals, label: Reals, seed: int) -> Callable[[Reals], Reals] | None:
    try:
        from sklearn.ensemble import HistGradientBoostingClassifier
        from threadpoolctl import threadpool_limits  # comes with scikit-learn
    except ImportError:
        return None
    model: Any = HistGradientBoostingClassifier(
        max_iter=40, max_leaf_nodes=15, min_samples_leaf=50, early_stopping=False, random_state=seed
    )

    def score(rows: Reals) -> Reals:
        # Its threads wait actively: on a busy machine more of them are slower than one.
        with threadpool_limits(1):
            return np.asarray(model.decision_function(rows), dtype=np.float64)

    with threadpool_limits(1):
        model.fit(table, label)
    return score


_SEGMENTS: Final = 200
_MODEL_ERROR: Final = 0.03
_SOME_ATOMS, _MANY_ATOMS = 32, 256
_RUNS_AN_ATOM: Final = 200
_ENOUGH: Final = 500
_SURE_ERRORS: Final = 3.5
_LEAST_ERRORS: Final = 0.25
_APART: Final = 10
BEYOND_CHANCE: Final = 3.0  # standard errors


@dataclass(frozen=True, kw_only=True)
class Runs:
    """Training runs on the two inputs of a pair, which lie ``magnified`` times as far apart as neighbours do.

    ``moves``: how the neighbour moves each answer, where the inputs are lists of numbers.
    """

    one: Sample
    other: Sample
    magnified: float = 1.0
    moves: Reals | None = None

    def split(self, at: int) -> tuple[Runs, Runs]:
        first, rest = slice(at), slice(at, None)
        part = replace(self, one=self.one.part(first), other=self.other.part(first))
        return part, replace(self, one=self.one.part(rest), other=self.other.part(rest))


@dataclass(frozen=True, kw_only=True)
class Aim:
    """What an event is for: bets on ``trials`` pairs of runs at level ``alpha``, for a claimed delta, or on rho.

    ``refutes``: the epsilon that is only to be refuted, as soon as possible; else the bound is to be large at the end.
    """

    trials: float
    alpha: float
    delta: float
    of_rho: bool = False
    refutes: float | None = None

    def promised(self, p1: Reals, p2: Reals) -> Reals:
        """About what events of these probabilities would certify; beyond a claim to refute, how much sooner they do.

        n pairs are enough where ``promise`` is the claim. An event that gets there with n/k^2 pairs counts as k claims.
        """
        z = max(-NormalDist().inv_cdf(self.alpha), _LEAST_ERRORS)  # at an alpha of 1/2 or more none would be needed
        if self.of_rho:
            return promised_rho(p1, p2, trials=self.trials, z=z)
        bound = promise(p1, p2, trials=self.trials, z=z, delta=self.delta)
        if self.refutes is None:
            return bound
        times = self._edge(p1, np.minimum(p2 + 1 / self.trials, 1.0)) * math.sqrt(self.trials) / z
        return np.where(times > 1, self.refutes * times, bound)

    def _edge(self, p1: Reals, p2: Reals) -> Reals:
        """(p1 - delta - e^epsilon p2) / sqrt(p1 (1 - p1) + e^(2 epsilon) p2 (1 - p2)) at the claim."""
        ratio = math.exp(min(self.refutes or 0.0, 50.0))
        noise = np.sqrt(p1 * np.maximum(1 - p1, 0) + ratio**2 * p2 * np.maximum(1 - p2, 0)) + 1e-300
        return (p1 - self.delta - ratio * p2) / noise

    def needed(self, p1: float, p2: float) -> float | None:
        """About how many pairs an event of these probabilities needs to refute the claim, if one is aimed at."""
        if self.refutes is None:
            return None
        edge = float(self._edge(np.array([p1]), np.array([p2]))[0])
        return (_SURE_ERRORS / edge) ** 2 if edge > 0 else math.inf


@dataclass(frozen=True, kw_only=True)
class OutcomeEvent:
    """A set of cells of a partition: a fixed function from outcomes to yes or no."""

    partition: Partition
    chosen: NDArray[np.bool_]

    def inside(self, sample: Sample) -> NDArray[np.bool_]:
        """Which of the outcomes are in the event; one of a shape that training never saw is not."""
        return np.logical_and(self.chosen[self.partition.cells(sample)], sample.word >= 0)

    def hits(self, sample: Sample) -> int:
        return int(np.count_nonzero(self.inside(sample)))

    def words(self, shapes: list[Shape]) -> str:
        return self.partition.words(np.flatnonzero(self.chosen).tolist(), shapes)


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """Of events: the log ratio ``loss`` with its standard ``error``, and the geometric mean of both probabilities.

    ``endless``: the neighbour never showed it, so the ratio seen is only the least that it can be.
    """

    loss: Reals
    error: Reals
    middle: Reals
    endless: NDArray[np.bool_]

    @staticmethod
    def of(hits: tuple[Reals, Reals], sizes: tuple[int, int], magnified: float) -> Estimate:
        """From hits among this many runs; half a hit more on the neighbour: what was never seen may be possible."""
        p1, p2 = (hits[0] + 1e-9) / sizes[0], (hits[1] + 0.5) / (sizes[1] + 1)
        error = np.sqrt(1 / (hits[0] + 1) + 1 / (hits[1] + 1))
        return Estimate(
            loss=np.log(p1 / p2) / magnified, error=error / magnified, middle=np.sqrt(p1 * p2), endless=hits[1] == 0
        )

    def with_(self, close: Estimate) -> Estimate:
        """This estimate from magnified runs, which may be off by a few percent, weighed with one from close runs."""
        weight, weight_close = 1 / (self.error**2 + (_MODEL_ERROR * self.loss) ** 2), 1 / close.error**2
        loss = (weight * self.loss + weight_close * close.loss) / (weight + weight_close)
        error = 1 / np.sqrt(weight + weight_close)
        return Estimate(loss=loss, error=error, middle=close.middle, endless=close.endless)

    def at(self, place: int) -> Estimate:
        return Estimate(**{name: values[place : place + 1] for name, values in vars(self).items()})

    @property
    def chances(self) -> tuple[Reals, Reals]:
        """The two probabilities, which agree with the loss and the middle."""
        half = np.exp(np.clip(self.loss, -50, 50) / 2)
        return np.minimum(self.middle * half, 1), np.minimum(self.middle / half, 1)

    def promised(self, aim: Aim, caution: float) -> Reals:
        """The bounds that the events promise, less some standard errors."""
        if aim.of_rho or aim.refutes is not None:
            return aim.promised(*replace(self, loss=np.maximum(self.loss - caution * self.error, 0.0)).chances)
        return aim.promised(*self.chances) - caution * self.error


@dataclass(frozen=True, kw_only=True)
class FoundEvent:
    """What training suggests: the event, and whether it is likelier on the neighbour.

    ``caution``: how many standard errors are taken off what it promises.
    """

    event: OutcomeEvent
    swapped: bool
    estimate: Estimate
    aim: Aim
    caution: float

    @cached_property
    def promised(self) -> float:
        return float(self.estimate.promised(self.aim, self.caution)[0])

    @property
    def surely(self) -> float:
        """What it promises were the loss smaller by what the luckiest of all pairs may owe to chance."""
        return float(self.estimate.promised(self.aim, self.caution + BEYOND_CHANCE)[0])

    @property
    def needed(self) -> float | None:
        """About how many pairs it needs to refute the claim, at best; None where none is aimed at."""
        p1, p2 = replace(self.estimate, loss=self.estimate.loss + self.estimate.error).chances
        return self.aim.needed(float(p1[0]), float(p2[0]))


def find_events(
    learn: Runs, judge: Runs, aim: Aim, *, caution: float, thorough: bool, seed: int
) -> Iterator[FoundEvent]:
    """The best event of each partition and direction, ordered by one set of runs and chosen by another.

    ``caution`` multiplies what is taken off a promise for being the best of many.
    """
    for partition, scores in _partitions(learn, thorough, seed):
        careful = caution * _luck(partition.size)
        learned = [_counts(partition, sample) for sample in (learn.one, learn.other)]
        judged = [_counts(partition, sample) for sample in (judge.one, judge.other)]
        if isinstance(partition, Bins):
            learned = [partition.smooth(counts) for counts in learned]
        tally = isinstance(partition, Slices) and partition.tally
        if tally:  # its order was not learned: all runs may judge it
            judged = [before + now for before, now in zip(learned, judged, strict=True)]
            sizes = len(learn.one) + len(judge.one), len(learn.other) + len(judge.other)
        else:
            sizes = len(judge.one), len(judge.other)
        for swapped, falling in itertools.product((False, True), (True, False) if tally else (True,)):
            i, j = (1, 0) if swapped else (0, 1)
            # NaN, the rest, comes last.
            badness = _badness(learned[i], learned[j]) if scores is None else scores if swapped == falling else -scores
            order = np.argsort(badness, kind="stable")
            ends = _ends(order.size)
            hits = np.cumsum(judged[i][order])[ends], np.cumsum(judged[j][order])[ends]
            estimate = Estimate.of(hits, (sizes[i], sizes[j]), judge.magnified)
            best = int(np.argmax(estimate.promised(aim, careful)))
            chosen = np.zeros(order.size, dtype=np.bool_)
            chosen[order[: ends[best] + 1]] = True
            event = OutcomeEvent(partition=partition, chosen=chosen)
            yield FoundEvent(event=event, swapped=swapped, estimate=estimate.at(best), aim=aim, caution=careful)


def confirmed(finding: FoundEvent, judge: Runs, aim: Aim, *, caution: float) -> FoundEvent:
    """An event found in magnified runs, with close runs taken into account."""
    samples = (judge.other, judge.one) if finding.swapped else (judge.one, judge.other)
    hits = [np.array([float(finding.event.hits(sample))]) for sample in samples]
    close = Estimate.of((hits[0], hits[1]), (len(samples[0]), len(samples[1])), judge.magnified)
    careful = caution * _luck(finding.event.chosen.size)
    return replace(finding, estimate=finding.estimate.with_(close), aim=aim, caution=careful)


def _luck(cells: int) -> float:
    """How many standard errors the luckiest of nested events may owe to chance: neighbours among them share runs."""
    return 0.75 * math.sqrt(math.log(1 + min(cells, _APART)))


def _partitions(runs: Runs, thorough: bool, seed: int) -> Iterator[tuple[Partition, Reals | None]]:
    """Partitions worth trying; a score for each cell where a classifier knows a better order than the frequencies."""
    both = joined([runs.one, runs.other])
    atoms, distinct = Bins.atoms(both)
    yield atoms, None
    bins = Bins.learned(both)
    if bins is not None:
        yield bins, None
    if distinct > _SOME_ATOMS:
        for tally in Slices.tallies(both, runs.moves):
            yield tally, np.arange(tally.size, dtype=np.float64)
    rare = distinct > _MANY_ATOMS and len(both) < _RUNS_AN_ATOM * distinct
    if not (bins.blunt if bins is not None else rare) or len(both) < _ENOUGH:
        return
    few = bins is None and distinct <= _MOST_ATOMS  # all could be listed, were there runs enough
    for boosted in (False, True) if thorough and not few else (False,):
        scores = Slices.learned(runs.one, runs.other, boosted=boosted, seed=seed)
        if scores is not None:
            # A list of all outcomes is quicker to look up than the score of each.
            yield (atoms, np.append(scores.score(atoms.examples), np.nan)) if few else (scores, None)


def _counts(partition: Partition, sample: Sample) -> Reals:
    known = partition.cells(sample)[sample.word >= 0]
    return np.bincount(known, minlength=partition.size).astype(np.float64)


def _badness(counts1: Reals, counts2: Reals) -> Reals:
    """The smaller, the better a cell tells the first input: its standard error less the observed log ratio."""
    x1, x2 = counts1 + 0.5, counts2 + 0.5
    return np.sqrt(1 / x1 + 1 / x2) - np.log(x1 / x2)


def _ends(cells: int) -> NDArray[np.intp]:
    sizes = np.geomspace(1, cells, _SEGMENTS) if cells > _SEGMENTS else np.arange(1, cells + 1)
    return np.unique(sizes.astype(np.intp)) - 1
