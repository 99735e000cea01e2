"""Exact coins: tosses of any probability, binomial counts, and uniform integers and subsets without bias.

A uniform number U is compared with p digit by digit: U < p is decided at the first digit in which they differ, and only
that many digits of U are ever drawn. A binomial count compares all n uniform numbers with p at once. Uniform integers
below n take time that does not tell n, which may be private. How: docs/explanation/proofs_in_words/core.md.
Machine-checked: proofs/README.md.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sparsegate.errors import ParameterError
from sparsegate.noise.expansions import Expansion, rational
from sparsegate.noise.sources import Source

LANES = 1 << 16  # tosses made at a time: small enough for the caches, large enough to hide numpy's call overhead


def bernoulli(source: Source, p: Fraction, size: int) -> NDArray[np.bool_]:
    """Toss coins that show heads with probability exactly p, from 0 to 1."""
    expansion, out = rational(p), np.empty(size, dtype=np.bool_)
    for start in range(0, size, LANES):
        toss_lanes(source, expansion, out[start : start + LANES])
    return out


def toss(source: Source, p: Expansion) -> bool:
    """One toss, 64 digits at a time: all but one in 2**64 tosses cost the same, whatever they show."""
    drawn, digit, index = source.word(), p.prefix(64), 0
    while drawn == digit:
        index += 1
        drawn, digit = source.word(), p.digit(index, 64)
    return drawn < digit


def toss_lanes(source: Source, p: Expansion, out: NDArray[np.bool_]) -> None:
    """Fill ``out`` with independent tosses, 16 digits at a time."""
    if p.prefix(0):  # p = 1
        out[:] = True
        return
    drawn = source.bytes(2 * out.size).view("<u2")
    digit = np.uint16(p.digit16(0))
    np.less(drawn, digit, out=out)
    undecided = np.flatnonzero(drawn == digit)
    index = 1
    while undecided.size:
        drawn = source.bytes(2 * undecided.size).view("<u2")
        digit = np.uint16(p.digit16(index))
        out[undecided] = drawn < digit
        undecided = undecided[drawn == digit]
        index += 1


_CHUNK = 1 << 20  # bytes


def binomial(source: Source, n: int, p: Expansion) -> int:
    """Draw the number of heads among n independent tosses of a coin with probability exactly p."""
    if p.prefix(0) == 1:
        return n
    heads, undecided, index = 0, n, 0
    while undecided:
        ones = fair_binomial(source, undecided)
        if p.digit(index, 1):
            heads += undecided - ones
            undecided = ones
        else:
            undecided -= ones
        index += 1
    return heads


def fair_binomial(source: Source, n: int) -> int:
    """Draw Binomial(n, 1/2): the ones among n random bits."""
    whole, rest = divmod(n, 8)
    ones = source.integer(rest).bit_count() if rest else 0
    while whole:
        step = min(whole, _CHUNK)
        ones += int(np.bitwise_count(source.bytes(step)).sum(dtype=np.int64))
        whole -= step
    return ones


def uniform_below(source: Source, n: int) -> int:
    """Draw uniformly from 0, 1, ..., n-1: the whole part of n V, V uniform on (0, 1).

    V is known through its first digits, 64 more than n has, rounded up to whole words. In all but one of 2**64 draws
    they decide, whatever n below 2**64 is; where they do not, more digits of the same V are drawn.
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
