"""The gate: what it answers, when it closes, and what it refuses."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.goodness import FALSE_ALARM, discrete_laplace_mass, geometric_mass, proportion_p

import sparsegate as sg
from sparsegate.gates.bounds import tight_loss
from sparsegate.gates.planning import plan
from sparsegate.gates.variants import Noise

MASSES = {
    "laplace": discrete_laplace_mass,
    "exponential": lambda scale, cells: geometric_mass(scale, range(cells.stop)),
}


def seeded(seed: int = 7, **options: Any) -> sg.SparseVector:
    chosen = {"threshold": 100, "cutoff": 3, "epsilon": 1, "sensitivity": 1} | options
    return sg.SparseVector(**chosen, source=sg.Seeded(seed), not_private=True)


@pytest.mark.parametrize("noise", MASSES)
def test_the_comparison_has_exactly_the_claimed_law(noise):
    """P[ABOVE] equals P[nu - rho - kappa >= d], summed exactly; binomial test at rate 1e-6, twin with other noise."""
    runs, options = 1_500, {"epsilon": 2, "cutoff": 8, "monotonic": True, "noise": noise}
    budget = sg.Budget.allocate(2, cutoff=8, monotonic=True)
    hits = sum(bool(seeded(seed, **options).ask(103)) for seed in range(runs))
    kappa = seeded(**options)._calibration.shift

    def chance(widen: float = 1, sign: int = 1) -> float:
        rho = MASSES[noise](widen * float(1 / budget.threshold_epsilon), range(-80, 81))
        nu = MASSES[noise](widen * float(8 / budget.query_epsilon), range(-150, 151))
        return sum(p * sum(w for n, w in nu.items() if 3 + n >= r + sign * kappa) for r, p in rho.items())

    assert proportion_p(hits, runs, chance()) > FALSE_ALARM
    assert proportion_p(hits, runs, chance(0.4)) < FALSE_ALARM
    assert not kappa or proportion_p(hits, runs, chance(sign=-1)) < FALSE_ALARM


@pytest.mark.parametrize("ask", [lambda gate: gate.ask(10**9), lambda gate: gate.ask_many([10**9, -(10**9)])])
def test_one_threshold_noise_serves_all_questions(ask):
    gate = seeded(cutoff=5, epsilon=1e-6)  # on a scale of millions
    rho = gate._rho
    ask(gate)
    assert gate.positives == 1
    assert gate._rho == rho


@pytest.mark.parametrize(("sensitivity", "steps"), [(1, 1), (7, 7), (1.0, 1024), (0.3, 1229)])
def test_the_scales_are_those_of_the_lattice(sensitivity, steps):
    budget = sg.Budget(threshold_epsilon=1, query_epsilon=2, answer_epsilon=4)
    gate = seeded(sensitivity=sensitivity, cutoff=5, epsilon=None, budget=budget)
    assert gate._calibration.scales == (steps, Fraction(2 * 5 * steps, 2), Fraction(5 * steps, 4))


BAD_ANSWERS = [math.nan, 1.5, 3.0, "many", None, True]  # by their type, on an integer gate
BAD_THRESHOLDS = [math.nan, math.inf, -math.inf, 1.5, "many", True, 2**70, 1e300]


@pytest.mark.parametrize("bad", range(len(BAD_THRESHOLDS)))
def test_what_is_refused_leaves_the_gate_as_it_was(bad):
    gate, untouched = seeded(), seeded()
    for call in (
        *(lambda answer=answer: gate.ask(answer) for answer in BAD_ANSWERS),
        *(lambda answer=answer: gate.ask_many([100, answer, 100]) for answer in BAD_ANSWERS),
        lambda: gate.ask(100, threshold=BAD_THRESHOLDS[bad]),
        lambda: gate.ask_many([100, 100], threshold=[1, BAD_THRESHOLDS[bad]]),
        lambda: gate.ask_many([100, 100], threshold=[1, 2, 3]),
        lambda: gate.ask(100, estimate=3),
    ):
        with pytest.raises(sg.ParameterError):
            call()
    assert gate.positives == 0
    answers = np.arange(50, 150)
    assert gate.ask_many(answers).tolist() == untouched.ask_many(answers).tolist()


def test_a_seeded_source_needs_a_waiver():
    with pytest.raises(sg.ParameterError, match="^not_private must be True to draw from a seeded source"):
        sg.SparseVector(threshold=1, cutoff=1, epsilon=1, sensitivity=1, source=sg.Seeded(1))


@pytest.mark.parametrize("noise", MASSES)
def test_the_margin_is_the_distance_at_which_answers_are_right_that_often(noise):
    """Both sides of the threshold, by exact summation of the two laws."""
    gate = sg.SparseVector(threshold=0, cutoff=2, epsilon=2, sensitivity=1, noise=noise)
    scales, kappa = gate._calibration.scales, gate._calibration.shift
    assert (kappa > 0) == (noise == "exponential")
    rho = MASSES[noise](float(scales.threshold or 0), range(-200, 201))
    nu = MASSES[noise](float(scales.query or 0), range(-200, 201))
    difference = {}
    for r, p in rho.items():
        for n, w in nu.items():
            difference[r - n + kappa] = difference.get(r - n + kappa, 0) + p * w

    def right(margin: float) -> float:
        above = sum(p for d, p in difference.items() if d <= margin)
        return min(above, sum(p for d, p in difference.items() if d > -margin))

    for confidence in (0.5, 0.8, 0.95, 0.999):
        margin = gate.margin(confidence)
        assert right(margin) >= confidence - 1e-9
        assert margin == 1 or right(margin - 1) < confidence
    with pytest.raises(sg.ParameterError, match="^confidence must"):
        gate.margin(1)


PUBLIC: dict[str, Any] = {"threshold": 100, "cutoff": 10, "epsilon": 1, "sensitivity": 1}


def key(**options: Any) -> str:
    return sg.SparseVector(**PUBLIC | options)._calibration.row.key


@pytest.mark.parametrize("monotonic", [False, True])
@pytest.mark.parametrize("cutoff", [1, 25, 100])
def test_the_margin_is_at_most_72_percent_of_that_of_laplace_noise(cutoff, monotonic):
    options = {"threshold": 0.0, "cutoff": cutoff, "monotonic": monotonic}
    margins = [sg.SparseVector(**PUBLIC | options | {"noise": noise}).margin() for noise in ("auto", "laplace")]
    assert margins[0] <= 0.72 * margins[1]


@pytest.mark.parametrize(("cutoff", "queries", "monotonic"), [(2, 3, True), (3, 2, False)])
def test_a_plan_keeps_back_gaps_that_would_cost(cutoff, queries, monotonic):
    options: dict[str, Any] = {"cutoff": cutoff, "monotonic": monotonic, "queries": queries}
    planned = plan(**options, epsilon=1, answer_epsilon=0.5)
    assert planned.row.key == "standard"
    assert tight_loss(sg.VARIANTS["ding-2019"], planned.scales, **options) > 1


@given(st.integers(0, 2**32), st.lists(st.integers(80, 120), max_size=120), st.integers(1, 5))
def test_a_two_sided_gate_closes_when_both_answers_were_given_c_times(seed, answers, cutoff):
    options = PUBLIC | {"cutoff": cutoff, "closes": "rarer", "not_private": True}
    one, many = (sg.SparseVector(**options, source=sg.Seeded(seed)) for _ in range(2))
    singly: list[bool] = []
    for answer in answers:
        if one.closed:
            break
        singly.append(bool(one.ask(answer)))
        rarer = min(sum(singly), len(singly) - sum(singly))
        assert one.remaining == cutoff - rarer
        assert one.closed == (rarer == cutoff)
    assert many.ask_many(answers).tolist() == singly
    assert (one.positives, one.closed, one.remaining) == (many.positives, many.closed, many.remaining)
    batch = sg.run_many(
        "two-sided", answers, runs=3, threshold=100, epsilon=1, cutoff=cutoff, source=sg.Seeded(seed), not_private=True
    )
    for above, asked in zip(batch.above, batch.asked, strict=True):
        said = above[:asked].tolist()
        assert min(said.count(True), said.count(False)) <= cutoff
        assert asked == len(answers) or min(said.count(True), said.count(False)) == cutoff
        assert not above[asked:].any()


def test_a_two_sided_gate_with_exponential_noise_a_gap_or_answers_has_no_bound():
    row = sg.VARIANTS["two-sided"]
    assert sg.privacy.tight_epsilon(row, cutoff=3, epsilon=1) == pytest.approx(1)
    flawed = {"private": False, "flaw": "no bound"}
    for change in ({"noise": Noise.EXPONENTIAL}, {"gap": True}):
        assert sg.privacy.tight_epsilon(replace(row, **change, **flawed), cutoff=3, epsilon=1) == math.inf


ANSWERS = sg.Budget(threshold_epsilon=1, query_epsilon=1, answer_epsilon=1)


@pytest.mark.parametrize(
    ("parameter", "options"),
    [
        *(("cutoff", {"cutoff": bad}) for bad in (0, 2.5)),
        *(("epsilon", {"epsilon": bad}) for bad in (0, math.nan, None)),
        ("epsilon", {"budget": sg.Budget(threshold_epsilon=1, query_epsilon=1)}),
        ("sensitivity", {"sensitivity": -1}),
        *(("threshold", {"threshold": bad}) for bad in (math.nan, "high")),
        ("granularity", {"granularity": 0.3}),
        ("allocation", {"allocation": "fair"}),
        ("queries", {"queries": 0}),
        ("allocation", {"queries": 5, "allocation": "1:1"}),
        *(("epsilon", {"queries": 11_936, "cutoff": 384, "epsilon": bad}) for bad in (4.4e-151, 1e-16, 1e16, 1e300)),
        ("monotonic", {"monotonic": "yes"}),
        ("source", {"source": 7}),
        ("scale", {"epsilon": 1e-20}),
        ("threshold share", {"epsilon": None, "budget": sg.Budget(threshold_epsilon=0, query_epsilon=1)}),
        ("budget", {"epsilon": None, "budget": 0.5}),
        ("budget", {"epsilon": None, "budget": sg.Budget(threshold_epsilon=1, query_epsilon=1, delta=1e-6)}),
        *(("noise", {"noise": bad}) for bad in ("gaussian", [])),
        ("closes", {"closes": "never"}),
        ("refund", {"refund": 1}),
        # What has no proof.
        ("noise", {"closes": "rarer", "noise": "exponential"}),
        ("budget", {"closes": "rarer", "epsilon": None, "budget": ANSWERS}),
        *(("noise", {"delta": 1e-6} | gate) for gate in ({"noise": "exponential"}, {"closes": "rarer"})),
        ("budget", {"delta": 1e-6, "epsilon": None, "budget": ANSWERS}),
        ("allocation", {"delta": 1e-6, "allocation": "1:1"}),
        ("delta", {"delta": 1}),
    ],
)
def test_a_bad_parameter_is_named(parameter, options):
    with pytest.raises(sg.ParameterError) as caught:
        sg.SparseVector(**PUBLIC | options)
    assert caught.value.parameter == parameter
