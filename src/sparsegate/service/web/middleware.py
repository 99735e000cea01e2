"""What stands around the application: errors become problems, bodies are bounded, answers carry safe headers.

All that comes is HTTP: ``server`` has uvicorn send neither WebSockets nor a lifespan. Whatever is raised inside ends in
``ErrorBoundary``. An error that nobody expected is a constant 500, and its class alone goes to the log: its text, its
arguments and the variables around it may hold a cell.

One line for each request, and the request's name: X-Request-Id. A line holds nothing that depends on private data; the
argument is in docs/explanation/proofs_in_words/web.md.
"""

from __future__ import annotations

import json
import logging
import re
import secrets
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, Final

import anyio
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sparsegate.errors import LedgerError, ParameterError, SparsegateError, TableError
from sparsegate.service.web.problems import INTERNAL, NOT_JSON, TOO_LARGE, TOO_SLOW, WRONG_HOST, Refused, problem_of
from sparsegate.service.web.trusted_proxies import read_address

LOG: Final = logging.getLogger("sparsegate.service")
REQUESTS: Final = logging.getLogger("sparsegate.requests")
FORMATS: Final = ("text", "json")
_ASK: Final = re.compile(r"/v1/gates/[^/]+/ask")
_SANE: Final = re.compile(r"[A-Za-z0-9._-]{1,64}", re.ASCII)
_FIELDS: Final = ("client", "token", "method", "path", "status", "request_id")


class TextLines(logging.Formatter):
    """A line to be read; an exception is its class alone, because its text may hold a cell."""

    def format(self, record: logging.LogRecord) -> str:
        text = " ".join([record.getMessage(), *_raised(record)])
        return f"{_moment(record)} {record.levelname} {text}"


class JsonLines(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        fields = getattr(record, "request", {})
        line = {"time": _moment(record), "level": record.levelname.lower(), "logger": record.name, **fields}
        return json.dumps(line | ({} if fields else {"message": " ".join([record.getMessage(), *_raised(record)])}))


def _moment(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")


def _raised(record: logging.LogRecord) -> list[str]:
    return [record.exc_info[0].__name__] if record.exc_info and record.exc_info[0] else []


def logging_of(log_format: str) -> dict[str, Any]:
    """What ``logging.config.dictConfig`` is given."""
    if log_format not in FORMATS:
        raise ParameterError("log_format", f"must be {' or '.join(FORMATS)}", log_format)
    levels = {LOG.name: "INFO", REQUESTS.name: "INFO", "uvicorn.error": "WARNING"}
    common = {"handlers": ["stderr"], "propagate": False}
    handler = {"class": "logging.StreamHandler", "formatter": "line", "stream": "ext://sys.stderr"}
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"line": {"()": TextLines if log_format == "text" else JsonLines}},
        "handlers": {"stderr": handler},
        "loggers": {name: {"level": level, **common} for name, level in levels.items()},
    }


@dataclass
class RequestCounts:
    """How many answers have left, by status; and of questions, by what the client was told."""

    requests: Counter[str] = field(default_factory=Counter)
    asks: Counter[str] = field(default_factory=lambda: Counter({"answered": 0, "outcome-lost": 0}))

    def add(self, scope: Scope, status: int) -> None:
        """An answer leaves. In the event loop: no lock."""
        self.requests[f'status="{status}"'] += 1
        if _ASK.fullmatch(scope["path"]) and scope["method"] == "POST":
            reason = scope["state"].get("problem", f"status-{status}")
            self.asks["answered" if status < 300 else reason] += 1


class RequestLog:
    """Names each request, tells and counts what became of it, and answers HEAD wherever there is a GET."""

    def __init__(self, app: ASGIApp, *, counts: RequestCounts) -> None:
        self.app, self._counts = app, counts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        wanted = Headers(scope=scope).get("x-request-id", "")
        name = wanted if _SANE.fullmatch(wanted) else secrets.token_hex(8)
        scope.setdefault("state", {})["request_id"] = name
        bare = scope["method"] == "HEAD"

        async def named(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers["X-Request-Id"] = name
                if headers.get("allow", "").split(", ").count("GET"):
                    headers["Allow"] += ", HEAD"
                self._write(scope, message["status"])
            elif bare and message["type"] == "http.response.body":
                message = {**message, "body": b""}
            await send(message)

        await self.app({**scope, "method": "GET"} if bare else scope, receive, named)

    def _write(self, scope: Scope, status: int) -> None:
        self._counts.add(scope, status)
        token = scope["state"].get("token")
        # As it was sent, in percent signs: what is decoded may hold the end of a line.
        path = scope.get("raw_path", scope["path"].encode("ascii", "replace")).decode("ascii", "replace")
        who = None if token is None else token.name
        values = ((scope.get("client") or ("",))[0], who, scope["method"], path, status, scope["state"]["request_id"])
        line = (values[0] or "-", who or "-", *values[2:])
        REQUESTS.info('%s %s "%s %s" %d %s', *line, extra={"request": dict(zip(_FIELDS, values, strict=True))})


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
    """Around all below: every response has the safe headers, and every error is a problem."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
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
        named = Headers(scope=scope).getlist("host")
        host = _HOST.fullmatch(named[0].lower()) if len(named) == 1 else None
        if host is None or (host["host"] not in self._hosts and read_address(host["host"]) is None):
            raise Refused(WRONG_HOST)
        await self.app(scope, receive, send)


class BodyLimit:
    """Takes a whole body in before anybody reads it: up to ``most`` bytes, in a limited time, JSON where it is posted.

    The bytes are counted as they come, because a client may send no Content-Length, or a wrong one.
    """

    def __init__(self, app: ASGIApp, *, seconds: float, most: int = BODY_BYTES) -> None:
        self.app, self._seconds, self._most = app, seconds, most

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        announced = headers.get("content-length", "0")
        if announced.isdecimal() and int(announced[:20]) > self._most:
            raise Refused(TOO_LARGE)
        body = await self._taken_in(receive)
        if body is None:  # the client has left
            return
        # Without a body there is nothing that could be JSON: what takes none may say that it takes no POST.
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if body and scope["method"] == "POST" and kind != "application/json":
            raise Refused(NOT_JSON)
        taken = False

        async def again() -> Message:
            nonlocal taken
            if taken:
                return await receive()
            taken = True
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
