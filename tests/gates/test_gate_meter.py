"""What a gate has cost so far: L(m,k), exactly, and never more than it was made for."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sparsegate as sg
from sparsegate.gates.bounds import Setting, outcome_loss
from sparsegate.gates.calibration import calibrate
from sparsegate.gates.gate import Gate

FAR = 10**6
SHARES = sg.Budget(threshold_epsilon=Fraction(1, 4), query_epsilon=Fraction(1, 2), answer_epsilon=Fraction(1, 4))


def gate(**options: Any) -> sg.SparseVector:
    return sg.SparseVector(
        **{"threshold": 0, "cutoff": 3, "sensitivity": 1, "epsilon": 1, "allocation": "1:1"} | options
    )


def test_nothing_was_spent_before_the_first_question() -> None:
    assert gate().spent == 0
    assert gate(queries=9, allocation=None).spent == 0


@pytest.mark.parametrize("noise", ["laplace", "exponential"])
@pytest.mark.parametrize("monotonic", [False, True])
def test_it_is_the_loss_of_what_was_said(monotonic: bool, noise: str) -> None:
    """Answers far from the threshold: what is said is what was asked for."""
    asked = gate(monotonic=monotonic, noise=noise)
    per_unit, row = asked._calibration._per_unit, asked._calibration.row
    said = [-FAR, FAR, -FAR, -FAR, FAR, FAR]
    for number, answer in enumerate(said, start=1):
        asked.ask(answer)
        above = sum(one > 0 for one in said[:number])
        assert asked.spent == outcome_loss(number - above, above, per_unit, monotonic=monotonic, row=row)
        assert asked.spent == asked.cost(below=number - above, above=above)
    assert asked.closed
    assert 0 < asked.spent <= 1


def test_a_gate_that_never_fired_costs_its_threshold_share() -> None:
    quiet = gate(cutoff=25, monotonic=True, allocation="optimal")
    quiet.ask_many([-FAR] * 1000)
    assert quiet.spent == quiet.budget.threshold_epsilon < Fraction(11, 100)


def test_many_at_once_cost_what_they_cost_one_by_one() -> None:
    answers = [-FAR, FAR, -FAR, FAR, -FAR]
    together, apart = gate(), gate()
    together.ask_many(answers)
    for answer in answers:
        apart.ask(answer)
    assert together.spent == apart.spent > 0


def test_a_number_is_paid_for_with_its_positive() -> None:
    plain, numeric = gate(budget=SHARES, epsilon=None, allocation=None), gate(epsilon=Fraction(3, 4), allocation=2)
    for one in (plain, numeric):
        one.ask(FAR)
    assert plain.spent == numeric.spent + SHARES.answer_epsilon / 3


@pytest.mark.parametrize("monotonic", [False, True])
def test_rounds_with_a_threshold_noise_of_their_own_add(monotonic: bool) -> None:
    """Alg. 2 redraws rho: the rounds (2, 1), (0, 1) and (1, 0) cost their sum, and one rho for all would cost less."""
    setting = Setting(row=sg.VARIANTS["dwork-roth-2014"], cutoff=3, epsilon=1, monotonic=monotonic)
    made = calibrate(setting, threshold=0, not_private=False)
    running = Gate(made, threshold=0, source=None, not_private=False)
    running.ask_many([-FAR, -FAR, FAR])
    running.ask(FAR)
    running.ask(-FAR)
    rounds = [(2, 1), (0, 1), (1, 0)]
    assert running.spent == made.spent(rounds)
    each = [outcome_loss(*one, made._per_unit, monotonic=monotonic, row=made.row) for one in rounds]
    assert running.spent == sum(each) if not monotonic else running.spent <= sum(each)


@pytest.mark.parametrize("key", ["stoddard-2014", "roth-2011", "hardt-rothblum-2010"])
def test_a_row_without_a_bound_costs_its_budget_and_no_more(key: str) -> None:
    made = calibrate(Setting(row=sg.VARIANTS[key], epsilon=1), threshold=0, not_private=True)
    assert made.spent([(0, 0)]) == 0
    assert made.spent([(50, 1)]) == 1


@settings(deadline=None, max_examples=60)
@given(
    st.integers(1, 9),
    st.booleans(),
    st.sampled_from(["1:1", "1:c", "optimal", 7]),
    st.sampled_from([1, 0.3, 2.5]),
    st.integers(0, 60),
    st.integers(0, 9),
)
def test_it_never_passes_the_budget_and_no_answer_lowers_it(
    cutoff: int, monotonic: bool, allocation: Any, sensitivity: float, below: int, above: int
) -> None:
    made = gate(cutoff=cutoff, monotonic=monotonic, allocation=allocation, sensitivity=sensitivity)
    above = min(above, cutoff)
    cost = made.cost(below=below, above=above)
    assert 0 <= cost <= made.budget.total
    assert cost <= made.cost(below=below + 1, above=above)
    assert cost <= made.cost(below=below, above=above + 1)


@pytest.mark.parametrize("wrong", [-1, 1.5, True, None, "3"])
def test_only_numbers_of_answers_have_a_cost(wrong: Any) -> None:
    for counts in ({"below": wrong, "above": 0}, {"below": 0, "above": wrong}):
        with pytest.raises(sg.ParameterError, match=r"^(below|above) must be a whole number of at least 0"):
            gate().cost(**counts)
    with pytest.raises(sg.ParameterError, match=r"^noise must be one of"):
        gate(noise=[wrong])
