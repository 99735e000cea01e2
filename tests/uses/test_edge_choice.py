"""Which edges are chosen: the whole law on neighbours, against what the choice is charged."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable
from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from tests.support.goodness import FALSE_ALARM, Law, law_p

import sparsegate as sg
from sparsegate.errors import ParameterError
from sparsegate.mechanisms.sparse_vector import gate_calibration
from sparsegate.uses import edge_choice
from sparsegate.uses.attribute_pairs import SENSITIVITY, Pair, dependences, pair_counts
from sparsegate.uses.edge_choice import gate_forest, largest_forest, noisy_tree, public_thresholds, tree_noise

PAIRS: tuple[Pair, ...] = ((0, 1), (0, 2), (1, 2))
EPSILON = Fraction(2)


def tail(k: int, scale: float) -> float:
    """P[x >= k] of the geometric noise."""
    return math.exp(-max(k, 0) / scale)


def log_law(scores: tuple[int, ...], scale: float) -> dict[Pair, float]:
    """Of three attributes, the logarithm of the probability of each tree, named by the pair that it leaves out.

    A pair f is left out where both others come before it: they are larger, or equal and earlier in the public order.
    """
    reach = math.ceil(40 * scale) + max(scores) - min(scores)
    law = {}
    for out, left in enumerate(PAIRS):
        others = [place for place in range(3) if place != out]
        chances = [
            (tail(k, scale) - tail(k + 1, scale))
            * math.prod(tail(scores[out] + k - scores[e] + (e > out), scale) for e in others)
            for k in range(reach)
        ]
        law[left] = math.log(math.fsum(chances))
    return law


def loss(one: tuple[int, ...], other: tuple[int, ...], scale: float) -> float:
    first, second = log_law(one, scale), log_law(other, scale)
    return max(abs(first[left] - second[left]) for left in PAIRS)


def scores_of(codes: np.ndarray) -> tuple[int, ...]:
    scores = dependences(pair_counts(codes, (2, 2, 2)))
    return tuple(scores[pair] for pair in PAIRS)


def adversarial_rows() -> np.ndarray:
    """Rows (a, b, c) of ones that go together in a and b, and never with c; one row (1, 1, 1) more is the neighbour."""
    rows = np.zeros((10_000, 3), dtype=np.int64)
    rows[:150, :2], rows[150:300, 2] = 1, 1
    return rows


def neighbouring_scores() -> tuple[tuple[int, ...], tuple[int, ...]]:
    rows = adversarial_rows()
    return scores_of(rows), scores_of(np.vstack([rows, np.ones((1, 3), dtype=np.int64)]))


def test_one_row_of_a_real_table_moves_one_score_up_and_two_down_by_the_whole_bound() -> None:
    before, after = neighbouring_scores()
    assert [late - early for early, late in zip(before, after, strict=True)] == [2, -2, -2]


def test_the_law_of_the_tree_stays_within_epsilon_of_its_neighbour_and_nearly_attains_it() -> None:
    spent = loss(*neighbouring_scores(), float(tree_noise(3, EPSILON)))
    assert 0.98 * EPSILON < spent <= EPSILON * (1 + 1e-9)


def test_a_sensitivity_that_is_a_fifth_too_small_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edge_choice, "SENSITIVITY", Fraction(8, 5))
    assert loss(*neighbouring_scores(), float(tree_noise(3, EPSILON))) > 1.2 * EPSILON


def test_no_small_table_of_three_attributes_loses_more_than_epsilon_to_one_row() -> None:
    scale = float(tree_noise(3, EPSILON))
    kinds = np.array(list(product((0, 1), repeat=3)))
    pairs = set()
    for size in range(4):
        for chosen in combinations_with_replacement(range(8), size):
            scores = scores_of(kinds[list(chosen)].reshape(-1, 3))
            pairs |= {(scores, scores_of(kinds[[*chosen, more]])) for more in range(8)}
    moved = {pair for pair in pairs if pair[0] != pair[1]}
    assert len(moved) > 5
    assert max(loss(one, other, scale) for one, other in moved) <= EPSILON


def test_trees_are_drawn_by_that_law_and_not_by_one_a_fifth_off() -> None:
    scores = dict(zip(PAIRS, (8, 8, 0), strict=True))
    drawn: Counter[Hashable] = Counter()
    source = sg.Seeded(3)
    for _ in range(5_000):
        (left,) = set(PAIRS) - set(noisy_tree(scores, 3, epsilon=EPSILON, source=source).edges)
        drawn[left] += 1

    def law(factor: float) -> Law:
        logs = log_law((8, 8, 0), factor * float(tree_noise(3, EPSILON)))
        return {left: math.exp(log) for left, log in logs.items()}

    assert sum(law(1).values()) == pytest.approx(1)
    assert law_p(drawn, law(1)) > FALSE_ALARM
    assert law_p(drawn, law(1.2)) < FALSE_ALARM


def test_the_noise_grows_with_the_edges_and_with_what_one_person_moves() -> None:
    assert tree_noise(14, Fraction(1, 2)) == 2 * 13 * SENSITIVITY * 2


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


class Recorded(sg.SparseVector):
    """A gate that writes down how it was made and what it was asked."""

    __slots__ = ()
    made: list[dict[str, object]]
    asked: list[tuple[int, object]]

    def __init__(self, **options: object) -> None:
        type(self).made.append(options)
        super().__init__(**options)  # type: ignore[arg-type]

    def ask(self, answer: int, **options: object) -> sg.Answer:  # type: ignore[override]
        type(self).asked.append((answer, options["threshold"]))
        return super().ask(answer, **options)  # type: ignore[arg-type]


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> type[Recorded]:
    Recorded.made, Recorded.asked = [], []
    monkeypatch.setattr(edge_choice, "SparseVector", Recorded)
    return Recorded


def test_the_gate_is_one_whose_tight_loss_is_what_it_is_charged(recorded: type[Recorded]) -> None:
    scores = {(0, 1): 9000, (0, 2): 0, (1, 2): 8000}
    chosen = gate_forest(scores, 3, thresholds=(500,), epsilon=1, source=sg.Seeded(1), not_private=True)
    (options,) = recorded.made
    assert (options["cutoff"], options["sensitivity"], options.get("monotonic", False)) == (2, SENSITIVITY, False)
    made = gate_calibration(threshold=500, cutoff=2, sensitivity=SENSITIVITY, epsilon=1)
    assert made.loss == 1
    assert chosen.edges == ((0, 1), (1, 2))
    assert chosen.spent <= 1


def test_a_gate_goes_round_from_the_highest_threshold_and_never_asks_about_a_cycle(recorded: type[Recorded]) -> None:
    scores = {(0, 1): 3000, (0, 2): 9000, (1, 2): 9500}
    chosen = gate_forest(scores, 3, thresholds=(6000, 1000), epsilon=2, source=sg.Seeded(1), not_private=True)
    assert recorded.asked == [(3000, 6000), (9000, 6000), (9500, 6000)]
    assert chosen.edges == ((0, 2), (1, 2))


def test_a_gate_that_finds_nothing_has_cost_its_threshold_alone() -> None:
    quiet = dict.fromkeys(PAIRS, 0)
    chosen = gate_forest(quiet, 3, thresholds=(10**6,), epsilon=1, source=sg.Seeded(1), not_private=True)
    assert chosen.edges == ()
    assert 0 < chosen.spent < Fraction(1, 2)


@pytest.mark.parametrize("wrong", [[], 0, [100, -5], "many", [1.5], [float("nan")], None, [None]])
def test_thresholds_are_whole_numbers_of_rows(wrong: object) -> None:
    with pytest.raises(ParameterError, match="thresholds must be public whole numbers"):
        public_thresholds(wrong)


def test_thresholds_come_in_falling_order_each_once() -> None:
    assert public_thresholds([100, 400, 100, 200.0]) == (400, 200, 100)
    assert public_thresholds(50) == (50,)
