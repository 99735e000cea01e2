"""Frequent sets of items of a table: one call, from the user's own baskets to what may be published.

*Support* is the number of people who have all items of a set: a score of sensitivity 1, and monotonic. Baskets stay in
their engine, or in their database: nothing leaves it before a draw but a histogram of the counts of items. **Levels.**

    whole        all sets of the domain are candidates of one selection, with all of epsilon;
    items-first  a third of epsilon selects ``pool`` items, the rest ``count`` of all sets of these;
    levels       of k shares, the first selects ``pool`` items; share j selects ``count`` out of the sets kept so far,
                 and the sets of j items all of whose parts of j - 1 items were kept (the join of Apriori).

*Theorem.* Let selection j be eps_j-DP, the first one (eps_1, delta)-DP. The release is (sum of eps_j, delta)-DP: which
sets are candidates is decided by numbers and by sets that were released, and only ``ItemBits`` looks at people. Proof,
and what is promised of the accuracy: docs/explanation/proofs_in_words/uses.md.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import Any, Final, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sparsegate.budget import (
    Cost,
    Number,
    Spender,
    charge,
    check_choice,
    exact_count,
    exact_delta,
    exact_epsilon,
    pure_rho,
)
from sparsegate.display.plain import exact_text, plain
from sparsegate.display.published import SCHEMA, TopTable, published_items
from sparsegate.errors import ParameterError
from sparsegate.gates.calibration import trusted_source
from sparsegate.gates.laplace import error_bar, error_bar_all
from sparsegate.noise import Source, exact_scale
from sparsegate.noise.own_settings import own_settings
from sparsegate.selection.accuracy import Promise, check_confidence
from sparsegate.selection.scores import Scores
from sparsegate.selection.select import AUTO as AUTO_SELECTION
from sparsegate.selection.select import Request, by_label
from sparsegate.tables.columns import read_columns
from sparsegate.tables.counting import Counted, Pick, answer_scale, count_items, name_picks, noisy_counts
from sparsegate.tables.domain import EXPLAINED, Domain, Listed, label_reader, public_domain
from sparsegate.tables.engines.engine import Engine, guarded, open_engine
from sparsegate.tables.matching import matching_engine
from sparsegate.tables.observed import Accounting, pick_observed
from sparsegate.tables.opening import OpenedTable, open_table
from sparsegate.tables.prepared import CountsInPlace, TableInPlace
from sparsegate.tables.question import CONFIDENCE, Question
from sparsegate.tables.release import installed_version
from sparsegate.tables.top import names_of

ItemSet: TypeAlias = tuple[int, ...]
Integers: TypeAlias = NDArray[np.int64]
MASK_ITEMS: Final = 60  # items whose bits one whole number of an engine holds: the sum of them stays below 2**60
_BLOCK: Final = 1 << 13  # words that are counted at a time: rows of so many stay in the cache of a processor


def number_of_sets(items: int, smallest: int, size: int) -> int:
    """How many sets of ``smallest`` to ``size`` items there are."""
    return sum(math.comb(items, members) for members in range(smallest, size + 1))


def all_sets(items: int, smallest: int, size: int) -> list[ItemSet]:
    """All of them."""
    return [chosen for members in range(smallest, size + 1) for chosen in combinations(range(items), members)]


def joined(released: Iterable[ItemSet], size: int) -> list[ItemSet]:
    """The sets of ``size`` items of which each part of one item less was released (Agrawal, Srikant 1994)."""
    parts = {part for part in released if len(part) == size - 1}
    by_start: defaultdict[ItemSet, list[int]] = defaultdict(list)
    for part in sorted(parts):
        by_start[part[:-1]].append(part[-1])
    longer = ((*start, *pair) for start, ends in by_start.items() for pair in combinations(ends, 2))
    return [candidate for candidate in longer if all(part in parts for part in combinations(candidate, size - 1))]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ItemBits:
    """Who has which item: row i has a bit for each person, set where the person has item i. Private."""

    bits: NDArray[np.uint64]

    @classmethod
    def of_masks(cls, items: int, masks: Sequence[Sequence[int]]) -> ItemBits:
        """From rows (mask, mask, ..., people): bit i of a mask is item i of its 60, and ``people`` have just these."""
        table = np.array(masks, dtype=np.int64).reshape(len(masks), -(-items // MASK_ITEMS) + 1)
        each = np.repeat(table[:, :-1], table[:, -1], axis=0)
        rows = (each[:, i // MASK_ITEMS] >> i % MASK_ITEMS & 1 for i in range(items))
        return cls._packed(rows, items, len(each))

    @classmethod
    def of_people(cls, holders: Sequence[Integers], people: int) -> ItemBits:
        """From the numbers of the people who have each item."""

        def row(who: Integers) -> NDArray[np.bool_]:
            held = np.zeros(people, dtype=np.bool_)
            held[who] = True
            return held

        return cls._packed(map(row, holders), len(holders), people)

    @classmethod
    def _packed(cls, rows: Iterable[NDArray[np.generic]], items: int, people: int) -> ItemBits:
        bits = np.zeros((items, 8 * -(-people // 64)), dtype=np.uint8)
        for place, row in zip(bits, rows, strict=True):
            packed = np.packbits(row.astype(np.bool_))
            place[: packed.size] = packed
        return cls(bits=bits.view(np.uint64))

    def supports(self, sets: Sequence[ItemSet]) -> Integers:
        """How many people have all items of each set."""
        by_start: defaultdict[ItemSet, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
        for place, members in enumerate(sets):
            places, ends = by_start[members[:-1]]
            places.append(place)
            ends.append(members[-1])
        counts = np.zeros(len(sets), dtype=np.int64)
        for begin in range(0, self.bits.shape[1], _BLOCK):
            block = self.bits[:, begin : begin + _BLOCK]
            for start, (places, ends) in by_start.items():
                rows = block[ends]
                if start:
                    rows &= np.bitwise_and.reduce(block[list(start)], axis=0)
                counts[places] += np.bitwise_count(rows).sum(axis=1, dtype=np.int64)
        return counts


class Baskets(ABC):
    """The items of a table, counted; ``size`` is how many public items there are, None where the table says which.

    Items are cells here (``tables.labels``), in the order of their labels; ``label`` reads them.
    """

    size: int | None
    label: Callable[[Any], Any]
    counted: Counted | CountsInPlace

    @abstractmethod
    def everything(self) -> list[Any]:
        """All public items, which tells nothing."""

    @abstractmethod
    def bits(self, items: Sequence[Any]) -> ItemBits:
        """Who has which of these items, which are released."""

    @abstractmethod
    def cells(self, picks: Sequence[Pick]) -> list[Any]:
        """The items that were picked."""

    def pick(self, request: Request, noise: Source) -> list[Any]:
        """Select from the public items, by how many people have each."""
        assert self.size is not None
        absent = self.size - self.counted.total
        histogram: Mapping[int, int] = ({0: absent} if absent else {}) | dict(self.counted.histogram)
        picks, scores = request.pick(Scores.histogram(histogram), noise.stream()), list(histogram)
        members = zip(picks.groups.tolist(), picks.members.tolist(), strict=True)
        return self._sorted([(scores[group], member) for group, member in members])

    def pick_observed(self, accounting: Accounting, dbar: int, noise: Source) -> list[Any]:
        """Select from whatever the table holds; see ``tables.observed``. There may be fewer."""
        return self._sorted(pick_observed(noise, self.counted.histogram, dbar=dbar, accounting=accounting))

    def _sorted(self, picks: Sequence[Pick]) -> list[Any]:
        # Sorted: the order of a set is nobody's business, and candidates are numbered by it.
        return _by_label(self.cells(picks))


class BasketsInPlace(Baskets):
    """Those of a table that is counted where it lives."""

    counted: CountsInPlace

    def __init__(self, table: TableInPlace, question: Question, domain: Any) -> None:
        sized, self.counted = table.counts(question, domain)
        self.size, self.label = None if sized is None else sized.size, self.counted.read
        _ = self.counted.histogram  # before anything is charged

    def everything(self) -> list[Any]:
        return _by_label(list(self.counted.everything()))

    def cells(self, picks: Sequence[Pick]) -> list[Any]:
        return [cell for cell, _ in self.counted.cells(picks)]

    def bits(self, items: Sequence[Any]) -> ItemBits:
        if not items:
            return ItemBits.of_masks(0, [])
        order, masks = self.counted.masks(items, MASK_ITEMS)
        places = {cell: place for place, cell in enumerate(order)}
        return ItemBits(bits=ItemBits.of_masks(len(items), masks).bits[[places[cell] for cell in items]])


class CountedBaskets(Baskets):
    """Those of the table of an engine; ``domain`` is None where it is what the table holds."""

    def __init__(self, engine: Engine, *, item: str, user: str | None, domain: Any) -> None:
        self._engine = engine
        self._rows, kind = read_columns(engine, item, user)
        self._domain: Domain | None = None
        if domain is not None:
            self._domain = public_domain(engine, domain, item=item, kind=kind)
        self.label = label_reader(self._domain, kind)
        self.size = None if self._domain is None else self._domain.size
        self.counted: Counted = count_items(engine, self._rows, self._domain, None)

    def everything(self) -> list[Any]:
        if isinstance(self._domain, Listed):
            return _by_label([cell for (cell,) in self._engine.rows(self._domain.frame.select("item"))])
        return list(range(self.size or 0))

    def cells(self, picks: Sequence[Pick]) -> list[Any]:
        return [cell for cell, _ in name_picks(self._engine, self.counted, self._domain, picks)]

    def bits(self, items: Sequence[Any]) -> ItemBits:
        if not items:
            return ItemBits.of_masks(0, [])
        places = range(len(items))
        words = {word: f"word{word}" for word in range(-(-len(items) // MASK_ITEMS))}
        known = self._engine.bring(
            {
                "item": list(items),
                "word": [place // MASK_ITEMS for place in places],
                "bit": [1 << place % MASK_ITEMS for place in places],
            }
        )
        # Each item of a person once, so that the sum of their bits has each of them once.
        rows = self._rows.group("user", "item").join(known, "item")
        people = rows.group(
            "user", **{name: f"sum(CASE WHEN word = {n} THEN bit ELSE 0 END)" for n, name in words.items()}
        )
        return ItemBits.of_masks(len(items), self._engine.rows(people.group(*words.values(), people="count(*)")))


def _by_label(cells: list[Any]) -> list[Any]:
    return [cells[place] for place in by_label(cells)]


AUTO, WHOLE, ITEMS_FIRST, LEVELS = "auto", "whole", "items-first", "levels"
METHODS: Final = (AUTO, WHOLE, ITEMS_FIRST, LEVELS)
# Candidates of one selection at most: a million people and as many sets take some ten seconds.
MOST_SETS: Final = 300_000
# With so many sets a level has MOST_SETS candidates at most, and they are joined in seconds.
MOST_COUNT, MOST_SIZE = 5_000, 20
# Items that are selected first, unless told otherwise; that many have fewer than MOST_SETS pairs.
LEAST_POOL, MOST_POOL = 10, 700

POOL_ROOTS: Final = {True: 4, False: 5}
"""For items-first the pool is this many times the root of ``count``, where single items are asked for, and not.

