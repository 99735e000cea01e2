"""The served table: what it counts, what may be asked of it, whether its files changed; nothing tells a cell."""

from __future__ import annotations

import datetime
import os
import random
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest
from tests.support.rows import ROWS, SECRET, ask, write

from sparsegate.conditions import Column, Kind, Leaf, Schema, read_condition
from sparsegate.errors import ConditionError, ParameterError, SparsegateError, TableError
from sparsegate.noise import Seeded
from sparsegate.service.data import copying
from sparsegate.service.data.dataset import COUNT_FAILED, ServedTable
from sparsegate.tables.files import TextForm
from sparsegate.tables.top import top_items

QUESTIONS: dict[str, Any] = {
    "TRUE": lambda row: True,
    "FALSE": lambda row: False,
    "page = '/pay'": lambda row: row[1] == "/pay",
    "NOT page = '/pay'": lambda row: row[1] is not None and row[1] != "/pay",
    "page IS NULL": lambda row: row[1] is None,
    "page = 'it''s' OR page = ''": lambda row: row[1] in ("it's", ""),
    "page LIKE '/%' AND seconds < 50": lambda row: (
        (row[1] or "").startswith("/") and row[2] is not None and row[2] < 50
    ),
    "seconds IN (1, 2, 3)": lambda row: row[2] in (1, 2, 3),
    "seconds = 3000000000": lambda row: False,
    "score > 1e300": lambda row: row[3] == float("inf"),
    "paid AND day >= DATE '2024-02-01'": lambda row: row[4] and row[5] and row[5] >= datetime.date(2024, 2, 1),
}


def test_people_with_a_matching_row_are_counted_or_rows_where_each_is_a_person(visits: str) -> None:
    with ServedTable.open([visits], user="visitor") as people, ServedTable.open([visits], unit="row") as rows:
        assert (people.unit, rows.unit) == ("user", "row")
        for text, matches in QUESTIONS.items():
            assert ask(people, text) == len({row[0] for row in ROWS if matches(row)} - {None}), text
            assert ask(rows, text) == sum(bool(matches(row)) for row in ROWS), text


def test_a_person_is_counted_once_however_their_id_is_written(tmp_path: Path) -> None:
    file = tmp_path / "visits.json"
    file.write_text(
        "".join(f'{{"page": "/pay", "visitor": {who}}}\n' for who in ("17", "17.0", "1.7e1", '"17"', "null"))
    )
    with ServedTable.open([str(file)], user="visitor", columns=["page"]) as dataset:
        assert ask(dataset, "TRUE") == ask(dataset, "page = '/pay'") == 2
        assert [column.name for column in dataset.schema.columns] == ["page"]


def test_all_columns_but_that_of_the_people_are_declared_or_those_that_are_named(visits: str) -> None:
    with ServedTable.open([visits], user="visitor") as dataset:
        kinds = {"page": Kind.TEXT, "seconds": Kind.INTEGER, "score": Kind.REAL, "paid": Kind.BOOLEAN}
        assert dataset.schema == Schema(tuple(Column(*each) for each in (kinds | {"day": Kind.DATE}).items()))
    with ServedTable.open([visits], user="visitor", columns=["seconds", "visitor"]) as dataset:
        assert [column.name for column in dataset.schema.columns] == ["seconds", "visitor"]
        assert ask(dataset, "visitor = 'v1' OR visitor = 'v2'") == 2
        with pytest.raises(ParameterError):
            read_condition("page = '/pay'", dataset.schema)
        assert dataset.relation().columns == ["seconds", "visitor", "person"]


REFUSED: list[tuple[dict[str, Any], str]] = [
    *(
        (wrong, "user or unit")
        for wrong in ({}, {"user": "visitor", "unit": "row"}, {"unit": "user"}, {"unit": "people"})
    ),
    *(
        ({"unit": "row", "max_cell": wrong}, "max_cell must be a number of characters from 1 to 100,000")
        for wrong in (-1, 0, 100_001, 10**12)
    ),
    ({"user": "visiter"}, "'visitor'"),
    ({"user": "visitor", "columns": ["pages"]}, "'page'"),
    ({"user": "score"}, "tells people apart"),
    ({"unit": "row", "columns": []}, "no column to ask about"),
    ({"user": "visitor", "read": {"page": "money"}}, "must give 'page' one of integer, .*got 'money'"),
    ({"user": "visitor", "read": {"pages": "integer"}}, "no column 'pages'"),
    ({"user": "visitor", "read": {"visitor": "integer"}}, "must name columns that may be asked about.*'visitor'"),
    ({"user": "visitor", "read": {"seconds": "integer"}}, "must name columns of text, and 'seconds' is .*leave it out"),
    *(({"user": "visitor", "cells": {wrong: 1}}, "cells must name columns") for wrong in ("score", "nowhere")),
    ({"files": ["mysql://ann:hunter2@db/shop"], "unit": "row"}, r"no file matches 'mysql://ann:[*]{3}@db/shop'"),
    *(
        ({"files": ["postgresql://x/y"], "table": "t", "unit": "row"} | wrong, match)
        for wrong, match in (
            ({"form": TextForm(encoding="latin-1")}, "encoding is for files of text"),
            ({"read": {"age": "integer"}}, "read is for files, and this is a database"),
        )
    ),
]


