"""Exact geometric and discrete Laplace noise: a single draw by coins, a batch by one logarithm for each draw.

With q = exp(-1/b), b the scale, P[G >= k] = q**k for k = 0, 1, 2, ..., and P[X = k] is proportional to q**|k| over the
integers, with nothing left over for floating point to leak. **A single draw** tosses a coin for each low binary digit
of G: they are independent, and digit j is one with probability logistic(2**j / b). **A batch** takes whole parts of E =
-log U, U uniform on (0, 1): floor(b E) is geometric, and floor(b E + a), a = b log(2 / (1 + q)), with a fair sign is
discrete Laplace. A 64-bit word gives the sign and 63 digits of U. Floats decide but where b E + a is within ``_DOUBT``
min(1, b) of a whole number; there more digits of U are drawn, and intervals decide. (Of a scale above ``MOST`` as many
low digits are tossed as make the rest small enough.) The law, the error bound and what the time depends on are proven
in docs/explanation/proofs_in_words/core.md. Machine-checked, given the error bound and the intervals: proofs/README.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from numbers import Rational
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from sparsegate.errors import GateClosed, ParameterError
from sparsegate.noise.clocks import Clock
from sparsegate.noise.coins import LANES, toss, toss_lanes
from sparsegate.noise.expansions import Expansion, centre, decay, interval_arithmetic, logistic, scaled_floor
from sparsegate.noise.own_settings import own_settings
from sparsegate.noise.sources import MARK, Source, birthmark

MOST = 2**22  # the largest scale for which the floats decide all but the share ``_DOUBT`` allows

_DOUBT = 2.0**-19
_LANES = 1 << 14  # words at a time: four arrays of 128 KB stay in the second cache


class FloatLaw(NamedTuple):
    """y = constant - scale * log |w|, good to within ``doubt`` for words |w| >= ``smallest``; each rounded once."""

    scale: float
    constant: float
    smallest: float
    doubt: float


@lru_cache(maxsize=1024)
def float_law(scale: Fraction, centred: bool) -> FloatLaw:
    """The law of this scale: discrete Laplace where ``centred``, else geometric."""
    with interval_arithmetic(256) as iv:
        low, high = (_steps(iv, scale, centred, iv.mpf(1) / iv.mpf(1 << 63)) - 0.5)._mpi_
    constant = (scaled_floor(low, 128) + scaled_floor(high, 128)) / (1 << 129)
    digits = 20 + (math.ceil(scale) - 1).bit_length()
    return FloatLaw(float(scale), constant, 2.0**digits, _DOUBT * min(float(scale), 1.0))


def _steps(iv: Any, scale: Fraction, centred: bool, u: Any) -> Any:
    """b E + a, as an interval, from one for U."""
    b = iv.mpf(scale.numerator) / iv.mpf(scale.denominator)
    return -b * iv.log(u * (1 + iv.exp(-1 / b)) / 2 if centred else u)


def fill_floors(source: Source, scale: Fraction, out: NDArray[np.int64], *, centred: bool) -> None:
    """Fill ``out`` with draws of the discrete Laplace law where ``centred``, else of the geometric law."""
    law = float_law(scale, centred)
    rooms = np.empty((2, min(_LANES, out.size)))
    for start in range(0, out.size, _LANES):
        lanes = out[start : start + _LANES]
        words = source.bytes(8 * lanes.size).view("<i8")
        for lane in _floors(words, law, lanes, *rooms[:, : lanes.size]):
            word = int(words[lane])
            lanes[lane] = _exact_floor(source, scale, centred, Clock(word if word >= 0 else ~word, 63))
        if centred:  # where the word is negative, so is the draw
            words >>= 63
            lanes ^= words
            lanes -= words


def _floors(
    words: NDArray[np.int64],
    law: FloatLaw,
    out: NDArray[np.int64],
    y: NDArray[np.float64],
    nearest: NDArray[np.float64],
) -> list[int]:
    """Write floor(b E + a) for each word, and return the lanes that are not decided."""
    np.copyto(y, words)
    np.abs(y, out=y)
    smallest = y.min()
    with np.errstate(divide="ignore", invalid="ignore"):  # the word 0, which is not decided
        np.log(y, out=y)
        y *= -law.scale
        y += law.constant
        np.rint(y, out=nearest)
        np.copyto(out, nearest, casting="unsafe")
        y -= nearest
    np.abs(y, out=y)
    if y.max() < 0.5 - law.doubt and smallest >= law.smallest:
        return []
    far = np.abs(words.astype(np.float64)) < law.smallest
    return np.flatnonzero((y >= 0.5 - law.doubt) | far).tolist()


def _exact_floor(source: Source, scale: Fraction, centred: bool, u: Clock) -> int:
    """floor(b E + a), from as many digits of U as it takes; a unit more on either side covers a bad logarithm."""
    while True:
        u.extend(source, u.bits + 64)
        bits = u.bits + 32
        with interval_arithmetic(bits + 32) as iv:
            low, high = _steps(iv, scale, centred, iv.mpf([u.prefix, u.prefix + 1]) / iv.mpf(1 << u.bits))._mpi_
        floor = max(0, scaled_floor(low, bits) - 1) >> bits
        if floor == (scaled_floor(high, bits) + 2) >> bits:
            return floor


MAX_SCALE = 2**48  # above this scale int64 cannot carry the noise: at it, P[|noise| >= 2**62] = exp(-2**14)

MIN_SCALE = Fraction(1, 2**20)
"""Below this scale the noise is zero but for probability exp(-2**20): whoever asks for it has a unit wrong."""

_TAIL = 45  # exp(-45) < 2**-64: a scalar draw takes the same steps whatever it draws


def exact_scale(scale: Rational | float, *, parameter: str = "scale", power: int = 1) -> Fraction:
    """The scale, or a power of it, exactly; refused before anything is drawn where int64 could not carry the noise."""
    try:
        exact = Fraction(scale)
    except (TypeError, ValueError, OverflowError):
        exact = Fraction(0)
    if exact <= 0:
        raise ParameterError(parameter, "must be a positive finite number", scale, "pass a Fraction, an int or a float")
    few, many = exact < MIN_SCALE**power, exact > MAX_SCALE**power
    if few or many:
        rule = "must not exceed 2**48 lattice steps" if many else "must be at least 2**-20 lattice steps"
        hint = f"use a {'larger' if many else 'smaller'} epsilon or rho, or another granularity"
        raise ParameterError(parameter, rule, scale, hint)
    return exact


@lru_cache(maxsize=1024)
def digits(scale: Fraction) -> tuple[tuple[Expansion, ...], Expansion]:
    """A coin for each low digit, and the ratio of what is left above them: zero but for probability exp(-45)."""
    count = (math.ceil(_TAIL * scale) - 1).bit_length()
    return tuple(logistic((1 << j) / scale) for j in range(count)), decay((1 << count) / scale)


@overload
def geometric(source: Source, scale: Rational | float, size: None = None) -> int: ...
@overload
def geometric(source: Source, scale: Rational | float, size: int) -> NDArray[np.int64]: ...
@own_settings
def geometric(source: Source, scale: Rational | float, size: int | None = None) -> int | NDArray[np.int64]:
    """Draw G with P[G >= k] = exp(-k/scale), k = 0, 1, 2, ..."""
    exact = exact_scale(scale)
    if size is None:
        return geometric_one(source, exact)
    out = np.empty(size, dtype=np.int64)
    fill_geometric(source, exact, out)
    return out


def geometric_one(source: Source, scale: Fraction) -> int:
    """One draw as a Python integer."""
    low, ratio = digits(scale)
    value = sum(toss(source, coin) << j for j, coin in enumerate(low))
    while toss(source, ratio):
        value += 1 << len(low)
    return value


@own_settings
def fill_geometric(source: Source, scale: Fraction, out: NDArray[np.int64]) -> None:
    """Fill ``out`` with independent draws of a scale that ``exact_scale`` has passed."""
    low = (math.ceil(scale / MOST) - 1).bit_length()
    fill_floors(source, scale / (1 << low), out, centred=False)
    if low:
        out <<= low
        for start in range(0, out.size, LANES):
            lanes = out[start : start + LANES]
            digit, octet = np.empty(lanes.size, dtype=np.bool_), np.empty(lanes.size, dtype=np.uint8)
            # Eight digits are gathered in a byte before they touch the 64-bit lanes: an eighth of the memory traffic.
            for base in range(0, low, 8):
                octet[:] = 0
                for j in range(min(base + 8, low) - 1, base - 1, -1):
                    toss_lanes(source, logistic((1 << j) / scale), digit)
                    np.left_shift(octet, 1, out=octet)
                    np.bitwise_or(octet, digit.view(np.uint8), out=octet)
                lanes |= octet.astype(np.int64) << base


@overload
def discrete_laplace(source: Source, scale: Rational | float, size: None = None) -> int: ...
@overload
def discrete_laplace(source: Source, scale: Rational | float, size: int) -> NDArray[np.int64]: ...
@own_settings
def discrete_laplace(source: Source, scale: Rational | float, size: int | None = None) -> int | NDArray[np.int64]:
    """Draw X with P[X = k] proportional to exp(-|k|/scale); a float scale is taken at its exact value."""
    exact = exact_scale(scale)
    if size is None:
        # All three parts are drawn whatever the first one shows, so that the time says nothing about the value.
        zero = toss(source, centre(1 / exact))
        negative = source.integer(1)
        magnitude = 1 + geometric_one(source, exact)
        return (not zero) * (1 - 2 * negative) * magnitude
    out = np.empty(size, dtype=np.int64)
    fill_discrete_laplace(source, exact, out)
    return out


@own_settings
def fill_discrete_laplace(source: Source, scale: Fraction, out: NDArray[np.int64]) -> None:
    """Fill ``out`` with independent draws of a scale that ``exact_scale`` has passed."""
    if scale <= MOST:
        fill_floors(source, scale, out, centred=True)
        return
    for start in range(0, out.size, LANES):
        lanes = out[start : start + LANES]
        fill_geometric(source, scale, lanes)
        lanes += 1
        coin = np.empty(lanes.size, dtype=np.bool_)
        toss_lanes(source, centre(1 / scale), coin)
        np.multiply(lanes, np.logical_not(coin, out=coin), out=lanes)
        signs = np.unpackbits(source.bytes(-(-lanes.size // 8)), count=lanes.size).view(np.int8)
        np.multiply(lanes, 1 - 2 * signs, out=lanes)


Fill = Callable[[Source, Fraction, NDArray[np.int64]], None]
"""Fills an array with independent draws of this scale: ``fill_discrete_laplace`` or ``fill_geometric``."""

_FIRST, _LARGEST = 64, 1 << 14
_NONE = np.empty(0, dtype=np.int64)


class Reservoir:
    """Noise drawn ahead, of one law and scale: a draw costs a list pop, and dies with the process it was drawn for.

    Blocks double from 64 to 16,384 draws; when one is drawn depends only on how many draws were taken. A block is drawn
    in full before it is put in place, and what is taken leaves its place before it is handed out: whatever interrupts a
    call, no draw is given twice and none is given that was not drawn. Not thread-safe: its gate holds the lock.
    """

    __slots__ = ("_born", "_fill", "_next_block", "_rest", "_scale", "_source", "_waiting")

    def __init__(self, source: Source, scale: Fraction, fill: Fill = fill_discrete_laplace) -> None:
        self._fill = fill
        self._source = source
        self._scale = scale
        self._next_block = _FIRST
        self._waiting: list[int] = []  # in reverse, so that pop() takes the oldest
        self._rest = _NONE  # after those, in their order
        self._born = birthmark()

    def take(self) -> int:
        if self._born != MARK[0] or not self._waiting:
            self._waiting = self._ahead()[::-1].tolist()
        return self._waiting.pop()

    def take_many(self, count: int) -> NDArray[np.int64]:
        if self._born != MARK[0]:
            self._waiting.clear()
        out = np.empty(count, dtype=np.int64)
        done = min(count, len(self._waiting))
        if done:
            taken = self._waiting[-1 : -done - 1 : -1]
            del self._waiting[-done:]
            out[:done] = taken
        while done < count:
            rest = self._ahead()
            step = min(count - done, rest.size)
            self._rest = rest[step:]
            out[done : done + step] = rest[:step]
            done += step
        return out

    def _ahead(self) -> NDArray[np.int64]:
        """Take out what comes after those waiting: a new block where there is nothing yet."""
        if self._born != MARK[0]:
            why = "this noise was drawn ahead in another process and died at the fork; make a new gate in this one"
            raise GateClosed(why)
        block, self._rest = self._rest, _NONE
        if not block.size:
            block = np.empty(self._next_block, dtype=np.int64)
            self._fill(self._source, self._scale, block)
            self._next_block = min(2 * self._next_block, _LARGEST)
        return block

    def __repr__(self) -> str:
        return "Reservoir(...)"
