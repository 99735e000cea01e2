"""The clients: against a real server, and against one that loses its answers."""

from __future__ import annotations

import asyncio
import json
import pickle
import traceback
from fractions import Fraction
from types import SimpleNamespace

import httpx
import pytest
from tests.support.serving import MANY, NOBODY, listening, serving, visits

from sparsegate import (
    ABOVE,
    BELOW,
    BudgetExceeded,
    GateClosed,
    LedgerError,
    ParameterError,
    SparsegateError,
    TableError,
)
from sparsegate.errors import ConditionError, KeyReused, OutcomeLost, QuotaExceeded, ServiceError, UnknownGate
from sparsegate.service.client.client import AsyncClient, Client, connect, connect_async, settings

TOKEN = "sg_" + "s" * 43
URL = "https://service.example"
VIEW = {"id": "g-1", "threshold": 1, "cutoff": 2, "epsilon": "0.5", "queries": None, "remaining": 2, "closed": False}
VIEW |= {"noise": "exponential", "closes": "above", "standard_error": 2.5, "positives": 0, "spent": "0"}
VIEW |= {"name": "", "description": "", "opened_by": None, "margin": 9, "margin_all": 9, "given_back": "0"}
ANSWER = {"gate": "g-1", "number": 1, "above": True, "remaining": 1, "closed": False}
ANSWER |= {"estimate": 7, "standard_error": 2.5, "spent": "0.1"}


@pytest.fixture(scope="module")
def live(tmp_path_factory):
    """A service behind a real uvicorn, and its URL."""
    folder = tmp_path_factory.mktemp("live")
    with visits(folder) as data, serving(folder, data, epsilon=10**4) as service, listening(service.app) as url:
        yield service, url


@pytest.fixture
def owner(live):
    service, url = live
    with connect(url, service.owner) as client:
        yield client


def open_certain(client, **changes):
    return client.open_gate(**{"threshold": 100, "cutoff": 3, "epsilon": 100} | changes)


def test_a_remote_gate_is_asked_like_a_gate_of_the_library(owner):
    with open_certain(owner) as gate:
        assert gate.ask(MANY) == ABOVE
        assert gate.ask(NOBODY) == BELOW
        assert bool(gate.ask(MANY)) is True
        assert (gate.positives, gate.remaining, gate.closed) == (2, 1, False)
        assert (gate.threshold, gate.cutoff, gate.epsilon, gate.queries) == (100, 3, Fraction(100), None)
    assert gate.closed
    with pytest.raises(GateClosed, match="it was closed by hand"):
        gate.ask(MANY)
    assert 0 < gate.spent < 100
    assert (gate.given_back, gate.reserved) == (100 - gate.spent, 0)


def test_a_two_sided_gate_from_afar(owner):
    with open_certain(owner, closes="rarer", cutoff=1) as gate:
        assert [gate.ask(where).above for where in (MANY, MANY, NOBODY)] == [True, True, False]
        assert (gate.closes, gate.noise, gate.positives, gate.closed) == ("rarer", "laplace", 2, True)


def test_an_analyst_sees_gates_of_others_and_asks_them(owner, live):
    service, url = live
    gate = open_certain(owner)
    with connect(url, service.analyst) as analyst:
        theirs = analyst.gate(gate.id)
        assert theirs.ask(MANY)
        assert gate.id in [each.id for each in analyst.gates()]
        with pytest.raises(ServiceError, match="needs a token with the role owner") as refused:
            theirs.close()
    assert (refused.value.status, refused.value.type) == (403, "forbidden")
    assert gate.remaining == 3
    assert gate.refresh().remaining == 2


def test_the_budget_comes_back_as_the_ledgers_own_statement(owner, live):
    service, _ = live
    open_certain(owner, epsilon=0.1)
    assert owner.budget() == service.keeper.budget()


def test_the_schema_says_what_may_be_asked_about(owner, live):
    service, _ = live
    served = owner.schema()
    assert served.schema == service.keeper.dataset.schema
    assert (served.dataset, served.unit, served.delay) == ("visits", "user", 0)


def test_a_top_list_comes_back_with_its_counts(owner):
    top = owner.top(item="page", count=2, epsilon=200, domain=("/blog", "/pay", "/home"), answers_epsilon=50)
    assert top.items == ("/home", "/pay")
    assert abs(top.estimates[0] - 300) < 30
    assert top.record["method"] == "subset"


