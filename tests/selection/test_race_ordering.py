"""The order of enclosed keys: who is enclosed again, who is not, and how long a run is. No chance involved."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsegate.selection.race import Refine, largest_first


def order(bounds: Sequence[tuple[float, float]], count: int, refine: Refine, alike: Sequence[int] = ()) -> list[int]:
    low, high = np.array(bounds, dtype=np.float64).T
    labels = np.array(alike, dtype=np.int64) if alike else None
    return largest_first(low, high, count, refine, alike=labels).tolist()


def refined_to(wanted: Sequence[int], seen: list[tuple[int, int]]) -> Refine:
    """Let refinement put the keys in the given order, and note whom it was asked for."""

    def refine(number: int, bits: int) -> tuple[int, int]:
        seen.append((number, bits))
        return -wanted.index(number), -wanted.index(number)

    return refine


@pytest.mark.parametrize("wanted", list(itertools.permutations(range(3))))
def test_keys_that_overlap_or_touch_are_refined_and_others_are_not(wanted: tuple[int, ...]) -> None:
    seen: list[tuple[int, int]] = []
    # 0 touches 1 at 50; 1 overlaps 2; 3 and 4 stand apart.
    bounds = [(50, 60), (30, 50), (25, 31), (11, 24), (0, 9)]
    assert order(bounds, 5, refined_to(wanted, seen)) == [*wanted, 3, 4]
    assert sorted(seen) == [(0, 64), (1, 64), (2, 64)]


def test_a_run_is_as_long_as_the_lowest_of_its_bounds_reaches() -> None:
    # 1 is short and lies inside 0; 2 is below 1 but not below 0.
    assert order([(10, 60), (50, 55), (12, 20)], 3, refined_to((2, 0, 1), [])) == [2, 0, 1]


def test_runs_behind_the_last_place_are_left_alone() -> None:
    seen: list[tuple[int, int]] = []
    bounds = [(9, 9), (7, 8), (7, 8), (1, 2), (1, 2)]
    assert order(bounds, 2, refined_to((2, 1), seen)) == [0, 2]
    assert {number for number, _ in seen} == {1, 2}
    assert order(bounds, 1, refined_to((), [])) == [0]


def test_a_refinement_that_does_not_decide_is_refined_again() -> None:
    asked: list[int] = []

    def refine(number: int, bits: int) -> tuple[int, int]:
        asked.append(bits)
        place = number if bits == 256 else 0
        return place, place

    assert order([(0, 1), (0, 1)], 2, refine) == [1, 0]
    assert asked == [64, 64, 128, 128, 256, 256]


def test_keys_that_are_alike_are_told_apart_only_where_another_comes_between() -> None:
    assert order([(0, 9), (1, 9), (-5, -4)], 3, refined_to((), []), alike=[1, 1, 2]) == [0, 1, 2]
    seen: list[tuple[int, int]] = []
    assert order([(0, 9), (1, 9), (-5, 5)], 3, refined_to((0, 2, 1), seen), alike=[1, 1, 2]) == [0, 2, 1]
    assert len(seen) == 3


def test_a_key_of_which_nothing_is_known_is_ordered_all_the_same() -> None:
    infinite = float("inf")
    assert order([(3, 4), (-infinite, infinite), (1, 2)], 3, refined_to((0, 2, 1), [])) == [0, 2, 1]


@given(
    st.lists(st.tuples(st.integers(-(2**40), 2**40), st.integers(0, 2**42)), min_size=1, max_size=30),
    st.integers(1, 30),
)
def test_the_order_is_the_one_of_the_keys(keys: list[tuple[int, int]], count: int) -> None:
    """Keys are whole multiples of 2**-100, all different; the first enclosures are as wide as chance made them."""
    exact = [(key << 60) + place for place, (key, _) in enumerate(keys)]
    bounds = [((key - width) * 2.0**-40, (key + width + 1) * 2.0**-40) for key, width in keys]
    low, high = np.array(bounds).T

    def refine(number: int, bits: int) -> tuple[int, int]:
        scaled = exact[number] << bits >> 100
        return scaled, scaled + 1

    wanted = sorted(range(len(keys)), key=exact.__getitem__, reverse=True)[:count]
    assert largest_first(low, high, count, refine).tolist() == wanted
