"""The built site in a browser: small screens, search, keyboard, colours, and no host but its own."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt
from pages.elsewhere import PROJECT, ROOT, in_repository
from tests.support.browsing import PHONE, needs_browser, tab

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


@needs_browser
@pytest.mark.parametrize("scripts", [False, pytest.param(True, marks=pytest.mark.soak)])
def test_no_page_scrolls_sideways_on_a_phone(browser: Any, site: Path, address: str, scripts: bool) -> None:
    """And no page raises an error or asks another host (`tab` looks). 404.html stands at the root of its host."""
    wide = {}
    with tab(browser, address, **PHONE, java_script_enabled=scripts) as page:
        for file in sorted({*site.rglob("*.html")} - {site / "404.html"}):
            name = file.relative_to(site).as_posix()
            page.goto(address + name)
            width = page.evaluate("document.documentElement.scrollWidth")
            if width > 390:
                wide[name] = width
    assert wide == {}


@needs_browser
@pytest.mark.parametrize(
    ("words", "found"),
    [("select_top", "select_top"), ("--max-items-", "max-items-per-user"), ("sg.Ledger", "Ledger"), ("BibTeX", "cite")],
)
def test_search_finds_names(browser: Any, address: str, words: str, found: str) -> None:
    with tab(browser, address) as page:
        page.keyboard.press("/")
        page.keyboard.type(words)
        page.locator(".md-search-result__item:nth-child(-n+3)", has_text=found).first.wait_for()


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


@needs_browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_are_those_of_the_system_until_the_reader_chooses(browser: Any, address: str, scheme: str) -> None:
    brightness = "parseInt(getComputedStyle(document.body).backgroundColor.match(/\\d+/)[0]) > 128"
    with tab(browser, address, color_scheme=scheme) as page:
        assert page.evaluate(brightness) is (scheme == "light")
        for _ in range(1 if scheme == "dark" else 2):
            page.locator("label.md-header__button:not([hidden])[for^=__palette]").click()
        assert page.evaluate(brightness) is (scheme != "light")
        page.reload()
        assert page.evaluate(brightness) is (scheme != "light")
