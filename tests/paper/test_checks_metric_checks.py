"""What the paper says about its measures: which rows a doubt about it is a doubt about."""

from __future__ import annotations

from dataclasses import replace

from tests.support.made_findings import made_findings

from sparsegate.paper.checks import fnr_with_ser


def test_a_correlation_in_doubt_wants_runs_of_the_rows_that_have_few() -> None:
    made = made_findings()
    rows = {
        cell: replace(row, runs=100 if cell.method == "em" else 100_000, ser_std=0.9, fnr_std=0.9)
        for cell, row in made.rows.items()
    }
    wanting = fnr_with_ser(replace(made, rows=rows)).wanting
    assert wanting
    assert {cell.method for cell in wanting} == {"em"}
