"""One line for each request, and the request's name: X-Request-Id.

A line holds the time, who asked (the *name* of the token), the method, the path without its query, and the status. It
holds nothing that depends on private data, by this argument: name, method and path are the client's own; the status is
what the client was told; and there is no duration. The time of a line is when the answer left, which is public with a
delay D, and says no more than a client's own clock without one.
"""

from __future__ import annotations

import json
import logging
import re
import secrets
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sparsegate.errors import ParameterError

LOG: Final = logging.getLogger("sparsegate.service")
REQUESTS: Final = logging.getLogger("sparsegate.requests")
FORMATS: Final = ("text", "json")
_SANE: Final = re.compile(r"[A-Za-z0-9._-]{1,64}", re.ASCII)
_FIELDS: Final = ("client", "token", "method", "path", "status", "request_id")


class TextLines(logging.Formatter):
    """A line to be read; an exception is its class alone, because its text may hold a cell."""

    def format(self, record: logging.LogRecord) -> str:
        """Time, level, and what happened."""
        said = " ".join([record.getMessage(), *_raised(record)])
        return f"{_moment(record)} {record.levelname} {said}"


class JsonLines(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        """The same, with the fields of a request by name."""
        fields = getattr(record, "request", {})
        said = {"time": _moment(record), "level": record.levelname.lower(), "logger": record.name, **fields}
        return json.dumps(said | ({} if fields else {"message": " ".join([record.getMessage(), *_raised(record)])}))


def _moment(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")


def _raised(record: logging.LogRecord) -> list[str]:
    return [record.exc_info[0].__name__] if record.exc_info and record.exc_info[0] else []


def logging_of(log_format: str) -> dict[str, Any]:
    """What ``logging.config.dictConfig`` is given."""
    if log_format not in FORMATS:
        raise ParameterError("log_format", f"must be {' or '.join(FORMATS)}", log_format)
    lines = TextLines if log_format == "text" else JsonLines
    levels = {LOG.name: "INFO", REQUESTS.name: "INFO", "uvicorn.error": "WARNING"}
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"line": {"()": lines}},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line", "stream": "ext://sys.stderr"}},
        "loggers": {
            name: {"handlers": ["stderr"], "level": level, "propagate": False} for name, level in levels.items()
        },
    }


class RequestLog:
    """Outermost: names each request, tells what became of it, and answers HEAD wherever there is a GET.

    ``told`` is called with the scope and the status, for whoever counts.
    """

    def __init__(self, app: ASGIApp, *, told: Callable[[Scope, int], None] = lambda *_: None) -> None:
        self.app, self._told = app, told

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        given = Headers(scope=scope).get("x-request-id", "")
        name = given if _SANE.fullmatch(given) else secrets.token_hex(8)
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
        self._told(scope, status)
        token = scope["state"].get("token")
        # As it was sent, in percent signs: what is decoded may hold the end of a line.
        path = scope.get("raw_path", scope["path"].encode("ascii", "replace")).decode("ascii", "replace")
        who = None if token is None else token.name
        told = ((scope.get("client") or ("",))[0], who, scope["method"], path, status, scope["state"]["request_id"])
        line = (told[0] or "-", who or "-", *told[2:])
        REQUESTS.info('%s %s "%s %s" %d %s', *line, extra={"request": dict(zip(_FIELDS, told, strict=True))})
