"""What a service refuses and what it must not say: bodies, limits, lines, and errors of its own."""

from __future__ import annotations

import json
import logging
import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace

import anyio
import pytest
from tests.support.serving import CERTAIN, MANY, NOBODY, TOP, UNLIMITED, assert_problem, serving, visits

from sparsegate.errors import LedgerError, TableError
from sparsegate.ledger.account import exact_text
from sparsegate.service.deadline import DelayPlan
from sparsegate.service.web.admission import Limits
from sparsegate.service.web.trusted_proxies import TrustedProxies

GATE = "/v1/gates/g-0123456789abcdef"
JSON = {"Content-Type": "application/json"}
FULL = {
    "/v1/gates": CERTAIN,
    "/v1/practice/gates": CERTAIN,
    "/v1/preview": CERTAIN,
    "/v1/top": TOP,
    "/v1/tokens": {"name": "berta"},
    "/v1/gates/g-0123456789abcdef/ask": {"where": "country = 'DE'"},
}


def test_a_condition_that_could_take_longer_than_an_answer_may_is_refused_and_spends_nothing(tmp_path, data):
    with serving(tmp_path, data, pace=DelayPlan(capacity=1e-9)) as service:
        gate = service.open_gate()
        problem = assert_problem(service.ask(gate, "page LIKE '%a%'"), 422, "condition")
        assert "must take less work" in problem["detail"]
        assert "--delay" in problem["next_step"]
        assert service.send("GET", f"/v1/gates/{gate}").json()["asked"] == 0


@pytest.mark.parametrize(
    ("path", "field", "values"),
    [
        ("/v1/top", "domain", ["/etc/passwd", "visits.csv", [None], [True], [1.5], 0, 1.5, True, None, {}]),
        ("/v1/top", "item", ["visitor", "rowid", "filename", "nothing"]),
        ("/v1/top", "method", ["best"]),
        ("/v1/gates", "threshold", ["1", 1.0, True, None, 2**62]),
        ("/v1/gates", "cutoff", ["1", 1.0, True, None, 0, -1, 2**31]),
        ("/v1/gates", "epsilon", ["", "0", "-1", "1e3", "١", " 1", "1/3", "NaN", True, None, 0, -0.5, [], "1" * 5000]),
        ("/v1/gates", "queries", ["1", 1.0, True, 0, 2**31]),
        ("/v1/gates", "extra", [1]),
        ("/v1/gates", "name", ["x" * 101, "two\nlines", "nul\x00", "right\u202eleft", 5, "\ud800"]),
        ("/v1/gates", "description", ["x" * 1001, "bell\x07", None, "\ud800"]),
        ("/v1/tokens", "name", ["anna", "nul\x00", " ", "x" * 101]),
        ("/v1/tokens", "role", ["king"]),
        ("/v1/tokens", "expires", ["yesterday", "2001-01-01", "99999999999999999d"]),
        ("/v1/tokens", "most_above", [0, 10**30]),
        ("/v1/tokens", "most_epsilon", ["1", -1]),
    ],
)
def test_a_value_is_of_the_right_kind_and_nothing_is_cast_or_read_from_a_file(standing, path, field, values):
    for value in values:
        content = json.dumps(FULL[path] | {field: value}).encode()
        problem = assert_problem(standing.send("POST", path, content=content, headers=JSON), 422, "parameter")
        assert problem["pointer"] == f"/{field}"
        assert "^" not in problem["detail"], "a rule is told in words"
    assert spent(standing) == ("0", 1, 2)


@pytest.mark.parametrize("path", ["/v1/gates", f"{GATE}/ask", "/v1/top"])
@pytest.mark.parametrize("key", [None, "x" * 201, "Schlüssel", "a\tb"])
def test_every_post_needs_an_idempotency_key(standing, path, key):
    body = {"/v1/gates": CERTAIN, "/v1/top": TOP}.get(path, {"where": MANY})
    headers = {} if key is None else {"Idempotency-Key": key.encode("latin-1")}
    response = standing.send("POST", path, body, key=None, headers=headers)
    assert_problem(response, 400, "idempotency-key")


