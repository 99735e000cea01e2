"""Every outcome of a few queries at once, on one shared grid of values of rho.

The tables ln Pr[BELOW | z] and ln Pr[ABOVE | z] are computed once; the integrand of an outcome is a sum of their
rows, so all 2^n outcomes are two matrix products. Numbers that a positive releases are integrated out: outcomes are
indicators.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from sparsegate.errors import ParameterError
from sparsegate.privacy.laws import Floats
from sparsegate.privacy.model import Comparisons, Model
from sparsegate.privacy.quadrature import DROP, FINE, Points, gauss, graded

MOST_QUERIES = 12
"""The grid is proven for the slopes of this many queries; 4,096 outcomes are also as many as anyone wants listed."""

_FIRST = 8.0  # nats over the panel beside a break
_COARSE = 6  # nodes of a panel over which ln f changes by less than a nat: their error is below 1e-16
_IMPOSSIBLE = -1e300  # stands for -inf where 0 * -inf must be 0
_CELLS = 1 << 18


@dataclass(frozen=True, kw_only=True)
class Possible:
    """All outcomes over n queries; ``below[o, i]`` or ``above[o, i]`` is 1 where outcome o has that answer."""

    outcomes: tuple[tuple[bool, ...], ...]
    below: Floats
    above: Floats


def possible_outcomes(model: Model, queries: int) -> Possible:
    """Every sequence of answers that the row can give to this many queries.

    >>> from sparsegate.privacy.model import build
    >>> possible_outcomes(build("lyu-2017", epsilon=1), 2).outcomes
    ((False, False), (False, True), (True,))
    """
    if not 1 <= queries <= MOST_QUERIES:
        raise ParameterError(
            "answers", f"must be 1 to {MOST_QUERIES} for all outcomes at once", queries, "use log_probability"
        )
    counts = [(m, k) for m in range(queries + 1) for k in range(queries + 1 - m)]
    return _possible(queries, frozenset(pair for pair in counts if model.closed(*pair)))


@lru_cache(maxsize=64)
def _possible(queries: int, closed: frozenset[tuple[int, int]]) -> Possible:
    def grow(prefix: tuple[bool, ...]) -> Iterator[tuple[bool, ...]]:
        k = sum(prefix)
        if len(prefix) == queries or (len(prefix) - k, k) in closed:
            yield prefix
        else:
            yield from grow((*prefix, False))
            yield from grow((*prefix, True))

    outcomes = tuple(grow(()))
    above, below = np.zeros((len(outcomes), queries)), np.zeros((len(outcomes), queries))
    for o, outcome in enumerate(outcomes):
        above[o, : len(outcome)] = outcome
        below[o, : len(outcome)] = np.logical_not(outcome)
    return Possible(outcomes=outcomes, below=below, above=above)


def log_probabilities(comparisons: Comparisons) -> Floats:
    """ln Pr of each of ``possible_outcomes``, in their order."""
    model, queries = comparisons.model, comparisons.answer.size
    possible = possible_outcomes(model, queries)
    if not model.row.redraws_threshold:
        return _on_grid(comparisons, possible.below, possible.above)
    # Rounds that end in an ABOVE, and rounds that the queries ran out on, for every start and end.
    every = [(i, j, closed) for i in range(queries) for j in range(i, queries) for closed in (True, False)]
    above, below = np.zeros((len(every), queries)), np.zeros((len(every), queries))
    for s, (i, j, closed) in enumerate(every):
        below[s, i : j + 1] = 1
        below[s, j], above[s, j] = float(not closed), float(closed)
    of_span = dict(zip(every, _on_grid(comparisons, below, above), strict=True))
    return np.array([sum(of_span[span] for span in spans(outcome)) for outcome in possible.outcomes])


def spans(outcome: tuple[bool, ...]) -> Iterator[tuple[int, int, bool]]:
    """(first, last, whether it ends in an ABOVE) of each round of a row that redraws rho."""
    start = 0
    for i, above in enumerate(outcome):
        if above or i == len(outcome) - 1:
            yield start, i, above
            start = i + 1


def _on_grid(comparisons: Comparisons, below: Floats, above: Floats) -> Floats:
    z, log_weight = rho_grid(comparisons.model, comparisons.breaks(), comparisons.answer.size)
    tables = [np.maximum(table(z), _IMPOSSIBLE) for table in (comparisons.log_below, comparisons.log_above)]
    out = np.empty(below.shape[0])
    step = max(1, _CELLS // z.size)
    for start in range(0, out.size, step):
        part = slice(start, start + step)
        out[part] = log_sum(below[part] @ tables[0] + above[part] @ tables[1] + log_weight)
    return out


def rho_grid(model: Model, breaks: Floats, queries: int) -> tuple[Points, Floats]:
    """Values z of rho, and ln of quadrature weight times weight of rho: good for any outcome of this many queries."""
    if model.rho is None:
        return Points.at(np.zeros(1)), np.zeros(1)
    lattice = model.lattice is not None
    slope = model.rho.rate + queries * (model.nu.rate if model.nu is not None else 0.0)
    tail = model.rho.scale * (DROP + _rise(model, queries))
    panels = graded(breaks, tail, _FIRST / slope, lattice=lattice)
    short = (panels.end - panels.start) * slope <= 1
    rules = [gauss(panels.part(which), order, lattice=lattice) for which, order in ((~short, FINE), (short, _COARSE))]
    used = [rule.weights > 0 for rule in rules]
    parts = [rule.nodes.part(which) for rule, which in zip(rules, used, strict=True)]
    z = Points(np.concatenate([p.base for p in parts]), np.concatenate([p.offset for p in parts]))
    weights = np.concatenate([rule.weights[which] for rule, which in zip(rules, used, strict=True)])
    log_weight = np.log(weights) + model.rho.log_weight(z.value)
    possible = log_weight > -np.inf
    return z.part(possible), log_weight[possible]


def _rise(model: Model, queries: int) -> float:
    """Nats that the answers' probabilities can gain beyond the last break while the weight of rho falls.

    With two-sided noise each answer at most doubles. A BELOW under one-sided noise rises from 0: with s = scale(rho)
    and b = scale(nu) the product of n of them with e^(-t/s) is largest at t = b ln(1 + ns/b) <= ns, where each of them
    is 1/(1 + b/(ns)); beyond, they gain n ln(1 + b/(ns)) nats at most.
    """
    if model.nu is None or model.rho is None or not model.nu.side:
        return queries * math.log(2)
    return queries * (1 + math.log1p(model.nu.scale / (queries * model.rho.scale)))


def log_sum(log_values: Floats) -> Floats:
    """ln of the sum of exponentials along the last axis; -inf where all are impossible."""
    top = log_values.max(axis=-1)
    with np.errstate(divide="ignore"):
        total = top + np.log(np.exp(log_values - top[..., None]).sum(axis=-1))
    return np.where(top > _IMPOSSIBLE / 2, total, -np.inf)
