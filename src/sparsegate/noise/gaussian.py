"""Exact discrete Gaussian noise: P[X = k] proportional to exp(-k**2 / (2 s)) over the integers, s = sigma**2 rational.

Added to whole numbers that one person moves by at most D in Euclidean norm, it gives D**2 / (2 s)-zCDP (Canonne,
Kamath, Steinke 2020). It is drawn by inversion. **A table** (sigma <= ``DIRECT``): of the 2**64 words, P_k stand for k,
for whole P_k <= 2**64 p_k, found by an alias table (Walker 1977); the rest are undecided, and k is drawn from what the
P_k leave of p_k, with as many digits as that takes. **Larger sigma** is split: m = 2**j with sigma/m in (``DIRECT``/4,
``DIRECT``/2], y >= 0 from a table of the law exp(-(m y)**2 / (2 s)), z uniform on 0 ... m - 1, a fair sign, and a coin
of probability exp(-z (2 m y + z) / (2 s)); on tails, and for minus zero, again; else X = sign (m y + z). **A normal
number, rounded down** (``normal_floor``) is the same with a real z. That the laws are exact, and that how many draws
begin again is independent of X: docs/explanation/proofs_in_words/core.md.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from fractions import Fraction
from functools import lru_cache, partial
from itertools import accumulate
from numbers import Rational
from typing import NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from sparsegate.errors import ParameterError
from sparsegate.noise.expansions import decay, interval_floor
from sparsegate.noise.laplace import exact_scale
from sparsegate.noise.own_settings import own_settings
from sparsegate.noise.sources import Source

DIRECT = 2**8
"""The largest sigma that has a table of its own: 8,192 columns, made in some hundredths of a second and remembered."""

_DOUBT = 2.0**-46
_LANES = 1 << 14  # words at a time, as ``noise.laplace`` takes them
_GUARD = 64  # binary digits more than are asked for: the roundings of n steps cost less than n**2 units
_UNDECIDED = np.iinfo(np.int64).min
_WORD = 1 << 64


class Law(NamedTuple):
    """exp(-k**2 / (2 square)), over all integers or over k >= 0; ``outcome`` is the integer at a place of the lists."""

    square: Fraction
    one_sided: bool

    def outcome(self, place: int) -> int:
        return place if self.one_sided else (place + 1) // 2 * (1 if place % 2 else -1)


class WordTable(NamedTuple):
    """The words up to ``last`` of each column stand for the first of two ``values``, those beyond for the second."""

    last: NDArray[np.uint64]
    values: NDArray[np.int64]
    shift: np.uint64


def _masses(law: Law, bits: int) -> tuple[list[int], list[int]]:
    """Whole numbers below and above 2**bits p_k, place by place, up to one whose weight is below 2**-(bits + 64).

    exp(-k**2/(2 s)) is a product of ratios r_i = exp(-(2i + 1)/(2 s)), and each ratio is the one before times
    exp(-1/s): two products of fixed-point numbers a step, rounded down for the one bound and up for the other. The
    weights after the last add up to less than its r / (1 - r) times itself.
    """
    fine = bits + _GUARD
    whole = 1 << fine
    (low_r, high_r), (low_q, high_q) = (
        (max(0, low - 1), min(whole, high + 2))
        for low, high in (interval_floor(-1 / (n * law.square), lambda iv, e: e, fine, fine + 64) for n in (2, 1))
    )
    low, high = [whole], [whole]
    while low[-1]:
        low.append(low[-1] * low_r >> fine)
        high.append(-(-high[-1] * high_r >> fine))
        low_r, high_r = low_r * low_q >> fine, -(-high_r * high_q >> fine)
    beyond = -(-high[-1] * high_r // (whole - high_r)) + 1
    if not law.one_sided:
        low, high = ([each[0], *(w for weight in each[1:] for w in (weight, weight))] for each in (low, high))
        beyond *= 2
    least, most = sum(low), sum(high) + beyond
    return [(each << bits) // most for each in low], [-(-(each << bits) // least) for each in high]


def _words(law: Law) -> list[int]:
    """How many of the 2**64 words stand for each place."""
    counts = [low >> _GUARD for low in _masses(law, 64 + _GUARD)[0]]
    while not counts[-1]:
        counts.pop()
    return counts


@lru_cache(maxsize=32)
def table(law: Law) -> WordTable:
    """The alias table: a column that has words to spare gives to one that has too few, until all are of one width."""
    counts = _words(law)
    values = [*map(law.outcome, range(len(counts))), int(_UNDECIDED)]
    counts.append(_WORD - sum(counts))
    bits = (len(counts) - 1).bit_length()
    width = _WORD >> bits
    counts += [0] * ((1 << bits) - len(counts))
    values += [0] * ((1 << bits) - len(values))
    first, second = counts[:], list(range(len(counts)))
    few = [column for column, count in enumerate(counts) if count < width]
    spare = [column for column, count in enumerate(counts) if count > width]
    while few:
        column, giver = few.pop(), spare[-1]
        second[column] = giver
        counts[giver] -= width - first[column]
        first[giver] = min(counts[giver], width)
        if counts[giver] <= width:
            spare.pop()
            if counts[giver] < width:
                few.append(giver)
    last = [column * width + min(count, width) - 1 for column, count in enumerate(first)]
    pairs = [value for column, other in enumerate(second) for value in (values[column], values[other])]
    return WordTable(np.array(last, dtype=np.uint64), np.array(pairs, dtype=np.int64), np.uint64(64 - bits))


def _fill(source: Source, law: Law, out: NDArray[np.int64]) -> None:
    """Fill at most ``_LANES`` lanes by the table."""
    last, values, shift = table(law)
    words = source.bytes(8 * out.size).view("<u8")
    columns = words >> shift
    places = columns.view(np.int64)
    beyond = words > np.take(last, places, mode="clip")
    places <<= 1
    places += beyond
    np.take(values, places, out=out, mode="clip")
    if out.min(initial=0) == _UNDECIDED:
        for lane in np.flatnonzero(out == _UNDECIDED).tolist():
            out[lane] = _rest(source, law)


def _rest(source: Source, law: Law) -> int:
    """One draw from what the words leave of each outcome, from as many digits as it takes."""
    counts, digits, bits = _words(law), source.integer(64), 64
    whole = _WORD - sum(counts)
    while True:
        low, high = _masses(law, 64 + bits)
        known = [count << bits for count in counts] + [0] * (len(low) - len(counts))
        below = list(accumulate(each - gone for each, gone in zip(low, known, strict=True)))
        above = list(accumulate(each - gone for each, gone in zip(high, known, strict=True)))
        place = bisect_right(above, digits * whole)  # all before it end before V
        if place < len(below) and (digits + 1) * whole <= below[place]:
            return law.outcome(place)
        digits, bits = digits << 64 | source.integer(64), bits + 64


def _attempts(source: Source, square: Fraction, split: int, count: int, *, real: bool = False) -> NDArray[np.int64]:
    """The draws that come of ``count`` attempts; m = 2**split; z whole, or the whole part of a ``real`` one."""
    coarse = np.empty(count, dtype=np.int64)
    _fill(source, Law(square / 4**split, one_sided=True), coarse)
    words, coins = source.bytes(16 * count).view("<u8").reshape(2, count)
    fine = (words >> np.uint64(64 - split)).astype(np.int64)
    signs = (words & np.uint64(1)).astype(np.int64)
    coarse <<= split
    rate, uniforms = float(1 / (2 * square)), coins * 2.0**-64
    exponents = fine * (2.0 * coarse + fine) * rate
    margins = np.exp(-exponents) - uniforms
    heads = margins > 0
    doubtful = np.abs(margins) < _DOUBT
    if real:
        exponents = (fine + 1) * (2.0 * coarse + fine + 1) * rate
        least = np.exp(-exponents) - uniforms
        doubtful = (margins > -_DOUBT) & (least < _DOUBT)
    for lane in np.flatnonzero(doubtful | (exponents > 1)).tolist():
        heads[lane] = exact_coin(source, int(coarse[lane]), int(fine[lane]), square, int(coins[lane]), real=real)
    coarse += fine
    if real:  # -(k + a fraction), rounded down, is -k - 1
        return np.where(signs == 1, ~coarse, coarse)[heads]
    heads &= (coarse > 0) | (signs == 0)
    coarse *= 1 - 2 * signs
    return coarse[heads]


def exact_coin(source: Source, start: int, fine: int, square: Fraction, word: int, *, real: bool = False) -> bool:
    """Whether V < exp(-z (2 start + z) / (2 square)), V of these first 64 digits; z is ``fine``, or its whole part.

    Digits of V, and of a ``real`` z, are drawn until they decide. The chance tells the draw, and is not remembered.
    """
    bits = 0
    while True:
        ends = (Fraction(end, 1 << bits) for end in (fine, fine + real))
        most, least = (z * (2 * start + z) / (2 * square) for z in ends)
        if not least:
            return True
        if most and word >= decay.__wrapped__(most).prefix(64 + bits) + 1:
            return False
        if word < decay.__wrapped__(least).prefix(64 + bits):
            return True
        fine, bits = fine << 64 | (source.integer(64) if real else 0), bits + 64
        word = word << 64 | source.integer(64)


@own_settings
def fill_discrete_gaussian(source: Source, square: Fraction, out: NDArray[np.int64], *, real: bool = False) -> None:
    """Fill ``out`` with independent draws of a sigma**2 that ``exact_square`` has passed."""
    split = _split(square)
    for start in range(0, out.size, _LANES):
        lanes = out[start : start + _LANES]
        if not split:
            _fill(source, Law(square, one_sided=False), lanes)
        while split and lanes.size:
            drawn = _attempts(source, square, split, lanes.size, real=real)
            lanes[: drawn.size] = drawn
            lanes = lanes[drawn.size :]


def _split(square: Fraction) -> int:
    """j of m = 2**j: 0 for a table of its own, else the least such that sigma/m <= DIRECT/2."""
    if square <= DIRECT**2:
        return 0
    steps = math.isqrt(math.ceil(4 * square / DIRECT**2) - 1)  # below 2 sigma / DIRECT
    return steps.bit_length()


exact_square = partial(exact_scale, parameter="sigma", power=2)
"""sigma**2 as an exact rational, refused before anything is drawn where int64 could not carry the noise."""


@overload
def discrete_gaussian(source: Source, square: Rational | float, size: None = None) -> int: ...
@overload
def discrete_gaussian(source: Source, square: Rational | float, size: int) -> NDArray[np.int64]: ...
@own_settings
def discrete_gaussian(source: Source, square: Rational | float, size: int | None = None) -> int | NDArray[np.int64]:
    """Draw X with P[X = k] proportional to exp(-k**2/(2 square)); a float is taken at its exact value."""
    out = np.empty(1 if size is None else size, dtype=np.int64)
    fill_discrete_gaussian(source, exact_square(square), out)
    return int(out[0]) if size is None else out


@own_settings
def normal_floor(source: Source, sigma: int, size: int) -> NDArray[np.int64]:
    """Draw floor(sigma N), N standard normal, for a whole sigma above ``DIRECT``."""
    square = exact_square(sigma**2)
    if not _split(square):
        raise ParameterError("sigma", f"must be above {DIRECT} to be rounded down", sigma, "use a finer lattice")
    out = np.empty(size, dtype=np.int64)
    fill_discrete_gaussian(source, square, out, real=True)
    return out
