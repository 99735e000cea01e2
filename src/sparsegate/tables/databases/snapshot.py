"""One moment of a PostgreSQL database, held by a read-only transaction and seen by other connections too.

**Held.** A transaction (REPEATABLE READ, READ ONLY) exports its snapshot; every connection that is lent begins in that
snapshot. They all see the same rows for as long as the holder lives: until it is closed, the server stops, or somebody
ends its session.

**Pinned.** How a query is run must not be up to what the planner has learnt of the cells: rows are read one after
another, by one process, without an index, and grouped by hash. How values are written is the same on every server.

**Quiet.** Whatever the server reports becomes a TableError in constant words: its own may quote a cell, and a URL may
hold a password.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Final

from sqlalchemy import URL, Connection, Engine, create_engine, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from sparsegate.errors import ParameterError, TableError, load_extra
from sparsegate.tables.engine_errors import raise_alone

UNREAD: Final = "the database cannot be read"
LEAST_VERSION: Final = 140_000
CONNECT_SECONDS: Final = 10
"""How long a connection, and a lock on the table, are waited for."""
STATEMENT_SECONDS: Final = 3600
"""After this the server ends a query, whoever still waits for it."""

_OFF: Final = (
    *("enable_indexscan", "enable_indexonlyscan", "enable_bitmapscan", "enable_tidscan", "enable_sort"),
    *("enable_partition_pruning", "constraint_exclusion", "synchronize_seqscans", "jit"),
)
WRITTEN: Final = {
    "row_security": "off",
    "standard_conforming_strings": "on",
    "timezone": "'UTC'",
    "datestyle": "'ISO, YMD'",
    "extra_float_digits": "1",
    "bytea_output": "'hex'",
    "idle_in_transaction_session_timeout": "0",
    "lock_timeout": f"'{CONNECT_SECONDS}s'",
}
"""How values are written; and that somebody who may not see all rows is refused, and not shown some."""
_PINNED: Final = {
    **dict.fromkeys(_OFF, "off"),
    **WRITTEN,
    "max_parallel_workers_per_gather": "0",
    "work_mem": "'256MB'",
    "search_path": "pg_catalog",
    "statement_timeout": f"'{STATEMENT_SECONDS}s'",
}
_CONNECTED: Final = {
    "application_name": "sparsegate",
    "connect_timeout": CONNECT_SECONDS,
    # After five times a statement would be prepared, and then planned for no values in particular.
    "prepare_threshold": None,
    # A server that vanished without a word: whoever waits for it is told after half a minute.
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 4,
    "tcp_user_timeout": 30_000,
}
_REASONS: Final = {
    "28": "it refuses this user or password",
    "3D": "it has no database of that name",
    "42501": "this user may not read all of the table; GRANT SELECT, to a user whom no row security policy filters",
    "42": "its tables or columns are not those that were asked for; check the names",
    "53": "the server is out of memory, disk or connections",
    "55": "somebody holds a lock on it; try again when they have finished",
    "57014": "the query was cancelled, or took too long",
    "40": "a standby took back what it had shown; serve from the primary, or set hot_standby_feedback",
}
_UNREACHED: Final = (
    "it cannot be reached, or refuses this user, password or database; check the address, and the password"
)
_ELSEWHERE: Final = (
    "it cannot be reached, is in use, or has not what was asked for; check the address, the names and the rights"
)


def database_engine(url: str) -> tuple[Engine, URL]:
    """How to connect; no connection is made yet."""
    load_extra("psycopg", extra="postgres")
    try:
        place = make_url(url).set(drivername="postgresql+psycopg")
    except (ArgumentError, ValueError):
        place = None
    if place is None:
        # The text itself may hold a password.
        raise ParameterError("url", "must be as postgresql://user@host/database, with special characters as %40")
    # Native hstore would be looked up on every connection, before the search path is pinned.
    return create_engine(place, poolclass=NullPool, use_native_hstore=False, connect_args=_CONNECTED), place


@contextmanager
def quiet_database(trouble: str) -> Iterator[None]:
    """Turn an error of the database into a TableError in these constant words."""
    try:
        yield
        return
    except UnicodeError:  # a name that no database can have
        reason = _REASONS["42"]
    except SQLAlchemyError as error:
        cause = error.orig if isinstance(error, DBAPIError) else None
        state = getattr(cause, "sqlstate", None) or ""
        unknown = _UNREACHED if cause is None or hasattr(cause, "sqlstate") else _ELSEWHERE
        reason = _REASONS.get(state) or _REASONS.get(state[:2], unknown)
    raise_alone(TableError(f"{trouble}: {reason}"))


class Snapshot:
    """One moment of a table in a database. Thread-safe."""

    def __init__(self, engine: Engine, table: str) -> None:
        """``table`` is its name in SQL."""
        self._engine = engine
        self._idle: queue.LifoQueue[Connection] = queue.LifoQueue()
        self._guard = threading.Lock()
        self._closed = False
        self._holder = self._begun()
        try:
            self._id = str(self._holder.exec_driver_sql("SELECT pg_catalog.pg_export_snapshot()").scalar_one())
            pin(self._holder)
            # Takes a lock until the end: a snapshot does not protect from TRUNCATE, or from ALTER TABLE.
            self._holder.exec_driver_sql(f"SELECT FROM {table} LIMIT 0")
        except BaseException:
            _dropped(self._holder)
            raise

    def alive(self) -> bool:
        """Whether the moment is still held: one small question to the server."""
        with self._guard:
            try:
                return not self._closed and self._holder.exec_driver_sql("SELECT 1").scalar_one() == 1
            except SQLAlchemyError:
                return False

    @contextmanager
    def lent(self) -> Iterator[Connection]:
        """A connection that sees this moment, for one thread; one that fails is thrown away."""
        try:
            connection = self._idle.get_nowait()
        except queue.Empty:
            connection = self._joined()
        try:
            yield connection
        except BaseException:
            _dropped(connection)
            raise
        self._idle.put(connection)
        if self._closed:
            self.close()

    def close(self) -> None:
        """Let go of the moment, and of all connections that are not lent."""
        self._closed = True
        _dropped(self._holder)
        with suppress(queue.Empty):
            while True:
                _dropped(self._idle.get_nowait())

    def _joined(self) -> Connection:
        connection = self._begun()
        try:
            connection.exec_driver_sql(f"SET TRANSACTION SNAPSHOT '{self._id}'")
            pin(connection)
        except BaseException:
            _dropped(connection)
            raise
        return connection

    def _begun(self) -> Connection:
        # no_parameters: a % in a query is a %.
        made = self._engine.connect().execution_options(isolation_level="AUTOCOMMIT", no_parameters=True)
        made.exec_driver_sql("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        return made


def pin(connection: Connection, settings: Mapping[str, str] = _PINNED) -> None:
    """Settings for the rest of the transaction."""
    connection.exec_driver_sql("; ".join(f"SET LOCAL {name} = {value}" for name, value in settings.items()))


def _dropped(connection: Connection) -> None:
    with suppress(Exception):
        connection.invalidate()
    with suppress(Exception):
        connection.close()
