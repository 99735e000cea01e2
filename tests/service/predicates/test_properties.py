"""Predicates against a second reading of them: an evaluator in Python, over cells that are hard to get right."""

from __future__ import annotations

import datetime
import itertools
import math
import operator
import re
import sys
import time
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparsegate.service.predicates import Column, Kind, PredicateError, PublicSchema, read_predicate
from sparsegate.service.predicates.tree import (
    Among,
    Between,
    Both,
    Comparison,
    Condition,
    Either,
    IsNull,
    Like,
    Literal,
    Not,
)

Row = dict[str, Any]
LONG, NBSP = "x" * 300, "\u00a0"
MAX = sys.float_info.max

# Every type that a kind may have in a table, with the cells at the ends of its range.
CELLS: dict[str, tuple[Kind, str, list[Any]]] = {
    "page": (Kind.TEXT, "VARCHAR", ["", "/pay", "P", "it's", "%", "_", "\\", "\n", "é", "e\u0301", "😀", NBSP, LONG]),
    'say "hi"': (Kind.TEXT, "VARCHAR", ["", "/pay", '"', "''", "NULL", "1", "\U0010ffff", "\uffff", "a%b", "a_b"]),
    "n": (Kind.INTEGER, "BIGINT", [0, 1, -1, 7, 2**63 - 1, -(2**63)]),
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
}
SCHEMA = PublicSchema(tuple(Column(name, kind) for name, (kind, _, _) in CELLS.items()))
LENGTH = max(len(cells) for _, _, cells in CELLS.values()) + 1
# Each column goes round at its own length, with a null in its round, so that cells meet in many ways.
ROWS: list[Row] = [
    {name: ([*cells, None])[row % (len(cells) + 1)] for name, (_, _, cells) in CELLS.items()}
    for row in range(LENGTH * 4)
]


@pytest.fixture(scope="module")
def table() -> duckdb.DuckDBPyConnection:
    """The cells as a dataset holds them: compressed, in memory."""
    connection = duckdb.connect()
    connection.execute("ATTACH ':memory:' AS compressed (COMPRESS)")
    connection.execute("USE compressed")
    columns = ", ".join(f"{quoted(name)} {sort}" for name, (_, sort, _) in CELLS.items())
    connection.execute(f"CREATE TABLE cells (id INTEGER, {columns})")
    marks = ", ".join("?" * (len(CELLS) + 1))
    connection.executemany(f"INSERT INTO cells VALUES ({marks})", [[at, *row.values()] for at, row in enumerate(ROWS)])
    connection.execute("CHECKPOINT compressed")
    return connection


def matching(table: duckdb.DuckDBPyConnection, sql: str) -> set[int]:
    return {at for (at,) in table.execute(f"SELECT id FROM cells WHERE {sql}").fetchall()}


# --- A second reading ------------------------------------------------------------------------------------------------

ORDERS = {
    "=": operator.eq,
    "<>": operator.ne,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def value_of(node: Column | Literal, row: Row) -> Any:
    value = row[node.name] if isinstance(node, Column) else node.constant
    # NaN equals itself and is greater than all else.
    return (math.isnan(value), 0.0 if math.isnan(value) else value) if isinstance(value, float) else value


def truth(node: Condition, row: Row) -> bool | None:
    """True, False or None, by the rules of SQL."""
    if isinstance(node, Column | Literal):
        return row[node.name] if isinstance(node, Column) else bool(node.constant)
    if isinstance(node, Comparison):
        left, right = value_of(node.left, row), value_of(node.right, row)
        return None if left is None or right is None else bool(ORDERS[node.operator](left, right))
    if isinstance(node, Not):
        inner = truth(node.term, row)
        return None if inner is None else not inner
    if isinstance(node, Both | Either):
        found = {truth(term, row) for term in node.terms}
        decisive = isinstance(node, Either)
        return decisive if decisive in found else None if None in found else not decisive
    if isinstance(node, Between):
        ends = Both((Comparison(">=", node.value, node.low), Comparison("<=", node.value, node.high)))
        return truth(Not(ends), row) if node.negated else truth(ends, row)
    cell = value_of(node.column, row)
    if isinstance(node, IsNull):
        return (cell is None) is not node.negated
    if cell is None:
        return None
    if isinstance(node, Among):
        return (cell in [value_of(literal, row) for literal in node.literals]) is not node.negated
    shapes = (".*" if mark == "%" else "." if mark == "_" else re.escape(mark) for mark in node.pattern)
    return (re.fullmatch("".join(shapes), cell, re.DOTALL) is not None) is not node.negated


# --- Trees, and the ways to write them --------------------------------------------------------------------------------


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def columns_of(kind: Kind) -> st.SearchStrategy[Column]:
    return st.sampled_from([column for column in SCHEMA.columns if column.kind is kind])


def literals_of(kind: Kind) -> st.SearchStrategy[Literal]:
    cells = [cell for sort, _, cells in CELLS.values() if sort is kind for cell in cells if len(str(cell)) < 200]
    if kind is Kind.REAL:
        cells = [cell for cell in cells if math.isfinite(cell)]
    others: dict[Kind, st.SearchStrategy[Any]] = {
        Kind.TEXT: st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=6),
        Kind.INTEGER: st.integers(-(2**127) + 1, 2**127 - 1),
        Kind.REAL: st.floats(allow_nan=False, allow_infinity=False),
        Kind.BOOLEAN: st.booleans(),
        Kind.DATE: st.dates(),
        Kind.TIMESTAMP: st.datetimes(),
    }
    return st.builds(Literal, st.just(kind), st.sampled_from(cells) | others[kind])


