"""Connections: how many there are, how long one may take to say something, and what goes first when there is no room.

A connection that has no request under way is cut after ``header_seconds``, one that only waits after ``idle_seconds``,
a client that does not take its answer after ``write_seconds``. There are at most ``most``, and ``most_of_one`` of one
address; a newcomer takes the place of the one that has waited longest without a request. Whoever finds no place is told
503. The rules, each with the attack that it is for, are in docs/explanation/proofs_in_words/web.md. With TLS a
connection is counted when it is made, and its handshake is part of the header.
"""

from __future__ import annotations

import asyncio
import json
import resource
import socket
import ssl
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from http import HTTPStatus
from typing import Any, Final

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.utils import get_remote_addr

from sparsegate.service.web.problems import MALFORMED, MEDIA_TYPE, NO_ROOM, Sort
from sparsegate.service.web.trusted_proxies import TrustedProxies

_KEPT: Final = 256  # file descriptors for everything else: the ledger, the data, the log
MOST_PIECES: Final = 500
LEAVE_SECONDS: Final = 1.0
MOST_LEAVING: Final = 64
_MOST_UNREAD: Final = 2**17
BACKLOG: Final = 256  # connections that wait to be taken
_UNREADABLE: Final = "this is no request of HTTP/1.1, or it gives its length twice; send it again on a new connection"


