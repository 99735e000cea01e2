"""Text files: baskets, separators, encodings and standard input as Python reads them, and header lines.

Any header will do that has the columns that are used; an error shows nothing of a line that may be a row.
"""

from __future__ import annotations

import csv
import gzip
import io
import threading
import traceback
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sparsegate.errors import ParameterError, SparsegateError, TableError
from sparsegate.tables.files import TextForm, header_of
from sparsegate.tables.workspace import Workspace

pytest.importorskip("duckdb")

HARD = "naïve café €\x85x, Ελλάδα."


def read(*patterns: object, columns: str = "page, visitor", form: dict[str, str] | None = None, **options: Any) -> Any:
    with Workspace() as workspace:
        opened = workspace.read([str(each) for each in patterns], form=TextForm(**form or {}), **options)
        return sorted(opened.select(columns).fetchall())


def baskets(path: Path, **form: str) -> list[list[str]]:
    rows = read(path, columns='"user", item', form=form)
    return [sorted(item for who, item in rows if who == user) for user in sorted({user for user, _ in rows})]


CELLS = st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=5).filter(
    lambda cell: cell == cell.strip(" \t")
)
CELLS |= st.sampled_from(['"', 'a"b', ",", "", '""', ";,x"])


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(st.lists(CELLS, min_size=1), min_size=1, max_size=5))
@pytest.mark.parametrize("separator", [",", "\t"])
def test_baskets_are_what_a_csv_writer_wrote(tmp_path: Path, separator: str, rows) -> None:
    """Each cell comes back as it was, but for empty ones; and each line is another user."""
    out = io.StringIO()
    csv.writer(out, delimiter=separator, lineterminator="\n").writerows(rows)
    (tmp_path / "some.thing").write_text(out.getvalue(), encoding="utf-8")
    wanted = [sorted(cell for cell in row if cell) for row in rows]
    found = baskets(tmp_path / "some.thing", format="baskets", separator=separator)
    assert found == [row for row in wanted if row]


def test_spaces_around_a_cell_and_empty_cells_are_no_part_of_it(tmp_path: Path) -> None:
    path = tmp_path / "baskets.txt"
    path.write_text(' milk ,\t"rye, dark" ,, "say ""hi"" " ,\n\n,,\n"half,x\n"a"b,c\n')
    wanted = [["milk", "rye, dark", 'say "hi" '], ['"half', "x"], ['"a"b', "c"]]
    assert baskets(path, format="baskets") == [sorted(row) for row in wanted]
    path.write_text("a, b::c:: d\n")
    assert baskets(path, format="baskets", separator="::") == [["a, b", "c", "d"]]
    path.write_bytes(b'1 "2" 3,4\n\n 7\t1 \n  \n\t\n')
    assert baskets(path, format="fimi") == [sorted(["1", '"2"', "3,4"]), ["1", "7"]]


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "utf-16-be", "utf-8-sig"])
def test_every_encoding_is_read_as_python_decodes_it(tmp_path: Path, encoding: str) -> None:
    cell = HARD.encode(encoding, "ignore").decode(encoding).removeprefix("\ufeff").replace(",", "")
    raw = f"page,visitor\r\n{cell},1\r\n".encode(encoding)
    (tmp_path / "y.csv.gz").write_bytes(gzip.compress(raw))
    (tmp_path / "z.jsonl").write_bytes(f'{{"page": "{cell}", "visitor": 1}}\n'.encode(encoding))
    (tmp_path / "b.txt").write_bytes(f"{cell},1\n".encode(encoding))
    assert "caf" in cell
    for name in ("y.csv.gz", "z.jsonl"):
        assert read(tmp_path / name, form={"encoding": encoding}) == [(cell, "1")]
    assert baskets(tmp_path / "b.txt", format="baskets", encoding=encoding) == [sorted([cell, "1"])]


def test_the_files_that_are_written_anew_lie_in_a_private_folder_and_go(tmp_path: Path, monkeypatch) -> None:
    spill = tmp_path / "spill"
    spill.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(spill))
    (tmp_path / "x.csv").write_bytes("page,visitor\né,1\n".encode("latin-1"))
    with Workspace() as workspace:
        workspace.read([str(tmp_path / "x.csv")], form=TextForm(encoding="latin-1"))
        (folder,) = spill.iterdir()
        assert folder.stat().st_mode & 0o777 == 0o700
        assert [file.read_bytes() for file in folder.rglob("x.csv")] == ["page,visitor\né,1\n".encode()]
    assert not list(spill.iterdir())


