"""Turns: at each gate one ask at a time, across threads and processes. A lock, and no line: that is at the door.

A turn is held from before the intent until the answer leaves, so how long an ask waits tells when the one before it
left, which is public. A process that dies gives its turns back at once: the operating system, or PostgreSQL, takes the
lock away. Nothing that is counted or charged rests on a turn: were one ever held twice, the store would still admit one
ask for each key and no more than c positives (``gate_store``).

Whoever waits for a turn holds the place next to it, which is a lock too. So a process that gave its turn back does not
have it again before another that waits: lines of several workers take turns, whoever asks how often.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import Final, TypeAlias

from sqlalchemy import Connection, create_engine, text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import NullPool

from sparsegate.errors import GateBusy, LedgerError
from sparsegate.ledger.database import UNREACHED, Database, PostgresDatabase, SqliteFile

_POLL: Final = 0.005
_MOMENT, _LONG = 0.001, 1.0
_CLASS: Final = 0x7367  # our own corner of PostgreSQL's advisory locks
_NEXT: Final = 0x7368
_UNLOCK: Final = text("SELECT pg_advisory_unlock(:class, :gate)")


class FileTurns:
    """Locks on files beside a SQLite ledger, one for each gate.

    Such a lock belongs to the open file and not to the process: it excludes threads and keepers of one process, too.
    """

    def __init__(self, ledger: Path, *, patience: float) -> None:
        self._ledger, self._folder, self._patience = ledger, Path(f"{ledger}.turns"), patience
        os.close(self._opened("start"))  # says now what would be wrong at the first question

    def _opened(self, turn: str) -> int:
        try:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            return os.open(f"{self._folder}/{turn}", os.O_RDWR | os.O_CREAT, 0o600)
        except OSError:
            raise LedgerError(f"the ledger {self._ledger} needs a writable folder; check its permissions") from None

    @contextmanager
    def at(self, gate: int) -> Iterator[None]:
        """Wait for the gate's turn, and hold it."""
        turn = self._opened(str(gate))
        try:
            following = self._opened(f"{gate}.next")
            try:
                _wait(self._patience, *(partial(_locked, each, fcntl.LOCK_EX) for each in (following, turn)))
            finally:
                os.close(following)
            yield
        finally:
            os.close(turn)  # which gives the lock back

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Write, after other processes of the ledger: SQLite's own waiting is a poll that grows, to tenths of a second.

        Whoever waits long goes on without: what decides is the lock of SQLite.
        """
        line, until = self._opened("writing"), time.monotonic() + _LONG
        try:
            while not _locked(line, fcntl.LOCK_EX) and time.monotonic() < until:
                time.sleep(_MOMENT)
            yield
        finally:
            os.close(line)

    def held(self, gates: Iterable[int]) -> set[int]:
        """Those at which somebody holds the turn, here or elsewhere."""
        return {gate for gate in gates if not self._free(gate)}

    def _free(self, gate: int) -> bool:
        try:
            turn = os.open(self._folder / str(gate), os.O_RDWR)
        except FileNotFoundError:
            return True
        try:
            return _locked(turn, fcntl.LOCK_SH)  # two who look do not see one another
        finally:
            os.close(turn)

    def close(self) -> None:
        """Each turn has a file of its own, which is closed with it."""


def _locked(turn: int, kind: int) -> bool:
    try:
        fcntl.flock(turn, kind | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


class PostgresTurns:
    """Advisory locks of sessions: one connection for each turn that is held."""

    def __init__(self, database: PostgresDatabase, *, patience: float) -> None:
        self._database, self._patience = database, patience
        # Connections of its own: turns that are held must not use up those that answers are written with.
        self._engine = create_engine(
            database.engine.url,
            poolclass=NullPool,
            isolation_level="AUTOCOMMIT",
            connect_args={"connect_timeout": 10},
            use_native_hstore=False,
        )

    @contextmanager
    def at(self, gate: int) -> Iterator[None]:
        """Wait for the gate's turn, and hold it."""
        place = {"class": _CLASS, "gate": gate}
        connection = self._held(place)
        try:
            yield
        finally:
            # A connection that is lost has given the lock back already.
            with suppress(SQLAlchemyError):
                connection.execute(_UNLOCK, place)
            with suppress(SQLAlchemyError):
                connection.close()

    def _held(self, place: dict[str, int]) -> Connection:
        lock = text("SELECT pg_try_advisory_lock(:class, :gate)")
        with suppress(SQLAlchemyError), ExitStack() as stack:
            connection = stack.enter_context(closing(self._engine.connect()))
            following = place | {"class": _NEXT}
            _wait(self._patience, *(partial(connection.scalar, lock, each) for each in (following, place)))
            connection.execute(_UNLOCK, following)
            stack.pop_all()
            return connection
        raise self._database.trouble(UNREACHED)

    def held(self, gates: Iterable[int]) -> set[int]:
        """Those of the gates at which somebody holds the turn, here or elsewhere."""
        ours = "database = (SELECT oid FROM pg_database WHERE datname = current_database())"
        query = f"SELECT objid FROM pg_locks WHERE locktype = 'advisory' AND granted AND classid = {_CLASS} AND {ours}"
        with self._database.reading() as connection:
            return {int(row.objid) for row in connection.rows(query)} & set(gates)

    def writing(self) -> AbstractContextManager[None]:
        """The server has a line of its own."""
        return nullcontext()

    def close(self) -> None:
        """Let go of what turns need."""
        self._engine.dispose()


Turns: TypeAlias = FileTurns | PostgresTurns


def turns_of(database: Database, *, patience: float) -> Turns:
    """The turns that go with a database; whoever waits longer than ``patience`` seconds for one gets ``GateBusy``."""
    if isinstance(database, PostgresDatabase):
        return PostgresTurns(database, patience=patience)
    assert isinstance(database, SqliteFile)
    return FileTurns(database.path, patience=patience)


def _wait(patience: float, *locks: Callable[[], object]) -> None:
    deadline = time.monotonic() + patience
    for locked in locks:
        while not locked():
            if time.monotonic() >= deadline:
                raise GateBusy
            time.sleep(_POLL)
