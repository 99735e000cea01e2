"""A client of the service, blocking or async, with gates that are asked like the library's own.

    with sparsegate.connect("https://gates.example", token) as service:
        with service.open_gate(threshold=1000, cutoff=25, epsilon=0.5) as gate:
            if gate.ask("country = 'DE' AND page IN ('/pay', '/cart')"):
                ...

Every call that changes something carries an idempotency key, and is sent again under the same key where no answer came:
so a lost response costs nothing. What the service refuses is raised as the library's own errors; ``ServiceError`` is
for the rest. The token is in no repr and in no error.

Both clients have the same methods. Each is written once, in ``Client`` or ``RemoteGate``, as the ``Call`` that it
makes: ``sent`` has it sent by a client that blocks, ``awaited`` by one that awaits.
"""

from __future__ import annotations

import ipaddress
import re
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import wraps
from typing import Any, Concatenate, Final, Generic, ParamSpec, Self, TypeVar
from urllib.parse import quote, urlencode

import anyio
import httpx

from sparsegate.budget import Number, exact_count
from sparsegate.errors import GateClosed, ParameterError, SparsegateError
from sparsegate.gates.gate import BELOW, Answer
from sparsegate.ledger.account import Statement
from sparsegate.service.client import calls
from sparsegate.service.client.calls import (
    TIMEOUT,
    Call,
    Heard,
    Patience,
    RemoteAnswer,
    RemoteAsk,
    RemotePreview,
    RemoteToken,
    Result,
    ServedData,
    TopAnswer,
    decimal,
    exchange,
)

RETRIES: Final = 3

View = dict[str, Any]
Candidates = Sequence[Any] | int | str
_Parameters = ParamSpec("_Parameters")
_Self = TypeVar("_Self", bound="_Sender | RemoteState")


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
    http = httpx.Client(**settings(url, token, timeout, insecure))
    return Client(http, retries=exact_count(retries, "retries", least=0), patience=Patience(timeout))


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
    http = httpx.AsyncClient(**settings(url, token, timeout, insecure))
    return AsyncClient(http, retries=exact_count(retries, "retries", least=0), patience=Patience(timeout))


def sent(
    request: Callable[Concatenate[_Self, _Parameters], Call[Result]],
) -> Callable[Concatenate[_Self, _Parameters], Result]:
    """A method that sends the call, and returns what it is read as."""

    @wraps(request)
    def method(self: _Self, /, *args: _Parameters.args, **options: _Parameters.kwargs) -> Result:
        result: Result = self.send(request(self, *args, **options))
        return result

    return method


def awaited(
    method: Callable[Concatenate[Any, _Parameters], Result],
) -> Callable[Concatenate[Any, _Parameters], Awaitable[Result]]:
    """A method of a client that blocks, for one that awaits: the same call, sent by another."""
    awaited: Callable[Concatenate[Any, _Parameters], Awaitable[Result]] = method  # type: ignore[assignment]
    return awaited


def awaited_gate(
    method: Callable[Concatenate[Any, _Parameters], RemoteGate],
) -> Callable[Concatenate[Any, _Parameters], Awaitable[AsyncGate]]:
    """``awaited``, of a method that returns a gate."""
    awaited: Callable[Concatenate[Any, _Parameters], Awaitable[AsyncGate]] = method  # type: ignore[assignment]
    return awaited


@dataclass(frozen=True, kw_only=True)
class Pages(Generic[Result]):
    """A list that comes page by page, each after the ``cursor`` of the last line before it."""

    path: str
    read: Callable[[Any], list[Result]]
    cursor: str
    start: int | None = None
    query: Mapping[str, str] = field(default_factory=dict)

    def call(self, after: Any) -> Call[list[Result]]:
        """The call of a page."""
        query = {"limit": calls.PAGE, **self.query, **({} if after is None else {"after": after})}
        return Call(path=f"{self.path}?{urlencode(query)}", read=self.read)


