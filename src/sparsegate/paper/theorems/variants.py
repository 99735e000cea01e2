"""Section 3: the table of differences (Fig. 2), its footnote, and the four steps that tell the variants apart.

Section 3.2 with Thm. 3, 6 and 7: what Alg. 2 to 6 lose, and the steps at which the published proofs break.

On integers with discrete noise, as the rows run, for every epsilon, sensitivity and threshold.
Alg. 3, (m+1) eps/(2c) for m BELOW and a number: Machine-checked: `algorithm_3_sums_to_one`, `algorithm_3_loss_grows`,
`algorithm_3_is_not_private` (proofs/released_noise.v).
Alg. 4, (1+6c) eps/4 and no less: Machine-checked: `algorithm_4_sums_to_one`, `algorithm_4_loss`,
`algorithm_4_explicit_pair`, `algorithm_4_upper_bound`, `algorithm_4_loss_is_tight`, `algorithm_4_is_not_private`
(proofs/noise_not_scaled.v).
Alg. 5, zero against positive: Machine-checked: `algorithm_5_sums_to_one`, `algorithm_5_zero_against_positive`,
`algorithm_5_monotonic`, `algorithm_5_is_not_private` (proofs/no_query_noise.v).
Alg. 6, n eps/4 and more: Machine-checked: `algorithm_6_sums_to_one`, `algorithm_6_loss_grows`,
`algorithm_6_is_not_private` (proofs/no_cutoff.v). And n eps/2 exactly, n even: Machine-checked:
`algorithm_6_upper_bound`, `algorithm_6_loss_is_tight` (proofs/no_cutoff_tight.v).

Section 3.3 and App. 9.3: GPTT, the argument that it is not private, and the same argument turned on Alg. 1.

Chen and Machanavajjhala (2015) take D = 0^t 1^t, D' = 1^t 0^t, outcome BELOW^t ABOVE^t, and compare integrands:

    kappa(z) = F(z) (1 - F(z-1)) / (F(z-1) (1 - F(z))),    F the distribution function of Lap(1/eps2).

They cut the integrals to [-delta, delta] with delta = |F^-1(alpha/4)|, alpha = Pr[A(D') = a], and conclude ratio >
kappa^t / 2 for kappa the least kappa(z) there. The paper objects that kappa depends on t.

That the pair loses t eps2 at least, because kappa(z) >= e^eps2 for every z, on integers with discrete noise:
Machine-checked: `gptt_sums_to_one`, `gptt_loss_grows`, `gptt_is_not_private` (proofs/no_cutoff.v).
That n questions lose n eps2 and no more, n even: Machine-checked: `gptt_upper_bound`, `gptt_loss_is_tight`
(proofs/no_cutoff_tight.v).

Section 3.4: advanced composition, and the test |e - q + nu| >= T + rho of Hardt, Rothblum and of Roth, Roughgarden.

With indicator output alone and Alg. 1's scales the test is eps-DP, although its noise is inside the absolute value.
Shift rho by Delta: a BELOW is free. For an ABOVE at t = T + z > 0 the two tails are disjoint, and each costs at most
2 Delta/b; at t <= 0 < t + Delta, Pr[|x + nu| >= t + Delta] >= Pr[|nu| >= Delta] = e^(-Delta/b). What leaks is the
released noisy answer: it bounds rho from above, and then every BELOW costs Delta/b, with the noise inside or outside.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from sparsegate.budget import Budget
from sparsegate.gates.variants import Released, Scale, Scales, Variant
from sparsegate.paper.theorems.claim import (
    ABOVE,
    BELOW,
    NEAR,
    AnswerPair,
    Claim,
    ClaimPart,
    ClaimSetting,
    ClaimVerdict,
    Measured,
    Subject,
    at_least,
    at_most,
    equals,
    exceeds,
    indicators,
    listed,
    repeated,
    within,
)
from sparsegate.privacy.loss import loss
from sparsegate.privacy.model import Floats, NoiseLaw
from sparsegate.privacy.outcome import log_probability

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


def endless_pair(row: Variant, queries: int) -> AnswerPair:
    """The paper's own neighbours for a row without a bound, and this many queries (Thm. 3, 6 and 7)."""
    half = queries // 2
    return {
        "roth-2011": repeated((0, 1, BELOW, queries - 1), (1, 0, 0.0, 1)),
        "stoddard-2014": repeated((0, 1, BELOW, half), (1, 0, ABOVE, half)),
        "chen-2015": repeated((0, 1, BELOW, half), (0, -1, ABOVE, half)),
    }[row.key]


