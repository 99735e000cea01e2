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


def test_datasets_and_methods_of_ones_own_are_run_and_stand_ins_are_marked() -> None:
    twice = replace(METHODS["svt-s-1:1"], key="twice", passes=2)
    results = run(datasets=[mine(), "bms-pos"], counts=[3], methods=[twice], runs=5)
    found = [(row["dataset"], row["method"], row["stand_in"]) for row in results]
    assert found == [("mine", "twice", False), ("bms-pos", "twice", True)]


def test_csv_and_parquet_hold_the_table_and_the_manifest_says_what_was_run(tmp_path: Path) -> None:
    results = run(**TINY | {"datasets": ["kosarak"]}, seed=5, out=tmp_path)
    assert read(tmp_path).table.equals(results.table)
    assert pa.csv.read_csv(tmp_path / "results.csv").to_pylist() == list(results)
    assert read(tmp_path, "scores")["rank"] == list(range(1, 301))
    manifest = json.loads((tmp_path / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["parameters"] == {
        "counts": [25],
        "epsilon": [0.1],
        "runs": 2,
        "seed": 5,
        "most_runs": None,
        "scale_to_records": False,
        "reading": "ours",
    }
    assert manifest["threshold"].startswith("oracle")
    assert manifest["datasets"][0]["stand_in"] is True
    assert manifest["datasets"][0]["description"].startswith("STAND-IN")
    assert manifest["methods"][0]["key"] == "em"
    assert set(manifest["versions"]) == {"python", "sparsegate", "numpy", "pyarrow"}
    assert "commit" in manifest
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
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ExperimentCase, "compute", lambda *_: pytest.fail("computed again"))
        assert run(**grid, out=tmp_path).table.equals(first.table)
    for text in ("{", "{}", "[]", '{"ser_mean": 0.5, "seconds": 1}'):
        for case in (tmp_path / "cases").iterdir():
            case.write_text(text, encoding="utf-8")
        assert numbers(run(**grid, out=tmp_path)) == numbers(first)


@pytest.mark.parametrize(
    ("change", "parameter"),
    [
        *(({"counts": bad}, "counts") for bad in ([], [0])),
        *(({"epsilon": bad}, "epsilon") for bad in ([], 0)),
        *(({name: 0}, name) for name in ("runs", "jobs")),
        *(({"datasets": bad}, name) for bad, name in (([], "datasets"), (["retail"], "dataset"))),
        *(({"counts": [10_000]}, "count"), ({"methods": ["svt"]}, "method"), ({"seed": -1}, "seed")),
        ({"data": {"kosarak": "file"}}, "data"),
        ({"records": {"kosarak": 5}}, "records"),
        ({"most_runs": 5}, "most_runs"),
        ({"most_runs": 100, "out": None}, "most_runs"),
        ({"further": True, "out": None}, "further"),
        ({"reading": ["order=shuffled"]}, "reading"),
    ],
)
def test_a_bad_parameter_is_refused_before_any_work(tmp_path: Path, change: dict[str, object], parameter: str) -> None:
    with pytest.raises(ParameterError) as refused:
        run(**GRID | {"out": tmp_path / "out"} | change)
    assert refused.value.parameter == parameter
    assert not (tmp_path / "out").exists()


def test_further_experiments_leave_out_what_the_main_one_has_and_data_with_too_few_items(tmp_path: Path) -> None:
    assert "svt-alg1" not in ABLATION.chosen(["svt-dpbook", "svt-alg1"])
    assert ABLATION.chosen(["em"]) == []
    assert EPSILON.chosen(["em"]) == LARGE.chosen(["em"]) == ["em"]
    assert LARGE.counts([25, 400]) == []
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
    found = {str(reading): rows(out / "readings" / str(reading)) for reading in ALTERNATIVES}
    pairs = {name: {cell[:2] for cell in cells} for name, cells in found.items()}
    assert {dataset for dataset, _ in pairs["zipf-total=2e6"]} == {"zipf"}
    assert {method for _, method in pairs["zipf-total=2e6"]} >= {"em", "svt-s-1:c23", "svt-retr-2d", "svt-retr-0d"}
    assert pairs["raise-unit=scale"] == {(dataset, "svt-retr-2d") for dataset in SMALL["datasets"]}
    again = {"svt-retr-0d", "svt-retr-2d", "svt-s-double-t-retr"}
    assert pairs["passes=100"] == pairs["passes=100,ser=totals"] == {(d, m) for d in SMALL["datasets"] for m in again}
    assert pairs["ser=totals"] == set()
    assert {cell[2] for cell in found["zipf-total=2e6"]} == {0.05, 0.1, 0.2, 0.4, 0.8}  # further experiments, too
    ours, cell, high = rows(out), ("zipf", "svt-retr-2d", 0.1, 50), ("bms-pos", "svt-s-double-t-retr", 0.1, 50)
    assert rows(out / "thresholds")[high]["selected_mean"] > found["passes=100"][high]["selected_mean"] + 5
    assert found["raise-unit=scale"][cell]["ser_mean"] != ours[cell]["ser_mean"]
    assert ours[cell]["ser_mean"] > found["zipf-total=2e6"][cell]["ser_mean"]


def test_findings_under_a_reading_have_its_rows_in_the_place_of_ours(out: Path) -> None:
    ours = load_findings(out)
    for reading in ALTERNATIVES:
        other = load_reading(out, ours, reading)
        assert other is not None
        assert other.reading == reading
        assert set(other.rows) == set(ours.rows)
        if reading.ser == "totals":
            assert all(row.ser_mean == row.total_ser_mean for row in other.rows.values())
        else:
            own = {(c.dataset, c.method, c.epsilon, c.count) for c in ours.rows if other.rows[c] != ours.rows[c]}
            assert own <= set(rows(out / "readings" / str(reading)))
    rescaled = load_reading(out, ours, ALTERNATIVES[0])
    assert rescaled is not None
    assert (rescaled.place("zipf"), ours.place("zipf")) == ("zipf (rescaled)", "zipf")


def test_the_verdicts_of_all_readings_are_one_table(out: Path) -> None:
    found, judged = ReadingVerdicts.load(out), judge_readings(out)
    assert found is not None
    assert list(found.by_reading) == ["ours", *map(str, ALTERNATIVES)]
    for name, verdicts in found.by_reading.items():
        for key, judgement in verdicts.items():
            assert judgement.support is judged.by_reading[name][key].support
    assert found.changes("ours") == {}
    assert found.open == [str(reading) for reading in (OURS, *ALTERNATIVES) if reading.ser == "means"]
    assert {key for name in found.open for key in found.changes(name)} == set(found.disputed)
    assert not any(key.startswith("value-") for key in found.statements)  # nothing printed is comparable here
    assert "uses-less-accurate" not in found.statements  # no use was measured, and no reading would change it


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
