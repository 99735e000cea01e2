"""The page in a real browser: opening a gate with open eyes, and finding it again among hundreds."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from tests.support.browsing import ask, browsing, fill_gate, go, needs_browser, sign_in, tab
from tests.support.serving import MANY, NOBODY, Service, listening, serving, visits

pytestmark = needs_browser


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Service, str]]:
    folder = tmp_path_factory.mktemp("page")
    with visits(folder) as data, serving(folder, data, epsilon=100_000) as made, listening(made.app) as url:
        yield made, url


@pytest.fixture(scope="module")
def page(service: tuple[Service, str]) -> Iterator[Any]:
    """One tab, signed in as the owner."""
    with browsing() as browser, tab(browser, service[1]) as opened:
        sign_in(opened, service[0].owner)
        yield opened


def sent(page: Any, path: str) -> list[str]:
    """The methods of the requests to a path from now on."""
    methods: list[str] = []
    page.on("request", lambda request: methods.append(request.method) if request.url.endswith(path) else None)
    return methods


def test_margin_cost_and_a_plot_are_shown_while_typing_and_spend_nothing(
    page: Any, service: tuple[Service, str]
) -> None:
    before, previews = service[0].keeper.budget().spent.epsilon, sent(page, "/v1/preview")
    go(page, "#/open")
    fill_gate(page, Threshold=1000, Epsilon="0.5", **{"Cutoff (c)": 25})
    plan = service[0].send("POST", "/v1/preview", {"threshold": 1000, "cutoff": 25, "epsilon": "0.5"}).json()
    shown = str(page.locator("#preview-list").text_content())
    for name in ("margin", "margin_all"):
        assert f"± {-(-plan[name] // 1):,.0f}, 95 % of the time" in shown
    assert "ε 0.5 is reserved" in shown
    assert "An ABOVE costs one of the gate's 25. A BELOW is free" in shown
    assert page.locator("#warning").is_hidden()
    assert page.get_by_role("button", name="Open, and reserve ε 0.5").is_visible()
    texts = page.locator("#margin-plot text").all_text_contents()
    assert {"epsilon of the gate (cost)", "margin ±", "threshold 1,000", f"± {-(-plan['margin'] // 1):,.0f}"} <= {
        *texts
    }
    texts = page.locator("#cutoff-plot text").all_text_contents()
    assert {"cutoff (c), at this epsilon", "margin ±", "threshold 1,000", "10", "100"} <= {*texts}
    for plot in ("#margin-plot", "#cutoff-plot"):
        assert page.locator(f"{plot} .curve").get_attribute("d").count("L") >= 5
        chosen, curve = (page.locator(f"{plot} {part}").bounding_box() for part in (".chosen", ".curve"))
        assert curve["x"] < chosen["x"] + chosen["width"] / 2 < curve["x"] + curve["width"], "it lies on its curve"
    page.get_by_label("Epsilon", exact=True).press_sequentially("00001")
    page.get_by_role("button", name="Open, and reserve ε 0.500001").wait_for()
    assert len(previews) <= 3, "typing is debounced"
    assert service[0].keeper.budget().spent.epsilon == before


def test_a_margin_above_the_threshold_is_warned_about_and_asked_about_again(
    page: Any, service: tuple[Service, str]
) -> None:
    before, opened = service[0].keeper.budget().spent.epsilon, sent(page, "/v1/gates")
    go(page, "#/gates")
    go(page, "#/open")
    fill_gate(page, Threshold=5, Epsilon="0.5", **{"Cutoff (c)": 25})
    page.locator("#warning").get_by_text("larger than the threshold").wait_for()
    assert "nobody at all" in page.locator("#preview-list").text_content()
    page.keyboard.press("Enter")
    page.get_by_role("dialog").get_by_text("larger than the threshold").wait_for()
    page.keyboard.press("Enter")  # what is in focus is no
    page.get_by_role("dialog").wait_for(state="hidden")
    assert "POST" not in opened
    assert service[0].keeper.budget().spent.epsilon == before


def test_what_is_wrong_with_a_gate_is_said_beside_the_button(page: Any) -> None:
    go(page, "#/gates")
    go(page, "#/open")
    fill_gate(page)
    page.get_by_label("Epsilon", exact=True).fill("0.0")
    trouble = page.locator("#open-form [role=alert]")
    trouble.get_by_text("epsilon").wait_for()
    assert page.locator("#preview-list").is_hidden()
    fill_gate(page, Epsilon="200000")
    page.get_by_role("button", name="Open, and reserve").click()
    page.get_by_role("button", name="Open it").click()
    trouble.get_by_text("budget").wait_for()
    page.get_by_label("Epsilon", exact=True).fill("1")
    page.get_by_role("button", name="Open, and reserve ε 1", exact=True).wait_for()
    assert trouble.is_hidden()


def test_an_owner_opens_a_gate_asks_and_closes_it_with_the_keyboard_alone(
    page: Any, service: tuple[Service, str]
) -> None:
    go(page, "#/gates")
    go(page, "#/open")
    page.get_by_label("Name", exact=True).fill("Ward 7")
    page.get_by_label("Description").fill("Seen in <b>2030</b>")
    fill_gate(page)
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Ward 7").wait_for()
    assert page.locator("#description").text_content() == "Seen in <b>2030</b>"
    assert "by olga" in page.locator("#origin").text_content()
    page.get_by_text("3 of 3 ABOVE left").wait_for()
    assert [ask(page, where).partition(" ")[0] for where in (MANY, NOBODY)] == ["ABOVE", "BELOW"]
    page.get_by_text("2 of 3 ABOVE left. 2 asked, 0 lost.").wait_for()
    page.get_by_role("button", name="Close this gate").focus()
    page.keyboard.press("Enter")
    page.get_by_role("dialog").wait_for()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.get_by_text("Closed: it was closed by hand.").wait_for()
    assert re.search(r"ε [≈\d. ]+ of 100 spent, [≈\d. ]+ given back", page.locator("#standing").text_content())
    assert page.get_by_role("button", name="Ask", exact=True).is_hidden()