def _cells(row: Variant, column: _Column) -> dict[str, bool]:
    """Line by line: does the row say what Fig. 2 prints?"""
    cutoff = 2
    share = row.budget(1, cutoff=cutoff, monotonic=False).threshold_epsilon
    printed = column.loss[0] + column.loss[1] * cutoff
    if math.isinf(printed):
        losses = ClaimSetting(row=row, epsilon=1).loss(endless_pair(row, _MANY)) > _ENDLESS
    else:
        losses = math.isclose(ClaimSetting(row=row, cutoff=cutoff, epsilon=1).worst(), printed, rel_tol=NEAR)
    return {
        "ε₁": float(share) == column.threshold_share,
        "scale of ρ": row.threshold_noise.formula("ε₁") == column.threshold_scale,
        "ρ redrawn": row.redraws_threshold == column.redraws,
        "scale of ν": row.query_noise.formula("ε₂") == column.query_scale,
        "outputs q + ν": (row.released is Released.NOISY_ANSWER) == column.outputs_noisy,
        "unbounded ABOVE": row.stops != column.unbounded,
        "privacy": losses,
    }


def _table(subject: Subject) -> Measured:
    parts = [
        ClaimPart(what=f"{row.algorithm}, {line}", measured=float(same), relation="=", claimed=1.0, holds=same)
        for key, column in _FIG_2.items()
        for row in (subject.rows[key],)
        for line, same in _cells(row, column).items()
    ]
    off = [part.what for part in parts if not part.holds]
    evidence = f"{len(parts) - len(off)} of {len(parts)} cells agree" + (f"; not: {'; '.join(off)}" if off else "")
    return Measured(parts=tuple(parts), evidence=evidence)


def _footnote(subject: Subject) -> Measured:
    """ln Pr with thresholds T_i on answers q_i, and with threshold 0 on q_i - T_i, for an outcome of each row."""
    rng = np.random.default_rng(5)
    parts = []
    for key in _FIG_2:
        row = subject.rows[key]
        answers, bars = rng.integers(-9, 9, 6), rng.integers(-9, 9, 6)
        outcome = [BELOW] * 5 + [ABOVE]
        there = log_probability(row, answers, outcome, threshold=bars, epsilon=1)
        here = log_probability(row, answers - bars, outcome, epsilon=1)
        parts.append(equals(f"ln Pr, {row.algorithm}", there, here))
    gap = max(0.0 if p.measured == p.claimed else abs(p.measured - p.claimed) for p in parts)
    return Measured(
        parts=tuple(parts), evidence=f"ln Pr of an outcome of {len(parts)} rows both ways: largest gap {gap:.6f}"
    )


def _slip_step_3(subject: Subject) -> Measured:
    """Step 3 of the list names Alg. 1 where it describes Alg. 3."""
    named, meant = subject.rows["lyu-2017"], subject.rows["roth-2011"]
    most = ClaimSetting(row=named, epsilon=1).worst()
    other = ClaimSetting(row=meant, epsilon=1).loss(endless_pair(meant, 11))
    outputs = float(named.released is Released.NOISY_ANSWER)
    return Measured(
        parts=(
            equals("Alg. 1 outputs q + ν (1: yes)", outputs, 1.0),
            exceeds("loss of Alg. 1, against ε", most, 1.0),
        ),
        evidence=f"Alg. 1 loses {most:.4f} and outputs no number; Alg. 3 loses {other:.4f} after 11 queries",
    )