A rule of thumb: docs/how-to/itemsets.md has the data that it was chosen on.
"""

# Selects so many items at this epsilon, and names them in an order of their labels.
First: TypeAlias = Callable[[int, Fraction], Sequence[Any]]
# Selects so many of these supports at this epsilon: their places.
Select: TypeAlias = Callable[[Integers, int, Fraction], Sequence[int]]


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
            if (value := getattr(self, name)) is not None:
                object.__setattr__(self, name, exact_count(value, name, most=most))
        if self.size < 2:
            raise ParameterError("size", "must be at least 2", self.size, "for single items there is top_items")
        if self.smallest > self.size:
            raise ParameterError("smallest", f"must be at most size = {self.size}", self.smallest)
        check_choice(self.method, "method", METHODS)
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
            name, value = ("method", method) if method == WHOLE else ("pool", pools[method])
            rule = f"makes more than {MOST_SETS:,} candidate sets"
            step = 'pass method="items-first"' if method == WHOLE else "pass a smaller pool=, or a smaller size="
            raise ParameterError(name, rule, value, step)
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

    @property
    def candidates(self) -> tuple[int, ...]:
        """How many sets each selection of sets has to select from, at most; exactly, of the first of them.

        Two of the j parts of a set of j items have it as their union, so of c sets of j - 1 items at most
        C(c, 2) / C(j, 2) are joined: each of these takes C(j, 2) pairs of kept sets, and no other takes them.

        >>> LevelPlan(method="levels", count=50, size=4, smallest=1, pool=50, everything=False).candidates
        (1275, 458, 254)
        """
        if self.method != LEVELS:
            return (number_of_sets(self.pool, self.smallest, self.size),)
        every = [number_of_sets(self.pool, min(self.smallest, j), j) for j in range(2, self.size + 1)]
        joins = [self.count + math.comb(self.count, 2) // math.comb(j, 2) for j in range(3, self.size + 1)]
        return every[0], *map(min, every[1:], joins)


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


@dataclass(frozen=True, kw_only=True)
class ItemsetRecord:
    """How sets of items were selected. Every entry is a public parameter: none was computed from the private table.

    ``epsilon`` and ``delta`` are the cost of the whole release, exactly; ``answers_epsilon`` is the part of epsilon
    that paid for the estimates, and ``shares`` are the epsilons of the levels: of the items, and then of the sets.
    ``pool`` is how many items the first level selected (or all, where that cost nothing), ``domain_size`` the number of
    public items, None for ``domain="observed"``. ``count`` sets of ``smallest`` to ``itemset_size`` items were asked
    for, by ``method`` over the levels and ``selection`` in each of them; ``ordered`` says whether they are in the order
    selected. With 95 % probability each set has at most ``within`` fewer people than the ``count``-th of the sets it
    was selected from, and each item of the pool at most ``items_within`` fewer than the ``pool``-th item, all at once.
    ``item`` is the column that they are made of, ``where`` the condition that rows had to meet, and ``unit``
    what the neighbours of the theorem add or remove. ``version`` is that of this library. ``private`` is False where
    the noise came from a seed.
    """

    epsilon: Fraction
    delta: Fraction
    answers_epsilon: Fraction
    method: str
    selection: str
    shares: tuple[Fraction, ...]
    count: int
    itemset_size: int
    smallest: int
    pool: int
    domain: str
    domain_size: int | None
    within: int | None
    items_within: int | None
    unit: str = "user"
    ordered: bool = False
    where: str | None = None
    private: bool
    version: str
    item: str

    def published(self) -> dict[str, Any]:
        """The record as JSON takes it: amounts exact, in text; what was not used is left out."""
        entries = {entry.name: plain(getattr(self, entry.name)) for entry in fields(self)}
        entries["shares"] = ", ".join(map(exact_text, self.shares))
        return {name: value for name, value in entries.items() if value is not None}


@dataclass(frozen=True, kw_only=True, repr=False)
class FrequentItemsets(TopTable):
    """The chosen sets, each a tuple of its items; by size and label, or the largest estimates first.

    ``for items, estimate in sets`` goes through them, ``sets[0]`` is the first; ``to_pandas``, ``to_polars``,
    ``to_arrow`` and ``to_dict`` convert them, ``plot`` draws them, and a notebook shows a table.

    ``estimates`` are the noisy supports, in their order; None where none were paid for. Each lies within ``error_bar``
    of the exact one with probability ``confidence``, before it was cut at zero, and all of them together within
    ``error_bar_all``.

    >>> import sparsegate as sg
    >>> baskets = {"shopper": [i for i in range(400) for _ in "ab"], "article": ["bread", "salt"] * 400}
    >>> asked = {"item": "article", "user": "shopper", "domain": ["bread", "salt", "tea"], "size": 2}
    >>> seeded = {"source": sg.Seeded(1), "not_private": True}  # for an example that repeats itself; leave it out
    >>> sets = sg.uses.frequent_itemsets(baskets, count=3, epsilon=2, answers_epsilon=1, **asked, **seeded)
    >>> sets.items, sets.sizes, sets.estimates
    ((('bread',), ('salt',), ('bread', 'salt')), (1, 1, 2), (402, 396, 395))
    >>> float(sets.record.epsilon), [float(share) for share in sets.record.shares]
    (3.0, [0.0, 2.0])
    """

    items: tuple[tuple[Any, ...], ...]
    """The sets, each a tuple of items."""
    record: ItemsetRecord
    """How they were selected, and what that cost."""
    estimates: tuple[int, ...] | None = None
    error_bar: int | None = None
    error_bar_all: int | None = None
    confidence: float = 0.95

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many items each set has."""
        return tuple(map(len, self.items))

    def to_dict(self) -> dict[str, Any]:
        """The release as JSON takes it, by the schema "sparsegate/top/1", in which an itemset is a list."""
        return {
            "schema": SCHEMA,
            "item": self.record.item,
            "items": published_items(self, ranked=False),
            "error_bar": self.error_bar,
            "error_bar_all": self.error_bar_all,
            "confidence": self.confidence,
            "record": self.record.published(),
        }


