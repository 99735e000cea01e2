"""Pages: safe with foreign text, sorted by value, chosen without a script, and read on a phone, in light and dark."""

from __future__ import annotations

import math
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.browsing import PHONE, browsing, needs_browser, tab
from tests.support.made_findings import made_findings

from sparsegate.paper import run
from sparsegate.paper.charts import DARK, LIGHT, LINE_STYLES, BarChart, ChartBar
from sparsegate.paper.page import (
    FigurePanel,
    PageFigure,
    TableCell,
    escaped,
    latex_table,
    table,
    table_cell,
    write_tables,
)
from sparsegate.paper.report import Reproduction
from sparsegate.paper.results import Findings
from sparsegate.paper.statements import check_all

METHODS = ["svt-dpbook", "svt-s-1:1", "em", "svt-retr-1d", "svt-retr-3d"]
COUNTS = [25, 50, 300]


CHART = BarChart(title="x", bars=(ChartBar("x", 1, "1", LINE_STYLES["em"]),))


def figure(*views: str) -> str:
    panel = FigurePanel(title="A & B", identity="panel-a", charts=dict.fromkeys(views, CHART))
    return PageFigure(name="f", title="F", caption="What", panels=(panel,), files={"CSV": "figures/f.csv"}).html()


def test_each_view_has_a_button_and_the_first_is_chosen() -> None:
    page = figure("SER", "FNR")
    for place, text in enumerate(("SER", "FNR")):
        button = (
            f'<input type="radio" name="view-f" id="view-f-{place}" class="view-{place}"{" checked" * (not place)}>'
        )
        assert f'{button}<label for="view-f-{place}">{text}' in page
        assert page.count(f'class="show-{place}"') == 1
    assert '<a href="figures/f.csv" download>CSV</a>' in page
    assert '<div class="panel" id="panel-a"><h4>A &amp; B</h4>' in page
    assert "<input" not in figure("SER")  # nothing to choose


def test_a_view_that_a_panel_lacks_says_so() -> None:
    panels = tuple(FigurePanel(title="A", charts=dict.fromkeys(views, CHART)) for views in (("SER", "FNR"), ("SER",)))
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


def latex(findings: Findings) -> dict[str, str]:
    return Reproduction(folder=Path(), findings=findings, checked=tuple(check_all(findings)), readings=None).latex()


@pytest.fixture(scope="module")
def tables() -> dict[str, str]:
    return latex(made_findings())


def test_a_report_has_its_verdicts_printed_numbers_and_rates_as_tables(tables: dict[str, str]) -> None:
    assert list(tables) == ["verdicts", "printed", "ser-kosarak", "ser-aol", "ser-zipf"]
    assert r"em & 0.000 & 0.050 & 0.261 & 0.380 \\" in tables["ser-zipf"]
    assert tables["verdicts"].count(r"& supported \\") + tables["verdicts"].count(r"& supported \ddag{} \\") == 25
    assert r"until c are selected. \dag{} & Sec. 5" in tables["verdicts"]
    first = re.findall(r"^(\S+) &", tables["ser-zipf"], re.MULTILINE)
    assert first[1:6] == ["svt-dpbook", "svt-s-1:1", "svt-s-1:3", "svt-s-1:c", "svt-s-1:c23"], "as in the paper"
    assert r"kosarak & 50 & svt-dpbook & 0.705 & 0.700 [" in tables["printed"]
    assert list(latex(made_findings().only(["zipf"]))) == ["verdicts", "ser-zipf"], "no number printed was run"
    goes_on = [tables["verdicts"].count(text) for text in (r"\begin{table*}", r"\label", "Claim & Where & Verdict")]
    assert goes_on == [2, 1, 2], "in another table on the next page"


def test_every_row_has_a_cell_for_each_column_and_no_sign_is_beyond_latex(tables: dict[str, str]) -> None:
    assert escaped("a_b & 5% {x} #1 \\ ~") == r"a\_b \& 5\% \{x\} \#1 \textbackslash{} \textasciitilde{}"
    for text in tables.values():
        assert text.isascii()
        (columns,) = set(re.findall(r"\\begin\{tabular\}\{(.*)\}", text))
        rows = [line for line in text.splitlines() if line.endswith(r" \\")]
        assert {len(re.split(r"(?<!\\)&", row)) for row in rows} == {len(re.sub(r"p\{.*?\}", "p", columns))}
        assert (text.count("{"), text.count("$") % 2) == (text.count("}"), 0)
        for name in ("table", "table*", "tabular"):
            assert text.count(rf"\begin{{{name}}}") == text.count(rf"\end{{{name}}}")


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs pdflatex")
@pytest.mark.parametrize("columns", ["onecolumn", "twocolumn"])
def test_every_table_fits_on_a_page(tables: dict[str, str], columns: str, tmp_path: Path) -> None:
    many = [("svt-dpbook-monotonic", *[0.5] * 12)] * 22  # as long and as wide as the default report has them
    wide = latex_table(["Method", *(f"{c}|.3f" for c in range(25, 325, 25))], many, caption="All.", label="tab:all")
    write_tables(tmp_path, tables | {"wide": wide})
    inputs = [rf"\input{{tables/{file.name}}}" for file in sorted((tmp_path / "tables").iterdir())]
    begin = rf"\documentclass[{columns}]{{article}}\usepackage{{booktabs,graphicx}}\begin{{document}}"
    (tmp_path / "all.tex").write_text("\n".join([begin, *inputs, r"\end{document}"]))
    tex = ["pdflatex", "-halt-on-error", "-interaction=batchmode", "all.tex"]
    subprocess.run(tex, cwd=tmp_path, check=True, timeout=60)
    assert re.findall(r"Overfull.*|.*too large.*", (tmp_path / "all.log").read_text(errors="replace")) == []
    assert len(inputs) == 6


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
    with tab(browser, url, **PHONE) as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        row = page.locator("#numbers-table tbody tr").first
        assert row.evaluate("row => getComputedStyle(row).display") == "flex", "on a phone rows are cards"
