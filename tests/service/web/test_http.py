"""The service over HTTP: who may do what, what comes back, in pages, under names, to practise; and its description."""

from __future__ import annotations

import re
from dataclasses import replace
from urllib.parse import quote

import pytest
from fastapi import FastAPI
from tests.support.display import valid
from tests.support.serving import CERTAIN, MANY, NOBODY, TOP, UNLIMITED, assert_problem, serving

from sparsegate.service.web.admission import OwnWork
from sparsegate.service.web.http import page_routes

NAMED = CERTAIN | {"name": "Visits, weekly", "description": "For the board.\nEvery Monday."}
NUMBERS = {"threshold": 1000, "cutoff": 25, "epsilon": "0.5"}


def test_an_owner_opens_a_gate_an_analyst_asks_it_and_closed_it_answers_no_more(service):
    opened = service.send("POST", "/v1/gates", NAMED)
    assert opened.status_code == 201
    gate = opened.json()["id"]
    assert opened.headers["location"] == f"/v1/gates/{gate}"
    seen = service.send("GET", f"/v1/gates/{gate}", token="analyst").json()
    assert seen == opened.json() | {"ahead": 0}
    assert (seen["name"], seen["description"], seen["opened_by"]) == ("Visits, weekly", NAMED["description"], "olga")
    answer = service.ask(gate, MANY).json()
    carried = {name: answer.pop(name) for name in ("estimate", "standard_error", "spent")}
    assert answer == {"gate": gate, "number": 1, "above": True, "remaining": 2, "closed": False, "practice": False}
    assert carried["spent"] == service.send("GET", f"/v1/gates/{gate}").json()["spent"] > "0"
    assert type(carried["estimate"]) is int
    assert service.ask(gate, NOBODY).json()["above"] is False
    lines = service.send("GET", "/v1/activity").json()
    assert [(line["number"], line["by"], line["where"], line["above"], line["gate_name"]) for line in lines] == [
        (2, "anna", NOBODY, False, "Visits, weekly"),
        (1, "anna", MANY, True, "Visits, weekly"),
    ]
    assert service.send("DELETE", f"/v1/gates/{gate}").json()["because"] == "it was closed by hand"
    assert_problem(service.ask(gate, MANY), 409, "gate-closed")


def test_an_owner_gets_a_top_list_once_for_each_key_and_all_above_a_bar(service):
    first = service.send("POST", "/v1/top", TOP | {"answers_epsilon": 50}, key="k").json()
    assert valid(first)
    assert [row["item"] for row in first["items"]] == ["/home"]
    assert service.send("POST", "/v1/top", TOP | {"answers_epsilon": "50.0"}, key="k").json() == first
    assert service.send("GET", "/v1/budget").json()["spent"] == {"epsilon": "150", "delta": "0", "rho": None}
    assert_problem(service.send("POST", "/v1/top", TOP, key="k"), 409, "key-reused")
    assert_problem(service.send("POST", "/v1/top", TOP | {"epsilon": "850.5"}), 402, "budget-exceeded")
    service.keeper.ledger.raise_budget(budget=1000, budget_delta=0.1, why="a test")
    bar = {"item": "page", "above": 200, "epsilon": 20, "delta": 1e-6, "domain": "observed", "max_items_per_user": 2}
    above = service.send("POST", "/v1/top", bar).json()
    assert ([row["item"] for row in above["items"]], above["record"]["method"]) == (["/home"], "partition-selection")
    assert_problem(service.send("POST", "/v1/top", bar | {"count": 3}), 422, "parameter")


