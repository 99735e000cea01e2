"""Sizes are bounded, and so is the time that reading takes."""

from __future__ import annotations

import sys
import time
import traceback

import duckdb
import pytest
from tests.support.condition_texts import SCHEMA, refusal

from sparsegate.conditions import read_condition
from sparsegate.conditions.reading import MOST_CHARACTERS, MOST_DEPTH
from sparsegate.errors import ConditionError

DEEP = MOST_DEPTH - 1
AT_THE_LIMIT = {
    "characters": "n = 1" + " " * (MOST_CHARACTERS - 5),
    "terms": "flag AND " * 1_000 + "NOT flag",
    "depth of brackets": "(" * (DEEP - 1) + "n = 1" + ")" * (DEEP - 1),
    "depth of NOTs": "NOT " * DEEP + "flag",
    "depth of calls": "lower(" * (DEEP - 1) + "page" + ")" * (DEEP - 1) + " = 'x'",
    "depth of CASEs": "CASE WHEN flag THEN paid ELSE " * (DEEP - 1) + "flag" + " END" * (DEEP - 1),
    "a row of signs": "n" + " + n" * (DEEP - 1) + " > 1",
    "list": "n IN (" + ", ".join(map(str, range(1_600))) + ")",
    "string": "page = '" + "x" * 9_900 + "'",
    "pattern": "page LIKE '" + "%x" * 4_900 + "'",
    "digits": "r = 0." + "1" * 9_900,
}
BEYOND_THE_LIMIT = {
    "characters": "n = 1" + " " * (MOST_CHARACTERS - 4),
    "depth of brackets": "(" * MOST_DEPTH + "n = 1" + ")" * MOST_DEPTH,
    "depth of NOTs": "NOT " * MOST_DEPTH + "flag",
    "depth of both": "NOT (" * 26 + "n = 1" + ")" * 26,
    "depth of calls": "lower(" * MOST_DEPTH + "page" + ")" * MOST_DEPTH + " = 'x'",
    "depth of CASEs": "CASE WHEN flag THEN paid ELSE " * MOST_DEPTH + "flag" + " END" * MOST_DEPTH,
    "a row of signs": "n" + " + n" * MOST_DEPTH + " > 1",
    "a row of casts": "n" + "::BIGINT" * MOST_DEPTH + " > 1",
    "a row of tests": "n" + " IS NULL" * MOST_DEPTH,
}


@pytest.mark.parametrize("size", AT_THE_LIMIT)
def test_a_condition_at_a_limit_is_read_and_runs(size: str, blank: duckdb.DuckDBPyConnection) -> None:
    condition = read_condition(AT_THE_LIMIT[size], SCHEMA)
    blank.execute(f"SELECT {condition.sql()} FROM blank").fetchall()


@pytest.mark.parametrize("size", BEYOND_THE_LIMIT)
def test_a_condition_beyond_a_limit_is_refused(size: str) -> None:
    refusal(BEYOND_THE_LIMIT[size])


MONSTERS = [
    *("(" * 10_000, ")" * 10_000, "(" * 4_990 + "n = 1" + ")" * 4_990, "NOT " * 2_499 + "flag"),
    *("n IN (" * 1_600, "-" * 10_000, "- " * 5_000, "'" * 9_999, '"' * 9_999, "'" + '"' * 9_999, "/*" * 5_000),
    *("n = " + "9" * 9_990, "r = " + "9" * 4_000 + "e" + "9" * 4_000, "a" * 10_000, "1" * 10_000, "1." * 5_000),
    *("1_" * 5_000, "DATE " * 2_000, "DATE '" + "1" * 9_000 + "'", "TIMESTAMP '" + "1-" * 4_000 + "'"),
    *("CASE " * 2_000, "CASE WHEN " * 1_000, "CAST(" * 2_000, "n::" * 3_000, "coalesce(" * 1_000, "e'" + "\\'" * 4_000),
    *(
        "n = 1 AND " * 999 + "n = ",
        "$$" * 4_999 + "$",
        "- -" * 3_000 + "1 = n",
        "n = CAST('" + "9" * 9_000 + "' AS INT)",
    ),
]


@pytest.mark.parametrize("text", MONSTERS, ids=lambda text: text[:10])
def test_a_monster_is_refused_at_once(text: str) -> None:
    start = time.process_time()
    refusal(text)
    assert time.process_time() - start < 2


def test_a_caller_that_is_deep_in_its_stack_gets_a_refusal_and_no_recursion_error() -> None:
    def descend(levels: int) -> ConditionError:
        return descend(levels - 1) if levels else refusal("(" * 40 + "n = 1" + ")" * 40)

    used = sum(1 for _ in traceback.walk_stack(None))
    assert "room on the stack" in str(descend(sys.getrecursionlimit() - used - 60))
