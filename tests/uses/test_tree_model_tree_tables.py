"""Tables of edges with noise, and the distribution that is made of them."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import sparsegate as sg
from sparsegate.uses import tree_model as tree_tables
from sparsegate.uses.tree_model import NoisyTables, attributes_alone, exact_tables, fitted, noisy_tables

SIZES = (2, 3, 2, 4)
ROWS = np.random.default_rng(1).integers(0, SIZES, (50, 4))


@pytest.mark.parametrize("edges", [((0, 1), (1, 2), (1, 3)), ((1, 3),), (), ((0, 3), (1, 2))])
def test_the_noise_is_that_of_what_one_person_moves_in_all_tables_together(
    edges: tuple[tuple[int, int], ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[np.ndarray, dict[str, Any]]] = []

    def record(cells: np.ndarray, **options: Any) -> np.ndarray:
        seen.append((cells, options))
        return cells

    monkeypatch.setattr(tree_tables, "laplace", record)
    for rows in (ROWS, ROWS[1:]):
        made = noisy_tables(rows, SIZES, edges, epsilon=Fraction(1, 2), source=None)
    moved = int(np.abs(seen[0][0] - seen[1][0]).sum())
    assert moved == len(edges) + len(attributes_alone(edges, 4))
    assert all(options["sensitivity"] == moved and options["epsilon"] == Fraction(1, 2) for _, options in seen)
    assert made.scale == 2 * moved
    for one, counts in made.alone.items():
        assert counts.tolist() == np.bincount(ROWS[1:, one], minlength=SIZES[one]).tolist()
    for (i, j), counts in made.edges.items():
        assert counts.sum(axis=1).tolist() == np.bincount(ROWS[1:, i], minlength=SIZES[i]).tolist()
        assert counts.shape == (SIZES[i], SIZES[j])


def test_without_noise_the_shares_are_those_of_the_rows() -> None:
    rows = np.vstack([ROWS] * 400)
    counts, alone = exact_tables(rows, SIZES, ((0, 1), (1, 3))), np.bincount(rows[:, 2], minlength=2)
    exact = fitted(NoisyTables(counts, {2: alone}, 0.0), SIZES)
    assert exact.rows == 20_000
    for pair in ((0, 1), (1, 3)):
        np.testing.assert_allclose(exact.joint[pair], counts[pair] / 20_000, atol=1e-4)
    np.testing.assert_allclose(exact.shares[2], alone / 20_000, atol=1e-4)


@pytest.mark.parametrize("epsilon", [Fraction(1, 1000), Fraction(1, 10), Fraction(10)])
def test_whatever_the_noise_shares_are_positive_and_sum_to_one(epsilon: Fraction) -> None:
    edges = ((0, 1), (1, 2))
    noisy = noisy_tables(ROWS, SIZES, edges, epsilon=epsilon, source=sg.Seeded(2), not_private=True)
    made = fitted(noisy, SIZES)
    for shares in (*made.shares, *made.joint.values()):
        assert shares.min() > 0
        assert shares.sum() == pytest.approx(1)


def test_a_table_that_noise_explains_becomes_independent_and_one_that_it_does_not_stays() -> None:
    far, near = np.array([[900, 100], [100, 900]]), np.array([[520, 480], [480, 520]])
    for table, keeps in ((far, True), (near, False)):
        joint = fitted(NoisyTables({(0, 1): table}, {}, 60.0), (2, 2)).joint[0, 1]
        apart = abs(joint - np.multiply.outer(joint.sum(axis=1), joint.sum(axis=0))).max()
        assert bool(apart > 0.15) is keeps
        assert keeps or apart < 1e-9
