"""Starting a service: its ledger and key, its delay D, its socket, and uvicorn around it."""

from __future__ import annotations

import math
import os
import socket
import ssl
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from sparsegate.budget import Number
from sparsegate.errors import LedgerError, ParameterError, SparsegateError
from sparsegate.ledger.account import BudgetLike
from sparsegate.ledger.ledger import Ledger
from sparsegate.service.gate_store import GateStore
from sparsegate.service.keys import SealingKey, key_of, rename_key
from sparsegate.service.web.middleware import logging_of
from sparsegate.tables.files import without_password

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from sparsegate.service.web.connections import ConnectionLimits, GuardedServer

SWITCH_SECONDS: Final = 0.001
"""How long a thread may hold the interpreter while others wait for it; five times this is what Python does by itself,
and a count, which lets go of it some thirty times, would lose that much to a condition that is read beside it."""

GRACE_SECONDS: Final = 30  # how long questions under way have beyond D to be answered, once a signal has come


def new_ledger(place: str, key: Path, *, dataset: str, budget: BudgetLike, delta: Number) -> None:
    """Make a ledger, and a key for it unless there is one; a ledger that is already there is refused."""
    Ledger.create(place, dataset=dataset, budget=budget, budget_delta=delta).close()
    if not key.exists():
        SealingKey.create(key)


def open_ledger(place: str, *, dataset: str | None, budget: BudgetLike | None, delta: Number | None) -> Ledger:
    """Open the ledger of a served dataset; a budget that is given must be the one that it has."""
    if not Ledger.exists(place):
        raise LedgerError(
            f"there is no ledger {without_password(place)}; if this data was never asked about, start with "
            "--new-ledger and --budget; if it was, restore the ledger: what it recorded stays spent"
        )
    return Ledger(place, dataset=dataset, budget=budget, budget_delta=delta, pooled=True)


def open_key(path: Path, ledger: Ledger, *, renew: bool, close_gates: bool = False) -> SealingKey:
    """Load the key; or, where it was lost, make another. What the old one sealed nobody can read: those gates close."""
    if not renew:
        return key_of(ledger, path)
    if path.exists():
        raise LedgerError(f"the key file {path} is already there; start without --new-key, or remove it")
    GateStore(ledger).close_open_gates("its key was replaced", agreed=close_gates)
    key = SealingKey.create(path)
    rename_key(ledger, key)
    return key


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens, or an error in one line."""
    if not 0 <= port <= 65_535:
        raise ParameterError("port", "must be from 0 to 65535", port, "0 takes any that is free")
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listening = socket.create_server((host, port), family=family)
    except OSError as error:
        # Python adds the address, in brackets, which the message has already.
        reason = (error.strerror or "the address is not known").partition(" (")[0].lower()
    else:
        # Connections inherit it. Without, the second part of an answer waits 40 ms for the client to confirm the first.
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return listening
    raise SparsegateError(f"cannot listen on {host} port {port}: {reason}; choose another with --host or --port")


def address(listening: socket.socket, *, tls: bool = False) -> str:
    """The URL of a socket that listens."""
    host, port = listening.getsockname()[:2]
    return f"http{'s' * tls}://{f'[{host}]' if ':' in host else host}:{port}"


def tls_context(certificate: Path, key: Path) -> ssl.SSLContext:
    """TLS 1.2 or later, from PEM files; whatever is wrong with them is said at the start."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    for name, path in (("tls_cert", certificate), ("tls_key", key)):
        if not (path.is_file() and os.access(path, os.R_OK)):
            raise ParameterError(name, "must be a file in PEM that can be read", str(path))
    try:
        context.load_cert_chain(certificate, key, password=_no_password)
        return context
    except (ssl.SSLError, ValueError):
        pass  # the key is a secret, and so may be what OpenSSL says of it
    raise ParameterError(
        "tls_cert",
        "must be a certificate, and --tls-key its key, without a password, both in PEM",
        str(certificate),
        "the certificate comes first in its file, then those that vouch for it",
    )


def _no_password() -> str:
    raise ValueError


def run(
    app: ASGIApp,
    listening: socket.socket,
    *,
    tls: ssl.SSLContext | None = None,
    inside: socket.socket | None = None,
    limits: ConnectionLimits | None = None,
    delay: float = 0.0,
    log_format: str = "text",
    started: Callable[[GuardedServer], None] = lambda server: None,
) -> None:
    """Serve until a signal comes; questions under way are answered first. Ctrl-C then is a KeyboardInterrupt.

    ``inside`` is a second socket, never with TLS: for metrics, on this machine.
    """
    places = [(listening, tls), *([] if inside is None else [(inside, None)])]
    sys.setswitchinterval(SWITCH_SECONDS)
    with ExitStack() as stack:
        for place, _ in places:
            stack.enter_context(closing(place))
        server = guarded_server(app, places, limits, delay=delay, log_config=logging_of(log_format))
        started(server)
        try:
            server.run()
        except KeyboardInterrupt:
            raise KeyboardInterrupt("stopped; what is open stays open") from None


def guarded_server(
    app: ASGIApp,
    places: Sequence[tuple[socket.socket, ssl.SSLContext | None]],
    limits: ConnectionLimits | None = None,
    *,
    delay: float = 0.0,
    log_config: dict[str, Any] | None = None,
) -> GuardedServer:
    """uvicorn, ready to run."""
    import uvicorn

    from sparsegate.service.web.connections import ConnectionLimits, GuardedServer

    limits = ConnectionLimits() if limits is None else limits
    config = uvicorn.Config(
        app,
        log_config=log_config,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ws="none",
        lifespan="off",
        timeout_keep_alive=math.ceil(limits.idle_seconds),
        timeout_graceful_shutdown=GRACE_SECONDS + math.ceil(delay),
    )
    return GuardedServer(config, places, limits)
