"""The results as a table: one row for each dataset, method, epsilon and c; written as CSV and as Parquet."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sparsegate.errors import ParameterError
from sparsegate.evaluation.extras import load_extra

if TYPE_CHECKING:
    import pyarrow as pa

COLUMNS: Mapping[str, str] = {
    "dataset": "string",
    "stand_in": "bool_",
    "method": "string",
    "epsilon": "float64",
    "count": "int64",
    "runs": "int64",
    "ser_mean": "float64",
    "ser_std": "float64",
    "fnr_mean": "float64",
    "fnr_std": "float64",
    "selected_mean": "float64",
    "seconds": "float64",
    "total_ser_mean": "float64",
    "total_ser_std": "float64",
    "fpr_mean": "float64",
    "fpr_std": "float64",
}
"""The columns of the results, with their PyArrow types."""

SCORE_COLUMNS: Mapping[str, str] = {"dataset": "string", "stand_in": "bool_", "rank": "int64", "score": "float64"}
"""The columns of the table of highest scores, for the picture of the datasets."""


def table(rows: Sequence[Mapping[str, Any]], columns: Mapping[str, str] = COLUMNS) -> pa.Table:
    """A PyArrow table of the given columns; what else the rows hold is left out."""
    arrow = load_extra("pyarrow", extra="evaluation")
    schema = arrow.schema([(name, getattr(arrow, kind)()) for name, kind in columns.items()])
    return arrow.Table.from_pylist([{name: row[name] for name in columns} for row in rows], schema=schema)


def write(folder: Path, name: str, rows: pa.Table) -> None:
    """Write ``name``.csv and ``name``.parquet, each whole or not at all."""
    csv = load_extra("pyarrow.csv", extra="evaluation")
    parquet = load_extra("pyarrow.parquet", extra="evaluation")
    replace_file(folder / f"{name}.csv", lambda path: csv.write_csv(rows, path))
    replace_file(folder / f"{name}.parquet", lambda path: parquet.write_table(rows, path))


def read(folder: str | Path, name: str = "results") -> pa.Table:
    """Read ``results`` or ``scores`` back from a folder that ``run`` wrote."""
    parquet = load_extra("pyarrow.parquet", extra="evaluation")
    path = Path(folder) / f"{name}.parquet"
    if not path.is_file():
        raise ParameterError("out", f"must hold {path.name}", str(folder), "run `sparsegate reproduce` first")
    return parquet.read_table(path)


def replace_file(path: Path, write_to: Callable[[Path], object]) -> None:
    """Write a file beside its place, then move it there: a reader never sees half of it."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        write_to(unfinished)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
