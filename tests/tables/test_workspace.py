"""Opening files: every kind, nothing guessed from rows, and no error that quotes a cell."""

from __future__ import annotations

import gzip
import os
import sqlite3
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.accounts import Noted
from tests.support.table_counts import PAGES, Visit, check_counts
from tests.tables.conftest import READERS

import sparsegate as sg
from sparsegate.errors import ParameterError, SparsegateError, TableError
from sparsegate.tables.files import Inbox
from sparsegate.tables.top import top_items
from sparsegate.tables.workspace import Workspace, spill_folder

duckdb = pytest.importorskip("duckdb")

ROWS = [("/home", "1"), ("/home", "2"), ("/pay", "1")]
TEXT = "page,visitor\n/home,1\n/home,2\n/pay,1\n"


def read(*patterns: object, columns: str = "page, visitor", **options: str) -> list[tuple[object, ...]]:
    with Workspace() as workspace:
        return sorted(workspace.open([str(pattern) for pattern in patterns], **options).select(columns).fetchall())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The same three rows in every kind of file."""
    (tmp_path / "comma.csv").write_text(TEXT)
    (tmp_path / "mark.csv").write_bytes(b"\xef\xbb\xbf" + TEXT.replace("\n", "\r\n").encode())
    (tmp_path / "semicolon.csv").write_text(TEXT.replace(",", ";"))
    (tmp_path / "tab.tsv").write_text(TEXT.replace(",", "\t"))
    (tmp_path / "packed.csv.gz").write_bytes(gzip.compress(TEXT.encode()))
    (tmp_path / "array.json").write_text(
        '[{"page": "/home", "visitor": 1}, {"page": "/home", "visitor": "2"}, {"visitor": 1, "page": "/pay", "x": {}}]'
    )
    (tmp_path / "lines.ndjson").write_text("".join(f'{{"page": "{page}", "visitor": {who}}}\n' for page, who in ROWS))
    duckdb.read_csv(str(tmp_path / "comma.csv"), all_varchar=True).write_parquet(str(tmp_path / "typed.parquet"))
    for connect, name in ((sqlite3.connect, "base.sqlite"), (duckdb.connect, "base.duckdb")):
        with closing(connect(str(tmp_path / name))) as database:
            database.execute("CREATE TABLE visits (page VARCHAR, visitor VARCHAR)")
            database.executemany("INSERT INTO visits VALUES (?, ?)", ROWS)
            database.commit()
    return tmp_path


FILES = ("comma.csv", "mark.csv", "semicolon.csv", "tab.tsv", "packed.csv.gz", "array.json", "lines.ndjson")


@pytest.mark.parametrize("name", [*FILES, "typed.parquet", "comm*.csv", "base.sqlite", "base.duckdb"])
def test_every_kind_of_file_gives_the_same_rows(folder: Path, name: str) -> None:
    table = {"table": "visits"} if name.startswith("base") else {}
    assert read(folder / name, **table) == ROWS
    query = f"SELECT page, visitor FROM {table.get('table', 'data')} WHERE page = '/pay' -- one"
    assert read(folder / name, sql=query) == ROWS[2:]


def test_files_are_matched_by_name_and_one_row_cannot_change_the_type_of_a_column(folder: Path) -> None:
    (folder / "turned.csv").write_text("visitor,country,page\n9,DE,/z\n")
    assert read(folder / "comma.csv", folder / "turned.csv") == [*ROWS, ("/z", "9")]
    for last in ("4", "four", "2024-01-01"):
        (folder / "numbers.csv").write_text(f"page,visitor\n07,1\n7,2\n{last},3\n")
        assert {page for page, _ in read(folder / "numbers.csv")} == {"07", "7", last}


@pytest.mark.parametrize(("name", "times"), [("large.csv", 30), ("large.csv.gz", 1)])
def test_the_first_line_is_the_header_of_however_many_blocks_the_file_has(
    large: dict[str, Path], name: str, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first row to come from a reader of several threads is any row: its cells would be names, and be suggested."""
    with Workspace() as workspace:
        rows = workspace.open([str(large[name])], columns=["book", "reader"])
        counts = rows.aggregate("book, count(DISTINCT reader)", "book").fetchall()
    assert sorted(counts) == [(f"B{i}", READERS) for i in range(7)]
    monkeypatch.setattr(Inbox, "rows", lambda self, file, *_: (file, False))  # it would be looked through each time
    for _ in range(times):
        with Workspace() as workspace:
            rows = workspace.open([str(large[name])], columns=["book", "reader"])
            assert rows.columns == ["book", "reader", "note"]
    with pytest.raises(TableError, match="no column 'boook'; did you mean 'book'[?]$"):
        top_items(large[name], item="boook", user="reader", count=1, epsilon=1, domain=["B1"])


@pytest.mark.parametrize("name", ["large.dat", "large.dat.gz"])
def test_every_line_of_a_large_file_of_baskets_is_another_user(large: dict[str, Path], name: str) -> None:
    with Workspace() as workspace:
        rows = workspace.open([str(large[name])])
        counts = rows.filter("item LIKE 'B%'").aggregate('item, count(DISTINCT "user")', "item").fetchall()
    assert sorted(counts) == [(f"B{i}", READERS) for i in range(7)]


