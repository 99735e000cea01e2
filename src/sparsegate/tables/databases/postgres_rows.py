"""Items and people of a table in PostgreSQL, in its own SQL.

Items are cells as ``tables.label_kinds`` has them: text compared as ``COLLATE "C"``, byte by byte, or whole numbers of
64 bits. What has no cell, a numeric beyond them, an infinite date, not-a-number, is null. People are compared by the
equality of their column: see ``databases.postgres_columns``; of floats not-a-number is nobody.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Select,
    Text,
    TextualSelect,
    bindparam,
    column,
    literal_column,
    text,
)
from sqlalchemy.types import NullType

from sparsegate.conditions import read_condition
from sparsegate.conditions.postgres_sql import postgres_sql
from sparsegate.errors import ParameterError, TableError
from sparsegate.tables.columns import check_columns, identifier
from sparsegate.tables.databases.asked_rows import AskedRows, names_at, rows_of
from sparsegate.tables.databases.folding import folds, found_folding
from sparsegate.tables.databases.postgres_columns import check_person, locate, type_of
from sparsegate.tables.engines.engine import DIGITS, SALT
from sparsegate.tables.label_kinds import (
    BINARY,
    BOOLEAN,
    DATE,
    FLOAT,
    INTEGER,
    STRING,
    TIME,
    UUID,
    decimals,
    moments,
)

_FLOATS: Final = ("float4", "float8")
_NUMBERS: Final = (*_FLOATS, "int2", "int4", "int8", "whole numeric", "narrow numeric")
"""What is a double, or near one; a numeric without a precision may lie beyond all of them."""
# Adding 0 leaves one of the two zeros.
_BITS: Final = "(CASE WHEN {0} <> 'NaN' THEN ('x' || encode(float8send({0}::float8 + 0), 'hex'))::bit(64)::bigint END)"
_HELD: Final = "{0} >= '0001-01-01' AND {0} < '10000-01-01'"
"""What Python has dates for; in UTC, which is the time zone of the transaction."""
_MICROSECONDS: Final = "(extract(epoch FROM {0}) * 1000000)::bigint"
_TEXT: Final = '({0}::text COLLATE "C")'
_LABELS: Final = {
    "text": (STRING, '({0} COLLATE "C")'),
    **dict.fromkeys(("varchar", "bpchar", "citext", "name", "enum"), (STRING, _TEXT)),
    **dict.fromkeys(("int2", "int4", "int8", "oid"), (INTEGER, "{0}::bigint")),
    "whole numeric": (INTEGER, f"(CASE WHEN {{0}} BETWEEN {-(2**63)} AND {2**63 - 1} THEN {{0}}::bigint END)"),
    **dict.fromkeys(_FLOATS, (FLOAT, _BITS)),
    "bool": (BOOLEAN, "{0}::int::bigint"),
    "uuid": (UUID, _TEXT),
    "bytea": (BINARY, "(encode({0}, 'hex') COLLATE \"C\")"),
    "date": (DATE, f"(CASE WHEN {_HELD} THEN ({{0}} - DATE '1970-01-01')::bigint END)"),
    "time": (TIME, "(CASE WHEN {0} < '24:00' THEN (extract(epoch FROM {0}) * 1000000000)::bigint END)"),
    "timestamp": (moments("us", zoned=False), f"(CASE WHEN {_HELD} THEN {_MICROSECONDS} END)"),
    "timestamptz": (moments("us", zoned=True), f"(CASE WHEN {_HELD} THEN {_MICROSECONDS} END)"),
}


class PostgresRows:
    """The rows of a table or of a query, over the alias t."""

    name = "PostgreSQL"

    def __init__(self, connection: Connection, asked: AskedRows) -> None:
        self._condition = ""
        if asked.table is not None:
            found = locate(connection, asked.table)
            check_columns(list(found.types), asked.columns)
            types, self._place = found.types, f"{found.place} AS t"
            if asked.where is not None:
                schema, cells = found.schema(found.readable(), None)
                read = dict(zip((column.name for column in schema.columns), cells, strict=True))
                condition = read_condition(asked.where, schema)
                folding = found_folding(connection) if folds(condition) else None
                self._condition = postgres_sql(condition, read, folding)
        else:
            if asked.where is not None:
                raise ParameterError("where", "must not be given with sql", asked.where, "put it into the query")
            self._place = f"({asked.sql}\n) AS t"
            check_columns(names_at(connection, self._place), asked.columns)
            types = {name: type_of(connection, name, self._place) for name in asked.columns}
        if types[asked.item] == "narrow numeric":
            self.kind, form = decimals(found.scale(asked.item)), "(nullif({0}, 'NaN')::text COLLATE \"C\")"
        elif types[asked.item] in _LABELS:
            self.kind, form = _LABELS[types[asked.item]]
        else:
            raise TableError(
                f"the items in column {asked.item!r} must be numbers, strings, booleans, bytes, UUIDs, dates, times of "
                f"day or instants, not {types[asked.item]}; cast the column, in a query or in a view"
            )
        cell = f"t.{identifier(asked.item)}"
        if asked.max_cell is not None and self.kind == STRING:
            cell = f"left({cell}::text, {asked.max_cell})"
        self._columns = {"item": form.format(cell)}
        if asked.user is not None:
            person = f"t.{identifier(asked.user)}"
            if types[asked.user] in _FLOATS:
                person = f"nullif({person}, 'NaN')"
            else:
                check_person(types, asked.user)
            self._columns["person"] = person
        if asked.value is not None:
            if types[asked.value] not in _NUMBERS:
                raise TableError(
                    f"the values in column {asked.value!r} must be numbers, not {types[asked.value]}; cast the column"
                )
            self._columns["value"] = f"nullif(t.{identifier(asked.value)}::float8, 'NaN')"

    def rows(self) -> Select[Any]:
        return rows_of(self._place, self._columns, self._condition)

    def candidates(self, labels: Sequence[Any]) -> TextualSelect:
        # Sent as one text, and as a parameter: the driver writes a list word by word, and the planner knows the length
        # of an array that it is given.
        numbers = isinstance(labels[0], int)
        array = ",".join(map(str, labels) if numbers else (_quoted(label) for label in labels))
        form = "unnest(CAST(:labels AS bigint[]))" if numbers else 'unnest(CAST(:labels AS text[])) COLLATE "C"'
        listed = text(f"SELECT {form} AS item").bindparams(bindparam("labels", f"{{{array}}}", type_=NullType()))
        return listed.columns(column("item", BigInteger() if numbers else Text()))

    def digest(self, *columns: str) -> ColumnElement[int]:
        joined = " || ':' || ".join(f"{column}::text" for column in columns)
        hashed = f"encode(sha256(convert_to('{SALT}' || {joined}, 'UTF8')), 'hex')"
        return literal_column(f"('x' || substr({hashed}, 1, {DIGITS}))::bit({4 * DIGITS})::bigint", BigInteger())


def _quoted(label: str) -> str:
    """A label as an array of PostgreSQL's has it."""
    escaped = label.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
