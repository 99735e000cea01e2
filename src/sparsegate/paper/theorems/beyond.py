"""Beyond the paper: gates since 2017 and selections. The traps are claims, too: each says what must not be done.

Gates: one-sided noise, free gaps, two-sided closing, and the price of a transcript. A minus sign on either exponential
noise, and gaps of BELOW (2t of them lose at least 2 t r + ln Pr[rho = 0]), leave no epsilon. Machine-checked:
proofs/README.md.

Selections that use how many scores one person touches, draw a set, or spend a delta: every probability is computed from
the definition of the mechanism (``sparsegate.privacy.selections``), for all neighbours among a few places near and far;
the rates and scales are this library's own.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from sparsegate.gates.laws import NoiseLaw
from sparsegate.gates.variants import Noise, Released, Scales, Variant
from sparsegate.paper.theorems.claim import (
    ABOVE,
    BELOW,
    FAR,
    HOLDS,
    TIGHT,
    ClaimPart,
    GateSetting,
    Measured,
    Section,
    Subject,
    at_most,
    equals,
    exceeds,
    listed,
    log_binomials,
    noise_laws,
    repeated,
    split,
    within,
)
from sparsegate.privacy.divergences import renyi
from sparsegate.privacy.loss import largest_losses
from sparsegate.privacy.model import build, log_integral
from sparsegate.privacy.outcome import transcript
from sparsegate.privacy.selections import (
    Scores,
    SelectionLaw,
    WorstSelection,
    noisy_order,
    one_shot,
    peeled,
    subset_weights,
    worst_selection,
)

GATES = Section("Beyond the paper: gates since 2017")
SELECTIONS = Section("Beyond the paper: selections")

_HALVES = split(0.5, 0.5)
_MANY = 40  # questions with the answer that a two-sided gate gives for nothing
_COUNTS = tuple((m, k) for m in range(4) for k in range(4) if 0 < m + k <= 5)
_PRICED = ("standard", "ding-2019", "liu-2024", "exponential-gap")


def _monotonic(monotonic: bool) -> str:
    return ", monotonic" if monotonic else ""


def _bounded(*rows: Variant, queries: int = 6) -> list[ClaimPart]:
    """The loss of rows at c = 1 and 2, general and monotonic, continuous and on the lattice."""
    ways: list[tuple[int, bool, Any]] = [(1, False, "continuous"), (2, False, "lattice"), (2, True, "continuous")]
    return [
        GateSetting(row, cutoff=c, budget=split(0.3, 0.7), monotonic=monotonic, noise=noise).bounded(
            f"loss of {row.key}, c = {{c}}{_monotonic(monotonic)}, {{noise}} noise", queries=queries
        )
        for row, (c, monotonic, noise) in product(rows, ways)
    ]


@GATES.claim("exponential-gate", "Liu et al. 2024", TIGHT)
def _exponential(subject: Subject) -> Measured:
    """With ρ ~ Exp(Δ/ε₁) and ν ~ Exp(scΔ/ε₂), both ≥ 0, a gate is (ε₁+ε₂)-DP. (s = 2; monotonic 1.)"""
    parts = _bounded(subject.rows["liu-2024"])
    return parts, f"loss {listed(parts)} of 1"


@GATES.claim("minus-sign", "trap: one-sided noise", HOLDS)
def _minus(subject: Subject) -> Measured:
    """With a minus sign on ρ or on ν the same gate has no ε: one answer becomes impossible."""
    sound = build(subject.rows["liu-2024"], budget=_HALVES)
    rho, nu = (replace(law, side=-1) for law in noise_laws(sound))
    parts = []
    for name, model, answer, entry in (
        ("ρ", replace(sound, rho=rho), -1, BELOW),
        ("ν", replace(sound, nu=nu), 1, ABOVE),
    ):
        own, other = (transcript(model.compare([q], -model.shift, None), [entry]) for q in (answer, 0))
        parts.append(equals(f"loss with {name} ≤ 0", -math.inf if own == -math.inf else own - other, math.inf))
    rho_loss, nu_loss = (part.measured for part in parts)
    return parts, f"ρ ≤ 0: BELOW loses {rho_loss} from −1 to 0; ν ≤ 0: ABOVE loses {nu_loss} from 1 to 0"


@GATES.claim("free-gap", "Ding et al. 2019", TIGHT)
def _free_gap(subject: Subject) -> Measured:
    """Every ABOVE may also release q + ν − T − ρ − κ at no cost, with Laplace or with exponential noise."""
    parts = _bounded(subject.rows["ding-2019"], subject.rows["exponential-gap"], queries=7)
    return parts, f"Laplace {listed(parts[:3])}, exponential {listed(parts[3:])} of 1"


@GATES.claim("gap-of-below", "trap: free gap", HOLDS)
def _gap_of_below(subject: Subject) -> Measured:
    """The gaps of BELOWs must not be released: then every question costs Δ/scale(ν), without end.

    m BELOW and one ABOVE, all with their gaps: half of the answers, far above, rise; half, far below, fall.
    """
    rho, nu = noise_laws(build(subject.rows["ding-2019"], budget=_HALVES))

    def log_density(centres: np.ndarray) -> float:
        return log_integral(
            lambda z: rho.log_weight(z.value) + nu.log_weight(z.past(centres)).sum(axis=0),
            np.unique(np.append(centres, 0.0)),
            -math.inf,
            math.inf,
            lattice=False,
            finest=1 / (rho.rate + centres.size * nu.rate),
            layer=nu.scale,
        )

    parts = []
    for below in (10, 20):
        signs = np.where(np.arange(below + 1) % 2, 1.0, -1.0)
        far = FAR * (rho.scale + nu.scale) * signs  # a gap g of an answer q puts the centre at q - T - g
        loss = log_density(far) - log_density(far + signs)
        parts.append(exceeds(f"loss with the gaps of {below} BELOW and an ABOVE, ε = 1", loss, 1.0))
    return parts, f"with the gaps of 10 and of 20 BELOW the loss is {listed(parts)} at ε = 1"


@GATES.claim("two-sided", "new", TIGHT)
def _two_sided(subject: Subject) -> Measured:
    """With Laplace noise, and no numbers, a gate may go on until both answers were given c times: same ε."""
    setting = subject.gate("two-sided", cutoff=2, budget=_HALVES)
    parts = _bounded(setting.row)
    far = FAR * math.ceil(1 / _HALVES.threshold_epsilon + 8)
    for m, k in ((_MANY, 2), (2, _MANY)):
        blocks = (far, far + 1, BELOW, m), (0, -1, ABOVE, k)
        mirror = (0, 1, BELOW, m), (-far, -far - 1, ABOVE, k)
        pairs = [repeated(*(pair if m > k else pair[::-1])) for pair in (blocks, mirror)]
        most = max(setting.loss(pair) for pair in pairs)
        parts.append(at_most(f"loss of {m} BELOW and {k} ABOVE at c = 2", most, 1.0))
    below, above = (part.measured for part in parts[3:])
    many = f"{_MANY} BELOW and 2 ABOVE {below:.4f}, 2 BELOW and {_MANY} ABOVE {above:.4f}"
    return parts, f"loss {listed(parts[:3])} of 1; {many}"


@GATES.claim("two-sided-limits", "trap: two-sided gate", HOLDS)
def _two_sided_limits(subject: Subject) -> Measured:
    """A two-sided gate with exponential noise, with gaps or with answers is not ε-DP."""
    row = subject.rows["two-sided"]
    changed = {
        "exponential noise": GateSetting(replace(row, noise=Noise.EXPONENTIAL), budget=_HALVES),
        "gaps": GateSetting(replace(row, gap=True), budget=_HALVES),
        "answers": GateSetting(replace(row, released=Released.FRESH_ANSWER), budget=split(0.25, 0.25, 0.5)),
    }
    excess = {name: setting.worst(queries=10, far=False) - 1 for name, setting in changed.items()}
    parts = [exceeds(f"excess over ε with {name}, c = 1, 10 questions", value, 0.0) for name, value in excess.items()]
    return parts, "excess over ε = 1 in 10 questions: " + ", ".join(f"{n} {v:.4f}" for n, v in excess.items())


@GATES.claim("metered", "new", TIGHT)
def _metered(subject: Subject) -> Measured:
    """m BELOW and k ABOVE cost L(m,k), tight, whatever was set aside: the rest may go back to the ledger."""
    parts, budget = [], split(0.5, 0.35)
    for key, monotonic in product(_PRICED, (False, True)):
        row = subject.rows[key]
        scales = row.scales(budget, cutoff=1, monotonic=monotonic)
        largest = largest_losses(row, _COUNTS, budget=budget, monotonic=monotonic, restarts=16)
        shares = [
            loss / float(subject.outcome_loss(m, k, scales, monotonic=monotonic, row=row))
            for (m, k), loss in largest.items()
        ]
        name = f"{key}{_monotonic(monotonic)}"
        parts.append(at_most(f"largest loss over L(m,k), {name}", max(shares), 1.0))
        parts.append(within(f"least loss over L(m,k), {name}: 1 −", 1 - min(shares), 0.01))
    exact = sum(part.measured for part in parts[::2]) / len(parts[::2])
    least = 1 - max(part.measured for part in parts[1::2])
    gates = f"{len(_COUNTS)} pairs (m,k) on {len(parts) // 2} gates"
    return parts, f"largest loss over L(m,k), {gates}: {least:.4f} to {exact:.4f}"


@GATES.claim("approximate-gate", "new", HOLDS)
def _approximate(subject: Subject) -> Measured:
    """One ρ, any number of questions: D_α ≤ D_α(ρ‖ρ+Δ) + c ln κ/(α−1), so that a δ buys less noise.

    Exact Renyi divergences of pairs around the threshold, ten questions, over the bound for any number of them.
    """
    row, scales = subject.rows["standard"], Scales(Fraction(4), Fraction(2), None)
    parts = []
    for cutoff, monotonic, order in product((1, 2), (False, True), (2, 8, 32)):
        public: dict[str, Any] = {"scales": scales, "cutoff": cutoff, "monotonic": monotonic}
        bound = subject.renyi_bound(Fraction(order), sensitivity=1, **public)
        exact = max(
            renyi(row, order, [0] * 10, [-1] * (10 - n) + [0 if monotonic else 1] * n, noise="lattice", **public)
            for n in range(0, 10, 2)
        )
        name = f"c = {cutoff}{_monotonic(monotonic)}, α = {order}"
        parts.append(within(f"Rényi divergence over its bound, {name}", exact / bound, 1.0))
    least, most = (end(part.measured for part in parts) for end in (min, max))
    return parts, f"exact Rényi divergences of ten questions: {least:.4f} to {most:.4f} of the bound"


_DELTA = 1e-6


def _worst(
    law: Callable[[Scores], SelectionLaw], scale: float, *, items: int, touched: int | None = None, monotonic: bool
) -> WorstSelection:
    """The largest loss over neighbours whose scores are equal, or 30 scales of the noise apart."""
    far = math.ceil(60 * scale / 2)
    return worst_selection(law, (-far, 0, far), items=items, touched=touched, one_way=monotonic)


def _order_loss(subject: Subject, items: int, count: int, touched: int, monotonic: bool) -> tuple[float, float]:
    """The loss of the order of noisy scores, and of the noisy scores: that of |moves| in the exponent."""
    public = {"epsilon": Fraction(1), "count": count, "steps": 1, "monotonic": monotonic}
    scale = float(subject.noisy_scale(**public, max_items_per_user=touched))
    law = NoiseLaw(scale=scale, lattice=True)
    order = partial(noisy_order, count=count, noise=law)
    worst = _worst(order, scale, items=items, touched=touched, monotonic=monotonic)
    return worst.loss, touched * float(law.log_weight(np.array(5.0)) - law.log_weight(np.array(6.0)))


@SELECTIONS.claim("touched", "new", TIGHT)
def _touched(subject: Subject) -> Measured:
    """If m scores move, the c largest with Laplace noise min(sc, m)Δ/ε are ε-DP; where m ≤ c, values too."""
    parts = []
    cases = (3, 1, 1, True), (4, 2, 1, True), (4, 2, 1, False), (4, 2, 2, False), (3, 1, 2, True)
    for items, count, touched, monotonic in cases:
        order, values = _order_loss(subject, items, count, touched, monotonic)
        name = f"c = {count}{_monotonic(monotonic)}, m = {touched}"
        parts.append(at_most(f"loss of the order, {name}", order, 1.0))
        if touched <= count:
            parts.append(at_most(f"loss of the noisy scores, {name}", values, 1.0))
    return parts, f"loss {listed(parts)} of 1, orders and noisy scores"


@SELECTIONS.claim("touched-one-sided", "trap: touched", HOLDS)
def _untouched(subject: Subject) -> Measured:
    """Gumbel and exponential noise do not gain from m: the loss is cΔ/scale also where one score moves."""
    parts = []
    for count, (name, law) in product((1, 2, 3), (("Gumbel", peeled), ("exponential", one_shot))):
        rate = subject.rate(count=count, monotonic=True)
        select = partial(law, count=count, rate=rate)
        loss = _worst(select, 1 / rate, items=count + 1, touched=1, monotonic=True).loss
        parts.append(equals(f"loss where one score moves: {name}, c = {count}", round(loss, 6), 1.0))
    return parts, f"loss where one score moves {listed(parts)}, c = 1, 2, 3"


def _selected(
    subject: Subject, law: Callable[..., SelectionLaw], *cases: tuple[int, int, bool], rounds: int | None = None
) -> list[ClaimPart]:
    """The loss of a selection for each number of items, count and kind, at the rate of ``rounds``, or count, rounds."""
    parts = []
    for items, count, monotonic in cases:
        rate = subject.rate(count=rounds or count, monotonic=monotonic)
        worst = _worst(partial(law, count=count, rate=rate), 1 / rate, items=items, monotonic=monotonic)
        parts.append(at_most(f"loss, c = {count}{_monotonic(monotonic)}", worst.loss, 1.0))
    return parts


@SELECTIONS.claim("subset", "cf. Shekelyan, Loukides 2022", TIGHT)
def _subset(subject: Subject) -> Measured:
    """A set S with weight exp(−ε(max outside − min inside)/(2sΔ)) is ε-DP, for any c.

    The loss of a set moves as far as the weights of two rounds: that is the library's rate.
    """
    cases = (3, 1, True), (4, 2, True), (4, 2, False), (5, 3, False)
    parts = _selected(subject, subset_weights, *cases, rounds=2)
    return parts, f"loss {listed(parts)} of 1 at c = 1, 2, 2, 3"


@SELECTIONS.claim("one-shot", "McKenna, Sheldon 2020, for c items", TIGHT)
def _exponential_noise(subject: Subject) -> Measured:
    """The c largest of q + Exp(scΔ/ε), in order, are ε-DP."""
    parts = _selected(subject, one_shot, (2, 1, True), (3, 2, True), (3, 1, False), (3, 2, False))
    return parts, f"loss {listed(parts)} of 1 at c = 1, 2, 1, 2"


@SELECTIONS.claim("permute-and-flip-range", "trap: bounded range", HOLDS)
def _range(subject: Subject) -> Measured:
    """Permute-and-flip is not ε-bounded-range: it must not be composed as the exponential mechanism is."""
    rate = subject.rate(monotonic=True)
    flip, peel = (
        _worst(partial(law, count=1, rate=rate), 1 / rate, items=items, monotonic=True)
        for law, items in ((one_shot, 2), (peeled, 3))
    )
    return [
        exceeds("range of the losses of permute-and-flip, ε = 1", flip.spread, 1.0),
        within("range of the losses of the exponential mechanism, ε = 1", peel.spread, 1.0),
    ], f"range {flip.spread:.4f} at ε = 1, loss {flip.loss:.4f}; exponential mechanism {peel.spread:.4f}"


def _delta_of_rounds(count: int, round_epsilon: float, epsilon: float) -> float:
    """delta(epsilon) of c equal rounds with two outcomes, whose losses t and t - e are as far apart as they may be.

    Pr_D of the first outcome is p, with p e**-t + (1-p) e**(e-t) = 1. The largest delta over a grid of t.
    """
    losses = np.linspace(0, round_epsilon, 201)[1:-1, None]
    first = np.expm1(round_epsilon - losses) / (np.exp(round_epsilon - losses) - np.exp(-losses))
    times = np.arange(count + 1)[None, :]
    mass = np.exp(log_binomials(count) + (count - times) * np.log(first) + times * np.log1p(-first))
    total = count * losses - times * round_epsilon
    return float((mass * np.maximum(-np.expm1(np.minimum(epsilon - total, 0)), 0)).sum(axis=1).max())


@SELECTIONS.claim("gumbel-delta", "Durfee, Rogers 2019; Dong, Durfee, Rogers 2020", HOLDS)
def _gumbel(subject: Subject) -> Measured:
    """c peeled rounds of ε₀ are (ε, δ)-DP for the ε₀ of bounded range, far more than ε/c each."""
    parts: list[ClaimPart] = []
    rounds = {count: float(subject.round_epsilon(epsilon=1, delta=_DELTA, count=count)) for count in (10, 50, 100, 300)}
    for count, each in rounds.items():
        delta = _delta_of_rounds(count, each, 1.0)
        parts.append(within(f"δ at ε = 1 of {count} rounds of ε₀ = {each:.4f}", delta, _DELTA))
        parts.append(exceeds(f"ε₀ of {count} rounds, against ε/c", each, 1 / count))
    evidence = ", ".join(f"{each:.4f} (c = {count})" for count, each in rounds.items())
    share = max(part.measured for part in parts[::2]) / _DELTA
    return parts, f"ε₀ {evidence} at δ = 1e-6; exact δ of the worst rounds {share:.2f} of it"
