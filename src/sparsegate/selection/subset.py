"""The exponential mechanism over sets: all c items at once, by how far the set is from being the top c.

The loss of a set S of c out of d > c items is l(S) = max score outside S - min score in S, negative for a clear top c.
S is selected with probability proportional to exp(-a l(S)), a = epsilon / (4 Delta), or epsilon / (2 Delta) for
monotonic scores.

*Theorem* (McSherry, Talwar 2007; the loss of Shekelyan, Loukides 2022, not cut off at zero): the set is epsilon-DP, and
epsilon-bounded-range, so (epsilon**2 / 8)-zCDP. What is released is the SET, sorted by label: an order of drawing would
tell more. Sets are drawn by class (first missing and last item), classes by tiles whose bounds they are accepted
against, scores below s_c by levels of width WIDTH / a. Every decision compares a uniform real number with a
probability: in floats with a proven error, and where that does not decide, with more digits and intervals. The proof
and the ways of drawing: docs/explanation/proofs_in_words/core.md. Machine-checked: proofs/README.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparsegate.noise import Source, uniform_below, uniform_set
from sparsegate.noise.clocks import Clock, ring_times
from sparsegate.noise.expansions import interval_arithmetic
from sparsegate.selection.exponential import log_weights
from sparsegate.selection.race import FAR, largest
from sparsegate.selection.scores import Scores

ERROR = 2.0**-44  # ``log_binomials`` errs by at most ERROR (1 + result)
_SMALL = 32  # below this s(m) comes from a table; from here on four terms err by less than 2**-55
_TABLE = np.array(
    [0.0]
    + [
        math.log(float(Fraction(math.factorial(m), m**m)) * math.exp(m) / math.sqrt(2 * math.pi * m))
        for m in range(1, _SMALL)
    ]
)


def log_binomials(n: NDArray[np.int64], k: NDArray[np.int64]) -> NDArray[np.float64]:
    """log C(n, k) for 0 <= k <= n <= 2**62.

    With k <= n - k, both terms of k log(n/k) - (n-k) log(1 - k/n) are positive and hardly larger than the result:
    nothing cancels, and a handful of roundings of 2**-53 each stay far below ERROR.
    """
    k = np.minimum(k, n - k)
    small, large, whole = np.maximum(k, 1).astype(np.float64), (n - k).astype(np.float64), n.astype(np.float64)
    np.maximum(whole, 1, out=whole)
    np.maximum(large, 1, out=large)
    result = small * np.log(whole / small) - large * np.log1p(-small / np.maximum(whole, 2))
    result += 0.5 * (np.log(whole / large) - np.log(2 * math.pi * small))
    result += _correction(whole) - _correction(small) - _correction(large)
    return np.where(k == 0, 0.0, result)


def _correction(m: NDArray[np.float64]) -> NDArray[np.float64]:
    inverse = 1 / m
    square = inverse * inverse
    series = inverse * (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square / 1680)))
    return np.where(m < _SMALL, _TABLE[np.minimum(m, _SMALL - 1).astype(np.intp)], series)


def log_factorial(iv: Any, m: int) -> Any:
    """An interval around log m!, in an interval context of mpmath whose precision exceeds the bits of m."""
    if m <= max(_SMALL, iv.prec):
        return iv.log(iv.mpf(math.factorial(m)))
    from mpmath import bernfrac

    whole = iv.mpf(m)
    result = whole * iv.log(whole) - whole + iv.log(2 * iv.pi * whole) / 2
    order = 2
    while True:
        up, down = bernfrac(order)
        term = iv.mpf(int(up)) / (iv.mpf(int(down)) * (order * (order - 1)) * whole ** (order - 1))
        if order * math.log2(m) > 2 * iv.prec:
            # The rest lies between zero and this term. With m above the precision the terms still fall here.
            return result + iv.mpf([min(term.a, 0), max(term.b, 0)])
        result += term
        order += 2


Positions = NDArray[np.int64]
Exponents = Callable[[Positions], NDArray[np.float64]]

LOOSE = 0.5
MOST = 1 << 18  # tiles; enough but for scores made to fall as fast as sets grow in number


class Tiles(NamedTuple):
    """Tiles [a0, a1] x [b0, b1], and logarithms of bounds on the weight of all their classes together."""

    a0: Positions
    a1: Positions
    b0: Positions
    b1: Positions
    upper: NDArray[np.float64]
    lower: NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Classes:
    """The classes of sets of ``count`` out of ``total`` items, 1 <= count < total.

    ``f`` and ``g`` give floats that do not exceed the truth. ``besides`` is the logarithm of the weight of what is in
    no class: tiles that are light beside it need not be halved.
    """

    count: int
    total: int
    f: Exponents
    g: Exponents
    besides: float

    def tile(self) -> Tiles:
        """Tiles that cover every class once."""
        first, last, total = (np.array([number]) for number in (1, self.count, self.total))
        tiles = self._bounded(first, last, last + 1, total)
        while tiles.a0.size < MOST:
            top = max(float(tiles.upper.max()), self.besides)
            least = np.exp(tiles.lower - top)
            spare = np.exp(tiles.upper - top) - least
            allowed = LOOSE * (float(least.sum()) + math.exp(self.besides - top))
            # Those with more than their share of what the bounds leave open.
            heavy = (spare > allowed / (2 * spare.size)) & ((tiles.a0 < tiles.a1) | (tiles.b0 < tiles.b1))
            if float(spare.sum()) <= allowed or not heavy.any():
                break
            halves = self._halved(Tiles._make(each[heavy] for each in tiles))
            tiles = Tiles._make(np.concatenate((old[~heavy], new)) for old, new in zip(tiles, halves, strict=True))
        return tiles

    def _halved(self, tiles: Tiles) -> Tiles:
        """Each tile as two: cut across the side along which weights differ more."""
        a0, a1, b0, b1, *_ = tiles
        near, left, low = (log_binomials(b - a - 1, self.count - a) for a, b in ((a0, b1), (a1, b1), (a0, b0)))
        along_a = near - left + self.f(a0) - self.f(a1)
        along_b = near - low + self.g(b1) - self.g(b0)
        across = (a0 < a1) & ((along_a >= along_b) | (b0 == b1))
        middle_a, middle_b = a0 + (a1 - a0) // 2, b0 + (b1 - b0) // 2
        return self._bounded(
            np.concatenate((a0, np.where(across, middle_a + 1, a0))),
            np.concatenate((np.where(across, middle_a, a1), a1)),
            np.concatenate((b0, np.where(across, b0, middle_b + 1))),
            np.concatenate((np.where(across, b1, middle_b), b1)),
        )

    def _bounded(self, a0: Positions, a1: Positions, b0: Positions, b1: Positions) -> Tiles:
        classes = np.log((a1 - a0 + 1).astype(np.float64)) + np.log((b1 - b0 + 1).astype(np.float64))
        most, least = (log_binomials(b - a - 1, self.count - a) for a, b in ((a0, b1), (a1, b0)))
        upper = classes + most - self.f(a1) - self.g(b0)
        upper += ERROR * (2 + classes + most + np.abs(upper))
        return Tiles(a0, a1, b0, b1, upper, classes + least - self.f(a0) - self.g(b1))


WIDTH = 0.25  # of a level, in units of exponents; a power of two
_SPARE = 64
_DOWN = 1 - 2.0**-45  # exponents are rounded down by more than they err
_UNITS = 40  # bits of a tile's share: all of them together fit a word
_CHUNK = 1 << 15
_ABOVE, _TIED = 0, 1  # codes of scores above s_c and equal to it; below it, two and the level


def subset_groups(source: Source, scores: Scores, *, rate: Fraction, count: int) -> NDArray[np.int64]:
    """Select ``count`` items, 1 <= count <= scores.total: the group of each, by number of the group."""
    if count == scores.total:
        return np.repeat(np.arange(scores.values.size), scores.multiplicities)
    return np.sort(Subsets(scores, rate, count).draw(source))


class Subsets:
    """Scores in levels, and the tiles of their classes; ready to draw."""

    def __init__(self, scores: Scores, rate: Fraction, count: int) -> None:
        self._scores, self._rate, self._count = scores, rate, count
        sizes = None if scores.single else scores.multiplicities
        self._reference = largest(scores.values, count, sizes=sizes)
        self._codes = self._levels()
        above = np.flatnonzero(self._codes == _ABOVE)
        self._above = above[np.argsort(scores.values[above])[::-1]]
        exponents = np.empty(above.size)
        log_weights(scores.values[self._above], self._reference, float(rate), exponents)
        # Positions up to ends[j] have exponent f[j]; the last are those tied with s_c.
        self._f_ends = np.append(np.cumsum(scores.multiplicities[self._above]), count)
        self._f = np.append(_rounded_down(exponents), 0.0)
        codes, held = self._held()
        self._g_codes, self._g_ends = np.append(-1, codes), np.append(0, np.cumsum(held))
        self._g = np.maximum(self._g_codes - _TIED - 1, 0) * WIDTH
        lowest = np.iinfo(np.int64).min if scores.values.dtype.kind == "i" else -np.inf
        following = np.where(scores.values < self._reference, scores.values, lowest).max().item()
        clear = int(self._g_ends[np.searchsorted(self._g_codes, _TIED)]) == count
        # a (s_c - s_(c+1)), zero where items of equal score are on both sides.
        self._lead = self._distance(following) if clear else Fraction(0)
        lead = float(_rounded_down(np.array([_float(self._lead)]))[0])
        f, g = (
            lambda positions, ends=ends, exponents=exponents: exponents[np.searchsorted(ends, positions)]
            for ends, exponents in ((self._f_ends, self._f), (self._g_ends, self._g))
        )
        self._tiles = Classes(count=count, total=scores.total, f=f, g=g, besides=lead).tile()
        # Weights are relative to that of the top c, which come last.
        shares = np.append(self._tiles.upper - lead, 0.0)
        self._most = float(shares.max())
        self._units = (np.exp(shares - self._most) * (1 + ERROR) * 2.0**_UNITS).astype(np.int64) + 1

    def _levels(self) -> NDArray[np.intp]:
        """The code of every score: it falls with the score, and no score is above the top of its level."""
        values, factor = self._scores.values, float(self._rate)
        log_sets = float(log_binomials(np.array([self._scores.total]), np.array([self._count]))[0])
        last = math.ceil((log_sets + _SPARE) / WIDTH)
        codes = np.empty(values.size, dtype=np.intp)
        exponents = np.empty(min(_CHUNK, values.size))
        for start in range(0, values.size, _CHUNK):
            part = values[start : start + _CHUNK]
            exponent, code = exponents[: part.size], codes[start : start + _CHUNK]
            log_weights(part, self._reference, factor, exponent)
            exponent *= -_DOWN / WIDTH
            exponent -= (1 - _DOWN) / WIDTH
            np.clip(exponent, 0, last, out=exponent)
            code[:] = exponent  # cut towards zero
            code += 1
            code *= part < self._reference
            code += part <= self._reference
        return codes

    def _held(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The codes that occur, and how many items have each."""
        if self._scores.single:
            counts = np.bincount(self._codes)
            codes = np.flatnonzero(counts)
            return codes, counts[codes]
        codes, places = np.unique(self._codes, return_inverse=True)
        held = np.zeros(codes.size, dtype=np.int64)
        np.add.at(held, places, self._scores.multiplicities)
        return codes, held

    def _distance(self, value: int | float) -> Fraction:
        """a (s_c - value)."""
        return self._rate * (Fraction(self._reference) - Fraction(value))

    def draw(self, source: Source) -> NDArray[np.int64]:
        """One set, as the group of each member."""
        tiles, reached = self._tiles, np.cumsum(self._units)
        while True:
            number = int(np.searchsorted(reached, uniform_below(source, int(reached[-1])), side="right"))
            if number == tiles.a0.size:
                if self._accepted(source, number):
                    return self._groups(np.arange(self._count), _TIED)
                continue
            a0, b0 = int(tiles.a0[number]), int(tiles.b0[number])
            wide, high = int(tiles.a1[number]) - a0 + 1, int(tiles.b1[number]) - b0 + 1
            over, up = divmod(uniform_below(source, wide * high), high)
            a, b = a0 + over, b0 + up
            if not self._accepted(source, number, wide * high, a, b):
                continue
            free = a + uniform_set(source, b - a - 1, self._count - a)
            level = int(np.searchsorted(self._g_ends, b))
            groups = self._groups(np.concatenate((np.arange(a - 1), free, [b - 1])), int(self._g_codes[level]))
            below = self._distance(self._scores.values[groups].min().item()) - Fraction(self._g[level].item())
            if happens(source, Exponent(-below)):
                return groups

    def _accepted(self, source: Source, number: int, classes: int = 1, a: int = 0, b: int = 0) -> bool:
        """Accepts a class of a tile, or the top c, with probability weight * classes / bound."""
        share = Fraction(classes << _UNITS, int(self._units[number]))
        most = Fraction(self._most)
        if number == self._tiles.a0.size:
            return happens(source, Exponent(-most, factor=share))
        place = int(np.searchsorted(self._f_ends, a))
        first = self._scores.values[self._above[place]].item() if place < self._above.size else self._reference
        g = Fraction(self._g[np.searchsorted(self._g_ends, b)].item())
        exponent = self._distance(first) - g - self._lead - most
        return happens(source, Exponent(exponent, factor=share, choose=(b - a - 1, self._count - a)))

    def _groups(self, positions: NDArray[np.int64], code: int) -> NDArray[np.int64]:
        """The groups at rising positions from 0, none beyond the level of this code; all codes take the same passes."""
        codes, sizes = self._codes, self._scores.multiplicities
        ends = self._g_ends[np.searchsorted(self._g_codes, [_ABOVE, _TIED, code - 1], side="right") - 1]
        ends = np.maximum.accumulate(ends)
        parts = np.split(positions, np.searchsorted(positions, ends))
        groups = [self._above[np.searchsorted(self._f_ends, parts[0], side="right")]]
        narrow = np.int64 if codes.size >> 31 else np.int32  # ten times as fast
        levels = codes == _TIED, (codes > _TIED) & (codes < code), codes == code
        for start, part, level in zip(ends, parts[1:], levels, strict=True):
            held = np.cumsum(level, dtype=narrow) if self._scores.single else np.cumsum(level * sizes)
            groups.append(np.searchsorted(held, (part - start).astype(held.dtype), side="right"))
        return np.concatenate(groups)


