"""Exact discrete Laplace noise: P[X = k] proportional to exp(-|k|/scale) over the integers.

X is zero with probability centre(1/scale) = (1-q)/(1+q); otherwise its sign is a fair coin and |X| - 1 is geometric
with ratio q = exp(-1/scale). A single draw, and a batch of a scale above 2**22, tosses all three; other batches take
|X| from one logarithm (``noise.inversion``). All are exact, so adding X to an integer count of sensitivity D gives
(D/scale)-differential privacy with nothing left over for floating point to leak (Ghosh, Roughgarden, Sundararajan 2009;
Mironov 2012 shows what real-valued noise in floating point gives away).
"""

from __future__ import annotations

from fractions import Fraction
from numbers import Rational
from typing import overload

import numpy as np
from numpy.typing import NDArray

from sparsegate.noise.bernoulli import LANES, toss, toss_lanes
from sparsegate.noise.expansions import centre
from sparsegate.noise.geometric import exact_scale, fill_geometric, geometric_one
from sparsegate.noise.inversion import MOST, fill_floors
from sparsegate.noise.own_settings import own_settings
from sparsegate.noise.sources import Source


@overload
def discrete_laplace(source: Source, scale: Rational | float, size: None = None) -> int: ...
@overload
def discrete_laplace(source: Source, scale: Rational | float, size: int) -> NDArray[np.int64]: ...
@own_settings
def discrete_laplace(source: Source, scale: Rational | float, size: int | None = None) -> int | NDArray[np.int64]:
    """Draw X with P[X = k] proportional to exp(-|k|/scale); a float scale is taken at its exact value.

    >>> from sparsegate.noise import Seeded
    >>> discrete_laplace(Seeded(1), Fraction(5, 2), 6).tolist()
    [-7, -2, -5, 6, -4, -2]

    Machine-checked: `laplace_sums_to_one`, `laplace_mass_ratio`, `laplace_within` (proofs/laplace.v).
    Machine-checked: `laplace_one_law` (proofs/sampler.v).
    """
    exact = exact_scale(scale)
    if size is None:
        return _one(source, exact)
    out = np.empty(size, dtype=np.int64)
    fill_discrete_laplace(source, exact, out)
    return out


def _one(source: Source, scale: Fraction) -> int:
    # All three parts are drawn whatever the first one shows, so that the time says nothing about the value.
    zero = toss(source, centre(1 / scale))
    negative = source.integer(1)
    magnitude = 1 + geometric_one(source, scale)
    return (not zero) * (1 - 2 * negative) * magnitude


@own_settings
def fill_discrete_laplace(source: Source, scale: Fraction, out: NDArray[np.int64]) -> None:
    """Fill ``out`` with independent draws of a scale that ``exact_scale`` has passed.

    Machine-checked: `laplace_lanes_law` (proofs/sampler.v), for scales above ``MOST``.
    """
    if scale <= MOST:
        fill_floors(source, scale, out, centred=True)
        return
    for start in range(0, out.size, LANES):
        _fill_lanes(source, scale, out[start : start + LANES])


def _fill_lanes(source: Source, scale: Fraction, out: NDArray[np.int64]) -> None:
    fill_geometric(source, scale, out)
    out += 1
    coin = np.empty(out.size, dtype=np.bool_)
    toss_lanes(source, centre(1 / scale), coin)
    np.multiply(out, np.logical_not(coin, out=coin), out=out)
    signs = np.unpackbits(source.bytes(-(-out.size // 8)), count=out.size).view(np.int8)
    np.multiply(out, 1 - 2 * signs, out=out)
