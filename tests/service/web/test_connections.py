"""Connections that say nothing, or half of something, on real sockets."""

from __future__ import annotations

import json
import resource
import socket
import ssl
import threading
import time
from contextlib import ExitStack, closing, contextmanager, suppress

import anyio
import httpx
import pytest
from starlette.responses import PlainTextResponse, StreamingResponse
from tests.support.certificates import write_certificate
from tests.support.serving import listening

from sparsegate.service.web import connections
from sparsegate.service.web.connections import ConnectionLimits
from sparsegate.service.web.server import tls_context
from sparsegate.service.web.trusted_proxies import TrustedProxies

HALF = b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: "
WHOLE = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
CUT = 1.0


async def hello(scope, receive, send):
    long = StreamingResponse(iter([b"x" * 2**20] * 64))
    await (long if scope["path"] == "/long" else PlainTextResponse("hello"))(scope, receive, send)


@pytest.fixture(scope="module")
def served():
    limits = ConnectionLimits(most=300, most_of_one=200, header_seconds=CUT, idle_seconds=CUT, write_seconds=CUT)
    with listening(hello, limits) as url:
        yield url


def connected(url: str, source: str = "127.0.0.1") -> socket.socket:
    port = int(url.rpartition(":")[2])
    return socket.create_connection(("127.0.0.1", port), timeout=10, source_address=(source, 0))


def taken(connection: socket.socket) -> bytes:
    answer = b""
    while not answer.endswith(b"hello"):
        answer += connection.recv(4096)
    return answer


def cut_within(connection: socket.socket, seconds: float) -> bool:
    connection.settimeout(seconds)
    try:
        while connection.recv(65536):
            pass
    except TimeoutError:
        return False
    except ConnectionError:
        pass
    return True


def assert_served(url: str) -> None:
    begun = time.monotonic()
    assert httpx.get(url, timeout=10).text == "hello"
    assert time.monotonic() - begun < 1


def test_hundreds_of_half_sent_headers_shut_nobody_out_and_are_cut(served):
    sources = ("127.0.0.1", "127.0.0.1", "127.0.0.2", "127.0.0.3")
    with ExitStack() as stack:
        slow = []
        for number in range(600):
            connection = stack.enter_context(closing(connected(served, sources[number % len(sources)])))
            with suppress(ConnectionError):  # there is no room for all of them
                connection.sendall(HALF)
            slow.append(connection)
            if number % 100 == 99:
                assert_served(served)
        begun = time.monotonic()
        while time.monotonic() < begun + CUT:
            for connection in slow[-50:]:
                with suppress(ConnectionError):
                    connection.sendall(b"a")  # a byte now and then does not help
            time.sleep(0.1)
        assert_served(served)
        assert all(cut_within(connection, CUT) for connection in slow)


def test_half_a_handshake_is_half_a_header(tmp_path):
    """Counted before TLS begins, cut in the same time; and what follows a whole one at once is read."""
    cert, key = write_certificate(tmp_path)
    limits = ConnectionLimits(most=40, most_of_one=40, header_seconds=CUT)
    trusting = ssl.create_default_context(cafile=str(cert))
    with listening(hello, limits, tls=tls_context(cert, key)) as url, ExitStack() as stack:
        slow = [stack.enter_context(closing(connected(url))) for _ in range(80)]
        for connection in slow:
            with suppress(ConnectionError):
                connection.sendall(b"\x16\x03\x01")
        https = url.replace("http:", "https:")
        assert cut_within(slow[0], CUT / 2), "there is room for forty"
        for _ in range(3):
            assert httpx.get(https, verify=trusting, timeout=5).text == "hello"
        time.sleep(CUT)
        assert all(cut_within(connection, CUT) for connection in slow)
        assert httpx.get(https, verify=trusting, timeout=5).text == "hello"


def test_a_connection_that_says_nothing_is_cut(served):
    with closing(connected(served)) as silent:
        assert not cut_within(silent, CUT / 4)
        assert cut_within(silent, 2 * CUT)


def test_a_second_request_has_its_own_time_and_no_more(served):
    with closing(connected(served)) as slow:
        for _ in range(3):
            time.sleep(CUT / 2)
            slow.sendall(WHOLE)
            assert taken(slow).startswith(b"HTTP/1.1 200")
        slow.sendall(HALF)
        begun = time.monotonic()
        while time.monotonic() < begun + 3 * CUT:
            try:
                slow.sendall(b"a")
            except ConnectionError:
                break
            time.sleep(0.05)
        assert CUT / 2 < time.monotonic() - begun < 2 * CUT


