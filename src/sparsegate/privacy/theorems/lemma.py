"""Section 3.1: Lemma 1 and its companions, and the proof that Alg. 1 is private.

Machine-checked: `all_below_costs_eps1` (proofs/laplace_gate.v).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from sparsegate.mechanisms.variants import Closes
from sparsegate.privacy.theorems.claim import (
    Claim,
    ClaimVerdict,
    Measured,
    Subject,
    at_most,
    equals,
    exceeds,
    within,
)
from sparsegate.privacy.theorems.measure import ABOVE, BELOW, AnswerPair, ClaimSetting, listed, repeated

_SEED = 1
_RANDOM = 40  # random neighbours for each number of queries


def _one_sided(setting: ClaimSetting, entry: bool, counts: Sequence[int]) -> float:
    """The largest loss of an outcome that is all BELOW or all ABOVE: far answers that move as one, and random ones."""
    away = 1 if entry is BELOW else -1
    far = 40 * setting.cutoff * 8

    def pairs(count: int) -> Iterator[AnswerPair]:
        yield repeated((away * far, away * (far + 1), entry, count))
        yield repeated((0, away, entry, count))
        rng = np.random.default_rng(_SEED)
        for _ in range(_RANDOM):
            answers = rng.normal(0, rng.choice([1, 10, 50]), count)
            yield AnswerPair(answers=answers, neighbour=answers + rng.uniform(-1, 1, count), outcome=[entry] * count)  # type: ignore[arg-type]

    return max(setting.loss(pair) for count in counts for pair in pairs(count))


def _lemma_1(subject: Subject) -> Measured:
    parts = []
    for c in (1, 2):
        setting = ClaimSetting(row=subject.rows["lyu-2017"], cutoff=c, epsilon=1)
        loss = _one_sided(setting, BELOW, (1, 2 * c, 4 * c + 1))
        parts.append(at_most(f"loss of BELOW^ℓ, c = {c}", loss, float(setting.shares.threshold)))
    return Measured(parts=tuple(parts), evidence=f"loss {listed([p.measured for p in parts])} of ε₁ = 0.5 at c = 1, 2")


def _one_threshold(subject: Subject) -> Measured:
    """ln f_D(z) - ln f_D'(z) at z = 0 for q(D) = 0, q(D') = Delta: each query adds the same amount."""
    nu = ClaimSetting(row=subject.rows["lyu-2017"], epsilon=1).query_law
    here, there = nu.log_below(np.array([0.0, -1.0]))
    growth = [count * float(here - there) for count in (10, 100, 1000)]
    parts = tuple(
        exceeds(f"ln f_D(0)/f_D'(0) of {n} queries, against n/5", g, n / 5)
        for n, g in zip((10, 100, 1000), growth, strict=True)
    )
    return Measured(parts=parts, evidence=f"ln ratio {listed(growth, 1)} after 10, 100, 1000 queries")


def _mirror(subject: Subject) -> Measured:
    """ABOVE^l for every l that Alg. 1 can give, l <= c; then without its stop, where l has no end."""
    row = subject.rows["lyu-2017"]
    parts = []
    for c in (1, 2, 3):
        setting = ClaimSetting(row=row, cutoff=c, epsilon=1)
        parts.append(at_most(f"loss of ABOVE^ℓ, ℓ <= c = {c}", _one_sided(setting, ABOVE, range(1, c + 1)), 0.5))
    endless = _one_sided(ClaimSetting(row=replace(row, closes=Closes.NEVER), epsilon=1), ABOVE, (2, 9))
    parts.append(within("loss of ABOVE^9 without the stop, c = 1", endless, 0.5))
    return Measured(
        parts=tuple(parts),
        evidence=f"loss {parts[-2].measured:.4f} for ℓ <= c, {endless:.4f} for ℓ = 9 without the stop; ε₁ = 0.5",
    )


def _no_query_noise(subject: Subject) -> Measured:
    setting = ClaimSetting(row=subject.rows["stoddard-2014"], epsilon=1)
    parts = [at_most("loss of BELOW^ℓ with ν = 0", _one_sided(setting, BELOW, (1, 4)), 0.5)]
    mixed = setting.loss(repeated((0, 1, BELOW, 1), (1, 0, ABOVE, 1)))
    return Measured(parts=tuple(parts), evidence=f"loss {parts[0].measured:.4f} of ε₁ = 0.5; BELOW then ABOVE: {mixed}")


def _alg_1(subject: Subject) -> Measured:
    row = subject.rows["lyu-2017"]
    settings = [ClaimSetting(row=row, cutoff=c, epsilon=e) for c, e in ((1, 1), (2, 1), (3, 0.1))]
    settings.append(ClaimSetting(row=row, epsilon=1, noise="lattice"))
    parts = [
        at_most(f"loss at c = {s.cutoff}, ε = {s.epsilon}, {s.noise} noise", s.worst(), float(s.shares.total))
        for s in settings
    ]
    one_way = ClaimSetting(row=row, epsilon=1, monotonic=True).worst()
    return Measured(
        parts=tuple(parts),
        evidence=f"loss {listed([p.measured for p in parts[:3]])} of 1, 1, 0.1 at c = 1, 2, 3; monotonic {one_way:.4f}",
    )


def _shifts(subject: Subject) -> Measured:
    """One factor of f_D(z) <= f_D'(z+Delta) and of g_D(z) <= g_D'(z-Delta) for every z and every move of the answer.

    Then what the two together would prove. Shifting f and g apart undoes the move from D to D': the integral of
    p(z) f_D'(z+Delta) g_D'(z-Delta) is Pr_D[a] again.
    """
    setting = ClaimSetting(row=subject.rows["lyu-2017"], epsilon=1)
    pair = repeated((40, 41, BELOW, 4), (0, -1, ABOVE, 1))
    nu, z, moves = setting.query_law, np.linspace(-100, 100, 801), np.linspace(-1, 1, 9)[:, None]
    f_gap = float((nu.log_below(z) - nu.log_below(z + 1 - moves)).max())
    g_gap = float((nu.log_above(z) - nu.log_above(z - 1 - moves)).max())
    shifted = [q - 1 if a is BELOW else q + 1 for q, a in zip(pair.neighbour, pair.outcome, strict=True)]
    apart, itself = (setting.log_probability(q, pair.outcome) for q in (shifted, pair.answers))
    loss = setting.loss(pair)
    return Measured(
        parts=(
            within("max over z of ln f_D(z) - ln f_D'(z+Δ)", f_gap, 0.0),
            within("max over z of ln g_D(z) - ln g_D'(z-Δ)", g_gap, 0.0),
            equals("ln of the integral with f and g shifted apart, against ln Pr_D[a]", apart, itself),
            exceeds("loss of BELOW^4 ABOVE, against the ε₁ that both shifts would prove", loss, 0.5),
        ),
        evidence=(
            f"largest ln f_D(z)/f_D'(z+Δ) {abs(f_gap):.4f}, g likewise {abs(g_gap):.4f}; "
            f"BELOW^4 ABOVE loses {loss:.4f}, ε₁ = 0.5"
        ),
    )


CLAIMS = (
    Claim(
        key="lemma-1",
        place="Sec. 3.1, Lemma 1",
        expected=ClaimVerdict.TIGHT,
        measure=_lemma_1,
        statement="Alg. 1: Pr[A(D) = BELOW^ℓ] <= e^ε₁ Pr[A(D') = BELOW^ℓ] for every ℓ.",
    ),
    Claim(
        key="lemma-1-one-threshold",
        place="Sec. 3.1, proof of Lemma 1",
        expected=ClaimVerdict.HOLDS,
        measure=_one_threshold,
        statement="At one fixed z, f_D(z)/f_D'(z) is unbounded in the number of queries (which the proof calls |L|).",
    ),
    Claim(
        key="lemma-1-mirror",
        place="Sec. 3.1, after Lemma 1",
        expected=ClaimVerdict.HOLDS,
        measure=_mirror,
        statement="Alg. 1: Pr[A(D) = ABOVE^ℓ] <= e^ε₁ Pr[A(D') = ABOVE^ℓ]. (It says ABOVE at most c times: ℓ <= c.)",
    ),
    Claim(
        key="lemma-1-no-noise",
        place="Sec. 3.1, after Lemma 1",
        expected=ClaimVerdict.TIGHT,
        measure=_no_query_noise,
        statement="Lemma 1 needs no query noise: it holds with ν = 0.",
    ),
    Claim(
        key="alg-1",
        place="Sec. 3.1, Thm. 2",
        expected=ClaimVerdict.TIGHT,
        measure=_alg_1,
        statement="Alg. 1 (ρ ~ Lap(Δ/ε₁) once, ν ~ Lap(2cΔ/ε₂), stop at c, ε₁ = ε₂ = ε/2) is ε-DP.",
    ),
    Claim(
        key="shifts",
        place="Sec. 3.1, after Thm. 2",
        expected=ClaimVerdict.HOLDS,
        measure=_shifts,
        statement="f_D(z) <= f_D'(z+Δ) and g_D(z) <= g_D'(z-Δ) are both true and do not combine.",
    ),
)
