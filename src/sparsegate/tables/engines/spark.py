"""Tables on Spark: a cluster's, or those of a session on this machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any, Final

from sparsegate.errors import TableError
from sparsegate.tables.engines.engine import DIGITS, SALT, ColumnType, Engine, Frame
from sparsegate.tables.labels import BINARY, BOOLEAN, DATE, FLOAT, INTEGER, STRING, Cell, LabelKind, decimals, moments

PLAIN: Final = "UTF8_BINARY"
"""The collation that tells all strings apart."""

_DOUBLE: Final = """CASE WHEN NOT isnan({0}) THEN bigint(java_method('java.lang.Double', 'doubleToLongBits',
    CASE WHEN {0} = 0 THEN 0D ELSE double({0}) END)) END"""
_LABELS: Final[dict[str, tuple[LabelKind, str]]] = {
    **dict.fromkeys(("byte", "short", "integer", "long"), (INTEGER, "bigint({0})")),
    **dict.fromkeys(("float", "double"), (FLOAT, _DOUBLE)),
    "string": (STRING, "{0}"),
    "boolean": (BOOLEAN, "bigint({0})"),
    "binary": (BINARY, "lower(hex({0}))"),
    "date": (DATE, "bigint(unix_date({0}))"),
    "timestamp": (moments("us", zoned=True), "unix_micros({0})"),
    # Its fields, and not its instant in the session's time zone, which leaves out hours.
    "timestamp_ntz": (
        moments("us", zoned=False),
        """CASE WHEN {0} BETWEEN TIMESTAMP_NTZ'0001-01-01' AND TIMESTAMP_NTZ'9999-12-31 23:59:59.999999'
        THEN unix_date(date({0})) * 86400000000 + hour({0}) * 3600000000 + minute({0}) * 60000000L
        + bigint(extract(SECOND FROM {0}) * 1000000) END""",
    ),
}
"""What the values of a type are, and SQL for their cells."""


def column_type(dtype: Any) -> ColumnType:
    """What a type of Spark's says."""
    name = "string" if dtype.typeName() in ("char", "varchar") else str(dtype.typeName())
    if name == "decimal":
        # A cast to text would have an exponent, or none, as the session is set.
        cell = f"replace(format_number({{0}}, {dtype.scale}), ',', '')"
        return ColumnType(name=name, kind=decimals(dtype.scale), cell=cell, numeric=True)
    return ColumnType.of(name, *_LABELS.get(name, (None, "{0}")))


class SparkFrame(Frame):
    """A DataFrame of PySpark's."""

    def collect_schema(self) -> dict[str, ColumnType]:
        return {field.name: column_type(field.dataType) for field in self.native.schema.fields}

    def select(self, *expressions: str) -> Frame:
        return SparkFrame(self.native.selectExpr(*map(self._written, expressions)))

    def where(self, condition: str) -> Frame:
        return SparkFrame(self.native.filter(_quoted(condition)))

    def group(self, *by: str, **aggregates: str) -> Frame:
        from pyspark.sql import functions as sql

        if not aggregates:
            return SparkFrame(self.native.select(*by).distinct())
        worked_out = (sql.expr(_quoted(each)).alias(name) for name, each in aggregates.items())
        return SparkFrame(self.native.groupBy(*by).agg(*worked_out))

    def join(self, other: Frame, *on: str, how: str = "inner") -> Frame:
        return SparkFrame(self.native.join(other.native, list(on), how))

    def union(self, other: Frame) -> Frame:
        return SparkFrame(self.native.unionByName(other.native))

    def order(self, *by: str) -> Frame:
        return SparkFrame(self.native.orderBy(*by))

    def _written(self, expression: str) -> str:
        return f"`{expression}`" if expression in self.columns else _quoted(expression)


def _quoted(expression: str) -> str:
    return expression.replace('"', "`")


class Cluster(Engine):
    """A DataFrame. What is kept is persisted on the executors, in memory and then on disk."""

    name = "Spark"

    def __init__(self, table: Any) -> None:
        if not hasattr(table, "sparkSession") or not hasattr(table, "selectExpr"):
            raise TableError(f"data must be a DataFrame of PySpark's, and is of type {type(table).__name__}")
        if len(set(table.columns)) < len(table.columns):
            raise TableError("data must have no two columns of one name; rename one, or pass the columns needed")
        super().__init__(SparkFrame(table))
        self._session = table.sparkSession
        self._kept: list[Any] = []

    def select(self, named: Mapping[str, str]) -> Frame:
        from pyspark.sql import functions as sql

        columns = {alias: self.frame.native[f"`{name.replace('`', '``')}`"] for alias, name in named.items()}
        chosen = self.frame.native.select(*(column.alias(alias) for alias, column in columns.items()))
        # A collation would make one group of 'Secret' and 'secret', and show the spelling of one person for both. Of
        # people nothing is shown: they are compared as their column says.
        for field in chosen.schema.fields:
            if field.name != "user" and getattr(field.dataType, "collation", PLAIN) != PLAIN:
                chosen = chosen.withColumn(field.name, sql.collate(field.name, PLAIN))
        return SparkFrame(chosen)

    def keep(self, frame: Frame) -> Frame:
        kept = frame.native.persist()
        self._kept.append(kept)
        return SparkFrame(kept)

    def close(self) -> None:
        while self._kept:
            self._kept.pop().unpersist()

    def rows(self, frame: Frame) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in frame.native.collect()]

    def bring(self, columns: Mapping[str, Sequence[Cell]]) -> Frame:
        kinds = {name: "string" if isinstance(values[0], str) else "bigint" for name, values in columns.items()}
        schema = ", ".join(f"{name} {kind}" for name, kind in kinds.items())
        return SparkFrame(self._session.createDataFrame(list(zip(*columns.values(), strict=True)), schema))

    def joins(self, other: Engine) -> bool:
        return isinstance(other, Cluster) and self._session is other._session

    def digest(self, *columns: str) -> str:
        text = ", ".join(f'string("{name}")' for name in columns)
        return f"bigint(conv(substring(sha2(concat('{SALT}', concat_ws(':', {text})), 256), 1, {DIGITS}), 16, 10))"

    def candidates(self, labels: Frame) -> Frame:
        # Reading them again costs less than to cache them and join with the cache: a third of the whole release.
        return labels.group("item")

    def numbered(self, frame: Frame, *order: str) -> Frame:
        # A window over all rows would be one task on one executor. Sorting cuts them into ranges, one for each
        # partition, and monotonically_increasing_id is 2**33 times the partition plus the place in it.
        from pyspark.sql import functions as sql

        ordered = frame.native.orderBy(*order).withColumn("index", sql.monotonically_increasing_id()).persist()
        self._kept.append(ordered)
        part = sql.shiftright("index", 33)
        sizes = sorted(ordered.groupBy(part.alias("part")).count().collect())
        if not sizes:
            return SparkFrame(ordered)
        before = accumulate((size for _, size in sizes), initial=0)
        starts = [entry for (number, _), start in zip(sizes, before, strict=False) for entry in (number, start)]
        offsets = sql.create_map(*(sql.lit(entry).cast("bigint") for entry in starts))
        place = sql.col("index") - sql.shiftleft(part, 33) + offsets[part]
        return SparkFrame(ordered.withColumn("index", place))
