"""A keeper from data: when a service starts, and again when its data is read anew.

The order is that of a start on changed data. Gates that were opened on other data are closed, where that was agreed to;
what they did not use goes back, and can pay for the sizes of the new data. These are charged, drawn and kept, the copy
is filled up to them, and D is measured: with every core busy, because it must hold then too. What is refused is refused
before anything is paid for.
"""

from __future__ import annotations

import hashlib
import math
import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Final

from sparsegate.conditions import read_condition
from sparsegate.errors import ParameterError
from sparsegate.ledger.ledger import Ledger
from sparsegate.service.data.dataset import ServedTable
from sparsegate.service.data.sizes import FillTerms, public_sizes, shown_sizes
from sparsegate.service.deadline import DelayPlan
from sparsegate.service.gate_store import GateStore
from sparsegate.service.gates import MOST_ASKS
from sparsegate.service.keeper import CHANGED, Keeper
from sparsegate.service.keys import SealingKey
from sparsegate.tables.columns import identifier


@dataclass(frozen=True, kw_only=True)
class KeeperTerms:
    """What a keeper is made from besides its data; ``delay`` is D where it is not measured, 0 is off."""

    ledger: Ledger
    key: SealingKey
    sizes: FillTerms = field(default_factory=FillTerms)
    capacity: str | None = None
    delay: float | None = None
    headroom: float = 3.0
    refund: bool = True
    most_asks: int = MOST_ASKS
    workers: int = 1
    """Processes that answer, with this one: they share the places to be counted at, of which each has at least one."""

    def keeper(self, data: ServedTable, *, close_gates: bool = False) -> Keeper:
        """The keeper of data that is not filled up yet."""
        GateStore(self.ledger).close_open_gates(CHANGED, agreed=close_gates, unlike=data.fingerprint)
        public = {} if self.capacity is None else public_sizes(self.capacity, list(data.sizes))
        data.fill(shown_sizes(self.ledger, data, self.sizes, public=public))
        probe = read_condition(f"{identifier(data.schema.columns[0].name)} IS NULL", data.schema)
        places = max(1, DelayPlan.places // self.workers)
        slower = slowdown(lambda: data.count(probe), at_once=places * self.workers)
        look, commits = data.look_seconds(), 2 * self.ledger.commit_seconds()
        how: dict[str, Any] = {"delay": self.delay, "headroom": self.headroom, "slowdown": slower}
        pace = replace(DelayPlan.measured(look=look, commits=commits, **how), places=places)
        options = {"refund": self.refund, "close_gates": close_gates, "most_asks": self.most_asks}
        return Keeper(self.ledger, data, self.key, pace=pace, **options)  # type: ignore[arg-type]

    def refreshed(self, keeper: Keeper, *, close_gates: bool) -> Keeper | None:
        """A keeper of the same data as it is now; None where nothing has changed."""
        with ExitStack() as stack:
            data = stack.enter_context(ServedTable.read(keeper.dataset.source))
            if data.fingerprint == keeper.dataset.fingerprint and not keeper.dataset.changed():
                return None
            count = GateStore(self.ledger).open_gates(unlike=data.fingerprint)
            if count and not close_gates:
                rule = (
                    f"must be true: the data has changed, and {count} open gate{'s' * (count > 1)} would close for good"
                )
                raise ParameterError("close_gates", rule, next_step="go on with the old copy, or agree to it")
            made = self.keeper(data, close_gates=close_gates)
            stack.pop_all()
        return made


CORES: Final = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
LEAST: Final = 0.02  # seconds; what is shorter slips in between two turns of the scheduler, and is repeated
ROUNDS: Final = 3
ENOUGH: Final = 0.3  # seconds after which no further round is begun


@contextmanager
def all_cores_busy() -> Iterator[None]:
    """A thread for each core that computes and does nothing else. (Hashing lets go of the interpreter's lock.)"""
    stop, block = threading.Event(), bytes(1 << 20)

    def burn() -> None:
        while not stop.is_set():
            hashlib.sha256(block)

    threads = [threading.Thread(target=burn, daemon=True) for _ in range(CORES)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def slowdown(work: Callable[[], object], *, at_once: int) -> float:
    """How many times as long ``work`` takes where this many do it at once, and every core is busy besides.

    At most what sharing the cores explains: more is the load of this moment, and D is for long.
    """
    work()  # the first time is longer
    once = _seconds(work, 1)
    times = max(1, math.ceil(LEAST / max(once, 1e-6)))
    alone = min([once * times, *(_seconds(work, times) for _ in range(ROUNDS if once < LEAST else 1))])
    rounds: list[float] = []
    until = time.monotonic() + ENOUGH
    with all_cores_busy(), ThreadPoolExecutor(at_once) as pool:
        while not rounds or (len(rounds) < ROUNDS and time.monotonic() < until):
            rounds.append(max(pool.map(lambda _: _seconds(work, times), range(at_once))))
    return min(max(min(rounds) / alone, 1.0), 1 + at_once / CORES)


def _seconds(work: Callable[[], object], times: int) -> float:
    begun = time.perf_counter()
    for _ in range(times):
        work()
    return time.perf_counter() - begun
