"""The page in a real browser: what an owner sees of budget, tokens and activity; practice, for everybody."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from tests.support.browsing import ask, fill_gate, go, needs_browser, sign_in, tab
from tests.support.serving import MANY, NOBODY, Service, listening, serving, visits

from sparsegate.ledger.account import exact_text

pytestmark = needs_browser


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Service, str]]:
    folder = tmp_path_factory.mktemp("page")
    with visits(folder) as data, serving(folder, data) as made, listening(made.app) as url:
        yield made, url


@pytest.fixture(scope="module")
def page(browser: Any, service: tuple[Service, str]) -> Iterator[Any]:
    """One tab, signed in as the owner."""
    with tab(browser, service[1]) as opened:
        sign_in(opened, service[0].owner)
        yield opened


def test_the_budget_has_its_entries_and_a_chart_of_spending(page: Any, service: tuple[Service, str]) -> None:
    gate = service[0].open_gate(name="spent")
    service[0].ask(gate, MANY)
    service[0].send("DELETE", f"/v1/gates/{gate}")
    go(page, "#/budget")
    page.locator("#entries tr").first.wait_for()
    statement = service[0].keeper.budget()
    assert page.locator("#entries tr").count() == len(statement.entries)
    kinds = page.locator("#entries td:nth-child(3)").all_text_contents()
    assert kinds == ["given back", "spent", "budget set to"]
    spent = exact_text(statement.spent.epsilon)
    exact = page.locator("#spent .amount").first
    assert spent in (exact.get_attribute("title"), exact.text_content())
    assert page.locator("#spent-meter").get_attribute("max") == "1000"
    assert {"time", "epsilon", "budget", "spent or reserved"} <= {*page.locator("#spending text").all_text_contents()}
    # Up by the whole gate, and down by what it gave back; one step each.
    heights = [float(point.split()[1]) for point in re.findall(r"[\d.]+ [\d.]+", curve(page))]
    zero, top, end = heights[0], min(heights), heights[-1]
    assert zero > end > top
    assert (zero - end) / (zero - top) == pytest.approx(float(statement.spent.epsilon) / 100, abs=0.02)


def curve(page: Any) -> str:
    return str(page.locator("#spending .curve").get_attribute("d"))


def test_a_token_is_made_with_its_limits_shown_once_and_revoked(
    browser: Any, page: Any, service: tuple[Service, str]
) -> None:
    go(page, "#/tokens")
    page.get_by_label("Whose").fill("bert <b>")
    page.get_by_label("Expires").fill("2040-01-31T12:00")
    page.get_by_label("At most this many ABOVE").fill("7")
    assert page.get_by_label("At most this much epsilon").is_hidden(), "an analyst charges nothing"
    page.keyboard.press("Enter")
    shown = page.get_by_label("The token of bert <b>")
    shown.wait_for()
    text = shown.input_value()
    line = page.locator("#token-list tr").filter(has_text="bert <b>")
    line.wait_for()
    assert "0 of 7 ABOVE" in line.text_content()
    assert line.locator("time").nth(1).get_attribute("title") == "2040-01-31 11:00:00 UTC"
    assert service[0].send("GET", "/v1/whoami", token=text).json()["quota"]["most_above"] == 7
    page.get_by_role("button", name="Done, hide it").click()
    page.reload()
    line.wait_for()
    assert text not in page.content()
    with tab(browser, service[1]) as other:
        sign_in(other, text)
        line.get_by_role("button", name="Revoke").click()
        page.get_by_role("dialog").get_by_text("bert <b>").wait_for()
        page.get_by_role("button", name="Back").click()
        assert service[0].send("GET", "/v1/whoami", token=text).status_code == 200
        line.get_by_role("button", name="Revoke").click()
        page.get_by_role("button", name="Revoke it").click()
        line.get_by_text("revoked").wait_for()
        other.get_by_label("Token").wait_for()
    page.get_by_label("Whose").fill("bert <b>")
    page.keyboard.press("Enter")
    page.locator("#token-form [role=alert]").get_by_text("name").wait_for()
    page.get_by_label("Whose").fill("berta")
    page.get_by_label("Role").select_option("owner")
    page.get_by_label("At most this much epsilon").fill("0.5")
    page.get_by_role("button", name="Make a token").click()
    page.locator("#token-list tr").filter(has_text="ε 0 of 0.5").wait_for()


def test_an_owner_sees_who_asked_what(page: Any, service: tuple[Service, str]) -> None:
    gate = service[0].open_gate(name="watched")
    service[0].ask(gate, NOBODY)
    go(page, "#/activity")
    line = page.locator("#activity tr").filter(has_text="watched")
    line.wait_for()
    for part in ("anna", "watched", "BELOW", NOBODY):
        assert part in line.text_content()
    line.get_by_role("link").click()
    page.get_by_role("heading", name="watched").wait_for()
    page.locator("#answers tr").filter(has_text="anna").wait_for()


def test_anybody_practises_on_made_up_data_and_it_costs_nothing(browser: Any, service: tuple[Service, str]) -> None:
    before = service[0].keeper.budget().spent.epsilon
    with tab(browser, service[1]) as page:
        sign_in(page, service[0].analyst)
        page.get_by_role("link", name="Practice").click()
        page.locator("#practice-note").get_by_text("made-up").wait_for()
        page.get_by_role("link", name="Open a gate").click()
        fill_gate(page, Threshold=1)
        assert "Nothing: this is practice" in page.locator("#preview-list").text_content()
        page.get_by_role("button", name="Open (free)").click()
        page.get_by_role("button", name="Ask", exact=True).wait_for()
        assert page.locator("#practice-note").get_by_text("Nothing here costs anything").is_visible()
        assert page.url.startswith(f"{service[1]}/#/practice/gates/g-")
        assert ask(page, "country IS NULL OR country IS NOT NULL").startswith("ABOVE")
        page.reload()
        page.locator("#answers td.code").get_by_text("country IS NOT NULL").wait_for()
        page.get_by_role("link", name="All gates").click()
        page.get_by_role("heading", name="Practice gates").wait_for()
    assert service[0].keeper.budget().spent.epsilon == before
