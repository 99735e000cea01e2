"""Several processes that are one service: one answer for a key, one charge, one D, one quota; and how they end."""

from __future__ import annotations

import multiprocessing
import os
import re
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.support.pretend_service import until
from tests.support.served_process import spawned
from tests.support.serving import CERTAIN, MANY, NOBODY, UNLIMITED, visits, write_visits

from sparsegate.errors import OutcomeLost, SparsegateError
from sparsegate.ledger.ledger import Ledger
from sparsegate.service.data.dataset import ServedTable
from sparsegate.service.deadline import DelayPlan
from sparsegate.service.gates import KeyedRequest
from sparsegate.service.keeper import Keeper
from sparsegate.service.keys import SealingKey
from sparsegate.service.tokens import Role, Tokens
from sparsegate.service.web import server, workers
from sparsegate.service.web.admission import Limits
from sparsegate.service.web.connections import ConnectionLimits
from sparsegate.service.web.server import address, listen

whole_work = workers.work
NUMBERS: dict[str, Any] = CERTAIN | {"epsilon": 100}


def stuck_work(*arguments: Any) -> None:
    """A worker whose counts never end."""
    ServedTable.count = lambda *_, **__: time.sleep(600)  # type: ignore[method-assign, assignment]
    whole_work(*arguments)


def waiting_work(*arguments: Any) -> None:
    """A worker that waits for its ledger, and has taken nothing over."""
    server.open_ledger = lambda *_, **__: time.sleep(600)  # type: ignore[assignment]
    whole_work(*arguments)


@dataclass
class Team:
    """Workers with a port each, so that a test says who is asked; the first process of each only starts the other."""

    ledger: Ledger
    keeper: Keeper
    tokens: Tokens
    urls: list[str]
    processes: list[Any]

    def post(self, place: int, path: str, body: object, token: str, key: str) -> httpx.Response:
        headers = {"Authorization": f"Bearer {token}", "Idempotency-Key": key}
        return httpx.post(self.urls[place] + path, json=body, headers=headers, timeout=30)

    def open_gate(self) -> str:
        opened = self.keeper.open_gate(KeyedRequest(token=1, key=os.urandom(4).hex()), **NUMBERS)
        return str(opened["id"])

    def at_once(self, *asks: Callable[[], httpx.Response]) -> list[httpx.Response]:
        with ThreadPoolExecutor(len(asks)) as pool:
            return [each.result() for each in [pool.submit(ask) for ask in asks]]


def orders_of(folder: Path, **keeping: Any) -> workers.Orders:
    """What the workers of a service of two in this folder are told."""
    return workers.Orders(
        ledger=str(folder / "v.ledger"),
        dataset="visits",
        key=folder / "v.key",
        keeping={"pace": DelayPlan()} | keeping,
        limits=UNLIMITED.of_each(2),
        connections=ConnectionLimits(),
    )


@contextmanager
def team(folder: Path, count: int = 2, *, delay: float = 0.0) -> Iterator[Team]:
    Ledger.create(folder / "v.ledger", dataset="visits", budget=1000).close()
    key, pace = SealingKey.create(folder / "v.key"), DelayPlan(delay=delay, places=2)
    crews = [workers.Crew(orders_of(folder, pace=pace)) for _ in range(count)]
    sockets = [listen("127.0.0.1", 0) for _ in crews]
    ledger = Ledger(folder / "v.ledger", pooled=True)
    with visits(folder) as data, closing(Keeper(ledger, data, key, pace=pace)) as keeper, closing(ledger):
        try:
            for crew, sock in zip(crews, sockets, strict=True):
                crew.start(data, (sock, None))
            urls = [address(sock) for sock in sockets]
            yield Team(ledger, keeper, Tokens(ledger), urls, [crew.processes[0] for crew in crews])
        finally:
            for crew, sock in zip(crews, sockets, strict=True):
                crew.__exit__()
                sock.close()


