"""Nothing that is asked where strangers see the time takes more than three times its public cost, on any cell found.

``tests/support/dear_cells.py`` says what is searched, and what is measured. An hour of it is in the soak
(SPARSEGATE_SEARCH_SECONDS says otherwise); here, what it begins from.
"""

from __future__ import annotations

import os
import sys

import pytest
from tests.support import dear_cells
from tests.support.dear_cells import LONGEST, OPERATIONS, Found, Search, public_leaf

from sparsegate.conditions import Column, Kind, Leaf, Schema, read_condition
from sparsegate.conditions.condition import DIALECTS

MOST = 3
SECONDS = float(os.environ.get("SPARSEGATE_SEARCH_SECONDS", "3600"))
TEXTS = [name for name, (kind, _) in OPERATIONS.items() if kind is Kind.TEXT]
VALUES = [name for name in OPERATIONS if name not in TEXTS]


def dear(search: Search, operations: list[str], *, begin: int) -> list[Found]:
    trials = [trial for operation in operations for trial in search.seeds(operation, most=begin)]
    found = [Found(search.ratio(trial, above=MOST), trial) for trial in trials]
    return [each for each in found if each.ratio > MOST]


def test_no_cell_that_was_dear_before_takes_more_than_its_public_cost() -> None:
    search = Search(seed=35)
    assert not dear(search, TEXTS, begin=2)
    assert not dear(search, VALUES[::5], begin=1)


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
    monkeypatch.setitem(dear_cells.ROWS, Kind.TEXT, 40)
    found = Search(seed=35, leaf=leaf).run(1, ["cast from text"])["cast from text"]
    assert found.ratio > 10 * MOST


def test_the_search_finds_a_text_that_is_looked_for_by_a_regular_expression(monkeypatch: pytest.MonkeyPatch) -> None:
    """A long text that is there: milliseconds for one cell, and microseconds for one that lacks it."""
    monkeypatch.setitem(DIALECTS["duckdb"].forms, "contains", "regexp_matches({}, regexp_escape({}))")  # type: ignore[arg-type]
    monkeypatch.setitem(dear_cells.ROWS, Kind.TEXT, 20)
    search = Search(seed=35)
    (trial, *_) = search.seeds("contains")
    assert search.ratio(trial) > 10 * MOST
