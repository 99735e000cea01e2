"""Lines that no engine reads: they count as empty ones, whatever block they are in, and nobody else's line changes."""

from __future__ import annotations

import codecs
import gzip
import io
import json
from collections import Counter
from pathlib import Path

import pytest

from sparsegate.errors import TableError
from sparsegate.tables import text_lines
from sparsegate.tables.files import TextForm, keep_stream
from sparsegate.tables.text_lines import LONGEST, look_through, write_lines
from sparsegate.tables.workspace import Workspace

pytest.importorskip("duckdb")

ODD = {
    "return": b"a\rb",
    "returns": b"\r\r\r",
    "long": b"a " * 1_500_000,
    "one more": b"a" * (LONGEST["FIMI"] + 1),
    "control": b"a\x01b",
}
PLACES = {"first": [0], "last": [-1], "some": [0, 2, 3, -1]}


def items(path: Path, **form: str) -> list[str]:
    with Workspace() as workspace:
        rows = workspace.open([str(path)], form=TextForm(**form)).select("item").fetchall()
    return sorted(item for (item,) in rows if item is not None)


@pytest.mark.parametrize("ending", [b"\n", b"\r\n"])
@pytest.mark.parametrize("places", PLACES.values(), ids=PLACES)
@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
def test_a_line_that_cannot_be_read_has_no_item_and_changes_no_other(
    tmp_path: Path, odd: bytes, places: list[int], ending: bytes
) -> None:
    lines = [f"p{i}".encode() for i in range(6)]
    for place in places:
        lines[place] = odd
    wanted = sorted(line.decode() for line in lines if line != odd)
    for name, form in (("x.dat", {}), ("x.txt", {}), ("x.any", {"format": "baskets"})):
        (tmp_path / name).write_bytes(ending.join([*lines, b""]))
        assert items(tmp_path / name, **form) == wanted
    (tmp_path / "x.dat.gz").write_bytes(gzip.compress(ending.join(lines)))  # and nothing ends the last line
    assert items(tmp_path / "x.dat.gz") == wanted


def test_lines_may_end_in_either_way_and_the_longest_line_is_read(tmp_path: Path) -> None:
    longest = b"x" * LONGEST["FIMI"]
    (tmp_path / "x.dat").write_bytes(b"a\r\nb\n" + longest + b"\r\nc\n\n\nd\r")
    assert items(tmp_path / "x.dat") == ["a", "b", "c", "d", longest.decode()]


@pytest.mark.parametrize("line", [b"a\0b", b"\0a" * 9, b"a\0" * 9, b"\0" * (1 << 20)])
def test_zeros_in_the_first_line_alone_make_no_other_encoding(tmp_path: Path, line: bytes) -> None:
    (tmp_path / "x.dat").write_bytes(line + b"\nc\nd\n")
    assert items(tmp_path / "x.dat") == [line.decode(), "c", "d"]


@pytest.mark.parametrize("line", [b"bread a DUCK", b"SQLite format 3\0", b"PAR1 x", b"PK\3\4", b"{ x", b"[ x"])
@pytest.mark.parametrize("name", ["x.dat", "x.txt", "x", "-"])
def test_a_first_line_that_begins_as_another_kind_of_file_is_a_line(tmp_path: Path, name: str, line: bytes) -> None:
    form, content, file = TextForm(format="fimi"), line + b"\nc\n", tmp_path / name
    if name == "-":
        file = keep_stream(io.BytesIO(content), tmp_path, form)
    else:
        file.write_bytes(content)
    expected = sorted([*line.decode().split(), "c"])
    assert items(file, format="fimi") == expected
    if name == "x.dat":
        assert items(file) == expected


@pytest.mark.parametrize("start", ["utf-16", "utf-16-le", "utf-16-be", "utf-32-be"])
def test_text_in_wide_characters_is_refused(tmp_path: Path, start: str) -> None:
    (tmp_path / "x.dat").write_bytes("17 SECRET\n18\n".encode(start))
    with pytest.raises(TableError, match="is not UTF-8 text: pass encoding="):
        items(tmp_path / "x.dat")


def test_a_file_of_carriage_returns_alone_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.dat").write_bytes(b"1 2\r3\rSECRET\r")
    with pytest.raises(TableError, match="carriage returns and no line feed") as caught:
        items(tmp_path / "x.dat")
    assert "SECRET" not in str(caught.value)


@pytest.mark.parametrize("odd", [ODD["return"], ODD["long"]], ids=["return", "long"])
def test_nothing_changes_at_the_edges_of_blocks(large: dict[str, Path], tmp_path: Path, odd: bytes) -> None:
    """The engine reads eight million bytes at once, and where it starts anew one line must not cost another."""
    lines = large["large.dat"].read_bytes().split(b"\n")
    place, edge, lost = 0, 8_000_000, Counter[bytes]()
    for i, line in enumerate(lines):
        place += len(line) + 1
        if place > edge:
            lost[line[:2]] += 1
            lines[i], edge = odd, edge + 8_000_000
    (tmp_path / "x.dat").write_bytes(b"\n".join(lines))
    with Workspace() as workspace:
        rows = workspace.open([str(tmp_path / "x.dat")]).filter("item LIKE 'B%'")
        counts = rows.aggregate("item, count(*)", "item").fetchall()
    assert sum(lost.values()) == 3
    assert dict(counts) == {f"B{i}": 225_000 - lost[f"B{i}".encode()] for i in range(7)}


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
    "long": json.dumps({"page": "x" * 40_000_000, "visitor": 9}),
}
FINE = ['{"page": "/home", "visitor": 1}', '{"page": "/home", "visitor": 2}', '{"page": "/pay", "visitor": 1}']


