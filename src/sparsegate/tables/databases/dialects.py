"""The rows of a table in the words of its database: what a dialect must say, SQLite's own, and others by a probe.

**SQLite** compares people itself. Items are labels, byte by byte: of whole numbers and plain text SQLite writes them;
all else (fractions, bytes, text that may be no Unicode) goes through the functions of ``tables.identity``.

**Any other database** is taken if a probe shows that it compares items as the contract asks; people, as it likes. The
probe puts literals under the type and collation of a column, without a row of it, and asks how many of them are
different, which are equal, and in what order they come:

    SELECT item FROM visits WHERE 1 = 0 UNION ALL SELECT 'a' UNION ALL SELECT 'A' UNION ALL SELECT 'a ' ...
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, NoReturn, cast

import sqlalchemy as sa
from sqlalchemy import func, literal_column

from sparsegate.errors import ParameterError, TableError
from sparsegate.tables.columns import MOST_LABEL, check_columns, check_table, check_user, identifier, label_kind
from sparsegate.tables.engines.engine import ColumnType, digest
from sparsegate.tables.identity import labels
from sparsegate.tables.labels import INTEGER, STRING, LabelKind
from sparsegate.tables.question import Question

PROBES: Final[dict[LabelKind, tuple[Any, ...]]] = {
    STRING: ("", " a", "A", "A ", "a", "a ", "a\u0308", "ss", "\u00c4", "\u00df", "\u00e1", "\u00e4"),
    INTEGER: (-(2**63), -1, 0, 2**53, 2**53 + 1, 2**63 - 2, 2**63 - 1),
}
MOST_LISTED: Final = 10_000  # each candidate is a parameter of the query
_PEOPLE: Final = (sa.String, sa.Boolean, sa.Date, sa.DateTime, sa.Uuid)


@dataclass(frozen=True, kw_only=True)
class DialectRows:
    """The rows of a table in the words of one dialect. All about it is public.

    ``rows`` are (item, person), or (item), and their value and ``part``, the group of a row, where one is asked for;
    items are compared and put in order by their code points. ``kind`` is what items are, ``group_kind`` what groups.
    ``candidates`` makes rows (item) of public labels; ``digest`` is ``engines.engine.digest`` of columns of a query.
    """

    kind: LabelKind
    rows: sa.Select[Any]
    candidates: Callable[[Sequence[Any]], sa.Select[Any] | sa.TextualSelect]
    digest: Callable[..., sa.ColumnElement[int]]
    group_kind: LabelKind = STRING


def asked_columns(question: Question) -> list[str]:
    """The names that must be there."""
    return [name for name in (question.item, question.user, question.value, question.per) if name is not None]


def rows_of(place: str, columns: dict[str, str], condition: str = "") -> sa.Select[Any]:
    """Rows in the words of a dialect: SQL for each column by its name, from a place, where a condition holds."""
    labelled: list[sa.ColumnElement[Any]] = [literal_column(sql).label(name) for name, sql in columns.items()]
    chosen: sa.Select[Any] = sa.select(*labelled).select_from(written(place))
    return chosen.where(literal_column(condition)) if condition else chosen


def written(sql: str) -> sa.TextClause:
    """SQL as it is: what looks like the name of a parameter is none."""
    return sa.text(sql.replace(":", r"\:"))


def names_at(connection: sa.Connection, place: str) -> list[str]:
    """The columns there, told without a row."""
    # A statement with a parameter is one, or none: no driver takes a second one behind it.
    rows: sa.Select[Any] = sa.select(literal_column("*")).select_from(written(place))
    return list(connection.execute(rows.where(sa.literal(1) == sa.literal(0))).keys())


def other_rows(connection: sa.Connection, question: Question, table_name: str | None) -> DialectRows:
    """The rows of a table of a database of which nothing is known but its dialect."""
    dialect = connection.dialect.name

    def refuse(parameter: str, next_step: str) -> NoReturn:
        raise ParameterError(parameter, f"is not known to work in {dialect}", next_step=next_step)

    if question.where is not None:
        refuse("where", "use a view")
    if question.per is not None:
        refuse("per", "copy the table to Parquet, and release from that")
    if table_name is None:
        refuse("sql", "make a view of it, and name that with table")
    parent, _, name = table_name.rpartition(".")
    schema, inspector = parent or None, sa.inspect(connection)
    check_table(name, [*inspector.get_table_names(schema), *inspector.get_view_names(schema)])
    table = sa.Table(name, sa.MetaData(), schema=schema, autoload_with=connection)
    check_columns(list(table.c.keys()), asked_columns(question))
    item = table.c[question.item]
    known = INTEGER if isinstance(item.type, sa.Integer) else STRING if isinstance(item.type, sa.String) else None
    kind = label_kind(ColumnType(name=type(item.type).__name__, kind=known), question.item)
    if not exact(connection, item, kind):
        raise TableError(
            f"{dialect} does not tell {kind} in column {question.item!r} apart exactly, by a test with public values; "
            "give the column a binary collation, in a view, or copy the table to Parquet"
        )
    columns = [item.label("item")]
    if question.user is not None:
        person = table.c[question.user]
        whole = isinstance(person.type, sa.Integer)
        told_apart = exact(connection, person, INTEGER) if whole else isinstance(person.type, _PEOPLE)
        check_user(ColumnType(name=type(person.type).__name__, person=told_apart), question.user)
        columns.append(person.label("person"))
    rows = sa.select(*columns)
    if kind is INTEGER:  # BIGINT UNSIGNED goes on
        low, high = (sa.literal(end, sa.BigInteger()) for end in (-MOST_LABEL - 1, MOST_LABEL))
        rows = rows.where(item.between(low, high))

    def candidates(labels: Sequence[Any]) -> sa.Select[Any]:
        if len(labels) > MOST_LISTED:
            rule = f"must list at most {MOST_LISTED} candidates for a table that stays in {dialect}"
            raise ParameterError("domain", rule, len(labels), "give fewer, or copy the table to Parquet")
        listed = sa.values(sa.column("item", _type(labels[0])), name="listed").data([(label,) for label in labels])
        return sa.select(listed.cte().c.item)

    def no_digest(*_: str) -> NoReturn:
        refuse("max_items_per_user", "leave it out, or copy the table to Parquet")

    return DialectRows(kind=kind, rows=rows, candidates=candidates, digest=no_digest)


def exact(connection: sa.Connection, asked: sa.ColumnElement[Any], kind: LabelKind) -> bool:
    """Whether the database tells values of such a column apart, finds them equal, and sorts them, as Python does."""
    probes = PROBES[kind]
    none = sa.select(asked.label("item")).where(sa.false())
    cells = sa.union_all(none, *(sa.select(sa.literal(each, _type(each))) for each in probes)).cte("cells")
    other = cells.alias("other")
    place = func.row_number().over(order_by=cells.c.item).label("place")
    different = connection.execute(sa.select(func.count(cells.c.item.distinct()))).scalar_one()
    equal = connection.execute(sa.select(func.count()).select_from(cells.join(other, cells.c.item == other.c.item)))
    grouped = sa.select(cells.c.item).group_by(cells.c.item).subquery()
    groups = connection.execute(sa.select(func.count()).select_from(grouped)).scalar_one()
    ordered = [value for _, value in sorted(connection.execute(sa.select(place, cells.c.item)).all())]
    return different == equal.scalar_one() == groups == len(probes) and ordered == sorted(probes)


def _type(value: Any) -> Any:
    return sa.BigInteger() if isinstance(value, int) else sa.String()


_LABEL: Final = """CASE typeof({0})
    WHEN 'integer' THEN CAST({0} AS TEXT)
    WHEN 'text' THEN CASE WHEN {0} GLOB '*[^ -~]*' OR length({0}) <> length(CAST({0} AS BLOB))
        THEN sparsegate_label('text', CAST({0} AS BLOB)) ELSE {0} END
    ELSE sparsegate_label(typeof({0}), {0}) END"""
_WHOLE: Final = re.compile(r"[\t\n\f\r ]*([+-]?)0*([0-9]{1,19})[\t\n\f\r ]*")


def sqlite_rows(
    connection: sa.Connection, question: Question, table: str | None, sql: str | None, *, whole: bool
) -> DialectRows:
    """The rows of a table or of a query; ``whole`` says that items are to be whole numbers."""
    if question.where is not None:
        step = "pass the path of the file instead of its URL, or put the condition into sql"
        raise ParameterError("where", "must not be given for a table that stays in SQLite", question.where, step)
    if table is not None:
        rows = connection.exec_driver_sql("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")
        check_table(table, [name for (name,) in rows])
    place = f"{identifier(table)} AS t" if table is not None else f"({sql}\n) AS t"
    check_columns(names_at(connection, place), asked_columns(question))
    label = _LABEL.format(f"t.{identifier(question.item)}")
    columns = {"item": f"sparsegate_whole({label})" if whole else label}
    if question.user is not None:
        columns["person"] = f"t.{identifier(question.user)}"
    if question.per is not None:
        columns["part"] = _LABEL.format(f"t.{identifier(question.per)}")

    def candidates(labels: Sequence[Any]) -> sa.Select[Any]:
        each = func.json_each(sa.literal(json.dumps(list(labels)))).table_valued(sa.column("value"))
        return sa.select(each.c.value.label("item"))

    def digest_of(*names: str) -> sa.ColumnElement[int]:
        joined = " || ':' || ".join(names)
        return literal_column(f"sparsegate_digest({joined})", sa.BigInteger())

    kind = INTEGER if whole else STRING
    return DialectRows(kind=kind, rows=rows_of(place, columns), candidates=candidates, digest=digest_of)


@contextmanager
def known_functions(connection: sa.Connection) -> Iterator[None]:
    """Let a connection of SQLite's know the functions above, until the end."""
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
    read = _WHOLE.fullmatch(label or "")
    number = int(read[1] + read[2]) if read else 2**63
    return number if -(2**63) <= number < 2**63 else None


_FUNCTIONS: Final = (("sparsegate_label", 2, _label), ("sparsegate_whole", 1, _whole), ("sparsegate_digest", 1, digest))
