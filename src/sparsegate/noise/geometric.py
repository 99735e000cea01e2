"""Exact geometric variables: many at once from one logarithm each, a single one from its binary digits.

Let P[G >= k] = q**k for k = 0, 1, 2, ... with q = exp(-1/scale). The binary digits of G are *independent*, and
digit j is one with probability q**(2**j) / (1 + q**(2**j)) = logistic(2**j / scale): the law factors because q**G =
prod_j q**(2**j * digit_j). So the low J digits are J independent coin tosses, and what is left, floor(G / 2**J), is
again geometric with ratio q**(2**J). No value is ever rejected.

A single draw tosses it in unary, since J is chosen so that it is almost always zero. A batch takes it from
``noise.inversion``, with J = 0 where the scale is small enough for that, else with as many low digits as make it so.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from numbers import Rational
from typing import NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from sparsegate.errors import ParameterError
from sparsegate.noise.bernoulli import LANES, toss, toss_lanes
from sparsegate.noise.expansions import Expansion, decay, logistic
from sparsegate.noise.inversion import MOST, fill_floors
from sparsegate.noise.own_settings import own_settings
from sparsegate.noise.sources import Source

MAX_SCALE = 2**48
"""Above this scale int64 cannot carry the noise: at it, P[|noise| >= 2**62] = exp(-2**14)."""

MIN_SCALE = Fraction(1, 2**20)
"""Below this scale the noise is zero but for probability exp(-2**20): whoever asks for it has a unit wrong."""

_TAIL = 45  # exp(-45) < 2**-64: a scalar draw takes the same steps whatever it draws


class Digits(NamedTuple):
    """The coins of a geometric law: one for each low digit, and the ratio of what is left above them.

    Machine-checked: `geometric_digits`, `geometric_digit_bias` (proofs/digits.v).
    """

    low: tuple[Expansion, ...]
    ratio: Expansion


def exact_scale(scale: Rational | float) -> Fraction:
    """The scale as an exact rational, refused before anything is drawn where int64 could not carry the noise."""
    try:
        exact = Fraction(scale)
    except (TypeError, ValueError, OverflowError):
        exact = Fraction(0)
    if exact <= 0:
        raise ParameterError("scale", "must be a positive finite number", scale, "pass a Fraction, an int or a float")
    if exact > MAX_SCALE:
        raise ParameterError(
            "scale",
            "must not exceed 2**48 lattice steps, what int64 can carry",
            scale,
            "use a larger epsilon or a coarser granularity",
        )
    if exact < MIN_SCALE:
        raise ParameterError(
            "scale", "must be at least 2**-20 lattice steps", scale, "use a smaller epsilon or a finer granularity"
        )
    return exact


@lru_cache(maxsize=1024)
def digits(scale: Fraction) -> Digits:
    """The coins for ``scale``, with enough low digits that what is left is zero but for probability exp(-45)."""
    count = (math.ceil(_TAIL * scale) - 1).bit_length()
    return Digits(
        low=tuple(logistic((1 << j) / scale) for j in range(count)),
        ratio=decay((1 << count) / scale),
    )


@overload
def geometric(source: Source, scale: Rational | float, size: None = None) -> int: ...
@overload
def geometric(source: Source, scale: Rational | float, size: int) -> NDArray[np.int64]: ...
@own_settings
def geometric(source: Source, scale: Rational | float, size: int | None = None) -> int | NDArray[np.int64]:
    """Draw G with P[G >= k] = exp(-k/scale), k = 0, 1, 2, ...

    Shifted upwards by d, mass and tail fall by a factor of exp(d/scale) at most. Downwards there is no such bound:
    below zero there is no mass.

    >>> from sparsegate.noise import Seeded
    >>> geometric(Seeded(1), 20, 5).tolist()
    [58, 13, 39, 45, 29]

    Machine-checked: `geometric_sums_to_one`, `geometric_tail_closed`, `geometric_mass_ratio`, `geometric_tail_ratio`,
    `geometric_one_way`, `geometric_memoryless` (proofs/geometric.v).
    """
    exact = exact_scale(scale)
    if size is None:
        return geometric_one(source, exact)
    out = np.empty(size, dtype=np.int64)
    fill_geometric(source, exact, out)
    return out


def geometric_one(source: Source, scale: Fraction) -> int:
    """One draw as a Python integer.

    Machine-checked: `geometric_one_law` (proofs/sampler.v).
    """
    coins = digits(scale)
    value = 0
    for j, coin in enumerate(coins.low):
        value |= toss(source, coin) << j
    while toss(source, coins.ratio):
        value += 1 << len(coins.low)
    return value


@own_settings
def fill_geometric(source: Source, scale: Fraction, out: NDArray[np.int64]) -> None:
    """Fill ``out`` with independent draws of a scale that ``exact_scale`` has passed.

    Machine-checked: `geometric_scaled_law` (proofs/sampler.v).
    """
    low = (math.ceil(scale / MOST) - 1).bit_length()
    fill_floors(source, scale / (1 << low), out, centred=False)
    if low:
        out <<= low
        for start in range(0, out.size, LANES):
            _add_low_digits(source, [logistic((1 << j) / scale) for j in range(low)], out[start : start + LANES])


def _add_low_digits(source: Source, coins: list[Expansion], out: NDArray[np.int64]) -> None:
    lanes = out.size
    digit = np.empty(lanes, dtype=np.bool_)
    octet = np.empty(lanes, dtype=np.uint8)
    columns = out.view(np.uint8).reshape(lanes, 8)
    # Eight digits are gathered in a byte before they touch the 64-bit lanes: an eighth of the memory traffic.
    for base in range(0, len(coins), 8):
        octet[:] = 0
        for coin in reversed(coins[base : base + 8]):
            toss_lanes(source, coin, digit)
            np.left_shift(octet, 1, out=octet)
            np.bitwise_or(octet, digit.view(np.uint8), out=octet)
        columns[:, _BYTE[base // 8]] |= octet


_BYTE = range(8) if np.little_endian else range(7, -1, -1)
