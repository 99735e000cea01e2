"""A client of the service, blocking or async, with gates that are asked like the library's own.

    with sparsegate.connect("https://gates.example", token) as service:
        with service.open_gate(threshold=1000, cutoff=25, epsilon=0.5) as gate:
            if gate.ask("country = 'DE' AND page IN ('/pay', '/cart')"):
                ...

Every call that changes something carries an idempotency key, and is sent again under the same key where no answer came:
so a lost response costs nothing. What the service refuses is raised as the library's own errors; ``ServiceError`` is
for the rest. The token is in no repr and in no error. Both clients say the same things: ``calls`` holds what they say.
"""

from __future__ import annotations

import time
from typing import Any, Self

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


def connect(
    url: str, token: str, *, timeout: float = TIMEOUT, retries: int = RETRIES, insecure: bool = False
) -> Client:
    """A client of the service at ``url``. Nothing is sent before it is used.

    Plain http is refused unless the service is on this machine: the token would travel in the clear. ``insecure=True``
    says that the way there is safe all the same.
    """
    return Client(httpx.Client(**settings(url, token, timeout, insecure)), retries=checked_retries(retries))


class RemoteGate(RemoteState):
    """A gate of a service. As a context manager it is closed at the end, which needs a token of the role owner."""

    def __init__(self, client: Client, view: dict[str, Any]) -> None:
        super().__init__(view)
        self._client = client

    def ask(self, where: str) -> Answer:
        """Is the number of people with a matching row above the threshold?"""
        return self._client.send(self.asking(where))

    def refresh(self) -> Self:
        """Look at the gate again: others may have asked it."""
        self._client.send(self.looking())
        return self

    def close(self) -> None:
        """Stop answering; what was not used goes back to the ledger."""
        self._client.send(self.closing())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            self.close()
        except SparsegateError:
            if kind is None:  # else it would hide what went wrong inside
                raise


class Client:
    """A connection to a service; made by ``connect``. May be used from many threads at once."""

    def __init__(self, http: httpx.Client, *, retries: int) -> None:
        self._http, self._retries = http, retries

    def open_gate(
        self,
        *,
        threshold: int,
        cutoff: int,
        epsilon: Number,
        queries: int | None = None,
        noise: str = "auto",
        closes: str = "above",
    ) -> RemoteGate:
        """Open a gate, which reserves its whole epsilon at once; ``noise`` and ``closes`` as in ``SparseVector``."""
        return RemoteGate(self, self.send(open_gate(threshold, cutoff, epsilon, queries, noise, closes)))

    def gate(self, id: str) -> RemoteGate:
        """A gate that is there."""
        return RemoteGate(self, self.send(look_at(id)))

    def gates(self) -> list[RemoteGate]:
        """All gates, newest first."""
        return [RemoteGate(self, view) for view in self.send(list_gates())]

    def budget(self) -> Statement:
        """What was allowed, spent and left."""
        return self.send(look_at_budget())

    def top(self, *, item: str, epsilon: Number, domain: Candidates, **options: Any) -> TopAnswer:
        """A private top-c of one column: ``count``, or ``above``, and the options of ``sparsegate.top_items``."""
        return self.send(ask_top(item=item, epsilon=epsilon, domain=domain, **options))

    def schema(self) -> ServedData:
        """What may be asked about."""
        return self.send(look_at_data())

    def send(self, call: Call[Result]) -> Result:
        """Send a call, again where no answer came, and return what it is read as."""
        steps = exchange(call, retries=self._retries)
        heard: Heard | None = None
        try:
            while True:
                heard = self._taken(steps.send(heard))
        except StopIteration as done:
            result: Result = done.value
        return result

    def _taken(self, step: Step) -> Heard | None:
        if not isinstance(step, Call):
            time.sleep(step)
            return None
        try:
            response = self._http.request(step.method, step.path, content=step.content, headers=step.headers)
        except httpx.HTTPError:  # it holds the request, and the request the token
            return None
        return heard_in(response)

    def close(self) -> None:
        """Let go of the connections; gates stay open."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._http.base_url}>"
