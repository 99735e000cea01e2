"""Every cell has a reading, made from public parameters and that cell alone; no error shows a cell."""

from __future__ import annotations

import datetime
import math
import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from sparsegate.errors import ParameterError
from sparsegate.uses.features import (
    binned,
    clipped,
    coded,
    numbers,
    plain_table,
    plain_target,
    public_bounds,
    public_categories,
    public_values,
)


class Hostile:
    def __hash__(self) -> int:
        raise RuntimeError("secret")

    def __float__(self) -> float:
        raise RuntimeError("secret")


ODD = [np.nan, None, pd.NA, {"a": 1}, [1], Hostile(), datetime.date(2020, 1, 1), 10**400, b"x", 1 + 2j]


@pytest.mark.parametrize("cell", ODD, ids=lambda cell: type(cell).__name__)
def test_a_cell_that_is_no_category_and_no_number_is_other(cell: Any) -> None:
    column = np.empty(2, dtype=object)
    column[:] = [cell, "a"]
    assert coded(column, ["a", "b"]).tolist() == [2, 0]
    bounds = public_bounds((0, 4), 1, "bounds")
    assert binned(numbers(column[:1, None]), bounds, 4).ravel().tolist() == [4]
    assert clipped(numbers(column[:1, None]), bounds).ravel().tolist() == [0]


def test_infinity_and_what_is_beyond_the_bounds_is_at_the_bound() -> None:
    column = np.array([[-np.inf], [-7.0], [7.0], [np.inf]])
    bounds = public_bounds((0, 1), 1, "bounds")
    assert clipped(column, bounds).ravel().tolist() == [-1024, -1024, 1024, 1024]
    assert binned(column, bounds, 3).ravel().tolist() == [0, 0, 2, 2]


def test_a_number_wider_than_a_float_is_at_the_bound_without_a_warning() -> None:
    column = np.array([[np.longdouble("1e400")]])
    assert clipped(numbers(column), public_bounds((0, 1), 1, "bounds")).ravel().tolist() == [1024]


def test_categories_are_one_number_one_list_or_one_list_for_each_feature() -> None:
    assert public_categories(2, 3) == [(0, 1)] * 3
    assert public_categories(["a", "b", "a"], 2) == [("a", "b")] * 2
    assert public_categories([["a"], np.array([1, 2])], 2) == [("a",), (1, 2)]


@pytest.mark.parametrize("categories", [[], 0, True, "ab", [np.nan], [["a"]], [[], ["b"]], 3.5, [{}, 1], {"x": [0]}])
def test_categories_that_tell_nothing_apart_are_refused(categories: Any) -> None:
    with pytest.raises(ParameterError, match="categories must"):
        public_categories(categories, 2)


@pytest.mark.parametrize("values", [None, 3, [], [float("nan")], [[1]], {0: "no", 1: "yes"}])
def test_classes_that_cannot_be_told_apart_are_refused(values: Any) -> None:
    with pytest.raises(ParameterError, match="classes must"):
        public_values(values, "classes")


def test_numbers_that_a_float_does_not_hold_are_no_categories() -> None:
    """One empty cell makes floats of a whole column, and two such numbers one."""
    full, empty = (pl.DataFrame({"a": [2**53, 2**53 + 1, more]}).to_numpy()[:2, 0].tolist() for more in (7, None))
    assert full[0] != full[1]
    assert empty[0] == empty[1]
    for values in ([0, 2**53], [-(2.0**60)], np.array([2**62])):
        with pytest.raises(ParameterError, match=r"classes must have numbers below 2\*\*53"):
            public_values(values, "classes")
    assert public_values([2**53 - 1, math.inf, "9007199254740993"], "classes")[1] == math.inf


@pytest.mark.parametrize("cell", ["text", 0.5, 1j, [1], {}, None, 10**30, np.arange(2)], ids=repr)
def test_a_list_is_read_cell_by_cell(cell: Any) -> None:
    """Numpy would make text, floats or complex numbers of every other cell, or refuse this one."""
    rows: list[list[Any]] = [[0, True], [1, 2**53 - 1]]
    table, target = plain_table([*rows, [cell, 5]]), plain_target([0, 1, cell], 3)
    assert table.shape == (3, 2)
    assert [[type(each) for each in row] for row in table[:2].tolist()] == [[int, bool], [int, int]]
    assert table[:2].tolist() == rows
    assert coded(target, [0, 1]).tolist()[:2] == [0, 1]


def test_a_masked_cell_is_none() -> None:
    table = plain_table(np.ma.array([[1, 0], [0, 1]], mask=[[True, False], [False, False]]))
    assert coded(table[:, 0], [0, 1]).tolist() == [2, 0]
    assert coded(plain_target(np.ma.array([1, 0], mask=[False, True]), 2), [0, 1]).tolist() == [1, 2]
    words = np.ma.array(["?", "a"], mask=[False, True])  # "?" is what numpy would fill a mask with
    assert coded(plain_target(words, 2), ["?", "a"]).tolist() == [0, 2]


def test_a_cell_that_is_no_real_number_is_read_without_a_warning() -> None:
    cells = np.empty((3, 1), dtype=object)
    cells[:, 0] = [np.complex128(1 + 2j), np.complex64(1), np.array([0.5])]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isnan(numbers(cells)).all()


@pytest.mark.parametrize("bounds", [None, 3, (1, 1), (1, 0), (0, np.inf), (0, 1, 2), ("a", "b"), ([0], [1, 2, 3])])
def test_bounds_that_are_none_are_refused(bounds: Any) -> None:
    with pytest.raises(ParameterError, match="bounds must"):
        public_bounds(bounds, 2, "bounds")


@pytest.mark.parametrize("table", [[4711.0, 1.0], [[[4711.0]]], [[4711], [1, 2]], np.array([[4711j]]), np.ones((3, 0))])
def test_a_table_of_another_shape_is_refused_without_showing_a_cell(table: Any) -> None:
    with pytest.raises(ParameterError) as refused:
        plain_table(table)
    assert "4711" not in str(refused.value)


@pytest.mark.parametrize("target", [None, [4711.0], [[4711.0, 1], [1, 2]], 4711])
def test_a_target_without_one_entry_for_each_row_is_refused_without_showing_one(target: Any) -> None:
    with pytest.raises(ParameterError) as refused:
        plain_target(target, 2)
    assert "4711" not in str(refused.value)
