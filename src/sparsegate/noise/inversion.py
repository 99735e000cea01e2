"""Exact whole parts of exponential variables: one logarithm in floats decides, and says where it does not.

Let E = -log U, U uniform on (0, 1), so that P[E >= x] = exp(-x). With q = exp(-1/b):

    floor(b E)      is geometric: P[G >= k] = P[U <= q**k] = q**k, k = 0, 1, 2, ...
    floor(b E + a)  with a = b log(2 / (1 + q)) and a fair sign is discrete Laplace of scale b:
                    P[|X| >= k] = P[U <= 2 q**k / (1 + q)] = 2 q**k / (1 + q), k = 1, 2, ...

A random 64-bit word gives the sign and the first 63 binary digits of U. In floats y = b E + a - 1/2 comes out wrong by
at most ``_DOUBT`` min(1, b), whatever the digits still to come (the proof is below). Where y is further than that from
the middle between two integers, the nearest integer is the floor. Elsewhere more digits of the same U are drawn, and
the floor is taken in interval arithmetic once both ends of the interval agree on it: the law is exact.

Machine-checked: `narrowing_is_exact` (proofs/narrowing.v).
Machine-checked: `geometric_floor_law`, `laplace_floor_law` (proofs/inversion.v), given the bound and the intervals.

*Proof of the error bound*, for scales b <= ``MOST`` and words |w| >= 2**t, t = 20 + ceil(log2(max(b, 1))). U lies
between |w| - 1 and |w| + 1, over 2**63. (1) In place of 2**63 U its logarithm is taken of w rounded to a float: the two
differ by a factor of 1 +- (2**-t + 2**-53), their logarithms by less than 1.01 * 2**-t + 2**-52. (2) The logarithm
is at most 43.7, hence wrong by at most 16 units of 2**-47: the assumption of ``noise.clocks``. (3) The product with b
is wrong by b and by its own rounding: 43.7 b * 2**-52. (4) The constant and the sum are rounded once each: twice
2**-53 (43.7 b + 1). Together that is less than b (1.01 * 2**-t + 2**-42.7) + 2**-52, and b * 2**-t <= 2**-20 min(1, b),
b * 2**-42.7 <= 2**-20.7 min(1, b). The nearest integer and the distance to it are exact.

*Time* is the same for all words but those that are not decided in floats, of which each costs an interval. Given
|X| = k, the distance of b E + a from k has one density on (0, 1), proportional to exp(-s/b), for every k >= 1: the
exponential law has no memory. So whether y lies near the middle, 2 * ``_DOUBT`` of the words, is independent of k, but
for how the float errors vary with k. For k = 0 it is as likely, of discrete Laplace noise by a factor of 2 q / (1 + q)
less, which is 0.975 at scale 20. Words |w| < 2**t are always slow: those of |X| > (63 - t) log(2) b, one word in
2**(63 - t), which is 2**38 at scale 20, 2**23 at scale 2**20 and never less than 2**21. A slow word tells no more than
that: it is an extreme one with odds of at most 1 to 8, and at scale 20 of 1 to 2**20.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparsegate.noise.clocks import Clock
from sparsegate.noise.expansions import interval_arithmetic, scaled_floor
from sparsegate.noise.sources import Source

MOST = 2**22
"""The largest scale for which the floats decide all but the share ``_DOUBT`` allows."""

_DOUBT = 2.0**-19
_LANES = 1 << 14  # words at a time: four arrays of 128 KB stay in the second cache


class FloatLaw(NamedTuple):
    """A law in floats: y = constant - scale * log |w|, good to within ``doubt`` for words |w| >= ``smallest``."""

    scale: float
    constant: float
    smallest: float
    doubt: float


@lru_cache(maxsize=1024)
def float_law(scale: Fraction, centred: bool) -> FloatLaw:
    """The numbers of a law, each rounded once."""
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
    """floor(b E + a), from the digits of U drawn so far and as many more as it takes.

    One unit more on either side covers a library logarithm that rounds to the wrong side.
    """
    while True:
        u.extend(source, u.bits + 64)
        bits = u.bits + 32
        with interval_arithmetic(bits + 32) as iv:
            low, high = _steps(iv, scale, centred, iv.mpf([u.prefix, u.prefix + 1]) / iv.mpf(1 << u.bits))._mpi_
        floor = max(0, scaled_floor(low, bits) - 1) >> bits
        if floor == (scaled_floor(high, bits) + 2) >> bits:
            return floor
