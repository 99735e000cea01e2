"""Tables in DuckDB: a relation of any connection, over files, tables, queries, or tables of this process."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from sparsegate.tables import labels
from sparsegate.tables.columns import identifier
from sparsegate.tables.engines.engine import DIGITS, SALT, ColumnType, Engine, Frame
from sparsegate.tables.labels import Cell, LabelKind

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection, DuckDBPyRelation


_DOUBLE: Final = """CASE WHEN NOT isnan({0}) THEN
    CAST(CAST(CASE WHEN {0} = 0 THEN 0 ELSE CAST({0} AS DOUBLE) END AS BIT) AS BIGINT) END"""
_SHORT: Final = ("tinyint", "smallint", "integer", "utinyint", "usmallint", "uinteger")
_LABELS: Final[dict[str, tuple[LabelKind, str]]] = {
    **dict.fromkeys(_SHORT, (labels.INTEGER, "CAST({0} AS BIGINT)")),
    "bigint": (labels.INTEGER, "{0}"),
    **dict.fromkeys(("ubigint", "hugeint", "uhugeint"), (labels.INTEGER, "TRY_CAST({0} AS BIGINT)")),
    **dict.fromkeys(("float", "double"), (labels.FLOAT, _DOUBLE)),
    "varchar": (labels.STRING, "{0}"),
    "enum": (labels.STRING, "CAST({0} AS VARCHAR)"),
    "uuid": (labels.UUID, "CAST({0} AS VARCHAR)"),
    "boolean": (labels.BOOLEAN, "CAST({0} AS BIGINT)"),
    "blob": (labels.BINARY, "lower(hex({0}))"),
    "date": (labels.DATE, "CAST({0} - DATE '1970-01-01' AS BIGINT)"),
    "time": (labels.TIME, "epoch_us({0}) * 1000"),
    "time_ns": (labels.TIME, "epoch_ns({0})"),
    "timestamp_s": (labels.moments("s", zoned=False), "TRY(epoch_us({0})) // 1000000"),
    "timestamp_ms": (labels.moments("ms", zoned=False), "TRY(epoch_ms({0}))"),
    "timestamp": (labels.moments("us", zoned=False), "TRY(epoch_us({0}))"),
    "timestamp with time zone": (labels.moments("us", zoned=True), "TRY(epoch_us({0}))"),
    "timestamp_ns": (labels.moments("ns", zoned=False), "TRY(epoch_ns({0}))"),
}
"""What the values of a type are, and SQL for their cells: see ``tables.labels``."""
_DECIMAL: Final = r"regexp_replace(CAST({0} AS VARCHAR), '^(-?)\.', '\10.')"  # .5 where its type has no digit before it


def column_type(dtype: Any) -> ColumnType:
    """What a type of DuckDB's says."""
    name = str(dtype.id)
    if name == "decimal":
        scale = dict(dtype.children)["scale"]
        return ColumnType(name=name, kind=labels.decimals(scale), cell=_DECIMAL, numeric=True)
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
        worked_out = (f'{sql} AS "{name}"' for name, sql in aggregates.items())
        return DuckDBFrame(self.native.aggregate(", ".join([keys, *worked_out]), keys))

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

    ``known`` says more of some columns than DuckDB's types do, ``readings`` from which other column cells come, by
    alias and name. Of a ``typed`` source text is no value. ``connection`` is that of a table of this process.
    """

    name = "DuckDB"

    def __init__(
        self,
        relation: DuckDBPyRelation,
        *,
        known: Mapping[str, ColumnType] | None = None,
        readings: Mapping[tuple[str, str], str] | None = None,
        typed: bool = False,
        connection: DuckDBPyConnection | None = None,
    ) -> None:
        super().__init__(DuckDBFrame(relation))
        self._relation, self._connection, self._kept = relation, connection, list[str]()
        self._known, self._readings, self._typed = known or {}, readings or {}, typed

    def over(self, relation: DuckDBPyRelation) -> Relation:
        """The same table with other rows, or more columns."""
        known: dict[str, Any] = {"known": self._known, "readings": self._readings, "typed": self._typed}
        return Relation(relation, **known, connection=self._connection)

    @property
    def types(self) -> dict[str, ColumnType]:
        return {**self.frame.collect_schema(), **self._known}

    @property
    def names(self) -> list[str]:
        return [name for name in self.types if name not in self._readings.values()]

    def select(self, named: Mapping[str, str]) -> Frame:
        types, chosen = self.frame.collect_schema(), []
        for alias, name in named.items():
            untyped = alias in ("user", "value") and name in self._known and self._known[name].kind is labels.OBJECTS
            column = self._readings[alias, name] if untyped else name
            chosen.append(f'{self._exact(column, types[column].name, alias)} AS "{alias}"')
        return DuckDBFrame(self._relation.project(", ".join(chosen)))

    def _exact(self, name: str, kind: str, alias: str) -> str:
        """SQL in which two labels are one only where they are written alike, and people where DuckDB calls them equal.

        A collation would make one group of 'Secret' and 'secret', and show the spelling of one person for both; of
        people nothing is shown. Values in text, as of a CSV file, are read as numbers, null where they are none.
        """
        column = identifier(name)
        if kind == "varchar" and alias == "value" and not self._typed:
            return f"TRY_CAST({column} AS DOUBLE)"
        if kind == "enum" or (kind == "varchar" and alias != "user"):
            return f'CAST({column} AS VARCHAR) COLLATE "binary"'
        return column

    def keep(self, frame: Frame) -> Frame:
        name = f"sparsegate_{uuid.uuid4().hex}"
        frame.native.query("sparsegate_kept", f"CREATE TEMP TABLE {name} AS FROM sparsegate_kept")
        self._kept.append(name)
        return DuckDBFrame(self._run(f"FROM temp.{name}"))

    def close(self) -> None:
        while self._kept:
            self._run(f"DROP TABLE IF EXISTS temp.{self._kept.pop()}")

    def _run(self, query: str) -> DuckDBPyRelation:
        return self._relation.query("sparsegate_table", query)  # type: ignore[return-value]  # None of a DROP

    def rows(self, frame: Frame) -> list[tuple[Any, ...]]:
        rows: list[tuple[Any, ...]] = frame.native.fetchall()
        return rows

    def bring(self, columns: Mapping[str, Sequence[Cell]]) -> Frame:
        from duckdb import ConstantExpression, FunctionExpression

        # The connection of a relation cannot be had, and may be closed to Python variables. A constant always gets in,
        # and one text in a fraction of the time of a list of a million constants.
        kinds = {name: "varchar" if isinstance(values[0], str) else "bigint" for name, values in columns.items()}
        chosen = []
        for name, values in columns.items():
            text = ConstantExpression(json.dumps(list(values), ensure_ascii=False))
            parsed = FunctionExpression("from_json", text, ConstantExpression(f'["{kinds[name]}"]'))
            chosen.append(FunctionExpression("unnest", parsed).alias(name))
        exact = ", ".join(f'{self._exact(name, kind, "item")} AS "{name}"' for name, kind in kinds.items())
        return self.keep(DuckDBFrame(self._run("SELECT 1").select(*chosen).project(exact)))

    def beside(self, table: Any) -> Engine:
        from sparsegate.tables.python_tables import library_of, read_table

        if self._connection is None or not library_of(table):
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

    def numbered(self, frame: Frame, *order: str) -> Frame:
        return frame.select("*", f"row_number() OVER (ORDER BY {', '.join(map(identifier, order))}) - 1 AS index")