def test_errors_are_the_librarys_own(owner):
    gate = open_certain(owner)
    with pytest.raises(ConditionError, match="declared column") as wrong:
        gate.ask("cuntry = 'DE'")
    assert (wrong.value.start, wrong.value.end, wrong.value.near) == (0, 6, ("country",))
    assert wrong.value.parameter == "where"
    assert str(pickle.loads(pickle.dumps(wrong.value))) == str(wrong.value)
    with pytest.raises(BudgetExceeded, match="nothing was spent"):
        open_certain(owner, epsilon=20_000)
    with pytest.raises(ParameterError, match="cutoff must be") as small:
        open_certain(owner, cutoff=0)
    assert small.value.parameter == "cutoff"
    with pytest.raises(UnknownGate):
        owner.gate("g-0000000000000000")
    with pytest.raises(ParameterError, match="epsilon must be"):
        open_certain(owner, epsilon="much")


class Flaky:
    """A server that plays a list: an exception, a status, or a status with a body; then it answers."""

    def __init__(self, *script):
        self.script, self.requests = list(script), []

    def __call__(self, request):
        self.requests.append(request)
        step = self.script.pop(0) if self.script else None
        if isinstance(step, Exception):
            raise step
        if isinstance(step, httpx.Response):
            return step
        if request.url.path.endswith("/ask"):
            return httpx.Response(200, json=ANSWER)
        return httpx.Response(201, json=VIEW)

    async def later(self, request):
        return self(request)

    def client(self, retries=3):
        options = settings(URL, TOKEN, 5, False)
        return Client(httpx.Client(**options, transport=httpx.MockTransport(self)), retries=retries)

    def async_client(self, retries=3):
        options = settings(URL, TOKEN, 5, False)
        return AsyncClient(httpx.AsyncClient(**options, transport=httpx.MockTransport(self.later)), retries=retries)


@pytest.fixture(autouse=True)
def pauses(monkeypatch):
    """Nobody waits; how long each would have is kept."""
    slept = []

    async def later(seconds):
        slept.append(seconds)

    # The module's own name, not the module: a service that still runs in a thread here goes on sleeping.
    monkeypatch.setattr("sparsegate.service.client.client.time", SimpleNamespace(sleep=slept.append))
    monkeypatch.setattr("sparsegate.service.client.client.anyio", SimpleNamespace(sleep=later))
    return slept


LOST = [httpx.ConnectError("no"), httpx.ReadTimeout("slow"), httpx.RemoteProtocolError("cut")]


def test_a_lost_answer_is_asked_for_again_under_the_same_key(pauses):
    server = Flaky(None, *LOST)
    gate = server.client().open_gate(threshold=1, cutoff=2, epsilon=0.5)
    assert gate.ask(MANY)
    keys = [request.headers["idempotency-key"] for request in server.requests]
    assert len(keys) == 5
    assert keys[0] != keys[1] == keys[2] == keys[3] == keys[4]
    assert len({request.content for request in server.requests[1:]}) == 1
    assert pauses == [0.1, 0.2, 0.4]


def test_the_async_client_asks_again_under_the_same_key_too(pauses):
    server = Flaky(None, *LOST)

    async def talk():
        async with server.async_client() as client:
            gate = await client.open_gate(threshold=1, cutoff=2, epsilon=0.5)
            return await gate.ask(MANY)

    assert asyncio.run(talk()) == ABOVE
    assert len({request.headers["idempotency-key"] for request in server.requests[1:]}) == 1
    assert pauses == [0.1, 0.2, 0.4]


@pytest.mark.parametrize("status", [502, 504])
def test_a_gateway_that_lost_the_service_is_asked_again(status):
    server = Flaky(httpx.Response(status, text="<html>"), httpx.Response(status))
    assert server.client().open_gate(threshold=1, cutoff=2, epsilon=0.5).id == "g-1"
    assert len(server.requests) == 3


def test_a_service_that_is_busy_is_given_the_time_it_asks_for(pauses):
    server = Flaky(
        httpx.Response(429, headers={"Retry-After": "3"}), httpx.Response(429, headers={"Retry-After": "99"})
    )
    assert server.client().open_gate(threshold=1, cutoff=2, epsilon=0.5)
    assert pauses == [3.0, 10.0]


def problem(status, kind):
    return httpx.Response(status, json={"type": kind, "title": "t", "status": status, "detail": f"about {kind}"})


def test_a_service_without_a_place_is_asked_again():
    server = Flaky(problem(503, "no-room"), problem(503, "no-room"))
    assert server.client().open_gate(threshold=1, cutoff=2, epsilon=0.5).id == "g-1"
    assert len({request.headers["idempotency-key"] for request in server.requests}) == 1


