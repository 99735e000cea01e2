"""No table is refused because of who is in it: not an empty one, and not one with a cell that an engine cannot read."""

from __future__ import annotations

from typing import Any

import pytest

import sparsegate as sg
from sparsegate.tables.release import TopItems

ASKED: dict[str, Any] = {"item": "page", "user": "visitor", "count": 1, "epsilon": 2, "domain": ["/home", "/pay"]}
LARGEST = 2**62


@pytest.mark.parametrize("engine", ["pandas", "polars", "pyarrow"])
def test_a_table_of_nobody_meets_a_condition_as_any_other(engine: str) -> None:
    """Whether one person is the only one must not show in an error."""
    pa = pytest.importorskip("pyarrow")
    alone = pa.table({"page": ["/home"], "visitor": [1]})
    for rows in (alone, alone.slice(0, 0)):
        table: Any = rows.to_pandas() if engine == "pandas" else rows
        table = pytest.importorskip("polars").from_arrow(rows) if engine == "polars" else table
        assert isinstance(sg.top_items(table, **ASKED, where="visitor < 5"), TopItems)


@pytest.mark.parametrize("unit", ["s", "ms"])
@pytest.mark.parametrize("ticks", [LARGEST, -LARGEST])
@pytest.mark.parametrize("engine", ["pyarrow", "pandas", "polars"])
def test_an_instant_beyond_all_microseconds_fails_no_release(engine: str, ticks: int, unit: str) -> None:
    """Conditions and groups are worked out on a copy in DuckDB, which has no such instant and would raise."""
    pa = pytest.importorskip("pyarrow")
    seen = pa.array([0, ticks, None], pa.int64()).cast(pa.timestamp(unit)).cast(pa.timestamp(unit, "UTC"))
    table: Any = pa.table({"page": ["/home", "/pay", "/pay"], "visitor": [1, 2, 3], "seen": seen})
    if engine == "pandas":
        pandas = pytest.importorskip("pandas")
        table = table.to_pandas(types_mapper=pandas.ArrowDtype)
    elif engine == "polars":
        if unit == "s":
            pytest.skip("Polars has no seconds")
        table = pytest.importorskip("polars").from_arrow(table)
    many = {"epsilon": 60, "answers_epsilon": 60, "count": 2}
    found = sg.top_items(table, **ASKED | many, where="seen IS NOT NULL")
    assert dict(found) == {"/home": 1, "/pay": 0}  # at this epsilon noise has a probability below e**-29
    grouped = sg.top_items(table, **ASKED | many, per="year_month(seen)", groups=["1970-01"])
    assert dict(grouped["1970-01"]) == {"/home": 1, "/pay": 0}


def test_a_person_named_by_a_date_that_python_has_not_fails_no_release() -> None:
    """Where people are cut they are put in order, which pandas does with dates of Python's."""
    pa, pandas = pytest.importorskip("pyarrow"), pytest.importorskip("pandas")
    born = pa.array([0, 2**31 - 1, 2**31 - 1, 0], pa.int32()).cast(pa.date32())
    table = pa.table({"page": ["/home", "/home", "/pay", "/home"], "visitor": born})
    asked = ASKED | {"count": 2, "epsilon": 60, "answers_epsilon": 60, "max_items_per_user": 1}
    found = sg.top_items(table.to_pandas(types_mapper=pandas.ArrowDtype), **asked)
    assert sum(dict(found).values()) == 2
