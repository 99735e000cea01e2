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
    "CAST(s AS INT) > 3 OR age > 5",
    "NOT (age < 5 AND CAST(s AS INT) > 3)",
    "age * 100000000 > 5 OR age > 5",
    "CASE WHEN age > 5 THEN true ELSE CAST(s AS INT) > 3 END",
]

AGES = [200, 1, 0, None, -(2**31), 2**31 - 1]
TEXTS = ["x", "7", "", None, "1e400", "2024-01-01"]
ROWS = st.tuples(st.sampled_from(AGES), st.sampled_from(TEXTS))

TESTS = st.sampled_from(
    [
        "CAST(age AS TINYINT) > 3",
        "CAST(s AS INTEGER) > 3",
        "age > 5",
        "age <= 200",
        "s IS NULL",
        "age IS NOT NULL",
        "age * 100000000 * 100000000 > 5",
        "10 / age > 0.01",
        "10 / age IS NULL",
        "-age < 0",
        "s = 'x'",
        "CAST(s AS DATE) > '2020-01-01'",
        "CAST(age AS BOOLEAN)",
        "length(s) < age",
        "age + CAST(s AS DOUBLE) = 207",
        "CAST(CAST(s AS DOUBLE) AS SMALLINT) BETWEEN 1 AND age",
        "coalesce(CAST(s AS INT), age) IN (7, 200)",
        "CAST(age AS VARCHAR) LIKE '2%'",
        "year(CAST(s AS TIMESTAMP)) = 2024",
    ]
)
WHERE = st.recursive(
    TESTS,
    lambda part: st.one_of(
        st.builds("({} OR {})".format, part, part),
        st.builds("({} AND {})".format, part, part),
        st.builds("NOT ({})".format, part),
        st.builds("CASE WHEN {} THEN {} ELSE {} END".format, part, part, part),
        st.builds("coalesce({}, {})".format, part, part),
    ),
    max_leaves=5,
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


@settings(max_examples=10, deadline=None)
@example([(200, "x")], 700, BROKEN[0])
@example([(200, "x")], 700, BROKEN[2])
@given(st.lists(ROWS, min_size=1, max_size=4), st.sampled_from([1, 700, 5000]), WHERE)
def test_a_count_is_the_sum_over_its_people(rows: list[tuple[Any, Any]], times: int, where: str) -> None:
    """Each person's share is what they count alone, so one more moves the count by that: 0 or 1, and never back."""
    shares = [counted([(age, text, 1)], where) for age, text in rows]
    assert set(shares) <= {0, 1}
    blocks = [(age, text, times) for age, text in rows]
    assert counted(blocks, where) == times * sum(shares)
    for age, text in [rows[0], (1, "7"), (None, None)]:
        assert counted([*blocks, (age, text, 1)], where) == times * sum(shares) + counted([(age, text, 1)], where)


@pytest.mark.turns(3)
@pytest.mark.parametrize("kind", ["native", "parquet", "database", "csv"])
@pytest.mark.parametrize("where", BROKEN)
def test_one_more_person_moves_a_count_over_several_row_groups_by_one_at_most(
    tmp_path: Path, kind: str, where: str
) -> None:
    crowd = [(200, "x", 260_000 if kind in ("native", "parquet") else 5000)]
    if kind == "csv":  # where every column is text
        where = where.replace("age >", "CAST(age AS INT) >").replace("age <", "CAST(age AS INT) <")
        where = where.replace("age *", "CAST(age AS INT) *")
    found = []
    for number, blocks in enumerate([crowd, [*crowd, (1, "7", 1)], [*crowd, (None, None, 1)]]):
        with Workspace() as workspace:
            if kind == "native":
                with duckdb.connect() as connection:
                    found.append(MatchingUsers(filled(connection, blocks), user="person").count(where))
                continue
            path = tmp_path / f"{number}.{'db' if kind == 'database' else kind}"
            with duckdb.connect(str(path) if kind == "database" else ":memory:") as connection:
                table = filled(connection, blocks)
                if kind == "parquet":
                    table.write_parquet(str(path), row_group_size=20_000)
                elif kind == "csv":
                    table.write_csv(str(path))
            opened = workspace.open([str(path)], table="people" if kind == "database" else None, copy=True)
            found.append(MatchingUsers(opened, user="person").count(where))
    assert 0 <= found[1] - found[0] <= 1
    assert 0 <= found[2] - found[0] <= 1


@pytest.mark.parametrize(
    ("where", "matches"),
    [
        ("age = 200", True),
        ("AGE = 200.0", True),
        ("age = '200'", True),
        ("age > 199.5 AND age < 2e2 + 1", True),
        ("age < 99999999999999999999999999999999999999999999", True),
        ("age < 170141183460469231731687303715884105000", True),
        ("-age = -200", True),
        ("age IN (1, 2, 200)", True),
        ("age NOT IN (1, 2, 200)", False),
        ("s ILIKE 'SE%' AND s NOT LIKE '%z'", True),
        ("s = 'SECRET'", False),
        ("upper(s) = 'SECRET'", True),
        ("regexp_matches(s, '^s.{5}$')", True),
        ("contains(s, 'cre') AND length(s) = 6", True),
        ("day >= '2024-02-01'", True),
        ("day < TIMESTAMP '2024-02-29 00:00:01'", True),
        ("extract(month FROM day) = 2 AND year(day) = 2024", True),
        ("CAST(price AS DECIMAL(10, 2)) = 19.99 AND price = 19.99", True),
        ("s = NULL", False),
        ("NULL", False),
        ("s IS NOT DISTINCT FROM NULL", False),
        ("CASE WHEN age > 100 THEN s ELSE 'none' END = 'secret'", True),
        ("moment = '2024-01-01 12:00:00'", True),
    ],
)
def test_what_a_condition_says_of_a_row(where: str, matches: bool) -> None:
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'Asia/Tokyo'")
        row = connection.sql(
            "SELECT 200 AS age, 'secret' COLLATE nocase AS s, DATE '2024-02-29' AS day, 19.99 AS price, "
            "TIMESTAMPTZ '2024-01-01 12:00:00+00' AS moment, [1] AS many"
        )
        assert MatchingUsers(row, user=None).count(where) == matches


@pytest.mark.parametrize(
    ("where", "reason"),
    [
        ("many IS NULL", "whose type can be asked about"),
        ("s LIKE s", "a pattern in single quotes"),
        ("regexp_matches(s, '(')", "missing"),
        ("CASE WHEN s = 'a' THEN age = 'b' ELSE true END", "b"),
        ("substring(s, age) = 'x'", "a function that is not known here"),
        ("s LIKE 'x!' ESCAPE '!'", "ESCAPE"),
        ("s = 'a' COLLATE nocase", "COLLATE"),
        ("s = current_user", "declared column"),
        ("age = 5 FROM range(3)", "must have an operator"),
        ("age = 5 AS x", "must have an operator"),
        ("NOT " * 2000 + "true", ""),
        ("s > 3", "CAST"),
    ],
)
def test_what_could_fail_on_a_row_is_refused_before_there_is_one(where: str, reason: str) -> None:
    with duckdb.connect() as connection:
        row = connection.sql("SELECT 1 AS age, 'x' AS s, [1] AS many")
        with pytest.raises(ParameterError, match="where must") as refused:
            MatchingUsers(row, user=None).check(where)
    assert reason in str(refused.value)


@pytest.mark.parametrize(
    ("where", "matches"),
    [
        ("CAST(age AS TINYINT) > 3 OR age > 5", 1),
        ("CAST(s AS INTEGER) > 3 OR age > 5", 1),
        ("CAST(s AS INTEGER) > 3", 0),
        ("NOT (CAST(s AS INTEGER) > 3)", 0),
        ("CAST(s AS INTEGER) IS NULL", 1),
    ],
)
def test_a_part_that_does_not_convert_is_null_and_the_rest_decides(where: str, matches: int) -> None:
    assert counted([(200, "x", 1)], where) == matches


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
    assert MatchingUsers(visits, user="visitor").count(where) == users
    assert MatchingUsers(visits, user=None).count(where) == rows


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
            "x" * 10_001,
        ),
    ],
)
def test_what_is_not_one_condition_is_refused(visits, where: str) -> None:
    with pytest.raises(ParameterError, match="where"):
        MatchingUsers(visits, user="visitor").count(where)


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
        MatchingUsers(visits, user="visitor").check(where)


