"""The hypothesis of the theorem, executed: every operation of the tables has a value for every cell, and none fails.

The engine has no optimizer here and no TRY around an expression, so an error of any part on any cell is an error of the
query. Then the public cost: it comes from the text and the schema alone, and adds up; and nothing that is asked where
strangers see the time takes more than three times that, on any cell that ``tests/support/dear_cells.py`` finds. An hour
of its search is in the soak (SPARSEGATE_SEARCH_SECONDS says otherwise); here, what it begins from.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support import dear_cells
from tests.support.dear_cells import LONGEST, OPERATIONS, Found, Search, public_leaf

from sparsegate.conditions import Column, Kind, Leaf, Schema, duckdb_columns, read_condition, read_value
from sparsegate.conditions import operations as costs
from sparsegate.conditions.condition import FORMS
from sparsegate.conditions.operations import CONVERTS, FUNCTIONS, REGEXPS, TYPES, WINDOWS
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
    "real": ("DOUBLE", ["'nan'", "'-inf'", "'inf'", "5e-324", "1.7e308", "-0.0", "9.3e18", "1e40", "0.5"]),
    "money": ("DECIMAL(38, 2)", ["0", "'999999999999999999999999999999999999.99'", "-0.01"]),
    "flag": ("BOOLEAN", ["TRUE", "FALSE"]),
    "day": ("DATE", ["'infinity'", "'-infinity'", "'0001-01-01'", "'5877642-06-25 (BC)'", "'5881580-07-10'"]),
    "moment": ("TIMESTAMP", ["'infinity'", "'-infinity'", "'290309-12-22 (BC) 00:00:00'", "'294247-01-10 04:00:54'"]),
    "before": ("TIMESTAMP", ["make_timestamp(-9223372036854775806)", "make_timestamp(-9223372022400000001)"]),
    "clock": ("TIME", ["'00:00:00'", "'23:59:59.999999'", "'24:00:00'"]),
    "nanos": ("TIMESTAMP_NS", ["'1677-09-22 00:00:00'", "'2262-04-11 23:47:16'"]),
    "zoned": ("TIMESTAMPTZ", ["'infinity'", "'-infinity'", "'2024-01-01 10:00:00+02'"]),
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


def run(table: duckdb.DuckDBPyConnection, texts: list[str]) -> None:
    """Each condition, and its leaves, have a value for every row."""
    columns = []
    for text in texts:
        condition = read_condition(text, SCHEMA)
        columns.append(condition.sql())
        with suppress(ConditionError):  # a regular expression, or a cast of text
            columns += [leaf.truth() for leaf in condition.leaves]
    table.execute(f"SELECT {', '.join(columns)} FROM cells").fetchall()


AGAIN = ("VARCHAR", "TINYINT", "UBIGINT", "DECIMAL(38, 10)", "FLOAT", "BOOLEAN", "DATE", "TIMESTAMP_NS")


@pytest.mark.parametrize("target", sorted({known.name for known in TYPES.values()}))
def test_every_cast_of_every_cell_has_a_value(table: duckdb.DuckDBPyConnection, target: str) -> None:
    own = TYPES[target].kind
    for name in (name for kind, names in COLUMNS.items() if own in CONVERTS[kind] for name in names):
        again = [other for other in AGAIN if TYPES[other.partition("(")[0]].kind in CONVERTS[own]]
        cast = f"CAST({name} AS {target})"
        run(table, [f"{cast} IS NULL", *(f"CAST({cast} AS {other}) IS NULL" for other in again)])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_of_every_cell_has_a_value(table: duckdb.DuckDBPyConnection, name: str) -> None:
    function = FUNCTIONS[name]
    patterns = [text for text in TEXTS if "\0" not in text and not ("regexp" in name and text in ("(", "\\"))]
    rests = [f", '{pattern}')" for pattern in patterns] if function.pattern else [") IS NULL"]
    for column in (column for kind in function.takes for column in COLUMNS[kind]):
        run(table, [f"{name}({column}{rest}" for rest in rests])


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
            sql = read_condition(test, SCHEMA).leaves[0].truth()
            first = f"SELECT {left.name} FROM cells" if left != right else "SELECT 1 AS one"
            table.execute(f"SELECT {sql} FROM ({first}) a, (SELECT {right.name} FROM cells) b").fetchall()


SENTENCE = r"""AND OR NOT IN BETWEEN LIKE IS NULL TRUE ( ) , = <> < >= - . text big real flag day moment clock rowid
'/pay' '' '%a_' 1 -1 0.5 1e5 DATE '2024-01-01' TIMESTAMP TIME '10:00' (1,2) ('a') CASE WHEN THEN ELSE END coalesce(
CAST( AS INTEGER :: lower( year( contains( ILIKE ~~ DISTINCT FROM SELECT || + * / -- /* ; ' $$ ? e' upper( [ {{ " \ """
PIECES = SENTENCE.split()


@settings(max_examples=150)
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


# --- The public cost -------------------------------------------------------------------------------------------------

CELL = 1_000
PRICED = (Column("s", Kind.TEXT), Column("n", Kind.INTEGER), Column("flag", Kind.BOOLEAN))


def cost(text: str, cell: int = CELL) -> int:
    return read_condition(text, Schema(PRICED, max_cell=cell)).cost


def test_the_cost_is_public_and_adds_up() -> None:
    """It depends on the length of cells where text is read alone, and on what is asked of them."""
    assert cost("n > 5", 10) == cost("n > 5", 10_000)
    for text in ("s = 'x'", "lower(s) = 'x'", "s LIKE '%a_'", "s IS NULL"):
        assert 5 < cost(text, 10_000) / cost(text, 1_000) <= 10.1
    apart = cost("n > 5") + cost("s = 'x'") + cost("s LIKE '%a%'")
    assert apart <= cost("n > 5 AND (s = 'x' OR NOT s LIKE '%a%')") <= apart + 10
    assert cost("n > 5 AND n > 5 AND n > 5") == cost("n > 5") + 2
    for less, more in [
        ("n IN (1)", "n IN (1, 2, 3)"),
        ("s = 'x'", "s = 'xxxxxxxxxx'"),
        ("s LIKE '%_a'", "s LIKE '%_aaaa'"),
        ("s LIKE 'a%b'", "s LIKE '%" + "a" * 90 + "%b'"),
        ("s = 'x'", "trim(s) = 'x'"),
        ("CASE WHEN flag THEN n END > 1", "CASE WHEN flag THEN n ELSE n + 1 END > 1"),
    ]:
        assert cost(less) < cost(more)
    for name, function in FUNCTIONS.items():
        if name not in REGEXPS and Kind.TEXT in function.takes:
            assert cost(f"{name}(s{', ' + repr('x') if function.pattern else ''}) IS NULL") > 5 * CELL


def test_what_an_engine_works_out_again_costs_again_at_every_level() -> None:
    """The first argument of BETWEEN is worked out twice: fifty of them, one inside the other, would never end."""
    for operation, form in FORMS.items():
        assert form.count("{0}") in (0, costs.TIMES.get(operation, 1)), operation
    text, costs_of = "lower(s) BETWEEN 'a' AND 'b'", []
    for _ in range(40):
        costs_of.append(cost(text))
        text = f"({text}) BETWEEN FALSE AND TRUE"
    assert costs_of[0] > 2 * cost("lower(s) IS NULL") - 100
    assert all(2 * less < more < 2 * less + 200 for less, more in pairwise(costs_of))


def test_the_page_has_the_costs_that_are_charged() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "conditions.md").read_text(encoding="utf-8")
    rows = [
        f"| any step | {costs.STEP} |",
        f"| a text cell that is read | {costs.READ} for",
        f"| comparing texts | {costs.COMPARED} for",
        f"`LIKE` with several `%` | {costs.SOUGHT} for",
        f"| `LIKE` with `_` | {costs.WILDCARD} for",
        f"`trim` | {costs.PER_CHARACTER['lower']}; {costs.PER_CHARACTER['trim']} for",
        f"`year_week` | {costs.WINDOW} |",
        f"| what stands first in `BETWEEN`; in `week`; in a window | {costs.TIMES['between']}; {costs.TIMES['week']}; "
        f"{costs.TIMES['year_week']} times its own |",
        f"| a cast | {costs.FAILED:,} (it may fail), to DECIMAL {costs.FAILED_DECIMAL:,};",
    ]
    assert [row for row in rows if row not in page] == []


MOST = 3
SECONDS = float(os.environ.get("SPARSEGATE_SEARCH_SECONDS", "3600"))
ON_TEXTS = [name for name, (kind, _) in OPERATIONS.items() if kind is Kind.TEXT]
ON_VALUES = [name for name in OPERATIONS if name not in ON_TEXTS]


def dear(search: Search, operations: list[str], *, begin: int) -> list[Found]:
    trials = [trial for operation in operations for trial in search.seeds(operation, most=begin)]
    found = [Found(search.ratio(trial, above=MOST), trial) for trial in trials]
    return [each for each in found if each.ratio > MOST]


def test_no_cell_that_was_dear_before_takes_more_than_its_public_cost() -> None:
    search = Search(seed=35)
    assert not dear(search, ON_TEXTS, begin=1)
    assert not dear(search, ON_VALUES[::10], begin=1)


@pytest.mark.soak
@pytest.mark.timeout(3 * SECONDS + 600)
def test_an_hour_of_search_finds_no_dear_cell(capsys: pytest.CaptureFixture[str]) -> None:
    best = sorted(Search(seed=35).run(SECONDS).values(), key=lambda each: -each.ratio)
    with capsys.disabled():
        sys.stdout.write("\n" + "".join(f"{each}\n" for each in best))
    assert not [str(each) for each in best if each.ratio > MOST]


# --- Twins: what was in the language once, and is found ---------------------------------------------------------------


def test_the_search_finds_a_text_that_is_cast_to_a_time_with_a_zone(monkeypatch: pytest.MonkeyPatch) -> None:
    """At the cost that it had: 5 to read a character, 8 to convert it, 2,000 to fail."""

    def leaf(condition: str, kind: Kind) -> Leaf:
        if "TIMESTAMPTZ" not in condition:
            return public_leaf(condition, kind)
        tree = read_condition(condition, Schema((Column("c", kind),))).tree
        return Leaf(tree, 60 + 13 * LONGEST + 2_000)

    monkeypatch.setitem(dear_cells.OPERATIONS, "cast from text", (Kind.TEXT, "CAST(c AS TIMESTAMPTZ) IS NULL"))
    monkeypatch.setitem(dear_cells.ROWS, Kind.TEXT, 15)
    found = Search(seed=35, leaf=leaf).run(1, ["cast from text"])["cast from text"]
    assert found.ratio > 10 * MOST


def test_the_search_finds_a_text_that_is_looked_for_by_a_regular_expression(monkeypatch: pytest.MonkeyPatch) -> None:
    """A long text that is there: milliseconds for one cell, and microseconds for one that lacks it."""
    monkeypatch.setitem(FORMS, "contains", "regexp_matches({}, regexp_escape({}))")
    monkeypatch.setitem(dear_cells.ROWS, Kind.TEXT, 20)
    search = Search(seed=35)
    (trial, *_) = search.seeds("contains")
    assert search.ratio(trial) > 10 * MOST
