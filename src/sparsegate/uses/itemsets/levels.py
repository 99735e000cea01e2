"""Frequent sets of items by levels: what a level may select from is a function of what the levels before released.

The support of a set, the number of people who have all of its items, is a score with sensitivity 1, and monotonic: a
person who comes or goes moves each support by at most one, all in one direction, however many sets the person has.

    whole        all sets of the domain are candidates of one selection, with all of epsilon;
    items-first  a third of epsilon selects ``pool`` items, the rest ``count`` of all sets of these;
    levels       of k shares, the first selects ``pool`` items; share j selects ``count`` out of the sets kept so far,
                 and the sets of j items all of whose parts of j - 1 items were kept (the join of Apriori).

Where the pool is the whole domain no items are selected first, and the other selections share epsilon.

*Theorem.* Let selection j be eps_j-DP, the first one (eps_1, delta)-DP. The release is (sum of eps_j, delta)-DP.
*Proof.* By induction over the selections. Given what was released before, the candidates of the next one are a fixed
list: ``all_sets`` and ``joined`` see released sets and public numbers, and no person. The supports of a fixed list have
sensitivity 1 and are monotonic, so the selection is eps_j-DP, by ``subset_is_private``, ``one_shot_is_private`` or
``peeling_is_private`` of proofs/README.md. Epsilons of selections that are chosen by what earlier ones released add:
``within_compose``, and with a delta ``within_delta_compose``. To name, sort or leave out what was released is
post-processing (``within_post``). That a level has no candidates, and the release ends there, is such a function, too.

To join the sets that are *truly* frequent, or to leave out candidates that nobody has, would be another matter: then
the list itself tells about people, and no noise on the supports hides it (a test shows that such a release has no
finite epsilon).

*Without noise* "levels" finds the ``count`` sets of the largest support, if ``smallest`` is 1 and ``pool`` is
``count``: each part of a set has at least its support, so the parts of a set among the best are among the best, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, TypeAlias

from sparsegate.budget import exact_count
from sparsegate.errors import ParameterError
from sparsegate.uses.itemsets.candidate_sets import Integers, ItemBits, ItemSet, all_sets, joined, number_of_sets

AUTO, WHOLE, ITEMS_FIRST, LEVELS = "auto", "whole", "items-first", "levels"
METHODS: Final = (AUTO, WHOLE, ITEMS_FIRST, LEVELS)

MOST_SETS: Final = 300_000
"""Candidates of one selection at most: a million people and as many sets take some ten seconds."""

MOST_COUNT, MOST_SIZE = 5_000, 20
"""With so many sets a level has MOST_SETS candidates at most, and they are joined in seconds."""

LEAST_POOL, MOST_POOL = 10, 700
"""Items that are selected first, unless told otherwise; that many have fewer than MOST_SETS pairs."""

POOL_ROOTS: Final = {True: 4, False: 5}
"""For items-first the pool is this many times the root of ``count``, where single items are asked for, and not.

