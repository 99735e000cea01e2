"""Section 3 and App. 9: the table of differences (Fig. 2), what Alg. 2 to 6 and GPTT lose, and other variants.

On integers with discrete noise, as the rows run, for every epsilon, sensitivity and threshold: Alg. 3, (m+1) eps/(2c)
for m BELOW and a number. Alg. 4, (1+6c) eps/4 and no less. Alg. 5, zero against positive. Alg. 6, n eps/4 and more;
GPTT, t eps2 at least. Exactly n eps/2, and n eps2, for even n. Machine-checked: proofs/README.md.

What App. 9.3 says of GPTT, and why |e - q + nu| >= T + rho with indicators is private: Proof:
docs/explanation/proofs_in_words/paper.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from sparsegate.budget import Budget
from sparsegate.gates.laws import Floats, NoiseLaw
from sparsegate.gates.variants import Released, Scale, Scales, Variant
from sparsegate.paper.theorems.claim import (
    ABOVE,
    BELOW,
    FAR,
    HOLDS,
    NEAR,
    OVER_CLAIMS,
    TIGHT,
    WRONG,
    AnswerPair,
    GateSetting,
    Measured,
    Section,
    Subject,
    at_least,
    at_most,
    equals,
    exceeds,
    listed,
    log_binomials,
    repeated,
    split,
    within,
)
from sparsegate.privacy.loss import loss
from sparsegate.privacy.outcome import log_probability

DIFFERENCES = Section("Sec. 3: the table of differences")
FLAWED = Section("Sec. 3.2: Alg. 2 to 6")
GPTT = Section("Sec. 3.3: GPTT")
OTHERS = Section("Sec. 3.4: other variants")

_MANY = 2000  # queries of a pair whose loss has no bound
_ENDLESS = 100.0  # what a loss must pass at epsilon = 1 and this many queries to count as unbounded


class _Column(NamedTuple):
    """One algorithm as Fig. 2 prints it; ``loss`` is its last line at epsilon = 1: a constant, and a multiple of c."""

    threshold_share: float
    threshold_scale: str
    redraws: bool
    query_scale: str
    outputs_noisy: bool
    unbounded: bool
    loss: tuple[float, float]


_FIG_2 = {
    "lyu-2017": _Column(0.5, "Δ/ε₁", False, "2cΔ/ε₂", False, False, (1, 0)),
    "dwork-roth-2014": _Column(0.5, "cΔ/ε₁", True, "2cΔ/ε₂", False, False, (1, 0)),
    "roth-2011": _Column(0.5, "Δ/ε₁", False, "cΔ/ε₁", True, False, (math.inf, 0)),
    "lee-clifton-2014": _Column(0.25, "Δ/ε₁", False, "Δ/ε₂", False, False, (0.25, 1.5)),
    "stoddard-2014": _Column(0.5, "Δ/ε₁", False, "0", False, True, (math.inf, 0)),
    "chen-2015": _Column(0.5, "Δ/ε₁", False, "Δ/ε₂", False, True, (math.inf, 0)),
}


def endless_pair(key: str, queries: int) -> AnswerPair:
    """The paper's own neighbours for a row without a bound, and this many queries (Thm. 3, 6 and 7)."""
    half = queries // 2
    return {
        "roth-2011": repeated((0, 1, BELOW, queries - 1), (1, 0, 0.0, 1)),
        "stoddard-2014": repeated((0, 1, BELOW, half), (1, 0, ABOVE, half)),
        "chen-2015": repeated((0, 1, BELOW, half), (0, -1, ABOVE, half)),
    }[key]


def _endless(subject: Subject, key: str, queries: int) -> float:
    return subject.gate(key).loss(endless_pair(key, queries))


def _cells(subject: Subject, key: str, column: _Column) -> dict[str, bool]:
    row, setting = subject.rows[key], subject.gate(key, cutoff=2)
    printed = column.loss[0] + column.loss[1] * setting.cutoff
    if math.isinf(printed):
        losses = _endless(subject, key, _MANY) > _ENDLESS
    else:
        losses = math.isclose(setting.worst(), printed, rel_tol=NEAR)
    return {
        "ε₁": float(setting.shares.threshold_epsilon) == column.threshold_share,
        "scale of ρ": row.threshold_noise.formula("ε₁") == column.threshold_scale,
        "ρ redrawn": row.redraws_threshold == column.redraws,
        "scale of ν": row.query_noise.formula("ε₂") == column.query_scale,
        "outputs q + ν": (row.released is Released.NOISY_ANSWER) == column.outputs_noisy,
        "unbounded ABOVE": row.stops != column.unbounded,
        "privacy": losses,
    }


