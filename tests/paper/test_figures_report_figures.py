"""The figures of the page show the rows of the results, each measure with its own standard error."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.support.made_findings import made_findings, tampered

from sparsegate.paper.figures import COMPARISONS, comparisons, error_figure, error_figures, score_figure


def test_a_line_has_the_means_and_standard_errors_of_its_rows() -> None:
    findings = tampered(made_findings(), lambda row: row.method == "em", total_ser_std=0.5, total_ser_mean=0.25)
    drawn = error_figures(findings, lambda *_: "")["non-interactive"]
    (panel,) = (panel for panel in drawn.panels if panel.dataset == "zipf")
    assert list(panel.charts) == ["SER", "total SER", "FNR"]
    points = panel.charts["SER"].lines[-1].points
    assert [point.y for point in points] == [findings.get("zipf", "em", count).ser_mean for count in findings.counts]
    assert points[0].error == pytest.approx(0.05 / 10**2.5)
    assert panel.charts["total SER"].lines[-1].points[0].error == pytest.approx(0.5 / 10**2.5)
    assert panel.charts["total SER"].lines[-1].points[0].y == 0.25


def test_a_figure_begins_with_the_measure_that_it_is_about() -> None:
    panels = error_figures(made_findings(), lambda *_: "")["thresholds"].panels
    assert list(panels[0].charts) == ["total SER", "SER", "FNR"]


def test_the_figure_of_larger_c_has_every_c_and_is_there_only_with_one() -> None:
    findings = made_findings()
    assert "large-c" in {one.name for one in comparisons(findings)}
    (large,) = (one for one in COMPARISONS if one.name == "large-c")
    assert [row.count for row in large.points(findings, "aol", "em")] == [25, 50, 100, 200, 400, 140_106]
    few = replace(findings, rows={key: row for key, row in findings.rows.items() if row.count in findings.counts})
    assert error_figure(large, few, lambda *_: "") is None


def test_methods_that_no_figure_shows_have_one_of_their_own() -> None:
    findings = made_findings()
    assert "more-methods" not in {one.name for one in comparisons(findings)}
    rows = {replace(row.cell, method="mine"): replace(row, method="mine") for row in findings.rows.values()}
    mine = replace(findings, rows=findings.rows | rows, methods={**findings.methods, "mine": {"key": "mine"}})
    chart = error_figures(mine, lambda *_: "")["more-methods"].panels[0].charts["SER"]
    assert [line.label for line in chart.lines] == ["mine", "EM"]


def test_scores_have_a_line_for_each_dataset() -> None:
    (panel,) = score_figure(made_findings()).panels
    lines = panel.charts["score"].lines
    assert [line.label for line in lines] == ["kosarak", "aol", "zipf"]
    assert (lines[0].points[-1].x, lines[0].points[-1].y) == (300, 1000 / 300)
