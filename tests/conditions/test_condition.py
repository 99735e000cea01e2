"""Conditions against a second reading of them, by the engine, and against their leaves: over hard cells."""

from __future__ import annotations

import datetime
import itertools
import math
import random
import sys
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from typing import Any

import duckdb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.condition_texts import ACCEPTED
from tests.support.condition_texts import SCHEMA as EVERY_KIND

from sparsegate.conditions import FALSE, TRUE, UNKNOWN, Condition, ConditionError, Kind, duckdb_columns, read_condition
from sparsegate.conditions.condition import MOST_CASES, MOST_STEPS
from sparsegate.conditions.tree import Apply, CaseWhen, Cast, Node, children

Row = dict[str, Any]
LONG, NBSP = "x" * 300, "\u00a0"
MAX = sys.float_info.max

# Every type that a kind may have in a table, with the cells at the ends of its range.
PAGES = ["", "/pay", "P", "it's", "%", "_", "\\", "\n", "é", "e\u0301", "😀", NBSP, LONG, "aXa_b"]
CELLS: dict[str, tuple[Kind, str, list[Any]]] = {
    "page": (Kind.TEXT, "VARCHAR", PAGES),
    'say "hi"': (Kind.TEXT, "VARCHAR", ["", "/pay", '"', "''", "NULL", "1", "\U0010ffff", "\uffff", "a%b", "a_b"]),
    "n": (Kind.INTEGER, "BIGINT", [0, 1, -1, 7, 200, 2**63 - 1, -(2**63)]),
    "order": (Kind.INTEGER, "BIGINT", [0, 1, 7, 8, 2**63 - 1, 2**31]),
    "tiny": (Kind.INTEGER, "TINYINT", [0, 1, 7, 127, -128]),
    "unsigned": (Kind.INTEGER, "UBIGINT", [0, 1, 7, 2**64 - 1]),
    "huge": (Kind.INTEGER, "HUGEINT", [0, 1, -(2**127) + 1, 2**127 - 1, 2**64 - 1]),
    "r": (Kind.REAL, "DOUBLE", [0.0, -0.0, 0.1, 1.0, 5e-324, MAX, -MAX, math.inf, -math.inf, math.nan]),
    "float": (Kind.REAL, "FLOAT", [0.0, 0.5, 1.0, -1.5, math.inf, math.nan, 2.0**-149]),
    "flag": (Kind.BOOLEAN, "BOOLEAN", [True, False]),
    "paid": (Kind.BOOLEAN, "BOOLEAN", [True, False]),
    "day": (Kind.DATE, "DATE", [datetime.date(1, 1, 1), datetime.date(2024, 2, 29), datetime.date(9999, 12, 31)]),
    "moment": (
        Kind.TIMESTAMP,
        "TIMESTAMP",
        [datetime.datetime(1, 1, 1), datetime.datetime(2024, 2, 29, 12, 30, 0, 500_000), datetime.datetime.max],
    ),
    "clock": (Kind.TIME, "TIME", [datetime.time(0), datetime.time(12, 30, 0, 500_000), datetime.time.max]),
}
SCHEMA, READ = duckdb_columns({name: sort.lower() for name, (_, sort, _) in CELLS.items()})
DRAW = random.Random(1)
ROWS: list[Row] = [{name: DRAW.choice([*cells, None]) for name, (_, _, cells) in CELLS.items()} for _ in range(150)]


@pytest.fixture(scope="module")
def table() -> duckdb.DuckDBPyConnection:
    """The cells: compressed, in memory, read as a table is read."""
    connection = duckdb.connect()
    connection.execute("ATTACH ':memory:' AS compressed (COMPRESS)")
    connection.execute("USE compressed")
    columns = ", ".join(f"{quoted(name)} {sort}" for name, (_, sort, _) in CELLS.items())
    connection.execute(f"CREATE TABLE raw (id INTEGER, {columns})")
    marks = ", ".join("?" * (len(CELLS) + 1))
    connection.executemany(f"INSERT INTO raw VALUES ({marks})", [[at, *row.values()] for at, row in enumerate(ROWS)])
    connection.execute("CHECKPOINT compressed")
    read = ", ".join(f"{sql} AS {quoted(name)}" for name, sql in READ.items())
    connection.execute(f"CREATE VIEW cells AS SELECT id, {read} FROM raw")
    return connection


