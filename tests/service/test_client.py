"""The clients: against a real server, and against one that is slow or loses its answers."""

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

import sparsegate as sg
from sparsegate import ABOVE, BELOW, GateClosed, ParameterError
from sparsegate.errors import ConditionError, OutcomeLost, QuotaExceeded, ServiceError, UnknownGate
from sparsegate.service.client import AsyncClient, Client, connect, connect_async, settings

TOKEN = "sg_" + "s" * 43
URL = "https://service.example"
VIEW = {"id": "g-1", "threshold": 1, "cutoff": 2, "epsilon": "0.5", "queries": None, "remaining": 2, "closed": False}
VIEW |= {"noise": "exponential", "closes": "above", "standard_error": 2.5, "positives": 0, "spent": "0"}
VIEW |= {"name": "", "description": "", "opened_by": None, "margin": 9, "margin_all": 9, "given_back": "0"}
ANSWER = {"gate": "g-1", "number": 1, "above": True, "remaining": 1, "closed": False}
ANSWER |= {"estimate": 7, "standard_error": 2.5, "spent": "0.1"}
SERVED = {"dataset": "d", "unit": "user", "delay": 100.0, "max_cell": 9, "columns": [], "left_out": []}


@pytest.fixture(scope="module")
def live(tmp_path_factory):
    """A service behind a real uvicorn, and its URL."""
    folder = tmp_path_factory.mktemp("live")
    with visits(folder) as data, serving(folder, data, epsilon=10**6) as service, listening(service.app) as url:
        yield service, url


@pytest.fixture
def owner(live):
    service, url = live
    with connect(url, service.owner) as client:
        yield client


def open_certain(client, **changes):
    return client.open_gate(**{"threshold": 100, "cutoff": 3, "epsilon": 100} | changes)


def test_a_remote_gate_is_asked_like_a_gate_of_the_library(owner):
    with open_certain(owner, name="Weekly", description="For the board.") as gate:
        assert (gate.name, gate.description, gate.opened_by, gate.spent) == ("Weekly", "For the board.", "olga", 0)
        assert (gate.threshold, gate.cutoff, gate.epsilon, gate.queries) == (100, 3, Fraction(100), None)
        assert [gate.ask(MANY), gate.ask(NOBODY), bool(gate.ask(MANY))] == [ABOVE, BELOW, True]
        assert (gate.positives, gate.remaining, gate.closed) == (2, 1, False)
        heard = gate.spent
        assert heard == gate.refresh().spent > 0, "it is not stale after an ask"
        assert gate.reserved == 100 - heard
    assert (gate.closed, gate.given_back, gate.reserved) == (True, 100 - heard, 0)
    with pytest.raises(GateClosed, match="it was closed by hand"):
        gate.ask(MANY)
    with open_certain(owner, closes="rarer", cutoff=1) as gate:
        assert [gate.ask(where).above for where in (MANY, MANY, NOBODY)] == [True, True, False]
        assert (gate.closes, gate.noise, gate.positives, gate.closed) == ("rarer", "laplace", 2, True)
    look = owner.preview(threshold=5, cutoff=25, epsilon=0.5)
    assert (look.margin, look.cost, "larger than the threshold" in look.warning) == (92, Fraction(1, 2), True)
    assert ((0.5, 92) in look.curve, (25, 92) in look.by_cutoff) == (True, True)


def test_a_gate_without_a_cutoff_from_afar(tmp_path):
    with (
        visits(tmp_path) as data,
        serving(tmp_path, data, epsilon=(3, 1e-6)) as service,
        listening(service.app) as url,
        connect(url, service.owner) as client,
    ):
        look = client.preview(threshold=100, within=15)
        assert (look.curve, look.warning, look.rho) == ((), None, look.opening_rho + look.above_rho)
        before = client.budget().spent.rho
        with client.open_gate(threshold=100, within=15, expect=10) as gate:
            assert (gate.cutoff, gate.remaining, gate.within, gate.expect) == (None, None, 15, 10)
            assert [gate.ask(where).above for where in (MANY, NOBODY, MANY)] == [True, False, True]
            assert (gate.positives, gate.closed, gate.above_rho) == (2, False, look.above_rho)
            assert "2 of ∞ positives, open" in repr(gate)
        assert (gate.closed, gate.reserved) == (True, 0)
        assert client.budget().spent.rho - before == gate.opening_rho + 2 * gate.above_rho


