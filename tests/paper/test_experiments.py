"""Experiments: the same numbers however the work is shared, kept through an interruption, more where they decide."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from tests.support.made_findings import verdict_on

from sparsegate.errors import ParameterError
from sparsegate.paper import METHODS, Dataset, Ladder, Progress, experiments, read, run
from sparsegate.paper.decisions import LOOKS, Support
from sparsegate.paper.experiments import CaseRunner, ExperimentCase, Gathered, merged
from sparsegate.paper.ranked import Errors
from sparsegate.paper.readings import ABLATION, ALTERNATIVES, EPSILON, LARGE, OURS
from sparsegate.paper.results import COLUMNS, ExperimentResults, ResultFolder, commit, load_findings
from sparsegate.paper.statements import ReadingVerdicts, judge_readings, load_reading
from sparsegate.paper.workers import WorkerPool

GRID: dict[str, Any] = {"datasets": ["zipf"], "counts": [25, 50], "methods": ["em", "svt-dpbook"], "runs": 10}
CELLS = 4
TINY: dict[str, Any] = {"datasets": ["zipf"], "counts": [25], "methods": ["em"], "runs": 2}


def numbers(results: ExperimentResults) -> list[dict[str, object]]:
    """Everything but the time it took."""
    return results.to_arrow().drop_columns(["seconds"]).to_pylist()


def mine(name: str = "mine", scores: object = (100, 80, 60, 40, 20, 10) * 5) -> Dataset:
    ladder = Ladder.of(scores)
    return Dataset(name=name, title=name, kind="real", records=3000, description="made up", ladder=ladder)


def test_the_result_is_a_tidy_table_that_a_seed_decides() -> None:
    results = run(**GRID, seed=3)
    assert results.table.column_names == list(COLUMNS)
    keys = ("dataset", "method", "epsilon", "count", "runs")
    assert [tuple(row[key] for key in keys) for row in results] == [
        ("zipf", method, 0.1, count, 10) for method in GRID["methods"] for count in GRID["counts"]
    ]
    assert numbers(results) != numbers(run(**GRID, seed=4))
    alone = run(**GRID | {"counts": [50], "methods": ["em"]}, epsilon=[0.1, 0.5], seed=3)
    assert alone["epsilon"] == [0.1, 0.5]
    assert numbers(alone)[0] in numbers(results)  # a cell does not depend on its neighbours


def test_csv_and_parquet_hold_the_table_and_the_manifest_says_what_was_run(tmp_path: Path) -> None:
    results = run(**TINY | {"datasets": ["kosarak"]}, seed=5, out=tmp_path)
    assert read(tmp_path).table.equals(results.table)
    assert pa.csv.read_csv(tmp_path / "results.csv").to_pylist() == list(results)
    assert read(tmp_path, "scores")["rank"] == list(range(1, 301))
    manifest = json.loads((tmp_path / "manifest.json").read_text(encoding="utf-8"))
    asked = {"counts": [25], "epsilon": [0.1], "runs": 2, "seed": 5, "most_runs": None, "reading": "ours"}
    assert manifest["parameters"] == asked | {"scale_to_records": False}
    assert manifest["threshold"].startswith("oracle")
    assert manifest["datasets"][0]["stand_in"] is True
    assert manifest["methods"][0]["key"] == "em"
    assert set(manifest["versions"]) == {"python", "sparsegate", "numpy", "pyarrow"}
    assert commit(tmp_path / "site-packages" / "sparsegate") is None  # outside of a checkout


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_interruption_keeps_what_is_done_and_a_second_run_goes_on_to_the_same_numbers(
    tmp_path: Path, jobs: int
) -> None:
    def interrupt(progress: Progress) -> None:
        if progress.done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(**GRID, out=tmp_path, jobs=jobs, progress=interrupt)
    assert len(list((tmp_path / "cases").iterdir())) == 3
    assert not (tmp_path / "results.csv").exists()
    seen: list[Progress] = []
    resumed = run(**GRID, out=tmp_path, jobs=1, progress=seen.append)
    assert [(step.done, step.total, step.resumed) for step in seen] == [(3, CELLS, 3), (4, CELLS, 3)]
    assert numbers(resumed) == numbers(run(**GRID))  # three of them by two processes


def test_a_finished_case_is_found_again_if_it_can_be_read_and_no_parameter_changed(tmp_path: Path) -> None:
    grid = {"datasets": [mine()], "counts": [3], "methods": ["em"], "runs": 10}
    first, steps = run(**grid, out=tmp_path), list[Progress]()
    shifted = mine(scores=(101, 80, 60, 40, 20, 10) * 5)
    for change in ({"runs": 11}, {"seed": 1}, {"epsilon": 0.2}, {"datasets": [shifted]}):
        run(**grid | change, out=tmp_path, progress=steps.append)
        assert steps[-1].resumed == 0
    for text in ("{", "[]", '{"ser_mean": 0.5, "seconds": 1}'):
        for case in (tmp_path / "cases").iterdir():
            case.write_text(text, encoding="utf-8")
        assert numbers(run(**grid, out=tmp_path)) == numbers(first)


BAD: list[tuple[dict[str, Any], str]] = [
    *(
        ({"counts": []}, "counts"),
        ({"counts": [0]}, "counts"),
        ({"counts": [10_000]}, "count"),
        ({"epsilon": 0}, "epsilon"),
    ),
    *(({"runs": 0}, "runs"), ({"jobs": 0}, "jobs"), ({"seed": -1}, "seed"), ({"most_runs": 5}, "most_runs")),
    *(({"datasets": []}, "datasets"), ({"datasets": ["retail"]}, "dataset"), ({"methods": ["svt"]}, "method")),
    *(({"data": {"kosarak": "file"}}, "data"), ({"records": {"kosarak": 5}}, "records")),
    *(({"most_runs": 100, "out": None}, "most_runs"), ({"further": True, "out": None}, "further")),
    ({"reading": ["order=shuffled"]}, "reading"),
]


@pytest.mark.parametrize(("change", "parameter"), BAD)
def test_a_bad_parameter_is_refused_before_any_work(tmp_path: Path, change: dict[str, object], parameter: str) -> None:
    with pytest.raises(ParameterError) as refused:
        run(**GRID | {"out": tmp_path / "out"} | change)
    assert refused.value.parameter == parameter
    assert not (tmp_path / "out").exists()


def test_further_experiments_leave_out_what_the_main_one_has_and_data_with_too_few_items(tmp_path: Path) -> None:
    assert "svt-alg1" not in ABLATION.chosen(["svt-dpbook", "svt-alg1"])
    assert EPSILON.chosen(["em"]) == LARGE.chosen(["em"]) == ["em"]
    large, small = mine("large", range(900)), mine("small", range(400))
    run(datasets=[large, small], counts=[25], methods=["em"], runs=2, out=tmp_path, further=True)
    assert {(row["dataset"], row["count"]) for row in read(tmp_path / "large-c")} == {("large", 400)}
    assert not (tmp_path / "largest-c").exists()
    assert {row.count for row in load_findings(tmp_path).rows.values() if row.dataset == "large"} == {25, 400}


MINE = mine(scores=[3000 - 40 * rank for rank in range(60)])
CASE = ExperimentCase(dataset="mine", method=METHODS["em"], epsilon=Fraction(1, 10), count=5, runs=4, seed=3)
CLOSE = {"datasets": [MINE], "counts": [5, 25], "methods": ["em", "svt-retr-3d"], "epsilon": 0.1, "runs": 50}


@pytest.mark.parametrize("parts", [(30, 50), (1, 2), (1, 1), (2, 1)])
def test_two_batches_say_what_one_sample_does(parts: tuple[int, int]) -> None:
    rng = np.random.default_rng(1)
    samples = [Errors(**{name: rng.random(size) for name in Errors.__annotations__}) for size in parts]
    first, second = (sample.summary() | {"seconds": 1.5} for sample in samples)
    whole = Errors.joined(samples).summary() | {"seconds": 3.0}
    assert merged(first, parts[0], second, parts[1]) == pytest.approx(whole)


def gathered(case: ExperimentCase) -> Gathered:
    return Gathered(case=case, runs=case.runs, batches=1, record=case.compute(MINE.ladder))


def test_a_batch_has_its_own_numbers_and_its_own_name() -> None:
    first = gathered(CASE)
    batch = first.next_batch(2.0, most_runs=100)
    assert batch is not None
    assert (batch.runs, batch.batch) == (4, 1)
    assert batch.compute(MINE.ladder)["ser_mean"] != first.record["ser_mean"]
    assert batch.key("") != CASE.key("")
    both = first.with_batch(gathered(batch))
    assert (both.runs, both.batches) == (8, 2)
    third = both.next_batch(float("inf"), most_runs=100)
    assert third is not None
    assert (third.runs, third.batch) == (24, 2)
    assert both.next_batch(4.0, most_runs=8) is None


def test_only_what_is_wanting_gets_more_runs_and_never_more_than_the_most(tmp_path: Path) -> None:
    other = replace(CASE, count=7)
    found = {case.cell: gathered(case) for case in (CASE, other)}
    looks: list[int] = []

    def look(now: dict) -> dict:
        looks.append(now[CASE.cell].runs)
        return {CASE.cell: 2.0}

    with WorkerPool() as pool:
        runner = CaseRunner(datasets={"mine": MINE}, folder=ResultFolder.open(tmp_path), pool=pool)
        more = runner.more_runs(found, look, most_runs=100)
        assert looks == [4, 8, 16, 32, 64, 100]
        assert (more[CASE.cell].runs, more[other.cell].runs) == (100, 4)
        looks.clear()
        runner.more_runs(found, look, most_runs=10**6)
    assert len(looks) == LOOKS


def test_an_experiment_goes_on_until_its_verdicts_are_decided(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(**CLOSE, out=tmp_path / "few")
    assert verdict_on(load_findings(tmp_path / "few"), "em-best") is Support.UNDECIDED
    decided = run(**CLOSE, out=tmp_path / "many", most_runs=6400)
    assert verdict_on(load_findings(tmp_path / "many"), "em-best") is Support.SUPPORTED
    assert max(decided["runs"]) > 50
    monkeypatch.setattr(ExperimentCase, "compute", lambda *_: pytest.fail("computed again"))
    assert numbers(run(**CLOSE, out=tmp_path / "many", most_runs=6400)) == numbers(decided)


SMALL = {"datasets": ["zipf", "bms-pos"], "counts": [50], "methods": ["em", "svt-s-1:c23", "svt-retr-2d"], "runs": 20}


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with every alternative reading beside ours."""
    folder = tmp_path_factory.mktemp("readings")
    run(**SMALL, further=True, out=folder)
    return folder


