"""Who may come in, and how often: tokens and rates.

Every request under /v1 carries a token, before its body is even read. All but the lookup of a token runs in the event
loop, in one thread, and needs no lock.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Hashable
from dataclasses import dataclass
from typing import Annotated, Final

import anyio
import anyio.to_thread
from fastapi import Depends, Header, Request, Security
from fastapi.security import HTTPBearer
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from sparsegate.service.gates import KeyedRequest
from sparsegate.service.tokens import Role, Token, Tokens
from sparsegate.service.web.problems import FORBIDDEN, NOT_FOUND, TOO_MANY, UNAUTHENTICATED, Refused

_MOST_BUCKETS: Final = 10_000
OPEN: Final = frozenset({"/v1/health", "/v1/ready"})
"""What needs no token, and is never refused for coming often: who asks it decides whether anything is sent here at all.
All else under /v1 needs one, and so do the metrics. What remains is the same for everybody."""
METRICS: Final = "/metrics"
LOOPBACK: Final = "127.0.0.1"
"""Where metrics have a port of their own."""
PRACTICE: Final = "/v1/practice/"


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The limits of a service. (How many questions are *counted* at once is the keeper's: ``DelayPlan.places``.)"""

    rate: float = 50.0
    """Requests a second of one token, in the long run."""
    burst: int = 100
    """Requests of one token at once."""
    share: float = 0.05
    """Processor seconds a second that conditions of one token may take to be read, in the long run."""
    share_burst: float = 0.5
    """Processor seconds of one token at once."""
    listing_share: float = 0.2
    """Processor seconds a second that lists of gates may take for one token, in the long run."""
    listing_burst: float = 2.0
    failure_rate: float = 1.0
    """Wrong tokens a second from one address, in the long run."""
    failure_burst: int = 20
    open_rate: float = 20.0
    """Requests a second from one address for other things that need no token, in the long run."""
    open_burst: int = 100
    body_seconds: float = 10.0
    """How long a body may take to arrive."""
    practice_rate: float = 5.0
    """Requests a second of one token for gates to practise on, in the long run."""
    practice_burst: int = 50
    asks: int = 200
    """Questions under way at once, from their turn until they have left: each has a thread."""
    waiting: int = 32
    """Questions that wait at one gate."""


class RateLimiter:
    """A token bucket: each key may take ``burst`` at once, and ``rate`` a second in the long run.

    >>> limiter = RateLimiter(rate=1, burst=2, clock=lambda: 0.0)
    >>> limiter.take("a"), limiter.take("a"), limiter.take("a"), limiter.take("b")
    (0.0, 0.0, 1.0, 0.0)

    What costs more or less than one is charged when its cost is known, and may leave a debt.

    >>> limiter.charge("b", 1.5), limiter.wait("b", 0)
    (None, 0.5)
    """

    def __init__(self, *, rate: float, burst: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._burst, self._clock = rate, burst, clock
        self._levels: dict[Hashable, tuple[float, float]] = {}

    def take(self, key: Hashable) -> float:
        """Take one: 0, or how many seconds to wait until there is one; then nothing was taken."""
        wait = self.wait(key, 1)
        if not wait:
            self.charge(key, 1)
        return wait

    def wait(self, key: Hashable, amount: float) -> float:
        """How many seconds until there is this much."""
        return max(0.0, amount - self._level(key)) / self._rate

    def charge(self, key: Hashable, amount: float) -> None:
        """Take this much, whether it is there or not."""
        level = self._level(key) - amount
        # Put back at the end: whoever was seen least recently is forgotten first, and starts anew with a full bucket.
        self._levels.pop(key, None)
        self._levels[key] = (level, self._clock())
        if len(self._levels) > _MOST_BUCKETS:
            del self._levels[next(iter(self._levels))]

    def _level(self, key: Hashable) -> float:
        level, then = self._levels.get(key, (self._burst, 0.0))
        return min(self._burst, level + (self._clock() - then) * self._rate)


class Authentication:
    """Asks for the token of a request, and bounds how many requests one token sends, or an address without one.

    A wrong token is looked up all the same when there were many from its address: behind a proxy that is not trusted
    (``trusted_proxies``) everybody has one address, and whoever guesses 256 bits must not lock the others out. It is
    answered 429 instead of 401 then. The files of the ``page`` are for everybody, however often.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        tokens: Tokens,
        limits: Limits,
        metrics_port: int | None = None,
        page: Collection[str] = (),
    ) -> None:
        self.app, self._tokens, self._metrics_port = app, tokens, metrics_port
        # A file that is held in memory is sent in less time than a refusal.
        self._unbounded = OPEN.union(page)
        self._requests = RateLimiter(rate=limits.rate, burst=limits.burst)
        self._failures = RateLimiter(rate=limits.failure_rate, burst=limits.failure_burst)
        self._strangers = RateLimiter(rate=limits.open_rate, burst=limits.open_burst)
        self._lookups = anyio.CapacityLimiter(4)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            path = scope["path"]
            # The address, too: another one may have the same port, and is open to others.
            inside = self._metrics_port is not None and scope.get("server") == (LOOPBACK, self._metrics_port)
            if inside and path != METRICS:
                raise Refused(NOT_FOUND)
            if not inside and path not in OPEN and (path.startswith("/v1") or path == METRICS):
                scope.setdefault("state", {})["token"] = await self._admitted(scope)
            elif path not in self._unbounded and (wait := self._strangers.take(_address(scope))):
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


# Dependencies are coroutines: one that is not is run in a thread, and an ask has seven of them.
_BEARER: Final = HTTPBearer(
    scheme_name="token", description="A token of `sparsegate token add`: `sg_...`.", auto_error=False
)


async def _anybody(request: Request, _: Annotated[object, Security(_BEARER)]) -> Token:
    token = getattr(request.state, "token", None)
    if not isinstance(token, Token):
        raise Refused(UNAUTHENTICATED)
    return token


def in_practice(request: Request) -> bool:
    """Whether it is about gates to practise on, where everybody may do all that an owner may."""
    return str(request.scope["path"]).startswith(PRACTICE)


async def _owner(request: Request, token: Annotated[Token, Depends(_anybody)]) -> Token:
    if token.role is not Role.OWNER and not in_practice(request):
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


async def _calling(token: Anybody, key: _Key) -> KeyedRequest:
    return KeyedRequest(token=token.number, key=key, by=token.name)


async def _owner_calling(token: Owner, key: _Key) -> KeyedRequest:
    return KeyedRequest(token=token.number, key=key, by=token.name)


Calling = Annotated[KeyedRequest, Depends(_calling)]
"""A request that must come with an idempotency key, from either role."""

OwnerCalling = Annotated[KeyedRequest, Depends(_owner_calling)]
"""The same, from an owner."""
