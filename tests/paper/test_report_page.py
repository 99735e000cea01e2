"""The page in a real browser: on a phone, in light and dark, with and without scripts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.support.browsing import PHONE, browsing, needs_browser, tab

from sparsegate.paper import run
from sparsegate.paper.charts import DARK, LIGHT, LINE_STYLES
from sparsegate.paper.findings import load_findings
from sparsegate.paper.report import PageSection, render_page, render_report

METHODS = ["svt-dpbook", "svt-s-1:1", "em", "svt-retr-1d", "svt-retr-3d"]
COUNTS = [25, 50, 300]

pytestmark = needs_browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with browsing() as launched:
        yield launched


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> str:
    out = tmp_path_factory.mktemp("out")
    run(datasets=["zipf", "bms-pos"], counts=COUNTS, methods=METHODS, runs=3, seed=5, out=out)
    path = out / "report.html"
    path.write_text(render_report(load_findings(out), out), encoding="utf-8")
    return path.as_uri()


def colour(element: Any, name: str) -> str:
    """A computed colour, as #rrggbb."""
    found = element.evaluate("(element, name) => getComputedStyle(element)[name]", name)
    return "#" + "".join(f"{int(part):02x}" for part in found.strip("rgb()").split(",")[:3])


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


def test_on_a_phone_nothing_is_wider_than_the_screen_and_rows_are_cards(browser: Any, url: str) -> None:
    with tab(browser, url, **PHONE) as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        row = page.locator("#numbers-table tbody tr").first
        assert row.evaluate("row => getComputedStyle(row).display") == "flex"
        assert row.bounding_box()["width"] <= 390
        page.locator("#numbers-table").get_by_role("button", name="SER", exact=True).click()
        values = page.locator("#numbers-table tbody tr td:nth-of-type(3)").all_inner_texts()
        assert values == sorted(values, key=float)


def test_a_heading_sorts_by_value(browser: Any, url: str) -> None:
    with tab(browser, url) as page:
        table = page.locator("#numbers-table")
        table.get_by_role("button", name="c", exact=True).click()
        column = "table => [...table.tBodies[0].rows].map(row => Number(row.cells[3].textContent))"
        assert table.evaluate(column) == sorted(2 * len(METHODS) * COUNTS)
        table.get_by_role("button", name="c", exact=True).click()
        assert table.evaluate(column) == sorted(2 * len(METHODS) * COUNTS, reverse=True)


def test_a_mark_leads_to_its_rows_and_no_others(browser: Any, url: str) -> None:
    with tab(browser, url) as page:
        page.locator("#cell-accurate-at-25-zipf .rows").click()
        rows = page.locator("#numbers-table tbody tr:visible")
        assert {tuple(row.split("\t")[:2]) for row in rows.all_inner_texts()} == {
            ("zipf", method) for method in ("svt-dpbook", "svt-s-1:1")
        }
        page.locator("#filter").fill("svt-retr 25")
        assert rows.count() == 4


def test_a_page_has_its_sections_with_links_to_them() -> None:
    sections = [PageSection(key=key, title=f"<{key}>", body="<p>x</p>") for key in ("one", "two")]
    page = render_page(title="a & b", lead="<h1>Lead</h1>", sections=sections)
    assert "<title>a &amp; b</title>" in page
    assert page.index('<a href="#two">&lt;two&gt;</a>') < page.index('<section id="one">') < page.index('id="two"')
