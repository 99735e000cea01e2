"""The uses of the Introduction: what each mechanism costs, that the originals are what the paper says, and the file."""

from __future__ import annotations

import itertools
import math
import runpy
from collections import Counter
from collections.abc import Hashable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from tests.support.goodness import FALSE_ALARM, Law, law_p
from tests.support.made_findings import made_findings, verdict_on
from tests.support.selection_laws import laplace_tail

import sparsegate as sg
from sparsegate.errors import ParameterError
from sparsegate.paper import uses
from sparsegate.paper.decisions import Support
from sparsegate.paper.results import CLAIMED, CORRECTED, MECHANISMS, OURS, TRUE, UseRow, read_uses
from sparsegate.paper.uses import USES, EdgeTask, FeatureTask, measure_use, use_tasks
from sparsegate.paper.workers import Progress, WorkerPool
from sparsegate.uses import structure

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="module")
def rows() -> dict[tuple[str, str], UseRow]:
    """Everything at epsilon 0.3, a few runs each."""
    measured = [measure_use(task) for task in use_tasks(epsilons=[Fraction(3, 10)], runs=40, seed=7)]
    return {(row.use, row.mechanism): row for row in measured}


def test_the_originals_cost_more_than_they_claim_and_the_others_what_they_are_given(
    rows: dict[tuple[str, str], UseRow],
) -> None:
    assert list(rows) == list(itertools.product(USES, MECHANISMS))
    lee, pairs = (1 + 3 * uses.SETS) / 4, math.comb(uses.ATTRIBUTES, 2)
    chen = sg.privacy.tight_epsilon("chen-2015", epsilon=1, queries=pairs)
    costs = [rows[use, CLAIMED].true_epsilon for use in USES]
    assert costs == pytest.approx([0.3 * lee, math.inf, 0.3 * chen])
    assert [rows[use, TRUE].claimed_epsilon for use in USES] == pytest.approx([0.3 / lee, 0.3, 0.3 / chen])
    for use in USES:
        assert rows[use, CLAIMED].claimed_epsilon == 0.3
        assert [rows[use, mechanism].true_epsilon for mechanism in MECHANISMS[1:]] == [0.3] * 3
    assert sg.privacy.tight_epsilon("lee-clifton-2014", cutoff=uses.SETS, epsilon=0.3 / lee, monotonic=True) == (
        pytest.approx(0.3)
    )


@pytest.mark.parametrize("use", USES)
def test_paid_in_full_an_original_is_worse_than_the_correct_gate_and_ours_is_the_best(
    rows: dict[tuple[str, str], UseRow], use: str
) -> None:
    missed = {mechanism: rows[use, mechanism].mean for mechanism in MECHANISMS}
    assert 0 <= missed[OURS] < missed[CORRECTED] < missed[TRUE] <= 1
    assert missed[CLAIMED] < missed[CORRECTED]


def test_rows_are_written_with_their_seed_and_read_back(tmp_path: Path) -> None:
    assert {task.runs for task in use_tasks(runs=40)} == {40, 10}, "what is costly a quarter as often"
    with pytest.raises(ParameterError) as refused:
        use_tasks(runs=7)
    assert refused.value.parameter == "runs"
    seen: list[Progress] = []
    tasks = [task for task in use_tasks(epsilons=[1], runs=8, seed=3) if "SCM14" in task.use]
    measured = uses.measure_uses(tmp_path, WorkerPool(1, seen.append), tasks)
    assert tuple(map(measure_use, tasks)) == measured, "a seed decides everything"
    assert (tmp_path / "uses.csv").is_file()
    assert read_uses(tmp_path, seed=3) == measured
    assert read_uses(tmp_path, seed=4) == read_uses(tmp_path / "nothing", seed=3) == ()
    assert (seen[-1].what, seen[-1].done, seen[-1].total) == ("uses", 4, 4)


FEATURES = [30, 24, 22, 20, 4]


def passed(way: str, runs: int) -> uses.Chosen:
    scores = np.array(FEATURES)
    task = FeatureTask(scores=scores, k=4, epsilon=0.5, sensitivity=1, monotonic=True, runs=runs, seed=1)
    return uses.FEATURE_WAYS[way](task)


def each_law(share: float, k: int) -> Law:
    """What passes d gates whose threshold noise has scale 1/share, given that fewer than k pass."""
    bar = (FEATURES[k - 1] + FEATURES[k] + 1) // 2
    tails = [laplace_tail(bar - score, 1 / share) for score in FEATURES]  # Pr[score >= bar + rho]
    law: dict[Hashable, float] = {}
    for above in itertools.product((False, True), repeat=len(FEATURES)):
        if sum(above) < k:
            law[above] = math.prod(tail if said else 1 - tail for tail, said in zip(tails, above, strict=True))
    whole = math.fsum(law.values())
    return {above: mass / whole for above, mass in law.items()}


def test_a_gate_of_its_own_for_each_feature_adds_up_to_epsilon() -> None:
    """One question costs what its threshold noise hides, so each of d gates has epsilon/d."""
    rows = passed("stoddard-2014-each", 40_000).tolist()
    observed = Counter(tuple(row) for row in rows if sum(row) < 4)  # there nothing is left out by lot
    assert law_p(observed, each_law(0.5 / 5, 4)) > FALSE_ALARM
    assert law_p(observed, each_law(0.5 / 5 * 1.2, 4)) < FALSE_ALARM


