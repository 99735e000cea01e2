"""One-sample tests with a stated false-alarm rate, shared by every statistical test.

Each use is paired with a *twin*: the same test on the same sample must reject a law whose scale is 20 % off.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping

import numpy as np
from numpy.typing import NDArray
from scipy import stats

Law = Mapping[Hashable, float]

FALSE_ALARM = 1e-6
"""Every statistical test rejects a correct sampler with at most this probability; the seeds are fixed."""


def chi_square_p(sample: NDArray[np.int64], mass: dict[int, float]) -> float:
    """The p-value of a chi-square test of whole numbers against ``mass``; what is left of the law is one more cell."""
    cells = sorted(mass)
    observed = [int(np.count_nonzero(sample == cell)) for cell in cells]
    observed.append(sample.size - sum(observed))
    expected = [mass[cell] * sample.size for cell in cells]
    expected.append(sample.size - sum(expected))
    assert min(expected[:-1]) >= 5, "choose cells with at least five expected"
    if expected[-1] < 5:
        observed[-2:], expected[-2:] = [sum(observed[-2:])], [sum(expected[-2:])]
    statistic = sum((o - e) ** 2 / e for o, e in zip(observed, expected, strict=True))
    return float(stats.chi2.sf(statistic, len(expected) - 1))


def law_p(observed: Mapping[Hashable, int], law: Law) -> float:
    """The p-value of a chi-square test of outcomes against their law; rare ones are pooled until ten are expected."""
    assert set(observed) <= set(law), "something of probability zero came up"
    draws = sum(observed.values())
    cells, expected, seen = [], 0.0, 0
    for key, probability in sorted(law.items(), key=lambda item: item[1]):
        expected, seen = expected + draws * probability, seen + observed.get(key, 0)
        if expected >= 10:
            cells.append((expected, seen))
            expected, seen = 0.0, 0
    cells[-1] = (cells[-1][0] + expected, cells[-1][1] + seen)
    statistic = sum((seen - expected) ** 2 / expected for expected, seen in cells)
    return float(stats.chi2.sf(statistic, len(cells) - 1))


def excess(one: Law, other: Law, epsilon: float) -> float:
    """The smallest delta for which ``one`` is within epsilon of ``other``: the sum of max(0, P - exp(epsilon) Q)."""
    return sum(max(0.0, p - math.exp(epsilon) * other.get(outcome, 0.0)) for outcome, p in one.items())


def discrete_laplace_mass(scale: float, cells: range) -> dict[int, float]:
    """P[X = k] = (1-q)/(1+q) q**|k| with q = exp(-1/scale)."""
    centre = math.tanh(0.5 / scale)
    return {k: centre * math.exp(-abs(k) / scale) for k in cells}


def discrete_gaussian_mass(sigma: float, cells: range) -> dict[int, float]:
    """P[X = k], proportional to exp(-k**2 / (2 sigma**2))."""
    reach = math.ceil(40 * sigma) + 1
    whole = math.fsum(math.exp(-k * k / (2 * sigma**2)) for k in range(-reach, reach + 1))
    return {k: math.exp(-k * k / (2 * sigma**2)) / whole for k in cells}


def geometric_mass(scale: float, cells: range) -> dict[int, float]:
    """P[G = k] = (1-q) q**k."""
    return {k: -math.expm1(-1 / scale) * math.exp(-k / scale) for k in cells}


def proportion_p(hits: int, trials: int, probability: float) -> float:
    """The two-sided p-value of an exact binomial test."""
    return float(stats.binomtest(hits, trials, probability).pvalue)
