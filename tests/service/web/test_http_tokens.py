"""Tokens over HTTP: an owner gives them out, sees them and stops them, and sees who asked what."""

from __future__ import annotations

import json
import re
from urllib.parse import quote

import pytest
from tests.support.serving import MANY, NOBODY, assert_problem


def test_a_token_is_made_shown_once_used_and_revoked(service):
    made = service.send("POST", "/v1/tokens", {"name": "berta", "expires": "30d", "most_above": 2}, key=None)
    assert made.status_code == 201, made.text
    text = made.json()["token"]
    assert re.fullmatch(r"sg_[A-Za-z0-9_-]{43}", text)
    assert made.headers["location"] == "/v1/tokens/berta"
    listed = service.send("GET", "/v1/tokens").json()
    assert [(each["name"], each["role"]) for each in listed] == [
        ("olga", "owner"),
        ("anna", "analyst"),
        ("berta", "analyst"),
    ]
    assert text not in json.dumps(listed)
    assert listed[2]["quota"] == {"most_above": 2, "above": 0, "most_epsilon": None, "epsilon": "0"}
    assert listed[0]["quota"] is None
    me = service.send("GET", "/v1/whoami", token=text).json()
    assert (me["name"], me["expires_at"]) == ("berta", listed[2]["expires_at"])
    gone = service.send("DELETE", "/v1/tokens/berta")
    assert gone.json()["revoked_at"] is not None
    assert_problem(service.send("GET", "/v1/whoami", token=text), 401, "unauthenticated")


def test_who_am_i_counts_what_was_used(service):
    gate = service.open_gate(epsilon="2")
    service.ask(gate, MANY)
    service.ask(gate, NOBODY)
    mine = service.send("GET", "/v1/whoami", token="analyst").json()["quota"]
    assert mine == {"most_above": None, "above": 1, "most_epsilon": None, "epsilon": "0"}
    assert service.send("GET", "/v1/whoami").json()["quota"]["epsilon"] == "2"


def test_a_quota_is_kept_over_http(service):
    text = service.send("POST", "/v1/tokens", {"name": "berta", "most_above": 1}, key=None).json()["token"]
    gate = service.open_gate()
    assert service.ask(gate, MANY, token=text).status_code == 200
    assert_problem(service.ask(gate, MANY, token=text), 403, "quota-exceeded")
    assert service.send("GET", f"/v1/gates/{gate}").json()["asked"] == 1


@pytest.mark.parametrize(
    ("bound", "beyond", "within"),
    [
        ({"expires": "2d"}, {}, {"expires": "1d"}),
        ({"expires": "2d"}, {"expires": "3d"}, {"expires": "12h"}),
        ({"most_epsilon": "0.5"}, {"role": "owner", "most_epsilon": "0.5"}, {"role": "analyst"}),
        ({"most_above": 3}, {"most_above": 3}, None),
    ],
)
def test_an_owner_with_a_bound_makes_no_token_without_it(service, bound, beyond, within):
    made = service.send("POST", "/v1/tokens", {"name": "olaf", "role": "owner"} | bound, key=None)
    olaf = made.json()["token"]
    refused = service.send("POST", "/v1/tokens", {"name": "friend"} | beyond, key=None, token=olaf)
    assert assert_problem(refused, 422, "parameter")["parameter"] == next(iter(bound))
    assert len(service.send("GET", "/v1/tokens").json()) == 3
    if within is not None:
        assert service.send("POST", "/v1/tokens", {"name": "friend"} | within, key=None, token=olaf).status_code == 201


@pytest.mark.parametrize("name", ["a/b c", "Jörg", "50%", "日本", "..", "a?b#c"])
def test_any_name_that_can_be_given_can_be_revoked(service, name):
    assert service.send("POST", "/v1/tokens", {"name": name}, key=None).status_code == 201
    gone = service.send("DELETE", f"/v1/tokens/{quote(name, safe='').replace('.', '%2E')}")
    assert (gone.status_code, gone.json()["name"]) == (200, name)


@pytest.mark.parametrize("name", ["nobody", "%00", "%ED%A0%80", "x" * 500])
def test_a_token_that_never_was_is_404(standing, name):
    assert_problem(standing.send("DELETE", f"/v1/tokens/{name}"), 404, "unknown-token")


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"name": "anna"}, "name"),
        ({"name": "nul\x00"}, "name"),
        ({"name": " "}, "name"),
        ({"name": "x" * 101}, "name"),
        ({"role": "king"}, "role"),
        ({"expires": "yesterday"}, "expires"),
        ({"expires": "2001-01-01"}, "expires"),
        ({"expires": "99999999999999999d"}, "expires"),
        ({"most_above": 0}, "most_above"),
        ({"most_above": 10**30}, "most_above"),
        ({"most_epsilon": "1"}, "most_epsilon"),
        ({"most_epsilon": -1, "role": "owner"}, "most_epsilon"),
    ],
)
def test_a_token_that_cannot_be_made_is_refused(standing, change, field):
    sent = standing.send("POST", "/v1/tokens", {"name": "berta"} | change, key=None)
    assert assert_problem(sent, 422, "parameter")["pointer"] == f"/{field}"
    assert len(standing.send("GET", "/v1/tokens").json()) == 2


def test_an_owner_sees_who_asked_what_page_by_page(service):
    gate = service.open_gate(name="Weekly")
    for where, token in ((MANY, "analyst"), (NOBODY, "owner"), (MANY, "analyst")):
        service.ask(gate, where, token=token)
    first = service.send("GET", "/v1/activity?limit=2")
    (path,) = re.findall(r'<(/v1/[^>]*)>; rel="next"', first.headers["link"])
    second = service.send("GET", path)
    assert "link" not in second.headers
    lines = first.json() + second.json()
    assert [(line["number"], line["by"], line["where"], line["above"]) for line in lines] == [
        (3, "anna", MANY, True),
        (2, "olga", NOBODY, False),
        (1, "anna", MANY, True),
    ]
    assert {(line["gate"], line["gate_name"]) for line in lines} == {(gate, "Weekly")}


@pytest.mark.parametrize("query", ["after=x", "after=%00_1_1", "limit=0", "limit=1e9", "after=2030_1_99999999999"])
def test_a_page_of_the_activity_that_cannot_be_is_refused(standing, query):
    sent = standing.send("GET", f"/v1/activity?{query}")
    assert assert_problem(sent, 422, "parameter")["parameter"] == query.partition("=")[0]


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/v1/tokens", None),
        ("POST", "/v1/tokens", {"name": "carl", "role": "owner"}),
        ("DELETE", "/v1/tokens/olga", None),
        ("GET", "/v1/activity", None),
    ],
)
def test_tokens_and_activity_are_the_owners_affair(standing, method, path, body):
    assert_problem(standing.send(method, path, body, token="analyst"), 403, "forbidden")
    assert [token["revoked_at"] for token in standing.send("GET", "/v1/tokens").json()] == [None, None]
