"""What a log holds, and what it does not."""

from __future__ import annotations

import json
import logging

import pytest
from tests.support.serving import MANY, NOBODY

from sparsegate.errors import ParameterError
from sparsegate.service.web.middleware import JsonLines, TextLines, logging_of


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


def test_formats_that_there_are():
    assert logging_of("json")["formatters"]["line"]["()"] is JsonLines
    with pytest.raises(ParameterError, match="log_format must be text or json"):
        logging_of("xml")
