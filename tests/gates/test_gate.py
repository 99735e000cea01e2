"""A gate is a secret: it is not copied, dies at a fork, is shared by threads, and shows its noise nowhere."""

from __future__ import annotations

import copy
import math
import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from tests.support.goodness import FALSE_ALARM
from tests.support.threads import at_once

import sparsegate as sg
from sparsegate.errors import GateClosed, SparsegateError
from sparsegate.gates.bounds import Setting, outcome_loss
from sparsegate.gates.calibration import calibrate
from sparsegate.gates.gate import Estimator, Gate, resume, threshold_noise
from sparsegate.gates.sparse_vector import SparseVector
from sparsegate.gates.variants import VARIANTS, Noise


def a_gate(cutoff: int = 3) -> sg.SparseVector:
    return sg.SparseVector(threshold=0, cutoff=cutoff, epsilon=1, sensitivity=1)


@pytest.mark.parametrize("clone", [copy.copy, copy.deepcopy, pickle.dumps, lambda gate: gate.__getstate__()])
def test_a_gate_is_never_copied(clone):
    with pytest.raises(sg.SparsegateError, match="neither copied nor pickled"):
        clone(a_gate())


def test_threads_share_one_cutoff():
    gate = a_gate(cutoff=500)

    def ask(_: int) -> int:
        mine = 0
        try:
            while True:
                mine += bool(gate.ask(10**6))
        except sg.GateClosed:
            return mine

    assert sum(at_once(ask, range(8))) == 500
    assert gate.positives == 500


def _refusal(call: Any) -> str:
    """The message of a refused call, and the local variables of every frame below the call."""
    with pytest.raises(sg.SparsegateError) as caught:
        call()
    frames = [entry.frame.f_locals for entry in caught.traceback[1:]]
    assert len(frames) >= 2
    return str(caught.value) + repr(frames)


def test_no_repr_error_or_traceback_shows_noise():
    """A gate whose noise is a_gate recognisable: a large prime stands in every rho and nu."""
    mark = 982_451_653
    gate = a_gate(cutoff=1)
    gate._rho = mark
    gate._nu._waiting = [mark] * 50
    texts = [repr(gate), repr(gate._nu), str(gate), repr(gate._calibration)]
    for bad in (math.nan, 1.5, 3.0, "many", None, True):  # by their type, on an integer gate
        texts.append(_refusal(lambda bad=bad: gate.ask(bad)))
        texts.append(_refusal(lambda bad=bad: gate.ask_many([1, bad])))
    gate.close()
    texts.append(_refusal(lambda: gate.ask(1)))
    assert len(texts) > 10
    assert not any(str(mark) in text for text in texts)


ROWS = {"laplace": "ding-2019", "exponential": "exponential-gap"}
BUDGETS = {
    "gap": sg.Budget(threshold_epsilon=0.5, query_epsilon=1),
    "blend": sg.Budget(threshold_epsilon=0.5, query_epsilon=1, answer_epsilon=1),
}
FAR = 10**6


def seeded(seed: int = 7, **options: Any) -> sg.SparseVector:
    chosen = {"threshold": 100, "cutoff": 3, "sensitivity": 1, "budget": BUDGETS["gap"]} | options
    return sg.SparseVector(**chosen, source=sg.Seeded(seed), not_private=True)


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
def test_an_estimate_is_centred_and_errs_as_it_says(noise, kind):
    """At rate 1e-6; the twins: a standard error 20 % off, and the mean of the noise with the wrong sign."""
    gate = seeded(cutoff=6, budget=BUDGETS[kind], noise=noise)
    said = gate.ask(FAR).standard_error
    assert said is not None
    found = errors(noise, kind)
    assert spread_p(found, said) > FALSE_ALARM
    assert spread_p(found, 1.2 * said) < FALSE_ALARM
    assert spread_p(found, said / 1.2) < FALSE_ALARM

    def centred(shift):
        # Rounding moves the mean by half a step at most.
        off = max(abs(found.mean() + shift) - 0.5, 0)
        return float(2 * stats.norm.sf(off / (found.std() / math.sqrt(found.size))))

    assert centred(0) > FALSE_ALARM
    estimator = Estimator.of(VARIANTS[ROWS[noise]], gate._calibration.scales)
    assert estimator is not None
    assert noise == "laplace" or centred(2 * estimator.weight * estimator.centre) < FALSE_ALARM


@pytest.mark.parametrize("noise", ROWS)
def test_a_blend_is_better_than_either_of_its_parts(noise):
    gap, blend = (seeded(cutoff=6, budget=budget, noise=noise).ask(FAR).standard_error for budget in BUDGETS.values())
    assert blend is not None
    assert gap is not None
    fresh = math.sqrt(Noise.LAPLACE.law.moments(Fraction(6))[1])
    assert 1 / blend**2 == pytest.approx(1 / gap**2 + 1 / fresh**2)


