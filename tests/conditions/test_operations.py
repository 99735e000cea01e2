"""The hypothesis of the theorem, executed: every operation of the tables has a value for every cell, and none fails.

The engine has no optimizer here and no TRY around an expression, so an error of any part on any cell is an error of the
query.
"""

from __future__ import annotations

from contextlib import suppress

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparsegate.conditions import Kind, duckdb_columns, read_condition, read_value
from sparsegate.conditions.operations import CONVERTS, FUNCTIONS, TYPES, WINDOWS
from sparsegate.errors import ConditionError

TEXTS = [
    *("", " ", "x", "7", "-0", "1e400", "1e-400", "9" * 1_000, "0." + "3" * 998, "inf", "nan", "true", "T", "\t1\n"),
    *("2024-02-29", "2023-02-29", "infinity", "-infinity", "epoch", "290000-01-01", "2024-01-01 25:00:00", "24:00"),
    *("2024-01-01 10:00:00+99", "2024-01-01 10:00:00 Europe/Berlin", "\x00", "\U0010ffff", "İıßﬀ", "😀" * 250),
    *("00000000-0000-0000-0000-000000000000", "99999999-9999-9999-9999-999999999999", "\\", "(", "%_"),
]
CELLS = {
    "text": ("VARCHAR", ["?"] * len(TEXTS)),
    "tiny": ("TINYINT", ["-128", "0", "127"]),
    "big": ("BIGINT", [str(-(2**63)), "0", "1", str(2**63 - 1)]),
    "unsigned": ("UBIGINT", ["0", str(2**64 - 1)]),
    "huge": ("HUGEINT", [f"'{-(2**127) + 1}'::HUGEINT", "0", f"'{2**127 - 1}'::HUGEINT"]),
    "uhuge": ("UHUGEINT", ["0", f"'{2**128 - 1}'::UHUGEINT"]),
    "float": ("FLOAT", ["'nan'", "'inf'", "1e-45", "-3.4e38", "0"]),
    "real": (
        "DOUBLE",
        ["'nan'", "'-inf'", "'inf'", "5e-324", "1.7e308", "-0.0", "9.3e18", "1e40", "0.5"],
    ),
    "money": ("DECIMAL(38, 2)", ["0", "'999999999999999999999999999999999999.99'", "-0.01"]),
    "flag": ("BOOLEAN", ["TRUE", "FALSE"]),
    "day": ("DATE", ["'infinity'", "'-infinity'", "'0001-01-01'", "'5877642-06-25 (BC)'", "'5881580-07-10'"]),
    "moment": ("TIMESTAMP", ["'infinity'", "'-infinity'", "'290309-12-22 (BC) 00:00:00'", "'294247-01-10 04:00:54'"]),
    "before": ("TIMESTAMP", ["make_timestamp(-9223372036854775806)", "make_timestamp(-9223372022400000001)"]),
    "clock": ("TIME", ["'00:00:00'", "'23:59:59.999999'", "'24:00:00'"]),
    "nanos": ("TIMESTAMP_NS", ["'1677-09-22 00:00:00'", "'2262-04-11 23:47:16'"]),
    "zoned": (
        "TIMESTAMPTZ",
        ["'infinity'", "'-infinity'", "'2024-01-01 10:00:00+02'"],
    ),
    "id": ("UUID", ["'00000000-0000-0000-0000-000000000000'"]),
    "mood": ("ENUM ('', 'x', '7')", ["'x'", "'7'", "''"]),
}
TYPE_IDS = {"DECIMAL(38, 2)": "decimal", "TIMESTAMPTZ": "timestamp with time zone", "ENUM ('', 'x', '7')": "enum"}
SCHEMA, READ = duckdb_columns({name: TYPE_IDS.get(sort, sort.lower()) for name, (sort, _) in CELLS.items()})
COLUMNS = {kind: [column.name for column in SCHEMA.columns if column.kind is kind] for kind in Kind}


@pytest.fixture(scope="module")
def table() -> duckdb.DuckDBPyConnection:
    """Each column has its cells, and a null, each beside nulls."""
    connection = duckdb.connect()
    connection.execute("PRAGMA disable_optimizer")
    connection.execute(f"CREATE TABLE raw ({', '.join(f'{name} {sort}' for name, (sort, _) in CELLS.items())})")
    for name, (_, cells) in CELLS.items():
        rows = [[text] for text in TEXTS] if name == "text" else [[]]
        for row in rows:
            values = "(?)" if name == "text" else ", ".join(f"({cell})" for cell in [*cells, "NULL"])
            connection.execute(f"INSERT INTO raw ({name}) VALUES {values}", row)
    read = ", ".join(f"{sql} AS {name}" for name, sql in READ.items())
    connection.execute(f"CREATE VIEW cells AS SELECT {read} FROM raw")
    return connection


def run(table: duckdb.DuckDBPyConnection, text: str) -> None:
    """The whole and its leaves have a value for every row."""
    condition = read_condition(text, SCHEMA)
    columns = [condition.sql()]
    with suppress(ConditionError):  # a regular expression, or a cast of text
        columns += [leaf.sql() for leaf in condition.leaves]
    table.execute(f"SELECT {', '.join(columns)} FROM cells").fetchall()


