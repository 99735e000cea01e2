"""Exact binomial counts: how many of n coins show heads, without tossing n coins digit by digit.

All n uniform numbers are compared with p at once. At each binary digit of p the lanes still undecided split by a fair
bit: where p's digit is one, the lanes that drew zero fall below p and count; where it is zero, the lanes that drew
one are out. The size of the split is Binomial(lanes, 1/2) = the number of ones among that many random bits, a
popcount. Lanes halve at each digit, so about 2n random bits settle n coins exactly.
"""

from __future__ import annotations

import numpy as np

from sparsegate.noise.expansions import Expansion
from sparsegate.noise.sources import Source

_CHUNK = 1 << 20  # bytes


def binomial(source: Source, n: int, p: Expansion) -> int:
    """Draw the number of heads among n independent tosses of a coin with probability exactly p.

    >>> from sparsegate.noise import Seeded
    >>> from sparsegate.noise.expansions import rational
    >>> from fractions import Fraction
    >>> binomial(Seeded(1), 3_000_000, rational(Fraction(1, 3)))
    998577
    """
    if p.prefix(0) == 1:
        return n
    heads, undecided, index = 0, n, 0
    while undecided and (p.ends is None or index < p.ends):
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
