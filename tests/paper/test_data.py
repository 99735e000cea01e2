"""Datasets: the exact one, stand-ins that never pass for the data, files in every form, and checked downloads."""

from __future__ import annotations

import gzip
import hashlib
import sys
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pooch
import pyarrow as pa
import pytest
from pyarrow import parquet

from sparsegate.errors import ParameterError, SparsegateError
from sparsegate.paper import PUBLISHED, Dataset, Ladder, data, fetch, load, read_counts
from sparsegate.paper.data import counts_fingerprint, how_checked

FIMI = "1 2 3\n1 2\n1\n4 1\n"  # 4 records; items in 4, 2, 1 and 1 of them
Publish = Callable[..., None]


@pytest.fixture
def publish(monkeypatch: pytest.MonkeyPatch) -> Publish:
    """Makes another row of Kosarak the published one."""

    def change(*, records: int, items: int, **changes: object) -> None:
        facts = {"records": records, "items": items, "source": "clicks", "occurrences": None, "checksum": None}
        row = replace(PUBLISHED["kosarak"], **facts | {"parts": {}} | changes)  # type: ignore[arg-type]
        monkeypatch.setattr(data, "PUBLISHED", {**PUBLISHED, "kosarak": row})

    return change


@pytest.fixture
def tiny(publish: Publish, tmp_path: Path) -> Path:
    """A FIMI file, and a Kosarak whose published numbers and checksum are those of the file."""
    digest = hashlib.sha256(FIMI.encode()).hexdigest()
    publish(records=4, items=4, checksum=(f"sha256:{digest}", "here"))
    path = tmp_path / "tiny.dat"
    path.write_text(FIMI, encoding="utf-8")
    return path


@pytest.fixture
def counts(tmp_path: Path) -> Path:
    """The same as a table of counts, which does not tell the number of records."""
    path = tmp_path / "counts.csv"
    path.write_text("item,count\na,4\nb,2\nc,1\nd,1\n", encoding="utf-8")
    return path


PART = {counts_fingerprint(Ladder.of([4, 2, 1, 1])): 4}


def test_zipf_is_exact() -> None:
    zipf = load("zipf")
    scores = zipf.ladder.highest(10_000)
    assert (zipf.kind, zipf.stand_in, zipf.items) == ("exact", False, 10_000)
    assert scores * np.arange(1, 10_001) == pytest.approx(1_000_000 / 9.787606036, rel=1e-9)


@pytest.mark.parametrize("name", ["bms-pos", "kosarak", "aol"])
def test_a_stand_in_says_so_and_has_the_published_number_of_items_and_the_counts_of_its_knots(name: str) -> None:
    made, row = load(name), PUBLISHED[name]
    assert (made.kind, made.stand_in, made.title) == ("stand-in", True, f"{row.title} (stand-in)")
    assert made.description.startswith("STAND-IN, not the data")
    assert (made.items, made.records) == (row.items, row.records)
    assert 1 <= made.ladder.values[-1] < made.ladder.values[0] <= made.records
    assert row.law is not None
    assert {rank: made.ladder.score(rank) for rank in row.law.knots} == {r: round(c) for r, c in row.law.knots.items()}
    assert f"{len(row.law.knots)} knots, from rank 1 with {made.ladder.score(1):,.0f} to rank" in made.description
    assert (
        (made.ladder.values @ made.ladder.sizes == 27_574_012) == (name == "aol") == ("27,574,012" in made.description)
    )


@pytest.mark.parametrize("name", ["bms-pos", "kosarak"])
def test_a_public_sample_is_known_by_its_fingerprint_and_the_law_has_its_counts(name: str) -> None:
    sample = Path(__file__).parents[3] / "shared" / "data" / f"{name}-first-100k.dat.gz"
    if not sample.is_file():
        pytest.skip(f"{sample.name} is not in ../shared/data")
    counted, law = read_counts(sample), PUBLISHED[name].law
    assert PUBLISHED[name].part(counted) == "its first 100,000 records"
    scaled = np.sort(counted.counts)[::-1] * (PUBLISHED[name].records / 100_000)
    assert law is not None
    *knots, last = law.knots.items()
    assert [round(scaled[rank - 1]) for rank, _ in knots] == [count for _, count in knots]
    assert last == (PUBLISHED[name].items, 1)


