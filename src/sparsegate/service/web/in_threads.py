"""A keeper, seen from the event loop.

A keeper blocks: an ask sleeps until its answer may leave. So every call runs in a thread, questions and the rest in
separate pools, and nobody who only looks has to wait behind those who ask.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, Final, TypeVar

import anyio
import anyio.to_thread
from fastapi import Depends, Path, Request

from sparsegate.errors import UnknownGate
from sparsegate.service.keeper import Keeper
from sparsegate.service.web.admission import GateQueues, Limits, RateLimiter

_Result = TypeVar("_Result")

_LOOKERS: Final = 16

_GATE: Final = re.compile(r"g-[0-9a-f]{16}", re.ASCII)


class ThreadedKeeper:
    """Runs the methods of a keeper in threads."""

    def __init__(self, keeper: Keeper, limits: Limits) -> None:
        self.keeper = keeper
        self.queues = GateQueues(waiting=limits.waiting, patience=keeper.pace.patience, delay=keeper.pace.delay)
        # Of one token: a preview takes tens of milliseconds, and the questions of others go first.
        self.previews = RateLimiter(rate=2.0, burst=20)
        self._askers = anyio.CapacityLimiter(limits.asks)
        self._lookers = anyio.CapacityLimiter(_LOOKERS)
        self._planners = anyio.CapacityLimiter(1)

    async def run(self, method: Callable[..., _Result], *args: Any, ask: bool = False, **options: Any) -> _Result:
        """A look, or a question."""
        limiter = self._askers if ask else self._lookers
        return await anyio.to_thread.run_sync(partial(method, *args, **options), limiter=limiter)

    async def plan(self, method: Callable[..., _Result], *args: Any) -> _Result:
        """What takes long and is nobody's question: one at a time."""
        return await anyio.to_thread.run_sync(method, *args, limiter=self._planners)


async def _service(request: Request) -> ThreadedKeeper:
    service: ThreadedKeeper = request.app.state.service
    return service


async def _gate(id: Annotated[str, Path(description="The name of a gate.", examples=["g-0123456789abcdef"])]) -> str:
    # Reject malformed names before the lookup: databases differ in what a text may hold.
    if not _GATE.fullmatch(id):
        raise UnknownGate
    return id


Service = Annotated[ThreadedKeeper, Depends(_service)]
GateName = Annotated[str, Depends(_gate)]
Body = dict[str, Any]
