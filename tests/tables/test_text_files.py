"""Lines that no engine reads count as empty ones, and rows of CSV are those that were written, in whatever block.

What is no CSV is refused, not guessed, and nobody else's line changes.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import itertools
import json
from collections import Counter
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.tables.conftest import READERS

from sparsegate.errors import TableError
from sparsegate.tables import text_files
from sparsegate.tables.files import TextForm
from sparsegate.tables.text_files import LONGEST, RegularRows, look_through, write_lines, write_rows
from sparsegate.tables.workspace import Workspace

duckdb = pytest.importorskip("duckdb")

BLOCK = 8_000_000
"""The bytes that the engine reads at once."""
ONCE = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def items(path: Path | str, **form: str) -> list[str]:
    with Workspace() as workspace:
        rows = workspace.read([str(path)], form=TextForm(**form)).select("item").fetchall()
    return sorted(item for (item,) in rows if item is not None)


def visits(path: Path, workspace: Workspace | None = None) -> list[tuple[Any, ...]]:
    with nullcontext(workspace) if workspace else Workspace() as opened:
        rows = opened.open([str(path)], columns=["page", "visitor"]).select("page, visitor").fetchall()
    return sorted(rows, key=str)


# --- Lines -----------------------------------------------------------------------------------------------------------

ODD = {
    "return": b"a\rb",
    "returns": b"\r\r\r",
    "long": b"a " * 1_500_000,
    "one more": b"a" * (LONGEST["FIMI"] + 1),
    "control": b"a\x01b",
}


@pytest.mark.parametrize("ending", [b"\n", b"\r\n"])
@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
def test_a_line_that_cannot_be_read_has_no_item_and_changes_no_other(tmp_path: Path, odd: bytes, ending: bytes) -> None:
    lines = [odd, b"p1", odd, odd, b"p4", odd]
    for name, form in (("x.dat", {}), ("x.txt", {}), ("x.any", {"format": "baskets"})):
        (tmp_path / name).write_bytes(ending.join([*lines, b""]))
        assert items(tmp_path / name, **form) == ["p1", "p4"]
    (tmp_path / "x.dat.gz").write_bytes(gzip.compress(ending.join(lines), 1))  # and nothing ends the last line
    assert items(tmp_path / "x.dat.gz") == ["p1", "p4"]


LONGEST_LINE = b"x" * LONGEST["FIMI"]


@pytest.mark.parametrize(
    ("content", "wanted"),
    [
        (b"a\r\nb\n" + LONGEST_LINE + b"\r\nc\n\n\nd\r", [b"a", b"b", b"c", b"d", LONGEST_LINE]),
        # Zeros in the first line alone make no other encoding.
        *((line + b"\nc\n", [line, b"c"]) for line in (b"a\0b", b"\0a" * 9, b"a\0" * 9, b"\0" * (1 << 20))),
    ],
    ids=range(5),
)
def test_lines_end_in_either_way_and_hold_anything_else(tmp_path: Path, content: bytes, wanted: list[bytes]) -> None:
    (tmp_path / "x.dat").write_bytes(content)
    assert items(tmp_path / "x.dat") == [line.decode() for line in wanted]


@pytest.mark.parametrize("line", [b"bread a DUCK", b"SQLite format 3\0", b"PAR1 x", b"PK\3\4", b"{ x", b"[ x"])
def test_a_first_line_that_begins_as_another_kind_of_file_is_a_line(
    tmp_path: Path, line: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = sorted([*line.decode().split(), "c"])
    for name in ("x.dat", "x.txt", "x"):
        (tmp_path / name).write_bytes(line + b"\nc\n")
        assert items(tmp_path / name, format="fimi") == expected
    assert items(tmp_path / "x.dat") == expected
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(line + b"\nc\n")))
    assert items("-", format="fimi") == expected


@pytest.mark.parametrize(
    ("content", "rule"),
    [
        *(("17 SECRET\n18\n".encode(code), "UTF-8") for code in ("utf-16", "utf-16-le", "utf-16-be", "utf-32-be")),
        *((content, "UTF-8") for content in (b"SECRET\xc3", b"a\xe9\n", b"a" * (1 << 20) + b"\xff")),
        (b"1 2\r3\rSECRET\r", "carriage returns and no line feed"),
    ],
    ids=range(8),
)
def test_what_is_no_text_of_utf8_in_lines_is_refused(tmp_path: Path, content: bytes, rule: str) -> None:
    (tmp_path / "x.dat").write_bytes(content)
    with pytest.raises(TableError, match=rule) as caught:
        items(tmp_path / "x.dat")
    assert "SECRET" not in str(caught.value)
    assert caught.value.__context__ is None


def test_a_look_in_small_pieces_sees_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LONGEST, "FIMI", 9)
    fine = [b"a\r\nb\r\n", b"123456789\n", "é€𐍈\n".encode() * 9]  # also where a character is cut in two
    odd = [b"a\nb\r\n", b"a\r\nb\n", b"1234567890\n", b"a\n1234567890", b"a\n\x01", b"a\r"]
    long = b"\xef\xbb\xbf1234567890\r\n123456789\r\n" + b"y" * 99 + b"\nz\ra\nb\r"
    for size in (1, 2, 3, 5, 8, 1 << 20):
        monkeypatch.setattr(text_files, "_CHUNK", size)
        for content in (*fine, *odd) if size < 9 else ():
            (tmp_path / "x").write_bytes(content)
            assert look_through(str(tmp_path / "x"), "FIMI", shown="x") is (content in odd), (content, size)
        (tmp_path / "x").write_bytes(long)
        write_lines(str(tmp_path / "x"), "FIMI", tmp_path / f"kept-{size}")
        assert (tmp_path / f"kept-{size}").read_bytes() == b"\n123456789\n\n\nb\n"


def test_nothing_changes_at_the_edges_of_blocks(large: dict[str, Path], tmp_path: Path) -> None:
    """Where the engine starts anew one line must not cost another."""
    lines = large["large.dat"].read_bytes().split(b"\n")
    place, edge, lost, odd = 0, BLOCK, Counter[bytes](), iter((ODD["return"], ODD["long"]))
    for i, line in enumerate(lines):
        place += len(line) + 1
        if place > edge:
            lost[line[:2]] += 1
            lines[i], edge = next(odd), edge + BLOCK
    (tmp_path / "x.dat").write_bytes(b"\n".join(lines))
    with Workspace() as workspace:
        rows = workspace.open([str(tmp_path / "x.dat")]).filter("item LIKE 'B%'")
        counts = rows.aggregate("item, count(*)", "item").fetchall()
    assert sum(lost.values()) == 2
    assert dict(counts) == {f"B{i}": READERS - lost[f"B{i}".encode()] for i in range(7)}


RECORDS = {
    "half a pair": '{"page": "a\\ud800b", "visitor": 9}',
    "elsewhere": '{"page": "/x", "visitor": 9, "other": "\\udfff"}',
    "cut": '{"page": "/x", "visi',
    "control": '{"page": "a\tb", "visitor": 9}',
    "no record": '"page"',
    "an array": '["page", "visitor"]',
    "a number": "17",
    "two": '{"page": "/x", "visitor": 9} {"page": "/y", "visitor": 9}',
    "text": "page,visitor",
    "long": json.dumps({"page": "x" * 20_000_000, "visitor": 9}),
}
FINE = ['{"page": "/home", "visitor": 1}', '{"page": "/home", "visitor": 2}', '{"page": "/pay", "visitor": 1}']


@pytest.mark.parametrize("name", RECORDS)
def test_a_record_that_cannot_be_read_is_nobodys(tmp_path: Path, name: str) -> None:
    """Nor is the first one, where the name of the file says that lines are records."""
    lines = [FINE[0], RECORDS[name], *FINE[1:], RECORDS[name]]
    (tmp_path / "x.jsonl").write_bytes(codecs.BOM_UTF8 + "\n".join(lines).encode())
    (tmp_path / "y.json.gz").write_bytes(gzip.compress("\r\n".join([*lines, ""]).encode(), 1))
    (tmp_path / "z.NDJSON.gz").write_bytes(gzip.compress("\n".join([RECORDS[name], *FINE]).encode(), 1))
    for path in tmp_path.iterdir():
        known = [row for row in visits(path) if None not in row]
        assert known == [("/home", "1"), ("/home", "2"), ("/pay", "1")]


@pytest.mark.parametrize("text", ["{}\n{}\n{}", "[{}, {}, {}]", "[\n{},\n{},\n{}\n]"])
def test_of_a_key_that_a_record_has_twice_the_first_counts(tmp_path: Path, text: str) -> None:
    twice = '{"page": "/a", "page": "/b", "visitor": 1, "visitor": {"x": 2, "x": 3}}'
    (tmp_path / "x.json").write_text(text.replace("{}", "%s") % (FINE[0], twice, FINE[1]))
    assert visits(tmp_path / "x.json") == [("/a", "1"), ("/home", "1"), ("/home", "2")]


def test_what_the_engine_alone_can_unpack_is_read_like_the_rest(tmp_path: Path) -> None:
    lines = {
        "x.csv": ["page,visitor", "/home,1", '"a, b",2', '5" c,3', *(f"p{i},{i}" for i in range(20_000))],
        "x.jsonl": [FINE[0], RECORDS["half a pair"], *FINE[1:]],
        "x.dat": ["a b", "", "c"],
    }
    for name, each in lines.items():
        (tmp_path / name).write_text("\n".join([*each, ""]))
        form = "FORMAT csv, HEADER false, QUOTE '', ESCAPE '', DELIMITER '\x01', COMPRESSION zstd"
        line = "delim='\x01', quote='', escape='', header=false, auto_detect=false, columns={'line': 'VARCHAR'}"
        duckdb.sql(f"COPY (FROM read_csv('{tmp_path / name}', {line})) TO '{tmp_path / name}.zst' ({form})")
    assert visits(tmp_path / "x.csv.zst") == visits(tmp_path / "x.csv")
    assert len(visits(tmp_path / "x.csv.zst")) == 20_003
    assert visits(tmp_path / "x.jsonl.zst") == visits(tmp_path / "x.jsonl")
    assert items(tmp_path / "x.dat.zst") == ["a", "b", "c"]


# --- Rows of CSV -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def shared() -> Iterator[Workspace]:
    with Workspace() as opened:
        yield opened


def regular(path: Path) -> bool:
    seen = RegularRows(",", 2)
    look_through(str(path), "CSV", shown="x", take=seen.take)
    seen.end()
    return seen.regular


CELLS = st.text(st.sampled_from('ab ,;"\n\r\t0é€'), max_size=6)


@settings(ONCE, max_examples=40)
@given(
    rows=st.lists(st.tuples(CELLS, CELLS), max_size=5),
    ending=st.sampled_from(["\n", "\r\n"]),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    size=st.sampled_from([1, 3, 1 << 20]),
)
def test_what_a_csv_writer_wrote_comes_back(
    tmp_path: Path, shared: Workspace, monkeypatch: pytest.MonkeyPatch, rows, ending: str, quoting: int, size: int
) -> None:
    monkeypatch.setattr(text_files, "_CHUNK", size)
    if quoting == csv.QUOTE_MINIMAL:  # before Python 3.13 such a cell is written without quotes
        rows = [tuple(cell.replace("\r", "") for cell in row) for row in rows]
    out = io.StringIO()
    csv.writer(out, lineterminator=ending, quoting=quoting).writerows([("page", "visitor"), *rows])
    (tmp_path / "x.csv").write_text(out.getvalue(), encoding="utf-8", newline="")
    wanted = [tuple(cell or None for cell in row) for row in rows]
    assert visits(tmp_path / "x.csv", shared) == sorted(wanted, key=str)


PIECES = ["a,b\n", '"a",b\n', 'a,"b,"\n', '"a\n",b\n', "a", ",", '"', "\n", "\r\n", "\r", " ", '""']


@settings(ONCE, max_examples=80)
@given(text=st.lists(st.sampled_from(PIECES), max_size=9).map("".join), size=st.sampled_from([1, 2, 5, 1 << 20]))
@example(text="a\nb,c,d\n", size=1 << 20)  # together they have as many cells as two rows
@example(text='a,b\n"c\n",d\n', size=1 << 20)
@example(text='"a"b,c\n', size=1 << 20)
def test_a_regular_file_has_the_rows_that_any_other_way_to_read_it_finds(
    tmp_path: Path, shared: Workspace, monkeypatch: pytest.MonkeyPatch, text: str, size: int
) -> None:
    """Whether a file is read as it is must tell nothing of the rows: one person's row decides that for all."""
    monkeypatch.setattr(text_files, "_CHUNK", size)
    (tmp_path / "y.csv").write_text("page,visitor\n" + text, newline="")
    target = tmp_path / "anew.csv"
    target.unlink(missing_ok=True)
    fine = regular(tmp_path / "y.csv")
    try:
        write_rows(str(tmp_path / "y.csv"), target, delimiter=",", cells=2, shown="x")
    except TableError:
        assert not fine
        with pytest.raises(TableError, match="ragged|open quote"):
            visits(tmp_path / "y.csv", shared)
        return
    assert regular(target)
    assert visits(tmp_path / "y.csv", shared) == visits(target, shared)


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
    assert sorted(visits(tmp_path / "x.csv")) == rows


