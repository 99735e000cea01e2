"""Cells of tables in this process: see ``tables.label_kinds``.

Each function gives null for a value without a cell, and raises nothing, whatever the column holds: what is raised would
tell that somebody has such a value. Casts are therefore unchecked, and what they wrap lies outside of all labels.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from sparsegate.tables.label_kinds import BINARY, DATE, FLOAT, OBJECTS, TIME, UUID, LabelKind

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

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