class RemoteState:
    """A gate as it was when it was last heard of: by an answer, or by ``refresh``.

    ``id`` is what the service calls it; ``name`` and ``description`` are what ``opened_by``, whose token opened it,
    said of it. ``threshold``, ``cutoff``, ``epsilon``, ``queries``, ``noise`` and ``closes`` are as it was opened. One
    without a cutoff was opened with ``within`` and ``expect``, and costs ``opening_rho`` and ``above_rho`` for each
    ABOVE; its ``epsilon`` is what was charged when it was last looked at. With 95 % probability an answer is right that
    is ``margin`` or more from the threshold; with ``margin_all`` as many at once are as ``cutoff`` says, or ``queries``
    or ``expect`` where that was given. ``standard_error`` is that of the estimate of an ABOVE. With a gate for each
    value of the column ``per``, in at most ``cells_per_user`` of which a person counts, ``cutoff`` and margins are
    those of one cell, ``closed`` is of all of them, and ``remaining`` of the cell that was asked last.
    """

    id: str
    threshold: int
    cutoff: int | None
    epsilon: Fraction
    within: Fraction | None
    expect: int | None
    opening_rho: Fraction | None
    above_rho: Fraction | None
    per: str | None
    cells_per_user: int | None
    queries: int | None
    noise: str
    closes: str
    standard_error: float | None
    name: str
    description: str
    opened_by: str | None
    margin: float
    margin_all: float
    closed: bool
    """Whether the gate has stopped answering."""
    positives: int
    """How many ABOVE were given, or lost; of a two-sided gate when it was last looked at, and answers since."""
    remaining: int | None
    """How many ABOVE are left, or of a two-sided gate how many of the rarer answer; None: as many as are paid for."""
    spent: Fraction
    """What its answers had cost when it was last heard of."""
    given_back: Fraction
    """What went back to the ledger when it closed."""

    def __init__(self, client: Any, view: View) -> None:
        self._client = client
        known = dict.fromkeys(_LATER) | view
        self._seen({name: known[name] for name in RemoteState.__annotations__})

    @property
    def reserved(self) -> Fraction:
        """The rest of its epsilon, which the ledger keeps for it."""
        return max(self.epsilon - self.spent - self.given_back, Fraction(0))

    def send(self, call: Call[Result]) -> Any:
        """Have the client of the gate send a call."""
        return self._client.send(call)

    def _answered(self, body: View) -> Answer:
        since = self.positives + body["above"]
        counted = self.closes == "above" and self.cutoff is not None and self.per is None
        positives = self.cutoff - body["remaining"] if counted else since
        heard = ("remaining", "closed", "spent") if self.per is None else ("remaining", "spent")
        self._seen({name: body[name] for name in heard} | {"positives": positives})
        return Answer(True, body["estimate"], body["standard_error"]) if body["above"] else BELOW

    def _seen(self, body: View) -> Self:
        known = {name: body[name] for name in RemoteState.__annotations__ if name in body}
        exact = {name: Fraction(known[name]) for name in known.keys() & _EXACT if known[name] is not None}
        vars(self).update(known | exact)
        return self

    def _refused(self, error: SparsegateError) -> None:
        if isinstance(error, GateClosed) and self.per is None:  # else it may be one cell's
            self._seen({"closed": True})

    def _answers(self, after: int) -> Pages[RemoteAnswer]:
        read = calls.read_as(list[RemoteAnswer])
        return Pages(path=f"v1/gates/{self.id}/answers", read=read, cursor="number", start=after)

    def __repr__(self) -> str:
        state = "closed" if self.closed else "open"
        of = "∞" if self.cutoff is None or self.per is not None else self.cutoff
        return f"<{type(self).__name__} {self.id}: {self.positives} of {of} positives, {state}>"


class RemoteGate(RemoteState):
    """A gate of a service. As a context manager it is closed at the end, which needs a token of the role owner.

    Its fields, such as ``margin``, are those of ``RemoteState``.
    """

    @sent
    def ask(self, where: str, *, cell: str | int | None = None) -> Call[Answer]:
        """Is the number of people with a matching row above the threshold? With ``per``, of those in this ``cell``."""
        path = f"v1/gates/{self.id}/ask"
        body = {"where": where} | ({} if cell is None else {"cell": cell})
        return Call(method="POST", path=path, body=body, read=self._answered, refused=self._refused, delayed=True)

    def answers(self, *, after: int = 0) -> Iterator[RemoteAnswer]:
        """Its answers that have left, oldest first, from a number on."""
        pages: Iterator[RemoteAnswer] = self._client.pages(self._answers(after))
        return pages

    @sent
    def refresh(self) -> Call[Self]:
        """Look at the gate again: others may have asked it."""
        return Call(path=f"v1/gates/{self.id}", read=self._seen)

    @sent
    def close(self) -> Call[Self]:
        """Stop answering; what was not used goes back to the ledger."""
        return Call(method="DELETE", path=f"v1/gates/{self.id}", read=self._seen)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            self.close()
        except SparsegateError:
            if kind is None:  # else it would hide what went wrong inside
                raise


