"""The exponential mechanism over sets: all c items at once, by how far the set is from being the top c.

Mechanism. The loss of a set S of c out of d > c items is l(S) = max score outside S - min score in S, negative for a
clear top c. S is selected with probability proportional to exp(-a l(S)),

    a = epsilon / (4 Delta)    in general,        a = epsilon / (2 Delta)    for monotonic scores.

*Theorem* (McSherry, Talwar 2007; the loss of Shekelyan, Loukides 2022, not cut off at zero): the set is epsilon-DP.
*Proof.* Let one person move every score by at most Delta. The maximum outside S moves by at most Delta, and so does
the minimum in S: l(S) moves by at most 2 Delta. If all scores move one way, say up, both move by something in
[0, Delta], and the difference by at most Delta. In either case exp(-a l(S)) changes by a factor of at most
exp(epsilon / 2), for every S, and so does the sum over all S: the probability by exp(epsilon) at most. (d = c selects
everything.) The constants are the best: for c = 1, d = 2 the odds are exp(2 a (s_1 - s_2)), and s_1 - s_2 can move by
2 Delta, or by Delta if monotonic: they move by exp(epsilon), and where one of the two is unlikely, so does its
probability. What is released is the SET, sorted by label: an order of drawing would tell more.

Machine-checked: `loss_moves`, `subset_sums_to_one`, `subset_selects`, `subset_is_private`, `subset_is_tight`
(proofs/subset.v).

Drawing. Number the items by falling score, s_1 >= ... >= s_d. The top c, {1..c}, weigh exp(a (s_c - s_(c+1))). Every
other set is in the class (a, b), a <= c < b, of its first missing and its last item: it holds 1..a-1, not a, and b is
its last; the other c - a are any of a+1..b-1. All C(b-a-1, c-a) sets of a class weigh exp(-a (s_a - s_b)).
Machine-checked: `classes_partition`, `class_count`, `class_loss`, `top_loss`, `subset_by_class`
(proofs/subset_classes.v).
``mechanisms.tiles`` bounds classes in tiles: a tile is drawn in proportion to its bound, a class uniformly in the tile,
and accepted with the ratio of its weight to the bound; then the members uniformly.

Levels. Only the scores above s_c are sorted. The others are counted in levels of width WIDTH / a below s_c, in one
pass, and s_b is replaced by the top of its level; numbers within a level are in any order. The set that comes out is
accepted with probability exp(-a (top of the level - lowest score in the set)) > exp(-WIDTH), which makes up for it.
The last level has no end, but it is so deep that all sets together that reach it weigh exp(-64) at most.
Machine-checked: `attempt_accepts`, `attempt_sums_to_one`, `attempt_may_end`, `subset_by_tiles`
(proofs/subset_tiles.v).

Exactness. Every decision compares a uniform real number with a probability: in floats with a proven error, and where
that does not decide, with more digits and intervals. No float decides.

Time. The passes over all items are the same for all scores; the sort of those above s_c, the number of tiles and the
number of tries are not. So the time depends on the scores, a little: see docs/how-to/choose.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsegate.mechanisms.binomials import ERROR, log_binomial, log_binomials
from sparsegate.mechanisms.exponential import log_weights
from sparsegate.mechanisms.race import FAR
from sparsegate.mechanisms.rank import largest
from sparsegate.mechanisms.scores import Scores
from sparsegate.mechanisms.tiles import Classes
from sparsegate.noise import Source, uniform_below, uniform_set
from sparsegate.noise.clocks import Clock, ring_times
from sparsegate.noise.expansions import interval_arithmetic

WIDTH = 0.25
"""Width of a level, in units of exponents; a power of two."""

_SPARE = 64
_DOWN = 1 - 2.0**-45  # exponents are rounded down by more than they err
_UNITS = 40  # bits of a tile's share: all of them together fit a word
_CHUNK = 1 << 15
_ABOVE, _TIED = 0, 1  # codes of scores above s_c and equal to it; below it, two and the level


def subset_groups(source: Source, scores: Scores, *, rate: Fraction, count: int) -> NDArray[np.int64]:
    """Select ``count`` items, 1 <= count <= scores.total: the group of each, by number of the group.

    >>> from sparsegate.noise import Seeded
    >>> scores = Scores.histogram({0: 10**9, 30: 2, 40: 1})
    >>> subset_groups(Seeded(1), scores, rate=Fraction(2), count=3).tolist()
    [1, 1, 2]
    """
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
        self._lead = self._clear_lead()
        lead = float(_rounded_down(np.array([_float(self._lead)]))[0])
        self._tiles = Classes(count=count, total=scores.total, f=self._f_at, g=self._g_at, besides=lead).tile()
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

    def _clear_lead(self) -> Fraction:
        """a (s_c - s_(c+1)), zero where items of equal score are on both sides."""
        values = self._scores.values
        lowest = np.iinfo(np.int64).min if values.dtype.kind == "i" else -np.inf
        following = np.where(values < self._reference, values, lowest).max().item()
        ahead = int(self._g_ends[np.searchsorted(self._g_codes, _TIED)])
        return self._distance(following) if ahead == self._count else Fraction(0)

    def _distance(self, value: int | float) -> Fraction:
        """a (s_c - value)."""
        return self._rate * (Fraction(self._reference) - Fraction(value))

    def _f_at(self, positions: NDArray[np.int64]) -> NDArray[np.float64]:
        exponents: NDArray[np.float64] = self._f[np.searchsorted(self._f_ends, positions)]
        return exponents

    def _g_at(self, positions: NDArray[np.int64]) -> NDArray[np.float64]:
        exponents: NDArray[np.float64] = self._g[np.searchsorted(self._g_ends, positions)]
        return exponents

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
        """Whether a class of a tile, or the top c, is accepted: with probability weight * classes / bound."""
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
        """The groups at rising positions from 0, none of them beyond the level of this code.

        The passes are the same for every code, and each takes as long whatever it finds.
        """
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

    def rounded(self) -> tuple[float, float]:
        """Its logarithm in floats, and how far that may be off."""
        power, (n, k) = _float(self.power), self.choose
        sets = float(log_binomials(np.array([n]), np.array([k]))[0])
        factor = math.log(self.factor.numerator) - math.log(self.factor.denominator)
        return power + sets + factor, 2 * ERROR * (64 + abs(power) + sets + abs(factor))

    def enclosed(self, iv: Any) -> Any:
        power = iv.mpf(self.power.numerator) / iv.mpf(self.power.denominator)
        factor = iv.mpf(self.factor.numerator) / iv.mpf(self.factor.denominator)
        return power + iv.log(factor) + log_binomial(iv, *self.choose)


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