@pytest.mark.parametrize(("options", "words"), REFUSED)
def test_what_cannot_serve_is_refused_by_name_and_helps(visits: str, options: dict[str, Any], words: str) -> None:
    with pytest.raises((ParameterError, TableError), match=words):
        ServedTable.open(**{"files": [visits]} | options)


def test_every_type_becomes_the_kind_it_is(tmp_path: Path) -> None:
    file = write(
        tmp_path / "types.parquet",
        """SELECT 1 AS visitor, 'a' AS text, 127::TINYINT AS i8, 255::UTINYINT AS u8, 9223372036854775807 AS i64,
        18446744073709551615::UBIGINT AS u64, 0.5::FLOAT AS f32, 'nan'::DOUBLE AS f64, TRUE AS flag,
        DATE '2024-02-29' AS day, TIMESTAMP '2024-02-29 12:00:00' AS us, TIMESTAMP_NS '2024-02-29 12:00:00.5' AS ns,
        TIMESTAMPTZ '2024-02-29 12:00:00+02:00' AS tz, 1.5::DECIMAL(9, 2) AS money, [1] AS list, {'a': 1} AS pair,
        'x'::BLOB AS blob, INTERVAL 1 DAY AS span, uuid() AS id""",
    )
    with ServedTable.open([file], user="visitor") as dataset:
        kinds = {column.name: column.kind for column in dataset.schema.columns}
        assert kinds == {
            **dict.fromkeys(("text", "id"), Kind.TEXT),
            **dict.fromkeys(("i8", "u8", "i64", "u64"), Kind.INTEGER),
            **dict.fromkeys(("f32", "f64", "money"), Kind.REAL),
            **dict.fromkeys(("us", "ns", "tz"), Kind.TIMESTAMP),
            "flag": Kind.BOOLEAN,
            "day": Kind.DATE,
        }
        assert dataset.schema.unreadable == ("list", "pair", "blob", "span")
        with pytest.raises(ConditionError, match=r"a column whose type can be asked about .*got 'Blob'.*--sql"):
            read_condition("Blob IS NULL", dataset.schema)
        for text in (
            *("i8 = 127", "u8 < 1000", "i64 = 9223372036854775807", "u64 = 18446744073709551615", "i64 < u64"),
            "f32 = 0.5",
            *("f64 > 1e308", "day = DATE '2024-02-29'", "us = TIMESTAMP '2024-02-29 12:00:00'", "us < ns", "tz < us"),
            *("ns = TIMESTAMP '2024-02-29 12:00:00.5'", "tz = TIMESTAMP '2024-02-29 10:00:00'"),
            *("money = 1.5", "money IN (1, 1.50)", "money < 1.51", "money = f32 + 1", "length(id) = 36"),
        ):
            assert ask(dataset, text) == 1, text
    with pytest.raises(TableError, match="'list' is list"):
        ServedTable.open([file], user="visitor", columns=["list"])
    with ServedTable.open([file], user="visitor", columns=["text"]) as dataset:
        assert dataset.schema.unreadable == (), "the owner has chosen"


@pytest.mark.parametrize(("digits", "scale"), [(4, 2), (18, 3), (38, 10), (38, 37)])
def test_decimals_are_the_nearest_reals(tmp_path: Path, digits: int, scale: int) -> None:
    """Each is counted where it equals the number as it is written in a condition, and elsewhere not."""
    chance = random.Random(digits)
    cells = [f"{Decimal(chance.randrange(-(10**digits) + 1, 10**digits)).scaleb(-scale):f}" for _ in range(30)]
    values = ", ".join(f"({place}, {cell}::DECIMAL({digits}, {scale}))" for place, cell in enumerate(cells))
    file = write(tmp_path / "decimals.parquet", f"SELECT * FROM (VALUES {values}) AS t(visitor, money)")
    with ServedTable.open([file], user="visitor") as dataset:
        for cell in cells:
            same = sum(float(cell) == float(other) for other in cells)
            assert ask(dataset, f"money = {cell}") == same, cell
            above = sum(float(other) > float(cell) for other in cells)
            assert ask(dataset, f"money > {cell}") == above, cell