def _slip_alg_2(subject: Subject) -> Measured:
    """c rounds, each with its own rho. Listing: nu 2c/e1, first rho c/e1, later ones c/e2. Table: 2c/e2 and c/e1."""
    row, c = subject.rows["dwork-roth-2014"], 2

    def total(shares: Budget, listing: bool) -> float:
        e1, e2 = shares.threshold_epsilon, shares.query_epsilon
        rounds = [(e1, e1), *[(e2, e1)] * (c - 1)] if listing else [(e1, e2)] * c
        return sum(_round_loss(row, Scales(c / rho, 2 * c / nu, None)) for rho, nu in rounds)

    equal, skewed = Budget(threshold_epsilon=0.5, query_epsilon=0.5), Budget(threshold_epsilon=0.75, query_epsilon=0.25)
    listing, table = ([total(shares, reading) for shares in (equal, skewed)] for reading in (True, False))
    return Measured(
        parts=(
            equals("loss at ε₁ = ε₂: listing, against table", round(listing[0], 6), round(table[0], 6)),
            equals("loss at ε₁ = 3ε₂: listing, against table", round(listing[1], 6), round(table[1], 6)),
        ),
        evidence=f"ε₁:ε₂ = 1:1 and 3:1, ε = 1, c = 2: listing {listed(listing)}, table {listed(table)}",
    )


def _round_loss(row: Variant, scales: Scales) -> float:
    """The loss of one round that ends in an ABOVE, far from the threshold."""
    assert scales.threshold is not None
    assert scales.query is not None
    far = 40 * math.ceil(scales.threshold + scales.query)
    below = 2 + math.ceil(scales.query / scales.threshold)
    pair = repeated((far, far + 1, BELOW, below), (0, -1, ABOVE, 1))
    return loss(row, pair.answers, pair.neighbour, pair.outcome, scales=scales)


def _slip_alg_3(subject: Subject) -> Measured:
    """Indicators alone, at a split where eps1 is not eps2: the table's c/eps1 against the listing's c/eps2."""
    row = indicators(subject.rows["roth-2011"])

    def readings(shares: Budget) -> tuple[float, float]:
        e1 = 1 / shares.threshold_epsilon
        return tuple(
            _round_loss(row, Scales(e1, 1 / nu, None)) for nu in (shares.query_epsilon, shares.threshold_epsilon)
        )  # type: ignore[return-value]

    even = readings(Budget(threshold_epsilon=0.5, query_epsilon=0.5))
    skewed = readings(Budget(threshold_epsilon=0.25, query_epsilon=0.75))
    return Measured(
        parts=(
            equals("indicator loss at ε₁ = ε₂: table, against listing", even[1], even[0]),
            equals("indicator loss at 3ε₁ = ε₂: table, against listing", skewed[1], skewed[0]),
        ),
        evidence=(
            f"ε₁:ε₂ = 1:1 and 1:3, ε = 1: listing {listed([even[0], skewed[0]])}, table {listed([even[1], skewed[1]])}"
        ),
    )


CLAIMS = (
    Claim(
        key="fig-2",
        place="Sec. 3, Fig. 2",
        expected=ClaimVerdict.OVER_CLAIMS,
        measure=_table,
        statement="The table of differences: shares, scales, redrawing, output, stop and privacy of Alg. 1 to 6.",
    ),
    Claim(
        key="one-threshold",
        place="Sec. 3, footnote",
        expected=ClaimVerdict.HOLDS,
        measure=_footnote,
        statement="Thresholds T_i on queries q_i are threshold 0 on q_i - T_i: one threshold suffices.",
    ),
    Claim(
        key="slip-step-3",
        place="Sec. 3, step 3",
        expected=ClaimVerdict.WRONG,
        measure=_slip_step_3,
        statement="Alg. 1 outputs the noisy answer instead of ABOVE, which makes it non-private. (Alg. 3 is meant.)",
    ),
    Claim(
        key="slip-alg-2-scales",
        place="Sec. 3, Alg. 2 and Fig. 2",
        expected=ClaimVerdict.OVER_CLAIMS,
        measure=_slip_alg_2,
        statement="Listing (ν 2cΔ/ε₁, later ρ cΔ/ε₂) and table (ν 2cΔ/ε₂, ρ cΔ/ε₁) are one Alg. 2.",
    ),
    Claim(
        key="slip-alg-3-scales",
        place="Sec. 3, Alg. 3 and Fig. 2",
        expected=ClaimVerdict.OVER_CLAIMS,
        measure=_slip_alg_3,
        statement="Listing (ν cΔ/ε₂) and table (ν cΔ/ε₁) are one Alg. 3.",
    ),
)


