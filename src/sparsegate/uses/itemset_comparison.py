"""How well frequent sets are found for one epsilon: our methods, a sound gate, and Lee and Clifton's gate of 2014.

NOT PRIVATE: for public or made data. The gates are simulated (``evaluation.simulation``) with two gifts that no private
run has: the threshold lies midway between the c-th and the next support, and they are asked about the sets of the
commonest items alone, in random order. Ours run as they are, on all items, with seeded noise.

Lee and Clifton claim epsilon for a gate that costs (1 + 3c) epsilon / 4 on counts. It is run twice: at the epsilon that
its authors would have written down, and at the one for which it costs what the others cost.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any, Final

import numpy as np

from sparsegate.budget import Number, exact_count, exact_epsilon
from sparsegate.errors import ParameterError
from sparsegate.evaluation.methods import METHODS, Method
from sparsegate.evaluation.ranked import Ladder
from sparsegate.evaluation.simulation import simulate
from sparsegate.mechanisms.bounds import tight_epsilon
from sparsegate.mechanisms.selection import select_top
from sparsegate.mechanisms.variants import VARIANTS
from sparsegate.noise import Seeded
from sparsegate.uses.candidate_sets import Integers, ItemBits, all_sets
from sparsegate.uses.levels import MOST_SETS, LevelPlan, SetQuestion, release_sets

PUBLISHED: Final = "Lee, Clifton 2014, as claimed"
TRUE: Final = "Lee, Clifton 2014, true epsilon"
GATE: Final = "sound gate"
LISTED: Final = "whole, short list"
OURS: Final = ("items-first", "levels")


@dataclass(frozen=True, kw_only=True)
class ItemsetRow:
    """What one method found of the ``count`` most frequent sets: means over ``runs``.

    ``epsilon`` is what it says it costs, ``true_epsilon`` what it does. ``precision`` is the share of the selected that
    are right, ``fnr`` that of the right ones that are missed, and ``ser`` how far the mean support of the selected lies
    below that of the right ones; sets of equal support are as right as each other.
    """

    method: str
    count: int
    epsilon: float
    true_epsilon: float
    runs: int
    precision: float
    fnr: float
    ser: float


class PublicBaskets:
    """Baskets that may be looked at: who has each item, the commonest first."""

    def __init__(self, baskets: Iterable[Iterable[Hashable]]) -> None:
        holders: dict[Hashable, list[int]] = {}
        self.people = 0
        for person, basket in enumerate(baskets):
            self.people = person + 1
            for item in set(basket):
                holders.setdefault(item, []).append(person)
        if not holders:
            raise ParameterError("baskets", "must hold at least one item", next_step="pass a list of lists of items")
        ranked = sorted(holders.values(), key=len, reverse=True)
        self.holders = [np.array(people, dtype=np.int64) for people in ranked]
        self.counts = np.array([len(people) for people in ranked], dtype=np.int64)

    def bits(self, items: Sequence[int]) -> ItemBits:
        """Who has these items, by their ranks."""
        return ItemBits.of_people([self.holders[item] for item in items], self.people)

    def short_list(self, *, count: int, smallest: int, size: int) -> Integers:
        """The supports, falling, of all sets of some of the commonest items: the ``count`` best sets are among them.

        No set has more people than the rarest of its items. So once the next item has fewer than the worst of the best
        sets, no set with it, or with a rarer one, is missing.
        """
        items = 16
        while True:
            items = min(items, len(self.counts))
            sets = all_sets(items, smallest, size)
            if len(sets) > MOST_SETS:
                raise ParameterError("size", f"must be smaller: {items} items have over {MOST_SETS:,} sets", size)
            supports = np.sort(self.bits(range(items)).supports(sets))[::-1]
            if items == len(self.counts) or (len(sets) > count and supports[count - 1] >= self.counts[items]):
                return supports
            items += items // 2


def compare_itemsets(
    baskets: Iterable[Iterable[Hashable]],
    *,
    counts: Sequence[int] = (10, 25, 50, 100),
    epsilon: Number = 1,
    size: int = 3,
    smallest: int = 1,
    runs: int = 20,
    seed: int = 1,
) -> list[ItemsetRow]:
    """A row for each method and each number of sets, all at one epsilon.

    Parameters
    ----------
    baskets: for each person the items; PUBLIC, because what is shown of them is not private.
    counts: numbers of sets to select.
    epsilon: the privacy loss of each method; of Lee and Clifton's gate, the first time, only what it claims.
    size, smallest: the most and the fewest items of a set.
    runs: how often each method is run.
    seed: of all noise.

    >>> rows = compare_itemsets([["a", "b"]] * 40 + [["a"]] * 30 + [["c"]] * 5, counts=[3], size=2, runs=2)
    >>> [(row.method, row.precision) for row in rows if row.method in OURS]
    [('items-first', 1.0), ('levels', 1.0)]
    """
    held, exact, runs = PublicBaskets(baskets), exact_epsilon(epsilon), exact_count(runs, "runs")
    most = max((exact_count(count, "counts") for count in counts), default=0)
    if not most:
        raise ParameterError("counts", "must hold at least one number of sets", counts)
    SetQuestion(count=most, size=size, smallest=smallest, method="auto", pool=None).plan(len(held.counts))
    supports = held.short_list(count=most, smallest=smallest, size=size)
    if most >= supports.size:
        raise ParameterError("counts", f"must be less than the number of sets, {supports.size}", most, "ask for fewer")
    found = []
    for count in counts:
        best = supports[:count]
        for method, claimed, true, selections in _selections(held, supports, count, exact, size, smallest, runs, seed):
            rates = np.array([_rates(selected, best) for selected in selections])
            precision, fnr, ser = (float(rate) for rate in rates.mean(axis=0))
            found.append(
                ItemsetRow(
                    method=method,
                    count=count,
                    epsilon=float(claimed),
                    true_epsilon=float(true),
                    runs=runs,
                    precision=precision,
                    fnr=fnr,
                    ser=ser,
                )
            )
    return found


def _selections(
    held: PublicBaskets,
    supports: Integers,
    count: int,
    epsilon: Fraction,
    size: int,
    smallest: int,
    runs: int,
    seed: int,
) -> Iterator[tuple[str, Fraction, Fraction, Iterable[Integers]]]:
    """Each method, what it claims and costs, and the supports of what each run selected."""
    row = VARIANTS["lee-clifton-2014"]
    flawed = Method(key=row.key, title=row.title, row=row, interactive=True)
    factor = Fraction(tight_epsilon(row, cutoff=count, epsilon=1, monotonic=True))
    ladder = Ladder.of(supports)

    def simulated(method: Method, claimed: Fraction) -> list[Integers]:
        rungs = simulate(method, ladder, count=count, epsilon=claimed, runs=runs, rng=seed)
        return [ladder.values[run[run >= 0]].astype(np.int64) for run in rungs]

    yield PUBLISHED, epsilon, epsilon * factor, simulated(flawed, epsilon)
    yield TRUE, epsilon / factor, epsilon, simulated(flawed, epsilon / factor)
    yield GATE, epsilon, epsilon, simulated(METHODS["svt-s-1:c23"], epsilon)
    yield LISTED, epsilon, epsilon, simulated(METHODS["subset"], epsilon)
    for method in OURS:
        plan = SetQuestion(count=count, size=size, smallest=smallest, method=method, pool=None).plan(len(held.counts))
        yield method, epsilon, epsilon, _ours(held, plan, epsilon, runs, seed)


def _ours(held: PublicBaskets, plan: LevelPlan, epsilon: Fraction, runs: int, seed: int) -> Iterator[Integers]:
    """The release itself, with noise from a seed."""
    bits_of: Callable[[tuple[int, ...]], ItemBits] = cache(held.bits)
    for run in range(runs):
        source = Seeded(seed * 1_000_003 + run)

        def select(scores: Any, count: int, share: Fraction, source: Seeded = source) -> list[int]:
            options: dict[str, Any] = {"sensitivity": 1, "monotonic": True, "source": source, "not_private": True}
            chosen = select_top(scores, count=count, epsilon=share, **options).indices
            return [] if chosen is None else list(map(int, chosen))

        def first(count: int, share: Fraction, select: Callable[..., list[int]] = select) -> list[int]:
            return list(range(len(held.counts))) if plan.everything else sorted(select(held.counts, count, share))

        def bits(items: Sequence[int]) -> ItemBits:
            return bits_of(tuple(items))

        found = release_sets(plan, epsilon, first=first, bits_of=bits, select=select)
        yield np.array(found.supports(), dtype=np.int64)


def _rates(selected: Integers, best: Integers) -> tuple[float, float, float]:
    """Precision, false negative rate and score error rate."""
    if not selected.size:
        return 0.0, 1.0, 1.0
    last = best[-1]
    right = int((selected > last).sum()) + min(int((selected == last).sum()), int((best == last).sum()))
    return right / selected.size, 1 - right / best.size, 1 - float(selected.mean() / best.mean())
