"""Tables of this process, as DuckDB reads them: pandas, Polars, Arrow, and columns or rows of plain Python.

DuckDB reads arrays, series and Arrow's memory where they are. What it would read inexactly is changed first, by the
type of the column and never because of a cell: **cells without a type** (objects of pandas, lists, rows of dicts) are
read by the contract of ``tables.identity``, as labels, and beside those as people and as numbers where a column names
users or holds values; **instants with a time zone** in other units than microseconds become their fields in UTC, and
durations whole numbers, because DuckDB would fail on a cell that does not fit; **categories** are what they stand for.
In a **list of dicts** the columns are those that are asked for: keys are private. An empty one is a table without rows.
**Streams** of Arrow can be read once: the columns asked for are copied to DuckDB. A dataset of PyArrow stays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from sparsegate.errors import ParameterError, TableError, load_extra
from sparsegate.tables.columns import check_columns, identifier, unlike
from sparsegate.tables.engines.duckdb import Relation
from sparsegate.tables.engines.engine import ColumnType
from sparsegate.tables.identity import labels, numbers, people
from sparsegate.tables.labels import INTEGER, OBJECTS, moments
from sparsegate.tables.workspace import without_bar

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

Held: TypeAlias = Any
"""A column that DuckDB reads: an array of numpy, or a chunked array of Arrow."""

_UNTYPED: Final = ColumnType(name="object", kind=OBJECTS)
_DURATION: Final = ColumnType(name="duration")
# Whole numbers that come as text.
_WIDE: Final = {kind: ColumnType(name=kind, kind=INTEGER) for kind in ("hugeint", "uhugeint")}
_FRAMES: Final = ("DataFrame", "LazyFrame", "Series")
_TABLES: Final = {"pandas": _FRAMES, "polars": _FRAMES, "pyarrow": ("Table", "ChunkedArray")}


def is_table(data: Any) -> bool:
    """Whether this is a table, series or stream that ``read_table`` reads, and no plain collection."""
    return library_of(data) != "" or _is_stream(data) or has_an_engine(data)


def has_an_engine(data: Any) -> bool:
    """Whether this is a relation of DuckDB's, or of Spark."""
    return type(data).__name__ == "DuckDBPyRelation" or type(data).__module__.startswith("pyspark.")


def library_of(data: Any) -> str:
    """The library of a table or series that can be read more than once: pandas, Polars or PyArrow; or ""."""
    libraries = ((kind.__module__.partition(".")[0], kind.__name__) for kind in type(data).__mro__)
    return next((library for library, name in libraries if name in _TABLES.get(library, ())), "")


def _is_stream(data: Any) -> bool:
    return hasattr(data, "__arrow_c_stream__") or type(data).__module__ == "pyarrow._dataset"


def read_table(
    data: Any,
    columns: Sequence[str] | None = None,
    connection: DuckDBPyConnection | None = None,
    *,
    roles: Mapping[str, str | None] | None = None,
) -> Relation:
    """The table in DuckDB; of its columns those that are asked for, whatever their capitals, or all.

    A series is a table of one column, "item". ``roles`` has the names of the columns "user" and "value", if there are
    any: cells without a type are read as people and as numbers there alone, or everywhere if nobody says.
    """
    import duckdb

    connection = connection or duckdb.connect()
    without_bar(connection)
    library = library_of(data)
    if _is_stream(data) and not library:
        return _streamed(data, columns, connection)
    if isinstance(data, list | tuple):
        rows = [row if isinstance(row, Mapping) else {} for row in data]
        data = {name: [row.get(name) for row in rows] for name in columns or ()}
    elif type(data).__name__ in ("Series", "ChunkedArray"):
        data = {"item": data}
    elif type(data).__name__ == "LazyFrame":
        data = data.select(_present(data.collect_schema().names(), columns)).collect()
    elif not library and not isinstance(data, Mapping):
        known = "a pandas, Polars or PyArrow table, a DuckDB relation or a PySpark DataFrame"
        others = "columns or rows in dicts, a stream of Arrow, or what to read by its path or URL"
        raise TableError(f"data must be {known}, {others}, and is of type {type(data).__name__}")
    held = data if isinstance(data, Mapping) else data.column_names if library == "pyarrow" else data.columns
    names = [name for name in held if isinstance(name, str)]
    chosen = _chosen(names, columns)
    if library:  # names that nobody asked for are known all the same, so that an error can say which is near
        taken = {name.lower() for name in chosen}
        chosen += [name for name in names if name.lower() not in taken and _as_it_is(data[name])]
    return _related({name: data[name] for name in chosen}, connection, roles)


def _chosen(names: Sequence[str], columns: Sequence[str] | None) -> list[str]:
    # As they are written, or else whatever their capitals, or in no plain words.
    texts = list(names)
    if columns is not None:
        others = {name.casefold() for name in columns if name not in names}
        texts = [name for name in names if name in columns or name.casefold() in others or not name.isidentifier()]
    if len({name.lower() for name in texts}) < len(texts) or len(set(names)) < len(names):
        raise TableError("data must have no two columns of one name; rename one, or pass the columns needed")
    return texts


