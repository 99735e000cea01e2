"""The public cost: from the text and the schema alone, and additive."""

from __future__ import annotations

import time
from itertools import pairwise
from pathlib import Path

import duckdb
import pytest

from sparsegate.conditions import Column, Kind, Schema, read_condition
from sparsegate.conditions import operations as costs
from sparsegate.conditions.condition import DIALECTS
from sparsegate.conditions.operations import FUNCTIONS, REGEXPS

CELL = 1_000
COLUMNS = (Column("s", Kind.TEXT), Column("n", Kind.INTEGER), Column("flag", Kind.BOOLEAN))
SCHEMA = Schema(COLUMNS, max_cell=CELL)


def cost(text: str, cell: int = CELL) -> int:
    return read_condition(text, Schema(COLUMNS, max_cell=cell)).cost


def test_the_cost_depends_on_the_length_of_cells_where_text_is_read_alone() -> None:
    assert cost("n > 5", 10) == cost("n > 5", 10_000)
    for text in ("s = 'x'", "lower(s) = 'x'", "s LIKE '%a_'", "s IS NULL"):
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


def test_what_an_engine_works_out_again_costs_again_at_every_level() -> None:
    """The first argument of BETWEEN is worked out twice: fifty of them, one inside the other, would never end."""
    text, costs_of = "lower(s) BETWEEN 'a' AND 'b'", []
    for _ in range(40):
        costs_of.append(cost(text))
        text = f"({text}) BETWEEN FALSE AND TRUE"
    assert costs_of[0] > 2 * cost("lower(s) IS NULL") - 100
    assert all(2 * less < more < 2 * less + 200 for less, more in pairwise(costs_of))


def test_no_form_of_an_operation_has_its_argument_more_often_than_it_is_charged_for() -> None:
    for operation, form in DIALECTS["duckdb"].forms.items():
        assert form.count("{0}") in (0, costs.TIMES.get(operation, 1)), operation


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
        f"`LIKE` with several `%` | {costs.SOUGHT} for",
        f"| `LIKE` with `_` | {costs.WILDCARD} for",
        f"`trim` | {costs.PER_CHARACTER['lower']}; {costs.PER_CHARACTER['trim']} for",
        f"`year_week` | {costs.WINDOW} |",
        f"| what stands first in `BETWEEN`; in `week`; in a window | {costs.TIMES['between']}; {costs.TIMES['week']}; "
        f"{costs.TIMES['year_week']} times its own |",
        f"| a cast | {costs.FAILED:,} (it may fail), to DECIMAL {costs.FAILED_DECIMAL:,};",
    ],
)
def test_the_page_has_the_costs_that_are_charged(row: str) -> None:
    assert row in (Path(__file__).parents[2] / "docs" / "reference" / "conditions.md").read_text(encoding="utf-8")
