"""Lists come in pages: gates newest first, answers from either end, and who asked is told to whom it concerns."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from tests.support.serving import MANY, NOBODY, UNLIMITED, assert_problem, serving

from sparsegate.service.web.admission import OwnWork


@pytest.fixture(scope="module")
def busy(tmp_path_factory, data):
    """Seven gates, every third of them closed; the newest has seven answers, the third of them the owner's."""
    with serving(tmp_path_factory.mktemp("busy"), data) as service:
        service.names = [service.open_gate(cutoff=9) for _ in range(7)]
        for gate in service.names[::3][:2]:
            service.send("DELETE", f"/v1/gates/{gate}")
        for number in range(1, 8):
            asker = "owner" if number == 3 else "analyst"
            service.ask(service.names[-1], MANY if number % 2 else NOBODY, token=asker)
        yield service


def next_page(response: Any, rel: str) -> str | None:
    found = re.fullmatch(rf'<(/v1/[^>]*)>; rel="{rel}"', response.headers.get("link", ""))
    return None if found is None else found[1]


def followed(service: Any, path: str | None, rel: str = "next") -> list[list[Any]]:
    found = []
    while path is not None:
        response = service.send("GET", path, token="analyst")
        assert response.status_code == 200, response.text
        found.append(response.json())
        path = next_page(response, rel)
        assert len(found) < 10, "the pages have no end"
    return found


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 1000])
def test_all_gates_are_on_the_pages_newest_first_and_none_twice(busy, limit):
    pages = followed(busy, f"/v1/gates?limit={limit}")
    assert [gate["id"] for page in pages for gate in page] == busy.names[::-1]
    assert [len(page) for page in pages[:-1]] == [limit] * (len(pages) - 1)
    assert 1 <= len(pages[-1]) <= limit


def test_gates_are_listed_by_whether_they_are_closed(busy):
    closed = {busy.names[0], busy.names[3]}
    for wanted, names in (("true", closed), ("false", set(busy.names) - closed)):
        pages = followed(busy, f"/v1/gates?closed={wanted}&limit=2")
        assert [gate["id"] for page in pages for gate in page] == [name for name in busy.names[::-1] if name in names]
        assert {gate["closed"] for page in pages for gate in page} == {wanted == "true"}


def test_the_answers_are_read_from_either_end(busy):
    path = f"/v1/gates/{busy.names[-1]}/answers"
    forward = followed(busy, f"{path}?limit=3")
    assert [[answer["number"] for answer in page] for page in forward] == [[1, 2, 3], [4, 5, 6], [7]]
    back = followed(busy, f"{path}?limit=3&before=2147483647", "prev")
    assert [[answer["number"] for answer in page] for page in back] == [[5, 6, 7], [2, 3, 4], [1]]
    between = busy.send("GET", f"{path}?after=2&before=6").json()
    assert [answer["number"] for answer in between] == [3, 4, 5]


def test_who_asked_is_told_to_owners_and_to_whoever_asked(busy):
    path = f"/v1/gates/{busy.names[-1]}/answers"
    told = [answer["by"] for answer in busy.send("GET", path).json()]
    assert told == ["anna", "anna", "olga", "anna", "anna", "anna", "anna"]
    told = [answer["by"] for answer in busy.send("GET", path, token="analyst").json()]
    assert told == ["anna", "anna", None, "anna", "anna", "anna", "anna"]


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=1001", f"limit={10**30}", "limit=nan", "closed=maybe", "limit=-1", "limit=%00"]
)
def test_a_page_that_cannot_be_is_refused(busy, query):
    problem = assert_problem(busy.send("GET", f"/v1/gates?{query}"), 422, "parameter")
    assert problem["parameter"] == query.partition("=")[0]


@pytest.mark.parametrize("after", ["g-0123456789abcdef", "g-x", "%00", "9" * 40, "%ED%A0%80"])
def test_the_pages_begin_after_a_gate_that_is_there(busy, after):
    assert_problem(busy.send("GET", f"/v1/gates?after={after}"), 404, "unknown-gate")


@pytest.mark.parametrize("query", ["after=-1", "before=0", f"after={10**30}", "before=1e3", "limit=5000", "after=x"])
def test_numbers_of_answers_are_numbers(busy, query):
    path = f"/v1/gates/{busy.names[-1]}/answers?{query}"
    assert assert_problem(busy.send("GET", path), 422, "parameter")["parameter"] == query.partition("=")[0]


def test_lists_of_one_token_are_bounded(tmp_path, data):
    with serving(tmp_path, data) as service:
        service.app.state.service.listing = OwnWork(replace(UNLIMITED, share=1e-6, share_burst=1e-6))
        sent = [service.send("GET", "/v1/gates") for _ in range(2)]
        assert [response.status_code for response in sent] == [200, 429]
        assert_problem(sent[-1], 429, "too-many-requests")
        assert int(sent[-1].headers["retry-after"]) >= 1
        assert service.send("GET", "/v1/gates", token="analyst").status_code == 200
        assert_problem(
            service.send("GET", "/v1/gates?after=g-0123456789abcdef", token="analyst"), 429, "too-many-requests"
        )
