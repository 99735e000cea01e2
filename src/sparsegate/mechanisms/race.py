"""An exact race: which exponential clocks ring first, decided as if every clock were known to all its digits.

A lane is a group of n equal items of log-weight x. Its k-th ring comes at exp(-x) A_k, with

    A_k = E_1 / n + E_2 / (n - 1) + ... + E_k / (n - k + 1)

and E_j independent exponentials of mean one (Renyi 1953), so a lane winds only as many clocks as it wins
rings, and one more. The key of a ring is x - log A_k; the largest keys ring first.

Every key is enclosed between two integers, in units of 2**-64 at first: x exactly, the rest in floats
within the error bounds of ``sparsegate.noise.clocks``. Rings whose enclosures are disjoint are in order. The
others get twice the digits, drawn from the source and remembered, and interval arithmetic, until theirs are
disjoint too. Two keys are equal with probability zero, so that ends.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparsegate.noise import Source, clocks
from sparsegate.noise.clocks import Clock, enclose, ring_times

_UNITS = 64  # bits after the point of a first enclosure
_SCALE = 192  # bits after the point of A_k: E >= 2**-65 and n <= 2**62 leave 64 significant ones
_BLOCK = 256  # clocks wound at a time for the later rings


class Lane:
    """One group in the race: its size n, its exact log-weight x and its clocks so far."""

    __slots__ = ("clocks", "earliest", "group", "latest", "size", "weight")

    def __init__(self, group: int, size: int, weight: tuple[int, int]) -> None:
        self.group = group
        self.size = size
        self.weight = weight  # x as numerator and denominator, not necessarily reduced
        self.clocks: list[Clock] = []
        self.earliest = 0  # bounds on A_k, in units of 2**-_SCALE
        self.latest: int | float = 0

    def wind(self, word: int, time: float, relative: float) -> Ring:
        """Add the clock that rings at time (1 +- relative) and enclose the key of its ring."""
        waiting = self.size - len(self.clocks)
        self.clocks.append(Clock(word))
        if relative < 1:
            self.earliest += int(math.ldexp(time * (1 - relative), _SCALE)) // waiting
            self.latest += int(math.ldexp(time * (1 + relative), _SCALE)) // waiting + 1
        else:
            self.latest = math.inf
        numerator, denominator = self.weight
        weight = (numerator << _UNITS) // denominator
        return Ring(
            high=weight + 1 - _log_units(self.earliest, -1) if self.earliest > 0 else math.inf,
            low=weight - _log_units(self.latest, 1) if self.latest < math.inf else -math.inf,
            lane=self,
            rank=len(self.clocks),
        )


class Ring(NamedTuple):
    """The rank-th ring of a lane; its key lies in [low, high], in the units of its enclosure."""

    high: int | float
    low: int | float
    lane: Lane
    rank: int

    def refined(self, source: Source, bits: int) -> Ring:
        """The same ring, enclosed in units of 2**-bits."""
        lane = self.lane
        wound = lane.clocks[: self.rank]
        for clock in wound:
            clock.extend(source, bits + 64)
        waiting = range(lane.size, lane.size - self.rank, -1)
        low, high = enclose(*lane.weight, zip(wound, waiting, strict=True), bits)
        return self._replace(low=low, high=high)


def first_rings(source: Source, lanes: Sequence[Lane], words: NDArray[np.uint64], count: int) -> list[int]:
    """The groups of the first ``count`` rings, in their order; ``words`` are the lanes' first clocks."""
    rings = [lane.wind(*clock) for lane, clock in zip(lanes, _times(words), strict=True)]
    if any(lane.size > 1 for lane in lanes):
        rings = _leaders(source, rings, count)
    return [ring.lane.group for ring in _ordered(source, rings, count, _UNITS)]


def _leaders(source: Source, rings: list[Ring], count: int) -> list[Ring]:
    """Rings among which the first ``count`` certainly are, from the first ring of each lane.

    Rings are taken by their upper bounds, largest first. The next ring of a lane has no larger upper bound
    than the one before, so once the largest upper bound in wait is below ``count`` lower bounds taken,
    nobody else wins.
    """
    waiting = [(-ring.high, number, ring) for number, ring in enumerate(rings)]
    heapq.heapify(waiting)
    later = _later_clocks(source)
    taken: list[Ring] = []
    best: list[int | float] = []  # the ``count`` largest lower bounds taken, smallest first
    while waiting and (len(best) < count or -waiting[0][0] >= best[0]):
        _, number, ring = waiting[0]
        taken.append(ring)
        (heapq.heappush if len(best) < count else heapq.heappushpop)(best, ring.low)
        if ring.rank < ring.lane.size:
            following = ring.lane.wind(*next(later))
            heapq.heapreplace(waiting, (-following.high, number, following))
        else:
            heapq.heappop(waiting)
    return taken


def _ordered(source: Source, rings: list[Ring], count: int, bits: int) -> list[Ring]:
    """The first ``count`` rings by falling key: runs of overlapping enclosures are refined at twice the bits."""
    rings = sorted(rings, key=_by_high, reverse=True)
    done: list[Ring] = []
    start = 0
    while start < len(rings) and len(done) < count:
        lowest, end = rings[start].low, start + 1
        while end < len(rings) and rings[end].high >= lowest:
            lowest = min(lowest, rings[end].low)
            end += 1
        run = rings[start:end]
        if len(run) > 1:
            finer = [ring.refined(source, 2 * bits) for ring in run]
            run = _ordered(source, finer, count - len(done), 2 * bits)
        done += run
        start = end
    return done[:count]


def _by_high(ring: Ring) -> int | float:
    return ring.high


def _times(words: NDArray[np.uint64]) -> Iterator[tuple[int, float, float]]:
    times, relative = ring_times(words)
    return zip(words.tolist(), times.tolist(), relative.tolist(), strict=True)


def _later_clocks(source: Source) -> Iterator[tuple[int, float, float]]:
    while True:
        yield from _times(source.bytes(8 * _BLOCK).view("<u8"))


def _log_units(time: int | float, direction: int) -> int:
    """log of a finite bound on A_k in units of 2**-_UNITS, moved by its error in the given direction."""
    log = math.log(math.ldexp(float(time), -_SCALE))
    return int(math.ldexp(log + direction * clocks.ROUNDING * (1 + abs(log)), _UNITS)) + direction
