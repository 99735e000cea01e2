"""How far two attributes are from independent, in rows, and what one person can change of that.

Of n rows let c(x, y) have the categories x and y of two attributes, r(x) = sum over y and s(y) = sum over x. The score

    H = floor( 1/2 sum over x, y of abs( c(x, y) - r(x) s(y) / n ) ),    0 for an empty table,

is how many rows would have to change y for the two to be independent: n times the total variation distance between the
pair and the product of its two marginals. (Zhang et al. 2017 call it R where it is divided by n.) It is computed in
whole numbers: the sum of abs(n c - r s), divided by 2n and rounded down.

**Theorem.** Adding or removing one row moves H by at most 2.

*Proof.* Let the row (a, b) be added, and write d(x, y) = c(x, y) - r(x) s(y) / n before and d'(x, y) after. With
K = (n - r(a)) (n - s(b)) / (n (n + 1)), taking the difference of r s / n cell by cell gives

    d'(a, b) - d(a, b) =  K
    d'(a, y) - d(a, y) = -K s(y) / (n - s(b))                              for y != b, together -K
    d'(x, b) - d(x, b) = -K r(x) / (n - r(a))                              for x != a, together -K
    d'(x, y) - d(x, y) =  K r(x) s(y) / ((n - r(a)) (n - s(b)))            for the others, together K

so the absolute moves add up to 4K < 4, and half the sum of abs(d) moves by 2K < 2. Two numbers less than 2 apart are at
most 2 apart when both are rounded down. From an empty table to one row, H is 0 before and after. []

K comes as near to 1 as one likes, and all moves may have the signs of d (two categories each, n - 1 rows (x, y) and one
row (a, b), and that row once more): 2 is the best bound, and the rounded H does move by 2. Zhang et al. divide by a
public n and replace a row, at 3/n + 2/n**2; in rows that is 3 where this is 2, and n stays private here. Mutual
information has the bound log(n)/n and more for them, which is log(n) in rows: it grows with the table.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sparsegate.uses.structure.coded_rows import Codes

Counts: TypeAlias = NDArray[np.int64]
Pair: TypeAlias = tuple[int, int]
"""Two attributes by their places, the lower first."""

SENSITIVITY: Final = 2
"""The most that one person moves the score of any pair."""

_FITS: Final = 2**31  # rows up to which 2 n**2 fits 64 bits


def pairs_of(attributes: int) -> list[Pair]:
    """Every pair of this many attributes, in their public order."""
    return list(combinations(range(attributes), 2))


def joint_counts(codes: Codes, sizes: Sequence[int], i: int, j: int) -> Counts:
    """How many rows have each category of i, going down, with each of j; private."""
    cells = np.bincount(codes[:, i] * sizes[j] + codes[:, j], minlength=sizes[i] * sizes[j])
    return cells.reshape(sizes[i], sizes[j]).astype(np.int64)


def dependence(counts: Counts) -> int:
    """H, the score of one table of counts; private.

    >>> dependence(np.array([[50, 0], [0, 50]])), dependence(np.array([[25, 25], [25, 25]]))
    (50, 0)
    """
    total = int(counts.sum())
    if total == 0:
        return 0
    exact = counts if total < _FITS else counts.astype(object)
    apart = np.abs(total * exact - np.multiply.outer(exact.sum(axis=1), exact.sum(axis=0))).sum()
    return int(apart) // (2 * total)


def dependences(codes: Codes, sizes: Sequence[int]) -> dict[Pair, int]:
    """H of every pair of attributes; private. Each has ``SENSITIVITY``, and one person may move all of them.

    The tables are made one after the other, and none is kept: those of attributes with many categories are large.
    """
    return {(i, j): dependence(joint_counts(codes, sizes, i, j)) for i, j in pairs_of(len(sizes))}
