"""The database under a ledger: one SQLite file, or one PostgreSQL database. Transactions, and words for trouble.

Both are used in the same way. A writing transaction takes the one write lock before it reads (SQLite: BEGIN IMMEDIATE;
PostgreSQL: the row of the table ``ledger``, FOR UPDATE), so that two processes cannot both spend the last of a budget,
and is on disk when it ends (WAL with synchronous=FULL; synchronous_commit=on). Whatever the database reports becomes
a ``LedgerError`` in constant words: its own may hold what was to be written.
"""

from __future__ import annotations

import os
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from sqlalchemy import Connection, Engine, make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from sparsegate.errors import LedgerError

DAMAGED: Final = "is damaged; restore or examine it by hand before spending more"
POOL: Final = 8


class Database(ABC):
    """Where a ledger lives. ``shown`` names it in messages, without a password."""

    shown: str

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        # A connection belongs to the process that made it: a child of a fork starts with none.
        os.register_at_fork(after_in_child=_reborn(weakref.ref(self)))

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that changes nothing; each of its statements sees one moment."""
        with self._transaction(False) as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction under the write lock: committed to disk on a clean exit, else rolled back."""
        with self._transaction(True) as connection:
            self._lock(connection)
            yield connection

    @contextmanager
    def _transaction(self, writes: bool) -> Iterator[Connection]:
        unknown = False
        try:
            self._check()
            begun = self.engine.connect().execution_options(writes=writes)
            with begun as connection, connection.begin() as transaction:
                yield connection
                unknown = writes
                transaction.commit()
        except SQLAlchemyError as error:
            reason = self._reason(error)
            unknown = unknown and self._torn(error)
        else:
            return
        # Raised out here the error has no link back to the message left behind.
        raise self.trouble(reason, unknown=unknown)

    def trouble(self, reason: str, *, unknown: bool = False) -> LedgerError:
        """An error about this ledger. A failed transaction is rolled back, unless it failed while being committed."""
        rest = "whether the last entry was recorded is not known: look before you go on"
        return LedgerError(f"the ledger {self.shown} {reason}; {rest if unknown else 'nothing was spent'}")

    def start_over(self) -> None:
        """In the child of a fork: forget the parent's connections without closing them."""
        self.engine.dispose(close=False)

    def close(self) -> None:
        """Let go of all connections."""
        self.engine.dispose()

    @abstractmethod
    def exists(self) -> bool:
        """Whether there is a ledger."""

    @abstractmethod
    def make(self, build: Callable[[Connection], None]) -> None:
        """Make the ledger, whole or not at all; one that is already there is refused."""

    @abstractmethod
    def sound(self, connection: Connection) -> str:
        """What is wrong with the store itself; nothing: an empty text."""

    @abstractmethod
    def _check(self) -> None:
        """Raise if the ledger is gone."""

    @abstractmethod
    def _lock(self, connection: Connection) -> None:
        """Wait for the other writers, where beginning to write does not."""

    @abstractmethod
    def _reason(self, error: SQLAlchemyError) -> str:
        """Constant words for what went wrong."""

    @abstractmethod
    def _torn(self, error: SQLAlchemyError) -> bool:
        """Whether a commit that failed so may have taken effect all the same."""


def open_database(place: str | Path, *, patience: float = 10.0, pooled: bool = False) -> Database:
    """The database at a path, or at a postgresql:// URL. A pool is for a server: it keeps connections between calls."""
    if not isinstance(place, str) or "://" not in place:
        from sparsegate.ledger.sqlite_file import SqliteFile

        return SqliteFile(place, patience=patience, pooled=pooled)
    try:
        url = make_url(place)
    except ArgumentError:
        url = None
    if url is None or url.get_backend_name() != "postgresql":
        raise LedgerError("a ledger must be the path of a file, or postgresql://user@host/database; nothing was spent")
    from sparsegate.ledger.postgres import PostgresDatabase

    return PostgresDatabase(url, patience=patience, pooled=pooled)


def _reborn(database: weakref.ref[Database]) -> Callable[[], None]:
    def start_over() -> None:
        if (living := database()) is not None:
            living.start_over()

    return start_over
