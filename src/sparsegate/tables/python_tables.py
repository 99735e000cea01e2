"""Tables of plain Python, and streams of Arrow: what people bring that is no dataframe yet.

- **A dict of columns**: lists, arrays of numpy, series of pandas or Polars, arrays of Arrow. An array or a series keeps
  its type; a list has none, and its cells are read one by one, by the contract of ``tables.identity``. A type guessed
  from a list would change with one person's cell.
- **A list of dicts**, one for each row. The columns are those that are asked for: a key that a row lacks, or that every
  row lacks, is a null there, and a row that is no dict is nobody's. (The keys of the rows are private, like those of
  JSON records.) An empty list is a table without rows: to refuse it would tell that nobody is there.
- **Everything with the Arrow C stream** (``__arrow_c_stream__``), and datasets and scanners of PyArrow. A dataset stays
  where it is, and is read as often as counting takes. A stream can be read once: the columns asked for are copied to a
  DuckDB of its own, which spills to disk, and nothing else is. A reader of PyArrow that was read before is refused. Of
  other libraries that is left to them: a stream that ends at once looks like a table without rows, which is no error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import narwhals as nw
import numpy as np

from sparsegate.errors import ParameterError, load_extra

if TYPE_CHECKING:
    import pandas

_FLAT: Final = ("must have columns of one length, each a flat list, array or series", "check how it is made")


def is_rows(data: Any) -> bool:
    """Whether this is a dict of columns, or a list that is not one of paths."""
    return isinstance(data, Mapping | list | tuple)


def is_stream(data: Any) -> bool:
    """Whether this is a stream or a dataset of Arrow, and no table that has an engine of its own."""
    arrow = hasattr(data, "__arrow_c_stream__") or type(data).__module__ == "pyarrow._dataset"
    try:
        return arrow and nw.from_native(data, pass_through=True) is data
    except nw.exceptions.DuplicateError:  # a dataframe, which is refused where it is opened
        return False


def readable(data: Any) -> Any:
    """A reader or dataset of Arrow as it is; where it has instants that DuckDB may fail to read, one that has not."""
    pa = load_extra("pyarrow", extra="frames")
    from sparsegate.tables.engines.dataframes import instants_in_microseconds

    schema = instants_in_microseconds(data.schema.empty_table()).schema
    if schema == data.schema:
        return data
    batches = data if isinstance(data, pa.RecordBatchReader) else data.scanner().to_reader()
    tables = (instants_in_microseconds(pa.Table.from_batches([batch])) for batch in batches)
    return pa.RecordBatchReader.from_batches(schema, (part for table in tables for part in table.to_batches()))


def as_frame(data: Mapping[Any, Any] | Sequence[Any], columns: Sequence[str]) -> pandas.DataFrame:
    """The columns that are asked for as a dataframe of pandas, without a guess at a type."""
    pd = load_extra("pandas", extra="frames")
    if isinstance(data, Mapping):
        asked = {name.casefold() for name in columns}
        held = {name: _column(pd, data[name]) for name in data if isinstance(name, str) and name.casefold() in asked}
    else:
        rows = [row if isinstance(row, Mapping) else {} for row in data]
        held = {name: pd.Series(_cells([row.get(name) for row in rows]), dtype=object) for name in columns}
    if len({len(column) for column in held.values()}) > 1:
        raise ParameterError("data", _FLAT[0], next_step=_FLAT[1])
    return pd.DataFrame(held)


def _column(pd: Any, values: Any) -> pandas.Series:
    """A column with the type that it has, or as objects."""
    try:
        if isinstance(values, pd.Series | pd.Index | pd.api.extensions.ExtensionArray):
            return pd.Series(values).reset_index(drop=True)
        if hasattr(values, "__arrow_c_stream__") or hasattr(values, "__arrow_c_array__"):
            pa = load_extra("pyarrow", extra="frames")
            column = pa.chunked_array(values) if hasattr(values, "__arrow_c_stream__") else pa.array(values)
            return pd.Series(pd.array(column, dtype=pd.ArrowDtype(column.type)))
        if (
            isinstance(values, np.ndarray)
            and not isinstance(values, np.ma.MaskedArray)
            and values.dtype.kind in "biufMU"
        ):
            return pd.Series(values)
        return pd.Series(_cells(values), dtype=object)
    except (TypeError, ValueError):
        pass
    raise ParameterError("data", _FLAT[0], next_step=_FLAT[1])


def _cells(values: Any) -> Any:
    """The cells of a list as an array of objects, whatever they are: a list of lists is one of objects, too."""
    if isinstance(values, str | bytes | Mapping) or (isinstance(values, np.ndarray) and values.ndim != 1):
        raise TypeError
    held = values.tolist() if isinstance(values, np.ndarray) else list(values)
    cells = np.empty(len(held), dtype=object)
    for place, cell in enumerate(held):  # one by one: numpy would look into a list of lists
        cells[place] = cell
    return cells
