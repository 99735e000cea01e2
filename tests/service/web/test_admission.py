"""Lines at the gates, a sender's share of processor time, one sender against the others; data that is read anew."""

from __future__ import annotations

import re
import statistics
import threading
import time
from dataclasses import replace

import anyio
import pytest
from tests.support.pretend_service import until
from tests.support.served_process import flood, spawned
from tests.support.serving import CERTAIN, MANY, NOBODY, UNLIMITED, assert_problem, serving, visits, write_visits

from sparsegate.errors import ConditionError, GateBusy
from sparsegate.ledger.ledger import Ledger
from sparsegate.service.client import connect
from sparsegate.service.tokens import Role, Tokens
from sparsegate.service.web.admission import FairTurn, GateQueues, OwnWork
from sparsegate.service.web.problems import TOO_MANY, Refused


@pytest.mark.parametrize(
    ("come", "later", "served"),
    [
        ("aaab", "", "abaa"),  # one sender is first come, first served
        ("xaaabbc", "", "xabcaba"),
        ("xaab", "a", "xabaa"),  # whoever comes back stands behind those who wait
        ("xaab", "c", "xabca"),  # and whoever was not served in this round before them
    ],
)
def test_senders_take_turns_however_many_requests_they_send(come, later, served):
    order, ahead = [], {}

    async def main() -> None:
        turn = FairTurn()

        async def work(sender: str) -> None:
            async with turn.at(sender):
                order.append(sender)
                if len(order) == 2:
                    ahead.update({each: turn.ahead(each) for each in "abcx"})
                for each in later if len(order) == 2 else "":
                    group.start_soon(work, each)
                await anyio.sleep(0.01)

        async with anyio.create_task_group() as group:
            for sender in come:
                group.start_soon(work, sender)
        assert not turn.held
        assert len(turn._next) <= 3

    anyio.run(main)
    assert "".join(order) == served
    for each in {*come, *later} - {served[0]}:
        assert ahead[each] == served.index(each, 1) - 1, "each is told her place, also who comes now"


def test_a_full_line_sends_away_the_last_of_whoever_has_most_in_it():
    served, refused = [], []

    async def main() -> None:
        queues = GateQueues(waiting=3, patience=60, delay=0)

        async def work(name: str) -> None:
            try:
                async with queues.at("gate", name[0]):
                    served.append(name)
                    await anyio.sleep(0)
            except GateBusy:
                refused.append(name)

        async with anyio.create_task_group() as group, queues.at("gate", "x"):
            for name in ("a1", "a2", "a3", "a4", "b1", "b2"):
                group.start_soon(work, name)
                await anyio.sleep(0)
            await anyio.sleep(0)
            assert queues.waiting == 3
        assert queues.waiting == 0
        assert queues._turns == {}

    anyio.run(main)
    assert sorted(refused) == ["a3", "a4", "b2"]
    assert served == ["a1", "b1", "a2"]


def test_whoever_gives_up_is_not_waited_for():
    async def main() -> None:
        turn = FairTurn()
        for called_first in (False, True):
            async with anyio.create_task_group() as group:
                with anyio.CancelScope() as scope:
                    async with turn.at("a"):

                        async def wait(scope: anyio.CancelScope) -> None:
                            with scope:
                                async with turn.at("b"):
                                    await anyio.sleep(30)

                        inner = anyio.CancelScope()
                        group.start_soon(wait, inner)
                        await anyio.sleep(0.01)
                        assert len(turn.waiting) == 1
                        if not called_first:
                            behind = turn._placed("b")
                            turn.waiting.append(behind)
                            inner.cancel()
                            await anyio.sleep(0.01)
                            assert [(each, each.round) for each in turn.waiting] == [(behind, 0)], "she moves up"
                            turn._leave(behind)
                    inner.cancel()  # where it was called, in the same moment
                scope.cancel()
            with anyio.fail_after(1):
                async with turn.at("c"):
                    pass
            assert not turn.held

    anyio.run(main)


def busy(seconds: float) -> float:
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass
    return seconds


def test_processor_time_is_charged_to_its_sender_and_refused_before_it_is_used():
    async def main() -> None:
        work = OwnWork(replace(UNLIMITED, share=0.001, share_burst=0.05))
        for _ in range(3):
            await work.run("a", time.sleep, 0.02)  # in which others work
        assert (await work.run("a", busy, 0.04))() == 0.04
        assert (await work.run("a", busy, 0.04))() == 0.04, "the last one may leave a debt"
        with pytest.raises(Refused) as refused:
            await work.run("a", busy, 1)
        assert refused.value.sort is TOO_MANY
        assert 10 < refused.value.wait < 60
        assert (await work.run("b", busy, 0.001))() == 0.001

    anyio.run(main)


def test_what_it_raises_is_raised_where_it_is_asked_for_and_costs_as_much():
    def refuse(seconds: float) -> None:
        busy(seconds)
        raise ConditionError("must be shorter", "x", 0, 1)

    async def main() -> None:
        work = OwnWork(replace(UNLIMITED, share=0.001, share_burst=0.01))
        read = await work.run("a", refuse, 0.02)
        with pytest.raises(ConditionError, match="must be shorter"):
            read()
        with pytest.raises(Refused):
            await work.run("a", refuse, 0)

    anyio.run(main)


def test_what_is_short_is_done_at_once_and_costs_as_much():
    async def main() -> None:
        work = OwnWork(replace(UNLIMITED, share=0.001, share_burst=0.01))
        async with work.turn.at("b"):
            assert (await work.run("a", threading.get_ident, short=True))() == threading.get_ident()
        await work.run("a", busy, 0.02, short=True)
        with pytest.raises(Refused):
            await work.run("a", busy, 0, short=True)

    anyio.run(main)