def test_a_moment_beyond_the_range_is_null_and_no_error(tmp_path: Path) -> None:
    file = str(tmp_path / "moments.db")
    with duckdb.connect(file) as database:
        database.execute(
            """CREATE TABLE moments AS SELECT * FROM (VALUES
            (1, 'infinity'::TIMESTAMPTZ, TIMESTAMP_NS '1700-01-01', 'infinity'::TIMESTAMP_S, 'a'::ENUM('a', 'b')),
            (2, '-infinity'::TIMESTAMPTZ, NULL, NULL, NULL)) AS t(visitor, tz, ns, s, label)"""
        )
    with ServedTable.open([file], user="visitor", table="moments") as dataset:
        assert ask(dataset, "tz IS NULL") == 2
        assert ask(dataset, "ns < TIMESTAMP '1701-01-01 00:00:00'") == 1
        assert ask(dataset, "s > TIMESTAMP '9999-01-01 00:00:00'") == 1
        assert ask(dataset, "label = 'a'") == 1


def test_a_column_may_have_any_name_that_is_used_inside(tmp_path: Path) -> None:
    names = ["Person", "person_", "label", "number", "people", "staged", "served", "opened", "memory", "main", "rowid"]
    columns = ", ".join(f"i % 5 AS {name}" for name in names)
    file = write(tmp_path / "names.parquet", f"SELECT {columns} FROM range(20) AS t(i)")
    for user in ("Person", "label", "memory"):
        with ServedTable.open([file], user=user, columns=names) as dataset:
            assert ask(dataset, " AND ".join(f"{name} = 3" for name in names)) == 1
            assert ask(dataset, "TRUE") == 5


def test_a_collation_of_the_source_does_not_hold(tmp_path: Path) -> None:
    file = str(tmp_path / "collated.db")
    with duckdb.connect(file) as database:
        database.execute("CREATE TABLE visits AS SELECT 1 AS visitor, 'Pay' COLLATE NOCASE AS page")
    with ServedTable.open([file], user="visitor", table="visits") as dataset:
        assert (ask(dataset, "page = 'Pay'"), ask(dataset, "page = 'pay'")) == (1, 0)