def test_a_refused_condition_says_where_and_which_columns_are_near(service):
    gate = service.open_gate()
    problem = assert_problem(service.ask(gate, "page = '/pay' AND cuntry = 'DE'"), 422, "condition")
    assert (problem["pointer"], problem["start"], problem["end"], problem["near"]) == ("/where", 18, 24, ["country"])
    for unknown in ("g-0123456789abcdef", "g-x", "%00", "g-0123456789ABCDEF", "x" * 500):
        assert_problem(service.send("GET", f"/v1/gates/{unknown}/answers"), 404, "unknown-gate")
        assert_problem(service.ask(unknown, MANY), 404, "unknown-gate")


def test_a_body_of_64_kib_is_taken_and_one_byte_more_is_not_whatever_length_was_announced(service):
    async def pieces():
        for _ in range(100):
            yield b" " * 1024

    just = json.dumps({"where": ""}).encode()
    just = just.replace(b'""', b'"' + b" " * (65_536 - len(just)) + b'"')
    assert len(just) == 65_536
    path = f"/v1/gates/{service.open_gate()}/ask"
    assert_problem(service.send("POST", path, content=just, headers=JSON), 422, "condition")
    for content, announced in ((just + b" ", {}), (pieces(), {}), (pieces(), {"Content-Length": "5"})):
        response = service.send("POST", path, content=content, headers=JSON | announced)
        assert_problem(response, 413, "too-large")


def test_a_body_that_does_not_end_is_408(tmp_path, data):
    async def slow():
        yield b"{"
        await anyio.sleep(30)

    with serving(tmp_path, data, limits=replace(UNLIMITED, body_seconds=0.05)) as service:
        response = service.send("POST", "/v1/gates", content=slow(), headers=JSON)
        assert_problem(response, 408, "too-slow")


@pytest.mark.parametrize(
    ("limits", "path", "token", "status"),
    [
        (Limits(rate=0.01, burst=3), "/v1/gates", "analyst", 200),
        (Limits(failure_rate=0.01, failure_burst=3), "/v1/gates", "sg_wrong", 401),
        (Limits(open_rate=0.01, open_burst=3), "/openapi.json", None, 200),
        (Limits(open_rate=0.01, open_burst=3), "/nothing", None, 404),
    ],
)
def test_whoever_asks_too_often_waits_and_the_others_do_not(tmp_path, data, limits, path, token, status):
    """Whoever guesses tokens, too, and locks nobody out."""
    with serving(tmp_path, data, limits=limits) as service:
        answers = [service.send("GET", path, token=token) for _ in range(4)]
        assert [answer.status_code for answer in answers] == [status] * 3 + [429]
        assert_problem(answers[-1], 429, "too-many-requests")
        assert 90 <= int(answers[-1].headers["retry-after"]) <= 100
        assert service.send("GET", "/v1/gates", token="owner").status_code == 200


def test_whoever_watches_the_service_or_opens_its_page_is_not_refused_because_of_others(tmp_path, data):
    with serving(tmp_path, data, limits=Limits(open_rate=0.01, open_burst=1)) as service:
        while service.send("GET", "/nothing", token=None).status_code != 429:
            pass
        first = service.send("GET", "/", token=None).text
        names = re.findall(r'="(/[0-9a-f]{16}/[^"]+)"', first)
        assert len(names) >= 2
        for path in ("/v1/health", "/v1/ready", "/", *names):
            assert {service.send("GET", path, token=None).status_code for _ in range(5)} == {200}


def test_strangers_behind_a_trusted_proxy_have_a_bucket_each(tmp_path, data):
    def guessing(service, forwarded):
        return service.send("GET", "/v1/gates", token="sg_no", headers={"X-Forwarded-For": forwarded}).status_code

    for proxies, others in (((), 429), (("192.0.2.1",), 401)):
        (folder := tmp_path / str(others)).mkdir()
        limits = Limits(failure_rate=0.01, failure_burst=2)
        with serving(folder, data, limits=limits, proxies=TrustedProxies(proxies)) as service:
            told = [guessing(service, f"6.6.6.{turn}, 198.51.100.1") for turn in range(3)]
            assert told == [401, 401, 429], "what stands to the left is made up"
            assert guessing(service, "198.51.100.2") == others


