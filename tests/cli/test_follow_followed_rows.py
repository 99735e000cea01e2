"""Rows of a stream: what one person writes takes no row of another, and stops nothing."""

from __future__ import annotations

import io
import sqlite3
import sys
import time
from types import SimpleNamespace

import psycopg
import pytest
from tests.support.postgres_cluster import Cluster

from sparsegate.cli import follow as followed_rows
from sparsegate.cli.follow import FollowedLines, GrowingFile, PolledTable, StandardInputLines
from sparsegate.tables.identity import people
from sparsegate.uses.windows import read_moment

LONGEST = followed_rows._LONGEST


def lines(*, json_lines: bool = False, where: str | None = None) -> FollowedLines:
    return FollowedLines(user="who", time="at", where=where, separator=None, json_lines=json_lines)


@pytest.mark.parametrize("before", range(0, LONGEST - 99, LONGEST // 5))
def test_whether_a_long_line_counts_does_not_depend_on_what_others_wrote(tmp_path, before) -> None:
    """A line of more bytes than may be, and fewer characters: pieces of it end wherever the rows of others put them."""
    path = tmp_path / "log.jsonl"
    row = '{"who": "%s", "at": 1, "more": "%s"}\n'
    written = [row % ("a", "x" * before), row % ("long", "\u00e9" * (LONGEST * 3 // 4)), row % ("b", "")]
    path.write_text("".join(written), encoding="utf-8")
    source = GrowingFile(str(path), lines(json_lines=True), restarts=True)
    source.check(lambda: False)
    found = [who for who, _ in source.read(0, 0)]
    source.close()
    assert found == ["a", "b"]


def test_lists_in_lists_of_one_person_stop_nobody() -> None:
    """At some depths, just below those that cannot be read, a list can be read and not be written."""
    followed = lines(json_lines=True, where="status = '500'")
    row = '{"who": %s, "at": 1, "status": %s}'
    deep = [row % (1, "[" * depth + "]" * depth) for depth in (*range(800, 1000), 100_000)]
    assert list(followed.rows([*deep, row % (2, 500)])) == [(2, 1)]


def test_a_broken_first_row_of_a_file_that_is_named_json_lines_is_not_refused(tmp_path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text('"who": "a", "at"\n{"who": "b", "at": 1}\n')
    source = GrowingFile(str(path), lines(json_lines=True), restarts=True)
    source.check(lambda: False)
    assert list(source.read(0, 0)) == [("b", 1)]
    source.close()


def test_standard_input_says_when_more_waits_than_one_look_takes(monkeypatch) -> None:
    text = "at,who\n" + "1,a\n" * (followed_rows._HELD + 5)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(text.encode())))
    source = StandardInputLines(lines())
    source.check(lambda: False)
    until = time.monotonic() + 5
    while source._waiting.qsize() < followed_rows._HELD and time.monotonic() < until:
        time.sleep(0.01)
    assert len(list(source.read(0, 0))) == followed_rows._HELD
    assert source.behind  # so that nobody waits a second for the next ten thousand
    found = 0
    while not source.ended and time.monotonic() < until:
        found += len(list(source.read(0, 0)))
    assert (found, source.behind) == (5, False)


def test_a_cell_of_a_table_that_is_not_text_stops_nobody(tmp_path) -> None:
    path = tmp_path / "log.sqlite"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE log (who, at)")
        database.executemany("INSERT INTO log VALUES (?, ?)", [("a", 1), (b"\xff", 1), (None, 1)])
        database.execute("INSERT INTO log VALUES (CAST(x'ff' AS TEXT), 1), ('b', CAST(x'ff' AS TEXT))")
    source = PolledTable(f"sqlite:///{path}", table="log", sql=None, user="who", time="at")
    found = list(source.read(0, 10))
    assert len(found) == 4
    assert len(set(people([who for who, _ in found]))) == 4


@pytest.mark.parametrize("kind", ["timestamp", "timestamptz", "date", "text"])
def test_a_moment_without_an_end_stops_nobody(cluster: Cluster, kind: str) -> None:
    url = cluster.database()
    moments = ["2026-03-01", "2026-03-02", "2026-03-03", "infinity", "-infinity"]
    with psycopg.connect(url) as connection:
        connection.execute(f"CREATE TABLE log (who text, at {kind})")
        connection.execute("SET timezone TO 'UTC'")
        for who, at in enumerate(moments):
            connection.execute("INSERT INTO log VALUES (%s, %s)", (str(who), at))
    source = PolledTable(url, table="log", sql=None, user="who", time="at")
    start, end = (read_moment(at) for at in moments[1:3])
    assert start is not None
    assert end is not None
    assert [who for who, at in source.read(start, end) if read_moment(at) == start] == ["1"]
