"""Tables on Spark: a cluster's, or those of a session on this machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from sparsegate.errors import TableError, load_extra
from sparsegate.tables.engines.engine import DIGITS, SALT, Engine, Frame, different, framed
from sparsegate.tables.labels import Cell, LabelKind

PLAIN: Final = "UTF8_BINARY"
"""The collation that tells all strings apart."""


_DOUBLE: Final = """CASE WHEN NOT isnan({0}) THEN bigint(java_method('java.lang.Double', 'doubleToLongBits',
    CASE WHEN {0} = 0 THEN 0D ELSE double({0}) END)) END"""
_CELLS: Final = {
    "binary": "lower(hex({0}))",
    "float": _DOUBLE,
    "double": _DOUBLE,
    "date": "bigint(unix_date({0}))",
    "timestamp": "unix_micros({0})",
    # Its fields, and not its instant in the session's time zone, which leaves out hours.
    "timestamp_ntz": """CASE WHEN {0} BETWEEN TIMESTAMP_NTZ'0001-01-01' AND TIMESTAMP_NTZ'9999-12-31 23:59:59.999999'
        THEN unix_date(date({0})) * 86400000000 + hour({0}) * 3600000000 + minute({0}) * 60000000L
        + bigint(extract(SECOND FROM {0}) * 1000000) END""",
}
"""SQL for the cells of a type: see ``tables.labels``."""


class Cluster(Engine):
    """A PySpark DataFrame. What is kept is persisted on the executors, in memory and then on disk."""

    name = "Spark"

    def __init__(self, frame: Frame) -> None:
        super().__init__(frame)
        self._session = frame.to_native().sparkSession
        self._kept: list[Any] = []

    def keep(self, frame: Frame) -> Frame:
        kept = frame.to_native().persist()
        self._kept.append(kept)
        return framed(kept)

    def candidates(self, labels: Frame) -> Frame:
        # Reading them again costs less than to cache them and join with the cache: a third of the whole release.
        return different(labels, "item")

    def rows(self, frame: Frame) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in frame.to_native().collect()]

    def bring(self, columns: Mapping[str, Sequence[Cell]]) -> Frame:
        schema = ", ".join(
            f"{name} {'string' if isinstance(values[0], str) else 'bigint'}" for name, values in columns.items()
        )
        return framed(self._session.createDataFrame(list(zip(*columns.values(), strict=True)), schema))

    def joins(self, other: Engine) -> bool:
        return isinstance(other, Cluster) and self._session is other._session

    def close(self) -> None:
        while self._kept:
            self._kept.pop().unpersist()

    def select(self, named: Mapping[str, str]) -> Frame:
        from pyspark.sql import functions as sql

        # A collation would make one group of 'Secret' and 'secret', and show the spelling of one person for both. Of
        # people nothing is shown: they are compared as their column says.
        chosen = super().select(named).to_native()
        for field in chosen.schema.fields:
            if field.name != "user" and getattr(field.dataType, "collation", PLAIN) != PLAIN:
                chosen = chosen.withColumn(field.name, sql.collate(field.name, PLAIN))
        return framed(chosen)

    def cells(self, rows: Frame, column: str, kind: LabelKind) -> Frame:
        from pyspark.sql import functions as sql

        native = rows.to_native()
        dtype = native.schema[column].dataType
        scale = getattr(dtype, "scale", None)
        # A cast to text would have an exponent, or none, as the session is set.
        cell = _CELLS[dtype.typeName()] if scale is None else f"replace(format_number({{0}}, {scale}), ',', '')"
        return framed(native.withColumn(column, sql.expr(cell.format(f"`{column}`"))))

    def users_per_item(self, rows: Frame, *within: str) -> Frame:
        from pyspark.sql import functions as sql

        # narwhals adds a term for nulls, of which there are none here, and that would mean another shuffle.
        return framed(rows.to_native().groupBy(*within, "item").agg(sql.count_distinct("user").alias("score")))

    def numbered(self, frame: Frame, order: Sequence[str]) -> Frame:
        """Number the rows where they are: a window over all of them would be one task on one executor.

        Sorting cuts the rows into ranges, one for each partition, and monotonically_increasing_id is 2**33 times the
        partition plus the place in it. How many rows each partition has is then all that is missing.
        """
        from pyspark.sql import functions as sql

        native = frame.to_native()
        ordered = native.orderBy(*order).withColumn("index", sql.monotonically_increasing_id()).persist()
        self._kept.append(ordered)
        part = sql.shiftright("index", 33)
        sizes = dict(ordered.groupBy(part.alias("part")).count().collect())
        before, starts = 0, []
        for number in sorted(sizes):
            starts.append((number, before))
            before += sizes[number]
        if not starts:
            return framed(ordered)
        offsets = sql.create_map(*(sql.lit(entry).cast("bigint") for start in starts for entry in start))
        place = sql.col("index") - sql.shiftleft(part, 33) + offsets[part]
        return framed(ordered.withColumn("index", place))

    def digests(self, frame: Frame, of: Sequence[str]) -> Frame:
        from pyspark.sql import functions as sql

        salted = sql.concat(sql.lit(SALT), sql.concat_ws(":", *(sql.col(name).cast("string") for name in of)))
        leading = sql.substring(sql.sha2(salted, 256), 1, DIGITS)
        return framed(frame.to_native().withColumn("digest", sql.conv(leading, 16, 10).cast("bigint")))


def local_session(cores: int = 2, settings: Mapping[str, str] | None = None) -> Any:
    """A Spark session on this machine, with Spark's own settings; refused where PySpark or Java is missing."""
    failure = load_extra("pyspark.errors", extra="spark").PySparkRuntimeError
    session = load_extra("pyspark.sql", extra="spark").SparkSession
    builder = session.builder.master(f"local[{cores}]").appName("sparsegate")
    builder = builder.config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false")
    for name, value in (settings or {}).items():
        builder = builder.config(name, value)
    try:
        return builder.getOrCreate()
    except (failure, OSError):
        raise TableError(
            "Spark could not start, most likely because there is no Java: install a Java runtime of version 17 or "
            "later, set JAVA_HOME to it, and start the session again"
        ) from None
