"""Rounds: batches merge into what one sample says, and go to what is undecided, the same way every time."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from sparsegate.paper import METHODS, Dataset, Ladder, run
from sparsegate.paper.decisions import LOOKS, Support
from sparsegate.paper.experiments import ExperimentCase, Gathered, merged, more_runs
from sparsegate.paper.ranked import Errors
from sparsegate.paper.results import ExperimentResults, ResultFolder, load_findings
from sparsegate.paper.statements import check_all
from sparsegate.paper.workers import WorkerPool

MINE = Dataset(
    name="mine",
    title="Mine",
    kind="real",
    records=3000,
    description="made up",
    ladder=Ladder.of([3000 - 40 * rank for rank in range(60)]),
)
CASE = ExperimentCase(dataset="mine", method=METHODS["em"], epsilon=Fraction(1, 10), count=5, runs=4, seed=3)
GRID = {"datasets": [MINE], "counts": [5, 25], "methods": ["em", "svt-retr-3d"], "epsilon": 0.1, "runs": 50}


@pytest.mark.parametrize("parts", [(30, 50), (1, 2), (1, 1), (2, 1)])
def test_two_batches_say_what_one_sample_does(parts: tuple[int, int]) -> None:
    rng = np.random.default_rng(1)
    samples = [Errors(**{name: rng.random(size) for name in Errors.__annotations__}) for size in parts]
    whole = Errors(**{name: np.concatenate([getattr(one, name) for one in samples]) for name in Errors.__annotations__})
    first, second = (one.summary() | {"seconds": 1.5} for one in samples)
    assert merged(first, parts[0], second, parts[1]) == pytest.approx(whole.summary() | {"seconds": 3.0})


def test_a_batch_has_its_own_numbers_and_its_own_name() -> None:
    one = Gathered.first(CASE, CASE.compute(MINE.ladder))
    batch = one.next_batch(2.0, most_runs=100)
    assert batch is not None
    assert (batch.runs, batch.batch) == (4, 1)
    assert batch.compute(MINE.ladder)["ser_mean"] != one.record["ser_mean"]
    assert batch.key("") != CASE.key("")
    both = one.with_batch(batch, batch.compute(MINE.ladder))
    assert (both.runs, both.batches) == (8, 2)
    third = both.next_batch(float("inf"), most_runs=100)
    assert third is not None
    assert (third.runs, third.batch) == (24, 2)
    assert both.next_batch(4.0, most_runs=8) is None


def test_only_what_is_wanting_gets_more_runs_and_never_more_than_the_most(tmp_path: Path) -> None:
    other = ExperimentCase(**{**vars(CASE), "count": 7})
    found = {one.cell: Gathered.first(one, one.compute(MINE.ladder)) for one in (CASE, other)}
    looks: list[int] = []

    def look(now: dict) -> dict:
        looks.append(now[CASE.cell].runs)
        return {CASE.cell: 2.0}

    with WorkerPool() as pool:
        more = more_runs(found, {"mine": MINE}, look, folder=ResultFolder.open(tmp_path), pool=pool, most_runs=100)
        assert looks == [4, 8, 16, 32, 64, 100]
        assert (more[CASE.cell].runs, more[other.cell].runs) == (100, 4)
        looks.clear()
        more_runs(found, {"mine": MINE}, look, folder=ResultFolder.open(tmp_path), pool=pool, most_runs=10**6)
    assert len(looks) == LOOKS


def numbers(found: ExperimentResults) -> list[dict[str, object]]:
    return found.to_arrow().drop_columns(["seconds"]).to_pylist()


def test_an_experiment_goes_on_until_its_verdicts_are_decided(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def em_best(out: Path) -> Support:
        return {one.statement.key: one.judgement.support for one in check_all(load_findings(out))}["em-best"]

    run(**GRID, out=tmp_path / "few")
    assert em_best(tmp_path / "few") is Support.UNDECIDED
    decided = run(**GRID, out=tmp_path / "many", most_runs=6400)
    assert em_best(tmp_path / "many") is Support.SUPPORTED
    assert max(decided["runs"]) > 50
    monkeypatch.setattr(ExperimentCase, "compute", lambda *_: pytest.fail("computed again"))
    assert numbers(run(**GRID, out=tmp_path / "many", most_runs=6400)) == numbers(decided)


@pytest.mark.soak
def test_rounds_give_the_same_numbers_whatever_the_jobs(tmp_path: Path) -> None:
    alone, shared = (run(**GRID, out=tmp_path / str(jobs), most_runs=6400, jobs=jobs) for jobs in (1, 2))
    assert max(alone["runs"]) > 50
    assert numbers(alone) == numbers(shared)
