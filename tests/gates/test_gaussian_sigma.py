"""The normal law in whole numbers: bounds on both sides of the truth, and the least sigma of the theorem."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import pytest

from sparsegate.gates.gaussian import PARTS, gaussian_sigma, normal_tail

PLACES = [Fraction(0), Fraction(1, 10**9), Fraction(1, 3), Fraction(355, 113), Fraction(12), Fraction(37)]


@pytest.mark.parametrize("bits", [8, 64, 1100])
@pytest.mark.parametrize("x", [*PLACES, *(-x for x in PLACES[1:])], ids=str)
def test_the_bounds_of_a_tail_are_on_both_sides_of_it_and_near(x: Fraction, bits: int) -> None:
    low, high = normal_tail(x, bits)
    with mpmath.workdps(400):
        truth = mpmath.erfc(mpmath.mpf(x.numerator) / x.denominator / mpmath.sqrt(2)) / 2 * mpmath.mpf(2) ** bits
        assert low <= truth <= high
    assert high - low <= 2


def profile(sigma: Fraction, epsilon: Fraction) -> mpmath.mpf:
    """The delta of N + 1/sigma against N at epsilon, by quadrature of the densities: no formula of the theorem."""
    with mpmath.workdps(30):
        shift, e = 1 / mpmath.mpf(float(sigma)), mpmath.mpf(float(epsilon))
        start = (e + shift**2 / 2) / shift  # where the one density is e**epsilon times the other

        def gap(y: mpmath.mpf) -> mpmath.mpf:
            return mpmath.npdf(y, shift) - mpmath.exp(e) * mpmath.npdf(y)

        return mpmath.quad(gap, [start, start + 1, start + 3, start + 9, start + 20])


@pytest.mark.parametrize(
    ("epsilon", "delta"), [("1", "1e-6"), ("1/10", "1e-6"), ("10", "1e-9"), ("1/2", "1/4"), ("1/1000", "1e-4")]
)
def test_sigma_is_the_least_that_keeps_the_theorem(epsilon: str, delta: str) -> None:
    e, d = Fraction(epsilon), Fraction(delta)
    sigma = gaussian_sigma(epsilon=e, delta=d)
    assert sigma is not None
    assert profile(sigma, e) <= float(d) * (1 + 1e-9)
    # One part in 2**24 less, and the bound, which is exact to 64 digits, is above delta: so is the truth up to that.
    assert profile(sigma - Fraction(2, 2**PARTS), e) > float(d) * (1 - 1e-9)
    assert profile(sigma * Fraction(5, 6), e) > float(d)
