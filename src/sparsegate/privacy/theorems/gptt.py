"""Section 3.3 and App. 9.3: GPTT, the argument that it is not private, and the same argument turned on Alg. 1.

Chen and Machanavajjhala (2015) take D = 0^t 1^t, D' = 1^t 0^t, outcome BELOW^t ABOVE^t, and compare integrands:

    kappa(z) = F(z) (1 - F(z-1)) / (F(z-1) (1 - F(z))),    F the distribution function of Lap(1/eps2).

They cut the integrals to [-delta, delta] with delta = |F^-1(alpha/4)|, alpha = Pr[A(D') = a], and conclude ratio >
kappa^t / 2 for kappa the least kappa(z) there. The paper objects that kappa depends on t.

That the pair loses t eps2 at least, because kappa(z) >= e^eps2 for every z, on integers with discrete noise:
Machine-checked: `gptt_sums_to_one`, `gptt_loss_grows`, `gptt_is_not_private` (proofs/no_cutoff.v).
That n questions lose n eps2 and no more, n even: Machine-checked: `gptt_upper_bound`, `gptt_loss_is_tight`
(proofs/no_cutoff_tight.v).
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from sparsegate.privacy.laws import Floats, NoiseLaw
from sparsegate.privacy.theorems.claim import Claim, ClaimVerdict, Measured, Subject, at_least, equals, exceeds, within
from sparsegate.privacy.theorems.measure import ABOVE, BELOW, AnswerPair, ClaimSetting, listed, repeated

_TIMES = (1, 5, 10, 20, 200, 2000)
_GRID = 4001


def _pair(t: int) -> AnswerPair:
    return repeated((0, 1, BELOW, t), (1, 0, ABOVE, t))


def _log_kappa(nu: NoiseLaw, z: Floats) -> Floats:
    return (nu.log_below(z) - nu.log_below(z - 1)) + (nu.log_above(z - 1) - nu.log_above(z))


def _gptt(subject: Subject) -> ClaimSetting:
    return ClaimSetting(row=subject.rows["gptt"], epsilon=1)


def _is_alg_6(subject: Subject) -> Measured:
    pair = repeated((0, 1, BELOW, 3), (1, 0, ABOVE, 3), (-2, -2, BELOW, 2))
    ours, other = _gptt(subject), ClaimSetting(row=subject.rows["chen-2015"], epsilon=1)
    values = [s.log_probability(pair.answers, pair.outcome) for s in (ours, other)]
    return Measured(
        parts=(equals("ln Pr of BELOW^3 ABOVE^3 BELOW^2: GPTT, against Alg. 6", *values),),
        evidence=f"ln Pr {values[0]:.6f} and {values[1]:.6f} for the same eight queries",
    )


def _not_private(subject: Subject) -> Measured:
    """The published pair loses at least t eps2: kappa(z) >= e^eps2 under the integral."""
    setting = _gptt(subject)
    share = float(setting.shares.queries)
    losses = [setting.loss(_pair(t)) for t in _TIMES]
    parts = [at_least(f"loss at t = {t}, against tε₂", x, t * share) for t, x in zip(_TIMES, losses, strict=True)]
    return Measured(parts=tuple(parts), evidence=f"loss {listed(losses[:4])} at t = 1, 5, 10, 20, ε₁ = ε₂ = 0.5")


def _kappa_limit(subject: Subject) -> Measured:
    nu, share = _gptt(subject).query_law, float(_gptt(subject).shares.queries)
    far = [float(_log_kappa(nu, np.array(z))) for z in (-100.0, 100.0)]
    least = float(_log_kappa(nu, np.linspace(-100, 100, _GRID)).min())
    return Measured(
        parts=tuple(equals(f"ln κ({z}), against ln 1", value, 0.0) for z, value in zip((-100, 100), far, strict=True)),
        evidence=f"ln κ(-100) = {far[0]:.4f}, ln κ(100) = {far[1]:.4f}; least ln κ {least:.4f}, ε₂ = {share:g}",
    )


def _least_log_kappa(setting: ClaimSetting, t: int) -> tuple[float, float, float]:
    """(ln alpha, delta, ln kappa) of the argument at t."""
    log_alpha = setting.log_probability(_pair(t).neighbour, _pair(t).outcome)
    delta = (math.log(2) - log_alpha) / float(setting.shares.threshold)  # F^-1(p) = ln(2p)/eps1 for p < 1/2
    return log_alpha, delta, float(_log_kappa(setting.query_law, np.linspace(-delta, delta, _GRID)).min())


def _proof(subject: Subject) -> Measured:
    setting = _gptt(subject)
    share = float(setting.shares.queries)
    steps = [_least_log_kappa(setting, t) for t in _TIMES]
    reached = [t * log_kappa - math.log(2) for t, (_, _, log_kappa) in zip(_TIMES, steps, strict=True)]
    falls = max(b[0] - a[0] for a, b in pairwise(steps))
    grows = min(b[1] - a[1] for a, b in pairwise(steps))
    shrinks = max(b[2] - a[2] for a, b in pairwise(steps))
    return Measured(
        parts=(
            within("largest step of ln α(t)", falls, 0.0),
            exceeds("smallest step of δ(t)", grows, 0.0),
            within("largest step of ln κ(t)", shrinks, 0.0),
            within(f"ln(κ(t)^t / 2) at t = {_TIMES[-1]}, against a bound of 10", reached[-1], 10.0),
        ),
        evidence=(
            f"least ln κ(t) {steps[-1][2]:.4f}, ε₂ = {share:g}; "
            f"ln(κ^t/2) = {listed(reached[2:], 1)} at t = 10, 20, 200, 2000"
        ),
    )


def _turned(setting: ClaimSetting, t: int) -> tuple[float, float]:
    """(ln beta/alpha, ln kappa^t/2) for Alg. 1 on 0^t against 1^t, outcome BELOW^t."""
    pair = repeated((0, 1, BELOW, t))
    log_beta, log_alpha = (setting.log_probability(q, pair.outcome) for q in (pair.answers, pair.neighbour))
    delta = (math.log(2) - log_alpha) / float(setting.shares.threshold)  # Pr[|rho| > delta] = alpha/2
    nu, z = setting.query_law, np.linspace(-delta, delta, _GRID)
    log_kappa = float((nu.log_below(z) - nu.log_below(z - 1)).min())
    return log_beta - log_alpha, t * log_kappa - math.log(2)


def _turned_on_alg_1(subject: Subject) -> Measured:
    setting = ClaimSetting(row=subject.rows["lyu-2017"], epsilon=1)
    share = float(setting.shares.threshold)
    both = [_turned(setting, t) for t in _TIMES]
    ratios = [ratio for ratio, _ in both]
    least = min((reached + math.log(2)) / t for t, (_, reached) in zip(_TIMES, both, strict=True))
    return Measured(
        parts=(
            exceeds("least ln κ(t)", least, 0.0),
            exceeds("least ln(β/α) - ln(κ^t/2): the argument's own inequality", min(a - b for a, b in both), 0.0),
            within("largest ln(β/α), against ε₁ (Lemma 1)", max(ratios), share),
        ),
        evidence=f"κ(t) - 1 at least {math.expm1(least):.1e}; ln β/α at most {max(ratios):.4f}, ε₁ = {share:g}",
    )


def _equality(subject: Subject) -> Measured:
    setting = ClaimSetting(row=subject.rows["lyu-2017"], epsilon=1)
    both = [_turned(setting, t) for t in (10, 200)]
    parts = [equals(f"ln β/α at t = {t}, against ln κ^t/2", a, b) for t, (a, b) in zip((10, 200), both, strict=True)]
    ratios, reached = zip(*both, strict=True)
    return Measured(
        parts=tuple(parts), evidence=f"t = 10, 200: ln β/α = {listed(ratios)}, ln κ^t/2 = {listed(reached)}"
    )


CLAIMS = (
    Claim(
        key="gptt-is-alg-6",
        place="Sec. 3.3",
        expected=ClaimVerdict.HOLDS,
        measure=_is_alg_6,
        statement="GPTT with ε₁ = ε₂ = ε/2 is Alg. 6.",
    ),
    Claim(
        key="gptt",
        place="Sec. 3.3",
        expected=ClaimVerdict.HOLDS,
        measure=_not_private,
        statement="GPTT is not ε'-DP for any finite ε'. (The published pair loses at least tε₂.)",
    ),
    Claim(
        key="gptt-kappa",
        place="App. 9.3",
        expected=ClaimVerdict.WRONG,
        measure=_kappa_limit,
        statement="κ(z) goes to 1 as |z| goes to infinity.",
    ),
    Claim(
        key="gptt-proof",
        place="App. 9.3",
        expected=ClaimVerdict.OVER_CLAIMS,
        measure=_proof,
        statement="α falls, δ grows and κ(t) falls with t, so κ(t)^t / 2 need not pass every bound: the proof fails.",
    ),
    Claim(
        key="gptt-on-alg-1",
        place="App. 9.3",
        expected=ClaimVerdict.HOLDS,
        measure=_turned_on_alg_1,
        statement="The same logic, κ > 1 hence κ^t/2 without bound, would show that Alg. 1 on BELOW^t is not private.",
    ),
    Claim(
        key="slip-gptt-equality",
        place="App. 9.3",
        expected=ClaimVerdict.WRONG,
        measure=_equality,
        statement="β/α = κ^t / 2. (The chain of inequalities before it gives β/α >= κ^t / 2.)",
    ),
)
