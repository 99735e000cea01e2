"""A real browser for tests of the page: one for a module, and tabs that fail a test when the page misbehaves."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
BROWSER = next((found for name in NAMES if (found := shutil.which(name))), None)
QUIET = [
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
]
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}

needs_browser = pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")


@contextmanager
def browsing() -> Iterator[Any]:
    """A browser without a window."""
    api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
    with api.sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=BROWSER, args=[*QUIET, *sandbox])
        yield launched
        launched.close()


@contextmanager
def tab(browser: Any, url: str, **options: Any) -> Iterator[Any]:
    """A tab; at its end the page must not have raised an error, broken its policy, or asked another host."""
    usual = {"timezone_id": "Europe/Berlin", "locale": "en-GB", "reduced_motion": "reduce"}
    context = browser.new_context(**usual | options)
    context.set_default_timeout(10_000)
    page = context.new_page()
    trouble: list[str] = []
    page.on("pageerror", lambda error: trouble.append(str(error)))
    page.on("console", lambda said: trouble.append(said.text) if "Content Security Policy" in said.text else None)
    page.on("request", lambda sent: None if sent.url.startswith((url, "blob:")) else trouble.append(sent.url))
    page.goto(url)
    try:
        yield page
    finally:
        context.close()
    assert trouble == []


def sign_in(page: Any, token: str) -> None:
    """Sign in with the keyboard."""
    page.get_by_label("Token").fill(token)
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Sign out").wait_for()


def go(page: Any, place: str) -> None:
    """To another view, by its link."""
    page.evaluate("place => { location.hash = place; }", place)


def fill_gate(page: Any, **fields: object) -> None:
    """Fill the form for a gate, and wait until its preview is there."""
    for name, value in ({"Threshold": 100, "Cutoff (c)": 3, "Epsilon": 100} | fields).items():
        page.get_by_label(name, exact=True).fill(str(value))
    page.locator("#preview-list dt").first.wait_for()


def ask(page: Any, where: str) -> str:
    """Ask with the keyboard: the whole of what is said about the answer."""
    page.get_by_label("Count where").fill(where)
    page.keyboard.press("Enter")
    page.locator("#latest strong").wait_for()
    page.locator("#answers td.code").first.get_by_text(where, exact=True).wait_for()
    return str(page.locator("#latest").text_content())


def call(page: Any, module: str, function: str, *arguments: Any) -> Any:
    """What a function of one of the page's modules returns."""
    code = """async ([module, name, given]) => {
      const beside = document.querySelector("script[type=module]").src;
      return (await import(new URL(module, beside)))[name](...given);
    }"""
    return page.evaluate(code, [module, function, arguments])
