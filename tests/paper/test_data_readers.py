"""Reading item counts: every form of file, good and bad."""

from __future__ import annotations

import gzip
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from sparsegate.errors import ParameterError, SparsegateError
from sparsegate.paper.data import read_counts

FIMI = "1 2 3\n1\n2 1 99\n"  # item 1 is in three records, 2 in two, 3 and 99 in one
PAIRS = [(7, 1), (7, 2), (7, 3), (8, 1), (9, 2), (9, 1), (9, 99)]
COUNTS = {1: 3, 2: 2, 3: 1, 99: 1}


def write(folder: Path, content: str | bytes, name: str = "data") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def table_file(folder: Path, columns: dict[str, list[object]]) -> Path:
    parquet.write_table(pa.table(columns), folder / "data")
    return folder / "data"


@pytest.mark.parametrize(
    "text",
    [
        FIMI,
        FIMI.rstrip("\n"),
        FIMI.replace("\n", " \n"),
        FIMI.replace("\n", "\r\n"),
        FIMI.replace("\n", "\r"),
        "\N{ZERO WIDTH NO-BREAK SPACE}" + FIMI,
        FIMI.replace(" ", ","),
        "\n" + FIMI.replace("\n", "\n\n"),
        "1 2 3 3 3\n1\n2 1 99 2\n",
        "".join(f"{record}\t{item}\n" for record, item in PAIRS),
        "".join(f"{record}\t{item}\n" for record, item in sorted(PAIRS, key=lambda pair: pair[1])),
        "record,item\n" + "".join(f"{record},{item}\n" for record, item in PAIRS),
        "item,transaction\n" + "".join(f"{item},{record}\n" for record, item in PAIRS),
        "user,item\n" + "".join(f"u{record},word {item}\n" for record, item in PAIRS + PAIRS),
    ],
)
@pytest.mark.parametrize("pack", [str.encode, lambda text: gzip.compress(text.encode())], ids=["plain", "gzip"])
def test_transactions_are_counted_in_every_form(tmp_path: Path, text: str, pack) -> None:
    counted = read_counts(write(tmp_path, pack(text)))
    assert sorted(counted.counts.tolist()) == sorted(COUNTS.values())
    assert counted.records == 3


@pytest.mark.parametrize("columns", [{"record": [r for r, _ in PAIRS], "item": [f"w{i}" for _, i in PAIRS]}])
def test_parquet_of_pairs_is_counted(tmp_path: Path, columns: dict[str, list[object]]) -> None:
    counted = read_counts(table_file(tmp_path, columns))
    assert sorted(counted.counts.tolist()) == sorted(COUNTS.values())
    assert counted.records == 3


def test_counts_are_taken_as_they_are_from_csv(tmp_path: Path) -> None:
    counted = read_counts(write(tmp_path, "count,item\n3,a\n2,b\n1,c\n1,d\n"))
    assert counted.counts.tolist() == [3, 2, 1, 1]
    assert counted.records is None


def test_counts_are_taken_as_they_are_from_parquet(tmp_path: Path) -> None:
    counted = read_counts(table_file(tmp_path, {"item": list(COUNTS), "count": list(COUNTS.values())}))
    assert counted.counts.tolist() == list(COUNTS.values())
    assert counted.records is None


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "not empty"),
        (" \n\n", "not empty"),
        ("1 2\n3 x 4\n", "line 2 does not"),
        ("1 2\n3 -4\n", "line 2 does not"),
        ("1 2\n3 4.5\n", "line 2 does not"),
        ("1 1234567890123456789\n", "at most 18 digits"),
        ("1\t2\n3\t4\t5\n", "a record and an item on every line"),
        ("1\t2\t3\t4\n", "a record and an item on every line"),
        ("item,number\na,1\n", "columns item and count"),
        ("item,count\n", "have rows"),
        ("item,count\na,0\n", "whole numbers of at least 1"),
        ("item,count\na,1.5\n", "whole numbers of at least 1"),
        ("item,count\na,many\n", "whole numbers of at least 1"),
        ("item,count\na,1\na,2\n", "each item once"),
        (f"item,count\na,{2**53 + 1}\n", "of 2\\^53 at most"),
        ("item,count,count\na,1,2\n", "each of its columns once"),
        ("item,count\na,1\n".encode("utf-16"), "not in UTF-16"),
        (FIMI.encode("utf-16"), "not in UTF-16"),
        ("caf\u00e9,count\na,1\n".encode("latin-1"), "readable as a table"),
        (",\n , \n", "hold numbers; there is none"),
        ("item,count\na,1,7\n", "readable as a table"),
        (b"PAR1 and then nothing of the kind", "readable as a table"),
        (gzip.compress(FIMI.encode(), mtime=0)[:-9], "not a whole gzip file"),
    ],
)
def test_a_bad_file_is_refused_with_a_reason(tmp_path: Path, content: str | bytes, message: str) -> None:
    with pytest.raises(ParameterError, match=f"^data must.*{message}"):
        read_counts(write(tmp_path, content))


def test_empty_cells_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="no empty cells; 1 were found"):
        read_counts(table_file(tmp_path, {"record": [1, None], "item": [1, 2]}))


@pytest.mark.parametrize("beside", [{"count": [1, 2]}, {"user": [1, 2]}])
def test_lists_in_cells_are_refused(tmp_path: Path, beside: dict[str, list[object]]) -> None:
    with pytest.raises(ParameterError, match="one value in a cell of the column item"):
        read_counts(table_file(tmp_path, {"item": [[1], [2]], **beside}))


def test_a_count_that_only_an_unsigned_number_holds_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="of 2\\^53 at most"):
        read_counts(table_file(tmp_path, {"item": [1, 2], "count": pa.array([1, 2**64 - 1], pa.uint64())}))


def test_a_missing_file_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"^data must name a file that can be read.*No such file") as refused:
        read_counts(tmp_path / "nothing.dat")
    assert "\n" not in str(refused.value)


def test_without_pyarrow_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "pyarrow.csv", raising=False)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(SparsegateError, match=r"needs pyarrow; run: pip install 'pyarrow>=18'"):
        read_counts(write(tmp_path, "item,count\na,1\n"))
