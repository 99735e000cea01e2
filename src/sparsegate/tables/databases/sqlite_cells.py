"""Items and people of a table in SQLite, whose cells have types of their own: the contract of ``tables.identity``.

People are compared by SQLite itself, which calls 17 and 17.0 equal, 17 and '17' different, and text equal where the
collation of the column does. Items are labels, byte by byte: of whole numbers and of plain text SQLite writes them; all
else (fractions, bytes, and text that is no ASCII and so may be no Unicode) goes through the functions that every other
engine uses.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, cast

from sqlalchemy import BigInteger, ColumnElement, Connection, Select, column, func, literal, literal_column, select

from sparsegate.errors import ParameterError
from sparsegate.tables.columns import check_columns, check_table, identifier
from sparsegate.tables.databases.asked_rows import AskedRows, names_at, rows_of
from sparsegate.tables.engines.engine import digest
from sparsegate.tables.identity import labels
from sparsegate.tables.label_kinds import INTEGER, STRING

_LABEL: Final = """CASE typeof({0})
    WHEN 'integer' THEN CAST({0} AS TEXT)
    WHEN 'text' THEN CASE WHEN {0} GLOB '*[^ -~]*' OR length({0}) <> length(CAST({0} AS BLOB))
        THEN sparsegate_label('text', CAST({0} AS BLOB)) ELSE {0} END
    ELSE sparsegate_label(typeof({0}), {0}) END"""
_WHOLE: Final = re.compile(r"[\t\n\f\r ]*([+-]?)0*([0-9]{1,19})[\t\n\f\r ]*")


class SqliteCells:
    """The rows of a table or of a query, over the alias t; ``whole`` says that items are to be whole numbers."""

    def __init__(self, connection: Connection, asked: AskedRows, *, whole: bool) -> None:
        if asked.where is not None:
            step = "pass the path of the file instead of its URL, or put the condition into sql"
            raise ParameterError("where", "must not be given for a table that stays in SQLite", asked.where, step)
        if asked.table is not None:
            rows = connection.exec_driver_sql("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")
            check_table(asked.table, [name for (name,) in rows])
        self._place = f"{identifier(asked.table)} AS t" if asked.table is not None else f"({asked.sql}\n) AS t"
        check_columns(names_at(connection, self._place), asked.columns)
        self.kind = INTEGER if whole else STRING
        label = _LABEL.format(f"t.{identifier(asked.item)}")
        self._columns = {"item": f"sparsegate_whole({label})" if whole else label}
        if asked.user is not None:
            self._columns["person"] = f"t.{identifier(asked.user)}"

    def rows(self) -> Select[Any]:
        return rows_of(self._place, self._columns)

    def candidates(self, labels: Sequence[Any]) -> Select[Any]:
        each = func.json_each(literal(json.dumps(list(labels)))).table_valued(column("value"))
        return select(each.c.value.label("item"))

    def digest(self, *columns: str) -> ColumnElement[int]:
        joined = " || ':' || ".join(columns)
        return literal_column(f"sparsegate_digest({joined})", BigInteger())


@contextmanager
def known_functions(connection: Connection) -> Iterator[None]:
    """Let the connection know the functions above, until the end."""
    driver = cast("sqlite3.Connection", connection.connection.dbapi_connection)
    for name, arguments, function in _FUNCTIONS:
        driver.create_function(name, arguments, function, deterministic=True)
    try:
        yield
    finally:
        for name, arguments, _ in _FUNCTIONS:
            driver.create_function(name, arguments, None)


def _label(kind: str, cell: Any) -> str | None:
    return labels([cell.decode("utf-8", "surrogateescape") if kind == "text" else cell])[0]


def _whole(label: str | None) -> int | None:
    found = _WHOLE.fullmatch(label or "")
    number = int(found[1] + found[2]) if found else None
    return number if number is not None and -(2**63) <= number < 2**63 else None


_FUNCTIONS: Final = (("sparsegate_label", 2, _label), ("sparsegate_whole", 1, _whole), ("sparsegate_digest", 1, digest))
