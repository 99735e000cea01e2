"""The database under a ledger: one SQLite file, or one PostgreSQL database. Transactions, and words for trouble.

Both are used in the same way. A writing transaction takes the one write lock before it reads (SQLite: BEGIN IMMEDIATE;
PostgreSQL: the row of the table ``ledger``, FOR UPDATE), so that two processes cannot both spend the last of a budget,
and is on disk when it ends (WAL with synchronous=FULL; synchronous_commit=on). What an ask reads and writes goes past
SQLAlchemy (``looking``, ``together``), and what is written at the same time is committed together (``group_commit``).
Whatever the database reports becomes a ``LedgerError`` in constant words: its own may hold what was to be written.
"""

from __future__ import annotations

import os
import weakref
from abc import ABC, abstractmethod
from collections import namedtuple
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

from sqlalchemy import Connection, Dialect, Engine, Insert, Select, Update, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, IntegrityError, SQLAlchemyError

from sparsegate.errors import LedgerError
from sparsegate.ledger.group_commit import GroupCommit

DAMAGED: Final = "is damaged; restore or examine it by hand before spending more"
LOCKED: Final = "is locked by another process; try again when that has ended"
POOL: Final = 8

Result = TypeVar("Result")


class DriverStatement:
    """A statement, compiled once for each dialect; its values are given by name, of an insert those of ``columns``."""

    def __init__(self, statement: Select[Any] | Insert | Update, *columns: str) -> None:
        self._statement, self._columns = statement, columns or None
        self._compiled: dict[str, tuple[str, list[str] | None, dict[str, Any]]] = {}
        names = statement.selected_columns.keys() if isinstance(statement, Select) else []
        self.row: Final[Callable[[Any], Any]] = namedtuple("Row", names)._make  # type: ignore[attr-defined]

    def on(self, dialect: Dialect, values: dict[str, Any]) -> tuple[str, Any]:
        """The text for a dialect, and the values as its driver takes them."""
        known = self._compiled.get(dialect.name)
        if known is None:
            found = self._statement.compile(dialect=dialect, column_keys=self._columns)
            fixed = {name: bind.value for name, bind in found.binds.items() if not bind.required}
            known = self._compiled[dialect.name] = (str(found), found.positiontup, fixed)
        text, order, fixed = known
        given = fixed | values
        return text, given if order is None else [given[name] for name in order]


class DriverConnection:
    """A connection without SQLAlchemy around it, which takes ten times as long around a statement as SQLite for it.

    ``sound`` is False after an error, or an interrupt, that leaves nobody knowing what state it is in.
    """

    def __init__(self, driver: Any, dialect: Dialect) -> None:
        self._driver, self._dialect = driver, dialect
        self.sound = True

    @classmethod
    def of(cls, connection: Connection) -> DriverConnection:
        """The one under a connection of SQLAlchemy, in its transaction."""
        return cls(connection.connection.driver_connection, connection.dialect)

    def rows(self, statement: DriverStatement, **values: Any) -> list[Any]:
        """Run a statement: its rows, if it has any, with a name for each column."""
        return [statement.row(row) for row in self._called(self._fetched, *statement.on(self._dialect, values))]

    def one(self, statement: DriverStatement, **values: Any) -> Any:
        """Its one row, or None."""
        found = self.rows(statement, **values)
        return found[0] if found else None

    def run(self, text: str) -> Any:
        """Run a text that has no values; its first value, if it has one."""
        found = self._called(self._fetched, text)
        return found[0][0] if found else None

    def commit(self) -> None:
        """Write what was done to disk."""
        self._called(self._driver.commit)

    def _fetched(self, *query: Any) -> Any:
        cursor = self._driver.execute(*query)
        return () if cursor.description is None else cursor.fetchall()

    def _called(self, call: Callable[..., Any], *args: Any) -> Any:
        try:
            return _translated(self._dialect, call, *args)
        except BaseException as error:
            self.sound = self.sound and isinstance(error, IntegrityError)
            raise


def _translated(dialect: Dialect, call: Callable[..., Any], *args: Any) -> Any:
    """Call the driver; its errors become those of SQLAlchemy."""
    try:
        return call(*args)
    except dialect.loaded_dbapi.Error as error:
        trouble = DBAPIError.instance(None, None, error, dialect.loaded_dbapi.Error, hide_parameters=True)
    raise trouble


