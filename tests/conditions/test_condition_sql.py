"""Conditions against a second reading of them: an evaluator in Python, over cells that are hard to get right.

A drawn condition is a list of words and a function from a row to its value. The words are joined with white space,
comments and capitals of all sorts, and with no more brackets than SQL needs, or with more.
"""

from __future__ import annotations

import datetime
import itertools
import math
import operator
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import duckdb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparsegate.conditions import TRUE, Kind, duckdb_columns, read_condition
from sparsegate.errors import ConditionError

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
    "clock": (Kind.TIME, "TIME", [datetime.time(0), datetime.time(12, 30, 0, 500_000), datetime.time.max]),
}
SCHEMA, READ = duckdb_columns({name: sort.lower() for name, (_, sort, _) in CELLS.items()})
LENGTH = max(len(cells) for _, _, cells in CELLS.values()) + 1
# Each column goes round at its own length, with a null in its round, so that cells meet in many ways.
ROWS: list[Row] = [
    {name: ([*cells, None])[row % (len(cells) + 1)] for name, (_, _, cells) in CELLS.items()}
    for row in range(LENGTH * 4)
]


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


# --- A second reading ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Drawn:
    """Words, how tightly they bind (OR 1, AND 2, NOT 3, IS 4, tests 5, values 9), and what they mean."""

    words: tuple[str, ...]
    level: int
    value: Callable[[Row], Any]

    def within(self, level: int) -> tuple[str, ...]:
        return self.words if self.level >= level else ("(", *self.words, ")")


