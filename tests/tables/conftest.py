"""The engines: the contract runs on every one of them, on Spark where there is Java; all else runs on DuckDB alone."""

from __future__ import annotations

import gzip
import os
import shutil
import warnings
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

ENGINES = ("duckdb", "spark")
FORMS = ("pandas", "polars", "polars-lazy", "pyarrow", "pyarrow-large", "pyarrow-view", "pyarrow-codes")
"""What DuckDB reads: see ``test_python_tables.py``."""

# Small, and without the compilations that pay only on large tables.
SETTINGS = {
    "spark.sql.shuffle.partitions": "2",
    "spark.default.parallelism": "2",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData",
    "spark.log.level": "OFF",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}

Maker = Callable[[Mapping[str, list[Any]]], Any]


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """One Spark session for each process that runs tests."""
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Spark needs Java, and there is none here")
    pytest.importorskip("pyspark", reason="Spark needs the extra [spark]")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about the version of pandas, on import
        from pyspark.sql import SparkSession

        session = SparkSession.builder.master("local[2]").config(map=SETTINGS).getOrCreate()
    yield session
    session.stop()


@pytest.fixture(params=ENGINES)
def make(request: pytest.FixtureRequest) -> Maker:
    """A function that makes a table of one engine from columns of one type each, None for null."""
    name = request.param
    if name == "spark":
        session = request.getfixturevalue("spark")
        return lambda columns: session.createDataFrame(
            list(zip(*columns.values(), strict=True)), ", ".join(f"{c} {_sql(v)}" for c, v in columns.items())
        )
    return lambda columns: table(name, columns)


def table(name: str, columns: Mapping[str, list[Any]]) -> Any:
    """A table that needs no session: of DuckDB, or one of the ``FORMS``."""
    import duckdb
    import pandas
    import polars
    import pyarrow as pa

    kinds = {"string": pa.string(), "bigint": pa.int64(), "double": pa.float64(), "decimal(9,2)": pa.decimal128(9, 2)}
    arrow = pa.table({c: pa.array(v, kinds[_sql(v)]) for c, v in columns.items()})

    def texts(change: Callable[[Any], Any]) -> Any:
        changed = [change(column) if column.type == pa.string() else column for column in arrow]
        return pa.table(changed, names=arrow.column_names)

    made: dict[str, Callable[[], Any]] = {
        "pandas": lambda: arrow.to_pandas(types_mapper={pa.int64(): pandas.Int64Dtype()}.get),
        "polars": lambda: polars.from_arrow(arrow),
        "polars-lazy": lambda: table("polars", columns).lazy(),
        "duckdb": lambda: duckdb.connect().from_arrow(arrow),
        "pyarrow-large": lambda: texts(lambda column: column.cast(pa.large_string())),
        "pyarrow-view": lambda: texts(lambda column: column.cast(pa.string_view())),
        "pyarrow-codes": lambda: texts(lambda column: column.dictionary_encode()),
    }
    return made.get(name, lambda: arrow)()


def _sql(values: list[Any]) -> str:
    kinds = {str: "string", float: "double", Decimal: "decimal(9,2)"}
    return next((sql for kind, sql in kinds.items() if any(isinstance(value, kind) for value in values)), "bigint")


READERS = 80_000
"""Of each book in the large files."""


@pytest.fixture(scope="session")
def large(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A table (book, reader) in files of 20 MB, plain and packed: seven books, and everybody has one of them.

    Its first block has few rows, and long ones: who reads all blocks at once has rows from the middle first.
    """
    folder = tmp_path_factory.mktemp("large")
    rows = [(f"B{i % 7}", i, "x" * 19_000 if i < 420 else "x") for i in range(7 * READERS)]
    written = {
        "large.csv": "book,reader,note\n" + "".join(f"{book},reader-{i},{note}\n" for book, i, note in rows),
        "large.dat": "".join(f"{book} {note} reader-{i}\n" for book, i, note in rows),
    }
    for name, text in written.items():
        (folder / name).write_text(text)
        (folder / f"{name}.gz").write_bytes(gzip.compress(text.encode(), 1))
    return {file.name: file for file in folder.iterdir()}