@DIFFERENCES.claim("fig-2", "Sec. 3, Fig. 2", OVER_CLAIMS)
def _table(subject: Subject) -> Measured:
    """The table of differences: shares, scales, redrawing, output, stop and privacy of Alg. 1 to 6."""
    parts = [
        equals(f"{subject.rows[key].algorithm}, {line}", float(same), 1.0)
        for key, column in _FIG_2.items()
        for line, same in _cells(subject, key, column).items()
    ]
    off = [part.what for part in parts if not part.holds]
    return parts, f"{len(parts) - len(off)} of {len(parts)} cells agree" + (f"; not: {'; '.join(off)}" if off else "")


@DIFFERENCES.claim("one-threshold", "Sec. 3, footnote", HOLDS)
def _footnote(subject: Subject) -> Measured:
    """Thresholds T_i on queries q_i are threshold 0 on q_i - T_i: one threshold suffices."""
    rng = np.random.default_rng(5)
    parts, outcome = [], [BELOW] * 5 + [ABOVE]
    for key in _FIG_2:
        row = subject.rows[key]
        answers, thresholds = rng.integers(-9, 9, 6), rng.integers(-9, 9, 6)
        several = log_probability(row, answers, outcome, threshold=thresholds, epsilon=1)
        single = log_probability(row, answers - thresholds, outcome, epsilon=1)
        parts.append(equals(f"ln Pr, {row.algorithm}", several, single))
    gap = max(0.0 if p.measured == p.claimed else abs(p.measured - p.claimed) for p in parts)
    return parts, f"ln Pr of an outcome of {len(parts)} rows both ways: largest gap {gap:.6f}"


@DIFFERENCES.claim("slip-step-3", "Sec. 3, step 3", WRONG)
def _slip_step_3(subject: Subject) -> Measured:
    """Alg. 1 outputs the noisy answer instead of ABOVE, which makes it non-private. (Alg. 3 is meant.)"""
    setting, other = subject.gate("lyu-2017"), _endless(subject, "roth-2011", 11)
    most = setting.worst()
    return [
        equals("Alg. 1 outputs q + ν (1: yes)", float(setting.row.released is Released.NOISY_ANSWER), 1.0),
        exceeds("loss of Alg. 1, against ε", most, 1.0),
    ], f"Alg. 1 loses {most:.4f} and outputs no number; Alg. 3 loses {other:.4f} after 11 queries"


@DIFFERENCES.claim("slip-alg-2-scales", "Sec. 3, Alg. 2 and Fig. 2", OVER_CLAIMS)
def _slip_alg_2(subject: Subject) -> Measured:
    """Listing (ν 2cΔ/ε₁, later ρ cΔ/ε₂) and table (ν 2cΔ/ε₂, ρ cΔ/ε₁) are one Alg. 2."""
    row, c = subject.rows["dwork-roth-2014"], 2

    def total(shares: Budget, listing: bool) -> float:
        e1, e2 = shares.threshold_epsilon, shares.query_epsilon
        rounds = [(e1, e1), *[(e2, e1)] * (c - 1)] if listing else [(e1, e2)] * c
        return sum(_round_loss(row, Scales(c / rho, 2 * c / nu, None)) for rho, nu in rounds)

    budgets = split(0.5, 0.5), split(0.75, 0.25)
    listing, table = ([total(shares, reading) for shares in budgets] for reading in (True, False))
    return [
        equals("loss at ε₁ = ε₂: listing, against table", round(listing[0], 6), round(table[0], 6)),
        equals("loss at ε₁ = 3ε₂: listing, against table", round(listing[1], 6), round(table[1], 6)),
    ], f"ε₁:ε₂ = 1:1 and 3:1, ε = 1, c = 2: listing {listed(listing)}, table {listed(table)}"


def _round_loss(row: Variant, scales: Scales) -> float:
    assert scales.threshold is not None
    assert scales.query is not None
    far = FAR * math.ceil(scales.threshold + scales.query)
    below = 2 + math.ceil(scales.query / scales.threshold)
    return loss(row, *repeated((far, far + 1, BELOW, below), (0, -1, ABOVE, 1)), scales=scales)


