"""The exact law of rho - nu, and how far from a threshold an answer must be to land on the right side.

For independent discrete Laplace variables with ratios p != q and k >= 0,

    Pr[rho - nu = k] = (1-p)(1-q)/((1+p)(1+q)) * [ (p**k + q**k) pq/(1-pq) + (p**(k+1) - q**(k+1))/(p-q) ],

with (k+1) p**k for the last term where p = q. Sums over k > t are geometric series.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from sparsegate.errors import ParameterError

_DIGITS = 60  # enough for scales of 2**48: 1-p keeps 45 digits, and the difference p-q has many left


def steps_to_confidence(confidence: float, threshold_scale: Fraction | None, query_scale: Fraction | None) -> int:
    """The smallest whole a >= 1 with Pr[rho - nu <= a - 1] >= confidence.

    >>> steps_to_confidence(0.95, None, Fraction(20))
    47
    """
    if isinstance(confidence, bool) or not isinstance(confidence, int | float) or not 0.5 <= confidence < 1:
        raise ParameterError("confidence", "must lie from 0.5 to below 1", confidence, "pass for instance 0.95")
    import mpmath

    with mpmath.workdps(_DIGITS):
        scales = [mpmath.mpf(s.numerator) / s.denominator for s in (threshold_scale, query_scale) if s is not None]
        allowed = 1 - mpmath.mpf(confidence)
        high = 1
        while _tail(mpmath, scales, high - 1) > allowed:
            high *= 2
        low = high // 2
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if _tail(mpmath, scales, middle - 1) > allowed else (low, middle)
        return high


def _tail(mp: Any, scales: list[Any], t: int) -> Any:
    """Pr[rho - nu > t] for t >= 0."""
    ratios = [mp.exp(-1 / s) for s in scales]
    if not ratios:
        return mp.mpf(0)
    if len(ratios) == 1:
        return ratios[0] ** (t + 1) / (1 + ratios[0])
    p, q = ratios
    norm = (1 - p) * (1 - q) / ((1 + p) * (1 + q))
    p_sum, q_sum = p ** (t + 1) / (1 - p), q ** (t + 1) / (1 - q)  # sums of p**k and q**k over k > t
    equal = (t + 2) * p_sum + p ** (t + 2) / (1 - p) ** 2
    last = equal if p == q else (p * p_sum - q * q_sum) / (p - q)
    return norm * ((p_sum + q_sum) * p * q / (1 - p * q) + last)
