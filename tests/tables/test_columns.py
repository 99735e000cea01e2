"""The columns that are read: two labels are one only where they are written alike, whatever a collation says."""

from __future__ import annotations

from typing import Any

import duckdb
import pytest

from sparsegate.noise import Seeded
from sparsegate.tables.top import top_items


def top(native: Any, *, count: int = 2, **options: Any) -> Any:
    return top_items(native, item="page", user="visitor", count=count, **options)


COLLATED = ("COLLATE NOCASE", "", "COLLATE NOCASE.NOACCENT")


@pytest.mark.parametrize("collation", COLLATED)
def test_a_collation_makes_one_person_of_two_but_not_one_item(collation: str) -> None:
    connection = duckdb.connect()
    if not collation:
        connection.execute("SET default_collation = 'nocase'")
    connection.execute(f"CREATE TABLE t (page VARCHAR {collation}, visitor VARCHAR {collation})")
    connection.execute("INSERT INTO t SELECT 'secret', 'u' || range FROM range(300)")
    connection.execute("INSERT INTO t VALUES ('Secret', 'U1'), ('Secret', 'u1')")
    given = {"epsilon": 500, "answers_epsilon": 500, "source": Seeded(1), "not_private": True}
    release = top(connection.sql("FROM t"), domain=["secret", "Secret", "SECRET"], **given)
    assert (release.items, release.estimates) == (("secret", "Secret"), (300, 1))
    assert top(connection.sql("FROM t"), domain=["SECRET", "none"], count=1, **given).estimates == (0,)
    observed = top(connection.sql("FROM t"), domain="observed", delta=1e-6, count=1, **given)
    assert (observed.items, observed.estimates) == (("secret",), (300,))


def test_so_does_a_collation_of_spark(spark: Any) -> None:
    rows = [("secret", f"u{n}") for n in range(300)] + [("Secret", "U1"), ("Secret", "u1")]
    native = spark.createDataFrame(rows, "page string collate UTF8_LCASE, visitor string collate UTF8_LCASE")
    given = {"epsilon": 500, "answers_epsilon": 500, "source": Seeded(1), "not_private": True}
    release = top(native, domain=["secret", "Secret", "SECRET"], **given)
    assert (release.items, release.estimates) == (("secret", "Secret"), (300, 1))
