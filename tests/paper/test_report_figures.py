"""Figures: drawn from the results alone, honest about stand-ins and oracles, and without a trace in global style."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import matplotlib
import pytest
from tests.support.made_findings import made_findings, tampered

from sparsegate.paper import charts
from sparsegate.paper.charts import save
from sparsegate.paper.figures import COMPARISONS, ORACLE, draw_figure, score_figure, shown_figures
from sparsegate.paper.page import PageFigure
from sparsegate.paper.results import Findings


def page_figures(findings: Findings) -> dict[str, PageFigure]:
    shown = shown_figures(findings)
    return {figure.name: figure.page_figure(lines, findings, lambda *_: "") for figure, lines in shown.items()}


@pytest.fixture(scope="module")
def made() -> Findings:
    """Two datasets, and at c = 100 three values of epsilon."""
    whole = made_findings().only(["kosarak", "zipf"])
    return replace(whole, scores={name: whole.scores[name] for name in whole.datasets})


@pytest.fixture(scope="module")
def drawn(made: Findings) -> dict[str, Any]:
    figures = page_figures(made)
    return {name: draw_figure(figures[name]) for name in ("interactive", "non-interactive", "epsilon")}


def test_a_figure_is_written_as_svg_and_png_without_touching_the_style(made: Findings, tmp_path: Path) -> None:
    before = dict(matplotlib.rcParams)
    figure = draw_figure(score_figure(made))
    save(figure, tmp_path / "scores")
    assert dict(matplotlib.rcParams) == before
    assert (tmp_path / "scores.png").read_bytes().startswith(b"\x89PNG")
    with matplotlib.rc_context(charts._STYLE):
        draw_figure(score_figure(made)).savefig(tmp_path / "again.svg", metadata={"Date": None})
    assert (tmp_path / "scores.svg").read_text(encoding="utf-8") == (tmp_path / "again.svg").read_text(encoding="utf-8")
    (axes,) = figure.axes
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert list(axes.lines[0].get_xdata())[-1] == 300
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["kosarak (stand-in)", "zipf"]


def test_a_picture_shows_the_numbers_of_the_results_with_em_on_top(made: Findings, drawn: dict[str, Any]) -> None:
    picture = drawn["non-interactive"]
    titles = [axes.get_title("left") for axes in picture.axes]
    assert titles == ["kosarak (stand-in), SER", "kosarak (stand-in), FNR", "zipf, SER", "zipf, FNR"]
    assert ORACLE in picture.get_suptitle().replace("\n", " ")
    names = [text.get_text() for text in picture.legends[0].get_texts()]
    assert names == [*(f"svt-retr-{k}d" for k in range(1, 6)), "em"]
    axes = picture.axes[3]
    assert [axes.lines[-1].get_marker(), *(text.get_text() for text in axes.texts)] == ["*", "EM"]
    assert list(axes.lines[-1].get_ydata()) == [made.get("zipf", "em", count).fnr_mean for count in made.counts]
    low, high = drawn["interactive"].axes[0].collections[0].get_segments()[0][:, 1]
    row = made.get("kosarak", "svt-dpbook", 25)
    assert (high - low, (high + low) / 2) == pytest.approx((4 * row.error("ser"), row.ser_mean))
    assert list(drawn["epsilon"].axes[0].lines[0].get_xdata()) == [0.05, 0.1, 0.2]  # it stays at one c


def test_a_figure_without_two_of_its_methods_is_left_out(made: Findings) -> None:
    few = replace(made, rows={key: row for key, row in made.rows.items() if row.method in ("em", "svt-dpbook")})
    assert set(page_figures(few)) == {"epsilon"}
    whole = made_findings()
    (large,) = (figure for figure in COMPARISONS if figure.name == "large-c")
    assert [row.count for row in large.points(whole, "aol", "em")] == [25, 50, 100, 200, 400, 140_106]
    assert large.lines(whole)
    assert not large.lines(replace(whole, rows={k: row for k, row in whole.rows.items() if row.count in whole.counts}))


def test_a_line_has_the_means_and_standard_errors_of_its_rows() -> None:
    findings = tampered(made_findings(), lambda row: row.method == "em", total_ser_std=0.5, total_ser_mean=0.25)
    figures = page_figures(findings)
    (panel,) = (panel for panel in figures["non-interactive"].panels if panel.dataset == "zipf")
    assert list(panel.charts) == ["SER", "total SER", "FNR"]
    points = panel.charts["SER"].lines[-1].points
    assert [point.y for point in points] == [findings.get("zipf", "em", count).ser_mean for count in findings.counts]
    assert points[0].error == pytest.approx(0.05 / 10**2.5)
    assert panel.charts["total SER"].lines[-1].points[0][1:] == (0.25, pytest.approx(0.5 / 10**2.5))
    assert list(figures["thresholds"].panels[0].charts) == ["total SER", "SER", "FNR"]  # what it is about first


def test_methods_that_no_figure_shows_have_one_of_their_own() -> None:
    findings = made_findings()
    assert "more-methods" not in page_figures(findings)
    rows = {replace(row.cell, method="mine"): replace(row, method="mine") for row in findings.rows.values()}
    mine = replace(findings, rows=findings.rows | rows, methods={**findings.methods, "mine": {"key": "mine"}})
    chart = page_figures(mine)["more-methods"].panels[0].charts["SER"]
    assert [line.style.label for line in chart.lines] == ["mine", "EM"]