def rows(folder: Path) -> dict[tuple[str, str, float, int], dict[str, float]]:
    return {(row["dataset"], row["method"], row["epsilon"], row["count"]): row for row in read(folder)}


def test_an_alternative_has_the_rows_that_it_changes_and_no_others_and_they_are_of_another_law(out: Path) -> None:
    by_reading = {str(reading): rows(out / "readings" / str(reading)) for reading in ALTERNATIVES}
    pairs = {name: {cell[:2] for cell in cells} for name, cells in by_reading.items()}
    assert {dataset for dataset, _ in pairs["zipf-total=2e6"]} == {"zipf"}
    assert {method for _, method in pairs["zipf-total=2e6"]} >= {"em", "svt-s-1:c23", "svt-retr-2d", "svt-retr-0d"}
    assert pairs["raise-unit=scale"] == {(dataset, "svt-retr-2d") for dataset in SMALL["datasets"]}
    again = {"svt-retr-0d", "svt-retr-2d", "svt-s-double-t-retr"}
    assert pairs["passes=100"] == pairs["passes=100,ser=totals"] == {(d, m) for d in SMALL["datasets"] for m in again}
    assert pairs["ser=totals"] == set()
    assert {cell[2] for cell in by_reading["zipf-total=2e6"]} == {0.05, 0.1, 0.2, 0.4, 0.8}  # further experiments, too
    ours, cell, high = rows(out), ("zipf", "svt-retr-2d", 0.1, 50), ("bms-pos", "svt-s-double-t-retr", 0.1, 50)
    assert rows(out / "thresholds")[high]["selected_mean"] > by_reading["passes=100"][high]["selected_mean"] + 5
    assert by_reading["raise-unit=scale"][cell]["ser_mean"] != ours[cell]["ser_mean"]
    findings = load_findings(out)
    for reading in ALTERNATIVES:  # whose findings have its rows in the place of ours
        other = load_reading(out, findings, reading)
        assert other is not None
        assert (other.reading, set(other.rows)) == (reading, set(findings.rows))
        if reading.ser == "totals":
            assert all(row.ser_mean == row.total_ser_mean for row in other.rows.values())


