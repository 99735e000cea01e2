"""Sizes are bounded, and so is the time that reading and matching take."""

from __future__ import annotations

import sys
import time

import duckdb
import pytest
from tests.support.condition_texts import SCHEMA, refusal

from sparsegate.service.predicates import PredicateError, read_predicate

AT_THE_LIMIT = {
    "characters": "n = 1" + " " * 9_995,
    "words": "flag AND " * 99 + "NOT flag",
    "depth of brackets": "(" * 25 + "n = 1" + ")" * 25,
    "depth of NOTs": "NOT " * 25 + "flag",
    "depth of both": "NOT (" * 12 + "n = 1" + ")" * 12,
    "brackets one after another": " AND ".join(["(n = 1)"] * 50),
    "list": "n IN (" + ", ".join(map(str, range(1_000))) + ")",
    "several lists": " OR ".join(["n IN (" + ",".join(["1"] * 1_000) + ")"] * 4),
    "string": "page = '" + "x" * 1_000 + "'",
    "pattern": "page LIKE '" + "x" * 200 + "'",
    "percent signs": "page LIKE '" + "%x" * 20 + "'",
    "percent signs that are one": "page LIKE '" + "%" * 500 + "'",
    "digits": "r = 0." + "1" * 98,
}
BEYOND_THE_LIMIT = {
    "characters": "n = 1" + " " * 9_996,
    "words": "flag AND " * 100 + "flag",
    "depth of brackets": "(" * 26 + "n = 1" + ")" * 26,
    "depth of NOTs": "NOT " * 26 + "flag",
    "depth of both": "NOT (" * 13 + "n = 1" + ")" * 13,
    "list": "n IN (" + ", ".join(map(str, range(1_001))) + ")",
    "string": "page = '" + "x" * 1_001 + "'",
    "pattern": "page LIKE '" + "x" * 201 + "'",
    "percent signs": "page LIKE '" + "%x" * 21 + "'",
    "digits": "r = 0." + "1" * 99,
}


@pytest.mark.parametrize("size", AT_THE_LIMIT)
def test_a_predicate_at_a_limit_is_read(size: str, blank: duckdb.DuckDBPyConnection) -> None:
    sql = read_predicate(AT_THE_LIMIT[size], SCHEMA).sql
    assert blank.execute(f"SELECT count(*) FROM blank WHERE {sql}").fetchall() == [(0,)]


@pytest.mark.parametrize("size", BEYOND_THE_LIMIT)
def test_a_predicate_beyond_a_limit_is_refused(size: str) -> None:
    refusal(BEYOND_THE_LIMIT[size])


@pytest.mark.parametrize(
    "text",
    [
        "(" * 10_000,
        ")" * 10_000,
        "(" * 4_990 + "n = 1" + ")" * 4_990,
        "NOT " * 2_499 + "flag",
        "n = 1 AND " * 999 + "n = 1",
        "n IN (" * 1_600,
        "-" * 10_000,
        "- " * 5_000,
        "'" * 9_999,
        '"' * 9_999,
        "'" + '"' * 9_999,
        "n = " + "9" * 9_990,
        "r = " + "9" * 4_000 + "e" + "9" * 4_000,
        "a" * 10_000,
        "1" * 10_000,
        "1." * 5_000,
        "page LIKE '" + "_%" * 4_000 + "'",
        "DATE " * 2_000,
        "DATE '" + "1" * 9_000 + "'",
    ],
    ids=lambda text: text[:10],
)
def test_a_monster_is_refused_at_once(text: str) -> None:
    start = time.perf_counter()
    refusal(text)
    assert time.perf_counter() - start < 2


def test_a_caller_that_is_deep_in_its_stack_gets_a_refusal_and_no_recursion_error() -> None:
    def descend(levels: int) -> PredicateError:
        return descend(levels - 1) if levels else refusal("(" * 25 + "n = 1" + ")" * 25)

    limit = sys.getrecursionlimit()
    assert isinstance(descend(limit - 400), PredicateError)


@pytest.mark.parametrize("pattern", ["%a%a%a%a%a%b", "%a_b", "%a_b%", "a%a_b%", "_%a", "%" + "a" * 190 + "_b%"])
@pytest.mark.parametrize("negation", ["", "NOT "])
def test_a_pattern_is_matched_in_a_short_time(pattern: str, negation: str) -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE cells AS SELECT repeat('a', 200_000) AS page")
    sql = read_predicate(f"page {negation}LIKE '{pattern}'", SCHEMA).sql
    start = time.perf_counter()
    connection.execute(f"SELECT count(*) FROM cells WHERE {sql}").fetchall()
    assert time.perf_counter() - start < 2


# --- Manners ---------------------------------------------------------------------------------------------------------
