"""Figures of a page: what is shown can be chosen without a script, and the files are one click away."""

from __future__ import annotations

from sparsegate.paper.charts import LINE_STYLES, BarChart, ChartBar, FigurePanel, PageFigure

BAR = ChartBar(label="x", value=1, text="1", style=LINE_STYLES["em"])


def figure(*views: str) -> str:
    charts = {view: BarChart(title=view, bars=(BAR,)) for view in views}
    panel = FigurePanel(title="A & B", identity="panel-a", charts=charts)
    return PageFigure(name="f", title="F", caption="What", panels=(panel,), files={"CSV": "figures/f.csv"}).html()


def test_each_view_has_a_button_and_the_first_is_chosen() -> None:
    page = figure("SER", "FNR")
    assert '<input type="radio" name="view-f" id="view-f-0" class="view-0" checked><label for="view-f-0">SER' in page
    assert '<input type="radio" name="view-f" id="view-f-1" class="view-1"><label for="view-f-1">FNR' in page
    assert page.count('class="show-0"') == page.count('class="show-1"') == 1


def test_with_one_view_there_is_nothing_to_choose() -> None:
    assert "<input" not in figure("SER")


def test_files_are_linked_and_a_panel_has_a_name() -> None:
    page = figure("SER")
    assert '<a href="figures/f.csv" download>CSV</a>' in page
    assert '<div class="panel" id="panel-a"><h4>A &amp; B</h4>' in page