@pytest.mark.parametrize(("parts", "kind"), [(PART, "scaled"), ({}, "unverified file")])
def test_a_shorter_file_is_scaled_unrounded_and_padded(
    publish: Publish, tiny: Path, parts: dict[str, int], kind: str
) -> None:
    whole = load("kosarak", tiny).fingerprint
    publish(records=5, items=7, parts=parts)
    scaled = load("kosarak", tiny, scale_to_records=True)
    assert scaled.ladder.highest(7).tolist() == [5, 2.5, 1.25, 1.25, 1, 1, 1]
    assert (scaled.kind, scaled.stand_in, scaled.title, scaled.records) == (kind, False, f"Kosarak ({kind})", 5)
    known = "its first 4 records" if parts else "not known to be a part of it"
    assert f"SCALED from the 4 records of tiny.dat ({known}): counts times 1.25, not rounded" in scaled.description
    assert "and 3 items" in scaled.description
    assert scaled.fingerprint != whole == load("tiny", tiny).fingerprint


@pytest.mark.parametrize(
    ("file", "published", "options"),
    [
        ("tiny", {"records": 5, "items": 40}, {}),
        ("tiny", {"records": 3, "items": 4}, {"scale_to_records": True}),
        ("tiny", {"records": 4, "items": 3}, {"scale_to_records": True}),
        ("tiny", {"records": 4, "items": 4, "occurrences": 9}, {}),
        ("counts", {"records": 4, "items": 5}, {}),
        ("counts", {"records": 4, "items": 5}, {"scale_to_records": True}),  # which has no number of records
        ("counts", {"records": 3, "items": 4}, {}),  # and one item more often than there are records
    ],
)
def test_a_file_with_other_numbers_is_refused(
    request: pytest.FixtureRequest, publish: Publish, file: str, published: Any, options: Any
) -> None:
    path = request.getfixturevalue(file)
    publish(**published)
    with pytest.raises(ParameterError) as refused:
        load("kosarak", path, **options)
    assert refused.value.parameter == "data"


def test_records_that_are_claimed_make_no_file_the_data(publish: Publish, tiny: Path) -> None:
    real = load("kosarak", tiny, scale_to_records=True)
    assert (real.kind, real.title, real.description) == ("real", "Kosarak", "clicks; read from tiny.dat")
    assert real.ladder.highest(4).tolist() == [4, 2, 1, 1]
    for checksum, why in ((("sha256:00", "here"), "not the public checksum"), (None, "no checksum of it is public")):
        publish(records=4, items=4, occurrences=8, checksum=checksum)
        made = load("kosarak", tiny)
        assert (made.kind, made.title) == ("unverified file", "Kosarak (unverified file)")
        assert why in made.description
    publish(records=9, items=4, parts=PART)
    assert load("kosarak", tiny, records=9).kind == "unverified file"
    assert load("kosarak", tiny, scale_to_records=True).kind == "scaled"
    assert load("kosarak", tiny, records=8, scale_to_records=True).kind == "unverified file"  # counts of 4, not of 8


def test_a_file_is_a_dataset_of_its_own(tiny: Path, counts: Path) -> None:
    own = Dataset.from_file(tiny, records=9)
    assert (own.name, own.title, own.kind, own.records) == ("tiny", "tiny (own file)", "own file", 9)
    assert Dataset.from_file(tiny, name="mine").records == Dataset.from_file(counts, records=4).records == 4


