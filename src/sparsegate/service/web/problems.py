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

from sparsegate import errors
from sparsegate.errors import ParameterError, SparsegateError
from sparsegate.service.web.models import FIELDS

MEDIA_TYPE: Final = "application/problem+json"


@dataclass(frozen=True)
class Sort:
    """One sort of problem. ``says`` is its detail; with ``own_words`` only where an error does not say more."""

    type: str
    status: int
    title: str
    says: str
    own_words: bool = False

    def body(self, detail: str = "", **members: Any) -> dict[str, Any]:
        shown = detail if self.own_words and detail else self.says
        return {"type": self.type, "title": self.title, "status": self.status, "detail": shown, **members}


MALFORMED: Final = Sort(
    "malformed",
    400,
    "The request cannot be read",
    "the body is not JSON; send one JSON object in UTF-8",
    own_words=True,
)
KEY_MISSING: Final = Sort(
    "idempotency-key",
    400,
    "The idempotency key is missing or wrong",
    "Idempotency-Key must be given: 1 to 200 printable ASCII characters, new for each request and the same when it "
    "is sent again",
)
UNAUTHENTICATED: Final = Sort(
    "unauthenticated",
    401,
    "No token that is known",
    "send `Authorization: Bearer sg_...` with a token from `sparsegate token add`",
)
BUDGET_EXCEEDED: Final = Sort(
    "budget-exceeded",
    402,
    "The budget does not allow this",
    "epsilon 1 is more than the ledger of 'visits' has left; nothing was spent; ask for less",
    own_words=True,
)
FORBIDDEN: Final = Sort("forbidden", 403, "This token may not do that", "this needs a token with the role owner")
QUOTA_EXCEEDED: Final = Sort(
    "quota-exceeded",
    403,
    "The quota of this token is used up",
    "this token may be given 20 ABOVE in all, and they are given, lost or on their way; nothing was spent",
    own_words=True,
)
NOT_FOUND: Final = Sort("not-found", 404, "Not found", "there is nothing at this address", own_words=True)
UNKNOWN_TOKEN: Final = Sort(
    "unknown-token", 404, "No such token", "there is no token of that name; list the tokens to see their names"
)
UNKNOWN_GATE: Final = Sort("unknown-gate", 404, "No such gate", str(errors.UnknownGate()))
WRONG_METHOD: Final = Sort(
    "method-not-allowed", 405, "Method not allowed", "this address does not take that method; see the header Allow"
)
TOO_SLOW: Final = Sort(
    "too-slow", 408, "The request took too long to arrive", "the body did not arrive in time; send it again"
)
GATE_CLOSED: Final = Sort(
    "gate-closed",
    409,
    "The gate is closed",
    "this gate is closed: it was closed by hand; open another, which spends a new budget",
    own_words=True,
)
KEY_REUSED: Final = Sort("key-reused", 409, "The idempotency key was used before", str(errors.KeyReused()))
TOO_LARGE: Final = Sort("too-large", 413, "The request is too large", "a body may have 64 KiB at most")
NOT_JSON: Final = Sort(
    "unsupported-media-type", 415, "The body must be JSON", "send the body as JSON, with Content-Type: application/json"
)
WRONG_HOST: Final = Sort(
    "wrong-host",
    421,
    "This service has another name",
    "the header Host must name this service; whoever runs it gives its names with --allowed-host",
)
PARAMETER: Final = Sort("parameter", 422, "A parameter breaks its rule", "cutoff must be at least 1", own_words=True)
CONDITION: Final = Sort(
    "condition",
    422,
    "The condition is refused",
    "where must name a declared column (character 1), got 'cuntry'; near it: country",
    own_words=True,
)
TOO_MANY: Final = Sort(
    "too-many-requests",
    429,
    "Too many requests",
    "too many requests came at once, or conditions that take long to read; nothing was spent; wait as long as the "
    "header Retry-After says",
)
GATE_BUSY: Final = Sort("gate-busy", 429, "Too many questions wait at this gate", str(errors.GateBusy()))
INTERNAL: Final = Sort(
    "internal",
    500,
    "The service failed",
    "something went wrong that should not; whoever runs the service finds a line in its log",
)
OUTCOME_LOST: Final = Sort("outcome-lost", 503, "The answer is lost", str(errors.OutcomeLost()))
REQUEST_LOST: Final = Sort("request-lost", 503, "The request has no result", str(errors.RequestLost()))
NOT_READY: Final = Sort(
    "not-ready",
    503,
    "The service is not ready",
    "the ledger, the data or the disk is not as it must be; whoever runs the service finds which in its log",
)
NO_ROOM: Final = Sort(
    "no-room",
    503,
    "Too many connections",
    "there are as many connections as the service takes; nothing was spent; come again in a second",
)
LEDGER_UNAVAILABLE: Final = Sort(
    "ledger-unavailable",
    503,
    "The ledger cannot be used",
    "the record of what was spent cannot be read or written, so nothing is answered; whoever runs the service finds "
    "the reason in its log",
)
DATA_UNAVAILABLE: Final = Sort(
    "data-unavailable",
    503,
    "The data cannot be used",
    "the data has changed or cannot be read, so nothing is answered; whoever runs the service finds the reason in "
    "its log; the budget tells what was spent",
)

SORTS: Final[Mapping[type[SparsegateError], Sort]] = MappingProxyType(
    {
        errors.ConditionError: CONDITION,
        ParameterError: PARAMETER,
        errors.GateClosed: GATE_CLOSED,
        errors.KeyReused: KEY_REUSED,
        errors.UnknownGate: UNKNOWN_GATE,
        errors.BudgetExceeded: BUDGET_EXCEEDED,
        errors.QuotaExceeded: QUOTA_EXCEEDED,
        errors.OutcomeLost: OUTCOME_LOST,
        errors.RequestLost: REQUEST_LOST,
        errors.GateBusy: GATE_BUSY,
        errors.LedgerError: LEDGER_UNAVAILABLE,
        errors.TableError: DATA_UNAVAILABLE,
    }
)
BUSY_SECONDS: Final = 1.0


class Refused(Exception):
    """A request that is refused before the keeper hears of it."""

    def __init__(self, sort: Sort, detail: str = "", *, wait: float | None = None, **members: Any) -> None:
        super().__init__(sort.title)
        self.sort, self.detail, self.wait, self.members = sort, detail, wait, members

    def response(self) -> Response:
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
    if isinstance(error, errors.ConditionError):
        members |= {"start": error.start, "end": error.end, "near": list(error.near)}
    wait = BUSY_SECONDS if isinstance(error, errors.GateBusy) else None
    return Refused(sort, str(error), wait=wait, **members)


def parameter_members(parameter: str, rule: str, next_step: str = "") -> dict[str, Any]:
    """What a client needs in order to raise the same ParameterError."""
    return {"parameter": parameter, "rule": rule, "next_step": next_step}
