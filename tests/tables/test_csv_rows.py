"""The rows of CSV files: those that were written, in however many blocks; what is no CSV is refused, not guessed."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from sparsegate.errors import TableError
from sparsegate.tables import text_lines
from sparsegate.tables.csv_rows import RegularRows, write_rows
from sparsegate.tables.text_lines import look_through
from sparsegate.tables.workspace import Workspace

pytest.importorskip("duckdb")

BLOCK = 8_000_000


def rows_of(path: Path, workspace: Workspace | None = None) -> list[tuple[str | None, ...]]:
    with nullcontext(workspace) if workspace else Workspace() as opened:
        return opened.open([str(path)], columns=["page", "visitor"]).select("page, visitor").fetchall()


@pytest.fixture(scope="module")
def one() -> Iterator[Workspace]:
    with Workspace() as opened:
        yield opened


def regular(path: Path, cells: int = 2) -> bool:
    seen = RegularRows(",", cells)
    look_through(str(path), "CSV", shown="x", take=seen.take)
    seen.end()
    return seen.regular


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("rows")


CELLS = st.text(st.sampled_from('ab ,;"\n\r\t0é€'), max_size=6)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(st.tuples(CELLS, CELLS), max_size=5),
    ending=st.sampled_from(["\n", "\r\n"]),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    size=st.sampled_from([1, 3, 1 << 20]),
)
def test_what_a_csv_writer_wrote_comes_back(
    folder: Path, one: Workspace, monkeypatch: pytest.MonkeyPatch, rows, ending: str, quoting: int, size: int
) -> None:
    monkeypatch.setattr(text_lines, "_CHUNK", size)
    if quoting == csv.QUOTE_MINIMAL:  # before Python 3.13 such a cell is written without quotes
        rows = [tuple(cell.replace("\r", "") for cell in row) for row in rows]
    out = io.StringIO()
    csv.writer(out, lineterminator=ending, quoting=quoting).writerows([("page", "visitor"), *rows])
    (folder / "x.csv").write_text(out.getvalue(), encoding="utf-8", newline="")
    wanted = [tuple(cell or None for cell in row) for row in rows]
    assert sorted(map(str, rows_of(folder / "x.csv", one))) == sorted(map(str, wanted))


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    text=st.lists(
        st.sampled_from(["a,b\n", '"a",b\n', 'a,"b,"\n', '"a\n",b\n', "a", ",", '"', "\n", "\r\n", "\r", " ", '""']),
        max_size=9,
    ).map("".join),
    size=st.sampled_from([1, 2, 5, 1 << 20]),
)
@example(text="a\nb,c,d\n", size=1 << 20)  # together they have as many cells as two rows
@example(text='a,b\n"c\n",d\n', size=1 << 20)
@example(text='"a"b,c\n', size=1 << 20)
def test_a_regular_file_has_the_rows_that_any_other_way_to_read_it_finds(
    folder: Path, one: Workspace, monkeypatch: pytest.MonkeyPatch, text: str, size: int
) -> None:
    """Whether a file is read as it is must tell nothing of the rows: one person's row decides that for all."""
    monkeypatch.setattr(text_lines, "_CHUNK", size)
    (folder / "y.csv").write_text("page,visitor\n" + text, newline="")
    target = folder / "anew.csv"
    target.unlink(missing_ok=True)
    fine = regular(folder / "y.csv")
    try:
        write_rows(str(folder / "y.csv"), target, delimiter=",", cells=2, shown="x")
    except TableError:
        assert not fine
        with pytest.raises(TableError, match="ragged|open quote"):
            rows_of(folder / "y.csv", one)
        return
    assert regular(target)
    assert sorted(map(str, rows_of(folder / "y.csv", one))) == sorted(map(str, rows_of(target, one)))


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ('5" disc,1\n3" disc,2\n', [('3" disc', "2"), ('5" disc', "1")]),
        ('a"b"c,1\n', [('a"b"c', "1")]),
        (' "a, b" ,1\n', [("a, b", "1")]),
        ("a,1\n\n\nb,2\n", [("a", "1"), ("b", "2")]),
        ("a,1,\nb,2,\n", [("a", "1"), ("b", "2")]),
        ("a,1\r\nb,2\n", [("a", "1"), ("b", "2")]),
        ("a,1\nx\ry,2\nb,3\n", [("a", "1"), ("b", "3")]),
        ("a,1\nx,2\r\r\nb,3\n", [("a", "1"), ("b", "3")]),
        ('a,1\n"x",\r2\nb,3\n', [("a", "1"), ("b", "3")]),
        ('a,1\n"x\r\ny",2\nb,3\n', [("a", "1"), ("b", "3"), ("x\r\ny", "2")]),
        ("a,1\nx\0y,2\n", [("a", "1"), ("x\0y", "2")]),
        ("a,1\nb,2", [("a", "1"), ("b", "2")]),
        (f"a,1\n{'x' * 3_000_000},2\nb,3\n", [("a", "1"), ("b", "3"), ("x" * 3_000_000, "2")]),
        (f'a,1\n"{"x" * 3_000_000}",2\n5" b,3\n', [('5" b', "3"), ("a", "1"), ("x" * 3_000_000, "2")]),
        (f"a,1\n{'x' * 17_000_000},2\nb,3\n", [("a", "1"), ("b", "3")]),
    ],
    ids=range(15),
)
def test_odd_rows_are_read_by_themselves(tmp_path: Path, text: str, rows: list[tuple[str, str]]) -> None:
    (tmp_path / "x.csv").write_text("page,visitor\n" + text, newline="")
    assert sorted(rows_of(tmp_path / "x.csv")) == rows