ORDERS = {"=": operator.eq, "<>": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


def key(value: Any) -> Any:
    """NaN equals itself and is greater than all else."""
    return (math.isnan(value), 0.0 if math.isnan(value) else value) if isinstance(value, float) else value


def compare(sign: str, left: Any, right: Any) -> bool | None:
    return None if left is None or right is None else bool(ORDERS[sign](key(left), key(right)))


def kleene(found: list[bool | None], decisive: bool) -> bool | None:
    return decisive if decisive in found else None if None in found else not decisive


def inverted(value: bool | None) -> bool | None:
    return None if value is None else not value


def like(cell: str | None, pattern: str) -> bool | None:
    shapes = (".*" if mark == "%" else "." if mark == "_" else re.escape(mark) for mark in pattern)
    return None if cell is None else re.fullmatch("".join(shapes), cell, re.DOTALL) is not None


# --- What is drawn ---------------------------------------------------------------------------------------------------


def columns(kind: Kind) -> st.SearchStrategy[Drawn]:
    def drawn(name: str) -> Drawn:
        return Drawn((name if name.isalpha() and name != "order" else quoted(name),), 9, lambda row: row[name])

    return st.sampled_from([name for name, (sort, _, _) in CELLS.items() if sort is kind]).map(drawn)


def literals(kind: Kind) -> st.SearchStrategy[Drawn]:
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

    def drawn(value: Any) -> Drawn:
        if kind is Kind.TEXT:
            words: tuple[str, ...] = ("'" + value.replace("'", "''") + "'",)
        elif kind in (Kind.DATE, Kind.TIMESTAMP, Kind.TIME):
            words = (kind.upper(), f"'{value}'")
        elif kind is Kind.REAL and not math.isfinite(value):
            words = ("CAST", "(", f"'{value}'", "AS", "DOUBLE", ")")
        else:
            words = (str(value).upper(),) if kind is Kind.BOOLEAN else (repr(value),)
        return Drawn(words, 9, lambda row: value)

    return (st.sampled_from(cells) | others[kind]).map(drawn)


def chosen(values: st.SearchStrategy[Drawn], tests: st.SearchStrategy[Drawn]) -> st.SearchStrategy[Drawn]:
    """CASE and coalesce."""
    by_test = st.tuples(tests, values, values).map(
        lambda of: Drawn(
            ("CASE", "WHEN", *of[0].words, "THEN", *of[1].words, "ELSE", *of[2].words, "END"),
            9,
            lambda row: of[1].value(row) if of[0].value(row) is True else of[2].value(row),
        )
    )
    by_null = st.tuples(values, values).map(
        lambda of: Drawn(
            ("coalesce", "(", *of[0].words, ",", *of[1].words, ")"),
            9,
            lambda row: of[1].value(row) if of[0].value(row) is None else of[0].value(row),
        )
    )
    return by_test | by_null


def compared(values: st.SearchStrategy[Drawn]) -> st.SearchStrategy[Drawn]:
    ordered = st.tuples(values, st.sampled_from(list(ORDERS)), values).map(
        lambda of: Drawn(
            (*of[0].within(6), of[1], *of[2].within(6)),
            5,
            lambda row: compare(of[1], of[0].value(row), of[2].value(row)),
        )
    )
    among = st.tuples(values, st.lists(values, min_size=1, max_size=4)).map(
        lambda of: Drawn(
            (*of[0].within(7), "IN", "(", *[w for one in of[1] for w in (*one.words, ",")][:-1], ")"),
            6,
            lambda row: kleene([compare("=", of[0].value(row), one.value(row)) for one in of[1]], True),
        )
    )
    between = st.tuples(values, values, values).map(
        lambda of: Drawn(
            (*of[0].within(7), "BETWEEN", *of[1].within(7), "AND", *of[2].within(7)),
            6,
            lambda row: kleene(
                [
                    compare(">=", of[0].value(row), of[1].value(row)),
                    compare("<=", of[0].value(row), of[2].value(row)),
                ],
                False,
            ),
        )
    )
    distinct = st.tuples(values, values).map(
        lambda of: Drawn(
            (*of[0].within(5), "IS", "DISTINCT", "FROM", *of[1].within(6)),
            4,
            lambda row: key(of[0].value(row)) != key(of[1].value(row)),
        )
    )
    missing = values.map(lambda of: Drawn((*of.within(4), "IS", "NULL"), 4, lambda row: of.value(row) is None))
    return st.one_of(ordered, among, between, distinct, missing)


PATTERNS = st.text(st.sampled_from("a%_/pP'é😀\n\\x"), max_size=6)
LIKES = st.tuples(columns(Kind.TEXT), st.sampled_from(["LIKE", "NOT LIKE"]), PATTERNS).map(
    lambda of: Drawn(
        (*of[0].words, *of[1].split(), "'" + of[2].replace("'", "''") + "'"),
        6,
        lambda row: inverted(like(of[0].value(row), of[2])) if "NOT" in of[1] else like(of[0].value(row), of[2]),
    )
)


def joined(word: str, level: int, terms: list[Drawn]) -> Drawn:
    words = [w for term in terms for w in (word, *term.within(level + 1))][1:]
    return Drawn(tuple(words), level, lambda row: kleene([term.value(row) for term in terms], word == "OR"))


ATOMS = st.one_of(*(compared(columns(kind) | literals(kind)) for kind in Kind), LIKES, columns(Kind.BOOLEAN))
TREES = st.recursive(
    ATOMS,
    lambda terms: st.one_of(
        terms.map(lambda of: Drawn(("NOT", *of.within(3)), 3, lambda row: inverted(of.value(row)))),
        st.builds(joined, st.just("AND"), st.just(2), st.lists(terms, min_size=2, max_size=3)),
        st.builds(joined, st.just("OR"), st.just(1), st.lists(terms, min_size=2, max_size=3)),
        chosen(terms, terms),
        compared(terms),
        compared(chosen(columns(Kind.INTEGER) | literals(Kind.INTEGER), terms)),
    ),
    max_leaves=6,
)


def written(words: tuple[str, ...], style: Any) -> str:
    """One way of many to write the words."""
    text = ""
    for word in words:
        known = word.isalpha() and word.isupper()
        text += style.choice([word, word.lower(), word.capitalize()]) if known else word
        text += style.choice([" ", " ", "\n", "\t  ", "\r\n", "/* AND */", " -- OR\n"])
    return text


# --- The properties --------------------------------------------------------------------------------------------------


def check_second_reading(drawn: Drawn, style: Any, table: duckdb.DuckDBPyConnection) -> None:
    text = written(drawn.words, style)
    condition = read_condition(text, SCHEMA)
    expected = {at for at, row in enumerate(ROWS) if drawn.value(row) is True}
    assert matching(table, condition.sql()) == expected
    # And a third: the engine's own reading of the text, where its literals are the same; 0.1 is a decimal to it.
    if "AS DOUBLE" not in condition.sql():
        assert matching(table, text) == expected
    try:
        leaves = condition.leaves
    except ConditionError:  # a pattern with _ and several %
        return
    columns = ", ".join(f"{leaf.sql()} AS l{place}" for place, leaf in enumerate(leaves))
    found = table.execute(f"SELECT {columns} FROM cells ORDER BY id").fetchnumpy()
    combined = condition.combine(list(found.values()))
    assert set(np.flatnonzero(combined == TRUE).tolist()) == expected


@settings(max_examples=80)
@given(drawn=TREES, style=st.randoms(use_true_random=False))
def test_a_condition_matches_the_rows_that_a_second_reading_matches(
    drawn: Drawn, style: Any, table: duckdb.DuckDBPyConnection
) -> None:
    check_second_reading(drawn, style, table)


@pytest.mark.soak
@settings(max_examples=5_000)
@given(drawn=TREES, style=st.randoms(use_true_random=False))
def test_many_conditions_match_the_rows_that_a_second_reading_matches(
    drawn: Drawn, style: Any, table: duckdb.DuckDBPyConnection
) -> None:
    check_second_reading(drawn, style, table)


def test_every_pair_of_operators_binds_as_in_the_engine(table: duckdb.DuckDBPyConnection) -> None:
    terms = ["NOT flag", "n BETWEEN 0 AND 1", "page LIKE '/p%'", "page IS NOT NULL", "n NOT IN (1)", "flag = paid"]
    for first, second, third in itertools.permutations(terms, 3):
        for text in (f"{first} AND {second} OR {third}", f"NOT {first} OR {second} AND {third}"):
            assert matching(table, read_condition(text, SCHEMA).sql()) == matching(table, text)