class Database(ABC):
    """Where a ledger lives. ``shown`` names it in messages, without a password."""

    shown: str
    address: str
    """By which another process opens it: without a password, which no pickle shall hold."""

    def __init__(self, engine: Engine, *, patience: float) -> None:
        self.engine = engine
        self._patience = patience
        self._group = self._writers()
        # A connection belongs to the process that made it: a child of a fork starts with none.
        os.register_at_fork(after_in_child=_reborn(weakref.ref(self)))

    def _writers(self) -> GroupCommit:
        """SQLite's own waiting is a poll that grows, and is fair to nobody: threads wait for one another here."""
        return GroupCommit(
            lambda: self._transaction(True, self._driven),
            translated=lambda error: self.trouble(self._reason(error)) if isinstance(error, SQLAlchemyError) else error,
            busy=lambda: self.trouble(LOCKED),
            interrupted=lambda: self.trouble("was interrupted by another thread", unknown=True),
            patience=self._patience,
        )

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that changes nothing; each of its statements sees one moment."""
        with self._transaction(False, self._connected) as connection:
            yield connection

    @contextmanager
    def looking(self) -> Iterator[DriverConnection]:
        """The same for statements of the driver."""
        with self._transaction(False, self._driven) as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction under the write lock: committed to disk on a clean exit, else rolled back."""
        with self._group.alone(), self._transaction(True, self._connected) as connection:
            self._lock(lambda text: connection.exec_driver_sql(text).scalar())
            yield connection

    def together(self, work: Callable[[DriverConnection], Result]) -> Result:
        """Do the work as such a transaction, in one commit with that of others who come at the same time."""
        return self._group.run(work)

    @contextmanager
    def _transaction(
        self, writes: bool, begun: Callable[[bool], AbstractContextManager[tuple[Any, Callable[[], None]]]]
    ) -> Iterator[Any]:
        unknown = False
        try:
            self._check()
            with begun(writes) as (connection, commit):
                yield connection
                unknown = writes
                commit()
        except SQLAlchemyError as error:
            reason = self._reason(error)
            unknown = unknown and self._torn(error)
        else:
            return
        # Raised out here the error has no link back to the message left behind.
        raise self.trouble(reason, unknown=unknown)

    @contextmanager
    def _connected(self, writes: bool) -> Iterator[tuple[Connection, Callable[[], None]]]:
        with self.engine.connect().execution_options(writes=writes) as connection, connection.begin() as transaction:
            yield connection, transaction.commit

    @contextmanager
    def _driven(self, writes: bool) -> Iterator[tuple[DriverConnection, Callable[[], None]]]:
        pooled = _translated(self.engine.dialect, self.engine.raw_connection)
        connection = DriverConnection(pooled.driver_connection, self.engine.dialect)
        try:
            if writes:
                if begin := self._begins:
                    connection.run(begin)
                self._lock(connection.run)
            yield connection, connection.commit
        finally:
            if not connection.sound:
                pooled.invalidate()
            pooled.close()  # undoes what was not committed

    def trouble(self, reason: str, *, unknown: bool = False) -> LedgerError:
        """An error about this ledger. A failed transaction is rolled back, unless it failed while being committed."""
        rest = "whether the last entry was recorded is not known: look before you go on"
        return LedgerError(f"the ledger {self.shown} {reason}; {rest if unknown else 'nothing was spent'}")

    def room(self) -> str:
        """What is wrong with the room for what is written next, as far as that can be known; empty: there is some."""
        return ""

    def need_room(self) -> None:
        """Refuse before anything is charged or reserved what could not be written to its end."""
        if short := self.room():
            raise self.trouble(f"{short}; make room there")

    def doubt(self) -> None:  # noqa: B027  (what is elsewhere cannot be looked at)
        """Something that there was room for could not be written: look more closely before the next."""

    def start_over(self) -> None:
        """In the child of a fork: forget the parent's connections without closing them."""
        self._group = self._writers()
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

    @property
    @abstractmethod
    def _begins(self) -> str:
        """What begins a transaction that writes; an empty text: the driver does. One that reads needs nothing."""

    @abstractmethod
    def _lock(self, run: Callable[[str], Any]) -> None:
        """Wait for the other writers, where beginning to write does not; ``run`` gives the first value of a text."""

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
