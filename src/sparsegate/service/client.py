"""A client of the service, blocking or async, with gates that are asked like the library's own.

    with sparsegate.connect("https://gates.example", token) as service:
        with service.open_gate(threshold=1000, cutoff=25, epsilon=0.5) as gate:
            if gate.ask("country = 'DE' AND page IN ('/pay', '/cart')"):
                ...

A call that changes something is sent again under the same idempotency key where no answer came: a lost response costs
nothing. What is refused is raised as the library's own errors, else as ``ServiceError``; the token is in none of them.

Each method is written once, in ``Client`` or ``RemoteGate``, as the ``Call`` that it makes: ``sent`` has it sent by a
client that blocks, ``awaited`` by one that awaits. Retries and errors are decided once too, in ``_Sender.exchange``.
"""

from __future__ import annotations

import ipaddress
import json
import re
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from fractions import Fraction
from functools import cache, wraps
from typing import Any, Concatenate, Final, Generic, NamedTuple, ParamSpec, Self, TypeVar
from urllib.parse import quote, urlencode

from sparsegate import errors
from sparsegate.budget import Number, exact_count, exact_epsilon
from sparsegate.conditions import Column, Schema
from sparsegate.conditions import Kind as ColumnKind
from sparsegate.display.plain import exact_text
from sparsegate.display.published import PrintedTop, TopTable
from sparsegate.display.sheet import Sheet
from sparsegate.display.tabular import Printed
from sparsegate.errors import ConditionError, GateClosed, ParameterError, ServiceError, SparsegateError, load_extra
from sparsegate.gates.gate import BELOW, Answer
from sparsegate.ledger.account import Amount, Entry, EntryKind, Statement

load_extra("httpx", extra="serve")  # so that whoever lacks it is told what to install

import anyio  # noqa: E402
import httpx  # noqa: E402
from pydantic import TypeAdapter  # noqa: E402

Result = TypeVar("Result")
View = dict[str, Any]
Candidates = Sequence[Any] | int | str
_Parameters = ParamSpec("_Parameters")
_Self = TypeVar("_Self", bound="Client | RemoteState")

RETRIES: Final = 3
AGAIN: Final = frozenset({429, 502, 504})
"""Nothing came of it, or nobody knows: the same request under the same key is safe to send again."""
LONGEST_PAUSE: Final = 10.0
TIMEOUT: Final = 90.0
"""Seconds, and twice D where an answer waits for D: a question may stand in line for a minute before its turn comes."""
PAGE: Final = 1000
"""The most on one page."""


