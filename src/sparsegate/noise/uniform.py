"""Uniform integers below n without bias, and uniform subsets.

A word is cut to the bits that n needs and drawn again where it is not below n: at most one draw in two is turned
away, and what is kept is exactly uniform. How often that happens says nothing about what is kept.
"""

from __future__ import annotations

from typing import overload

import numpy as np
from numpy.typing import NDArray

from sparsegate.errors import ParameterError
from sparsegate.noise.sources import Source


@overload
def uniform_below(source: Source, n: int, size: None = None) -> int: ...
@overload
def uniform_below(source: Source, n: int, size: int) -> NDArray[np.int64]: ...
def uniform_below(source: Source, n: int, size: int | None = None) -> int | NDArray[np.int64]:
    """Draw uniformly from 0, 1, ..., n-1. A single draw takes any n; a batch takes n <= 2**63.

    >>> from sparsegate.noise import Seeded
    >>> uniform_below(Seeded(1), 6, 10).tolist()
    [4, 5, 3, 0, 1, 4, 0, 1, 5, 3]
    """
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
        raise ParameterError("n", "must be a whole number of at least 1", n, "pass how many integers to choose from")
    bits = (int(n) - 1).bit_length()
    if size is None:
        while (drawn := source.integer(bits) if bits else 0) >= n:
            pass
        return drawn
    if n > 2**63:
        raise ParameterError("n", "must not exceed 2**63 in a batch", n, "draw one at a time")
    out = np.zeros(size, dtype=np.int64)
    if bits == 0:
        return out
    shift = np.uint64(64 - bits)
    pending = np.arange(size)
    while pending.size:
        words = source.bytes(8 * pending.size).view("<u8") >> shift
        fits = words <= np.uint64(n - 1)
        out[pending[fits]] = words[fits].astype(np.int64)
        pending = pending[~fits]
    return out


def uniform_subset(source: Source, n: int, count: int) -> list[int]:
    """Draw ``count`` different integers below n, every ordered choice equally likely, in time that n does not change.

    The first ``count`` steps of a Fisher-Yates shuffle, with the untouched part of the deck left implicit.

    >>> from sparsegate.noise import Seeded
    >>> uniform_subset(Seeded(1), 10**12, 2)
    [450455472490, 205956662656]
    """
    if not 0 <= count <= n:
        raise ParameterError("count", f"must be from 0 to n = {n}", count, "ask for no more than there are")
    moved: dict[int, int] = {}
    chosen = []
    for i in range(count):
        j = i + uniform_below(source, n - i)
        chosen.append(moved.get(j, j))
        moved[j] = moved.pop(i, i)
    return chosen
