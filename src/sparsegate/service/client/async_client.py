"""The client of ``client``, for ``async with`` and ``await``: it says the same things, by ``calls`` and ``remote``."""

from __future__ import annotations

from typing import Any, Self

import anyio
import httpx

from sparsegate.budget import Number
from sparsegate.errors import SparsegateError
from sparsegate.ledger.account import Statement
from sparsegate.mechanisms.gate import Answer
from sparsegate.service.client.calls import Call, Heard, Result, ServedData, Step, TopAnswer, exchange
from sparsegate.service.client.remote import (
    RETRIES,
    TIMEOUT,
    Candidates,
    RemoteState,
    ask_top,
    checked_retries,
    heard_in,
    list_gates,
    look_at,
    look_at_budget,
    look_at_data,
    open_gate,
    settings,
)


def connect_async(
    url: str, token: str, *, timeout: float = TIMEOUT, retries: int = RETRIES, insecure: bool = False
) -> AsyncClient:
    """The same as ``connect``, for ``async with`` and ``await``."""
    return AsyncClient(httpx.AsyncClient(**settings(url, token, timeout, insecure)), retries=checked_retries(retries))


class AsyncGate(RemoteState):
    """``RemoteGate`` for ``async with`` and ``await``."""

    def __init__(self, client: AsyncClient, view: dict[str, Any]) -> None:
        super().__init__(view)
        self._client = client

    async def ask(self, where: str) -> Answer:
        """Is the number of people with a matching row above the threshold?"""
        return await self._client.send(self.asking(where))

    async def refresh(self) -> Self:
        """Look at the gate again: others may have asked it."""
        await self._client.send(self.looking())
        return self

    async def close(self) -> None:
        """Stop answering; what was not used goes back to the ledger."""
        await self._client.send(self.closing())

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: object, *_: object) -> None:
        try:
            await self.close()
        except SparsegateError:
            if kind is None:
                raise


class AsyncClient:
    """``Client`` for ``async with`` and ``await``; made by ``connect_async``."""

    def __init__(self, http: httpx.AsyncClient, *, retries: int) -> None:
        self._http, self._retries = http, retries

    async def open_gate(
        self,
        *,
        threshold: int,
        cutoff: int,
        epsilon: Number,
        queries: int | None = None,
        noise: str = "auto",
        closes: str = "above",
    ) -> AsyncGate:
        """Open a gate, which reserves its whole epsilon at once; ``noise`` and ``closes`` as in ``SparseVector``."""
        return AsyncGate(self, await self.send(open_gate(threshold, cutoff, epsilon, queries, noise, closes)))

    async def gate(self, id: str) -> AsyncGate:
        """A gate that is there."""
        return AsyncGate(self, await self.send(look_at(id)))

    async def gates(self) -> list[AsyncGate]:
        """All gates, newest first."""
        return [AsyncGate(self, view) for view in await self.send(list_gates())]

    async def budget(self) -> Statement:
        """What was allowed, spent and left."""
        return await self.send(look_at_budget())

    async def top(self, *, item: str, epsilon: Number, domain: Candidates, **options: Any) -> TopAnswer:
        """A private top-c of one column: ``count``, or ``above``, and the options of ``sparsegate.top_items``."""
        return await self.send(ask_top(item=item, epsilon=epsilon, domain=domain, **options))

    async def schema(self) -> ServedData:
        """What may be asked about."""
        return await self.send(look_at_data())

    async def send(self, call: Call[Result]) -> Result:
        """Send a call, again where no answer came, and return what it is read as."""
        steps = exchange(call, retries=self._retries)
        heard: Heard | None = None
        try:
            while True:
                heard = await self._taken(steps.send(heard))
        except StopIteration as done:
            result: Result = done.value
        return result

    async def _taken(self, step: Step) -> Heard | None:
        if not isinstance(step, Call):
            await anyio.sleep(step)
            return None
        try:
            response = await self._http.request(step.method, step.path, content=step.content, headers=step.headers)
        except httpx.HTTPError:
            return None
        return heard_in(response)

    async def close(self) -> None:
        """Let go of the connections; gates stay open."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._http.base_url}>"
