"""No error, repr or folder tells a cell."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.rows import SECRET, ask, write

from sparsegate.conditions import Leaf, read_condition
from sparsegate.errors import SparsegateError, TableError
from sparsegate.service.data.dataset import COUNT_FAILED, ServedTable


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


@pytest.mark.parametrize(
    "sql",
    [
        "CAST(page AS INTEGER) = 1",
        "error(page)",
        "page = 1",
        "nothing = 1",
        "SELECT",
        "(SELECT count(*) FROM read_csv('/etc/passwd')) > 0",
        "TRUE; SET enable_external_access = true",
    ],
)
def test_whatever_goes_wrong_in_a_count_is_one_constant_text(
    tmp_path: Path, sql: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write(tmp_path / "a.parquet", f"SELECT 1 AS visitor, '{SECRET}' AS page")
    with ServedTable.open([file], user="visitor") as dataset:
        condition = read_condition("page = 'x'", dataset.schema)
        with monkeypatch.context() as patch:
            patch.setattr(Leaf, "truth", lambda leaf: sql)
            with pytest.raises(TableError) as caught:
                dataset.count(condition)
        assert str(caught.value) == COUNT_FAILED
        assert caught.value.__cause__ is None
        assert caught.value.__context__ is None
        assert ask(dataset, f"page = '{SECRET}'") == 1


def test_no_cell_and_no_count_is_in_a_repr(visits: str) -> None:
    with ServedTable.open([visits], user="visitor") as dataset:
        assert "v1" not in repr(dataset)
        assert dataset.fingerprint not in repr(dataset)


def test_a_closed_dataset_says_so(visits: str) -> None:
    with ServedTable.open([visits], user="visitor") as dataset:
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


# --- Many at once, and how fast --------------------------------------------------------------------------------------
