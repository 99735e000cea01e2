"""The database under a ledger: one SQLite file, or one PostgreSQL database. Transactions, and words for trouble.

Both are used in the same way. A writing transaction takes the one write lock before it reads (SQLite: BEGIN IMMEDIATE;
PostgreSQL: the row of the table ``ledger``, FOR UPDATE), so that two processes cannot both spend the last of a budget,
and is on disk when it ends (WAL with synchronous=FULL; synchronous_commit=on). What is written at the same time may be
committed together (``GroupCommit``). SQLAlchemy keeps the connections; statements are SQL that both databases
read, with their values by name. Whatever the database reports becomes a ``LedgerError`` in constant
words: its own may hold what was to be written.
"""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import tempfile
import threading
import time
import weakref
from abc import ABC, abstractmethod
from collections import namedtuple
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, TypeVar

from sqlalchemy import URL, Dialect, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.pool import NullPool, QueuePool

from sparsegate.errors import LedgerError

Result = TypeVar("Result")

_LOOK_AGAIN: Final = 0.1  # seconds; whoever writes may be interrupted before it says that it is done


class _Piece:
    """What one caller wants done, who does it, and what came of it; ``over``: somebody took it up, and is done."""

    def __init__(self, work: Callable[[Connection], Any]) -> None:
        self.work, self.committed = work, False
        self.writer: threading.Lock | None = None
        self.result: Any = None
        self.failure: Exception | None = None

    @property
    def over(self) -> bool:
        return self.writer is not None and not self.writer.locked()