def _present(names: Sequence[str], columns: Sequence[str] | None) -> list[str]:
    """The same, of a table whose other columns are not read; refused where one is missing."""
    chosen = _chosen(names, columns)
    folded = {name.casefold() for name in chosen}
    check_columns(names, [name for name in columns or () if name.casefold() not in folded])
    return chosen


def _as_it_is(values: Any) -> bool:
    """Whether DuckDB reads a column of a table where it is."""
    dtype = getattr(values, "dtype", None)
    if isinstance(dtype, np.dtype):
        return dtype.kind in "biuf"
    return _in_arrow(dtype) or library_of(values) in ("pyarrow", "polars")


def _in_arrow(dtype: Any) -> bool:
    return hasattr(dtype, "pyarrow_dtype") or getattr(dtype, "storage", "") == "pyarrow"


def _related(
    columns: Mapping[str, Any], connection: DuckDBPyConnection, roles: Mapping[str, str | None] | None
) -> Relation:
    held: dict[str, Held] = {}
    types: dict[str, ColumnType] = {}
    readings: dict[tuple[str, str], str] = {}
    for name, values in columns.items():
        try:
            column, dtype = _column(values, connection)
        except (TypeError, ValueError):
            column, dtype = np.empty((0, 0)), None
        if dtype is not None:
            types[name] = dtype
        if dtype is _UNTYPED:
            held[name] = _texts(labels(column))
            for alias in ("user", "value"):
                if roles is None or roles.get(alias) == name:
                    own = readings[alias, name] = unlike(f"{name} ({alias})", [*columns, *held])
                    user = alias == "user"
                    held[own] = _texts(people(column)) if user else np.array(numbers(column), np.float64)
        elif column is not None:
            held[name] = column
    arrays = [column for column in held.values() if isinstance(column, np.ndarray)]
    if any(array.ndim != 1 for array in arrays) or len({len(column) for column in held.values()}) > 1:
        rule = "must have columns of one length, each a flat list, array or series"
        raise ParameterError("data", rule, next_step="check how it is made")
    if not held:
        relation = connection.sql("SELECT 1 AS nothing WHERE false")
    elif len(arrays) < len(held):
        import pyarrow as pa

        relation = connection.from_arrow(pa.table({name: _arrow(pa, column) for name, column in held.items()}))
    else:
        connection.execute("SET pandas_analyze_sample = 0")  # objects are text, and no type is to be guessed
        taken = [name for (name,) in connection.execute("SELECT view_name FROM duckdb_views()").fetchall()]
        view = unlike("sparsegate_columns", taken)
        connection.register(view, held)
        relation = connection.sql(f"FROM {identifier(view)}")
    if wide := {name: dtype.name for name, dtype in types.items() if dtype in _WIDE.values()}:
        whole = ", ".join(f"CAST({identifier(name)} AS {kind}) AS {identifier(name)}" for name, kind in wide.items())
        relation = relation.project(f"* REPLACE ({whole})")
    return Relation(relation, known=types, readings=readings, typed=True, connection=connection)


def _arrow(pa: Any, column: Held) -> Any:
    if not isinstance(column, np.ndarray):
        return column
    mask = np.ma.getmaskarray(column) if isinstance(column, np.ma.MaskedArray) else None
    return pa.array(np.asarray(column), pa.large_string() if column.dtype == object else None, mask)


def _texts(texts: Sequence[str | None]) -> Held:
    array = np.empty(len(texts), dtype=object)
    array[:] = texts
    return array


def _column(values: Any, connection: DuckDBPyConnection) -> tuple[Any, ColumnType | None]:
    """A column as DuckDB reads it (None: it does not), or its cells; and its type, where DuckDB's does not say it.

    Raises a TypeError or ValueError for what is no column.
    """
    module = type(values).__module__.partition(".")[0]
    if module == "pandas":
        return _pandas_column(values, connection)
    if hasattr(values, "__arrow_c_stream__") or hasattr(values, "__arrow_c_array__"):
        pa = load_extra("pyarrow", extra="frames")
        if module == "polars" and str(values.dtype) == "Object":
            return None, ColumnType(name="object", person=False)
        if module == "polars" and str(values.dtype) in ("Int128", "UInt128"):  # Arrow has none so wide
            return pa.chunked_array(values.cast(str)), _WIDE["hugeint" if str(values.dtype) == "Int128" else "uhugeint"]
        chunks = values if hasattr(values, "__arrow_c_stream__") else [pa.array(values)]
        return _arrow_column(pa.chunked_array(chunks), connection)
    if isinstance(values, np.ndarray) and not isinstance(values, np.ma.MaskedArray) and values.dtype.kind in "biufmMU":
        return _numpy_column(values)
    if isinstance(values, str | bytes | Mapping) or (isinstance(values, np.ndarray) and values.ndim != 1):
        raise TypeError
    return values.tolist() if isinstance(values, np.ndarray) else list(values), _UNTYPED


