"""What a gate or a selection is to Google's ``dp_accounting``: an event that is at least as revealing.

*Whatever is e-DP* is a post-processing of randomised response at e (Kairouz, Oh, Viswanath 2015): for "pld" discrete
Laplace noise at e, for "rdp" Laplace noise at 2 ln((1+exp(e))/2). *A mechanism of real scores whose pure loss is linear
in distance* (the exponential mechanism, the subset mechanism, one-shot noise) is no worse than Laplace noise at e
itself. *The (epsilon, delta) gate* has the divergence of rho, which is (Delta/t)-DP, and that of c waiting times for an
ABOVE, which is as if it were rho-zCDP. Proofs: docs/explanation/proofs_in_words/core.md.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal

from sparsegate.budget import Cost, pure_rho
from sparsegate.errors import ParameterError, load_extra
from sparsegate.gates.approximate import covered, round_epsilon, waiting_bound
from sparsegate.gates.calibration import Calibration
from sparsegate.gates.gaussian import gaussian_sigma
from sparsegate.gates.variants import Compared

Accountant = Literal["rdp", "pld"]

_RATIO = Fraction(103, 100)  # of one order to the one before: rho is at most 3 % too large
_SLACK = 1 + 1e-12  # covers the roundings of a few operations on floats


def gate_event(gate: Calibration, accountant: Accountant) -> Any:
    """The event of a gate."""
    if gate.price is not None:
        rule = "must have a cutoff: what each ABOVE costs is known when it is given"
        raise ParameterError("gate", rule, next_step="charge it to a zCDP Ledger")
    if not gate.budget.delta:
        return pure_event(gate.budget.total, accountant)
    if accountant != "rdp":
        rule = 'must be "rdp" for an (epsilon, delta) gate: the bound is of its Renyi divergence'
        raise ParameterError("accountant", rule, accountant, "or make the gate without delta")
    assert gate.scales.threshold is not None
    return composed([pure_event(gate.lattice.sensitivity / gate.scales.threshold, "rdp"), _zcdp(waiting_rate(gate))])


def selection_event(method: str, *, epsilon: Fraction, delta: Fraction, count: int, accountant: Accountant) -> Any:
    """The event of a selection of ``count`` items by this method, or of fewer."""
    if delta and method != "gumbel":
        rule = "must be pure, or a gumbel selection: dp_accounting has no event for (epsilon, delta)"
        raise ParameterError("release", rule, method, "charge it to a Ledger")
    linear, count = epsilon, max(count, 1)
    if method in ("exponential", "gumbel"):
        round_ = round_epsilon(epsilon=epsilon, delta=delta, count=count) if delta else epsilon / count
        if accountant == "rdp":
            return _zcdp(float(count * round_**2 / 8) * _SLACK)
        linear = round_ * count  # all rounds together are linear in distance, too
    elif method not in ("subset", "one-shot"):
        return pure_event(epsilon, accountant)
    return _events(accountant).LaplaceDpEvent(1 / (float(linear) * _SLACK))


def pure_event(epsilon: Fraction, accountant: Accountant) -> Any:
    """The event of whatever is epsilon-DP."""
    events, e = _events(accountant), float(epsilon) * _SLACK
    if accountant == "pld":
        return events.DiscreteLaplaceDpEvent(noise_parameter=e, sensitivity=1)
    return events.LaplaceDpEvent(1 / (2 * (e + math.log1p(math.exp(-e)) - math.log(2)) * _SLACK))


def gaussian_event(epsilon: Fraction, delta: Fraction, accountant: Accountant) -> Any:
    """The event of normal noise for (epsilon, delta), by ``gates.gaussian``."""
    sigma = gaussian_sigma(epsilon=epsilon, delta=delta)
    assert sigma is not None
    return _events(accountant).GaussianDpEvent(float(sigma) / _SLACK)


def composed(events: list[Any]) -> Any:
    """The event of all of these."""
    return events[0] if len(events) == 1 else _events("rdp").ComposedDpEvent(events)


def _zcdp(rate: float) -> Any:
    return _events("rdp").ZCDpEvent(rho=rate)


def gate_cost(gate: Calibration) -> Cost:
    """What a gate costs: where ``gate_rho`` knows its rho that, and no delta beside it."""
    cost, rho = Cost.of(gate.budget.total, gate.budget.delta), gate_rho(gate)
    return cost if rho is None or rho > cost.rho else replace(cost, rho=rho, rho_delta=Fraction(0))


def gate_rho(gate: Calibration) -> Fraction | None:
    """The rho of a gate of which more is known than its epsilon, rounded up; None of any other."""
    threshold = gate.scales.threshold
    if threshold is None or gate.row.compared is not Compared.ANSWER or not covered(gate.row, gate.scales):
        return None
    return pure_rho(gate.lattice.sensitivity / threshold) + Fraction(waiting_rate(gate))


@lru_cache(maxsize=64)
def waiting_rate(gate: Calibration) -> float:
    """The rho of the comparisons of such a gate, rounded up."""
    assert gate.scales.query is not None
    shift = gate.lattice.sensitivity * (2 - gate.monotonic)
    order, rate = Fraction(1), 0.0
    while float(gate.cutoff * shift / gate.scales.query / order) * _SLACK > rate:
        further = (order * _RATIO).limit_denominator(10**6)
        bound = waiting_bound(further, query=gate.scales.query, shift=shift, cutoff=gate.cutoff)
        order, rate = further, max(rate, bound / float(order) * _SLACK)
    return rate


def _events(accountant: str) -> Any:
    if accountant not in ("rdp", "pld"):
        raise ParameterError("accountant", 'must be "rdp" or "pld"', accountant, "pass the one the event is for")
    return load_extra("dp_accounting.dp_event", extra="accounting")