def test_a_gate_for_each_cell_from_afar(tmp_path):
    with (
        visits(tmp_path, cells={"country": 1}) as data,
        serving(tmp_path, data) as service,
        listening(service.app) as url,
        connect(url, service.owner) as client,
    ):
        assert client.schema().cells == {"country": 1}
        with client.open_gate(threshold=100, cutoff=1, epsilon=100, per="country") as gate:
            assert (gate.per, gate.cells_per_user, gate.remaining) == ("country", 1, None)
            assert [gate.ask("true", cell=cell).above for cell in ("DE", "nowhere")] == [True, False]
            with pytest.raises(GateClosed, match="of this cell"):
                gate.ask("true", cell="DE")
            assert (gate.positives, gate.closed, gate.remaining) == (1, False, 1)
            with pytest.raises(ParameterError, match="cell must be given"):
                gate.ask("true")
            assert next(gate.answers()).where == "\"country\" = 'DE' AND (true)"
        assert (gate.closed, gate.given_back > 0) == (True, True)


def test_an_analyst_sees_gates_of_others_asks_them_and_practises_for_nothing(owner, live):
    service, url = live
    gate, before = open_certain(owner), service.keeper.budget()
    with connect(url, service.analyst) as analyst:
        theirs = analyst.gate(gate.id)
        with open_certain(analyst.practice) as practised:
            assert practised.ask("country = 'country 1'")
        assert gate.id in [each.id for each in analyst.gates()]
        assert practised.id not in [each.id for each in analyst.gates()]
        assert service.keeper.budget() == before
        assert theirs.ask(MANY)
        with pytest.raises(ServiceError, match="needs a token with the role owner") as refused:
            theirs.close()
    assert (refused.value.status, refused.value.type) == (403, "forbidden")
    assert gate.remaining == 3
    assert gate.refresh().remaining == 2


def test_the_budget_is_the_ledgers_own_statement_and_the_schema_that_of_the_data(owner, live):
    service, _ = live
    top = owner.top(item="page", count=2, epsilon=200, domain=("/blog", "/pay", "/home"), answers_epsilon=50)
    assert (top.items, top.record["method"]) == (("/home", "/pay"), "subset")
    assert abs(top.estimates[0] - 300) < 30
    assert owner.budget() == service.keeper.budget()
    served = owner.schema()
    assert served.schema == service.keeper.dataset.schema
    assert (served.dataset, served.unit, served.delay) == ("visits", "user", 0)


def test_errors_are_the_librarys_own(owner):
    gate = open_certain(owner)
    with pytest.raises(ConditionError, match="declared column") as wrong:
        gate.ask("cuntry = 'DE'")
    assert (wrong.value.start, wrong.value.end, wrong.value.near) == (0, 6, ("country",))
    assert wrong.value.parameter == "where"
    assert str(pickle.loads(pickle.dumps(wrong.value))) == str(wrong.value)
    for changes, name in (({"cutoff": 0}, "cutoff"), ({"epsilon": "much"}, "epsilon")):
        with pytest.raises(ParameterError) as refused:
            open_certain(owner, **changes)
        assert refused.value.parameter == name
    with pytest.raises(UnknownGate):
        owner.gate("g-0000000000000000")


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
        return httpx.Response(200, json=SERVED if request.url.path == "/v1/schema" else VIEW)

    async def later(self, request):
        return self(request)

    def client(self, url=URL, **options):
        http = httpx.Client(**settings(url, TOKEN, 5, False), transport=httpx.MockTransport(self))
        return Client(http, **{"retries": 3, "timeout": 5} | options)

    def async_client(self, **options):
        http = httpx.AsyncClient(**settings(URL, TOKEN, 5, False), transport=httpx.MockTransport(self.later))
        return AsyncClient(http, **{"retries": 3, "timeout": 5} | options)

    @property
    def waited(self):
        """The paths that were asked for, and how long an answer would have been waited for."""
        return [(request.url.path, request.extensions["timeout"]["read"]) for request in self.requests]


@pytest.fixture(autouse=True)
def pauses(monkeypatch):
    """Nobody waits; how long each would have is kept."""
    slept = []

    async def later(seconds):
        slept.append(seconds)

    # The module's own name, not the module: a service that still runs in a thread here goes on sleeping.
    monkeypatch.setattr("sparsegate.service.client.time", SimpleNamespace(sleep=slept.append))
    monkeypatch.setattr("sparsegate.service.client.anyio", SimpleNamespace(sleep=later))
    return slept


SMALL = {"threshold": 1, "cutoff": 2, "epsilon": 0.5}
LOST = [httpx.ConnectError("no"), httpx.ReadTimeout("slow"), httpx.RemoteProtocolError("cut")]


