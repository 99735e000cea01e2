"""Rows as places of public lists: nothing that a row holds is refused, and one person is one row."""

from __future__ import annotations

from collections import Counter
from typing import Any

import duckdb
import numpy as np
import pandas
import polars
import pyarrow
import pytest

from sparsegate.errors import ParameterError, TableError
from sparsegate.uses.tree_model import MOST_CATEGORIES, Attributes

COLUMNS = {"country": ["DE", "FR", "other"], "smokes": [1, 0]}
ROWS = {"country": ["FR", "DE", "IT", "FR"], "smokes": [0, 1, 0, 9]}
GIVEN = Attributes.of(COLUMNS, other={"country": "other"})
EXPECTED = [[1, 1], [0, 0], [2, 1], [1, 0]]


@pytest.mark.parametrize(
    "table",
    [
        ROWS,
        {name: np.array(values) for name, values in ROWS.items()},
        {name: pandas.Series(values) for name, values in ROWS.items()},
        pandas.DataFrame(ROWS),
        pandas.DataFrame(ROWS).astype({"country": "category"}),
        polars.DataFrame(ROWS),
        polars.DataFrame(ROWS).lazy(),
        pyarrow.table(ROWS),
        np.array([ROWS["country"], ROWS["smokes"]], dtype=object).T,
    ],
    ids=[
        "lists",
        "arrays",
        "series",
        "pandas",
        "pandas category",
        "polars",
        "polars lazy",
        "arrow",
        "array of objects",
    ],
)
def test_tables_of_every_kind_become_the_same_codes(table: Any) -> None:
    assert GIVEN.codes(table, unit="row").tolist() == EXPECTED


def test_an_array_of_whole_numbers_is_read_by_the_order_of_the_columns() -> None:
    both = Attributes.of({"a": [5, 3, 4], "b": range(2)})
    assert both.codes(np.array([[3, 1], [4, 7], [99, 0]]), unit="row").tolist() == [[1, 1], [2, 0], [0, 0]]
    assert both.codes(np.zeros((0, 2), dtype=int), unit="row").shape == (0, 2)


@pytest.mark.parametrize("cells", [["a", "b"], ["a", 1], [None, 1]])
def test_what_the_cells_of_objects_are_decides_nothing(cells: list[Any]) -> None:
    frame = pandas.DataFrame({name: pandas.Series(cells, dtype=object) for name in COLUMNS})
    for table in (frame, dict.fromkeys(COLUMNS, cells), np.array([cells, cells], dtype=object).T):
        assert len(GIVEN.codes(table, unit="row")) == 2


@pytest.mark.parametrize("ordered", [False, True])
def test_categories_of_pandas_may_be_numbers(ordered: bool) -> None:
    frame = pandas.DataFrame({name: pandas.Categorical([4, 3, None], ordered=ordered) for name in "ab"})
    assert Attributes.of({"a": [3, 4], "b": [4, 3]}).codes(frame, unit="row").tolist() == [[1, 0], [0, 1], [0, 0]]


def test_a_matrix_is_an_array_and_a_masked_number_is_none() -> None:
    both = Attributes.of({"a": [0, 1], "b": [0, 1]}, {"b": 1})
    assert both.codes(np.array([[0, 1], [1, 0]]).view(np.matrix), unit="row").tolist() == [[0, 1], [1, 0]]
    masked = np.ma.array([[1, 0], [1, 0]], mask=[[True, True], [False, False]])
    assert both.codes(masked, unit="row").tolist() == [[0, 1], [1, 0]]


@pytest.mark.parametrize("made", [dict, pandas.DataFrame, polars.DataFrame, pyarrow.table])
def test_whose_row_it_is_may_be_an_attribute_too(made: Any) -> None:
    rows = {"a": [0, 1, 1], "b": [1, 1, 0]}
    codes = Attributes.of({"a": [0, 1], "b": [0, 1]}).codes(made(rows), user="a")
    assert sorted(codes.tolist()) == [[0, 1], [1, 0]]


def test_a_relation_of_duckdb_is_read_like_a_dataframe() -> None:
    frame = pandas.DataFrame(ROWS)
    assert sorted(GIVEN.codes(duckdb.from_df(frame), unit="row").tolist()) == sorted(EXPECTED)


class Unfriendly:
    def __hash__(self) -> int:
        raise RuntimeError("secret")


