"""Who may come in, how often, in which order, and in which thread.

Every request under /v1 carries a token, before its body is even read. Senders are tokens, and take turns everywhere
(``FairTurn``): how many requests one of them has sent is her own affair. All but the lookup of a token runs in the
event loop, in one thread, and needs no lock. A keeper blocks: an ask sleeps until its answer may leave. So every call
of one runs in a thread, questions and the rest in separate pools, and nobody who only looks has to wait behind those
who ask. Why reading a condition costs its sender: docs/explanation/proofs_in_words/web.md.
"""

from __future__ import annotations

import math
import re
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Hashable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Annotated, Any, Final, TypeVar

import anyio
import anyio.to_thread
from fastapi import Depends, Header, Path, Request, Response, Security
from fastapi.security import HTTPBearer
from pydantic import AfterValidator
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from sparsegate.conditions import Schema
from sparsegate.errors import GateBusy, SparsegateError, UnknownGate
from sparsegate.service.gates import KeyedRequest
from sparsegate.service.keeper import Keeper
from sparsegate.service.opening import KeeperTerms
from sparsegate.service.practice import Practice
from sparsegate.service.tokens import Role, Token, Tokens
from sparsegate.service.web.middleware import LOG
from sparsegate.service.web.problems import FORBIDDEN, NOT_FOUND, TOO_MANY, UNAUTHENTICATED, Refused