class AsyncGate(RemoteState):
    """``RemoteGate`` for ``async with`` and ``await``: `ask`, `refresh` and `close` are as there, and awaited."""

    ask = awaited(RemoteGate.ask)
    refresh = awaited(RemoteGate.refresh)
    close = awaited(RemoteGate.close)

    def answers(self, *, after: int = 0) -> AsyncIterator[RemoteAnswer]:
        """Its answers that have left, oldest first, from a number on."""
        pages: AsyncIterator[RemoteAnswer] = self._client.pages(self._answers(after))
        return pages

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: object, *_: object) -> None:
        try:
            await self.close()
        except SparsegateError:
            if kind is None:
                raise


class _Sender(ABC):
    """What both clients have: where they send to, how long they wait, and which kind of gate they make."""

    def __init__(self, http: Any, *, retries: int, patience: Patience | None = None, practice: bool = False) -> None:
        self._http, self._retries, self._practice = http, retries, practice
        self._patience = patience or Patience(http.timeout.read or 0.0)

    @property
    def practice(self) -> Self:
        """The same service, with gates to practise on: made-up rows, for everybody, and free."""
        return type(self)(self._http, retries=self._retries, patience=Patience(self._patience.told), practice=True)

    @abstractmethod
    def send(self, call: Call[Result]) -> Any:
        """Send a call, again where no answer came, and return what it is read as."""

    @abstractmethod
    def _gate(self, view: View) -> Any:
        """The gate of this kind of client that a view shows."""

    def _gates(self, closed: bool | None) -> Pages[Any]:
        query = {} if closed is None else {"closed": str(closed).lower()}
        return Pages(path="v1/gates", read=lambda views: [*map(self._gate, views)], cursor="id", query=query)

    def _request(self, call: Call[Any]) -> dict[str, Any]:
        """What an HTTP client is asked to send."""
        path = call.path.replace("v1/", "v1/practice/", 1) if self._practice else call.path
        sent = {"method": call.method, "url": path, "content": call.content, "headers": call.headers}
        return sent | {"timeout": time_limit(self._patience.seconds(call))}

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._http.base_url}>"


_EXACT: Final = frozenset({"epsilon", "within", "opening_rho", "above_rho", "spent", "given_back"})


_LATER: Final = ("within", "expect", "opening_rho", "above_rho", "per", "cells_per_user")
"""What an older service does not say of a gate."""
_NUMBERS: Final = ("threshold", "cutoff", "epsilon", "queries", "noise", "closes", "within", "expect", "per")


def _numbers(scope: Mapping[str, Any]) -> dict[str, Any]:
    """Of the parameters of a call what a gate is made from, as it travels."""
    numbers = {name: scope[name] for name in _NUMBERS if scope[name] is not None}
    return numbers | {name: decimal(numbers[name], name) for name in numbers.keys() & _EXACT}


def _activity() -> Pages[RemoteAsk]:
    return Pages(path="v1/activity", read=calls.read_as(list[RemoteAsk]), cursor="cursor")


