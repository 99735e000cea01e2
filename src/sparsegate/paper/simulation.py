"""What a method selects, simulated many times on grouped scores. NOT PRIVATE: an oracle threshold, noise in floats.

The law is that of the per-item mechanism with real-valued noise, items in random order. The time depends on c and on
the number of runs, and hardly on the number of items: every item carries a clock that rings when the *hazard* H(z, h)
of its score z at time h reaches an exponential number, the first c rings are selected, and buckets of scores draw who
rings. Proof: docs/explanation/proofs_in_words/paper.md. What a batch needs stays below PEAK_BYTES, however many runs.

**A method that is not ours** is given items that are shuffled anew for each run, by a generator that it never sees, and
copies: nothing it does to what it is given changes what it is measured against, or another case. What it prints goes to
stderr; stdout is for results."""

from __future__ import annotations

import math
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparsegate.budget import Number, exact_count, exact_epsilon
from sparsegate.errors import ParameterError
from sparsegate.gates.variants import Noise
from sparsegate.noise import Seeded
from sparsegate.paper.methods import Method, NoiseScales, SuppliedMethod, method
from sparsegate.paper.ranked import Errors, Floats, Integers, Ladder, Rankable, measure
from sparsegate.selection.scores import Scores
from sparsegate.selection.subset import Subsets

STEEPEST = 600.0  # a clock exp(600) times faster or slower than the c-th rings at once, or never
_LEAST = 1e-300  # for a probability that underflows, whose item never rings, and for a time before every ring


class ClockLaw(NamedTuple):
    """How a clock's hazard grows with time, and the time at which it has grown so far; all arguments broadcast.

    The rate bounds the growth of the probability to ring: 1 - exp(-H(z, h)) <= h times it.
    """

    rate: Callable[[Floats], Floats]
    hazard: Callable[[Floats, Floats], Floats]
    time: Callable[[Floats, Floats], Floats]


def positive(z: Floats) -> Floats:
    """P[nu >= -z] for Laplace noise nu of scale one."""
    tail = 0.5 * np.exp(-np.abs(z))
    result: Floats = np.where(z < 0, tail, 1 - tail)
    return result


def _pass_hazard(z: Floats) -> Floats:
    """-log(1 - p): the hazard of a whole pass."""
    below: Floats = -np.log1p(-0.5 * np.exp(np.minimum(z, 0.0)))
    return below + np.maximum(z, 0.0)


def _traversal_hazard(z: Floats, time: Floats) -> Floats:
    """-k log(1 - p) - log(1 - p f)."""
    passes = np.floor(time)
    result: Floats = passes * _pass_hazard(z) - np.log1p(-positive(z) * (time - passes))
    return result


def _traversal_time(z: Floats, hazard: Floats) -> Floats:
    """k + f, from the whole passes in the hazard and the rest of it."""
    rate = np.maximum(_pass_hazard(z), _LEAST)
    passes = np.floor(hazard / rate)
    rest = np.maximum(hazard - passes * rate, 0.0)
    result: Floats = passes + np.minimum(-np.expm1(-rest) / np.maximum(positive(z), _LEAST), 1.0)
    return result


def _weight(z: Floats) -> Floats:
    result: Floats = np.exp(np.clip(z, -STEEPEST, STEEPEST))
    return result


@np.errstate(over="ignore")  # an infinite hazard is as good as a large one
def _peeled_hazard(z: Floats, time: Floats) -> Floats:
    return _weight(z) * time


@np.errstate(divide="ignore")
def _laplace_time(z: Floats, hazard: Floats) -> Floats:
    """Where the bar stands at the quantile 1 - exp(-H) of the noise."""
    lower = np.log(-2 * np.expm1(-np.minimum(hazard, math.log(2))))
    return _weight(np.where(hazard < math.log(2), lower, hazard - math.log(2)) - z)


