"""Tables in this process: pandas, Polars (eager and lazy) and PyArrow.

Cells of tables in this process: see ``tables.labels``.

Each function gives null for a value without a cell, and raises nothing, whatever the column holds: what is raised would
tell that somebody has such a value. Casts are therefore unchecked, and what they wrap lies outside of all labels.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

import narwhals as nw
import numpy as np

from sparsegate.tables.columns import MOST_LABEL, identifier, unlike
from sparsegate.tables.engines.engine import Engine, Frame, digest, framed
from sparsegate.tables.identity import labels, numbers, people
from sparsegate.tables.labels import BINARY, DATE, FLOAT, OBJECTS, TIME, UUID, Cell, LabelKind

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow
    from duckdb import DuckDBPyRelation


_PLAIN_PLACES: Final = range(7)
"""Decimals with this many digits behind the point are written by Arrow without an exponent."""


def untyped(dtype: Any) -> LabelKind | None:
    """What items are whose type narwhals cannot tell: objects of pandas, and UUIDs."""
    held = getattr(dtype, "pyarrow_dtype", dtype)
    if str(getattr(held, "extension_name", "")) == "arrow.uuid":
        return UUID
    held = dtype.categories.dtype if str(dtype) == "category" else dtype
    return OBJECTS if str(held) == "object" else None


def plain_type(dtype: pyarrow.DataType) -> pyarrow.DataType:
    """The type of Arrow for the same values that narwhals knows, and that can be grouped and joined."""
    import pyarrow as pa

    kinds = pa.types
    if kinds.is_dictionary(dtype):
        dtype = dtype.value_type
    if getattr(dtype, "extension_name", "") == "arrow.uuid":
        dtype = dtype.storage_type
    if kinds.is_string(dtype) or kinds.is_string_view(dtype):
        return pa.large_string()  # the others hold 2 GB at most, or cannot be grouped
    if kinds.is_fixed_size_binary(dtype) or kinds.is_binary_view(dtype) or kinds.is_large_binary(dtype):
        return pa.binary()
    if kinds.is_timestamp(dtype) and dtype.tz is not None:
        return pa.timestamp(dtype.unit, "UTC")  # the same instants
    if kinds.is_float16(dtype):
        return pa.float32()
    return pa.date32() if kinds.is_date64(dtype) else dtype


def arrow_cells(column: pyarrow.ChunkedArray, kind: LabelKind) -> pyarrow.ChunkedArray:
    """The cells of a column of PyArrow."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if kind is FLOAT:
        numbers = column.cast(pa.float64())
        known = pc.invert(pc.is_nan(numbers))
        bits = _bits(np.asarray(numbers.fill_null(0)))
        return pa.chunked_array([pc.if_else(pc.fill_null(known, False).combine_chunks(), pa.array(bits), None)])
    if kind is DATE:
        return column.cast(pa.int32()).cast(pa.int64())
    if kind is TIME:
        return column.cast(pa.time64("ns"), safe=False).cast(pa.int64())
    if kind is BINARY:
        return _by_value(column, bytes.hex)
    if kind is UUID:
        return _by_value(column, lambda value: str(uuid.UUID(bytes=value)))
    if pa.types.is_decimal(column.type):
        if column.type.scale in _PLAIN_PLACES:
            return column.cast(pa.large_string())
        return _by_value(column, lambda value: format(value, "f"))
    return column.cast(pa.int64())


def _by_value(column: pyarrow.ChunkedArray, write: Callable[[Any], str]) -> pyarrow.ChunkedArray:
    """Cells that Arrow cannot write, each different value once."""
    import pyarrow as pa

    coded = column.combine_chunks().dictionary_encode()
    if isinstance(coded, pa.ChunkedArray):
        coded = coded.unify_dictionaries().combine_chunks()
    written = pa.array([write(value) for value in coded.dictionary.to_pylist()], pa.large_string())
    return pa.chunked_array([written.take(coded.indices)])


def pandas_cells(column: pandas.Series, kind: LabelKind) -> Any:
    """The cells of a column of pandas that holds no null."""
    import pandas as pd

    if hasattr(column.dtype, "pyarrow_dtype"):
        cells = arrow_cells(column.array.__arrow_array__(), kind)
        # As the candidates are that they are joined with.
        return pd.array(cells.to_pylist(), dtype="Int64" if str(cells.type) == "int64" else "string")
    if kind is FLOAT:
        numbers = column.to_numpy(dtype=np.float64, na_value=np.nan)
        return pd.arrays.IntegerArray(_bits(numbers), np.isnan(numbers))
    return column.astype(np.int64)