@pytest.mark.parametrize(
    ("file", "options", "parameter"),
    [
        *(("tiny", {"name": name}, "dataset") for name in ("..", "<script>", "x" * 65)),
        ("tiny", {"name": "zipf"}, "data"),
        ("tiny", {"records": 3}, "records"),
        ("counts", {}, "records"),
        ("counts", {"records": 3}, "records"),
    ],
)
def test_a_file_of_its_own_is_refused_with_a_reason(
    request: pytest.FixtureRequest, file: str, options: dict[str, object], parameter: str
) -> None:
    with pytest.raises(ParameterError) as refused:
        Dataset.from_file(request.getfixturevalue(file), **options)  # type: ignore[arg-type]
    assert refused.value.parameter == parameter


PAIRS = [(7, 1), (7, 2), (7, 3), (8, 1), (9, 2), (9, 1), (9, 99)]
BASKETS = "1 2 3\n1\n2 1 99\n"  # item 1 is in three records, 2 in two, 3 and 99 in one


def write(folder: Path, content: str | bytes, name: str = "data") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def table_file(folder: Path, columns: dict[str, list[object]]) -> Path:
    parquet.write_table(pa.table(columns), folder / "data")
    return folder / "data"


ROWS = [f"{record},{item}\n" for record, item in PAIRS]


@pytest.mark.parametrize(
    "text",
    [
        *(BASKETS, BASKETS.rstrip("\n"), BASKETS.replace(" ", ","), "\N{ZERO WIDTH NO-BREAK SPACE}" + BASKETS),
        *(BASKETS.replace("\n", end) for end in (" \n", "\r\n", "\r")),
        *("\n" + BASKETS.replace("\n", "\n\n"), "1 2 3 3 3\n1\n2 1 99 2\n"),
        *("".join(rows).replace(",", "\t") for rows in (ROWS, sorted(ROWS, key=lambda row: row.partition(",")[2]))),
        *("record,item\n" + "".join(ROWS), "who,page\n" + "".join(ROWS)),
        "item,transaction\n" + "".join(f"{item},{record}\n" for record, item in PAIRS),
        "user,item\n" + "".join(f"u{record},word {item}\n" for record, item in PAIRS + PAIRS),
    ],
)
def test_transactions_are_counted_in_every_form(tmp_path: Path, text: str) -> None:
    for content in (text.encode(), gzip.compress(text.encode())):
        counted = read_counts(write(tmp_path, content), item="page", user="who")
        assert (sorted(counted.counts.tolist()), counted.records) == ([1, 1, 2, 3], 3)


def test_parquet_is_counted_and_counts_are_taken_as_they_are(tmp_path: Path) -> None:
    pairs = {"record": [record for record, _ in PAIRS], "item": [f"w{item}" for _, item in PAIRS]}
    counted = read_counts(table_file(tmp_path, pairs))
    assert (sorted(counted.counts.tolist()), counted.records) == ([1, 1, 2, 3], 3)
    for file in (
        write(tmp_path, "count,item\n3,a\n2,b\n", "csv"),
        table_file(tmp_path, {"item": [1, 2], "count": [3, 2]}),
    ):
        assert (read_counts(file).counts.tolist(), read_counts(file).records) == ([3, 2], None)


BAD_FILES = (
    *("", ",\n , \n", "1 2\n3 x 4\n", "1 2\n3 -4\n", "1 1234567890123456789\n", "1\t2\n3\t4\t5\n", None),
    *("item,number\na,1\n", "item,count\n", "item,count\na,0\n", "item,count\na,1.5\n", "item,count\na,many\n"),
    *("item,count\na,1\na,2\n", f"item,count\na,{2**53 + 1}\n", "item,count,count\na,1,2\n", "item,count\na,1,7\n"),
    *(BASKETS.encode("utf-16"), "caf\u00e9,count\na,1\n".encode("latin-1"), b"PAR1 and then nothing of the kind"),
    *(gzip.compress(BASKETS.encode(), mtime=0)[:-9], {"record": [1, None], "item": [1, 2]}),
    *({"item": [[1], [2]], "count": [1, 2]}, {"item": [1, 2], "count": pa.array([1, 2**64 - 1], pa.uint64())}),
)


