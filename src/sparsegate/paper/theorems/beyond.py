"""Beyond the paper: gates with one-sided noise, free gaps, two-sided closing, and the price of a transcript.

The traps are claims, too: each says what must not be done, and its evidence is a witness.

A minus sign on either exponential noise, and gaps of BELOW (2t of them lose at least 2 t r + ln Pr[rho = 0]), leave no
epsilon. Machine-checked: `minus_gate_sums_to_one`, `minus_query_noise`, `minus_threshold_noise`,
`minus_query_noise_is_not_private`, `minus_threshold_noise_is_not_private`, `all_gaps_sums_to_one`,
`all_gaps_loss_grows`, `all_gaps_is_not_private` (proofs/gate_traps.v).

Beyond the paper: selections that use how many scores one person touches, draw a set, or spend a delta.

Every probability is computed from the definition of the mechanism (``sparsegate.privacy.selections``), for all
neighbours among a few places near and far; the rates and scales are this library's own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np

from sparsegate.budget import Budget
from sparsegate.gates.variants import Noise, Released, Scales, Variant
from sparsegate.paper.theorems.claim import (
    ABOVE,
    BELOW,
    Claim,
    ClaimPart,
    ClaimSetting,
    ClaimVerdict,
    Measured,
    Subject,
    at_most,
    equals,
    exceeds,
    listed,
    repeated,
    within,
)
from sparsegate.privacy.divergences import renyi
from sparsegate.privacy.loss import largest_losses
from sparsegate.privacy.model import NoiseLaw, build, log_integral
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

_HALVES = Budget(threshold_epsilon=0.5, query_epsilon=0.5)
_MANY = 40  # questions with the answer that a two-sided gate gives for nothing
_COUNTS = tuple((m, k) for m in range(4) for k in range(4) if 0 < m + k <= 5)
_PRICED = ("standard", "ding-2019", "liu-2024", "exponential-gap")


def _settings(row: Variant, *, answers: float = 0) -> Iterator[ClaimSetting]:
    """c = 1 and 2, general and monotonic, continuous and on the lattice."""
    for cutoff, monotonic, noise in ((1, False, "continuous"), (2, False, "lattice"), (2, True, "continuous")):
        shares = Budget(threshold_epsilon=0.3, query_epsilon=0.7 - answers, answer_epsilon=answers)
        yield ClaimSetting(row=row, cutoff=cutoff, budget=shares, monotonic=monotonic, noise=noise)  # type: ignore[arg-type]


def _bounded(rows: list[Variant], *, queries: int = 6) -> list[ClaimPart]:
    return [
        at_most(
            f"loss of {s.row.key}, c = {s.cutoff}{', monotonic' if s.monotonic else ''}, {s.noise} noise",
            s.worst(queries=queries),
            float(s.shares.total),
        )
        for row in rows
        for s in _settings(row)
    ]


def _exponential(subject: Subject) -> Measured:
    parts = _bounded([subject.rows["liu-2024"]])
    return Measured(parts=tuple(parts), evidence=f"loss {listed([p.measured for p in parts])} of 1")


def _minus(subject: Subject) -> Measured:
    """rho <= 0 or nu <= 0 instead: an answer that one dataset can give and its neighbour cannot."""
    sound = build(subject.rows["liu-2024"], budget=_HALVES)
    assert sound.rho is not None
    assert sound.nu is not None
    wrong = {
        "ρ": (replace(sound, rho=replace(sound.rho, side=-1)), -1, 0, [BELOW]),
        "ν": (replace(sound, nu=replace(sound.nu, side=-1)), 1, 0, [ABOVE]),
    }
    losses = {
        name: -math.inf if here == -math.inf else here - there
        for name, (model, first, second, outcome) in wrong.items()
        for here, there in [[transcript(model.compare([q], -model.shift, None), outcome) for q in (first, second)]]
    }
    return Measured(
        parts=tuple(equals(f"loss with {name} ≤ 0", loss, math.inf) for name, loss in losses.items()),
        evidence=f"ρ ≤ 0: BELOW loses {losses['ρ']} from −1 to 0; ν ≤ 0: ABOVE loses {losses['ν']} from 1 to 0",
    )


def _free_gap(subject: Subject) -> Measured:
    rows = [subject.rows[key] for key in ("ding-2019", "exponential-gap")]
    parts = _bounded(rows, queries=7)
    return Measured(
        parts=tuple(parts),
        evidence=f"Laplace {listed([p.measured for p in parts[:3]])}, exponential "
        f"{listed([p.measured for p in parts[3:]])} of 1",
    )


def _gap_of_below(subject: Subject) -> Measured:
    """m BELOW and one ABOVE, all with their gaps: half of the answers, far above, rise; half, far below, fall."""
    model = build(subject.rows["ding-2019"], budget=_HALVES)
    rho, nu = model.rho, model.nu
    assert rho is not None
    assert nu is not None

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

    losses = []
    for below in (10, 20):
        signs = np.where(np.arange(below + 1) % 2, 1.0, -1.0)
        far = 40 * (rho.scale + nu.scale) * signs  # a gap g of an answer q puts the centre at q - T - g
        losses.append(log_density(far) - log_density(far + signs))
    return Measured(
        parts=tuple(
            exceeds(f"loss with the gaps of {m} BELOW and an ABOVE, ε = 1", loss, 1.0)
            for m, loss in zip((10, 20), losses, strict=True)
        ),
        evidence=f"with the gaps of 10 and of 20 BELOW the loss is {listed(losses)} at ε = 1",
    )


def _two_sided(subject: Subject) -> Measured:
    row = subject.rows["two-sided"]
    parts = _bounded([row])
    many = {}
    for name, m, k in (("BELOW", _MANY, 2), ("ABOVE", 2, _MANY)):
        setting = ClaimSetting(row=row, cutoff=2, budget=_HALVES)
        far = 40 * math.ceil(1 / _HALVES.threshold_epsilon + 8)
        blocks = (far, far + 1, BELOW, m), (0, -1, ABOVE, k)
        mirror = (0, 1, BELOW, m), (-far, -far - 1, ABOVE, k)
        asked = [repeated(*(pair if m > k else pair[::-1])) for pair in (blocks, mirror)]
        many[name] = max(setting.loss(pair) for pair in asked)
        parts.append(at_most(f"loss of {m} BELOW and {k} ABOVE at c = 2", many[name], 1.0))
    return Measured(
        parts=tuple(parts),
        evidence=f"loss {listed([p.measured for p in parts[:3]])} of 1; "
        f"{_MANY} BELOW and 2 ABOVE {many['BELOW']:.4f}, 2 BELOW and {_MANY} ABOVE {many['ABOVE']:.4f}",
    )


def _two_sided_limits(subject: Subject) -> Measured:
    """The same gate with exponential noise, with gaps, with answers: a question that is ABOVE for nothing is none."""
    row = subject.rows["two-sided"]
    changes = {
        "exponential noise": (replace(row, noise=Noise.EXPONENTIAL), _HALVES),
        "gaps": (replace(row, gap=True), _HALVES),
        "answers": (
            replace(row, released=Released.FRESH_ANSWER),
            Budget(threshold_epsilon=0.25, query_epsilon=0.25, answer_epsilon=0.5),
        ),
    }
    excess = {}
    for name, (changed, budget) in changes.items():
        setting = ClaimSetting(row=changed, budget=budget)
        excess[name] = setting.worst(queries=10, pairs=()) - 1
    parts = [exceeds(f"excess over ε with {name}, c = 1, 10 questions", value, 0.0) for name, value in excess.items()]
    return Measured(
        parts=tuple(parts),
        evidence="excess over ε = 1 in 10 questions: " + ", ".join(f"{n} {v:.4f}" for n, v in excess.items()),
    )


def _metered(subject: Subject) -> Measured:
    """L(m,k) for all small m and k: what a climb finds, over what the closed form says."""
    parts = []
    for key in _PRICED:
        for monotonic in (False, True):
            budget = Budget(threshold_epsilon=0.5, query_epsilon=0.35)
            row = subject.rows[key]
            scales = row.scales(budget, cutoff=1, monotonic=monotonic)
            found = largest_losses(row, _COUNTS, budget=budget, monotonic=monotonic, restarts=16)
            shares = [
                loss / float(subject.outcome_loss(m, k, scales, monotonic=monotonic, row=row))
                for (m, k), loss in found.items()
            ]
            name = f"{key}{', monotonic' if monotonic else ''}"
            parts.append(at_most(f"largest loss over L(m,k), {name}", max(shares), 1.0))
            parts.append(within(f"least loss over L(m,k), {name}: 1 −", 1 - min(shares), 0.01))
    exact = sum(part.measured for part in parts[::2]) / len(parts[::2])
    least = 1 - max(part.measured for part in parts[1::2])
    return Measured(
        parts=tuple(parts),
        evidence=f"largest loss over L(m,k), {len(_COUNTS)} pairs (m,k) on {len(parts) // 2} gates: "
        f"{least:.4f} to {exact:.4f}",
    )


def _approximate(subject: Subject) -> Measured:
    """Exact Renyi divergences of pairs around the threshold, ten questions, over the bound for any number of them."""
    row, scales = subject.rows["standard"], Scales(Fraction(4), Fraction(2), None)
    parts = []
    for cutoff, monotonic, order in product((1, 2), (False, True), (2, 8, 32)):
        bound = subject.renyi_bound(Fraction(order), scales=scales, sensitivity=1, cutoff=cutoff, monotonic=monotonic)
        common = {"scales": scales, "cutoff": cutoff, "monotonic": monotonic, "noise": "lattice"}
        exact = max(
            renyi(row, order, [0] * 10, [-1] * (10 - rising) + [0 if monotonic else 1] * rising, **common)  # type: ignore[arg-type]
            for rising in range(0, 10, 2)
        )
        name = f"c = {cutoff}{', monotonic' if monotonic else ''}, α = {order}"
        parts.append(within(f"Rényi divergence over its bound, {name}", exact / bound, 1.0))
    return Measured(
        parts=tuple(parts),
        evidence=f"exact Rényi divergences of ten questions: {min(p.measured for p in parts):.4f} to "
        f"{max(p.measured for p in parts):.4f} of the bound",
    )


CLAIMS = (
    Claim(
        key="exponential-gate",
        place="Liu et al. 2024",
        expected=ClaimVerdict.TIGHT,
        measure=_exponential,
        statement="With ρ ~ Exp(Δ/ε₁) and ν ~ Exp(scΔ/ε₂), both ≥ 0, a gate is (ε₁+ε₂)-DP. (s = 2; monotonic 1.)",
    ),
    Claim(
        key="minus-sign",
        place="trap: one-sided noise",
        expected=ClaimVerdict.HOLDS,
        measure=_minus,
        statement="With a minus sign on ρ or on ν the same gate has no ε: one answer becomes impossible.",
    ),
    Claim(
        key="free-gap",
        place="Ding et al. 2019",
        expected=ClaimVerdict.TIGHT,
        measure=_free_gap,
        statement="Every ABOVE may also release q + ν − T − ρ − κ at no cost, with Laplace or with exponential noise.",
    ),
    Claim(
        key="gap-of-below",
        place="trap: free gap",
        expected=ClaimVerdict.HOLDS,
        measure=_gap_of_below,
        statement="The gaps of BELOWs must not be released: then every question costs Δ/scale(ν), without end.",
    ),
    Claim(
        key="two-sided",
        place="new",
        expected=ClaimVerdict.TIGHT,
        measure=_two_sided,
        statement="With Laplace noise, and no numbers, a gate may go on until both answers were given c times: same ε.",
    ),
    Claim(
        key="two-sided-limits",
        place="trap: two-sided gate",
        expected=ClaimVerdict.HOLDS,
        measure=_two_sided_limits,
        statement="A two-sided gate with exponential noise, with gaps or with answers is not ε-DP.",
    ),
    Claim(
        key="metered",
        place="new",
        expected=ClaimVerdict.TIGHT,
        measure=_metered,
        statement="m BELOW and k ABOVE cost L(m,k), tight, whatever was set aside: the rest may go back to the ledger.",
    ),
    Claim(
        key="approximate-gate",
        place="new",
        expected=ClaimVerdict.HOLDS,
        measure=_approximate,
        statement="One ρ, any number of questions: D_α ≤ D_α(ρ‖ρ+Δ) + c ln κ/(α−1), so that a δ buys less noise.",
    ),
)


_FAR = 60  # scales of the noise
_DELTA = 1e-6


def _worst(
    law_of: Callable[[Scores], SelectionLaw], scale: float, *, items: int, touched: int | None = None, one_way: bool
) -> WorstSelection:
    far = math.ceil(_FAR * scale / 2)
    return worst_selection(law_of, (-far, 0, far), items=items, touched=touched, one_way=one_way)


def _noisy(scale: float, count: int) -> Callable[[Scores], SelectionLaw]:
    noise = NoiseLaw(scale=scale, lattice=True)
    return lambda scores: noisy_order(scores, count, noise)


def _one_shot(rate: float, count: int) -> Callable[[Scores], SelectionLaw]:
    return lambda scores: one_shot(scores, count, rate)


def _peeled(rate: float, count: int) -> Callable[[Scores], SelectionLaw]:
    return lambda scores: peeled(scores, count, rate)


def _sets(rate: float, count: int) -> Callable[[Scores], SelectionLaw]:
    return lambda scores: subset_weights(scores, count, rate)


def _name(count: int, monotonic: bool) -> str:
    return f"c = {count}{', monotonic' if monotonic else ''}"


def _touched(subject: Subject) -> Measured:
    """Laplace noise on all scores; then the noisy scores themselves, whose loss is that of |moves| in the exponent."""
    parts = []
    for items, count, touched, monotonic in (
        (3, 1, 1, True),
        (4, 2, 1, True),
        (4, 2, 1, False),
        (4, 2, 2, False),
        (3, 1, 2, True),
    ):
        scale = float(
            subject.noisy_scale(
                epsilon=Fraction(1), count=count, steps=1, monotonic=monotonic, max_items_per_user=touched
            )
        )
        worst = _worst(_noisy(scale, count), scale, items=items, touched=touched, one_way=monotonic)
        parts.append(at_most(f"loss of the order, {_name(count, monotonic)}, m = {touched}", worst.loss, 1.0))
        if touched <= count:
            law = NoiseLaw(scale=scale, lattice=True)
            counts = touched * float(law.log_weight(np.array(5.0)) - law.log_weight(np.array(6.0)))
            parts.append(at_most(f"loss of the noisy scores, {_name(count, monotonic)}, m = {touched}", counts, 1.0))
    return Measured(
        parts=tuple(parts), evidence=f"loss {listed([p.measured for p in parts])} of 1, orders and noisy scores"
    )


def _untouched(subject: Subject) -> Measured:
    """One score moves: Gumbel noise (peeling) and exponential noise made for c of them still lose all of epsilon."""
    parts = []
    for count in (1, 2, 3):
        rate = float(subject.selection_rate(epsilon=1, count=count, sensitivity=1, monotonic=True))
        for name, law in (("Gumbel", _peeled(rate, count)), ("exponential", _one_shot(rate, count))):
            loss = _worst(law, 1 / rate, items=count + 1, touched=1, one_way=True).loss
            parts.append(equals(f"loss where one score moves: {name}, c = {count}", round(loss, 6), 1.0))
    return Measured(
        parts=tuple(parts), evidence=f"loss where one score moves {listed([p.measured for p in parts])}, c = 1, 2, 3"
    )


def _subset(subject: Subject) -> Measured:
    parts = []
    for items, count, monotonic in ((3, 1, True), (4, 2, True), (4, 2, False), (5, 3, False)):
        # The loss of a set moves as far as the weights of two rounds: that is the library's rate.
        rate = float(subject.selection_rate(epsilon=1, count=2, sensitivity=1, monotonic=monotonic))
        worst = _worst(_sets(rate, count), 1 / rate, items=items, one_way=monotonic)
        parts.append(at_most(f"loss, {_name(count, monotonic)}", worst.loss, 1.0))
    return Measured(parts=tuple(parts), evidence=f"loss {listed([p.measured for p in parts])} of 1 at c = 1, 2, 2, 3")


def _exponential_noise(subject: Subject) -> Measured:
    parts = []
    for items, count, monotonic in ((2, 1, True), (3, 2, True), (3, 1, False), (3, 2, False)):
        rate = float(subject.selection_rate(epsilon=1, count=count, sensitivity=1, monotonic=monotonic))
        worst = _worst(_one_shot(rate, count), 1 / rate, items=items, one_way=monotonic)
        parts.append(at_most(f"loss, {_name(count, monotonic)}", worst.loss, 1.0))
    return Measured(parts=tuple(parts), evidence=f"loss {listed([p.measured for p in parts])} of 1 at c = 1, 2, 1, 2")


def _range(subject: Subject) -> Measured:
    """The range of the losses of one pair: epsilon for the exponential mechanism, more for exponential noise."""
    rate = float(subject.selection_rate(epsilon=1, count=1, sensitivity=1, monotonic=True))
    flip = _worst(_one_shot(rate, 1), 1 / rate, items=2, one_way=True)
    peel = _worst(_peeled(rate, 1), 1 / rate, items=3, one_way=True)
    return Measured(
        parts=(
            exceeds("range of the losses of permute-and-flip, ε = 1", flip.spread, 1.0),
            within("range of the losses of the exponential mechanism, ε = 1", peel.spread, 1.0),
        ),
        evidence=f"range {flip.spread:.4f} at ε = 1, loss {flip.loss:.4f}; exponential mechanism {peel.spread:.4f}",
    )


def _delta_of_rounds(count: int, round_epsilon: float, epsilon: float) -> float:
    """delta(epsilon) of c equal rounds with two outcomes, whose losses t and t - e are as far apart as they may be.

    Pr_D of the first outcome is p, with p e**-t + (1-p) e**(e-t) = 1. The largest delta over a grid of t.
    """
    losses = np.linspace(0, round_epsilon, 201)[1:-1, None]
    first = np.expm1(round_epsilon - losses) / (np.exp(round_epsilon - losses) - np.exp(-losses))
    times = np.arange(count + 1)[None, :]
    log_choose = np.array([math.lgamma(count + 1) - math.lgamma(i + 1) - math.lgamma(count - i + 1) for i in times[0]])
    mass = np.exp(log_choose + (count - times) * np.log(first) + times * np.log1p(-first))
    total = count * losses - times * round_epsilon
    return float((mass * np.maximum(-np.expm1(np.minimum(epsilon - total, 0)), 0)).sum(axis=1).max())


def _gumbel(subject: Subject) -> Measured:
    """eps0 for (1, 1e-6): the exact delta of c rounds at the edge of bounded range."""
    parts: list[ClaimPart] = []
    rounds = {count: float(subject.round_epsilon(epsilon=1, delta=_DELTA, count=count)) for count in (10, 50, 100, 300)}
    for count, each in rounds.items():
        parts.append(
            within(f"δ at ε = 1 of {count} rounds of ε₀ = {each:.4f}", _delta_of_rounds(count, each, 1.0), _DELTA)
        )
        parts.append(exceeds(f"ε₀ of {count} rounds, against ε/c", each, 1 / count))
    evidence = ", ".join(f"{each:.4f} (c = {count})" for count, each in rounds.items())
    share = max(part.measured for part in parts[::2]) / _DELTA
    return Measured(
        parts=tuple(parts), evidence=f"ε₀ {evidence} at δ = 1e-6; exact δ of the worst rounds {share:.2f} of it"
    )


BEYOND_SELECTIONS_CLAIMS = (
    Claim(
        key="touched",
        place="new",
        expected=ClaimVerdict.TIGHT,
        measure=_touched,
        statement="If m scores move, the c largest with Laplace noise min(sc, m)Δ/ε are ε-DP; where m ≤ c, values too.",
    ),
    Claim(
        key="touched-one-sided",
        place="trap: touched",
        expected=ClaimVerdict.HOLDS,
        measure=_untouched,
        statement="Gumbel and exponential noise do not gain from m: the loss is cΔ/scale also where one score moves.",
    ),
    Claim(
        key="subset",
        place="cf. Shekelyan, Loukides 2022",
        expected=ClaimVerdict.TIGHT,
        measure=_subset,
        statement="A set S with weight exp(−ε(max outside − min inside)/(2sΔ)) is ε-DP, for any c.",
    ),
    Claim(
        key="one-shot",
        place="McKenna, Sheldon 2020, for c items",
        expected=ClaimVerdict.TIGHT,
        measure=_exponential_noise,
        statement="The c largest of q + Exp(scΔ/ε), in order, are ε-DP.",
    ),
    Claim(
        key="permute-and-flip-range",
        place="trap: bounded range",
        expected=ClaimVerdict.HOLDS,
        measure=_range,
        statement="Permute-and-flip is not ε-bounded-range: it must not be composed as the exponential mechanism is.",
    ),
    Claim(
        key="gumbel-delta",
        place="Durfee, Rogers 2019; Dong, Durfee, Rogers 2020",
        expected=ClaimVerdict.HOLDS,
        measure=_gumbel,
        statement="c peeled rounds of ε₀ are (ε, δ)-DP for the ε₀ of bounded range, far more than ε/c each.",
    ),
)
