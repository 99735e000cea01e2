"""Items and people of a table in any other database, if a probe shows that it compares as the contract asks.

**The probe** is public: it puts literals under the type and collation of a column, without a row of it, and asks how
many of them are different, which of them are equal, and in what order they come:

    SELECT item FROM visits WHERE 1 = 0 UNION ALL SELECT 'a' UNION ALL SELECT 'A' UNION ALL SELECT 'a ' ...

They differ in case, in a space at the end, in accents and in normal form, and one is empty; whole numbers differ
in their last bit, up to the ends of 64. A column of items that fails is refused, by the name of the dialect. Text that
names people may be compared as the database likes: what it calls equal is one person.

Items and people of a table in SQLite, whose cells have types of their own: the contract of ``tables.identity``.

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
from typing import Any, Final, NoReturn, cast

from sqlalchemy import (
    BigInteger,
    Boolean,
    ColumnElement,
    Connection,
    Date,
    DateTime,
    Integer,
    MetaData,
    Select,
    String,
    Table,
    Uuid,
    column,
    false,
    func,
    inspect,
    literal,
    literal_column,
    select,
    union_all,
    values,
)

from sparsegate.errors import ParameterError, TableError
from sparsegate.tables.columns import MOST_LABEL, check_columns, check_table, identifier
from sparsegate.tables.databases.rows import AskedRows, names_at, rows_of
from sparsegate.tables.engines.engine import digest
from sparsegate.tables.identity import labels
from sparsegate.tables.labels import INTEGER, STRING, LabelKind

PROBES: Final[dict[LabelKind, tuple[Any, ...]]] = {
    STRING: ("", " a", "A", "A ", "a", "a ", "a\u0308", "ss", "\u00c4", "\u00df", "\u00e1", "\u00e4"),
    INTEGER: (-(2**63), -1, 0, 2**53, 2**53 + 1, 2**63 - 2, 2**63 - 1),
}
MOST_LISTED: Final = 10_000
"""Each candidate is a parameter of the query."""
_PEOPLE: Final = (Integer, String, Boolean, Date, DateTime, Uuid)


class OtherRows:
    """The rows of a table of a database of which nothing is known but its dialect."""

    def __init__(self, connection: Connection, asked: AskedRows) -> None:
        self._dialect = connection.dialect.name
        if asked.where is not None:
            self._refuse("where", "use a view")
        if asked.table is None:
            self._refuse("sql", "make a view of it, and name that with table")
        schema, _, name = asked.table.rpartition(".")
        inspector = inspect(connection)
        check_table(name, [*inspector.get_table_names(schema or None), *inspector.get_view_names(schema or None)])
        table = Table(name, MetaData(), schema=schema or None, autoload_with=connection)
        check_columns(list(table.c.keys()), asked.columns)
        self._columns = [table.c[asked.item].label("item")]
        kind = table.c[asked.item].type
        self.kind = INTEGER if isinstance(kind, Integer) else STRING
        if not isinstance(kind, Integer | String):
            raise TableError(f"the items in column {asked.item!r} must be whole numbers or strings; use a view")
        if not exact(connection, table.c[asked.item], self.kind):
            raise TableError(
                f"{self._dialect} does not tell {self.kind} in column {asked.item!r} apart exactly, by a test with "
                "public values; give the column a binary collation, in a view, or copy the table to Parquet"
            )
        if asked.user is not None:
            person = table.c[asked.user]
            whole = isinstance(person.type, Integer)
            if not isinstance(person.type, _PEOPLE) or (whole and not exact(connection, person, INTEGER)):
                raise TableError(
                    f"the users in column {asked.user!r} must be of a type that tells people apart exactly, such as "
                    "whole numbers or text; cast the column in a view"
                )
            self._columns.append(person.label("person"))

    def rows(self) -> Select[Any]:
        chosen = select(*self._columns)
        if self.kind != INTEGER:
            return chosen
        low, high = (literal(end, BigInteger()) for end in (-MOST_LABEL - 1, MOST_LABEL))
        return chosen.where(self._columns[0].element.between(low, high))  # BIGINT UNSIGNED goes on

    def candidates(self, labels: Sequence[Any]) -> Select[Any]:
        if len(labels) > MOST_LISTED:
            rule = f"must list at most {MOST_LISTED} candidates for a table that stays in {self._dialect}"
            raise ParameterError("domain", rule, len(labels), "give fewer, or copy the table to Parquet")
        listed = values(column("item", _type(labels[0])), name="listed").data([(label,) for label in labels])
        return select(listed.cte().c.item)

    def digest(self, *columns: str) -> ColumnElement[int]:
        self._refuse("max_items_per_user", "leave it out, or copy the table to Parquet")

    def _refuse(self, parameter: str, next_step: str) -> NoReturn:
        raise ParameterError(parameter, f"is not known to work in {self._dialect}", next_step=next_step)


def exact(connection: Connection, asked: ColumnElement[Any], kind: LabelKind) -> bool:
    """Whether the database tells values of such a column apart, finds them equal, and sorts them, as Python does."""
    probes = PROBES[kind]
    none = select(asked.label("item")).where(false())
    cells = union_all(none, *(select(literal(each, _type(each))) for each in probes)).cte("cells")
    other = cells.alias("other")
    place = func.row_number().over(order_by=cells.c.item).label("place")
    different = connection.execute(select(func.count(cells.c.item.distinct()))).scalar_one()
    equal = connection.execute(select(func.count()).select_from(cells.join(other, cells.c.item == other.c.item)))
    grouped = select(cells.c.item).group_by(cells.c.item).subquery()
    groups = connection.execute(select(func.count()).select_from(grouped)).scalar_one()
    ordered = [value for _, value in sorted(connection.execute(select(place, cells.c.item)).all())]
    return different == equal.scalar_one() == groups == len(probes) and ordered == sorted(probes)


def _type(value: Any) -> Any:
    return BigInteger() if isinstance(value, int) else String()


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
