"""A public domain and the queries over it."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from sparsegate.errors import ParameterError
from sparsegate.tables.online import WEIGHT_BITS, Cells

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


BAD_QUERIES = {
    "must name columns of the domain, got 'counrty'; did you mean 'country'?": [{"counrty": "DE"}],
    "must name columns of the domain": [{"country": "DE", 5: 1}],
    "must name categories of 'country', got 'D'; did you mean 'DE'?": [{"country": "D"}],
    "must name categories of 'country'": [{"country": 30}, {"country": [["DE"]]}],
    "must name categories of 'smokes'": [{"smokes": True}, {"smokes": 1.0}],
    "must name at least one category of 'country'": [{"country": []}],
    "must map columns to categories, or be an array of 12 weights": [
        *([0.5] * 11, [[1], [2, 3]], "DE", None, [1.5] * 12, [-0.1] * 12, [float("nan")] * 12),
    ],
}
BAD_COLUMNS = {
    "must map the name of each column": [None, {}],
    "must have names of columns as keys": [{3: ["a"]}],
    "must list the categories of 'age'": [{"age": []}, {"age": "old"}, {"age": 7}, {"age": {1, 2}}],
    "must list whole numbers of 64 bits or strings, and not both": [
        *({"age": [1, "old"]}, {"age": [True, False]}, {"age": [0.5]}, {"age": [2**70]}),
    ],
    "must list each category of 'age' once": [{"age": [1, 1]}],
    "must span at most 2**22 cells, and these span 8,388,608": [{"a": range(2**12), "b": range(2**11)}],
}


@pytest.mark.parametrize(("parameter", "bad"), [("query", BAD_QUERIES), ("columns", BAD_COLUMNS)])
def test_what_is_bad_is_refused_with_one_clear_error(parameter: str, bad: dict[str, list[Any]]) -> None:
    read = CELLS.steps if parameter == "query" else Cells.of
    for rule, cases in bad.items():
        for case in cases:
            with pytest.raises(ParameterError, match=f"^{parameter} {re.escape(rule)}"):
                read(case)
