"""Tables in DuckDB: a relation of any connection, over files, tables, queries, or tables of this process."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from sparsegate.tables.columns import identifier
from sparsegate.tables.engines.engine import DIGITS, SALT, ColumnType, Engine, Frame
from sparsegate.tables.labels import (
    BINARY,
    BOOLEAN,
    DATE,
    FLOAT,
    INTEGER,
    OBJECTS,
    STRING,
    TIME,
    UUID,
    Cell,
    LabelKind,
    decimals,
    moments,
)

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection, DuckDBPyRelation


_DOUBLE: Final = """CASE WHEN NOT isnan({0}) THEN
    CAST(CAST(CASE WHEN {0} = 0 THEN 0 ELSE CAST({0} AS DOUBLE) END AS BIT) AS BIGINT) END"""
_SHORT: Final = ("tinyint", "smallint", "integer", "utinyint", "usmallint", "uinteger")
_LABELS: Final[dict[str, tuple[LabelKind, str]]] = {
    **dict.fromkeys(_SHORT, (INTEGER, "CAST({0} AS BIGINT)")),
    "bigint": (INTEGER, "{0}"),
    **dict.fromkeys(("ubigint", "hugeint", "uhugeint"), (INTEGER, "TRY_CAST({0} AS BIGINT)")),
    **dict.fromkeys(("float", "double"), (FLOAT, _DOUBLE)),
    "varchar": (STRING, "{0}"),
    "enum": (STRING, "CAST({0} AS VARCHAR)"),
    "uuid": (UUID, "CAST({0} AS VARCHAR)"),
    "boolean": (BOOLEAN, "CAST({0} AS BIGINT)"),
    "blob": (BINARY, "lower(hex({0}))"),
    "date": (DATE, "CAST({0} - DATE '1970-01-01' AS BIGINT)"),
    "time": (TIME, "epoch_us({0}) * 1000"),
    "time_ns": (TIME, "epoch_ns({0})"),
    "timestamp_s": (moments("s", zoned=False), "TRY(epoch_us({0})) // 1000000"),
    "timestamp_ms": (moments("ms", zoned=False), "TRY(epoch_ms({0}))"),
    "timestamp": (moments("us", zoned=False), "TRY(epoch_us({0}))"),
    "timestamp with time zone": (moments("us", zoned=True), "TRY(epoch_us({0}))"),
    "timestamp_ns": (moments("ns", zoned=False), "TRY(epoch_ns({0}))"),
}
"""What the values of a type are, and SQL for their cells: see ``tables.labels``."""
_DECIMAL: Final = r"regexp_replace(CAST({0} AS VARCHAR), '^(-?)\.', '\10.')"  # .5 where its type has no digit before it

MOST_BITS: Final = 2**27
"""Bits that are spent on the public labels at most: 16 MB."""

SPARSEST: Final = 64
"""Bits for each label, at most: as many as the label itself has."""


def column_type(dtype: Any) -> ColumnType:
    """What a type of DuckDB's says."""
    name = str(dtype.id)
    if name == "decimal":
        scale = dict(dtype.children)["scale"]
        return ColumnType(name=name, kind=decimals(scale), cell=_DECIMAL, numeric=True)
    known = ColumnType.of(name, *_LABELS.get(name, (None, "{0}")))
    return replace(known, person=True) if name == "interval" else known


