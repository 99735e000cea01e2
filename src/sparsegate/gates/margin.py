"""How far from a threshold an answer must be to be right, from the exact law of rho - nu (``gates.laws``).

**Theorem (several answers at once).** Ask any n questions, each chosen as one likes after the answers before it, and
let a satisfy n (Pr[T + a is BELOW] + Pr[T - a is ABOVE]) <= 1 - confidence. Then with this confidence every one of the
n whose answer lies a or more from its threshold is answered rightly. *Proof.* A question that is a or more above goes
wrong with a probability of at most u(rho) given rho and all that was said before, since its nu is fresh; one that is
below with at most d(rho). Whichever the asker chose, that is at most u(rho) + d(rho), whose mean over rho is the sum in
the brackets; the union over n questions costs a factor of n. [] The union costs little: a tail falls by e for every
scale of noise, so a grows with log n.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Final

from sparsegate.errors import ParameterError
from sparsegate.gates.variants import Noise

_DIGITS: Final = 60  # enough for scales of 2**48: 1-p keeps 45 digits, and the difference p-q has many left


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

    law = noise.law

    with mpmath.workdps(_DIGITS):
        p, q = (
            mpmath.exp(-mpmath.mpf(s.denominator) / s.numerator) if s else 0 for s in (threshold_scale, query_scale)
        )
        allowed = (1 - mpmath.mpf(confidence)) / (answers or 1)
        either = max if answers is None else mpmath.fadd

        def wrong(a: int) -> Any:
            return either(law.tail(p, q, a - shift), law.tail(q, p, a + shift - 1))

        high = 1
        while wrong(high) > allowed:
            high *= 2
        low = high // 2
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if wrong(middle) > allowed else (low, middle)
        return high