class GroupCommit:
    """The writers of one process: one at a time, or many together, who wait for one write to disk instead of many.

    Whoever may write runs all pieces that wait, one after the other in one transaction, and commits them. **Theorem.**
    For each caller it is as if its piece had been a transaction of its own: ``run`` returns only after the commit is on
    disk; a piece that raises leaves nothing behind, and the others stand; where the commit fails nothing of any piece
    is left, and where whoever writes is interrupted all or nothing, and nobody gets a result; and the pieces run one
    after the other under the write lock. Proof: docs/explanation/proofs_in_words/ledger.md

    A writer holds a lock of its own in a ``with``, and writes while it is held. So it is free when the block is left,
    however it is left: no signal is looked at between the end of a block and the release of such a lock. (Inside the
    methods of a ``Condition``, and at the beginning of a ``finally``, it is.)
    """

    def __init__(
        self,
        transaction: Callable[[], AbstractContextManager[Connection]],
        *,
        translated: Callable[[Exception], Exception],
        trouble: Callable[..., Exception],
        patience: float,
    ) -> None:
        self._transaction, self._translated, self._trouble = transaction, translated, trouble
        self._patience = patience
        self._lock = threading.Lock()
        self._bells: list[threading.Lock] = []
        self._waiting: list[_Piece] = []
        self._writer = threading.Lock()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Hold off all other writers of this process."""
        me = threading.Lock()
        try:
            with me:
                self._turn(me)
                yield
        finally:
            self._ring()

    def run(self, work: Callable[[Connection], Result]) -> Result:
        """Do the work, in one transaction with that of others; return or raise what came of it, when it is on disk."""
        piece, me = _Piece(work), threading.Lock()
        try:
            with me:
                with self._lock:
                    self._waiting.append(piece)
                self._turn(me, piece)
                if self._writer is me:
                    self._commit(self._taken(me))
        finally:
            self._withdraw(piece)
            self._ring()
        if piece.failure is not None:
            raise piece.failure
        if not piece.committed:
            raise self._trouble("was interrupted by another thread", unknown=True)
        result: Result = piece.result
        return result

    def _turn(self, me: threading.Lock, piece: _Piece | None = None) -> None:
        """Wait until nobody else writes, and be the writer; or until somebody has done the piece."""
        until = time.monotonic() + self._patience
        while True:
            with self._lock:
                if piece is not None and piece.over:
                    return
                if not self._writer.locked():
                    self._writer = me
                    return
                begun = piece is not None and piece.writer is not None  # how it ends must be known
                if not begun and time.monotonic() >= until:
                    raise self._trouble(LOCKED)
                bell = threading.Lock()
                bell.acquire()
                self._bells.append(bell)
            bell.acquire(timeout=_LOOK_AGAIN)

    def _taken(self, me: threading.Lock) -> list[_Piece]:
        """All that nobody has begun with; from now on this writer does them."""
        with self._lock:
            pieces = [piece for piece in self._waiting if piece.writer is None]
            for piece in pieces:
                piece.writer = me
            self._waiting = []
        return pieces

    def _withdraw(self, piece: _Piece) -> None:
        """Whoever gave up, or was interrupted, has nothing written for him any more."""
        with self._lock:
            self._waiting = [other for other in self._waiting if other is not piece]

    def _ring(self) -> None:
        """Tell those who wait to look again."""
        with self._lock:
            bells, self._bells = self._bells, []
            for bell in bells:
                bell.release()

    def _commit(self, pieces: list[_Piece]) -> None:
        try:
            with self._transaction() as connection:
                for piece in pieces:
                    if len(pieces) == 1:
                        piece.result = piece.work(connection)
                    else:
                        self._do(piece, connection)
        except Exception as error:
            for piece in pieces:
                piece.failure = error
            return
        for piece in pieces:
            piece.committed = True

    def _do(self, piece: _Piece, connection: Connection) -> None:
        """Do one of several pieces; whatever it raises, all of it is undone, and none of the others."""
        connection.run("SAVEPOINT piece")
        try:
            piece.result = piece.work(connection)
        except Exception as error:
            piece.failure = self._translated(error)
            connection.run("ROLLBACK TO SAVEPOINT piece")
        connection.run("RELEASE SAVEPOINT piece")


DAMAGED: Final = "is damaged; restore or examine it by hand before spending more"
LOCKED: Final = "is locked by another process; try again when that has ended"
UNREACHED: Final = "cannot be reached; check the address, and that the server runs and admits you"
POOL: Final = 8


class Connection:
    """A connection in a transaction. ``sound`` is False after an error, or an interrupt, that leaves it in doubt."""

    def __init__(self, driver: Any, dialect: Dialect) -> None:
        self._driver, self._dialect = driver, dialect
        self.sound = True

    def rows(self, sql: str, **values: Any) -> list[Any]:
        """Run a statement: its rows, if it has any, with a name for each column."""
        fetched: list[Any] = self._called(self._fetched, sql, values)
        return fetched

    def one(self, sql: str, **values: Any) -> Any:
        """Its one row, or None."""
        return next(iter(self.rows(sql, **values)), None)

    def value(self, sql: str, **values: Any) -> Any:
        """The first value of its one row, or None."""
        return next(iter(self.one(sql, **values) or ()), None)

    def run(self, sql: str, **values: Any) -> int:
        """How many rows it changed."""
        return int(self._called(self._executed, sql, values).rowcount)

    def add(self, table: str, **values: Any) -> None:
        """Insert a row."""
        self.run(f"INSERT INTO {table} ({', '.join(values)}) VALUES (:{', :'.join(values)})", **values)

    def add_once(self, table: str, **values: Any) -> bool:
        """Insert a row; False: a constraint refuses it, and the transaction must be undone."""
        with suppress(self._dialect.loaded_dbapi.IntegrityError):
            self.add(table, **values)
            return True
        return False

    def make_tables(self, tables: Mapping[str, str]) -> None:
        """Make tables of these names, from their columns; what the databases call otherwise is put in."""
        types = {"sqlite": {"bytes": "BLOB", "serial": "INTEGER"}, "postgresql": {"bytes": "BYTEA", "serial": "SERIAL"}}
        for name, columns in tables.items():
            self.run(f"CREATE TABLE {name} ({columns.format(**types[self.store])})")

    @property
    def store(self) -> str:
        """Which database: "sqlite" or "postgresql"."""
        return self._dialect.name

    def commit(self) -> None:
        """Write what was done to disk."""
        self._called(self._driver.commit)

    def _executed(self, sql: str, values: dict[str, Any]) -> Any:
        return self._driver.execute(sql if self.store == "sqlite" else _percents(sql), *([values] if values else []))

    def _fetched(self, sql: str, values: dict[str, Any]) -> Any:
        cursor = self._executed(sql, values)
        if cursor.description is None:
            return []
        return list(map(_row(tuple(column[0] for column in cursor.description)), cursor.fetchall()))

    def _called(self, call: Callable[..., Any], *args: Any) -> Any:
        try:
            return call(*args)
        except BaseException as error:
            self.sound = self.sound and isinstance(error, self._dialect.loaded_dbapi.IntegrityError)
            raise


@lru_cache(maxsize=1024)
def _percents(sql: str) -> str:
    """Values by name as psycopg takes them."""
    return re.sub(r":(\w+)", r"%(\1)s", sql)


@lru_cache(maxsize=1024)
def _row(names: tuple[str, ...]) -> Callable[[Any], Any]:
    made: Callable[[Any], Any] = namedtuple("Row", names, rename=True)._make  # type: ignore[attr-defined]
    return made


class Database(ABC):
    """Where a ledger lives. ``shown`` names it in messages, ``address`` for another process, both without a password.

    Processes that write wait for one another in ``line``, before the lock that decides. A service has one.
    """

    shown: str
    address: str
    line: Callable[[], AbstractContextManager[None]] = nullcontext
    _begins = ("", "")  # what begins a transaction that reads, or writes, where the driver does not
    _tables: str  # a query for the names of all tables

    def __init__(self, engine: Engine, *, patience: float) -> None:
        self.engine = engine
        self._errors = (engine.dialect.loaded_dbapi.Error, SQLAlchemyError)
        self._patience = patience
        self._group = self._writers()
        # A connection belongs to the process that made it: a child of a fork starts with none.
        start_over = weakref.WeakMethod(self.start_over)
        os.register_at_fork(after_in_child=lambda: (living := start_over()) and living())

    def _writers(self) -> GroupCommit:
        """SQLite's own waiting is a poll that grows, and is fair to nobody: threads wait for one another here."""
        return GroupCommit(
            lambda: self._transaction(writes=True),
            translated=lambda error: self.trouble(self._reason(error)) if isinstance(error, self._errors) else error,
            trouble=self.trouble,
            patience=self._patience,
        )

    def reading(self) -> AbstractContextManager[Connection]:
        """A transaction that changes nothing; each of its statements sees one moment."""
        return self._transaction()

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction under the write lock: committed to disk on a clean exit, else rolled back."""
        with self._group.alone(), self._transaction(writes=True) as connection:
            yield connection

    def together(self, work: Callable[[Connection], Result]) -> Result:
        """Do the work as such a transaction, in one commit with that of others who come at the same time."""
        return self._group.run(work)

    @contextmanager
    def _transaction(self, *, writes: bool = False, locks: bool = True) -> Iterator[Connection]:
        unknown = False
        try:
            self._check()
            with self.line() if writes else nullcontext(), self._connected() as connection:
                if self._begins[writes]:
                    connection.run(self._begins[writes])
                if writes and locks:
                    self._lock(connection)
                yield connection
                if writes:
                    unknown = True
                    connection.commit()
        except self._errors as error:
            reason = self._reason(error)
            unknown = unknown and self._torn(error)
        except UnicodeDecodeError:  # SQLite quotes a damaged schema, which may be any bytes
            reason = DAMAGED
        else:
            return
        # Raised out here the error has no link back to the message left behind.
        raise self.trouble(reason, unknown=unknown)

    @contextmanager
    def _connected(self) -> Iterator[Connection]:
        pooled = self.engine.raw_connection()
        connection = Connection(pooled.driver_connection, self.engine.dialect)
        try:
            yield connection
        finally:
            if not connection.sound:
                pooled.invalidate()
            pooled.close()  # undoes what was not committed

    def tables(self, connection: Connection) -> set[str]:
        """The names of all tables."""
        return {row.name for row in connection.rows(self._tables)}

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

    def _check(self) -> None:  # noqa: B027  (a server that is gone refuses the connection)
        """Raise if the ledger is gone."""

    @abstractmethod
    def _lock(self, connection: Connection) -> None:
        """Wait for the other writers, where beginning to write does not."""

    @abstractmethod
    def _reason(self, error: Exception) -> str:
        """Constant words for what went wrong."""

    @abstractmethod
    def _torn(self, error: Exception) -> bool:
        """Whether a commit that failed so may have taken effect all the same."""


def now() -> datetime:
    """The time for the record, to the second: more would tell how long things took."""
    return datetime.now(UTC).replace(microsecond=0)


def open_database(place: str | Path, *, patience: float = 10.0, pooled: bool = False) -> Database:
    """The database at a path, or at a postgresql:// URL. A pool is for a server: it keeps connections between calls."""
    if not isinstance(place, str) or "://" not in place:
        return SqliteFile(place, patience=patience, pooled=pooled)
    try:
        url = make_url(place)
    except ArgumentError:
        url = None
    if url is None or url.get_backend_name() != "postgresql":
        raise LedgerError("a ledger must be the path of a file, or postgresql://user@host/database; nothing was spent")
    return PostgresDatabase(url, patience=patience, pooled=pooled)


