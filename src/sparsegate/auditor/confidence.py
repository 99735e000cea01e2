"""Exact confidence limits: on a probability, on a ratio of two, and from them on epsilon and delta.

**On a probability** (Clopper and Pearson 1934). S ~ Binomial(n, p); the limits solve P[S >= s] = alpha and
P[S <= s] = alpha in p:

    low(s, n, alpha)  = Beta^-1(alpha;     s,     n - s + 1)        P[low > p] <= alpha
    high(s, n, alpha) = Beta^-1(1 - alpha; s + 1, n - s)            P[high < p] <= alpha

**Rectangle.** p1 > low(alpha/2) and p2 < high(alpha/2) hold together with probability at least 1 - alpha. An
(epsilon, delta)-private mechanism has p1 <= e^epsilon p2 + delta for every event, hence at that confidence

    epsilon >= ln((low - delta) / high)        delta >= low - e^epsilon high.

**Ratio**, for delta = 0. Let the two sample sizes be independent Poisson(n) numbers. Then the hits are independent,
S1 ~ Poisson(n p1) and S2 ~ Poisson(n p2), and given their sum S1 ~ Binomial(S1 + S2, theta) with theta = p1/(p1 + p2).
One Clopper-Pearson limit on theta is an exact limit on the ratio, at the whole alpha:

    epsilon >= ln(p1 / p2) = ln(theta / (1 - theta)) >= ln(t / (1 - t)),    t = low(S1, S1 + S2, alpha).

For a rare event the rectangle errs by z(alpha/2) (s1 + s2), the ratio by z(alpha) sqrt(s1^2 + s2^2), where s is the
standard error of ln p: at 99 % that is 2.4 times as many samples for the same bound. For a likely event a Poisson
sample size costs more than that, and the rectangle wins.
"""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

Reals = NDArray[np.float64]

_MAIN_SHARE: Final = 0.95


class BoundRule(enum.Enum):
    """How epsilon is bounded; fixed before certification starts."""

    RATIO = "ratio"
    RECTANGLE = "rectangle"


@dataclass(frozen=True, kw_only=True)
class Counts:
    """Hits of one event among independent runs on the answers (1) and on the neighbour (2)."""

    hits1: int
    trials1: int
    hits2: int
    trials2: int


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """What the counts prove: the true values are at least these, all at once, but with probability alpha."""

    epsilon: float = 0.0
    delta: float = 0.0

    def join(self, other: Bounds) -> Bounds:
        """Both hold, so the larger of each does."""
        return Bounds(epsilon=max(self.epsilon, other.epsilon), delta=max(self.delta, other.delta))


def low(hits: ArrayLike, trials: ArrayLike, alpha: float) -> Reals:
    """The lower Clopper-Pearson limit.

    >>> round(float(low(8, 10, 0.025)), 4)
    0.4439
    """
    from scipy.special import betaincinv

    s, n = np.broadcast_arrays(np.asarray(hits, dtype=float), np.asarray(trials, dtype=float))
    inner = betaincinv(np.maximum(s, 1e-300), np.maximum(n - s, 0) + 1, alpha)
    return cast(Reals, np.where(s <= 0, 0.0, inner))


def high(hits: ArrayLike, trials: ArrayLike, alpha: float) -> Reals:
    """The upper Clopper-Pearson limit.

    >>> round(float(high(0, 100, 0.05)), 4)
    0.0295
    """
    from scipy.special import betainccinv

    s, n = np.broadcast_arrays(np.asarray(hits, dtype=float), np.asarray(trials, dtype=float))
    inner = betainccinv(s + 1, np.maximum(n - s, 1e-300), alpha)
    return cast(Reals, np.where(n - s <= 0, 1.0, inner))


def ratio_low(hits1: ArrayLike, hits2: ArrayLike, alpha: float) -> Reals:
    """The lower limit of ln(p1/p2) when both sample sizes are Poisson with the same mean.

    >>> round(float(ratio_low(60, 30, 0.05)), 4), float(ratio_low(0, 5, 0.05))
    (0.3066, -inf)
    """
    from scipy.special import betainccinv, betaincinv

    s1, s2 = np.broadcast_arrays(np.asarray(hits1, dtype=float), np.asarray(hits2, dtype=float))
    safe = np.maximum(s1, 1e-300)
    # 1 - t straight from the mirrored law: with no hit on the neighbour t is so close to 1 that 1 - t would cancel.
    with np.errstate(divide="ignore"):
        odds = np.log(betaincinv(safe, s2 + 1, alpha)) - np.log(betainccinv(s2 + 1, safe, alpha))
    return cast(Reals, np.where(s1 <= 0, -np.inf, odds))


def rectangle_low(
    hits1: ArrayLike, trials1: ArrayLike, hits2: ArrayLike, trials2: ArrayLike, alpha: float, delta: float
) -> Reals:
    """The lower limit of ln((p1 - delta)/p2)."""
    surplus = np.maximum(low(hits1, trials1, alpha / 2) - delta, 0.0)
    with np.errstate(divide="ignore"):
        return cast(Reals, np.log(surplus) - np.log(high(hits2, trials2, alpha / 2)))


def certified(counts: Counts, *, rule: BoundRule, alpha: float, epsilon: float, delta: float) -> Bounds:
    """What the counts prove, all of it together at confidence 1 - alpha.

    Under the ratio rule the rectangle keeps a twentieth of alpha: delta is read off it. Its epsilon is then as proven
    as the other, so the larger one stands.
    """
    rectangle = alpha if rule is BoundRule.RECTANGLE else (1 - _MAIN_SHARE) * alpha
    s1, n1, s2, n2 = counts.hits1, counts.trials1, counts.hits2, counts.trials2
    bound = float(rectangle_low(s1, n1, s2, n2, rectangle, delta))
    if rule is BoundRule.RATIO and not delta:  # the ratio says nothing about delta
        bound = max(bound, float(ratio_low(s1, s2, _MAIN_SHARE * alpha)))
    excess = float(low(s1, n1, rectangle / 2) - math.exp(min(epsilon, 700.0)) * high(s2, n2, rectangle / 2))
    return Bounds(epsilon=max(bound, 0.0), delta=max(excess, 0.0))


def promise(p1: Reals, p2: Reals, *, trials: float, alpha: float, delta: float) -> tuple[Reals, NDArray[np.bool_]]:
    """About what events of these probabilities would certify at that sample size, and where the ratio rule is better.

    Normal approximations of the limits above, with one hit more on the neighbour, which keeps them usable down to no
    hit at all: good enough to choose by, never to certify with.
    """
    x1, x2 = trials * p1, trials * p2
    z = -NormalDist().inv_cdf(alpha / 2)
    # The square root of a count has the standard deviation sqrt(1 - p)/2, whatever the count is.
    least = np.maximum(np.sqrt(x1) - z / 2 * np.sqrt(np.maximum(1 - p1, 0)), 0) ** 2 / trials
    most = (np.sqrt(x2 + 1) + z / 2 * np.sqrt(np.maximum(1 - p2, 0))) ** 2 / trials
    rectangle = np.log(np.maximum(least - delta, 1e-12) / np.minimum(most, 1))
    if delta:
        return rectangle, np.zeros(p1.shape, dtype=np.bool_)
    z = -NormalDist().inv_cdf(_MAIN_SHARE * alpha)
    ratio = np.log(x1 / (x2 + 1)) - z * np.sqrt(1 / x1 + 1 / (x2 + 1))
    return np.maximum(ratio, rectangle), ratio >= rectangle