_SIZES = (10, 100, 1000, 10_000)


def _alg_2(subject: Subject) -> Measured:
    row = subject.rows["dwork-roth-2014"]
    settings = [ClaimSetting(row=row, cutoff=c, epsilon=1) for c in (1, 2, 3)]
    settings.append(ClaimSetting(row=row, cutoff=2, epsilon=1, noise="lattice"))
    parts = [at_most(f"loss at c = {s.cutoff}, {s.noise} noise", s.worst(), 1.0) for s in settings]
    one_way = ClaimSetting(row=row, cutoff=2, epsilon=1, monotonic=True).worst()
    return Measured(
        parts=tuple(parts),
        evidence=f"loss {listed([p.measured for p in parts[:3]])} of 1 at c = 1, 2, 3; monotonic {one_way:.4f}",
    )


def _rho_with_c(subject: Subject) -> Measured:
    """rho of scale Delta/eps1: once for all, and redrawn after each positive."""
    once = subject.rows["lyu-2017"]
    redrawn = replace(subject.rows["dwork-roth-2014"], threshold_noise=Scale(factor=1))
    kept = [ClaimSetting(row=once, cutoff=c, epsilon=1).worst() for c in (2, 5)]
    fresh = [ClaimSetting(row=redrawn, cutoff=c, epsilon=1).worst() for c in (2, 5)]
    parts = [within(f"drawn once, c = {c}", x, 1.0) for c, x in zip((2, 5), kept, strict=True)]
    parts += [exceeds(f"redrawn, c = {c}", x, 1.0) for c, x in zip((2, 5), fresh, strict=True)]
    return Measured(
        parts=tuple(parts), evidence=f"ρ ~ Lap(Δ/ε₁), c = 2, 5: drawn once {listed(kept)}, redrawn {listed(fresh)}"
    )


def _alg_3_indicators(subject: Subject) -> Measured:
    row = indicators(subject.rows["roth-2011"])
    losses = [ClaimSetting(row=row, cutoff=c, epsilon=1).worst() for c in (1, 2)]
    parts = [at_most(f"loss at c = {c}", x, 1.5) for c, x in zip((1, 2), losses, strict=True)]
    parts.append(exceeds("the same, against ε", max(losses), 1.0))
    return Measured(parts=tuple(parts), evidence=f"loss {listed(losses)} of 3ε/2 = 1.5 at c = 1, 2")


def _alg_3(subject: Subject) -> Measured:
    """D = 0^m Delta, D' = Delta^m 0, outcome BELOW^m 0: the proof says exactly (m-1) eps/2; one way is worse."""
    setting = ClaimSetting(row=subject.rows["roth-2011"], epsilon=1)
    losses = [setting.loss(endless_pair(setting.row, m + 1)) for m in _SIZES]
    parts = [equals(f"loss at m = {m}, against (m-1)ε/2", x, (m - 1) / 2) for m, x in zip(_SIZES, losses, strict=True)]
    worst = setting.loss(repeated((0, 1, BELOW, 10), (0, 1, 0.0, 1)))
    return Measured(
        parts=tuple(parts),
        evidence=f"loss {listed(losses[:3], 1)} at m = 10, 100, 1000; 0^11 → Δ^11 gives {worst:.4f} at m = 10",
    )


