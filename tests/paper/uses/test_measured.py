"""The uses of the Introduction: what each mechanism costs, that the originals are what the paper says, and the file."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from tests.support.made_findings import made_findings, verdict_on

import sparsegate as sg
from sparsegate.errors import ParameterError
from sparsegate.paper.decisions import Support
from sparsegate.paper.results import CLAIMED, CORRECTED, MECHANISMS, OURS, TRUE, UseRow, read_uses
from sparsegate.paper.uses.measured import (
    ATTRIBUTES,
    COLUMNS,
    SETS,
    USES,
    made_agreements,
    made_baskets,
    made_dependences,
    measure_use,
    measure_uses,
    use_tasks,
)
from sparsegate.paper.workers import Progress, WorkerPool


@pytest.fixture(scope="module")
def rows() -> dict[tuple[str, str], UseRow]:
    """Everything at epsilon 0.3, a few runs each."""
    measured = [measure_use(task) for task in use_tasks(epsilons=[Fraction(3, 10)], runs=40, seed=7)]
    return {(row.use, row.mechanism): row for row in measured}


def test_every_use_has_every_mechanism(rows: dict[tuple[str, str], UseRow]) -> None:
    assert list(rows) == [(use, mechanism) for use in USES for mechanism in MECHANISMS]
    assert len(made_agreements()) == COLUMNS
    assert len(made_dependences()) == math.comb(ATTRIBUTES, 2)
    assert len(made_baskets()) == 20_000
    assert all(0 <= row.mean <= 1 for row in rows.values())


def test_the_originals_cost_more_than_they_claim_and_the_others_what_they_are_given(
    rows: dict[tuple[str, str], UseRow],
) -> None:
    itemsets, features, pairs = USES
    assert rows[itemsets, CLAIMED].true_epsilon == pytest.approx(0.3 * (1 + 3 * SETS) / 4)
    assert rows[features, CLAIMED].true_epsilon == math.inf
    factor = sg.privacy.tight_epsilon("chen-2015", epsilon=1, queries=math.comb(ATTRIBUTES, 2))
    assert rows[pairs, CLAIMED].true_epsilon == pytest.approx(0.3 * factor)
    assert rows[pairs, TRUE].claimed_epsilon == pytest.approx(0.3 / factor)
    assert rows[itemsets, TRUE].claimed_epsilon == pytest.approx(0.3 * 4 / (1 + 3 * SETS))
    for use in USES:
        assert rows[use, CLAIMED].claimed_epsilon == 0.3
        assert [rows[use, mechanism].true_epsilon for mechanism in MECHANISMS[1:]] == [0.3] * 3


@pytest.mark.parametrize("use", USES)
def test_paid_in_full_an_original_is_worse_than_the_correct_gate_and_ours_is_the_best(
    rows: dict[tuple[str, str], UseRow], use: str
) -> None:
    missed = {mechanism: rows[use, mechanism].mean for mechanism in MECHANISMS}
    assert missed[OURS] < missed[CORRECTED] < missed[TRUE]
    assert missed[CLAIMED] < missed[CORRECTED]


def test_costly_ones_run_a_quarter_as_often_and_too_few_runs_are_refused() -> None:
    assert {task.runs for task in use_tasks(runs=40)} == {40, 10}
    with pytest.raises(ParameterError, match="^runs must be a whole number of at least 8"):
        use_tasks(runs=7)


def test_rows_are_written_with_their_seed_and_read_back(tmp_path: Path) -> None:
    seen: list[Progress] = []
    tasks = [task for task in use_tasks(epsilons=[1], runs=8, seed=3) if "SCM14" in task.use]
    measured = measure_uses(tmp_path, WorkerPool(1, seen.append), tasks)
    assert (tmp_path / "uses.csv").is_file()
    assert read_uses(tmp_path, seed=3) == measured
    assert read_uses(tmp_path, seed=4) == ()
    assert read_uses(tmp_path / "nothing", seed=3) == ()
    assert (seen[-1].what, seen[-1].done, seen[-1].total) == ("uses", 4, 4)


def test_the_same_seed_gives_the_same_row_and_another_seed_another() -> None:
    first, again = (measure_use(task) for task in [use_tasks(runs=40, seed=1)[2]] * 2)
    assert first == again
    assert measure_use(use_tasks(runs=40, seed=2)[2]).mean != first.mean


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(10))
def test_the_statement_on_the_uses_has_one_verdict_whatever_the_seed(seed: int) -> None:
    tasks = use_tasks(epsilons=[Fraction(1, 10)], seed=seed)
    measured = tuple(measure_use(task) for task in tasks if task.mechanism in (CLAIMED, CORRECTED))
    assert verdict_on(replace(made_findings(), uses=measured), "uses-less-accurate") is Support.SUPPORTED
