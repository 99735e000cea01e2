"""Groups in a form that an expression never gives are refused before the charge; whatever it gives is admitted."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pytest

import sparsegate as sg
from sparsegate.conditions import duckdb_columns, read_value
from sparsegate.conditions.operations import PARTS, WINDOWS
from sparsegate.tables.groups import given_by

duckdb = pytest.importorskip("duckdb")

TYPES = {"day": "date", "at": "timestamp", "name": "varchar", "n": "bigint", "ok": "boolean"}
EXPRESSIONS = [
    *(f"{part}(day)" for part in (*PARTS, *WINDOWS)),
    *(f"{part}(at)" for part in (*PARTS, *WINDOWS)),
    *("lower(name)", "upper(name)", "trim(name)", "ltrim(name)", "rtrim(name)", "length(name)", "CAST(at AS DATE)"),
    *(
        "n > 3",
        "n + 1",
        "CAST(year(day) AS VARCHAR)",
        "coalesce(year_week(day), 'never')",
        "name",
        "CAST(n AS VARCHAR)",
    ),
    "CASE WHEN n < 3 THEN 'young' ELSE 'old' END",
    "CASE n WHEN 3 THEN name ELSE year_month(at) END",
]


@pytest.mark.parametrize("per", EXPRESSIONS)
def test_whatever_an_expression_gives_is_in_its_form(per: str) -> None:
    schema, cells = duckdb_columns(TYPES)
    read = read_value(per, schema)
    found = duckdb.sql(
        f"""SELECT DISTINCT CAST({read.sql(cells=cells)} AS VARCHAR) FROM (
            SELECT DATE '1999-12-20' + CAST(i * 97 AS INTEGER) AS day,
                TIMESTAMP '0001-01-01' + to_hours(CAST(i * 13001 AS BIGINT)) + to_seconds(i * 7) AS at,
                ['ab', ' A ', 'ÄÖ', 'x', '', 'ß'][1 + i % 6] AS name, i - 5 AS n, i % 2 = 0 AS ok
            FROM range(3000) AS t(i))"""
    ).fetchall()
    assert len(found) > (per not in ("hour(day)", "minute(day)", "second(day)"))
    assert all(given_by(read.tree)(text) for (text,) in found if text is not None)


ROWS = {
    "page": ["/a"] * 60 + ["/b"] * 40,
    "visitor": list(range(100)),
    "day": [datetime.date(2031, 1, 1 + n % 28) for n in range(100)],
    "country": ["de", "fr"] * 50,
}
REFUSED = [
    ("year_week(day)", "1..20", "2031-W01..2031-W20"),
    ("year_week(day)", ["2031-W53"], "2031-W01"),
    ("year_week(day)", ["2031-W00"], "2031-W01"),
    ("year_week(day)", "2031-1", "2031-W01"),
    ("year_month(day)", "2031-1", "2031-01..2031-12"),
    ("year_month(day)", "2031-01,2031-13", "2031-01..2031-12"),
    ("year_month(day)", "1..12", "2031-01..2031-12"),
    ("year_month(day)", [datetime.date(2031, 1, 1)], "2031-01..2031-12"),
    ("year_quarter(day)", "2031-1", "2031-Q1"),
    ("year_quarter(day)", "2031-Q5", "2031-Q1"),
    ("month(day)", "01,02", "1..12"),
    ("month(day)", "1..13", "1..12"),
    ("month(day)", "January", "1..12"),
    ("isodow(day)", "0..6", "1..7"),
    ("hour(day)", "24", "0..23"),
    ("year(day)", "2031.0", "2030..2031"),
    ("length(page)", "-1", "1..9"),
    ("lower(country)", "DE,FR", "as it writes them"),
    ("upper(country)", "de", "as it writes them"),
    ("trim(country)", [" de"], "as it writes them"),
    ("day = DATE '2031-01-01'", "yes,no", "true,false"),
    ("day = DATE '2031-01-01'", [1, 0], "true,false"),
    ("CAST(day AS DATE)", "2031-1-1", "2031-01-01..2031-01-31"),
    ("CAST(day AS DATE)", "2031-02-30", "2031-01-01..2031-01-31"),
    ("CASE WHEN country = 'de' THEN 'here' ELSE 'there' END", "Here", "here,there"),
]


class Charged:
    """An account that remembers what it was asked for."""

    def __init__(self) -> None:
        self.times = 0

    def charge(self, **_: Any) -> Any:
        self.times += 1
        raise AssertionError("charged")


@pytest.mark.parametrize(("per", "groups", "right"), REFUSED)
@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_a_form_that_is_never_given_is_refused_and_costs_nothing(
    engine: str, per: str, groups: Any, right: str
) -> None:
    import polars

    frame = polars.DataFrame(ROWS)
    data = frame if engine == "polars" else duckdb.connect().from_arrow(frame.to_arrow())
    account = Charged()
    asked: dict[str, Any] = {"item": "page", "user": "visitor", "count": 1, "domain": ["/a", "/b"], "epsilon": 1}
    with pytest.raises(sg.ParameterError, match="groups must be groups that .* can give") as caught:
        sg.top_items(data, **asked, per=per, groups=groups, ledger=account)
    assert right in str(caught.value)
    assert account.times == 0


def test_a_file_of_groups_is_checked_too_and_weeks_are_a_range(tmp_path: Path) -> None:
    import polars

    asked: dict[str, Any] = {"item": "page", "user": "visitor", "count": 1, "domain": ["/a", "/b"], "epsilon": 50}
    quiet = {"source": sg.Seeded(1), "not_private": True, "per": "year_week(day)"}
    (tmp_path / "weeks.csv").write_text("week\n1\n")
    with pytest.raises(sg.ParameterError, match="2031-W01"):
        sg.top_items(polars.DataFrame(ROWS), **asked, **quiet, groups=tmp_path / "weeks.csv")
    found = sg.top_items(polars.DataFrame(ROWS), **asked, **quiet, groups="2030-W52..2031-W05")
    assert list(found.groups) == ["2030-W52", *(f"2031-W0{n}" for n in range(1, 6))]
    assert found.groups["2031-W02"].items == ("/a",)
