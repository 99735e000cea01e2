"""The columns that are read: two labels are one only where they are written alike, whatever a collation says."""

from __future__ import annotations

from typing import Any

import duckdb
import pytest
from tests.support.table_counts import counts


@pytest.mark.parametrize("collation", ["COLLATE NOCASE", "", "COLLATE NOCASE.NOACCENT"])
def test_a_collation_makes_one_person_of_two_but_not_one_item(collation: str) -> None:
    connection = duckdb.connect()
    if not collation:
        connection.execute("SET default_collation = 'nocase'")
    connection.execute(f"CREATE TABLE t (page VARCHAR {collation}, visitor VARCHAR {collation})")
    connection.execute("INSERT INTO t SELECT 'secret', 'u' || range FROM range(300)")
    connection.execute("INSERT INTO t VALUES ('Secret', 'U1'), ('Secret', 'u1')")
    table = connection.sql("FROM t")
    assert counts(table, domain=["secret", "Secret", "SECRET"]) == {"secret": 300, "Secret": 1, "SECRET": 0}
    assert counts(table, domain="observed", delta=1e-6, count=1) == {"secret": 300}


def test_so_does_a_collation_of_spark(spark: Any) -> None:
    rows = [("secret", f"u{n}") for n in range(300)] + [("Secret", "U1"), ("Secret", "u1")]
    native = spark.createDataFrame(rows, "page string collate UTF8_LCASE, visitor string collate UTF8_LCASE")
    assert counts(native, domain=["secret", "Secret"], count=2) == {"secret": 300, "Secret": 1}