SELECTIONS: Final = (AUTO_SELECTION, "subset", "one-shot", "exponential")


@dataclass(frozen=True, kw_only=True)
class ItemsetQuestion:
    """The public parameters of ``frequent_itemsets``; see there for what they mean."""

    item: str | None
    user: str | None
    where: str | None
    sets: SetQuestion
    epsilon: Number
    answers_epsilon: Number
    domain: Any
    delta: Number
    selection: str

    @classmethod
    def of(cls, scope: Mapping[str, Any]) -> Self:
        """Of the parameters of a call, its ``locals()``."""
        sets = SetQuestion(**{each.name: scope[each.name] for each in fields(SetQuestion)})
        return cls(sets=sets, **{each.name: scope[each.name] for each in fields(cls) if each.name != "sets"})

    def __post_init__(self) -> None:
        if self.domain is None or (isinstance(self.domain, str) and self.domain != "observed"):
            raise ParameterError("domain", EXPLAINED[0], self.domain, EXPLAINED[1])
        check_choice(self.selection, "selection", SELECTIONS)
        if not self.observed and exact_delta(self.delta, zero=True):
            rule = 'must be 0 for a public domain; it is for domain="observed"'
            raise ParameterError("delta", rule, self.delta, "leave it out")
        _ = self.items, self.scale
        if self.observed:
            self.check(self.sets.plan(None))

    @property
    def observed(self) -> bool:
        """Whether items are whatever the table holds."""
        return isinstance(self.domain, str)

    @property
    def spent(self) -> Fraction:
        """What the levels cost together."""
        return exact_epsilon(self.epsilon)

    @property
    def answers(self) -> Fraction:
        """What the noisy supports cost."""
        return exact_epsilon(self.answers_epsilon, "answers_epsilon", zero=True)

    @cached_property
    def items(self) -> Question:
        """The columns; and the selection of items out of what the table holds, where the domain is not public."""
        named, person = names_of(self.item, self.user, None)
        if person is None:
            rule = "must name the column that says whose row it is: a set is what one person has, and no row has one"
            raise ParameterError("user", rule, next_step="for a file of baskets leave item= out too")
        plan = self.sets.plan(None) if self.observed else None
        return Question(
            item=named,
            user=person,
            where=self.where,
            domain=self.domain,
            count=1 if plan is None else plan.pool,
            epsilon=self.spent * (1 if plan is None else plan.shares[0]),
            delta=self.delta,
            answers_epsilon=self.answers,
        )

    @property
    def scale(self) -> Fraction | None:
        """Of the noise of a support: one person may have all the sets. None where no supports are paid for."""
        if not self.answers:
            return None
        return exact_scale(answer_scale(count=self.sets.count, max_items_per_user=None, epsilon=self.answers))

    def request(self, count: int, epsilon: Fraction) -> Request:
        """A selection by the number of people, of items or of sets: sensitivity 1, monotonic."""
        return Request(count=count, epsilon=epsilon, sensitivity=1, monotonic=True, method=self.selection)

    def check(self, plan: LevelPlan) -> None:
        """Refuse an epsilon of which a level would get too little for any noise, before anything is charged."""
        most = max(plan.count, plan.pool)  # the first level selects a pool
        for share in filter(None, plan.shares):
            self.request(most, share * self.spent).prepare(Scores.histogram({0: 1}))

    def promises(self, plan: LevelPlan, items: int | None) -> tuple[Promise | None, list[Promise]]:
        """Of the selection of items, None where there is none, and of those of sets; ``items`` are in the domain."""
        share, *shares = (part * self.spent for part in plan.shares)
        of_sets = [
            self.request(min(plan.count, most), part).promise(most)
            for part, most in zip(shares, plan.candidates, strict=True)
        ]
        first = None
        if not plan.everything:
            first = self.items.promise(None) if items is None else self.request(plan.pool, share).promise(items)
        return first, [promise for promise in of_sets if promise is not None]

    def within(
        self, plan: LevelPlan, items: int | None, confidence: float = CONFIDENCE
    ) -> tuple[int | None, int | None]:
        """How many fewer people a released set, and an item of the pool, can have: see the head; None: any number."""
        first, later = self.promises(plan, items)
        each = 1 - (1 - check_confidence(confidence)) / (len(later) + (first is not None))
        depths = [promise.within(each) for promise in later]
        known = [depth for depth in depths if depth is not None]
        return max(known) if len(known) == len(depths) else None, None if first is None else first.within(each)

    def error_bars(self, confidence: float = CONFIDENCE) -> tuple[int, int] | tuple[None, None]:
        """How far noisy supports are off: each, and all ``count`` at once; none where none are paid for."""
        if self.scale is None:
            return None, None
        return error_bar(self.scale, confidence), error_bar_all(self.scale, confidence, self.sets.count)

    def cost(self, plan: LevelPlan) -> Cost:
        """What all levels cost, and the supports: one after the other, so that they add.

        A later level may select fewer sets than asked for, and then each of its rounds has more of its share: it counts
        as if it selected one. One person may have all the sets of which the support is given.
        """
        first, *later = (share * self.spent for share in plan.shares)
        items = self.items.accounting.cost if self.observed else None
        costs = [self.request(1, share).checked.cost for share in later]
        costs += [items or self.request(plan.pool, first).checked.cost] if first else []
        costs += [Cost.of(self.answers, parts=plan.count)] if self.answers else []
        return sum(costs[1:], start=costs[0])

    @property
    def least_cost(self) -> Cost:
        """No more than the cost: how many levels there are, and so the rho, follows from the size of the domain."""
        if self.observed:
            return self.cost(self.sets.plan(None))
        return replace(Cost.of(self.spent + self.answers), rho=pure_rho(self.spent, 10**6))

    def record(self, plan: LevelPlan, items: int | None, *, private: bool) -> ItemsetRecord:
        """What may be said about the release."""
        within, items_within = self.within(plan, items)
        return ItemsetRecord(
            **{name: getattr(plan, name) for name in ("method", "count", "smallest", "pool")},
            epsilon=self.spent + self.answers,
            delta=Fraction(self.items.delta),
            answers_epsilon=self.answers,
            selection=self.request(plan.count, self.spent).method,
            shares=tuple(share * self.spent for share in plan.shares),
            itemset_size=plan.size,
            domain="observed" if items is None else "public",
            domain_size=items,
            within=within,
            items_within=items_within,
            where=self.where,
            private=private,
            version=installed_version(),
            item=self.items.item,
        )


