"""Telling others of an alert: a webhook for each that fires, and numbers for Prometheus.

**Both say what was released, and public numbers, and nothing else.** The numbers are written when an answer has been
given, so that looking at them, or how long that takes, tells nothing new.

**A hook never holds up an alert.** It is sent by a thread of its own when the answer is stored. It is tried thrice,
and each waits at most five seconds for a byte; what failed is one line on standard error, which names the host and not
the path, because those who make hooks put secrets there. No redirect is followed: the answer goes where its owner said.
"""

from __future__ import annotations

import json
import os
import queue
import threading
from collections.abc import Callable, Mapping
from http.client import HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, OpenerDirector, ProxyHandler, Request, build_opener

from sparsegate.errors import ParameterError

_HERE: Final = ("localhost", "127.0.0.1", "::1")
_ATTEMPTS: Final = 3
_MEANINGS: Final = {
    "windows_answered": ("counter", "Windows that were answered."),
    "windows_fired": ("counter", "Windows that fired."),
    "epsilon_reserved": ("gauge", "What is charged while the alert may answer."),
    "epsilon_spent": ("gauge", "What the answers so far have cost."),
    "closed": ("gauge", "1 where the alert answers no more."),
    "threshold": ("gauge", "The public threshold."),
    "margin": ("gauge", "How far from the threshold a count must be to be answered rightly with 95 %."),
}


class _NoRedirect(HTTPRedirectHandler):
    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


class Webhook:
    """Posts released answers to a URL, from a thread of its own."""

    def __init__(self, url: str, *, say: Callable[[str], object], timeout: float = 5.0, pause: float = 1.0) -> None:
        try:
            parts = urlsplit(url)
            host, _ = parts.hostname, parts.port
        except ValueError:
            parts, host = urlsplit(""), None
        here = host in _HERE
        plain = url.isascii() and url.isprintable() and " " not in url and "@" not in parts.netloc
        if not host or not plain or not (parts.scheme == "https" or (parts.scheme == "http" and here)):
            rule = "must be https://, or http:// on this machine, in ASCII, without a name and a password"
            raise ParameterError("webhook", rule, next_step="give for instance https://hooks.example.org/...")
        self._url, self._host, self._say, self._timeout, self._pause = url, host, say, timeout, pause
        handlers = [_NoRedirect(), *([ProxyHandler({})] if here else [])]
        self._opener: OpenerDirector = build_opener(*handlers)
        self._waiting: queue.Queue[bytes | None] = queue.Queue()
        self._left = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def post(self, answer: Mapping[str, Any]) -> None:
        """Hand over a released answer; returns at once."""
        self._waiting.put(json.dumps(dict(answer)).encode())

    def close(self, patience: float = 10.0) -> None:
        """Wait for what is under way, and not longer than this."""
        self._waiting.put(None)
        self._thread.join(patience)
        self._left.set()
        if self._thread.is_alive():  # the one under way, and those that wait: the queue without its end
            late = self._waiting.qsize()
            self._say(f"the webhook at {self._host} is slow: the last alerts, up to {max(1, late)}, may not be sent")

    def _run(self) -> None:
        while (body := self._waiting.get()) is not None:
            if reason := self._sent(body):
                self._say(f"the webhook at {self._host} failed {_ATTEMPTS} times ({reason}); the alert above stands")

    def _sent(self, body: bytes) -> str:
        """Nothing, or why it could not be sent."""
        reason = ""
        for attempt in range(_ATTEMPTS):
            if attempt and self._left.wait(self._pause * 2 ** (attempt - 1)):
                break
            request = Request(self._url, body, {"Content-Type": "application/json"}, method="POST")
            try:
                with self._opener.open(request, timeout=self._timeout):
                    return ""
            except HTTPError as error:
                reason = f"status {error.code}"
                error.close()
            except (URLError, HTTPException, OSError, ValueError) as error:
                reason = type(error).__name__
        return reason


class AlertMetrics:
    """The numbers of an alert in the text format of Prometheus: on a port of this machine, or in a file."""

    def __init__(self, place: str, *, say: Callable[[str], object]) -> None:
        self._text, self._say = "", say
        self._file: Path | None = None
        self._server: ThreadingHTTPServer | None = None
        if not place.isascii() or not place.isdigit():
            self._file = Path(place)
            if not place or self._file.is_dir() or not self._file.absolute().parent.is_dir():
                raise ParameterError("metrics", "must be a port, or a file in a folder that is there", place)
            return
        try:
            self._server = ThreadingHTTPServer(("127.0.0.1", int(place)), self._handler())
        except (OSError, OverflowError) as error:
            why = getattr(error, "strerror", None) or "from 0 to 65535"
            raise ParameterError("metrics", f"must be a port that is free ({why})", place, "give another") from None
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.1,), daemon=True).start()

    @property
    def port(self) -> int | None:
        """Where it listens."""
        return None if self._server is None else int(self._server.server_address[1])

    def show(self, name: str, facts: Mapping[str, float]) -> None:
        """Write the numbers down, when an answer has been given."""
        escaped = name.replace("\\", r"\\").replace('"', r"\"")
        lines = []
        for fact, value in facts.items():
            kind, meaning = _MEANINGS[fact]
            full = f"sparsegate_alert_{fact}" + "_total" * (kind == "counter")
            lines += [f"# HELP {full} {meaning}", f"# TYPE {full} {kind}", f'{full}{{alert="{escaped}"}} {value!r}']
        self._text = "\n".join(lines) + "\n"
        if self._file is not None:
            draft = self._file.with_name(f".{self._file.name}.{os.getpid()}.new")
            try:
                draft.write_text(self._text, encoding="utf-8")
                draft.replace(self._file)
            except OSError as error:  # a full disk must not stop the alert
                self._say(f"the metrics cannot be written: {error.strerror}")

    def close(self) -> None:
        """Listen no more; a file stays."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        metrics = self

        class Handler(BaseHTTPRequestHandler):
            timeout = 10

            def do_GET(self) -> None:  # the name that http.server calls
                found = self.path.partition("?")[0] in ("/", "/metrics")
                body = metrics._text.encode() if found else b""
                self.send_response(200 if found else 404)
                self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                """Nothing: standard error is for what the owner must read."""

        return Handler