def test_the_flawed_gate_for_pairs_costs_half_its_claim_for_each_of_them() -> None:
    scores = dict.fromkeys([(0, 1), (0, 2), (1, 2)], 1000)
    ways = ("chen-2015 as claimed", "chen-2015 at its loss")
    spent = [uses.EDGE_WAYS[way](EdgeTask(scores, 3, Fraction(1), sg.Seeded(1), (500,))).spent for way in ways]
    assert spent == [Fraction(3, 2), 1]
    assert sg.privacy.tight_epsilon("chen-2015", epsilon=2 / 3, queries=3) == pytest.approx(1)


@pytest.mark.parametrize("seed", range(5))
def test_the_score_is_the_definition_rounded_down(seed: int) -> None:
    """Half the sum of abs(c - r s / n), in rationals."""
    counts = np.random.default_rng(seed).integers(0, 1000, (3, 4))
    down, across, n = counts.sum(axis=1).tolist(), counts.sum(axis=0).tolist(), int(counts.sum())
    apart = [abs(int(c) - Fraction(down[x] * across[y], n)) for (x, y), c in np.ndenumerate(counts)]
    assert uses.dependence(counts) == sum(apart, Fraction(0)) / 2 // 1
    half = 2**40  # beyond what 64 bits can multiply
    assert uses.dependence(np.array([[half, 0], [0, half]])) == half
    codes = np.array([[0, 1, 2], [1, 1, 0], [0, 0, 2]])
    assert uses.dependences(codes, (2, 2, 3)) == {(0, 1): 0, (0, 2): 1, (1, 2): 0}


def test_the_score_moves_up_and_down_and_one_noise_has_the_scale_of_both(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.zeros((10_000, 3), dtype=np.int64)
    rows[:150, :2] = 1
    rows[150:300, 2] = 1
    before, after = (uses.dependences(table, (2, 2, 2)) for table in (rows, np.vstack([rows, [[1, 1, 1]]])))
    assert [after[pair] - before[pair] for pair in before] == [uses.SENSITIVITY, -uses.SENSITIVITY, -uses.SENSITIVITY]
    scales: list[Fraction] = []

    def recorded(_: object, scale: Fraction, count: int) -> np.ndarray:
        scales.append(scale)
        return np.zeros(count, dtype=np.int64)

    monkeypatch.setattr(structure, "geometric", recorded)
    uses.EDGE_WAYS["one noise"](EdgeTask(before, 3, Fraction(1), sg.Seeded(1), ()))
    assert scales == [2 * 2 * uses.SENSITIVITY]


def test_the_short_list_holds_the_best_sets_and_equal_ones_are_as_right_as_each_other() -> None:
    rng = np.random.default_rng(7)
    chances = 1.2 / np.arange(2, 62)
    everybody = [set(np.flatnonzero(rng.random(60) < chances).tolist()) for _ in range(400)]
    exact = Counter(
        members for who in everybody for size in (1, 2, 3) for members in itertools.combinations(sorted(who), size)
    )
    best = sorted((n for members, n in exact.items() if len(members) >= 2), reverse=True)[:25]
    assert uses.PublicBaskets(everybody).short_list(count=25, smallest=2, size=3)[:25].tolist() == best
    tied = np.array([9, 7, 5, 5])
    assert [uses.best_found(np.array(selected), tied) for selected in ([9, 5, 5, 5], [9, 7], [])] == [3, 2, 0]


def test_the_example_of_itemsets_draws_its_picture(tmp_path: Path) -> None:
    example = runpy.run_path(str(EXAMPLES / "frequent_itemsets.py"))
    example["draw"](tmp_path / "sets.png", example["made_baskets"](people=1500), runs=1)
    assert (tmp_path / "sets.png").stat().st_size > 10_000


def test_the_example_of_trees_says_what_each_way_costs_and_the_best_is_near_the_tree_without_noise() -> None:
    example = runpy.run_path(str(EXAMPLES / "private_tree.py"))
    columns, train, held_out, _ = example["people"]()
    exact, *ways = example["compare_trees"](train, held_out, columns, epsilons=[10], thresholds=[1000, 500])
    costs = {row["method"]: row["true_epsilon"] for row in ways}
    assert costs.pop("chen-2015 as claimed") > 100
    assert set(costs.values()) == {10.0}
    likelihoods = {row["method"]: row["log_likelihood"] for row in ways}
    assert likelihoods["one noise"] > exact["log_likelihood"] - 0.02
    assert likelihoods["independent"] < exact["log_likelihood"] - 0.3


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(10))
def test_the_statement_on_the_uses_has_one_verdict_whatever_the_seed(seed: int) -> None:
    tasks = use_tasks(epsilons=[Fraction(1, 10)], seed=seed)
    measured = tuple(measure_use(task) for task in tasks if task.mechanism in (CLAIMED, CORRECTED))
    assert verdict_on(replace(made_findings(), uses=measured), "uses-less-accurate") is Support.SUPPORTED
