"""Webhooks that are tried, and then let go, and numbers for Prometheus on a port."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from sparsegate.cli.follow import AlertMetrics, Webhook
from sparsegate.errors import ParameterError


class Receiver:
    """A server on this machine: what it got, and the statuses that it answers with, one after another."""

    def __init__(self) -> None:
        self.got: list[tuple[str, dict]] = []
        self.statuses: list[int] = []
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.got.append((self.path, json.loads(body)))
                status = receiver.statuses.pop(0) if receiver.statuses else 200
                self.send_response(status)
                self.send_header("Location", "/elsewhere")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def do_GET(self) -> None:  # where a redirect would lead
                receiver.got.append((self.path, {}))
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_: object) -> None: ...

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}/hook/secret"


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver()
    yield made
    made.server.shutdown()
    made.server.server_close()


def sent(url: str) -> list[str]:
    said: list[str] = []
    hook = Webhook(url, say=said.append, timeout=5, pause=0)
    hook.post({"window": 3, "fired": True})
    hook.post({"window": 4, "fired": True})
    hook.close()
    return said


def test_what_fired_is_posted_in_its_order(receiver: Receiver) -> None:
    assert sent(receiver.url) == []
    assert receiver.got == [("/hook/secret", {"window": window, "fired": True}) for window in (3, 4)]


def test_a_hook_is_tried_again_and_the_next_one_is_sent_whatever_happened(receiver: Receiver) -> None:
    receiver.statuses = [500, 503, 200]
    assert sent(receiver.url) == []
    assert [body["window"] for _, body in receiver.got] == [3, 3, 3, 4]
    receiver.got.clear()
    receiver.statuses = [500] * 3
    (said,) = sent(receiver.url)
    assert said == "the webhook at 127.0.0.1 failed 3 times (status 500); the alert above stands"
    assert [body["window"] for _, body in receiver.got] == [3, 3, 3, 4]


def test_no_redirect_is_followed_and_no_secret_is_said(receiver: Receiver) -> None:
    receiver.statuses = [302, 307, 301]
    (said,) = sent(receiver.url)
    assert "status 301" in said
    assert "secret" not in said
    assert {path for path, _ in receiver.got} == {"/hook/secret"}


def test_a_server_that_is_not_there_stops_nothing() -> None:
    gone = Receiver()
    gone.server.shutdown()
    gone.server.server_close()
    assert [text.count("failed 3 times (URLError)") for text in sent(gone.url)] == [1, 1]


@pytest.mark.parametrize(
    "url",
    [
        "http://example.org/",
        "ftp://localhost/",
        "file:///etc/passwd",
        "https://",
        "x",
        "https://a:b@c/",
        "https://:b@c/",
        "https://c/a b",
        "https://c/\u00e9",
        "https://c/\n",
        "https://[",
        "https://a:b",
    ],
)
def test_a_hook_goes_over_https_or_stays_on_this_machine(url: str) -> None:
    with pytest.raises(ParameterError, match="webhook must be https"):
        Webhook(url, say=print)


def test_what_a_slow_hook_did_not_take_is_said() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:  # takes a connection, and answers nothing
        said: list[str] = []
        hook = Webhook(f"http://127.0.0.1:{silent.getsockname()[1]}/secret", say=said.append, timeout=2)
        for window in range(3):
            hook.post({"window": window})
        until = time.monotonic() + 1
        while hook._waiting.qsize() > 2 and time.monotonic() < until:
            time.sleep(0.01)
        hook.close(patience=0.05)
        assert said == ["the webhook at 127.0.0.1 is slow: the last alerts, up to 3, may not be sent"]


def test_numbers_are_served_on_this_machine_and_nothing_else_is() -> None:
    metrics = AlertMetrics("0", say=print)
    metrics.show("errors", {"windows_answered": 3, "closed": 0.0})
    place = f"http://127.0.0.1:{metrics.port}"
    with urlopen(f"{place}/metrics") as answer:
        assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
        text = answer.read().decode()
    assert 'sparsegate_alert_windows_answered_total{alert="errors"} 3\n' in text
    assert 'sparsegate_alert_closed{alert="errors"} 0.0\n' in text
    with pytest.raises(HTTPError, match="404"):
        urlopen(f"{place}/else")
    with pytest.raises(ParameterError, match="metrics must be a port that is free"):
        AlertMetrics(str(metrics.port), say=print)
    metrics.close()


def test_numbers_that_cannot_be_written_stop_nothing(tmp_path: Path) -> None:
    said: list[str] = []
    folder = tmp_path / "numbers"
    folder.mkdir()
    metrics = AlertMetrics(str(folder / "x.prom"), say=said.append)
    folder.rmdir()
    metrics.show("errors", {"closed": 0.0})
    assert said == ["the metrics cannot be written: No such file or directory"]