def connect(
    url: str, token: str, *, timeout: float | None = None, retries: int = RETRIES, insecure: bool = False
) -> Client:
    """A client of the service at ``url``. Nothing is sent before it is used.

    ``token`` is what `sparsegate token add` printed. It waits for an answer for ``timeout`` seconds; unless that is
    given, for as long as the service's delay asks for. What no answer came to is sent again, ``retries`` times at
    most; it is paid for once, by its idempotency key. Plain http is refused unless the service is on this machine: the
    token would travel in the clear. ``insecure=True`` says that the way there is safe all the same.

    >>> import sparsegate as sg
    >>> with sg.connect("http://127.0.0.1:9", "sg_" + "x" * 43, retries=0) as service:  # no service listens there
    ...     with service.open_gate(threshold=1000, cutoff=25, epsilon=0.5) as gate:
    ...         above = gate.ask("country = 'DE' AND page IN ('/pay', '/cart')")
    Traceback (most recent call last):
    sparsegate.errors.ServiceError: the service cannot be reached; check the URL, and that it runs
    """
    return Client(
        httpx.Client(**settings(url, token, timeout, insecure)),
        retries=exact_count(retries, "retries", least=0),
        timeout=timeout,
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
    http = httpx.AsyncClient(**settings(url, token, timeout, insecure))
    return AsyncClient(http, retries=exact_count(retries, "retries", least=0), timeout=timeout)


def settings(url: str, token: str, timeout: float | None, insecure: bool) -> dict[str, Any]:
    """The settings of an HTTP client, or a refusal that does not show the token."""
    try:
        base = httpx.URL(url)
    except (httpx.InvalidURL, TypeError):
        base = httpx.URL("")
    if base.scheme not in ("http", "https") or not base.host or base.userinfo or base.query or base.fragment:
        step = "see what `sparsegate serve` says"
        raise ParameterError("url", "must be http(s)://host[:port][/path]", next_step=step)
    if base.scheme == "http" and not insecure and not is_loopback(base.host):
        rule = "must be https for another machine: the token would travel in the clear"
        raise ParameterError("url", rule, str(base), "pass insecure=True only where the way there is safe")
    if not isinstance(token, str) or not re.fullmatch(r"[!-~]+", token, re.ASCII):
        raise ParameterError("token", "must be the text that `sparsegate token add` printed")
    if timeout is not None and not timeout > 0:
        raise ParameterError("timeout", "must be a positive number of seconds", timeout)
    return {
        "base_url": base,
        "headers": {"Authorization": f"Bearer {token}", "Accept": "application/json, application/problem+json"},
        # A proxy of the environment would read what is sent in the clear.
        "trust_env": base.scheme == "https",
    }


def is_loopback(host: str) -> bool:
    """Whether an address can be reached from this machine alone: there a token may travel in the clear.

    >>> is_loopback("localhost"), is_loopback("127.3.2.1"), is_loopback("::1"), is_loopback("0.0.0.0")
    (True, True, True, False)
    """
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class Response(NamedTuple):
    """A response without the request that it answers, which holds the token; ``wait`` is what it asks for."""

    status: int
    content: bytes
    wait: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Call(Generic[Result]):
    """One request, under one idempotency key however often it is sent.

    ``read`` makes a result of the body; ``refused`` hears of an error before it is raised. ``delayed``: its answer
    leaves D after its work began. ``again``: it may be sent again where no answer came.
    """

    path: str
    read: Callable[[Any], Result]
    method: str = "GET"
    body: Mapping[str, Any] | None = None
    refused: Callable[[SparsegateError], None] = lambda error: None
    key: str = field(default_factory=lambda: str(uuid.uuid4()))
    delayed: bool = False
    again: bool = True


class Pages(Generic[Result]):
    """A list that comes page by page, each after the ``cursor`` of the last line before it."""

    def __init__(
        self, path: str, read: Callable[[Any], list[Result]], cursor: str, *, after: Any = None, **query: str
    ) -> None:
        self._path, self._read, self._cursor, self._after, self._query = path, read, cursor, after, query
        self.more = True

    def call(self) -> Call[list[Result]]:
        """The call of the next page."""
        query = {"limit": PAGE, **self._query, **({} if self._after is None else {"after": self._after})}

        def page(body: Any) -> list[Result]:
            lines = self._read(body)
            self.more = len(lines) >= PAGE
            self._after = getattr(lines[-1], self._cursor) if lines else self._after
            return lines

        return Call(path=f"{self._path}?{urlencode(query)}", read=page)


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
    return method  # type: ignore[return-value]


def awaited_gate(
    method: Callable[Concatenate[Any, _Parameters], RemoteGate],
) -> Callable[Concatenate[Any, _Parameters], Awaitable[AsyncGate]]:
    """``awaited``, of a method that returns a gate."""
    return method  # type: ignore[return-value]


class _Sender:
    """What both clients have: where they send to, how long they wait, and what comes of it."""

    _gate: type[Any]

    def __init__(self, http: Any, *, retries: int, timeout: float | None = None, practice: bool = False) -> None:
        self._http, self._retries, self._timeout, self._practice = http, retries, timeout, practice
        self._delay: float | None = None
        """D in seconds; None: the service was not asked yet."""

    @property
    def practice(self) -> Self:
        """The same service, with gates to practise on: made-up rows, for everybody, and free."""
        return type(self)(self._http, retries=self._retries, timeout=self._timeout, practice=True)

    def exchange(self, call: Call[Result]) -> Generator[Call[Any] | float, Response | None, Result]:
        """Yield what to send, or how long to wait, and take what was answered (None: nothing); return what is read."""
        if call.delayed and self._timeout is None and self._delay is None:
            self._delay = (yield from self.exchange(_SCHEMA)).delay
        response: Response | None = None
        for attempt in range((self._retries if call.again else 0) + 1):
            if attempt:
                wait = 0.0 if response is None else response.wait
                yield min(LONGEST_PAUSE, max(wait, 0.1 * 2 ** (attempt - 1)))
            response = yield call
            if response is not None and not _come_again(response):
                break
        if response is None or not 200 <= response.status < 300:
            error = _error(response)
            call.refused(error)
            raise error
        try:
            return call.read(json.loads(response.content))
        except (ValueError, TypeError, LookupError):
            text = "what answers there is not sparsegate; check the URL"
        raise ServiceError(text, status=response.status, type="foreign")

    def _request(self, call: Call[Any]) -> dict[str, Any]:
        """What an HTTP client is asked to send."""
        posted = {"Idempotency-Key": call.key, "Content-Type": "application/json"}
        seconds = self._timeout
        if seconds is None:  # what comes again under its key waits for the same answer, not for another D
            seconds = TIMEOUT + 2 * (self._delay or 0.0) * call.delayed
        return {
            "method": call.method,
            "url": call.path.replace("v1/", "v1/practice/", 1) if self._practice else call.path,
            "content": None if call.body is None else json.dumps(call.body, allow_nan=False).encode(),
            "headers": posted if call.method == "POST" else {},
            "timeout": httpx.Timeout(seconds, connect=min(seconds, 10.0)),
        }

    def _gates(self, closed: bool | None) -> Pages[Any]:
        query = {} if closed is None else {"closed": str(closed).lower()}
        return Pages("v1/gates", lambda views: [self._gate(self, view) for view in views], "id", **query)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._http.base_url}>"


