"""The page in a real browser: old answers, their times, their plot, and taking them elsewhere."""

from __future__ import annotations

import csv
import io
import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.browsing import browsing, call, go, needs_browser, sign_in, tab
from tests.support.serving import MANY, NOBODY, Service, listening, serving, visits

pytestmark = needs_browser

ODD = "page = 'it''s \"odd\", $HOME' OR country = 'DE'"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Service, str]]:
    folder = tmp_path_factory.mktemp("page")
    with visits(folder) as data, serving(folder, data, epsilon=100_000) as made, listening(made.app) as url:
        yield made, url


@pytest.fixture(scope="module")
def few(service: tuple[Service, str]) -> str:
    """A gate that was asked three times."""
    gate = service[0].open_gate(name="few", cutoff=5)
    for where in (MANY, NOBODY, ODD):
        assert service[0].ask(gate, where).status_code == 200
    return gate


@pytest.fixture(scope="module")
def page(service: tuple[Service, str]) -> Iterator[Any]:
    with browsing() as browser, tab(browser, service[1], permissions=["clipboard-read", "clipboard-write"]) as opened:
        sign_in(opened, service[0].analyst)
        yield opened


def show(page: Any, gate: str) -> None:
    go(page, "#/me")
    go(page, f"#/gates/{gate}")
    page.locator("#answers tr").first.wait_for()


def test_the_answers_download_as_csv(page: Any, service: tuple[Service, str], few: str) -> None:
    show(page, few)
    with page.expect_download() as download:
        page.get_by_role("button", name="Download CSV").click()
    assert download.value.suggested_filename == f"{few}.csv"
    rows = list(csv.DictReader(io.StringIO(Path(download.value.path()).read_text("utf-8-sig"))))
    assert [row["where"] for row in rows] == [MANY, NOBODY, ODD]
    assert [row["answer"] for row in rows] == ["above", "below", "above"]
    assert rows[0]["at_utc"] == service[0].send("GET", f"/v1/gates/{few}/answers").json()[0]["at"]


def test_no_cell_of_the_csv_is_a_formula(page: Any) -> None:
    answer = {"number": 1, "at": "2030-01-01T00:00:00Z", "above": False, "estimate": -3}
    made = call(page, "answers.js", "asCsv", [answer | {"by": "=cmd", "where": '-1 < 2, "x"'}])
    number, _, _, word, estimate, by, where = next(csv.reader(io.StringIO(made.split("\r\n")[1])))
    assert (number, word, estimate, by, where) == ("1", "below", "-3", " =cmd", ' -1 < 2, "x"')


def test_a_row_is_copied_as_curl_and_as_python_without_the_token(
    page: Any, service: tuple[Service, str], few: str
) -> None:
    show(page, few)
    page.get_by_role("button", name="Copy as curl or Python").first.click()
    assert "new question" in page.locator("#code-note").text_content()
    curl, python = (page.locator("#code textarea").nth(place).input_value() for place in range(2))
    for text in (curl, python):
        assert service[0].analyst not in text
        assert "SPARSEGATE_TOKEN" in text
    words = shlex.split(curl.replace("\\\n", " "))
    assert words[3] == f"{service[1]}/v1/gates/{few}/ask"
    assert json.loads(words[-1]) == {"where": ODD}
    assert compile(python, "recipe", "exec")
    page.get_by_role("button", name="Copy Python").click()
    page.get_by_role("button", name="Copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == python
    page.get_by_role("button", name="Done").click()


def test_asking_again_from_a_row_is_a_new_question_and_says_that_it_costs(
    page: Any, service: tuple[Service, str]
) -> None:
    gate = service[0].open_gate(name="again")
    service[0].ask(gate, MANY)
    show(page, gate)
    page.get_by_role("button", name=f"Ask again: {MANY}").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_text("An ABOVE costs one of the gate's 3").wait_for()
    page.get_by_role("button", name="Back").click()
    assert service[0].send("GET", f"/v1/gates/{gate}").json()["asked"] == 1
    page.get_by_role("button", name=f"Ask again: {MANY}").click()
    page.get_by_role("button", name="Ask, as a new question").click()
    page.locator("#latest").get_by_text("It cost one ABOVE: 1 of 3 left.").wait_for()
    page.locator("#answers tr").nth(1).wait_for()