@pytest.mark.parametrize("waits", ["blocking", "async"])
def test_a_lost_answer_is_asked_for_again_under_the_same_key(pauses, waits):
    server = Flaky(None, *LOST)

    async def talk():
        async with server.async_client() as client:
            gate = await client.open_gate(**SMALL)
            return await gate.ask(MANY)

    asked = server.client().open_gate(**SMALL).ask(MANY) if waits == "blocking" else asyncio.run(talk())
    assert asked == ABOVE
    keys = [request.headers["idempotency-key"] for request in server.requests]
    assert len(keys) == 5
    assert keys[0] != keys[1] == keys[2] == keys[3] == keys[4]
    assert len({request.content for request in server.requests[1:]}) == 1
    assert pauses == [0.1, 0.2, 0.4]


def problem(status, kind):
    return httpx.Response(status, json={"type": kind, "title": "t", "status": status, "detail": f"about {kind}"})


@pytest.mark.parametrize(
    "trouble",
    [
        lambda: httpx.Response(502, text="<html>"),
        lambda: httpx.Response(504, headers={"Retry-After": "99"}),
        lambda: problem(503, "no-room"),
        lambda: httpx.Response(429, headers={"Retry-After": "3"}),
    ],
)
def test_a_gateway_that_lost_the_service_or_a_service_that_is_busy_is_asked_again(trouble, pauses):
    server = Flaky(trouble(), trouble())
    assert server.client(f"{URL}/sparsegate").open_gate(**SMALL).id == "g-1"
    assert server.requests[0].url.path == "/sparsegate/v1/gates", "a service may live under a path"
    assert json.loads(server.requests[0].content)["epsilon"] == "0.5"
    assert len(server.requests) == 3
    assert len({request.headers["idempotency-key"] for request in server.requests}) == 1
    assert pauses == {504: [10.0] * 2, 429: [3.0] * 2}.get(trouble().status_code, [0.1, 0.2])


@pytest.mark.parametrize(
    ("status", "kind", "error"),
    [
        (503, "outcome-lost", OutcomeLost),
        (409, "gate-closed", GateClosed),
        (402, "budget-exceeded", sg.BudgetExceeded),
        (422, "parameter", ParameterError),
        (500, "internal", ServiceError),
    ],
)
def test_a_problem_is_raised_at_once_and_not_sent_again(status, kind, error):
    """What each sort is raised as: see web/test_openapi.py."""
    server = Flaky(problem(status, kind))
    with pytest.raises(error) as raised:
        server.client().open_gate(**SMALL)
    assert type(raised.value) is error
    assert len(server.requests) == 1


@pytest.mark.parametrize("body", [b"<html>", b"[]", b"{}", b"null", b"\xff"])
def test_something_else_that_answers_is_not_taken_for_a_gate(body):
    for status in (200, 404, 301):
        with pytest.raises(ServiceError, match="not sparsegate"):
            Flaky(httpx.Response(status, content=body)).client().budget()


def test_a_gate_that_fails_inside_its_block_shows_that_and_not_that_it_could_not_be_closed():
    server = Flaky(None, problem(503, "outcome-lost"), problem(500, "internal"))
    client = server.client()
    with pytest.raises(OutcomeLost), client.open_gate(**SMALL) as gate:
        gate.ask(MANY)
    with pytest.raises(ServiceError), client.open_gate(**SMALL):
        server.script = [problem(500, "internal")]


def test_the_token_is_in_no_repr_and_in_no_error():
    server = Flaky(None, *[httpx.ConnectError("no")] * 4, problem(401, "unauthenticated"))
    client = server.client()
    gate = client.open_gate(**SMALL)
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


@pytest.mark.parametrize("url", ["http://service.example", "http://192.0.2.1:8460", "http://localhost.example"])
def test_a_token_does_not_travel_in_the_clear(url):
    for start in (connect, connect_async):
        with pytest.raises(ParameterError, match="url must be https for another machine"):
            start(url, TOKEN)
    connect(url, TOKEN, insecure=True).close()


def test_a_url_is_of_this_machine_or_over_tls_or_refused():
    for url in ("http://localhost:1", "http://127.0.0.9", "http://[::1]:8460", "https://service.example/a"):
        connect(url, TOKEN).close()
    for url in ("", "service.example", "ftp://x", "https://me:secret@x", "https://x?y", "https://x:y", None):
        with pytest.raises(ParameterError, match="url must be http") as refused:
            connect(url, TOKEN)
        assert "secret" not in str(refused.value)
    for option, value in (("timeout", 0), ("retries", -1), ("retries", 1.5)):
        with pytest.raises(ParameterError) as refused:
            connect(URL, TOKEN, **{option: value})
        assert refused.value.parameter == option
    server = Flaky()
    with pytest.raises(ParameterError):
        server.client().gate("../budget")
    assert server.requests == [], "a name that is no gate's reaches no other address"


