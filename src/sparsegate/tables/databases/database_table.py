"""A table of a database, counted there in a transaction that only reads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

from sqlalchemy import Connection, Engine

from sparsegate.errors import ParameterError
from sparsegate.tables.columns import check_columns
from sparsegate.tables.databases.asked_rows import AskedRows, DialectRows
from sparsegate.tables.databases.database_counts import DatabaseCounts, HeldCounts
from sparsegate.tables.databases.one_moment import NAMES, engine_at, one_moment
from sparsegate.tables.databases.snapshot import UNREAD, quiet_database
from sparsegate.tables.domain import Sized, public_labels, whole_labels
from sparsegate.tables.in_place import TableInPlace
from sparsegate.tables.label_kinds import Cell
from sparsegate.tables.question import Question


class TableInDatabase(TableInPlace):
    """A table, or a query. ``lent`` lends a connection in a transaction that only reads."""

    def __init__(
        self,
        lent: Callable[[], AbstractContextManager[Connection]],
        *,
        dialect: str,
        table: str | None = None,
        sql: str | None = None,
        items: Sequence[str] | None = None,
        max_cell: int | None = None,
    ) -> None:
        """``items`` are the only columns that may be ranked; of text ``max_cell`` characters are read."""
        super().__init__()
        self._lent, self._dialect, self._table, self._sql = lent, dialect, table, sql
        self._items, self._max_cell = items, max_cell
        self.name = NAMES.get(dialect, dialect)
        self.elsewhere = "copy the table to Parquet, and release from that"
        if dialect == "sqlite":  # which is copied, and knows all of it
            self.elsewhere = "pass the path of the file instead of its URL"

    @classmethod
    def at(cls, place: str | Engine, *, table: str | None, sql: str | None) -> TableInDatabase:
        """In the database with this URL, or of this engine of SQLAlchemy's."""
        if (table is None) == (sql is None):
            raise ParameterError("table", "must be given for a database, or a query in its place, and not both")
        engine = engine_at(place) if isinstance(place, str) else place
        return cls(partial(one_moment, engine), dialect=engine.dialect.name, table=table, sql=sql)

    def counts(self, question: Question, domain: Any) -> tuple[Sized | None, DatabaseCounts]:
        for parameter, unused in (("itemset_size", 1), ("value", None), ("per", None)):
            sums = parameter == "value" and self._dialect == "postgresql"
            if (given := getattr(question, parameter)) != unused and not sums:
                rule = "must not be given for a table that stays in its database"
                raise ParameterError(parameter, rule, given, self.elsewhere)
        if self._items is not None:
            check_columns(self._items, [question.item])
        asked = AskedRows(
            table=self._table,
            sql=self._sql,
            item=question.item,
            user=question.user,
            where=question.where,
            value=question.value,
            max_cell=self._max_cell,
        )
        with quiet_database(UNREAD):
            connection = self._opened.enter_context(self._lent())
            table = self._rows(connection, asked, whole=whole_labels(domain))
            public = None if question.observed else public_labels(domain, item=question.item, kind=table.kind)
            if isinstance(public, list) and isinstance(public[0], str):
                _check_labels(public)
            kind = HeldCounts if self._dialect == "postgresql" else DatabaseCounts
            counts = kind(connection, table, public, question.max_items_per_user, question.sums)
        self._opened.callback(counts.close)
        return Sized(size=len(public)) if isinstance(public, list) else public, counts

    def _rows(self, connection: Connection, asked: AskedRows, *, whole: bool) -> DialectRows:
        if self._dialect == "postgresql":
            from sparsegate.tables.databases.postgres_rows import PostgresRows

            return PostgresRows(connection, asked)
        if self._dialect == "sqlite":
            from sparsegate.tables.databases.sqlite_cells import SqliteCells, known_functions

            self._opened.enter_context(known_functions(connection))
            return SqliteCells(connection, asked, whole=whole)
        from sparsegate.tables.databases.other_rows import OtherRows

        return OtherRows(connection, asked)


def _check_labels(labels: Sequence[Cell]) -> None:
    """Refuse labels that cannot be sent to a database, before anything is read."""
    joined = "".join(map(str, labels))
    if "\0" in joined or joined.encode("utf-8", "replace").decode() != joined:
        raise ParameterError("domain", "must hold text of Unicode without a zero byte, for a database")