def polars_cells(column: str, kind: LabelKind) -> polars.Expr:
    """The cells of a column of Polars."""
    import polars as pl

    label = pl.col(column)
    if kind is FLOAT:
        number = label.cast(pl.Float64)
        bits = pl.when(number == 0).then(pl.lit(0.0)).otherwise(number).reinterpret(dtype=pl.Int64)
        return pl.when(number.is_not_nan()).then(bits).alias(column)
    if kind is BINARY:
        return label.bin.encode("hex")
    if kind is DATE:
        return label.cast(pl.Int32).cast(pl.Int64)
    # A time is nanoseconds to Polars, an instant its own unit, and a decimal is written without an exponent.
    return label.cast(pl.String if kind.read is Decimal else pl.Int64)


def _bits(numbers: np.ndarray[Any, np.dtype[np.float64]]) -> Any:
    return (numbers + 0.0).view(np.int64)  # 0 for -0


class InMemory(Engine):
    """A table of pandas, Polars or PyArrow; a lazy one is collected only where it is counted."""

    def __init__(self, frame: Frame) -> None:
        super().__init__(frame)
        self.kind = frame.implementation
        self.name = {"pandas": "pandas", "polars": "Polars", "pyarrow": "PyArrow"}[self.kind.value]

    def close(self) -> None:
        pass

    def keep(self, frame: Frame) -> Frame:
        return frame.collect().lazy()

    def rows(self, frame: Frame) -> list[tuple[Any, ...]]:
        return [tuple(map(_python, row)) for row in frame.collect().rows()]

    def bring(self, columns: Mapping[str, Sequence[Cell]]) -> Frame:
        schema = {name: nw.String if isinstance(values[0], str) else nw.Int64 for name, values in columns.items()}
        brought = nw.DataFrame.from_dict(dict(columns), schema, backend=self.kind).lazy()
        return framed(_plain(brought.collect().to_native())) if self.kind.is_pyarrow() else brought

    def sieve(self, labels: Frame) -> Callable[[Frame], Frame] | None:
        if not self.kind.is_polars() or labels.collect_schema()["item"] != nw.Int64:
            return None
        import polars

        listed = polars.col("item").is_in(labels.collect().to_native()["item"].implode())
        return lambda rows: framed(rows.to_native().lazy().filter(listed))

    def joins(self, other: Engine) -> bool:
        return isinstance(other, InMemory) and self.kind is other.kind

    def matching(self, match: Callable[[DuckDBPyRelation], DuckDBPyRelation]) -> InMemory:
        """The rows that are left of a copy in DuckDB, as rows of this engine: people stay who they were."""
        frame, copied, place = self._in_duckdb()
        left = match(copied).project(identifier(place))
        matches = np.zeros(len(frame), dtype=np.bool_)
        matches[left.fetchnumpy()[place]] = True
        # narwhals takes an empty list for no condition at all, and raises: a table of nobody must not fail.
        return InMemory((frame.filter(matches.tolist()) if len(frame) else frame).lazy())

    def with_text(self, name: str, written: Callable[[DuckDBPyRelation], str]) -> InMemory:
        """The same rows with one more column, of text, that DuckDB works out by an expression on a copy of them."""
        frame, copied, place = self._in_duckdb()
        found = copied.project(f"{identifier(place)}, {written(copied)}").order(identifier(place)).fetchall()
        texts = nw.new_series(name, [text for _, text in found], nw.String, backend=self.kind)
        return InMemory(frame.with_columns(texts).lazy())

    def _in_duckdb(self) -> tuple[nw.DataFrame[Any], DuckDBPyRelation, str]:
        """The rows, a copy of them in DuckDB, and the column of the copy that has the number of each row."""
        import duckdb

        frame = self.frame.collect()
        if self.kind.is_pyarrow():
            frame = framed(_plain(frame.to_native())).collect()
        place = unlike("row", frame.columns)
        named = {f"c{number}": name for number, name in enumerate(frame.columns)}
        copied = self.select(named).rename(named).collect().with_row_index(place).to_arrow()
        return frame, duckdb.connect().from_arrow(instants_in_microseconds(copied)), place

    def select(self, named: Mapping[str, str]) -> Frame:
        chosen = super().select(named)
        if self.kind.is_pandas():
            native = chosen.to_native()
            chosen = framed(native.assign(**{name: _typed(native[name]) for name in native.columns}))
        if self.kind.is_pyarrow():
            chosen = framed(_fitting(_plain(chosen.collect().to_native())))
        return chosen

    def item_kind(self, column: str) -> LabelKind | None:
        if self.kind.is_polars():
            return None
        native = self.frame.to_native()
        dtype = native.dtypes[column] if self.kind.is_pandas() else native.schema.field(column).type
        return untyped(dtype)

    def cells(self, rows: Frame, column: str, kind: LabelKind) -> Frame:
        native = rows.to_native()
        if self.kind.is_polars():
            return framed(native.with_columns(polars_cells(column, kind)))
        if self.kind.is_pandas():
            return framed(native.assign(**{column: pandas_cells(native[column], kind)}))
        return framed(native.set_column(native.column_names.index(column), column, arrow_cells(native[column], kind)))

    def digests(self, frame: Frame, of: Sequence[str]) -> Frame:
        rows = frame.collect()
        numbers = list(map(digest, *(rows[name].to_list() for name in of)))
        return rows.with_columns(nw.new_series("digest", numbers, nw.Int64, backend=self.kind)).lazy()

    def first_per_user(self, rows: Frame, most: int) -> Frame:
        ordered = rows.with_row_index("index", order_by=["user", "digest", "item"])
        start = nw.col("index").min().over("user")
        return ordered.filter(nw.col("index") - start < most).select("user", "item", "digest")