def test_adding_a_person_raises_every_count_by_at_most_one_and_lowers_none(visits) -> None:
    extra = visits.union(visits.query("v", "SELECT page, 99 AS visitor, '1' AS age FROM v"))
    for where in ("true", "page = '/home'", "age = '1'", "page IS NULL", "CAST(age AS INTEGER) > 0"):
        before, after = (MatchingUsers(table, user="visitor").count(where) for table in (visits, extra))
        assert before <= after <= before + 1


def test_a_missing_user_column_lists_the_near_ones(visits) -> None:
    with pytest.raises(TableError, match="did you mean 'visitor'"):
        MatchingUsers(visits, user="visitr")


def test_a_missing_column_in_a_condition_lists_the_near_ones(visits) -> None:
    with pytest.raises(ParameterError, match="declared column.*'pag'; near it: page"):
        MatchingUsers(visits, user="visitor").check("pag = '/home'")


@pytest.mark.parametrize("kind", ["DOUBLE", "FLOAT", "INTEGER[]", "BIT", "TIMETZ"])
def test_users_that_cannot_be_told_apart_are_refused_by_their_type(kind: str) -> None:
    people = duckdb.connect().sql(f"SELECT 'a' AS page, CAST(NULL AS {kind}) AS person")
    with pytest.raises(TableError, match="of a type that tells people apart exactly"):
        MatchingUsers(people, user="person")


@pytest.mark.parametrize("kind", ["UUID", "DECIMAL(9, 2)", "BLOB", "INTERVAL", "UHUGEINT", "VARCHAR COLLATE NOCASE"])
def test_users_that_can_are_taken(kind: str) -> None:
    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE t (page VARCHAR, person {kind})")
    assert MatchingUsers(connection.table("t"), user="person").count("page = 'a'") == 0