A rule of thumb: on the data that it was chosen on no other was better throughout. Half of ``count`` misses sets at
every epsilon there, and ``count`` itself wins in few cases.
"""

First: TypeAlias = Callable[[int, Fraction], Sequence[Any]]
"""Selects so many items at this epsilon, and names them in an order of their labels."""

Select: TypeAlias = Callable[[Integers, int, Fraction], Sequence[int]]
"""Selects so many of these supports at this epsilon: their places."""


@dataclass(frozen=True, kw_only=True)
class SetQuestion:
    """What is asked of the sets; checked without a look at any data."""

    count: int
    size: int
    smallest: int
    method: str
    pool: int | None

    def __post_init__(self) -> None:
        for name, most in (("count", MOST_COUNT), ("size", MOST_SIZE), ("smallest", MOST_SIZE), ("pool", MOST_SETS)):
            if (given := getattr(self, name)) is None:
                continue
            object.__setattr__(self, name, exact_count(given, name))
            if given > most:
                raise ParameterError(name, f"must be at most {most}", given, "ask for less")
        if self.size < 2:
            raise ParameterError("size", "must be at least 2", self.size, "for single items there is top_items")
        if self.smallest > self.size:
            raise ParameterError("smallest", f"must be at most size = {self.size}", self.smallest)
        if self.method not in METHODS:
            raise ParameterError("method", f"must be one of {', '.join(METHODS)}", self.method)
        if self.pool is not None and self.method == WHOLE:
            rule = 'must not be given with method="whole", which selects no items first'
            raise ParameterError("pool", rule, self.pool, "leave it out")

    def plan(self, items: int | None) -> LevelPlan:
        """How it is done over a public domain of so many ``items``; None where the domain is not public.

        "auto" takes the first of whole, items-first and levels whose candidates are MOST_SETS at most. A pool that
        is given says that items are to be selected first.
        """
        sets = math.inf if items is None else number_of_sets(items, self.smallest, self.size)
        if self.count > sets:
            rule = f"must not exceed the number of sets of {self.smallest} to {self.size} items of the domain, {sets}"
            raise ParameterError("count", rule, self.count, "ask for fewer")
        method, reachable = self.method, math.inf if items is None else items
        pools = {name: int(min(reachable, self._pool(name))) for name in (ITEMS_FIRST, LEVELS)}
        pools |= {} if items is None else {WHOLE: items}
        fits = {
            WHOLE: sets <= MOST_SETS,
            ITEMS_FIRST: number_of_sets(pools[ITEMS_FIRST], self.smallest, self.size) <= MOST_SETS,
            LEVELS: math.comb(pools[LEVELS], 2) <= MOST_SETS,
        }
        if method == AUTO:
            allowed = (ITEMS_FIRST, LEVELS) if self.pool is not None else (WHOLE, ITEMS_FIRST, LEVELS)
            method = next((name for name in allowed if fits[name]), allowed[-1])
        if not fits[method]:
            name, given = ("method", method) if method == WHOLE else ("pool", pools[method])
            rule = f"makes more than {MOST_SETS:,} candidate sets"
            step = 'pass method="items-first"' if method == WHOLE else "pass a smaller pool=, or a smaller size="
            raise ParameterError(name, rule, given, step)
        if number_of_sets(pools[method], self.smallest, self.size) < self.count:
            rule = f"must have at least count = {self.count} sets of {self.smallest} to {self.size} items"
            raise ParameterError("pool", rule, pools[method], "pass a larger pool=, or leave it out")
        public = {"count": self.count, "size": self.size, "smallest": self.smallest, "pool": pools[method]}
        return LevelPlan(method=method, everything=pools[method] == items, **public)

    def _pool(self, method: str) -> int:
        """How many items are selected first: what is asked for, or the rule that docs/how-to/itemsets.md measures.

        At least as many as have ``count`` sets.
        """
        if self.pool is not None:
            return self.pool
        roots = max(LEAST_POOL, math.ceil(POOL_ROOTS[self.smallest == 1] * math.sqrt(self.count)))
        pool = min(MOST_POOL, self.count if method == LEVELS else roots)
        while number_of_sets(pool, self.smallest, self.size) < self.count:
            pool += 1
        return pool


@dataclass(frozen=True, kw_only=True)
class LevelPlan:
    """Which selections are made, and of how many: public numbers. ``everything``: the pool is the whole domain."""

    method: str
    count: int
    size: int
    smallest: int
    pool: int
    everything: bool

    @property
    def shares(self) -> tuple[Fraction, ...]:
        """The part of epsilon of each selection: of the items, and then of the sets. They sum to one."""
        later = self.size - 1 if self.method == LEVELS else 1
        items = Fraction(1, self.size) if self.method == LEVELS else Fraction(1, 3)
        items = Fraction(0) if self.everything else items
        return items, *((1 - items) / later,) * later


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ReleasedSets:
    """The items that were released, the sets of them, and who has which: the last is private."""

    items: Sequence[Any]
    sets: Sequence[ItemSet]
    held: ItemBits

    def supports(self) -> list[int]:
        """The exact support of each set. Private."""
        return [int(support) for support in self.held.supports(self.sets)]


def release_sets(
    plan: LevelPlan, epsilon: Fraction, *, first: First, bits_of: Callable[[Sequence[Any]], ItemBits], select: Select
) -> ReleasedSets:
    """Select items, then sets of them, level by level; ``select`` must be epsilon-DP for monotonic scores.

    ``first`` selects from the domain, ``bits_of`` says who has the items that it released. Where the pool is the whole
    domain, ``first`` names all its items, at an epsilon of 0.
    """
    share, *shares = (part * epsilon for part in plan.shares)
    items = first(plan.pool, share)
    held = bits_of(items)

    def chosen(candidates: Sequence[ItemSet], share: Fraction) -> list[ItemSet]:
        count = min(plan.count, len(candidates))
        return sorted(candidates[place] for place in select(held.supports(candidates), count, share)) if count else []

    if plan.method != LEVELS:
        sets = chosen(all_sets(len(items), plan.smallest, plan.size), shares[0])
        return ReleasedSets(items=items, sets=sets, held=held)
    sets = all_sets(len(items), 1, 1)
    for size, share in enumerate(shares, start=2):
        further = joined(sets, size)
        kept = [members for members in sets if len(members) >= plan.smallest]
        if not further and len(kept) == len(sets):
            break
        sets = chosen([*kept, *further], share)
    return ReleasedSets(items=items, sets=sets, held=held)