def _typed(column: pandas.Series) -> Any:
    """A column of pandas without objects and without codes: see ``tables.identity``.

    narwhals would guess what a column of objects holds from its first rows, and those are private: the same table must
    be refused or taken whoever is in it.
    """
    import pandas as pd

    if column.dtype == "category":
        held = column.cat.categories.dtype
        column = column.astype(_WITH_GAPS.get(held.kind, held))
    if column.dtype == object:
        cells = column.to_numpy().tolist()
        if column.name == "value":
            return pd.array(numbers(cells), dtype="Float64")
        return pd.array(people(cells) if column.name == "user" else labels(cells), dtype="string")
    if isinstance(column.dtype, pd.DatetimeTZDtype):  # narwhals cannot read the names of all zones
        return column.dt.tz_convert("UTC")
    kind = getattr(column.dtype, "pyarrow_dtype", None)
    if kind is not None and (plain := plain_type(kind)) != kind:  # codes may hold a value twice, under two of them
        return pd.array(_cast(column.array.__arrow_array__(), plain), dtype=pd.ArrowDtype(plain))
    if column.name == "user" and kind is not None and str(kind).startswith(("date", "time")):  # Python's end, in a sort
        ticks = f"int{kind.bit_width}"
        return pd.array(column.array.__arrow_array__().cast(ticks), dtype=f"{ticks}[pyarrow]")
    if column.name == "value" and kind is not None and str(kind).startswith(("int", "uint")):  # see ``_plain``
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    return column


_WITH_GAPS = {"i": "Int64", "u": "UInt64", "b": "boolean"}
"""Types of pandas by the kinds of numpy's that have no place for a null."""


def _plain(table: pyarrow.Table) -> pyarrow.Table:
    """A PyArrow table with values for codes and one type for strings, which can be grouped, joined and filtered."""
    for place, field in enumerate(table.schema):
        if (dtype := plain_type(field.type)) != field.type:
            table = table.set_column(place, field.name, _cast(table.column(place), dtype))
        # Values will be doubles, and PyArrow's own cast would raise where one is rounded, and so tell of it.
        if field.name == "value" and str(dtype).startswith(("int", "uint")):
            table = table.set_column(place, field.name, table.column(place).cast("float64", safe=False))
    return table


def _cast(column: pyarrow.ChunkedArray, dtype: pyarrow.DataType) -> pyarrow.ChunkedArray:
    import pyarrow as pa

    if isinstance(column.type, pa.BaseExtensionType):
        column = pa.chunked_array([chunk.storage for chunk in column.chunks], column.type.storage_type)
    return column.cast(dtype, safe=False)


def instants_in_microseconds(table: pyarrow.Table) -> pyarrow.Table:
    """The table with instants in microseconds, as DuckDB has them; what lies beyond those is null.

    DuckDB's own conversion would raise, and whether it does would depend on a cell.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    for place, field in enumerate(table.schema):
        parts = {"s": 10**6, "ms": 1000}.get(getattr(field.type, "unit", ""), 1)
        if parts > 1 and pa.types.is_timestamp(field.type) and field.type.tz is not None:
            ticks, most = table.column(place).cast(pa.int64()), MOST_LABEL // parts
            fits = pc.and_(pc.less_equal(ticks, most), pc.greater_equal(ticks, -most))
            known = pc.multiply(pc.if_else(fits, ticks, pa.scalar(None, pa.int64())), parts)
            table = table.set_column(place, field.name, known.cast(pa.timestamp("us", field.type.tz)))
    return table


def _fitting(table: pyarrow.Table) -> pyarrow.Table:
    """The table with items of 64 bits with a sign.

    An item that does not fit becomes null, and is dropped like one: PyArrow's own comparison with 2**63 would raise,
    and whether it does would depend on a cell.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    for place, field in enumerate(table.schema):
        if field.name not in ("user", "value") and pa.types.is_uint64(field.type):
            column = table.column(place)
            fits = pc.less_equal(column, pa.scalar(MOST_LABEL, pa.uint64()))
            column = pc.if_else(fits, column, pa.scalar(None, pa.uint64())).cast(pa.int64())
            table = table.set_column(place, field.name, column)
    return table


def _python(value: Any) -> Any:
    """A number of numpy's as Python's."""
    return value.item() if hasattr(value, "item") else value
