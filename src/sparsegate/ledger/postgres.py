"""A ledger in a PostgreSQL database, which several server processes share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from sqlalchemy import URL, Connection, create_engine, inspect, text
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.pool import NullPool

from sparsegate.errors import LedgerError
from sparsegate.ledger.database import LOCKED, POOL, Database
from sparsegate.ledger.database_schema import LEDGER

_SECRETS: Final = ("password", "sslpassword")


class PostgresDatabase(Database):
    """A PostgreSQL database that several server processes share."""

    def __init__(self, url: URL, *, patience: float, pooled: bool) -> None:
        shown = url.difference_update_query(_SECRETS)
        self.shown = shown.render_as_string(hide_password=True)
        self.address = shown._replace(password=None).render_as_string(hide_password=False)
        wait = max(1, round(patience))
        settings = f"-c synchronous_commit=on -c lock_timeout={wait}s -c statement_timeout={4 * wait}s"
        kept = {"pool_size": POOL, "max_overflow": 3 * POOL, "pool_pre_ping": True, "pool_timeout": patience}
        options: dict[str, Any] = kept if pooled else {"poolclass": NullPool}
        engine = create_engine(
            url.set(drivername="postgresql+psycopg"),
            # A snapshot from before the wait for the lock would not hold what the others spent meanwhile.
            isolation_level="READ COMMITTED",
            connect_args={"connect_timeout": wait, "options": settings},
            use_native_hstore=False,  # no such column here, and its lookup would meet operators of others
            **options,
        )
        super().__init__(engine, patience=patience)

    def exists(self) -> bool:
        with self.reading() as connection:
            return inspect(connection).has_table("ledger")

    def make(self, build: Callable[[Connection], None]) -> None:
        """DDL is transactional here: all tables or none."""
        with self._transaction(True, self._connected) as connection:
            if inspect(connection).has_table("ledger"):
                raise LedgerError(f"the ledger {self.shown} is already there; open it, or choose another database")
            build(connection)

    def sound(self, connection: Connection) -> str:
        if connection.execute(text("SHOW fsync")).scalar() != "on":
            return "does not write to disk: fsync is off, so a crash could lose entries; switch it on"
        return ""

    def _check(self) -> None:
        """A database that is gone refuses the connection."""

    @property
    def _begins(self) -> str:
        return ""

    def _lock(self, run: Callable[[str], Any]) -> None:
        run(f"SELECT {LEDGER.c.only_row.name} FROM {LEDGER.name} FOR UPDATE")

    def _reason(self, error: SQLAlchemyError) -> str:
        if isinstance(error, PoolTimeout):
            return "is busy: all connections are in use; try again"
        state = _state(error)
        if state == "55P03":
            return LOCKED
        if state.startswith("53"):
            return "cannot be written: the server is out of disk, memory or connections"
        if self._torn(error):
            return "cannot be reached; check the address, and that the server runs and admits you"
        return "cannot be used: PostgreSQL refuses it; examine it by hand"

    def _torn(self, error: SQLAlchemyError) -> bool:
        return _state(error)[:2] in ("", "08", "57")


def _state(error: SQLAlchemyError) -> str:
    cause = error.orig if isinstance(error, DBAPIError) else None
    return getattr(cause, "sqlstate", None) or ""
