"""The four datasets: facts of the exact one, checks on files, and stand-ins that never pass for the data."""

from __future__ import annotations

import gzip
import zipfile
from pathlib import Path

import numpy as np
import pooch
import pytest

from sparsegate.errors import ParameterError, SparsegateError
from sparsegate.evaluation import PUBLISHED, fetch, load
from sparsegate.evaluation.data import datasets
from sparsegate.evaluation.data.datasets import LAWS, Published

FIMI = "1 2 3\n1 2\n1\n4 1\n"  # 4 records; items in 4, 2, 1 and 1 of them


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A FIMI file, and a Kosarak whose published numbers are those of the file."""
    _publish(monkeypatch, records=4, items=4)
    path = tmp_path / "tiny.dat"
    path.write_text(FIMI, encoding="utf-8")
    return path


def _publish(monkeypatch: pytest.MonkeyPatch, *, records: int, items: int) -> None:
    row = Published(name="kosarak", title="Kosarak", records=records, items=items, source="clicks")
    monkeypatch.setattr(datasets, "PUBLISHED", {**PUBLISHED, "kosarak": row})


def test_the_published_numbers_are_those_of_the_paper() -> None:
    assert {row.name: (row.records, row.items) for row in PUBLISHED.values()} == {
        "bms-pos": (515_597, 1_657),
        "kosarak": (990_002, 41_270),
        "aol": (647_377, 2_290_685),
        "zipf": (1_000_000, 10_000),
    }


def test_zipf_is_exact() -> None:
    zipf = load("zipf")
    scores = zipf.ladder.highest(10_000)
    assert (zipf.kind, zipf.stand_in, zipf.items) == ("exact", False, 10_000)
    assert scores.sum() == pytest.approx(1_000_000, rel=1e-12)
    assert scores * np.arange(1, 10_001) == pytest.approx(scores[0], rel=1e-12)
    assert scores[0] == pytest.approx(1_000_000 / 9.787606036, rel=1e-9)


@pytest.mark.parametrize(("name", "total"), [("bms-pos", 3_583_028), ("kosarak", 7_939_288), ("aol", 27_574_012)])
def test_a_stand_in_has_the_published_number_of_items_and_the_sum_it_states(name: str, total: int) -> None:
    data = load(name)
    assert (data.items, data.records) == (PUBLISHED[name].items, PUBLISHED[name].records)
    assert data.ladder.values @ data.ladder.sizes == total
    assert f"{total:,}" in data.description
    assert data.ladder.values[0] <= data.records
    assert data.ladder.values[-1] >= 1


@pytest.mark.parametrize("name", LAWS)
def test_a_stand_in_says_so(name: str) -> None:
    data = load(name)
    assert data.stand_in
    assert data.kind == "stand-in"
    assert "stand-in" in data.title
    assert data.description.startswith("STAND-IN, not the data")


@pytest.mark.parametrize("name", LAWS)
def test_a_law_uses_three_numbers(name: str) -> None:
    law = LAWS[name]
    assert (law.shift == 0) != np.isinf(law.cutoff)


def test_a_file_with_the_published_numbers_is_the_data(tiny: Path) -> None:
    data = load("kosarak", tiny)
    assert (data.kind, data.stand_in, data.title) == ("real", False, "Kosarak")
    assert data.ladder.highest(4).tolist() == [4, 2, 1, 1]
    assert data.description == "clicks; read from tiny.dat"


def test_a_file_with_other_numbers_is_refused_with_both(monkeypatch: pytest.MonkeyPatch, tiny: Path) -> None:
    _publish(monkeypatch, records=5, items=40)
    with pytest.raises(ParameterError) as refused:
        load("kosarak", tiny)
    assert "4 records (expected 5), 4 items (expected 40)" in str(refused.value)
    assert "--scale-to-records" in str(refused.value)


def test_a_shorter_file_is_scaled_unrounded_and_padded(monkeypatch: pytest.MonkeyPatch, tiny: Path) -> None:
    _publish(monkeypatch, records=5, items=7)
    data = load("kosarak", tiny, scale_to_records=True)
    assert data.ladder.highest(7).tolist() == [5, 2.5, 1.25, 1.25, 1, 1, 1]
    assert (data.kind, data.stand_in, data.title, data.records) == ("scaled", False, "Kosarak (scaled)", 5)
    assert "SCALED from the 4 records of tiny.dat: counts times 1.25, not rounded, and 3 items" in data.description


def test_a_whole_file_is_not_scaled(tiny: Path) -> None:
    assert load("kosarak", tiny, scale_to_records=True).kind == "real"


@pytest.mark.parametrize(("records", "items"), [(3, 4), (4, 3)])
def test_a_larger_file_is_never_scaled(monkeypatch: pytest.MonkeyPatch, tiny: Path, records: int, items: int) -> None:
    _publish(monkeypatch, records=records, items=items)
    with pytest.raises(ParameterError, match="must not be larger"):
        load("kosarak", tiny, scale_to_records=True)


def test_a_table_of_counts_is_checked_by_its_items(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "counts.csv"
    path.write_text("item,count\na,4\nb,2\nc,1\nd,1\n", encoding="utf-8")
    _publish(monkeypatch, records=4, items=4)
    assert load("kosarak", path).kind == "real"
    _publish(monkeypatch, records=4, items=5)
    with pytest.raises(ParameterError, match=r"4 items \(expected 5\)"):
        load("kosarak", path)
    with pytest.raises(ParameterError, match="must have records to be scaled"):
        load("kosarak", path, scale_to_records=True)


def test_an_item_in_more_records_than_there_are_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "counts.csv"
    path.write_text("item,count\na,9\nb,2\n", encoding="utf-8")
    _publish(monkeypatch, records=4, items=2)
    with pytest.raises(ParameterError, match="count of 9"):
        load("kosarak", path)


def test_zipf_takes_no_file(tiny: Path) -> None:
    with pytest.raises(ParameterError, match="must not be given for zipf"):
        load("zipf", tiny)


def test_an_unknown_name_is_refused_with_the_names() -> None:
    with pytest.raises(ParameterError, match=r"^dataset must be one of bms-pos, kosarak, aol, zipf, got 'retail'"):
        load("retail")


def test_a_fingerprint_tells_scores_apart(monkeypatch: pytest.MonkeyPatch, tiny: Path) -> None:
    whole = load("kosarak", tiny).fingerprint
    assert load("kosarak", tiny).fingerprint == whole
    _publish(monkeypatch, records=5, items=7)
    assert load("kosarak", tiny, scale_to_records=True).fingerprint != whole


@pytest.fixture
def address(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """Publish a dataset of three records and two items at an address that pooch can reach without a network."""

    def publish(url: str, member: str | None = None) -> None:
        row = Published(name="kosarak", title="Kosarak", records=3, items=2, source="clicks", url=url, member=member)
        monkeypatch.setattr(datasets, "PUBLISHED", {**PUBLISHED, "kosarak": row})

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
    address(f"http://here{source}")
    first, second = fetch("kosarak", folder=tmp_path / "cache"), fetch("kosarak", folder=tmp_path / "cache")
    assert first == second
    assert datasets.load("kosarak", first).kind == "real"
    assert len(address.copied) == 1


def test_a_member_of_an_archive_is_unpacked(address, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "cup.zip", "w") as archive:
        archive.writestr("assoc/data.dat", "7\t1\n7\t2\n8\t1\n9\t2\n")
    address(f"http://here{tmp_path}/cup.zip", member="assoc/data.dat")
    path = fetch("kosarak", folder=tmp_path / "cache")
    assert path.name == "data.dat"


def test_a_file_with_other_numbers_is_not_kept(address, tmp_path: Path) -> None:
    source = tmp_path / "kosarak.dat"
    source.write_bytes(b"1 2\n1\n")
    address(f"http://here{source}")
    with pytest.raises(ParameterError, match=r"2 records \(expected 3\)"):
        fetch("kosarak", folder=tmp_path / "cache")
    assert not list((tmp_path / "cache").iterdir())


def test_no_network_is_one_clear_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ConnectionError("unreachable")

    monkeypatch.setattr(pooch, "retrieve", fail)
    with pytest.raises(SparsegateError, match=r"^could not download http://fimi.*kosarak.*--data$") as refused:
        fetch("kosarak", folder=tmp_path)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(("name", "reason"), [("aol", "has no public address"), ("zipf", "is made")])
def test_what_has_no_address_is_not_fetched(name: str, reason: str) -> None:
    with pytest.raises(ParameterError, match=reason):
        fetch(name)


def test_importing_the_evaluation_does_not_import_pooch() -> None:
    assert "pooch" not in vars(datasets)
