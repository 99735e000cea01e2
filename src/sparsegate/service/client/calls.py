"""What a client says and hears, without any input or output: requests, retries and answers for both clients.

A ``Call`` is one thing that is wanted, under one idempotency key. ``exchange`` sends it, waits and sends it again
until there is an answer: a generator that says what to do next, so that one piece of code serves a client that blocks
and one that awaits. What comes back is read as records: answers, tokens, previews, what is served.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from fractions import Fraction
from functools import cache
from types import MappingProxyType
from typing import Any, Final, Generic, TypeVar

from pydantic import TypeAdapter

from sparsegate.budget import exact_epsilon
from sparsegate.conditions import Column, Schema
from sparsegate.conditions import Kind as ColumnKind
from sparsegate.display.plain import exact_text
from sparsegate.display.published import PrintedTop, TopTable
from sparsegate.display.sheet import Sheet
from sparsegate.display.tabular import Printed
from sparsegate.errors import (
    BudgetExceeded,
    ConditionError,
    GateBusy,
    GateClosed,
    KeyReused,
    LedgerError,
    OutcomeLost,
    ParameterError,
    QuotaExceeded,
    RequestLost,
    ServiceError,
    SparsegateError,
    TableError,
    UnknownGate,
)
from sparsegate.ledger.account import Amount, Entry, EntryKind, Statement

Result = TypeVar("Result")

AGAIN: Final = frozenset({429, 502, 504})
"""Nothing came of it, or nobody knows: the same request under the same key is safe to send again."""

LONGEST_PAUSE: Final = 10.0

TIMEOUT: Final = 90.0
"""Seconds, and twice D where an answer waits for D: a question may stand in line for a minute before its turn comes."""


@dataclass(frozen=True, kw_only=True)
class Heard:
    """A response: its status, its body, and how many seconds it asks to wait."""

    status: int
    content: bytes
    wait: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Call(Generic[Result]):
    """One request. ``read`` makes a result of the body; ``refused`` hears of an error before it is raised."""

    path: str
    read: Callable[[Any], Result]
    method: str = "GET"
    body: Mapping[str, Any] | None = None
    refused: Callable[[SparsegateError], None] = lambda error: None
    key: str = field(default_factory=lambda: str(uuid.uuid4()))
    delayed: bool = False
    """Whether the answer leaves D after its turn came."""
    again: bool = True
    """Whether it may be sent again where no answer came."""

    @property
    def headers(self) -> dict[str, str]:
        """The same however often it is sent."""
        return {"Idempotency-Key": self.key, "Content-Type": "application/json"} if self.method == "POST" else {}

    @property
    def content(self) -> bytes | None:
        """The body in bytes."""
        return None if self.body is None else json.dumps(self.body, allow_nan=False).encode()


Step = Call[Any] | float
"""What to do next: send this, or wait this many seconds."""


@dataclass
class Patience:
    """How long a client waits for an answer: as long as it was told to; or, None, as D asks for."""

    told: float | None = None
    delay: float | None = None
    """D in seconds; None: the service was not asked yet."""

    def seconds(self, call: Call[Any]) -> float:
        """For one attempt. One that comes again under its key waits for the same answer, not for another D."""
        return TIMEOUT + 2 * (self.delay or 0.0) * call.delayed if self.told is None else self.told


def look_at_data() -> Call[ServedData]:
    """What is served; D is among it."""
    return Call(path="v1/schema", read=read_served)


def exchange(call: Call[Result], *, retries: int, patience: Patience) -> Generator[Step, Heard | None, Result]:
    """Yield what to do, be sent what was heard (None: no answer came), and return the result or raise."""
    if call.delayed and patience.told is None and patience.delay is None:
        patience.delay = (yield from exchange(look_at_data(), retries=retries, patience=patience)).delay
    heard: Heard | None = None
    for attempt in range((retries if call.again else 0) + 1):
        if attempt:
            wait = 0.0 if heard is None else heard.wait
            yield min(LONGEST_PAUSE, max(wait, 0.1 * 2 ** (attempt - 1)))
        heard = yield call
        if heard is not None and not _come_again(heard):
            break
    if heard is not None and 200 <= heard.status < 300:
        return _read(call, heard)
    error = _error(heard)
    call.refused(error)
    raise error


def _come_again(heard: Heard) -> bool:
    """Whether the service, or what is in between, was only busy. Of the many that are 503, no place is one."""
    if heard.status != 503:
        return heard.status in AGAIN
    try:
        return bool(json.loads(heard.content)["type"] == "no-room")
    except (ValueError, TypeError, LookupError):
        return False


def _read(call: Call[Result], heard: Heard) -> Result:
    try:
        return call.read(json.loads(heard.content))
    except (ValueError, TypeError, LookupError):
        pass
    raise ServiceError("what answers there is not sparsegate; check the URL", status=heard.status, type="foreign")


_ERRORS: Final[Mapping[str, Callable[[str], SparsegateError]]] = MappingProxyType(
    {
        "gate-closed": GateClosed,
        "budget-exceeded": BudgetExceeded,
        "quota-exceeded": QuotaExceeded,
        "ledger-unavailable": LedgerError,
        "data-unavailable": TableError,
    }
)
_CONSTANT: Final = {kind().type: kind for kind in (GateBusy, KeyReused, OutcomeLost, RequestLost, UnknownGate)}
"""Errors whose words are always the same."""


def _error(heard: Heard | None) -> SparsegateError:
    """The error that a problem stands for: the library's own, with the words of the service."""
    if heard is None:
        return ServiceError("the service cannot be reached; check the URL, and that it runs")
    try:
        body = json.loads(heard.content)
        kind, detail = body["type"], body["detail"]
    except (ValueError, TypeError, LookupError):
        text = f"an answer with status {heard.status} that is not sparsegate's; check the URL, and what is in between"
        return ServiceError(text, status=heard.status, type="foreign")
    if kind in _CONSTANT:
        return _CONSTANT[kind]()
    if kind in _ERRORS:
        return _ERRORS[kind](str(detail))
    if kind not in ("parameter", "condition"):
        return ServiceError(str(detail), status=heard.status, type=str(kind))
    sort = ConditionError if kind == "condition" else ParameterError
    # Not by its own __init__, which would put the message together anew from parts that did not travel.
    error = sort.__new__(sort)
    error.args = (str(detail),)
    error.parameter, error.rule = str(body.get("parameter", "")), str(body.get("rule", ""))
    error.next_step = str(body.get("next_step", ""))
    if isinstance(error, ConditionError):
        error.start, error.end = body.get("start", 0), body.get("end", 0)
        error.near = tuple(body.get("near", ()))
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
        columns = {
            "column": [column.name for column in self.schema.columns],
            "kind": [column.kind.value for column in self.schema.columns],
        }
        return Sheet(title=f"{self.dataset}, by {self.unit}, D = {self.delay:g} s", columns=columns)


