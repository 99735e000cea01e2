"""Whatever is sent, one clear problem comes back, and nothing is spent."""

from __future__ import annotations

import json

import pytest
from tests.support.serving import CERTAIN, TOP, assert_problem

JSON = {"Content-Type": "application/json"}
LONG = "9" * 5000
FULL = {
    "/v1/gates": CERTAIN,
    "/v1/practice/gates": CERTAIN,
    "/v1/preview": CERTAIN,
    "/v1/top": TOP,
    "/v1/tokens": {"name": "berta"},
    "/v1/gates/g-0123456789abcdef/ask": {"where": "country = 'DE'"},
}
VALUES = {
    "NaN": b"NaN",
    "infinity": b"-Infinity",
    "beyond the doubles": b"1e999",
    "a huge number": b"1" + b"0" * 30,
    "more digits than Python reads": LONG.encode(),
    "a fraction": b"0.5",
    "true": b"true",
    "a list": b"[1]",
    "an object": b'{"a": 1}',
    "a zero byte": b'"a\\u0000b"',
    "a lone surrogate": b'"\\ud800"',
    "a control character": b'"a\\u0007b"',
    "an empty text": b'""',
    "a text of 60,000": b'"' + b"x" * 60_000 + b'"',
}


def fields() -> list[tuple[str, str]]:
    more = {"/v1/gates": ["queries", "noise", "closes", "name", "description"], "/v1/top": ["delta", "method", "dbar"]}
    more |= {"/v1/tokens": ["role", "expires", "most_above", "most_epsilon"], "/v1/practice/gates": ["name"]}
    return [(path, name) for path, body in FULL.items() for name in {**body, **dict.fromkeys(more.get(path, []))}]


def spent(service) -> tuple[str, int, int]:
    budget = service.send("GET", "/v1/budget").json()
    return budget["spent"]["epsilon"], len(budget["entries"]), len(service.send("GET", "/v1/tokens").json())


@pytest.mark.parametrize(("path", "field"), fields())
def test_a_value_that_cannot_be_is_one_clear_problem(standing, path, field):
    before = spent(standing)
    rest = json.dumps({name: value for name, value in FULL[path].items() if name != field})[1:-1]
    for what, value in VALUES.items():
        if (field, what) in FINE or (path, field, what) in FINE:
            continue
        content = b'{"%s": %s%s}' % (field.encode(), value, f", {rest}".encode() if rest else b"")
        response = standing.send("POST", path, content=content, headers=JSON)
        problem = response.json()
        assert response.status_code in (400, 404, 422), (what, response.text[:300])
        assert problem["type"] in ("parameter", "malformed", "condition", "unknown-gate"), (what, problem)
        if problem["type"] == "parameter":
            assert problem["parameter"] == field, (what, problem)
            assert "\\" not in problem["rule"], "a rule is told in words"
            assert len(problem["detail"]) < 400
    assert spent(standing) == before


FINE = {
    # What is a number, or a text, in its place.
    *((field, "a fraction") for field in ("epsilon", "delta", "most_epsilon", "answers_epsilon")),
    *((field, "an empty text") for field in ("description",)),
    ("epsilon", "a huge number"),
    ("/v1/gates", "name", "an empty text"),
    ("/v1/practice/gates", "name", "an empty text"),
    ("domain", "a list"),
    ("domain", "a huge number"),
}


@pytest.mark.parametrize("path", FULL)
def test_a_body_that_cannot_be_read_is_one_clear_problem(standing, path):
    before = spent(standing)
    for content in UNREADABLE:
        response = standing.send("POST", path, content=content, headers=JSON)
        assert response.status_code in (400, 404, 422), (content[:12], response.text[:300])
        assert response.json()["type"] in ("parameter", "malformed", "unknown-gate")
    assert spent(standing) == before


UNREADABLE = [
    *(b"", b"null", b"[]", b"1", b'"text"', b"{", b"\xff\xfe{}", b"\xef\xbb\xbf{}", b"[" * 60_000, b'{"a":' * 10_000),
    b'{"threshold": 1, "threshold": 2, "cutoff": 1}',
    LONG.encode(),
]


def test_every_method_that_an_address_does_not_take_is_405_and_says_which_it_takes(standing):
    for path, operations in standing.app.openapi()["paths"].items():
        there = path.replace("{id}", "g-0123456789abcdef").replace("{name}", "anna")
        taken = {method.upper() for method in operations}
        taken |= {"HEAD"} if "GET" in taken else set()
        for method in {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "QUERY"} - taken:
            response = standing.send(method, there, key=None)
            assert set(response.headers["allow"].split(", ")) == taken, (method, path)
            assert response.status_code == 405
            if method != "HEAD":
                assert_problem(response, 405, "method-not-allowed")


def test_a_bad_method_of_a_top_is_told_what_it_may_be_in_words(standing):
    problem = assert_problem(standing.send("POST", "/v1/top", TOP | {"method": "best"}), 422, "parameter")
    assert problem["rule"].startswith("must be one of auto, ")
    assert "^" not in problem["detail"]