class DuckDBFrame(Frame):
    """A relation."""

    native: DuckDBPyRelation

    def collect_schema(self) -> dict[str, ColumnType]:
        return {name: column_type(dtype) for name, dtype in zip(self.native.columns, self.native.types, strict=True)}

    def select(self, *expressions: str) -> Frame:
        return DuckDBFrame(self.native.project(self._listed(expressions)))

    def where(self, condition: str) -> Frame:
        return DuckDBFrame(self.native.filter(condition))

    def group(self, *by: str, **aggregates: str) -> Frame:
        keys = self._listed(by)
        return DuckDBFrame(
            self.native.aggregate(", ".join([keys, *(f'{sql} AS "{name}"' for name, sql in aggregates.items())]), keys)
        )

    def join(self, other: Frame, *on: str, how: str = "inner") -> Frame:
        left, right = self.native.set_alias("l"), other.native.set_alias("r")
        return DuckDBFrame(left.join(right, ", ".join(map(identifier, on)), how))

    def union(self, other: Frame) -> Frame:
        return DuckDBFrame(self.native.union(other.select(*self.columns).native))

    def order(self, *by: str) -> Frame:
        return DuckDBFrame(self.native.order(self._listed(by)))

    def _listed(self, expressions: Sequence[str]) -> str:
        columns = self.columns
        return ", ".join(identifier(each) if each in columns else each for each in expressions)