@DIFFERENCES.claim("slip-alg-3-scales", "Sec. 3, Alg. 3 and Fig. 2", OVER_CLAIMS)
def _slip_alg_3(subject: Subject) -> Measured:
    """Listing (ν cΔ/ε₂) and table (ν cΔ/ε₁) are one Alg. 3."""
    row = _indicators(subject.rows["roth-2011"])
    budgets = split(0.5, 0.5), split(0.25, 0.75)
    listing, table = (
        [_round_loss(row, Scales(1 / b.threshold_epsilon, 1 / getattr(b, share), None)) for b in budgets]
        for share in ("query_epsilon", "threshold_epsilon")
    )
    return [
        equals("indicator loss at ε₁ = ε₂: table, against listing", table[0], listing[0]),
        equals("indicator loss at 3ε₁ = ε₂: table, against listing", table[1], listing[1]),
    ], f"ε₁:ε₂ = 1:1 and 1:3, ε = 1: listing {listed(listing)}, table {listed(table)}"


def _indicators(row: Variant) -> Variant:
    return replace(row, released=Released.NOTHING)


_SIZES = (10, 100, 1000, 10_000)


@FLAWED.claim("alg-2", "Sec. 3.2", TIGHT)
def _alg_2(subject: Subject) -> Measured:
    """Alg. 2 (ρ ~ Lap(cΔ/ε₁) redrawn after each ABOVE, ν ~ Lap(2cΔ/ε₂)) is ε-DP."""
    gate = partial(subject.gate, "dwork-roth-2014")
    settings = [*(gate(cutoff=c) for c in (1, 2, 3)), gate(cutoff=2, noise="lattice")]
    parts = [setting.bounded("loss at c = {c}, {noise} noise") for setting in settings]
    one_way = gate(cutoff=2, monotonic=True).worst()
    return parts, f"loss {listed(parts[:3])} of 1 at c = 1, 2, 3; monotonic {one_way:.4f}"


@FLAWED.claim("rho-with-c", "Sec. 3.2", HOLDS)
def _rho_with_c(subject: Subject) -> Measured:
    """ρ must scale with c only if it is redrawn after each ABOVE."""
    redrawn = replace(subject.rows["dwork-roth-2014"], threshold_noise=Scale(factor=1))
    kept = [within(f"drawn once, c = {c}", subject.gate("lyu-2017", cutoff=c).worst(), 1.0) for c in (2, 5)]
    fresh = [exceeds(f"redrawn, c = {c}", GateSetting(redrawn, cutoff=c).worst(), 1.0) for c in (2, 5)]
    return kept + fresh, f"ρ ~ Lap(Δ/ε₁), c = 2, 5: drawn once {listed(kept)}, redrawn {listed(fresh)}"


@FLAWED.claim("alg-3-indicators", "Sec. 3.2", TIGHT)
def _alg_3_indicators(subject: Subject) -> Measured:
    """Alg. 3's comparisons, ν ~ Lap(cΔ/ε₂), suffice for 3ε/2-DP and not for ε-DP."""
    row = _indicators(subject.rows["roth-2011"])
    parts = [GateSetting(row, cutoff=c).bounded(f"loss at c = {c}", 1.5) for c in (1, 2)]
    strict = exceeds("the same, against ε", max(part.measured for part in parts), 1.0)
    return [*parts, strict], f"loss {listed(parts)} of 3ε/2 = 1.5 at c = 1, 2"


@FLAWED.claim("alg-3", "App. 9.1, Thm. 6", HOLDS)
def _alg_3(subject: Subject) -> Measured:
    """Alg. 3 is not ε'-DP for any finite ε': 0^m Δ against Δ^m 0 loses (m-1)ε/2 on BELOW^m 0."""
    losses = {m: _endless(subject, "roth-2011", m + 1) for m in _SIZES}
    parts = [equals(f"loss at m = {m}, against (m-1)ε/2", loss, (m - 1) / 2) for m, loss in losses.items()]
    worst = subject.gate("roth-2011").loss(repeated((0, 1, BELOW, 10), (0, 1, 0.0, 1)))
    return parts, f"loss {listed(parts[:3], 1)} at m = 10, 100, 1000; 0^11 → Δ^11 gives {worst:.4f} at m = 10"


