"""Exact laws of the largest noisy scores, by enumeration of noise on the lattice or by quadrature."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Hashable, Sequence

import numpy as np
from tests.support.goodness import Law


def noisy_law(
    scores: Sequence[int], scale: float, count: int, *, reach: int, values: bool = False
) -> dict[Hashable, float]:
    """Discrete Laplace noise up to ``reach``, the ``count`` largest in order, ties at random.

    With ``values``, an outcome is the items and their noisy scores.
    """
    cells = np.arange(-reach, reach + 1)
    mass = np.tanh(0.5 / scale) * np.exp(-np.abs(cells) / scale)
    places = np.ix_(*[np.arange(cells.size)] * len(scores))
    weight = math.prod(mass[place] for place in places)
    noisy = np.broadcast_arrays(*(score + cells[place] for score, place in zip(scores, places, strict=True)))
    law: defaultdict[Hashable, float] = defaultdict(float)
    for order in itertools.permutations(range(len(scores))):
        fits, chance, run = np.ones(weight.shape, dtype=bool), np.ones(weight.shape), np.ones(weight.shape)
        for one, other in itertools.pairwise(order):
            fits &= noisy[one] >= noisy[other]
            run = np.where(noisy[one] == noisy[other], run + 1, 1)
            chance /= run  # k equal scores have k! orders
        probability = weight * fits * chance
        if not values:
            law[order[:count]] += float(probability.sum())
            continue
        shown = np.stack([noisy[item] for item in order[:count]], axis=-1)[fits]
        for row, amount in zip(shown.tolist(), probability[fits].tolist(), strict=True):
            law[order[:count], tuple(row)] += amount
    return law


def one_sided_law(scores: Sequence[float], scale: float, count: int) -> Law:
    """Exponential noise on every score, the one or two largest in order; by quadrature.

    Where the smallest of the selected has the noisy score y, the other one is above and all others are below.
    """
    ends = sorted({*scores, *np.arange(min(scores) - 40 * scale, max(scores) + 40 * scale, scale).tolist()})
    nodes, weights = np.polynomial.legendre.leggauss(20)
    halves = np.diff(ends)[:, None] / 2
    y = np.array(ends[:-1])[:, None] + halves * (1 + nodes)
    upper = [np.exp(-np.maximum((y - score) / scale, 0)) for score in scores]  # P[noisy score > y]
    law: dict[Hashable, float] = {}
    for order in itertools.permutations(range(len(scores)), count):
        last, others = order[-1], set(range(len(scores))) - set(order)
        density = np.where(y >= scores[last], upper[last] / scale, 0) * (upper[order[0]] if count == 2 else 1)
        law[order] = float((density * math.prod(1 - upper[other] for other in others) * halves * weights).sum())
    return law


def loss(one: Law, other: Law) -> float:
    """The largest privacy loss of an outcome, either way."""
    return max(abs(math.log(probability / other[outcome])) for outcome, probability in one.items())
