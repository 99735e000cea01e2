"""Uniform integers below n without bias, and uniform subsets, in time that does not tell n.

n may be private: how many items passed a threshold, how many share a score. To cut a word to the bits of n and draw
again where it is not below n is exact too, but how often that happens tells how far n is below a power of two.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sparsegate.errors import ParameterError
from sparsegate.noise.sources import Source


def uniform_below(source: Source, n: int) -> int:
    """Draw uniformly from 0, 1, ..., n-1: the whole part of n V, V uniform on (0, 1).

    V is known through its first digits, 64 more than n has, rounded up to whole words. In all but one of 2**64 draws
    they decide, whatever n below 2**64 is; where they do not, more digits of the same V are drawn.

    >>> from sparsegate.noise import Seeded
    >>> source = Seeded(1)
    >>> [uniform_below(source, 6) for _ in range(10)]
    [4, 0, 4, 1, 2, 2, 3, 1, 0, 1]
    """
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
        raise ParameterError("n", "must be a whole number of at least 1", n, "pass how many integers to choose from")
    n = int(n)
    bits = 64 * (1 + -(-n.bit_length() // 64))
    digits = source.integer(bits)
    while (n * digits) >> bits != (n * (digits + 1) - 1) >> bits:
        digits = digits << 64 | source.integer(64)
        bits += 64
    return (n * digits) >> bits


def uniform_subset(source: Source, n: int, count: int) -> list[int]:
    """Draw ``count`` different integers below n, every ordered choice equally likely, in time that n does not change.

    The first ``count`` steps of a Fisher-Yates shuffle, with the untouched part of the deck left implicit.

    >>> from sparsegate.noise import Seeded
    >>> uniform_subset(Seeded(1), 10**12, 2)
    [747825427702, 51911683610]
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


def uniform_set(source: Source, n: int, count: int) -> NDArray[np.int64]:
    """Draw ``count`` different integers below n <= 2**62, every set equally likely, sorted; for many of them.

    Of independent uniform integers the first ``count`` that differ are such a set. As many are drawn as are still
    missing, never more, so it does not matter in which order they came. More than half are drawn as those left out.
    Unlike that of ``uniform_subset``, the time depends on n and on chance.

    >>> from sparsegate.noise import Seeded
    >>> uniform_set(Seeded(1), 10, 4).tolist(), uniform_set(Seeded(1), 10, 9).tolist()
    ([0, 1, 3, 5], [1, 2, 3, 4, 5, 6, 7, 8, 9])
    """
    if not 0 <= count <= n:
        raise ParameterError("count", f"must be from 0 to n = {n}", count, "ask for no more than there are")
    if 2 * count > n:
        left = np.ones(n, dtype=np.bool_)
        left[uniform_set(source, n, n - count)] = False
        return np.flatnonzero(left)
    chosen = np.empty(0, dtype=np.int64)
    fair = (1 << 64) - (1 << 64) % max(n, 1) - 1  # words up to here are a whole number of rounds of n
    while chosen.size < count:
        words = source.bytes(8 * (count - chosen.size)).view("<u8")
        drawn = (words[words <= np.uint64(fair)] % np.uint64(n)).astype(np.int64)
        # Two sorted runs, merged; numpy's unique takes ten times as long.
        chosen = np.sort(np.concatenate((chosen, np.sort(drawn))), kind="stable")
        chosen = chosen[np.diff(chosen, prepend=-1) > 0]
    return chosen