def comparisons(kind: Kind) -> st.SearchStrategy[Condition]:
    column = columns_of(kind)
    value = column | literals_of(kind)
    signs = ["=", "<>"] if kind is Kind.BOOLEAN else list(ORDERS)
    sides = st.tuples(column, value) | st.tuples(value, column)
    found: st.SearchStrategy[Condition] = sides.flatmap(
        lambda pair: st.builds(Comparison, st.sampled_from(signs), st.just(pair[0]), st.just(pair[1]))
    )
    items = st.lists(literals_of(kind), min_size=1, max_size=5).map(tuple)
    found |= st.builds(Among, column, items, st.booleans()) | st.builds(IsNull, column, st.booleans())
    if kind is not Kind.BOOLEAN:
        found |= st.builds(Between, column, value, value, st.booleans())
    return found


PATTERNS = st.text(st.sampled_from("a%_/pP'é😀\n\\x"), max_size=6).filter(
    lambda text: "_" not in text or re.sub("%+", "%", text)[:-1].count("%") <= 1
)
ATOMS: st.SearchStrategy[Condition] = st.one_of(
    *(comparisons(kind) for kind in Kind),
    st.builds(Like, columns_of(Kind.TEXT), PATTERNS, st.booleans()),
    columns_of(Kind.BOOLEAN),
    literals_of(Kind.BOOLEAN),
)
TREES: st.SearchStrategy[Condition] = st.recursive(
    ATOMS,
    lambda terms: st.one_of(
        st.builds(Not, terms),
        st.builds(Both, st.lists(terms, min_size=2, max_size=3).map(tuple)),
        st.builds(Either, st.lists(terms, min_size=2, max_size=3).map(tuple)),
    ),
    max_leaves=8,
)


def written(node: Condition, style: Any) -> str:
    """One way of many to write the tree, with no more brackets than SQL needs, or with more."""

    def word(text: str) -> str:
        return style.choice([text, text.lower(), text.capitalize()])

    def space() -> str:
        return style.choice([" ", " ", "\n", "\t  ", "\r\n"])

    def value(node: Column | Literal) -> str:
        if isinstance(node, Column):
            plain = re.fullmatch(r"[a-z]+", node.name) and node.name != "order"
            text = node.name if plain and style.choice([True, False]) else quoted(node.name)
        elif node.kind is Kind.TEXT:
            text = "'" + str(node.constant).replace("'", "''") + "'"
        elif node.kind is Kind.BOOLEAN:
            text = word(str(node.constant).upper())
        elif node.kind in (Kind.DATE, Kind.TIMESTAMP):
            text = f"{word(node.kind.upper())} '{node.constant}'"
        else:
            text = repr(node.constant)
        return f"({text})" if style.choice([False] * 5 + [True]) else text

    def term(inner: Condition, above: int) -> str:
        """A part of something that binds as tightly as ``above``: OR 0, AND 1, NOT 2."""
        own = 0 if isinstance(inner, Either) else 1 if isinstance(inner, Both) else 2 if isinstance(inner, Not) else 3
        text = written(inner, style)
        return f"({text})" if own <= above - (above == 2) or style.choice([False] * 5 + [True]) else text

    gap = space()
    if isinstance(node, Column | Literal):
        return value(node)
    if isinstance(node, Comparison):
        tight = style.choice(["", " "]) if node.operator != "!=" else " "  # the engine reads !=-1 as an operator !=-
        return f"{value(node.left)}{tight}{node.operator}{tight}{value(node.right)}"
    if isinstance(node, Not):
        return f"{word('NOT')}{gap}{term(node.term, 2)}"
    if isinstance(node, Both):
        return f"{gap}{word('AND')}{space()}".join(term(inner, 1) for inner in node.terms)
    if isinstance(node, Either):
        return f"{gap}{word('OR')}{space()}".join(term(inner, 0) for inner in node.terms)
    negation = f"{word('NOT')}{space()}" if node.negated else ""
    if isinstance(node, Between):
        ends = f"{value(node.low)}{gap}{word('AND')}{space()}{value(node.high)}"
        return f"{value(node.value)} {negation}{word('BETWEEN')}{space()}{ends}"
    if isinstance(node, IsNull):
        return f"{value(node.column)}{gap}{word('IS')} {negation}{word('NULL')}"
    if isinstance(node, Like):
        return f"{value(node.column)} {negation}{word('LIKE')} {value(Literal(Kind.TEXT, node.pattern))}"
    items = ", ".join(value(literal).strip("()") for literal in node.literals)
    return f"{value(node.column)} {negation}{word('IN')}{gap}({items})"


