"""Only rows that meet a condition are counted, in every engine, and a bad condition costs nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import sparsegate as sg
from sparsegate.errors import ConditionError, ParameterError
from sparsegate.tables.release import TopItems

PAGES = ["/home"] * 60 + ["/pay"] * 40 + ["/old"] * 90
COUNTRIES = (["DE"] * 50 + [None] * 10) + (["DE"] * 10 + ["FR"] * 30) + ["de"] * 90
COLUMNS = {"page": PAGES, "visitor": list(range(190)), "country": COUNTRIES}


def top(table: Any, where: str | None, **options: Any) -> TopItems:
    """At epsilon 40 a wrong selection, or a count 2 off, has a probability below e**-30."""
    asked = {"item": "page", "user": "visitor", "count": 2, "domain": ["/home", "/pay", "/old"], **options}
    return sg.top_items(table, epsilon=40, answers_epsilon=40, where=where, **asked)


def test_only_matching_rows_count_in_every_engine(make, request: pytest.FixtureRequest) -> None:
    table = make(COLUMNS)
    if "spark" in request.node.name:
        with pytest.raises(ParameterError, match="where must not be given for a table of Spark"):
            top(table, "country = 'DE'")
        return
    for where, items, counts in [
        (None, {"/old", "/home"}, {90, 60}),
        ("country = 'DE'", {"/home", "/pay"}, {50, 10}),
        ("COUNTRY IS NULL OR country = 'FR'", {"/home", "/pay"}, {10, 30}),
        ("country IN ('DE', 'FR') AND NOT visitor < 60", {"/pay"}, {40}),
        ("lower(country) LIKE 'd_' AND page <> '/old'", {"/home", "/pay"}, {50, 10}),
    ]:
        found = top(table, where)
        assert items <= set(found.items)
        assert all(min(abs(count - other) for other in counts | {0}) <= 2 for count in found.estimates or ())
        assert found.record.where == where
        assert found.record.published().get("where") == where


@pytest.mark.parametrize("make", ["duckdb"], indirect=True)
def test_the_condition_is_on_the_record_of_the_ledger(make, tmp_path: Path) -> None:
    with sg.Ledger.create(tmp_path / "x.ledger", dataset="visits", budget=100) as ledger:
        top(make(COLUMNS), "country = 'DE'", ledger=ledger)
        assert ledger.entries()[-1].what.endswith("where country = 'DE'")


@pytest.mark.parametrize("where", ["contry = 'DE'", "country = 5", "count(*) > 3", "country =", "", "visitor"])
@pytest.mark.parametrize("make", ["duckdb", "pandas"], indirect=True)
def test_a_bad_condition_spends_nothing(make, tmp_path: Path, where: str) -> None:
    with sg.Ledger.create(tmp_path / "x.ledger", dataset="visits", budget=100) as ledger:
        with pytest.raises(ConditionError, match="where must"):
            top(make(COLUMNS), where, ledger=ledger)
        assert ledger.total_spent().epsilon == 0


def test_objects_of_pandas_are_text_whoever_is_in_them() -> None:
    pandas = pytest.importorskip("pandas")
    for first in ("/home", 7, None):
        table = pandas.DataFrame({**COLUMNS, "note": pandas.Series([first, *["x"] * 189], dtype=object)})
        assert "/old" in top(table, "note = 'x'").items
