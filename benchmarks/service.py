"""Questions to a served gate: how many a second beside the bare DuckDB query, and what the gate itself costs.

A table of a million rows; a thousand different conditions, a third each of which match 1 %, 10 % and 50 % of the rows.
The peer counts distinct people by the same conditions, on the same table in an in-memory DuckDB. Ours goes the whole
way: HTTP over loopback, token, idempotency key, condition, both commits. D is off unless said otherwise.
"""

from __future__ import annotations

import statistics
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import Contender, Result, side_by_side

ROWS, PEOPLE, CONDITIONS = 1_000_000, 200_000, 1000
SHARES = (0.01, 0.1, 0.5)
SECONDS = 3600
ROUNDS = 5


def write_table(path: Path) -> None:
    """Visits: who, from where, which page, how long."""
    import duckdb

    duckdb.sql(
        f"""COPY (SELECT (hash(i) % {PEOPLE})::BIGINT AS visitor, 'c' || (hash(i + 7) % 40) AS country,
        '/page/' || (hash(i * 3) % 500) AS page, (hash(i + 99) % {SECONDS})::BIGINT AS seconds
        FROM range({ROWS}) t(i)) TO '{path}' (FORMAT parquet)"""
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
def served(folder: Path, table: Path, delay: float) -> Iterator[tuple[Any, Any, Any]]:
    """A service on the table, a client's open gate, and the keeper behind both."""
    import uvicorn

    from sparsegate.ledger.ledger import Ledger
    from sparsegate.service.client.client import connect
    from sparsegate.service.data.dataset import ServedTable
    from sparsegate.service.deadline import DelayPlan
    from sparsegate.service.keeper import Keeper
    from sparsegate.service.sealed_noise import SealingKey
    from sparsegate.service.tokens import Role, Tokens
    from sparsegate.service.web.admission import Limits
    from sparsegate.service.web.http import create_app
    from sparsegate.service.web.server import listen

    place = folder / f"{delay}.ledger"
    Ledger.create(place, dataset="visits", budget=100).close()
    ledger = Ledger(place, pooled=True)
    with ServedTable.open([str(table)], user="visitor") as data:
        keeper = Keeper(ledger, data, SealingKey.create(folder / f"{delay}.key"), pace=DelayPlan(delay=delay))
        tokens = Tokens(ledger)
        app = create_app(keeper, tokens, limits=Limits(rate=1e9, burst=10**9))
        sock = listen("127.0.0.1", 0)
        server = uvicorn.Server(uvicorn.Config(app, log_level="critical", lifespan="off", ws="none"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [sock]})
        thread.start()
        try:
            with connect(f"http://127.0.0.1:{sock.getsockname()[1]}", tokens.add("owner", Role.OWNER)) as client:
                gate = client.open_gate(threshold=10 * PEOPLE, cutoff=10, epsilon=1)
                yield client, gate, keeper
        finally:
            server.should_exit = True
            thread.join()
            sock.close()
            keeper.close()
            ledger.close()


def results() -> Iterator[Result]:
    asked = conditions()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        table = folder / "visits.parquet"
        write_table(table)
        with served(folder, table, 0.0) as (_, gate, keeper):
            yield from rates(gate, bare(table), asked)
            yield own_cost(keeper, gate, asked[:300])
            yield latency(gate, asked[:300], "off")
        delay = 1.0
        with served(folder, table, delay) as (_, gate, _):
            yield latency(gate, asked[:40], f"{delay:g} s")


def bare(table: Path) -> Any:
    """The plain query, by a condition."""
    import duckdb

    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE visits AS SELECT * FROM '{table}'")
    return lambda where: connection.execute(f"SELECT count(DISTINCT visitor) FROM visits WHERE {where}").fetchall()


def rates(gate: Any, plain: Any, asked: list[str]) -> Iterator[Result]:
    """A fifth of the conditions each round, the same for both."""
    parts = [asked[place::ROUNDS] for place in range(ROUNDS)]
    turns = {"ours": 0, "bare": 0}

    def part(who: str) -> list[str]:
        turns[who] += 1
        return parts[turns[who] % ROUNDS]

    size = len(parts[0])
    ours, peer = side_by_side(
        Contender(lambda chosen: [gate.ask(where) for where in chosen], lambda: part("ours"), queries=size),
        Contender(lambda chosen: [plain(where) for where in chosen], lambda: part("bare"), queries=size),
        rounds=ROUNDS,
    )
    rate, other = 1 / ours.each, 1 / peer.each
    yield Result(
        benchmark="asks a second over HTTP, D off, 1,000 conditions",
        ours=round(rate, 1),
        peer=round(other, 1),
        unit="asks/s",
        ratio=round(rate / other, 3),
        target=">= 0.7",
        details={"peer_name": "DuckDB count(DISTINCT)", "selectivities": list(SHARES), "rows": ROWS},
    )


def own_cost(keeper: Any, gate: Any, asked: list[str]) -> Result:
    """What an ask takes beyond its count: both commits and everything else in the keeper, HTTP left out."""
    from sparsegate.service.gates import KeyedRequest

    counting: list[float] = []
    count = keeper.dataset.count

    def timed(condition: Any) -> int:
        begun = time.perf_counter()
        try:
            return int(count(condition))
        finally:
            counting.append(time.perf_counter() - begun)

    keeper.dataset.count = timed
    costs = []
    for place, where in enumerate(asked):
        begun = time.perf_counter()
        keeper.ask(KeyedRequest(token=1, key=f"own {place}"), gate.id, where)
        costs.append(time.perf_counter() - begun - counting[-1])
    keeper.dataset.count = count
    return Result(
        benchmark="the gate's own cost, both commits, count left out",
        ours=round(1e3 * statistics.median(costs), 2),
        unit="ms",
        target="<= 5",
        judged="ours",
        details={"p99_ms": round(1e3 * float(np.quantile(costs, 0.99)), 2)},
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
