"""SQLite files: people are what SQLite itself calls different, whatever the type of a cell and the collation."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.table_counts import PAGES, Visit, check_counts, counted_in

from sparsegate.errors import ParameterError

LETTERS = st.text(alphabet="aA b\0éÉ", max_size=3)
SQLITE_CELLS = st.one_of(
    st.none(),
    st.sampled_from([17, 17.0, "17", "17.0", b"17", 2**53 + 1, float(2**53), 2**53, 0, -0.0, 0.1, 0.1 + 2**-56]),
    st.sampled_from([float("inf"), -(2**63), float(-(2**63)), "1e1", " 17", "a\0b", "A\0c", "A\0cc"]),
    LETTERS,
    LETTERS.map(str.encode),
)
DECLARED = ["", "INTEGER", "NUMERIC", "TEXT", "TEXT COLLATE NOCASE", "COLLATE RTRIM"]


@settings(max_examples=25)
@given(
    rows=st.lists(st.tuples(st.sampled_from(PAGES), SQLITE_CELLS), min_size=1, max_size=10),
    declared=st.sampled_from(DECLARED),
)
def test_sqlite_counts_what_sqlite_calls_different(rows: list[Visit], declared: str) -> None:
    with tempfile.TemporaryDirectory() as folder:

        def written(rows: Sequence[Visit]) -> Path:
            path = Path(folder) / "base.sqlite"
            path.unlink(missing_ok=True)
            with closing(sqlite3.connect(path)) as database, database:
                database.execute(f"CREATE TABLE visits (page TEXT, visitor {declared})")
                database.executemany("INSERT INTO visits VALUES (?, ?)", rows)
            return path

        with closing(sqlite3.connect(written(rows))) as database:
            ranks = "CASE WHEN visitor IS NULL THEN NULL ELSE dense_rank() OVER (ORDER BY visitor) END"
            who = [rank for (rank,) in database.execute(f"SELECT {ranks} FROM visits ORDER BY rowid")]
        check_counts(rows, lambda rows: counted_in(written(rows), table="visits"), who)


def test_a_query_is_read_like_a_table(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "base.sqlite")) as database, database:
        database.execute("CREATE TABLE visits (who TEXT COLLATE NOCASE, page)")
        database.executemany("INSERT INTO visits VALUES (?, 'a')", [("U1",), ("u1",), ("u2",), (None,)])
    query = "SELECT page, who AS visitor FROM visits WHERE page <> 'z' -- all"
    assert counted_in(tmp_path / "base.sqlite", sql=query)["a"] == 2


def test_a_collation_that_is_not_known_is_refused_by_the_column(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "base.sqlite")) as database, database:
        database.create_collation("mine", lambda one, other: (one > other) - (one < other))
        database.execute("CREATE TABLE visits (page, visitor TEXT COLLATE mine)")
    with pytest.raises(ParameterError, match="sql is refused by the engine: no such collation sequence: mine"):
        counted_in(tmp_path / "base.sqlite", table="visits")