def _roth_step(subject: Subject) -> Measured:
    """With the condition q + nu >= T + z kept, and dropped: then the released number says nothing about rho."""
    setting = ClaimSetting(row=subject.rows["roth-2011"], epsilon=1)
    pair = repeated((0, 1, BELOW, 10), (0, 1, 0.0, 1))
    nu = setting.query_law

    def dropped(answers: list[float]) -> float:
        density = float(nu.log_weight(np.array(0.0 - answers[-1])))
        return setting.log_probability(answers[:-1], pair.outcome[:-1]) + density

    kept = [setting.log_probability(q, pair.outcome) for q in (pair.answers, pair.neighbour)]
    free = [dropped(list(q)) for q in (pair.answers, pair.neighbour)]
    loss, proved = kept[0] - kept[1], free[0] - free[1]
    return Measured(
        parts=(
            exceeds("ln Pr_D[a] without the condition, against with it", free[0], kept[0]),
            within("loss without the condition, against ε", proved, 1.0),
            exceeds("loss with the condition, against ε", loss, 1.0),
        ),
        evidence=f"m = 10: loss {proved:.4f} without the condition, {loss:.4f} with it",
    )


def _alg_4(monotonic: bool, subject: Subject) -> Measured:
    row, per_positive = subject.rows["lee-clifton-2014"], 3 if monotonic else 6
    parts = []
    for c, epsilon in ((1, 1), (2, 1), (3, 0.1)):
        bound = (1 + per_positive * c) / 4 * epsilon
        worst = ClaimSetting(row=row, cutoff=c, epsilon=epsilon, monotonic=monotonic).worst()
        parts.append(at_most(f"loss at c = {c}, ε = {epsilon}", worst, bound))
    return Measured(
        parts=tuple(parts),
        evidence=f"loss {listed([p.measured for p in parts])} at (c, ε) = (1, 1), (2, 1), (3, 0.1)",
    )


def _split(subject: Subject) -> Measured:
    """Alg. 1's scales at 1:3 instead of 1:1; and Alg. 4's own, which do not scale with c, at both."""
    skewed, even = Budget(threshold_epsilon=0.25, query_epsilon=0.75), Budget(threshold_epsilon=0.5, query_epsilon=0.5)
    loss = ClaimSetting(row=subject.rows["lyu-2017"], cutoff=2, budget=skewed).worst()
    own = [ClaimSetting(row=subject.rows["lee-clifton-2014"], cutoff=2, budget=b).worst() for b in (skewed, even)]
    return Measured(
        parts=(at_most("loss of Alg. 1 at ε₁ = ε/4, c = 2", loss, 1.0),),
        evidence=f"Alg. 1 at 1:3 loses {loss:.4f} of 1; Alg. 4 itself {own[0]:.4f} at 1:3, {own[1]:.4f} at 1:1 (c = 2)",
    )


def _product(subject: Subject) -> Measured:
    """Alg. 6 on 0^2m and 1^m (-1)^m: integral of p f g beside (integral of p f) times (integral of p g)."""
    setting, m = ClaimSetting(row=subject.rows["chen-2015"], epsilon=1), 6
    pair = endless_pair(setting.row, 2 * m)
    whole, parts_f, parts_g = (
        [setting.log_probability(list(q)[part], list(pair.outcome)[part]) for q in (pair.answers, pair.neighbour)]
        for part in (slice(None), slice(m), slice(m, None))
    )
    f, g, mixed = (x[0] - x[1] for x in (parts_f, parts_g, whole))
    return Measured(
        parts=(
            within("ln of the ratio of ∫pf, against ε/2", f, 0.5),
            within("ln of the ratio of ∫pg, against ε/2", g, 0.5),
            exceeds("ln ∫pf ∫pg, against ln ∫pfg, on D", parts_f[0] + parts_g[0], whole[0]),
            exceeds("ln of the ratio of ∫pfg, against ε", mixed, 1.0),
        ),
        evidence=(
            f"m = 6: ratios {f:.4f} and {g:.4f}, product's {mixed:.4f}; "
            f"on D ∫pfg = {math.exp(whole[0]):.1e}, ∫pf ∫pg = {math.exp(parts_f[0] + parts_g[0]):.1e}"
        ),
    )