def _one_sided(rate: Callable[[Floats], Floats]) -> ClockLaw:
    """H = -log(1 - rate h): infinite where the bar has passed the score by more than nothing, or all had their turn."""

    @np.errstate(over="ignore", divide="ignore")
    def hazard(z: Floats, time: Floats) -> Floats:
        result: Floats = -np.log1p(-np.minimum(rate(z) * time, 1.0))
        return result

    return ClockLaw(rate, hazard, lambda z, hazard: -np.expm1(-hazard) / rate(z))


# Comparisons with Laplace noise in random order, pass after pass
TRAVERSAL = ClockLaw(_pass_hazard, _traversal_hazard, _traversal_time)
# The exponential mechanism, peeled
EXPONENTIAL = ClockLaw(_weight, _peeled_hazard, lambda z, hazard: hazard / _weight(z))
# The largest of scores with Laplace noise, whose tail exp(z) bounds, too; and with exponential noise
LAPLACE = ClockLaw(_weight, lambda z, time: _pass_hazard(z + np.log(np.maximum(time, _LEAST))), _laplace_time)
ONE_SIDED = _one_sided(_weight)
# One pass, comparing with exponential noise, and without noise
ONE_SIDED_PASS = _one_sided(lambda z: np.exp(np.clip(z, -STEEPEST, 0.0)))
NOISELESS_PASS = _one_sided(lambda z: np.where(z >= 0, 1.0, 0.0))

RACES: Final[dict[str, ClockLaw]] = {
    "exponential": EXPONENTIAL,
    "gumbel": EXPONENTIAL,
    "one-shot": ONE_SIDED,
    "noisy-scores": LAPLACE,
}
"""The noise that each method of ``select_top`` races with."""

NOBODY = -1  # fills the places of a run that selected fewer than c items
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
        """Buckets at most half a scale wide around the c-th score, finer for a large c; far below, one serves all."""
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
    """The rungs of the first ``count`` items to ring before time ``end``, in no order: a row for each level."""
    runs, total = levels.size, buckets.ladder.total
    chosen = np.full((runs, count), NOBODY, dtype=np.int64)
    taken = np.empty(0, dtype=np.int64)
    selected = np.zeros(runs, dtype=np.int64)
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
        keep, place = _earliest(run, time, selected[racing], count)
        chosen[racing[run[keep]], place] = rung[keep]
        taken = np.concatenate((taken, keys[keep]))
        selected[racing] += np.bincount(run[keep], minlength=racing.size)
        since[racing] = until
        racing = racing[(selected[racing] < count) & (until < end)]
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


def _earliest(run: Integers, time: Floats, selected: Integers, count: int) -> tuple[Integers, Integers]:
    """Of each run's rings the earliest, as many as it still needs: where they are, and the places they take."""
    number = np.bincount(run, minlength=selected.size)
    column = np.arange(run.size) - np.repeat(np.cumsum(number) - number, number)
    table = np.full((selected.size, max(int(number.max(initial=0)), count)), np.inf)
    table[run, column] = time
    needed = count - selected
    table.partition(np.unique(needed) - 1, axis=1)
    cut = table[np.arange(selected.size), needed - 1]
    keep = np.flatnonzero(time <= cut[run])
    kept = np.bincount(run[keep], minlength=selected.size)
    place = np.arange(keep.size) - np.repeat(np.cumsum(kept) - kept, kept) + selected[run[keep]]
    fits = place < count  # two rings at the same float: the last of them waits
    return keep[fits], place[fits]


MOST_ITEMS = 2 * 10**7  # items whose scores are laid out one by one, some 500 MB; more need ``select_grouped``

_SHOWN = 200