def test_a_preview_is_what_the_gate_will_be_and_tells_owners_alone_what_is_left(service):
    preview = service.send("POST", "/v1/preview", NUMBERS, key=None).json()
    opened = service.send("POST", "/v1/gates", NUMBERS).json()
    for name in ("margin", "margin_all", "confidence", "standard_error", "noise"):
        assert preview[name] == opened[name], name
    assert (preview["cost"], preview["remaining"], preview["warning"]) == ("0.5", "1000", None)
    assert service.send("GET", "/v1/budget").json()["spent"]["epsilon"] == "0.5", "the gate alone"
    wanted = NUMBERS | {"epsilon": "1000.5"}
    told = service.send("POST", "/v1/preview", wanted, key=None).json()
    assert "costs more than the epsilon 999.5 that the ledger has left" in told["warning"]
    untold = service.send("POST", "/v1/preview", wanted, key=None, token="analyst").json()
    assert (untold["remaining"], untold["remaining_rho"], untold["warning"]) == (None, None, None)


OWNERS = [
    ("POST", "/v1/gates", CERTAIN),
    ("DELETE", "/v1/gates/g-0123456789abcdef", None),
    ("GET", "/v1/budget", None),
    ("POST", "/v1/top", TOP),
    ("GET", "/v1/tokens", None),
    ("POST", "/v1/tokens", {"name": "carl", "role": "owner"}),
    ("DELETE", "/v1/tokens/olga", None),
    ("GET", "/v1/activity", None),
]


@pytest.mark.parametrize(("method", "path", "body"), OWNERS)
def test_an_analyst_may_not_do_what_is_the_owners(standing, method, path, body):
    assert_problem(standing.send(method, path, body, token="analyst"), 403, "forbidden")
    assert standing.send("GET", "/v1/budget").json()["spent"]["epsilon"] == "0"
    assert [token["revoked_at"] for token in standing.send("GET", "/v1/tokens").json()] == [None, None]


def test_all_but_health_and_readiness_needs_a_token_and_says_nothing_without_one(standing):
    described = {(method.upper(), path) for path, each in standing.app.openapi()["paths"].items() for method in each}
    for method, path in sorted(described | {("GET", "/v1/x")}):
        for token, headers in ((None, {}), ("", {}), ("sg_" + "A" * 43, {}), (None, {"Authorization": "Basic x"})):
            place = path.replace("{id}", "g-0123456789abcdef")
            response = standing.send(method, place, token=token, content=b"{", key=None, headers=headers)
            if path in ("/v1/health", "/v1/ready"):
                assert response.status_code == 200
            else:
                assert_problem(response, 401, "unauthenticated")
                assert response.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize("path", ["/v1/gates", "/v1/nothing", "/openapi.json", "/nothing", "/"])
def test_every_response_carries_the_safe_headers(standing, path):
    for token in ("owner", None):
        headers = standing.send("GET", path, token=token).headers
        assert headers["content-security-policy"].startswith("default-src 'self'; ")
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cache-control"] == ("no-store" if path.startswith("/v1") else "no-cache")


def test_the_examples_of_requests_are_requests_that_the_service_takes(service):
    schemas = service.app.openapi()["components"]["schemas"]
    (gate,), (question,), (top,) = (schemas[name]["examples"] for name in ("OpenGate", "AskGate", "AskTop"))
    opened = service.send("POST", "/v1/gates", gate).json()
    assert service.ask(opened["id"], question["where"]).status_code == 200
    assert service.send("POST", "/v1/top", top).status_code == 200


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


def followed(service, path, rel="next", token="analyst"):
    pages = []
    while path is not None:
        response = service.send("GET", path, token=token)
        assert response.status_code == 200, response.text
        pages.append(response.json())
        link = re.fullmatch(rf'<(/v1/[^>]*)>; rel="{rel}"', response.headers.get("link", ""))
        path = None if link is None else link[1]
        assert len(pages) < 10, "the pages have no end"
    return pages


