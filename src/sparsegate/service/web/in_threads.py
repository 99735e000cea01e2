"""A keeper, seen from the event loop.

A keeper blocks: an ask sleeps until its answer may leave. So every call runs in a thread, questions and the rest in
separate pools, and nobody who only looks has to wait behind those who ask.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, Final, TypeVar

import anyio
import anyio.to_thread
from fastapi import Depends, Path, Request, Response
from pydantic import AfterValidator

from sparsegate.errors import UnknownGate
from sparsegate.service.keeper import Keeper
from sparsegate.service.practice import Practice
from sparsegate.service.tokens import Token
from sparsegate.service.web.admission import Anybody, Limits, RateLimiter, in_practice
from sparsegate.service.web.problems import TOO_MANY, Refused
from sparsegate.service.web.queues import GateQueues, OwnWork

_Result = TypeVar("_Result")

_LOOKERS: Final = 16

_GATE: Final = re.compile(r"g-[0-9a-f]{16}", re.ASCII)


class ThreadedKeeper:
    """Runs the methods of a keeper in threads."""

    def __init__(self, keeper: Keeper, limits: Limits, beside: ThreadedKeeper | None = None) -> None:
        self.keeper, self.practice = keeper, beside is not None
        self.queues = GateQueues(waiting=limits.waiting, patience=keeper.pace.patience, delay=keeper.pace.delay)
        # A preview takes tens of milliseconds, a planned one hundreds: all have a share of their own.
        self.reading: OwnWork = OwnWork(limits) if beside is None else beside.reading
        self.planning: OwnWork = OwnWork(limits) if beside is None else beside.planning
        # A page of a thousand gates takes a tenth of a second, and seconds where each has a noise of its own.
        share = replace(limits, share=limits.listing_share, share_burst=limits.listing_burst)
        self.listing: OwnWork = OwnWork(share) if beside is None else beside.listing
        self._askers = anyio.CapacityLimiter(limits.asks)
        self._lookers = anyio.CapacityLimiter(_LOOKERS)

    async def run(self, method: Callable[..., _Result], *args: Any, ask: bool = False, **options: Any) -> _Result:
        """A look, or a question."""
        limiter = self._askers if ask else self._lookers
        return await anyio.to_thread.run_sync(partial(method, *args, **options), limiter=limiter)

    def label(self, view: dict[str, Any]) -> dict[str, Any]:
        """What is answered says if it is practice; a practice ledger knows no tokens by name."""
        nameless = dict.fromkeys(view.keys() & {"opened_by"}) if self.practice else {}
        return view | nameless | {"practice": self.practice}


class ThreadedPractice:
    """Gates to practise on, beside those of a service: one question at a time, and few of each token."""

    def __init__(self, practice: Practice, limits: Limits, beside: ThreadedKeeper) -> None:
        self._practice, self._limits, self._beside = practice, replace(limits, asks=1), beside
        self._requests = RateLimiter(rate=limits.practice_rate, burst=limits.practice_burst)
        self._making = anyio.CapacityLimiter(1)
        self._now: ThreadedKeeper | None = None

    async def at(self, token: Token, *, opens: bool) -> ThreadedKeeper:
        """The keeper of the practice gates, for one request."""
        if wait := self._requests.take(token.number):
            raise Refused(TOO_MANY, wait=wait)
        wanted = partial(self._practice.keeper, opens=opens)
        if opens:  # which may mean to start anew: whoever wants that does it on her share
            keeper = (await self._beside.planning.run(token.number, wanted))()
        else:
            keeper = await anyio.to_thread.run_sync(wanted, limiter=self._making)
        if self._now is None or self._now.keeper is not keeper:
            self._now = ThreadedKeeper(keeper, self._limits, self._beside)
        return self._now

    def close(self) -> None:
        """Throw the practice gates away."""
        self._practice.close()


async def _service(request: Request, token: Anybody) -> ThreadedKeeper:
    if in_practice(request):
        practice: ThreadedPractice = request.app.state.practice
        return await practice.at(token, opens=request.method == "POST" and request.url.path.endswith("/gates"))
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