def _response(response: httpx.Response) -> Response:
    wait = response.headers.get("retry-after", "")
    return Response(response.status_code, response.content, float(wait) if wait.isdecimal() else 0.0)


def _come_again(response: Response) -> bool:
    """Whether the service, or what is in between, was only busy. Of the many that are 503, no place is one."""
    if response.status != 503:
        return response.status in AGAIN
    try:
        return bool(json.loads(response.content)["type"] == "no-room")
    except (ValueError, TypeError, LookupError):
        return False


_ERRORS: Final[Mapping[str, Callable[[str], SparsegateError]]] = {
    "gate-closed": GateClosed,
    "budget-exceeded": errors.BudgetExceeded,
    "quota-exceeded": errors.QuotaExceeded,
    "ledger-unavailable": errors.LedgerError,
    "data-unavailable": errors.TableError,
}
_WORDLESS: Final = (errors.GateBusy, errors.KeyReused, errors.OutcomeLost, errors.RequestLost, errors.UnknownGate)
_CONSTANT: Final = {kind().type: kind for kind in _WORDLESS}  # errors whose words are always the same


def _error(response: Response | None) -> SparsegateError:
    """The error that a problem stands for: the library's own, with the words of the service."""
    if response is None:
        return ServiceError("the service cannot be reached; check the URL, and that it runs")
    try:
        body = json.loads(response.content)
        kind, detail = body["type"], str(body["detail"])
    except (ValueError, TypeError, LookupError):
        text = f"an answer with status {response.status} that is not sparsegate's; check the URL, and what is between"
        return ServiceError(text, status=response.status, type="foreign")
    if kind in _CONSTANT:
        return _CONSTANT[kind]()
    if kind in _ERRORS:
        return _ERRORS[kind](detail)
    if kind not in ("parameter", "condition"):
        return ServiceError(detail, status=response.status, type=str(kind))
    sort = ConditionError if kind == "condition" else ParameterError
    # Not by its own __init__, which would put the message together anew from parts that did not travel.
    error = sort.__new__(sort)
    error.args = (detail,)
    vars(error).update({name: str(body.get(name, "")) for name in ("parameter", "rule", "next_step")})
    if isinstance(error, ConditionError):
        error.start, error.end, error.near = body.get("start", 0), body.get("end", 0), tuple(body.get("near", ()))
    return error


@dataclass(frozen=True, kw_only=True, repr=False)
class TopAnswer(TopTable):
    """A private top-c: the ``items`` in the order selected, or as a set, and their noisy counts where there are any.

    Those are ``estimates``; with 95 % probability one is within ``error_bar`` of its true count, and all are within
    ``error_bar_all``. ``record`` says how it was made, and ``body`` is what the service sent. It converts, shows and
    draws itself as ``sparsegate.TopItems`` does.
    """

    items: tuple[Any, ...]
    estimates: tuple[float, ...] | None
    error_bar: float | None
    error_bar_all: float | None
    record: Mapping[str, Any]
    body: Mapping[str, Any] = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        """What the service answered, by the schema "sparsegate/top/1"."""
        return PrintedTop(kept=self.body).json


