"""Pages: safe with foreign text, sorted by value, chosen without a script, and read on a phone, in light and dark."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pytest
from tests.support.browsing import PHONE, browsing, needs_browser, tab

from sparsegate.paper import run
from sparsegate.paper.charts import DARK, LIGHT, LINE_STYLES, BarChart, ChartBar
from sparsegate.paper.page import FigurePanel, PageFigure, TableCell, render_page, table, table_cell
from sparsegate.paper.report import Reproduction

METHODS = ["svt-dpbook", "svt-s-1:1", "em", "svt-retr-1d", "svt-retr-3d"]
COUNTS = [25, 50, 300]


def figure(*views: str) -> str:
    bar = ChartBar("x", 1, "1", LINE_STYLES["em"])
    panel = FigurePanel(
        title="A & B", identity="panel-a", charts={view: BarChart(title=view, bars=(bar,)) for view in views}
    )
    return PageFigure(name="f", title="F", caption="What", panels=(panel,), files={"CSV": "figures/f.csv"}).html()


def test_each_view_has_a_button_and_the_first_is_chosen() -> None:
    page = figure("SER", "FNR")
    assert '<input type="radio" name="view-f" id="view-f-0" class="view-0" checked><label for="view-f-0">SER' in page
    assert '<input type="radio" name="view-f" id="view-f-1" class="view-1"><label for="view-f-1">FNR' in page
    assert page.count('class="show-0"') == page.count('class="show-1"') == 1
    assert '<a href="figures/f.csv" download>CSV</a>' in page
    assert '<div class="panel" id="panel-a"><h4>A &amp; B</h4>' in page
    assert "<input" not in figure("SER")  # nothing to choose


def test_a_view_that_a_panel_lacks_says_so() -> None:
    chart = BarChart(title="x", bars=(ChartBar("x", 1, "1", LINE_STYLES["em"]),))
    panels = (
        FigurePanel(title="A", charts={"SER": chart, "FNR": chart}),
        FigurePanel(title="B", charts={"SER": chart}),
    )
    page = PageFigure(name="f", title="F", caption="What", panels=panels).html()
    assert '<div class="show-1"><p>Not run here.</p></div>' in page
    assert page.count('class="show-1"') == 2


def test_a_number_is_shown_in_its_format_and_one_with_commas_has_its_value_beside_it() -> None:
    assert table_cell(0.123456, ".2f").html("SER") == '<td class="number" data-label="SER">0.12</td>'
    assert table_cell(1234, ",").html("n") == '<td class="number" data-value="1234.0" data-label="n">1,234</td>'
    assert 'data-value="Infinity"' in table_cell(math.inf, "g").html("ε")
    assert [table_cell(value, ".3f").text for value in (-0.0001, -0.1, math.nan)] == ["0.000", "-0.100", "-"]


def test_the_first_cell_is_the_head_of_its_row_and_foreign_text_is_escaped() -> None:
    page = table(["Method", "c|d"], [["<b>", 25]], identity="mine")
    assert '<table class="sortable" id="mine">' in page
    assert '<th scope="col" class="number">c</th>' in page
    assert '<th scope="row" class="name" data-label="Method">&lt;b&gt;</th>' in page
    assert 'data-label="c">25</td>' in page
    assert "<b>" in TableCell(text="<b>", markup=True).html("")
    assert "&quot;&gt;" in TableCell(text="x").html('">')


def test_a_page_has_its_sections_with_links_to_them_and_leaves_out_empty_ones() -> None:
    parts = dict.fromkeys(("headlines", "threshold", "stand_ins", "peer_runs", "peer_work", "epsilon"), "$x")
    parts |= dict.fromkeys(("maps", "true", "errors", "peers", "seconds", "uses", "numbers", "run"), "<p>y</p>")
    page = render_page("comparison_sections.html", title="a & b", parts=parts | {"peers": ""})
    assert "<title>a &amp; b</title>" in page
    assert page.index('<a href="#errors">Errors</a>') < page.index('<section id="maps"') < page.index('id="errors"')
    assert "peers" not in page.partition("<body>")[2].partition("<script>")[0]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with browsing() as launched:
        yield launched


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> str:
    out = tmp_path_factory.mktemp("out")
    run(datasets=["zipf", "bms-pos"], counts=COUNTS, methods=METHODS, runs=3, seed=5, out=out)
    path = out / "report.html"
    path.write_text(Reproduction.load(out).html(), encoding="utf-8")
    return path.as_uri()


def colour(element: Any, name: str) -> str:
    """A computed colour, as #rrggbb."""
    found = element.evaluate("(element, name) => getComputedStyle(element)[name]", name)
    return "#" + "".join(f"{int(part):02x}" for part in found.strip("rgb()").split(",")[:3])


@needs_browser
@pytest.mark.parametrize(("scheme", "background"), [("light", LIGHT), ("dark", DARK)])
def test_without_scripts_a_measure_is_chosen_and_the_pointer_shows_the_numbers(
    browser: Any, url: str, scheme: str, background: str
) -> None:
    with tab(browser, url, java_script_enabled=False, color_scheme=scheme) as page:
        figure = page.locator("#figure-non-interactive")
        assert colour(figure, "backgroundColor") == background
        line = figure.locator(".panel").first.locator(".show-0 > svg > .line").last
        assert colour(line.locator("path").first, "stroke") == getattr(LINE_STYLES["em"], scheme)
        assert figure.locator("svg:visible").count() == 2
        figure.get_by_text("FNR", exact=True).first.click()
        chart = figure.locator("svg:visible").first
        assert chart.get_attribute("aria-label").startswith("Zipf: FNR")
        assert chart.get_by_text("c = 300").is_hidden()
        chart.locator(".strip").last.hover()
        assert chart.get_by_text("c = 300").is_visible()


@needs_browser
def test_on_a_phone_nothing_is_wider_than_the_screen_and_rows_are_cards(browser: Any, url: str) -> None:
    with tab(browser, url, **PHONE) as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        row = page.locator("#numbers-table tbody tr").first
        assert row.evaluate("row => getComputedStyle(row).display") == "flex"
        assert row.bounding_box()["width"] <= 390


@needs_browser
def test_a_heading_sorts_by_value_and_a_mark_leads_to_its_rows_and_no_others(browser: Any, url: str) -> None:
    with tab(browser, url) as page:
        table = page.locator("#numbers-table")
        column = "table => [...table.tBodies[0].rows].map(row => Number(row.cells[3].textContent))"
        for backwards in (False, True):
            table.get_by_role("button", name="c", exact=True).click()
            assert table.evaluate(column) == sorted(2 * len(METHODS) * COUNTS, reverse=backwards)
        page.locator("#cell-accurate-at-25-zipf .rows").click()
        rows = page.locator("#numbers-table tbody tr:visible")
        assert {tuple(row.split("\t")[:2]) for row in rows.all_inner_texts()} == {
            ("zipf", method) for method in ("svt-dpbook", "svt-s-1:1")
        }
        page.locator("#filter").fill("svt-retr 25")
        assert rows.count() == 4
