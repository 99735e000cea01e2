"""Which outcome is worth trying: how many BELOW and ABOVE in each round, and in which direction the neighbour moves.

``mechanisms.bounds.round_loss`` says what the loss of a round tends to, and in which direction the neighbour must move
for it. Over several rounds the losses add, and all rounds move in the same direction. These are guesses to start from:
``worst_case`` computes what they are worth.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from sparsegate.mechanisms.bounds import Direction, Rates, round_loss, traits
from sparsegate.mechanisms.variants import Compared
from sparsegate.privacy.model import Model

_MARGIN = 1e-2  # by how much a bound must pass a target that the loss itself is to pass
_TRIES = 3  # outcomes tried for each direction: equal bounds may be approached at unequal speed


class Round(NamedTuple):
    """m BELOW and k ABOVE under one rho; ``rising`` of the ABOVE make the highest move that the direction allows."""

    below: int
    above: int
    rising: int = 0


@dataclass(frozen=True, kw_only=True)
class Profile:
    """Rounds one after another; the bound on their loss."""

    direction: Direction
    rounds: tuple[Round, ...]
    bound: float


def directions(model: Model) -> tuple[Direction, ...]:
    """How a neighbour may move. An error |e - q| moves either way, whichever way all q move."""
    return ("up", "down") if model.monotonic and model.row.compared is Compared.ANSWER else ("any",)


def profiles(model: Model, queries: int | None, target: float, *, bounded: bool) -> Iterator[Profile]:
    """Promising outcomes of at most ``queries`` queries, or of as many as it takes to pass ``target``.

    ``bounded``: whether the loss is, however many queries are asked.
    """
    rates = Rates(
        math.inf if model.rho is None else model.sensitivity / model.rho.scale,
        model.sensitivity / model.nu.scale if model.nu is not None else math.inf,
        0.0 if model.fresh is None else model.sensitivity / model.fresh.scale,
        *traits(model.row),
    )
    for direction in directions(model):
        if model.row.redraws_threshold and model.rho is not None:
            yield _redrawn(rates, direction, model.cutoff, queries)
        else:
            yield from _single(rates, direction, model, queries, None if bounded else target)


def _bound(rates: Rates, direction: Direction, m: int, k: int) -> tuple[float, float, int]:
    loss, gap, rising = round_loss(m, k, rates, direction)
    return float(loss), float(gap), rising


def _single(
    rates: Rates, direction: Direction, model: Model, queries: int | None, target: float | None
) -> Iterator[Profile]:
    if queries is None and target is None:
        # Half a BELOW beyond m = c + e1/r the limit is approached exponentially fast; one-sided noise needs one BELOW.
        useful = 1 if rates.one_sided else math.ceil(model.cutoff + rates.threshold / rates.query + 0.5)
        pairs = [(useful, model.cutoff)]
    else:
        n = queries or 1
        while queries is None and target is not None and _most(rates, direction, model, n) < target * (1 + _MARGIN):
            n *= 2
        pairs = [(n - k, k) for k in range(n + 1) if model.reachable(n - k, k)]
    ranked = sorted(((*_bound(rates, direction, m, k), m, k) for m, k in pairs), reverse=True)
    for bound, _, rising, m, k in ranked[:_TRIES]:
        yield Profile(direction=direction, rounds=(Round(m, k, rising),), bound=bound)


def _most(rates: Rates, direction: Direction, model: Model, n: int) -> float:
    """What n queries can cost, from a few numbers of ABOVE: whether they are enough, without trying all."""
    c = min(model.cutoff, n)
    some = {0, 1, c, n // 2, (n + 1) // 2, n - c, n - c + 1, n}
    return max(_bound(rates, direction, n - k, k)[0] for k in some if k <= n and model.reachable(n - k, k))


def _redrawn(rates: Rates, direction: Direction, cutoff: int, queries: int | None) -> Profile:
    """The best split of n queries into at most c closed rounds and one that is left open, by dynamic programming."""
    useful = math.ceil(1 + rates.threshold / rates.query + 0.5)
    full = cutoff * (useful + 1)
    if queries is None or queries >= full:
        bound = cutoff * _bound(rates, direction, useful, 1)[0]
        return Profile(direction=direction, rounds=(Round(useful, 1),) * cutoff, bound=bound)
    closed = [_bound(rates, direction, m, 1)[0] for m in range(useful + 1)]
    opened = [_bound(rates, direction, m, 0)[0] for m in range(queries + 1)]
    # table[n]: the best whole rounds that use n queries, as (loss, BELOWs of each round).
    table: list[tuple[float, tuple[int, ...]]] = [(0.0, ()), *[(-math.inf, ())] * queries]
    best: tuple[float, tuple[int, ...], int] = (opened[queries], (), queries)
    for done in range(1, cutoff + 1):
        table = [
            max(
                ((table[n - m - 1][0] + closed[m], (*table[n - m - 1][1], m)) for m in range(min(useful + 1, n))),
                default=(-math.inf, ()),
            )
            for n in range(queries + 1)
        ]
        for n, (value, rounds) in enumerate(table):
            rest = queries - n if done < cutoff else 0
            best = max(best, (value + opened[rest], rounds, rest))
    chosen = [Round(m, 1) for m in best[1]] + ([Round(best[2], 0)] if best[2] else [])
    return Profile(direction=direction, rounds=tuple(chosen), bound=best[0])