def matching(table: duckdb.DuckDBPyConnection, sql: str) -> set[int]:
    return {at for (at,) in table.execute(f"SELECT id FROM cells WHERE {sql}").fetchall()}


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def coded(table: duckdb.DuckDBPyConnection, *tests: str) -> list[Any]:
    """The value of each test for every row: 0 false, 1 unknown, 2 true."""
    columns = ", ".join(f"coalesce(2 * CAST({test} AS TINYINT), 1) AS t{place}" for place, test in enumerate(tests))
    return list(table.execute(f"SELECT {columns} FROM cells").fetchnumpy().values())


def nodes(node: Node) -> Iterator[Node]:
    yield node
    for below in children(node):
        yield from nodes(below)


def cut_short(node: Node) -> bool:
    return isinstance(node, CaseWhen) or (
        isinstance(node, Apply) and node.operation in ("not", "and", "or", "coalesce")
    )


def check(table: duckdb.DuckDBPyConnection, condition: Condition) -> None:
    """The leaves hold nothing that an engine cuts short, and combine to the condition."""
    assert condition.cost > 0
    assert not any(cut_short(node) for leaf in condition.leaves for node in nodes(leaf.node))
    whole, *leaves = coded(table, condition.sql(), *(leaf.truth() for leaf in condition.leaves))
    assert set(np.unique(whole)) <= {FALSE, UNKNOWN, TRUE}
    np.testing.assert_array_equal(np.broadcast_to(condition.combine(leaves), whole.shape), whole)


# --- What is drawn: texts, which the engine itself reads as a second reading ----------------------------------------


def columns(kind: Kind) -> st.SearchStrategy[str]:
    names = [name for name, (sort, _, _) in CELLS.items() if sort is kind]
    return st.sampled_from([name if name.isalpha() and name != "order" else quoted(name) for name in names])


def literals(kind: Kind) -> st.SearchStrategy[str]:
    cells = [cell for sort, _, cells in CELLS.values() if sort is kind for cell in cells if len(str(cell)) < 200]
    others: dict[Kind, st.SearchStrategy[Any]] = {
        Kind.TEXT: st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=6),
        Kind.INTEGER: st.integers(-(2**127) + 1, 2**127 - 1),
        Kind.REAL: st.floats(allow_nan=False, allow_infinity=False),
        Kind.BOOLEAN: st.booleans(),
        Kind.DATE: st.dates(),
        Kind.TIMESTAMP: st.datetimes(),
        Kind.TIME: st.times(),
    }

    def written(value: Any) -> str:
        if kind is Kind.TEXT:
            return "'" + value.replace("'", "''") + "'"
        if kind is Kind.REAL:  # bare, 0.1 is a decimal to the engine
            return f"CAST('{value!r}' AS DOUBLE)"
        return f"{kind.upper()} '{value}'" if kind in (Kind.DATE, Kind.TIMESTAMP, Kind.TIME) else str(value).upper()

    return (st.sampled_from(cells) | others[kind]).map(written)


