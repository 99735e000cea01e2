"""How much slower a machine is when it is busy: measured at the start, because D must hold then too."""

from __future__ import annotations

import hashlib
import math
import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Final

CORES: Final = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
LEAST: Final = 0.02
"""Work is repeated until it takes this many seconds: what is shorter slips in between two turns of the scheduler."""
ROUNDS: Final = 3
ENOUGH: Final = 0.3
"""No further round is begun after this many seconds."""


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
