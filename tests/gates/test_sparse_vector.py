"""The gate: what it answers, when it closes, and what it refuses."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.goodness import FALSE_ALARM, chi_square_p, discrete_laplace_mass, proportion_p

import sparsegate as sg


def geometric_mass(scale: float, cells: range) -> dict[int, float]:
    return {k: -math.expm1(-1 / scale) * math.exp(-k / scale) for k in cells if k >= 0}


MASSES = {"laplace": discrete_laplace_mass, "exponential": geometric_mass}


def seeded(seed: int = 7, **options: Any) -> sg.SparseVector:
    chosen = {"threshold": 100, "cutoff": 3, "epsilon": 1, "sensitivity": 1} | options
    return sg.SparseVector(**chosen, source=sg.Seeded(seed), not_private=True)  # type: ignore[arg-type]


def test_far_answers_are_told_apart_and_the_gate_closes_after_the_cutoff() -> None:
    gate = sg.SparseVector(threshold=1000, cutoff=2, epsilon=10, sensitivity=1)
    assert gate.ask(-(10**6)) == sg.BELOW
    assert gate.ask(10**6) == sg.ABOVE
    assert (gate.positives, gate.remaining, gate.closed) == (1, 1, False)
    assert gate.ask(10**6)
    assert gate.closed
    with pytest.raises(sg.GateClosed, match="all 2 of its positive answers"):
        gate.ask(10**6)
    with pytest.raises(sg.GateClosed):
        gate.ask_many([1])


def test_a_threshold_for_one_question_is_used_for_that_question() -> None:
    gate = sg.SparseVector(threshold=10**9, cutoff=5, epsilon=1, sensitivity=1)
    assert not gate.ask(0)
    assert gate.ask(0, threshold=-(10**9))
    assert not gate.ask(0)


@given(st.integers(0, 2**32), st.lists(st.integers(60, 140), max_size=200), st.integers(1, 5))
def test_ask_many_equals_asking_one_by_one(seed: int, answers: list[int], cutoff: int) -> None:
    one, many = seeded(seed, cutoff=cutoff), seeded(seed, cutoff=cutoff)
    singly = []
    for answer in answers:
        if one.closed:
            break
        singly.append(bool(one.ask(answer)))
    at_once = many.ask_many(answers)
    assert at_once.dtype == np.bool_
    assert at_once.tolist() == singly
    assert (one.positives, one.closed) == (many.positives, many.closed)


REALS = st.one_of(st.integers(), st.floats(), st.fractions(), st.builds(np.float32, st.floats(width=32)))


@given(st.integers(0, 99), st.lists(REALS, min_size=1, max_size=12), st.sampled_from([1.0, 0.3, 1024.0, 2.0**60]))
def test_ask_many_equals_asking_one_by_one_for_numbers_of_every_type(
    seed: int, answers: list[Any], sensitivity: float
) -> None:
    one, many = (seeded(seed, sensitivity=sensitivity, cutoff=99) for _ in range(2))
    assert many.ask_many(answers).tolist() == [one.ask(answer).above for answer in answers]


EMPTY_GROUPS = [math.nan, math.inf, -math.inf, 3.5, 1e300, 5e-324, 2**61 + 1, -(10**30), Fraction(1, 3)]


def test_no_value_of_an_answer_is_refused() -> None:
    """A mean over an empty group (NaN) is not told from one over one person by an error."""
    for answer in EMPTY_GROUPS:
        assert isinstance(seeded(sensitivity=1.0).ask(answer), sg.Answer)
        assert seeded(sensitivity=1.0).ask_many([answer, answer]).size == 2
    for answer in (2**61 + 1, -(10**400), 2**64):
        assert isinstance(seeded().ask(answer), sg.Answer)
        assert seeded().ask_many([answer, 1]).size == 2
    assert seeded(epsilon=10**6).ask(2**61 + 1)
    assert not seeded(epsilon=10**6, sensitivity=1.0).ask(math.nan)


@pytest.mark.parametrize("answer", [3.5, 3.0, math.nan, math.inf, 1e300])
def test_a_float_on_an_integer_gate_is_refused_whatever_its_value(answer: float) -> None:
    with pytest.raises(sg.ParameterError, match="must be a whole number, an int by its type") as caught:
        seeded().ask(answer)
    with pytest.raises(sg.ParameterError) as same:
        seeded().ask(0.0)
    assert str(caught.value) == str(same.value)


@given(st.integers(0, 2**32), st.lists(st.integers(60, 140), max_size=60))
def test_ask_many_equals_asking_one_by_one_with_numbers_and_thresholds(seed: int, answers: list[int]) -> None:
    budget = sg.Budget(threshold_epsilon=0.2, query_epsilon=0.4, answer_epsilon=0.4)
    bars = [100 + (i % 7) for i in range(len(answers))]
    one, many = (seeded(seed, epsilon=None, budget=budget) for _ in range(2))
    singly: list[tuple[bool, float]] = []
    for answer, bar in zip(answers, bars, strict=True):
        if one.closed:
            break
        said = one.ask(answer, threshold=bar)
        singly.append((said.above, said.estimate or 0))
    at_once = many.ask_many(answers, threshold=bars)
    assert list(zip(at_once["above"].tolist(), at_once["estimate"].tolist(), strict=True)) == singly


@given(st.integers(0, 2**32), st.integers(-(10**6), 10**6), st.sampled_from([1, 1.0]))
def test_shifting_answers_and_thresholds_together_changes_nothing(seed: int, shift: int, sensitivity: float) -> None:
    answers = np.arange(80, 120)
    here = seeded(seed, sensitivity=sensitivity).ask_many(answers)
    there = seeded(seed, sensitivity=sensitivity, threshold=100 + shift).ask_many(answers + shift)
    assert here.tolist() == there.tolist()


@given(st.integers(0, 2**32), st.lists(st.tuples(st.integers(-50, 50), st.integers(-50, 50)), max_size=40))
def test_only_the_difference_of_answer_and_threshold_matters(seed: int, pairs: list[tuple[int, int]]) -> None:
    answers, bars = [q for q, _ in pairs], [t for _, t in pairs]
    with_bars = seeded(seed).ask_many(answers, threshold=bars)
    reduced = seeded(seed, threshold=0).ask_many([q - t for q, t in pairs])
    assert with_bars.tolist() == reduced.tolist()


@pytest.mark.parametrize("noise", MASSES)
def test_the_comparison_has_exactly_the_claimed_law(noise: str) -> None:
    """P[ABOVE] equals P[nu - rho - kappa >= d], summed exactly; binomial test at rate 1e-6, twin with other noise."""
    runs, options = 4_000, {"epsilon": 2, "cutoff": 8, "monotonic": True, "noise": noise}
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
def test_one_threshold_noise_serves_all_questions(ask: Any) -> None:
    gate = seeded(cutoff=5, epsilon=1e-6)  # on a scale of millions
    rho = gate._rho
    ask(gate)
    assert gate.positives == 1
    assert gate._rho == rho


@pytest.mark.parametrize(("sensitivity", "steps"), [(1, 1), (7, 7), (1.0, 1024), (0.3, 1229)])
def test_the_scales_are_those_of_the_lattice(sensitivity: float, steps: int) -> None:
    gate = seeded(
        sensitivity=sensitivity,
        cutoff=5,
        epsilon=None,
        budget=sg.Budget(threshold_epsilon=1, query_epsilon=2, answer_epsilon=4),
    )
    assert gate._calibration.scales == (steps, Fraction(2 * 5 * steps, 2), Fraction(5 * steps, 4))


def test_numeric_answers_carry_fresh_noise_of_scale_cutoff_over_share() -> None:
    """Chi-square of the released noise at rate 1e-6; its twin rejects a share 20 % off. Without a gap to blend with."""
    budget = sg.Budget(threshold_epsilon=1, query_epsilon=1, answer_epsilon=2)
    waived = {"source": sg.Seeded(5), "not_private": True}
    noise = sg.run_many("standard", [1000] * 4, runs=3_000, budget=budget, cutoff=4, **waived).values.ravel() - 1000
    cells = range(-5, 6)
    assert chi_square_p(noise, discrete_laplace_mass(2, cells)) > FALSE_ALARM
    assert chi_square_p(noise, discrete_laplace_mass(1.6, cells)) < FALSE_ALARM
    answer = seeded(epsilon=None, budget=budget, threshold=0).ask(1000)
    assert answer.above
    assert type(answer.estimate) is int


def test_a_float_gate_answers_floats() -> None:
    budget = sg.Budget(threshold_epsilon=1, query_epsilon=1, answer_epsilon=1)
    gate = sg.SparseVector(threshold=0.5, cutoff=2, budget=budget, sensitivity=0.25)
    answer = gate.ask(1e6 + 0.125)
    assert isinstance(answer.estimate, float)
    assert abs(answer.estimate - 1e6) < 1000


BAD_ANSWERS = [math.nan, 1.5, 3.0, "many", None, True]  # by their type, on an integer gate
BAD_THRESHOLDS = [math.nan, math.inf, -math.inf, 1.5, "many", True, 2**70, 1e300]


@pytest.mark.parametrize("bad", range(len(BAD_THRESHOLDS)))
def test_what_is_refused_leaves_the_gate_as_it_was(bad: int) -> None:
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


@pytest.mark.parametrize(
    ("options", "parameter"),
    [
        ({"cutoff": 0}, "cutoff"),
        ({"cutoff": 2.5}, "cutoff"),
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": math.nan}, "epsilon"),
        ({"epsilon": None}, "epsilon"),
        ({"budget": sg.Budget(threshold_epsilon=1, query_epsilon=1)}, "epsilon"),
        ({"sensitivity": -1}, "sensitivity"),
        ({"threshold": math.nan}, "threshold"),
        ({"threshold": "high"}, "threshold"),
        ({"granularity": 0.3}, "granularity"),
        ({"allocation": "fair"}, "allocation"),
        ({"queries": 0}, "queries"),
        ({"queries": 5, "allocation": "1:1"}, "allocation"),
        ({"monotonic": "yes"}, "monotonic"),
        ({"source": 7}, "source"),
        ({"epsilon": 1e-20}, "scale"),
        ({"epsilon": None, "budget": sg.Budget(threshold_epsilon=0, query_epsilon=1)}, "threshold share"),
        ({"epsilon": None, "budget": 0.5}, "budget"),
    ],
)
def test_a_bad_parameter_is_named(options: dict[str, Any], parameter: str) -> None:
    chosen = {"threshold": 100, "cutoff": 3, "epsilon": 1, "sensitivity": 1} | options
    with pytest.raises(sg.ParameterError, match=f"^{parameter} "):
        sg.SparseVector(**chosen)


def test_sensitivity_has_no_default() -> None:
    with pytest.raises(TypeError, match="sensitivity"):
        sg.SparseVector(threshold=1, cutoff=1, epsilon=1)  # type: ignore[call-arg]


def test_a_seeded_source_needs_a_waiver() -> None:
    with pytest.raises(sg.ParameterError, match="^not_private must be True to draw from a seeded source"):
        sg.SparseVector(threshold=1, cutoff=1, epsilon=1, sensitivity=1, source=sg.Seeded(1))


def test_a_planned_gate_closes_after_its_questions() -> None:
    gate = seeded(queries=5, threshold=10**6)
    assert gate.ask_many([0] * 9).size == 5
    with pytest.raises(sg.GateClosed, match="planned for"):
        gate.ask(0)
    one = seeded(queries=2, threshold=10**6)
    one.ask(0)
    one.ask(0)
    assert one.closed


def test_a_gate_planned_for_few_questions_uses_no_threshold_noise() -> None:
    gate = seeded(queries=2, cutoff=10)
    assert gate.budget.threshold_epsilon == 0
    assert gate.budget.total == 1
    assert gate._calibration.scales.query == 2


@given(
    st.integers(1, 6), st.booleans(), st.integers(1, 60), st.sampled_from([0, 0.1, 0.5]), st.sampled_from([0, 0.2, 0.7])
)
def test_a_planned_gate_never_leaks_more_than_its_budget_says(
    cutoff: int, monotonic: bool, queries: int, threshold: float, answers: float
) -> None:
    """Whatever shares the budget has, a share of zero for the threshold included."""
    budget = sg.Budget(threshold_epsilon=threshold, query_epsilon=0.3, answer_epsilon=answers)
    gate = seeded(epsilon=None, budget=budget, cutoff=cutoff, monotonic=monotonic, queries=queries)
    assert gate._calibration.epsilon <= float(budget.total) + 1e-12
    assert gate.budget.total == budget.total
    assert gate.budget.answer_epsilon == budget.answer_epsilon


@pytest.mark.parametrize("noise", MASSES)
def test_the_margin_is_the_distance_at_which_answers_are_right_that_often(noise: str) -> None:
    """Both sides of the threshold, by exact summation of the two laws."""
    gate = sg.SparseVector(threshold=0, cutoff=2, epsilon=2, sensitivity=1, noise=noise)  # type: ignore[arg-type]
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


def test_the_margin_of_equal_scales_and_of_a_float_gate_is_finite() -> None:
    equal = sg.SparseVector(threshold=0, cutoff=1, epsilon=2, sensitivity=1, monotonic=True, allocation="1:1")
    near = sg.SparseVector(
        threshold=0, cutoff=1, epsilon=2, sensitivity=1, monotonic=True, allocation=Fraction(1001, 1000)
    )
    assert equal.margin() == near.margin()
    real = sg.SparseVector(threshold=0.0, cutoff=1, epsilon=2, sensitivity=1, monotonic=True, allocation="1:1")
    assert real.margin() == pytest.approx(equal.margin(), abs=1.01)
