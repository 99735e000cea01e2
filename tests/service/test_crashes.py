"""A server that is killed at random moments under load and started again: nothing is overspent, nothing is lost."""

from __future__ import annotations

import itertools
import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest
from tests.support.postgres_cluster import Cluster
from tests.support.serving import MANY, NOBODY, write_visits

from sparsegate.ledger.ledger import Ledger
from sparsegate.service.gate_store import WITH_LAST, stored_tally
from sparsegate.service.gates import cost

CUTOFF, EPSILON, BUDGET = 5, 100, 1_000_000
ASKERS = 3
NURSERY = """
import json, os, sys
import duckdb, fastapi, httpx, psycopg, sqlalchemy, uvicorn
import sparsegate.service.web.http, sparsegate.service.keeper, sparsegate.service.web.server
from sparsegate.cli import main
for line in iter(sys.stdin.readline, ""):
    pid = os.fork()
    if pid == 0:
        sys.argv = ["sparsegate", *json.loads(line)]
        main()
        os._exit(0)
    print("pid", pid, flush=True)
    os.waitpid(pid, 0)
    print("ended", flush=True)
"""
"""Imports everything once, and forks a server whenever it is told to: a start takes a moment instead of seconds."""


class Server:
    """`sparsegate serve` in a process of its own, on one port, as often as it is started."""

    def __init__(self, folder: Path, place: str, delay: str, *, beside: Server | None = None) -> None:
        self._file = write_visits(folder) if beside is None else beside._file
        self._place, self._key = place, folder / "sealing.key"
        self._delay = delay
        self._log = (folder / "log").open("ab")
        self.token, self.url, self._pid = "" if beside is None else beside.token, "", 0
        self._nursery = subprocess.Popen(
            [sys.executable, "-c", NURSERY], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log, text=True
        )
        self.start(*(["--new-ledger"] if beside is None else []))

    def start(self, *more: str) -> None:
        """Start it, and wait until it answers; the port stays the same."""
        port = self.url.rpartition(":")[2] or "0"
        options = {"user": "visitor", "budget": str(BUDGET), "ledger": self._place, "key": str(self._key), "port": port}
        options |= {"delay": self._delay, "headroom": "1"}
        command = ["serve", str(self._file), *(f"--{name}={value}" for name, value in options.items()), *more]
        assert self._nursery.stdin is not None
        print(json.dumps(command), file=self._nursery.stdin, flush=True)
        self._pid = int(self._heard(r"pid (\d+)"))
        if "--new-ledger" in more:
            self.token = self._heard(r"token\s+(\S+)")
        self.url = self._heard(r"serving (\S+)")

    def _heard(self, pattern: str) -> str:
        assert self._nursery.stdout is not None
        for line in self._nursery.stdout:
            if found := re.match(pattern, line):
                return found[1]
            assert not line.startswith("ended"), "the server did not start"
        raise AssertionError("the server did not start")

    def kill(self) -> None:
        os.kill(self._pid, signal.SIGKILL)
        self._heard(r"(ended)")

    def close(self) -> None:
        self._nursery.terminate()
        with suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGKILL)
        self._nursery.communicate()
        self._log.close()


@dataclass
class Load:
    """Askers that open gates, ask, repeat what got no answer under the same key, and note what they are told."""

    servers: list[Server]
    told: dict[tuple[str, str, str], bool] = field(default_factory=dict)
    gates: set[str] = field(default_factory=set)
    wrong: list[str] = field(default_factory=list)
    lost: int = 0
    retried: int = 0
    stop: threading.Event = field(default_factory=threading.Event)

    def post(self, path: str, body: object, key: str) -> httpx.Response | None:
        """Send until something comes back, each time to the next server; None if told to stop before."""
        headers = {"Authorization": f"Bearer {self.servers[0].token}", "Idempotency-Key": key}
        for server in itertools.cycle(random.sample(self.servers, len(self.servers))):
            if self.stop.is_set():
                return None
            try:
                response = httpx.post(f"{server.url}{path}", json=body, headers=headers, timeout=10)
                if "ledger-unavailable" not in response.text:  # says to try again under the same key
                    return response
            except httpx.HTTPError:
                pass
            self.retried += 1
            time.sleep(0.02)
        raise AssertionError

    def work(self, seed: int) -> None:
        rng = random.Random(seed)
        while not self.stop.is_set():
            body = {"threshold": 100, "cutoff": CUTOFF, "epsilon": str(EPSILON)}
            opened = self.post("/v1/gates", body, uuid.uuid4().hex)
            if opened is None:
                return
            if opened.status_code != 201:
                self.wrong.append(f"opening: {opened.status_code} {opened.text}")
                return
            gate = opened.json()["id"]
            self.gates.add(gate)
            while not self.stop.is_set() and self.ask(gate, rng.choice([MANY, NOBODY]), uuid.uuid4().hex):
                pass

    def ask(self, gate: str, where: str, key: str) -> bool:
        """One question; False when the gate is closed."""
        response = self.post(f"/v1/gates/{gate}/ask", {"where": where}, key)
        if response is None or response.status_code == 409:
            return False
        if response.status_code == 503:
            self.lost += 1
        elif response.status_code == 200:
            self.told[gate, where, key] = response.json()["above"]
        else:
            self.wrong.append(f"asking: {response.status_code} {response.text}")
        return not (response.status_code == 200 and response.json()["closed"])


