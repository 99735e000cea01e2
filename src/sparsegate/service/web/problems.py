"""Every way in which a request can fail, as a table; and the problem+json (RFC 9457) that each becomes.

What an error says is either text that holds nothing but the caller's own words and public numbers, or a constant. The
constants are for what a cell, a draw or a path on the server could be in: an outcome that was lost looks the same
whatever it was, and what is wrong with the ledger or the data goes to the owner's log.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from starlette.responses import Response

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
    SparsegateError,
    TableError,
    UnknownGate,
)
from sparsegate.service.web.models import FIELDS

MEDIA_TYPE: Final = "application/problem+json"


@dataclass(frozen=True, kw_only=True)
class Sort:
    """One sort of problem. ``says`` is its detail where nothing more is known, or must not be said."""

    type: str
    status: int
    title: str
    says: str
    constant: bool = False

    def body(self, detail: str = "", **members: Any) -> dict[str, Any]:
        """The problem as an object; an error's own words count only where the sort is not constant."""
        said = self.says if self.constant or not detail else detail
        return {"type": self.type, "title": self.title, "status": self.status, "detail": said, **members}


MALFORMED: Final = Sort(
    type="malformed",
    status=400,
    title="The request cannot be read",
    says="the body is not JSON; send one JSON object in UTF-8",
)
KEY_MISSING: Final = Sort(
    type="idempotency-key",
    status=400,
    title="The idempotency key is missing or wrong",
    says="Idempotency-Key must be given: 1 to 200 printable ASCII characters, new for each request and the same when "
    "it is sent again",
    constant=True,
)
UNAUTHENTICATED: Final = Sort(
    type="unauthenticated",
    status=401,
    title="No token that is known",
    constant=True,
    says="send `Authorization: Bearer sg_...` with a token from `sparsegate token add`",
)
BUDGET_EXCEEDED: Final = Sort(
    type="budget-exceeded",
    status=402,
    title="The budget does not allow this",
    says="epsilon 1 is more than the ledger of 'visits' has left; nothing was spent; ask for less",
)
FORBIDDEN: Final = Sort(
    type="forbidden",
    status=403,
    title="This token may not do that",
    constant=True,
    says="this needs a token with the role owner",
)
QUOTA_EXCEEDED: Final = Sort(
    type="quota-exceeded",
    status=403,
    title="The quota of this token is used up",
    says="this token may be given 20 ABOVE in all, and they are given, lost or on their way; nothing was spent",
)
NOT_FOUND: Final = Sort(type="not-found", status=404, title="Not found", says="there is nothing at this address")
UNKNOWN_TOKEN: Final = Sort(
    type="unknown-token",
    status=404,
    title="No such token",
    constant=True,
    says="there is no token of that name; list the tokens to see their names",
)
UNKNOWN_GATE: Final = Sort(
    type="unknown-gate",
    status=404,
    title="No such gate",
    constant=True,
    says=str(UnknownGate()),
)
WRONG_METHOD: Final = Sort(
    type="method-not-allowed",
    status=405,
    title="Method not allowed",
    constant=True,
    says="this address does not take that method; see the header Allow",
)
TOO_SLOW: Final = Sort(
    type="too-slow",
    status=408,
    title="The request took too long to arrive",
    constant=True,
    says="the body did not arrive in time; send it again",
)
GATE_CLOSED: Final = Sort(
    type="gate-closed",
    status=409,
    title="The gate is closed",
    says="this gate is closed: it was closed by hand; open another, which spends a new budget",
)
KEY_REUSED: Final = Sort(
    type="key-reused",
    status=409,
    title="The idempotency key was used before",
    constant=True,
    says=str(KeyReused()),
)
TOO_LARGE: Final = Sort(
    type="too-large",
    status=413,
    title="The request is too large",
    constant=True,
    says="a body may have 64 KiB at most",
)
NOT_JSON: Final = Sort(
    type="unsupported-media-type",
    status=415,
    title="The body must be JSON",
    constant=True,
    says="send the body as JSON, with Content-Type: application/json",
)
WRONG_HOST: Final = Sort(
    type="wrong-host",
    status=421,
    title="This service has another name",
    constant=True,
    says="the header Host must name this service; whoever runs it gives its names with --allowed-host",
)
PARAMETER: Final = Sort(
    type="parameter",
    status=422,
    title="A parameter breaks its rule",
    says="cutoff must be at least 1",
)
CONDITION: Final = Sort(
    type="condition",
    status=422,
    title="The condition is refused",
    says="where must name a declared column (character 1), got 'cuntry'; near it: country",
)
TOO_MANY: Final = Sort(
    type="too-many-requests",
    status=429,
    title="Too many requests",
    constant=True,
    says="too many requests came at once, or conditions that take long to read; nothing was spent; wait as long as the "
    "header Retry-After says",
)
GATE_BUSY: Final = Sort(
    type="gate-busy",
    status=429,
    title="Too many questions wait at this gate",
    constant=True,
    says=str(GateBusy()),
)
INTERNAL: Final = Sort(
    type="internal",
    status=500,
    title="The service failed",
    constant=True,
    says="something went wrong that should not; whoever runs the service finds a line in its log",
)
OUTCOME_LOST: Final = Sort(
    type="outcome-lost",
    status=503,
    title="The answer is lost",
    constant=True,
    says=str(OutcomeLost()),
)
REQUEST_LOST: Final = Sort(
    type="request-lost",
    status=503,
    title="The request has no result",
    constant=True,
    says=str(RequestLost()),
)
NOT_READY: Final = Sort(
    type="not-ready",
    status=503,
    title="The service is not ready",
    constant=True,
    says="the ledger, the data or the disk is not as it must be; whoever runs the service finds which in its log",
)
NO_ROOM: Final = Sort(
    type="no-room",
    status=503,
    title="Too many connections",
    constant=True,
    says="there are as many connections as the service takes; nothing was spent; come again in a second",
)
LEDGER_UNAVAILABLE: Final = Sort(
    type="ledger-unavailable",
    status=503,
    title="The ledger cannot be used",
    constant=True,
    says="the record of what was spent cannot be read or written, so nothing is answered; whoever runs the service "
    "finds the reason in its log",
)
DATA_UNAVAILABLE: Final = Sort(
    type="data-unavailable",
    status=503,
    title="The data cannot be used",
    constant=True,
    says="the data has changed or cannot be read, so nothing is answered; whoever runs the service finds the reason in "
    "its log; the budget tells what was spent",
)

