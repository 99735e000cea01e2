"""Questions to a served gate: how many a second beside the bare DuckDB query, and what the gate itself costs.

A table of a million rows; a thousand different conditions, a third each of which match 1 %, 10 % and 50 % of the rows.
The peer counts distinct people by the same conditions, on the same table in an in-memory DuckDB. Ours goes the whole
way: HTTP over loopback, token, idempotency key, condition, both commits. D is off unless said otherwise. A ratio is our
answers a second over the peer's queries a second. Beside it stands the processor time of each: in all processes of the
service, in the event loop of the first, in the clients. ``bound`` is what the ratio can be at most, where both keep all
cores busy: the processor time of the peer's query over that of our answer, with its client.

Many clients are processes of their own, one to a gate, so that they share no interpreter with the service. They do
share its cores, so they send with the standard library, which takes less of them than ours: a client is not measured.
The peer has one connection, with all of its threads.
"""

from __future__ import annotations

import http.client
import json
import logging
import multiprocessing
import os
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import Contender, Result, side_by_side

ROWS, PEOPLE, CONDITIONS = 1_000_000, 200_000, 1000
SHARES = (0.01, 0.1, 0.5)
SECONDS = 3600
GATE: dict[str, Any] = {"threshold": 10 * PEOPLE, "cutoff": 10, "epsilon": 1}
ROUNDS = 5
CLIENTS = 8
WORKERS = 2
Clock = Callable[[], float]


def write_table(path: Path, rows: int = ROWS) -> None:
    """Visits: who, from where, which page, how long."""
    import duckdb

    duckdb.sql(
        f"""COPY (SELECT (hash(i) % {rows * PEOPLE // ROWS})::BIGINT AS visitor, 'c' || (hash(i + 7) % 40) AS country,
        '/page/' || (hash(i * 3) % 500) AS page, (hash(i + 99) % {SECONDS})::BIGINT AS seconds
        FROM range({rows}) t(i)) TO '{path}' (FORMAT parquet)"""
    )


def conditions() -> list[str]:
    """A thousand, all different; which share of the rows each matches goes round."""
    rng, found = np.random.default_rng(1), []
    for place in range(CONDITIONS):
        width = round(SHARES[place % 3] * SECONDS)
        low = int(rng.integers(0, SECONDS - width))
        found.append(f"seconds BETWEEN {low} AND {low + width - 1} AND country <> 'x{place}'")
    return found


