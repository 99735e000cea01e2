"""A ledger in one SQLite file: WAL mode, synchronous=FULL."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.pool import NullPool, QueuePool

from sparsegate.errors import LedgerError
from sparsegate.ledger.database import DAMAGED, LOCKED, POOL, Database

_REASONS: Final = MappingProxyType(
    {
        sqlite3.SQLITE_BUSY: LOCKED,
        sqlite3.SQLITE_LOCKED: LOCKED,
        sqlite3.SQLITE_READONLY: "cannot be written; check the permissions of the file and of its folder",
        sqlite3.SQLITE_PERM: "cannot be written; check the permissions of the file and of its folder",
        sqlite3.SQLITE_CANTOPEN: "cannot be opened; check its path, and the permissions of the file and of its folder",
        sqlite3.SQLITE_FULL: "cannot be written: the disk is full",
        sqlite3.SQLITE_IOERR: "cannot be read or written: the disk reports an error",
        sqlite3.SQLITE_CORRUPT: DAMAGED,
        sqlite3.SQLITE_NOTADB: "is not a ledger: another kind of file, or damaged; give the path of a ledger",
    }
)

ROOM: Final = 100 * 2**20
"""The least room beside a ledger, in bytes: for intents, outcomes and failures of 200 questions under way, the longest
that there are, and time to act."""
_PROBE: Final = bytes(2**20)
_BEGIN: Final = MappingProxyType({True: "BEGIN IMMEDIATE", False: "BEGIN DEFERRED"})
_LINKING: Final = 0.5  # seconds in which whoever makes a ledger takes its draft's name away


class SqliteFile(Database):
    """A SQLite file in WAL mode."""

    def __init__(self, path: str | Path, *, patience: float, pooled: bool) -> None:
        self.path, self.shown, self.address = Path(path), str(path), str(Path(path).absolute())
        self._patience = patience
        self._doubted = False
        seen = self._seen()
        self._inode = None if seen is None else seen.st_ino
        super().__init__(self._engine(self.path, pooled=pooled), patience=patience)

    def _connect(self, path: Path) -> sqlite3.Connection:
        return sqlite3.connect(
            f"{path.absolute().as_uri()}?mode=rw",
            uri=True,
            timeout=self._patience,
            isolation_level=None,
            check_same_thread=False,
        )

    def _engine(self, path: Path, *, pooled: bool) -> Engine:
        kept = {"poolclass": QueuePool, "pool_size": POOL, "max_overflow": 3 * POOL, "pool_timeout": self._patience}
        options: dict[str, Any] = kept if pooled else {"poolclass": NullPool}
        engine = create_engine("sqlite://", creator=lambda: self._connect(path), **options)
        event.listen(engine, "connect", _durable)
        event.listen(engine, "begin", _begin)
        event.listen(engine, "close", _undone)
        return engine

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
                f"the ledger {self.shown} {gone}; check the path, or make a new one by giving a budget and a dataset "
                "(but not in place of one that was lost: what it recorded stays spent)"
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

    @property
    def _begins(self) -> str:
        return _BEGIN[True]

    def _lock(self, run: Callable[[str], Any]) -> None:
        # BEGIN IMMEDIATE has waited already. A file that was taken out of WAL mode could lose what is written now.
        if wrong := _mode(run):
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
                engine = self._engine(draft, pooled=False)
                with engine.connect() as connection:
                    connection.connection.driver_connection.execute(f"PRAGMA journal_mode={mode}")  # type: ignore[union-attr]
                with engine.connect().execution_options(writes=True) as connection, connection.begin():
                    build(connection)
                engine.dispose()
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
        except (SQLAlchemyError, sqlite3.Error) as error:
            reason = self._reason(error)
        else:
            return
        raise LedgerError(f"the ledger {place} {reason}")

    def sound(self, connection: Connection) -> str:
        if connection.execute(text("PRAGMA quick_check(1)")).scalar() != "ok":
            return DAMAGED
        return _mode(lambda text: connection.exec_driver_sql(text).scalar())

    def _reason(self, error: SQLAlchemyError | sqlite3.Error) -> str:
        return _REASONS.get(_code(error), "cannot be used: SQLite refuses it; examine it by hand")

    def _torn(self, error: SQLAlchemyError) -> bool:
        return _code(error) == sqlite3.SQLITE_IOERR


def _mode(run: Callable[[str], Any]) -> str:
    if run("PRAGMA journal_mode") != "wal":
        return "has left WAL mode, so a crash could lose entries; examine it by hand"
    return ""


def _code(error: SQLAlchemyError | sqlite3.Error) -> int:
    """SQLite's code: the low byte is the kind of trouble, the rest is detail."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    code: int = getattr(cause, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
    return code & 0xFF


def _durable(connection: sqlite3.Connection, _: object) -> None:
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("PRAGMA foreign_keys=ON")


def _undone(connection: sqlite3.Connection, _: object) -> None:
    """After an interrupt: a connection that is closed while a cursor lives would keep the write lock as long."""
    with suppress(sqlite3.Error):
        connection.rollback()


def _begin(connection: Connection) -> None:
    connection.exec_driver_sql(_BEGIN[bool(connection.get_execution_options().get("writes"))])


def sync_folder(folder: Path) -> None:
    """A name in a folder is on disk when the folder is."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
