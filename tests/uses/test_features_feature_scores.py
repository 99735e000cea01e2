"""One row moves no score by more than its sensitivity, and some row moves it by nearly that."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from numpy.typing import NDArray

from sparsegate.uses.features import FINE, SCORES, covariances

Table = tuple[int, ...]

OF_TABLES = sorted(key for key, row in SCORES.items() if row.of_table is not None)


def tables(cells: int, rows: int) -> Iterator[Table]:
    """Every table of this many cells with this many rows."""
    for bars in itertools.combinations(range(rows + cells - 1), cells - 1):
        ends = (-1, *bars, rows + cells - 1)
        yield tuple(high - low - 1 for low, high in itertools.pairwise(ends))


def largest_moves(score: Callable[[NDArray[np.int64]], int], shape: tuple[int, int], most: int) -> tuple[int, int]:
    """The furthest that one more row moves the score of any table up, and down, of up to ``most`` rows."""
    cells = shape[0] * shape[1]
    known: dict[Table, int] = {}
    for rows in range(most + 2):
        for table in tables(cells, rows):
            known[table] = score(np.array(table, dtype=np.int64).reshape(shape))
    moves = [
        known[(*table[:cell], table[cell] + 1, *table[cell + 1 :])] - before
        for table, before in known.items()
        if sum(table) <= most
        for cell in range(cells)
    ]
    return max(moves), min(moves)


@pytest.mark.parametrize("key", OF_TABLES)
@pytest.mark.parametrize(("shape", "most"), [((2, 2), 11), ((3, 3), 3), ((4, 2), 3)])
def test_no_row_moves_the_score_of_any_small_table_further_than_its_sensitivity(
    key: str, shape: tuple[int, int], most: int
) -> None:
    row = SCORES[key]
    assert row.of_table is not None
    up, down = largest_moves(row.of_table, shape, most)
    assert up <= row.sensitivity
    assert down >= (0 if row.monotonic else -row.sensitivity)


@pytest.mark.parametrize("key", OF_TABLES)
def test_a_sensitivity_a_fifth_smaller_would_be_wrong(key: str) -> None:
    row = SCORES[key]
    assert row.of_table is not None
    before = np.array([[10**6, 0], [0, 0]])
    up = row.of_table(before + np.array([[0, 0], [0, 1]])) - row.of_table(before)
    assert 0.8 * row.sensitivity < 0.99 * row.sensitivity < up <= row.sensitivity


def test_rounded_down_information_moves_by_one_step_more_than_its_bound() -> None:
    """Two numbers 1024 steps apart may be 1025 apart when floats round both: that step is in what is charged."""
    row = SCORES["information"]
    assert row.of_table is not None
    before, new = np.array([[1, 0, 0], [0, 0, 708_843_641], [0, 0, 0]]), np.zeros((3, 3), dtype=np.int64)
    new[2, 1] = 1
    assert row.of_table(before + new) - row.of_table(before) == FINE + 1 == row.sensitivity


@pytest.mark.parametrize("rows", [2, 10, 10**3, 10**6, 10**8])
def test_information_falls_by_less_than_it_can_rise(rows: int) -> None:
    """The worst fall: a value and a class of half the rows each that never met, and now meet."""
    score = SCORES["information"].of_table
    assert score is not None
    half = rows // 2
    before = np.array([[0, half], [half, 0]])
    fall = score(before) - score(before + np.array([[1, 0], [0, 0]]))
    assert -1 <= fall <= FINE
    if rows >= 10**6:
        assert fall > 0.85 * FINE


def test_information_is_the_mutual_information_over_one_plus_the_logarithm_of_the_rows() -> None:
    rng = np.random.default_rng(5)
    for _ in range(5):
        table = rng.integers(0, 10**8, size=(5, 3))
        with mp.workdps(40):
            n = mp.mpf(int(table.sum()))
            exact = mp.fsum(
                mp.mpf(int(count)) * mp.log(int(count) * n / (int(table[v].sum()) * int(table[:, k].sum())))
                for (v, k), count in np.ndenumerate(table)
                if count
            )
            steps = FINE * exact / (1 + mp.log(n))
            assert abs(SCORES["information"].of_table(table) + mp.mpf("0.5") - steps) <= mp.mpf("0.75")  # type: ignore[misc]


def test_dependence_is_rounded_down_from_the_exact_fraction() -> None:
    table = np.array([[3, 1, 4], [1, 5, 9]])
    n = int(table.sum())
    exact = sum(
        abs(int(count) - Fraction(int(table[v].sum()) * int(table[:, k].sum()), n))
        for (v, k), count in np.ndenumerate(table)
    )
    assert SCORES["dependence"].of_table(table) == math.floor(FINE * exact / 4)  # type: ignore[misc]


def test_a_row_moves_a_covariance_by_at_most_its_sensitivity_and_some_row_does() -> None:
    ends = np.array([-FINE, -FINE + 1, -1, 0, 1, FINE])
    pairs = np.array(list(itertools.product(ends, ends)))
    moves = []
    for start in (np.zeros((0, 2), dtype=np.int64), np.array([[FINE, FINE]] * 3), np.array([[-FINE, FINE]])):
        before = covariances(start[:, :1], start[:, 1])
        for added in pairs:
            after = np.vstack([start, added])
            moves.append(int((covariances(after[:, :1], after[:, 1]) - before)[0]))
    assert max(moves) == SCORES["covariance"].sensitivity
    assert min(moves) == -SCORES["covariance"].sensitivity