def spent(service) -> tuple[str, int, int]:
    budget = service.send("GET", "/v1/budget").json()
    return budget["spent"]["epsilon"], len(budget["entries"]), len(service.send("GET", "/v1/tokens").json())


@pytest.mark.parametrize("path", FULL)
def test_a_body_that_cannot_be_read_is_one_clear_problem(standing, path):
    before = spent(standing)
    wild = [(name, b'{"%s": %s}' % (name.encode(), value)) for name in FULL[path] for value in WILD]
    for name, content in [*(("", content) for content in UNREADABLE), *wild]:
        response = standing.send("POST", path, content=content, headers=JSON)
        assert response.status_code in (400, 404, 422), (content[:12], response.text[:300])
        assert response.json()["type"] in ("parameter", "malformed", "condition", "unknown-gate")
        assert not name or len(response.text) < 1000, "what was sent is not told back"
    for kind in ("text/plain", "application/x-www-form-urlencoded", "application/jsonx", ""):
        content = json.dumps(FULL[path]).encode()
        response = standing.send("POST", path, content=content, headers={"Content-Type": kind})
        assert_problem(response, 415, "unsupported-media-type")
    assert spent(standing) == before


UNREADABLE = [
    *(b"", b"null", b"[]", b"1", b'"text"', b"{", b"\xff\xfe{}", b"\xef\xbb\xbf{}", b"[" * 60_000, b'{"a":' * 10_000),
    b'{"threshold": 1, "threshold": 2, "cutoff": 1}',
    b"9" * 5000,
]
WILD = [b"NaN", b"-Infinity", b"1e999", b"9" * 5000, b'"a\\u0000b"', b'"\\ud800"', b'"' + b"x" * 60_000 + b'"']


def test_every_method_that_an_address_does_not_take_is_405_and_says_which_it_takes(standing):
    for path, operations in standing.app.openapi()["paths"].items():
        there = path.replace("{id}", "g-0123456789abcdef").replace("{name}", "anna")
        taken = {method.upper() for method in operations}
        taken |= {"HEAD"} if "GET" in taken else set()
        for method in {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "QUERY"} - taken:
            response = standing.send(method, there, key=None)
            assert set(response.headers["allow"].split(", ")) == taken, (method, path)
            assert response.status_code == 405
            if method != "HEAD":
                assert_problem(response, 405, "method-not-allowed")


@pytest.mark.parametrize(
    ("error", "status", "kind"),
    [(RuntimeError, 500, "internal"), (LedgerError, 503, "ledger-unavailable"), (TableError, 503, "data-unavailable")],
)
def test_an_error_of_the_service_is_a_constant_and_an_unexpected_one_is_logged_as_its_class_alone(
    service, monkeypatch, caplog, error, status, kind
):
    def fail(**_: object) -> None:
        raise error("the file /srv/visits has secret")

    monkeypatch.setattr(service.keeper, "gates", fail)
    with caplog.at_level(logging.DEBUG):
        response = service.send("GET", "/v1/gates")
    problem = assert_problem(response, status, kind)
    if status == 500:
        told = service.app.openapi()["paths"]["/v1/gates"]["get"]["responses"]["500"]["content"]
        assert problem == told["application/problem+json"]["examples"]["internal"]["value"]
    assert "srv" not in response.text
    (record,) = [record for record in caplog.records if record.name == "sparsegate.service"]
    assert (record.getMessage() == "a request failed: RuntimeError") == (status == 500)
    assert ("secret" in caplog.text) == (status == 503), "words of the library hold no data"
    assert record.exc_info is None