def simulate_supplied(
    rng: np.random.Generator, method: SuppliedMethod, ladder: Ladder, count: int, epsilon: Number, runs: int
) -> Integers:
    """The rungs that the method selects, a row for each run; NOBODY fills a short row."""
    name, grouped = f"method {method.key}", method.grouped
    if not grouped and ladder.total > MOST_ITEMS:
        raise ParameterError(name, f"must have select_grouped for more than {MOST_ITEMS:,} items", ladder.total)
    orders, own = (np.random.default_rng(seed) for seed in rng.integers(1 << 62, size=2))
    call, share = method.fresh().caller(), float(exact_epsilon(epsilon))
    scores = np.repeat(ladder.values, 0 if grouped else ladder.sizes)
    room = ladder.sizes if grouped else np.broadcast_to(np.int64(1), scores.shape)
    rungs = np.full((runs, count), NOBODY, dtype=np.int64)
    for run, row in enumerate(rungs, start=1):
        where = f"at c = {count}, epsilon = {share:g}, run {run}"
        if grouped:
            private = {"values": ladder.values.copy(), "sizes": ladder.sizes.copy()}
        else:
            orders.shuffle(scores)
            private = {"scores": scores.copy()}
        selected = _called(partial(call, **private, count=count, epsilon=share, rng=own), name, count, where)
        for rule, value in _faults(selected, room, count):
            raise ParameterError(name, rule, value, where)
        selected = selected.astype(np.int64)
        row[: selected.size] = selected if grouped else ladder.rungs_of(scores[selected])
    return rungs


def _called(select: Callable[[], Any], name: str, count: int, where: str) -> NDArray[Any]:
    try:
        with redirect_stdout(sys.stderr):
            returned = select()
            if isinstance(returned, Iterable) and not isinstance(returned, np.ndarray):
                returned = list(islice(returned, count + 1))
    except (Exception, SystemExit) as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        text = " ".join("".join(traceback.format_exception_only(error)).split())[:_SHOWN]
        rule = f"must not raise {text} ({Path(last.filename).name}, line {last.lineno})"
        raise ParameterError(name, rule, next_step=where) from error
    try:
        return np.asarray(
            returned.tolist() if isinstance(returned, np.ndarray) and returned.dtype.kind == "O" else returned
        )
    except ValueError:  # lists of several lengths in a list
        return np.array(None)


