"""The page in a real browser: what an owner sees of the budget."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from tests.support.browsing import browsing, go, needs_browser, sign_in, tab
from tests.support.serving import MANY, Service, listening, serving, visits

from sparsegate.ledger.account import exact_text

pytestmark = needs_browser


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Service, str]]:
    folder = tmp_path_factory.mktemp("page")
    with visits(folder) as data, serving(folder, data) as made, listening(made.app) as url:
        yield made, url


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with browsing() as launched:
        yield launched


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
