"""The report: one file that needs nothing beside it, says what was run, and escapes what it did not write."""

from __future__ import annotations

import html
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from sparsegate.paper import Dataset, Ladder, run
from sparsegate.paper.findings import load_findings
from sparsegate.paper.report import render_report, write_report
from sparsegate.paper.statements import STATEMENTS

METHODS = ["svt-dpbook", "svt-s-1:1", "em", "svt-retr-3d"]


class Reader(HTMLParser):
    """Collects tags with their attributes, and checks that they close in order."""

    VOID = frozenset({"meta", "img", "input", "br"})

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("out")
    mine = Dataset(
        name="mine",
        title="<b>Mine</b>",
        kind="stand-in",
        records=9,
        description="a & b <script>alert(1)</script>",
        ladder=Ladder.of([1000 - i for i in range(400)]),
    )
    run(datasets=["zipf", mine], counts=[25, 50], methods=METHODS, runs=3, seed=5, out=out)
    assert write_report(out) == out / "report.html"
    return out


@pytest.fixture(scope="module")
def page(folder: Path) -> str:
    return (folder / "report.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def read(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    return reader


def hrefs(read: Reader) -> list[str]:
    return [attributes["href"] or "" for tag, attributes in read.tags if "href" in attributes]


def test_every_tag_is_closed(read: Reader) -> None:
    assert read.open == []


def test_nothing_is_loaded_from_elsewhere(page: str, read: Reader) -> None:
    assert [attributes["src"] for _, attributes in read.tags if "src" in attributes] == []
    links = [attributes["href"] or "" for tag, attributes in read.tags if tag == "a" and "href" in attributes]
    assert [link for link in links if ":" in link.split("#")[0]] == []
    assert {tag for tag, attributes in read.tags if "href" in attributes} == {"a"}
    style = re.search(r"<style>(.*?)</style>", page, re.DOTALL)
    assert style
    assert "url(" not in style.group(1)
    assert "@import" not in style.group(1)


def test_every_link_inside_the_page_leads_somewhere(read: Reader) -> None:
    names = [attributes["id"] for _, attributes in read.tags if "id" in attributes]
    assert len(names) == len(set(names))
    targets = {link[1:] for link in hrefs(read) if link.startswith("#")}
    assert targets
    assert targets <= set(names)


def test_every_link_to_a_file_leads_to_one(folder: Path, read: Reader) -> None:
    files = {link for link in hrefs(read) if not link.startswith("#")}
    assert {Path(file).suffix for file in files} == {".csv", ".parquet", ".svg", ".png"}
    assert [file for file in files if not (folder / file).is_file()] == []


def test_the_files_of_a_figure_hold_its_rows_and_no_others(folder: Path) -> None:
    lines = (folder / "figures" / "interactive.csv").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 1 + 2 * 2 * 2
    assert all("svt-" in line for line in lines[1:])


def test_the_page_opens_with_the_tally_and_the_grid_of_claims(page: str) -> None:
    before = page[: page.index('<table class="grid">')]
    assert re.search(r"<strong>\d+ of \d+ statements supported", before)
    assert "<figure" not in before
    assert len(re.sub(r"<style>.*?</style>|<[^>]*>", "", before, flags=re.DOTALL)) < 1200


def test_failures_come_first_and_every_statement_is_there(page: str) -> None:
    grid = page[page.index('<table class="grid">') : page.index('<section id="figures">')]
    marks = re.findall(r'<td data-label="Verdict"><span class="verdict [\w-]+">(\S)', grid)
    assert marks == sorted(marks, key="✗?✓".index)
    assert len(set(marks)) > 1
    wanted = {statement.key for statement in STATEMENTS if statement.kind == "statement"}
    assert set(re.findall(r'id="claim-([^"]*)"', grid)) == wanted


def test_a_mark_leads_to_its_figure_and_rows_and_a_panel_back_to_the_mark(page: str) -> None:
    cell = re.search(r'<td id="cell-accurate-at-25-zipf".*?</td>', page, re.DOTALL)
    assert cell
    assert 'href="#panel-interactive-zipf"' in cell.group()
    assert 'href="#rows-zipf-svt-' in cell.group()
    panel = page[page.index('id="panel-interactive-zipf"') :]
    assert 'href="#cell-accurate-at-25-zipf"' in panel[: panel.index('<div class="panel"')]
    row = page[page.index('id="rows-zipf-svt-dpbook"') - 300 :]
    assert 'href="#panel-interactive-zipf"' in row[:300]


def test_a_claim_has_its_rule_and_its_numbers(page: str) -> None:
    for statement in STATEMENTS:
        if statement.kind == "statement":
            claim = page[page.index(f'id="claim-{statement.key}"') :]
            assert html.escape(statement.rule) in re.split("</tr>|</li>", claim)[0]


def test_figures_are_drawn_on_the_page_with_three_measures_to_choose_from(page: str, read: Reader) -> None:
    charts = [attributes for tag, attributes in read.tags if tag == "svg"]
    assert len(charts) == 2 * 3 * 2 + 1
    assert all(chart["aria-label"] for chart in charts)
    assert [tag for tag, _ in read.tags if tag == "img"] == []
    for measure in ("SER", "total SER", "FNR"):
        assert re.search(rf'<label for="view-interactive-\d">{measure}</label>', page)


def test_foreign_text_is_escaped(page: str) -> None:
    assert "<b>Mine" not in page
    assert "alert(1)</script>" not in page
    assert "&lt;b&gt;Mine&lt;/b&gt; (stand-in)" in page


def test_the_numbers_are_those_of_the_results(page: str) -> None:
    table = page[page.index('id="numbers-table"') :]
    assert table[: table.index("</table>")].count("<tr>") == 1 + 2 * 2 * len(METHODS)
    assert "mine (stand-in)" in table


def test_what_was_run_is_said(page: str) -> None:
    assert "<dt>seed</dt><dd>5</dd>" in page
    assert "<dt>counts</dt><dd>25, 50</dd>" in page
    assert "which is not private" in page
    assert "<strong>Not private:</strong>" in page


def test_stand_ins_are_announced_only_where_there_are_some(page: str, tmp_path: Path) -> None:
    assert "<strong>Stand-ins:</strong>" in page
    run(datasets=["zipf"], counts=[25], methods=["em"], runs=1, out=tmp_path)
    alone = render_report(load_findings(tmp_path), tmp_path)
    assert "<strong>Stand-ins:</strong>" not in alone
    assert "(stand-in)" not in alone


def test_a_single_run_has_no_error_that_anybody_knows(tmp_path: Path) -> None:
    run(datasets=["zipf"], counts=[25], methods=["em"], runs=1, out=tmp_path)
    numbers = (
        render_report(load_findings(tmp_path), tmp_path).partition('id="numbers-table"')[2].partition("</table>")[0]
    )
    assert re.findall(r'data-label="(± error|deviation)"[^>]*>([^<]*)<', numbers) == [
        ("± error", "-"),
        ("deviation", "-"),
        ("± error", "-"),
    ]


def test_a_report_without_results_says_what_to_run(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="sparsegate reproduce"):
        write_report(tmp_path)
