"""Ways to choose edges, side by side: each costs what its row says."""

from __future__ import annotations

import math
import runpy
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sparsegate as sg
from sparsegate.paper.uses.trees import (
    CHOICES,
    EXACT,
    OURS,
    SENSITIVITY,
    EdgeTask,
    best_tree,
    compare_trees,
    dependence,
    dependences,
    mutual_information,
)
from sparsegate.uses import structure

SHARE = Fraction(2, 5)  # of epsilon, for the edges
COLUMNS = {"a": [0, 1], "b": [0, 1], "c": [0, 1], "d": [0, 1]}


def rows(seed: int, count: int = 4000) -> np.ndarray:
    """a - b - c - d, each the last one with a fifth of coins."""
    generator = np.random.default_rng(seed)
    out = np.zeros((count, 4), dtype=np.int64)
    out[:, 0] = generator.integers(0, 2, count)
    for place in range(1, 4):
        coin = generator.random(count) < 0.2
        out[:, place] = np.where(coin, generator.integers(0, 2, count), out[:, place - 1])
    return out


@pytest.fixture(scope="module")
def found() -> list[dict[str, Any]]:
    bars = [1600, 1400, 400]
    return compare_trees(rows(1), rows(2), COLUMNS, epsilons=[0.01, 8], thresholds=bars, runs=2, edges_share=SHARE)


def test_there_is_a_row_for_each_method_epsilon_and_run_and_one_without_noise(found: list[dict[str, Any]]) -> None:
    first, *others = found
    assert (first["method"], first["epsilon"], first["edges"], first["shared"]) == (EXACT, None, 3, 3)
    assert len(others) == 2 * 2 * (1 + len(CHOICES))
    assert {row["method"] for row in others} == {OURS, *CHOICES}
    assert all(math.isfinite(row["log_likelihood"]) for row in found)


def test_with_much_epsilon_trees_come_near_the_one_without_noise_and_with_little_they_do_not(
    found: list[dict[str, Any]],
) -> None:
    best = found[0]["log_likelihood"]
    for method in (OURS, "one noise", "edge by edge", "gate"):
        near = [row for row in found if row["method"] == method and row["epsilon"] == 8]
        assert all(row["shared"] == 3 and row["log_likelihood"] > best - 0.02 for row in near)
        far = [row for row in found if row["method"] == method and row["epsilon"] == 0.01]
        assert all(row["log_likelihood"] < best - 0.3 for row in far)
    assert all(row["log_likelihood"] < best - 0.3 for row in found if row["method"] == "independent")


def test_every_method_but_the_flawed_one_as_claimed_costs_what_it_is_given(found: list[dict[str, Any]]) -> None:
    for row in found[1:]:
        if row["method"] == "chen-2015 as claimed":
            times = sg.privacy.tight_epsilon("chen-2015", epsilon=1, queries=6)
            assert row["true_epsilon"] == pytest.approx(row["epsilon"] * float(SHARE * times + 1 - SHARE))
            assert row["true_epsilon"] > row["epsilon"]
        else:
            assert row["true_epsilon"] == row["epsilon"]


def test_the_flawed_gate_at_its_loss_is_run_at_the_claim_that_costs_as_much() -> None:
    scores = dict.fromkeys([(0, 1), (0, 2), (1, 2)], 1000)
    spent = {
        name: CHOICES[name](EdgeTask(scores, 3, Fraction(1), sg.Seeded(1), (500,))).spent
        for name in ("chen-2015 as claimed", "chen-2015 at its loss")
    }
    assert spent == {"chen-2015 as claimed": Fraction(3, 2), "chen-2015 at its loss": 1}
    assert sg.privacy.tight_epsilon("chen-2015", epsilon=2 / 3, queries=3) == pytest.approx(1)


def test_the_tree_without_noise_is_that_of_the_largest_mutual_information() -> None:
    assert best_tree(rows(1), (2,) * 4) == ((0, 1), (1, 2), (2, 3))
    assert mutual_information(np.array([[10, 10], [10, 10]])) == 0
    assert mutual_information(np.zeros((2, 2), dtype=np.int64)) == 0


def exact_half_distance(counts: np.ndarray) -> Fraction:
    """Half the sum of abs(c - r s / n) in rationals, from its definition."""
    total = int(counts.sum())
    if not total:
        return Fraction(0)
    down, across = counts.sum(axis=1).tolist(), counts.sum(axis=0).tolist()
    apart = [abs(c - Fraction(down[x] * across[y], total)) for (x, y), c in np.ndenumerate(counts)]
    return sum(apart, Fraction(0)) / 2


@pytest.mark.parametrize("seed", range(5))
def test_the_score_is_the_definition_rounded_down(seed: int) -> None:
    counts = np.random.default_rng(seed).integers(0, 1000, (3, 4))
    assert dependence(counts) == exact_half_distance(counts) // 1


def test_beyond_what_64_bits_can_multiply_the_score_is_still_exact() -> None:
    half = 2**40
    assert dependence(np.array([[half, 0], [0, half]])) == half


def test_every_pair_of_attributes_has_its_score() -> None:
    codes = np.array([[0, 1, 2], [1, 1, 0], [0, 0, 2]])
    assert dependences(codes, (2, 2, 3)) == {(0, 1): 0, (0, 2): 1, (1, 2): 0}


def test_the_score_moves_up_and_down_and_one_noise_has_the_scale_of_both(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.zeros((10_000, 3), dtype=np.int64)
    rows[:150, :2] = 1
    rows[150:300, 2] = 1
    before, after = (dependences(table, (2, 2, 2)) for table in (rows, np.vstack([rows, [[1, 1, 1]]])))
    assert [after[pair] - before[pair] for pair in before] == [SENSITIVITY, -SENSITIVITY, -SENSITIVITY]
    scales: list[Fraction] = []

    def recorded(_: object, scale: Fraction, count: int) -> np.ndarray:
        scales.append(scale)
        return np.zeros(count, dtype=np.int64)

    monkeypatch.setattr(structure, "geometric", recorded)
    CHOICES["one noise"](EdgeTask(before, 3, Fraction(1), sg.Seeded(1), ()))
    assert scales == [2 * 2 * SENSITIVITY]


@pytest.mark.soak
def test_the_example_draws_its_picture(tmp_path: Path) -> None:
    example = runpy.run_path(str(Path(__file__).parents[3] / "examples" / "private_tree.py"))
    example["main"]([str(tmp_path / "structure.png")])
    assert (tmp_path / "structure.png").stat().st_size > 10_000
