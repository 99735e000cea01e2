"""The built site in a browser: small screens, search, keyboard, colours, and no host but its own."""

from __future__ import annotations

import itertools
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


def test_a_star_in_a_formula_is_not_read_as_bold(site: Path) -> None:
    """`2**18` in plain text, twice in a paragraph, makes bold what is between."""
    read = {file.name: re.findall(r"\w<(?:strong|em)>\w.*", file.read_text("utf-8")) for file in site.rglob("*.html")}
    assert {page: lines for page, lines in read.items() if lines} == {}


@needs_browser
@pytest.mark.turns(6)
@pytest.mark.parametrize(("scripts", "third"), [*itertools.product([False, True], range(3))])
def test_no_page_scrolls_sideways_on_a_phone(browser: Any, site: Path, address: str, scripts: bool, third: int) -> None:
    """And no page raises an error or asks another host (`tab` looks). 404.html stands at the root of its host."""
    wide = {}
    with tab(browser, address, **PHONE, java_script_enabled=scripts) as page:
        for file in sorted({*site.rglob("*.html")} - {site / "404.html"})[third::3]:
            name = file.relative_to(site).as_posix()
            page.goto(address + name)
            width = page.evaluate("document.documentElement.scrollWidth")
            if width > 390:
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
    "epsilon": (1, "how-to/choose.html"),
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


# Texts of a page that are less than 4.5 times as light, or as dark, as what they stand on.
FAINT = """() => {
  const parts = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const over = ([r, g, b, a = 1], ground) => [r, g, b].map((part, at) => part * a + ground[at] * (1 - a));
  const light = (colour) => colour.map((part) => part / 255)
    .map((part) => (part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
    .reduce((sum, part, at) => sum + part * [0.2126, 0.7152, 0.0722][at], 0.05);
  const ground = (node) => node
    ? over(parts(getComputedStyle(node).backgroundColor), ground(node.parentElement)) : [255, 255, 255];
  const faint = new Set();
  for (const node of document.querySelectorAll("article *, .md-tabs *, .md-nav *")) {
    const own = [...node.childNodes].some((child) => child.nodeType === 3 && child.data.trim());
    if (!own || node.closest("svg") || !node.checkVisibility({ opacityProperty: true })) continue;
    const { color, opacity } = getComputedStyle(node);
    const [r, g, b, a = 1] = parts(color);
    const below = ground(node);
    const two = [light(over([r, g, b, a * opacity], below)), light(below)];
    const ratio = Math.max(...two) / Math.min(...two);
    if (ratio < 4.5) faint.add(`${node.tagName} ${node.className} ${ratio.toFixed(2)}`);
  }
  return [...faint];
}"""


@needs_browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_and_colours_of_code_stand_out(browser: Any, address: str, scheme: str) -> None:
    with tab(browser, address, color_scheme=scheme) as page:
        for name in ("how-to/engine.html", "reference/python/auditor.html"):
            page.goto(address + name)
            assert page.evaluate(FAINT) == []


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
