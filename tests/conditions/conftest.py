"""An engine without data, in which SQL can be tried."""

from __future__ import annotations

import duckdb
import pytest
from tests.support.condition_texts import SCHEMA, TYPES


@pytest.fixture(scope="module")
def blank() -> duckdb.DuckDBPyConnection:
    """A table of the schema with one row of nulls: enough to bind and to run a query."""
    columns = ", ".join('"' + column.name.replace('"', '""') + '" ' + TYPES[column.kind] for column in SCHEMA.columns)
    connection = duckdb.connect()
    connection.execute("PRAGMA disable_optimizer")
    connection.execute(f"CREATE TABLE blank ({columns})")
    connection.execute(f"INSERT INTO blank VALUES ({', '.join(['NULL'] * len(SCHEMA.columns))})")
    return connection
