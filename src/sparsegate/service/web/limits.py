"""How much a service takes: requests of one token, guesses at tokens, bytes of a body, questions at once.

Everything here runs in the event loop, in one thread, and needs no lock.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Hashable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

import anyio

from sparsegate.errors import GateBusy

BODY_BYTES: Final = 65_536
_MOST_BUCKETS: Final = 10_000


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The limits of a service.

    ``asks`` is how many questions are counted at once. Questions that run side by side slow each other down, and one
    that overruns D closes its gate: this many must fit into D together (``server.asks_at_once``).
    """

    rate: float = 50.0
    """Requests a second of one token, in the long run."""
    burst: int = 100
    """Requests of one token at once."""
    failure_rate: float = 1.0
    """Wrong tokens a second from one address, in the long run."""
    failure_burst: int = 20
    open_rate: float = 20.0
    """Requests a second from one address for what needs no token, in the long run."""
    open_burst: int = 100
    body_seconds: float = 10.0
    """How long a body may take to arrive."""
    asks: int = 200
    waiting: int = 32
    """Questions that wait at one gate."""
    patience: float = 60.0
    """How many seconds a question waits there."""


class Buckets:
    """Token buckets: each key may take ``burst`` at once and ``rate`` a second in the long run.

    >>> buckets = Buckets(rate=1, burst=2, clock=lambda: 0.0)
    >>> buckets.take("a"), buckets.take("a"), buckets.take("a"), buckets.take("b")
    (0.0, 0.0, 1.0, 0.0)
    """

    def __init__(self, *, rate: float, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._burst, self._clock = rate, burst, clock
        self._levels: dict[Hashable, tuple[float, float]] = {}

    def take(self, key: Hashable) -> float:
        """Take one: 0, or how many seconds to wait until there is one; then nothing was taken."""
        now = self._clock()
        level, then = self._levels.pop(key, (float(self._burst), now))
        level = min(self._burst, level + (now - then) * self._rate)
        granted = level >= 1
        # Put back at the end: whoever was seen least recently is forgotten first, and starts anew with a full bucket.
        self._levels[key] = (level - granted, now)
        if len(self._levels) > _MOST_BUCKETS:
            del self._levels[next(iter(self._levels))]
        return 0.0 if granted else (1 - level) / self._rate


@dataclass
class _Line:
    lock: anyio.Lock = field(default_factory=anyio.Lock)
    length: int = 0


class Lines:
    """Questions stand in line at their gate, first come first served; those in front share the places to count at.

    A gate takes one question at a time, so a question that held a place while it stood in line would keep the other
    gates from being asked. How long a question waits depends on when others leave, and that is public.
    """

    def __init__(self, *, places: int, waiting: int, patience: float) -> None:
        self._places = anyio.Semaphore(places)
        self._waiting, self._patience = waiting, patience
        self._lines: dict[str, _Line] = {}

    @asynccontextmanager
    async def at(self, gate: str) -> AsyncIterator[None]:
        """Wait for the gate and a place, and hold both; too long a line, or too long a wait, is ``GateBusy``."""
        line = self._lines.setdefault(gate, _Line())
        if line.length > self._waiting:
            raise GateBusy
        line.length += 1
        try:
            with anyio.move_on_after(self._patience) as waited:
                await line.lock.acquire()
                try:
                    await self._places.acquire()
                except BaseException:
                    line.lock.release()
                    raise
            if waited.cancelled_caught:
                raise GateBusy
            try:
                yield
            finally:
                self._places.release()
                line.lock.release()
        finally:
            line.length -= 1
            if not line.length:
                self._lines.pop(gate, None)
