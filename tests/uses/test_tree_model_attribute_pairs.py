"""The score of a pair, and how far one person moves it: every small table, and the largest moves there are."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np
import pytest

from sparsegate.uses.tree_model import SENSITIVITY, dependence, dependences, joint_counts, pairs_of


def small_tables(shape: tuple[int, int], most: int) -> Iterator[np.ndarray]:
    """Every table of this shape with at most this many rows."""
    cells = shape[0] * shape[1]
    for rows in range(most + 1):
        for chosen in combinations_with_replacement(range(cells), rows):
            yield np.bincount(np.array(chosen, dtype=np.int64), minlength=cells).reshape(shape)


def exact_half_distance(counts: np.ndarray) -> Fraction:
    """Half the sum of abs(c - r s / n) in rationals, from its definition."""
    total = int(counts.sum())
    if not total:
        return Fraction(0)
    down, across = counts.sum(axis=1).tolist(), counts.sum(axis=0).tolist()
    apart = [abs(c - Fraction(down[x] * across[y], total)) for (x, y), c in np.ndenumerate(counts)]
    return sum(apart, Fraction(0)) / 2


def one_more(counts: np.ndarray) -> Iterator[tuple[tuple[int, int], np.ndarray]]:
    for cell in np.ndindex(counts.shape):
        after = counts.copy()
        after[cell] += 1
        yield cell, after


def largest_move(shape: tuple[int, int], most: int) -> int:
    return max(
        abs(dependence(after) - dependence(counts))
        for counts in small_tables(shape, most)
        for _, after in one_more(counts)
    )


@pytest.mark.parametrize(("shape", "most"), [((2, 2), 9), ((2, 3), 5), ((3, 3), 3), ((1, 3), 5)])
def test_no_row_moves_the_score_of_any_small_table_by_more_than_the_bound(shape: tuple[int, int], most: int) -> None:
    assert largest_move(shape, most) <= SENSITIVITY


def test_the_bound_is_attained_so_that_none_below_it_would_do() -> None:
    assert largest_move((2, 2), 9) == SENSITIVITY


@pytest.mark.parametrize("seed", range(5))
def test_the_score_is_the_definition_rounded_down(seed: int) -> None:
    counts = np.random.default_rng(seed).integers(0, 1000, (3, 4))
    assert dependence(counts) == exact_half_distance(counts) // 1


def test_beyond_what_64_bits_can_multiply_the_score_is_still_exact() -> None:
    half = 2**40
    assert dependence(np.array([[half, 0], [0, half]])) == half


def test_every_pair_of_attributes_has_its_table_and_its_score() -> None:
    codes, sizes = np.array([[0, 1, 2], [1, 1, 0], [0, 0, 2]]), (2, 2, 3)
    assert pairs_of(3) == [(0, 1), (0, 2), (1, 2)]
    assert joint_counts(codes, sizes, 0, 2).tolist() == [[0, 0, 2], [1, 0, 0]]
    assert dependences(codes, sizes) == {pair: dependence(joint_counts(codes, sizes, *pair)) for pair in pairs_of(3)}
    assert dependences(codes, sizes)[0, 2] == 1
    assert joint_counts(codes[:0], sizes, 0, 2).tolist() == [[0, 0, 0], [0, 0, 0]]
