"""Files of datasets: every form is read, a bad one refused; a download is checked, and removed where that fails."""

from __future__ import annotations

import gzip
import hashlib
import sys
import zipfile
from pathlib import Path

import pooch
import pyarrow as pa
import pytest
from pyarrow import parquet

from sparsegate.errors import ParameterError, SparsegateError
from sparsegate.paper import PUBLISHED, data, fetch, load, read_counts
from sparsegate.paper.data import Published, how_checked

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


def test_parquet_of_pairs_is_counted(tmp_path: Path) -> None:
    counted = read_counts(table_file(tmp_path, {"record": [r for r, _ in PAIRS], "item": [f"w{i}" for _, i in PAIRS]}))
    assert sorted(counted.counts.tolist()) == sorted(COUNTS.values())
    assert counted.records == 3


def test_a_table_may_have_names_of_its_own_for_items_and_records(tmp_path: Path) -> None:
    text = "who,page\n" + "".join(f"{record},{item}\n" for record, item in PAIRS)
    counted = read_counts(write(tmp_path, text), item="page", user="who")
    assert (sorted(counted.counts.tolist()), counted.records) == (sorted(COUNTS.values()), 3)


def test_counts_are_taken_as_they_are(tmp_path: Path) -> None:
    columns: dict[str, list[object]] = {"item": list(COUNTS), "count": list(COUNTS.values())}
    for file in (write(tmp_path, "count,item\n3,a\n2,b\n1,c\n1,d\n", "csv"), table_file(tmp_path, columns)):
        assert (read_counts(file).counts.tolist(), read_counts(file).records) == ([3, 2, 1, 1], None)


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


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"record": [1, None], "item": [1, 2]}, "no empty cells; 1 were found"),
        ({"item": [[1], [2]], "count": [1, 2]}, "one value in a cell of the column item"),
        ({"item": [[1], [2]], "user": [1, 2]}, "one value in a cell of the column item"),
        ({"item": [1, 2], "count": pa.array([1, 2**64 - 1], pa.uint64())}, "of 2\\^53 at most"),
    ],
)
def test_a_bad_table_is_refused_with_a_reason(tmp_path: Path, columns: dict[str, list[object]], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        read_counts(table_file(tmp_path, columns))


def test_a_missing_file_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"^data must name a file that can be read.*No such file") as refused:
        read_counts(tmp_path / "nothing.dat")
    assert "\n" not in str(refused.value)


def test_without_pyarrow_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "pyarrow.csv", raising=False)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(SparsegateError, match=r"needs pyarrow; run: pip install 'pyarrow>=18'"):
        read_counts(write(tmp_path, "item,count\na,1\n"))


@pytest.fixture
def address(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """Publish a dataset of three records and two items at an address that pooch can reach without a network."""

    def publish(url: str, content: bytes, member: str | None = None) -> None:
        checksum = (f"sha256:{hashlib.sha256(content).hexdigest()}", "here")
        facts = {"records": 3, "items": 2, "source": "clicks", "url": url, "member": member, "checksum": checksum}
        row = Published(name="kosarak", title="Kosarak", **facts)
        monkeypatch.setattr(data, "PUBLISHED", {**PUBLISHED, "kosarak": row})

    copied = []

    def copy(url: str, output_file: object, _: object) -> None:
        copied.append(url)
        Path(str(output_file)).write_bytes(Path(url.removeprefix("http://here")).read_bytes())

    monkeypatch.setattr(pooch.core, "choose_downloader", lambda *_, **__: copy)
    publish.copied = copied
    return publish


def test_a_file_is_fetched_once_and_checked(address, tmp_path: Path) -> None:
    source = tmp_path / "kosarak.dat.gz"
    source.write_bytes(gzip.compress(b"1 2\n1\n2\n"))
    address(f"http://here{source}", b"1 2\n1\n2\n")
    first, second = fetch("kosarak", folder=tmp_path / "cache"), fetch("kosarak", folder=tmp_path / "cache")
    assert first == second
    assert load("kosarak", first).kind == "real"
    assert len(address.copied) == 1


def test_a_member_of_an_archive_is_unpacked(address, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "cup.zip", "w") as archive:
        archive.writestr("assoc/data.dat", content := "7\t1\n7\t2\n8\t1\n9\t2\n")
    address(f"http://here{tmp_path}/cup.zip", content.encode(), member="assoc/data.dat")
    path = fetch("kosarak", folder=tmp_path / "cache")
    assert path.name == "data.dat"


def test_what_is_no_archive_or_has_not_the_file_is_one_line_and_is_not_kept(address, tmp_path: Path) -> None:
    source = tmp_path / "cup.zip"
    address(f"http://here{source}", b"", member="assoc/data.dat")
    source.write_bytes(b"<html>moved</html>")
    with pytest.raises(SparsegateError, match=r"^could not download .*cup.zip \(BadZipFile\)"):
        fetch("kosarak", folder=tmp_path / "cache")
    with zipfile.ZipFile(source, "w") as archive:
        archive.writestr("assoc/other.dat", "1")
    with pytest.raises(SparsegateError, match=r"^could not find assoc/data.dat in what was downloaded"):
        fetch("kosarak", folder=tmp_path / "cache")
    assert not (tmp_path / "cache" / "cup.zip").exists()


def test_no_network_is_one_clear_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ConnectionError("unreachable")

    monkeypatch.setattr(pooch, "retrieve", fail)
    with pytest.raises(SparsegateError, match=r"^could not download https://.*kosarak.*--data$") as refused:
        fetch("kosarak", folder=tmp_path)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(("name", "reason"), [("aol", "has no public address"), ("zipf", "is made")])
def test_what_has_no_address_is_not_fetched(name: str, reason: str) -> None:
    with pytest.raises(ParameterError, match=reason):
        fetch(name)


@pytest.mark.parametrize(
    ("content", "published", "message"),
    [
        (b"1 2\n1\n", b"1 2\n1\n", r"2 records \(expected 3\)"),
        (b"1 2\n1\n2\n", b"2 1\n1\n2\n", "^data must have the public checksum of Kosarak, sha256:"),
    ],
)
def test_a_file_with_other_numbers_or_another_checksum_is_not_kept(
    address, tmp_path: Path, content: bytes, published: bytes, message: str
) -> None:
    source = tmp_path / "kosarak.dat"
    source.write_bytes(content)
    address(f"http://here{source}", published)
    with pytest.raises(ParameterError, match=message):
        fetch("kosarak", folder=tmp_path / "cache")
    assert not list((tmp_path / "cache").iterdir())


def test_addresses_are_https_and_what_has_no_sha_256_warns() -> None:
    assert all(row.url.startswith("https://") for row in PUBLISHED.values() if row.url)
    said = {row.name: how_checked(row.name).startswith("warning: ") for row in PUBLISHED.values() if row.url}
    assert said == {"bms-pos": True, "kosarak": False}
    assert "no checksum" in how_checked("aol")


def test_importing_the_evaluation_does_not_import_pooch() -> None:
    assert "pooch" not in vars(data)
