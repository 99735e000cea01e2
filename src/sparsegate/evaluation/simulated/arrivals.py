"""The first c rings among millions of clocks, in time that depends on c: who is selected, and when.

For every method whose noise is drawn once a run; ``clock_laws`` says when a clock rings. Exact in law: nothing is
approximated but real numbers by floats. Three ideas:

*Horizon.* Fix a time h by which somewhat more than c rings are expected (from the scores alone, so it tells
nothing of the draws), draw who rings by then, and keep the c earliest. A run that is short of c goes on from h, where
clocks start afresh: any h gives the same law, a good one gives it soon.

*Candidates.* Scores are put into buckets, half a unit of z wide or less. In a bucket whose highest score has hazard H
every item becomes a candidate with probability 1 - exp(-H): the number of rings is drawn from a Poisson law of mean
n H, rings are dealt to the n items with replacement, and whoever gets one or more is a candidate. (Where H is large all
items are.) So the work is one draw a bucket and one a candidate; the rest of two million items is never touched.

*Thinning.* A candidate of hazard H' <= H stays with probability (1 - exp(-H')) / (1 - exp(-H)): with V uniform, its
clock is E = -log(1 - V (1 - exp(-H))), and it stays where E < H'. That is the clock's law given that it rings in time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from sparsegate.evaluation.simulated.clock_laws import ClockLaw
from sparsegate.evaluation.simulated.ranked import Floats, Integers, Ladder

NOBODY = -1
"""Fills the places of a run that selected fewer than c items."""

_WIDEST = 0.5  # a bucket, in units of z: three candidates in four stay
_ABOVE, _BELOW = 8.0, 40.0  # this far above and below the scores that matter, in units of z, one bucket serves all
_DENSE = 0.5  # hazard from which all items of a bucket are candidates
_SLACK = 4.0  # rings expected beyond c, in standard deviations: hardly a run falls short
_STEPS, _NUDGE = 3, 1.01  # Newton steps towards the horizon, and the factor that measures a slope
_CANDIDATES = 1 << 20  # at a time: more than a batch of runs ever has, unless scores fit no bucket


@dataclass(frozen=True, kw_only=True, eq=False)
class ScoreBuckets:
    """Neighbouring rungs of a ladder, taken together: bucket k holds items starts[k] to starts[k] + sizes[k].

    ``typical`` is the score at which all of a bucket's items together would ring about as often as they do.
    """

    ladder: Ladder
    highest: Floats
    typical: Floats
    sizes: Integers
    starts: Integers
    of_rung: Integers

    @classmethod
    def cut(cls, ladder: Ladder, *, count: int, scale: float) -> ScoreBuckets:
        """Cut the ladder into buckets at most half a scale wide, around the c-th score.

        The larger c, the more candidates there are to every bucket, and the more a finer cut saves of them. Far below
        the last score that is waited for, one bucket serves all; scores may lie far apart before it.
        """
        z = (ladder.values - ladder.score(count)) / scale
        lowest = z[ladder.rungs(np.array(min(math.ceil(_wanted(count)), ladder.total) - 1))] - _BELOW
        number = np.floor(np.clip(z, lowest, _ABOVE) / min(_WIDEST, 5 * _WIDEST / math.sqrt(count)))
        begins = np.diff(number, prepend=np.inf) != 0
        first = np.flatnonzero(begins)
        of_rung = np.cumsum(begins) - 1
        sizes = np.add.reduceat(ladder.sizes, first)
        weights = np.exp(np.maximum(z - z[first][of_rung], -_BELOW)) * ladder.sizes
        return cls(
            ladder=ladder,
            highest=ladder.values[first],
            typical=ladder.values[first] + scale * np.log(np.add.reduceat(weights, first) / sizes),
            sizes=sizes,
            starts=ladder.starts[first],
            of_rung=of_rung,
        )


def _wanted(count: int) -> float:
    """How many rings a horizon should bring."""
    return count + _SLACK * math.sqrt(count) + 1


def first_rings(
    rng: np.random.Generator,
    buckets: ScoreBuckets,
    law: ClockLaw,
    *,
    levels: Floats,
    scale: float,
    count: int,
    end: float,
) -> Integers:
    """The rungs of the first ``count`` items to ring before time ``end``, one row for each of the ``levels``.

    A row is in no particular order; places that nobody took hold NOBODY.
    """
    runs, total = levels.size, buckets.ladder.total
    chosen = np.full((runs, count), NOBODY, dtype=np.int64)
    taken = np.empty(0, dtype=np.int64)
    found = np.zeros(runs, dtype=np.int64)
    since = np.zeros(runs)
    racing = np.arange(runs)
    wanted = _wanted(count)
    while racing.size:
        window = _Window(buckets=buckets, law=law, levels=levels[racing], scale=scale, since=since[racing])
        until = window.horizon(wanted, end)
        run, item, rung, time = window.rings(rng, until)
        keys = racing[run] * total + item
        if taken.size:
            fresh = ~np.isin(keys, taken)
            run, keys, rung, time = run[fresh], keys[fresh], rung[fresh], time[fresh]
        keep, place = _earliest(run, time, found[racing], count)
        chosen[racing[run[keep]], place] = rung[keep]
        taken = np.concatenate((taken, keys[keep]))
        found[racing] += np.bincount(run[keep], minlength=racing.size)
        since[racing] = until
        racing = racing[(found[racing] < count) & (until < end)]
        wanted *= 2
    return chosen


@dataclass(frozen=True, kw_only=True, eq=False)
class _Window:
    """The clocks of some runs from the times ``since`` on."""

    buckets: ScoreBuckets
    law: ClockLaw
    levels: Floats
    scale: float
    since: Floats

    def horizon(self, wanted: float, end: float) -> Floats:
        """A time by which about ``wanted`` items have rung, for each run; ``end`` at the latest.

        Start from sum n min(1, rate h) = wanted: the left side is the least of N_j + h R_j, where the j fastest
        buckets count N_j in full and the others add up to a rate of R_j, so h is the largest (wanted - N_j) / R_j.
        That is too early, and the expected number is concave in h: Newton's steps approach from the left.
        """
        if wanted >= self.buckets.ladder.total:
            return np.full(self.levels.size, end)
        sizes = self.buckets.sizes
        z = (self.buckets.typical - self.levels[:, None]) / self.scale
        slower = np.cumsum((sizes * self.law.rate(z))[:, ::-1], axis=1)[:, ::-1]
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):  # 0 / 0: nobody is wanted, and nobody rings
            until = np.fmax.reduce((wanted - self.buckets.starts) / slower, axis=1)
        for _ in range(_STEPS):
            until = np.minimum(until, end)
            quiet, nudged = (np.exp(-self.law.hazard(z, h[:, None])) for h in (until, until * _NUDGE))
            lacking = np.maximum(wanted - (1 - quiet) @ sizes, 0)
            growth = (quiet - nudged) @ sizes / (_NUDGE - 1)
            until = until * (1 + np.minimum(lacking / np.maximum(growth, 1e-9), 1e3))
        horizon: Floats = np.minimum(until, end)
        return horizon

    def rings(self, rng: np.random.Generator, until: Floats) -> tuple[Integers, Integers, Integers, Floats]:
        """Who rings by the times ``until``: run, item, rung and time, sorted by run and item."""
        buckets, total = self.buckets, self.buckets.ladder.total
        z = (buckets.highest - self.levels[:, None]) / self.scale
        hazard = self.law.hazard(z, until[:, None])
        if self.since.any():
            with np.errstate(invalid="ignore"):  # infinity - infinity: everybody there has rung before
                hazard = np.nan_to_num(hazard - self.law.hazard(z, self.since[:, None]), posinf=np.inf)
        expected = np.where(hazard > _DENSE, 1.0, hazard) @ buckets.sizes
        if expected.sum() > _CANDIDATES and until.size > 1:
            return self._in_halves(rng, until)
        keys = self._candidates(rng, hazard)
        runs = np.arange(until.size)
        run = np.repeat(runs, np.diff(np.searchsorted(keys, runs * total), append=keys.size))
        item = keys - run * total
        rung = buckets.ladder.rungs(item)
        own = (buckets.ladder.values[rung] - self.levels[run]) / self.scale
        bound = hazard[run, buckets.of_rung[rung]]
        clock = -np.log1p(rng.random(keys.size) * np.expm1(-np.where(bound > _DENSE, np.inf, bound)))
        if self.since.any():
            clock += self.law.hazard(own, self.since[run])
        stays = clock < self.law.hazard(own, until[run])
        run, item, rung = run[stays], item[stays], rung[stays]
        return run, item, rung, self.law.time(own[stays], clock[stays])

    def _in_halves(self, rng: np.random.Generator, until: Floats) -> tuple[Integers, Integers, Integers, Floats]:
        """``rings``, of half the runs and then of the others."""
        middle = until.size // 2
        first, others = (
            replace(self, levels=self.levels[part], since=self.since[part]).rings(rng, until[part])
            for part in (slice(middle), slice(middle, None))
        )
        run, item, rung, time = (np.concatenate(pair) for pair in zip(first, others, strict=True))
        run[first[0].size :] += middle
        return run, item, rung, time

    def _candidates(self, rng: np.random.Generator, hazard: Floats) -> Integers:
        """The candidates as keys run * total + item, sorted."""
        sizes, total = self.buckets.sizes, self.buckets.ladder.total
        dense = hazard > _DENSE
        number = rng.poisson(np.where(dense, 0.0, hazard) * sizes)
        np.copyto(number, sizes, where=dense)
        cell = np.repeat(np.arange(number.size), number.ravel())
        run = np.repeat(np.arange(number.shape[0]), number.sum(axis=1))
        bucket = cell - run * sizes.size
        member = (rng.random(cell.size) * sizes[bucket]).astype(np.int64)
        in_turn = np.arange(cell.size) - np.repeat(np.cumsum(number) - number.ravel(), number.ravel())
        member = np.where(dense.ravel()[cell], in_turn, member)
        keys = run * total + self.buckets.starts[bucket] + member
        keys.sort(kind="stable")  # cells are in order already, so that merging is cheap
        distinct: Integers = keys[np.diff(keys, prepend=-1) != 0]
        return distinct


def _earliest(run: Integers, time: Floats, found: Integers, count: int) -> tuple[Integers, Integers]:
    """Of each run's rings the earliest, as many as it still needs: where they are, and the places they take."""
    number = np.bincount(run, minlength=found.size)
    column = np.arange(run.size) - np.repeat(np.cumsum(number) - number, number)
    table = np.full((found.size, max(int(number.max(initial=0)), count)), np.inf)
    table[run, column] = time
    needed = count - found
    table.partition(np.unique(needed) - 1, axis=1)
    cut = table[np.arange(found.size), needed - 1]
    keep = np.flatnonzero(time <= cut[run])
    kept = np.bincount(run[keep], minlength=found.size)
    place = np.arange(keep.size) - np.repeat(np.cumsum(kept) - kept, kept) + found[run[keep]]
    fits = place < count  # two rings at the same float: the last of them waits
    return keep[fits], place[fits]
