"""Every sampler, walked digit by digit, and the digits of probabilities against mpmath at 400 bits."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.scripted import Scripted, digits16

from sparsegate.noise import discrete_laplace, expansions, geometric, uniform_below
from sparsegate.noise.clocks import Clock
from sparsegate.noise.coins import binomial, fair_binomial, toss, toss_lanes
from sparsegate.noise.expansions import Expansion, centre, decay, logistic, rational
from sparsegate.noise.laplace import digits as coins

THIRD = 0x5555_5555_5555_5555  # every digit of 1/3
ONES = 2**64 - 1


@pytest.mark.parametrize(
    ("words", "heads"),
    [
        ([0], True),
        ([THIRD - 1], True),
        ([THIRD + 1], False),
        ([ONES], False),
        ([THIRD, THIRD - 1], True),
        ([THIRD, THIRD + 1], False),
        ([THIRD, THIRD, THIRD, 0], True),
        ([THIRD, THIRD, THIRD, ONES], False),
    ],
)
def test_a_toss_is_decided_at_the_first_digit_that_differs(words, heads):
    source = Scripted(words)
    assert toss(source, rational(Fraction(1, 3))) is heads
    assert source.left == 0


def test_lanes_are_decided_each_at_the_first_digit_that_differs():
    out = np.empty(6, dtype=np.bool_)
    script = [
        digits16(0x5554, 0x5556, 0x5555, 0x5555, 0x5555, 0x5555),
        digits16(0x5554, 0x5556, 0x5555, 0x5555),
        digits16(0x5554, 0x5556),
    ]
    source = Scripted(script)
    toss_lanes(source, rational(Fraction(1, 3)), out)
    assert out.tolist() == [True, False, True, False, True, False]
    assert source.left == 0


def test_lanes_of_a_dyadic_coin_are_decided_by_the_zeros_after_its_digits():
    p, out = rational(Fraction(3, 2**17)), np.empty(4, dtype=np.bool_)  # digits 0x0001, 0x8000
    source = Scripted([digits16(0, 1, 1, 2), digits16(0x7FFF, 0x8000), digits16(1)])
    toss_lanes(source, p, out)
    assert out.tolist() == [True, True, False, False]
    assert source.left == 0
    toss_lanes(Scripted([]), rational(Fraction(1)), out)
    assert out.all()
    toss_lanes(Scripted([digits16(0, 0, 1, 9), digits16(1, 2)]), rational(Fraction(0)), out)
    assert not out.any()


def always(count: int) -> np.ndarray:
    return np.zeros(count, dtype=np.uint8)


def never(count: int) -> np.ndarray:
    return np.full(count, 0xFF, dtype=np.uint8)


def draws_for_heads(p: Expansion, width: int) -> int:
    """How many digits of zero it takes to fall below p."""
    return next(index for index in range(99) if p.digit(index, width)) + 1


@pytest.mark.parametrize("tail", [0, 1, 3])
def test_a_single_draw_adds_what_lies_above_its_low_digits_as_often_as_the_coin_says(tail):
    """A draw of zeros is heads of every coin, one of ones is tails: the value is told digit by digit."""
    scale = Fraction(20)
    low, more = len(coins(scale)[0]), draws_for_heads(coins(scale)[1], 64)
    assert 2**low >= 45 * scale
    for word, least in ((0, 2**low - 1), (ONES, 0)):
        source = Scripted([word] * low + [0] * more * tail + [ONES])
        assert geometric(source, scale) == least + tail * 2**low
        assert source.left == 0


WIDE, TOP = Fraction(2**30), np.array([2**62], dtype="<i8").view(np.uint8)
"""A scale of eight low digits, and a word of which the part above them is floor(2**22 log 2)."""


def test_each_place_has_the_coin_of_its_own():
    """A quarter lies below logistic(2**j / 20) for j <= 4: those coins show heads, those of higher digits do not.

    At scale 2**30 a coin is 1/2 - 2**(j - 32), nearly, and 1/2 - 24 * 2**-32 lies below those with j <= 4.
    """
    assert geometric(Scripted([2**62] * (len(coins(Fraction(20))[0]) + 1)), 20) == 0b11111
    drawn = geometric(Scripted([TOP, *[digits16(0x7FFF), digits16(0x10000 - 24)] * 8]), WIDE, 1)
    assert (drawn & 0xFF).tolist() == [0b11111]


@pytest.mark.parametrize(("zero", "negative", "value"), [(False, 0, 1), (False, 1, -1), (True, 0, 0), (True, 1, 0)])
def test_noise_is_zero_or_a_sign_and_one_more_than_a_geometric_draw(zero, negative, value):
    single = Scripted([0 if zero else ONES, negative, *[ONES] * (len(coins(Fraction(20))[0]) + 1)])
    assert discrete_laplace(single, 20) == value
    coin = [always(2)] * draws_for_heads(centre(1 / WIDE), 16) if zero else [never(2)]
    lanes = Scripted([TOP, *[never(2)] * 8, *coin, np.array([negative << 7], np.uint8)])
    above = math.floor(2**22 * math.log(2)) << 8
    assert discrete_laplace(lanes, WIDE, 1).tolist() == [value * (above + 1)]
    assert single.left == lanes.left == 0


@pytest.mark.parametrize("n", [3, 6, 7, 2**40 + 1])
@pytest.mark.parametrize("more", [[0], [ONES], "tie"])
def test_a_whole_part_is_taken_only_where_the_digits_still_to_come_do_not_change_it(n, more):
    first, rest = divmod(2**128, n)  # n V stands just below 1 with these digits of V, and passes it with larger ones
    assert rest
    following = (rest << 64) // n
    digits = [following, ONES] if more == "tie" else list(more)
    source = Scripted([first, *digits])
    assert uniform_below(source, n) == (digits[0] > following or more == "tie")
    assert source.left == 0
    for place in (0, 1, n - 1):
        assert uniform_below(Scripted([-(-(place << 128) // n)]), n) == place


def test_a_binomial_count_splits_at_every_digit_of_p():
    """p is 0.011 in binary: 5 of 8 lanes draw one and are out; of 3 one draws zero and counts; so does one of 2."""
    p = rational(Fraction(3, 8))
    source = Scripted([np.array([0b11111], dtype=np.uint8), 0b110, 0b01, 0b1])
    assert binomial(source, 8, p) == 1 + 1
    assert source.left == 0
    assert binomial(Scripted([]), 9, rational(Fraction(1))) == 9


def test_fair_bits_are_counted_to_the_last():
    source = Scripted([0b111, np.array([0xFF, 0x01], dtype=np.uint8)])
    assert fair_binomial(source, 19) == 3 + 8 + 1
    assert source.left == 0


@pytest.mark.parametrize(("word", "digits"), [(0, [0, 0, 5]), (ONES, [ONES, ONES, 5]), (7, [5])])
def test_a_clock_goes_on_until_it_is_off_both_ends(word, digits):
    """At 0 it would ring at once, at 1 never: V lies strictly between, however many equal digits come."""
    source, clock = Scripted(digits), Clock(word)
    clock.extend(source, 65 if word == 7 else 64)
    assert source.left == 0
    assert 0 < clock.prefix < 2**clock.bits - 1
    assert clock.prefix & ONES == 5


def test_a_floor_is_taken_only_where_both_ends_of_the_interval_agree(monkeypatch):
    precisions: list[int] = []

    def straddling(x: Fraction, formula: object, bits: int, precision: int) -> tuple[int, int]:
        precisions.append(precision - bits)
        return (41, 42) if len(precisions) < 3 else (42, 42)

    monkeypatch.setattr(expansions, "interval_floor", straddling)
    p: Expansion = expansions._transcendental(Fraction(1), lambda iv, e: e)
    assert p.prefix(256) == 42
    assert precisions == [64, 128, 256]


@pytest.mark.parametrize(("p", "prefix"), [(centre, 2**64 - 1), (decay, 0), (logistic, 0)])
def test_a_probability_next_to_zero_or_one_is_neither_and_takes_no_more_digits(p, prefix, monkeypatch):
    """exp(-10**4) has 14,000 zeros first: one look must do, without all of them."""
    real, calls = expansions.interval_floor, []

    def counted(*args: object) -> tuple[int, int]:
        calls.append(args)
        return real(*args)

    monkeypatch.setattr(expansions, "interval_floor", counted)
    assert p(Fraction(10**4 + 7)).prefix(64) == prefix
    assert len(calls) == 1


FORMULAS = {
    decay: lambda x: mpmath.exp(-x),
    logistic: lambda x: 1 / (1 + mpmath.exp(x)),
    centre: lambda x: mpmath.tanh(x / 2),
}


@pytest.mark.parametrize("expansion", FORMULAS, ids=lambda f: f.__name__)
@pytest.mark.parametrize(
    "x", [Fraction(1, 2**40), Fraction(1, 20), Fraction(2, 5), Fraction(3), Fraction(100), Fraction(0.1)]
)
def test_the_first_400_bits_are_those_of_mpmath(expansion, x):
    with mpmath.workprec(1200):
        exact = FORMULAS[expansion](mpmath.mpf(x.numerator) / x.denominator)
        expected = int(mpmath.floor(exact * mpmath.mpf(2) ** 400))
    assert expansion(x).prefix(400) == expected


@given(st.fractions(min_value=0, max_value=1), st.integers(0, 300))
def test_a_rational_expansion_is_integer_division(p, bits):
    assert rational(p).prefix(bits) == (p.numerator << bits) // p.denominator


def test_a_list_of_digits_that_another_thread_replaces_is_not_read():
    class Replaced(list[int]):
        def __len__(self) -> int:
            expansion._digits16 = []  # what another thread may do between the check and the look-up
            return super().__len__()

    expansion = rational(Fraction(1, 3))
    expansion._digits16 = Replaced([0x5555] * 4)
    assert expansion.digit16(3) == 0x5555