@given(
    st.integers(0, 2**32),
    st.lists(st.tuples(st.integers(60, 140), st.integers(97, 103)), max_size=200),
    st.integers(1, 5),
    st.sampled_from(sorted(ROWS)),
    st.sampled_from(sorted(BUDGETS)),
)
def test_ask_many_says_what_asking_one_by_one_says(seed, questions, cutoff, noise, kind):
    one, many, indicators = (seeded(seed, cutoff=cutoff, noise=noise, budget=BUDGETS[kind]) for _ in range(3))
    singly = []
    for answer, bar in questions:
        if one.closed:
            break
        said = one.ask(answer, threshold=bar)
        singly.append((said.above, said.estimate or 0, said.standard_error or 0))
    answers, bars = [answer for answer, _ in questions], [bar for _, bar in questions]
    assert many.ask_many(answers, threshold=bars, numeric=True).tolist() == singly
    above = indicators.ask_many(answers, threshold=bars, numeric=False)
    assert above.dtype == np.bool_
    assert above.tolist() == [above for above, _, _ in singly]
    assert (one.positives, one.closed) == (many.positives, many.closed)


def metered(**options: Any) -> sg.SparseVector:
    return sg.SparseVector(
        **{"threshold": 0, "cutoff": 3, "sensitivity": 1, "epsilon": 1, "allocation": "1:1"} | options
    )


@pytest.mark.parametrize("noise", ["laplace", "exponential"])
@pytest.mark.parametrize("monotonic", [False, True])
def test_it_is_the_loss_of_what_was_said(monotonic, noise):
    """Answers far from the threshold: what is said is what was asked for."""
    asked = metered(monotonic=monotonic, noise=noise)
    per_unit, row = asked._calibration._per_unit, asked._calibration.row
    said = [-FAR, FAR, -FAR, -FAR, FAR, FAR]
    assert asked.spent == 0
    for number, answer in enumerate(said, start=1):
        asked.ask(answer)
        above = sum(one > 0 for one in said[:number])
        assert asked.spent == outcome_loss(number - above, above, per_unit, monotonic=monotonic, row=row)
        assert asked.spent == asked.cost(below=number - above, above=above)
    assert asked.closed
    assert 0 < asked.spent <= 1


@pytest.mark.parametrize("monotonic", [False, True])
def test_rounds_with_a_threshold_noise_of_their_own_add(monotonic):
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
def test_a_row_without_a_bound_costs_its_budget_and_no_more(key):
    made = calibrate(Setting(row=sg.VARIANTS[key], epsilon=1), threshold=0, not_private=True)
    assert made.spent([(0, 0)]) == 0
    assert made.spent([(50, 1)]) == 1


PUBLIC = {"threshold": 100, "cutoff": 3, "epsilon": 1, "sensitivity": 1, "monotonic": True}


def test_its_answers_turn_exactly_where_the_threshold_noise_says():
    # Without query noise (an epsilon this large makes it 0 but for a chance of 1e-40) rho alone decides.
    public = PUBLIC | {"cutoff": 50, "epsilon": 10_000, "allocation": 1e6}
    for rho in (-3, 0, 7):
        secret = rho.to_bytes(9, "big", signed=True) + b"L"
        gate = resume(SparseVector, secret, asked=0, positives=0, **public)
        assert [gate.ask(100 + rho + step).above for step in (-2, -1, 0, 1)] == [False, False, True, True]


def test_positives_that_were_given_count():
    gate = resume(SparseVector, threshold_noise(SparseVector(**PUBLIC)), asked=9, positives=2, **PUBLIC)
    assert (gate.positives, gate.remaining, gate.closed) == (2, 1, False)
    assert gate.ask(10**6)
    with pytest.raises(GateClosed):
        gate.ask(0)


def test_a_gate_that_was_through_stays_closed():
    planned = PUBLIC | {"queries": 5}
    for public, asked, positives in ((PUBLIC, 3, 3), (planned, 5, 0), (planned, 6, 0), (planned, 99, 1)):
        gate = resume(SparseVector, threshold_noise(SparseVector(**public)), asked=asked, positives=positives, **public)
        assert gate.closed
        with pytest.raises(GateClosed):
            gate.ask(0)


@pytest.mark.parametrize("noise", ["laplace", "exponential"])
def test_a_gate_goes_on_with_noise_of_its_own_law(noise):
    secret = threshold_noise(SparseVector(**PUBLIC, noise=noise))
    assert resume(SparseVector, secret, asked=0, positives=0, **PUBLIC)._calibration.row.noise.name.lower() == noise


def test_secrets_have_one_length_and_questions_after_the_restart_have_noise_of_their_own():
    gates = (
        SparseVector(**PUBLIC | {"epsilon": epsilon}, source=sg.Seeded(seed), not_private=True)
        for epsilon in (100, 1, 1e-6)
        for seed in range(20)
    )
    assert {len(threshold_noise(gate)) for gate in gates} == {10}
    public = PUBLIC | {"cutoff": 2000}
    secret = threshold_noise(SparseVector(**public))
    again = [resume(SparseVector, secret, asked=0, positives=0, **public) for _ in range(2)]
    one, other = ([gate.ask(100).above for _ in range(200)] for gate in again)
    assert one != other


@pytest.mark.parametrize("wrong", [b"", b"\0" * 8, b"\0" * 9, b"\0" * 9 + b"X", b"\0" * 9 + b"EE", b"\xff" * 9 + b"E"])
def test_what_is_no_noise_of_a_gate_makes_none(wrong):
    """Too short, it would be a rho of nothing; and exponential noise is never negative."""
    with pytest.raises(SparsegateError, match="^this is no threshold noise of a gate"):
        resume(SparseVector, wrong, asked=0, positives=0, **PUBLIC)