def test_workers_hold_together_what_one_process_holds(tmp_path: Path) -> None:
    """Keys, turns, D, quotas and tokens, between two processes that know one another by the ledger alone."""
    delay = 0.4
    with team(tmp_path, delay=delay) as both:
        anna = both.tokens.add("anna", Role.ANALYST)
        # One key at both, at once and several times: one answer, and one question of the gate.
        gate = both.open_gate()
        path = f"/v1/gates/{gate}/ask"
        asks = [lambda place=place: both.post(place, path, {"where": MANY}, anna, "same") for place in (0, 1, 0, 1)]
        begun = time.monotonic()
        answers = both.at_once(*asks)
        assert time.monotonic() - begun >= delay
        assert {(each.status_code, each.json()["number"], each.json()["above"]) for each in answers} == {(200, 1, True)}
        stored = both.keeper._store.gate(gate).tally
        assert (stored.asked, stored.positives) == (1, 1)
        # Another body under that key is refused by whoever is asked.
        refused = both.post(1, path, {"where": NOBODY}, anna, "same")
        assert (refused.status_code, refused.json()["type"]) == (409, "key-reused")
        # At one gate they take turns of D; at two gates nobody waits for the other.
        left: dict[str, float] = {}

        def timed(place: int, gate: str, key: str) -> httpx.Response:
            begun = time.monotonic()
            answer = both.post(place, f"/v1/gates/{gate}/ask", {"where": NOBODY}, anna, key)
            left[key] = time.monotonic() - begun
            return answer

        other = both.open_gate()
        both.at_once(lambda: timed(0, gate, "a"), lambda: timed(1, gate, "b"), lambda: timed(1, other, "c"))
        assert min(left.values()) >= delay
        assert max(left["a"], left["b"]) >= 2 * delay
        assert left["c"] < max(left["a"], left["b"])
        # The last of a quota goes to one of two who ask for it at once, at two gates, at two workers.
        bert = both.tokens.add("bert", Role.ANALYST, most_above=1)
        two = both.at_once(
            lambda: both.post(0, path, {"where": MANY}, bert, "q"),
            lambda: both.post(1, f"/v1/gates/{other}/ask", {"where": MANY}, bert, "q"),
        )
        assert sorted(each.status_code for each in two) == [200, 403]
        # Before it has left, an answer is shown by nobody; at most D after that it is.
        before = both.keeper._store.gate(other).tally.asked
        slow = threading.Thread(target=timed, args=(0, other, "d"))
        slow.start()
        until(lambda: both.keeper._store.gate(other).tally.asked > before)
        headers = {"Authorization": f"Bearer {anna}"}

        def shown() -> int:
            return int(httpx.get(f"{both.urls[1]}/v1/gates/{other}", headers=headers).json()["asked"])

        assert shown() == before
        slow.join()
        until(lambda: shown() > before)
        # The sizes were drawn before, and neither of them charged anything.
        assert [entry.kind for entry in both.ledger.statement().entries] == ["budget", "spend", "spend"]


def test_what_a_killed_worker_had_begun_is_lost_and_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed between intent and outcome: the question counts as an ABOVE, and no key brings an answer out of it."""
    monkeypatch.setattr(workers, "work", stuck_work)
    with team(tmp_path, 1, delay=60) as one:
        gate, token = one.open_gate(), one.tokens.add("anna", Role.ANALYST)
        failed: list[Exception] = []

        def ask() -> None:
            try:
                one.post(0, f"/v1/gates/{gate}/ask", {"where": MANY}, token, "k")
            except httpx.HTTPError as error:
                failed.append(error)

        asking = threading.Thread(target=ask)
        asking.start()
        until(lambda: one.keeper._store.gate(gate).tally.asked == 1)
        os.kill(one.processes[0].pid, signal.SIGKILL)
        asking.join()
        one.processes[0].join()
        assert failed
        # A service that starts now finds nobody at work on it.
        with visits(tmp_path) as data, closing(Keeper(one.ledger, data, SealingKey.load(tmp_path / "v.key"))) as after:
            seen = after.gate(gate)
            assert (seen["asked"], seen["lost"], seen["positives"], seen["remaining"]) == (1, 1, 1, 2)
            with pytest.raises(OutcomeLost):
                after.ask(KeyedRequest(token=1, key="k"), gate, MANY)
            assert after.gate(gate)["asked"] == 1


def test_each_worker_has_a_part_of_every_limit() -> None:
    """Together they admit no more than one would; where less than one is left for each, each has one."""
    for whole in (Limits(), ConnectionLimits()):
        for count in (2, 3, 7):
            part = whole.of_each(count)
            for name in {each.name for each in fields(whole)} - {"workers", "body_seconds", "proxies"}:
                if not name.endswith("_seconds"):
                    assert count * getattr(part, name) <= getattr(whole, name) * (1 + 1e-12)
    assert Limits(burst=2).of_each(3).burst == 1
    assert Limits().of_each(2).body_seconds == Limits().body_seconds


@pytest.fixture(scope="module")
def options(tmp_path_factory: pytest.TempPathFactory) -> tuple[object, ...]:
    """Words of a service of two workers; the sizes of its data are paid for by the first start."""
    folder = tmp_path_factory.mktemp("served")
    Ledger.create(folder / "v.ledger", dataset="visits", budget=1000, budget_delta=1e-6).close()
    SealingKey.create(folder / "v.key")
    place = ("--ledger", folder / "v.ledger", "--key", folder / "v.key", "--dataset", "visits")
    return write_visits(folder), "--user", "visitor", *place, "--delay", "0.4", "--headroom", "1", "--workers", 2


def alive(pid: int) -> bool:
    """Whether there is such a process, and not only what is left of one."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def others(process: Any) -> list[int]:
    """The workers that a service has started."""
    listed = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    return [pid for pid in map(int, listed) if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()]