@dataclass(frozen=True)
class Exponent:
    """A probability exp(power) * factor * C(n, k), ``choose`` = (n, k), of which no digit is rounded."""

    power: Fraction
    factor: Fraction = Fraction(1)
    choose: tuple[int, int] = (0, 0)

    def __post_init__(self) -> None:
        # A float would be noticed only where digits run out, which is rare, and after the charge.
        assert isinstance(self.power, Fraction) and isinstance(self.factor, Fraction)  # noqa: PT018

    def rounded(self) -> tuple[float, float]:
        """Its logarithm in floats, and how far that may be off."""
        power, (n, k) = _float(self.power), self.choose
        sets = float(log_binomials(np.array([n]), np.array([k]))[0])
        factor = math.log(self.factor.numerator) - math.log(self.factor.denominator)
        return power + sets + factor, 2 * ERROR * (64 + abs(power) + sets + abs(factor))

    def enclosed(self, iv: Any) -> Any:
        power = iv.mpf(self.power.numerator) / iv.mpf(self.power.denominator)
        factor = iv.mpf(self.factor.numerator) / iv.mpf(self.factor.denominator)
        n, k = self.choose
        sets = log_factorial(iv, n) - log_factorial(iv, k) - log_factorial(iv, n - k)
        return power + iv.log(factor) + sets