def compared(values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    forms = ("{} = {}", "{} <> {}", "{} < {}", "{} >= {}", "{} IN ({}, {})", "{} BETWEEN {} AND {}")
    return st.one_of(
        *(st.builds(form.format, *[values] * form.count("{}")) for form in (*forms, "{} IS DISTINCT FROM {}")),
        st.builds("{} NOT IN ({})".format, values, values),
        st.builds("{} IS NULL".format, values),
    )


def chosen(values: st.SearchStrategy[str], tests: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    choice = st.builds("CASE WHEN {} THEN {} ELSE {} END".format, tests, values, values)
    return choice | st.builds("coalesce({}, {})".format, values, values)


PATTERNS = st.text(st.sampled_from("a%_/pP'é😀\n\\x"), max_size=6).map(lambda pattern: pattern.replace("'", "''"))
LIKES = st.builds("{}{} LIKE '{}'".format, columns(Kind.TEXT), st.sampled_from(["", " NOT"]), PATTERNS)
ATOMS = st.one_of(*(compared(columns(kind) | literals(kind)) for kind in Kind), LIKES, columns(Kind.BOOLEAN))
TREES = st.recursive(
    ATOMS,
    lambda terms: st.one_of(
        *(st.builds(form.format, terms) for form in ("NOT {}", "NOT ({})", "({}) IS NULL")),
        *(st.builds(form.format, terms, terms) for form in ("{} AND {}", "{} OR {}", "({}) AND ({})", "({}) OR ({})")),
        st.builds("({}) = ({})".format, terms, terms),
        chosen(terms, terms),
        compared(chosen(columns(Kind.INTEGER) | literals(Kind.INTEGER), terms)),
    ),
    max_leaves=6,
)


@settings(max_examples=80)
@given(text=TREES)
def test_a_condition_matches_the_rows_that_the_engine_matches_by_the_text(text: str, table) -> None:
    condition = read_condition(text, SCHEMA)
    assert matching(table, condition.sql()) == matching(table, text)
    with suppress(ConditionError):  # a pattern with _ and several % has no leaves
        check(table, condition)


def test_every_pair_of_operators_binds_as_in_the_engine(table: duckdb.DuckDBPyConnection) -> None:
    terms = ["NOT flag", "n BETWEEN 0 AND 1", "page LIKE '/p%'", "page IS NOT NULL", "n NOT IN (1)", "flag = paid"]
    for first, second, third in itertools.permutations(terms, 3):
        for text in (f"{first} AND {second} OR {third}", f"NOT {first} OR {second} AND {third}"):
            assert matching(table, read_condition(text, SCHEMA).sql()) == matching(table, text)


# --- Leaves ----------------------------------------------------------------------------------------------------------

TESTS = [
    "CAST(n AS TINYINT) > 3",
    "n * 100000000 * 100000000 > 5",
    "10 / n > 0.01",
    "10 / n IS NULL",
    "-n < 0",
    "r * 1e308 > r",
    "r BETWEEN -1 AND 'nan'",
    "page = 'x'",
    "page IS NOT DISTINCT FROM NULL",
    "page LIKE '%x%' OR page ILIKE 'ax%B_'",
    "page LIKE '%a%b%'",
    "page NOT LIKE '_'",
    "contains(page, '_%')",
    "CAST(day AS TIMESTAMP) > '2020-01-01 12:00:00'",
    "CAST(n AS BOOLEAN)",
    "length(page) < n",
    "n + r = 200",
    "CAST(r AS SMALLINT) BETWEEN 1 AND n",
    "coalesce(CAST(r AS INT), n) IN (7, 200, NULL)",
    "CAST(n AS VARCHAR) LIKE '2%'",
    "year(CAST(day AS TIMESTAMP)) = 2024",
    "CASE n WHEN 200 THEN page WHEN 1 THEN 'y' END <> lower(coalesce(page, 'X'))",
    "CASE WHEN flag THEN n ELSE r END > CASE WHEN page IS NULL THEN 1 ELSE 0 END",
    "flag = (n > 5)",
    "(flag OR n > 5) < (page = 'x')",
    "CAST(flag AND n > 5 AS INTEGER) + 1 > 1",
    "flag IS NOT TRUE",
    "(flag AND n = 1) IS UNKNOWN",
    "day > '2024-01-01' AND week(day) < 50",
    "flag",
    "NULL",
    "TRUE",
]


@pytest.mark.parametrize("text", TESTS)
def test_each_test_and_its_leaves_agree(table: duckdb.DuckDBPyConnection, text: str) -> None:
    check(table, read_condition(text, SCHEMA))


def test_equal_leaves_are_worked_out_once_and_zeros_of_both_signs_are_different(table) -> None:
    assert len(read_condition("n > 1 AND flag OR NOT (n > 1 AND page = 'x')", SCHEMA).leaves) == 3
    condition = read_condition("1 / -0.0 < 0 AND 1 / 0.0 > 0", SCHEMA)
    assert len(condition.leaves) == 2
    check(table, condition)


CASES = " ".join(f"WHEN n = {number} THEN page" for number in range(99))
REPEATED = f"CASE {CASES} ELSE page END IN ({', '.join(['lower(page)'] * 550)})"


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        (" + ".join(["CASE WHEN flag THEN n ELSE r END"] * 30) + " > 3", f"at most {MOST_STEPS:,} steps"),
        (f"CASE {'WHEN flag THEN flag ' * 400} END", f"more than {MOST_CASES} cases"),
        (f"coalesce({', '.join(['flag'] * 900)})", f"more than {MOST_CASES} cases"),
        (REPEATED, "and 100,000 characters when it is written out"),
    ],
    ids=["multiply", "one after another", "coalesce", "repeat a long list"],
)
def test_cases_that_multiply_or_would_end_the_stack_are_refused_and_not_worked_out(text: str, rule: str) -> None:
    condition = read_condition(text, SCHEMA)
    assert condition.sql()
    with pytest.raises(ConditionError, match=rule):
        _ = condition.leaves


