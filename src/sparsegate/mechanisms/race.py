"""An exact race: which exponential clocks ring first, decided as if every clock were known to all its digits.

A lane is a group of n equal items of log-weight x. Its k-th ring comes at exp(-x) A_k, with

    A_k = E_1 / n + E_2 / (n - 1) + ... + E_k / (n - k + 1)

and E_j independent exponentials of mean one (Renyi 1953), so a lane winds only about as many clocks as it wins
rings. The key of a ring is x - log A_k; the largest keys ring first.

Lanes wind in rounds, all of them at once and each round as many clocks as all rounds before it. The keys of all rings
are enclosed in floats, within the error bounds of ``sparsegate.noise.clocks``. A lane drops out when its last ring is
certainly not among the first ``count``: those that follow come later still. What is left is put in order by
``mechanisms.ordering``, with more digits where floats do not decide: they are drawn from the source, and remembered.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sparsegate.mechanisms.ordering import FIRST_BITS, largest_first
from sparsegate.noise import Source, clocks
from sparsegate.noise.clocks import Clock, enclose, ring_times

FAR = 1e300
"""Log-weights beyond this in size are only known to be beyond it."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Lanes:
    """The groups of a race: how many items each has, and their log-weight x, in floats and exactly.

    A float errs by at most 2**-49 (1 + |x|); ``exact(number)`` is x of a lane as numerator and denominator.
    """

    sizes: NDArray[np.int64]
    weights: NDArray[np.float64]
    exact: Callable[[int], tuple[int, int]]


def first_rings(source: Source, lanes: Lanes, words: NDArray[np.uint64], count: int) -> NDArray[np.int64]:
    """The lanes of the first ``count`` rings, in their order; ``words`` are the lanes' first clocks."""
    return Race(source, lanes, words).first(count)


class Race:
    """The rings so far: of which lane, the how manieth, and floats between which its key lies."""

    def __init__(self, source: Source, lanes: Lanes, words: NDArray[np.uint64]) -> None:
        self._source, self._lanes = source, lanes
        self._rounds: list[tuple[NDArray[np.int64], NDArray[np.uint64]]] = []
        self._clocks: dict[int, list[Clock]] = {}  # of lanes where floats did not decide
        everyone = np.arange(words.size)
        self._times, self._loose = np.zeros(words.size), np.zeros(words.size)  # A_k so far, and its relative error
        self.lane, self.rank = everyone[:0], everyone[:0]
        self.low, self.high = np.empty(0), np.empty(0)
        self._wind(everyone, words[:, None])

    def first(self, count: int) -> NDArray[np.int64]:
        """The lanes of the first ``count`` rings, in their order; there are as many items."""
        wound, last = 1, self.high
        while (going := self._going(wound, last, count)).size:
            last = np.full(last.size, -np.inf)
            words = self._source.bytes(8 * wound * going.size).view("<u8").reshape(going.size, wound)
            last[going] = self._wind(going, words)
            wound *= 2
        lanes: NDArray[np.int64] = self.lane[
            largest_first(self.low, self.high, count, self._refined, alike=self.lane if wound > 1 else None)
        ]
        return lanes

    def _going(self, wound: int, last: NDArray[np.float64], count: int) -> NDArray[np.int64]:
        """The lanes that have items left and whose last ring may be among the first ``count``."""
        left = self._lanes.sizes > wound
        if self.low.size > count and left.any():
            left &= last >= np.partition(self.low, self.low.size - count)[self.low.size - count]
        return np.flatnonzero(left)

    def _wind(self, lanes: NDArray[np.int64], words: NDArray[np.uint64]) -> NDArray[np.float64]:
        """Wind a row of clocks for each of the lanes; the upper bounds on the keys of their last rings."""
        before = sum(drawn.shape[1] for _, drawn in self._rounds)
        self._rounds.append((lanes, words))
        times, relative = (each.reshape(words.shape) for each in ring_times(words.ravel()))
        ranks = np.arange(before + 1, before + words.shape[1] + 1)
        waiting = np.maximum(self._lanes.sizes[lanes, None] - ranks + 1, 1)
        times /= waiting
        times[:, 0] += self._times[lanes]
        np.maximum(relative[:, 0], self._loose[lanes], out=relative[:, 0])
        # A sum of positive terms errs by no more than the worst of them, and 2**-53 for each addition and division.
        np.cumsum(times, axis=1, out=times)
        np.maximum.accumulate(relative, axis=1, out=relative)
        self._times[lanes], self._loose[lanes] = times[:, -1], relative[:, -1]
        logs = np.log(times)
        weight = self._lanes.weights[lanes, None]
        keys = weight - logs
        errors = 1.01 * (relative + ranks * 2.0**-52) + clocks.ROUNDING * (1 + np.abs(logs) + np.abs(weight))
        low, high = keys - errors, keys + errors
        low[np.broadcast_to(weight <= -FAR, low.shape)] = -np.inf
        high[np.broadcast_to(weight >= FAR, high.shape)] = np.inf
        there = ranks <= self._lanes.sizes[lanes, None]
        self.lane = np.concatenate((self.lane, np.broadcast_to(lanes[:, None], there.shape)[there]))
        self.rank = np.concatenate((self.rank, np.broadcast_to(ranks, there.shape)[there]))
        self.low, self.high = np.concatenate((self.low, low[there])), np.concatenate((self.high, high[there]))
        upper: NDArray[np.float64] = high[:, -1]
        return upper

    def _refined(self, ring: int, bits: int) -> tuple[int | float, int | float]:
        """Enclose the key of a ring: at first with the exact log-weight and a careful sum, then in intervals."""
        lane, rank = int(self.lane[ring]), int(self.rank[ring])
        words = self._words(lane, rank)
        numerator, denominator = self._lanes.exact(lane)
        size = int(self._lanes.sizes[lane])
        if bits == FIRST_BITS:
            times, relative = ring_times(words)
            loose = float(relative.max())
            if math.isinf(loose):
                return -math.inf, math.inf
            log = math.log(math.fsum((times / np.arange(size, size - rank, -1)).tolist()))
            error = 1.01 * loose + clocks.ROUNDING * (1 + abs(log))
            weight = (numerator << bits) // denominator
            return (
                weight - int(math.ldexp(log + error, bits)) - 1,
                weight - int(math.ldexp(log - error, bits)) + 2,
            )
        wound = self._clocks.setdefault(lane, [])
        wound += (Clock(word) for word in words[len(wound) :].tolist())
        for clock in wound[:rank]:
            clock.extend(self._source, bits + 64)
        waiting = range(size, size - rank, -1)
        return enclose(numerator, denominator, zip(wound[:rank], waiting, strict=True), bits)

    def _words(self, lane: int, rank: int) -> NDArray[np.uint64]:
        rows = []
        for lanes, words in self._rounds:
            place = int(np.searchsorted(lanes, lane))
            if place < lanes.size and lanes[place] == lane:
                rows.append(words[place])
        return np.concatenate(rows)[:rank]
