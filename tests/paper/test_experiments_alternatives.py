"""Every alternative reading is run beside ours: what it changes, and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sparsegate.paper import experiments, read, run
from sparsegate.paper.readings import ALTERNATIVES
from sparsegate.paper.results import load_findings
from sparsegate.paper.statements import ReadingVerdicts, judge_readings, load_reading

SMALL = {"datasets": ["zipf", "bms-pos"], "counts": [50], "methods": ["em", "svt-s-1:c23", "svt-retr-2d"], "runs": 20}


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("readings")
    run(**SMALL, further=True, out=folder)
    return folder


def rows(folder: Path) -> dict[tuple[str, str, float, int], dict[str, float]]:
    return {(row["dataset"], row["method"], row["epsilon"], row["count"]): row for row in read(folder)}


def test_each_has_the_rows_that_it_changes_and_no_others(out: Path) -> None:
    found = {str(reading): rows(out / "readings" / str(reading)) for reading in ALTERNATIVES}
    pairs = {name: {cell[:2] for cell in cells} for name, cells in found.items()}
    assert {dataset for dataset, _ in pairs["zipf-total=2e6"]} == {"zipf"}
    assert {method for _, method in pairs["zipf-total=2e6"]} >= {"em", "svt-s-1:c23", "svt-retr-2d", "svt-retr-0d"}
    assert pairs["raise-unit=scale"] == {(dataset, "svt-retr-2d") for dataset in SMALL["datasets"]}
    again = {"svt-retr-0d", "svt-retr-2d", "svt-s-double-t-retr"}
    assert pairs["passes=100"] == pairs["passes=100,ser=totals"] == {(d, m) for d in SMALL["datasets"] for m in again}
    assert pairs["ser=totals"] == set()
    epsilons = {cell[2] for cell in found["zipf-total=2e6"]}
    assert epsilons == {0.05, 0.1, 0.2, 0.4, 0.8}  # those of the further experiments, too


def test_its_rows_are_of_another_law_than_ours(out: Path) -> None:
    ours, cell = rows(out), ("zipf", "svt-retr-2d", 0.1, 50)
    capped, scale, twice = (
        rows(out / "readings" / name) for name in ("passes=100", "raise-unit=scale", "zipf-total=2e6")
    )
    high = ("bms-pos", "svt-s-double-t-retr", 0.1, 50)
    assert rows(out / "thresholds")[high]["selected_mean"] > capped[high]["selected_mean"] + 5
    assert scale[cell]["ser_mean"] != ours[cell]["ser_mean"] > twice[cell]["ser_mean"]


def test_findings_under_a_reading_have_its_rows_in_the_place_of_ours(out: Path) -> None:
    ours = load_findings(out)
    for reading in ALTERNATIVES:
        other = load_reading(out, ours, reading)
        assert other is not None
        assert other.reading == reading
        assert set(other.rows) == set(ours.rows)
        own = {cell for cell in ours.rows if other.rows[cell] != ours.rows[cell]}
        if reading.ser == "totals":
            assert all(row.ser_mean == row.total_ser_mean for row in other.rows.values())
        else:
            assert {(c.dataset, c.method, c.epsilon, c.count) for c in own} <= set(
                rows(out / "readings" / str(reading))
            )
    rescaled = load_reading(out, ours, ALTERNATIVES[0])
    assert rescaled is not None
    assert (rescaled.place("zipf"), ours.place("zipf")) == ("zipf (rescaled)", "zipf")


def test_the_verdicts_of_all_are_one_table(out: Path) -> None:
    found, judged = ReadingVerdicts.load(out), judge_readings(out)
    assert found is not None
    assert list(found.by_reading) == ["ours", *map(str, ALTERNATIVES)]
    supports = [
        {name: {key: one.support for key, one in there.items()} for name, there in verdicts.by_reading.items()}
        for verdicts in (found, judged)
    ]
    assert supports[0] == supports[1]
    assert found.changes("ours") == {}
    assert {key for name in found.by_reading for key in found.changes(name)} == set(found.disputed)
    assert not any(key.startswith("value-") for key in found.statements)  # nothing printed is comparable here
    assert "uses-less-accurate" not in found.statements  # no use was measured, and no reading would change it
    sheet = found.sheet()
    assert list(sheet.columns["reading"]) == list(found.by_reading)


def test_a_run_under_another_reading_has_no_alternatives_and_forgets_those_that_were_there(tmp_path: Path) -> None:
    small = {**SMALL, "datasets": ["zipf"], "methods": ["em", "svt-retr-2d"], "runs": 3}
    run(**small, further=True, out=tmp_path)
    assert ReadingVerdicts.load(tmp_path) is not None
    run(**small, further=True, out=tmp_path, reading=["passes=1", "ser=totals", "zipf-total=3e6"])
    assert ReadingVerdicts.load(tmp_path) is None
    findings = load_findings(tmp_path)
    assert str(findings.reading) == "zipf-total=3000000,passes=1,ser=totals"
    assert findings.datasets["zipf"]["sum_of_scores"] == pytest.approx(3e6)
    assert {entry["passes"] for entry in findings.methods.values()} == {1}
    assert all(row.ser_mean == row.total_ser_mean for row in findings.rows.values())
    assert list(judge_readings(tmp_path).by_reading) == [str(findings.reading)]


@pytest.mark.parametrize(("selections", "runs"), [(10**6, 40), (50 * 30, 30)])
def test_a_row_of_ours_that_an_alternative_needs_more_runs_of_stays_what_it_is_under_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, selections: int, runs: int
) -> None:
    """And an alternative asks for no more runs once there are many selections."""
    monkeypatch.setattr(experiments, "MOST_SELECTIONS", selections)
    more_runs = experiments.more_runs

    def others_alone(first: Any, *rest: Any, **options: Any) -> Any:
        return more_runs(first, *rest, **options) if "what" in options else dict(first)

    monkeypatch.setattr(experiments, "more_runs", others_alone)
    small = {**SMALL, "datasets": ["zipf"], "methods": ["em", "svt-s-1:c23"], "runs": 20}
    run(**small, further=True, most_runs=40, out=tmp_path)
    ours, totals = rows(tmp_path), rows(tmp_path / "readings" / "ser=totals")
    assert {row["runs"] for row in ours.values()} == {20}
    assert {row["runs"] for row in totals.values() if row["count"] == 50} == {runs}
    assert set(totals) >= set(ours)


def test_a_case_of_two_alternatives_goes_on_from_the_runs_of_the_first(out: Path) -> None:
    first, second = (rows(out / "readings" / name) for name in ("passes=100", "passes=100,ser=totals"))
    shared = [cell for cell in first if "retr" in cell[1]]
    assert shared
    assert all(second[cell]["runs"] >= first[cell]["runs"] for cell in shared)