# --- The properties --------------------------------------------------------------------------------------------------


def check_second_reading(tree: Condition, style: Any, table: duckdb.DuckDBPyConnection) -> None:
    text = written(tree, style)
    sql = read_predicate(text, SCHEMA).sql
    expected = {at for at, row in enumerate(ROWS) if truth(tree, row) is True}
    assert matching(table, sql) == expected
    # And a third: the engine's own reading of the text, where its literals are the same; 0.1 is a decimal to it.
    if "AS DOUBLE" not in sql:
        assert matching(table, text) == expected


@settings(max_examples=60)
@given(tree=TREES, style=st.randoms(use_true_random=False))
def test_a_predicate_matches_the_rows_that_a_second_reading_matches(
    tree: Condition, style: Any, table: duckdb.DuckDBPyConnection
) -> None:
    check_second_reading(tree, style, table)


@pytest.mark.soak
@settings(max_examples=5_000)
@given(tree=TREES, style=st.randoms(use_true_random=False))
def test_many_predicates_match_the_rows_that_a_second_reading_matches(
    tree: Condition, style: Any, table: duckdb.DuckDBPyConnection
) -> None:
    check_second_reading(tree, style, table)


PIECES = [
    *("AND", "OR", "NOT", "IN", "BETWEEN", "LIKE", "IS", "NULL", "TRUE", "(", ")", ",", "=", "<>", "<", ">=", "-", "."),
    *(
        "page",
        "n",
        "r",
        "flag",
        "day",
        "at",
        "order",
        '"say ""hi"""',
        "rowid",
        "'/pay'",
        "'%a_'",
        "''",
        "1",
        "-1",
        "0.5",
    ),
    *("DATE '2024-01-01'", "TIMESTAMP '2024-01-01 00:00:00'", "(1, 2)", "('a')", "IS NOT NULL", "n = 1", "flag", "1e5"),
    *("SELECT", "CAST(", "::", "||", "+", "*", "--", "/*", ";", "'", '"', "$$", "?", "e'", "upper(", "\\", "[", "{{"),
]


@settings(max_examples=200)
@given(text=st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=14).map(" ".join) | st.text(max_size=60))
def test_any_text_is_refused_in_good_form_or_runs(text: str, table: duckdb.DuckDBPyConnection) -> None:
    start, refusal = time.perf_counter(), None
    try:
        sql = read_predicate(text, SCHEMA).sql
    except PredicateError as error:
        refusal = error
    assert time.perf_counter() - start < 2
    if refusal is None:
        matching(table, sql)
    else:
        assert 0 <= refusal.start <= refusal.end <= len(text)


WORDS = st.sampled_from(["flag", "n = 1", "NOT", "AND", "OR", "(", ")", "n", "=", "1", "IN (1)", "BETWEEN", "IS NULL"])


@settings(max_examples=200)
@given(text=st.lists(WORDS, min_size=1, max_size=9).map(" ".join))
def test_what_is_accepted_is_what_the_engine_would_read(text: str, table: duckdb.DuckDBPyConnection) -> None:
    try:
        sql = read_predicate(text, SCHEMA).sql
    except PredicateError:
        return
    assert matching(table, text) == matching(table, sql)


def test_every_pair_of_operators_binds_as_in_the_engine(table: duckdb.DuckDBPyConnection) -> None:
    terms = ["NOT flag", "n BETWEEN 0 AND 1", "page LIKE '/p%'", "page IS NOT NULL", "n NOT IN (1)"]
    for first, second, third in itertools.permutations(terms, 3):
        for text in (f"{first} AND {second} OR {third}", f"NOT {first} OR {second} AND {third}"):
            assert matching(table, read_predicate(text, SCHEMA).sql) == matching(table, text)


@pytest.mark.parametrize("kind", Kind)
def test_every_comparison_of_every_cell_runs(kind: Kind, table: duckdb.DuckDBPyConnection) -> None:
    cells = [cell for sort, _, cells in CELLS.values() if sort is kind for cell in cells]
    literals = [Literal(kind, cell) for cell in cells if not (isinstance(cell, float) and not math.isfinite(cell))]
    columns = [column for column in SCHEMA.columns if column.kind is kind]
    signs = ["=", "<>"] if kind is Kind.BOOLEAN else ["=", "<", ">="]
    style = NoStyle()
    for column, other, sign in itertools.product(columns, [*literals, *columns], signs):
        node = Comparison(sign, column, other)
        expected = {at for at, row in enumerate(ROWS) if truth(node, row) is True}
        assert matching(table, read_predicate(written(node, style), SCHEMA).sql) == expected


class NoStyle:
    """The plainest way to write a tree."""

    def choice(self, options: list[Any]) -> Any:
        return options[0]
