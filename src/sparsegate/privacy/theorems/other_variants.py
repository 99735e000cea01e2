"""Section 3.4: advanced composition, and the test |e - q + nu| >= T + rho of Hardt, Rothblum and of Roth, Roughgarden.

With indicator output alone and Alg. 1's scales the test is eps-DP, although its noise is inside the absolute value.
Shift rho by Delta: a BELOW is free. For an ABOVE at t = T + z > 0 the two tails are disjoint, and each costs at most
2 Delta/b; at t <= 0 < t + Delta, Pr[|x + nu| >= t + Delta] >= Pr[|nu| >= Delta] = e^(-Delta/b). What leaks is the
released noisy answer: it bounds rho from above, and then every BELOW costs Delta/b, with the noise inside or outside.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sparsegate.mechanisms.variants import Released, Variant
from sparsegate.privacy.laws import Floats, NoiseLaw
from sparsegate.privacy.outcome import log_probability
from sparsegate.privacy.theorems.claim import Claim, ClaimVerdict, Measured, Subject, at_most, equals, exceeds
from sparsegate.privacy.theorems.measure import ABOVE, BELOW, AnswerPair, ClaimSetting, listed, repeated

_THRESHOLDS = (-3, 0, 20)  # a gate may be asked with any of them
_QUERIES = 41


def _worst(row: Variant, cutoff: int, queries: int) -> float:
    """The search alone: thresholds matter here, and the far pairs know only one."""
    nothing: Sequence[AnswerPair] = ()
    return ClaimSetting(row=row, cutoff=cutoff, epsilon=1).worst(queries=queries, thresholds=_THRESHOLDS, pairs=nothing)


def _released_loss(row: Variant) -> float:
    """Errors far above T = 0 that rise, all BELOW; then the number 5, which says rho <= 5 on both sides."""
    return ClaimSetting(row=row, epsilon=1).loss(repeated((400, 401, BELOW, _QUERIES - 1), (6, 7, 5.0, 1)))


def _passage(subject: Subject) -> Measured:
    indicator = max(_worst(subject.rows["hardt-rothblum-2010-indicator"], c, n) for c, n in ((1, 6), (2, 8)))
    inside = _released_loss(subject.rows["hardt-rothblum-2010"])
    outside = _released_loss(replace(subject.rows["hardt-rothblum-2010-repaired"], released=Released.NOISY_ANSWER))
    return Measured(
        parts=(
            exceeds("noise inside |.|, indicators alone: loss, against ε", indicator, 1.0),
            exceeds(f"noise inside |.|, answers released: loss after {_QUERIES} queries, against ε", inside, 1.0),
        ),
        evidence=(
            f"indicators alone {indicator:.4f} of 1; with answers released {inside:.4f} after {_QUERIES} queries, "
            f"noise outside {outside:.4f}"
        ),
    )


def _reveals(subject: Subject) -> Measured:
    """One query at T = 2: how likely rho < -T is after an ABOVE, and after a BELOW."""
    setting, bar = ClaimSetting(row=subject.rows["hardt-rothblum-2010-indicator"], epsilon=1), 2
    prior = math.exp(float(NoiseLaw(scale=1 / float(setting.shares.threshold)).log_below(np.array(-float(bar)))))
    t = -np.geomspace(1e-9, 100, 50)  # T + rho where rho < -T
    passes, fails = (
        float(np.exp(table(t, np.zeros(1))).max())
        for table in (setting.query_law.log_outside, setting.query_law.log_inside)
    )
    above, below = (
        math.exp(log_probability(setting.row, [0], [entry], threshold=bar, estimates=[0], epsilon=1))
        for entry in (ABOVE, BELOW)
    )
    after_above, after_below = prior * passes / above, prior * fails / below
    return Measured(
        parts=(equals("Pr[ρ < -T | ABOVE]", after_above, 0.0),),
        evidence=f"Pr[ρ < -T] is {prior:.4f} before, {after_above:.4f} after an ABOVE, {after_below:.0f} after a BELOW",
    )


def _repaired(subject: Subject) -> Measured:
    row = subject.rows["hardt-rothblum-2010-repaired"]
    losses = [_worst(row, cutoff, queries) for cutoff, queries in ((1, 6), (2, 10))]
    return Measured(
        parts=tuple(at_most(f"loss at c = {c}", x, 1.0) for c, x in zip((1, 2), losses, strict=True)),
        evidence=f"loss {listed(losses)} of 1 at c = 1, 2",
    )


def _advanced(subject: Subject) -> Measured:
    """k-fold randomised response, the worst eps-DP mechanism: delta at eps' is a binomial sum."""
    parts = []
    for runs, epsilon, delta in ((100, 0.1, 1e-6), (1000, 0.01, 1e-5)):
        composed = subject.advanced(epsilon, runs=runs, delta=delta)
        exact = _randomised_response(runs, epsilon, composed)
        parts.append(at_most(f"δ of {runs} runs at ε = {epsilon}, ε' = {composed:.4f}", exact, delta))
        parts.append(exceeds(f"ε of {runs} runs added up, against ε'", runs * epsilon, composed))
    return Measured(
        parts=tuple(parts), evidence=f"true δ {parts[0].measured:.1e} where {parts[0].claimed:.0e} is allowed"
    )


def _randomised_response(runs: int, epsilon: float, composed: float) -> float:
    """sum_j C(k,j) max(0, p^(k-j) q^j - e^eps' p^j q^(k-j)) with p = e^eps/(1+e^eps), q = 1-p."""
    j = np.arange(runs + 1)
    log_p, log_q = -np.logaddexp(0, -epsilon), -np.logaddexp(0, epsilon)
    log_ways: Floats = np.array([math.lgamma(runs + 1) - math.lgamma(i + 1) - math.lgamma(runs - i + 1) for i in j])
    here = log_ways + (runs - j) * log_p + j * log_q
    there = log_ways + j * log_p + (runs - j) * log_q
    return float(np.maximum(0, np.exp(here) - np.exp(composed + there)).sum())


CLAIMS = (
    Claim(
        key="advanced-composition",
        place="Sec. 3.4",
        expected=ClaimVerdict.HOLDS,
        measure=_advanced,
        statement="k runs of an ε-DP mechanism are (ε', δ')-DP for ε' = sqrt(2k ln(1/δ')) ε + kε (e^ε - 1).",
    ),
    Claim(
        key="hr10",
        place="Sec. 3.4",
        expected=ClaimVerdict.OVER_CLAIMS,
        measure=_passage,
        statement="|e - q + ν| >= T + ρ is not private, because the noise is inside the absolute value.",
    ),
    Claim(
        key="slip-hr10-reveals",
        place="Sec. 3.4",
        expected=ClaimVerdict.WRONG,
        measure=_reveals,
        statement="With the noise inside, one ABOVE tells that ρ >= -T. (A BELOW does.)",
    ),
    Claim(
        key="hr10-repaired",
        place="Sec. 3.4",
        expected=ClaimVerdict.TIGHT,
        measure=_repaired,
        statement="|e - q| + ν >= T + ρ with indicator output is a standard SVT, hence ε-DP.",
    ),
)