@FLAWED.claim("roth-step", "Sec. 3.2", HOLDS)
def _roth_step(subject: Subject) -> Measured:
    """The proof of Alg. 3 drops the condition q + ν >= T + z beside q + ν = a, and that is its error."""
    setting, pair = subject.gate("roth-2011"), repeated((0, 1, BELOW, 10), (0, 1, 0.0, 1))

    def dropped(answers: Sequence[float]) -> float:
        density = float(setting.query_law.log_weight(np.array(0.0 - answers[-1])))
        return setting.log_probability(answers[:-1], pair.outcome[:-1]) + density

    kept, free = setting.log_probabilities(pair), [dropped(answers) for answers in pair.sides]
    actual, proved = kept[0] - kept[1], free[0] - free[1]
    return [
        exceeds("ln Pr_D[a] without the condition, against with it", free[0], kept[0]),
        within("loss without the condition, against ε", proved, 1.0),
        exceeds("loss with the condition, against ε", actual, 1.0),
    ], f"m = 10: loss {proved:.4f} without the condition, {actual:.4f} with it"


@FLAWED.claim("alg-4", "Sec. 3.2", TIGHT)
def _alg_4(subject: Subject, monotonic: bool = False) -> Measured:
    """Alg. 4 (ε₁ = ε/4, ν ~ Lap(Δ/ε₂)) is (1+6c)ε/4-DP."""
    gate, per_positive = partial(subject.gate, "lee-clifton-2014", monotonic=monotonic), 3 if monotonic else 6
    bounds = {(c, epsilon): (1 + per_positive * c) / 4 * epsilon for c, epsilon in ((1, 1), (2, 1), (3, 0.1))}
    what = "loss at c = {c}, ε = {epsilon}"
    parts = [gate(cutoff=c, epsilon=epsilon).bounded(what, bound) for (c, epsilon), bound in bounds.items()]
    return parts, f"loss {listed(parts)} at (c, ε) = (1, 1), (2, 1), (3, 0.1)"


@FLAWED.claim("alg-4-monotonic", "Sec. 3.2", TIGHT)
def _alg_4_monotonic(subject: Subject) -> Measured:
    """Alg. 4 on monotonic queries is (1+3c)ε/4-DP."""
    return _alg_4(subject, monotonic=True)


@FLAWED.claim("split", "Sec. 3.2", TIGHT)
def _split(subject: Subject) -> Measured:
    """Alg. 4's ε₁ = ε/4 instead of ε/2 has no impact on privacy; its scale of ν has."""
    skewed, even = split(0.25, 0.75), split(0.5, 0.5)
    part = subject.gate("lyu-2017", cutoff=2, budget=skewed).bounded("loss of Alg. 1 at ε₁ = ε/4, c = 2")
    own = [subject.gate("lee-clifton-2014", cutoff=2, budget=budget).worst() for budget in (skewed, even)]
    return [part], (
        f"Alg. 1 at 1:3 loses {part.measured:.4f} of 1; Alg. 4 itself {own[0]:.4f} at 1:3, {own[1]:.4f} at 1:1 (c = 2)"
    )


@FLAWED.claim("product-of-integrals", "Sec. 3.2", HOLDS)
def _product(subject: Subject) -> Measured:
    """The proofs of Alg. 4-6 take ∫pfg for ∫pf ∫pg, and that is their error.

    Alg. 6 on 0^2m and 1^m (-1)^m: integral of p f g beside (integral of p f) times (integral of p g).
    """
    setting, m = subject.gate("chen-2015"), 6
    pair = endless_pair("chen-2015", 2 * m)
    whole, parts_f, parts_g = (
        [setting.log_probability(answers[part], pair.outcome[part]) for answers in pair.sides]
        for part in (slice(None), slice(m), slice(m, None))
    )
    f, g, mixed = (x[0] - x[1] for x in (parts_f, parts_g, whole))
    product = parts_f[0] + parts_g[0]
    return [
        within("ln of the ratio of ∫pf, against ε/2", f, 0.5),
        within("ln of the ratio of ∫pg, against ε/2", g, 0.5),
        exceeds("ln ∫pf ∫pg, against ln ∫pfg, on D", product, whole[0]),
        exceeds("ln of the ratio of ∫pfg, against ε", mixed, 1.0),
    ], (
        f"m = 6: ratios {f:.4f} and {g:.4f}, product's {mixed:.4f}; "
        f"on D ∫pfg = {math.exp(whole[0]):.1e}, ∫pf ∫pg = {math.exp(product):.1e}"
    )