@pytest.mark.parametrize("text", ["SECRET\n", "SECRET,1,2\n", '"SECRET,1\n', '"', '"SEC"RET,1\n'])
def test_what_is_no_csv_is_refused_by_its_name_and_shows_nothing(tmp_path: Path, text: str) -> None:
    rule = "has an open quote" if '"' in text else "is ragged"
    for before, after in itertools.product(("a,1\n", '"a",1\n'), ("", "b,2\n")):
        (tmp_path / "x.csv").write_text(f"page,visitor\n{before}{text}{after}")
        with pytest.raises(TableError, match=rf"x\.csv {rule}.*asked of the file") as caught:
            visits(tmp_path / "x.csv")
        assert "SEC" not in str(caught.value)
        assert caught.value.__context__ is None


def test_a_row_at_the_edge_of_a_block_never_costs_others(large: dict[str, Path], tmp_path: Path) -> None:
    """Left to itself the engine goes on without the rows of its last block, and without a word."""
    content = large["large.csv"].read_bytes()
    place = content.find(b"\n", len(content) // BLOCK * BLOCK)
    (tmp_path / "x.csv").write_bytes(content[: place + 1] + b"lo,n,g,er" + content[content.find(b"\n", place + 1) :])
    with pytest.raises(TableError, match="is ragged"), Workspace() as workspace:
        workspace.open([str(tmp_path / "x.csv")], columns=["book"]).aggregate("count(*)").fetchall()
    # And a cell of many lines is one cell.
    cell = b'"' + b"".join(b"evil%d,reader-%d,x\n" % (i, i) for i in range(30_000)) + b'"'
    place = content.rfind(b"\n", 0, 2 * BLOCK - len(cell) // 2)
    (tmp_path / "x.csv").write_bytes(content[: place + 1] + cell + b",reader-x,x" + content[place:])
    with Workspace() as workspace:
        rows = workspace.open([str(tmp_path / "x.csv")], columns=["book", "reader"])
        ((count, evil),) = rows.aggregate("count(*), count(*) FILTER (starts_with(book, 'evil'))").fetchall()
    assert (count, evil) == (7 * READERS + 1, 1)