def test_every_column_is_readable() -> None:
    assert SCHEMA.unreadable == ()
    assert all(COLUMNS.values())


@pytest.mark.parametrize("target", sorted({known.name for known in TYPES.values()}))
def test_every_cast_of_every_cell_has_a_value(table: duckdb.DuckDBPyConnection, target: str) -> None:
    for kind, names in COLUMNS.items():
        for name in names if TYPES[target].kind in CONVERTS[kind] else ():
            run(table, f"CAST({name} AS {target}) IS NULL")
            for other in (
                "VARCHAR",
                "TINYINT",
                "UBIGINT",
                "DECIMAL(38, 10)",
                "FLOAT",
                "BOOLEAN",
                "DATE",
                "TIMESTAMP_NS",
            ):
                if TYPES[other.partition("(")[0]].kind in CONVERTS[TYPES[target].kind]:
                    run(table, f"CAST(CAST({name} AS {target}) AS {other}) IS NULL")


def test_what_is_refused_as_a_cast_would_be_null_or_fail(table: duckdb.DuckDBPyConnection) -> None:
    for kind, names in COLUMNS.items():
        for target in set(Kind) - CONVERTS[kind]:
            with pytest.raises(ConditionError, match="no value converts"):
                read_condition(f"CAST({names[0]} AS {'DOUBLE' if target is Kind.REAL else target}) IS NULL", SCHEMA)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_of_every_cell_has_a_value(table: duckdb.DuckDBPyConnection, name: str) -> None:
    function = FUNCTIONS[name]
    for kind in function.takes:
        for column in COLUMNS[kind]:
            for pattern in TEXTS if function.pattern else [""]:
                if function.pattern and ("\0" in pattern or ("regexp" in name and pattern in ("(", "\\"))):
                    continue
                rest = f", '{pattern}')" if function.pattern else ") IS NULL"
                run(table, f"{name}({column}{rest}")


@pytest.mark.parametrize("sign", ["+", "-", "*", "/", "=", "<", "<>", ">=", "IS DISTINCT FROM", "IN", "BETWEEN"])
def test_every_pair_of_cells_has_a_value(table: duckdb.DuckDBPyConnection, sign: str) -> None:
    """Every row beside every other, through a join."""
    for left in SCHEMA.columns:
        for right in SCHEMA.columns:
            numbers = {left.kind, right.kind} <= {Kind.INTEGER, Kind.REAL}
            moments = {left.kind, right.kind} <= {Kind.DATE, Kind.TIMESTAMP}
            if not (numbers or (sign not in "+-*/" and (left.kind is right.kind or moments))):
                continue
            end = {"IN": f"({right.name})", "BETWEEN": f"{right.name} AND {right.name}"}.get(sign, right.name)
            test = f"{left.name} {sign} {end}" + (" > 0" if sign in "+-*/" else "")
            sql = read_condition(test, SCHEMA).leaves[0].sql()
            first = f"SELECT {left.name} FROM cells" if left != right else "SELECT 1 AS one"
            table.execute(f"SELECT {sql} FROM ({first}) a, (SELECT {right.name} FROM cells) b").fetchall()


SENTENCE = r"""AND OR NOT IN BETWEEN LIKE IS NULL TRUE ( ) , = <> < >= - . text big real flag day moment clock rowid
'/pay' '' '%a_' 1 -1 0.5 1e5 DATE '2024-01-01' TIMESTAMP TIME '10:00' (1,2) ('a') CASE WHEN THEN ELSE END coalesce(
CAST( AS INTEGER :: lower( year( contains( ILIKE ~~ DISTINCT FROM SELECT || + * / -- /* ; ' $$ ? e' upper( [ {{ " \ """
PIECES = SENTENCE.split()


@settings(max_examples=300)
@given(text=st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=14).map(" ".join) | st.text(max_size=60))
def test_any_text_is_refused_in_good_form_or_has_a_value(text: str, table: duckdb.DuckDBPyConnection) -> None:
    refused = None
    try:
        table.execute(f"SELECT {read_condition(text, SCHEMA).sql()} FROM cells").fetchall()
    except ConditionError as error:
        refused = error
    assert refused is None or 0 <= refused.start <= refused.end <= len(text)


def test_a_window_is_text_that_sorts_as_time_does() -> None:
    """Weeks are those of ISO 8601: the last days of 2024 are in the first week of 2025."""
    schema, cells = duckdb_columns({"day": "date"})
    days = ("0001-01-01", "2024-02-29", "2024-12-30", "9999-12-31", "10000-01-01", "infinity")
    rows = ", ".join(f"(DATE '{day}')" for day in days)
    values = [read_value(f"{window}(day)", schema).sql(cells=cells) for window in WINDOWS]
    assert duckdb.sql(f"SELECT {', '.join(values)} FROM (VALUES {rows}) AS t(day)").fetchall() == [
        ("0001-01", "0001-Q1", "0001-W01"),
        ("2024-02", "2024-Q1", "2024-W09"),
        ("2024-12", "2024-Q4", "2025-W01"),
        ("9999-12", "9999-Q4", "9999-W52"),
        (None, None, None),
        (None, None, None),
    ]