def test_all_gates_and_all_answers_come_page_by_page(owner, monkeypatch):
    monkeypatch.setattr("sparsegate.service.client.PAGE", 2)
    gates = [open_certain(owner) for _ in range(5)]
    gates[1].close()
    assert [gate.id for gate in owner.gates()][:5] == [gate.id for gate in reversed(gates)]
    assert gates[1].id in [gate.id for gate in owner.gates(closed=True)]
    assert gates[1].id not in [gate.id for gate in owner.gates(closed=False)]
    for where in (MANY, NOBODY, NOBODY, MANY, NOBODY):
        gates[0].ask(where)
    told = [(answer.number, answer.where, answer.above, answer.by) for answer in gates[0].answers()]
    assert told[:2] == [(1, MANY, True, "olga"), (2, NOBODY, False, "olga")]
    assert [number for number, *_ in told] == [1, 2, 3, 4, 5]
    assert [answer.number for answer in gates[0].answers(after=3)] == [4, 5]
    newest = list(owner.activity())[:5]
    assert [(ask.gate, ask.number) for ask in newest] == [(gates[0].id, number) for number in (5, 4, 3, 2, 1)]


def test_tokens_are_made_used_and_revoked(owner, live):
    text = owner.add_token("berta", expires="30d", most_above=1)
    with connect(live[1], text, retries=0) as berta:
        me = berta.whoami()
        assert (me.name, me.role, me.quota.most_above, me.quota.above) == ("berta", "analyst", 1, 0)
        assert me.expires_at is not None
        gate = berta.gate(open_certain(owner).id)
        assert gate.ask(MANY)
        with pytest.raises(QuotaExceeded):
            gate.ask(MANY)
        (record,) = [token for token in owner.tokens() if token.name == "berta"]
        assert (record.quota.above, record.revoked_at, text in str(record)) == (1, None, False)
        assert owner.revoke_token("berta").revoked_at is not None
        with pytest.raises(ServiceError, match="send `Authorization"):
            berta.whoami()


def test_the_async_client_is_told_the_same(live):
    service, url = live

    async def talk():
        async with connect_async(url, service.owner) as client:
            gate = await open_certain(client, name="Weekly")
            await gate.ask(MANY)
            await gate.ask(NOBODY)
            assert gate.name == "Weekly"
            assert [answer.above async for answer in gate.answers()] == [True, False]
            assert (await client.gates(closed=False))[0].id == gate.id
            assert (await client.preview(threshold=5, cutoff=25, epsilon=0.5)).warning
            assert [(ask.gate, ask.number) async for ask in client.activity()][:2] == [(gate.id, 2), (gate.id, 1)]
            assert (await client.whoami()).name == "olga"
            text = await client.add_token("carl", "owner", most_epsilon=0.5)
            async with connect_async(url, text) as carl:
                assert (await carl.whoami()).quota.most_epsilon == Fraction(1, 2)
            assert (await client.revoke_token("carl")).name == "carl"
            assert "carl" in [token.name for token in await client.tokens()]
            async with await open_certain(client.practice) as practised:
                assert await practised.ask("country = 'country 1'")

    asyncio.run(talk())


ASK, LOOK, SCHEMA = "/v1/gates/g-1/ask", "/v1/gates/g-1", "/v1/schema"


@pytest.mark.parametrize(
    ("patience", "waited"),
    [
        (None, [(LOOK, 90), (SCHEMA, 90), (ASK, 290), (ASK, 290), (LOOK, 90)]),
        (7, [(LOOK, 7), (ASK, 7), (ASK, 7), (LOOK, 7)]),
    ],
)
def test_a_client_waits_as_long_as_the_delay_of_the_service_asks_for(patience, waited):
    server = Flaky()
    gate = server.client(retries=0, timeout=patience).gate("g-1")
    gate.ask(MANY)
    gate.ask(MANY)
    gate.refresh()
    assert server.waited == waited


def test_a_token_that_may_have_been_made_is_not_asked_for_again():
    server = Flaky(*LOST)
    with pytest.raises(ServiceError, match="cannot be reached"):
        server.client().add_token("berta")
    assert len(server.requests) == 1
    server.script = [httpx.ConnectError("no")] * 9
    with pytest.raises(ServiceError, match="cannot be reached") as raised:
        server.client(retries=2).open_gate(**SMALL)
    assert (raised.value.status, len(server.requests)) == (0, 4)
