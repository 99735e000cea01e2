"""Binary expansions against mpmath at 400 bits."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsegate.noise.expansions import centre, decay, logistic, rational

FORMULAS = {
    decay: lambda x: mpmath.exp(-x),
    logistic: lambda x: 1 / (1 + mpmath.exp(x)),
    centre: lambda x: mpmath.tanh(x / 2),
}


@pytest.mark.parametrize("expansion", FORMULAS, ids=lambda f: f.__name__)
@pytest.mark.parametrize(
    "x", [Fraction(1, 2**40), Fraction(1, 20), Fraction(2, 5), Fraction(3), Fraction(100), Fraction(0.1)]
)
def test_the_first_400_bits_are_those_of_mpmath(expansion: object, x: Fraction) -> None:
    with mpmath.workprec(1200):
        exact = FORMULAS[expansion](mpmath.mpf(x.numerator) / x.denominator)  # type: ignore[index]
        expected = int(mpmath.floor(exact * mpmath.mpf(2) ** 400))
    assert expansion(x).prefix(400) == expected  # type: ignore[operator]


@given(st.fractions(min_value=0, max_value=1), st.integers(0, 300))
def test_a_rational_expansion_is_integer_division(p: Fraction, bits: int) -> None:
    assert rational(p).prefix(bits) == (p.numerator << bits) // p.denominator


@given(st.fractions(min_value=Fraction(1, 10**9), max_value=200), st.integers(1, 30))
def test_digits_put_together_are_the_prefix(x: Fraction, count: int) -> None:
    expansion = logistic(x)
    together = 0
    for index in range(count):
        together = together << 16 | expansion.digit16(index)
    assert together == expansion.prefix(16 * count)
    assert expansion.digit(0, 64) == expansion.prefix(64)


def test_a_dyadic_expansion_knows_where_it_ends() -> None:
    assert rational(Fraction(3, 8)).ends == 3
    assert rational(Fraction(1, 3)).ends is None


def test_a_probability_within_e_to_minus_a_million_of_one_costs_no_million_bits() -> None:
    assert centre(Fraction(2**20)).prefix(256) == 2**256 - 1
    assert decay(Fraction(2**20)).prefix(256) == 0


def test_a_list_of_digits_that_another_thread_replaces_is_not_read() -> None:
    class Replaced(list[int]):
        def __len__(self) -> int:
            expansion._digits16 = []  # what another thread may do between the check and the look-up
            return super().__len__()

    expansion = rational(Fraction(1, 3))
    expansion._digits16 = Replaced([0x5555] * 4)
    assert expansion.digit16(3) == 0x5555