_MOST_BUCKETS: Final = 10_000
OPEN: Final = frozenset({"/v1/health", "/v1/ready"})
"""What needs no token, and is never refused for coming often: who asks it decides whether anything is sent here at all.
All else under /v1 needs one, and so do the metrics. What remains is the same for everybody."""
METRICS: Final = "/metrics"
LOOPBACK: Final = "127.0.0.1"  # where metrics have a port of their own
PRACTICE: Final = "/v1/practice/"


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The limits of a service. (How many questions are *counted* at once is the keeper's: ``DelayPlan.places``.)"""

    rate: float = 50.0  # requests a second of one token, in the long run
    burst: int = 100  # requests of one token at once
    share: float = 0.05  # processor seconds a second that conditions of one token may take to be read, in the long run
    share_burst: float = 0.5  # processor seconds of one token at once
    listing_share: float = 0.2  # processor seconds a second that lists of gates may take for one token, in the long run
    listing_burst: float = 2.0
    failure_rate: float = 1.0  # wrong tokens a second from one address, in the long run
    failure_burst: int = 20
    open_rate: float = 20.0  # requests a second from one address for other things that need no token, in the long run
    open_burst: int = 100
    body_seconds: float = 10.0  # how long a body may take to arrive
    practice_rate: float = 5.0  # requests a second of one token for gates to practise on, in the long run
    practice_burst: int = 50
    asks: int = 200  # questions under way at once, from their turn until they have left: each has a thread
    waiting: int = 32  # questions that wait at one gate
    workers: int = 1
    """Processes that admit requests; each has a part of every limit, so that all together admit no more than one."""

    def of_each(self, workers: int) -> Limits:
        """The limits of each of so many workers.

        >>> Limits().of_each(3).burst, Limits(rate=60.0).of_each(3).rate
        (33, 20.0)
        """
        whole = {each.name: getattr(self, each.name) for each in fields(self)}
        shared = {name: whole[name] for name in whole.keys() - {"body_seconds", "workers"}}
        parts = {
            name: max(1, value // workers) if isinstance(value, int) else value / workers
            for name, value in shared.items()
        }
        return replace(self, **parts, workers=workers)


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
        if not (wait := self.wait(key, 1)):
            self.charge(key, 1)
        return wait

    def wait(self, key: Hashable, amount: float) -> float:
        return max(0.0, amount - self._level(key)) / self._rate

    def charge(self, key: Hashable, amount: float) -> None:
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
        token = self._tokens.remembered(text.strip()) if scheme.lower() == "bearer" else None
        if token is None and scheme.lower() == "bearer":
            token = await anyio.to_thread.run_sync(self._tokens.authenticate, text.strip(), limiter=self._lookups)
        if token is None:
            wait = self._failures.take(_address(scope))
            raise Refused(TOO_MANY, wait=wait) if wait else Refused(UNAUTHENTICATED)
        if wait := self._requests.take(token.number):
            raise Refused(TOO_MANY, wait=wait)
        return token


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


Anybody = Annotated[Token, Depends(_anybody)]  # A request with a token of either role

Owner = Annotated[Token, Depends(_owner)]  # A request with a token of the role owner

_Key = Annotated[
    str,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=200,
        pattern="^[ -~]+$",
        description="New for each request; a request that is sent again, under the same key, gets the same answer. "
        "That of a question is kept as long as its gate is open, all others as long as the ledger.",
        examples=["7d9a1a0e-3f0c-4a0f-9a52-6a1f0d2b8c11"],
    ),
]


async def _calling(token: Anybody, key: _Key) -> KeyedRequest:
    return KeyedRequest(token=token.number, key=key, by=token.name)


async def _owner_calling(token: Owner, key: _Key) -> KeyedRequest:
    return KeyedRequest(token=token.number, key=key, by=token.name)


Calling = Annotated[KeyedRequest, Depends(_calling)]  # with an idempotency key, from either role

OwnerCalling = Annotated[KeyedRequest, Depends(_owner_calling)]  # the same, from an owner


_Result = TypeVar("_Result")

SHORT: Final = 200
"""Characters of a condition that is read in a millisecond or two; at worst, where cases multiply, in ten or twenty."""


@dataclass(eq=False)
class _Waiting:
    sender: Hashable
    round: int
    called: anyio.Event = field(default_factory=anyio.Event)
    sent_away: bool = False


class FairTurn:
    """One place for tasks, in rounds: one request of each sender in a round, whoever came first is first in it.

    Whoever comes is in the round under way, unless she was served in it: then she is in the next one. Where ``most``
    wait already, whoever has the longest line loses her last. Why: docs/explanation/proofs_in_words/web.md.
    """

    def __init__(self, most: float = math.inf) -> None:
        self.held, self.waiting, self._most = False, list[_Waiting](), most
        self._holder: Hashable = None
        self._round = 0
        self._next: dict[Hashable, int] = {}
        """The round of the next request of whoever waits, or was served in this one."""

    @asynccontextmanager
    async def at(self, sender: Hashable) -> AsyncIterator[None]:
        if self.held:
            await self._wait(sender)
        else:
            self.held, self._holder = True, sender
            self._begin(self._placed(sender).round)
        try:
            yield
        finally:
            self._pass_on()

    def ahead(self, sender: Hashable) -> int:
        """How many are served before the oldest request of a sender that is here, or before a new one if none is."""
        if self.held and self._holder == sender:
            return 0
        order = sorted(self.waiting, key=lambda each: each.round)
        newest = max(self._round, self._next.get(sender, 0))
        before = [each.sender == sender or each.round > newest for each in order]
        return self.held + (before.index(True) if True in before else len(before))

    def _placed(self, sender: Hashable) -> _Waiting:
        place = _Waiting(sender, max(self._round, self._next.get(sender, 0)))
        self._next[sender] = place.round + 1
        return place

    async def _wait(self, sender: Hashable) -> None:
        if len(self.waiting) >= self._most:
            self._make_room(sender)
        mine = self._placed(sender)
        self.waiting.append(mine)
        try:
            await mine.called.wait()
        except BaseException:
            if mine in self.waiting:
                self._leave(mine)
            elif not mine.sent_away:
                self._pass_on()  # it was called in the moment that it gave up
            raise
        if mine.sent_away:
            raise GateBusy

    def _make_room(self, newcomer: Hashable) -> None:
        """Send away the last of the longest line, unless the newcomer's own would be as long."""
        lengths = Counter(each.sender for each in self.waiting)
        longest = max(lengths, key=lengths.__getitem__, default=newcomer)
        if lengths[newcomer] + 1 >= lengths[longest]:
            raise GateBusy
        last = next(each for each in reversed(self.waiting) if each.sender == longest)
        self._leave(last)
        last.sent_away = True
        last.called.set()

    def _leave(self, leaver: _Waiting) -> None:
        """Whoever stands behind in the same line moves up."""
        self.waiting.remove(leaver)
        self._next[leaver.sender] -= 1
        for each in self.waiting:
            each.round -= each.sender == leaver.sender and each.round > leaver.round

    def _pass_on(self) -> None:
        following = min(self.waiting, key=lambda each: each.round, default=None)
        self.held = following is not None
        if following is not None:
            self.waiting.remove(following)
            self._holder = following.sender
            self._begin(following.round)
            following.called.set()

    def _begin(self, round: int) -> None:
        self._round = round
        self._next = {sender: following for sender, following in self._next.items() if following > round}


class GateQueues:
    """Questions stand in line at their gate, and not in a thread.

    How long a question waits depends on when others leave, and that is public. As many may wait as are answered within
    ``patience``.
    """

    def __init__(self, *, waiting: int, patience: float, delay: float) -> None:
        self._most = min(waiting, max(1, int(patience / delay))) if delay else waiting
        self._turns: dict[str, FairTurn] = {}

    @asynccontextmanager
    async def at(self, gate: str, sender: Hashable) -> AsyncIterator[None]:
        """Wait for the gate, and hold it; too long a line is ``GateBusy``."""
        turn = self._turns.setdefault(gate, FairTurn(self._most))
        try:
            async with turn.at(sender):
                yield
        finally:
            if not turn.held:
                self._turns.pop(gate, None)

    def ahead(self, gate: str, sender: Hashable) -> int:
        """How many are answered before a sender."""
        return self._turns[gate].ahead(sender) if gate in self._turns else 0

    @property
    def waiting(self) -> int:
        return sum(len(turn.waiting) for turn in self._turns.values())


class OwnWork:
    """What a sender causes before she is admitted: one at a time, round-robin, on her share of processor time."""

    def __init__(self, limits: Limits) -> None:
        self.turn = FairTurn()
        self._shares = RateLimiter(rate=limits.share, burst=limits.share_burst)
        self._thread = anyio.CapacityLimiter(1)

    async def run(
        self, sender: Hashable, method: Callable[..., _Result], *args: Any, short: bool = False
    ) -> Callable[..., _Result]:
        """Call the method, in a thread; a function that returns what it returned, or raises what it raised.

        What is ``short`` is done at once: waking a thread for it would take as long.
        """
        self._check(sender)
        if short:
            outcome, seconds = _timed(method, args)
            self._shares.charge(sender, seconds)
            return outcome
        async with self.turn.at(sender):
            self._check(sender)  # what came before in her own line has been charged since
            outcome, seconds = await anyio.to_thread.run_sync(_timed, method, args, limiter=self._thread)
            self._shares.charge(sender, seconds)
        return outcome

    def _check(self, sender: Hashable) -> None:
        if wait := self._shares.wait(sender, 0):
            raise Refused(TOO_MANY, wait=wait)


def _timed(method: Callable[..., _Result], args: tuple[Any, ...]) -> tuple[Callable[..., _Result], float]:
    """Processor time of this thread: what others do meanwhile is not charged."""
    begun = time.thread_time()
    try:
        result = method(*args)
        return lambda *_: result, time.thread_time() - begun
    except SparsegateError as error:
        refusal = error

    def refuse(*_: Any) -> _Result:
        raise refusal

    return refuse, time.thread_time() - begun


_LOOKERS: Final = 16

_GATE: Final = re.compile(r"g-[0-9a-f]{16}", re.ASCII)


class ThreadedKeeper:
    """Runs the methods of a keeper in threads."""

    def __init__(
        self, keeper: Keeper, limits: Limits, beside: ThreadedKeeper | None = None, *, practice: bool = False
    ) -> None:
        self.keeper, self.practice = keeper, practice
        self._leases, self._changed = 0, threading.Condition()
        patience = keeper.pace.patience / limits.workers
        self.queues = GateQueues(waiting=limits.waiting, patience=patience, delay=keeper.pace.delay)
        # A preview takes tens of milliseconds, a planned one hundreds; a page of a thousand gates a tenth of a second,
        # and seconds where each has a noise of its own: each has a share of its own.
        listing = replace(limits, share=limits.listing_share, share_burst=limits.listing_burst)
        self.reading: OwnWork = OwnWork(limits) if beside is None else beside.reading
        self.planning: OwnWork = OwnWork(limits) if beside is None else beside.planning
        self.listing: OwnWork = OwnWork(listing) if beside is None else beside.listing
        self._askers = anyio.CapacityLimiter(limits.asks)
        self._lookers = anyio.CapacityLimiter(_LOOKERS)

    async def run(self, method: Callable[..., _Result], *args: Any, ask: bool = False, **options: Any) -> _Result:
        limiter = self._askers if ask else self._lookers
        return await anyio.to_thread.run_sync(partial(method, *args, **options), limiter=limiter)

    @contextmanager
    def leased(self) -> Iterator[ThreadedKeeper]:
        """Keep it from being closed while a request is under way."""
        with self._changed:
            self._leases += 1
        try:
            yield self
        finally:
            with self._changed:
                self._leases -= 1
                self._changed.notify_all()

    def retire(self) -> None:
        """Close the keeper, and its data, when the last request that began with it has ended; blocks until then."""
        with self._changed:
            self._changed.wait_for(lambda: not self._leases)
        self.keeper.close()
        self.keeper.dataset.close()

    def label(self, view: dict[str, Any]) -> dict[str, Any]:
        """What is answered says if it is practice; a practice ledger knows no tokens by name."""
        nameless = dict.fromkeys(view.keys() & {"opened_by"}) if self.practice else {}
        return view | nameless | {"practice": self.practice}


class ThreadedPractice:
    """Gates to practise on, beside those of a service: one question at a time, and few of each token."""

    def __init__(self, practice: Practice, limits: Limits, beside: ThreadedKeeper) -> None:
        self._practice, self._limits, self._beside = practice, replace(limits, asks=1), beside
        self._requests = RateLimiter(rate=limits.practice_rate, burst=limits.practice_burst)
        self._making = anyio.CapacityLimiter(1)
        self._now: ThreadedKeeper | None = None

    async def at(self, token: Token, *, opens: bool) -> ThreadedKeeper:
        if wait := self._requests.take(token.number):
            raise Refused(TOO_MANY, wait=wait)
        wanted = partial(self._practice.keeper, opens=opens)
        if opens:  # which may mean to start anew: whoever wants that does it on her share
            keeper = (await self._beside.planning.run(token.number, wanted))()
        else:
            keeper = await anyio.to_thread.run_sync(wanted, limiter=self._making)
        if self._now is None or self._now.keeper is not keeper:
            self._now = ThreadedKeeper(keeper, self._limits, self._beside, practice=True)
        return self._now

    def follow(self, schema: Schema) -> None:
        """Practise on other columns from now on, where they are others."""
        self._practice.follow(schema)

    def close(self) -> None:
        self._practice.close()


class Refresh:
    """Has an application answer from the data as it is now. Thread-safe; ``close`` ends what it began.

    The old copy answers until there is a new one, and whoever is asking it may finish: it is closed when the last
    request that began with it has ended.
    """

    def __init__(self, state: Any, terms: KeeperTerms, limits: Limits) -> None:
        self._state, self._terms, self._limits = state, terms, limits
        self._guard, self._stopped = threading.Lock(), threading.Event()

    def now(self, *, close_gates: bool) -> bool:
        """Whether the data has changed; blocks until it is read, and answered from."""
        with self._guard:
            before: ThreadedKeeper = self._state.service
            keeper = self._terms.refreshed(before.keeper, close_gates=close_gates)
            if keeper is None:
                return False
            self._state.service = ThreadedKeeper(keeper, self._limits, before)
            self._state.practice.follow(keeper.dataset.schema)
            threading.Thread(target=before.retire, daemon=True).start()
            return True

    def every(self, seconds: float, *, close_gates: bool) -> None:
        """Do it again and again, in a thread; what goes wrong is in the log, and the old copy goes on."""

        def repeat() -> None:
            while not self._stopped.wait(seconds):
                try:
                    if self.now(close_gates=close_gates):
                        LOG.info("the data was read anew")
                except SparsegateError as error:
                    LOG.warning("the data was not read anew: %s", " ".join(str(error).split()))

        threading.Thread(target=repeat, daemon=True).start()

    def close(self) -> None:
        """Close the keeper that answers last, and its data."""
        self._stopped.set()
        with self._guard:
            self._state.service.keeper.close()
            self._state.service.keeper.dataset.close()


async def _service(request: Request, token: Anybody) -> AsyncIterator[ThreadedKeeper]:
    if in_practice(request):
        practice: ThreadedPractice = request.app.state.practice
        yield await practice.at(token, opens=request.method == "POST" and request.url.path.endswith("/gates"))
    else:
        with request.app.state.service.leased() as service:
            yield service


def _known_form(id: str) -> str:
    # Reject malformed names before the lookup: databases differ in what a text may hold.
    if not _GATE.fullmatch(id):
        raise UnknownGate
    return id


GateName = Annotated[str, AfterValidator(_known_form)]


def link(request: Request, response: Response, rel: str, **changes: str | int) -> None:
    """Say where another page is: the same address, with other parameters."""
    address = request.url.include_query_params(**changes)
    response.headers["Link"] = f'<{address.path}?{address.query}>; rel="{rel}"'


Service = Annotated[ThreadedKeeper, Depends(_service)]
GateInPath = Annotated[GateName, Path(alias="id", description="The name of a gate.", examples=["g-0123456789abcdef"])]
Body = dict[str, Any]
