"""The client of ``client``, for ``async with`` and ``await``: it says the same things, by ``calls`` and ``remote``."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, Self

import anyio
import httpx

from sparsegate.budget import Number
from sparsegate.errors import SparsegateError
from sparsegate.gates.gate import Answer
from sparsegate.ledger.account import Statement
from sparsegate.service.client import calls as records
from sparsegate.service.client.calls import (
    PAGE,
    Call,
    Heard,
    Patience,
    RemoteAnswer,
    RemoteAsk,
    RemotePreview,
    RemoteToken,
    Result,
    ServedData,
    Step,
    TopAnswer,
    exchange,
    look_at_data,
)
from sparsegate.service.client.remote import (
    RETRIES,
    Candidates,
    RemoteState,
    ask_top,
    checked_retries,
    heard_in,
    look_at,
    look_at_budget,
    open_gate,
    placed,
    settings,
    time_limit,
)


def connect_async(
    url: str, token: str, *, timeout: float | None = None, retries: int = RETRIES, insecure: bool = False
) -> AsyncClient:
    """The same as ``connect``, for ``async with`` and ``await``.

    >>> import asyncio
    >>> from sparsegate.service.client import connect_async
    >>> async def left(url, token):
    ...     async with connect_async(url, token, retries=0) as service:
    ...         statement = await service.budget()
    ...         return statement.remaining
    >>> asyncio.run(left("http://127.0.0.1:9", "sg_" + "x" * 43))  # no service listens there
    Traceback (most recent call last):
    sparsegate.errors.ServiceError: the service cannot be reached; check the URL, and that it runs
    """
    return AsyncClient(
        httpx.AsyncClient(**settings(url, token, timeout, insecure)),
        retries=checked_retries(retries),
        patience=Patience(timeout),
    )


class AsyncGate(RemoteState):
    """``RemoteGate`` for ``async with`` and ``await``."""

    def __init__(self, client: AsyncClient, view: dict[str, Any]) -> None:
        super().__init__(view)
        self._client = client

    async def ask(self, where: str) -> Answer:
        """Is the number of people with a matching row above the threshold?"""
        return await self._client.send(self._asking(where))

    async def answers(self, *, after: int = 0) -> AsyncIterator[RemoteAnswer]:
        """Its answers that have left, oldest first, from a number on."""
        more = True
        while more:
            page = await self._client.send(self._reading(after))
            for each in page:
                yield each
                after = each.number
            more = len(page) >= PAGE

    async def refresh(self) -> Self:
        """Look at the gate again: others may have asked it."""
        await self._client.send(self._looking())
        return self

    async def close(self) -> None:
        """Stop answering; what was not used goes back to the ledger."""
        await self._client.send(self._closing())

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

    def __init__(
        self, http: httpx.AsyncClient, *, retries: int, patience: Patience | None = None, practice: bool = False
    ) -> None:
        self._http, self._retries, self._practice = http, retries, practice
        self._patience = patience or Patience(http.timeout.read or 0.0)

    @property
    def practice(self) -> AsyncClient:
        """The same service, with gates to practise on: made-up rows, for everybody, and free."""
        return AsyncClient(self._http, retries=self._retries, patience=Patience(self._patience.told), practice=True)

    async def open_gate(
        self,
        *,
        threshold: int,
        cutoff: int,
        epsilon: Number,
        queries: int | None = None,
        noise: str = "auto",
        closes: str = "above",
        name: str = "",
        description: str = "",
    ) -> AsyncGate:
        """Open a gate, which reserves its whole epsilon at once; ``noise`` and ``closes`` as in ``SparseVector``."""
        numbers = (threshold, cutoff, epsilon, queries, noise, closes)
        return AsyncGate(self, await self.send(open_gate(*numbers, name=name, description=description)))

    async def gate(self, id: str) -> AsyncGate:
        """A gate that is there."""
        return AsyncGate(self, await self.send(look_at(id)))

    async def preview(
        self,
        *,
        threshold: int,
        cutoff: int,
        epsilon: Number,
        queries: int | None = None,
        noise: str = "auto",
        closes: str = "above",
    ) -> RemotePreview:
        """What such a gate would be good for, and whether to be warned; free."""
        return await self.send(records.preview_gate(threshold, cutoff, epsilon, queries, noise, closes))

    async def gates(self, *, closed: bool | None = None) -> list[AsyncGate]:
        """Gates, newest first: all, or only those that are closed, or not."""
        found: list[dict[str, Any]] = []
        more = True
        while more:
            page = await self.send(records.list_gates(closed, found[-1]["id"] if found else None))
            found += page
            more = len(page) >= PAGE
        return [AsyncGate(self, view) for view in found]

    async def activity(self) -> AsyncIterator[RemoteAsk]:
        """Who asked what, at all gates, newest first; for owners."""
        after, more = None, True
        while more:
            page = await self.send(records.list_activity(after))
            for each in page:
                yield each
                after = each.cursor
            more = len(page) >= PAGE

    async def whoami(self) -> RemoteToken:
        """Whose token this is, and what it has used."""
        return await self.send(records.who_am_i())

    async def tokens(self) -> list[RemoteToken]:
        """All tokens, oldest first; for owners."""
        return await self.send(records.list_tokens())

    async def add_token(
        self,
        name: str,
        role: str = "analyst",
        *,
        expires: str | None = None,
        most_above: int | None = None,
        most_epsilon: Number | None = None,
    ) -> str:
        """Make a token and return its text, which is shown this once; for owners."""
        limits = {"expires": expires, "most_above": most_above, "most_epsilon": most_epsilon}
        return await self.send(records.add_token(name, role, **limits))

    async def revoke_token(self, name: str) -> RemoteToken:
        """Stop a token for good; for owners."""
        return await self.send(records.revoke_token(name))

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
        steps = exchange(call, retries=self._retries, patience=self._patience)
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
            response = await self._http.request(
                step.method,
                placed(step.path, self._practice),
                content=step.content,
                headers=step.headers,
                timeout=time_limit(self._patience.seconds(step)),
            )
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