DELAY = 0.5
REFUSED = (
    "CASE "
    + " ".join(f"WHEN seconds = '{i}' THEN page" for i in range(90))
    + f" ELSE page END IN ({','.join(['lower(page)'] * 200)})"
)
"""5 KB that take as long to be read as a condition can."""


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A real server with the delay D: two analysts' tokens, and two gates."""
    file = write_visits(tmp_path_factory.mktemp("overload"))
    arguments = (file, "--user", "visitor", "--new-ledger", "--budget", "1000000", "--delay", DELAY, "--headroom", 1)
    with spawned(*arguments) as (_, url, said):
        ledger = Ledger(f"{file}.ledger")
        tokens = Tokens(ledger)
        texts = [tokens.add(name, Role.ANALYST) for name in ("anna", "mallory")]
        ledger.close()
        with connect(url, re.search(r"sg_[\w-]{43}", said).group()) as owner:
            gates = [owner.open_gate(threshold=100, cutoff=1000, epsilon=100).id for _ in range(2)]
            yield url, texts, gates


def asked(url: str, token: str, gate: str, times: int) -> list[float]:
    """How long the answers to some asks took, each of which must be right."""
    taken = []
    with connect(url, token) as service:
        opened = service.gate(gate)
        for number in range(times):
            begun = time.monotonic()
            assert bool(opened.ask(NOBODY if number % 2 else MANY)) == (number % 2 == 0)
            taken.append(time.monotonic() - begun)
    return taken


def test_refused_conditions_cost_their_sender_and_nobody_else(served):
    """An ask that is lost raises: none is, and a bystander waits twice as long at most."""
    url, (anna, mallory), (hers, other) = served
    alone = max(asked(url, anna, hers, 2))
    with flood(url, mallory, other, REFUSED, rate=48) as statuses:
        during = asked(url, anna, hers, 5)
    assert 0 < statuses["422"] < 100, "most of them were not even read"
    assert set(statuses) <= {"422", "429"}
    assert statistics.median(during) < 2 * alone
    assert max(during) < 4 * alone


def test_whoever_asks_fifty_times_a_second_waits_for_herself(served):
    """At one gate, where each answer takes D: the other waits for at most one of hers each time."""
    url, (anna, mallory), (hers, _) = served
    with flood(url, mallory, hers, NOBODY, rate=45) as statuses:
        during = asked(url, anna, hers, 4)
    # First come, first served, she would wait behind 32.
    assert statistics.median(during) < 3 * DELAY
    assert max(during) < 8 * DELAY
    assert set(statuses) <= {"200", "429"}


ADULT = "adult = 'yes'"


def refresh(service, *, agreed=False, **more):
    return service.send("POST", "/v1/refresh", {"close_gates": agreed}, **more)


def change(folder):
    file = write_visits(folder)
    rows = file.read_text().splitlines()
    file.write_text("\n".join([f"{rows[0]},adult", *(f"{row},yes" for row in rows[1:])]) + "\n")


def test_an_owner_has_the_data_read_anew(tmp_path):
    with visits(tmp_path) as data, serving(tmp_path, data) as service:
        assert_problem(refresh(service, token="analyst"), 403, "forbidden")
        gate = service.open_gate()
        assert refresh(service).json() == {"changed": False, "delay": 0.0}
        change(tmp_path)
        assert assert_problem(refresh(service), 422, "parameter")["pointer"] == "/close_gates"
        practice = service.send("POST", "/v1/practice/gates", CERTAIN).json()["id"]
        assert refresh(service, agreed=True).json()["changed"]
        until(lambda: data._closed)
        assert_problem(service.ask(gate, MANY), 409, "gate-closed")
        assert service.ask(service.open_gate(), ADULT).json()["above"]
        # There is practice on the new column, too.
        assert_problem(service.send("GET", f"/v1/practice/gates/{practice}"), 404, "unknown-gate")
        service.app.state.refresh.close()


def test_a_copy_is_closed_when_the_last_who_counts_in_it_has_ended(tmp_path, monkeypatch):
    """The answer itself is lost, whatever it was: its gate was closed meanwhile."""
    with visits(tmp_path) as data, serving(tmp_path, data) as service:
        gate, counting, go_on = service.open_gate(), threading.Event(), threading.Event()
        honest, counts = data.count, []

        def slow(condition, **_):
            counting.set()
            assert go_on.wait(10)
            counts.append(honest(condition))
            return counts[0]

        monkeypatch.setattr(data, "count", slow)
        answers = []
        asking = threading.Thread(target=lambda: answers.append(service.ask(gate, MANY)))
        asking.start()
        assert counting.wait(10)
        change(tmp_path)
        assert refresh(service, agreed=True).json()["changed"]
        time.sleep(0.3)
        go_on.set()
        asking.join(10)
        assert counts == [300]
        assert_problem(answers[0], 503, "outcome-lost")
        until(lambda: data._closed)
        service.app.state.refresh.close()


def test_the_data_is_read_anew_every_so_often(tmp_path, caplog):
    with visits(tmp_path) as data, serving(tmp_path, data) as service:
        again = service.app.state.refresh
        service.open_gate()
        change(tmp_path)
        again.every(0.05, close_gates=False)
        until(lambda: "was not read anew: close_gates must be true" in caplog.text)
        assert service.app.state.service.keeper is service.keeper
        again.every(0.05, close_gates=True)
        until(lambda: service.app.state.service.keeper is not service.keeper)
        again.close()
