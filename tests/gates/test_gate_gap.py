"""The number that an ABOVE carries: its error is what it says, and gate, ask_many and run_many agree about it."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from tests.support.goodness import FALSE_ALARM

import sparsegate as sg
from sparsegate.gates.gate import Estimator, moments
from sparsegate.gates.variants import VARIANTS, Noise, Scales

ROWS = {"laplace": "ding-2019", "exponential": "exponential-gap"}
BUDGETS = {
    "gap": sg.Budget(threshold_epsilon=0.5, query_epsilon=1),
    "blend": sg.Budget(threshold_epsilon=0.5, query_epsilon=1, answer_epsilon=1),
}
FAR = 10**6


def seeded(seed: int = 7, **options: Any) -> sg.SparseVector:
    chosen = {"threshold": 100, "cutoff": 3, "sensitivity": 1, "budget": BUDGETS["gap"]} | options
    return sg.SparseVector(**chosen, source=sg.Seeded(seed), not_private=True)


@pytest.mark.turns(2)
@pytest.mark.parametrize("scale", [Fraction(1, 2**20), Fraction(1, 3), Fraction(7), Fraction(10**6)])
def test_moments_are_those_of_the_discrete_laws(scale: Fraction) -> None:
    k = np.arange(40 * max(1, math.ceil(scale)))
    mass = -math.expm1(-1 / scale) * np.exp(-k / float(scale))
    mean, variance = mass @ k, mass @ k**2 - (mass @ k) ** 2
    assert moments(Noise.EXPONENTIAL, scale) == pytest.approx((mean, variance))
    assert moments(Noise.LAPLACE, scale) == (0, pytest.approx(2 * variance))


def errors(noise: str, kind: str, *, runs: int = 20_000) -> np.ndarray[Any, Any]:
    """The errors of the estimates of one answer far above the threshold, one gate each."""
    out = sg.run_many(
        ROWS[noise], [FAR], runs=runs, budget=BUDGETS[kind], cutoff=6, source=sg.Seeded(2), not_private=True
    )
    assert out.values is not None
    return out.values[:, 0] - FAR


def spread_p(found: np.ndarray[Any, Any], standard_error: float) -> float:
    """Whether the mean square is that of the standard error: asymptotically normal, with the measured fourth moment."""
    squares = found.astype(float) ** 2
    score = (squares.mean() - standard_error**2) / (squares.std() / math.sqrt(squares.size))
    return float(2 * stats.norm.sf(abs(score)))


@pytest.mark.parametrize("kind", BUDGETS)
@pytest.mark.parametrize("noise", ROWS)
def test_an_estimate_is_centred_and_errs_as_it_says(noise: str, kind: str) -> None:
    """At rate 1e-6; the twins: a standard error 20 % off, and the mean of the noise with the wrong sign."""
    gate = seeded(cutoff=6, budget=BUDGETS[kind], noise=noise)
    said = gate.ask(FAR).standard_error
    assert said is not None
    found = errors(noise, kind)
    assert spread_p(found, said) > FALSE_ALARM
    assert spread_p(found, 1.2 * said) < FALSE_ALARM
    assert spread_p(found, said / 1.2) < FALSE_ALARM

    def centred(shift: float) -> float:
        # Rounding moves the mean by half a step at most.
        off = max(abs(found.mean() + shift) - 0.5, 0)
        return float(2 * stats.norm.sf(off / (found.std() / math.sqrt(found.size))))

    assert centred(0) > FALSE_ALARM
    estimator = Estimator.of(VARIANTS[ROWS[noise]], gate._calibration.scales)
    assert estimator is not None
    assert noise == "laplace" or centred(2 * estimator.weight * estimator.centre) < FALSE_ALARM


@pytest.mark.parametrize("noise", ROWS)
def test_a_blend_is_better_than_either_of_its_parts(noise: str) -> None:
    gap, blend = (seeded(cutoff=6, budget=budget, noise=noise).ask(FAR).standard_error for budget in BUDGETS.values())
    assert blend is not None
    assert gap is not None
    fresh = math.sqrt(moments(Noise.LAPLACE, Fraction(6))[1])
    assert 1 / blend**2 == pytest.approx(1 / gap**2 + 1 / fresh**2)


def test_near_the_threshold_the_gap_lies_too_high_as_the_docstring_says() -> None:
    options = {"cutoff": 25, "epsilon": 0.1, "monotonic": True, "source": sg.Seeded(3), "not_private": True}
    gate = sg.SparseVector(threshold=0, sensitivity=1, **options)
    margin, said = gate.margin(), gate.ask(FAR).standard_error
    assert said is not None
    bias = {}
    for margins in (0, 1, 2):
        q = margins * int(margin)
        out = sg.run_many("exponential-gap", [q], runs=60_000, **options)
        assert out.values is not None
        bias[margins] = float((out.values[out.above] - q).mean()) / said
    assert bias[0] == pytest.approx(1.33, abs=0.05)
    assert bias[1] == pytest.approx(0.08, abs=0.03)
    assert bias[2] == pytest.approx(0, abs=0.03)


@given(
    st.integers(0, 2**32),
    st.lists(st.integers(60, 140), max_size=60),
    st.integers(1, 5),
    st.sampled_from(sorted(ROWS)),
    st.sampled_from(sorted(BUDGETS)),
)
def test_ask_many_carries_the_estimates_of_asking_one_by_one(
    seed: int, answers: list[int], cutoff: int, noise: str, kind: str
) -> None:
    one, many = (seeded(seed, cutoff=cutoff, noise=noise, budget=BUDGETS[kind]) for _ in range(2))
    singly = []
    for answer in answers:
        if one.closed:
            break
        said = one.ask(answer)
        singly.append((said.above, said.estimate or 0, said.standard_error or 0))
    assert many.ask_many(answers, numeric=True).tolist() == singly


def test_ask_many_is_boolean_unless_numbers_are_paid_for_or_asked_for() -> None:
    assert seeded().ask_many([FAR]).dtype == np.bool_
    assert seeded().ask_many([FAR], numeric=True).dtype.names == ("above", "estimate", "standard_error")
    assert seeded(budget=BUDGETS["blend"]).ask_many([FAR]).dtype.names is not None
    assert seeded(budget=BUDGETS["blend"]).ask_many([FAR], numeric=False).dtype == np.bool_
    assert seeded(closes="rarer").ask_many([FAR], numeric=True).dtype == np.bool_


def test_answers_are_equal_by_their_side_alone() -> None:
    gate = seeded(cutoff=9)
    answers = {gate.ask(FAR), gate.ask(2 * FAR), gate.ask(-FAR)}
    assert answers == {sg.ABOVE, sg.BELOW}
    assert gate.ask(FAR).estimate != gate.ask(3 * FAR).estimate


@pytest.mark.parametrize("noise", ROWS)
def test_a_float_gate_estimates_in_floats_on_its_lattice(noise: str) -> None:
    answer = seeded(threshold=0.5, sensitivity=0.25, noise=noise).ask(1000.3)
    assert isinstance(answer.estimate, float)
    assert answer.standard_error is not None
    assert abs(answer.estimate - 1000.3) < 20 * answer.standard_error
    step = seeded(threshold=0.5, sensitivity=0.25)._calibration.lattice.granularity
    assert (Fraction(answer.estimate) / step).denominator == 1


def test_noise_too_small_to_see_is_no_division_by_zero() -> None:
    tiny = Scales(Fraction(1, 2**20), Fraction(1, 2**20), Fraction(1, 2**20))
    estimator = Estimator.of(VARIANTS["exponential-gap"], tiny)
    assert estimator == Estimator(centre=0, weight=0.0, standard_error=0.0)
    assert estimator is not None
    assert estimator.estimate(5, 7) == 7
