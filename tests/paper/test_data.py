"""The four datasets: facts of the exact one, checks on files, and stand-ins that never pass for the data."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sparsegate.errors import ParameterError
from sparsegate.paper import PUBLISHED, Dataset, Ladder, data, load, read_counts
from sparsegate.paper.data import OTHERS, counts_fingerprint

FIMI = "1 2 3\n1 2\n1\n4 1\n"  # 4 records; items in 4, 2, 1 and 1 of them
LAWS = [name for name, row in PUBLISHED.items() if row.law]
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
def test_a_stand_in_says_so_and_has_the_published_number_of_items_and_the_sum_it_states(name: str, total: int) -> None:
    made, row = load(name), PUBLISHED[name]
    assert (made.kind, made.stand_in, made.title) == ("stand-in", True, f"{row.title} (stand-in)")
    assert made.description.startswith("STAND-IN, not the data")
    assert (made.items, made.records) == (row.items, row.records)
    assert made.ladder.values @ made.ladder.sizes == total
    assert f"{total:,}" in made.description
    assert 1 <= made.ladder.values[-1] < made.ladder.values[0] <= made.records
    assert row.law is not None
    assert (row.law.shift == 0) != np.isinf(row.law.cutoff)  # a law of three numbers


def test_a_file_with_the_public_checksum_is_the_data(tiny: Path) -> None:
    for scale in (False, True):
        real = load("kosarak", tiny, scale_to_records=scale)
        assert (real.kind, real.stand_in, real.title) == ("real", False, "Kosarak")
        assert real.ladder.highest(4).tolist() == [4, 2, 1, 1]
        assert real.description == "clicks; read from tiny.dat"


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
    ("published", "options", "message"),
    [
        ({"records": 5, "items": 40}, {}, r"4 records \(expected 5\), 4 items \(expected 40\).*--scale-to-records"),
        ({"records": 3, "items": 4}, {"scale_to_records": True}, "must not be larger"),
        ({"records": 4, "items": 3}, {"scale_to_records": True}, "must not be larger"),
        ({"records": 4, "items": 4, "occurrences": 9}, {}, r"8 occurrences \(expected 9\)"),
    ],
)
def test_a_file_with_other_numbers_is_refused(
    publish: Publish, tiny: Path, published: dict[str, int], options: dict[str, bool], message: str
) -> None:
    publish(**published)
    with pytest.raises(ParameterError, match=message):
        load("kosarak", tiny, **options)


def test_a_table_of_counts_is_checked_by_its_items(publish: Publish, counts: Path) -> None:
    publish(records=4, items=4, occurrences=8)
    assert load("kosarak", counts).kind == "unverified file"
    publish(records=4, items=5)
    with pytest.raises(ParameterError, match=r"4 items \(expected 5\)"):
        load("kosarak", counts)
    with pytest.raises(ParameterError, match="must have records to be scaled"):
        load("kosarak", counts, scale_to_records=True)
    publish(records=3, items=4)
    with pytest.raises(ParameterError, match="count of 4, more than the 3 records"):
        load("kosarak", counts)


def test_a_name_that_takes_no_file_or_has_none_is_refused(tiny: Path) -> None:
    with pytest.raises(ParameterError, match="must not be given for zipf"):
        load("zipf", tiny)
    with pytest.raises(ParameterError, match=r"^dataset must be one of bms-pos, kosarak, aol, zipf, got 'retail'"):
        load("retail")


@pytest.mark.parametrize(
    ("checksum", "why"),
    [(("sha256:00", "here"), "not the public checksum"), (None, "no checksum of it is public")],
)
def test_a_made_file_with_all_the_published_numbers_is_not_the_data(
    publish: Publish, tiny: Path, checksum: tuple[str, str] | None, why: str
) -> None:
    publish(records=4, items=4, occurrences=8, checksum=checksum)
    made = load("kosarak", tiny)
    assert (made.kind, made.title) == ("unverified file", "Kosarak (unverified file)")
    assert why in made.description


def test_records_that_are_claimed_make_no_file_the_data(publish: Publish, tiny: Path) -> None:
    publish(records=9, items=4, parts=PART)
    assert load("kosarak", tiny, records=9).kind == "unverified file"
    assert load("kosarak", tiny, scale_to_records=True).kind == "scaled"
    assert load("kosarak", tiny, records=8, scale_to_records=True).kind == "unverified file"  # counts of 4, not of 8


@pytest.mark.parametrize("scaled", [False, True])
def test_another_file_under_the_name_is_caught(
    publish: Publish, monkeypatch: pytest.MonkeyPatch, tiny: Path, scaled: bool
) -> None:
    assert OTHERS[88_162, 16_470] == "Retail"
    publish(records=5, items=7)
    monkeypatch.setattr(data, "OTHERS", {(4, 4): "Retail"})
    rule = r"^data must be Kosarak: 4 records .*, which are the numbers of Retail.*--data retail=FILE"
    with pytest.raises(ParameterError, match=rule):
        load("kosarak", tiny, scale_to_records=scaled)


@pytest.mark.parametrize("name", ["bms-pos", "kosarak"])
def test_the_first_100_000_records_are_known_by_their_fingerprint(name: str) -> None:
    path = Path(__file__).parents[3] / "shared" / "data" / f"{name}-first-100k.dat.gz"
    if not path.is_file():
        pytest.skip(f"{path.name} is not in ../shared/data")
    assert PUBLISHED[name].part(read_counts(path)) == "its first 100,000 records"


def test_a_file_is_a_dataset_of_its_own(tiny: Path, counts: Path) -> None:
    own = Dataset.from_file(tiny, records=9)
    assert (own.name, own.title, own.kind, own.records) == ("tiny", "tiny (own file)", "own file", 9)
    assert own.ladder.highest(4).tolist() == [4, 2, 1, 1]
    assert Dataset.from_file(tiny, name="mine").records == 4
    assert Dataset.from_file(tiny, name="kosarak").kind == "real"
    assert Dataset.from_file(counts, records=4).records == 4


@pytest.mark.parametrize(
    ("file", "options", "parameter"),
    [
        *(("tiny", {"name": name}, "dataset") for name in ("a=b", "..", "<script>", "x" * 65)),
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
