"""What stands around the application: the header Host, HEAD, the name of a request, and what a log holds."""

from __future__ import annotations

import json
import logging

import pytest
from tests.support.serving import MANY, NOBODY, assert_problem, serving

from sparsegate.errors import ParameterError
from sparsegate.service.web.middleware import JsonLines, TextLines, logging_of

SERVED = ["gates.example", "GATES.EXAMPLE:8460", "localhost", "localhost:1", "127.0.0.1:8460", "[::1]:8460", "[::1]"]
OTHERS = [
    "evil.example",
    "gates.example.evil",
    "127.0.0.1.evil.example",
    "evil.example:8460",
    "",
    "[::1",
    "a:b",
    "1.2.3",
]


def test_names_of_the_service_and_addresses_are_served_and_another_host_is_421_for_whatever_is_asked(tmp_path, data):
    with serving(tmp_path, data, hosts=["Gates.example"]) as service:
        for host in SERVED:
            assert service.send("GET", "/v1/health", token=None, headers={"Host": host}).status_code == 200, host
        for host in OTHERS:
            for path in ("/", "/v1/health", "/v1/gates", "/metrics"):
                assert_problem(service.send("GET", path, headers={"Host": host}), 421, "wrong-host")


def test_head_is_get_without_a_body(standing):
    for path in ("/", "/v1/health", "/v1/gates", "/v1/budget", "/openapi.json", "/v1/nothing"):
        got, head = (standing.send(method, path) for method in ("GET", "HEAD"))
        assert head.status_code == got.status_code
        assert head.content == b""
        assert head.headers == got.headers
    assert standing.send("HEAD", "/v1/gates", token=None).status_code == 401
    assert standing.send("HEAD", "/v1/top").status_code == 405


def test_a_request_keeps_its_name_unless_that_does_not_belong_in_a_log(standing):
    for name in ("a-1_B.2", "x" * 64):
        for path in ("/", "/v1/gates", "/v1/nothing"):
            assert standing.send("GET", path, headers={"X-Request-Id": name}).headers["x-request-id"] == name
    for name in ("", "x" * 65, "a b", 'a"b', "a;b", "ä".encode()):
        sent = [standing.send("GET", "/v1/health", headers={"X-Request-Id": name}) for _ in range(2)]
        first, second = (response.headers["x-request-id"] for response in sent)
        assert len(first) == 16
        assert first != second


@pytest.fixture
def lines(caplog):
    caplog.set_level(logging.INFO)

    def written(form: logging.Formatter) -> list[str]:
        return [form.format(record) for record in caplog.records if record.name == "sparsegate.requests"]

    return written


def test_a_line_is_an_object_with_the_fields_of_its_request_and_no_others(service, lines):
    service.send("GET", "/v1/gates?limit=7", token="analyst", headers={"X-Request-Id": "r-1"})
    service.send("GET", "/v1/a%0Ab", token=None)
    first, second = map(json.loads, lines(JsonLines()))
    assert first.pop("time").endswith("+00:00")
    assert first == {
        "level": "info",
        "logger": "sparsegate.requests",
        "client": "192.0.2.1",
        "token": "anna",
        "method": "GET",
        "path": "/v1/gates",
        "status": 200,
        "request_id": "r-1",
    }
    assert (second["token"], second["path"], second["status"]) == (None, "/v1/a%0Ab", 401)
    text = lines(TextLines())
    assert text[0].endswith('INFO 192.0.2.1 anna "GET /v1/gates" 200 r-1')
    assert 'INFO 192.0.2.1 - "GET /v1/a%0Ab" 401 ' in text[1]
    assert all("\n" not in line for line in text)


def test_above_and_below_are_the_same_line_but_for_names_and_time(service, lines):
    gates = [service.open_gate() for _ in range(2)]
    for gate, where in zip(gates, (MANY, NOBODY), strict=True):
        assert service.ask(gate, where).status_code == 200
    asked = [json.loads(line) for line in lines(JsonLines()) if line.count("/ask")]
    for line, gate in zip(asked, gates, strict=True):
        assert line.pop("path") == f"/v1/gates/{gate}/ask"
        line.pop("time")
    assert asked[0] == asked[1]
    everything = "\n".join(lines(JsonLines()) + lines(TextLines()))
    for secret in (service.owner, service.analyst, "country", "above", "seconds", "duration"):
        assert secret not in everything


def test_an_exception_in_a_line_is_its_class_alone():
    try:
        raise ValueError("page /secret")
    except ValueError as error:
        record = logging.LogRecord("x", 40, "x.py", 1, "it %s", ("failed",), (type(error), error, error.__traceback__))
    assert json.loads(JsonLines().format(record))["message"] == "it failed ValueError"
    assert TextLines().format(record).endswith("ERROR it failed ValueError")
    with pytest.raises(ParameterError, match="log_format"):
        logging_of("xml")