class Client(_Sender):
    """A connection to a service; made by ``connect``. May be used from many threads at once."""

    @sent
    def open_gate(
        self,
        *,
        threshold: int,
        cutoff: int | None = None,
        epsilon: Number | None = None,
        queries: int | None = None,
        noise: str = "auto",
        closes: str = "above",
        within: Number | None = None,
        expect: int | None = None,
        per: str | None = None,
        name: str = "",
        description: str = "",
    ) -> Call[RemoteGate]:
        """Open a gate, which reserves its whole epsilon at once; ``noise`` and ``closes`` as in ``SparseVector``.

        With ``within`` in place of a cutoff and an epsilon, on a zCDP ledger, it pays for each ABOVE, as there. With
        ``per``, a column that is served with cells, each of its values has a gate, and epsilon is that of all together.
        """
        body = _numbers(locals()) | {"name": name, "description": description}
        return Call(method="POST", path="v1/gates", body=body, read=self._gate)

    @sent
    def gate(self, id: str) -> Call[RemoteGate]:
        """A gate that is there."""
        if not re.fullmatch(r"[A-Za-z0-9-]{1,40}", id, re.ASCII):
            raise ParameterError("id", "must be the name of a gate", id, "list the gates to see their names")
        return Call(path=f"v1/gates/{id}", read=self._gate)

    @sent
    def preview(
        self,
        *,
        threshold: int,
        cutoff: int | None = None,
        epsilon: Number | None = None,
        queries: int | None = None,
        noise: str = "auto",
        closes: str = "above",
        within: Number | None = None,
        expect: int | None = None,
        per: str | None = None,
    ) -> Call[RemotePreview]:
        """What such a gate would be good for, and whether to be warned; free."""
        body = _numbers(locals())
        return Call(method="POST", path="v1/preview", body=body, read=calls.read_preview)

    def gates(self, *, closed: bool | None = None) -> list[RemoteGate]:
        """Gates, newest first: all, or only those that are closed, or not."""
        return list(self.pages(self._gates(closed)))

    def activity(self) -> Iterator[RemoteAsk]:
        """Who asked what, at all gates, newest first; for owners."""
        return self.pages(_activity())

    @sent
    def whoami(self) -> Call[RemoteToken]:
        """Whose token this is, and what it has used."""
        return Call(path="v1/whoami", read=calls.read_as(RemoteToken))

    @sent
    def tokens(self) -> Call[list[RemoteToken]]:
        """All tokens, oldest first; for owners."""
        return Call(path="v1/tokens", read=calls.read_as(list[RemoteToken]))

    @sent
    def add_token(
        self,
        name: str,
        role: str = "analyst",
        *,
        expires: str | None = None,
        most_above: int | None = None,
        most_epsilon: Number | None = None,
    ) -> Call[str]:
        """Make a token and return its text, which is shown this once; for owners."""
        exact = None if most_epsilon is None else decimal(most_epsilon, "most_epsilon")
        body = {"name": name, "role": role, "expires": expires, "most_above": most_above, "most_epsilon": exact}
        # Not sent again: its name is taken then, and the text of the first one is lost.
        return Call(method="POST", path="v1/tokens", body=body, read=lambda told: str(told["token"]), again=False)

    @sent
    def revoke_token(self, name: str) -> Call[RemoteToken]:
        """Stop a token for good; for owners."""
        return Call(method="DELETE", path=f"v1/tokens/{quote(name, safe='')}", read=calls.read_as(RemoteToken))

    @sent
    def budget(self) -> Call[Statement]:
        """What was allowed, spent and left."""
        return Call(path="v1/budget", read=calls.read_statement)

    @sent
    def top(self, /, *, item: str, epsilon: Number, domain: Candidates, **options: Any) -> Call[TopAnswer]:
        """A private top-c of one column: ``count``, or ``above``, and the options of ``sparsegate.top_items``."""
        candidates = domain if isinstance(domain, int | str) else list(domain)
        body = {"item": item, "epsilon": epsilon, "domain": candidates, **options}
        exact = body.keys() & {"epsilon", "delta", "answers_epsilon"}
        body |= {name: decimal(body[name], name) for name in exact}
        return Call(method="POST", path="v1/top", body=body, read=calls.read_top, delayed=True)

    @sent
    def schema(self) -> Call[ServedData]:
        """What may be asked about."""
        return calls.look_at_data()

    @sent
    def refresh(self, *, close_gates: bool = False) -> Call[bool]:
        """Have the service read its data anew; whether it has changed, which closes open gates. For owners."""
        read = lambda body: bool(body["changed"])  # noqa: E731
        return Call(method="POST", path="v1/refresh", body={"close_gates": close_gates}, read=read)

    def send(self, call: Call[Result]) -> Result:
        """Send a call, again where no answer came, and return what it is read as."""
        steps = exchange(call, retries=self._retries, patience=self._patience)
        heard: Heard | None = None
        try:
            while True:
                step = steps.send(heard)
                if isinstance(step, Call):
                    heard = self._heard(step)
                else:
                    time.sleep(step)
                    heard = None
        except StopIteration as done:
            result: Result = done.value
        return result

    def _heard(self, call: Call[Any]) -> Heard | None:
        try:
            return heard_in(self._http.request(**self._request(call)))
        except httpx.HTTPError:  # it holds the request, and the request the token
            return None

    def pages(self, pages: Pages[Result]) -> Iterator[Result]:
        """All lines of a list, page by page."""
        after: Any = pages.start
        more = True
        while more:
            page = self.send(pages.call(after))
            for line in page:
                yield line
                after = getattr(line, pages.cursor)
            more = len(page) >= calls.PAGE

    def _gate(self, view: View) -> RemoteGate:
        return RemoteGate(self, view)

    def close(self) -> None:
        """Let go of the connections; gates stay open."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncClient(_Sender):
    """``Client`` for ``async with`` and ``await``; made by ``connect_async``.

    `open_gate`, `gate`, `preview`, `whoami`, `tokens`, `add_token`, `revoke_token`, `budget`, `top`, `schema` and
    `refresh` are as there, and awaited.
    """

    open_gate = awaited_gate(Client.open_gate)
    gate = awaited_gate(Client.gate)
    preview = awaited(Client.preview)
    whoami = awaited(Client.whoami)
    tokens = awaited(Client.tokens)
    add_token = awaited(Client.add_token)
    revoke_token = awaited(Client.revoke_token)
    budget = awaited(Client.budget)
    top = awaited(Client.top)
    schema = awaited(Client.schema)
    refresh = awaited(Client.refresh)

    async def gates(self, *, closed: bool | None = None) -> list[AsyncGate]:
        """Gates, newest first: all, or only those that are closed, or not."""
        return [gate async for gate in self.pages(self._gates(closed))]

    def activity(self) -> AsyncIterator[RemoteAsk]:
        """Who asked what, at all gates, newest first; for owners."""
        return self.pages(_activity())

    async def send(self, call: Call[Result]) -> Result:
        """Send a call, again where no answer came, and return what it is read as."""
        steps = exchange(call, retries=self._retries, patience=self._patience)
        heard: Heard | None = None
        try:
            while True:
                step = steps.send(heard)
                heard = await (self._heard(step) if isinstance(step, Call) else anyio.sleep(step))
        except StopIteration as done:
            result: Result = done.value
        return result

    async def _heard(self, call: Call[Any]) -> Heard | None:
        try:
            return heard_in(await self._http.request(**self._request(call)))
        except httpx.HTTPError:
            return None

    async def pages(self, pages: Pages[Result]) -> AsyncIterator[Result]:
        """All lines of a list, page by page."""
        after: Any = pages.start
        more = True
        while more:
            page = await self.send(pages.call(after))
            for line in page:
                yield line
                after = getattr(line, pages.cursor)
            more = len(page) >= calls.PAGE

    def _gate(self, view: View) -> AsyncGate:
        return AsyncGate(self, view)

    async def close(self) -> None:
        """Let go of the connections; gates stay open."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