FROM_TEXT = {
    "CAST(page AS TIMESTAMPTZ) > '2020-01-01'": "--read page=timestamptz;",
    "year(CAST(page AS TIMESTAMP_NS)) = 2024": "--read page=timestamp;",
    "n + CAST(page AS DOUBLE) = 207": "--read page=double;",
    "coalesce(TRY_CAST(page AS INT), n) IN (7, 200, NULL)": "--read page=integer;",
    "page::DECIMAL(10, 2) = 1": "--read page=double;",
    "CAST(lower(page) AS DATE) IS NULL": "--read page=date;",
    "CAST(CAST(n AS VARCHAR) AS TIME) IS NULL": "--read n=time;",
    "CAST(page AS UUID) = 'x'": "compare it as text",
    "CAST(CASE WHEN flag THEN page END AS TINYINT) = 1": "--read page=integer;",
    "TRY_CAST('no number' AS INT) = n": "--read COLUMN=integer;",
    "page IS TRUE": "--read page=boolean;",
    **dict.fromkeys(("regexp_matches(page, 'a')", "page SIMILAR TO 'a'"), "use LIKE"),
    **dict.fromkeys(("page LIKE '_%a%b'", "page ILIKE '%a_%b%'"), "ask for the parts with AND"),
}


@pytest.mark.parametrize("text", FROM_TEXT)
def test_what_has_no_public_cost_is_refused_there_with_the_next_step_and_has_sql(table, text: str) -> None:
    condition = read_condition(f"n > 1 AND {text}", SCHEMA)
    coded(table, condition.sql())
    for look in (lambda: condition.cost, lambda: condition.leaves):
        with pytest.raises(ConditionError, match=FROM_TEXT[text]):
            look()


def test_no_leaf_casts_text() -> None:
    """What is served is the whole language but for these, patterns without a bound, and regular expressions."""
    for text in (*ACCEPTED, *TESTS):
        condition = read_condition(text, SCHEMA if text in TESTS else EVERY_KIND)
        casts = [node for node in nodes(condition.tree) if isinstance(node, Cast) and node.target != "VARCHAR"]
        from_text = any(node.arguments[0].kind is Kind.TEXT for node in casts)
        unbounded = from_text or "regexp" in condition.sql() or text == "page LIKE 'a_b%c%d'"
        with pytest.raises(ConditionError) if unbounded else nullcontext():
            _ = condition.leaves
