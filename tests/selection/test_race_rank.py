"""The count-th largest, found without a look at where the numbers are: against a sort."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sparsegate.selection.race import largest

WHOLE = st.lists(st.one_of(st.integers(-(2**63), 2**63 - 1), st.integers(-3, 3)), min_size=1, max_size=30)
REAL = st.lists(st.floats(allow_nan=False), min_size=1, max_size=30)


@given(WHOLE, st.data())
def test_of_whole_numbers_it_is_the_one_a_sort_finds(values: list[int], data: st.DataObject) -> None:
    count = data.draw(st.integers(1, len(values)))
    assert largest(np.array(values, dtype=np.int64), count) == sorted(values)[-count]


@given(REAL, st.data())
def test_of_floats_it_is_the_one_a_sort_finds(values: list[float], data: st.DataObject) -> None:
    count = data.draw(st.integers(1, len(values)))
    assert largest(np.array(values), count) == sorted(values)[-count]


@given(REAL, st.data())
def test_two_digits_of_a_float_round_it_down_by_less_than_a_millionth(values: list[float], data: st.DataObject) -> None:
    count = data.draw(st.integers(1, len(values)))
    exact, rounded = sorted(values)[-count], largest(np.array(values), count, digits=2)
    assert rounded <= exact
    if math.isfinite(exact) and abs(exact) >= 2.0**-1022:
        assert rounded == -math.inf or exact - rounded <= 2.0**-20 * abs(exact)


@given(st.lists(st.tuples(st.integers(-(2**40), 2**40), st.integers(1, 5)), min_size=1, max_size=20), st.data())
def test_members_of_groups_are_counted_one_by_one(groups: list[tuple[int, int]], data: st.DataObject) -> None:
    members = sorted(value for value, size in groups for _ in range(size))
    count = data.draw(st.integers(1, len(members)))
    values, sizes = (np.array(column, dtype=np.int64) for column in zip(*groups, strict=True))
    assert largest(values, count, sizes=sizes) == members[-count]
