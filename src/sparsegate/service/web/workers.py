"""More than one process for one service: they share its sockets, its ledger and its key, and each counts on its own.

The first process starts as a service of one does, hands the filled copy over (``ServedTable.hand_over``) and starts the
others, which take it over: nothing is drawn, measured or charged twice. A worker that ends ends the service. What holds
between them, and why none is replaced, is in docs/explanation/proofs_in_words/web.md.
"""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Collection
from contextlib import ExitStack, closing
from dataclasses import dataclass
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, Final, Self

from sparsegate.errors import SparsegateError
from sparsegate.service.data.dataset import HandedOver, ServedTable
from sparsegate.service.keeper import Keeper
from sparsegate.service.keys import key_of
from sparsegate.service.opening import KeeperTerms
from sparsegate.service.tokens import Tokens
from sparsegate.service.web import server
from sparsegate.service.web.admission import Limits, Refresh
from sparsegate.service.web.connections import ConnectionLimits, GuardedServer
from sparsegate.service.web.http import create_app
from sparsegate.service.web.middleware import LOG
from sparsegate.service.web.readiness import SharedFigures

READY: Final = "ready"
LOOK_SECONDS: Final = 0.2
Places = tuple[socket.socket, socket.socket | None]
_BLOCKED: Final = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}


@dataclass(frozen=True, kw_only=True)
class Orders:
    """What a worker is told: all that a service is made from, but for the data. The limits are those of each worker."""

    ledger: str
    dataset: str
    key: Path
    keeping: dict[str, Any]  # options of the keeper, with the pace that was measured
    limits: Limits
    connections: ConnectionLimits
    hosts: Collection[str] | None = None
    metrics_port: int | None = None
    tls: tuple[Path, Path] | None = None
    log_format: str = "text"

    def serve(
        self,
        keeper: Keeper,
        tokens: Tokens,
        places: Places,
        *,
        folder: Path | None,
        number: int = 1,
        terms: KeeperTerms | None = None,
        refresh: Callable[[Refresh], None] = lambda refresh: None,
        started: Callable[[GuardedServer], None],
    ) -> None:
        """Answer on these sockets, the second of which is for metrics, until a signal or the end of the line."""
        with ExitStack() as stack:
            shared = None if folder is None else SharedFigures(folder, number)
            told: dict[str, Any] = {"limits": self.limits, "hosts": self.hosts, "metrics_port": self.metrics_port}
            app = create_app(keeper, tokens, proxies=self.connections.proxies, terms=terms, shared=shared, **told)
            stack.enter_context(closing(app.state.practice))
            if shared is not None:
                stack.enter_context(closing(shared.written(app.state)))
            if app.state.refresh is not None:
                refresh(stack.enter_context(closing(app.state.refresh)))
            server.run(
                app,
                places[0],
                tls=None if self.tls is None else server.tls_context(*self.tls),
                inside=places[1],
                limits=self.connections,
                delay=keeper.pace.delay,
                log_format=self.log_format,
                started=started,
            )


class Crew:
    """The workers of a service but the first, which makes it; a context manager. A service of one has none.

    The ``folder`` is for all of them, and closed to others; ``lost`` says that one of them ended by itself.
    """

    def __init__(self, orders: Orders) -> None:
        self.folder: Path | None = None
        self.processes: list[Any] = []
        self.lost = False
        self._orders, self._stack, self._lines = orders, ExitStack(), list[Connection]()

    def start(self, data: ServedTable, places: Places) -> None:
        """Start them, and wait until each can answer."""
        if self._orders.limits.workers == 1:
            return
        made = tempfile.TemporaryDirectory(prefix="sparsegate-workers-", ignore_cleanup_errors=True)
        self.folder = Path(self._stack.enter_context(made))
        handed, spawn = data.hand_over(), multiprocessing.get_context("spawn")
        try:
            # A signal that comes meanwhile is for this process, and waits; those that it starts never hear one.
            resource_tracker.ensure_running()  # which would unblock them again
            before = signal.pthread_sigmask(signal.SIG_BLOCK, _BLOCKED)
            try:
                for number in range(2, self._orders.limits.workers + 1):
                    ours, theirs = spawn.Pipe()
                    self._lines.append(ours)
                    told = (self._orders, handed, self.folder, number, places, theirs)
                    self.processes.append(spawn.Process(target=work, args=told, daemon=True))
                    self.processes[-1].start()
                    theirs.close()
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)
            for line in self._lines:
                try:
                    trouble = line.recv()
                except EOFError:
                    trouble = "it ended before it could say why; is there memory for another copy of the data?"
                if trouble != READY:
                    raise SparsegateError(f"a worker could not start: {trouble}")
        finally:
            handed.remove()

    def watch(self, serving: GuardedServer) -> None:
        """Stop serving when one of them ends, and have them stop when this one does."""

        def body() -> None:
            ended: list[Any] = []
            while not (ended or serving.should_exit):
                ended = wait([process.sentinel for process in self.processes], timeout=LOOK_SECONDS)
            if not serving.should_exit:
                LOG.error("a worker has ended, and so the service stops; what is open stays open")
                self.lost, serving.should_exit = True, True
            self._hang_up()

        if self.processes:
            threading.Thread(target=body, daemon=True).start()

    def _hang_up(self) -> None:
        for line in self._lines:
            line.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._hang_up()
        until = time.monotonic() + server.GRACE_SECONDS + self._orders.keeping["pace"].delay + 1
        for process in self.processes:
            process.join(max(0.0, until - time.monotonic()))
            process.kill()
            process.join()
        self._stack.close()
        if self.lost:
            raise SparsegateError("a worker ended, and the service with it; see the log, and start it again")


def work(orders: Orders, handed: HandedOver, folder: Path, number: int, places: Places, line: Connection) -> None:
    """One worker, until its line ends."""
    serving: list[GuardedServer] = []

    def leave() -> None:
        wait([line])
        # Whoever handed it over may have been killed before it was removed: it is the data, in a file.
        shutil.rmtree(handed.file.parent, ignore_errors=True)
        if not serving:
            os._exit(1)
        serving[0].should_exit = True

    def started(made: GuardedServer) -> None:
        serving.append(made)
        line.send(READY)

    threading.Thread(target=leave, daemon=True).start()
    try:
        with ExitStack() as stack:
            account = server.open_ledger(orders.ledger, dataset=orders.dataset, budget=None, delta=None)
            stack.enter_context(closing(account))
            data = stack.enter_context(ServedTable.take_over(handed))
            keeper = Keeper(account, data, key_of(account, orders.key), **orders.keeping)
            stack.enter_context(closing(keeper))
            tokens = stack.enter_context(closing(Tokens(account)))
            orders.serve(keeper, tokens, places, folder=folder, number=number, started=started)
    except SparsegateError as error:
        if not serving:
            line.send(str(error))
        raise SystemExit(1) from None