@dataclass(frozen=True, kw_only=True, repr=False)
class ServedData(Printed):
    """What is public about the data: its name ``dataset``, the ``unit`` it protects, and what may be asked about.

    ``delay`` is D, in seconds. ``cells`` has the columns for whose values gates can be opened, and in how many of them
    a person counts. ``schema.max_cell`` is the number of characters that text cells were cut to;
    ``schema.unreadable`` names columns of a type that cannot be asked about.
    """

    dataset: str
    unit: str
    delay: float
    schema: Schema
    cells: Mapping[str, int] = field(default_factory=dict)

    def sheet(self) -> Sheet:
        """A row for each column that may be asked about."""
        columns = {"column": [each.name for each in self.schema.columns]}
        columns["kind"] = [each.kind.value for each in self.schema.columns]
        return Sheet(title=f"{self.dataset}, by {self.unit}, D = {self.delay:g} s", columns=columns)


@dataclass(frozen=True, kw_only=True)
class RemoteAnswer(Printed):
    """A question that was asked before: its ``number`` at its gate, when (``at``) and ``where`` what holds.

    ``above`` is None where the answer was lost, ``estimate`` where there is none, ``by`` where it is not told.
    """

    number: int
    at: datetime
    where: str
    above: bool | None
    estimate: int | None
    by: str | None


@dataclass(frozen=True, kw_only=True)
class RemoteAsk(RemoteAnswer):
    """A question at any ``gate``, called ``gate_name``, as an owner sees it; older ones come after its ``cursor``."""

    gate: str
    gate_name: str
    cursor: str


def _answers(gate: str, after: int) -> Pages[RemoteAnswer]:
    return Pages(f"v1/gates/{gate}/answers", read_as(list[RemoteAnswer]), "number", after=after)


def _activity() -> Pages[RemoteAsk]:
    return Pages("v1/activity", read_as(list[RemoteAsk]), "cursor")


@dataclass(frozen=True, kw_only=True, repr=False)
class RemotePreview(Printed):
    """What a gate would be good for; ``curve`` has (epsilon, margin), ``by_cutoff`` (cutoff, margin).

    With this ``confidence`` an answer is right that is ``margin`` or more from the threshold; with ``margin_all`` as
    many at once are as the cutoff says, or the number of questions where that was given. ``standard_error`` is that of
    the estimate of an ABOVE, ``noise`` the law that would be used, ``cost`` what the gate would be charged (``rho`` on
    a zCDP ledger), ``warning`` what speaks against it. One without a cutoff costs ``opening_rho``, and ``above_rho``
    for each ABOVE, and has no curves. ``remaining`` is told to owners; of a zCDP ledger ``remaining_rho``, too.
    """

    confidence: float
    margin: float
    margin_all: float
    standard_error: float | None
    noise: str
    cost: Fraction
    rho: Fraction
    opening_rho: Fraction | None = None
    above_rho: Fraction | None = None
    remaining: Fraction | None
    remaining_rho: Fraction | None
    warning: str | None
    curve: tuple[tuple[float, float], ...]
    by_cutoff: tuple[tuple[int, float], ...]

    def sheet(self) -> Sheet:
        """One row, and what speaks against the gate."""
        sheet = super().sheet()
        columns = {name: cells for name, cells in sheet.columns.items() if name != "warning"}
        return replace(sheet, title=f"a gate at ε = {exact_text(self.cost)}", brief=self.warning or "", columns=columns)


@dataclass(frozen=True, kw_only=True)
class RemoteQuota(Printed):
    """What a token may have, and had; None: no limit."""

    most_above: int | None
    above: int
    most_epsilon: Fraction | None
    epsilon: Fraction


@dataclass(frozen=True, kw_only=True)
class RemoteToken(Printed):
    """A token without its text: the ``name`` and the ``role`` of whoever has it; ``quota`` is None where it has none.

    It was made at ``added_at``, lets nobody in from ``expires_at`` on, was used at ``last_used_at`` and stopped at
    ``revoked_at``; each is None where that is not so.
    """

    name: str
    role: str
    expires_at: datetime | None = None
    added_at: datetime | None = None
    last_used_at: datetime | None = None
    revoked_at: datetime | None = None
    quota: RemoteQuota | None = None