def test_the_verdicts_of_all_readings_are_one_table(out: Path) -> None:
    written, judged = ReadingVerdicts.load(out), judge_readings(out)
    assert written is not None
    assert list(written.by_reading) == ["ours", *map(str, ALTERNATIVES)]
    for name, verdicts in written.by_reading.items():
        assert {key: each.support for key, each in verdicts.items()} == {
            key: each.support for key, each in judged.by_reading[name].items()
        }
    assert written.open == [str(reading) for reading in (OURS, *ALTERNATIVES) if reading.ser == "means"]
    assert {key for name in written.open for key in written.changes(name)} == set(written.disputed)
    assert not any(key.startswith("value-") for key in written.statements)  # nothing printed is comparable here


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
    """And an alternative asks for no more runs once there are many selections; a case of two goes on from the first."""
    monkeypatch.setattr(experiments, "MOST_SELECTIONS", selections)

    more_runs = CaseRunner.more_runs

    def others_alone(runner: CaseRunner, first: Any, look: Any, **options: Any) -> Any:
        return more_runs(runner, first, look, **options) if "what" in options else dict(first)

    monkeypatch.setattr(CaseRunner, "more_runs", others_alone)
    small = {**SMALL, "datasets": ["zipf"], "methods": ["em", "svt-s-1:c23"], "runs": 20}
    run(**small, further=True, most_runs=40, out=tmp_path)
    readings = {name: rows(tmp_path / "readings" / name) for name in map(str, ALTERNATIVES)}
    ours, totals = rows(tmp_path), readings["ser=totals"]
    assert {row["runs"] for row in ours.values()} == {20}
    assert {row["runs"] for row in totals.values() if row["count"] == 50} == {runs}
    assert set(totals) >= set(ours)
    shared = [cell for cell in readings["passes=100"] if "retr" in cell[1]]
    assert shared
    for cell in shared:
        assert readings["passes=100,ser=totals"][cell]["runs"] >= readings["passes=100"][cell]["runs"]
