"""The page of the interactive figures in a real browser: the keyboard, a phone, the dark, paper, no scripts."""

from __future__ import annotations

import re
from typing import Any

from markdown import markdown
from pages.elsewhere import ROOT
from pages.svt_figures import rows_script
from tests.support.browsing import PHONE, needs_browser

pytestmark = needs_browser
PAGE = ROOT / "docs" / "explanation" / "svt_in_pictures.md"
SHOWN = re.findall(r"pictures/svt_(\w+)\.svg", PAGE.read_text("utf-8"))


def opened(browser: Any, **options: Any) -> tuple[Any, list[str]]:
    """The page with its scripts and styles, without the theme; and what went wrong, or was asked of another host."""
    body = markdown(PAGE.read_text("utf-8"), extensions=["fenced_code"])
    body = re.sub(r"<img .*?>", r"<a href='elsewhere'>\g<0></a>", body, count=1)  # as a theme may do
    head = "<meta name=viewport content='width=device-width'><link rel=stylesheet href=../styles/figures.css>"
    html = f"<!doctype html><html lang=en>{head}<body>{body}<script src=../scripts/figures.js></script>"
    trouble: list[str] = []

    def serve(route: Any) -> None:
        path = route.request.url.removeprefix("http://site.test/")
        if path == "explanation/page.html":
            route.fulfill(body=html, content_type="text/html")
        elif path == "scripts/rows.js":
            route.fulfill(body=rows_script(), content_type="text/javascript")
        elif (ROOT / "docs" / path).is_file():
            route.fulfill(path=ROOT / "docs" / path)
        else:
            trouble.append(path)
            route.abort()

    context = browser.new_context(**options)
    context.set_default_timeout(10_000)
    context.route("**/*", serve)
    page = context.new_page()
    page.on("pageerror", lambda error: trouble.append(str(error)))
    page.goto("http://site.test/explanation/page.html")
    return page, trouble


def test_every_figure_moves_by_the_keyboard_and_says_what_it_shows(browser: Any) -> None:
    page, trouble = opened(browser)
    page.locator(".svt-figure svg").nth(len(SHOWN) - 1).wait_for()
    assert page.locator("img").count() == 0
    assert page.locator(":is(a, p) .svt-figure").count() == 0, "a click on a control leads nowhere else"
    for figure in page.locator(".svt-figure").all():
        before, drawn = figure.locator(".svt-words").text_content(), figure.locator("svg").inner_html()
        figure.locator("input[type=range]").first.focus()
        page.keyboard.press("ArrowRight")
        assert figure.locator("svg").inner_html() != drawn
        assert figure.locator(".svt-words").text_content() != before
    assert page.get_by_role("status").count() == 0, "a number is read once, by its slider"
    unnamed = "[...document.querySelectorAll('.svt-figure :is(input, select)')].filter(e => !e.labels.length).length"
    assert page.evaluate(unnamed) == 0
    meter = page.get_by_role("group", name="What every transcript of a gate")
    meter.get_by_role("button", name="Start again").press("Enter")
    for answer in ("BELOW", "ABOVE", "ABOVE"):
        meter.get_by_role("button", name=answer).press("Enter")
    meter.get_by_role("button", name="Take one back").press("Enter")
    assert "1 BELOW and 1 ABOVE have cost" in str(meter.text_content())
    page.evaluate(  # a key held down
        "[...document.querySelectorAll('button')].filter(e => /BELOW/.test(e.textContent)).pop().id = 'held'; "
        "for (let i = 0; i < 500; i += 1) held.click()"
    )
    assert "59 BELOW and 1 ABOVE" in str(meter.text_content())
    page.context.close()
    assert trouble == []


def test_on_a_phone_nothing_is_wider_than_the_page_and_dark_is_dark(browser: Any) -> None:
    page, trouble = opened(browser, **PHONE, color_scheme="dark")
    page.locator(".svt-figure svg").nth(len(SHOWN) - 1).wait_for()
    wide = """[...document.querySelectorAll('.svt-figure, .svt-figure *')]
      .filter(each => each.getBoundingClientRect().right > innerWidth).length"""
    assert page.evaluate(wide) == 0
    ink = "getComputedStyle(document.querySelector('.svt-picture path[stroke=\"var(--figure-one)\"]')).stroke"
    light = page.evaluate(ink)
    page.evaluate("document.body.dataset.mdColorScheme = 'slate'")
    assert page.evaluate(ink) != light
    page.emulate_media(media="print")
    assert page.evaluate(ink) == light, "paper is white"
    page.context.close()
    assert trouble == []


def test_without_scripts_the_still_pictures_are_there(browser: Any) -> None:
    page, trouble = opened(browser, java_script_enabled=False)
    assert page.locator("img").count() == len(SHOWN)
    assert all(image.get_attribute("alt") for image in page.locator("img").all())
    page.context.close()
    assert trouble == []
