"""People in cells, counted in every engine: each person in one cell."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from sparsegate.errors import ParameterError, TableError
from sparsegate.tables.categories import Cells
from sparsegate.tables.engines.engine import open_engine
from sparsegate.tables.online import count_cells

Maker = Callable[[Mapping[str, list[Any]]], Any]

CELLS = Cells.of({"country": ["DE", "FR"], "age": [30, 20]})
ROWS = {
    "country": ["DE", "DE", "FR", "FR", "DE", None, "IT", "FR", "DE"],
    "age": [20, 30, 20, 20, 20, 20, 20, None, 99],
    "visitor": ["ann", "ann", "bob", "bob", "bob", "cyd", "dan", "eve", None],
}


def counted(table: Any, user: str | None, *, only_one: bool = False) -> list[list[int]]:
    with open_engine(table) as engine:
        return count_cells(engine, CELLS, user, only_one=only_one).reshape(CELLS.shape).tolist()


def test_a_person_in_several_cells_counts_once_in_the_first_by_the_order_of_the_lists(make: Maker) -> None:
    # Ann is in (DE, 20) and (DE, 30), and 30 was listed first; Bob in (FR, 20), twice, and in (DE, 20).
    assert counted(make(ROWS), "visitor") == [[1, 1], [0, 0]]


def test_where_one_cell_is_required_whoever_has_several_is_in_none_and_the_others_stay(make: Maker) -> None:
    # Fay has two rows in one cell, and Gil one in a cell and one in none.
    more = {"country": ["FR", "FR", "DE", "IT"], "age": [30, 30, 20, 20], "visitor": ["fay", "fay", "gil", "gil"]}
    rows = {name: values + more[name] for name, values in ROWS.items()}
    assert counted(make(rows), "visitor", only_one=True) == [[0, 1], [1, 0]]


@pytest.mark.parametrize("engine", ["pandas", "polars", "pyarrow", "duckdb"])
def test_every_row_counts_where_every_row_is_a_person_and_other_values_are_in_no_cell(engine: str) -> None:
    assert counted(_table(engine, ROWS), None) == [[1, 2], [0, 2]]


@pytest.mark.turns(3)
@pytest.mark.parametrize("only_one", [False, True])
@pytest.mark.parametrize("engine", ["pandas", "polars", "pyarrow", "duckdb"])
def test_adding_a_person_moves_one_cell_by_one_or_none(engine: str, only_one: bool) -> None:
    generator = np.random.default_rng(4)
    for _ in range(20):
        size = int(generator.integers(0, 12))
        rows = {
            "country": [str(x) for x in generator.choice(["DE", "FR", "IT"], size)],
            "age": [int(x) for x in generator.choice([20, 30, 40], size)],
            "visitor": [str(x) for x in generator.choice(["ann", "bob", "cyd"], size)],
        }
        without = {c: [v for v, u in zip(vs, rows["visitor"], strict=True) if u != "ann"] for c, vs in rows.items()}
        if not without["visitor"] or not rows["visitor"]:
            continue
        here, there = (counted(_table(engine, each), "visitor", only_one=only_one) for each in (rows, without))
        change = np.array(here) - there
        assert change.min() >= 0
        assert change.sum() <= 1


def test_columns_of_another_type_than_their_categories_and_missing_ones_are_refused() -> None:
    table = _table("polars", ROWS)
    cells = Cells.of({"country": ["DE"], "age": ["30"]})
    with open_engine(table) as engine, pytest.raises(ParameterError, match="^columns must list whole numbers as"):
        count_cells(engine, cells, None)
    with open_engine(table) as engine, pytest.raises(TableError, match="no column 'land'"):
        count_cells(engine, Cells.of({"land": ["DE"]}), None)
    with open_engine(table) as engine, pytest.raises(TableError, match="no column 'visitors'; did you mean 'visitor'"):
        count_cells(engine, CELLS, "visitors")


def test_small_unsigned_and_categorical_columns_are_read_like_any_other() -> None:
    import polars

    table = polars.DataFrame(ROWS).with_columns(
        polars.col("age").cast(polars.UInt64), polars.col("country").cast(polars.Categorical)
    )
    assert counted(table, "visitor") == [[1, 1], [0, 0]]


def _table(name: str, columns: Mapping[str, list[Any]]) -> Any:
    import duckdb
    import pyarrow

    arrow = pyarrow.table(columns)
    kinds: dict[str, Callable[[], Any]] = {
        "pandas": lambda: arrow.to_pandas(types_mapper={pyarrow.int64(): _nullable()}.get),
        "polars": lambda: __import__("polars").from_arrow(arrow),
        "duckdb": lambda: duckdb.connect().from_arrow(arrow),
    }
    return kinds[name]() if name in kinds else arrow


def _nullable() -> Any:
    import pandas

    return pandas.Int64Dtype()