def test_an_answer_that_nobody_takes_is_given_up(served):
    with closing(connected(served)) as deaf:
        deaf.sendall(WHOLE.replace(b"GET /", b"GET /long"))
        assert deaf.recv(1)
        time.sleep(2 * CUT)
        deaf.settimeout(5)
        received = 0
        with suppress(ConnectionError):
            while chunk := deaf.recv(2**20):
                received += len(chunk)
        assert received < 64 * 2**20


CHUNKED = b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize("answered", [True, False], ids=["after the answer", "with the header"])
def test_a_body_in_very_many_pieces_is_cut_before_it_takes_the_event_loop(answered):
    with listening(hello, ConnectionLimits(header_seconds=60, idle_seconds=60)) as url:
        with closing(connected(url)) as connection:
            connection.sendall(CHUNKED)
            if answered:
                taken(connection)
            with suppress(ConnectionError):
                connection.sendall(b"1\r\nx\r\n" * 10_000)
            assert cut_within(connection, 5)
        assert_served(url)


def test_a_body_in_some_pieces_is_taken_and_nonsense_after_an_answer_is_cut_without_a_word(served, caplog):
    with closing(connected(served)) as connection:
        for _ in range(2):
            connection.sendall(CHUNKED + b"a0\r\n%b\r\n" % (b"x" * 160) * 400 + b"0\r\n\r\n")
            assert b"200 OK" in taken(connection)
        connection.sendall(CHUNKED)
        taken(connection)
        connection.sendall(b"no number\r\n")
        assert cut_within(connection, CUT / 2)
    assert_served(served)
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


def problem_in(answer: bytes) -> tuple[int, str]:
    """The status of an answer that ends its connection, and the type of the problem that it is."""
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b"connection: close" in head.lower()
    assert b"content-type: application/problem+json" in head.lower()
    return int(head.split()[1]), json.loads(body)["type"]


def heard(connection: socket.socket, patience: float = 5.0) -> bytes:
    """All that comes until the other side ends."""
    connection.settimeout(patience)
    parts = []
    while part := connection.recv(65536):
        parts.append(part)
    return b"".join(parts)


SMUGGLED = b"0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.mark.parametrize(("order", "name"), [(1, b"Transfer-Encoding"), (-1, b"tRANSFER-eNCODING")])
def test_two_lengths_of_one_request_close_the_connection(order, name):
    paths = []

    async def noting(scope, receive, send):
        paths.append(scope["path"])
        await hello(scope, receive, send)

    lengths = [b"Content-Length: %d\r\n" % len(SMUGGLED), name + b": chunked\r\n"][::order]
    with listening(noting, ConnectionLimits()) as url, closing(connected(url)) as connection:
        connection.sendall(b"POST / HTTP/1.1\r\nHost: localhost\r\n" + b"".join(lengths) + b"\r\n" + SMUGGLED)
        assert problem_in(heard(connection)) == (400, "malformed")
        assert_served(url)
    assert paths == ["/"], "that of the last look"


TWO = ConnectionLimits(most=2, most_of_one=2)


@contextmanager
def all_busy(tls=None, limits=TWO):
    """The URL of a service with two places, a way to take one with a request that lasts, and an end to all of those."""
    go = threading.Event()

    async def held(scope, receive, send):
        while scope["path"] == "/held" and not go.is_set():
            await anyio.sleep(0.01)
        await PlainTextResponse("hello")(scope, receive, send)

    with listening(held, limits, tls=tls) as url, ExitStack() as stack:

        def take_place(secured=lambda connection: connection):
            connection = stack.enter_context(closing(secured(connected(url))))
            connection.sendall(WHOLE.replace(b"GET /", b"GET /held"))
            time.sleep(0.1)
            return connection

        try:
            yield url, take_place, go
        finally:
            go.set()


