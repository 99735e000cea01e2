"""Peeling with a small delta: what each of c rounds may spend where all of them together spend (epsilon, delta).

A round is e-*bounded-range* if, for neighbours D and D', the log of Pr_D[i] / Pr_D'[i] lies in one interval of length
e for all outcomes i (Durfee, Rogers 2019). The exponential mechanism with weights exp(e q / (s Delta)) is: the log of
the weight of i moves by at most e one way (monotonic, s = 1) or e/2 either way (s = 2), and the normaliser moves all
outcomes alike.

Machine-checked: `exponential_bounded_range`, `bounded_range_is_private` (proofs/exponential_mechanism.v).

*Theorem.* c adaptive rounds, each e-bounded-range, are (epsilon, delta)-DP for every alpha > 1 with

    (c e**2 / 8) alpha + [ln(1/delta) + (alpha - 1) ln(1 - 1/alpha) - ln alpha] / (alpha - 1) <= epsilon.

*Proof.* Let L be the log of the ratio of one round's outcome, and f(t) = ln E[exp(t L)] under D'. Then f(0) = f(1) = 0,
and f''(t) is the variance of L under a tilted law, at most e**2/4 because L lies in an interval of length e. So
f(alpha) = f''(xi) alpha (alpha - 1) / 2 for some xi, and the Renyi divergence f(alpha) / (alpha - 1) is at most
alpha e**2/8: the round is (e**2/8)-zCDP (Dong, Durfee, Rogers 2020; Cesar, Rogers 2021). Divergences of adaptive
rounds add, and the rest is the conversion of Canonne, Kamath, Steinke (2020, Prop. 12).

For every rational alpha, and by differences in place of derivatives. Machine-checked: `bounded_range_moment`,
`bounded_range_rounds_are_private` (proofs/bounded_range.v). Machine-checked: `moments_multiply`, `moment_is_private`
(proofs/renyi.v).

Permute-and-flip, which is q + exponential noise, is *not* bounded-range: nothing here is for it.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Any

from sparsegate.budget import Number, exact_count, exact_delta, exact_epsilon
from sparsegate.noise.expansions import interval_arithmetic, scaled_floor

_BITS = 128  # of the bound
_DIGITS = 40  # binary digits of the result: short numbers are fast, and rounding down gives away 1e-12 of it
_FAR = 10**100  # the order is searched as if epsilon and ln(1/delta) were within 1e-100 and this
_WIDE, _STEPS = 40.0, 90  # how far around the classical order ln(alpha - 1) is searched, and how finely


def round_epsilon(*, epsilon: Number, delta: Number, count: int) -> Fraction:
    """The largest e known to be safe for each of ``count`` rounds that together are (epsilon, delta)-DP.

    It is epsilon / count, which needs no delta, or the solution of the equation above where that is larger, rounded
    down: the bound is evaluated in interval arithmetic at one rational alpha, and holds for each alpha, so that only
    the choice of alpha is a matter of floats.

    For c draws of the exponential mechanism without replacement, at this e each. Machine-checked:
    `peeling_by_bounded_range`, `grouped_peeling_by_bounded_range` (proofs/peeling_range.v).

    >>> [round(float(round_epsilon(epsilon=1, delta=1e-6, count=c)), 4) for c in (1, 10, 50, 100, 300)]
    [1.0, 0.1396, 0.0624, 0.0441, 0.0255]
    """
    exact, count = exact_epsilon(epsilon), exact_count(count, "count")
    return max(exact / count, _bounded_range(exact, exact_delta(delta), count))


def conversion(context: Any, alpha: Any, log_inverse: Any) -> Any:
    """What to add to a Renyi divergence of order alpha for the epsilon at delta, given ln(1/delta)."""
    return (log_inverse - context.log(alpha)) / (alpha - 1) + context.log(1 - 1 / alpha)


@lru_cache(maxsize=256)
def _bounded_range(epsilon: Fraction, delta: Fraction, count: int) -> Fraction:
    """sqrt(8 rho / count) for the largest rho found, rounded down; 0 where alpha asks for more than epsilon alone."""
    public = (float(min(epsilon, Fraction(_FAR))), log_inverse(delta))
    order = 1 + Fraction(math.exp(_best_order(*(max(number, 1 / _FAR) for number in public))))
    with interval_arithmetic(_BITS) as iv:
        alpha = iv.mpf(order.numerator) / iv.mpf(order.denominator)
        asked = conversion(iv, alpha, iv.log(iv.mpf(delta.denominator) / iv.mpf(delta.numerator)))
        square = 8 * (iv.mpf(epsilon.numerator) / iv.mpf(epsilon.denominator) - asked) / (alpha * count)
        low = scaled_floor(square._mpi_[0], 2 * _BITS)
    root = math.isqrt(max(low, 0))
    spare = max(root.bit_length() - _DIGITS, 0)
    return Fraction(root >> spare << spare, 1 << _BITS)


def _best_order(epsilon: float, log_inverse: float) -> float:
    """ln(alpha - 1) for about the largest rho: a ternary search around the order of the classical conversion."""

    def rho(x: float) -> float:
        above = math.exp(x)
        asked = (log_inverse - math.log1p(above)) / above - math.log1p(math.exp(-x))
        return (epsilon - asked) / (1 + above)

    root = math.sqrt(log_inverse)
    middle = math.log(root * (math.sqrt(epsilon + log_inverse) + root) / epsilon)
    low, high = middle - _WIDE, middle + _WIDE
    for _ in range(_STEPS):
        one, other = low + (high - low) / 3, high - (high - low) / 3
        low, high = (one, high) if rho(one) < rho(other) else (low, other)
    return (low + high) / 2


def log_inverse(delta: Fraction) -> float:
    """ln(1/delta), also where delta is no float."""
    if 2 * delta > 1:
        return -math.log1p(-float(1 - delta))
    return math.log(delta.denominator) - math.log(delta.numerator)