def read_statement(body: Any) -> Statement:
    """The ledger's statement, as exact as it is there."""
    entries = tuple(
        Entry(
            number=entry["number"],
            at=datetime.fromisoformat(entry["at"]),
            kind=EntryKind(entry["kind"]),
            amount=Amount(
                epsilon=Fraction(entry["epsilon"]),
                delta=Fraction(entry["delta"]),
                rho=None if entry["rho"] is None else Fraction(entry["rho"]),
            ),
            what=entry["what"],
            of=entry["of"],
        )
        for entry in body["entries"]
    )
    delta = None if body["conversion_delta"] is None else Fraction(body["conversion_delta"])
    return Statement(dataset=body["dataset"], entries=entries, conversion_delta=delta)


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


def decimal(value: object, parameter: str) -> str:
    """An epsilon or a delta as it travels: a float stands for the decimal that it prints as."""
    return exact_text(exact_epsilon(value, parameter, zero=True))


PAGE: Final = 1000
"""The most on one page."""


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


@dataclass(frozen=True, kw_only=True, repr=False)
class RemotePreview(Printed):
    """What a gate would be good for; ``curve`` has (epsilon, margin), ``by_cutoff`` (cutoff, margin).

    With this ``confidence`` an answer is right that is ``margin`` or more from the threshold; with ``margin_all`` as
    many at once are as the cutoff says, or the number of questions where that was given.  ``standard_error`` is that of
    the estimate of an ABOVE, ``noise`` the law that would be used, ``cost`` what the gate would be charged
    (``rho``, where the ledger is a zCDP one), and ``warning`` what speaks against it. One without a cutoff costs
    ``opening_rho``, and ``above_rho`` for each ABOVE, and has no curves. ``remaining`` is told to owners;
    of a zCDP ledger ``remaining_rho``, too.
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
    curve = [(point["epsilon"], point["margin"]) for point in body["curve"]]
    by_cutoff = [(point["cutoff"], point["margin"]) for point in body["by_cutoff"]]
    preview: RemotePreview = read_as(RemotePreview)({**body, "curve": curve, "by_cutoff": by_cutoff})
    return preview
