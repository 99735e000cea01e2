"""Gates with names, and what can be known before one is opened."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from tests.support.serving import CERTAIN, UNLIMITED, assert_problem

from sparsegate.service.web.admission import OwnWork

NAMED = CERTAIN | {"name": "Visits, weekly", "description": "For the board.\nEvery Monday."}
NUMBERS = {"threshold": 1000, "cutoff": 25, "epsilon": "0.5"}


def test_a_gate_keeps_its_name_its_description_and_who_opened_it(service):
    opened = service.send("POST", "/v1/gates", NAMED)
    assert opened.status_code == 201, opened.text
    seen = service.send("GET", f"/v1/gates/{opened.json()['id']}", token="analyst").json()
    assert seen == opened.json()
    assert (seen["name"], seen["description"], seen["opened_by"]) == ("Visits, weekly", NAMED["description"], "olga")


def test_a_name_is_part_of_the_request_and_no_name_is_none(service):
    service.send("POST", "/v1/gates", NAMED, key="k")
    assert_problem(service.send("POST", "/v1/gates", NAMED | {"name": "Others"}, key="k"), 409, "key-reused")
    first = service.send("POST", "/v1/gates", CERTAIN, key="plain").json()
    assert service.send("POST", "/v1/gates", CERTAIN | {"name": "", "description": ""}, key="plain").json() == first


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", "x" * 101),
        ("name", "two\nlines"),
        ("name", "nul\x00"),
        ("name", "right\u202eleft"),
        ("name", 5),
        ("description", "x" * 1001),
        ("description", "bell\x07"),
        ("description", None),
    ],
)
def test_a_name_that_cannot_be_shown_is_refused_and_nothing_is_spent(standing, field, value):
    problem = assert_problem(standing.send("POST", "/v1/gates", CERTAIN | {field: value}), 422, "parameter")
    assert problem["pointer"] == f"/{field}"
    lone = json.dumps(CERTAIN | {field: "\ud800"}).encode()
    response = standing.send("POST", "/v1/gates", content=lone, headers={"Content-Type": "application/json"})
    assert assert_problem(response, 422, "parameter")["pointer"] == f"/{field}"
    assert standing.send("GET", "/v1/budget").json()["spent"]["epsilon"] == "0"


def test_a_preview_says_what_a_gate_would_be_good_for_and_costs_nothing(service):
    seen = service.send("POST", "/v1/preview", NUMBERS, key=None)
    assert seen.status_code == 200, seen.text
    preview = seen.json()
    opened = service.send("POST", "/v1/gates", NUMBERS).json()
    for name in ("margin", "margin_all", "confidence", "standard_error", "noise"):
        assert preview[name] == opened[name], name
    assert (preview["cost"], preview["remaining"], preview["warning"]) == ("0.5", "1000", None)
    margins = [point["margin"] for point in preview["curve"]]
    assert len(margins) == 12
    assert margins == sorted(margins, reverse=True)
    assert {"epsilon": 0.5, "margin": preview["margin"]} in preview["curve"]
    margins = [point["margin"] for point in preview["by_cutoff"]]
    assert len(margins) >= 5
    assert margins == sorted(margins)
    assert {"cutoff": NUMBERS["cutoff"], "margin": preview["margin"]} in preview["by_cutoff"]
    assert service.send("GET", "/v1/budget").json()["spent"]["epsilon"] == "0.5", "the gate alone"


def test_a_preview_tells_an_owner_what_is_left_and_an_analyst_not(service):
    wanted = NUMBERS | {"epsilon": "1000.5"}
    told = service.send("POST", "/v1/preview", wanted, key=None).json()
    assert told["remaining"] == "1000"
    assert "costs more than the 1000 of epsilon" in told["warning"]
    untold = service.send("POST", "/v1/preview", wanted, key=None, token="analyst").json()
    assert (untold["remaining"], untold["warning"]) == (None, None)


@pytest.mark.parametrize(("path", "most"), [("/v1/preview", 1000), ("/v1/gates", 20_000)])
def test_a_plan_that_would_take_all_memory_is_refused_at_once(service, path, most):
    few = most // 20
    for cutoff, queries in ((few + 1, few + 1), (most + 1, 2**31 - 1), (2**31 - 1, 2**31 - 1)):
        problem = assert_problem(
            service.send("POST", path, NUMBERS | {"cutoff": cutoff, "queries": queries}), 422, "parameter"
        )
        assert problem["pointer"] == "/cutoff"
    assert service.send("POST", path, NUMBERS | {"cutoff": most, "queries": 2**31 - 1}).status_code < 300
    assert service.send("POST", path, NUMBERS | {"cutoff": 2**31 - 1}).status_code < 300


def test_previews_of_one_token_are_bounded(service):
    service.app.state.service.planning = OwnWork(replace(UNLIMITED, share=1e-6, share_burst=1e-6))
    sent = [service.send("POST", "/v1/preview", NUMBERS, key=None) for _ in range(2)]
    assert [response.status_code for response in sent] == [200, 429]
    assert_problem(sent[-1], 429, "too-many-requests")
    assert int(sent[-1].headers["retry-after"]) >= 1
    assert service.send("POST", "/v1/preview", NUMBERS, key=None, token="analyst").status_code == 200


def test_everybody_may_ask_who_they_are(standing):
    for token, name in (("owner", "olga"), ("analyst", "anna")):
        me = standing.send("GET", "/v1/whoami", token=token).json()
        assert (me["name"], me["role"]) == (name, token)