@pytest.mark.parametrize("content", BAD_FILES)
def test_a_bad_file_is_refused_in_one_line(tmp_path: Path, content: Any) -> None:
    if isinstance(content, dict):
        table_file(tmp_path, content)
    elif content is not None:
        write(tmp_path, content)
    with pytest.raises(ParameterError) as refused:
        read_counts(tmp_path / "data")
    assert refused.value.parameter == "data"
    assert "\n" not in str(refused.value)


def test_without_pyarrow_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "pyarrow.csv", raising=False)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(SparsegateError, match=r"needs pyarrow; run: pip install 'pyarrow>=18'"):
        read_counts(write(tmp_path, "item,count\na,1\n"))


@pytest.fixture
def address(monkeypatch: pytest.MonkeyPatch, publish: Publish) -> Callable[..., list[str]]:
    """Publish a dataset of three records and two items at an address that pooch can reach without a network."""
    copied: list[str] = []

    def copy(url: str, output_file: object, _: object) -> None:
        copied.append(url)
        Path(str(output_file)).write_bytes(Path(url.removeprefix("http://here")).read_bytes())

    def at(source: Path, content: bytes, member: str | None = None) -> list[str]:
        checksum = (f"sha256:{hashlib.sha256(content).hexdigest()}", "here")
        publish(records=3, items=2, url=f"http://here{source}", member=member, checksum=checksum)
        return copied

    monkeypatch.setattr(pooch.core, "choose_downloader", lambda *_, **__: copy)
    return at


def test_a_file_is_fetched_once_and_checked(address: Callable[..., list[str]], tmp_path: Path) -> None:
    copied = address(write(tmp_path, gzip.compress(b"1 2\n1\n2\n"), "kosarak.dat.gz"), b"1 2\n1\n2\n")
    first, second = (fetch("kosarak", folder=tmp_path / "cache") for _ in range(2))
    assert (first, len(copied), load("kosarak", first).kind) == (second, 1, "real")
    assert all(row.url.startswith("https://") for name, row in PUBLISHED.items() if row.url)
    assert [how_checked(name).startswith("warning: ") for name in ("bms-pos", "kosarak", "aol")] == [True, False, True]


def test_a_member_of_an_archive_is_unpacked_and_what_is_none_is_not_kept(
    address: Callable[..., list[str]], tmp_path: Path
) -> None:
    source, content, cache = tmp_path / "cup.zip", "7\t1\n7\t2\n8\t1\n9\t2\n", tmp_path / "cache"
    address(source, content.encode(), member="assoc/data.dat")
    with pytest.raises(SparsegateError, match=r"^could not download .*cup.zip \(FileNotFoundError\)"):  # as offline
        fetch("kosarak", folder=cache)
    source.write_bytes(b"<html>moved</html>")
    with pytest.raises(SparsegateError, match=r"^could not download .*cup.zip \(BadZipFile\)"):
        fetch("kosarak", folder=cache)
    for name in ("other", "data"):
        with zipfile.ZipFile(source, "w") as archive:
            archive.writestr(f"assoc/{name}.dat", content)
        if name == "other":
            with pytest.raises(SparsegateError, match=r"^could not find assoc/data.dat in what was downloaded"):
                fetch("kosarak", folder=cache)
            assert not (cache / "cup.zip").exists()
    assert fetch("kosarak", folder=cache).name == "data.dat"


@pytest.mark.parametrize(
    ("content", "published", "message"),
    [
        (b"1 2\n1\n", b"1 2\n1\n", r"2 records \(expected 3\)"),
        (b"1 2\n1\n2\n", b"2 1\n1\n2\n", "^data must have the public checksum of Kosarak, sha256:"),
    ],
)
def test_a_file_with_other_numbers_or_another_checksum_is_not_kept(
    address: Callable[..., list[str]], tmp_path: Path, content: bytes, published: bytes, message: str
) -> None:
    address(write(tmp_path, content, "kosarak.dat"), published)
    with pytest.raises(ParameterError, match=message):
        fetch("kosarak", folder=tmp_path / "cache")
    assert not list((tmp_path / "cache").iterdir())
