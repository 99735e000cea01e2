"""Whose request it is where a proxy is in between: the address that a trusted proxy tells, and nobody else.

``X-Forwarded-For`` is a list to which each proxy appends the address that it was called from. Whatever stands to the
left of what a trusted proxy has written may have been made up by the client. So the list is read from its end, past the
proxies that are trusted, to the first address that is not one of them: that is the client. From a peer that is not
trusted the header means nothing.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from typing import Final

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from sparsegate.errors import ParameterError

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_WITH_PORT: Final = re.compile(r"(?:\[([^\]]*)\]|([0-9.]+))(?::[0-9]+)?", re.ASCII)


class TrustedProxies:
    """Addresses and networks of proxies whose word is believed.

    >>> proxies = TrustedProxies(["127.0.0.1", "10.0.0.0/8"])
    >>> proxies.client("127.0.0.1", ["6.6.6.6, 192.0.2.7, 10.1.2.3"]), proxies.client("192.0.2.9", ["6.6.6.6"])
    ('192.0.2.7', '192.0.2.9')
    """

    def __init__(self, networks: Iterable[str] = ()) -> None:
        self._networks = [_network(text) for text in networks]

    def __contains__(self, address: str) -> bool:
        read = read_address(address)
        return read is not None and any(read in network for network in self._networks)

    def client(self, peer: str, forwarded: Iterable[str]) -> str:
        """Whose request it is that came from ``peer`` with these headers X-Forwarded-For."""
        hops = [hop.strip() for line in forwarded for hop in line.split(",")]
        client = peer
        while client in self and hops and (known := read_address(hops.pop())) is not None:
            client = str(known)
        return client


class ForwardedAddress:
    """Outermost: a request through a trusted proxy is its client's, for all limits and for the log."""

    def __init__(self, app: ASGIApp, *, proxies: TrustedProxies) -> None:
        self.app, self._proxies = app, proxies

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if peer := scope.get("client"):
            address = self._proxies.client(peer[0], Headers(scope=scope).getlist("x-forwarded-for"))
            scope = scope if address == peer[0] else {**scope, "client": (address, 0)}
        await self.app(scope, receive, send)


def _network(text: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    try:
        return ipaddress.ip_network(text)
    except ValueError:
        pass
    raise ParameterError(
        "trusted_proxy", "must be an address or a network", text, "for instance 127.0.0.1, or 10.0.0.0/8"
    )


def read_address(text: str) -> _Address | None:
    """An address, also with a port; None where a proxy would not or could not tell it."""
    ported = _WITH_PORT.fullmatch(text)
    try:
        address = ipaddress.ip_address(text if ported is None else ported[1] or ported[2])
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address