@pytest.mark.parametrize("cell", [None, float("nan"), [1], {}, Unfriendly(), 10**30, "FR ", b"FR", np.float64("inf")])
def test_a_cell_that_is_no_category_takes_the_place_of_all_others(cell: Any) -> None:
    codes = GIVEN.codes({"country": [cell, "FR"], "smokes": [cell, 1]}, unit="row")
    assert codes.tolist() == [[2, 0], [1, 0]]


def test_a_person_counts_with_one_row_and_nobody_with_none() -> None:
    rows: dict[str, list[Any]] = {
        "country": ["IT", "DE", "FR", "FR", "DE", "FR"],
        "smokes": [0, 1, 0, 1, 0, 1],
        "who": ["ann", "bob", "ann", "ann", None, [1]],
    }

    def codes(places: list[int]) -> list[list[int]]:
        return sorted(GIVEN.codes({name: [rows[name][at] for at in places] for name in rows}, user="who").tolist())

    ann, bob = [1, 0], [0, 0]
    assert codes([0, 1, 2, 3, 4, 5]) == [bob, ann]
    assert codes([5, 3, 4, 2, 1, 0]) == [bob, ann]
    assert codes([1, 4, 5]) == [bob]
    assert codes([0, 2, 3]) == [ann]
    assert codes([4, 5]) == codes([]) == []


def test_one_person_more_is_one_row_more_and_all_others_stay() -> None:
    generator = np.random.default_rng(4)
    both = Attributes.of({"a": range(3), "b": range(2)})
    for _ in range(50):
        size = int(generator.integers(0, 12))
        table = {"a": generator.integers(0, 3, size), "b": generator.integers(0, 2, size)}
        who = generator.integers(0, 4, size)
        whole = Counter(map(tuple, both.codes(table | {"who": who}, user="who").tolist()))
        kept = {name: values[who != 0] for name, values in table.items()} | {"who": who[who != 0]}
        without = Counter(map(tuple, both.codes(kept, user="who").tolist()))
        assert not without - whole
        assert sum((whole - without).values()) == int((who == 0).any())


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ({"country": ["DE"]}, "two columns or more"),
        (["country"], "two columns or more"),
        ({"a": [1, 1], "b": [0, 1]}, "each category of 'a' once"),
        ({"a": [1, "x"], "b": [0, 1]}, "and not both"),
        ({"a": range(MOST_CATEGORIES + 1), "b": [0, 1]}, "at most 1000 categories"),
    ],
)
def test_columns_are_a_public_mapping_to_lists(columns: Any, says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        Attributes.of(columns)


@pytest.mark.parametrize("other", [{"age": 1}, {"smokes": 2}, "other"])
def test_the_place_of_all_others_is_a_category_of_its_column(other: Any) -> None:
    with pytest.raises(ParameterError, match="other must"):
        Attributes.of(COLUMNS, other)


@pytest.mark.parametrize(
    ("table", "options", "says"),
    [
        (ROWS, {}, "user must name the column"),
        ({"country": ["DE"]}, {"unit": "row"}, "no column 'smokes'"),
        (ROWS, {"user": "who"}, "no column 'who'"),
        ({"country": ["DE"], "smokes": [1, 0]}, {"unit": "row"}, "columns of one length"),
        ({"country": "DE", "smokes": [1, 0]}, {"unit": "row"}, "a flat list"),
        (np.zeros((4, 3)), {"unit": "row"}, "with 2 columns"),
        (np.zeros((4, 2)), {"user": "who"}, "columns have no names"),
        (42, {"unit": "row"}, "a mapping of columns, a dataframe or a 2-D array"),
        (ROWS | {"country": np.arange(4)}, {"unit": "row"}, "'country' holds numbers, and its categories are text"),
        (ROWS | {"smokes": np.array(list("abcd"))}, {"unit": "row"}, "'smokes' holds text"),
        (pandas.DataFrame(ROWS | {"country": [1.5, None, 2, 3]}), {"unit": "row"}, "'country' holds numbers"),
        (polars.DataFrame(ROWS | {"smokes": list("abcd")}), {"unit": "row"}, "'smokes' holds text"),
        (np.zeros((4, 2)), {"unit": "row"}, "'country' holds numbers"),
    ],
)
def test_what_is_refused_is_a_name_or_a_shape_and_shows_no_cell(table: Any, options: Any, says: str) -> None:
    with pytest.raises((ParameterError, TableError), match=says) as refused:
        GIVEN.codes(table, **options)
    assert "FR" not in str(refused.value)
