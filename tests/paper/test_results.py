"""The folder of an experiment: one run at a time, and nothing of an earlier one beside new results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sparsegate.errors import ParameterError
from sparsegate.paper import compare, run
from sparsegate.paper.readings import THRESHOLDS
from sparsegate.paper.results import ResultFolder, load_findings

GRID: dict[str, Any] = {"datasets": ["zipf"], "counts": [25], "methods": ["em", "svt-s-1:c23"], "runs": 3}


def test_what_an_earlier_run_left_is_not_mixed_in(tmp_path: Path) -> None:
    run(**GRID, out=tmp_path, further=True, most_runs=3)
    (tmp_path / "report.html").write_text("of the first run", encoding="utf-8")
    assert (tmp_path / THRESHOLDS.name / "results.csv").is_file()
    run(**GRID, out=tmp_path, most_runs=3)
    assert {row.method for row in load_findings(tmp_path).rows.values()} == {"em", "svt-s-1:c23"}
    assert not [file.name for file in (tmp_path / THRESHOLDS.name).glob("*.*")]
    assert not [name for name in ("report.html", "readings.csv") if (tmp_path / name).exists()]


def test_a_comparison_leaves_nothing_of_an_experiment_and_the_other_way_round(tmp_path: Path) -> None:
    few: dict[str, Any] = {**GRID, "epsilon": 0.1, "most_runs": 3, "out": tmp_path}
    run(**GRID, out=tmp_path)
    compare(**few, peers=False)
    assert not (tmp_path / "scores.csv").exists()
    run(**GRID, out=tmp_path)
    assert not [name for name in ("winners.csv", "results.json") if (tmp_path / name).exists()]


def test_what_is_not_ours_stays(tmp_path: Path) -> None:
    for name, text in {"manifest.json": '{"name": "an app"}', "uses.csv": "mine", "report.html": "mine"}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    ResultFolder.open(tmp_path).forget("readings/ours")
    assert {file.name for file in tmp_path.iterdir()} == {"manifest.json", "uses.csv", "report.html", "cases"}


@pytest.mark.parametrize("start", [run, lambda **given: compare(**given, peers=False)])
def test_a_folder_in_use_is_refused_and_free_afterwards(tmp_path: Path, start: Any) -> None:
    with (
        ResultFolder.open(tmp_path).held(),
        pytest.raises(ParameterError, match=r"^out must not be in use by another run"),
    ):
        start(**GRID, out=tmp_path)
    assert len(start(**GRID | {"counts": [10]}, epsilon=0.1, out=tmp_path)) == 2
