"""Who may come in: every request under /v1 carries a token, before its body is even read."""

from __future__ import annotations

from typing import Annotated, Final

import anyio.to_thread
from fastapi import Depends, Header, Request, Security
from fastapi.security import HTTPBearer
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from sparsegate.service.caller import Caller
from sparsegate.service.tokens import Role, Token, Tokens
from sparsegate.service.web.limits import Buckets, Limits
from sparsegate.service.web.problems import FORBIDDEN, TOO_MANY, UNAUTHENTICATED, Refused

OPEN: Final = frozenset({"/v1/health"})
"""What needs no token; all else under /v1 does, and what is not under /v1 is the same for everybody."""


class Entry:
    """Asks for the token of a request, and bounds how many requests one token sends, or an address without one.

    A wrong token is looked up all the same when there were many from its address: behind a proxy everybody has one
    address, and whoever guesses 256 bits must not lock the others out. It is answered 429 instead of 401 then.
    """

    def __init__(self, app: ASGIApp, *, tokens: Tokens, limits: Limits) -> None:
        self.app, self._tokens = app, tokens
        self._requests = Buckets(rate=limits.rate, burst=limits.burst)
        self._failures = Buckets(rate=limits.failure_rate, burst=limits.failure_burst)
        self._strangers = Buckets(rate=limits.open_rate, burst=limits.open_burst)
        self._lookups = anyio.CapacityLimiter(4)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            if scope["path"].startswith("/v1") and scope["path"] not in OPEN:
                scope.setdefault("state", {})["token"] = await self._admitted(scope)
            elif wait := self._strangers.take(_address(scope)):
                raise Refused(TOO_MANY, wait=wait)
        await self.app(scope, receive, send)

    async def _admitted(self, scope: Scope) -> Token:
        scheme, _, text = Headers(scope=scope).get("authorization", "").partition(" ")
        token = await self._found(text.strip()) if scheme.lower() == "bearer" else None
        if token is None:
            wait = self._failures.take(_address(scope))
            raise Refused(TOO_MANY, wait=wait) if wait else Refused(UNAUTHENTICATED)
        if wait := self._requests.take(token.number):
            raise Refused(TOO_MANY, wait=wait)
        return token

    async def _found(self, text: str) -> Token | None:
        known = self._tokens.remembered(text)
        if known is not None:
            return known
        return await anyio.to_thread.run_sync(self._tokens.authenticate, text, limiter=self._lookups)


def _address(scope: Scope) -> str:
    return str((scope.get("client") or ("",))[0])


_BEARER: Final = HTTPBearer(
    scheme_name="token", description="A token of `sparsegate token add`: `ng_...`.", auto_error=False
)


def _anybody(request: Request, _: Annotated[object, Security(_BEARER)]) -> Token:
    token = getattr(request.state, "token", None)
    if not isinstance(token, Token):
        raise Refused(UNAUTHENTICATED)
    return token


def _owner(token: Annotated[Token, Depends(_anybody)]) -> Token:
    if token.role is not Role.OWNER:
        raise Refused(FORBIDDEN)
    return token


Anybody = Annotated[Token, Depends(_anybody)]
"""A request with a token of either role."""

Owner = Annotated[Token, Depends(_owner)]
"""A request with a token of the role owner."""

_Key = Annotated[
    str,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=200,
        pattern="^[ -~]+$",
        description="New for each request; a request that is sent again, under the same key, gets the same answer. "
        "Keys do not expire: they are kept as long as the ledger.",
        examples=["7d9a1a0e-3f0c-4a0f-9a52-6a1f0d2b8c11"],
    ),
]


def _calling(token: Anybody, key: _Key) -> Caller:
    return Caller(token=token.number, key=key)


def _owner_calling(token: Owner, key: _Key) -> Caller:
    return Caller(token=token.number, key=key)


Calling = Annotated[Caller, Depends(_calling)]
"""A request that must come with an idempotency key, from either role."""

OwnerCalling = Annotated[Caller, Depends(_owner_calling)]
"""The same, from an owner."""
