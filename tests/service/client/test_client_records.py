"""What a client is told beside answers: pages, previews, tokens; how long it waits; and practice."""

from __future__ import annotations

import asyncio
from fractions import Fraction
from types import SimpleNamespace

import httpx
import pytest
from tests.support.serving import MANY, NOBODY, listening, serving, visits

from sparsegate.errors import QuotaExceeded, ServiceError
from sparsegate.service.client.calls import Patience
from sparsegate.service.client.client import AsyncClient, Client, connect, connect_async, settings

NUMBERS = {"threshold": 100, "cutoff": 3, "epsilon": 100}


@pytest.fixture(scope="module")
def live(tmp_path_factory):
    folder = tmp_path_factory.mktemp("live")
    with visits(folder) as data, serving(folder, data, epsilon=10**6) as service, listening(service.app) as url:
        yield service, url


@pytest.fixture
def owner(live):
    with connect(live[1], live[0].owner) as made:
        yield made


@pytest.fixture(autouse=True)
def small_pages(monkeypatch):
    monkeypatch.setattr("sparsegate.service.client.calls.PAGE", 2)


def test_a_gate_has_a_name_and_its_spending_is_not_stale_after_an_ask(owner):
    with owner.open_gate(**NUMBERS, name="Weekly", description="For the board.") as gate:
        assert (gate.name, gate.description, gate.opened_by) == ("Weekly", "For the board.", "olga")
        assert gate.margin <= gate.margin_all
        assert gate.spent == 0
        assert gate.ask(MANY)
        heard = gate.spent
        assert heard == gate.refresh().spent > 0
        assert gate.reserved == 100 - heard


def test_all_gates_and_all_answers_come_page_by_page(owner):
    gates = [owner.open_gate(**NUMBERS) for _ in range(5)]
    gates[1].close()
    assert [gate.id for gate in owner.gates()][:5] == [gate.id for gate in reversed(gates)]
    assert gates[1].id in [gate.id for gate in owner.gates(closed=True)]
    assert gates[1].id not in [gate.id for gate in owner.gates(closed=False)]
    for where in (MANY, NOBODY, NOBODY, MANY, NOBODY):
        gates[0].ask(where)
    told = list(gates[0].answers())
    assert [(answer.number, answer.where, answer.above, answer.by) for answer in told] == [
        (1, MANY, True, "olga"),
        (2, NOBODY, False, "olga"),
        (3, NOBODY, False, "olga"),
        (4, MANY, True, "olga"),
        (5, NOBODY, False, "olga"),
    ]
    assert [answer.number for answer in gates[0].answers(after=3)] == [4, 5]
    newest = list(owner.activity())[:5]
    assert [(ask.gate, ask.number) for ask in newest] == [(gates[0].id, number) for number in (5, 4, 3, 2, 1)]


def test_a_gate_is_previewed_before_it_is_opened(owner):
    seen = owner.preview(threshold=5, cutoff=25, epsilon=0.5)
    assert (seen.margin, seen.cost) == (92, Fraction(1, 2))
    assert seen.remaining > 10**5
    assert "larger than the threshold" in seen.warning
    assert (0.5, 92) in seen.curve
    assert (25, 92) in seen.by_cutoff


def test_tokens_are_made_used_and_revoked(owner, live):
    text = owner.add_token("berta", expires="30d", most_above=1)
    with connect(live[1], text) as berta:
        me = berta.whoami()
        assert (me.name, me.role, me.quota.most_above, me.quota.above) == ("berta", "analyst", 1, 0)
        assert me.expires_at is not None
        gate = berta.gate(owner.open_gate(**NUMBERS).id)
        assert gate.ask(MANY)
        with pytest.raises(QuotaExceeded):
            gate.ask(MANY)
    (record,) = [token for token in owner.tokens() if token.name == "berta"]
    assert (record.quota.above, record.revoked_at) == (1, None)
    assert owner.revoke_token("berta").revoked_at is not None
    with connect(live[1], text, retries=0) as berta, pytest.raises(ServiceError, match="send `Authorization"):
        berta.whoami()