@cache
def read_as(kind: Any) -> Callable[[Any], Any]:
    """A reader of JSON as this kind, moments and exact numbers as such; what a newer service adds is left out."""
    return TypeAdapter(kind).validate_python


def read_preview(body: Mapping[str, Any]) -> RemotePreview:
    """What a gate would be good for."""
    curves = {"curve": "epsilon", "by_cutoff": "cutoff"}
    points = {curve: [(point[name], point["margin"]) for point in body[curve]] for curve, name in curves.items()}
    preview: RemotePreview = read_as(RemotePreview)({**body, **points})
    return preview


def read_statement(body: Any) -> Statement:
    """The ledger's statement, as exact as it is there."""
    entries = []
    for entry in body["entries"]:
        exact = {name: None if entry[name] is None else Fraction(entry[name]) for name in ("epsilon", "delta", "rho")}
        same = {name: entry[name] for name in ("number", "what", "of")}
        at, kind = datetime.fromisoformat(entry["at"]), EntryKind(entry["kind"])
        entries.append(Entry(**same, at=at, kind=kind, amount=Amount(**exact)))  # type: ignore[arg-type]
    delta = None if body["conversion_delta"] is None else Fraction(body["conversion_delta"])
    return Statement(dataset=body["dataset"], entries=tuple(entries), conversion_delta=delta)


def read_top(body: Any) -> TopAnswer:
    """A top-c; a set of items is a tuple, as in the library."""
    top = PrintedTop(kept=body)
    return TopAnswer(
        items=tuple(row.item for row in top.chosen),
        estimates=tuple(row.estimate for row in top.chosen) if top.estimated else None,
        **{name: body[name] for name in ("error_bar", "error_bar_all", "record")},
        body=body,
    )


def read_served(body: Any) -> ServedData:
    """What is served."""
    columns = tuple(Column(column["name"], ColumnKind(column["kind"])) for column in body["columns"])
    schema = Schema(columns, max_cell=body["max_cell"], unreadable=tuple(body["left_out"]))
    cells = {column["name"]: most for column in body["columns"] if (most := column.get("cells_per_user"))}
    return ServedData(dataset=body["dataset"], unit=body["unit"], delay=body["delay"], schema=schema, cells=cells)


_SCHEMA: Final[Call[ServedData]] = Call(path="v1/schema", read=read_served)


def decimal(value: object, parameter: str) -> str:
    """An epsilon or a delta as it travels: a float stands for the decimal that it prints as."""
    return exact_text(exact_epsilon(value, parameter, zero=True))


_EXACT: Final = frozenset({"epsilon", "within", "opening_rho", "above_rho", "spent", "given_back"})
_LATER: Final = ("within", "expect", "opening_rho", "above_rho", "per", "cells_per_user")  # an older service has none
_NUMBERS: Final = ("threshold", "cutoff", "epsilon", "queries", "noise", "closes", "within", "expect", "per")


def _numbers(scope: Mapping[str, Any]) -> dict[str, Any]:
    """Of the parameters of a call what a gate is made from, as it travels."""
    numbers = {name: scope[name] for name in _NUMBERS if scope[name] is not None}
    return numbers | {name: decimal(numbers[name], name) for name in numbers.keys() & _EXACT}


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

    ``closed``: it has stopped answering. ``positives`` were given as ABOVE, or lost (of a two-sided gate when it was
    last looked at, and since); ``remaining`` are left, of a two-sided gate of the rarer answer; None: as many as are
    paid for. ``spent`` is what its answers had cost, ``given_back`` what went back to the ledger when it closed.
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
    positives: int
    remaining: int | None
    spent: Fraction
    given_back: Fraction

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
        told = ("remaining", "closed", "spent") if self.per is None else ("remaining", "spent")
        self._seen({name: body[name] for name in told} | {"positives": positives})
        return Answer(True, body["estimate"], body["standard_error"]) if body["above"] else BELOW

    def _seen(self, body: View) -> Self:
        known = {name: body[name] for name in RemoteState.__annotations__ if name in body}
        exact = {name: Fraction(known[name]) for name in known.keys() & _EXACT if known[name] is not None}
        vars(self).update(known | exact)
        return self

    def _refused(self, error: SparsegateError) -> None:
        if isinstance(error, GateClosed) and self.per is None:  # else it may be one cell's
            self._seen({"closed": True})

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
        return iter(self._client.pages(_answers(self.id, after)))

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
        return aiter(self._client.pages(_answers(self.id, after)))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: object, *_: object) -> None:
        try:
            await self.close()
        except SparsegateError:
            if kind is None:
                raise


