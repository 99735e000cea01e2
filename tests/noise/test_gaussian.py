"""Gaussian draws: how many words stand for each value, the digits that decide the rest, and the law of it all."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import pairwise

import mpmath
import numpy as np
import pytest
from tests.support.goodness import FALSE_ALARM, chi_square_p, discrete_gaussian_mass, proportion_p
from tests.support.scripted import Scripted, words64

from sparsegate.noise import Seeded, discrete_gaussian, fill_discrete_gaussian
from sparsegate.noise import gaussian as module
from sparsegate.noise.gaussian import (
    DIRECT,
    Law,
    _masses,
    _rest,
    _split,
    _words,
    exact_coin,
    normal_floor,
    table,
)

SQUARES = [Fraction(1, 2**40), Fraction(1, 9), Fraction(1), Fraction(25, 3), Fraction(42**2)]
LAWS = [Law(square, one_sided) for square in SQUARES for one_sided in (False, True)]
WORD = 2**64


def masses(law: Law, places: int) -> list[mpmath.mpf]:
    """p of the first places, to more than 110 digits."""
    with mpmath.workdps(120):
        rate = mpmath.mpf(law.square.denominator) / (2 * law.square.numerator)
        weights = [mpmath.exp(-rate * k * k) for k in range(math.ceil(25 * math.sqrt(law.square)) + 25)]
        whole = sum(weights) if law.one_sided else 2 * sum(weights) - 1
        return [weights[abs(law.outcome(place))] / whole for place in range(places)]


def words_of(law: Law) -> dict[int, int]:
    """How many words stand for each value, read off the table."""
    last, values, shift = table(law)
    width, words = 1 << int(shift), Counter[int]()
    for column, end in enumerate(last.tolist()):
        below = end + 1 - column * width
        assert 0 <= below <= width
        words[int(values[2 * column])] += below
        words[int(values[2 * column + 1])] += width - below
    return {value: count for value, count in words.items() if count}


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_the_words_of_each_value_are_its_probability_rounded_down_and_the_rest_is_undecided(law):
    """All 2**64 words: with what is drawn for the undecided ones, the law is exactly p."""
    words, counts = words_of(law), _words(law)
    undecided = words.pop(module._UNDECIDED)
    assert sum(words.values()) + undecided == WORD
    assert undecided <= len(counts) + 1 <= 2**13
    assert words == {law.outcome(place): count for place, count in enumerate(counts)}
    with mpmath.workdps(100):
        for count, p in zip(counts, masses(law, len(counts)), strict=True):
            assert count <= p * WORD <= count + 1


@pytest.mark.parametrize("bits", [64, 128, 320])
@pytest.mark.parametrize("law", LAWS, ids=str)
@pytest.mark.parametrize("guard", [0, 64])
def test_the_bounds_of_a_probability_are_on_both_sides_of_it_and_near(law, bits, guard, monkeypatch):
    """Without digits to spare, too: near is then as far as the roundings of all steps go."""
    monkeypatch.setattr(module, "_GUARD", guard)
    low, high = _masses(law, bits)
    with mpmath.workdps(120):
        unit = mpmath.mpf(2) ** bits
        for below, p, above in list(zip(low, masses(law, len(low)), high, strict=True))[:40]:
            assert below <= p * unit <= above
            assert above - below <= (3 if guard else 3 + len(low) ** 2)


@pytest.mark.parametrize("law", [LAWS[2], LAWS[5], LAWS[6]], ids=str)
def test_an_undecided_word_is_drawn_from_what_the_words_left(law):
    """On both sides of each boundary of the exact sums, and where the first 64 digits stand on it."""
    counts = _words(law)
    rest = WORD - sum(counts)
    with mpmath.workdps(110):
        places = range(len(counts) + 6)
        left = [
            p * WORD - (counts[place] if place < len(counts) else 0)
            for place, p in zip(places, masses(law, len(places)), strict=True)
        ]
        ends = [sum(left[: place + 1]) / rest for place in places]
        assert ends[-1] < 1
        assert min(left) > 0
        for place, end in enumerate(ends[:12]):
            digits = int(end * mpmath.mpf(2) ** 192)
            first, second, third = digits >> 128, digits >> 64 & (WORD - 1), digits & (WORD - 1)
            for script, at in (
                ([first - 1], place),
                ([first + 1], place + 1),
                ([first, second - 1], place),
                ([first, second + 1], place + 1),
                ([first, second, third - 1], place),
                ([first, second, third + 1], place + 1),
            ):
                source = Scripted(script, seed=1)
                if ends[at] - (ends[at - 1] if at else 0) > mpmath.mpf(2) ** -40:
                    assert _rest(source, law) == law.outcome(at)
                    assert source.left == 0


def test_an_undecided_word_takes_more_digits_and_its_neighbours_do_not():
    law = Law(Fraction(42**2), one_sided=False)
    last, values, shift = table(law)
    place = int(np.flatnonzero(values == module._UNDECIDED)[0])
    start = (place // 2) << int(shift)
    word = start if place % 2 == 0 else int(last[place // 2]) + 1
    out = np.empty(3, dtype=np.int64)
    source = Scripted([words64(0, word, 0), 2**63 + 12345])
    fill_discrete_gaussian(source, law.square, out)
    assert source.left == 0
    assert out.tolist() == [values[0], _rest(Scripted([2**63 + 12345]), law), values[0]]


CASES = [(Fraction(1, 3), 400_000), (Fraction(5, 2), 400_000), (Fraction(42), 400_000)]


@pytest.mark.parametrize("direct", [DIRECT, 8])
@pytest.mark.parametrize(("sigma", "size"), CASES)
def test_a_draw_has_exactly_its_law(sigma, size, direct, monkeypatch):
    """Chi-square, fixed seed, false-alarm rate 1e-6; its twin rejects a sigma 20 % off. Also where it is split."""
    monkeypatch.setattr(module, "DIRECT", direct)
    assert (_split(sigma**2) > 0) == (sigma == 42 and direct == 8)
    sample = discrete_gaussian(Seeded(11), sigma**2, size)
    reach = max(1, math.floor(2.2 * float(sigma)))
    for cells in (range(-reach, reach + 1), range(1)):
        assert chi_square_p(sample, discrete_gaussian_mass(float(sigma), cells)) > FALSE_ALARM
        assert chi_square_p(sample, discrete_gaussian_mass(0.8 * float(sigma), cells)) < FALSE_ALARM


@pytest.mark.parametrize("sigma", [257.0, 1e5 / 3, 2.0**20, 2.0**48])
def test_large_sigmas_have_the_right_moments_tails_and_low_digits(sigma):
    """Var X / sigma**2 is 1 with a standard error of sqrt(2/n); each tail by an exact binomial test. Rate 1e-6 each."""
    size = 100_000
    sample = discrete_gaussian(Seeded(13), Fraction(sigma) ** 2, size)
    scaled = sample / sigma
    assert abs((scaled**2).mean() - 1) < 4.9 * math.sqrt(2 / size)
    assert abs((scaled**2).mean() / 1.44 - 1) > 4.9 * math.sqrt(2 / size)
    for t in (0.1, 1, 2, 3):
        for tail in (sample > t * sigma, sample < -t * sigma):
            assert proportion_p(int(tail.sum()), size, math.erfc((t + 0.5 / sigma) / 2**0.5) / 2) > FALSE_ALARM
    assert chi_square_p(sample & 15, dict.fromkeys(range(16), 1 / 16)) > FALSE_ALARM


def test_a_split_leaves_a_part_of_sigma_that_has_a_table():
    for sigma in (DIRECT, DIRECT + 1, 2 * DIRECT, 2 * DIRECT + 1, 10**6, 2**48):
        part = Fraction(sigma, 2 ** _split(Fraction(sigma**2)))
        assert part == DIRECT == sigma or Fraction(DIRECT, 4) < part <= Fraction(DIRECT, 2)


@pytest.mark.parametrize(("sigma", "real"), [(300, False), (10**6, False), (2**48, False), (73_234_543, True)])
def test_floats_decide_a_coin_only_where_the_digits_would(sigma, real, monkeypatch):
    """The same draws where every coin is tossed by its digits; and the floats err by less than the doubt.

    With a coarser table, so that one attempt in 20 or so begins again.
    """
    monkeypatch.setattr(module, "DIRECT", 16)

    def draws():
        return normal_floor(Seeded(3), sigma, 300) if real else discrete_gaussian(Seeded(3), sigma**2, 300)

    fast, tossed = draws(), []

    def exact(source, start, fine, square, word, *, real):
        exponent = Fraction(fine * (2 * start + fine)) / (2 * square)
        with mpmath.workdps(60):
            true = mpmath.exp(-mpmath.mpf(exponent.numerator) / exponent.denominator)
            rounded = float(np.exp(-float(exponent) * (1 + 2.0**-51)))
            assert abs(rounded - true) + 2.0**-53 + 2.0**-64 < module._DOUBT / 2
        tossed.append(word)
        return exact_coin(source, start, fine, square, word, real=real)

    monkeypatch.setattr(module, "exact_coin", exact)
    monkeypatch.setattr(module, "_DOUBT", 2.0)
    assert draws().tolist() == fast.tolist()
    assert len(tossed) >= 300


def test_a_coin_is_decided_at_the_first_digit_that_differs():
    with mpmath.workdps(100):
        digits = int(mpmath.exp(-mpmath.mpf(1) / 3) * mpmath.mpf(2) ** 128)
    first, second = digits >> 64, digits & (WORD - 1)
    for word, more, heads in (
        (first - 1, [], True),
        (first + 1, [], False),
        (first, [second - 1], True),
        (first, [second + 1], False),
    ):
        source = Scripted(more)
        assert exact_coin(source, 0, 1, Fraction(3, 2), word) is heads
        assert source.left == 0
    assert exact_coin(Scripted([]), 7, 0, Fraction(1), WORD - 1)


def test_minus_zero_is_drawn_again_and_zero_is_not():
    split, square = 2, Fraction(300**2)
    first = int(table(Law(square / 16, one_sided=True)).values[0])
    assert first == 0
    for word, kept in ((0, [0]), (1, []), (3 << 62, [3]), ((3 << 62) + 1, [-3])):
        source = Scripted([words64(0), words64(word, 0)])
        assert module._attempts(source, square, split, 1).tolist() == kept


def normal_mass(sigma: float, edges: list[int]) -> dict[int, float]:
    """P[sigma N in [low, high)] of neighbouring edges, by number."""
    below = [math.erfc(-edge / (sigma * 2**0.5)) / 2 for edge in edges]
    return {place: high - low for place, (low, high) in enumerate(pairwise(below))}


@pytest.mark.parametrize("sigma", [257, 10**5, 73_234_543])
def test_a_normal_number_is_rounded_down_and_has_its_law(sigma):
    """Chi-square over 40 cells, fixed seed, false-alarm rate 1e-6; its twin rejects a sigma 20 % off."""
    edges = [round(sigma * x / 8) for x in range(-20, 21)]
    sample = np.searchsorted(edges, normal_floor(Seeded(21), sigma, 200_000), side="right") - 1
    assert chi_square_p(sample, normal_mass(sigma, edges)) > FALSE_ALARM
    assert chi_square_p(sample, normal_mass(0.8 * sigma, edges)) < FALSE_ALARM


def test_a_normal_number_is_rounded_down_and_not_to_zero():
    """The cells of one step around 0 are alike on both sides, -1 with 0: a cut toward zero would leave -1 to 0."""
    sample = normal_floor(Seeded(22), 257, 400_000)
    mass = normal_mass(257, list(range(-21, 21)))
    assert chi_square_p(sample + 21, mass) > FALSE_ALARM
    assert chi_square_p(np.where(sample < 0, sample + 1, sample) + 21, mass) < FALSE_ALARM


def test_a_real_coin_draws_digits_until_both_ends_of_z_are_on_one_side():
    """z in [1, 2), V between the chances of both ends: more digits of z, then of V, decide."""
    start, square = 0, Fraction(100)
    with mpmath.workdps(100):

        def chance(z):
            return mpmath.exp(-(mpmath.mpf(z) ** 2) / 200)

        word = int(chance(1.5) * mpmath.mpf(2) ** 64)
        assert chance(2) < mpmath.mpf(word) / 2**64 < chance(1)
    for digits, heads in ((2**62, True), (3 * 2**62, False)):  # z = 1.25, whose chance is above V, and z = 1.75
        source = Scripted([digits, 0])
        assert exact_coin(source, start, 1, square, word, real=True) is heads
        assert source.left == 0
    assert exact_coin(Scripted([]), start, 0, square, 0, real=True)
    assert not exact_coin(Scripted([]), start, 5, square, WORD - 1, real=True)
