"""The event that tells two samples apart best: cells in order of likelihood ratio, as many as promise most.

One part of the training runs orders the cells of a partition by

    ln((a1 + 1/2)/(a2 + 1/2)) - sqrt(1/(a1 + 1/2) + 1/(a2 + 1/2)),

the observed log ratio less its standard error, so that a rare cell does not win by luck. Another part estimates the
probabilities of each initial segment of that order, and the segment is chosen that promises the largest bound at the
sample size of the certification. Both directions are tried.

*Under a magnifying glass.* Where epsilon is small, neighbours hardly differ, and to rank many pairs would take more
runs than to certify one. Inputs that lie A times as far apart differ by up to A epsilon (group privacy), and show the
same structure with A^2 times fewer runs. So half of the training runs are on magnified pairs, where a log ratio of A x
is read as x. That is a guess about which pair and event to take; certification never magnifies.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sparsegate.auditor.classifier import Slices
from sparsegate.auditor.confidence import BoundRule, promise
from sparsegate.auditor.encoding import Reals, Sample, Shape, joined
from sparsegate.auditor.partitions import Atoms, Bins, Partition

_SEGMENTS: Final = 200
_MODEL_ERROR: Final = 0.03
_MANY_ATOMS: Final = 256
_RUNS_AN_ATOM: Final = 200
_ENOUGH: Final = 500


@dataclass(frozen=True, kw_only=True)
class Runs:
    """Training runs on the two inputs of a pair, which lie ``magnified`` times as far apart as neighbours do."""

    one: Sample
    other: Sample
    magnified: float = 1.0

    def split(self, at: int) -> tuple[Runs, Runs]:
        """The first runs on either input, and the others."""
        return (
            Runs(one=self.one.part(slice(at)), other=self.other.part(slice(at)), magnified=self.magnified),
            Runs(one=self.one.part(slice(at, None)), other=self.other.part(slice(at, None)), magnified=self.magnified),
        )


@dataclass(frozen=True, kw_only=True)
class Aim:
    """What an event is for: a certification of ``trials`` runs a side at level ``alpha``, for a claimed delta."""

    trials: float
    alpha: float
    delta: float


@dataclass(frozen=True, kw_only=True)
class OutcomeEvent:
    """A set of cells of a partition: a fixed function from outcomes to yes or no."""

    partition: Partition
    chosen: NDArray[np.bool_]

    def hits(self, sample: Sample) -> int:
        """How many of the outcomes are in the event; one of a shape that training never saw is not."""
        inside = self.chosen[self.partition.cells(sample)]
        return int(np.count_nonzero(inside & (sample.word >= 0)))

    def words(self, shapes: list[Shape]) -> str:
        """The event as a person would say it."""
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
        """Of one event alone."""
        only = slice(place, place + 1)
        return Estimate(
            loss=self.loss[only], error=self.error[only], middle=self.middle[only], endless=self.endless[only]
        )

    def promised(self, aim: Aim, caution: float) -> tuple[Reals, NDArray[np.bool_]]:
        """The bounds that the events promise, less some standard errors."""
        p1 = np.minimum(self.middle * np.exp(np.minimum(self.loss, 50) / 2), 1)
        p2 = np.minimum(self.middle * np.exp(-np.minimum(self.loss, 50) / 2), 1)
        found, by_ratio = promise(p1, p2, trials=aim.trials, alpha=aim.alpha, delta=aim.delta)
        return found - caution * self.error, by_ratio


@dataclass(frozen=True, kw_only=True)
class FoundEvent:
    """What training suggests: the event, whether it is likelier on the neighbour, what it promises, by which rule."""

    event: OutcomeEvent
    swapped: bool
    estimate: Estimate
    promised: float
    rule: BoundRule


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
        for swapped in (False, True):
            i, j = (1, 0) if swapped else (0, 1)
            order = _by_ratio(learned[i], learned[j]) if scores is None else _by_score(-scores if swapped else scores)
            ends = _ends(order.size)
            hits = np.cumsum(judged[i][order])[ends], np.cumsum(judged[j][order])[ends]
            sizes = (len(judge.other), len(judge.one)) if swapped else (len(judge.one), len(judge.other))
            estimate = Estimate.of(hits, sizes, judge.magnified)
            best = int(np.argmax(estimate.promised(aim, careful)[0]))
            chosen = np.zeros(order.size, dtype=np.bool_)
            chosen[order[: ends[best] + 1]] = True
            yield _finding(OutcomeEvent(partition=partition, chosen=chosen), swapped, estimate.at(best), aim, careful)


def confirmed(finding: FoundEvent, judge: Runs, aim: Aim, *, caution: float) -> FoundEvent:
    """An event found in magnified runs, with close runs taken into account."""
    samples = (judge.other, judge.one) if finding.swapped else (judge.one, judge.other)
    hits = [np.array([float(finding.event.hits(sample))]) for sample in samples]
    close = Estimate.of((hits[0], hits[1]), (len(samples[0]), len(samples[1])), judge.magnified)
    careful = caution * _luck(finding.event.chosen.size)
    return _finding(finding.event, finding.swapped, finding.estimate.with_(close), aim, careful)


def _luck(cells: int) -> float:
    """How many standard errors the luckiest of this many events may owe to chance."""
    return 0.75 * math.sqrt(math.log(1 + cells))


def _finding(event: OutcomeEvent, swapped: bool, estimate: Estimate, aim: Aim, caution: float) -> FoundEvent:
    promised, by_ratio = estimate.promised(aim, caution)
    rule = BoundRule.RATIO if by_ratio[0] else BoundRule.RECTANGLE
    return FoundEvent(event=event, swapped=swapped, estimate=estimate, promised=float(promised[0]), rule=rule)


def _partitions(runs: Runs, thorough: bool, seed: int) -> Iterator[tuple[Partition, Reals | None]]:
    """Partitions worth trying; a score for each cell where a classifier knows a better order than the frequencies."""
    both = joined([runs.one, runs.other])
    atoms = Atoms.learned(both)
    yield atoms, None
    bins = Bins.learned(both)
    if bins is not None:
        yield bins, None
    rare = atoms.distinct > _MANY_ATOMS and len(both) < _RUNS_AN_ATOM * atoms.distinct
    if not (bins.blunt if bins is not None else rare) or len(both) < _ENOUGH:
        return
    few = bins is None and atoms.complete
    for boosted in (False, True) if thorough and not few else (False,):
        scores = Slices.learned(runs.one, runs.other, boosted=boosted, seed=seed)
        if scores is not None:
            # A list of all outcomes is quicker to look up than the score of each.
            yield (atoms, np.append(scores.score(atoms.examples), np.nan)) if few else (scores, None)


def _counts(partition: Partition, sample: Sample) -> Reals:
    known = partition.cells(sample)[sample.word >= 0]
    return np.bincount(known, minlength=partition.size).astype(np.float64)


def _by_ratio(counts1: Reals, counts2: Reals) -> NDArray[np.intp]:
    x1, x2 = counts1 + 0.5, counts2 + 0.5
    return np.argsort(np.sqrt(1 / x1 + 1 / x2) - np.log(x1 / x2), kind="stable")


def _by_score(scores: Reals) -> NDArray[np.intp]:
    return np.argsort(-scores, kind="stable")  # NaN, the rest, comes last


def _ends(cells: int) -> NDArray[np.intp]:
    sizes = np.geomspace(1, cells, _SEGMENTS) if cells > _SEGMENTS else np.arange(1, cells + 1)
    return np.unique(sizes.astype(np.intp)) - 1
