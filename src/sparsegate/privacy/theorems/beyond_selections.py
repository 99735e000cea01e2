"""Beyond the paper: selections that use how many scores one person touches, draw a set, or spend a delta.

Every probability is computed from the definition of the mechanism (``sparsegate.privacy.selections``), for all
neighbours among a few places near and far; the rates and scales are this library's own.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from sparsegate.privacy.laws import NoiseLaw
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
from sparsegate.privacy.theorems.claim import (
    Claim,
    ClaimPart,
    ClaimVerdict,
    Measured,
    Subject,
    at_most,
    equals,
    exceeds,
    within,
)
from sparsegate.privacy.theorems.measure import listed

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
            subject.noisy_scale(epsilon=Fraction(1), count=count, steps=1, monotonic=monotonic, touched=touched)
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


CLAIMS = (
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
