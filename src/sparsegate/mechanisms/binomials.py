"""Logarithms of binomial coefficients: in floats with a proven error, and enclosed to any precision.

Both use Stirling's series, log m! = m log m - m + log(2 pi m) / 2 + s(m), s(m) = 1/(12 m) - 1/(360 m**3) + ..., whose
error is below the first term left out, with its sign (for every real m > 0).
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

ERROR = 2.0**-44
"""``log_binomials`` errs by at most ERROR (1 + result)."""

_SMALL = 32  # below this s(m) comes from a table; from here on four terms err by less than 2**-55
_TABLE = np.array(
    [0.0]
    + [
        math.log(float(Fraction(math.factorial(m), m**m)) * math.exp(m) / math.sqrt(2 * math.pi * m))
        for m in range(1, _SMALL)
    ]
)


def log_binomials(n: NDArray[np.int64], k: NDArray[np.int64]) -> NDArray[np.float64]:
    """log C(n, k) for 0 <= k <= n <= 2**62.

    With k <= n - k, both terms of k log(n/k) - (n-k) log(1 - k/n) are positive and hardly larger than the result:
    nothing cancels, and a handful of roundings of 2**-53 each stay far below ERROR.

    >>> np.exp(log_binomials(np.array([4, 52, 9]), np.array([2, 5, 0]))).round(6).tolist()
    [6.0, 2598960.0, 1.0]
    """
    k = np.minimum(k, n - k)
    small, large, whole = np.maximum(k, 1).astype(np.float64), (n - k).astype(np.float64), n.astype(np.float64)
    np.maximum(whole, 1, out=whole)
    np.maximum(large, 1, out=large)
    result = small * np.log(whole / small) - large * np.log1p(-small / np.maximum(whole, 2))
    result += 0.5 * (np.log(whole / large) - np.log(2 * math.pi * small))
    result += _correction(whole) - _correction(small) - _correction(large)
    return np.where(k == 0, 0.0, result)


def _correction(m: NDArray[np.float64]) -> NDArray[np.float64]:
    inverse = 1 / m
    square = inverse * inverse
    series = inverse * (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square / 1680)))
    return np.where(m < _SMALL, _TABLE[np.minimum(m, _SMALL - 1).astype(np.intp)], series)


def log_binomial(iv: Any, n: int, k: int) -> Any:
    """An interval around log C(n, k), in an interval context of mpmath whose precision exceeds the bits of n."""
    return _log_factorial(iv, n) - _log_factorial(iv, k) - _log_factorial(iv, n - k)


def _log_factorial(iv: Any, m: int) -> Any:
    if m <= max(_SMALL, iv.prec):
        return iv.log(iv.mpf(math.factorial(m)))
    from mpmath import bernfrac

    whole = iv.mpf(m)
    result = whole * iv.log(whole) - whole + iv.log(2 * iv.pi * whole) / 2
    order = 2
    while True:
        up, down = bernfrac(order)
        term = iv.mpf(int(up)) / (iv.mpf(int(down)) * (order * (order - 1)) * whole ** (order - 1))
        if order * math.log2(m) > 2 * iv.prec:
            # The rest lies between zero and this term. With m above the precision the terms still fall here.
            return result + iv.mpf([min(term.a, 0), max(term.b, 0)])
        result += term
        order += 2
