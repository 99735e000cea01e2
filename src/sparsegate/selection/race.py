"""An exact race: which exponential clocks ring first, decided as if every clock were known to all its digits.

A lane is a group of n equal items of log-weight x. Its k-th ring comes at exp(-x) A_k with A_k = E_1 / n + E_2 / (n -
1) + ... + E_k / (n - k + 1), E_j independent exponentials of mean one (Renyi 1953), so a lane winds only about as many
clocks as it wins rings. The key of a ring is x plus noise that is read off A_k (``noise.clocks``) and falls with time;
the largest keys win. Lanes wind in rounds, each as many clocks as all rounds before it, and drop out when their last
ring is certainly not among the first ``count``. Keys are enclosed in floats; those whose enclosures touch are enclosed
again with 64 bits, 128, 256 and so on, until they are disjoint, so no rounding decides
(docs/explanation/proofs_in_words/core.md).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsegate.noise import Source, clocks
from sparsegate.noise.clocks import Clock, ClockNoise, Gumbel, enclose, ring_times

Refine = Callable[[int, int], tuple[int | float, int | float]]
"""refine(number, bits): integers (or infinities) around 2**bits times key ``number``."""

FIRST_BITS = 64


def largest_first(
    low: NDArray[Any],
    high: NDArray[Any],
    count: int,
    refine: Refine,
    *,
    alike: NDArray[np.int64] | None = None,
    bits: int = FIRST_BITS,
) -> NDArray[np.intp]:
    """The numbers of the ``count`` largest keys, largest first (all keys where there are fewer).

    Key i lies in [low[i], high[i]], infinities included: float64, or Python integers in an object array; ``refine``
    encloses it with ``bits``. Keys with the same label in ``alike`` need not be told apart.
    """
    order = np.argsort(-high, kind="stable")
    # A key begins a new run where all before it are certainly larger.
    floors, highs = np.minimum.accumulate(low[order]), high[order]
    starts = np.flatnonzero(np.concatenate(([True], highs[1:] < floors[:-1])))
    sizes = np.diff(starts, append=order.size)
    for start, size in zip(starts[sizes > 1].tolist(), sizes[sizes > 1].tolist(), strict=True):
        if start >= count:
            break
        run = order[start : start + size]
        if alike is not None and bool((alike[run] == alike[run[0]]).all()):
            continue
        finer = np.array([refine(number, bits) for number in run.tolist()], dtype=object)
        labels = None if alike is None else alike[run]

        def of_run(place: int, bits: int, run: NDArray[np.intp] = run) -> tuple[int | float, int | float]:
            return refine(int(run[place]), bits)

        ends = finer[:, 0], finer[:, 1]
        within = largest_first(*ends, count - start, of_run, alike=labels, bits=2 * bits)
        order[start : start + within.size] = run[within]
    return order[:count]


FAR = 1e300  # log-weights beyond this in size are only known to be beyond it


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Lanes:
    """Groups: sizes, log-weights x as floats that err by 2**-49 (1 + |x|) at most, and x as an exact ratio."""

    sizes: NDArray[np.int64]
    weights: NDArray[np.float64]
    exact: Callable[[int], tuple[int, int]]


class Race:
    """The rings so far: of which lane, the how manieth, and floats between which its key lies."""

    def __init__(
        self, source: Source, lanes: Lanes, words: NDArray[np.uint64], noise: ClockNoise | None = None
    ) -> None:
        self._source, self._lanes, self._noise = source, lanes, noise or Gumbel()
        self._rounds: list[tuple[NDArray[np.int64], NDArray[np.uint64]]] = []
        self._clocks: dict[int, list[Clock]] = {}  # of lanes where floats did not decide
        everyone = np.arange(words.size)
        self._times, self._loose = np.zeros(words.size), np.zeros(words.size)  # A_k so far, and its relative error
        self.lane, self.rank = everyone[:0], everyone[:0]
        self.low, self.high = np.empty(0), np.empty(0)
        self._read = np.empty((2, 0))  # the noise of each ring, and its error
        self._wind(everyone, words[:, None])

    def first(self, count: int, *, apart: bool = False) -> NDArray[np.intp]:
        """The first ``count`` rings in their order; ``apart``: also those of one lane that floats do not tell apart."""
        wound, last = 1, self.high
        while (going := self._going(wound, last, count)).size:
            last = np.full(last.size, -np.inf)
            words = self._source.bytes(8 * wound * going.size).view("<u8").reshape(going.size, wound)
            last[going] = self._wind(going, words)
            wound *= 2
        alike = None if apart or wound == 1 else self.lane
        return largest_first(self.low, self.high, count, self._refined, alike=alike)

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
        weight = self._lanes.weights[lanes, None]
        noise, errors = self._noise.floats(times, relative + ranks * 2.0**-52)
        exists = ranks <= self._lanes.sizes[lanes, None]
        self._read = np.concatenate((self._read, [noise[exists], errors[exists]]), axis=1)
        keys, errors = weight + noise, errors + clocks.ROUNDING * np.abs(weight)
        low, high = keys - errors, keys + errors
        low[np.broadcast_to(weight <= -FAR, low.shape)] = -np.inf
        high[np.broadcast_to(weight >= FAR, high.shape)] = np.inf
        self.lane = np.concatenate((self.lane, np.broadcast_to(lanes[:, None], exists.shape)[exists]))
        self.rank = np.concatenate((self.rank, np.broadcast_to(ranks, exists.shape)[exists]))
        self.low, self.high = np.concatenate((self.low, low[exists])), np.concatenate((self.high, high[exists]))
        upper: NDArray[np.float64] = high[:, -1]
        return upper

    def noise_below(self, rings: NDArray[np.intp], unit: Fraction) -> NDArray[np.int64]:
        """floor(unit times noise) of the given rings, with more digits where floats do not decide."""
        noise, error = self._read[:, rings]
        error = error + clocks.ROUNDING * np.abs(noise)
        low, high = (np.floor(float(unit) * end) for end in (noise - error, noise + error))
        open_ = np.flatnonzero(~(low == high))
        with np.errstate(invalid="ignore"):
            floors: NDArray[np.int64] = low.astype(np.int64)
        for place in open_.tolist():
            bits, ends = FIRST_BITS, [0, 1]
            while ends[0] != ends[1]:
                bits *= 2
                ends = [
                    end * unit.numerator // (unit.denominator << bits)
                    for end in self._enclosed(int(rings[place]), 0, 1, bits)
                ]
            floors[place] = ends[0]
        return floors

    def _refined(self, ring: int, bits: int) -> tuple[int, int]:
        return self._enclosed(ring, *self._lanes.exact(int(self.lane[ring])), bits)

    def _enclosed(self, ring: int, numerator: int, denominator: int, bits: int) -> tuple[int, int]:
        """Integers around 2**bits times (x + noise) of a ring, x as given, in interval arithmetic."""
        lane, rank = int(self.lane[ring]), int(self.rank[ring])
        wound = self._clocks.setdefault(lane, [])
        wound += (Clock(word) for word in self._words(lane, rank)[len(wound) :].tolist())
        for clock in wound[:rank]:
            clock.extend(self._source, bits + 64)
        size = int(self._lanes.sizes[lane])
        waiting = range(size, size - rank, -1)
        return enclose(numerator, denominator, zip(wound[:rank], waiting, strict=True), bits, self._noise.interval)

    def _words(self, lane: int, rank: int) -> NDArray[np.uint64]:
        rows = []
        for lanes, words in self._rounds:
            place = int(np.searchsorted(lanes, lane))
            if place < lanes.size and lanes[place] == lane:
                rows.append(words[place])
        return np.concatenate(rows)[:rank]


_SIGN, _ALL = np.uint16(0x8000), np.uint16(0xFFFF)
_MINUS_INFINITY = 0x000F_FFFF_FFFF_FFFF


def largest(
    values: NDArray[np.int64] | NDArray[np.float64],
    count: int,
    *,
    sizes: NDArray[np.int64] | None = None,
    digits: int = 4,
) -> int | float:
    """The count-th largest of ``values``, each as often as ``sizes`` says (once unless given).

    With fewer than four ``digits`` the rest of the code is zero: the result is the largest number with such a code
    that at least ``count`` values reach. Two digits of a float are its sign, its exponent and 20 bits.
    """
    columns = values.astype(values.dtype.newbyteorder("<"), copy=False).view("<u2").reshape(-1, 4)
    flipped = (columns[:, 3] >> 15) * _ALL if values.dtype.kind == "f" else np.uint16(0)
    code, digit = 0, columns[:, 3] ^ (flipped | _SIGN)
    alive, reached = np.ones(values.size, dtype=np.bool_), np.empty(values.size, dtype=np.bool_)

    def reaching(guess: int) -> int:
        """How many values have at least this digit. The array is always the same one: fresh pages cost time."""
        if guess > _ALL:
            return 0
        np.greater_equal(digit, np.uint16(guess), out=reached)
        return int(np.count_nonzero(reached) if sizes is None else np.multiply(reached, sizes).sum())

    for position in range(4):
        best = 0
        if position < digits:
            for bit in range(15, -1, -1):
                guess = best | 1 << bit
                best = guess if reaching(guess) >= count else best
            count -= reaching(best + 1)
        code = code << 16 | best
        if position + 1 < digits:
            # Only numbers with the digits found so far go on: the others have the digit 0, which no guess asks for.
            np.equal(digit, np.uint16(best), out=reached)
            alive &= reached
            np.bitwise_xor(columns[:, 2 - position], flipped, out=digit)
            digit *= alive
    return _decoded(code, values.dtype)


def _decoded(code: int, dtype: np.dtype[np.int64] | np.dtype[np.float64]) -> int | float:
    if dtype.kind == "i":
        return code - (1 << 63)
    code = max(code, _MINUS_INFINITY)  # what lies below reads as NaN
    bits = code ^ (1 << 63) if code >> 63 else code ^ (1 << 64) - 1
    return np.uint64(bits).view(np.float64).item()
