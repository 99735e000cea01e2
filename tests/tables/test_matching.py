"""Matching as a privacy argument: each row matches or not by itself, whoever else is in the table.

What is counted, what is refused, and that neither a refusal nor an error holds a cell.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sparsegate.errors import ParameterError, TableError
from sparsegate.tables.matching import MatchingUsers
from sparsegate.tables.workspace import Workspace

duckdb = pytest.importorskip("duckdb")

# Each once let one person move the count by everybody, because DuckDB left out a part that failed, or did not.
BROKEN = [
    "CAST(age AS TINYINT) > 3 OR age > 5",
    "NOT (age < 5 AND CAST(s AS INT) > 3)",
    "age * 100000000 > 5 OR age > 5",
]

AGES = [200, 1, 0, None, -(2**31), 2**31 - 1]
TEXTS = ["x", "7", "", None, "1e400", "2024-01-01"]

ROWS = st.tuples(st.sampled_from(AGES), st.sampled_from(TEXTS))

TESTS = st.sampled_from(
    [
        *("CAST(age AS TINYINT) > 3", "CAST(s AS INTEGER) > 3", "age > 5", "s IS NULL", "age IS NOT NULL", "s = 'x'"),
        *("age * 100000000 * 100000000 > 5", "10 / age > 0.01", "10 / age IS NULL", "-age < 0", "length(s) < age"),
        *("CAST(s AS DATE) > '2020-01-01'", "CAST(age AS BOOLEAN)", "age + CAST(s AS DOUBLE) = 207"),
        *("CAST(CAST(s AS DOUBLE) AS SMALLINT) BETWEEN 1 AND age", "year(CAST(s AS TIMESTAMP)) = 2024"),
        *("coalesce(CAST(s AS INT), age) IN (7, 200)", "CAST(age AS VARCHAR) LIKE '2%'"),
    ]
)
FORMS = ("({} OR {})", "({} AND {})", "NOT ({})", "CASE WHEN {} THEN {} ELSE {} END", "coalesce({}, {})")
WHERE = st.recursive(
    TESTS, lambda part: st.one_of(*(st.builds(form.format, *[part] * form.count("{}")) for form in FORMS)), max_leaves=5
)


def filled(connection: Any, blocks: list[tuple[Any, Any, int]]) -> Any:
    """A table of (person, age, s) in which each block of rows is repeated, each time for another person."""
    connection.execute("CREATE TABLE people (person BIGINT, age INTEGER, s VARCHAR)")
    for number, (age, text, times) in enumerate(blocks):
        connection.execute(
            "INSERT INTO people SELECT $start + range, $age, $s FROM range($times)",
            {"start": number * 10**9, "age": age, "s": text, "times": times},
        )
    return connection.sql("FROM people")


def counted(blocks: list[tuple[Any, Any, int]], where: str) -> int:
    with duckdb.connect() as connection:
        return MatchingUsers(filled(connection, blocks), user="person").count(where)


@settings(max_examples=6, deadline=None)
@example([(200, "x")], 700, BROKEN[0])
@example([(200, "x")], 700, BROKEN[1])
@given(st.lists(ROWS, min_size=1, max_size=4), st.sampled_from([1, 700, 5000]), WHERE)
def test_a_count_is_the_sum_over_its_people(rows: list[tuple[Any, Any]], times: int, where: str) -> None:
    """Each person's share is what they count alone, so one more moves the count by that: 0 or 1, and never back."""
    shares = [counted([(age, text, 1)], where) for age, text in rows]
    assert set(shares) <= {0, 1}
    blocks = [(age, text, times) for age, text in rows]
    assert counted(blocks, where) == times * sum(shares)
    for age, text in [rows[0], (None, None)]:
        assert counted([*blocks, (age, text, 1)], where) == times * sum(shares) + counted([(age, text, 1)], where)