@pytest.mark.parametrize("limit", [1, 3, 7])
def test_all_gates_are_on_the_pages_newest_first_and_none_twice(busy, limit):
    pages = followed(busy, f"/v1/gates?limit={limit}")
    assert [gate["id"] for page in pages for gate in page] == busy.names[::-1]
    assert {len(page) for page in pages[:-1]} <= {limit}
    closed = followed(busy, f"/v1/gates?limit={limit}&closed=true")
    assert [gate["id"] for page in closed for gate in page] == [busy.names[3], busy.names[0]]
    lines = followed(busy, f"/v1/activity?limit={limit}", token="owner")
    assert [line["number"] for page in lines for line in page] == [7, 6, 5, 4, 3, 2, 1]
    answers = f"/v1/gates/{busy.names[-1]}/answers?limit={limit}"
    forward, back = followed(busy, answers), followed(busy, f"{answers}&before=2147483647", "prev")
    for pages in (forward, back[::-1]):
        assert [answer["number"] for page in pages for answer in page] == [1, 2, 3, 4, 5, 6, 7]
    assert len(back[0]) == limit


def test_who_asked_is_told_to_owners_and_to_whoever_asked(busy):
    path = f"/v1/gates/{busy.names[-1]}/answers"
    told = [answer["by"] for answer in busy.send("GET", path).json()]
    assert told == ["anna", "anna", "olga", "anna", "anna", "anna", "anna"]
    told = [answer["by"] for answer in busy.send("GET", path, token="analyst").json()]
    assert told == ["anna", "anna", None, "anna", "anna", "anna", "anna"]


PAGES = {
    "/v1/gates": ["limit=0", "limit=1001", f"limit={10**30}", "limit=nan", "closed=maybe", "limit=-1", "limit=%00"],
    "/v1/gates/{id}/answers": ["after=-1", "before=0", f"after={10**30}", "before=1e3", "limit=5000", "after=x"],
    "/v1/activity": ["after=x", "after=%00_1_1", "limit=0", "limit=1e9", "after=2030_1_99999999999"],
}


@pytest.mark.parametrize("path", PAGES)
def test_a_page_that_cannot_be_is_refused(busy, path):
    for query in PAGES[path]:
        sent = busy.send("GET", f"{path.format(id=busy.names[-1])}?{query}")
        assert assert_problem(sent, 422, "parameter")["parameter"] == query.partition("=")[0]
    for after in ("g-0123456789abcdef", "g-x", "%00", "9" * 40, "%ED%A0%80"):
        assert_problem(busy.send("GET", f"/v1/gates?after={after}"), 404, "unknown-gate")


def test_a_name_is_part_of_the_request_and_no_name_is_none(service):
    """A repeated request gets the first answer, and another one under its key none; another token has its own keys."""
    gate = service.send("POST", "/v1/gates", NAMED, key="k").json()
    assert service.send("POST", "/v1/gates", NAMED | {"epsilon": 100.0}, key="k").json() == gate
    assert_problem(service.send("POST", "/v1/gates", NAMED | {"name": "Others"}, key="k"), 409, "key-reused")
    first = service.send("POST", "/v1/gates", CERTAIN, key="plain").json()
    assert service.send("POST", "/v1/gates", CERTAIN | {"name": "", "description": ""}, key="plain").json() == first
    assert {service.ask(gate["id"], MANY, key="k").json()["number"] for _ in range(3)} == {1}
    assert_problem(service.ask(gate["id"], NOBODY, key="k"), 409, "key-reused")
    assert service.ask(gate["id"], NOBODY, key="k", token="owner").status_code == 200
    assert service.send("GET", "/v1/budget").json()["spent"]["epsilon"] == "200"


@pytest.mark.parametrize(("path", "most"), [("/v1/preview", 1000), ("/v1/gates", 20_000)])
def test_a_plan_that_would_take_all_memory_is_refused_at_once(service, path, most):
    few = most // 20
    for cutoff, queries in ((few + 1, few + 1), (most + 1, 2**31 - 1), (2**31 - 1, 2**31 - 1)):
        sent = service.send("POST", path, NUMBERS | {"cutoff": cutoff, "queries": queries})
        assert assert_problem(sent, 422, "parameter")["pointer"] == "/cutoff"
    assert service.send("POST", path, NUMBERS | {"cutoff": most, "queries": 2**31 - 1}).status_code < 300