JSON_FILES = {
    "lacks.jsonl": '{"x": 1}\n' + "".join(f'{{"key{n}": {{"x": {n}}}}}\n' for n in range(500)),
    "has.jsonl": '{"x": 1}\n{"x": 2}\n{"page": "/home", "visitor": 7}\n',
    "empty.jsonl": "",
    "empty.json": "[]",
}


@pytest.mark.parametrize("name", JSON_FILES)
def test_the_columns_of_json_are_those_asked_for_whatever_its_records_have(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(JSON_FILES[name])
    wanted = [("/home", "7")] if name == "has.jsonl" else []
    for sql in (None, "SELECT d.page, visitor FROM data AS d WHERE true"):
        with Workspace() as workspace:
            rows = workspace.open([str(tmp_path / name)], columns=["page", "visitor"], sql=sql)
            assert rows.columns == ["page", "visitor"]
            assert [row for row in rows.fetchall() if row != (None, None)] == wanted
    if wanted:  # a query may give names of its own
        query = "SELECT upper(page) AS page, visitor AS who FROM data WHERE who > '0' ORDER BY who"
        with Workspace() as workspace:
            assert workspace.open([str(tmp_path / name)], sql=query).fetchall() == [("/HOME", "7")]


@pytest.mark.parametrize(
    ("name", "options", "parameter"),
    [
        ("*.nothing", {}, None),
        ("", {}, None),
        ("base.duckdb", {}, "table"),
        ("base.sqlite", {"table": "visits", "sql": "SELECT 1"}, "table"),
        ("base.duckdb", {"table": "visit"}, "table"),
        ("base.sqlite", {"table": "visit"}, "table"),
        ("base.duckdb", {"sql": "SELECT pag FROM visits"}, "sql"),
        ("base.sqlite", {"sql": "SELECT pag FROM visits"}, "sql"),
        ("base.duckdb", {"sql": "SELECT 1; SELECT 2"}, "sql"),
        ("comma.csv", {"sql": "COPY data TO 'stolen.csv'"}, "sql"),
        ("comma.csv", {"sql": "SELECT * FROM patterns"}, "sql"),  # a variable of ours
        ("comma.csv", {"table": "visits"}, "table"),
    ],
)
def test_a_wrong_request_is_refused_by_name(
    folder: Path, name: str, options: dict[str, str], parameter: str | None
) -> None:
    with pytest.raises(SparsegateError) as refused:
        read(folder / name if name else folder, **options)
    assert getattr(refused.value, "parameter", None) == parameter
    assert refused.value.__context__ is refused.value.__cause__ is None  # a logger may follow the chain by itself


@pytest.mark.parametrize("name", ["comma.csv", "typed.parquet", "base.duckdb", "base.sqlite"])
def test_a_copy_reads_the_file_once(folder: Path, name: str) -> None:
    with Workspace() as workspace:
        rows = workspace.open([str(folder / name)], copy=True, table="visits" if name.startswith("base") else None)
        (folder / name).write_bytes(b"")
        (folder / name).unlink()
        assert sorted(rows.fetchall()) == ROWS
        assert "READ_PARQUET" not in rows.explain()


def test_a_file_without_permission_is_an_error(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(Path, "open", refuse)  # no mode of a file keeps root from it
    with pytest.raises(TableError, match="permissions"):
        read(folder / "comma.csv")


# --- SQLite: people are what SQLite itself calls different ------------------------------------------------------------


def counted(file: Path, **options: str) -> dict[str, int]:
    """How many people each page has, by the keys that tell them apart."""
    with Workspace() as workspace:
        opened = workspace.open([str(file)], columns=["page", "visitor"], user="visitor", **options)
        rows = set(opened.select(f'page, "{workspace.people}"').fetchall())
    return {page: sum(where == page and who is not None for where, who in rows) for page in PAGES}


LETTERS = st.text(alphabet="aA b\0éÉ", max_size=3)
SQLITE_CELLS = st.one_of(
    st.none(),
    st.sampled_from([17, 17.0, "17", "17.0", b"17", 2**53 + 1, float(2**53), 2**53, 0, -0.0, 0.1, 0.1 + 2**-56]),
    st.sampled_from([float("inf"), -(2**63), float(-(2**63)), "1e1", " 17", "a\0b", "A\0c", "A\0cc"]),
    LETTERS,
    LETTERS.map(str.encode),
)
DECLARED = ["", "INTEGER", "NUMERIC", "TEXT", "TEXT COLLATE NOCASE", "COLLATE RTRIM"]


@settings(max_examples=12)
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
        check_counts(rows, lambda rows: counted(written(rows), table="visits"), who)


def test_a_query_keeps_its_collation_and_one_that_is_not_known_is_refused(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "base.sqlite")) as database, database:
        database.create_collation("mine", lambda one, other: (one > other) - (one < other))
        database.execute("CREATE TABLE visits (who TEXT COLLATE NOCASE, page, visitor TEXT COLLATE mine)")
        database.executemany("INSERT INTO visits VALUES (?, 'a', '')", [("U1",), ("u1",), ("u2",), (None,)])
    query = "SELECT page, who AS visitor FROM visits WHERE page <> 'z' -- all"
    assert counted(tmp_path / "base.sqlite", sql=query)["a"] == 2
    with pytest.raises(ParameterError, match="sql is refused by the engine: no such collation sequence: mine"):
        counted(tmp_path / "base.sqlite", table="visits")


# --- memory, disk and time --------------------------------------------------------------------------------------------


@pytest.fixture
def spill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary files go; nothing of them is to stay."""
    folder = tmp_path / "spill"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


def test_what_does_not_fit_into_the_memory_limit_goes_to_the_private_folder_and_is_counted_alike(
    tmp_path: Path, spill: Path
) -> None:
    table = tmp_path / "visits.parquet"
    duckdb.sql("SELECT i % 10 AS page, i AS visitor FROM range(1_000_000) t(i)").write_parquet(str(table))
    with Workspace(memory_limit="40MB") as workspace:
        opened = workspace.open([str(table)])
        kept = opened.query("rows", "SELECT * FROM rows ORDER BY hash(visitor)")
        kept.query("rows", "CREATE TABLE sorted AS FROM rows")
        ((spilled,),) = kept.query("rows", "SELECT count(*) FROM duckdb_temporary_files()").fetchall()
        assert spilled
        assert any(file.stat().st_size for file in spill.rglob("*") if file.is_file())
    assert not list(spill.iterdir())
    asked = {"item": "page", "user": "visitor", "count": 3, "epsilon": 0.01, "domain": 20, "not_private": True}
    limits = (None, "100MB")
    first, second = (
        sg.top_items(sg.Table(table, memory_limit=each), **asked, source=sg.Seeded(1)).items for each in limits
    )
    assert first == second


@pytest.mark.parametrize("limit", ["4", "GB", "-1GB", "0GB", "0.0GB", "9999999TB", "4 gigabytes", "4GB; SELECT 1", 4])
def test_a_memory_limit_is_an_amount_and_for_files(limit: Any) -> None:
    for data, amount in (("visits.csv", limit), ({"page": [1]}, "4GB"), ("postgresql://host/shop", "4GB")):
        with pytest.raises(ParameterError) as refused:
            sg.Table(data, memory_limit=amount)
        assert refused.value.parameter == "memory_limit"
    for amount in ("999999999GiB", "999999.9TB", "0.5GB"):  # what is accepted is one of the engine
        with Workspace(memory_limit=sg.Table("visits.csv", memory_limit=amount).memory_limit):
            pass


@pytest.mark.parametrize("limit", ["1KB", "20MB"])
def test_a_memory_limit_that_is_too_small_is_refused_by_name_before_anything_is_spent(
    tmp_path: Path, spill: Path, limit: str
) -> None:
    table = tmp_path / "visits.parquet"
    duckdb.sql("SELECT 'secret' || i AS page, i AS visitor FROM range(1_000_000) t(i)").write_parquet(str(table))
    asked: dict[str, Any] = {"item": "page", "user": "visitor", "epsilon": 1, "count": 3, "domain": "observed"}
    limited, ledger = sg.Table(table, memory_limit=limit), Noted(refuses=AssertionError("charged"))
    with pytest.raises(TableError, match="memory_limit") as refused:
        sg.top_items(limited, **asked, delta=1e-6, ledger=ledger)
    assert "secret" not in str(refused.value)
    assert not list(spill.iterdir())


def test_temporary_files_go_where_the_owner_says_and_else_to_a_disk(tmp_path: Path, monkeypatch) -> None:
    for name in ("TMPDIR", "TEMP", "TMP"):
        monkeypatch.delenv(name, raising=False)
    for chosen in (None, str(tmp_path), "/tmp"):
        monkeypatch.setattr("tempfile.tempdir", None)
        if chosen is not None:
            monkeypatch.setenv("TMPDIR", chosen)
            assert spill_folder() == chosen
        elif tempfile.gettempdir() == "/tmp" and os.access("/var/tmp", os.W_OK):
            assert spill_folder() == "/var/tmp"


def test_the_time_left_is_what_was_needed_so_far_for_the_share_that_is_not_done(monkeypatch) -> None:
    """A second query begins anew, and nothing is told of the first two seconds."""
    told: list[float] = []
    moments = iter([(900, 1), (901, 10), (902, 20), (905, 50), (906, 5), (907, 10), (908.5, 50), (910, -1), (911, 50)])
    with Workspace(report=told.append) as workspace:
        with monkeypatch.context() as patched:
            for moment, share in moments:
                patched.setattr("time.monotonic", lambda moment=moment: moment)
                patched.setattr(workspace, "_connection", SimpleNamespace(query_progress=lambda share=share: share))
                workspace._tell()
        assert told == pytest.approx([8, 5, 2.5])
        looks: list[None] = []
        monkeypatch.setattr(workspace, "_tell", lambda: looks.append(None))
        workspace.run(lambda: time.sleep(0.4))
        assert looks
