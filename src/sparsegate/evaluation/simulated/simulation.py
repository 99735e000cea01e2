"""What a method selects, simulated many times on grouped scores. NOT PRIVATE: an oracle threshold, noise in floats.

The law is that of the per-item mechanism with real-valued noise, items in random order. The time depends on c and on
the number of runs, and hardly on the number of items: ``arrivals`` says how, where noise is drawn once a run.

**A threshold that is redrawn after every positive** (Alg. 2), in one pass in random order. Let an item's place in the
random order be a time u, uniform on (0, 1), and rho(s) the threshold noise in force at time s. The item is selected in
ds with probability p(rho(s)) ds: it must come just then and pass. So an item of a given score that has not been
selected by time t has survived with probability 1 - A(t), where

    A(t) = integral from 0 to t of p(rho(s)) ds,

and it is selected when A reaches a uniform number U of its own, if it ever does. Nothing need be remembered of who was
visited and failed. Between two positives p is constant, A grows linearly, and the next positive is the least (U - A) /
p over all items still there: no item but the next in line of each group can be it.

Rungs are taken together in the buckets of ``arrivals``, each item of a bucket as if it had the highest score there. An
item that would pass at that score is *called*, and stays with probability p(own score) / p(highest score). If it does
not stay it has had its comparison, and rho is not redrawn: exactly what happens to an item that fails. So the work is
one step for each call, over all runs at once.

**A set at once** ("subset"): the mechanism itself, on grouped scores, its tiles laid once for all runs.

**Memory.** Runs are made in batches, so that what a batch needs beside its own selections stays below PEAK_BYTES,
however many runs there are. A run needs some numbers for each of its c selections and for each bucket of scores.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import NDArray

from sparsegate.budget import Number, exact_count
from sparsegate.evaluation.methods import AnyMethod, Method, NoiseScales, method
from sparsegate.evaluation.simulated.arrivals import NOBODY, ScoreBuckets, first_rings
from sparsegate.evaluation.simulated.clock_laws import ExponentialLaw, TraversalLaw, positive
from sparsegate.evaluation.simulated.noisy_laws import LaplaceLaw, NoiselessPassLaw, OneSidedLaw, OneSidedPassLaw
from sparsegate.evaluation.simulated.ranked import Errors, Integers, Ladder, Rankable, measure
from sparsegate.evaluation.simulated.supplied_runs import simulate_supplied
from sparsegate.evaluation.supplied_methods import SuppliedMethod
from sparsegate.mechanisms.row import Noise
from sparsegate.mechanisms.scores import Scores
from sparsegate.mechanisms.subset import Subsets
from sparsegate.noise import Seeded

_NEVER = 2.0  # no probability: the next call of a bucket that is used up
PEAK_BYTES = 30_000_000
"""The most that a batch of runs allocates: what fits near a processor is faster than more.