def _pool(patience: float, pooled: bool) -> dict[str, Any]:
    kept = {"poolclass": QueuePool, "pool_size": POOL, "max_overflow": 3 * POOL, "pool_timeout": patience}
    return kept if pooled else {"poolclass": NullPool}


_SECRETS: Final = ("password", "sslpassword")


class PostgresDatabase(Database):
    """A PostgreSQL database that several server processes share."""

    def __init__(self, url: URL, *, patience: float, pooled: bool) -> None:
        shown = url.difference_update_query(_SECRETS)
        self.shown = shown.render_as_string(hide_password=True)
        self.address = shown._replace(password=None).render_as_string(hide_password=False)
        wait = max(1, round(patience))
        settings = f"-c synchronous_commit=on -c lock_timeout={wait}s -c statement_timeout={4 * wait}s"
        engine = create_engine(
            url.set(drivername="postgresql+psycopg"),
            # A snapshot from before the wait for the lock would not hold what the others spent meanwhile.
            isolation_level="READ COMMITTED",
            connect_args={"connect_timeout": wait, "options": settings},
            use_native_hstore=False,  # no such column here, and its lookup would meet operators of others
            pool_pre_ping=True,
            **_pool(patience, pooled),
        )
        super().__init__(engine, patience=patience)

    # Those that a statement would find, wherever on the search path: a ledger must not be made in front of another.
    _tables = "SELECT relname AS name FROM pg_catalog.pg_class WHERE relkind IN ('r', 'p') AND pg_table_is_visible(oid)"

    def exists(self) -> bool:
        with self.reading() as connection:
            return "ledger" in self.tables(connection)

    def make(self, build: Callable[[Connection], None]) -> None:
        """DDL is transactional here: all tables or none."""
        with self._transaction(writes=True, locks=False) as connection:
            if "ledger" in self.tables(connection):
                raise LedgerError(f"the ledger {self.shown} is already there; open it, or choose another database")
            build(connection)

    def sound(self, connection: Connection) -> str:
        if connection.value("SHOW fsync") != "on":
            return "does not write to disk: fsync is off, so a crash could lose entries; switch it on"
        return ""

    def _lock(self, connection: Connection) -> None:
        connection.run("SELECT only_row FROM ledger FOR UPDATE")

    def _reason(self, error: Exception) -> str:
        if isinstance(error, PoolTimeout):
            return "is busy: all connections are in use; try again"
        state = _state(error)
        if state == "55P03":
            return LOCKED
        if state.startswith("53"):
            return "cannot be written: the server is out of disk, memory or connections"
        return UNREACHED if self._torn(error) else "cannot be used: PostgreSQL refuses it; examine it by hand"

    def _torn(self, error: Exception) -> bool:
        return _state(error)[:2] in ("", "08", "57")


