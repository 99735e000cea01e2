"""An engine without data, in which SQL can be tried."""

from __future__ import annotations

import duckdb
import pytest
from tests.support.condition_texts import SCHEMA, TYPES


@pytest.fixture(scope="module")
def blank() -> duckdb.DuckDBPyConnection:
    """A table of the schema without a row: enough to bind a query."""
    columns = ", ".join('"' + column.name.replace('"', '""') + '" ' + TYPES[column.kind] for column in SCHEMA.columns)
    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE blank ({columns})")
    return connection
