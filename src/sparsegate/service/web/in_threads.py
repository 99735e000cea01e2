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
from fastapi import Depends, Path, Request, Response
from pydantic import AfterValidator

from sparsegate.errors import UnknownGate
from sparsegate.service.keeper import Keeper
from sparsegate.service.web.admission import Limits
from sparsegate.service.web.queues import GateQueues, OwnWork

_Result = TypeVar("_Result")

_LOOKERS: Final = 16

_GATE: Final = re.compile(r"g-[0-9a-f]{16}", re.ASCII)


class ThreadedKeeper:
    """Runs the methods of a keeper in threads."""

    def __init__(self, keeper: Keeper, limits: Limits) -> None:
        self.keeper = keeper
        self.queues = GateQueues(waiting=limits.waiting, patience=keeper.pace.patience, delay=keeper.pace.delay)
        # A preview takes tens of milliseconds: whoever looks at many can still ask, on a share of its own.
        self.reading, self.planning = OwnWork(limits), OwnWork(limits)
        self._askers = anyio.CapacityLimiter(limits.asks)
        self._lookers = anyio.CapacityLimiter(_LOOKERS)

    async def run(self, method: Callable[..., _Result], *args: Any, ask: bool = False, **options: Any) -> _Result:
        """A look, or a question."""
        limiter = self._askers if ask else self._lookers
        return await anyio.to_thread.run_sync(partial(method, *args, **options), limiter=limiter)


async def _service(request: Request) -> ThreadedKeeper:
    service: ThreadedKeeper = request.app.state.service
    return service


def _known_form(id: str) -> str:
    # Reject malformed names before the lookup: databases differ in what a text may hold.
    if not _GATE.fullmatch(id):
        raise UnknownGate
    return id


GateName = Annotated[str, AfterValidator(_known_form)]


async def _gate(
    id: Annotated[GateName, Path(description="The name of a gate.", examples=["g-0123456789abcdef"])],
) -> str:
    return id


def link(request: Request, response: Response, rel: str, **changes: str | int) -> None:
    """Say where another page is: the same address, with other parameters."""
    there = request.url.include_query_params(**changes)
    response.headers["Link"] = f'<{there.path}?{there.query}>; rel="{rel}"'


Service = Annotated[ThreadedKeeper, Depends(_service)]
GateInPath = Annotated[str, Depends(_gate)]
Body = dict[str, Any]
