"""A fingerprint of what was opened, and whether the files still hold it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from tests.support.rows import ask

from sparsegate.errors import TableError
from sparsegate.service.data import copying
from sparsegate.service.data.dataset import Files, ServedTable


def test_the_fingerprint_is_of_the_content_and_of_the_query(tmp_path: Path) -> None:
    first, again, other = (tmp_path / name for name in ("first.csv", "again.csv", "other.csv"))
    first.write_text("visitor,n\nv1,1\n", encoding="utf-8")
    again.write_text("visitor,n\nv1,1\n", encoding="utf-8")
    other.write_text("visitor,n\nv1,2\n", encoding="utf-8")

    def fingerprint(file: Path, sql: str | None = None) -> str:
        with ServedTable.open([str(file)], user="visitor", sql=sql) as dataset:
            return dataset.fingerprint

    assert fingerprint(first) == fingerprint(again)
    query = "SELECT * FROM data"
    assert (
        len({fingerprint(first), fingerprint(other), fingerprint(first, query), fingerprint(first, query + " ")}) == 4
    )


def test_a_boundary_between_files_is_part_of_the_fingerprint(tmp_path: Path) -> None:
    def fingerprint(*contents: str) -> str:
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        folder.mkdir()
        for at, content in enumerate(contents):
            (folder / f"{at}.txt").write_text(content, encoding="utf-8")
        with ServedTable.open([str(folder / "*.txt")], unit="row") as dataset:
            return dataset.fingerprint

    assert fingerprint("a\nb\n", "c\n") != fingerprint("a\n", "b\nc\n")


def change_content(file: Path) -> None:
    file.write_text("visitor,n\nv1,2\n", encoding="utf-8")


def change_time(file: Path) -> None:
    os.utime(file, ns=(1, 1))


def replace(file: Path) -> None:
    stamp = file.stat()
    copy = file.with_suffix(".new")
    copy.write_bytes(file.read_bytes())
    os.utime(copy, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    copy.replace(file)


def remove(file: Path) -> None:
    file.unlink()


def add_another(file: Path) -> None:
    file.with_name("b.csv").write_text("visitor,n\nv1,2\n", encoding="utf-8")


@pytest.mark.parametrize("touch", [change_time, replace])
def test_a_file_with_other_stamps_and_the_same_content_is_the_same_data(tmp_path: Path, touch: Any) -> None:
    file = tmp_path / "a.csv"
    file.write_text("visitor,n\nv1,1\n", encoding="utf-8")
    with ServedTable.open([str(file)], user="visitor") as dataset:
        touch(file)
        assert not dataset.changed()
        change_content(file)
        assert dataset.changed()
        file.write_text("visitor,n\nv1,1\n", encoding="utf-8")
        assert dataset.changed()


def test_other_people_to_count_are_other_data(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("visitor,n\nv1,1\n", encoding="utf-8")
    prints = set()
    for unit in ({"user": "visitor"}, {"user": "n"}, {"unit": "row"}):
        with ServedTable.open([str(file)], **unit) as dataset:
            prints.add(dataset.fingerprint)
    assert len(prints) == 3


@pytest.mark.parametrize("change", [change_content, remove, add_another])
def test_a_change_of_the_files_is_seen_and_counts_go_on_over_what_was_opened(tmp_path: Path, change: Any) -> None:
    file = tmp_path / "a.csv"
    file.write_text("visitor,n\nv1,1\n", encoding="utf-8")
    with ServedTable.open([str(tmp_path / "*.csv")], user="visitor") as dataset:
        assert not dataset.changed()
        change(file)
        assert dataset.changed()
        assert ask(dataset, "n = '1'") == 1


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a.csv"
    file.write_text("visitor,n\nv1,1\n", encoding="utf-8")
    honest = copying.CopyEngine.copy_files

    def slow(self: Any, *given: Any, **named: Any) -> Any:
        copied = honest(self, *given, **named)
        change_content(file)
        return copied

    monkeypatch.setattr(copying.CopyEngine, "copy_files", slow)
    with pytest.raises(TableError, match="changed while it was read"):
        ServedTable.open([str(file)], user="visitor")


# --- No error tells a cell -------------------------------------------------------------------------------------------


def test_what_is_no_file_is_named_without_a_password() -> None:
    with pytest.raises(TableError, match=r"no file matches 'mysql://ann:[*]{3}@db/shop'"):
        Files.of(["mysql://ann:hunter2@db/shop"])