@contextmanager
def served(
    folder: Path, table: Path, delay: float, workers: int = 1
) -> Iterator[tuple[Any, Any, tuple[str, int, str], dict[str, Clock]]]:
    """A service on the table: a client's open gate, the keeper behind it, host, port and token for others; and clocks
    of the processor time of the service, and of the event loop of its first process."""
    from sparsegate.ledger.ledger import Ledger
    from sparsegate.service.client import connect
    from sparsegate.service.data.dataset import ServedTable
    from sparsegate.service.deadline import DelayPlan
    from sparsegate.service.keeper import Keeper
    from sparsegate.service.keys import SealingKey
    from sparsegate.service.tokens import Role, Tokens
    from sparsegate.service.web.admission import Limits
    from sparsegate.service.web.connections import ConnectionLimits
    from sparsegate.service.web.server import listen
    from sparsegate.service.web.workers import Crew, Orders

    name = f"{delay} {workers}"
    place, key, pace = folder / f"{name}.ledger", folder / f"{name}.key", DelayPlan(delay=delay, places=4 // workers)
    Ledger.create(place, dataset="visits", budget=100).close()
    ledger = Ledger(place, pooled=True)
    with ServedTable.open([str(table)], user="visitor") as data:
        keeper = Keeper(ledger, data, SealingKey.create(key), pace=pace)
        tokens, sock = Tokens(ledger), listen("127.0.0.1", 0)
        limits = Limits(rate=1e9, burst=10**9, share=1e9, share_burst=1e9).of_each(workers)
        orders = Orders(
            ledger=str(place),
            dataset="visits",
            key=key,
            keeping={"pace": pace},
            limits=limits,
            connections=ConnectionLimits(most_of_one=1000).of_each(workers),
        )
        serving: list[Any] = []
        with Crew(orders) as crew:
            crew.start(data, (sock, None))
            ready = {"folder": crew.folder, "started": serving.append}
            thread = threading.Thread(target=orders.serve, args=(keeper, tokens, (sock, None)), kwargs=ready)
            logging.disable(logging.ERROR)
            thread.start()
            try:
                at = "127.0.0.1", int(sock.getsockname()[1]), tokens.add("owner", Role.OWNER)
                with connect(f"http://{at[0]}:{at[1]}", at[2]) as client:
                    pids, loop = [process.pid for process in crew.processes], thread.ident or 0
                    clocks: dict[str, Clock] = {
                        "ours": lambda: time.process_time() + sum(map(spent_by, pids)),
                        "loop": lambda: time.clock_gettime(time.pthread_getcpuclockid(loop)),
                    }
                    yield client.open_gate(**GATE), keeper, at, clocks
            finally:
                serving[0].should_exit = True
                thread.join()
                keeper.close()
                ledger.close()


def spent_by(pid: int) -> float:
    """The processor time of another process, in seconds."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def results() -> Iterator[Result]:
    asked = conditions()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        table = folder / "visits.parquet"
        write_table(table)
        plain, name, many = bare(table), "asks a second over HTTP, {}, D off", f"{CLIENTS} clients, {CLIENTS} gates"
        with served(folder, table, 0.0, WORKERS) as (_, _, at, clocks), crowd(*at) as (ask_all, clients):
            yield rate(name.format(f"{many}, {WORKERS} workers"), ask_all, plain, asked, clocks | clients, ">= 3")
        with served(folder, table, 0.0) as (gate, keeper, at, clocks):
            with crowd(*at) as (ask_all, clients):
                yield rate(name.format(many), ask_all, plain, asked, clocks | clients, ">= 1")
            one = lambda chosen: [gate.ask(each) for each in chosen]  # noqa: E731
            yield rate(name.format("1 client"), one, plain, asked, clocks, ">= 0.7")
            yield own_cost(keeper, gate, asked[:300])
            yield latency(gate, asked[:300], "off")
        delay = 1.0
        with served(folder, table, delay) as (gate, *_):
            yield latency(gate, asked[:40], f"{delay:g} s")


def bare(table: Path) -> Any:
    """The plain query, by a condition."""
    import duckdb

    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE visits AS SELECT * FROM '{table}'")
    return lambda where: connection.execute(f"SELECT count(DISTINCT visitor) FROM visits WHERE {where}").fetchall()


def rate(name: str, ask_all: Any, plain: Any, asked: list[str], clocks: Mapping[str, Clock], target: str) -> Result:
    """A fifth of the conditions each round, the same for both."""
    parts = [asked[place::ROUNDS] for place in range(ROUNDS)]
    spent: dict[str, list[list[float]]] = {"ours": [], "bare": []}

    def contender(who: str, work: Any) -> Contender:
        def run(chosen: list[str]) -> None:
            before = [clock() for clock in clocks.values()]
            work(chosen)
            taken = [clock() - begun for clock, begun in zip(clocks.values(), before, strict=True)]
            spent[who].append([1e3 * each / len(chosen) for each in taken])

        return Contender(run, lambda: parts[len(spent[who]) % ROUNDS], queries=len(parts[0]))

    ours, peer = side_by_side(
        contender("ours", ask_all), contender("bare", lambda chosen: [plain(each) for each in chosen]), rounds=ROUNDS
    )
    medians = [statistics.median(each) for each in zip(*spent["ours"], strict=True)]
    cpu = dict(zip(clocks, medians, strict=True)) | {"bare": statistics.median(each[0] for each in spent["bare"])}
    return Result(
        benchmark=name,
        ours=round(1 / ours.each, 1),
        peer=round(1 / peer.each, 1),
        unit="asks/s",
        ratio=round(peer.each / ours.each, 3),
        target=target,
        details={
            "peer_name": "DuckDB count(DISTINCT)",
            "selectivities": list(SHARES),
            "rows": ROWS,
            **{f"{who}_cpu_ms": round(taken, 2) for who, taken in cpu.items()},
            "bound": round(cpu["bare"] / (cpu["ours"] + cpu.get("clients", 0)), 2),
        },
    )


@contextmanager
def crowd(host: str, port: int, token: str) -> Iterator[tuple[Any, dict[str, Clock]]]:
    """Clients with a gate each; a call deals conditions out to them, and returns when all are answered. And a clock."""
    started = multiprocessing.get_context("spawn")
    pipes = [started.Pipe() for _ in range(CLIENTS)]
    members = [started.Process(target=member, args=(host, port, token, theirs)) for _, theirs in pipes]

    def ask_all(chosen: Sequence[str]) -> None:
        for place, (ours, _) in enumerate(pipes):
            ours.send(chosen[place::CLIENTS])
        for ours, _ in pipes:
            assert ours.recv() == 200, "an ask was refused"

    for (_, theirs), each in zip(pipes, members, strict=True):
        each.start()
        theirs.close()
    try:
        yield ask_all, {"clients": lambda: sum(spent_by(each.pid or 0) for each in members)}
    finally:
        for (ours, _), each in zip(pipes, members, strict=True):
            ours.send(None)
            each.join()


def member(host: str, port: int, token: str, orders: Connection[Any, Any]) -> None:
    """One client: opens a gate, asks it what it is sent, and tells the worst status."""
    line = http.client.HTTPConnection(host, port, timeout=60)
    number = 0

    def post(path: str, body: object) -> tuple[int, Any]:
        nonlocal number
        number += 1
        key = f"{multiprocessing.current_process().name} {number}"
        sent = {"Authorization": f"Bearer {token}", "Idempotency-Key": key, "Content-Type": "application/json"}
        line.request("POST", path, json.dumps(body), sent)
        heard = line.getresponse()
        return heard.status, json.load(heard)

    status, gate = post("/v1/gates", GATE)
    while (chosen := orders.recv()) is not None:
        line.close()  # opened again by the next request: meanwhile the service may have let go of it
        asks = (post(f"/v1/gates/{gate['id']}/ask", {"where": where})[0] for where in chosen)
        orders.send(max(asks, default=200) if status < 300 else status)


def own_cost(keeper: Any, gate: Any, asked: list[str]) -> Result:
    """What an ask takes beyond its count: both commits and everything else in the keeper, HTTP left out."""
    from sparsegate.service.gates import KeyedRequest

    counting: list[float] = []
    count = keeper.dataset.count

    def timed(condition: Any, **options: Any) -> int:
        begun = time.process_time()
        try:
            return int(count(condition, **options))
        finally:
            counting.append(time.process_time() - begun)

    keeper.dataset.count = timed
    costs, waits = [], []
    for place, where in enumerate(asked):
        begun, clock = time.process_time(), time.perf_counter()
        keeper.ask(KeyedRequest(token=1, key=f"own {place}"), gate.id, where)
        costs.append(time.process_time() - begun - counting[-1])
        waits.append(time.perf_counter() - clock)
    keeper.dataset.count = count
    return Result(
        benchmark="processor time of an ask, both commits, count and HTTP left out",
        ours=round(1e3 * statistics.median(costs), 2),
        unit="ms",
        target="<= 2",
        judged="ours",
        details={
            "p99_ms": round(1e3 * float(np.quantile(costs, 0.99)), 2),
            "count_ms": round(1e3 * statistics.median(counting), 2),
            "whole_ms": round(1e3 * statistics.median(waits), 2),
        },
    )


def latency(gate: Any, asked: list[str], delay: str) -> Result:
    taken = []
    for where in asked:
        begun = time.perf_counter()
        gate.ask(where)
        taken.append(time.perf_counter() - begun)
    p50, p99 = (round(1e3 * float(np.quantile(taken, part)), 1) for part in (0.5, 0.99))
    return Result(
        benchmark=f"p99 of an ask over HTTP, D {delay}",
        ours=p99,
        unit="ms",
        details={"median_ms": p50, "asks": len(asked)},
    )


def main() -> None:
    for result in results():
        print(result.line())


if __name__ == "__main__":
    main()