def test_text_is_read_as_its_owner_says_it_is_written(tmp_path: Path, monkeypatch) -> None:
    """What was written anew for that is gone when the dataset is open; and the form is part of what the data is."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    path = tmp_path / "baskets"
    path.write_bytes("café,rye\ncafé\n".encode("latin-1"))
    form = TextForm(format="baskets", encoding="latin-1")
    with ServedTable.open([str(path)], user="user", form=form) as dataset:
        assert dataset.count(read_condition("item = 'café'", dataset.schema)) == 2
        assert [file for file in tmp_path.rglob("*") if file.name == "baskets"] == [path]
        fingerprint = dataset.fingerprint
    path.write_bytes("café,rye\ncafé\n".encode("cp1252"))
    with ServedTable.open([str(path)], user="user", form=TextForm(format="baskets", encoding="cp1252")) as other:
        assert other.fingerprint != fingerprint


@pytest.mark.parametrize("source", [{"table": "visits"}, {"sql": "SELECT visitor, page FROM visits WHERE page <> '/'"}])
@pytest.mark.parametrize("engine", ["duckdb", "sqlite"])
def test_databases_are_read_and_let_go(tmp_path: Path, engine: str, source: dict[str, str]) -> None:
    file = str(tmp_path / "shop.db")
    connect: Any = duckdb.connect if engine == "duckdb" else sqlite3.connect
    database = connect(file)
    database.execute("CREATE TABLE visits (visitor VARCHAR, page VARCHAR)")
    database.execute("INSERT INTO visits VALUES ('v1', '/pay'), ('v2', '/pay'), ('v2', '/'), (NULL, '/pay')")
    database.commit()
    database.close()
    with ServedTable.open([file], user="visitor", **source) as dataset:  # type: ignore[arg-type]
        assert ask(dataset, "page = '/pay'") == 2
        assert ask(dataset, "page = '/'") == (1 if "table" in source else 0)
        assert not dataset.changed()
        with connect(file) as writer:  # which a database that is still open to us would refuse
            writer.execute("DELETE FROM visits")
        assert dataset.changed()
        assert ask(dataset, "page = '/pay'") == 2


def test_the_relation_serves_a_top(visits: str) -> None:
    with ServedTable.open([visits], user="visitor") as dataset:
        assert dataset.relation().columns == ["page", "seconds", "score", "paid", "day", "person"]
        options: dict[str, Any] = {"item": "page", "count": 3, "epsilon": 1_000, "ordered": True}
        options["domain"] = ["/", "/pay", "/nowhere"]
        first, again = (
            top_items(dataset.relation(), **dataset.unit_options, source=Seeded(1), not_private=True, **options)
            for _ in range(2)
        )
        truth = {page: len({row[0] for row in ROWS if row[1] == page} - {None}) for page in ("/", "/pay")}
        assert first.items == again.items == (*sorted(truth, key=lambda page: -truth[page]), "/nowhere")
        assert ask(dataset, "TRUE") == len({row[0] for row in ROWS} - {None})


def test_a_moment_before_all_dates_is_null_and_ends_no_engine(tmp_path: Path) -> None:
    """A file can hold the number; written as text it would take the engine, and every gate, with it."""
    at = "make_timestamp(CASE WHEN range = 0 THEN -9223372036854775806 ELSE -9223372022400000000 END)"
    file = write(tmp_path / "old.parquet", f"SELECT range AS visitor, {at} AS at FROM range(3)")
    with ServedTable.open([file], user="visitor") as dataset:
        assert ask(dataset, "CAST(at AS VARCHAR) IS NULL") == ask(dataset, "at IS NULL") == 1
        assert ask(dataset, "CAST(at AS VARCHAR) LIKE '290309%'") == 2


ONE = "visitor,n\nv1,1\n"
TWO = "visitor,n\nv1,2\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.csv"
    path.write_text(ONE)
    return path


def fingerprint(*files: Path, **how: Any) -> str:
    with ServedTable.open([*map(str, files)], **({} if "unit" in how else {"user": "visitor"}) | how) as dataset:
        return dataset.fingerprint


def test_the_fingerprint_is_of_the_content_and_of_how_it_is_read(tmp_path: Path, file: Path) -> None:
    again, other = tmp_path / "again.csv", tmp_path / "other.csv"
    again.write_text(ONE)
    other.write_text(TWO)
    assert fingerprint(file) == fingerprint(again)
    query = "SELECT * FROM data"
    others: list[dict[str, Any]] = [{"sql": query}, {"sql": f"{query} "}, {"max_cell": 999}, {"user": "n"}]
    prints = [fingerprint(file, **how) for how in (*others, {"unit": "row"})]
    assert len({fingerprint(file), fingerprint(other), *prints}) == 7
    for name, text in {"a1": "a\nb\n", "a2": "c\n", "b1": "a\n", "b2": "b\nc\n"}.items():
        (tmp_path / f"{name}.txt").write_text(text)
    moved = [fingerprint(*(tmp_path / f"{side}{at}.txt" for at in (1, 2)), unit="row") for side in "ab"]
    assert moved[0] != moved[1], "a boundary between files is part of it"


def replace(file: Path) -> None:
    stamp, copy = file.stat(), file.with_suffix(".new")
    copy.write_bytes(file.read_bytes())
    os.utime(copy, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    copy.replace(file)


@pytest.mark.parametrize("touch", [lambda file: os.utime(file, ns=(1, 1)), replace])
def test_a_file_with_other_stamps_and_the_same_content_is_the_same_data(file: Path, touch: Any) -> None:
    with ServedTable.open([str(file)], user="visitor") as dataset:
        touch(file)
        assert not dataset.changed()
        for content in (TWO, ONE):
            file.write_text(content)
            assert dataset.changed()


CHANGES: dict[str, Callable[[Path], object]] = {
    "written": lambda file: file.write_text(TWO),
    "removed": lambda file: file.unlink(),
    "joined": lambda file: file.with_name("b.csv").write_text(TWO),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_of_the_files_is_seen_and_counts_go_on_over_what_was_opened(file: Path, change: str) -> None:
    with ServedTable.open([str(file.with_name("*.csv"))], user="visitor") as dataset:
        assert not dataset.changed()
        CHANGES[change](file)
        assert dataset.changed()
        assert ask(dataset, "n = '1'") == 1


def test_a_file_that_changes_while_it_is_read_is_refused(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = copying.CopyEngine.copy_files

    def slow(*args: Any) -> Any:
        copied = honest(*args)
        file.write_text(TWO)
        return copied

    monkeypatch.setattr(copying.CopyEngine, "copy_files", slow)
    with pytest.raises(TableError, match="changed while it was read"):
        ServedTable.open([str(file)], user="visitor")


def everything_told(error: BaseException) -> str:
    told, seen = "", set()
    pending: list[BaseException | None] = [error]
    while pending:
        link = pending.pop()
        if link is not None and id(link) not in seen:
            seen.add(id(link))
            told += f"{link!r} {link} {vars(link)} "
            pending += [link.__cause__, link.__context__]
    return told


BROKEN = {
    "a cast": ("visitor,n\nv1,1\nv2,SECRET-CELL\n", "SELECT visitor, CAST(n AS INTEGER) AS n FROM data"),
    "a division": ("visitor,n\nv1,SECRET-CELL\n", "SELECT visitor, error(n) AS n FROM data"),
    "a column too many": ("visitor,n\nv1,1\nv2,SECRET-CELL,SECRET-CELL\n", None),
    "a quote": ('visitor,n\nv1,1\nv2,"SECRET-CELL\n', None),
    "bytes": ("visitor,n\nv1,SECRET-CELL\xff\n", None),
}


@pytest.mark.parametrize("case", BROKEN)
def test_an_error_while_opening_tells_no_cell(tmp_path: Path, case: str) -> None:
    content, sql = BROKEN[case]
    (tmp_path / "a.csv").write_bytes(content.encode("latin-1"))
    with pytest.raises(TableError) as caught:
        ServedTable.open([str(tmp_path / "a.csv")], user="visitor", sql=sql)
    assert SECRET not in everything_told(caught.value)


def test_whatever_goes_wrong_in_a_count_is_one_constant_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write(tmp_path / "a.parquet", f"SELECT 1 AS visitor, '{SECRET}' AS page")
    with ServedTable.open([file], user="visitor") as dataset:
        condition = read_condition("page = 'x'", dataset.schema)
        for sql in (
            *("CAST(page AS INTEGER) = 1", "error(page)", "page = 1", "nothing = 1", "SELECT"),
            "(SELECT count(*) FROM read_csv('/etc/passwd')) > 0",
            "TRUE; SET enable_external_access = true",
        ):
            with monkeypatch.context() as patch:
                patch.setattr(Leaf, "truth", lambda leaf, sql=sql: sql)
                with pytest.raises(TableError) as caught:
                    dataset.count(condition)
            assert str(caught.value) == COUNT_FAILED
            assert caught.value.__cause__ is caught.value.__context__ is None
            assert ask(dataset, f"page = '{SECRET}'") == 1


def test_no_cell_and_no_count_is_in_a_repr_and_a_closed_dataset_says_so(visits: str) -> None:
    with ServedTable.open([visits], user="visitor") as dataset:
        assert not any(secret in repr(dataset) for secret in ("v1", dataset.fingerprint))
        condition = read_condition("TRUE", dataset.schema)
    for use in (lambda: dataset.count(condition), dataset.relation):
        with pytest.raises(TableError, match="closed"):
            use()
    dataset.close()


def test_a_refused_dataset_leaves_no_folder_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, visits: str
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(SparsegateError):
        ServedTable.open([visits], user="nobody")
    assert list(tmp_path.iterdir()) == []
    with ServedTable.open([visits], user="visitor"):
        assert len(list(tmp_path.iterdir())) == 1
    assert list(tmp_path.iterdir()) == []


def test_a_copy_that_is_handed_over_counts_the_same_row_by_row(
    visits: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also what compares two columns, which is worked out by rows; and one that lost its order is refused."""
    (tmp_path / "it's temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "it's temporary"))
    with ServedTable.open([visits], user="visitor", cells={"page": 1}) as table:
        handed = table.hand_over()
        with ServedTable.take_over(handed) as other:
            assert (other.schema, other.unit, other.fingerprint) == (table.schema, table.unit, table.fingerprint)
            for where in ("page = '/pay'", "seconds < score", "page LIKE '%a%' OR seconds IS NULL", "TRUE"):
                condition = read_condition(where, table.schema)
                for per in (None, "page"):
                    assert other.count(condition, per=per) == table.count(condition, per=per)
                assert other.seconds(condition) == table.seconds(condition)
            assert not other.changed()
        with pytest.raises(TableError, match="in order"):
            ServedTable.take_over(handed._replace(digest="another"))
        handed.remove()
        assert not handed.file.parent.exists()


def test_many_threads_count_at_once(visits: str) -> None:
    texts = list(QUESTIONS) * 8
    with ServedTable.open([visits], user="visitor") as dataset:
        expected = [ask(dataset, text) for text in texts]
        ready = threading.Barrier(8)

        def work(number: int) -> list[int]:
            ready.wait()
            return [ask(dataset, text) for text in texts[number:] + texts[:number]]

        with ThreadPoolExecutor(8) as pool:
            for number, counted in enumerate(pool.map(work, range(8))):
                assert counted == expected[number:] + expected[:number]
