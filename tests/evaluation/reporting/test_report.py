"""The report: one file that needs nothing beside it, says what was run, and escapes what it did not write."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from sparsegate.evaluation import Dataset, Ladder, run
from sparsegate.evaluation.reporting.report import render, write
from sparsegate.evaluation.statements.findings import load_findings
from sparsegate.evaluation.statements.paper_statements import STATEMENTS

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
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
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
    path = write(out)
    assert path == out / "report.html"
    return path.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def read(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    return reader


def test_every_tag_is_closed(read: Reader) -> None:
    assert read.open == []


def test_nothing_is_loaded_from_elsewhere(page: str, read: Reader) -> None:
    links = [attributes.get(name) for _, attributes in read.tags for name in ("src", "href")]
    assert all(link.startswith(("data:", "#")) for link in links if link is not None)
    style = re.search(r"<style>(.*?)</style>", page, re.DOTALL)
    assert style
    assert "url(" not in style.group(1)
    assert "@import" not in style.group(1)


def test_every_link_inside_the_page_leads_somewhere(read: Reader) -> None:
    names = {attributes.get("id") for _, attributes in read.tags}
    targets = {(attributes["href"] or "")[1:] for tag, attributes in read.tags if tag == "a"}
    assert targets
    assert targets <= names


def test_figures_are_embedded_with_a_description(read: Reader) -> None:
    pictures = [attributes for tag, attributes in read.tags if tag == "img"]
    assert len(pictures) == 3
    assert all((one["src"] or "").startswith("data:image/svg+xml;base64,") and one["alt"] for one in pictures)


def test_every_statement_is_there_with_a_verdict(page: str) -> None:
    for statement in STATEMENTS:
        assert statement.key.startswith("value-") or f'id="{statement.key}"' in page
    assert page.count('class="verdict') >= len(STATEMENTS)


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
    assert "<strong>Not private.</strong>" in page


def test_stand_ins_are_announced_only_where_there_are_some(page: str, tmp_path: Path) -> None:
    assert "<strong>Stand-ins.</strong>" in page
    run(datasets=["zipf"], counts=[25], methods=["em"], runs=1, out=tmp_path)
    alone = render(load_findings(tmp_path), {})
    assert "<strong>Stand-ins.</strong>" not in alone
    assert "(stand-in)" not in alone


def test_the_example_of_the_page_on_reproduction_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pandas", reason="the example shows the results in pandas")
    monkeypatch.chdir(tmp_path)
    page = (Path(__file__).parents[3] / "docs" / "reproduce.md").read_text(encoding="utf-8")
    scope: dict[str, Any] = {}
    for code in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        exec(code, scope)
    assert list(scope["table"].columns) == ["em", "svt-dpbook", "svt-s-1:c23"]
    assert scope["table"].loc[100, "em"] < scope["table"].loc[100, "svt-dpbook"]
    assert (tmp_path / "mine" / "report.html").is_file()


def test_a_report_without_results_says_what_to_run(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="sparsegate reproduce"):
        write(tmp_path)