REFUSED = {
    "short": ("SECRET\n", "is ragged"),
    "long": ("SECRET,1,2\n", "is ragged"),
    "open": ('"SECRET,1\n', "has an open quote"),
    "at the end": ('"', "has an open quote"),
    "closed early": ('"SEC"RET,1\n', "has an open quote"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_csv_is_refused_by_its_name_and_shows_nothing(tmp_path: Path, name: str) -> None:
    text, rule = REFUSED[name]
    for content in (
        f"page,visitor\na,1\n{text}b,2\n",
        f"page,visitor\na,1\nb,2\n{text}",
        f'page,visitor\n"a",1\n{text}',
    ):
        (tmp_path / "x.csv").write_text(content)
        with pytest.raises(TableError, match=rf"x\.csv {rule}.*asked of the file") as caught:
            rows_of(tmp_path / "x.csv")
        assert "SEC" not in str(caught.value)
        assert caught.value.__context__ is None


@pytest.mark.parametrize("odd", [b"short", b"lo,n,g,er"], ids=["short", "long"])
def test_a_row_that_does_not_fit_at_the_edge_of_a_block_never_costs_others(
    large: dict[str, Path], tmp_path: Path, odd: bytes
) -> None:
    """Left to itself the engine goes on without the rows of its last block, and without a word."""
    content = large["large.csv"].read_bytes()
    place = content.find(b"\n", len(content) // BLOCK * BLOCK)
    (tmp_path / "x.csv").write_bytes(content[: place + 1] + odd + content[content.find(b"\n", place + 1) :])
    with pytest.raises(TableError, match="is ragged"), Workspace() as workspace:
        workspace.open([str(tmp_path / "x.csv")], columns=["book"]).aggregate("count(*)").fetchall()


def test_a_cell_of_many_lines_at_the_edge_of_a_block_is_one_cell(large: dict[str, Path], tmp_path: Path) -> None:
    content = large["large.csv"].read_bytes()
    cell = b'"' + b"".join(b"evil%d,reader-%d,x\n" % (i, i) for i in range(30_000)) + b'"'
    for edge in (2 * BLOCK,):
        place = content.rfind(b"\n", 0, edge - len(cell) // 2)
        (tmp_path / "x.csv").write_bytes(content[: place + 1] + cell + b",reader-x,x" + content[place:])
        with Workspace() as workspace:
            rows = workspace.open([str(tmp_path / "x.csv")], columns=["book", "reader"])
            ((count, evil),) = rows.aggregate("count(*), count(*) FILTER (starts_with(book, 'evil'))").fetchall()
        assert (count, evil) == (7 * 225_000 + 1, 1)