@pytest.mark.parametrize(
    ("work", "asked"), [("planning", ("POST", "/v1/preview", NUMBERS)), ("listing", ("GET", "/v1/gates"))]
)
def test_previews_and_lists_of_one_token_are_bounded(service, work, asked):
    setattr(service.app.state.service, work, OwnWork(replace(UNLIMITED, share=1e-6, share_burst=1e-6)))
    sent = [service.send(*asked, key=None) for _ in range(2)]
    assert [response.status_code for response in sent] == [200, 429]
    assert_problem(sent[-1], 429, "too-many-requests")
    assert int(sent[-1].headers["retry-after"]) >= 1
    assert service.send(*asked, key=None, token="analyst").status_code == 200
    unknown = service.send("GET", "/v1/gates?after=g-0123456789abcdef", token="analyst")
    assert unknown.status_code == (429 if work == "listing" else 404), "what is refused costs as much"


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


def test_any_name_that_can_be_given_can_be_revoked_and_another_is_404(service):
    for name in ("a/b c", "Jörg", "50%", "日本", "..", "a?b#c"):
        assert service.send("POST", "/v1/tokens", {"name": name}, key=None).status_code == 201
        gone = service.send("DELETE", f"/v1/tokens/{quote(name, safe='').replace('.', '%2E')}")
        assert (gone.status_code, gone.json()["name"]) == (200, name)
    for name in ("nobody", "%00", "%ED%A0%80", "x" * 500):
        assert_problem(service.send("DELETE", f"/v1/tokens/{name}"), 404, "unknown-token")


KINDS = {
    "page.css": "text/css; charset=utf-8",
    "page.js": "text/javascript; charset=utf-8",
    "gates.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}


def test_the_page_is_the_files_of_its_folder_that_a_page_is_made_of_and_no_other(tmp_path, service):
    for name in (*KINDS, "secret.txt", "keys"):
        (tmp_path / name).write_text(name)
    versions = []
    for title in ("one", "two"):
        (tmp_path / "index.html").write_text(f'<title>{title}</title><link href="/page.css"><a href="#/gates">')
        service.app = FastAPI(docs_url=None)
        service.app.include_router(page_routes(tmp_path))
        first = service.send("GET", "/", token=None)
        assert first.headers["content-type"] == "text/html; charset=utf-8"
        assert "cache-control" not in first.headers
        (version,) = re.findall(r'href="/([0-9a-f]{16})/page.css"', first.text)
        assert 'href="#/gates"' in first.text
        for name, kind in KINDS.items():
            got = service.send("GET", f"/{version}/{name}", token=None)
            assert (got.text, got.headers["content-type"]) == (name, kind)
            assert "immutable" in got.headers["cache-control"]
        secret = ("/secret.txt", f"/{version}/secret.txt", f"/{version}/keys", f"/{version}/../secret.txt")
        for path in (*secret, "/page.css", "/index.html", f"/{version}/index.html"):
            assert service.send("GET", path, token=None).status_code == 404, path
        versions.append(version)
    assert versions[0] != versions[1], "a browser would keep the old page"


def test_the_page_and_its_modules_ask_for_nothing_that_the_service_does_not_have(standing):
    wanted, seen = {"/"}, set()
    while wanted:
        path = wanted.pop()
        seen.add(path)
        got = standing.send("GET", path, token=None)
        assert got.status_code == 200, path
        assert got.headers["cache-control"] == ("no-cache" if path == "/" else "public, max-age=31536000, immutable")
        beside = {f"{path.rpartition('/')[0]}/{name}" for name in re.findall(r'from "[.]/([^"]+)"', got.text)}
        wanted |= ({*re.findall(r'(?:href|src)="([^"#]+)"', got.text)} if path == "/" else beside) - seen
    assert len(seen) > 10
