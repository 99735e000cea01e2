"""The exact law of rho - nu, the shift that centres it, and how far from a threshold an answer must be to be right.

For independent discrete Laplace variables with ratios p != q and k >= 0,

    Pr[rho - nu = k] = (1-p)(1-q)/((1+p)(1+q)) * [ (p**k + q**k) pq/(1-pq) + (p**(k+1) - q**(k+1))/(p-q) ],

with (k+1) p**k for the last term where p = q; rho - nu is symmetric. For geometric ones, and k >= 0,

    Pr[rho - nu >= k] = (1-q)/(1-pq) p**k,        Pr[nu - rho >= k] = (1-p)/(1-pq) q**k.

There the two tails differ, so the comparison is q + nu >= T + rho + kappa with a public kappa that makes the margin of
both sides the same: if rho - nu lies between -b and a with 90 % probability, 5 % on each side, kappa = (b - a)/2. It
is a function of the scales alone, and a threshold moved by a public number changes nothing in any proof.

**Theorem (several answers at once).** Ask any n questions, each chosen as one likes after the answers before it, and
let a satisfy n (Pr[T + a is BELOW] + Pr[T - a is ABOVE]) <= 1 - confidence. Then with this confidence every one of the
n whose answer lies a or more from its threshold is answered rightly. *Proof.* A question that is a or more above goes
wrong with a probability of at most u(rho) given rho and all that was said before, since its nu is fresh; one that is
below with at most d(rho). Whichever the asker chose, that is at most u(rho) + d(rho), whose mean over rho is the sum in
the brackets; the union over n questions costs a factor of n. [] The union costs little: a tail falls by e for every
scale of noise, so a grows with log n.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, Final

from sparsegate.errors import ParameterError
from sparsegate.gates.variants import Noise, Scales

_DIGITS: Final = 60  # enough for scales of 2**48: 1-p keeps 45 digits, and the difference p-q has many left
_OUTSIDE: Final = 0.05  # on each side of the middle that kappa centres: that of margin()'s own confidence


def central_shift(scales: Scales, *, lattice: bool = True) -> float:
    """The kappa of exponential noise with these scales; on the lattice it is rounded to a whole number of steps.

    >>> round(central_shift(Scales(Fraction(10), Fraction(40), None), lattice=False), 2)
    48.52
    """
    if scales.threshold is None or scales.query is None:
        return 0.0
    p, q = float(1 / scales.threshold), float(1 / scales.query)
    # What leaves each side: Pr[rho - nu >= x] = up e**(-px), Pr[nu - rho >= x] = down e**(-qx).
    of_rho, of_nu, both = (-math.expm1(-rate) for rate in (p, q, p + q)) if lattice else (p, q, p + q)
    up, down = of_nu / both, of_rho / both
    above = math.log(up / _OUTSIDE) / p if up >= _OUTSIDE else math.log((1 - _OUTSIDE) / down) / q
    below = math.log(down / _OUTSIDE) / q if down >= _OUTSIDE else math.log((1 - _OUTSIDE) / up) / p
    return (below - above) / 2 + (0.5 if lattice else 0.0)


def steps_to_confidence(
    confidence: float,
    threshold_scale: Fraction | None,
    query_scale: Fraction | None,
    *,
    noise: Noise = Noise.LAPLACE,
    shift: int = 0,
    answers: int | None = None,
) -> int:
    """The smallest whole a >= 1 such that T + a is ABOVE and T - a is BELOW, each with this probability or more.

    Pr[rho - nu + kappa <= a] >= confidence and Pr[nu - rho - kappa <= a - 1] >= confidence: the worse of the two. With
    ``answers`` it is the a of the theorem above, for this many answers at once.

    >>> steps_to_confidence(0.95, None, Fraction(20)), steps_to_confidence(0.95, None, Fraction(20), answers=25)
    (47, 125)
    """
    if isinstance(confidence, bool) or not isinstance(confidence, int | float) or not 0.5 <= confidence < 1:
        raise ParameterError("confidence", "must lie from 0.5 to below 1", confidence, "pass for instance 0.95")
    import mpmath

    with mpmath.workdps(_DIGITS):
        ratios = [
            mpmath.exp(-mpmath.mpf(s.denominator) / s.numerator) if s else 0 for s in (threshold_scale, query_scale)
        ]
        allowed = (1 - mpmath.mpf(confidence)) / (answers or 1)
        either = max if answers is None else mpmath.fadd

        def wrong(a: int) -> Any:
            if not noise.one_sided:
                present = [ratio for ratio in ratios if ratio]
                return either(_laplace_tail(mpmath, present, a), _laplace_tail(mpmath, present, a - 1))
            p, q = ratios
            return either(_geometric_tail(p, q, a - shift), _geometric_tail(q, p, a + shift - 1))

        high = 1
        while wrong(high) > allowed:
            high *= 2
        low = high // 2
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if wrong(middle) > allowed else (low, middle)
        return high


def _geometric_tail(p: Any, q: Any, t: int) -> Any:
    """Pr[rho - nu > t] for geometric rho and nu of ratios p and q."""
    both = 1 - p * q
    return (1 - q) * p ** (t + 1) / both if t >= -1 else 1 - (1 - p) * q**-t / both


def _laplace_tail(mp: Any, ratios: list[Any], t: int) -> Any:
    """Pr[rho - nu > t] for discrete Laplace noises of these ratios, t >= 0."""
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