def storm(servers: list[Server], kills: int, seed: int, database: Cluster | None = None) -> Load:
    """Kill and restart a server this many times while the askers ask; if there is a database, that every third time."""
    rng, load = random.Random(seed), Load(servers)
    threads = [threading.Thread(target=load.work, args=(seed + place,)) for place in range(ASKERS)]
    for thread in threads:
        thread.start()
    try:
        for kill in range(kills):
            time.sleep(rng.uniform(0.05, 0.4))
            if database is not None and kill % 3 == 0:
                database.kill()
                database.start()
            else:
                server = rng.choice(servers)
                server.kill()
                server.start()
        deadline = time.monotonic() + 60
        while len(load.told) <= 10 and time.monotonic() < deadline:  # a busy machine answers little between two kills
            time.sleep(0.5)
    finally:
        load.stop.set()
        for thread in threads:
            thread.join()
    return load


def check(load: Load, place: str) -> None:
    assert load.wrong == []
    assert len(load.told) > 10
    # An answer is what the data say: this much noise-free epsilon leaves no doubt.
    assert all(above == (where == MANY) for (_, where, _), above in load.told.items())
    # No gate gave more than c ABOVE to anybody.
    given = Counter(gate for (gate, _, _), above in load.told.items() if above)
    assert max(given.values(), default=0) <= CUTOFF
    # A retry of every question that was answered agrees, whatever happened since.
    load.stop.clear()
    for (gate, where, key), above in list(load.told.items())[:200]:
        again = load.post(f"/v1/gates/{gate}/ask", {"where": where}, key)
        assert again is not None
        assert (again.status_code, again.json()["above"]) == (200, above)
    ledger = Ledger(place)
    with ledger.database.reading() as connection:
        stored = {row.id: row for row in connection.rows(WITH_LAST)}
        counts = "SELECT gate, count(*), sum(above), count(above) FROM asks GROUP BY gate"
        counted = connection.rows(counts)
    by_entry = {row.entry: row for row in stored.values()}
    # The counters of a gate are what its asks add up to, and what is not settled counts as ABOVE.
    for gate, asked, above, settled in counted:
        row = by_entry[gate]
        assert (row.asked, row.above, row.below) == (asked, above or 0, settled - (above or 0))
        assert row.above + (row.asked - row.above - row.below) <= CUTOFF
    # Every gate that anybody heard of is there, and the ledger's sum is what was granted: one charge for each gate.
    statement = ledger.statement()
    assert load.gates <= set(stored)
    sizes, *charges = [entry for entry in statement.entries if entry.kind == "spend"]
    back = {entry.of: entry.amount.epsilon for entry in statement.entries if entry.of is not None}
    # However often it was started, the sizes of the data were paid for once.
    assert sizes.what == "sizes, for people of up to 8 rows"
    assert not any(entry.what.startswith("sizes") for entry in charges)
    paid = sizes.amount.epsilon + EPSILON * len(charges)
    assert statement.spent.epsilon == paid - sum(back.values()) <= BUDGET
    # What is left of each charge pays for all that its gate may have said.
    for row in stored.values():
        assert EPSILON - back.get(row.entry, 0) >= cost(stored_tally(row))
    assert sorted(row.entry for row in stored.values()) == [entry.number for entry in charges]
    ledger.close()


def run(folder: Path, place: str, kills: int, delay: str, *, database: Cluster | None = None) -> Load:
    """With a database to be killed, two servers share it."""
    servers = [Server(folder, place, delay)]
    try:
        if database is not None:
            servers.append(Server(folder, place, delay, beside=servers[0]))
        load = storm(servers, kills, seed=kills, database=database)
        check(load, place)
    finally:
        for server in servers:
            server.close()
    return load


SOAK = [pytest.mark.soak, pytest.mark.timeout(3600)]


@pytest.mark.parametrize(
    ("store", "kills", "delay"),
    [("sqlite", 5, "0.5")]
    + [pytest.param(store, 500, delay, marks=SOAK) for store in ("sqlite", "postgresql") for delay in ("off", "0.5")],
)
def test_a_server_that_is_killed_at_random_never_overspends(
    store: str, kills: int, delay: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    place = str(tmp_path / "v.ledger") if store == "sqlite" else request.getfixturevalue("cluster").database()
    load = run(tmp_path, place, kills, delay)
    assert load.retried > 0
    assert kills < 500 or load.lost > 0


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("kills", [9, 500])
def test_two_servers_and_their_database_are_killed_and_never_overspend(
    kills: int, tmp_path: Path, cluster: Cluster
) -> None:
    assert run(tmp_path, cluster.database(), kills, "1", database=cluster).retried > 0
