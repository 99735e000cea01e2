"""The page in a real browser: with the mouse left alone, on a phone, in the dark."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.serving import MANY, NOBODY, Service, listening, serving, visits

from sparsegate.ledger.account import exact_text

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

pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Service, str]]:
    folder = tmp_path_factory.mktemp("page")
    with visits(folder) as data, serving(folder, data) as made, listening(made.app) as url:
        yield made, url


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
    with api.sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=BROWSER, args=[*QUIET, *sandbox])
        yield launched
        launched.close()


@pytest.fixture
def page(browser: Any, service: tuple[Service, str], request: pytest.FixtureRequest) -> Iterator[Any]:
    """A tab; it fails the test if the page raised an error, broke its policy, or asked another host for anything."""
    context = browser.new_context(**getattr(request, "param", {}))
    context.set_default_timeout(10_000)
    tab = context.new_page()
    trouble: list[str] = []
    tab.on("pageerror", lambda error: trouble.append(str(error)))
    tab.on("console", lambda said: trouble.append(said.text) if "Content Security Policy" in said.text else None)
    tab.on("request", lambda sent: None if sent.url.startswith(service[1]) else trouble.append(sent.url))
    tab.goto(service[1])
    yield tab
    context.close()
    assert trouble == []


def enter(page: Any, token: str) -> None:
    page.get_by_label("Token").fill(token)
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Gates").wait_for()


def open_gate(page: Any, **fields: object) -> None:
    for name, value in ({"Threshold": 100, "Cutoff": 3, "Epsilon": 100} | fields).items():
        page.get_by_label(name, exact=True).fill(str(value))
    listed = page.locator("[data-gate]").count()
    page.keyboard.press("Enter")
    page.locator("[data-gate]").nth(listed).wait_for()
    page.get_by_text("3 of 3 positive answers left").wait_for()


def ask(page: Any, where: str) -> str:
    before = page.locator("#answers tr").count()
    page.get_by_label("Where").fill(where)
    page.keyboard.press("Enter")
    page.locator("#answers tr").nth(before).wait_for()
    word, _, estimate = str(page.locator("#latest").text_content()).partition(", about ")
    assert not estimate or re.fullmatch(r"\d+ ± \d+", estimate)
    return word


def test_an_owner_opens_a_gate_asks_and_closes_it_with_the_keyboard_alone(
    page: Any, service: tuple[Service, str]
) -> None:
    before = service[0].keeper.budget().spent.epsilon
    enter(page, service[0].owner)
    open_gate(page)
    spent, left = (exact_text(amount) for amount in (before + 100, 900 - before))
    assert f"ε {spent} of 1000 spent or reserved, {left} left" in page.locator("#spent").text_content()
    assert [ask(page, where) for where in (MANY, NOBODY, MANY)] == ["ABOVE", "below", "ABOVE"]
    said = page.locator("#answers td:nth-child(3)").all_text_contents()
    assert [text.partition(" ≈ ")[0] for text in said] == ["ABOVE", "BELOW", "ABOVE"]
    assert ["≈" in text for text in said] == [True, False, True]
    assert page.locator("#plot path").count() == 3
    assert "2 above (top), 1 below (bottom), 0 lost" in page.locator("#plot-title").text_content()
    assert "1 of 3 positive answers left" in page.locator("#gate-state").text_content()
    page.get_by_role("button", name="Close this gate").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.get_by_text("Closed: it was closed by hand.").wait_for()
    assert page.get_by_role("button", name="Ask").is_disabled()
    now = exact_text(service[0].keeper.budget().spent.epsilon)
    page.get_by_text(f"ε {now} of 1000 spent or reserved").wait_for()
    assert re.search(r"ε [\d.]+ of 100 spent, [\d.]+ given back", page.locator("#gate-state").text_content())


def test_a_gate_that_is_through_says_so(page: Any, service: tuple[Service, str]) -> None:
    enter(page, service[0].owner)
    open_gate(page)
    for _ in range(3):
        ask(page, MANY)
    page.get_by_text("Closed: all 3 of its positive answers are given or lost.").wait_for()


def test_a_wrong_condition_is_shown_where_it_is_wrong_and_asks_nothing(page: Any, service: tuple[Service, str]) -> None:
    enter(page, service[0].owner)
    open_gate(page)
    page.get_by_label("Where").fill("page = '/pay' AND contry = 'DE'")
    page.keyboard.press("Enter")
    page.locator("#where-wrong mark").wait_for()
    assert page.locator("#where-wrong mark").text_content() == "contry"
    assert "country" in page.locator("#where-wrong span").text_content()
    assert page.locator("#answers tr").count() == 0


def test_an_analyst_asks_and_sees_no_budget(page: Any, service: tuple[Service, str]) -> None:
    service[0].open_gate()
    enter(page, service[0].analyst)
    page.get_by_label("Where").wait_for()
    assert ask(page, MANY) == "ABOVE"
    for name in ("Budget", "Open a gate"):
        assert page.get_by_role("heading", name=name).is_hidden()
    assert page.get_by_role("button", name="Close this gate").is_hidden()


def test_answers_of_others_come_in_by_themselves(page: Any, service: tuple[Service, str]) -> None:
    gate = service[0].open_gate()
    enter(page, service[0].analyst)
    page.locator(f"[data-gate='{gate}'][aria-current]").wait_for()
    service[0].ask(gate, "country = 'DE' AND page = '<b>&amp;</b>'")
    page.get_by_text("country = 'DE' AND page = '<b>&amp;</b>'", exact=True).wait_for()


def test_an_unknown_token_is_refused_and_not_kept(page: Any) -> None:
    page.get_by_label("Token").fill("sg_wrong")
    page.keyboard.press("Enter")
    page.get_by_role("alert").get_by_text("not known").wait_for()
    assert page.evaluate("sessionStorage.length + localStorage.length + document.cookie.length") == 0


def test_a_token_can_be_forgotten(page: Any, service: tuple[Service, str]) -> None:
    enter(page, service[0].owner)
    page.get_by_role("button", name="Forget token").click()
    page.get_by_label("Token").wait_for()
    assert page.evaluate("sessionStorage.length + localStorage.length + document.cookie.length") == 0


DARK = {"viewport": {"width": 360, "height": 740}, "color_scheme": "dark", "has_touch": True, "is_mobile": True}


@pytest.mark.parametrize("page", [DARK], indirect=True, ids=["phone"])
def test_it_fits_a_phone_in_the_dark(page: Any, service: tuple[Service, str], tmp_path: Path) -> None:
    enter(page, service[0].owner)
    open_gate(page)
    ask(page, "country = 'DE' AND page IN ('/home', '/pay', '/cart', '/a-very-long-page-name-that-does-not-end')")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    buttons = "[...document.querySelectorAll('button')].filter(b => b.offsetParent)"
    heights = page.evaluate(f"{buttons}.map(b => b.getBoundingClientRect().height)")
    assert min(heights) >= 44
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert max(int(part) for part in ground[4:-1].split(",")) < 60
