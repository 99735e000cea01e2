"""Experiments: the same numbers however the work is shared, kept through an interruption, with their origin."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from sparsegate.errors import ParameterError
from sparsegate.paper import METHODS, Dataset, Ladder, Progress, read, run
from sparsegate.paper.experiments import DEFAULT_COUNTS, ExperimentCase
from sparsegate.paper.readings import ABLATION, EPSILON, LARGE
from sparsegate.paper.results import COLUMNS, commit, load_findings

GRID = {"datasets": ["zipf"], "counts": [25, 50], "methods": ["em", "svt-dpbook", "svt-s-1:1"], "runs": 10}
CELLS = 6


def numbers(table: pa.Table) -> list[dict[str, object]]:
    """Everything but the time it took."""
    return table.to_arrow().drop_columns(["seconds"]).to_pylist()


def mine(name: str = "mine", shift: int = 0) -> Dataset:
    ladder = Ladder.of([100 + shift, 80, 60, 40, 20, 10] * 5)
    return Dataset(name=name, title=name, kind="real", records=100, description="made up", ladder=ladder)


def test_the_result_is_a_tidy_table_that_a_seed_decides_whatever_the_jobs() -> None:
    results = run(**GRID, seed=3)
    assert results.table.column_names == list(COLUMNS)
    assert list(COLUMNS)[:6] == ["dataset", "stand_in", "method", "epsilon", "count", "runs"]
    keys = ("dataset", "method", "epsilon", "count", "runs")
    assert [tuple(row[key] for key in keys) for row in results] == [
        ("zipf", method, 0.1, count, 10) for method in GRID["methods"] for count in GRID["counts"]
    ]
    assert numbers(run(**GRID, seed=3, jobs=2)) == numbers(results) != numbers(run(**GRID, seed=4))
    alone = run(**GRID | {"counts": [50], "methods": ["em"]}, seed=3)
    assert numbers(alone)[0] in numbers(results)  # a cell does not depend on its neighbours


def test_epsilon_is_one_number_or_several() -> None:
    small = GRID | {"counts": [25], "methods": ["em"]}
    several = run(**small, epsilon=[0.1, 0.5])
    assert several["epsilon"] == [0.1, 0.5]
    assert numbers(run(**small, epsilon=0.5)) == numbers(several)[1:]
    assert DEFAULT_COUNTS == (25, 50, 75, 100, 125, 150, 175, 200, 225, 250, 275, 300)


def test_datasets_and_methods_of_ones_own_are_run_and_stand_ins_are_marked() -> None:
    twice = replace(METHODS["svt-s-1:1"], key="twice", passes=2)
    results = run(datasets=[mine(), "bms-pos"], counts=[3], methods=[twice], runs=5)
    assert [(row["dataset"], row["method"], row["stand_in"]) for row in results] == [
        ("mine", "twice", False),
        ("bms-pos", "twice", True),
    ]


def test_csv_and_parquet_hold_the_table_and_the_highest_scores(tmp_path: Path) -> None:
    results = run(**GRID, out=tmp_path)
    assert read(tmp_path).table.equals(results.table)
    assert pa.csv.read_csv(tmp_path / "results.csv").to_pylist() == list(results)
    scores = read(tmp_path, "scores")
    assert scores["rank"] == list(range(1, 301))
    assert scores[0]["score"] == pytest.approx(102169.9, rel=1e-5)


def test_the_manifest_says_what_was_run(tmp_path: Path) -> None:
    run(datasets=["kosarak"], counts=[25], methods=["em"], runs=2, seed=5, out=tmp_path)
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


def test_there_is_no_commit_outside_of_a_checkout(tmp_path: Path) -> None:
    assert commit(tmp_path / "site-packages" / "sparsegate") is None


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_interruption_keeps_what_is_done_and_a_second_run_goes_on(tmp_path: Path, jobs: int) -> None:
    def interrupt(progress: Progress) -> None:
        if progress.done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(**GRID, out=tmp_path, jobs=jobs, progress=interrupt)
    assert len(list((tmp_path / "cases").iterdir())) == 3
    assert not (tmp_path / "results.csv").exists()
    seen: list[Progress] = []
    resumed = run(**GRID, out=tmp_path, jobs=jobs, progress=seen.append)
    assert [(step.done, step.total, step.resumed) for step in seen] == [
        (done, CELLS, 3) for done in range(3, CELLS + 1)
    ]
    assert numbers(resumed) == numbers(run(**GRID))


@pytest.mark.parametrize("change", [{"runs": 11}, {"seed": 1}, {"epsilon": 0.2}, {"datasets": [mine(shift=1)]}])
def test_a_changed_parameter_finds_no_stale_cell(tmp_path: Path, change: dict[str, object]) -> None:
    grid = {"datasets": [mine()], "counts": [3], "methods": ["em"], "runs": 10}
    run(**grid, out=tmp_path)
    steps: list[Progress] = []
    run(**grid | change, out=tmp_path, progress=steps.append)
    assert steps[-1].resumed == 0


def test_a_finished_experiment_is_not_computed_again_but_for_a_cell_that_cannot_be_read(tmp_path: Path) -> None:
    first = run(**GRID, out=tmp_path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ExperimentCase, "compute", lambda *_: pytest.fail("computed again"))
        assert run(**GRID, out=tmp_path).table.equals(first.table)
    broken = ["{", "{}", "[]", '{"ser_mean": 0.5, "seconds": 1}']
    for case, text in zip((tmp_path / "cases").iterdir(), broken, strict=False):
        case.write_text(text, encoding="utf-8")
    assert numbers(run(**GRID, out=tmp_path)) == numbers(first)


@pytest.mark.parametrize(
    ("change", "parameter"),
    [
        ({"counts": []}, "counts"),
        ({"counts": [0]}, "counts"),
        ({"counts": [10_000]}, "count"),
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": []}, "epsilon"),
        ({"methods": ["svt"]}, "method"),
        ({"datasets": ["retail"]}, "dataset"),
        ({"datasets": []}, "datasets"),
        ({"runs": 0}, "runs"),
        ({"jobs": 0}, "jobs"),
        ({"seed": -1}, "seed"),
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


def test_a_folder_that_cannot_be_made_or_holds_nothing_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(ParameterError, match=r"^out must be a folder"):
        run(**GRID, out=tmp_path / "file" / "out")
    with pytest.raises(ParameterError, match=r"^out must hold results.parquet"):
        read(tmp_path)


def test_further_experiments_leave_out_what_the_main_one_has() -> None:
    assert "svt-alg1" not in ABLATION.chosen(["svt-dpbook", "svt-alg1"])
    assert ABLATION.chosen(["em"]) == []
    assert EPSILON.chosen(["em"]) == ["em"]
    assert LARGE.chosen(["em"]) == ["em"]
    assert LARGE.counts([25, 400]) == []


def test_a_further_experiment_at_a_large_c_leaves_out_data_with_fewer_items(tmp_path: Path) -> None:
    large, small = (replace(mine(name), ladder=Ladder.of(range(n))) for name, n in (("large", 900), ("small", 400)))
    run(datasets=[large, small], counts=[25], methods=["em"], runs=2, out=tmp_path, further=True)
    assert {(row["dataset"], row["count"]) for row in read(tmp_path / "large-c")} == {("large", 400)}
    assert not (tmp_path / "largest-c").exists()
    assert {row.count for row in load_findings(tmp_path).rows.values() if row.dataset == "large"} == {25, 400}


def test_further_results_of_another_seed_are_not_mixed_in(tmp_path: Path) -> None:
    small = {"datasets": ["zipf"], "counts": [25], "methods": ["em"], "runs": 2, "out": tmp_path}
    run(**small, seed=2, further=True)
    run(**small, seed=1)
    assert len(load_findings(tmp_path).rows) == 1
    run(**small, seed=1, further=True)
    assert len(load_findings(tmp_path).rows) == 6


def test_results_are_rows_and_columns_and_convert() -> None:
    pytest.importorskip("matplotlib")
    results = run(**GRID)
    assert len(results) == len(list(results)) == CELLS
    assert results["method"] == [row["method"] for row in results]
    assert results.to_pandas()["count"].tolist() == results.to_polars()["count"].to_list() == results["count"]
    assert pa.table(results).equals(results.to_arrow())
    record = results.to_dict()
    assert (record["schema"], record["items"][0]["epsilon"]) == ("sparsegate/evaluation/1", "0.1")
    assert "ser_mean" in results._repr_html_()
    assert len(results.plot().axes[0].lines) == 3
    with pytest.raises(IndexError):
        results[99]
