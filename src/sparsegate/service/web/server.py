"""Starting a service: its ledger and key, its delay D, its socket, and uvicorn around it."""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from sparsegate.budget import Number
from sparsegate.errors import LedgerError, ParameterError, SparsegateError
from sparsegate.ledger.ledger import Ledger
from sparsegate.service.gate_store import GateStore
from sparsegate.service.sealed_noise import SealingKey

if TYPE_CHECKING:
    from starlette.types import ASGIApp

SWITCH_SECONDS: Final = 0.001
"""How long a thread may hold the interpreter while others wait for it; five times this is what Python does by itself,
and a count, which lets go of it some thirty times, would lose that much to a condition that is read beside it."""

_FORMAT: Final = "%(asctime)s %(levelname)s %(message)s"
LOGGING: Final[dict[str, Any]] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": _FORMAT}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line", "stream": "ext://sys.stderr"}},
    "loggers": {
        name: {"handlers": ["stderr"], "level": level, "propagate": False}
        for name, level in (("sparsegate.service", "INFO"), ("uvicorn.error", "WARNING"), ("uvicorn.access", "INFO"))
    },
}
"""One line for each request: its address and its status, which are public; bodies and tokens are in none."""


def new_ledger(place: str, key: Path, *, dataset: str, epsilon: Number, delta: Number) -> None:
    """Make a ledger, and a key for it unless there is one; a ledger that is already there is refused."""
    Ledger.create(place, dataset=dataset, budget=epsilon, budget_delta=delta).close()
    if not key.exists():
        SealingKey.create(key)


def open_ledger(place: str, *, dataset: str | None, epsilon: Number | None, delta: Number | None) -> Ledger:
    """Open the ledger of a served dataset; a budget that is given must be the one that it has."""
    if not Ledger.exists(place):
        raise LedgerError(
            f"there is no ledger {place}; if this data was never asked about, start with --new-ledger and --budget; if "
            "it was, restore the ledger: what it recorded stays spent"
        )
    return Ledger(place, dataset=dataset, budget=epsilon, budget_delta=delta, pooled=True)


def open_key(path: Path, ledger: Ledger, *, renew: bool, close_gates: bool = False) -> SealingKey:
    """Load the key; or, where it was lost, make another. What the old one sealed nobody can read: those gates close."""
    if not renew:
        return SealingKey.load(path)
    if path.exists():
        raise LedgerError(f"the key file {path} is already there; start without --new-key, or remove it")
    GateStore(ledger).close_open_gates("its key was replaced", agreed=close_gates)
    return SealingKey.create(path)


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens, or an error in one line."""
    if not 0 <= port <= 65_535:
        raise ParameterError("port", "must be from 0 to 65535", port, "0 takes any that is free")
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listening = socket.create_server((host, port), family=family, backlog=256)
    except OSError as error:
        # Python adds the address, in brackets, which the message has already.
        reason = (error.strerror or "the address is not known").partition(" (")[0].lower()
    else:
        # Connections inherit it. Without, the second part of an answer waits 40 ms for the client to confirm the first.
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return listening
    raise SparsegateError(f"cannot listen on {host} port {port}: {reason}; choose another with --host or --port")


def address(listening: socket.socket) -> str:
    """The URL of a socket that listens."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def run(app: ASGIApp, listening: socket.socket, *, started: Callable[[], None] = lambda: None) -> None:
    """Serve until a signal comes; questions under way are answered first. Ctrl-C then is a KeyboardInterrupt."""
    import uvicorn

    config = uvicorn.Config(
        app,
        log_config=LOGGING,
        server_header=False,
        proxy_headers=False,
        ws="none",
        lifespan="off",
        timeout_graceful_shutdown=30,
    )
    sys.setswitchinterval(SWITCH_SECONDS)
    with closing(listening):
        started()
        uvicorn.Server(config).run(sockets=[listening])
