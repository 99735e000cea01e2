"""The whole release: what it finds, what it charges and when, and what it refuses."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sparsegate as sg
from sparsegate.errors import BudgetExceeded, SparsegateError
from sparsegate.uses import structure as module

COLUMNS = {"a": [0, 1, 2], "b": [0, 1], "c": [0, 1], "d": [0, 1]}


def chained(count: int = 5000) -> np.ndarray:
    """a - c - b, and d with nobody."""
    generator = np.random.default_rng(3)
    a = generator.integers(0, 3, count)
    c = np.where(generator.random(count) < 0.85, a == 2, generator.random(count) < 0.5).astype(int)
    b = np.where(generator.random(count) < 0.8, 1 - c, generator.integers(0, 2, count))
    return np.stack([a, b, c, generator.integers(0, 2, count)], axis=1)


def learn(rows: Any = None, seed: int = 1, **options: Any) -> sg.uses.DependencyTree:
    given: dict[str, Any] = {"epsilon": 2, "unit": "row", "source": sg.Seeded(seed), "not_private": True}
    return sg.uses.dependency_tree(chained() if rows is None else rows, COLUMNS, **(given | options))


def test_strong_dependencies_are_found_and_their_tables_are_near_the_truth() -> None:
    tree = learn(epsilon=4)
    assert {("a", "c"), ("c", "b")} <= set(tree.edges)
    assert len(tree.edges) == 3
    rows = chained()
    truth = np.array([[np.mean((rows[:, 0] == a) & (rows[:, 2] == c)) for c in (0, 1)] for a in range(3)])
    np.testing.assert_allclose(tree.table("a", "c"), truth, atol=0.02)
    assert tree.rows == pytest.approx(5000, abs=50)
    assert tree.log_likelihood(rows) > -2.6 > learn(epsilon=Fraction(1, 1000)).log_likelihood(rows)


def test_a_gate_finds_the_strong_ones_alone_and_leaves_the_rest_of_its_share_to_the_tables() -> None:
    tree = learn(epsilon=4, thresholds=[1700, 800])
    assert tree.edges == (("a", "c"), ("c", "b"))
    assert tree.thresholds == (1700, 800)
    assert tree.edges_epsilon < 4 * module.EDGES_SHARE
    assert tree.epsilon == 4


def test_the_ledger_is_charged_before_anything_is_drawn_and_keeps_the_tree(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with sg.Ledger.create(tmp_path / "rows.ledger", dataset="rows", budget=5) as ledger:
        tree = sg.uses.dependency_tree(chained(), COLUMNS, epsilon=2, unit="row", ledger=ledger)
        assert sg.uses.DependencyTree.from_dict(ledger.release(2).gave[0]).to_dict() == tree.to_dict()

        def fail(*_: Any, **__: Any) -> None:
            raise RuntimeError("drawn")

        monkeypatch.setattr(module, "noisy_tree", fail)
        with pytest.raises(RuntimeError, match="drawn"):
            sg.uses.dependency_tree(chained(), COLUMNS, epsilon=2, unit="row", ledger=ledger)
        assert ledger.statement().remaining.epsilon == 1
        with pytest.raises(BudgetExceeded):
            sg.uses.dependency_tree(chained(), COLUMNS, epsilon=2, unit="row", ledger=ledger)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"epsilon": 0}, "epsilon must be"),
        ({"epsilon": float("nan")}, "epsilon must be"),
        ({"epsilon": 1e-20}, "scale must not exceed"),
        ({"epsilon": 1e-20, "thresholds": 5}, "must"),
        ({"epsilon": 1e9}, "scale must be at least"),
        ({"edges_share": 1}, "edges_share must lie"),
        ({"edges_share": "half"}, "edges_share must lie"),
        ({"thresholds": [0]}, "thresholds must be"),
        ({"unit": None}, "user must name"),
        ({"other": {"z": 1}}, "other must map"),
        ({"not_private": False}, "not_private must be True"),
        ({"rows": {"a": [1]}}, "no column 'b'"),
        ({"ledger": "rows.ledger"}, "ledger must be an open ledger"),
    ],
)
def test_what_is_refused_gets_one_clear_error_and_spends_nothing(
    options: dict[str, Any], says: str, tmp_path: Path
) -> None:
    with sg.Ledger.create(tmp_path / "rows.ledger", dataset="rows", budget=5) as ledger:
        with pytest.raises(SparsegateError, match=says):
            learn(**({"ledger": ledger} | options))
        assert ledger.statement().remaining.epsilon == 5


@pytest.mark.parametrize("rows", [np.zeros((0, 4), dtype=int), np.zeros((1, 4), dtype=int), np.full((9, 4), 77)])
@pytest.mark.parametrize("thresholds", [None, 10])
def test_a_table_with_hardly_anything_in_it_gives_a_tree_like_any_other(rows: np.ndarray, thresholds: Any) -> None:
    tree = learn(rows, thresholds=thresholds)
    assert len(tree.sample(5, 1)["a"]) == 5
    assert np.isfinite(tree.log_likelihood(chained(10)))


def test_two_attributes_are_a_tree_of_one_edge() -> None:
    tree = sg.uses.dependency_tree(chained()[:, :2], {"a": [0, 1, 2], "b": [0, 1]}, epsilon=1, unit="row")
    assert tree.edges == (("a", "b"),)
    assert (tree.edges_epsilon, tree.tables_epsilon) == (0, 1)