@pytest.mark.parametrize("where", BROKEN)
def test_one_more_person_moves_a_count_over_several_row_groups_by_one_at_most(tmp_path: Path, where: str) -> None:
    counts = []
    for more in ([], [(1, "7", 1)], [(None, None, 1)]):
        path = str(tmp_path / f"{len(counts)}.parquet")
        with duckdb.connect() as connection:
            filled(connection, [(200, "x", 260_000), *more]).write_parquet(path, row_group_size=20_000)
        with Workspace() as workspace:
            counts.append(MatchingUsers(workspace.open([path], copy=True), user="person").count(where))
    assert all(0 <= count - counts[0] <= 1 for count in counts[1:])


SAID = {
    "AGE = 200.0 AND age < 99999999999999999999999999999999999999999999": True,
    "s = 'SECRET'": False,
    "upper(s) = 'SECRET' AND regexp_matches(s, '^s.{5}$')": True,
    "day < TIMESTAMP '2024-02-29 00:00:01' AND extract(month FROM day) = 2": True,
    "CAST(price AS DECIMAL(10, 2)) = 19.99 AND price = 19.99": True,
    "s IS NOT DISTINCT FROM NULL": False,
    "moment = '2024-01-01 12:00:00'": True,
    "CAST(s AS INTEGER) > 3": False,
    "NOT (CAST(s AS INTEGER) > 3)": False,
    "CAST(s AS INTEGER) > 3 OR age > 5": True,
}


def test_what_a_condition_says_of_a_row() -> None:
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'Asia/Tokyo'")
        row = connection.sql(
            "SELECT 200 AS age, 'secret' COLLATE nocase AS s, DATE '2024-02-29' AS day, 19.99 AS price, "
            "TIMESTAMPTZ '2024-01-01 12:00:00+00' AS moment"
        )
        matching = MatchingUsers(row, user=None)
        assert {where: bool(matching.count(where)) for where in SAID} == SAID


@pytest.fixture
def visits():
    rows = "('/home', 1, '30'), ('/pay', 1, '30'), ('/home', 2, 'SECRET'), ('/home', NULL, '9'), (NULL, 3, NULL)"
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE visits AS SELECT *, [1] AS many FROM (VALUES {rows}) t(page, visitor, age)")
        yield connection.sql("SELECT * FROM visits")


@pytest.mark.parametrize(
    ("where", "users", "rows"),
    [("true", 3, 5), ("page = '/home'", 2, 3), ("NOT page = '/home'", 1, 1), ("CAST(age AS INTEGER) > 5", 1, 3)],
)
def test_a_condition_counts_distinct_users_or_rows(visits, where: str, users: int, rows: int) -> None:
    assert MatchingUsers(visits, user="visitor").count(where) == users
    assert MatchingUsers(visits, user=None).count(where) == rows


def test_what_is_no_condition_of_one_row_is_refused_before_a_row_is_read(visits) -> None:
    matching = MatchingUsers(visits, user="visitor")
    for where in ("", "pag = '/home'", "many IS NULL", "count(*) > 1", "random() < 0.5", "regexp_matches(page, '(')"):
        with pytest.raises(ParameterError) as refused:
            matching.check(where)
        assert refused.value.parameter == "where"


@pytest.mark.parametrize("kind", ["DOUBLE", "INTEGER[]", "TIMETZ", "UUID", "DECIMAL(9, 2)", "BLOB", "VARCHAR"])
def test_users_that_cannot_be_told_apart_or_are_not_there_are_refused(kind: str) -> None:
    people = duckdb.connect().sql(f"SELECT 'a' AS page, CAST(NULL AS {kind}) AS person")
    with pytest.raises(TableError, match="did you mean 'person'"):
        MatchingUsers(people, user="persn")
    if kind not in ("DOUBLE", "INTEGER[]", "TIMETZ"):
        assert MatchingUsers(people, user="person").count("page = 'a'") == 0
        return
    with pytest.raises(TableError, match="of a type that tells people apart exactly"):
        MatchingUsers(people, user="person")