def _state(error: Exception) -> str:
    return getattr(error, "sqlstate", None) or ""


_REASONS: Final = {
    **dict.fromkeys((sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED), LOCKED),
    **dict.fromkeys(
        (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM),
        "cannot be written; check the permissions of the file and of its folder",
    ),
    sqlite3.SQLITE_CANTOPEN: "cannot be opened; check its path, and the permissions of the file and of its folder",
    sqlite3.SQLITE_FULL: "cannot be written: the disk is full",
    sqlite3.SQLITE_IOERR: "cannot be read or written: the disk reports an error",
    sqlite3.SQLITE_CORRUPT: DAMAGED,
    sqlite3.SQLITE_NOTADB: "is not a ledger: another kind of file, or damaged; give the path of a ledger",
}

ROOM: Final = 100 * 2**20  # bytes, for what follows 200 intents, the longest that there are, and time to act
_PROBE: Final = bytes(2**20)
_LINKING: Final = 0.5  # seconds in which whoever makes a ledger takes its draft's name away


class SqliteFile(Database):
    """A SQLite file in WAL mode."""

    _begins = ("BEGIN DEFERRED", "BEGIN IMMEDIATE")
    _tables = "SELECT name FROM sqlite_master WHERE type = 'table'"

    def __init__(self, path: str | Path, *, patience: float, pooled: bool) -> None:
        self.path, self.shown, self.address = Path(path), str(path), str(Path(path).absolute())
        self._patience = patience
        self._doubted = False
        seen = self._seen()
        self._inode = None if seen is None else seen.st_ino
        engine = create_engine("sqlite://", creator=lambda: self._connect(self.path), **_pool(patience, pooled))
        event.listen(engine, "close", _undone)
        super().__init__(engine, patience=patience)

    def _connect(self, path: Path) -> sqlite3.Connection:
        connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode=rw",
            uri=True,
            timeout=self._patience,
            isolation_level=None,
            check_same_thread=False,
        )
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("PRAGMA foreign_keys=ON")
        return connection

    def _seen(self) -> os.stat_result | None:
        try:
            return self.path.stat()
        except OSError:
            return None

    def _check(self) -> None:
        # An open connection would go on writing to a file that was deleted or replaced, and the writing be lost.
        seen, until = self._seen(), time.monotonic() + _LINKING
        if seen is None or (self._inode is not None and seen.st_ino != self._inode):
            gone = "does not exist" if seen is None else "was replaced by another file while in use"
            raise LedgerError(
                f"the ledger {self.shown} {gone}; check the path, or make a new one with sg.Ledger.create(...) or "
                "`sparsegate ledger create` (but not in place of one that was lost: what it recorded stays spent)"
            )
        self._inode = seen.st_ino
        # What is written under one name goes to a log beside that name: under two names a budget is spent twice.
        while seen is not None and seen.st_nlink > 1:
            if time.monotonic() > until:
                raise self.trouble(
                    "has a second name, a hard link, under which its budget could be spent again; remove the other "
                    "name (find it with `find -samefile`), or replace it by a symbolic link"
                )
            time.sleep(_LINKING / 20)
            seen = self._seen()

    def room(self) -> str:
        short = f"has less than {ROOM // 2**20} MiB free beside it"
        try:
            if shutil.disk_usage(self.path.parent).free < ROOM:
                return short
            if self._doubted:  # a quota, for instance, is in no number of the disk
                with tempfile.TemporaryFile(dir=self.path.parent, buffering=0) as probe:
                    probe.write(_PROBE)
                    os.fsync(probe.fileno())
                self._doubted = False
        except OSError:
            return "has a folder that cannot be written, or no room left in it"
        return ""

    def doubt(self) -> None:
        self._doubted = True

    def _lock(self, connection: Connection) -> None:
        # BEGIN IMMEDIATE has waited already. A file that was taken out of WAL mode could lose what is written now.
        if wrong := _mode(connection):
            raise self.trouble(wrong)

    def exists(self) -> bool:
        return self.path.exists()

    def make(self, build: Callable[[Connection], None]) -> None:
        self._make_file(self.path, build, lambda draft: None, mode="WAL")

    def copy_to(self, place: Path, change: Callable[[Connection], None], *, mode: str) -> None:
        """Copy everything that is committed to a new file, changed; others may write here meanwhile."""

        def copy(draft: Path) -> None:
            with closing(self._connect(self.path)) as source, closing(self._connect(draft)) as target:
                source.backup(target)
                if target.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
                    raise LedgerError(f"the ledger {self.shown} {DAMAGED}")

        self._make_file(place, change, copy, mode=mode)

    def _make_file(
        self, place: Path, build: Callable[[Connection], None], begin: Callable[[Path], None], *, mode: str
    ) -> None:
        """The file is written beside its place and then linked into it, so it appears whole or not at all."""
        try:
            with tempfile.TemporaryDirectory(prefix=".ledger-", dir=place.parent) as folder:
                draft = Path(folder) / "draft"
                draft.touch(mode=0o600)
                begin(draft)
                with closing(self._connect(draft)) as driver:
                    connection = Connection(driver, self.engine.dialect)
                    for sql in (f"PRAGMA journal_mode={mode}", self._begins[True]):
                        connection.run(sql)
                    build(connection)
                    connection.commit()
                with draft.open("rb") as file:
                    os.fsync(file.fileno())
                os.link(draft, place)
            sync_folder(place.parent)
        except FileExistsError:
            raise LedgerError(f"the ledger {place} is already there; open it, or choose another path") from None
        except OSError:
            raise LedgerError(
                f"the ledger {place} cannot be made; check that its folder exists and is writable"
            ) from None
        except sqlite3.Error as error:
            reason = self._reason(error)
        else:
            return
        raise LedgerError(f"the ledger {place} {reason}")

    def sound(self, connection: Connection) -> str:
        return DAMAGED if connection.value("PRAGMA quick_check(1)") != "ok" else _mode(connection)

    def _reason(self, error: Exception) -> str:
        return _REASONS.get(_code(error), "cannot be used: SQLite refuses it; examine it by hand")

    def _torn(self, error: Exception) -> bool:
        return _code(error) == sqlite3.SQLITE_IOERR


def _mode(connection: Connection) -> str:
    if connection.value("PRAGMA journal_mode") != "wal":
        return "has left WAL mode, so a crash could lose entries; examine it by hand"
    return ""


def _code(error: Exception) -> int:
    """SQLite's code: the low byte is the kind of trouble, the rest is detail."""
    code: int = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
    return code & 0xFF


def _undone(connection: sqlite3.Connection, _: object) -> None:
    """After an interrupt: a connection that is closed while a cursor lives would keep the write lock as long."""
    with suppress(sqlite3.Error):
        connection.rollback()


def sync_folder(folder: Path) -> None:
    """A name in a folder is on disk when the folder is."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
