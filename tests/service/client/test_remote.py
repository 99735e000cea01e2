"""Where a client connects to, and with which options: what would show a token is refused."""

from __future__ import annotations

import pytest

from sparsegate.errors import ParameterError
from sparsegate.service.client.async_client import connect_async
from sparsegate.service.client.client import connect

URL, TOKEN = "https://service.example", "sg_" + "s" * 43


@pytest.mark.parametrize("url", ["http://service.example", "http://192.0.2.1:8460", "http://localhost.example"])
def test_a_token_does_not_travel_in_the_clear(url):
    for start in (connect, connect_async):
        with pytest.raises(ParameterError, match="url must be https for another machine"):
            start(url, TOKEN)
    connect(url, TOKEN, insecure=True).close()


@pytest.mark.parametrize(
    "url", ["http://localhost:1", "http://127.0.0.9", "http://[::1]:8460", "https://service.example/a"]
)
def test_a_url_of_this_machine_or_over_tls_is_taken(url):
    connect(url, TOKEN).close()


@pytest.mark.parametrize(
    "url", ["", "service.example", "ftp://x", "https://me:secret@x", "https://x?y", "https://x:y", None]
)
def test_a_url_that_is_none_is_refused(url):
    with pytest.raises(ParameterError, match="url must be http") as refused:
        connect(url, TOKEN)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(("option", "value"), [("timeout", 0), ("retries", -1), ("retries", 1.5)])
def test_a_wrong_option_is_refused(option, value):
    with pytest.raises(ParameterError, match=f"{option} must be"):
        connect(URL, TOKEN, **{option: value})