@FLAWED.claim("alg-5", "Sec. 3.2, Thm. 3", HOLDS)
def _alg_5(subject: Subject) -> Measured:
    """Alg. 5 (no query noise) is not ε'-DP for any finite ε': (0,1) against (1,0), BELOW ABOVE."""
    setting, pair = subject.gate("stoddard-2014"), endless_pair("stoddard-2014", 2)
    own, other = map(math.exp, setting.log_probabilities(pair))
    counts = setting.loss(repeated((0, 1, BELOW, 1), (1, 1, ABOVE, 1)))
    return [
        exceeds("Pr[A(D) = BELOW ABOVE]", own, 0.0),
        equals("Pr[A(D') = BELOW ABOVE]", other, 0.0),
        equals("loss after two queries", setting.loss(pair), math.inf),
    ], f"Pr {own:.4f} on D, {other:.0f} on D'; counts (0,1) → (1,1) already lose {counts}"


@FLAWED.claim("alg-6", "App. 9.2, Thm. 7", HOLDS)
def _alg_6(subject: Subject) -> Measured:
    """Alg. 6 is not ε'-DP for any finite ε': 0^2m against 1^m (-1)^m loses at least mε/2."""
    losses = {m: _endless(subject, "chen-2015", 2 * m) for m in _SIZES}
    parts = [at_least(f"loss at m = {m}, against mε/2", loss, m / 2) for m, loss in losses.items()]
    worst = subject.gate("chen-2015").loss(repeated((400, 401, BELOW, 10), (-400, -401, ABOVE, 10)))
    return parts, f"loss {listed(parts[:3], 1)} at m = 10, 100, 1000 (n = 2m); far answers {worst:.4f} at m = 10"


_TIMES = (1, 5, 10, 20, 200, 2000)
_GRID = 4001


def _gptt_pair(t: int) -> AnswerPair:
    return repeated((0, 1, BELOW, t), (1, 0, ABOVE, t))


def _log_kappa(nu: NoiseLaw, z: Floats) -> Floats:
    return (nu.log_below(z) - nu.log_below(z - 1)) + (nu.log_above(z - 1) - nu.log_above(z))


@GPTT.claim("gptt-is-alg-6", "Sec. 3.3", HOLDS)
def _is_alg_6(subject: Subject) -> Measured:
    """GPTT with ε₁ = ε₂ = ε/2 is Alg. 6."""
    pair = repeated((0, 1, BELOW, 3), (1, 0, ABOVE, 3), (-2, -2, BELOW, 2))
    gptt, other = (subject.gate(key).log_probability(pair.answers, pair.outcome) for key in ("gptt", "chen-2015"))
    part = equals("ln Pr of BELOW^3 ABOVE^3 BELOW^2: GPTT, against Alg. 6", gptt, other)
    return [part], f"ln Pr {gptt:.6f} and {other:.6f} for the same eight queries"


@GPTT.claim("gptt", "Sec. 3.3", HOLDS)
def _not_private(subject: Subject) -> Measured:
    """GPTT is not ε'-DP for any finite ε'. (The published pair loses at least tε₂.)"""
    setting = subject.gate("gptt")
    share = float(setting.shares.query_epsilon)
    parts = [at_least(f"loss at t = {t}, against tε₂", setting.loss(_gptt_pair(t)), t * share) for t in _TIMES]
    return parts, f"loss {listed(parts[:4])} at t = 1, 5, 10, 20, ε₁ = ε₂ = 0.5"


@GPTT.claim("gptt-kappa", "App. 9.3", WRONG)
def _kappa_limit(subject: Subject) -> Measured:
    """κ(z) goes to 1 as |z| goes to infinity."""
    setting = subject.gate("gptt")
    nu, share = setting.query_law, float(setting.shares.query_epsilon)
    left, right = (float(_log_kappa(nu, np.array(z))) for z in (-100.0, 100.0))
    least = float(_log_kappa(nu, np.linspace(-100, 100, _GRID)).min())
    parts = [equals("ln κ(-100), against ln 1", left, 0.0), equals("ln κ(100), against ln 1", right, 0.0)]
    return parts, f"ln κ(-100) = {left:.4f}, ln κ(100) = {right:.4f}; least ln κ {least:.4f}, ε₂ = {share:g}"


