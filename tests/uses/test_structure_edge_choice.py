"""Which edges are chosen: the whole law on neighbours, against what the choice is charged."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Hashable
from fractions import Fraction

import numpy as np
import pytest
from tests.support.goodness import FALSE_ALARM, law_p

import sparsegate as sg
from sparsegate.errors import ParameterError
from sparsegate.uses import structure as edge_choice
from sparsegate.uses.structure import largest_forest, noisy_tree, public_thresholds, tree_noise
from sparsegate.uses.tree_model import SENSITIVITY, Pair, dependences

EPSILON = Fraction(2)
Scores = dict[Pair, int]


def tree_law(scores: Scores, attributes: int, scale: float) -> dict[Hashable, float]:
    """The probability of every tree, over all orders that the noisy scores can have.

    An order is built from its lowest pair up: ``below[v]`` is the probability that all so far stand in their order and
    the last of them has the noisy score v. Equal scores stand in the public order of pairs, the earlier above.
    """
    lowest = min(scores.values())
    values = np.arange(lowest, max(scores.values()) + math.ceil(40 * scale))
    mass = {
        pair: np.where(values >= score, np.exp(-np.maximum(values - score, 0) / scale), 0) * -math.expm1(-1 / scale)
        for pair, score in scores.items()
    }
    law: defaultdict[Hashable, float] = defaultdict(float)

    def build(order: tuple[Pair, ...], below: np.ndarray) -> None:
        if len(order) == len(scores):
            law[largest_forest(order, attributes)] += float(below.sum())
            return
        upto = np.cumsum(below)
        for pair in scores:
            if pair not in order:
                build((pair, *order), mass[pair] * (upto if pair < order[0] else upto - below))

    for pair in scores:
        build((pair,), mass[pair])
    return law


def loss(one: Scores, other: Scores, attributes: int, scale: float) -> float:
    first, second = tree_law(one, attributes, scale), tree_law(other, attributes, scale)
    assert set(first) == set(second)
    return max(abs(math.log(first[tree] / second[tree])) for tree in first)


def scores_of(codes: np.ndarray) -> Scores:
    return dependences(codes, (2,) * codes.shape[1])


def neighbouring_scores(attributes: int) -> tuple[Scores, Scores]:
    """Of rows of ones that go together in the first two attributes, and nowhere else; with one row of ones more."""
    rows = np.zeros((10_000, attributes), dtype=np.int64)
    rows[:150, :2] = 1
    for place in range(2, attributes):
        rows[150 * (place - 1) : 150 * place, place] = 1
    return scores_of(rows), scores_of(np.vstack([rows, np.ones((1, attributes), dtype=np.int64)]))


@pytest.mark.parametrize("attributes", [3, 4])
def test_one_row_of_a_real_table_moves_one_score_up_and_all_others_down_by_the_whole_bound(attributes: int) -> None:
    before, after = neighbouring_scores(attributes)
    moves = {pair: after[pair] - before[pair] for pair in before}
    assert moves.pop((0, 1)) == SENSITIVITY
    assert set(moves.values()) == {-SENSITIVITY}


@pytest.mark.parametrize(("attributes", "trees"), [(3, 3), (4, 16)])
def test_the_law_of_the_tree_stays_within_epsilon_of_its_neighbour_and_nearly_attains_it(
    attributes: int, trees: int
) -> None:
    one, other = neighbouring_scores(attributes)
    scale = float(tree_noise(attributes, EPSILON))
    law = tree_law(one, attributes, scale)
    assert len(law) == trees
    assert sum(law.values()) == pytest.approx(1)
    assert 0.98 * EPSILON < loss(one, other, attributes, scale) <= EPSILON * (1 + 1e-9)


@pytest.mark.parametrize("attributes", [3, 4])
def test_a_sensitivity_that_is_a_fifth_too_small_is_refused(attributes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edge_choice, "SENSITIVITY", Fraction(8, 5))
    assert loss(*neighbouring_scores(attributes), attributes, float(tree_noise(attributes, EPSILON))) > 1.2 * EPSILON


def test_bounded_moves_of_any_scores_stay_within_epsilon_and_some_attain_it() -> None:
    """Ties, equal and negative scores, and each pair up or down on its own: more than a table can do."""
    generator = np.random.default_rng(5)
    pairs, scale = [(0, 1), (0, 2), (1, 2)], float(tree_noise(3, EPSILON))
    losses = []
    for low, high in ((0, 1), (0, 2), (-5, 8), (0, 60)):
        for _ in range(12):
            before = generator.integers(low, high, 3)
            after = before + generator.choice([-SENSITIVITY, SENSITIVITY], 3)
            one, other = (dict(zip(pairs, scores.tolist(), strict=True)) for scores in (before, after))
            losses.append(loss(one, other, 3, scale))
    assert 0.9999 * EPSILON < max(losses) <= EPSILON * (1 + 1e-9)


def test_trees_are_drawn_by_that_law_and_not_by_one_a_fifth_off() -> None:
    scores = {(0, 1): 8, (0, 2): 8, (1, 2): 0}
    source = sg.Seeded(3)
    drawn = Counter[Hashable](noisy_tree(scores, 3, epsilon=EPSILON, source=source).edges for _ in range(5_000))
    scale = float(tree_noise(3, EPSILON))
    assert law_p(drawn, tree_law(scores, 3, scale)) > FALSE_ALARM
    assert law_p(drawn, tree_law(scores, 3, 1.2 * scale)) < FALSE_ALARM


def test_the_largest_forest_is_the_best_of_all_spanning_trees() -> None:
    weights = dict(zip([(i, j) for i in range(4) for j in range(i + 1, 4)], (5, 1, 4, 3, 2, 6), strict=True))
    trees = [
        chosen
        for chosen in map(tuple, np.array(list(weights))[np.array(list(_triples(6)))].tolist())
        if len(largest_forest([tuple(pair) for pair in chosen], 4)) == 3  # type: ignore[misc]
    ]
    best = max(sum(weights[tuple(pair)] for pair in tree) for tree in trees)  # type: ignore[index]
    found = largest_forest(sorted(weights, key=lambda pair: -weights[pair]), 4)
    assert len(trees) == 16
    assert sum(weights[pair] for pair in found) == best


def _triples(count: int) -> list[tuple[int, int, int]]:
    return [(i, j, k) for i in range(count) for j in range(i + 1, count) for k in range(j + 1, count)]


@pytest.mark.parametrize(
    "wrong", [[], 0, [100, -5], "many", [1.5], [2**60, 5], [float("nan")], None, [None], b"5", "5"]
)
def test_thresholds_are_whole_numbers_of_rows(wrong: object) -> None:
    with pytest.raises(ParameterError, match="thresholds must be public whole numbers"):
        public_thresholds(wrong)


def test_thresholds_come_in_falling_order_each_once() -> None:
    assert public_thresholds([100, 400, 100, 200.0]) == (400, 200, 100)
    assert public_thresholds(50) == public_thresholds(np.array(50)) == (50,)
