"""A transaction that only reads, and sees one moment, in any database that SQLAlchemy reaches.

**PostgreSQL**: REPEATABLE READ, READ ONLY. **SQLite**: ``query_only``, and a transaction; a file that is named by its
URL is opened to be read alone. **Others**: SERIALIZABLE, in which all that is read is of one moment, by the standard; a
dialect without that level is refused. Nothing keeps such a transaction from writing, so no query of a stranger runs in
it. Whatever happens, the transaction is rolled back and the connection goes back as it came. Whatever the server
reports becomes a TableError in constant words: its own may quote a cell, and a URL may hold a password.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from sqlalchemy import Connection, Engine, create_engine, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from sparsegate.errors import ParameterError, TableError, load_extra
from sparsegate.tables.engine_errors import raise_alone

UNREAD: Final = "the database cannot be read"
LEAST_VERSION: Final = 140_000
CONNECT_SECONDS: Final = 10  # that a connection, and a lock on the table, are waited for
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
_UNREACHED = "it cannot be reached, or refuses this user, password or database; check the address, and the password"
_LOCAL = "it cannot be reached, is in use, or has not what was asked for; check the address, the names and the rights"


@contextmanager
def quiet_database(trouble: str) -> Iterator[None]:
    """Turn an error of the database into a TableError in these constant words."""
    try:
        yield
    except UnicodeError:  # a name that no database can have
        raise_alone(TableError(f"{trouble}: {_REASONS['42']}"))
    except SQLAlchemyError as error:
        cause = error.orig if isinstance(error, DBAPIError) else None
        state = getattr(cause, "sqlstate", None) or ""
        unknown = _UNREACHED if cause is None or hasattr(cause, "sqlstate") else _LOCAL
        raise_alone(TableError(f"{trouble}: {_REASONS.get(state) or _REASONS.get(state[:2], unknown)}"))


def pin(connection: Connection, settings: Mapping[str, str]) -> None:
    """Settings for the rest of the transaction."""
    connection.exec_driver_sql("; ".join(f"SET LOCAL {name} = {value}" for name, value in settings.items()))


def engine_at(url: str, parameter: str = "data") -> Engine:
    """How to reach the database; no connection is made yet. The text may hold a password, and is in no error."""
    dialect = url.partition(":")[0]
    postgresql = dialect in ("postgresql", "postgres", "postgresql+psycopg")
    if postgresql:
        load_extra("psycopg", extra="postgres")
    try:
        place = make_url(url)
        if postgresql:
            place = place.set(drivername="postgresql+psycopg")
            # Native hstore would be looked up on every connection, before the search path is pinned.
            return create_engine(place, poolclass=NullPool, use_native_hstore=False, connect_args=_CONNECTED)
        if place.get_backend_name() == "sqlite" and place.database and not place.query:
            file = Path(place.database).absolute().as_uri() + "?mode=ro"
            return create_engine(place, poolclass=NullPool, creator=lambda: sqlite3.connect(file, uri=True))
        return create_engine(place, poolclass=NullPool)
    except NoSuchModuleError:
        rule, step = f"must be a file, or a database that SQLAlchemy has a dialect for, and not {dialect}://", "copy it"
    except (ArgumentError, ValueError):
        rule, step = "must be as postgresql://user@host/database", "write special characters as %40"
    except ImportError as error:
        rule = f"needs a driver for {dialect}:// that is not installed"
        step = f"install the package that has the module {error.name}"
    raise ParameterError(parameter, rule, next_step=step)


@contextmanager
def one_moment(engine: Engine) -> Iterator[Connection]:
    """A connection in such a transaction."""
    begun = {"postgresql": _postgresql, "sqlite": _sqlite}.get(engine.dialect.name, _serializable)
    with engine.connect() as connection, begun(connection):
        try:
            yield connection
        finally:
            connection.rollback()


@contextmanager
def _postgresql(connection: Connection) -> Iterator[None]:
    connection.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
    if int(connection.exec_driver_sql("SHOW server_version_num").scalar_one()) < LEAST_VERSION:
        raise TableError("the server is too old: PostgreSQL 14 is the first that has what is needed; copy to Parquet")
    if connection.exec_driver_sql("SHOW server_encoding").scalar_one() != "UTF8":
        raise TableError("the database must be in UTF-8, for text to be the same everywhere; copy the table to Parquet")
    # A cursor is read to its end here: the planner must not hurry for its first rows.
    pin(connection, {**WRITTEN, "cursor_tuple_fraction": "1"})
    yield


@contextmanager
def _sqlite(connection: Connection) -> Iterator[None]:
    if connection.dialect.driver != "pysqlite":
        raise TableError("SQLite is read with Python's own driver alone; pass an engine of sqlite+pysqlite://")
    if connection.exec_driver_sql("PRAGMA encoding").scalar_one() != "UTF-8":
        raise TableError("a SQLite database with UTF-16 text is read as a file; pass its path instead of a URL")
    before = connection.exec_driver_sql("PRAGMA query_only").scalar_one()
    connection.exec_driver_sql("PRAGMA query_only = ON")
    try:
        connection.exec_driver_sql("BEGIN")
        yield
    finally:
        connection.rollback()
        connection.exec_driver_sql(f"PRAGMA query_only = {before}")


@contextmanager
def _serializable(connection: Connection) -> Iterator[None]:
    dialect, levels = connection.dialect, list[str]()
    with suppress(NotImplementedError):
        levels += dialect.get_isolation_level_values(connection.connection.dbapi_connection)  # type: ignore[arg-type]
    if "SERIALIZABLE" not in levels:
        raise TableError(f"{dialect.name} has no transaction that sees one moment; copy the table to Parquet")
    connection.execution_options(isolation_level="SERIALIZABLE")
    yield