def _cut(setting: GateSetting, log_alpha: float) -> float:
    """The delta at which the argument cuts its integrals: F^-1(p) = ln(2p)/eps1 for p < 1/2."""
    return (math.log(2) - log_alpha) / float(setting.shares.threshold_epsilon)


@GPTT.claim("gptt-proof", "App. 9.3", OVER_CLAIMS)
def _proof(subject: Subject) -> Measured:
    """α falls, δ grows and κ(t) falls with t, so κ(t)^t / 2 need not pass every bound: the proof fails."""
    setting = subject.gate("gptt")
    log_alpha = [setting.log_probabilities(_gptt_pair(t))[1] for t in _TIMES]
    delta = [_cut(setting, value) for value in log_alpha]
    log_kappa = [float(_log_kappa(setting.query_law, np.linspace(-d, d, _GRID)).min()) for d in delta]
    reached = [t * value - math.log(2) for t, value in zip(_TIMES, log_kappa, strict=True)]
    falls, grows, shrinks = ([b - a for a, b in pairwise(values)] for values in (log_alpha, delta, log_kappa))
    return [
        within("largest step of ln α(t)", max(falls), 0.0),
        exceeds("smallest step of δ(t)", min(grows), 0.0),
        within("largest step of ln κ(t)", max(shrinks), 0.0),
        within(f"ln(κ(t)^t / 2) at t = {_TIMES[-1]}, against a bound of 10", reached[-1], 10.0),
    ], (
        f"least ln κ(t) {log_kappa[-1]:.4f}, ε₂ = {float(setting.shares.query_epsilon):g}; "
        f"ln(κ^t/2) = {listed(reached[2:], 1)} at t = 10, 20, 200, 2000"
    )


def _turned(setting: GateSetting, t: int) -> tuple[float, float]:
    """(ln beta/alpha, ln kappa^t/2) for Alg. 1 on 0^t against 1^t, outcome BELOW^t."""
    log_beta, log_alpha = setting.log_probabilities(repeated((0, 1, BELOW, t)))
    delta = _cut(setting, log_alpha)
    nu, z = setting.query_law, np.linspace(-delta, delta, _GRID)
    log_kappa = float((nu.log_below(z) - nu.log_below(z - 1)).min())
    return log_beta - log_alpha, t * log_kappa - math.log(2)


@GPTT.claim("gptt-on-alg-1", "App. 9.3", HOLDS)
def _turned_on_alg_1(subject: Subject) -> Measured:
    """The same logic, κ > 1 hence κ^t/2 without bound, would show that Alg. 1 on BELOW^t is not private."""
    setting = subject.gate("lyu-2017")
    share = float(setting.shares.threshold_epsilon)
    both = [_turned(setting, t) for t in _TIMES]
    largest = max(ratio for ratio, _ in both)
    least = min((reached + math.log(2)) / t for t, (_, reached) in zip(_TIMES, both, strict=True))
    return [
        exceeds("least ln κ(t)", least, 0.0),
        exceeds("least ln(β/α) - ln(κ^t/2): the argument's own inequality", min(a - b for a, b in both), 0.0),
        within("largest ln(β/α), against ε₁ (Lemma 1)", largest, share),
    ], f"κ(t) - 1 at least {math.expm1(least):.1e}; ln β/α at most {largest:.4f}, ε₁ = {share:g}"


@GPTT.claim("slip-gptt-equality", "App. 9.3", WRONG)
def _equality(subject: Subject) -> Measured:
    """β/α = κ^t / 2. (The chain of inequalities before it gives β/α >= κ^t / 2.)"""
    both = {t: _turned(subject.gate("lyu-2017"), t) for t in (10, 200)}
    parts = [equals(f"ln β/α at t = {t}, against ln κ^t/2", a, b) for t, (a, b) in both.items()]
    return parts, f"t = 10, 200: ln β/α = {listed(parts)}, ln κ^t/2 = {listed(p.claimed for p in parts)}"


@OTHERS.claim("advanced-composition", "Sec. 3.4", HOLDS)
def _advanced(subject: Subject) -> Measured:
    """k runs of an ε-DP mechanism are (ε', δ')-DP for ε' = sqrt(2k ln(1/δ')) ε + kε (e^ε - 1).

    k-fold randomised response, the worst eps-DP mechanism: delta at eps' is a binomial sum.
    """
    parts = []
    for runs, epsilon, delta in ((100, 0.1, 1e-6), (1000, 0.01, 1e-5)):
        composed = subject.advanced(epsilon, runs=runs, delta=delta)
        exact = _randomised_response(runs, epsilon, composed)
        parts.append(at_most(f"δ of {runs} runs at ε = {epsilon}, ε' = {composed:.4f}", exact, delta))
        parts.append(exceeds(f"ε of {runs} runs added up, against ε'", runs * epsilon, composed))
    return parts, f"true δ {parts[0].measured:.1e} where {parts[0].claimed:.0e} is allowed"