def _numpy_column(values: Any) -> tuple[Held, ColumnType | None]:
    if values.dtype.kind == "U":
        return _texts(labels(values.tolist())), None
    if values.dtype.kind in "mM":
        unit, _ = np.datetime_data(values.dtype)
        values = values if unit in ("s", "ms", "us", "ns") else values.astype(f"{values.dtype.kind}8[s]")
        if values.dtype.kind == "m":
            return np.ma.MaskedArray(values.astype(np.int64), mask=np.isnat(values)), _DURATION
    if values.dtype.itemsize > 8:
        return None, ColumnType(name=str(values.dtype), person=False)
    return np.ascontiguousarray(values, values.dtype.newbyteorder("=")), None


def _pandas_column(values: Any, connection: DuckDBPyConnection) -> tuple[Any, ColumnType | None]:
    import pandas as pd

    series = pd.Series(values)
    if series.dtype == "category":
        held = series.cat.categories.dtype
        series = series.astype({"i": "Int64", "u": "UInt64", "b": "boolean"}.get(held.kind, held))
    dtype = series.dtype
    if dtype == np.dtype(object):
        return series.to_numpy().tolist(), _UNTYPED
    if isinstance(dtype, np.dtype):
        return _numpy_column(series.to_numpy())
    if isinstance(dtype, pd.DatetimeTZDtype):
        fields = series.dt.tz_convert("UTC").dt.tz_localize(None)
        return _numpy_column(fields.to_numpy())[0], _zoned(dtype.unit)
    if _in_arrow(dtype):
        return _arrow_column(series.array.__arrow_array__(), connection)
    if isinstance(dtype, pd.StringDtype):
        return _texts(labels(series.to_numpy(object, na_value=None))), None
    if isinstance(getattr(dtype, "numpy_dtype", None), np.dtype):
        gaps = series.isna().to_numpy()
        return np.ma.MaskedArray(series.to_numpy(dtype.numpy_dtype, na_value=dtype.type(0)), mask=gaps), None
    return None, ColumnType(name=type(dtype).__name__, person=False)


def _zoned(unit: str) -> ColumnType:
    return ColumnType(name="timestamp with time zone", kind=moments(unit, zoned=True))


def _arrow_column(column: Any, connection: DuckDBPyConnection) -> tuple[Held | None, ColumnType | None]:
    import duckdb
    import pyarrow as pa

    kinds = pa.types
    if kinds.is_dictionary(column.type) and "string" not in str(column.type.value_type):
        column = column.cast(column.type.value_type)
    if kinds.is_timestamp(column.type) and column.type.tz is not None and column.type.unit != "us":
        return column.cast(pa.int64()).cast(pa.timestamp(column.type.unit)), _zoned(column.type.unit)
    if kinds.is_duration(column.type):
        return column.cast(pa.int64()), _DURATION
    if kinds.is_float16(column.type):
        return column.cast(pa.float32()), None
    try:
        connection.from_arrow(pa.table({"column": pa.chunked_array([], column.type)}))
    except duckdb.Error:
        return None, ColumnType(name=str(column.type.id), person=False)
    return column, None


def _streamed(data: Any, columns: Sequence[str] | None, connection: DuckDBPyConnection) -> Relation:
    """A dataset where it is, or a copy of the columns of a stream, which can be read once."""
    pa = load_extra("pyarrow", extra="frames")
    stays = type(data).__module__ == "pyarrow._dataset" and not hasattr(data, "to_reader")
    if not stays and not isinstance(data, pa.RecordBatchReader):
        data = data.to_reader() if hasattr(data, "to_reader") else pa.RecordBatchReader.from_stream(data)
    chosen = _present(data.schema.names, columns)
    exact, types = _exact(data.schema.empty_table(), chosen, connection)
    changed = exact.schema != pa.schema([data.schema.field(name) for name in exact.column_names])
    if changed:
        batches = data if isinstance(data, pa.RecordBatchReader) else data.scanner().to_reader()
        own = connection.cursor()  # the other one reads the stream meanwhile
        tables = (_exact(pa.Table.from_batches([batch]), chosen, own)[0] for batch in batches)
        data = pa.RecordBatchReader.from_batches(exact.schema, (part for each in tables for part in each.to_batches()))
    relation = connection.from_arrow(data).project(", ".join(map(identifier, exact.column_names)))
    if changed or not stays:
        relation.query("streamed", "CREATE TABLE memory.main.copied AS FROM streamed")
        relation = connection.sql("SELECT * FROM memory.main.copied")
    return Relation(relation, known=types, typed=True)


def _exact(table: Any, names: Sequence[str], connection: DuckDBPyConnection) -> tuple[Any, dict[str, ColumnType]]:
    """Some columns of a table of Arrow as DuckDB reads them exactly, and their types where DuckDB's do not say it."""
    import pyarrow as pa

    read = {name: _arrow_column(table[name], connection) for name in names}
    columns = {name: column for name, (column, _) in read.items() if column is not None}
    return pa.table(columns), {name: dtype for name, (_, dtype) in read.items() if dtype is not None}
