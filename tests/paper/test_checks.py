"""Checks of the paper's statements: decided by intervals, dataset by dataset or use by use."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.support.made_findings import made_findings, use_row

from sparsegate.paper.checks import Missing, fnr_with_ser, less_accurate
from sparsegate.paper.findings import CLAIMED, CORRECTED, Judgement, Support, UseRow

USES = ("itemsets", "features", "pairs")


def judged(*rows: UseRow) -> Judgement:
    return less_accurate(replace(made_findings(), uses=rows))


def both(use: str, lead: float, **options: float) -> list[UseRow]:
    return [use_row(use, CLAIMED, 0.1, **options), use_row(use, CORRECTED, 0.1 + lead, **options)]


def test_each_use_must_lose_much_somewhere() -> None:
    found = judged(*(one for use in USES for one in both(use, 0.4)))
    assert found.support is Support.SUPPORTED
    assert list(found.places) == list(USES)
    assert "itemsets: 0.500 against 0.100, +0.400 ± 0.007 at ε = 0.1, where the original costs 0.9" in found.numbers
    assert judged(*both("pairs", 0.01, epsilon=1.0), *both("pairs", 0.4)).support is Support.SUPPORTED


def test_one_use_that_loses_little_refutes_it() -> None:
    found = judged(*both("itemsets", 0.4), *both("features", 0.01))
    assert found.support is Support.NOT_SUPPORTED
    assert [place.support for place in found.places.values()] == [Support.SUPPORTED, Support.NOT_SUPPORTED]


def test_what_an_interval_does_not_decide_is_undecided_and_asks_for_no_rounds() -> None:
    found = judged(*both("pairs", 0.12))
    assert found.support is Support.UNDECIDED
    assert not found.wanting
    assert judged(*both("pairs", 0.4, runs=8)).support is Support.UNDECIDED


@pytest.mark.parametrize("rows", [(), (use_row("pairs", CLAIMED, 0.1),)])
def test_without_the_uses_there_is_no_verdict(rows: tuple[UseRow, ...]) -> None:
    with pytest.raises(Missing, match="needs the uses"):
        judged(*rows)


def test_a_correlation_in_doubt_wants_runs_of_the_rows_that_have_few() -> None:
    made = made_findings()
    rows = {
        cell: replace(row, runs=100 if cell.method == "em" else 100_000, ser_std=0.9, fnr_std=0.9)
        for cell, row in made.rows.items()
    }
    wanting = fnr_with_ser(replace(made, rows=rows)).wanting
    assert wanting
    assert {cell.method for cell in wanting} == {"em"}
