"""Axes: round numbers, places in proportion, and labels that keep apart."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsegate.paper.charts import Axis, round_ticks, spread


@given(st.floats(-1e3, 1e3), st.floats(1e-3, 1e6))
def test_ticks_are_few_and_reach_the_highest_value(low: float, span: float) -> None:
    ticks = round_ticks(low, low + span)
    assert 1 <= len(ticks) <= 6
    assert ticks[-1] >= low + span - 1e-6 * span
    assert list(ticks) == sorted(set(ticks))


def test_places_are_in_proportion_and_end_at_the_ends() -> None:
    axis = Axis.of([0, 5, 10], start=100, end=200)
    assert [axis.at(value) for value in (0, 5, 10, 99)] == [100, 150, 200, 200]


def test_a_logarithmic_axis_has_equal_steps_for_equal_factors() -> None:
    axis = Axis.of([0.05, 0.8], start=0, end=4, log=True)
    assert [axis.at(value) for value in (0.05, 0.1, 0.2, 0.8)] == pytest.approx([0, 1, 2, 4])


def test_a_single_value_has_an_axis() -> None:
    assert Axis.of([3], start=0, end=10).at(3) == 5
    assert Axis.of([3], start=0, end=10, log=True).at(3) == pytest.approx(5)


def test_a_small_value_below_zero_takes_little_room() -> None:
    axis = Axis.of([-0.003, 0.97], start=0, end=1, rounded=True)
    assert (axis.low, axis.high) == (-0.003, 1.0)
    assert axis.ticks[0] == 0


def test_strips_meet_half_way() -> None:
    axis = Axis.of([0, 2, 10], start=0, end=100)
    assert [axis.strip(value) for value in (0, 2, 10)] == [(-10, 10), (10, 60), (60, 140)]
    assert Axis.of([4], start=0, end=100).strip(4) == (0, 100)


@given(st.lists(st.floats(0, 100), min_size=1, max_size=12))
def test_labels_keep_apart_inside_and_in_order(wanted: list[float]) -> None:
    found = spread(wanted, gap=9, low=0, high=100)
    gap = min(9, 100 / max(len(wanted) - 1, 1))
    order = sorted(range(len(wanted)), key=lambda place: wanted[place])
    placed = [found[place] for place in order]
    assert all(after - before >= gap - 1e-6 for before, after in pairwise(placed))
    assert -1e-6 <= placed[0] <= placed[-1] <= 100 + 1e-6


def test_a_label_with_room_stays_where_it_is() -> None:
    assert spread([10, 50, 90], gap=9, low=0, high=100) == [10, 50, 90]
