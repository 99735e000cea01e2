"""The built site: links that work, small screens, search, the keyboard, and no host but its own."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt
from mkdocs.commands.build import build
from mkdocs.config import load_config
from mkdocs.exceptions import Abort
from pages.elsewhere import PROJECT, ROOT, in_repository
from tests.support.browsing import PHONE, needs_browser, tab

pytestmark = pytest.mark.docs

PARTS = ("h1", "h2", "h3", "h4", "ul", "ol", "li", "table", "tr", "blockquote", "strong", "em", "img")


def parts(html: str) -> dict[str, int]:
    """How many of each part of a page there are."""
    return {tag: len(re.findall(rf"<{tag}[ >]", html)) for tag in PARTS}


PAGES = {page: in_repository(page) for page in PROJECT.values()} | {
    file.relative_to(ROOT / "docs").as_posix(): file.relative_to(ROOT).as_posix()
    for file in sorted((ROOT / "docs").rglob("*.md"))
}


def test_a_page_has_the_same_parts_on_a_code_host_and_on_the_site(site: Path) -> None:
    """The two read Markdown by different rules, for lists above all. What is filled in is on the site alone."""
    host = MarkdownIt("commonmark", {"html": True}).enable("table")
    differ = {}
    for page, file in PAGES.items():
        markdown = (ROOT / file).read_text(encoding="utf-8")
        if not re.search("^(::: |<!-- filled:)", markdown, re.MULTILINE):
            html = (site / page).with_suffix(".html").read_text(encoding="utf-8")
            there, here = parts(host.render(markdown)), parts(html[html.index("<article") : html.index("</article>")])
            differ |= {page: {tag: (there[tag], here[tag]) for tag in PARTS if there[tag] != here[tag]}}
    assert {page: tags for page, tags in differ.items() if tags} == {}


def test_a_star_in_a_formula_is_not_read_as_bold(site: Path) -> None:
    """`2**18` in plain text, twice in a paragraph, makes bold what is between."""
    read = {file.name: re.findall(r"\w<(?:strong|em)>\w.*", file.read_text("utf-8")) for file in site.rglob("*.html")}
    assert {page: lines for page, lines in read.items() if lines} == {}


@needs_browser
@pytest.mark.parametrize("scripts", [False, True])
def test_no_page_scrolls_sideways_on_a_phone(browser: Any, site: Path, address: str, scripts: bool) -> None:
    """And no page raises an error or asks another host (`tab` looks). With scripts a third of the pages is tried."""
    files = sorted({*site.rglob("*.html")} - {site / "404.html"})[:: 3 if scripts else 1]
    wide = {}
    with tab(browser, address, **PHONE, java_script_enabled=scripts) as page:
        for file in files:
            name = file.relative_to(site).as_posix()
            page.goto(address + name)
            if (width := page.evaluate("document.documentElement.scrollWidth")) > 390:
                wide[name] = width
    assert wide == {}


# What is searched for, among how many of the first a page must be, and the page.
SEARCHES = {
    "select_top": (1, "reference/python/selection.html"),
    "--max-items-per-user": (3, "reference/command_line.html"),
    "--max-items-": (3, "reference/command_line.html"),
    "Ledger.backup": (1, "how-to/backup.html"),
    "Ledger.bac": (1, "how-to/backup.html"),
    "sg.Ledger": (3, "how-to/ledger.html"),
    "epsilon": (3, "how-to/choose.html"),
    "two-sided": (1, "explanation/svt_in_pictures.html"),
    "GateClosed": (1, "reference/python/exceptions.html"),
    "BibTeX": (3, "reference/cite.html"),
}


@needs_browser
def test_search_finds_names_and_words(browser: Any, address: str) -> None:
    with tab(browser, address) as page:
        page.keyboard.press("/")
        for words, (most, found) in SEARCHES.items():
            page.get_by_role("textbox", name="Search").fill(words[:-1])
            page.keyboard.type(words[-1])  # the search listens to keys
            page.locator(f".md-search-result__item:nth-child(-n+{most}) > a[href*='{found}']").first.wait_for()


@needs_browser
def test_the_keyboard_leads_past_the_navigation_and_shows_where_it_is(browser: Any, address: str) -> None:
    with tab(browser, address) as page:
        page.goto(address + "how-to/top.html")
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.matches('.md-skip')")
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
        page.keyboard.press("Enter")
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.closest('article') !== null")


WRONG = ("[a](missing.md)", "[a](#nothing)", "[a](lost.md#nothing)", "[a](/index.md)", "![a](a.png)", "[a](../b.v)")


def test_links_that_lead_nowhere_and_a_page_that_nothing_leads_to_stop_the_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pages.elsewhere.PROJECT", {})
    monkeypatch.setattr("pages.generated.GENERATED", {})
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text("# A\n\n" + "\n".join(WRONG))
    (tmp_path / "docs" / "lost.md").write_text("# B\n")
    settings = {"docs_dir": str(tmp_path / "docs"), "site_dir": str(tmp_path / "site"), "nav": ["index.md"]}
    none = {"not_in_nav": "project/", "plugins": [], "extra_css": [], "extra_javascript": [], "strict": True}
    with pytest.raises(Abort, match=f"{len(WRONG) + 1} warnings"):
        build(load_config(str(ROOT / "mkdocs.yml"), **settings, **none))