@dataclass(frozen=True, kw_only=True)
class ConnectionLimits:
    """How many connections, and how patient with each; seconds."""

    most: int = 1000
    most_of_one: int = 250
    """Of one address. Behind a proxy all have the same one, and the proxy limits them: give it as ``proxies``."""
    proxies: TrustedProxies = field(default_factory=TrustedProxies)  # who may have as many as there are
    header_seconds: float = 10.0
    idle_seconds: float = 15.0
    write_seconds: float = 30.0

    def of_each(self, workers: int) -> ConnectionLimits:
        """The limits of each of so many processes that share a socket."""
        return replace(self, most=max(1, self.most // workers), most_of_one=max(1, self.most_of_one // workers))

    def room(self) -> int:
        """As many connections as there are file descriptors for; the limit on them is raised where that is allowed."""
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = self.most + _KEPT
        if resource.RLIM_INFINITY != soft < wanted:
            soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
            with suppress(OSError, ValueError):
                resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
            soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        return self.most if soft == resource.RLIM_INFINITY else max(1, min(self.most, soft - _KEPT))


def last_words(sort: Sort, detail: str = "") -> bytes:
    """A problem as the last answer of a connection, for whom no application answers."""
    body = json.dumps(sort.body(detail)).encode()
    wait = "Retry-After: 1\r\n" if sort.status == HTTPStatus.SERVICE_UNAVAILABLE else ""
    head = (
        f"HTTP/1.1 {sort.status} {HTTPStatus(sort.status).phrase}\r\nConnection: close\r\n{wait}"
        f"Cache-Control: no-store\r\nContent-Type: {MEDIA_TYPE}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


class Guard:
    """The connections of one server. It runs in the event loop, and needs no lock."""

    def __init__(self, limits: ConnectionLimits) -> None:
        self.limits, self._most = limits, limits.room()
        self.leaving: set[GuardedProtocol] = set()
        self._addresses: Counter[str] = Counter()
        self._waiting: dict[GuardedProtocol, None] = {}

    def admit(self, newcomer: GuardedProtocol) -> bool:
        of_one = self._addresses[newcomer.address]
        crowded = of_one >= self.limits.most_of_one and newcomer.address not in self.limits.proxies
        if crowded or self._addresses.total() >= self._most:
            longest = next((each for each in self._waiting if not crowded or each.address == newcomer.address), None)
            if longest is None:
                return False
            longest.make_room()
        self._addresses[newcomer.address] += 1
        return True

    def left(self, connection: GuardedProtocol) -> None:
        self._waiting.pop(connection, None)
        self._addresses[connection.address] -= 1
        if not self._addresses[connection.address]:
            del self._addresses[connection.address]

    def waits(self, connection: GuardedProtocol, waits: bool) -> None:
        """Whether it has no request under way. Whoever has begun to wait first is first in line to go."""
        if waits:
            self._waiting.setdefault(connection)
        else:
            self._waiting.pop(connection, None)


class _Pieces(h11.Connection):
    """Counts the pieces of a body, and reads no further than the last that is allowed."""

    pieces = 0

    def next_event(self) -> Any:
        if self.pieces > MOST_PIECES:
            return h11.PAUSED
        event = super().next_event()
        self.pieces = 0 if isinstance(event, h11.Request) else self.pieces + isinstance(event, h11.Data)
        if isinstance(event, h11.Request) and {b"content-length", b"transfer-encoding"} <= {
            n for n, _ in event.headers
        }:
            raise h11.RemoteProtocolError("two lengths")
        return event


class GuardedProtocol(H11Protocol):
    """uvicorn's protocol for one connection, with a guard, and with TLS or without."""

    conn: _Pieces

    def __init__(self, guard: Guard, tls: ssl.SSLContext | None, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.conn = _Pieces(h11.SERVER)
        self._guard, self._admitted, self._tls = guard, False, tls
        self._handshake: asyncio.Task[None] | None = None
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._early, self._unread = b"", 0

    @property
    def address(self) -> str:
        return self.client[0] if self.client else ""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Admit it, or say that there is no room."""
        self.transport, self.client = transport, get_remote_addr(transport)
        self._admitted = self._guard.admit(self)
        if self._admitted:
            self._look()
        elif self._tls is None or len(self._guard.leaving) >= MOST_LEAVING:
            self._leave(last_words(NO_ROOM) if self._tls is None else b"")
            return
        else:
            self._guard.leaving.add(self)  # it is told when the handshake is done
        if self._tls is None:
            super().connection_made(transport)
        else:
            transport.pause_reading()  # what comes belongs to the handshake
            self._handshake = self.loop.create_task(self._shake_hands(transport, self._tls))

    async def _shake_hands(self, transport: asyncio.Transport, tls: ssl.SSLContext) -> None:
        patience = self._guard.limits.header_seconds if self._admitted else LEAVE_SECONDS
        try:
            secure = await self.loop.start_tls(transport, self, tls, server_side=True, ssl_handshake_timeout=patience)
        except OSError:  # and what is derived from it: no TLS, another version, too slow, gone
            secure = None
        if secure is None:
            self.cut()
        elif not self._admitted:
            self.transport = secure
            self._leave(last_words(NO_ROOM) if self in self._guard.leaving else b"")
        else:
            super().connection_made(secure)
            if self._early:  # nothing would mean the end
                self.data_received(self._early)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._forget()

    def data_received(self, data: bytes) -> None:
        """Read on. The clock goes on too, unless this was the end of a header."""
        self._unread = 0 if self._admitted else self._unread + len(data)
        if self._unread > _MOST_UNREAD:
            self.cut()
        elif self._admitted and self.flow is None:
            self._early += data  # the handshake is done, and its task has not been told yet
        elif self._admitted:
            try:
                super().data_received(data)
            except h11.ProtocolError:  # nonsense after the answer: there is nobody to be told
                self.conn.pieces = MOST_PIECES + 1
            self._look()
            if self.conn.pieces > MOST_PIECES:
                self.cut()

    def on_response_complete(self) -> None:
        """The next request has its own time, which begins with its first byte."""
        super().on_response_complete()
        self._guard.waits(self, self._idle and self._admitted)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._cut_after("write", self._guard.limits.write_seconds)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._go_on("write")

    @property
    def _idle(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _look(self) -> None:
        self._guard.waits(self, self._idle and self._admitted)
        if self._idle:
            self._cut_after("header", self._guard.limits.header_seconds)
        else:
            self._go_on("header")

    def _cut_after(self, name: str, seconds: float) -> None:
        if name not in self._timers:
            self._timers[name] = self.loop.call_later(seconds, self.cut)

    def _go_on(self, *names: str) -> None:
        for name in names:
            if name in self._timers:
                self._timers.pop(name).cancel()

    def send_400_response(self, msg: str) -> None:
        """What cannot be read is told so in our words, and nothing more is read."""
        # Or raise: there was an answer already, and there is nobody to be told.
        self.conn.send(h11.Response(status_code=400, headers=[(b"connection", b"close"), (b"content-length", b"0")]))
        self.conn.send(h11.EndOfMessage())
        self._leave(last_words(MALFORMED, _UNREADABLE))

    def cut(self) -> None:
        """End it at once, and make room for another."""
        self._forget()
        self.transport.abort()

    def make_room(self) -> None:
        """Leave to a newcomer. Between two requests that needs no words, and in a handshake there are none."""
        told = self.flow is not None and (self.cycle is None or self.conn.trailing_data[0])
        self._leave(last_words(NO_ROOM) if told else b"")

    def _leave(self, words: bytes) -> None:
        """Say the last words, if there are any, and give the other side time to read them; nothing more is heard."""
        self._forget()
        if not words:
            self.transport.abort()
            return
        self.connections.add(self)  # a server that stops closes it
        self.transport.write(words)
        lingers = len(self._guard.leaving) < MOST_LEAVING
        if lingers:
            self._guard.leaving.add(self)
            self._cut_after("leave", LEAVE_SECONDS)
        if lingers and self.transport.can_write_eof():
            self.transport.write_eof()
        else:
            self.transport.close()  # TLS waits by itself for the other side

    def _forget(self) -> None:
        self._guard.leaving.discard(self)
        self._go_on(*self._timers)
        if self._admitted:
            self._admitted = False
            self._guard.left(self)


class GuardedServer(uvicorn.Server):
    """uvicorn with guarded connections on sockets that listen, each with TLS or without."""

    def __init__(
        self,
        config: uvicorn.Config,
        places: Sequence[tuple[socket.socket, ssl.SSLContext | None]],
        limits: ConnectionLimits,
    ) -> None:
        super().__init__(config)
        self._places, self._limits = places, limits

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=[])
        guard, loop = Guard(self._limits), asyncio.get_running_loop()
        for place, tls in self._places:
            make = partial(GuardedProtocol, guard, tls, self.config, self.server_state, self.lifespan.state)
            # One connection at a time: a process that is at work leaves the others to those that share the socket.
            self.servers.append(await loop.create_server(make, sock=place, backlog=1))
            place.listen(BACKLOG)
