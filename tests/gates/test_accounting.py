"""Events for dp_accounting: no mechanism is more revealing than its event, by exact numbers and both accountants."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from dp_accounting.pld import PLDAccountant
from dp_accounting.rdp import RdpAccountant
from tests.support.selection_laws import peeled

import sparsegate as sg
from sparsegate.gates.accounting import pure_event, selection_event
from sparsegate.gates.approximate import pure_renyi_bound, waiting_bound
from sparsegate.privacy import delta as profile

ACCOUNTANTS = {"rdp": RdpAccountant, "pld": PLDAccountant}
ORDERS = [1.01, 1.3, 2.0, 5.0, 17.0, 60.0, 400.0]


def laplace_divergence(alpha, e):
    return e + math.log((alpha + (alpha - 1) * math.exp(-(2 * alpha - 1) * e)) / (2 * alpha - 1)) / (alpha - 1)


def laplace_profile(e, at):
    """delta(at) of Laplace noise at e."""
    return max(0.0, -math.expm1((at - e) / 2)) if at >= 0 else 1.0


def exact_profile(p, q, at):
    return max(np.maximum(0, x - math.exp(at) * y).sum() for x, y in ((p, q), (q, p)))


def exact_divergence(p, q, alpha):
    return max(np.log((x**alpha * y ** (1 - alpha)).sum()) for x, y in ((p, q), (q, p))) / (alpha - 1)


def spent(event, accountant, **asked):
    made = ACCOUNTANTS[accountant]().compose(event)
    return made.get_epsilon(asked["delta"]) if "delta" in asked else made.get_delta(asked["epsilon"])


@pytest.mark.parametrize("epsilon", [Fraction(1, 20), Fraction(1), Fraction(6)])
def test_a_pure_event_is_no_less_than_randomised_response(epsilon):
    e = 1 / pure_event(epsilon, "rdp").noise_multiplier
    for alpha in ORDERS:
        assert laplace_divergence(alpha, e) >= pure_renyi_bound(Fraction(alpha), epsilon) * (1 - 1e-9)
    for at in np.linspace(0, float(epsilon), 9):
        response = (math.exp(epsilon) - math.exp(at)) / (1 + math.exp(epsilon))
        assert laplace_profile(e, at) >= response * (1 - 1e-9)
        assert spent(pure_event(epsilon, "pld"), "pld", epsilon=at) == pytest.approx(response, abs=2e-4, rel=1e-3)


def test_laplace_noise_at_epsilon_itself_would_be_less():
    assert laplace_divergence(1.3, 1.0) < 0.9 * pure_renyi_bound(Fraction(13, 10), Fraction(1))


GATE_PAIRS = [([0, 0, 0], [1, -1, 1]), ([9] * 4 + [0], [10] * 4 + [-1]), ([2, 2, -2, 0], [1, 1, -3, -1])]


@pytest.mark.parametrize(("answers", "neighbour"), GATE_PAIRS)
@pytest.mark.parametrize("accountant", ACCOUNTANTS)
def test_a_gate_is_no_more_revealing_than_its_event(answers, neighbour, accountant):
    gate = sg.SparseVector(threshold=0, cutoff=2, epsilon=2, sensitivity=1, source=sg.Seeded(1), not_private=True)
    event = gate.dp_event(accountant)
    for at in (0.0, 0.3, 1.0):
        exact = profile("standard", at, answers, neighbour, cutoff=2, epsilon=2, noise="lattice")
        assert spent(event, accountant, epsilon=at) >= exact
        if exact > 1e-12:
            assert spent(event, accountant, delta=exact) >= at - 1e-4  # the grid of the accountant


WEIGHED = [([0, 0, 0], [1, -1, -1]), ([8, 0], [7, 1]), ([3, 2, 0, 0], [2, 3, 1, 1])]


def exponential_law(scores, epsilon):
    weights = np.exp(epsilon * np.array(scores) / 2)
    return weights / weights.sum()


def subset_law(scores, epsilon, count):
    """Pr[S] ~ exp(-epsilon l(S) / 4), l the largest score left out less the smallest taken."""
    chosen = list(itertools.combinations(range(len(scores)), count))
    lost = [max(scores[i] for i in range(len(scores)) if i not in s) - min(scores[i] for i in s) for s in chosen]
    weights = np.exp(-epsilon * np.array(lost) / 4)
    return weights / weights.sum()


@pytest.mark.parametrize("method", ["exponential", "subset"])
@pytest.mark.parametrize(("scores", "moved"), WEIGHED)
def test_real_scores_lie_below_laplace_noise(method, scores, moved):
    epsilon = Fraction(2)
    event = selection_event(method, epsilon=epsilon, delta=Fraction(0), count=1, accountant="pld")
    law = exponential_law if method == "exponential" else lambda q, e: subset_law(q, e, 1)
    p, q = (law(values, float(epsilon)) for values in (scores, moved))
    for at in np.linspace(0, 2, 5):
        assert exact_profile(p, q, at) <= laplace_profile(1 / event.noise_multiplier, at) + 1e-12
        assert exact_profile(p, q, at) <= spent(event, "pld", epsilon=at) + 1e-12


def test_laplace_noise_that_is_smaller_by_a_fifth_is_no_such_event():
    """The twin: far from balanced, the exponential mechanism loses nearly all of epsilon."""
    p, q = (exponential_law(values, 2.0) for values in ([8, 0], [7, 1]))
    assert exact_profile(p, q, 1.7) > laplace_profile(0.8 * 2.0, 1.7)


@pytest.mark.parametrize(("scores", "moved"), [([0, 0, 0, 0], [1, -1, 1, -1]), ([4, 3, 0, 0], [3, 4, 1, 1])])
def test_peeled_rounds_are_zero_concentrated(scores, moved):
    epsilon, count = Fraction(2), 2
    event = selection_event("exponential", epsilon=epsilon, delta=Fraction(0), count=count, accountant="rdp")
    rate = float(epsilon) / count / 2
    laws = [peeled([math.exp(rate * q) for q in values], count) for values in (scores, moved)]
    p, q = (np.array([float(law[outcome]) for outcome in laws[0]]) for law in laws)
    for alpha in ORDERS[:5]:
        assert exact_divergence(p, q, alpha) <= event.rho * alpha
    assert exact_divergence(p, q, 1.01) > 0.2 * event.rho  # not so far away that any event would do


def test_a_gumbel_selection_is_the_same_to_the_accountant():
    delta = Fraction(1, 10**6)
    event = selection_event("gumbel", epsilon=Fraction(1), delta=delta, count=50, accountant="rdp")
    assert 1 <= spent(event, "rdp", delta=1e-6) < 1.01


def approximate(**options):
    defaults = {"threshold": 0, "cutoff": 300, "epsilon": 1, "delta": 1e-6, "sensitivity": 1}
    return sg.SparseVector(**(defaults | options), source=sg.Seeded(1), not_private=True)


def test_both_parts_of_an_approximate_gate_lie_below_their_events_at_every_order():
    gate = approximate()
    rho, waiting = gate.dp_event().events
    scales = gate._calibration.scales
    for alpha in map(Fraction, [*ORDERS, 3.21, 28.4]):
        assert laplace_divergence(float(alpha), 1 / rho.noise_multiplier) >= pure_renyi_bound(
            alpha, 1 / scales.threshold
        )
        assert waiting.rho * alpha >= waiting_bound(alpha, query=scales.query, shift=2, cutoff=300)
    assert 1 < spent(gate.dp_event(), "rdp", delta=1e-6) < 1.2


def test_what_has_no_event_is_refused_by_name():
    noisy = {"epsilon": Fraction(1), "delta": Fraction(1, 9), "count": 2, "accountant": "rdp"}
    for parameter, call in (
        ("accountant", lambda: approximate().dp_event("pld")),
        ("accountant", lambda: pure_event(Fraction(1), "gdp")),
        ("release", lambda: selection_event("noisy-scores", **noisy)),
    ):
        with pytest.raises(sg.ParameterError) as caught:
            call()
        assert caught.value.parameter == parameter
