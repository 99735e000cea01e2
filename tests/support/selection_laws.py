"""Exact laws of small selections."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Hashable, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from tests.support.goodness import Law

from sparsegate.noise import Source
from sparsegate.selection.scores import Scores


def peeled(weights: Sequence[float], count: int) -> Law:
    """The exponential mechanism peeled ``count`` times: the probability of every ordered selection."""
    law: dict[Hashable, float] = {}
    for order in itertools.permutations(range(len(weights)), count):
        left, probability = sum(weights), 1.0
        for item in order:
            probability *= weights[item] / left
            left -= weights[item]
        law[order] = probability
    return law


def subsets(scores: Sequence[float], count: int, rate: Fraction | float) -> Law:
    """The exponential mechanism over sets: the probability of every sorted set."""
    exact = [Fraction(score) for score in scores]
    exponents: dict[Hashable, float] = {}
    for chosen in itertools.combinations(range(len(exact)), count):
        outside = max(exact[item] for item in range(len(exact)) if item not in chosen)
        loss = Fraction(rate) * (outside - min(exact[item] for item in chosen))
        exponents[chosen] = float(max(min(-loss, Fraction(10**9)), Fraction(-(10**9))))
    top = max(exponents.values())
    weights = {chosen: math.exp(exponent - top) for chosen, exponent in exponents.items()}
    whole = sum(weights.values())
    return {chosen: each / whole for chosen, each in weights.items()}


def traversed(
    scores: Sequence[int], *, threshold: int, rho_scale: float, nu_scale: float, count: int, passes: int
) -> Law:
    """Sparse vector in random order with retraversal: the probability of every ordered selection, by enumeration."""
    law: defaultdict[Hashable, float] = defaultdict(float)
    reach = math.ceil(40 * rho_scale)  # exp(-40) of the mass is left out
    for rho in range(-reach, reach + 1):
        positive = [laplace_tail(threshold + rho - score, nu_scale) for score in scores]
        _pass(law, laplace_mass(rho, rho_scale), (), positive, count, passes)
    return law


def _pass(
    law: defaultdict[Hashable, float],
    mass: float,
    chosen: tuple[int, ...],
    positive: Sequence[float],
    count: int,
    passes: int,
) -> None:
    if passes == 0 or len(chosen) == count:
        law[chosen] += mass
        return
    left = [item for item in range(len(positive)) if item not in chosen]
    for signs in itertools.product((False, True), repeat=len(left)):
        probability = mass
        for item, sign in zip(left, signs, strict=True):
            probability *= positive[item] if sign else 1 - positive[item]
        above = list(itertools.compress(left, signs))
        orders = list(itertools.permutations(above, min(len(above), count - len(chosen))))
        for order in orders:
            _pass(law, probability / len(orders), chosen + order, positive, count, passes - 1)


def named(source: Source, scores: Scores, groups: NDArray[np.int64]) -> list[int]:
    """The items that were picked: their places where each is a group of its own, or where equal ones stand together."""
    starts = np.cumsum(scores.multiplicities) - scores.multiplicities
    return list(map(int, starts[groups] + scores.draw_members(source, groups)))


def laplace_mass(k: int, scale: float) -> float:
    """P[X = k] of a discrete Laplace variable."""
    return math.tanh(0.5 / scale) * math.exp(-abs(k) / scale)


def laplace_tail(k: int, scale: float) -> float:
    """P[X >= k] of a discrete Laplace variable."""
    q = math.exp(-1 / scale)
    return q**k / (1 + q) if k >= 1 else 1 - q ** (1 - k) / (1 + q)
