"""A public domain and the queries over it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sparsegate.errors import ParameterError
from sparsegate.tables.categories import WEIGHT_BITS, Cells

ONE = 1 << WEIGHT_BITS
COLUMNS = {"country": ["DE", "FR", "IT"], "age": [30, 40], "smokes": range(2)}
CELLS = Cells.of(COLUMNS)


def test_cells_are_numbered_as_an_array_of_the_shape_of_the_categories() -> None:
    assert (CELLS.shape, CELLS.size) == ((3, 2, 2), 12)
    assert CELLS.steps({"country": "FR", "age": 40, "smokes": 1}).tolist() == [0] * 7 + [ONE] + [0] * 4


@pytest.mark.parametrize(
    ("query", "chosen"),
    [
        ({}, np.s_[:, :, :]),
        ({"country": "IT"}, np.s_[2, :, :]),
        ({"country": ["IT", "DE"], "smokes": (1,)}, np.s_[::2, :, 1]),
        ({"age": np.array([40])}, np.s_[:, 1, :]),
        ({"age": {30, 40}, "smokes": np.int64(0)}, np.s_[:, :, 0]),
    ],
)
def test_a_mapping_chooses_the_cells_that_hold_a_wanted_category_in_each_column(query: Any, chosen: Any) -> None:
    expected = np.zeros(CELLS.shape, dtype=np.int64)
    expected[chosen] = ONE
    assert CELLS.steps(query).tolist() == expected.reshape(-1).tolist()


def test_an_array_gives_each_cell_its_weight_flat_or_with_an_axis_for_each_column() -> None:
    weights = np.arange(12) / 12
    expected = np.rint(weights * ONE).astype(int).tolist()
    assert CELLS.steps(weights).tolist() == CELLS.steps(weights.reshape(3, 2, 2)).tolist() == expected
    assert CELLS.steps([True] * 12).tolist() == [ONE] * 12


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"counrty": "DE"}, "query must name columns of the domain: did you mean 'country'\\?"),
        ({"country": "DE", 5: 1}, "query must name columns of the domain"),
        ({"country": "D"}, "query must name categories of 'country': did you mean 'DE'\\?"),
        ({"country": 30}, "query must name categories of 'country'"),
        ({"smokes": True}, "query must name categories of 'smokes'"),
        ({"smokes": 1.0}, "query must name categories of 'smokes'"),
        ({"country": [["DE"]]}, "query must name categories of 'country'"),
        ({"country": []}, "query must name at least one category of 'country'"),
        ([0.5] * 11, "query must map columns to categories, or be an array of 12 weights"),
        ([[1], [2, 3]], "query must map columns"),
        ("DE", "query must map columns"),
        (None, "query must map columns"),
        ([1.5] * 12, "query must map columns"),
        ([-0.1] * 12, "query must map columns"),
        ([float("nan")] * 12, "query must map columns"),
    ],
)
def test_a_bad_query_is_refused_with_one_clear_error(query: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=f"^{message}"):
        CELLS.steps(query)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (None, "must map the name of each column"),
        ({}, "must map the name of each column"),
        ({3: ["a"]}, "must have names of columns as keys"),
        ({"age": []}, "must list the categories of 'age'"),
        ({"age": "old"}, "must list the categories of 'age'"),
        ({"age": 7}, "must list the categories of 'age'"),
        ({"age": {1, 2}}, "must list the categories of 'age' in an order"),
        ({"age": [1, "old"]}, "must list whole numbers of 64 bits or strings, and not both"),
        ({"age": [True, False]}, "must list whole numbers"),
        ({"age": [0.5]}, "must list whole numbers"),
        ({"age": [2**70]}, "must list whole numbers"),
        ({"age": [1, 1]}, "must list each category of 'age' once"),
        ({"a": range(2**12), "b": range(2**11)}, r"must span at most 2\*\*22 cells, and these span 8,388,608"),
    ],
)
def test_bad_columns_are_refused_with_one_clear_error(columns: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=f"^columns {message}"):
        Cells.of(columns)