def _randomised_response(runs: int, epsilon: float, composed: float) -> float:
    """sum_j C(k,j) max(0, p^(k-j) q^j - e^eps' p^j q^(k-j)) with p = e^eps/(1+e^eps), q = 1-p."""
    j, log_ways = np.arange(runs + 1), np.array(log_binomials(runs))
    log_p, log_q = -np.logaddexp(0, -epsilon), -np.logaddexp(0, epsilon)
    own, other = log_ways + (runs - j) * log_p + j * log_q, log_ways + j * log_p + (runs - j) * log_q
    return float(np.maximum(0, np.exp(own) - np.exp(composed + other)).sum())


_QUERIES = 41


def _searched(row: Variant, cutoff: int, queries: int) -> float:
    """The search alone, with any of three thresholds: they matter here, and the far pairs know only one."""
    return GateSetting(row, cutoff=cutoff).worst(queries=queries, thresholds=(-3, 0, 20), far=False)


def _released_loss(row: Variant) -> float:
    """Errors far above T = 0 that rise, all BELOW; then the number 5, which says rho <= 5 on both sides."""
    return GateSetting(row).loss(repeated((400, 401, BELOW, _QUERIES - 1), (6, 7, 5.0, 1)))


@OTHERS.claim("hr10", "Sec. 3.4", OVER_CLAIMS)
def _passage(subject: Subject) -> Measured:
    """|e - q + ν| >= T + ρ is not private, because the noise is inside the absolute value."""
    indicator = max(_searched(subject.rows["hardt-rothblum-2010-indicator"], c, n) for c, n in ((1, 6), (2, 8)))
    inside = _released_loss(subject.rows["hardt-rothblum-2010"])
    outside = _released_loss(replace(subject.rows["hardt-rothblum-2010-repaired"], released=Released.NOISY_ANSWER))
    return [
        exceeds("noise inside |.|, indicators alone: loss, against ε", indicator, 1.0),
        exceeds(f"noise inside |.|, answers released: loss after {_QUERIES} queries, against ε", inside, 1.0),
    ], (
        f"indicators alone {indicator:.4f} of 1; with answers released {inside:.4f} after {_QUERIES} queries, "
        f"noise outside {outside:.4f}"
    )


@OTHERS.claim("slip-hr10-reveals", "Sec. 3.4", WRONG)
def _reveals(subject: Subject) -> Measured:
    """With the noise inside, one ABOVE tells that ρ >= -T. (A BELOW does.)"""
    setting, threshold = subject.gate("hardt-rothblum-2010-indicator"), 2
    rho, nu = NoiseLaw(scale=1 / float(setting.shares.threshold_epsilon)), setting.query_law
    prior = math.exp(float(rho.log_below(np.array(-float(threshold)))))
    t = -np.geomspace(1e-9, 100, 50)  # T + rho where rho < -T
    after = [
        prior
        * float(np.exp(law(t, np.zeros(1))).max())
        / math.exp(log_probability(setting.row, [0], [entry], threshold=threshold, estimates=[0], epsilon=1))
        for law, entry in ((nu.log_outside, ABOVE), (nu.log_inside, BELOW))
    ]
    part = equals("Pr[ρ < -T | ABOVE]", after[0], 0.0)
    return [part], f"Pr[ρ < -T] is {prior:.4f} before, {after[0]:.4f} after an ABOVE, {after[1]:.0f} after a BELOW"


@OTHERS.claim("hr10-repaired", "Sec. 3.4", TIGHT)
def _repaired(subject: Subject) -> Measured:
    """|e - q| + ν >= T + ρ with indicator output is a standard SVT, hence ε-DP."""
    row = subject.rows["hardt-rothblum-2010-repaired"]
    parts = [at_most(f"loss at c = {c}", _searched(row, c, queries), 1.0) for c, queries in ((1, 6), (2, 10))]
    return parts, f"loss {listed(parts)} of 1 at c = 1, 2"