@own_settings
def frequent_itemsets(
    data: Any,
    /,
    *,
    item: str | None = None,
    user: str | None = None,
    count: int,
    size: int = 3,
    smallest: int = 1,
    epsilon: Number,
    domain: Any = None,
    delta: Number = 0,
    method: str = AUTO_SELECTION,
    pool: int | None = None,
    selection: str = AUTO_SELECTION,
    answers_epsilon: Number = 0,
    where: str | None = None,
    ledger: Spender | None = None,
    source: Source | None = None,
    not_private: bool = False,
) -> FrequentItemsets:
    """Select the ``count`` sets of items that most people have; the release is (epsilon + answers_epsilon, delta)-DP.

    *Theorem.* The epsilons of the levels add to ``epsilon`` (the head of this file). Noisy supports are those of sets
    that were released, with noise of scale c / answers_epsilon, because one person may have all c sets. Neighbours: one
    person more or less, with all rows. How long it takes depends on the data: publish the result, not the time.

    Parameters
    ----------
    data, where: as in ``top_items``.
    item, user: names of columns; both may be left out for files of baskets, whose lines are the people.
    count: c, how many sets to select; at most 5,000.
    size, smallest: the most and the fewest items of a set: 1 to 3 unless given. With ``smallest=2`` single items are
        left out.
    epsilon: the privacy loss of all levels together, > 0; a float is read as the decimal it prints as.
    domain: the public items, as in ``top_items``; or "observed", at the price of ``delta``.
    delta: for "observed" alone.
    method: "whole", "items-first" or "levels", see the head of ``uses.itemsets``; "auto" takes the first of them whose
        candidates can be counted, from public numbers.
    pool: how many items are selected first: four times the root of ``count`` (five without single items), or ``count``
        for "levels".
    selection: how each level selects: "auto", which is "subset"; "one-shot" or "exponential".
    answers_epsilon: eps3 > 0 adds noisy supports, with error bars.
    ledger: an open ``sparsegate.Ledger``: charged once, when items are counted and nothing is drawn yet.
    source, not_private: ``Secure()``; a ``Seeded`` source is for tests, and needs not_private=True.

    >>> import pandas, sparsegate as sg
    >>> bought = {"tea": range(60), "milk": range(50), "jam": range(100, 120)}
    >>> rows = pandas.DataFrame([(what, who) for what, people in bought.items() for who in people])
    >>> rows = rows.set_axis(["product", "customer"], axis=1)
    >>> sets = sg.uses.frequent_itemsets(rows, item="product", user="customer",
    ...                              domain=["jam", "milk", "tea", "rye"], size=2, count=3, epsilon=2,
    ...                              answers_epsilon=1, source=sg.Seeded(1), not_private=True)
    >>> sets.items, sets.estimates, sets.error_bar
    ((('tea',), ('milk',), ('milk', 'tea')), (56, 52, 45), 9)
    """
    asked = ItemsetQuestion.of(locals())
    noise, columns = trusted_source(source, not_private), asked.items
    with open_table(data, columns=columns.columns, user=columns.user) as opened:
        opened.check_item(item)
        return opened.run(lambda: _released(opened, asked, noise, ledger))


