"""How well frequent sets are found for one epsilon: our methods, a sound gate, and Lee and Clifton's gate of 2014.

NOT PRIVATE: for public or made data. The gates are simulated (``paper.simulation``) with two gifts that no private
run has: the threshold lies midway between the c-th and the next support, and they are asked about the sets of the
commonest items alone, in random order. Ours run as they are, on all items, with seeded noise.

Lee and Clifton claim epsilon for a gate that costs (1 + 3c) epsilon / 4 on counts. It is run twice: at the epsilon that
its authors would have written down, and at the one for which it costs what the others cost.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Final

import numpy as np

from sparsegate.budget import Number, check_choice, exact_count, exact_epsilon
from sparsegate.errors import ParameterError
from sparsegate.gates.bounds import tight_epsilon
from sparsegate.noise import Seeded
from sparsegate.paper.methods import METHODS
from sparsegate.paper.ranked import Ladder
from sparsegate.paper.simulation import simulate
from sparsegate.selection.scores import Scores
from sparsegate.selection.select import AUTO, Request
from sparsegate.uses.itemsets import (
    MOST_SETS,
    SELECTIONS,
    Integers,
    ItemBits,
    LevelPlan,
    SetQuestion,
    all_sets,
    release_sets,
)

PUBLISHED: Final = "Lee, Clifton 2014, as claimed"
TRUE: Final = "Lee, Clifton 2014, true epsilon"
GATE: Final = "sound gate"
LISTED: Final = "whole, short list"
OURS: Final = ("items-first", "levels")
METHOD_NAMES: Final = (PUBLISHED, TRUE, GATE, LISTED, *OURS)


@dataclass(frozen=True, kw_only=True)
class ItemsetRow:
    """What one method found of the ``count`` most frequent sets: means over ``runs``.

    ``epsilon`` is what it says it costs, ``true_epsilon`` what it does. ``precision`` is the share of the selected that
    are right, ``fnr`` that of the right ones that are missed, and ``ser`` how far the mean support of the selected lies
    below that of the right ones; sets of equal support are as right as each other. ``fnr_std`` is the standard
    deviation of ``fnr`` over the runs.
    """

    method: str
    count: int
    epsilon: float
    true_epsilon: float
    runs: int
    precision: float
    fnr: float
    ser: float
    fnr_std: float


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

    def released(
        self, plan: LevelPlan, epsilon: Fraction, selection: str, *, runs: int, seed: int
    ) -> Iterator[Integers]:
        """The supports of what each run of ``frequent_itemsets`` itself would release, with noise from a seed."""
        bits_of: Callable[[tuple[int, ...]], ItemBits] = cache(self.bits)
        source, items = Seeded(seed), self.counts

        def select(scores: Integers, count: int, share: Fraction) -> list[int]:
            request = Request(count=count, epsilon=share, sensitivity=1, monotonic=True, method=selection)
            candidates = Scores.each(scores)
            picks = request.pick(candidates, source.stream())
            return list(map(int, candidates.numbers(picks.groups, picks.members)))

        def first(count: int, share: Fraction) -> list[int]:
            return list(range(len(items))) if plan.everything else sorted(select(items, count, share))

        for _ in range(runs):
            sets = release_sets(
                plan, epsilon, first=first, bits_of=lambda chosen: bits_of(tuple(chosen)), select=select
            )
            yield np.array(sets.supports(), dtype=np.int64)


def compare_itemsets(
    baskets: Iterable[Iterable[Hashable]],
    *,
    counts: Sequence[int] = (10, 25, 50, 100),
    epsilon: Number = 1,
    size: int = 3,
    smallest: int = 1,
    selection: str = AUTO,
    runs: int = 20,
    seed: int = 1,
    methods: Collection[str] = METHOD_NAMES,
) -> list[ItemsetRow]:
    """A row for each method and each number of sets, all at one epsilon.

    Parameters
    ----------
    baskets: for each person the items; PUBLIC, because what is shown of them is not private.
    counts: numbers of sets to select.
    epsilon: the privacy loss of each method; of Lee and Clifton's gate, the first time, only what it claims.
    size, smallest: the most and the fewest items of a set.
    selection: how each level of ours selects, as in ``frequent_itemsets``.
    runs: how often each method is run.
    seed: of all noise.
    methods: those of ``METHOD_NAMES`` that are run.

    >>> rows = compare_itemsets([["a", "b"]] * 40 + [["a"]] * 30 + [["c"]] * 5, counts=[3], size=2, runs=2)
    >>> [(row.method, row.precision) for row in rows if row.method in OURS]
    [('items-first', 1.0), ('levels', 1.0)]
    """
    exact, runs = exact_epsilon(epsilon), exact_count(runs, "runs")
    check_choice(selection, "selection", SELECTIONS)
    for name in methods:
        check_choice(name, "methods", METHOD_NAMES)
    most = max((exact_count(count, "counts") for count in counts), default=0)
    if not most:
        raise ParameterError("counts", "must hold at least one number of sets", counts)
    public = PublicBaskets(baskets)
    asked = SetQuestion(count=most, size=size, smallest=smallest, method=AUTO, pool=None)
    asked.plan(len(public.counts))  # refuses what the items do not allow
    supports = public.short_list(count=most, smallest=smallest, size=size)
    if most >= supports.size:
        raise ParameterError("counts", f"must be less than the number of sets, {supports.size}", most, "ask for fewer")
    flawed, ladder = METHODS["alg-4"], Ladder.of(supports)
    gates = {PUBLISHED: flawed, TRUE: flawed, GATE: METHODS["svt-s-1:c23"], LISTED: METHODS["subset"]}
    rows = []
    for count, method in product(counts, [name for name in METHOD_NAMES if name in methods]):
        factor = Fraction(tight_epsilon("lee-clifton-2014", cutoff=count, epsilon=1, monotonic=True))
        claimed = exact / factor if method == TRUE else exact
        if method in gates:
            rungs = simulate(gates[method], ladder, count=count, epsilon=claimed, runs=runs, rng=seed)
            selected: Iterable[Integers] = (ladder.values[run[run >= 0]].astype(np.int64) for run in rungs)
        else:
            plan = replace(asked, count=count, method=method).plan(len(public.counts))
            selected = public.released(plan, exact, selection, runs=runs, seed=seed)
        rates = np.array([_rates(run, supports[:count]) for run in selected])
        row = ItemsetRow(
            method=method,
            count=count,
            epsilon=float(claimed),
            true_epsilon=float(exact * factor if method == PUBLISHED else exact),
            runs=runs,
            **dict(zip(("precision", "fnr", "ser"), rates.mean(axis=0).tolist(), strict=True)),
            fnr_std=float(rates[:, 1].std(ddof=1)) if runs > 1 else float("nan"),
        )
        rows.append(row)
    return rows


def _rates(selected: Integers, best: Integers) -> tuple[float, float, float]:
    """Precision, false negative rate and score error rate."""
    if not selected.size:
        return 0.0, 1.0, 1.0
    last = best[-1]
    right = int((selected > last).sum()) + min(int((selected == last).sum()), int((best == last).sum()))
    return right / selected.size, 1 - right / best.size, 1 - float(selected.mean() / best.mean())