SORTS: Final[Mapping[type[SparsegateError], Sort]] = MappingProxyType(
    {
        ConditionError: CONDITION,
        ParameterError: PARAMETER,
        GateClosed: GATE_CLOSED,
        KeyReused: KEY_REUSED,
        UnknownGate: UNKNOWN_GATE,
        BudgetExceeded: BUDGET_EXCEEDED,
        QuotaExceeded: QUOTA_EXCEEDED,
        OutcomeLost: OUTCOME_LOST,
        RequestLost: REQUEST_LOST,
        GateBusy: GATE_BUSY,
        LedgerError: LEDGER_UNAVAILABLE,
        TableError: DATA_UNAVAILABLE,
    }
)
BUSY_SECONDS: Final = 1.0


class Refused(Exception):
    """A request that is refused before the keeper hears of it."""

    def __init__(self, sort: Sort, detail: str = "", *, wait: float | None = None, **members: Any) -> None:
        super().__init__(sort.title)
        self.sort, self.detail, self.wait, self.members = sort, detail, wait, members

    def response(self) -> Response:
        """The problem, with the headers that belong to it."""
        headers = {}
        if self.wait is not None:
            headers["Retry-After"] = str(max(1, math.ceil(self.wait)))
        if self.sort is UNAUTHENTICATED:
            headers["WWW-Authenticate"] = "Bearer"
        return problem(self.sort, self.detail, headers, **self.members)


def problem(sort: Sort, detail: str = "", headers: Mapping[str, str] | None = None, **members: Any) -> Response:
    """A response of problem+json."""
    content = json.dumps(sort.body(detail, **members)).encode()
    return Response(content, status_code=sort.status, headers=dict(headers or {}), media_type=MEDIA_TYPE)


def problem_of(error: SparsegateError) -> Refused:
    """The problem that an error of the library becomes; one that is not in the table is ours, and says nothing."""
    sort = next((SORTS[kind] for kind in type(error).__mro__ if kind in SORTS), INTERNAL)
    members: dict[str, Any] = {}
    if isinstance(error, ParameterError):
        members = parameter_members(error.parameter, error.rule, error.next_step)
        # Not every parameter is a field: a scale that is out of range, for instance, follows from several of them.
        members |= {"pointer": f"/{error.parameter}"} if error.parameter in FIELDS else {}
    if isinstance(error, ConditionError):
        members |= {"start": error.start, "end": error.end, "near": list(error.near)}
    wait = BUSY_SECONDS if isinstance(error, GateBusy) else None
    return Refused(sort, str(error), wait=wait, **members)


def parameter_members(parameter: str, rule: str, next_step: str = "") -> dict[str, Any]:
    """What a client needs in order to raise the same ParameterError."""
    return {"parameter": parameter, "rule": rule, "next_step": next_step}