def settings(url: str, token: str, timeout: float | None, insecure: bool) -> dict[str, Any]:
    """The settings of an HTTP client, or a refusal that does not show the token."""
    try:
        base = httpx.URL(url)
    except (httpx.InvalidURL, TypeError):
        base = httpx.URL("")
    if base.scheme not in ("http", "https") or not base.host or base.userinfo or base.query or base.fragment:
        raise ParameterError(
            "url", "must be http(s)://host[:port][/path]", next_step="see what `sparsegate serve` says"
        )
    if base.scheme == "http" and not insecure and not is_loopback(base.host):
        raise ParameterError(
            "url",
            "must be https for another machine: the token would travel in the clear",
            str(base),
            "pass insecure=True only where the way there is safe",
        )
    if not isinstance(token, str) or not re.fullmatch(r"[!-~]+", token, re.ASCII):
        raise ParameterError("token", "must be the text that `sparsegate token add` printed")
    if timeout is not None and not timeout > 0:
        raise ParameterError("timeout", "must be a positive number of seconds", timeout)
    return {
        "base_url": base,
        "headers": {"Authorization": f"Bearer {token}", "Accept": "application/json, application/problem+json"},
        "timeout": time_limit(TIMEOUT if timeout is None else timeout),
        # A proxy of the environment would read what is sent in the clear.
        "trust_env": base.scheme == "https",
    }


def time_limit(seconds: float) -> httpx.Timeout:
    """For an answer; a connection is there sooner, or not at all."""
    return httpx.Timeout(seconds, connect=min(seconds, 10.0))


def heard_in(response: httpx.Response) -> Heard:
    """A response without the request that it answers, which holds the token."""
    wait = response.headers.get("retry-after", "")
    return Heard(status=response.status_code, content=response.content, wait=float(wait) if wait.isdecimal() else 0.0)


def is_loopback(host: str) -> bool:
    """Whether an address can be reached from this machine alone: there a token may travel in the clear.

    >>> is_loopback("localhost"), is_loopback("127.3.2.1"), is_loopback("::1"), is_loopback("0.0.0.0")
    (True, True, True, False)
    """
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
