"""Scores of features, each with a proved sensitivity: how far one row can move how well a feature tells the target.

Neighbours: add or remove one row. n rows; of one feature, n_v rows have the value v, n_k the class k and n_vk both.
What the values and classes are is public, so one row is in one cell (v, k) of each feature's table, whatever it holds.
Every score is a whole number of steps, and so is its sensitivity Delta: no rounding is left out of a proof.

**agreement** (1 step): A = sum_v max_k n_vk, the rows that the best rule "value -> class" labels right. *Delta = 1, and
monotonic.* A new row raises one n_vk by one, so one maximum by 0 or 1 and no other: every feature's A rises by 0 or 1.

**dependence** (1024 steps): R = 1/4 sum_vk |n_vk - n_v n_k / n|, n/2 times the R score of PrivBayes (Zhang et al., TODS
2017); |ad - bc|/n for a table of two by two. *Delta = 1.* Let M be the matrix in the bars, p = (n_v / n), q = (n_k / n)
and e a unit vector. A new row in the cell (v, k) makes of the outer product n p q' that of (n p + e_v) and (n q + e_k),
over n + 1; collecting terms, M moves by n/(n+1) (e_v - p)(e_k - q)'. A matrix of rank one has as sum of absolute
entries |e_v - p|_1 |e_k - q|_1 = 2 (1 - p_v) 2 (1 - q_k) <= 4: R moves by less than 1. (From n = 0: by 0.) R is a
fraction of whole numbers, rounded down exactly: where reals differ by at most 1024 steps, so do they rounded down.

**information** (1024 steps): J = n I / (1 + ln n), I the mutual information of value and class in the table, in nats.
*Delta = 1, for any number of values and classes, and without a bound on n.* Let g(t) = t ln t, F = n I = sum g(n_vk) -
sum g(n_v) - sum g(n_k) + g(n), and h(t) = g(t+1) - g(t), the mean of 1 + ln u over [t, t+1]: h is increasing and
concave, h(0) = 0 and h(t) <= 1 + ln(t+1). A new row in the cell (v, k) moves F by

    m = h(n) - h(a) - h(b) + h(c),    a = n_v, b = n_k, c = n_vk,  c <= a, c <= b,  a + b - c <= n.

(up) m <= h(n), since h(c) <= h(a) and h(b) >= 0; and 1 + ln n grows, so J rises by at most h(n) / (1 + ln(n+1)) <= 1.
(down) -m = h(a) + h(b) - h(c) - h(n) is largest, for given c, at a = b = (n + c)/2, and then falls as c grows, both
since h is concave: -m <= 2 h(n/2) - h(n). As ln is concave, 1 + (ln n + ln(n+1))/2 <= h(n) and h(n/2) <= 1 +
ln((n+1)/2), so -m <= 1 + ln(n+1) - 2 ln 2 + ln(1 + 1/n)/2. J falls by the division as well: F (1/(1 + ln n) - 1/(1 +
ln(n+1))) <= I / ((1 + ln n)(1 + ln(n+1))), as n ln(1 + 1/n) <= 1, and I <= ln n. In all J falls by at most

    [1 + ln(n+1) - 2 ln 2 + ln(1 + 1/n)/2 + ln n / (1 + ln n)] / (1 + ln(n+1)) <= 1,

as the last two terms are at most ln(2)/2 + 1 < 2 ln 2. Of fewer than 10^9 rows floats give J within a quarter of a
step, so two neighbours rounded down differ by at most 1025 steps, which is the sensitivity charged.

**covariance** (2^20 steps): C = |sum u w|, u and w the feature and the target clipped to PUBLIC bounds and mapped to
-1..1, in steps of 1/1024. *Delta = 1.* A new row adds u w, in -1..1, and |.| moves by no more than what it is taken of.

A person with up to r rows moves a score by r Delta at most: r steps from neighbour to neighbour.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

Integers: TypeAlias = NDArray[np.int64]

FINE: Final = 1024
"""Steps of a score that is no count, and of a clipped number on each side of its middle."""

_FITS: Final = 2**31  # rows up to which 2 n**2 fits 64 bits


@dataclass(frozen=True, kw_only=True)
class FeatureScore:
    """A score, what it is in steps, and how far one row moves it.

    ``of_table`` scores a table of counts, a row for each value and a column for each class; None for one of numbers.
    """

    says: str
    steps: int
    sensitivity: int
    monotonic: bool
    of_table: Callable[[Integers], int] | None


def agreement(table: Integers) -> int:
    """The rows that the best rule from values to classes labels right.

    >>> agreement(np.array([[30, 10], [5, 20]]))
    50
    """
    return int(table.max(axis=1).sum())


def dependence(table: Integers) -> int:
    """A quarter of the absolute differences from what independence would give, in steps of 1/1024.

    >>> dependence(np.array([[30, 10], [10, 30]])) / 1024
    10.0
    """
    n = int(table.sum())
    if n == 0:
        return 0
    exact = table if n < _FITS else table.astype(object)
    expected = np.multiply.outer(exact.sum(axis=1), exact.sum(axis=0))
    # As Python's integers: a product of three counts may be more than 64 bits.
    return FINE * int(np.abs(n * exact - expected).sum()) // (4 * n)


def information(table: Integers) -> int:
    """n times the mutual information in nats, over 1 + ln n, in steps of 1/1024.

    >>> round(information(np.array([[8, 0], [0, 8]])) / 1024 * (1 + math.log(16)) / 16, 3)
    0.693
    """
    n = int(table.sum())
    if n == 0:
        return 0
    signed = [(table.ravel(), 1), (table.sum(axis=1), -1), (table.sum(axis=0), -1), (np.array([n]), 1)]
    terms = [sign * (part * np.log(np.maximum(part, 1))) for part, sign in signed]
    return math.floor(FINE * math.fsum(np.concatenate(terms)) / (1 + math.log(n)))


def covariances(features: Integers, target: Integers) -> Integers:
    """The absolute sums of products, a score for each column; -1024..1024 in, steps of 2**-20 out.

    >>> covariances(np.array([[1024, 512], [-1024, 512]]), np.array([1024, -1024])).tolist()
    [2097152, 0]
    """
    sums: Integers = np.abs(target @ features)
    return sums


def contingency(values: Integers, classes: Integers, *, shape: tuple[int, int]) -> Integers:
    """How many rows have each value and class: ``values`` in 0..shape[0]-1, ``classes`` in 0..shape[1]-1.

    >>> contingency(np.array([0, 0, 1]), np.array([1, 1, 0]), shape=(2, 2)).tolist()
    [[0, 2], [1, 0]]
    """
    cells = np.bincount(values * shape[1] + classes, minlength=shape[0] * shape[1])
    return cells.reshape(shape).astype(np.int64)


SCORES: Final[Mapping[str, FeatureScore]] = MappingProxyType(
    {
        "agreement": FeatureScore(
            says="rows that the best rule from the feature's values to classes labels right",
            steps=1,
            sensitivity=1,
            monotonic=True,
            of_table=agreement,
        ),
        "dependence": FeatureScore(
            says="distance of the table of values and classes from an independent one",
            steps=FINE,
            sensitivity=FINE,
            monotonic=False,
            of_table=dependence,
        ),
        "information": FeatureScore(
            says="n times the mutual information of value and class, over 1 + ln n",
            steps=FINE,
            sensitivity=FINE + 1,
            monotonic=False,
            of_table=information,
        ),
        "covariance": FeatureScore(
            says="absolute sum of products of feature and target, both clipped to public bounds",
            steps=FINE**2,
            sensitivity=FINE**2,
            monotonic=False,
            of_table=None,
        ),
    }
)
"""Every score by its key."""
