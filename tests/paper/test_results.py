"""The folder of an experiment: one run at a time, nothing of an earlier one beside new results, which convert."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from sparsegate.errors import ParameterError
from sparsegate.paper import compare, read, run, write_report
from sparsegate.paper.readings import THRESHOLDS
from sparsegate.paper.results import ResultFolder, load_findings

GRID: dict[str, Any] = {"datasets": ["zipf"], "counts": [25], "methods": ["em", "svt-s-1:c23"], "runs": 3}


def test_what_an_earlier_run_or_comparison_left_is_not_mixed_in(tmp_path: Path) -> None:
    run(**GRID, out=tmp_path, further=True, most_runs=3)
    (tmp_path / "report.html").write_text("of the first run", encoding="utf-8")
    assert (tmp_path / THRESHOLDS.name / "results.csv").is_file()
    run(**GRID, out=tmp_path, most_runs=3)
    assert {row.method for row in load_findings(tmp_path).rows.values()} == {"em", "svt-s-1:c23"}
    assert not [file.name for file in (tmp_path / THRESHOLDS.name).glob("*.*")]
    assert not [name for name in ("report.html", "readings.csv") if (tmp_path / name).exists()]
    compare(**GRID, epsilon=0.1, most_runs=3, out=tmp_path, peers=False)
    assert not (tmp_path / "scores.csv").exists()
    run(**GRID, out=tmp_path)
    assert not [name for name in ("winners.csv", "results.json") if (tmp_path / name).exists()]


def test_what_is_not_ours_stays(tmp_path: Path) -> None:
    for name, text in {"manifest.json": '{"name": "an app"}', "uses.csv": "mine", "report.html": "mine"}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    ResultFolder.open(tmp_path).forget("readings/ours")
    assert {file.name for file in tmp_path.iterdir()} == {"manifest.json", "uses.csv", "report.html", "cases"}


@pytest.mark.parametrize("start", [run, lambda **options: compare(**options, peers=False)])
def test_a_folder_in_use_is_refused_and_free_afterwards(tmp_path: Path, start: Any) -> None:
    with (
        ResultFolder.open(tmp_path).held(),
        pytest.raises(ParameterError, match=r"^out must not be in use by another run"),
    ):
        start(**GRID, out=tmp_path)
    with ResultFolder.open(tmp_path).held():
        pass


def test_a_folder_that_cannot_be_made_or_holds_nothing_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(ParameterError, match=r"^out must be a folder"):
        run(**GRID, out=tmp_path / "file" / "out")
    with pytest.raises(ParameterError, match=r"^out must hold results.parquet"):
        read(tmp_path)
    with pytest.raises(ParameterError, match=r"^out must hold manifest.json.*sparsegate reproduce"):
        write_report(tmp_path)
    results = run(**GRID, out=tmp_path).table
    ResultFolder(path=tmp_path).write("results", results.drop_columns(["ser_least"]))  # as of an earlier version
    with pytest.raises(ParameterError, match=r"^out must hold results of this version.*ser_least"):
        write_report(tmp_path)


def test_results_are_rows_and_columns_and_convert() -> None:
    results = run(**GRID)
    assert len(results) == len(list(results)) == 2
    assert results["method"] == [row["method"] for row in results]
    assert results.to_pandas()["count"].tolist() == results.to_polars()["count"].to_list() == results["count"]
    assert pa.table(results).equals(results.to_arrow())
    assert results.to_dict()["items"][0]["epsilon"] == "0.1"
    assert len(results.plot().axes[0].lines) == 2
    with pytest.raises(IndexError):
        results[99]