def test_a_service_of_two_is_one_service_until_a_signal_comes(options: tuple[object, ...]) -> None:
    """Sums in its metrics, practice wherever it was begun, no refresh; a signal ends both, and answers come first."""
    ledger = Ledger(str(options[4]))
    owner = Tokens(ledger).add(f"owner {time.time()}", Role.OWNER)
    own = {"Authorization": f"Bearer {owner}", "Connection": "close"}  # a connection for each request
    with spawned(*options) as (process, url, _), httpx.Client(base_url=url, headers=own, timeout=60) as client:
        (worker,) = others(process)

        def post(path: str, body: object, key: str) -> httpx.Response:
            return client.post(path, json=body, headers={"Idempotency-Key": key})

        while (made := post("/v1/practice/gates", CERTAIN, "p")).status_code == 429:
            time.sleep(1)  # on a busy machine the made-up rows take more than a token's share of its time
        for _ in range(12):
            for path in ("schema", f"practice/gates/{made.json()['id']}", "whoami"):
                assert client.get(f"/v1/{path}").status_code == 200

        def counted() -> int:
            return sum(int(found) for found in re.findall(r"requests_total\{.*\} (\d+)", client.get("/metrics").text))

        until(lambda: counted() >= 37)
        refused = post("/v1/refresh", {}, "r")
        assert (refused.status_code, refused.json()["parameter"]) == (422, "workers")
        gate = post("/v1/gates", CERTAIN, "g").json()["id"]
        with ThreadPoolExecutor(3) as pool:
            asked = [pool.submit(post, f"/v1/gates/{gate}/ask", {"where": NOBODY}, f"k{number}") for number in range(3)]
            time.sleep(0.2)
            process.send_signal(signal.SIGTERM)
            assert [each.result().status_code for each in asked] == [200, 200, 200]
        assert process.wait(30) == -signal.SIGTERM
        until(lambda: not alive(worker))
    assert [entry.what for entry in ledger.statement().entries].count("sizes, for people of up to 8 rows") == 1
    ledger.close()


@pytest.mark.parametrize("victim", ["first", "other"])
def test_a_service_of_which_a_process_is_killed_ends_whole(victim: str, options: tuple[object, ...]) -> None:
    with spawned(*options) as (process, _, _):
        (worker,) = others(process)
        os.kill(process.pid if victim == "first" else worker, signal.SIGKILL)
        assert process.wait(30) == (-signal.SIGKILL if victim == "first" else 2)
        until(lambda: not alive(worker))
        if victim == "other":
            assert process.stderr is not None
            assert "a worker ended, and the service with it" in process.stderr.read()


def test_a_worker_that_cannot_start_stops_the_start(tmp_path: Path) -> None:
    """It says why, and nobody is left behind."""
    crew = workers.Crew(orders_of(tmp_path))
    with visits(tmp_path) as data, closing(listen("127.0.0.1", 0)) as sock:
        with crew, pytest.raises(SparsegateError, match="could not start: there is no ledger"):
            crew.start(data, (sock, None))
        assert [process.exitcode for process in crew.processes] == [1]
        assert crew.folder is not None
        assert not crew.folder.exists()


def test_no_copy_is_left_when_the_first_process_is_killed_while_others_start(tmp_path: Path) -> None:
    """The end of a line is all that they hear of it; whoever has it removes what was handed over."""
    spawn = multiprocessing.get_context("spawn")
    ours, theirs = spawn.Pipe()
    with visits(tmp_path) as data, closing(listen("127.0.0.1", 0)) as sock:
        handed = data.hand_over()
        told = (orders_of(tmp_path), handed, tmp_path, 2, (sock, None), theirs)
        worker = spawn.Process(target=waiting_work, args=told)
        worker.start()
        theirs.close()
        ours.close()
        worker.join(30)
        assert worker.exitcode == 1
        assert not handed.file.parent.exists()
