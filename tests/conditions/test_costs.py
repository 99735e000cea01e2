"""The public cost: from the text and the schema alone, additive, and above the time that the worst cells take."""

from __future__ import annotations

import math
import time
from decimal import Decimal, localcontext
from pathlib import Path

import duckdb
import pytest

from sparsegate.conditions import Column, Kind, Schema, costs, read_condition
from sparsegate.conditions.operations import FUNCTIONS, REGEXPS

CELL = 1_000
COLUMNS = (Column("s", Kind.TEXT), Column("n", Kind.INTEGER), Column("flag", Kind.BOOLEAN))
SCHEMA = Schema(COLUMNS, max_cell=CELL)

# What takes longest for its cost, each with the cell on which it does.
WORST = {
    "rtrim(s) = 'x'": "😀",
    "lower(s) = 'x'": "İ",
    "s LIKE '%" + "_" * 40 + "b%'": "😀",
    "s LIKE '%" + "😀" * 40 + "b%x%'": "😀",
    "contains(s, '" + "a" * 40 + "b')": "ab",
    "contains(s, '" + "😀" * 450 + "b')": "😀",
    "s ILIKE '%aab%'": "ß",
    "CAST(s AS DOUBLE) IS NULL": "9",
    "CAST(s AS DECIMAL(38, 0)) IS NULL": "3",
    "CAST(s AS TIMESTAMP) IS NULL": " ",
    "s = 'x'": "x",
}


def cost(text: str, cell: int = CELL) -> int:
    return read_condition(text, Schema(COLUMNS, max_cell=cell)).cost


def nanoseconds(text: str, cell: str, length: int = 1, rows: int = 2_000) -> float:
    """Of this process's own time, for one row, at best."""
    with duckdb.connect() as engine:
        engine.execute("PRAGMA disable_optimizer")
        engine.execute("SET threads = 1")
        engine.execute("CREATE TABLE t AS SELECT $cell AS s FROM range($rows)", {"cell": cell * length, "rows": rows})
        (leaf,) = read_condition(text, SCHEMA).leaves
        times = []
        for _ in range(3):
            start = time.process_time()
            engine.execute(f"SELECT sum({leaf.sql()}) FROM t").fetchall()
            times.append(time.process_time() - start)
    return min(times) / rows * 1e9


@pytest.mark.parametrize("text", WORST)
def test_the_cost_is_above_the_time_of_the_worst_cells(text: str) -> None:
    """In nanoseconds of a machine that may be four times slower than the one on which the costs were measured."""
    cell = WORST[text]
    assert nanoseconds(text, cell, CELL // len(cell)) < 4 * cost(text)


def test_digits_halfway_between_two_doubles_take_no_longer_for_their_cost_than_what_the_delay_is_measured_on() -> None:
    """D is five times the longest count at the speed of lower: with the cost of other casts these took ten times."""
    low = 1e-300
    with localcontext(prec=2_000):
        middle = format((Decimal(low) + Decimal(math.nextafter(low, 1))) / 2, "E")
    digits, exponent = middle.split("E")
    for length in (30, 300, len(middle)):
        cell = f"{digits[: length - len(exponent) - 1]}E{exponent}"
        measured = nanoseconds("lower(s) = 'x'", "É", length) / cost("lower(s) = 'x'", length)
        for type in ("DOUBLE", "FLOAT"):
            text = f"CAST(s AS {type}) IS NULL"
            assert nanoseconds(text, cell) / cost(text, length) < 2.5 * measured, (type, length)


def test_the_cost_depends_on_the_length_of_cells_where_text_is_read_alone() -> None:
    assert cost("n > 5", 10) == cost("n > 5", 10_000)
    for text in ("s = 'x'", "lower(s) = 'x'", "s LIKE '%a_'", "CAST(s AS DATE) IS NULL", "s IS NULL"):
        assert 5 < cost(text, 10_000) / cost(text, 1_000) <= 10.1


def test_the_cost_of_parts_adds_up() -> None:
    apart = cost("n > 5") + cost("s = 'x'") + cost("s LIKE '%a%'")
    assert apart <= cost("n > 5 AND (s = 'x' OR NOT s LIKE '%a%')") <= apart + 10
    assert cost("n > 5 AND n > 5 AND n > 5") == cost("n > 5") + 2


def test_more_values_longer_patterns_and_more_functions_cost_more() -> None:
    for less, more in [
        ("n IN (1)", "n IN (1, 2, 3)"),
        ("s = 'x'", "s = 'xxxxxxxxxx'"),
        ("s LIKE '%_a'", "s LIKE '%_aaaa'"),
        ("s LIKE 'a%b'", "s LIKE '%" + "a" * 90 + "%b'"),
        ("s = 'x'", "trim(s) = 'x'"),
        ("s LIKE '%ab%'", "s ILIKE '%ab%'"),
        ("CASE WHEN flag THEN n END > 1", "CASE WHEN flag THEN n ELSE n + 1 END > 1"),
    ]:
        assert cost(less) < cost(more)


def test_every_function_but_regular_expressions_has_a_cost() -> None:
    for name, function in FUNCTIONS.items():
        if name not in REGEXPS and Kind.TEXT in function.takes:
            assert cost(f"{name}(s{', ' + repr('x') if function.pattern else ''}) IS NULL") > 5 * CELL


def test_a_window_costs_what_it_takes_and_is_as_long_as_a_date_when_it_is_compared() -> None:
    schema = Schema((Column("d", Kind.DATE),))
    short, long = (read_condition(f"year_week(d) = '{'x' * length}'", schema).cost for length in (1, 1_000))
    assert long - short == costs.COMPARED * (costs.SHOWN - 1)
    with duckdb.connect() as engine:
        engine.execute("SET threads = 1")
        engine.execute("CREATE TABLE t AS SELECT DATE '2024-12-30' AS d FROM range(200_000)")
        (leaf,) = read_condition("year_week(d) = '2024-W09'", schema).leaves
        start = time.process_time()
        engine.execute(f"SELECT sum({leaf.sql()}) FROM t").fetchall()
        assert (time.process_time() - start) / 200_000 * 1e9 < 4 * short


@pytest.mark.parametrize(
    "row",
    [
        f"| any step | {costs.STEP} |",
        f"| a text cell that is read | {costs.READ} for",
        f"| comparing texts | {costs.COMPARED} for",
        f"`LIKE '%text%'` | {costs.PER_CHARACTER['contains']} for",
        f"| `LIKE` with `_` | {costs.WILDCARD} for",
        f"`trim` | {costs.PER_CHARACTER['lower']}; {costs.PER_CHARACTER['trim']} for",
        f"`year_week` | {costs.WINDOW} |",
        f"| a cast | {costs.FAILED:,} (it may fail), to DECIMAL {costs.FAILED_DECIMAL:,};",
        "to DECIMAL {1:,} and {0};".format(*costs.FROM_TEXT["DECIMAL"]),
        "to DOUBLE or FLOAT {1:,} and {0} |".format(*costs.FROM_TEXT["DOUBLE"]),
    ],
)
def test_the_page_has_the_costs_that_are_charged(row: str) -> None:
    assert row in (Path(__file__).parents[2] / "docs" / "reference" / "conditions.md").read_text(encoding="utf-8")