def _released(opened: OpenedTable, asked: ItemsetQuestion, noise: Source, ledger: Spender | None) -> FrequentItemsets:
    """Count the items, charge, draw level by level, and keep."""
    name, item = "the engine of the table", asked.items.item
    domain, table = guarded(name, lambda: opened.candidates(None if asked.observed else asked.domain, item))

    def engine_of() -> Engine | TableInPlace:
        return table if isinstance(table, TableInPlace) else matching_engine(open_engine(table), asked.where)

    def counted(engine: Engine | TableInPlace) -> Baskets:
        if isinstance(engine, TableInPlace):
            return BasketsInPlace(engine, asked.items, domain)
        return CountedBaskets(engine, item=item, user=opened.user, domain=domain)

    with guarded(name, engine_of) as engine:
        with opened.explained():
            baskets = guarded(engine.name, lambda: counted(engine))
        plan = asked.sets.plan(baskets.size)
        asked.check(plan)
        record = asked.record(plan, baskets.size, private=noise.private)
        what = f"{record.count} sets of up to {record.itemset_size} of {item}, method {record.method}"
        what += f", selection {record.selection}, domain {record.domain}"
        what += f", where {asked.where}" if asked.where else ""
        opened.pay()
        keep = charge(ledger, **vars(asked.cost(plan)), what=what).keep
        with opened.explained():
            released = guarded(engine.name, lambda: draw_sets(baskets, plan, asked, noise), charged=True)
        itemsets = _published(released, record, asked, baskets, noise)
        keep({"release": "top_items", **itemsets.to_dict()})
    return itemsets


