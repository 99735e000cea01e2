"""Whose request it is: the word of a trusted proxy, read from its end."""

from __future__ import annotations

import logging

import pytest
from tests.support.serving import serving

from sparsegate.errors import ParameterError
from sparsegate.service.web.trusted_proxies import TrustedProxies

TRUSTED = TrustedProxies(["127.0.0.1", "10.0.0.0/8", "2001:db8::/32"])


@pytest.mark.parametrize(
    ("peer", "forwarded", "client"),
    [
        ("127.0.0.1", [], "127.0.0.1"),
        ("192.0.2.9", ["192.0.2.7"], "192.0.2.9"),
        ("127.0.0.1", ["6.6.6.6", "192.0.2.7"], "192.0.2.7"),
        ("127.0.0.1", ["6.6.6.6, 192.0.2.7 ,10.1.2.3,2001:db8::1"], "192.0.2.7"),
        ("127.0.0.1", ["10.1.2.3"], "10.1.2.3"),
        ("127.0.0.1", ["192.0.2.7:4711"], "192.0.2.7"),
        ("127.0.0.1", ["[2001:DEAD:0::7]:4711"], "2001:dead::7"),
        ("::ffff:127.0.0.1", ["::ffff:192.0.2.7"], "192.0.2.7"),
        ("127.0.0.1", ["192.0.2.7, nonsense, 10.1.2.3"], "10.1.2.3"),
        ("127.0.0.1", [""], "127.0.0.1"),
        ("", ["192.0.2.7"], ""),
    ],
)
def test_the_last_address_that_is_no_proxy_is_the_client(peer, forwarded, client):
    assert TRUSTED.client(peer, forwarded) == client
    assert TrustedProxies().client(peer, forwarded) == peer


@pytest.mark.parametrize("text", ["", "gates.example", "10.0.0.1/8", "127.0.0.1:80", "*"])
def test_what_is_no_address_is_refused(text):
    with pytest.raises(ParameterError, match="trusted_proxy must be an address or a network"):
        TrustedProxies([text])


def test_the_log_names_the_client_and_not_the_proxy(tmp_path, data, caplog):
    with (
        serving(tmp_path, data, proxies=TrustedProxies(["192.0.2.1"])) as service,
        caplog.at_level(logging.INFO, logger="sparsegate.requests"),
    ):
        service.send("GET", "/v1/health", headers={"X-Forwarded-For": "198.51.100.1"})
    assert [record.request["client"] for record in caplog.records if hasattr(record, "request")] == ["198.51.100.1"]
