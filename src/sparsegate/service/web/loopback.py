"""Whether an address is this machine's own: there a token may travel in the clear, elsewhere not."""

from __future__ import annotations

import ipaddress


def is_loopback(host: str) -> bool:
    """Whether an address can be reached from this machine alone.

    >>> is_loopback("localhost"), is_loopback("127.3.2.1"), is_loopback("::1"), is_loopback("0.0.0.0")
    (True, True, True, False)
    """
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