def test_an_answer_is_lost_in_the_same_words_whether_it_was_still_counted_or_only_not_yet_written(
    tmp_path, data, monkeypatch
):
    def slowly(method, before, after):
        def slow(*arguments, **options):
            time.sleep(before)
            try:
                return method(*arguments, **options)
            finally:
                time.sleep(after)

        return slow

    with serving(tmp_path, data, delay=0.3) as service:
        store, count, settle = service.keeper._store, data.count, service.keeper._store.settle
        told = []
        for where in (MANY, NOBODY):
            for owner, name, method, before, after in [
                (data, "count", count, 0.6, 0),  # begins when D is over
                (data, "count", count, 0, 0.6),  # the engine is done, and D ends before the count is handed on
                (store, "settle", settle, 0.6, 0),
                (store, "settle", settle, 0, 0.6),
            ]:
                gate = service.open_gate()
                with monkeypatch.context() as patch:
                    patch.setattr(owner, name, slowly(method, before, after))
                    response = service.ask(gate, where)
                    assert_problem(response, 503, "outcome-lost")
                    told.append((response.content, dict(response.headers)))
                    time.sleep(0.5)  # until its thread has cleaned up
    assert all(each == told[0] for each in told)


@contextmanager
def held_question(service, gate, monkeypatch):
    """A question that is being counted for as long as the block lasts, and the gates that are asked meanwhile."""
    begun, go, asked, ask = threading.Event(), threading.Event(), [], service.keeper.ask

    def held(caller, gate, where, **options):
        asked.append(gate)
        begun.set()
        assert go.wait(20)
        return ask(caller, gate, where, **options)

    monkeypatch.setattr(service.keeper, "ask", held)
    with ThreadPoolExecutor(1) as pool:
        question = pool.submit(service.ask, gate, MANY)
        try:
            assert begun.wait(20)
            yield question, asked
        finally:
            go.set()


def test_those_who_look_do_not_wait_behind_those_who_ask(tmp_path, data, monkeypatch):
    with serving(tmp_path, data, limits=replace(UNLIMITED, asks=1)) as service, ThreadPoolExecutor(1) as pool:
        first, second = service.open_gate(), service.open_gate()
        with held_question(service, first, monkeypatch) as (question, asked):
            behind = pool.submit(service.ask, second, MANY)
            assert service.send("GET", f"/v1/gates/{first}").status_code == 200
            assert asked == [first], "there is one place to count at"
        assert question.result().status_code == behind.result().status_code == 200
        assert asked == [first, second]


def test_a_line_at_a_gate_that_is_too_long_is_429_and_other_gates_are_asked(tmp_path, data, monkeypatch):
    with serving(tmp_path, data, limits=replace(UNLIMITED, waiting=0)) as service, ThreadPoolExecutor(1) as pool:
        gate, other = service.open_gate(), service.open_gate()
        with held_question(service, gate, monkeypatch) as (question, asked):
            busy = service.ask(gate, MANY)
            assert_problem(busy, 429, "gate-busy")
            assert busy.headers["retry-after"] == "1"
            elsewhere = pool.submit(service.ask, other, MANY)
            while other not in asked:
                assert not elsewhere.done()
                time.sleep(0.001)
        assert question.result().status_code == elsewhere.result().status_code == 200
        assert service.send("GET", f"/v1/gates/{gate}").json()["asked"] == 1


def test_a_data_file_that_vanishes_is_503_closes_its_gates_and_spends_nothing(tmp_path):
    with visits(tmp_path) as data, serving(tmp_path, data) as service:
        gate = service.open_gate()
        answered = service.ask(gate, MANY, key="before").json()
        cost = service.send("GET", f"/v1/gates/{gate}").json()["spent"]
        (tmp_path / "visits.csv").unlink()
        for sent in (service.ask(gate, NOBODY), *(service.send("POST", p, FULL[p]) for p in ("/v1/gates", "/v1/top"))):
            assert_problem(sent, 503, "data-unavailable")
        assert exact_text(service.keeper.budget().spent.epsilon) == cost
        seen = service.send("GET", f"/v1/gates/{gate}").json()
        assert (seen["asked"], seen["closed"]) == (1, True)
        assert service.ask(gate, MANY, key="before").json()["above"] is answered["above"]