class Relation(Engine):
    """A relation. What is kept becomes a temporary table of its connection, which spills to disk.

    ``types`` says more of some columns than DuckDB's types do, and ``readings`` from which other column cells come, by
    their alias and name: see ``tables.python_tables``. ``typed`` says that text is text: in a file it may be numbers.
    ``connection`` is that of a relation over a table of this process.
    """

    name = "DuckDB"

    def __init__(
        self,
        relation: DuckDBPyRelation,
        *,
        types: Mapping[str, ColumnType] | None = None,
        readings: Mapping[tuple[str, str], str] | None = None,
        typed: bool = False,
        connection: DuckDBPyConnection | None = None,
    ) -> None:
        super().__init__(DuckDBFrame(relation))
        self._connection = connection
        self._relation, self._types, self._readings, self._typed = relation, types or {}, readings or {}, typed
        self._kept: list[str] = []

    def over(self, relation: DuckDBPyRelation) -> Relation:
        """The same table with other rows, or more columns."""
        known: dict[str, Any] = {"types": self._types, "readings": self._readings, "typed": self._typed}
        return Relation(relation, **known, connection=self._connection)

    @property
    def types(self) -> dict[str, ColumnType]:
        return {**self.frame.collect_schema(), **self._types}

    @property
    def names(self) -> list[str]:
        return [name for name in self.types if name not in self._readings.values()]

    def select(self, named: Mapping[str, str]) -> Frame:
        types = self.frame.collect_schema()
        chosen = []
        for alias, name in named.items():
            untyped = alias in ("user", "value") and name in self._types and self._types[name].kind is OBJECTS
            column = self._readings[alias, name] if untyped else name
            chosen.append(f'{self._exact(column, types[column].name, alias)} AS "{alias}"')
        return DuckDBFrame(self._relation.project(", ".join(chosen)))

    def keep(self, frame: Frame) -> Frame:
        return self._from(f"FROM {self._stored(frame.native)}")

    def _stored(self, relation: DuckDBPyRelation) -> str:
        """The name of a temporary table with the rows of a relation."""
        name = f"sparsegate_{uuid.uuid4().hex}"
        relation.query("sparsegate_kept", f"CREATE TEMP TABLE {name} AS FROM sparsegate_kept")
        self._kept.append(name)
        return f"temp.{name}"

    def close(self) -> None:
        while self._kept:
            self._relation.query("sparsegate_table", f"DROP TABLE IF EXISTS temp.{self._kept.pop()}")

    def rows(self, frame: Frame) -> list[tuple[Any, ...]]:
        rows: list[tuple[Any, ...]] = frame.native.fetchall()
        return rows

    def bring(self, columns: Mapping[str, Sequence[Cell]]) -> Frame:
        from duckdb import ConstantExpression, FunctionExpression

        # The connection of a relation cannot be had, and it may be closed to Python's variables. A constant always gets
        # in, and one text is read in a fraction of the time that a list of a million constants would take.
        chosen = []
        for name, values in columns.items():
            kind = "VARCHAR" if isinstance(values[0], str) else "BIGINT"
            text = ConstantExpression(json.dumps(list(values), ensure_ascii=False))
            parsed = FunctionExpression("from_json", text, ConstantExpression(f'["{kind}"]'))
            chosen.append(FunctionExpression("unnest", parsed).alias(name))
        brought = self._from("SELECT 1").native.select(*chosen)
        types = DuckDBFrame(brought).collect_schema()
        exact = ", ".join(f'{self._exact(name, types[name].name, "item")} AS "{name}"' for name in columns)
        return self.keep(DuckDBFrame(brought.project(exact)))

    def beside(self, table: Any) -> Engine:
        from sparsegate.tables.python_tables import is_held, read_table

        if self._connection is None or not is_held(table):
            return super().beside(table)
        return read_table(table, connection=self._connection)

    def joins(self, other: Engine) -> bool:
        import duckdb

        if not isinstance(other, Relation):
            return False
        try:
            self._relation.project("1").union(other._relation.project("1"))
        except duckdb.Error:  # relations of different connections
            return False
        return True

    def digest(self, *columns: str) -> str:
        text = " || ':' || ".join(f'"{name}"::VARCHAR' for name in columns)
        return f"('0x' || substr(sha256('{SALT}' || {text}), 1, {DIGITS}))::BIGINT"

    def matches(self, column: str, pattern: str) -> str:
        return f"regexp_matches({identifier(column)}, '{pattern}')"

    def numbered(self, frame: Frame, *order: str) -> Frame:
        return frame.select("*", f"row_number() OVER (ORDER BY {', '.join(map(identifier, order))}) - 1 AS index")

    def candidates(self, labels: Frame) -> Frame:
        kept = self.keep(labels)
        # As most lists are, they are different: to see that costs half of making them so, and of numbers a sixth.
        bits = self._bits(kept)
        seen = kept.select("count(*)", "count(DISTINCT hash(item))")  # equal labels have equal hashes
        ((count, different),) = self.rows(seen if bits is None else self._from(f"SELECT count, ones FROM {bits[0]}"))
        return kept if count == different else super().candidates(kept)

    def _bits(self, labels: Frame) -> tuple[str, int, int] | None:
        """A table with a bit for each whole number from the least label to the greatest, where that is not too many."""
        if labels.collect_schema()["item"].name != "bigint":
            return None
        ((least, most, count),) = labels.native.aggregate("min(item), max(item), count(*)").fetchall()
        if count == 0 or most - least >= min(SPARSEST * count, MOST_BITS):
            return None
        marked = labels.native.aggregate(f"bitstring_agg(item, {least}, {most}) AS bits, count(*) AS count")
        marked = marked.project("bits, count, bit_count(bits) AS ones")
        return self._stored(marked), least, most

    def sieve(self, labels: Frame) -> Callable[[Frame], Frame] | None:
        if (marked := self._bits(labels)) is None:
            return None
        bits, least, most = marked
        # No item fails, whatever is evaluated first: those outside are moved inside before their bit is looked up.
        place = f"CAST(least(greatest(item, {least}), {most}) - ({least}) AS INTEGER)"
        listed = f"item BETWEEN {least} AND {most} AND get_bit((SELECT bits FROM {bits}), {place}) = 1"
        return lambda rows: rows.where(listed)

    def settled(self, counts: Frame) -> Frame:
        # In one query with the counts, the optimizer would narrow the rows, of which there are many times as many.
        return self.keep(counts)

    def _from(self, query: str) -> Frame:
        return DuckDBFrame(self._relation.query("sparsegate_table", query))

    def _exact(self, name: str, kind: str, alias: str) -> str:
        """SQL in which two labels are one only where they are written alike, and people where DuckDB calls them equal.

        A collation, of the column or of the session, would make one group of 'Secret' and 'secret', and then show the
        spelling of one person under the count of many. Of people nothing is shown: they are compared as their column
        says. Values in text, as all columns of a CSV file are, are read as numbers, and are null where they are none.
        """
        column = identifier(name)
        if kind == "varchar" and alias == "value" and not self._typed:
            return f"TRY_CAST({column} AS DOUBLE)"
        if kind == "enum" or (kind == "varchar" and alias != "user"):
            return f'CAST({column} AS VARCHAR) COLLATE "binary"'
        return column
