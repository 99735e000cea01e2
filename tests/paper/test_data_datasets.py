"""The four datasets: facts of the exact one, checks on files, and stand-ins that never pass for the data."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest

from sparsegate.errors import ParameterError
from sparsegate.paper import PUBLISHED, Dataset, Ladder, load, read_counts
from sparsegate.paper import data as datasets
from sparsegate.paper import data as known_files
from sparsegate.paper.data import LAWS, Published

FIMI = "1 2 3\n1 2\n1\n4 1\n"  # 4 records; items in 4, 2, 1 and 1 of them


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A FIMI file, and a Kosarak whose published numbers and checksum are those of the file."""
    _publish(monkeypatch, records=4, items=4)
    digest = hashlib.sha256(FIMI.encode()).hexdigest()
    monkeypatch.setattr(known_files, "CHECKSUMS", {"kosarak": (f"sha256:{digest}", "here")})
    path = tmp_path / "tiny.dat"
    path.write_text(FIMI, encoding="utf-8")
    return path


@pytest.fixture
def part(monkeypatch: pytest.MonkeyPatch) -> None:
    """The counts of the FIMI file are known to be of a part of Kosarak."""
    fingerprint = known_files.counts_fingerprint(Ladder.of([4, 2, 1, 1]))
    monkeypatch.setattr(known_files, "PARTS", {"kosarak": {fingerprint: 4}})


def _publish(monkeypatch: pytest.MonkeyPatch, *, records: int, items: int, occurrences: int | None = None) -> None:
    row = Published("kosarak", "Kosarak", records, items, "clicks", occurrences=occurrences)
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


def test_a_file_with_the_public_checksum_is_the_data(tiny: Path) -> None:
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


@pytest.mark.usefixtures("part")
def test_a_shorter_file_is_scaled_unrounded_and_padded(monkeypatch: pytest.MonkeyPatch, tiny: Path) -> None:
    _publish(monkeypatch, records=5, items=7)
    data = load("kosarak", tiny, scale_to_records=True)
    assert data.ladder.highest(7).tolist() == [5, 2.5, 1.25, 1.25, 1, 1, 1]
    assert (data.kind, data.stand_in, data.title, data.records) == ("scaled", False, "Kosarak (scaled)", 5)
    assert (
        "SCALED from the 4 records of tiny.dat (its first 4 records): counts times 1.25, not rounded, and 3 items"
        in data.description
    )


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
    assert load("kosarak", path).kind == "unverified file"
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


def test_a_file_that_is_not_known_is_called_unverified(monkeypatch: pytest.MonkeyPatch, tiny: Path) -> None:
    _publish(monkeypatch, records=5, items=7)
    data = load("kosarak", tiny, scale_to_records=True)
    assert (data.kind, data.title) == ("unverified file", "Kosarak (unverified file)")
    assert "(not known to be a part of it)" in data.description


def test_a_wrong_sum_of_counts_refuses_a_file_and_the_right_one_verifies_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "counts.csv"
    path.write_text("item,count\na,4\nb,2\nc,1\nd,1\n", encoding="utf-8")
    _publish(monkeypatch, records=4, items=4, occurrences=8)
    assert load("kosarak", path).kind == "unverified file"
    _publish(monkeypatch, records=4, items=4, occurrences=9)
    with pytest.raises(ParameterError, match=r"8 occurrences \(expected 9\)"):
        load("kosarak", path)


@pytest.mark.parametrize(("public", "why"), [(True, "not the public checksum"), (False, "no checksum of it is public")])
def test_a_made_file_with_all_the_published_numbers_is_not_the_data(
    monkeypatch: pytest.MonkeyPatch, tiny: Path, public: bool, why: str
) -> None:
    _publish(monkeypatch, records=4, items=4, occurrences=8)
    tiny.write_text("1 2 3\n1 4\n1 2\n1\n", encoding="utf-8")
    if not public:
        monkeypatch.setattr(known_files, "CHECKSUMS", {})
    data = load("kosarak", tiny)
    assert (data.kind, data.title) == ("unverified file", "Kosarak (unverified file)")
    assert why in data.description


@pytest.mark.usefixtures("part")
def test_records_that_are_claimed_make_no_file_the_data(monkeypatch: pytest.MonkeyPatch, tiny: Path) -> None:
    _publish(monkeypatch, records=9, items=4)
    monkeypatch.setattr(known_files, "CHECKSUMS", {})
    assert load("kosarak", tiny, records=9).kind == "unverified file"
    assert load("kosarak", tiny, scale_to_records=True).kind == "scaled"
    assert load("kosarak", tiny, records=8, scale_to_records=True).kind == "unverified file"  # counts of 4, not of 8


@pytest.mark.parametrize("scaled", [False, True])
def test_another_file_under_the_name_is_caught(monkeypatch: pytest.MonkeyPatch, tiny: Path, scaled: bool) -> None:
    _publish(monkeypatch, records=5, items=7)
    monkeypatch.setattr(known_files, "OTHERS", {(4, 4): "Retail"})
    rule = r"^data must be Kosarak: 4 records .*, which are the numbers of Retail.*--data retail=FILE"
    with pytest.raises(ParameterError, match=rule):
        load("kosarak", tiny, scale_to_records=scaled)


def test_retail_is_known_by_its_numbers() -> None:
    assert known_files.OTHERS[88_162, 16_470] == "Retail"


@pytest.mark.parametrize("name", known_files.PARTS)
def test_the_first_100_000_records_are_known_by_their_fingerprint(name: str) -> None:
    path = Path(__file__).parents[3] / "shared" / "data" / f"{name}-first-100k.dat.gz"
    if not path.is_file():
        pytest.skip(f"{path.name} is not in ../shared/data")
    assert known_files.part_of(name, read_counts(path)) == "its first 100,000 records"


def test_a_file_is_a_dataset_of_its_own(tiny: Path) -> None:
    data = Dataset.from_file(tiny, records=9)
    assert (data.name, data.title, data.kind, data.records) == ("tiny", "tiny (own file)", "own file", 9)
    assert data.ladder.highest(4).tolist() == [4, 2, 1, 1]
    assert Dataset.from_file(tiny, name="mine").records == 4
    assert Dataset.from_file(tiny, name="kosarak").kind == "real"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"name": "a=b"}, r"^dataset must have a name of at most 64 letters"),
        ({"name": ".."}, r"^dataset must have a name of at most 64 letters"),
        ({"name": "<script>"}, r"^dataset must have a name of at most 64 letters"),
        ({"name": "x" * 65}, r"^dataset must have a name of at most 64 letters"),
        ({"records": 3}, r"^records must be at least 4, which tiny.dat has, got 3"),
        ({"name": "zipf"}, r"^data must not be given for zipf"),
    ],
)
def test_a_file_of_its_own_is_refused_with_a_reason(tiny: Path, options: dict[str, object], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        Dataset.from_file(tiny, **options)


def test_counts_alone_need_the_number_of_records(tmp_path: Path) -> None:
    path = tmp_path / "counts.csv"
    path.write_text("item,count\na,4\nb,2\n", encoding="utf-8")
    assert Dataset.from_file(path, records=4).records == 4
    with pytest.raises(ParameterError, match=r"^records must be given for counts.csv: .* \(--records\)"):
        Dataset.from_file(path)
    with pytest.raises(ParameterError, match=r"^records must be at least 4"):
        Dataset.from_file(path, records=3)
