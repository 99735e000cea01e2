"""Turns: at each gate one ask at a time, across threads and processes.

A turn is held from before the intent until the answer leaves. So how long an ask waits tells when the one before it
left, which is public, and not how long that one took to compute. A process that dies gives its turns back at once:
the operating system, or PostgreSQL, takes the lock away. Nothing that is counted or charged rests on a turn: were one
ever held twice, the store would still admit one ask for each key and no more than c positives (``gate_store``).
"""

from __future__ import annotations

import fcntl
import os
import struct
import threading
import time
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Final

from sqlalchemy import Connection, create_engine, text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import NullPool

from sparsegate.errors import GateBusy, LedgerError
from sparsegate.ledger.database import Database, PostgresDatabase, SqliteFile

_POLL: Final = 0.005
_FLOCK: Final = "hhqqi"
_CLASS: Final = 0x7367  # our own corner of PostgreSQL's advisory locks


class SharedTurns(ABC):
    """Hands out turns; whoever waits for one longer than ``patience`` seconds gets ``GateBusy``."""

    def __init__(self, *, patience: float) -> None:
        self._patience = patience
        self._locks: defaultdict[int, threading.Lock] = defaultdict(threading.Lock)
        self._guard = threading.Lock()

    @contextmanager
    def at(self, gate: int) -> Iterator[None]:
        """Wait for the gate's turn, and hold it."""
        deadline = time.monotonic() + self._patience
        with self._guard:
            lock = self._locks[gate]
        if not lock.acquire(timeout=self._patience):
            raise GateBusy
        try:
            with self._among_processes(gate, deadline):
                yield
        finally:
            lock.release()

    @abstractmethod
    def _among_processes(self, gate: int, deadline: float) -> AbstractContextManager[None]:
        """Hold the turn against other processes, or raise ``GateBusy`` at the deadline."""

    @abstractmethod
    def held(self, gates: Iterable[int]) -> set[int]:
        """Those of the gates at which somebody holds the turn, here or elsewhere."""

    @abstractmethod
    def close(self) -> None:
        """Give back what is held."""


class FileTurns(SharedTurns):
    """Locks on bytes of a file beside a SQLite ledger: byte n is the turn of gate n.

    Where the system has them, the locks belong to the open file and not to the process, so that two keepers in one
    process exclude one another as well.
    """

    def __init__(self, ledger: Path, *, patience: float) -> None:
        super().__init__(patience=patience)
        try:
            # Kept open: closing it gives up all locks.
            self._file = os.open(f"{ledger}.turns", os.O_RDWR | os.O_CREAT, 0o600)
        except OSError:
            raise LedgerError(f"the ledger {ledger} needs a writable folder; check its permissions") from None

    @contextmanager
    def _among_processes(self, gate: int, deadline: float) -> Iterator[None]:
        while not self._lock(fcntl.F_WRLCK, gate):
            _again(deadline)
        try:
            yield
        finally:
            self._lock(fcntl.F_UNLCK, gate)

    def _lock(self, kind: int, byte: int) -> bool:
        command = getattr(fcntl, "F_OFD_SETLK", fcntl.F_SETLK)
        try:
            fcntl.fcntl(self._file, command, struct.pack(_FLOCK, kind, os.SEEK_SET, byte, 1, 0))
        except OSError:
            return False
        return True

    def held(self, gates: Iterable[int]) -> set[int]:
        command = getattr(fcntl, "F_OFD_GETLK", fcntl.F_GETLK)

        def free(byte: int) -> bool:
            # What is locked through this very file does not stand in its way.
            if (here := self._locks.get(byte)) is not None and here.locked():
                return False
            wanted = struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, byte, 1, 0)
            return bool(struct.unpack(_FLOCK, fcntl.fcntl(self._file, command, wanted))[0] == fcntl.F_UNLCK)

        return {gate for gate in gates if not free(gate)}

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
        self._file = -1


class PostgresTurns(SharedTurns):
    """Advisory locks of sessions: one connection for each turn that is held."""

    def __init__(self, database: PostgresDatabase, *, patience: float) -> None:
        super().__init__(patience=patience)
        self._database = database
        # Connections of its own: turns that are held must not use up those that answers are written with.
        self._engine = create_engine(
            database.engine.url,
            poolclass=NullPool,
            isolation_level="AUTOCOMMIT",
            connect_args={"connect_timeout": 10},
            use_native_hstore=False,
        )

    @contextmanager
    def _among_processes(self, gate: int, deadline: float) -> Iterator[None]:
        place = {"class": _CLASS, "gate": gate}
        connection = self._held(place, deadline)
        try:
            yield
        finally:
            # A connection that is lost has given the lock back already.
            with suppress(SQLAlchemyError):
                connection.execute(text("SELECT pg_advisory_unlock(:class, :gate)"), place)
            with suppress(SQLAlchemyError):
                connection.close()

    def _held(self, place: dict[str, int], deadline: float) -> Connection:
        try:
            connection = self._engine.connect()
            while not connection.execute(text("SELECT pg_try_advisory_lock(:class, :gate)"), place).scalar():
                try:
                    _again(deadline)
                except GateBusy:
                    connection.close()
                    raise
            return connection
        except SQLAlchemyError:
            pass
        raise self._database.trouble("cannot be reached; check the address, and that the server runs and admits you")

    def held(self, gates: Iterable[int]) -> set[int]:
        here = "database = (SELECT oid FROM pg_database WHERE datname = current_database())"
        query = f"SELECT objid FROM pg_locks WHERE locktype = 'advisory' AND granted AND classid = {_CLASS} AND {here}"
        with self._database.reading() as connection:
            return {int(gate) for gate in connection.execute(text(query)).scalars()} & set(gates)

    def close(self) -> None:
        self._engine.dispose()


def turns_of(database: Database, *, patience: float) -> SharedTurns:
    """The turns that go with a database."""
    if isinstance(database, PostgresDatabase):
        return PostgresTurns(database, patience=patience)
    assert isinstance(database, SqliteFile)
    return FileTurns(database.path, patience=patience)


def _again(deadline: float) -> None:
    if time.monotonic() >= deadline:
        raise GateBusy
    time.sleep(_POLL)
