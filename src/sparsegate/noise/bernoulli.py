"""Exact coin tosses: a uniform number is compared with p digit by digit until they differ.

U < p is decided at the first digit in which U and p differ, and only that many digits of U are ever drawn. No rounding
enters: given ideal bits the toss is heads with probability exactly p.

Machine-checked: `word_is_uniform` (proofs/uniform_bits.v).
Machine-checked: `toss_is_exact`, `toss_is_quick` (proofs/coin_tossing.v).
"""

from __future__ import annotations

from fractions import Fraction
from numbers import Rational
from typing import overload

import numpy as np
from numpy.typing import NDArray

from sparsegate.errors import ParameterError
from sparsegate.noise.expansions import Expansion, rational
from sparsegate.noise.sources import Source

LANES = 1 << 16  # tosses made at a time: small enough for the caches, large enough to hide numpy's call overhead


@overload
def bernoulli(source: Source, p: Expansion | Rational | float, size: None = None) -> bool: ...
@overload
def bernoulli(source: Source, p: Expansion | Rational | float, size: int) -> NDArray[np.bool_]: ...
def bernoulli(source: Source, p: Expansion | Rational | float, size: int | None = None) -> bool | NDArray[np.bool_]:
    """Toss a coin that shows heads with probability exactly p; a float is taken at its exact value.

    >>> from sparsegate.noise import Seeded
    >>> int(bernoulli(Seeded(1), Fraction(1, 3), 30_000).sum())
    9809
    """
    expansion = p if isinstance(p, Expansion) else rational(_probability(p))
    if size is None:
        return toss(source, expansion)
    out = np.empty(size, dtype=np.bool_)
    for start in range(0, size, LANES):
        toss_lanes(source, expansion, out[start : start + LANES])
    return out


def _probability(p: Rational | float) -> Fraction:
    try:
        exact = Fraction(p)
    except (TypeError, ValueError, OverflowError):
        exact = Fraction(-1)
    if not 0 <= exact <= 1:
        raise ParameterError("p", "must be a probability from 0 to 1", p, "pass a Fraction for an exact one")
    return exact


def toss(source: Source, p: Expansion) -> bool:
    """One toss, 64 digits at a time: all but one in 2**64 tosses cost the same, whatever they show."""
    index = 0
    while p.ends is None or 64 * index < p.ends or index == 0:
        drawn, digit = source.word(), p.prefix(64) if index == 0 else p.digit(index, 64)
        if drawn != digit:
            return drawn < digit
        index += 1
    return False  # every digit of p is used up and U has not fallen below: U >= p


def toss_lanes(source: Source, p: Expansion, out: NDArray[np.bool_]) -> None:
    """Fill ``out`` with independent tosses, 16 digits at a time."""
    if p.prefix(0) == 1:
        out[:] = True
        return
    drawn = source.bytes(2 * out.size).view("<u2")
    digit = np.uint16(p.digit16(0))
    np.less(drawn, digit, out=out)
    undecided = np.flatnonzero(drawn == digit)
    index = 1
    while undecided.size and (p.ends is None or 16 * index < p.ends):
        drawn = source.bytes(2 * undecided.size).view("<u2")
        digit = np.uint16(p.digit16(index))
        out[undecided] = drawn < digit
        undecided = undecided[drawn == digit]
        index += 1
