"""Tables in this process: pandas, Polars (eager and lazy) and PyArrow."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from sparsegate.tables.columns import MOST_LABEL, identifier, unlike
from sparsegate.tables.engines.engine import Engine, Frame, digest, framed
from sparsegate.tables.identity import labels, numbers, people

if TYPE_CHECKING:
    import pandas
    import pyarrow
    from duckdb import DuckDBPyRelation


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

    def bring(self, columns: Mapping[str, Sequence[int] | Sequence[str]]) -> Frame:
        schema = {name: nw.String if isinstance(values[0], str) else nw.Int64 for name, values in columns.items()}
        brought = nw.DataFrame.from_dict(dict(columns), schema, backend=self.kind).lazy()
        return framed(_plain(brought.collect().to_native())) if self.kind.is_pyarrow() else brought

    def joins(self, other: Engine) -> bool:
        return isinstance(other, InMemory) and self.kind is other.kind

    def matching(self, match: Callable[[DuckDBPyRelation], DuckDBPyRelation]) -> InMemory:
        """The rows that are left of a copy in DuckDB, as rows of this engine: people stay who they were."""
        frame, copied, place = self._in_duckdb()
        left = match(copied).project(identifier(place))
        matches = np.zeros(len(frame), dtype=np.bool_)
        matches[left.fetchnumpy()[place]] = True
        return InMemory(frame.filter(matches.tolist()).lazy())

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
        return frame, duckdb.connect().from_arrow(copied), place

    def select(self, named: Mapping[str, str]) -> Frame:
        chosen = super().select(named)
        if self.kind.is_pandas():
            native = chosen.to_native()
            chosen = framed(native.assign(**{name: _typed(native[name]) for name in native.columns}))
        if self.kind.is_pyarrow():
            chosen = framed(_fitting(_plain(chosen.collect().to_native())))
        return chosen

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
    import pyarrow as pa

    if column.dtype == "category" and column.cat.categories.dtype == object:
        column = column.astype(object)
    if column.dtype == object:
        cells = column.to_numpy().tolist()
        if column.name == "value":
            return pd.array(numbers(cells), dtype="Float64")
        return pd.array(people(cells) if column.name == "user" else labels(cells), dtype="string")
    kind = getattr(column.dtype, "pyarrow_dtype", None)
    if kind is not None and pa.types.is_dictionary(kind):  # which may hold a value twice, under two codes
        return column.astype(pd.ArrowDtype(kind.value_type))
    if kind is not None and pa.types.is_integer(kind) and column.name == "value":  # see ``_plain``
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    return column


def _plain(table: pyarrow.Table) -> pyarrow.Table:
    """A PyArrow table with values for codes and one type for strings, which can be grouped, joined and filtered."""
    import pyarrow as pa

    for place, field in enumerate(table.schema):
        dtype = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        if pa.types.is_string(dtype) or pa.types.is_string_view(dtype):
            dtype = pa.large_string()  # the others hold 2 GB at most, or cannot be grouped
        if dtype != field.type:
            table = table.set_column(place, field.name, table.column(place).cast(dtype))
        # Values will be doubles, and PyArrow's own cast would raise where one is rounded, and so tell of it.
        if field.name == "value" and pa.types.is_integer(dtype):
            table = table.set_column(place, field.name, table.column(place).cast(pa.float64(), safe=False))
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
