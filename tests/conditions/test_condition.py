"""The leaves of a condition and their combination say of every row what the whole condition says."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from typing import Any

import duckdb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.condition_texts import ACCEPTED
from tests.support.condition_texts import SCHEMA as EVERY_KIND

from sparsegate.conditions import FALSE, TRUE, UNKNOWN, Column, Condition, ConditionError, Kind, Schema, read_condition
from sparsegate.conditions.condition import MOST_CASES, MOST_STEPS
from sparsegate.conditions.tree import All, CaseWhen, Cast, Coalesce, Either, Node, Not, children

SCHEMA = Schema(
    (
        Column("age", Kind.INTEGER),
        Column("s", Kind.TEXT),
        Column("x", Kind.REAL),
        Column("flag", Kind.BOOLEAN),
        Column("day", Kind.DATE),
    )
)
AGES = ["200", "1", "0", "NULL", str(-(2**31)), str(2**63 - 1)]
TEXTS = ["'x'", "'7'", "''", "NULL", "'1e400'", "'2024-01-01'", "'aXa_%b\n'", "'İé😀'"]
REALS = ["0.0", "'nan'::DOUBLE", "'-inf'::DOUBLE", "NULL", "1e308"]
DAYS = ["DATE '2024-02-29'", "NULL", "'infinity'::DATE"]
FLAGS = ["TRUE", "FALSE", "NULL"]

TESTS = [
    "CAST(age AS TINYINT) > 3",
    "age * 100000000 * 100000000 > 5",
    "10 / age > 0.01",
    "10 / age IS NULL",
    "-age < 0",
    "x * 1e308 > x",
    "x BETWEEN -1 AND 'nan'",
    "s = 'x'",
    "s IS NOT DISTINCT FROM NULL",
    "s LIKE '%x%' OR s ILIKE 'ax%B_'",
    "s LIKE '%a%b%'",
    "s NOT LIKE '_'",
    "contains(s, '_%')",
    "CAST(day AS TIMESTAMP) > '2020-01-01 12:00:00'",
    "CAST(age AS BOOLEAN)",
    "length(s) < age",
    "age + x = 200",
    "CAST(x AS SMALLINT) BETWEEN 1 AND age",
    "coalesce(CAST(x AS INT), age) IN (7, 200, NULL)",
    "CAST(age AS VARCHAR) LIKE '2%'",
    "year(CAST(day AS TIMESTAMP)) = 2024",
    "CASE age WHEN 200 THEN s WHEN 1 THEN 'y' END <> lower(coalesce(s, 'X'))",
    "CASE WHEN flag THEN age ELSE x END > CASE WHEN s IS NULL THEN 1 ELSE 0 END",
    "flag = (age > 5)",
    "(flag OR age > 5) < (s = 'x')",
    "CAST(flag AND age > 5 AS INTEGER) + 1 > 1",
    "flag IS NOT TRUE",
    "(flag AND age = 1) IS UNKNOWN",
    "day > '2024-01-01' AND week(day) < 50",
    "flag",
    "NULL",
    "TRUE",
]
CONDITIONS = st.recursive(
    st.sampled_from(TESTS),
    lambda part: st.one_of(
        st.builds("({} OR {})".format, part, part),
        st.builds("({} AND {})".format, part, part),
        st.builds("NOT ({})".format, part),
        st.builds("CASE WHEN {} THEN {} ELSE {} END".format, part, part, part),
        st.builds("CASE WHEN {} THEN {} END IS NULL".format, part, part),
        st.builds("coalesce({}, {})".format, part, part),
    ),
    max_leaves=6,
)


@pytest.fixture(scope="module")
def table() -> duckdb.DuckDBPyConnection:
    """Every combination of the cells above, in an engine without an optimizer."""
    connection = duckdb.connect()
    connection.execute("PRAGMA disable_optimizer")
    connection.execute("CREATE TABLE t (age BIGINT, s VARCHAR, x DOUBLE, flag BOOLEAN, day DATE)")
    rows = ", ".join(f"({', '.join(row)})" for row in itertools.product(AGES, TEXTS, REALS, FLAGS, DAYS))
    connection.execute(f"INSERT INTO t VALUES {rows}")
    return connection


def column(table: duckdb.DuckDBPyConnection, sql: str) -> Any:
    return table.execute(f"SELECT {sql} AS found FROM t").fetchnumpy()["found"]


def coded(found: Any) -> Any:
    masked = np.ma.masked_array(found)
    return np.where(np.ma.getmaskarray(masked), UNKNOWN, np.where(masked.data, TRUE, FALSE))


def check(table: duckdb.DuckDBPyConnection, condition: Condition) -> None:
    whole = coded(column(table, condition.sql()))
    assert condition.cost > 0
    columns = ", ".join(f"{leaf.sql()} AS l{place}" for place, leaf in enumerate(condition.leaves))
    found = table.execute(f"SELECT {columns} FROM t").fetchnumpy()
    names = [f"l{place}" for place in range(len(condition.leaves))]
    np.testing.assert_array_equal(condition.combine([found[name] for name in names]), whole)


@pytest.mark.parametrize("text", TESTS)
def test_each_test_and_its_leaves_agree(table: duckdb.DuckDBPyConnection, text: str) -> None:
    check(table, read_condition(text, SCHEMA))


@settings(max_examples=60)
@given(text=CONDITIONS)
def test_leaves_and_the_whole_agree(table: duckdb.DuckDBPyConnection, text: str) -> None:
    check(table, read_condition(text, SCHEMA))


def nodes(node: Node) -> Iterator[Node]:
    yield node
    for below in children(node):
        yield from nodes(below)


@given(text=CONDITIONS)
def test_a_leaf_holds_nothing_that_an_engine_cuts_short(text: str) -> None:
    for leaf in read_condition(text, SCHEMA).leaves:
        assert not any(isinstance(node, Not | All | Either | CaseWhen | Coalesce) for node in nodes(leaf.node))


def test_equal_leaves_are_worked_out_once() -> None:
    assert len(read_condition("age > 1 AND flag OR NOT (age > 1 AND s = 'x')", SCHEMA).leaves) == 3


def test_zeros_of_both_signs_are_different_leaves(table: duckdb.DuckDBPyConnection) -> None:
    condition = read_condition("1 / -0.0 < 0 AND 1 / 0.0 > 0", SCHEMA)
    assert len(condition.leaves) == 2
    check(table, condition)


def test_cases_that_multiply_are_refused_and_not_worked_out() -> None:
    many = " + ".join(["CASE WHEN flag THEN age ELSE x END"] * 30)
    condition = read_condition(f"{many} > 3", SCHEMA)
    assert condition.sql().count("CASE") == 30
    with pytest.raises(ConditionError, match=f"at most {MOST_STEPS:,} steps"):
        _ = condition.leaves


def test_cases_that_repeat_a_long_list_are_refused_before_all_of_them_are_written_out() -> None:
    """A quarter of a second of reading for 9 KB, before there was a bound on it."""
    cases = " ".join(f"WHEN age = {number} THEN s" for number in range(99))
    condition = read_condition(f"CASE {cases} ELSE s END IN ({', '.join(['lower(s)'] * 550)})", SCHEMA)
    begun = time.thread_time()
    with pytest.raises(ConditionError, match="and 100,000 characters when it is written out"):
        _ = condition.leaves
    stopped = time.thread_time() - begun
    begun = time.thread_time()
    for _ in range(10):
        condition.sql()
    assert stopped < 5 * (time.thread_time() - begun)


def test_cases_one_after_another_are_refused_where_the_stack_could_end() -> None:
    for text in (f"CASE {'WHEN flag THEN flag ' * 400} END", f"coalesce({', '.join(['flag'] * 900)})"):
        condition = read_condition(text, SCHEMA)
        with pytest.raises(ConditionError, match=f"more than {MOST_CASES} cases"):
            _ = condition.leaves


FROM_TEXT = [
    "CAST(s AS TIMESTAMPTZ) > '2020-01-01'",
    "year(CAST(s AS TIMESTAMP)) = 2024",
    "age + CAST(s AS DOUBLE) = 207",
    "coalesce(TRY_CAST(s AS INT), age) IN (7, 200, NULL)",
    "s::DECIMAL(10, 2) = 1",
    "CAST(lower(s) AS DATE) IS NULL",
    "CAST(CAST(age AS VARCHAR) AS TIME) IS NULL",
    "CAST(s AS UUID) = 'x'",
    "CAST(CASE WHEN flag THEN s END AS TINYINT) = 1",
    "TRY_CAST('no number' AS INT) = age",
    "s IS TRUE",
]


@pytest.mark.parametrize(
    "text", [*FROM_TEXT, "regexp_matches(s, 'a')", "s SIMILAR TO 'a'", "s LIKE '_%a%b'", "s ILIKE '%a_%b%'"]
)
def test_what_has_no_public_cost_is_refused_there_and_has_sql(table: duckdb.DuckDBPyConnection, text: str) -> None:
    condition = read_condition(f"age > 1 AND {text}", SCHEMA)
    column(table, condition.sql())
    for look in (lambda: condition.cost, lambda: condition.leaves):
        with pytest.raises(ConditionError, match="where must"):
            look()


@pytest.mark.parametrize(
    ("text", "step"),
    [
        ("CAST(s AS TIMESTAMPTZ) IS NULL", "--read s=timestamptz;"),
        ("CAST(s AS TIMESTAMP_NS) IS NULL", "--read s=timestamp;"),
        ("s::BIGINT > 1", "--read s=integer;"),
        ("s::DECIMAL > 1", "--read s=double;"),
        ("s IS NOT FALSE", "--read s=boolean;"),
        ("day = CAST(s AS DATE)", "--read s=date;"),
        ("CAST(s AS UUID) = 'x'", "compare it as text"),
    ],
)
def test_a_cast_of_text_says_how_the_column_gets_its_type(text: str, step: str) -> None:
    with pytest.raises(ConditionError, match=f"must not cast text where the cost of every condition is public.*{step}"):
        _ = read_condition(text, SCHEMA).leaves


@pytest.mark.parametrize("text", [*ACCEPTED, *TESTS])
def test_no_leaf_casts_text(text: str) -> None:
    """What is served is the whole language but for these, patterns without a bound, and regular expressions."""
    condition = read_condition(text, SCHEMA if text in TESTS else EVERY_KIND)
    casts = [node for node in nodes(condition.tree) if isinstance(node, Cast) and node.target != "VARCHAR"]
    from_text = any(node.arguments[0].kind is Kind.TEXT for node in casts)
    unbounded = "regexp" in condition.sql() or text in ("page LIKE 'a_b%c%d'",)
    try:
        _ = condition.leaves
    except ConditionError:
        assert from_text or unbounded
    else:
        assert not from_text
        assert not unbounded