def test_a_newcomer_without_a_place_is_told_though_it_still_sends():
    with all_busy() as (url, take_place, _):
        take_place()
        take_place()
        with closing(connected(url)) as newcomer:
            begun = time.monotonic()
            for part in (WHOLE, b"x" * 30_000, b"x" * 30_000):
                newcomer.sendall(part)  # and is not reset
                time.sleep(0.1)
            answer = heard(newcomer)
            assert problem_in(answer) == (503, "no-room")
            assert b"retry-after: 1" in answer.lower()
            with suppress(ConnectionError):  # who goes on sending is not heard for long
                while time.monotonic() < begun + 5:
                    newcomer.sendall(b"x")
                    time.sleep(0.05)
            assert time.monotonic() - begun < 3


def test_they_are_told_with_tls_too(tmp_path):
    cert, key = write_certificate(tmp_path)
    trusting = ssl.create_default_context(cafile=str(cert))

    def secured(connection):
        return trusting.wrap_socket(connection, server_hostname="127.0.0.1")

    with all_busy(tls_context(cert, key)) as (url, take_place, _):
        take_place(secured)
        take_place(secured)
        with closing(secured(connected(url))) as newcomer:
            newcomer.sendall(WHOLE)
            assert problem_in(heard(newcomer)) == (503, "no-room")


@pytest.mark.parametrize("sent", [b"", HALF], ids=["nothing", "half a header"])
def test_who_has_lost_the_place_before_an_answer_is_told(sent):
    with all_busy() as (url, take_place, _):
        take_place()
        with closing(connected(url)) as displaced:
            displaced.sendall(sent)
            time.sleep(0.1)
            take_place()
            displaced.sendall(b"a")
            assert problem_in(heard(displaced)) == (503, "no-room")


@pytest.mark.parametrize(("begun", "told"), [(b"", False), (HALF, True)], ids=["idle", "half a header"])
def test_between_two_requests_nothing_is_said_that_could_be_taken_for_an_answer(begun, told):
    with all_busy() as (url, take_place, _):
        take_place()
        with closing(connected(url)) as kept:
            kept.sendall(WHOLE)
            taken(kept)
            kept.sendall(begun)
            time.sleep(0.1)
            take_place()
            with suppress(ConnectionError):
                assert bool(heard(kept)) is told


@pytest.mark.parametrize(("proxies", "status"), [([], 503), (["127.0.0.1"], 200)])
def test_a_trusted_proxy_may_have_all_the_places(proxies, status):
    limits = ConnectionLimits(most=20, most_of_one=2, proxies=TrustedProxies(proxies))
    with all_busy(limits=limits) as (_, take_place, go):
        *_, last = (take_place() for _ in range(3))
        go.set()
        assert last.recv(4096).startswith(b"HTTP/1.1 %d" % status)


def test_few_leave_at_once(monkeypatch):
    monkeypatch.setattr(connections, "MOST_LEAVING", 2)
    with all_busy() as (url, take_place, _), ExitStack() as stack:
        take_place()
        take_place()
        for place in range(4):
            newcomer = stack.enter_context(closing(connected(url)))
            assert newcomer.recv(4096).startswith(b"HTTP/1.1 503")
            assert newcomer.recv(4096) == b""
            time.sleep(0.1)
            with suppress(ConnectionError):
                newcomer.sendall(b"x")
                time.sleep(0.1)
                newcomer.sendall(b"x")
                assert place < 2, "the others are closed at once"


@pytest.mark.parametrize("cut_before", [False, True])
def test_where_all_have_a_request_under_way_the_newcomer_is_told(cut_before):
    with all_busy() as (url, take_place, go):
        if cut_before:  # in the moment in which it is answered: it must not stand in line for good
            with closing(connected(url)) as connection:
                connection.sendall(CHUNKED + b"1\r\nx\r\n" * 1_000)
                assert cut_within(connection, 5)
        busy = [take_place() for _ in range(2)]
        with closing(connected(url, "127.0.0.2")) as newcomer:
            assert newcomer.recv(4096).startswith(b"HTTP/1.1 503")
        go.set()
        assert all(taken(connection).startswith(b"HTTP/1.1 200") for connection in busy)
        assert_served(url)


def test_there_are_no_more_connections_than_file_descriptors(monkeypatch):
    allowed = [300, 500]
    monkeypatch.setattr(resource, "getrlimit", lambda _: tuple(allowed))
    monkeypatch.setattr(resource, "setrlimit", lambda _, both: allowed.__setitem__(slice(None), both))
    assert ConnectionLimits(most=100).room() == 100
    assert allowed == [356, 500]
    assert ConnectionLimits(most=1000).room() == 500 - 256
    assert ConnectionLimits(most=10).room() == 10