def _faults(returned: NDArray[Any], room: Integers, count: int) -> Iterator[tuple[str, object]]:
    """What is wrong with a selection, the worst first; ``room`` is how often each index may be there."""
    if returned.ndim != 1:
        yield (
            "must return a flat list of indices",
            f"an array of shape {returned.shape}" if returned.ndim else returned.item(),
        )
    if returned.size and returned.dtype.kind not in "iu":
        hint = ": a mask becomes indices by numpy's flatnonzero" if returned.dtype.kind == "b" else ""
        yield f"must return whole numbers{hint}", returned.ravel()[:5].tolist()
    if returned.size > count:
        yield f"must return at most {count} indices", f"{count + 1} or more"
    outside = returned[(returned < 0) | (returned >= room.size)]
    if outside.size:
        yield f"must return indices from 0 to {room.size - 1}", int(outside[0])
    indices, times = np.unique(returned, return_counts=True)
    often = indices[times > room[indices.astype(np.int64)]]
    if often.size:
        yield "must return each index once, or a group as often as it has items", int(often[0])


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
    >>> sg.paper.simulate("em", scores, count=3, epsilon=1, runs=2, rng=1).tolist()
    [[0, 1, 2], [0, 1, 2]]
    """
    return np.concatenate(list(_batches(selected_by, Ladder.of(scores), count, epsilon=epsilon, runs=runs, rng=rng)))


def simulated_errors(selected_by: object, scores: Rankable, *, count: int, **options: Any) -> Errors:
    """The errors of what ``simulate`` selects, without keeping the selections: memory does not grow with c runs."""
    ladder = Ladder.of(scores)
    batches = _batches(selected_by, ladder, count, **options)
    return Errors.joined([measure(ladder, rungs, count=count) for rungs in batches])


RARE = 1e-4  # what SER below ``least_ser`` counts for in the mean, at most
_RHO = np.concatenate((np.arange(-4.0, 4.0, 0.1), np.arange(4.0, 30.5, 0.5)))  # in units of its scale
_BEYOND = np.where(_RHO < 0, 1 - np.exp(-np.abs(_RHO)) / 2, np.exp(-np.abs(_RHO)) / 2)  # P[rho > that]
_WITHIN = -np.diff(_BEYOND, prepend=1.0)
_THETA = np.geomspace(0.5, 512.0, 21)[:, None]
_MOST_PLACES = 1000  # beyond this c, where tails would take much memory, any number may be selected
_LUMP = 0.05  # items whose z differs by less count as the lowest of them


def least_ser(selected_by: object, scores: Rankable, *, count: int, epsilon: Number) -> float:
    """A SER, 0 or below, that the mean hardly depends on what is below of: by at most ``RARE``."""
    chosen, ladder = method(selected_by), Ladder.of(scores)
    if isinstance(chosen, Method) and chosen.row is None:
        return 0.0
    highest = ladder.highest(count)
    best = np.cumsum(highest) / np.arange(1, count + 1) * (count / highest.sum())
    tails = np.ones(count - 1)
    if isinstance(chosen, Method) and chosen.row and chosen.row.noise is Noise.LAPLACE and count <= _MOST_PLACES:
        noise = chosen.noise(count=count, epsilon=epsilon)
        tails = _short_tails(chosen, ladder, highest, noise) if noise.query else tails
    lost = np.cumsum(-np.diff(best) * tails)
    return float(1 - best[np.searchsorted(lost, RARE, side="right")])


def _short_tails(chosen: Method, ladder: Ladder, highest: Floats, noise: NoiseScales) -> Floats:
    """Bounds on the probability that k items or fewer are selected, for k from 1 to c - 1."""
    count = highest.size
    levels = chosen.raised(ladder.oracle_threshold(count), noise) + noise.threshold * _RHO[:, None]
    lump = np.floor((ladder.values - highest[-1]) / (_LUMP * noise.query))
    last = np.flatnonzero(np.diff(lump, append=-np.inf))
    sizes = np.diff(ladder.starts[last] + ladder.sizes[last], prepend=0)
    chance, of_highest = (positive((values - levels) / noise.query) for values in (ladder.values[last], highest))
    k = np.arange(1, count)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        if chosen.row is not None and chosen.row.redraws_threshold:
            left = np.maximum((chance @ sizes)[:, None] - np.cumsum(of_highest, axis=1) + of_highest, 0.0)
            theta = _THETA[:, :, None]
            waits = np.einsum("r,trj->tj", _WITHIN, (left - theta * np.exp(theta - left)) / (left - theta))
            logs = np.cumsum(np.log(waits + np.exp(_THETA) * _BEYOND[-1]), axis=1) - _THETA
            tails: Floats = np.exp(np.minimum(np.nanmin(logs, axis=0), 0.0))[1:]
            return tails
        chance, of_highest = (-np.expm1(chosen.passes * np.log1p(-each)) for each in (chance, of_highest))
        met, missed = (chance @ sizes)[:, None], (1 - of_highest).sum(axis=1)[:, None]
        few = np.where(k < met, np.exp(k - met + k * np.log(met / k)), 1.0)
        empty = count - k
        many = np.where(empty > missed, np.exp(empty - missed + empty * np.log(missed / empty)), 1.0)
    tails = np.minimum(few, many).T @ _WITHIN
    tails += _BEYOND[-1]
    return tails


def _batches(
    selected_by: object, ladder: Ladder, count: int, *, epsilon: Number, runs: int, rng: np.random.Generator | int
) -> Iterator[Integers]:
    chosen, rng = method(selected_by), np.random.default_rng(rng)
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
        race = RACES[chosen.selection]
        return lambda runs: rings(race, levels=np.full(runs, threshold), end=math.inf)
    in_passes = partial(rings, end=float(chosen.passes))
    if chosen.row.noise not in (Noise.LAPLACE, Noise.EXPONENTIAL):
        raise ParameterError("row", "must have noise of a law that is simulated", chosen.row.key)
    if chosen.row.noise is Noise.EXPONENTIAL:
        return lambda runs: in_passes(ONE_SIDED_PASS, levels=threshold + rng.exponential(noise.threshold, runs))
    law = TRAVERSAL if noise.query else NOISELESS_PASS
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
    selected = np.zeros(runs, dtype=np.int64)
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
        chosen[selects, selected[selects]] = rung[stays]
        selected[selects] += 1
        noisy[selects] = threshold + rng.laplace(0.0, rho_scale, selects.size)
        going = called[selected[called] < count]
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