A single run may need more, if two million items compete in earnest.
"""

_BYTES = 190  # for each selection and bucket of a run, at the peak: 42 to 170 measured over methods, datasets and c


def simulate(
    selected_by: object,
    scores: Rankable,
    *,
    count: int,
    epsilon: Number,
    runs: int,
    rng: np.random.Generator | int,
) -> Integers:
    """Select ``count`` items ``runs`` times: a row for each run, of rungs of ``Ladder.of(scores)``.

    A run that selected fewer has NOBODY (-1) in the places left. Rows are in no particular order.

    Parameters
    ----------
    selected_by: a method of ours or its key, or anything with ``select(scores, count, epsilon, rng)``.
    scores: anything that ``Ladder.of`` takes: an array, a mapping, ``Scores`` or a ladder.
    count: c, from 1 to one less than the number of items.
    epsilon: what one run would cost if its threshold were public, > 0.
    runs: how many, at least 1.
    rng: a numpy generator, or a seed for one.

    >>> import sparsegate as sg
    >>> scores = [900, 800, 700] + [10] * 1000
    >>> sg.evaluation.simulate("em", scores, count=3, epsilon=1, runs=2, rng=1).tolist()
    [[0, 1, 2], [0, 1, 2]]
    """
    ladder = Ladder.of(scores)
    return np.concatenate(list(_batches(method(selected_by), ladder, count, epsilon, runs, np.random.default_rng(rng))))


def simulated_errors(
    selected_by: object,
    scores: Rankable,
    *,
    count: int,
    epsilon: Number,
    runs: int,
    rng: np.random.Generator | int,
) -> Errors:
    """The errors of what ``simulate`` selects, without keeping the selections: memory does not grow with c runs.

    >>> simulated_errors("em", [900, 800, 700] + [10] * 1000, count=3, epsilon=1, runs=2, rng=1).fnr.tolist()
    [0.0, 0.0]
    """
    ladder = Ladder.of(scores)
    batches = _batches(method(selected_by), ladder, count, epsilon, runs, np.random.default_rng(rng))
    return Errors.joined([measure(ladder, rungs, count=count) for rungs in batches])


def _batches(
    chosen: AnyMethod, ladder: Ladder, count: int, epsilon: Number, runs: int, rng: np.random.Generator
) -> Iterator[Integers]:
    count, runs = ladder.check_count(count), exact_count(runs, "runs")
    draw: Callable[[int], Integers]
    if isinstance(chosen, SuppliedMethod):
        numbers, draw = count, partial(simulate_supplied, rng, chosen, ladder, count, epsilon)
    else:
        noise = chosen.noise(count=count, epsilon=epsilon)
        buckets = ScoreBuckets.cut(ladder, count=count, scale=_scale(noise))
        numbers, draw = count + buckets.sizes.size, _sets(chosen, buckets, noise, count, rng)
        if chosen.row is not None and chosen.row.redraws_threshold:
            numbers += int(buckets.sizes[_Calls.shuffled(buckets, count)].sum()) // 8  # each a number, not some twenty
    batch = max(1, PEAK_BYTES // (_BYTES * numbers))
    for start in range(0, runs, batch):
        yield draw(min(batch, runs - start))


def _sets(
    chosen: Method, buckets: ScoreBuckets, noise: NoiseScales, count: int, rng: np.random.Generator
) -> Callable[[int], Integers]:
    """What draws the selections of a given number of runs."""
    ladder = buckets.ladder
    threshold = chosen.raised(ladder.oracle_threshold(count), noise)
    if chosen.selection == "subset":
        source = Seeded(int(rng.integers(1 << 62))).stream()
        scores = Scores(values=ladder.values, multiplicities=ladder.sizes)
        sets = Subsets(scores, 1 / Fraction(noise.query), count)
        return lambda runs: np.array([sets.draw(source) for _ in range(runs)])
    if chosen.row is not None and chosen.row.redraws_threshold:
        scales = {"rho_scale": noise.threshold, "nu_scale": noise.query}
        return lambda runs: first_positives(rng, buckets, threshold=threshold, **scales, count=count, runs=runs)
    rings = partial(first_rings, rng, buckets, scale=_scale(noise), count=count)
    if chosen.row is None:
        race = {"one-shot": OneSidedLaw, "noisy-scores": LaplaceLaw}.get(chosen.selection, ExponentialLaw)()
        return lambda runs: rings(race, levels=np.full(runs, threshold), end=math.inf)
    in_passes = partial(rings, end=float(chosen.passes))
    if chosen.row.noise is Noise.EXPONENTIAL:
        return lambda runs: in_passes(OneSidedPassLaw(), levels=threshold + rng.exponential(noise.threshold, runs))
    law = TraversalLaw() if noise.query else NoiselessPassLaw()
    return lambda runs: in_passes(law, levels=threshold + rng.laplace(0.0, noise.threshold, runs))


def _scale(noise: NoiseScales) -> float:
    """What separates scores: the scale of nu, or that of rho where comparisons have no noise."""
    return noise.query or noise.threshold


def first_positives(
    rng: np.random.Generator,
    buckets: ScoreBuckets,
    *,
    threshold: float,
    rho_scale: float,
    nu_scale: float,
    count: int,
    runs: int,
) -> Integers:
    """The rungs of the first ``count`` positives of each run, in the order selected; NOBODY fills a short row."""
    ladder = buckets.ladder
    chosen = np.full((runs, count), NOBODY, dtype=np.int64)
    found = np.zeros(runs, dtype=np.int64)
    calls = _Calls(rng, buckets, runs, count)
    noisy = threshold + rng.laplace(0.0, rho_scale, runs)
    time, area = np.zeros(runs), np.zeros((runs, buckets.sizes.size))
    going = np.arange(runs)
    while going.size:
        chance = positive((buckets.highest - noisy[going, None]) / nu_scale)
        waits = (calls.levels[going] - area[going]) / np.maximum(chance, 1e-300)
        bucket = waits.argmin(axis=1)
        wait = waits[np.arange(going.size), bucket]
        time[going] += wait
        on = time[going] < 1
        area[going] += chance * wait[:, None]
        called, bucket, bound = going[on], bucket[on], chance[on, bucket[on]]
        rung = ladder.rungs(calls.next_items(called, bucket))
        own = positive((ladder.values[rung] - noisy[called]) / nu_scale)
        stays = rng.random(called.size) * bound < own
        selects = called[stays]
        chosen[selects, found[selects]] = rung[stays]
        found[selects] += 1
        noisy[selects] = threshold + rng.laplace(0.0, rho_scale, selects.size)
        going = called[found[called] < count]
    return chosen


class _Calls:
    """Who is called next in every bucket of every run, and at which area: ``levels``.

    The numbers U of n items in rising order are 1 - exp(-E), where E grows by an exponential variable of mean 1/n,
    then of mean 1/(n-1), and so on.
    """

    def __init__(self, rng: np.random.Generator, buckets: ScoreBuckets, runs: int, count: int) -> None:
        self._rng, self._starts, self._sizes = rng, buckets.starts, buckets.sizes
        self._clocks = rng.exponential(1.0, (runs, buckets.sizes.size)) / buckets.sizes
        self.levels = -np.expm1(-self._clocks)
        self._gone = np.zeros(self.levels.shape, dtype=np.int64)
        self._called = np.full((runs, 2 * count), NOBODY, dtype=np.int64)
        self._step = 0
        # A bucket that may be used up is shuffled; in a larger one it is rare to draw an item twice.
        small = self.shuffled(buckets, count)
        ends = np.cumsum(np.where(small, buckets.sizes, 0))
        self._column = np.where(small, ends - buckets.sizes, NOBODY)
        self._shuffled = np.empty((runs, int(ends[-1])), dtype=np.int64)
        for start, size, end in zip(buckets.starts[small], buckets.sizes[small], ends[small], strict=True):
            items = np.tile(np.arange(start, start + size), (runs, 1))
            self._shuffled[:, end - size : end] = rng.permuted(items, axis=1)

    @staticmethod
    def shuffled(buckets: ScoreBuckets, count: int) -> NDArray[np.bool_]:
        """Which buckets are held in a random order, item by item."""
        return buckets.sizes <= 2 * count

    def next_items(self, run: Integers, bucket: Integers) -> Integers:
        """Call an item of the given bucket in each given run, uniform among those not called yet."""
        item = np.empty_like(run)
        column = self._column[bucket]
        shuffled = column != NOBODY
        known = run[shuffled]
        item[shuffled] = self._shuffled[known, column[shuffled] + self._gone[known, bucket[shuffled]]]
        to_draw = np.flatnonzero(~shuffled)
        while to_draw.size:
            where = bucket[to_draw]
            drawn = self._starts[where] + (self._rng.random(to_draw.size) * self._sizes[where]).astype(np.int64)
            item[to_draw] = drawn
            twice = (self._called[run[to_draw], : self._step] == drawn[:, None]).any(axis=1)
            to_draw = to_draw[twice]
        self._note(run, bucket, item)
        return item

    def _note(self, run: Integers, bucket: Integers, item: Integers) -> None:
        if self._step == self._called.shape[1]:
            self._called = np.concatenate((self._called, np.full_like(self._called, NOBODY)), axis=1)
        self._called[run, self._step] = item
        self._step += 1
        self._gone[run, bucket] += 1
        left = self._sizes[bucket] - self._gone[run, bucket]
        self._clocks[run, bucket] += self._rng.exponential(1.0, run.size) / np.maximum(left, 1)
        self.levels[run, bucket] = np.where(left > 0, -np.expm1(-self._clocks[run, bucket]), _NEVER)
