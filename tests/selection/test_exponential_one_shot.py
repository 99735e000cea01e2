"""One-shot selection: its law by quadrature, its loss on the worst neighbours, and the sign of its noise."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from tests.support.goodness import FALSE_ALARM, law_p
from tests.support.noisy_laws import loss, one_sided_law
from tests.support.selection_laws import peeled

from sparsegate.noise import Seeded, clocks
from sparsegate.selection.exponential import one_shot_groups
from sparsegate.selection.scores import Scores

SCORES, RUNS = [0, 3, 3, 5], 4_000


def drawn(form, rate: Fraction, count: int, seed: int, runs: int = RUNS) -> Counter[tuple[int, ...]]:
    source, scores, seen = Seeded(seed), form(SCORES), Counter()
    for _ in range(runs):
        groups = one_shot_groups(source, scores, rate=rate, count=count)
        seen[tuple(scores.numbers(groups, scores.draw_members(source, groups)).tolist())] += 1
    return seen


@pytest.mark.turns(4)
@pytest.mark.parametrize("form", [Scores.each, Scores.of])
@pytest.mark.parametrize("count", [1, 2])
def test_selections_have_exactly_their_probabilities(form, count) -> None:
    law = one_sided_law(SCORES, 2.5, count)
    assert sum(law.values()) == pytest.approx(1, abs=1e-8)
    assert law_p(drawn(form, Fraction(2, 5), count, seed=count), law) > FALSE_ALARM


@pytest.mark.turns(4)
@pytest.mark.parametrize("form", [Scores.each, Scores.of])
@pytest.mark.parametrize("off", [Fraction(4, 5), Fraction(6, 5)])
def test_the_same_check_rejects_a_scale_that_is_a_fifth_off(form, off) -> None:
    assert law_p(drawn(form, Fraction(2, 5) * off, 2, seed=2), one_sided_law(SCORES, 2.5, 2)) < FALSE_ALARM


def test_it_is_not_the_exponential_mechanism() -> None:
    weights = [np.exp(0.4 * score) for score in SCORES]
    assert law_p(drawn(Scores.each, Fraction(2, 5), 2, seed=2), peeled(weights, 2)) < FALSE_ALARM


def test_intervals_select_what_floats_select(monkeypatch) -> None:
    scores = Scores.each(np.random.default_rng(1).integers(0, 30, 60))
    rest = {"rate": Fraction(1, 3), "count": 20}
    fast = [one_shot_groups(Seeded(seed), scores, **rest).tolist() for seed in range(5)]
    monkeypatch.setattr(clocks, "ROUNDING", 1e-2)
    assert [one_shot_groups(Seeded(seed), scores, **rest).tolist() for seed in range(5)] == fast


def worst(scale: float, count: int, downs: list[list[int]], sign: int = 1) -> float:
    found = 0.0
    for scores in ([0, 0, 0], [0, 0, 30], [0, 30, 30], [30, 0, 0]):
        for moves in downs:
            moved = [score + move for score, move in zip(scores, moves, strict=True)]
            pair = (one_sided_law(each, scale, count, sign=sign) for each in (scores, moved))
            found = max(found, loss(*pair))
    return found


ONE_WAY = [[1, 1, 1], [0, 0, 1], [0, 1, 1], [1, 0, 0], [0, -1, -1]]


@pytest.mark.parametrize(
    ("count", "moves", "sides"), [(1, ONE_WAY, 1), (2, ONE_WAY, 1), (1, [[-1, 1, 1]], 2), (2, [[-1, -1, 1]], 2)]
)
def test_no_neighbours_lose_more_than_epsilon_and_some_lose_all_of_it(count, moves, sides) -> None:
    scale = float(sides * count)  # epsilon is 1
    assert worst(scale, count, moves) == pytest.approx(1, abs=1e-3)
    assert worst(scale, count, moves) <= 1 + 1e-7
    assert worst(0.8 * scale, count, moves) > 1.2


def test_noise_that_is_subtracted_lets_those_left_behind_pay() -> None:
    assert worst(1.0, 1, [[0, 1, 1]], sign=-1) > 1.9


def test_a_single_score_that_moves_costs_as_much_as_all() -> None:
    assert worst(2.0, 2, [[0, 0, 1]]) == pytest.approx(1, abs=1e-3)
