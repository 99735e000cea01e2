"""What stands around the application: the header Host, HEAD, and the name of a request."""

from __future__ import annotations

import pytest
from tests.support.serving import assert_problem, serving


@pytest.fixture(scope="module")
def named(tmp_path_factory, data):
    with serving(tmp_path_factory.mktemp("named"), data, hosts=["Gates.example"]) as service:
        yield service


@pytest.mark.parametrize(
    "host", ["gates.example", "GATES.EXAMPLE:8460", "localhost", "localhost:1", "127.0.0.1:8460", "[::1]:8460", "[::1]"]
)
def test_names_of_the_service_and_addresses_are_served(named, host):
    assert named.send("GET", "/v1/health", token=None, headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", "gates.example.evil", "127.0.0.1.evil.example", "evil.example:8460", "", "[::1", "a:b", "1.2.3"],
)
def test_another_host_is_421_for_whatever_is_asked(named, host):
    for path in ("/", "/v1/health", "/v1/gates", "/metrics"):
        assert_problem(named.send("GET", path, headers={"Host": host}), 421, "wrong-host")


def test_head_is_get_without_a_body(standing):
    for path in ("/", "/v1/health", "/v1/gates", "/v1/budget", "/openapi.json", "/v1/nothing"):
        got, head = (standing.send(method, path) for method in ("GET", "HEAD"))
        assert head.status_code == got.status_code
        assert head.content == b""
        assert head.headers == got.headers
    assert standing.send("HEAD", "/v1/gates", token=None).status_code == 401
    assert standing.send("HEAD", "/v1/top").status_code == 405


@pytest.mark.parametrize("name", ["a-1_B.2", "x" * 64])
def test_a_request_keeps_its_name(standing, name):
    for path in ("/", "/v1/gates", "/v1/nothing"):
        assert standing.send("GET", path, headers={"X-Request-Id": name}).headers["x-request-id"] == name


@pytest.mark.parametrize("name", ["", "x" * 65, "a b", 'a"b', "a;b", "ä".encode()])
def test_a_name_that_does_not_belong_in_a_log_is_replaced(standing, name):
    given = standing.send("GET", "/v1/health", headers={"X-Request-Id": name}).headers["x-request-id"]
    assert len(given) == 16
    assert given != standing.send("GET", "/v1/health", headers={"X-Request-Id": name}).headers["x-request-id"]