def _alg_5(subject: Subject) -> Measured:
    setting = ClaimSetting(row=subject.rows["stoddard-2014"], epsilon=1)
    pair = endless_pair(setting.row, 2)
    here, there = (math.exp(setting.log_probability(q, pair.outcome)) for q in (pair.answers, pair.neighbour))
    counts = setting.loss(repeated((0, 1, BELOW, 1), (1, 1, ABOVE, 1)))
    return Measured(
        parts=(
            exceeds("Pr[A(D) = BELOW ABOVE]", here, 0.0),
            equals("Pr[A(D') = BELOW ABOVE]", there, 0.0),
            equals("loss after two queries", setting.loss(pair), math.inf),
        ),
        evidence=f"Pr {here:.4f} on D, {there:.0f} on D'; counts (0,1) → (1,1) already lose {counts}",
    )


def _alg_6(subject: Subject) -> Measured:
    """D = 0^2m, D' = 1^m (-1)^m: at least m eps/2; far answers lose n eps/2 = m eps."""
    setting = ClaimSetting(row=subject.rows["chen-2015"], epsilon=1)
    losses = [setting.loss(endless_pair(setting.row, 2 * m)) for m in _SIZES]
    parts = [at_least(f"loss at m = {m}, against mε/2", x, m / 2) for m, x in zip(_SIZES, losses, strict=True)]
    worst = setting.loss(repeated((400, 401, BELOW, 10), (-400, -401, ABOVE, 10)))
    return Measured(
        parts=tuple(parts),
        evidence=f"loss {listed(losses[:3], 1)} at m = 10, 100, 1000 (n = 2m); far answers {worst:.4f} at m = 10",
    )


FLAWED_CLAIMS = (
    Claim(
        key="alg-2",
        place="Sec. 3.2",
        expected=ClaimVerdict.TIGHT,
        measure=_alg_2,
        statement="Alg. 2 (ρ ~ Lap(cΔ/ε₁) redrawn after each ABOVE, ν ~ Lap(2cΔ/ε₂)) is ε-DP.",
    ),
    Claim(
        key="rho-with-c",
        place="Sec. 3.2",
        expected=ClaimVerdict.HOLDS,
        measure=_rho_with_c,
        statement="ρ must scale with c only if it is redrawn after each ABOVE.",
    ),
    Claim(
        key="alg-3-indicators",
        place="Sec. 3.2",
        expected=ClaimVerdict.TIGHT,
        measure=_alg_3_indicators,
        statement="Alg. 3's comparisons, ν ~ Lap(cΔ/ε₂), suffice for 3ε/2-DP and not for ε-DP.",
    ),
    Claim(
        key="alg-3",
        place="App. 9.1, Thm. 6",
        expected=ClaimVerdict.HOLDS,
        measure=_alg_3,
        statement="Alg. 3 is not ε'-DP for any finite ε': 0^m Δ against Δ^m 0 loses (m-1)ε/2 on BELOW^m 0.",
    ),
    Claim(
        key="roth-step",
        place="Sec. 3.2",
        expected=ClaimVerdict.HOLDS,
        measure=_roth_step,
        statement="The proof of Alg. 3 drops the condition q + ν >= T + z beside q + ν = a, and that is its error.",
    ),
    Claim(
        key="alg-4",
        place="Sec. 3.2",
        expected=ClaimVerdict.TIGHT,
        measure=lambda s: _alg_4(False, s),
        statement="Alg. 4 (ε₁ = ε/4, ν ~ Lap(Δ/ε₂)) is (1+6c)ε/4-DP.",
    ),
    Claim(
        key="alg-4-monotonic",
        place="Sec. 3.2",
        expected=ClaimVerdict.TIGHT,
        measure=lambda s: _alg_4(True, s),
        statement="Alg. 4 on monotonic queries is (1+3c)ε/4-DP.",
    ),
    Claim(
        key="split",
        place="Sec. 3.2",
        expected=ClaimVerdict.TIGHT,
        measure=_split,
        statement="Alg. 4's ε₁ = ε/4 instead of ε/2 has no impact on privacy; its scale of ν has.",
    ),
    Claim(
        key="product-of-integrals",
        place="Sec. 3.2",
        expected=ClaimVerdict.HOLDS,
        measure=_product,
        statement="The proofs of Alg. 4-6 take ∫pfg for ∫pf ∫pg, and that is their error.",
    ),
    Claim(
        key="alg-5",
        place="Sec. 3.2, Thm. 3",
        expected=ClaimVerdict.HOLDS,
        measure=_alg_5,
        statement="Alg. 5 (no query noise) is not ε'-DP for any finite ε': (0,1) against (1,0), BELOW ABOVE.",
    ),
    Claim(
        key="alg-6",
        place="App. 9.2, Thm. 7",
        expected=ClaimVerdict.HOLDS,
        measure=_alg_6,
        statement="Alg. 6 is not ε'-DP for any finite ε': 0^2m against 1^m (-1)^m loses at least mε/2.",
    ),
)


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
    share = float(setting.shares.query_epsilon)
    losses = [setting.loss(_pair(t)) for t in _TIMES]
    parts = [at_least(f"loss at t = {t}, against tε₂", x, t * share) for t, x in zip(_TIMES, losses, strict=True)]
    return Measured(parts=tuple(parts), evidence=f"loss {listed(losses[:4])} at t = 1, 5, 10, 20, ε₁ = ε₂ = 0.5")