class Client(_Sender):
    """A connection to a service; made by ``connect``. May be used from many threads at once."""

    _gate = RemoteGate

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
        return Call(method="POST", path="v1/gates", body=body, read=lambda view: self._gate(self, view))

    @sent
    def gate(self, id: str) -> Call[RemoteGate]:
        """A gate that is there."""
        if not re.fullmatch(r"[A-Za-z0-9-]{1,40}", id, re.ASCII):
            raise ParameterError("id", "must be the name of a gate", id, "list the gates to see their names")
        return Call(path=f"v1/gates/{id}", read=lambda view: self._gate(self, view))

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
        return Call(method="POST", path="v1/preview", body=_numbers(locals()), read=read_preview)

    def gates(self, *, closed: bool | None = None) -> list[RemoteGate]:
        """Gates, newest first: all, or only those that are closed, or not."""
        return list(self.pages(self._gates(closed)))

    def activity(self) -> Iterator[RemoteAsk]:
        """Who asked what, at all gates, newest first; for owners."""
        return self.pages(_activity())

    @sent
    def whoami(self) -> Call[RemoteToken]:
        """Whose token this is, and what it has used."""
        return Call(path="v1/whoami", read=read_as(RemoteToken))

    @sent
    def tokens(self) -> Call[list[RemoteToken]]:
        """All tokens, oldest first; for owners."""
        return Call(path="v1/tokens", read=read_as(list[RemoteToken]))

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
        return Call(method="DELETE", path=f"v1/tokens/{quote(name, safe='')}", read=read_as(RemoteToken))

    @sent
    def budget(self) -> Call[Statement]:
        """What was allowed, spent and left."""
        return Call(path="v1/budget", read=read_statement)

    @sent
    def top(self, /, *, item: str, epsilon: Number, domain: Candidates, **options: Any) -> Call[TopAnswer]:
        """A private top-c of one column: ``count``, or ``above``, and the options of ``sparsegate.top_items``."""
        candidates = domain if isinstance(domain, int | str) else list(domain)
        body = {"item": item, "epsilon": epsilon, "domain": candidates, **options}
        body |= {name: decimal(body[name], name) for name in body.keys() & {"epsilon", "delta", "answers_epsilon"}}
        return Call(method="POST", path="v1/top", body=body, read=read_top, delayed=True)

    @sent
    def schema(self) -> Call[ServedData]:
        """What may be asked about."""
        return _SCHEMA

    @sent
    def refresh(self, *, close_gates: bool = False) -> Call[bool]:
        """Have the service read its data anew; whether it has changed, which closes open gates. For owners."""
        body = {"close_gates": close_gates}
        return Call(method="POST", path="v1/refresh", body=body, read=lambda told: bool(told["changed"]))

    def send(self, call: Call[Result]) -> Result:
        """Send a call, again where no answer came, and return what it is read as."""
        steps, response = self.exchange(call), None
        try:
            while True:
                step = steps.send(response)
                response = self._sent(step) if isinstance(step, Call) else time.sleep(step)  # type: ignore[func-returns-value]
        except StopIteration as done:
            result: Result = done.value
        return result

    def _sent(self, call: Call[Any]) -> Response | None:
        try:
            return _response(self._http.request(**self._request(call)))
        except httpx.HTTPError:  # it holds the request, and the request the token
            return None

    def pages(self, pages: Pages[Result]) -> Iterator[Result]:
        """All lines of a list, page by page."""
        while pages.more:
            yield from self.send(pages.call())

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

    _gate = AsyncGate

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
        steps, response = self.exchange(call), None
        try:
            while True:
                step = steps.send(response)
                response = await (self._sent(step) if isinstance(step, Call) else anyio.sleep(step))
        except StopIteration as done:
            result: Result = done.value
        return result

    async def _sent(self, call: Call[Any]) -> Response | None:
        try:
            return _response(await self._http.request(**self._request(call)))
        except httpx.HTTPError:
            return None

    async def pages(self, pages: Pages[Result]) -> AsyncIterator[Result]:
        """All lines of a list, page by page."""
        while pages.more:
            for line in await self.send(pages.call()):
                yield line

    async def close(self) -> None:
        """Let go of the connections; gates stay open."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