@pytest.mark.parametrize(
    ("content", "form"),
    [
        (b"page,visitor\n/home,1\n", {}),
        (b'{"page": "/home", "visitor": 1}\n', {}),
        (gzip.compress(b"page,visitor\n/home,1\n"), {}),
        (b"page::visitor\n/home::1\n", {"separator": "::"}),
        ("page,visitor\n/home,1\n".encode("utf-16"), {"encoding": "utf-16"}),
        ('{"page": "/home", "visitor": 1}'.encode("utf-16"), {"encoding": "utf-16"}),
    ],
    ids=range(6),
)
def test_standard_input_is_a_file_like_others(monkeypatch, content: bytes, form: dict[str, str]) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
    assert read("-", form=form, columns="page, visitor") == [("/home", "1")]


def test_standard_input_is_read_once_in_the_thread_that_gets_signals(monkeypatch) -> None:
    """Elsewhere Ctrl-C would wait for the input to end."""
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"1 2\n")))
    with pytest.raises(TableError, match="only once"):
        read("-", "-", form={"format": "fimi"})
    for nothing in (None, io.StringIO()):  # as in a window, and in a notebook
        monkeypatch.setattr("sys.stdin", nothing)
        with pytest.raises(TableError, match="name a file"):
            read("-")
    threads = []

    class Stream(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            threads.append(threading.current_thread())
            return super().read(size)

    stream = Stream(b"page,visitor\n")
    monkeypatch.setattr("sys.stdin", type("Input", (), {"buffer": stream})())
    assert read("-") == []
    assert set(threads) == {threading.current_thread()}


@pytest.mark.parametrize(
    ("parameter", "form"),
    [
        ("format", {"format": "csv"}),
        *(("separator", {"separator": value}) for value in ("", "12345", '"', "\n", 7)),
        ("separator", {"separator": ",", "format": "fimi"}),
        *(("encoding", {"encoding": value}) for value in ("klingon", "base64", "a\0b", 7)),
    ],
)
def test_a_wrong_word_is_refused_by_name(parameter: str, form: dict[str, Any]) -> None:
    with pytest.raises(ParameterError) as refused:
        TextForm(**form)
    assert refused.value.parameter == parameter
    assert TextForm(separator=r"\t").separator == "\t"  # as a shell leaves it


NO_TEXT = "is not UTF-8 text: pass encoding="


@pytest.mark.parametrize(
    ("name", "content", "form", "rule"),
    [
        ("x.parquet", b"PAR1", {"encoding": "latin-1"}, "encoding is for text"),
        ("x.sqlite", b"SQLite format 3\0", {"format": "fimi"}, "format is for text"),
        ("x.db", b"SQLite format 3\0", {"separator": ","}, "separator is for text"),
        ("x.json", b"{}", {"separator": ","}, "separator is for CSV"),
        ("x.csv.zst", b"", {"encoding": "latin-1"}, "unpack it first"),
        ("x.csv", b"\xff\xfeSECRET", {"encoding": "ascii"}, "is not written in ascii"),
        ("x.csv", b"p\0a\0", {}, NO_TEXT),
        ("x.csv", b"page,visitor\nSECRET\xe9,1\n", {}, NO_TEXT),
        ("x.jsonl", b'{"page": "SECRET\xe9", "visitor": 1}\n', {}, NO_TEXT),
        ("x.csv.gz", gzip.compress(b"page,visitor\nSECRET\xe9,1\n"), {}, NO_TEXT),
        ("x.csv.gz", gzip.compress(b"page,visitor\n" * 99)[:-9], {"encoding": "latin-1"}, "cannot be read"),
        ("x.csv.gz", b"SECRET", {}, "cannot be read"),
        ("x.csv", b"SECRET,1\n/home,2\n", {}, "column names"),
        ("x.csv", b"SECRET,SECRET\n1,2\n", {}, "column names"),
        ("x.csv", b"", {}, "is empty"),
        ("x.json", b'[{"page": "/home", "visitor": 1},\n{"page": "SECRET", "visi', {}, "cannot be read as JSON"),
        ("x.json", b"SECRET\n", {}, "is not JSON"),
        ("x.parquet", b"SECRET\n" * 100, {}, "cannot be read as Parquet"),
        ("x.gz", b"SECRET", {}, "of no known kind"),
    ],
    ids=range(19),
)
def test_what_does_not_fit_is_explained_without_a_cell(
    tmp_path: Path, name: str, content: bytes, form: dict[str, str], rule: str
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(SparsegateError, match=rule) as caught:
        read(tmp_path / name, form=form, copy=True, columns="1")
    assert "SECRET" not in "".join(traceback.format_exception(caught.value))
    assert "UTF-8" not in rule or "damaged" not in str(caught.value)
    assert caught.value.__context__ is None or not str(caught.value.__context__)


# --- header lines -----------------------------------------------------------------------------------------------------

ODD = ["page,visitor,2019", "2019,,page,,visitor", "page,x,x,visitor", ' page , visitor ,"",a@b.org', "PAGE,visitor,?"]


@pytest.mark.parametrize("line", ODD)
def test_a_header_needs_only_the_columns_that_are_used(line: str) -> None:
    delimiter, names = header_of("x.csv", line, asked=["page", "visitor"])
    assert delimiter == ","
    folded = [name.lower() for name in names]
    assert [folded.count(name) for name in ("page", "visitor")] == [1, 1]
    assert len(set(folded)) == len(folded) == line.count(",") + 1
    where = [cell.strip().lower() for cell in line.split(",")]
    assert [folded.index(name) for name in ("page", "visitor")] == [where.index(name) for name in ("page", "visitor")]
    assert {name for name in names if name.lower() not in ("page", "visitor")} <= {f"column {n}" for n in range(1, 6)}


@pytest.mark.parametrize("line", ["page,1", "page,visitor,Visitor", "SECRET,17", "", "visitors@SECRET.org,page"])
def test_a_used_column_must_be_there_once_and_nothing_else_is_shown(line: str) -> None:
    with pytest.raises(TableError, match="must name the column 'visitor' once") as caught:
        header_of("x.csv", line, asked=["page", "visitor"] if "page" in line else ["visitor"])
    assert "SECRET" not in str(caught.value)


@pytest.mark.parametrize("line", [*ODD, "1", ""])
def test_where_nobody_says_which_columns_are_used_all_must_look_like_names(line: str) -> None:
    """A public list of labels without a header would lose its first label."""
    with pytest.raises(TableError, match="must hold its column names"):
        header_of("x.csv", line)


@pytest.mark.parametrize("separator", ["\t", "~", "::"])
def test_the_separator_that_is_given_wins_and_makes_text_a_table(tmp_path: Path, separator: str) -> None:
    assert header_of("x.csv", f"a{separator}b,c,d", separator=separator) == (separator, ("a", "b,c,d"))
    (tmp_path / "x.txt").write_text(f"page{separator}visitor\n/home{separator}1\n")
    assert read(tmp_path / "x.txt", form={"separator": separator}) == [("/home", "1")]


def test_rows_under_an_odd_header_are_read_by_name_and_a_query_sees_the_names_it_speaks_of(tmp_path: Path) -> None:
    _, names = header_of(
        "x.csv", "page,2019,SECRET,,", asked=["page", "who"], query='SELECT "2019" AS who, * FROM data'
    )
    assert names == ("page", "2019", "column 3", "column 4", "column 5")
    (tmp_path / "odd.csv").write_text("2019,,page,,visitor\nx,x,/home,x,1\n")
    (tmp_path / "even.csv").write_text("page,visitor\n/pay,2\n")
    odd, even = str(tmp_path / "odd.csv"), str(tmp_path / "even.csv")
    with Workspace() as workspace:
        rows = workspace.open([odd, even], columns=["page", "visitor"]).select("page, visitor")
        assert sorted(rows.fetchall()) == [("/home", "1"), ("/pay", "2")]
        rows = workspace.open([odd], columns=["2019", "visitor"])
        assert rows.select('"2019", visitor').fetchall() == [("x", "1")]
        with pytest.raises(ParameterError, match="sql") as caught:
            workspace.open([odd], columns=["page"], sql="SELECT pages FROM data")
        assert "2019" not in str(caught.value)
