"""The c best of a few items, exactly: the probability of every selection, and the largest loss between neighbours.

Each function here computes a mechanism from its definition alone, not from the code that draws it: noise on every
score and the c largest in order, with ties at random (``noisy_order``) or without ties (``one_shot``); c rounds of the
exponential mechanism (``peeled``); one draw of a whole set (``subset_weights``). Scores are whole numbers, and Delta =
1. Neighbours move at most ``touched`` scores by one, all one way or each as it likes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import combinations, combinations_with_replacement, pairwise, permutations, product
from typing import NamedTuple

import numpy as np
from numpy.polynomial import Polynomial

from sparsegate.gates.laws import Floats, NoiseLaw

Scores = tuple[int, ...]
Selection = tuple[int, ...] | frozenset[int]
SelectionLaw = Mapping[Selection, float]
"""The probability of each selection: indices in the order selected, or their set where that is the result."""

_REACH = 50  # scales of the noise beyond the scores: what lies farther out is less than e^-50 of any selection


def noisy_order(scores: Scores, count: int, noise: NoiseLaw) -> SelectionLaw:
    """Lattice noise on every score; the ``count`` largest in order, ties at random.

    Let A_a(t) be the probability that the first a of the selection lie above t, in its order. Those that share a level
    u > t are put in order with probability 1/s!, s of them:

        A_a(t) = sum_{u > t} sum_{s=1..a} A_{a-s}(u) (1/s!) prod_{last s of a} P[score = u].

    At the level of the last one selected, e of the others may tie with the s selected there, and those come first in
    their order with probability e! / (s+e)!.

    >>> law = noisy_order((1, 0), 1, NoiseLaw(scale=1.0, lattice=True))
    >>> round(law[0,], 6), round(sum(law.values()), 12)
    (0.731059, 1.0)
    """
    reach = math.ceil(_REACH * noise.scale)
    levels = np.arange(max(scores) + reach, min(scores) - reach - 1, -1, dtype=np.float64)  # from the top down
    at = [np.exp(noise.log_weight(levels - score)) for score in scores]
    under = [np.exp(noise.log_below(levels - score)) for score in scores]
    return {
        order: _in_order([at[i] for i in order], [(at[i], under[i]) for i in range(len(scores)) if i not in order])
        for order in permutations(range(len(scores)), count)
    }


def _in_order(chosen: list[Floats], others: list[tuple[Floats, Floats]]) -> float:
    """The probability of one order, from the masses of the chosen and the masses and lower tails of the others."""
    above, total = [np.ones(len((chosen or others[0])[0]))], 0.0
    for a in range(1, len(chosen) + 1):
        last = a == len(chosen)
        level = np.zeros_like(above[0])
        for s in range(1, a + 1):
            block = above[a - s] * math.prod(chosen[a - s : a], start=np.ones_like(level))
            level += block * (_others(others, s) if last else 1 / math.factorial(s))
        total = float(level.sum())
        above.append(np.cumsum(level) - level)
    return total


def _others(others: list[tuple[Floats, Floats]], tied: int) -> Floats | float:
    """Who is not selected lies lower, or ties with the ``tied`` that are and loses the draw."""
    total: Floats | float = 0.0
    for ties in product((False, True), repeat=len(others)):
        e = sum(ties)
        first = math.factorial(e) / math.factorial(tied + e)
        total = total + first * math.prod(
            (at if tie else under for (at, under), tie in zip(others, ties, strict=True)), start=1.0
        )
    return total


def one_shot(scores: Scores, count: int, rate: float) -> SelectionLaw:
    """Exponential noise of mean 1/rate on every score, in the continuum; the ``count`` largest in order.

    With w = exp(rate score) the variable t = exp(-rate (score + noise)) is uniform on [0, 1/w], and the largest noisy
    score has the least t. So the probability of an order is an integral of polynomials between the ends 1/w.

    >>> round(one_shot((1, 0), 1, 1.0)[0,], 6)
    0.81606
    """
    weights = np.exp(rate * (np.array(scores, dtype=np.float64) - max(scores)))
    ends = np.unique(np.concatenate(([0.0], 1 / weights)))
    law: dict[Selection, float] = {}
    for order in permutations(range(len(scores)), count):
        others = [weights[i] for i in range(len(scores)) if i not in order]
        law[order] = _rising([float(weights[i]) for i in order], others, ends)
    return law


def _rising(chosen: list[float], others: list[float], ends: Floats) -> float:
    """Pr[t of the first chosen < ... < t of the last < t of all others], panel by panel in x = (t - low)/width."""
    before = [1.0] + [0.0] * len(chosen)  # Pr[the first a rise in order, all below the panel]
    for low, high in pairwise(ends):
        width = high - low
        so_far = Polynomial([1.0])
        for a, weight in enumerate(chosen, start=1):
            density = weight * width if high <= 1 / weight else 0.0
            if a == len(chosen):
                for other in others:
                    so_far *= Polynomial([1 - other * low, -other * width]) if high <= 1 / other else 0.0
            so_far = before[a] + density * so_far.integ()
            before[a] = float(so_far(1.0))
    return before[-1]


def peeled(scores: Scores, count: int, rate: float) -> SelectionLaw:
    """c rounds, each taking item i of those left with probability proportional to exp(rate score_i).

    >>> round(peeled((1, 0), 1, 1.0)[0,], 6)
    0.731059
    """
    weights = np.exp(rate * (np.array(scores, dtype=np.float64) - max(scores)))
    law: dict[Selection, float] = {}
    for order in permutations(range(len(scores)), count):
        left = [weights[[i for i in range(len(scores)) if i not in order[:done]]].sum() for done in range(count)]
        law[order] = float(np.prod(weights[list(order)] / left))
    return law


def subset_weights(scores: Scores, count: int, rate: float) -> SelectionLaw:
    """A set S with probability proportional to exp(-rate (largest score outside - least score inside)).

    >>> [round(p, 4) for p in subset_weights((1, 0, 0), 1, 1.0).values()]
    [0.787, 0.1065, 0.1065]
    """
    weights: dict[Selection, float] = {}
    for chosen in map(frozenset, combinations(range(len(scores)), count)):
        outside = [score for i, score in enumerate(scores) if i not in chosen]
        shortfall = max(outside) - min(scores[i] for i in chosen) if outside else 0
        weights[chosen] = -rate * shortfall
    top = max(weights.values())
    total = math.fsum(math.exp(weight - top) for weight in weights.values())
    return {chosen: math.exp(weight - top) / total for chosen, weight in weights.items()}


class WorstSelection(NamedTuple):
    """The largest loss over neighbours and selections, and the widest range of the losses of one pair.

    A mechanism is e-bounded-range if that range never exceeds e.
    """

    loss: float
    spread: float


def worst_selection(
    law_of: Callable[[Scores], SelectionLaw],
    places: Sequence[int],
    *,
    items: int,
    touched: int | None = None,
    one_way: bool,
) -> WorstSelection:
    """Every pair of neighbours, in both directions, of which one has its scores among ``places``.

    ``law_of`` must treat all items alike: it is asked for sorted scores only.
    """
    computed = lru_cache(maxsize=None)(law_of)

    def law(scores: Scores) -> SelectionLaw:
        order = sorted(range(items), key=lambda i: scores[i])
        by_rank = computed(tuple(scores[i] for i in order))
        return {type(chosen)(order[i] for i in chosen): p for chosen, p in by_rank.items()}

    worst, widest = -math.inf, 0.0
    for scores in combinations_with_replacement(places, items):
        own = law(scores)
        for neighbour in neighbours(scores, touched=touched, one_way=one_way):
            other = law(neighbour)
            pairs = [(p, other[chosen]) for chosen, p in own.items()]
            losses = [math.log(p / q) if p and q else math.copysign(math.inf, p - q) for p, q in pairs if p != q] or [0]
            least, most = min(losses), max(losses)
            worst, widest = max(worst, most, -least), max(widest, most - least)
    return WorstSelection(worst, widest)


def neighbours(scores: Scores, *, touched: int | None, one_way: bool) -> Iterator[Scores]:
    """Every way in which one person moves at most ``touched`` scores: all up by one, or each up or down."""
    for moves in product((0, 1) if one_way else (-1, 0, 1), repeat=len(scores)):
        if 0 < sum(map(abs, moves)) <= (len(scores) if touched is None else touched):
            yield tuple(score + move for score, move in zip(scores, moves, strict=True))