@pytest.mark.parametrize(
    ("status", "kind", "error"),
    [
        (503, "outcome-lost", OutcomeLost),
        (503, "ledger-unavailable", LedgerError),
        (503, "data-unavailable", TableError),
        (409, "gate-closed", GateClosed),
        (409, "key-reused", KeyReused),
        (402, "budget-exceeded", BudgetExceeded),
        (403, "quota-exceeded", QuotaExceeded),
        (422, "parameter", ParameterError),
        (401, "unauthenticated", ServiceError),
        (500, "internal", ServiceError),
    ],
)
def test_a_problem_is_raised_at_once_and_not_sent_again(status, kind, error):
    server = Flaky(problem(status, kind))
    with pytest.raises(error) as raised:
        server.client().open_gate(threshold=1, cutoff=2, epsilon=0.5)
    assert type(raised.value) is error
    assert len(server.requests) == 1


def test_a_service_that_stays_away_is_one_clear_error():
    server = Flaky(*[httpx.ConnectError("no")] * 9)
    with pytest.raises(ServiceError, match="cannot be reached") as raised:
        server.client(retries=2).open_gate(threshold=1, cutoff=2, epsilon=0.5)
    assert raised.value.status == 0
    assert len(server.requests) == 3


@pytest.mark.parametrize("body", [b"<html>", b"[]", b"{}", b"null", b"\xff"])
@pytest.mark.parametrize("status", [200, 404, 301])
def test_something_else_that_answers_is_not_taken_for_a_gate(status, body):
    with pytest.raises(ServiceError, match="not sparsegate"):
        Flaky(httpx.Response(status, content=body)).client().budget()


def test_a_gate_that_fails_inside_its_block_shows_that_and_not_that_it_could_not_be_closed():
    server = Flaky(None, problem(503, "outcome-lost"), problem(500, "internal"))
    client = server.client()
    with pytest.raises(OutcomeLost), client.open_gate(threshold=1, cutoff=2, epsilon=0.5) as gate:
        gate.ask(MANY)
    with pytest.raises(ServiceError), client.open_gate(threshold=1, cutoff=2, epsilon=0.5):
        server.script = [problem(500, "internal")]


def test_the_token_is_in_no_repr_and_in_no_error():
    server = Flaky(None, *[httpx.ConnectError("no")] * 4, problem(401, "unauthenticated"))
    client = server.client()
    gate = client.open_gate(threshold=1, cutoff=2, epsilon=0.5)
    assert server.requests[0].headers["authorization"] == f"Bearer {TOKEN}"
    shown = [repr(client), repr(gate), repr(server.async_client())]
    for _ in range(2):
        with pytest.raises(ServiceError) as raised:
            gate.ask(MANY)
        assert raised.value.__context__ is None
        shown += [repr(raised.value), repr(vars(raised.value)), "".join(traceback.format_exception(raised.value))]
    for wrong in (TOKEN + "\n", TOKEN + "é", "", None):
        with pytest.raises(ParameterError, match="token must be the text") as refused:
            connect(URL, wrong)
        shown.append(str(refused.value))
    assert not any(TOKEN in text for text in shown)


def test_a_service_may_live_under_a_path():
    server = Flaky()
    options = settings(f"{URL}/sparsegate", TOKEN, 5, False)
    client = Client(httpx.Client(**options, transport=httpx.MockTransport(server)), retries=0)
    client.open_gate(threshold=1, cutoff=2, epsilon=Fraction(1, 8))
    assert server.requests[0].url.path == "/sparsegate/v1/gates"
    assert json.loads(server.requests[0].content)["epsilon"] == "0.125"


def test_a_name_that_is_no_gates_reaches_no_other_address():
    server = Flaky()
    with pytest.raises(SparsegateError, match="id must be the name of a gate"):
        server.client().gate("../budget")
    assert server.requests == []


@pytest.mark.parametrize("url", ["http://service.example", "http://192.0.2.1:8460", "http://localhost.example"])
def test_a_token_does_not_travel_in_the_clear(url):
    for start in (connect, connect_async):
        with pytest.raises(ParameterError, match="url must be https for another machine"):
            start(url, TOKEN)
    connect(url, TOKEN, insecure=True).close()


@pytest.mark.parametrize(
    "url", ["http://localhost:1", "http://127.0.0.9", "http://[::1]:8460", "https://service.example/a"]
)
def test_a_url_of_this_machine_or_over_tls_is_taken(url):
    connect(url, TOKEN).close()


@pytest.mark.parametrize(
    "url", ["", "service.example", "ftp://x", "https://me:secret@x", "https://x?y", "https://x:y", None]
)
def test_a_url_that_is_none_is_refused(url):
    with pytest.raises(ParameterError, match="url must be http") as refused:
        connect(url, TOKEN)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(("option", "value"), [("timeout", 0), ("retries", -1), ("retries", 1.5)])
def test_a_wrong_option_is_refused(option, value):
    with pytest.raises(ParameterError, match=f"{option} must be"):
        connect(URL, TOKEN, **{option: value})
