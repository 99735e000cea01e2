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
from collections.abc import Iterator
from typing import Any, Self

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


def connect(
    url: str, token: str, *, timeout: float | None = None, retries: int = RETRIES, insecure: bool = False
) -> Client:
    """A client of the service at ``url``. Nothing is sent before it is used.

    ``token`` is what `sparsegate token add` printed. It waits for an answer for ``timeout`` seconds; unless that is
    given, for as long as the service's delay asks for. What no answer came to is sent again, ``retries`` times at
    most; it is paid for once, by its idempotency key.

    Plain http is refused unless the service is on this machine: the token would travel in the clear. ``insecure=True``
    says that the way there is safe all the same.

    >>> import pathlib, subprocess, sys, tempfile, sparsegate as sg
    >>> folder = tempfile.TemporaryDirectory()
    >>> table = pathlib.Path(folder.name, "visits.csv")
    >>> _ = table.write_text("visitor,country\\n" + "".join(f"{i},{'DE' if i % 4 else 'FR'}\\n" for i in range(8000)))
    >>> sparsegate = [sys.executable, "-c", "from sparsegate.cli import main; main()"]  # the command of that name
    >>> serve = ["serve", str(table), "--user", "visitor", "--new-ledger", "--budget", "2", "--port", "0"]
    >>> pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    >>> server = subprocess.Popen([*sparsegate, *serve], text=True, **pipes)
    >>> said = {}
    >>> while "serving" not in said:
    ...     word, text = server.stdout.readline().split()[:2]
    ...     said[word] = text
    >>> with sg.connect(said["serving"], said["token"]) as service:
    ...     gate = service.open_gate(threshold=1000, cutoff=2, epsilon=0.5)
    ...     print(bool(gate.ask("country = 'DE'")), bool(gate.ask("country = 'IT'")))
    ...     print(service.budget().remaining)
    True False
    epsilon 1.45, delta 0.000000999
    >>> server.terminate()
    >>> _ = server.communicate()
    >>> folder.cleanup()
    """
    return Client(
        httpx.Client(**settings(url, token, timeout, insecure)),
        retries=checked_retries(retries),
        patience=Patience(timeout),
    )


class RemoteGate(RemoteState):
    """A gate of a service. As a context manager it is closed at the end, which needs a token of the role owner.

    Its fields, such as ``margin``, are those of ``RemoteState``.
    """

    def __init__(self, client: Client, view: dict[str, Any]) -> None:
        super().__init__(view)
        self._client = client

    def ask(self, where: str) -> Answer:
        """Is the number of people with a matching row above the threshold?"""
        return self._client.send(self._asking(where))

    def answers(self, *, after: int = 0) -> Iterator[RemoteAnswer]:
        """Its answers that have left, oldest first, from a number on."""
        more = True
        while more:
            page = self._client.send(self._reading(after))
            for each in page:
                yield each
                after = each.number
            more = len(page) >= PAGE

    def refresh(self) -> Self:
        """Look at the gate again: others may have asked it."""
        self._client.send(self._looking())
        return self

    def close(self) -> None:
        """Stop answering; what was not used goes back to the ledger."""
        self._client.send(self._closing())

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

    def __init__(
        self, http: httpx.Client, *, retries: int, patience: Patience | None = None, practice: bool = False
    ) -> None:
        self._http, self._retries, self._practice = http, retries, practice
        self._patience = patience or Patience(http.timeout.read or 0.0)

    @property
    def practice(self) -> Client:
        """The same service, with gates to practise on: made-up rows, for everybody, and free."""
        return Client(self._http, retries=self._retries, patience=Patience(self._patience.told), practice=True)

    def open_gate(
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
    ) -> RemoteGate:
        """Open a gate, which reserves its whole epsilon at once; ``noise`` and ``closes`` as in ``SparseVector``."""
        numbers = (threshold, cutoff, epsilon, queries, noise, closes)
        return RemoteGate(self, self.send(open_gate(*numbers, name=name, description=description)))

    def gate(self, id: str) -> RemoteGate:
        """A gate that is there."""
        return RemoteGate(self, self.send(look_at(id)))

    def preview(
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
        return self.send(records.preview_gate(threshold, cutoff, epsilon, queries, noise, closes))

    def gates(self, *, closed: bool | None = None) -> list[RemoteGate]:
        """Gates, newest first: all, or only those that are closed, or not."""
        found: list[dict[str, Any]] = []
        more = True
        while more:
            page = self.send(records.list_gates(closed, found[-1]["id"] if found else None))
            found += page
            more = len(page) >= PAGE
        return [RemoteGate(self, view) for view in found]

    def activity(self) -> Iterator[RemoteAsk]:
        """Who asked what, at all gates, newest first; for owners."""
        after, more = None, True
        while more:
            page = self.send(records.list_activity(after))
            for each in page:
                yield each
                after = each.cursor
            more = len(page) >= PAGE

    def whoami(self) -> RemoteToken:
        """Whose token this is, and what it has used."""
        return self.send(records.who_am_i())

    def tokens(self) -> list[RemoteToken]:
        """All tokens, oldest first; for owners."""
        return self.send(records.list_tokens())

    def add_token(
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
        return self.send(records.add_token(name, role, **limits))

    def revoke_token(self, name: str) -> RemoteToken:
        """Stop a token for good; for owners."""
        return self.send(records.revoke_token(name))

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
        steps = exchange(call, retries=self._retries, patience=self._patience)
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
            response = self._http.request(
                step.method,
                placed(step.path, self._practice),
                content=step.content,
                headers=step.headers,
                timeout=time_limit(self._patience.seconds(step)),
            )
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
