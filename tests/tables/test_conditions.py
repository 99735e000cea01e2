"""Conditions: what is counted, what is refused, and that neither a refusal nor an error holds a cell."""

from __future__ import annotations

import pytest

from sparsegate.errors import ParameterError, TableError
from sparsegate.tables.conditions import LONGEST_CONDITION, Conditions

duckdb = pytest.importorskip("duckdb")

# page, visitor, age as text
ROWS = "('/home', 1, '30'), ('/pay', 1, '30'), ('/home', 2, 'SECRET'), ('/home', NULL, '9'), (NULL, 3, NULL)"


@pytest.fixture
def visits():
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE visits AS FROM (VALUES {ROWS}) t(page, visitor, age)")
        yield connection.sql("SELECT * FROM visits")


@pytest.mark.parametrize(
    ("where", "users", "rows"),
    [
        ("true", 3, 5),
        ("page = '/home'", 2, 3),
        ("page IN ('/home', '/pay')", 2, 4),
        ("page IS NULL", 1, 1),
        ("NOT page = '/home'", 1, 1),
        ("page LIKE '/p%' -- a comment", 1, 1),
        ("visitor BETWEEN 1 AND 2", 2, 3),
        ("CAST(age AS INTEGER) > 20", 1, 2),
        ("CAST(age AS INTEGER) > 5", 1, 3),
        ("TRY_CAST(age AS INTEGER) IS NULL", 2, 2),
    ],
)
def test_a_condition_counts_distinct_users_or_rows(visits, where: str, users: int, rows: int) -> None:
    assert Conditions(visits, user="visitor").count(where) == users
    assert Conditions(visits, user=None).count(where) == rows


@pytest.mark.parametrize(
    "where",
    [
        *("", "page", "*", "page =", "pge = '/home'", "page = '/home';", "true, true", "page = ?", "$1"),
        *(
            "true) OR (true",
            "true ORDER BY 1",
            "true UNION ALL SELECT true",
            "COLUMNS(*) = 1",
            "unnest([true])",
            "page = '\udcff'",
        ),
        *(
            "visitor = 'SECRET'",
            "age > 30",
            "visitor = CAST('x' AS INTEGER)",
            "error('x')",
            "x" * (LONGEST_CONDITION + 1),
        ),
    ],
)
def test_what_is_not_one_condition_is_refused(visits, where: str) -> None:
    with pytest.raises(ParameterError, match="where"):
        Conditions(visits, user="visitor").count(where)


@pytest.mark.parametrize(
    "where",
    [
        "visitor = (SELECT max(visitor) FROM visits)",
        "visitor IN (SELECT visitor FROM visits)",
        "EXISTS (SELECT 1 FROM visits)",
        "count(*) > 1",
        "row_number() OVER () < 3",
        "rowid < 3",
        "filename = 'x'",
        "random() < 0.5",
        "uuid() IS NOT NULL",
    ],
)
def test_a_condition_that_looks_beyond_its_row_is_refused(visits, where: str) -> None:
    with pytest.raises(ParameterError, match="where"):
        Conditions(visits, user="visitor").check(where)


def test_adding_a_person_raises_every_count_by_at_most_one_and_lowers_none(visits) -> None:
    extra = visits.union(visits.query("v", "SELECT page, 99 AS visitor, '1' AS age FROM v"))
    for where in ("true", "page = '/home'", "age = '1'", "page IS NULL", "CAST(age AS INTEGER) > 0"):
        before, after = (Conditions(table, user="visitor").count(where) for table in (visits, extra))
        assert before <= after <= before + 1


def test_a_missing_user_column_lists_the_near_ones(visits) -> None:
    with pytest.raises(TableError, match="did you mean 'visitor'"):
        Conditions(visits, user="visitr")


def test_a_missing_column_in_a_condition_lists_the_near_ones(visits) -> None:
    with pytest.raises(ParameterError, match="no column 'pag'; near it: page"):
        Conditions(visits, user="visitor").check("pag = '/home'")
