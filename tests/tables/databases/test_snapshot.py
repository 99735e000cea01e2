"""Who may read, what an error says, and that nobody learns a password or a cell from it."""

from __future__ import annotations

import sqlite3
import traceback
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy
from tests.support.in_database import Meanwhile, Store, top

from sparsegate.errors import ParameterError, SparsegateError, TableError
from sparsegate.tables.databases.snapshot import one_moment

ASKED: dict[str, Any] = {"count": 1, "domain": ["a", "b"]}
CELLS = [("a", 1), ("a", 2), ("b", 1), ("s3cret cell", 4)]


def words_of(error: BaseException) -> str:
    """All that a log could show of it."""
    seen, text = error, "".join(traceback.format_exception(error))
    while seen.__context__ is not None:
        seen = seen.__context__
        text += str(seen)
    return text


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("postgresql://ann:hunter2@127.0.0.1:1/shop", "cannot be reached"),
        ("postgresql://ann:hunter2@[::1/shop", "must be as postgresql://"),
        ("sqlite:////nowhere/hunter2/visits.db", "cannot be reached"),
        ("nodb://ann:hunter2@host/shop", "nodb://"),
        ("mysql+nodriver://ann:hunter2@host/shop", "mysql"),
        ("s3://hunter2:x@bucket/visits.parquet", "s3://"),
    ],
)
def test_an_address_that_leads_nowhere(url: str, words: str) -> None:
    with pytest.raises((TableError, ParameterError), match=words) as caught:
        top(url, table="visits", **ASKED)
    assert "hunter2" not in words_of(caught.value)


def test_a_sqlite_file_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(TableError):
        top(f"sqlite:///{tmp_path}/new.db", table="visits", **ASKED)
    assert not (tmp_path / "new.db").exists()


def test_a_role_without_rights(postgres: Store) -> None:
    postgres.fill(CELLS)
    postgres.run("DROP ROLE IF EXISTS reader", "CREATE ROLE reader LOGIN", "GRANT USAGE ON SCHEMA public TO reader")
    place = postgres.url.replace("test@", "reader:hunter2@")
    with pytest.raises(TableError, match="GRANT SELECT") as caught:
        top(place, table="visits", **ASKED)
    assert "hunter2" not in words_of(caught.value)
    postgres.run("GRANT SELECT ON visits TO reader")
    assert top(place, table="visits", epsilon=1e3, **ASKED).items == ("a",)
    # Some of the rows would be other counts than those of the table.
    postgres.run("ALTER TABLE visits ENABLE ROW LEVEL SECURITY", "CREATE POLICY own ON visits USING (visitor = 1)")
    with pytest.raises(TableError, match="no row security policy"):
        top(place, table="visits", **ASKED)


def test_an_error_holds_no_cell_and_says_what_was_spent(postgres: Store) -> None:
    postgres.fill(CELLS)
    sql = "SELECT CASE WHEN visitor = 4 THEN page::int::text ELSE page END AS page, visitor FROM visits"
    with pytest.raises(TableError) as caught:
        postgres.top(sql=sql, **ASKED)
    assert "s3cret" not in words_of(caught.value)
    others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
    postgres.run("ALTER TABLE visits RENAME TO kept", "CREATE VIEW visits AS SELECT * FROM kept")
    ended = Meanwhile(lambda: postgres.run(f"{others} AND datname = current_database()"))
    with pytest.raises(TableError, match="counts as spent") as caught:
        postgres.top(ledger=ended, **ASKED)
    assert "terminat" not in words_of(caught.value)
    postgres.run("DROP VIEW visits", "DROP TABLE kept")


def test_transactions_only_read(store: Store) -> None:
    store.fill(CELLS)
    with pytest.raises(sqlalchemy.exc.DBAPIError), one_moment(store.engine) as connection:
        connection.exec_driver_sql("DELETE FROM visits")
    assert store.top(epsilon=1e3, **ASKED).items == ("a",)


def test_sqlite_in_another_encoding_is_read_as_a_file(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "wide.db") as database:
        database.execute("PRAGMA encoding = 'UTF-16'")
        database.execute("CREATE TABLE visits (page, visitor)")
        database.executemany("INSERT INTO visits VALUES (?, ?)", CELLS)
    with pytest.raises(SparsegateError, match="pass its path"):
        top(f"sqlite:///{tmp_path}/wide.db", table="visits", **ASKED)
    assert top(tmp_path / "wide.db", table="visits", epsilon=1e3, **ASKED).items == ("a",)
