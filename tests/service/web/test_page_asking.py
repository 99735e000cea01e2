"""The page in a real browser: the box for a condition, what an answer means, and questions whose answer was lost."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.browsing import ask, go, needs_browser, sign_in, tab
from tests.support.serving import MANY, NOBODY, Service, listening, serving, visits

pytestmark = needs_browser


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Service, str]]:
    folder = tmp_path_factory.mktemp("page")
    with visits(folder) as data, serving(folder, data, epsilon=100_000) as made, listening(made.app) as url:
        yield made, url


@pytest.fixture(scope="module")
def analyst(browser: Any, service: tuple[Service, str]) -> Iterator[Any]:
    with tab(browser, service[1]) as opened:
        sign_in(opened, service[0].analyst)
        yield opened


@pytest.fixture
def page(analyst: Any, service: tuple[Service, str]) -> Any:
    """The analyst's tab at a new gate; the page says its name."""
    gate = service[0].open_gate(name="new")
    go(analyst, f"#/gates/{gate}")
    analyst.get_by_text(f"{gate}, opened").wait_for()
    analyst.get_by_label("Count where").wait_for()
    analyst.gate = gate
    return analyst


def test_what_an_answer_means_and_costs_is_said_in_words(page: Any, service: tuple[Service, str]) -> None:
    margin = -(-service[0].send("GET", f"/v1/gates/{page.gate}").json()["margin"] // 1)
    low, high = 100 - int(margin), 100 + int(margin)
    before = str(page.locator("#means").text_content())
    assert f"Probably more than {low} people (100 − {margin:.0f})" in before
    assert f"Probably fewer than {high} people (100 + {margin:.0f})" in before
    assert "That 3 answers are all right, 95 % of the time, takes counts" in before
    assert "An ABOVE costs one of the gate's 3. A BELOW is free" in before
    above = ask(page, MANY)
    assert above.startswith("ABOVE ≈ ")
    for part in (f"Probably more than {low} people", "The estimate is", "It cost one ABOVE: 2 of 3 left."):
        assert part in above
    below = ask(page, NOBODY)
    assert below.startswith(f"BELOW Probably fewer than {high} people")
    assert "It was free: 2 of 3 ABOVE left." in below
    assert page.locator("#latest").get_attribute("role") == "status"


def test_examples_are_made_from_the_schema_and_every_one_can_be_asked(page: Any, service: tuple[Service, str]) -> None:
    examples = page.locator("#examples button").all_inner_texts()
    assert len(examples) >= 3
    assert page.get_by_label("Count where").get_attribute("placeholder") in examples
    for text in examples:
        assert service[0].ask(page.gate, text).status_code == 200, text
    page.locator("#examples button").first.click()
    page.keyboard.type("DE")  # the made-up value is selected, and typed over
    assert page.get_by_label("Count where").input_value() == "country = 'DE'"


def test_a_column_completes_itself_with_the_keyboard(page: Any) -> None:
    box = page.get_by_label("Count where")
    box.press_sequentially("cou")
    page.get_by_role("option", name="country text").wait_for()
    assert box.get_attribute("aria-expanded") == "true"
    page.keyboard.press("ArrowDown")
    assert page.locator(f"#{box.get_attribute('aria-activedescendant')}").text_content() == "country text"
    page.keyboard.press("Enter")
    assert box.input_value() == "country "
    box.press_sequentially("= 'page")
    assert page.get_by_role("option").count() == 0, "no column inside a text"
    page.keyboard.press("Escape")


def test_curly_quotes_are_explained_and_mended_before_anything_is_sent(page: Any) -> None:
    posts: list[str] = []
    page.on("request", lambda request: posts.append(request.url) if request.method == "POST" else None)
    box = page.get_by_label("Count where")
    box.fill("country = ‘DE’ AND “page” = “/pay” OR page = 'it’s'")
    page.keyboard.press("Enter")
    page.get_by_role("status").get_by_text("curly quotes").wait_for()
    assert posts == []
    page.keyboard.press("Enter")  # the button that mends is in focus
    assert box.input_value() == "country = 'DE' AND \"page\" = '/pay' OR page = 'it’s'"
    assert page.locator("#where-note").is_hidden()


def test_a_wrong_condition_is_shown_where_it_is_wrong_and_asks_nothing(page: Any) -> None:
    page.get_by_label("Count where").fill("page = '/pay' AND contry = 'DE'")
    page.keyboard.press("Enter")
    page.locator("#where-wrong mark").wait_for()
    assert page.locator("#where-wrong mark").text_content() == "contry"
    said = page.locator("#ask-form [role=alert] span").text_content()
    assert "country" in said
    assert "nothing spent" in said
    assert page.get_by_label("Count where").get_attribute("aria-invalid") == "true"
    assert page.locator("#answers tr").count() == 0


def test_markup_in_a_condition_is_text(page: Any, service: tuple[Service, str]) -> None:
    where = "country = '<script>alert(1)</script><img src=x onerror=alert(1)>'"
    alerts: list[Any] = []
    page.on("dialog", lambda dialog: (alerts.append(dialog), dialog.dismiss()))
    service[0].ask(page.gate, where)  # of others, it comes in by itself
    page.locator("#answers td.code").get_by_text(where, exact=True).wait_for()
    page.get_by_role("button", name="Copy as curl or Python").click()
    page.get_by_role("button", name="Done").click()
    assert page.evaluate("document.querySelectorAll('main script, main img').length") == 0
    assert alerts == []


def test_a_lost_answer_is_asked_for_again_under_the_same_key_and_paid_once(
    page: Any, service: tuple[Service, str]
) -> None:
    keys: list[str] = []

    def lose(route: Any) -> None:
        keys.append(route.request.headers["idempotency-key"])
        route.fetch()  # the service answers, and the answer is lost on its way
        route.abort()

    page.route("**/ask", lose)
    page.get_by_label("Count where").fill(MANY)
    page.keyboard.press("Enter")
    again = page.get_by_role("button", name="Ask again (same key)")
    again.wait_for()
    assert "not paid for twice" in page.locator("#ask-form [role=alert]").filter(has_text="key").text_content()
    page.reload()  # even then
    page.unroute("**/ask")
    page.on("request", lambda sent: keys.append(sent.headers["idempotency-key"]) if sent.method == "POST" else None)
    page.get_by_text("its answer did not arrive").wait_for()
    again.click()
    page.locator("#latest").get_by_text("It cost one ABOVE: 2 of 3 left.").wait_for()
    assert len(keys) >= 2
    assert len({*keys}) == 1
    assert service[0].send("GET", f"/v1/gates/{page.gate}").json()["asked"] == 1
    ask(page, MANY)  # a new question has a new key
    assert len({*keys}) == 2


def test_a_dead_server_is_noticed_within_two_seconds_and_so_is_its_return(browser: Any, tmp_path: Path) -> None:
    with visits(tmp_path) as data, serving(tmp_path, data) as made:
        gate = made.open_gate()
        with listening(made.app) as url:
            context = tab(browser, url)
            page = context.__enter__()
            sign_in(page, made.analyst)
            page.get_by_text("connected").wait_for()
            go(page, f"#/gates/{gate}")
            page.get_by_label("Count where").fill(MANY)
        began = time.monotonic()
        page.get_by_role("alert").get_by_text("has not answered since").wait_for()
        assert time.monotonic() - began < 2
        assert page.get_by_role("status").get_by_text("no connection").is_visible()
        page.get_by_role("button", name="Ask", exact=True).click()
        page.get_by_role("button", name="Ask again (same key)").wait_for()
        assert page.get_by_label("Count where").input_value() == MANY
        with listening(made.app, port=int(url.rpartition(":")[2])):
            page.get_by_text("connected", exact=True).wait_for()
            page.get_by_role("button", name="Ask again (same key)").click()
            page.locator("#latest").get_by_text("It cost one ABOVE: 2 of 3 left.").wait_for()
            assert page.get_by_role("alert").filter(has_text="answered").count() == 0
            context.__exit__(None, None, None)
