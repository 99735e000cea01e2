"""What stands around the application: errors become problems, bodies are bounded, answers carry safe headers.

Whatever is raised inside ends in ``ErrorBoundary``. An error that nobody expected is a constant 500, and its class
alone goes to the log: its text, its arguments and the variables around it may hold a cell.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Collection
from types import MappingProxyType
from typing import Final

import anyio
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sparsegate.errors import LedgerError, SparsegateError, TableError
from sparsegate.service.web.problems import (
    INTERNAL,
    NOT_JSON,
    TOO_LARGE,
    TOO_SLOW,
    WRONG_HOST,
    Refused,
    problem_of,
)
from sparsegate.service.web.request_log import LOG

_HOST: Final = re.compile(r"(?P<host>\[[^\]]*\]|[^:\[\]]*)(:[0-9]*)?", re.ASCII)
BODY_BYTES: Final = 65_536
HEADERS: Final = MappingProxyType(
    {
        "Content-Security-Policy": "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; "
        "object-src 'none'",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
    }
)


class ErrorBoundary:
    """Outermost: every response has the safe headers, and every error is a problem."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begun = False

        async def careful(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                headers = MutableHeaders(scope=message)
                headers.update(HEADERS)
                # Answers of /v1 belong to one token. The rest may be kept, but must be checked again before use, unless
                # its address changes with it.
                if scope["path"].startswith("/v1"):
                    headers["Cache-Control"] = "no-store"
                headers.setdefault("Cache-Control", "no-cache")
            await send(message)

        try:
            await self.app(scope, receive, careful)
            return
        except Refused as error:
            refused = error
        except SparsegateError as error:
            refused = problem_of(error)
            if isinstance(error, LedgerError | TableError):
                # Their words hold paths and never data.
                LOG.error("%s: %s", type(error).__name__, " ".join(str(error).split()))
            elif refused.sort is INTERNAL:
                LOG.error("a request failed: %s", type(error).__name__)
        except Exception as error:
            refused = Refused(INTERNAL)
            LOG.error("a request failed: %s", type(error).__name__)
        if not begun:
            scope.setdefault("state", {})["problem"] = refused.sort.type
            await refused.response()(scope, receive, careful)


class HostCheck:
    """Refuses a request that was meant for another host, by its header Host.

    A page from elsewhere that a browser shows can have its own name resolve to this service (DNS rebinding), and would
    then be of the same origin as the service. It cannot have the browser send another name than its own. So what is
    served are the names that this service was given, localhost, and addresses: those are nobody's to resolve.
    """

    def __init__(self, app: ASGIApp, *, hosts: Collection[str]) -> None:
        self.app, self._hosts = app, {"localhost", *(host.lower() for host in hosts)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not self._known(Headers(scope=scope).getlist("host")):
            raise Refused(WRONG_HOST)
        await self.app(scope, receive, send)

    def _known(self, named: list[str]) -> bool:
        found = _HOST.fullmatch(named[0].lower()) if len(named) == 1 else None
        return found is not None and (found["host"] in self._hosts or _is_address(found["host"].strip("[]")))


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


class BodyLimit:
    """Takes a whole body in before anybody reads it: up to ``most`` bytes, in a limited time, JSON where it is posted.

    The bytes are counted as they come, because a client may send no Content-Length, or a wrong one.
    """

    def __init__(self, app: ASGIApp, *, seconds: float, most: int = BODY_BYTES) -> None:
        self.app, self._seconds, self._most = app, seconds, most

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        announced = headers.get("content-length", "0")
        if announced.isdecimal() and int(announced[:20]) > self._most:
            raise Refused(TOO_LARGE)
        body = await self._taken_in(receive)
        if body is None:  # the client has left
            return
        # Without a body there is nothing that could be JSON: what takes none may say that it takes no POST.
        if body and scope["method"] == "POST" and not _is_json(headers.get("content-type", "")):
            raise Refused(NOT_JSON)
        given = False

        async def again() -> Message:
            nonlocal given
            if given:
                return await receive()
            given = True
            return {"type": "http.request", "body": body, "more_body": False}

        await self.app(scope, again, send)

    async def _taken_in(self, receive: Receive) -> bytes | None:
        chunks, size = [], 0
        with anyio.move_on_after(self._seconds):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    return None
                chunk = message.get("body", b"")
                size += len(chunk)
                if size > self._most:
                    raise Refused(TOO_LARGE)
                chunks.append(chunk)
                if not message.get("more_body", False):
                    return b"".join(chunks)
        raise Refused(TOO_SLOW)


def _is_json(content_type: str) -> bool:
    return content_type.partition(";")[0].strip().lower() == "application/json"