def visits(path: Path) -> list[tuple[str, str]]:
    with Workspace() as workspace:
        rows = workspace.open([str(path)], columns=["page", "visitor"]).select("page, visitor").fetchall()
    return sorted(row for row in rows if None not in row)


@pytest.mark.parametrize("name", RECORDS)
def test_a_record_that_cannot_be_read_is_nobodys(tmp_path: Path, name: str) -> None:
    """Nor is the first one, where the name of the file says that lines are records."""
    lines = [FINE[0], RECORDS[name], *FINE[1:], RECORDS[name]]
    (tmp_path / "x.jsonl").write_bytes(codecs.BOM_UTF8 + "\n".join(lines).encode())
    (tmp_path / "y.json.gz").write_bytes(gzip.compress("\r\n".join([*lines, ""]).encode(), 1))
    (tmp_path / "z.NDJSON.gz").write_bytes(gzip.compress("\n".join([RECORDS[name], *FINE]).encode(), 1))
    for path in tmp_path.iterdir():
        assert visits(path) == [("/home", "1"), ("/home", "2"), ("/pay", "1")]


@pytest.mark.parametrize("text", ["{}\n{}\n{}", "[{}, {}, {}]", "[\n{},\n{},\n{}\n]"])
def test_of_a_key_that_a_record_has_twice_the_first_counts(tmp_path: Path, text: str) -> None:
    twice = '{"page": "/a", "page": "/b", "visitor": 1, "visitor": {"x": 2, "x": 3}}'
    (tmp_path / "x.json").write_text(text.replace("{}", "%s") % (FINE[0], twice, FINE[1]))
    assert visits(tmp_path / "x.json") == [("/a", "1"), ("/home", "1"), ("/home", "2")]


def test_a_look_in_small_pieces_sees_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LONGEST, "FIMI", 9)
    for content, odd in (
        (b"a\r\nb\r\n", False),
        (b"a\nb\r\n", True),
        (b"a\r\nb\n", True),
        (b"123456789\n", False),
        (b"1234567890\n", True),
        (b"a\n1234567890", True),
        (b"a\n\x01", True),
        ("é€𐍈\n".encode() * 9, False),
        (b"a\r", True),
    ):
        (tmp_path / "x").write_bytes(content)
        for size in (1, 2, 3, 5, 8):
            monkeypatch.setattr(text_lines, "_CHUNK", size)
            assert look_through(str(tmp_path / "x"), "FIMI", shown="x") is odd, (content, size)
    for size in (1, 2, 1 << 20):
        monkeypatch.setattr(text_lines, "_CHUNK", size)
        target = tmp_path / f"kept-{size}"
        (tmp_path / "x").write_bytes(b"\xef\xbb\xbf1234567890\r\n123456789\r\n" + b"y" * 99 + b"\nz\ra\nb\r")
        write_lines(str(tmp_path / "x"), "FIMI", target)
        assert target.read_bytes() == b"\n123456789\n\n\nb\n"


@pytest.mark.parametrize("content", [b"\xc3", b"a\xe9\n", b"a" * (1 << 20) + b"\xff"], ids=["cut", "latin", "far away"])
def test_only_text_that_is_not_utf8_is_called_so(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x").write_bytes("é".encode() * 10**6)
    look_through(str(tmp_path / "x"), "lines", shown="x")
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(TableError, match="^x is not UTF-8 text: pass encoding=") as caught:
        look_through(str(tmp_path / "x"), "lines", shown="x")
    assert caught.value.__context__ is None


def test_what_the_engine_alone_can_unpack_is_read_like_the_rest(tmp_path: Path) -> None:
    import duckdb

    lines = {
        "x.csv": ["page,visitor", "/home,1", '"a, b",2', '5" c,3', *(f"p{i},{i}" for i in range(200_000))],
        "x.jsonl": [FINE[0], RECORDS["half a pair"], *FINE[1:]],
        "x.dat": ["a b", "", "c"],
    }
    for name, each in lines.items():
        (tmp_path / name).write_text("\n".join([*each, ""]))
        form = "FORMAT csv, HEADER false, QUOTE '', ESCAPE '', DELIMITER '\x01', COMPRESSION zstd"
        line = "delim='\x01', quote='', escape='', header=false, auto_detect=false, columns={'line': 'VARCHAR'}"
        duckdb.sql(f"COPY (FROM read_csv('{tmp_path / name}', {line})) TO '{tmp_path / name}.zst' ({form})")
    assert visits(tmp_path / "x.csv.zst") == visits(tmp_path / "x.csv")
    assert len(visits(tmp_path / "x.csv.zst")) == 200_003
    assert visits(tmp_path / "x.jsonl.zst") == visits(tmp_path / "x.jsonl")
    assert items(tmp_path / "x.dat.zst") == ["a", "b", "c"]