def test_an_analyst_practises_for_nothing(live):
    service, url = live
    before = service.keeper.budget()
    with connect(url, service.analyst) as analyst:
        practice = analyst.practice
        with practice.open_gate(**NUMBERS) as gate:
            assert gate.ask("country = 'country 1'")
            assert [each.id for each in practice.gates()] == [gate.id]
        assert gate.id not in [each.id for each in analyst.gates()]
    assert service.keeper.budget() == before


def test_the_async_client_is_told_the_same(live):
    service, url = live

    async def talk():
        async with connect_async(url, service.owner) as client:
            gate = await client.open_gate(**NUMBERS, name="Weekly")
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
            async with await client.practice.open_gate(**NUMBERS) as practised:
                assert await practised.ask("country = 'country 1'")

    asyncio.run(talk())


VIEW = {"id": "g-1", "threshold": 1, "cutoff": 2, "epsilon": "0.5", "queries": None, "remaining": 2}
VIEW |= {
    "closed": False,
    "noise": "exponential",
    "closes": "above",
    "standard_error": 2.5,
    "positives": 0,
    "spent": "0",
}
VIEW |= {"name": "", "description": "", "opened_by": None, "margin": 9, "margin_all": 9, "given_back": "0"}
SERVED = {"dataset": "d", "unit": "user", "delay": 100.0, "max_cell": 9, "columns": [], "left_out": []}
ANSWER = {"above": False, "remaining": 1, "closed": False, "estimate": None, "standard_error": None, "spent": "0"}


class Slow:
    """A service with a delay of 100 seconds, which notes how long it would have been waited for."""

    def __init__(self, lost: int = 0) -> None:
        self.waited: list[tuple[str, float]] = []
        self.keys: list[str] = []
        self._lost = lost

    def __call__(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path
        self.waited.append((path, request.extensions["timeout"]["read"]))
        if path.endswith("/ask"):
            self.keys.append(request.headers["idempotency-key"])
            if len(self.keys) <= self._lost:
                raise httpx.ReadTimeout("slow")
            return httpx.Response(200, json=ANSWER)
        return httpx.Response(200, json=SERVED if path == SCHEMA else VIEW)

    async def later(self, request: httpx.Request) -> httpx.Response:
        return self(request)


ASK, LOOK, SCHEMA = "/v1/gates/g-1/ask", "/v1/gates/g-1", "/v1/schema"
OPTIONS = settings("https://service.example", "sg_" + "s" * 43, None, False)


def test_a_client_waits_as_long_as_the_delay_of_the_service_asks_for():
    server = Slow()
    with Client(httpx.Client(**OPTIONS, transport=httpx.MockTransport(server)), retries=0, patience=Patience()) as made:
        gate = made.gate("g-1")
        gate.ask(MANY)
        gate.ask(MANY)
        gate.refresh()
    assert server.waited == [(LOOK, 90), (SCHEMA, 90), (ASK, 290), (ASK, 290), (LOOK, 90)]


def test_a_client_that_was_told_how_long_to_wait_does_that():
    server = Slow()
    http = httpx.Client(**OPTIONS, transport=httpx.MockTransport(server))
    with Client(http, retries=0, patience=Patience(7)) as made:
        made.gate("g-1").ask(MANY)
    assert server.waited == [(LOOK, 7), (ASK, 7)]


def test_an_answer_that_took_too_long_is_asked_for_under_its_key(monkeypatch):
    at_once = SimpleNamespace(sleep=lambda seconds: asyncio.sleep(0))
    monkeypatch.setattr("sparsegate.service.client.client.anyio", at_once)
    server = Slow(lost=2)

    async def talk():
        http = httpx.AsyncClient(**OPTIONS, transport=httpx.MockTransport(server.later))
        async with AsyncClient(http, retries=3, patience=Patience()) as made:
            await (await made.gate("g-1")).ask(MANY)

    asyncio.run(talk())
    assert server.waited == [(LOOK, 90), (SCHEMA, 90), (ASK, 290), (ASK, 290), (ASK, 290)]
    assert len(set(server.keys)) == 1


def test_a_token_that_may_have_been_made_is_not_asked_for_again():
    sent = []

    def lost(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        raise httpx.ReadTimeout("slow")

    http = httpx.Client(**OPTIONS, transport=httpx.MockTransport(lost))
    with Client(http, retries=3) as made, pytest.raises(ServiceError, match="cannot be reached"):
        made.add_token("berta")
    assert len(sent) == 1