def draw_sets(baskets: Baskets, plan: LevelPlan, asked: ItemsetQuestion, noise: Source) -> ReleasedSets:
    """Draw all levels."""

    def first(count: int, epsilon: Fraction) -> list[Any]:
        if plan.everything:
            return baskets.everything()
        if asked.observed:
            assert asked.items.dbar is not None
            return baskets.pick_observed(asked.items.accounting, asked.items.dbar, noise)
        return baskets.pick(asked.request(count, epsilon), noise)

    def select(supports: Integers, count: int, epsilon: Fraction) -> list[int]:
        picks = asked.request(count, epsilon).pick(Scores.each(supports), noise.stream())
        return list(map(int, picks.groups))

    return release_sets(plan, asked.spent, first=first, bits_of=baskets.bits, select=select)


def _published(
    released: ReleasedSets, record: ItemsetRecord, asked: ItemsetQuestion, baskets: Baskets, noise: Source
) -> FrequentItemsets:
    """The sets by size and label; with noisy supports, where they are paid for, the largest first."""
    labels = list(map(baskets.label, released.items))
    places = sorted(range(len(released.sets)), key=lambda place: (len(released.sets[place]), released.sets[place]))
    sets = [tuple(labels[member] for member in released.sets[place]) for place in places]
    if asked.scale is None:
        return FrequentItemsets(items=tuple(sets), record=record)
    exact = released.supports()
    noisy = noisy_counts(noise.stream(), [exact[place] for place in places], asked.scale)
    shown = sorted(range(len(sets)), key=lambda place: -noisy[place])
    return FrequentItemsets(
        items=tuple(sets[place] for place in shown),
        record=record,
        estimates=tuple(max(0, noisy[place]) for place in shown),
        error_bar=error_bar(asked.scale, CONFIDENCE),
        error_bar_all=error_bar_all(asked.scale, CONFIDENCE, max(1, len(sets))),
        confidence=CONFIDENCE,
    )