def _kappa_limit(subject: Subject) -> Measured:
    nu, share = _gptt(subject).query_law, float(_gptt(subject).shares.query_epsilon)
    far = [float(_log_kappa(nu, np.array(z))) for z in (-100.0, 100.0)]
    least = float(_log_kappa(nu, np.linspace(-100, 100, _GRID)).min())
    return Measured(
        parts=tuple(equals(f"ln κ({z}), against ln 1", value, 0.0) for z, value in zip((-100, 100), far, strict=True)),
        evidence=f"ln κ(-100) = {far[0]:.4f}, ln κ(100) = {far[1]:.4f}; least ln κ {least:.4f}, ε₂ = {share:g}",
    )


def _least_log_kappa(setting: ClaimSetting, t: int) -> tuple[float, float, float]:
    """(ln alpha, delta, ln kappa) of the argument at t."""
    log_alpha = setting.log_probability(_pair(t).neighbour, _pair(t).outcome)
    delta = (math.log(2) - log_alpha) / float(setting.shares.threshold_epsilon)  # F^-1(p) = ln(2p)/eps1 for p < 1/2
    return log_alpha, delta, float(_log_kappa(setting.query_law, np.linspace(-delta, delta, _GRID)).min())


def _proof(subject: Subject) -> Measured:
    setting = _gptt(subject)
    share = float(setting.shares.query_epsilon)
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
    delta = (math.log(2) - log_alpha) / float(setting.shares.threshold_epsilon)  # Pr[|rho| > delta] = alpha/2
    nu, z = setting.query_law, np.linspace(-delta, delta, _GRID)
    log_kappa = float((nu.log_below(z) - nu.log_below(z - 1)).min())
    return log_beta - log_alpha, t * log_kappa - math.log(2)


def _turned_on_alg_1(subject: Subject) -> Measured:
    setting = ClaimSetting(row=subject.rows["lyu-2017"], epsilon=1)
    share = float(setting.shares.threshold_epsilon)
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


GPTT_CLAIMS = (
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
    prior = math.exp(
        float(NoiseLaw(scale=1 / float(setting.shares.threshold_epsilon)).log_below(np.array(-float(bar))))
    )
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


OTHER_VARIANTS_CLAIMS = (
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
