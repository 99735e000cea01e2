"""Exact samplers against their laws: chi-square at small scales, moments and tails at large ones."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.support.goodness import FALSE_ALARM, chi_square_p, discrete_laplace_mass, geometric_mass, proportion_p
from tests.support.scripted import Scripted, words64

from sparsegate.errors import ParameterError
from sparsegate.noise import (
    Seeded,
    bernoulli,
    binomial,
    discrete_gaussian,
    discrete_laplace,
    geometric,
    uniform_below,
    uniform_set,
    uniform_subset,
)
from sparsegate.noise.expansions import rational

SMALL_SCALES = [Fraction(1, 5), Fraction(5, 2), 20.0]


def _cells(scale: float, low: int, size: int) -> range:
    """Cells with an expected count of at least five under the law and under a law 20 % narrower."""
    reach = max(0, math.floor(float(scale) * 0.8 * math.log(size / (50 * max(1, float(scale))))))
    return range(-reach if low < 0 else 0, reach + 1)


@pytest.mark.parametrize("scale", SMALL_SCALES)
@pytest.mark.parametrize("one_by_one", [False, True])
@pytest.mark.parametrize("law", ["laplace", "geometric"])
def test_a_draw_has_exactly_its_law(law, scale, one_by_one):
    """Chi-square, fixed seed, false-alarm rate 1e-6; its twin rejects a scale 20 % off."""
    size, source = 20_000 if one_by_one else 400_000, Seeded(11)
    draw: Any = discrete_laplace if law == "laplace" else geometric
    mass = discrete_laplace_mass if law == "laplace" else geometric_mass
    sample = np.array([draw(source, scale) for _ in range(size)]) if one_by_one else draw(source, scale, size)
    cells = _cells(scale, -1 if law == "laplace" else 0, size)
    assert chi_square_p(sample, mass(float(scale), cells)) > FALSE_ALARM
    assert chi_square_p(sample, mass(0.8 * float(scale), cells)) < FALSE_ALARM


@pytest.mark.parametrize("scale", [2.0**20, 1e6 / 3, 2.0**40, 2.0**48])
def test_large_scales_have_the_right_moments_and_tails(scale):
    """The mean of |X| is about the scale and X is symmetric; |X| >= t has probability e**(-t/scale). Rate 1e-6 each."""
    size = 200_000
    sample = discrete_laplace(Seeded(13), scale, size)
    absolute = np.abs(sample).astype(np.float64) / scale
    # |X|/scale is exponential with standard deviation 1 up to one part in scale: 4.9 standard errors are 1e-6
    # two-sided.
    assert abs(absolute.mean() - 1) < 4.9 / math.sqrt(size)
    assert abs(absolute.mean() / 1.2 - 1) > 4.9 / math.sqrt(size)
    assert proportion_p(int((sample > 0).sum()), size, 0.5) > FALSE_ALARM
    for t in (0.1, 1, 3, 6):
        assert proportion_p(int((absolute >= t).sum()), size, math.exp(-t)) > FALSE_ALARM
        assert proportion_p(int((absolute >= t).sum()), size, math.exp(-t / 0.8)) < FALSE_ALARM


@pytest.mark.parametrize("scale", [0, -1, math.nan, math.inf, "wide", None, 2.0**97, 1e-300, 10**400])
@pytest.mark.parametrize("draw", [geometric, discrete_laplace, discrete_gaussian])
def test_a_scale_that_int64_cannot_carry_is_refused_before_anything_is_drawn(draw, scale):
    source = Seeded(1)
    with pytest.raises(ParameterError, match="^(scale|sigma) must"):
        draw(source, scale, 10)
    assert source.word() == Seeded(1).word()


@pytest.mark.parametrize("p", [Fraction(1, 3), Fraction(1, 2), Fraction(1, 1000), 1 - Fraction(1, 2**10)])
def test_bernoulli_shows_heads_with_probability_p(p):
    """Exact binomial test, fixed seed, rate 1e-6; its twin rejects a p that is 20 % off towards a half."""
    heads = int(bernoulli(Seeded(16), p, 2_000_000).sum())
    assert proportion_p(heads, 2_000_000, float(p)) > FALSE_ALARM
    assert proportion_p(heads, 2_000_000, 0.8 * float(p) if p >= 0.5 else 1.2 * float(p)) < FALSE_ALARM


@pytest.mark.parametrize("n", [2, 3, 6, 7, 64, 100])
def test_uniform_below_is_uniform(n):
    """Chi-square, rate 1e-6; the twin rejects what a modulo would do to a byte."""
    source = Seeded(18)
    sample = np.array([uniform_below(source, n) for _ in range(100_000)])
    flat = dict.fromkeys(range(n), 1 / n)
    assert chi_square_p(sample, flat) > FALSE_ALARM
    if n in (7, 100):
        biased = Seeded(18).bytes(200_000).astype(np.int64) % n
        assert chi_square_p(biased, flat) < FALSE_ALARM


def test_every_ordered_subset_is_equally_likely():
    """Two of four: twelve ordered pairs, chi-square at rate 1e-6."""
    source = Seeded(21)
    pairs = np.array([4 * a + b for a, b in (uniform_subset(source, 4, 2) for _ in range(24_000))])
    assert chi_square_p(pairs, {4 * a + b: 1 / 12 for a in range(4) for b in range(4) if a != b}) > FALSE_ALARM
    assert sorted(uniform_subset(source, 5, 5)) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("count", [2, 4])
def test_every_set_is_equally_likely(count):
    """Two or four of six: fifteen sets, chi-square at rate 1e-6; the twin prefers even numbers by a fifth."""
    source = Seeded(23)
    sets = list(itertools.combinations(range(6), count))
    seen = np.array([sets.index(tuple(uniform_set(source, 6, count).tolist())) for _ in range(12_000)])
    assert chi_square_p(seen, dict.fromkeys(range(15), 1 / 15)) > FALSE_ALARM
    odd = {number: 1.2 ** sum(item % 2 for item in members) for number, members in enumerate(sets)}
    assert chi_square_p(seen, {number: each / sum(odd.values()) for number, each in odd.items()}) < FALSE_ALARM


def test_words_that_would_favour_small_numbers_are_drawn_again():
    """2**64 is 1 modulo 3: the last word stands alone, and is dropped."""
    assert uniform_set(Scripted([words64(2**64 - 1), words64(2)]), 3, 1).tolist() == [2]


def test_numbers_drawn_twice_are_drawn_again_until_there_are_enough():
    source = Scripted([words64(7, 7, 7), words64(7, 1), words64(4)])
    assert uniform_set(source, 10, 3).tolist() == [1, 4, 7]
    assert uniform_set(Scripted([]), 5, 0).tolist() == []
    assert uniform_set(Scripted([]), 4, 4).tolist() == [0, 1, 2, 3]
    with pytest.raises(ParameterError, match="count"):
        uniform_set(Scripted([]), 3, 4)


@pytest.mark.parametrize("p", [Fraction(1, 3), Fraction(1, 2), Fraction(1, 1000)])
def test_binomial_counts_have_the_binomial_law(p):
    """Chi-square over the counts of 12 coins, and the total of many large draws; rate 1e-6, twin 20 % off."""
    source = Seeded(22)
    sample = np.array([binomial(source, 12, rational(p)) for _ in range(20_000)])

    def mass(p: float) -> dict[int, float]:
        law = {k: math.comb(12, k) * p**k * (1 - p) ** (12 - k) for k in range(13)}
        return {k: v for k, v in law.items() if v * 20_000 >= 5}

    assert chi_square_p(sample, mass(float(p))) > FALSE_ALARM
    if p != Fraction(1, 1000):
        assert chi_square_p(sample, mass(0.8 * float(p))) < FALSE_ALARM
    total = sum(binomial(source, 100_003, rational(p)) for _ in range(20))
    assert proportion_p(total, 20 * 100_003, float(p)) > FALSE_ALARM
    assert proportion_p(total, 20 * 100_003, 0.8 * float(p)) < FALSE_ALARM
