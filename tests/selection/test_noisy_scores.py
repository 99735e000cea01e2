"""Noisy scores: the law of what is released, the loss on the worst neighbours, and what may not be released."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats
from tests.support.goodness import FALSE_ALARM, chi_square_p, law_p
from tests.support.noisy_laws import loss, noisy_law
from tests.support.selection_laws import laplace_tail, named

from sparsegate.gates.lattice import Lattice
from sparsegate.noise import Seeded
from sparsegate.selection.noisy_scores import Estimated, noisy_groups, noisy_scale
from sparsegate.selection.scores import Scores
from sparsegate.selection.select import select_top

SCORES, RUNS = [0, 1, 1], 1_000


def seeded():
    return {"method": "noisy-scores", "source": Seeded(1), "not_private": True}


def drawn(form, scale: Fraction, count: int, seed: int, runs: int = RUNS) -> Counter[tuple[tuple[int, ...], ...]]:
    """Items and noisy scores of many selections."""
    source, scores, seen = Seeded(seed), form(SCORES), Counter()
    for _ in range(runs):
        groups, noisy = noisy_groups(source, scores, scores.values, scale=scale, count=count)
        seen[tuple(named(source, scores, groups)), tuple(noisy.tolist())] += 1
    return seen


@pytest.mark.parametrize(
    ("form", "scale", "count"),
    [(Scores.each, Fraction(3, 2), 1), (Scores.of, Fraction(3, 2), 2), (Scores.each, Fraction(1, 3), 2)],
)
def test_items_and_noisy_scores_have_exactly_their_probabilities(form, scale, count):
    law = noisy_law(SCORES, float(scale), count, reach=22, values=True)
    assert law_p(drawn(form, scale, count, seed=3), law) > FALSE_ALARM


def test_the_same_check_rejects_a_scale_that_is_a_fifth_off():
    law = noisy_law(SCORES, 1.5, 1, reach=22, values=True)
    assert law_p(drawn(Scores.each, Fraction(6, 5), 1, seed=3, runs=2_000), law) < FALSE_ALARM


@pytest.mark.parametrize("off", [1, Fraction(5, 4)])
def test_of_a_million_equal_scores_the_largest_noise_is_drawn(off):
    size, scores, source = 10**6, Scores.histogram({7: 10**6}), Seeded(5)
    drawn = (noisy_groups(source, scores, scores.values, scale=off * Fraction(10), count=1) for _ in range(1000))
    sample = np.array([noisy[0] - 7 for _, noisy in drawn])
    upto = {k: (1 - laplace_tail(k + 1, 10)) ** size for k in range(109, 181)}
    p = chi_square_p(sample, {k: upto[k] - upto[k - 1] for k in range(118, 150)})
    assert (p > FALSE_ALARM) == (off == 1)


Pair = tuple[tuple[int, ...], tuple[int, ...]]


def worst(scale: float, count: int, pairs: list[Pair], values: bool = False) -> float:
    """The largest loss over the pairs, of outcomes that are not so far out that the enumeration ends there."""
    found = 0.0
    for pair in pairs:
        laws = (noisy_law(scores, scale, count, reach=12, values=values) for scores in pair)
        one, other = ({outcome: p for outcome, p in law.items() if p > 1e-6 or not values} for law in laws)
        found = max(found, loss({outcome: one[outcome] for outcome in one.keys() & other.keys()}, other))
    return found


# Who is selected from below must pass everyone above, or they must all fall: with as many above as are selected, both
# cost the most.
ONE: list[Pair] = [((0, 0, 4), (0, 0, 5)), ((0, 4, 4), (0, 4, 5)), ((0, 0, 0), (1, 0, 0))]
TWO: list[Pair] = [((0, 0, 3, 3), (0, 0, 4, 4)), ((0, 0, 3, 3), (0, 1, 3, 4))]
ALL: list[Pair] = [((0, 0, 0), (1, 1, 1)), ((0, 4, 4), (1, 5, 5))]
BOTH_WAYS: list[Pair] = [((0, 2), (-1, 3)), ((0, 3, 3), (-1, 4, 4))]


@pytest.mark.parametrize(
    ("count", "monotonic", "max_items_per_user", "pairs"),
    [
        (1, True, None, [*ONE, *ALL]),
        (2, True, None, [*TWO, *ALL]),
        (1, False, None, BOTH_WAYS),
        (2, True, 1, ONE),
        (2, True, 2, TWO),
        (1, False, 1, ONE),
    ],
)
def test_no_neighbours_lose_more_than_epsilon_and_some_lose_almost_that(count, monotonic, max_items_per_user, pairs):
    public = {"count": count, "monotonic": monotonic, "max_items_per_user": max_items_per_user}
    scale = float(noisy_scale(epsilon=Fraction(3), steps=1, **public))
    assert 2.75 < worst(scale, count, pairs) <= 3.01
    assert worst(0.8 * scale, count, pairs) > 3.3


def test_noisy_scores_come_free_where_a_person_touches_no_more_than_are_selected():
    moved = [((0, 0, 0), (1, 1, 0)), ((0, 3, 3), (0, 4, 4))]
    assert 2.95 < worst(2 / 3, 2, moved, values=True) <= 3.01
    # Where a person touches three and two are selected, the scores would tell more than the selection does.
    assert worst(2 / 3, 2, ALL) <= 3.01
    assert worst(2 / 3, 2, ALL, values=True) > 3.3


@pytest.mark.parametrize(
    ("max_items_per_user", "monotonic", "free"),
    [(None, True, False), (3, True, False), (2, True, True), (4, False, True)],
)
def test_estimates_are_given_where_they_are_free_and_nowhere_else(max_items_per_user, monotonic, free):
    asked = {"count": 2, "epsilon": 5, "sensitivity": 1, "monotonic": monotonic}
    scores = {"a": 900, "b": 10, "c": 800, "d": 11}
    chosen = select_top(scores, **asked, max_items_per_user=max_items_per_user, **seeded())
    assert chosen.items == ("a", "c")
    if not free:
        assert (chosen.estimates, chosen.error_bar) == (None, None)
        return
    assert np.abs(chosen.estimates - [900, 800]).max() <= chosen.error_bar < 10


@pytest.mark.parametrize("scores", [[0] * 400, [100] * 10 + [0] * 390])
def test_error_bars_hold_for_what_was_selected_however_scores_lie(scores):
    """The share within the bar, of 400 selections of ten; a bar for fresh noise misses most of them on equal scores."""
    scale, source, grouped = Fraction(10), Seeded(2), Scores.of(scores)
    worth = Estimated(lattice=Lattice.fit(sensitivity=1), scale=scale, count=10, total=400)
    each, bar = worth.error_bar(0.95), worth.error_bar_all(0.95)
    misses, fresh, runs_beyond, runs_beyond_less = 0, 0, 0, 0
    for _ in range(400):
        groups, noisy = noisy_groups(source, grouped, grouped.values, scale=scale, count=10)
        errors = np.abs(noisy - grouped.values[groups])
        misses += int((errors > each).sum())
        fresh += int((errors > 30).sum())
        runs_beyond += bool((errors > bar).any())
        runs_beyond_less += bool((errors > 0.8 * bar).any())
    assert misses / 4000 < 0.05 + 5 * math.sqrt(0.05 / 4000)
    assert stats.binom.sf(runs_beyond - 1, 400, 0.05) > FALSE_ALARM
    if len(set(scores)) == 1:
        assert fresh / 4000 > 0.5
        assert stats.binom.sf(runs_beyond_less - 1, 400, 0.05) < FALSE_ALARM
