"""The exponential mechanism: its law against exact probabilities, and its exactness where floats do not decide."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.goodness import FALSE_ALARM, law_p
from tests.support.noisy_laws import loss, one_sided_law
from tests.support.scripted import Scripted, words64
from tests.support.selection_laws import Law, named, peeled

from sparsegate.errors import ParameterError
from sparsegate.noise import Seeded
from sparsegate.selection import exponential, race
from sparsegate.selection.exponential import exponential_groups, one_shot_groups, selection_rate
from sparsegate.selection.scores import Scores

RUNS = 1_200
SCORES = [0, 3, 3, 5]


def scripted(words: list[int]) -> Scripted:
    """A source whose first bytes are given words; what comes after is seeded."""
    return Scripted([words64(*words)], seed=1)


def select(source: Seeded, scores: Scores, rate: Fraction, count: int) -> list[int]:
    groups = exponential_groups(source, scores, rate=rate, count=count)
    return named(source, scores, groups)


def observed(scores: Scores, rate: Fraction, count: int, seed: int, runs: int = RUNS) -> Counter[tuple[int, ...]]:
    source = Seeded(seed)
    return Counter(tuple(select(source, scores, rate, count)) for _ in range(runs))


def law_at(rate: Fraction, count: int, scores: list[int] = SCORES) -> Law:
    return peeled([math.exp(rate * score) for score in scores], count)


def assert_order_of_the_reals(selected, values, words, rate):
    """Nobody may come after, or be left out for, someone whose key is smaller whatever digits of V follow the word."""
    with mpmath.workdps(700):
        weights = [mpmath.mpf(rate.numerator) * mpmath.mpf(value) / rate.denominator for value in values]
        lowest = [x - log_time(word + 1) for x, word in zip(weights, words, strict=True)]
        highest = [x - log_time(word) for x, word in zip(weights, words, strict=True)]
        assert all(highest[one] >= lowest[other] for one, other in itertools.pairwise(selected))
        left = set(range(len(values))) - set(selected)
        assert all(highest[selected[-1]] >= lowest[other] for other in left)


def log_time(numerator: int) -> mpmath.mpf:
    """log E where V = numerator / 2**64."""
    if numerator in (0, 2**64):
        return mpmath.mpf("inf" if numerator else "-inf")
    with mpmath.workdps(60):
        return mpmath.log(-mpmath.log(1 - mpmath.mpf(numerator) / mpmath.mpf(2) ** 64))


@pytest.mark.parametrize(
    ("form", "monotonic", "count"),
    [(Scores.each, False, 1), (Scores.each, True, 2), (Scores.of, False, 2), (Scores.of, True, 4)],
)
def test_selections_have_exactly_the_probabilities_of_the_peeled_mechanism(form, monotonic, count):
    rate = selection_rate(epsilon=2 * count, count=count, sensitivity=3, monotonic=monotonic)
    assert rate == Fraction(2 if monotonic else 1, 3)
    seen = observed(form(SCORES), rate, count, seed=7 * count + monotonic)
    assert law_p(seen, law_at(rate, count)) > FALSE_ALARM


def test_the_same_check_rejects_a_scale_that_is_a_fifth_off():
    rate = Fraction(2, 3)
    for off in (Fraction(4, 5), Fraction(6, 5)):
        assert law_p(observed(Scores.of(SCORES), rate * off, 2, seed=5, runs=2_500), law_at(rate, 2)) < FALSE_ALARM


@pytest.mark.parametrize(
    "values",
    [
        np.random.default_rng(2).integers(0, 50, 400).tolist(),
        (1e6 / np.arange(1, 401)).tolist(),
        np.random.default_rng(3).normal(0, 1e-5, 400).tolist(),
        [2**63 - 1, -(2**63), *range(2**63 - 200, 2**63 - 1), *range(199)],
        [1e308, -1e308, 5e-324, 0.0] * 100,
    ],
    ids=["integers", "zipf", "tiny", "all of int64", "all of float64"],
)
@pytest.mark.parametrize(
    ("rate", "count"),
    [(Fraction(1, 10**20), 20), (Fraction(1, 7), 400), (Fraction(10**6), 20), (Fraction(10**299), 400)],
)
def test_the_selection_is_the_one_of_real_arithmetic(values, rate, count):
    words = Seeded(count).bytes(8 * 400).view("<u8").tolist()
    selected = exponential_groups(scripted(words), Scores.each(values), rate=rate, count=count)
    assert len(set(selected.tolist())) == count
    assert_order_of_the_reals(selected.tolist(), values, words, rate)


@given(
    st.lists(
        st.tuples(
            st.integers(-5, 5),
            st.one_of(
                *(st.integers(0, 2**64 - 1), st.integers(0, 2**11), st.integers(2**39, 2**41)),
                *(st.integers(2**64 - 2**bits, 2**64 - 1) for bits in (11, 45)),
            ),
        ),
        min_size=1,
        max_size=12,
        unique_by=lambda pair: pair[1],
    ),
    st.data(),
)
def test_words_at_the_ends_are_ordered_like_any_others(pairs, data):
    values, words = [pair[0] * 3 for pair in pairs], [pair[1] for pair in pairs]
    count = data.draw(st.integers(1, len(pairs)))
    selected = exponential_groups(scripted(words), Scores.each(values), rate=Fraction(1), count=count).tolist()
    assert len(set(selected)) == count
    assert_order_of_the_reals(selected, values, words, Fraction(1))


@pytest.mark.parametrize("count", [1, 7, 60])
@pytest.mark.parametrize("form", [Scores.each, Scores.of])
def test_the_exact_fallback_selects_what_the_fast_path_selects(form, count, monkeypatch):
    """Many more groups survive, and no first enclosure decides anything."""
    scores, exactly = form(np.random.default_rng(1).integers(0, 30, 60)), race.largest_first

    def blurred(low, high, count, refine, *, alike=None, bits=None):
        blur = math.inf if bits is None else 0  # it calls itself for what is not decided, with more digits
        return exactly(low - blur, high + blur, count, refine, alike=alike, bits=bits or 128)

    def selected():
        drawn = (exponential_groups(Seeded(s), scores, rate=Fraction(1, 3), count=count) for s in range(8))
        return [groups.tolist() for groups in drawn]

    fast = selected()
    monkeypatch.setattr(race, "largest_first", blurred)
    monkeypatch.setattr(exponential, "SLACK", 0.9)
    assert selected() == fast


def test_survivors_are_those_within_the_error_of_the_cut_and_those_with_extreme_words():
    keys = np.array([5.0, 1.0, 1 - 5e-8, 1 - 7e-8, -3.0, -3.0])
    words = words64(*[2**62] * 4, 2**62, 3)
    assert exponential._survivors(words, keys, 2).tolist() == [0, 1, 2, 5]


@pytest.mark.parametrize(
    ("epsilon", "sensitivity", "parameter"),
    [
        *((bad, 1, "epsilon") for bad in (0, math.nan, math.inf)),
        *((1, bad, "sensitivity") for bad in (0, -1, math.inf)),
        *((1, beyond, "epsilon") for beyond in (10**301, 1e-305)),
    ],
)
def test_rates_that_make_no_sense_are_refused(epsilon, sensitivity, parameter):
    with pytest.raises(ParameterError) as caught:
        selection_rate(epsilon=epsilon, count=1, sensitivity=sensitivity, monotonic=True)
    assert caught.value.parameter == parameter


def drawn(form, rate: Fraction, count: int, seed: int, runs: int = 1_500) -> Counter[tuple[int, ...]]:
    source, scores, seen = Seeded(seed), form(SCORES), Counter()
    for _ in range(runs):
        groups = one_shot_groups(source, scores, rate=rate, count=count)
        seen[tuple(named(source, scores, groups))] += 1
    return seen


@pytest.mark.parametrize(("form", "count"), [(Scores.each, 2), (Scores.of, 1)])
def test_one_shot_selections_have_exactly_their_probabilities(form, count):
    """And not those of the exponential mechanism, nor of noise that is a fifth off."""
    law, seen = one_sided_law(SCORES, 2.5, count), drawn(form, Fraction(2, 5), count, seed=count)
    assert sum(law.values()) == pytest.approx(1, abs=1e-8)
    assert law_p(seen, law) > FALSE_ALARM
    if count == 2:
        assert law_p(seen, peeled([np.exp(0.4 * score) for score in SCORES], 2)) < FALSE_ALARM
        assert law_p(drawn(form, Fraction(2, 5) * Fraction(4, 5), 2, seed=2, runs=4_000), law) < FALSE_ALARM


def worst(scale: float, count: int, downs: list[list[int]]) -> float:
    found = 0.0
    for scores in ([0, 0, 0], [0, 0, 30], [0, 30, 30], [30, 0, 0]):
        for moves in downs:
            moved = [score + move for score, move in zip(scores, moves, strict=True)]
            pair = (one_sided_law(each, scale, count) for each in (scores, moved))
            found = max(found, loss(*pair))
    return found


ONE_WAY = [[1, 1, 1], [0, 0, 1], [0, 1, 1], [1, 0, 0], [0, -1, -1]]


@pytest.mark.parametrize(
    ("count", "moves", "monotonic"),
    [(1, ONE_WAY, True), (2, ONE_WAY, True), (1, [[-1, 1, 1]], False), (2, [[-1, -1, 1]], False)],
)
def test_no_neighbours_lose_more_than_epsilon_and_some_lose_all_of_it(count, moves, monotonic):
    scale = float(1 / selection_rate(epsilon=1, count=count, sensitivity=1, monotonic=monotonic))
    assert worst(scale, count, moves) == pytest.approx(1, abs=1e-3)
    assert worst(scale, count, moves) <= 1 + 1e-7
    assert worst(0.8 * scale, count, moves) > 1.2
