"""What private prediction costs: pure, zero-concentrated, with a delta, and to dp_accounting."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest
from dp_accounting.pld import PLDAccountant
from dp_accounting.rdp import RdpAccountant

import sparsegate as sg
from sparsegate.gates.approximate import renyi_bound
from sparsegate.uses.prediction import PredictionTerms, prediction_terms

NUMBERS: dict[str, Any] = {"batches": 500, "threshold": 0.4, "cutoff": 100, "epsilon": 2, "clip": 5}
SMALL = NUMBERS | {"batches": 40, "cutoff": 60, "epsilon": 1}
DELTA = 1e-6


@pytest.fixture(scope="module")
def approximate() -> PredictionTerms:
    """Few batches, so that tokens get all that the gate leaves."""
    return prediction_terms(**SMALL, delta=DELTA)


def test_everything_together_costs_epsilon_and_no_more() -> None:
    for cutoff, temperature in ((1, 1), (20, 1), (100, 1), (100, 8)):
        terms = prediction_terms(**NUMBERS | {"cutoff": cutoff}, temperature=temperature)
        preview = sg.uses.PrivatePredictor.preview(**NUMBERS | {"cutoff": cutoff}, temperature=temperature)
        assert (preview.epsilon, preview.temperature, preview.margin) == (2, terms.temperature, terms.margin())
        gate = terms.calibration
        assert Fraction(gate.loss) + cutoff * terms.token_epsilon == terms.epsilon == 2
        assert terms.spent(gate=gate.budget.total, paid=cutoff) == 2
        assert terms.temperature == 2 * 5 / (500 * terms.token_epsilon) >= temperature


def test_tokens_get_what_their_temperature_needs_and_at_most_half() -> None:
    assert prediction_terms(**NUMBERS | {"cutoff": 20}).token_epsilon == Fraction(2 * 5, 500)
    hot = prediction_terms(**NUMBERS)
    assert (hot.cutoff * hot.token_epsilon, hot.temperature) == (1, 2)
    assert prediction_terms(**NUMBERS, alone=True).temperature == 1
    assert hot.margin() > hot.margin(0.5) > 0


def test_a_delta_is_used_and_charged_only_where_it_helps(approximate: PredictionTerms) -> None:
    pure = prediction_terms(**SMALL)
    assert (approximate.delta, approximate.epsilon) == (Fraction(1, 10**6), 1)
    assert approximate.temperature < pure.temperature
    assert approximate.margin() < 0.75 * pure.margin()
    few = prediction_terms(**NUMBERS | {"cutoff": 1}, delta=DELTA)
    assert few == prediction_terms(**NUMBERS | {"cutoff": 1})
    assert (few.delta, approximate.spent(gate=Fraction(1), paid=3)) == (0, 1)


def epsilon_at(terms: PredictionTerms, tokens: float) -> float:
    """The theorem for delta, by another way: over many orders, in floats."""
    gate, least = terms.calibration, math.inf
    for order in (20, 22, 24, 26):
        alpha, a = Fraction(order), float(order)
        rest = (math.log(1 / DELTA) + (a - 1) * math.log(1 - 1 / a) - math.log(a)) / (a - 1)
        bound = renyi_bound(alpha, scales=gate.scales, sensitivity=1024, cutoff=gate.cutoff, monotonic=False)
        least = min(least, bound + a * terms.cutoff * tokens**2 / 8 + rest)
    return least


def test_with_delta_the_moments_of_gate_and_tokens_stay_within_epsilon(approximate: PredictionTerms) -> None:
    each = float(approximate.token_epsilon)
    assert approximate.temperature > 1
    assert 0.99 < epsilon_at(approximate, each) <= 1.002  # the best order lies between two of them
    assert epsilon_at(approximate, 1.25 * each) > 1.025


def test_with_delta_the_event_is_no_less_than_what_is_charged(approximate: PredictionTerms) -> None:
    found = RdpAccountant().compose(approximate.dp_event()).get_epsilon(DELTA)
    assert 1 <= found < 1.25  # the comparisons are one rate of zCDP to it, at every order
    with pytest.raises(sg.ParameterError, match="accountant"):
        approximate.dp_event("pld")


def test_dp_accounting_agrees_on_pure_terms() -> None:
    terms = prediction_terms(batches=100, threshold=0.4, cutoff=30, epsilon=6, clip=5)
    found = {
        "rdp": RdpAccountant().compose(terms.dp_event("rdp")).get_epsilon(DELTA),
        "pld": PLDAccountant().compose(terms.dp_event("pld")).get_epsilon(DELTA),
    }
    assert found["pld"] < found["rdp"] < 6
    assert found["pld"] > float(terms.calibration.budget.total) - 0.01
    gate, tokens = terms.calibration.budget.total, 30 * terms.token_epsilon**2 / 8
    assert terms.zcdp == pytest.approx(float(gate**2 / 2 + tokens))
    zcdp = terms.zcdp + 2 * math.sqrt(terms.zcdp * math.log(1 / DELTA))
    assert max(found.values()) <= zcdp


@pytest.mark.parametrize("accountant", ["rdp", "pld"])
def test_the_event_has_every_token(accountant: Any) -> None:
    """Of gate and tokens together the accountant finds more than of the gate alone, by as much as c tokens lose."""
    found = {}
    for cutoff in (1, 200):
        terms = prediction_terms(**NUMBERS | {"cutoff": cutoff, "batches": 20})
        tokens = terms.dp_event(accountant).events[1]
        made = RdpAccountant() if accountant == "rdp" else PLDAccountant(value_discretization_interval=1e-3)
        found[cutoff] = made.compose(tokens).get_epsilon(DELTA) / float(terms.token_epsilon)
    # 200 draws of e each lose e sqrt(200) and more at a small delta; of one, moments find at most 3 e.
    assert found[1] < 3
    assert found[200] > 14


def test_zcdp_with_delta_covers_the_moments(approximate: PredictionTerms) -> None:
    gate, tokens = approximate.calibration, 60 * float(approximate.token_epsilon) ** 2 / 8
    for order in (Fraction(101, 100), 2, 8, 30):  # near 1 every part of it is needed
        bound = renyi_bound(Fraction(order), scales=gate.scales, sensitivity=1024, cutoff=60, monotonic=False)
        assert 0.3 * approximate.zcdp * order < bound + order * tokens <= approximate.zcdp * order


def test_bad_batches_are_refused() -> None:
    for batches in (0, 2.5, 2**21):
        with pytest.raises(sg.ParameterError, match="batches"):
            prediction_terms(**NUMBERS | {"batches": batches})
