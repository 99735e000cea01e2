"""A thousand analysts who ask once a minute: how long each waits beyond D, with D on.

Each has a token, sends at a moment of her own that was drawn at random, and asks one of 64 gates, which she draws too.
An answer takes D at least. At one gate asks take turns of D, so those who meet at a gate wait for one another: by
chance that is one in fifteen, and more than D one in 500. Nobody else should be waited for. They are coroutines in a
process of their own, which shares no interpreter with the service, but its cores.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import tempfile
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import Result
from benchmarks.service import GATE, WORKERS, conditions, served, write_table

ANALYSTS, GATES, SECONDS, DELAY = 1000, 64, 60.0, 0.25


def results() -> Iterator[Result]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        table = folder / "visits.parquet"
        write_table(table)
        for workers in (1, WORKERS):
            with served(folder, table, DELAY, workers) as (_, keeper, (host, port, _), clocks):
                yield waits(keeper, f"http://{host}:{port}", clocks["ours"], workers)


def waits(keeper: Any, place: str, spent: Callable[[], float], workers: int) -> Result:
    """Who has which token and which gates there are is told to the analysts; they tell how long each waited."""
    from sparsegate.service.gates import KeyedRequest
    from sparsegate.service.tokens import Role, Tokens

    tokens = Tokens(keeper.ledger)
    callers = [tokens.add(f"analyst {number}", Role.ANALYST) for number in range(ANALYSTS)]
    opened = (keeper.open_gate(KeyedRequest(token=1, key=f"gate {number}"), **GATE) for number in range(GATES))
    gates = [gate["id"] for gate in opened]
    started = multiprocessing.get_context("spawn")
    ours, theirs = started.Pipe()
    minute = started.Process(target=ask, args=(place, callers, gates, theirs))
    minute.start()
    before = spent()
    taken, refused, turns = ours.recv()
    minute.join()
    p50, p99 = (round(1e3 * float(np.quantile(taken, part)), 1) for part in (0.5, 0.99))
    return Result(
        benchmark=f"p99 of an ask, {ANALYSTS:,} analysts who ask once a minute, {GATES} gates, D {DELAY:g} s"
        + f", {workers} workers" * (workers > 1),
        ours=p99,
        unit="ms",
        target=f"<= {2e3 * DELAY:g}",
        judged="ours",
        details={
            "median_ms": p50,
            "most_ms": round(1e3 * max(taken), 1),
            "p99_ms_of_turns_alone": round(1e3 * float(np.quantile(turns, 0.99)), 1),
            "refused": refused,
            "cpu_ms_each": round(1e3 * (spent() - before) / ANALYSTS, 2),
        },
    )


def ask(place: str, tokens: list[str], gates: list[str], told: Connection[Any, Any]) -> None:
    """One minute of all analysts: the seconds that each waited, how many got no answer, and what turns alone take."""
    told.send(asyncio.run(_minute(place, tokens, gates)))


async def _minute(place: str, tokens: list[str], gates: list[str]) -> tuple[list[float], int, list[float]]:
    import httpx

    rng, asked = np.random.default_rng(1), conditions()
    moments, chosen = rng.uniform(0, SECONDS, len(tokens)), rng.integers(0, len(gates), len(tokens))
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(base_url=place, limits=limits, timeout=60) as client:

        async def one(number: int) -> tuple[float, bool]:
            await asyncio.sleep(moments[number])
            sent = {"Authorization": f"Bearer {tokens[number]}", "Idempotency-Key": "once"}
            path, body = f"/v1/gates/{gates[chosen[number]]}/ask", {"where": asked[number % len(asked)]}
            begun = time.perf_counter()
            response = await client.post(path, json=body, headers=sent)
            return time.perf_counter() - begun, response.status_code == 200

        outcomes = await asyncio.gather(*(one(number) for number in range(len(tokens))))
    refused = sum(not answered for _, answered in outcomes)
    return [seconds for seconds, _ in outcomes], refused, _turns(moments.tolist(), chosen.tolist())


def _turns(moments: list[float], chosen: list[int]) -> list[float]:
    """How long each would wait if everything but D took no time."""
    free, waited = dict.fromkeys(chosen, 0.0), []
    for moment, gate in sorted(zip(moments, chosen, strict=True)):
        free[gate] = max(moment, free[gate]) + DELAY
        waited.append(free[gate] - moment)
    return waited


def main() -> None:
    for result in results():
        print(result.line())


if __name__ == "__main__":
    main()