def happens(source: Source, probability: Exponent) -> bool:
    """True with exactly this probability, which is at most one: where a clock rings after -log of it."""
    log, error = probability.rounded()
    clock = Clock(source.word())
    times, relative = ring_times(np.array([clock.prefix], dtype=np.uint64))
    time, loose = float(times[0]), float(relative[0])
    if loose < 1 and abs(time + log) > error + loose * time:
        return time + log > 0
    size = max(probability.power.numerator.bit_length() - probability.power.denominator.bit_length(), 0)
    bits = 64
    while True:
        bits *= 2
        clock.extend(source, bits)
        with interval_arithmetic(bits + size + 128) as iv:
            whole = 1 << clock.bits
            survival = iv.mpf([whole - clock.prefix - 1, whole - clock.prefix]) / iv.mpf(whole)
            sign = probability.enclosed(iv) - iv.log(survival)
            if sign.a > 0 or sign.b < 0:
                return bool(sign.a > 0)


def _float(number: Fraction) -> float:
    return float(max(min(number, Fraction(FAR)), -Fraction(FAR)))


def _rounded_down(exponents: NDArray[np.float64]) -> NDArray[np.float64]:
    """No more than the truth, for floats that err by 2**-46 (1 + exponent) at most."""
    return np.maximum(exponents * _DOWN - (1 - _DOWN), 0)
