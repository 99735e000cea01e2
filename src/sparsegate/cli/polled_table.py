"""A table of a database as a source of rows for `watch --follow`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from sparsegate.cli.followed_rows import Row
from sparsegate.errors import ParameterError

# PostgreSQL's numbers of these types. (A date is compared as its first moment; asked for whole, 'infinity' would fail.)
_MOMENTS: Final[dict[Any, str]] = {1082: "timestamp", 1114: "timestamp", 1184: "timestamptz"}


class PolledTable:
    """A table, or a query, that is asked for the rows of a window when the window closes."""

    behind = ended = gone = False

    def __init__(self, url: str, *, table: str | None, sql: str | None, user: str, time: str) -> None:
        import sqlalchemy

        from sparsegate.tables.databases.one_moment import engine_at, one_moment
        from sparsegate.tables.databases.snapshot import UNREAD, quiet_database

        if (table is None) == (sql is None):
            raise ParameterError("table", "must be given for a database, or a query in its place, and not both")
        engine = engine_at(url)
        who: Any = sqlalchemy.column(user)
        when: Any = sqlalchemy.column(time)
        place: Any
        if table is not None:
            schema, _, name = table.rpartition(".")
            place = sqlalchemy.table(name, who, when, schema=schema or None)
        else:
            place = sqlalchemy.text(sql or "").columns(who, when).subquery("asked")
        self._asked = sqlalchemy.select(place.c[user], place.c[time]).where(place.c[user].is_not(None))
        self._when, self._engine, self._kind = place.c[time], engine, "unknown"
        with quiet_database(UNREAD), one_moment(engine) as connection:
            described = connection.execute(self._asked.where(sqlalchemy.false())).cursor
            if engine.dialect.name == "postgresql" and described is not None:
                self._kind = _MOMENTS.get(described.description[1][1], "unknown")

    def check(self, stopped: Callable[[], bool]) -> None:
        """The columns were found when it was made."""

    def read(self, start: int, end: int) -> Iterator[Row]:
        from sparsegate.tables.databases.one_moment import one_moment
        from sparsegate.tables.databases.snapshot import UNREAD, quiet_database

        asked = self._asked
        if self._kind != "unknown":  # the database compares moments as we do; of text and numbers all rows are read
            bounds = [datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=at) for at in (start, end)]
            if self._kind == "timestamp":
                bounds = [at.replace(tzinfo=None) for at in bounds]
            asked = asked.where(self._when >= bounds[0], self._when < bounds[1])
        with quiet_database(UNREAD), one_moment(self._engine) as connection:
            if self._engine.dialect.name == "sqlite":  # text that is not UTF-8 must not stop the others
                driver: Any = connection.connection.driver_connection
                driver.text_factory = lambda text: text.decode("utf-8", "surrogateescape")
            found = connection.execution_options(stream_results=True).execute(asked)
            yield from ((row[0], row[1]) for row in found)
