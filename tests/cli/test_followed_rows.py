"""Rows of a stream: what one person writes takes no row of another, and stops nothing."""

from __future__ import annotations

import io
import sys
import time
from types import SimpleNamespace

import pytest

from sparsegate.cli import followed_rows
from sparsegate.cli.followed_rows import FollowedLines, GrowingFile, StandardInputLines

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
