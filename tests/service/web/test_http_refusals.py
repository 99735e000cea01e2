"""What a service refuses and what it must not say: bodies, limits, lines, and errors of its own."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import anyio
import pytest
from tests.support.serving import CERTAIN, MANY, TOP, UNLIMITED, assert_problem, serving

from sparsegate.service.deadline import DelayPlan
from sparsegate.service.web.admission import Limits
from sparsegate.service.web.trusted_proxies import TrustedProxies

GATE = "/v1/gates/g-0123456789abcdef"
JSON = {"Content-Type": "application/json"}


def test_a_condition_that_could_take_longer_than_an_answer_may_is_refused_and_spends_nothing(tmp_path, data):
    with serving(tmp_path, data, pace=DelayPlan(capacity=1e-9)) as service:
        gate = service.open_gate()
        problem = assert_problem(service.ask(gate, "page LIKE '%a%'"), 422, "condition")
        assert "must take less work" in problem["detail"]
        assert "--delay" in problem["next_step"]
        assert service.send("GET", f"/v1/gates/{gate}").json()["asked"] == 0


@pytest.mark.parametrize("domain", ["/etc/passwd", "visits.csv", [None], [True], [1.5], 0, 1.5, True, None, {}])
def test_a_top_list_takes_no_domain_from_a_file_of_the_server(standing, domain):
    problem = assert_problem(standing.send("POST", "/v1/top", TOP | {"domain": domain}), 422, "parameter")
    assert problem["pointer"] == "/domain"


@pytest.mark.parametrize("item", ["visitor", "rowid", "filename", "nothing"])
def test_a_top_list_ranks_declared_columns_only(standing, item):
    assert (
        assert_problem(standing.send("POST", "/v1/top", TOP | {"item": item}), 422, "parameter")["pointer"] == "/item"
    )


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
    assert service.send("GET", f"/v1/gates/{gate}").json()["asked"] == 0


@pytest.mark.parametrize("gate", ["g-0123456789abcdef", "g-x", "%00", "g-0123456789ABCDEF", "x" * 500])
def test_a_gate_that_never_was_is_404(standing, gate):
    assert_problem(standing.send("GET", f"/v1/gates/{gate}/answers"), 404, "unknown-gate")
    assert_problem(standing.ask(gate, MANY), 404, "unknown-gate")


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("threshold", ["1", 1.0, True, None, 2**62]),
        ("cutoff", ["1", 1.0, True, None, 0, -1, 2**31]),
        ("epsilon", ["", "x", "0", "-1", "1e3", "١", " 1", "1/3", "NaN", True, None, 0, -0.5, [], "1" * 5000]),
        ("queries", ["1", 1.0, True, 0, 2**31]),
        ("extra", [1]),
    ],
)
def test_a_number_is_of_the_right_kind_and_nothing_is_cast(standing, field, values):
    for value in values:
        problem = assert_problem(standing.send("POST", "/v1/gates", CERTAIN | {field: value}), 422, "parameter")
        assert problem["pointer"] == f"/{field}"
    assert standing.send("GET", "/v1/budget").json()["spent"]["epsilon"] == "0"


def test_an_epsilon_that_no_noise_can_serve_is_refused_before_it_is_spent(standing):
    for epsilon in (1e-300, 1e300):
        problem = assert_problem(standing.send("POST", "/v1/gates", CERTAIN | {"epsilon": epsilon}), 422, "parameter")
        assert "pointer" not in problem
    assert standing.send("GET", "/v1/budget").json()["spent"]["epsilon"] == "0"


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "application/jsonx", ""])
def test_a_body_in_another_format_is_415(standing, kind):
    response = standing.send("POST", "/v1/gates", content=json.dumps(CERTAIN).encode(), headers={"Content-Type": kind})
    assert_problem(response, 415, "unsupported-media-type")


def test_a_body_of_64_kib_is_taken_and_one_byte_more_is_not(service):
    just = json.dumps({"where": ""}).encode()
    just = just.replace(b'""', b'"' + b" " * (65_536 - len(just)) + b'"')
    assert len(just) == 65_536
    gate = service.open_gate()
    path = f"/v1/gates/{gate}/ask"
    assert_problem(service.send("POST", path, content=just, headers=JSON), 422, "condition")
    assert_problem(service.send("POST", path, content=just + b" ", headers=JSON), 413, "too-large")


def test_bytes_are_counted_where_no_length_was_announced_or_a_wrong_one(standing):
    async def pieces():
        for _ in range(100):
            yield b" " * 1024

    for announced in ({}, {"Content-Length": "5"}):
        headers = JSON | announced
        response = standing.send("POST", "/v1/gates", content=pieces(), headers=headers)
        assert_problem(response, 413, "too-large")


def test_a_body_that_does_not_end_is_408(tmp_path, data):
    async def slow():
        yield b"{"
        await anyio.sleep(30)

    with serving(tmp_path, data, limits=replace(UNLIMITED, body_seconds=0.05)) as service:
        response = service.send("POST", "/v1/gates", content=slow(), headers=JSON)
        assert_problem(response, 408, "too-slow")


def test_a_token_that_asks_too_often_waits_and_the_others_do_not(tmp_path, data):
    with serving(tmp_path, data, limits=Limits(rate=0.01, burst=3)) as service:
        for _ in range(3):
            assert service.send("GET", "/v1/gates", token="analyst").status_code == 200
        refused = service.send("GET", "/v1/gates", token="analyst")
        assert_problem(refused, 429, "too-many-requests")
        assert 90 <= int(refused.headers["retry-after"]) <= 100
        assert service.send("GET", "/v1/gates", token="owner").status_code == 200


def test_whoever_guesses_tokens_is_slowed_down_and_locks_nobody_out(tmp_path, data):
    with serving(tmp_path, data, limits=Limits(failure_rate=0.01, failure_burst=2)) as service:
        for _ in range(2):
            assert_problem(service.send("GET", "/v1/gates", token="sg_wrong"), 401, "unauthenticated")
        assert_problem(service.send("GET", "/v1/gates", token="sg_wrong"), 429, "too-many-requests")
        assert service.send("GET", "/v1/gates", token="owner").status_code == 200


@pytest.mark.parametrize(("path", "status"), [("/openapi.json", 200), ("/nothing", 404)])
def test_whoever_asks_without_a_token_asks_so_often_and_no_more(tmp_path, data, path, status):
    with serving(tmp_path, data, limits=Limits(open_rate=0.01, open_burst=3)) as service:
        answers = [service.send("GET", path, token=None) for _ in range(4)]
        assert [answer.status_code for answer in answers] == [status] * 3 + [429]
        assert_problem(answers[-1], 429, "too-many-requests")
        assert int(answers[-1].headers["retry-after"]) > 1
        assert service.send("GET", "/v1/gates").status_code == 200


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
    limits = Limits(failure_rate=0.01, failure_burst=2)

    def guessing(service, said):
        response = service.send("GET", "/v1/gates", token="sg_no", headers={"X-Forwarded-For": said})
        return response.status_code

    for proxies, others in (((), 429), (("192.0.2.1",), 401)):
        (folder := tmp_path / str(others)).mkdir()
        with serving(folder, data, limits=limits, proxies=TrustedProxies(proxies)) as service:
            told = [guessing(service, f"6.6.6.{turn}, 198.51.100.1") for turn in range(3)]
            assert told == [401, 401, 429], "what stands to the left is made up"
            assert guessing(service, "198.51.100.2") == others
