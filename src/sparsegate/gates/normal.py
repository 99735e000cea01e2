"""How much exact normal noise (epsilon, delta) asks for: the Gaussian mechanism by its own law, and tails in integers.

*Theorem* (Balle, Wang 2018, Thm. 8). If one person moves a vector by at most 1 in Euclidean norm, the vector with
independent noise sigma N in each entry, N standard normal, and whatever is computed of it, is (epsilon, delta)-DP if

    Phi(1/(2 sigma) - epsilon sigma) - e**epsilon Phi(-1/(2 sigma) - epsilon sigma) <= delta;

and it is 1/(2 sigma**2)-zCDP; so is the sum rounded down (``noise.gaussian.normal_floor``). No float decides: sigma is
the least whole number of parts of 2**-``PARTS`` that passes with every term bounded from the side that makes it larger.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

from sparsegate.noise.expansions import interval_floor

PARTS = 24
"""Binary digits of sigma behind the point."""

_MOST = 1 << 48
_LEAST_DELTA = Fraction(1, 1 << 1024)
_LARGEST = Fraction(64)
"""Of epsilon: more asks for hardly less noise, and what is private for less is private for more."""
_GUARD = 64


def normal_tail(x: Fraction, bits: int) -> tuple[int, int]:
    """Whole numbers around 2**bits Pr[N >= x]; they differ by 2 at most.

    1/2 - phi(x) (x + x**3/3 + x**5/(3 5) + ...) for x >= 0: all terms are positive, each is rounded down and up, and
    once a term is less than half the one before, all that follow are less than the last.
    """
    if x < 0:
        low, high = normal_tail(-x, bits)
        return (1 << bits) - high, (1 << bits) - low
    square = x * x
    guard = _GUARD + math.ceil(square)  # the sum is below e**(x**2/2) 1.26, so that its errors are as much larger
    fine = bits + guard
    top, bottom = square.numerator, square.denominator
    least = (x.numerator << fine) // x.denominator
    most = least + 1
    low = high = odd = 0
    while odd == 0 or most > 1 or 2 * square > odd:
        low, high, odd = low + least, high + most, (odd or 1) + 2
        least, most = least * top // (bottom * odd), -(-most * top // (bottom * odd))
    high += 2 * most
    floors = interval_floor(-square / 2, lambda iv, e: e / iv.sqrt(2 * iv.pi), fine, fine + _GUARD)
    half = 1 << (fine - 1)
    upper = half - (low * floors[0] >> fine)
    lower = half - (-(-high * (floors[1] + 1) >> fine))
    return max(lower >> guard, 0), -(-upper >> guard)


@lru_cache(maxsize=256)
def gaussian_sigma(*, epsilon: Fraction, delta: Fraction) -> Fraction | None:
    """The least sigma of the theorem, in parts of 2**-``PARTS``; None where it is beyond 2**24, or delta too small."""
    if delta < _LEAST_DELTA:
        return None
    epsilon = min(epsilon, _LARGEST)
    bits = (1 / delta).__ceil__().bit_length() + _GUARD
    allowed = math.floor(delta * (1 << bits))
    factor, _ = interval_floor(epsilon, lambda iv, e: e, bits, bits + _GUARD)

    def enough(parts: int) -> bool:
        sigma = Fraction(parts, 1 << PARTS)
        apart, middle = 1 / (2 * sigma), epsilon * sigma
        _, inside = normal_tail(middle - apart, bits)
        outside, _ = normal_tail(middle + apart, bits)
        return inside - (factor * outside >> bits) <= allowed

    high = 1 << (PARTS - 4)
    while not enough(high):
        high *= 2
        if high > _MOST:
            return None
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return Fraction(high, 1 << PARTS)
