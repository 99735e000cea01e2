"""Pairs and triples of items: every set of a public domain is a candidate, and none is pruned away.

A user's *basket* is the set of their different domain items, cut to ``max_items`` by a rule that looks at that basket
alone (``counting.cut_users``); the score of a set is the number of users whose basket holds it. One user moves each
score by at most one and all in one direction, however many sets a basket holds, so the selection over all C(n, k)
candidates is exactly epsilon-DP.
Pruning, such as combining frequent items only, would be another look at the data that somebody must pay for.

The engine counts only sets that occur. Items are numbered 0 to n-1 by label, and a set a < b < c by its place in
the combinatorial number system,

    code = C(a, 1) + C(b, 2) + C(c, 3),        from 0 to C(n, k) - 1, each number exactly once,

so the candidates are a *sized* domain: sets that do not occur are one group, and are named by counting, not listing.

With an observed domain the candidates are the sets that occur, and a person has at most m = C(max_items, k) of them:
``observed_domain`` and ``partition_selection`` hold for sets as for items. Baskets are cut by their labels first, and
then the items that are left are numbered by label. The numbers depend on everybody's items, so no cut may look at
them; which of two items has the smaller number depends on their labels alone, and so does the order of sets of one
score, as the proof of ``observed_domain`` asks.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any, Final

import narwhals as nw

from sparsegate.errors import ParameterError
from sparsegate.tables.counting import Counted, cut_users
from sparsegate.tables.domain import MOST_CANDIDATES, Domain, Listed, Sized
from sparsegate.tables.engines.engine import Engine, Frame, different

PARTS: Final = ("a", "b", "c")
"""Columns for the numbers of the items of a set, rising."""


def itemset_domain(domain: Domain, size: int) -> Sized:
    """All sets of ``size`` different candidates, as codes."""
    # The product before its division by 2 or 6 must be exact in every engine, too.
    if domain.size**size > MOST_CANDIDATES:
        most = math.floor(MOST_CANDIDATES ** (1 / size))
        raise ParameterError(
            "domain", f"must have at most {most} candidates for itemsets of {size}", domain.size, "choose fewer"
        )
    return Sized(size=math.comb(domain.size, size))


def count_itemsets(
    engine: Engine, rows: Frame, domain: Domain | None, *, size: int, most: int
) -> tuple[Counted, Frame | None]:
    """Count the sets in the baskets of rows (item, user), as codes; and the frame that numbers the items.

    The frame is (item, index), or None where items are their own numbers. Without a domain sets are tuples of numbers.
    """
    if domain is None:
        baskets = engine.keep(cut_users(engine, rows, most))
        numbers = engine.keep(engine.numbered(different(baskets, "item"), ["item"]).select("item", "index"))
        label = PARTS[:size]
        sets = _sets(engine.keep(_numbered(baskets, numbers)), size)
        return Counted.of(engine, sets.group_by(*label).agg(nw.len().alias("score")), label), numbers
    listed = None
    if isinstance(domain, Listed):
        listed = engine.keep(engine.numbered(domain.frame, ["item"]).select("item", "index"))
        rows = _numbered(rows, listed)
    else:
        rows = domain.restrict(rows).with_columns(nw.col("item").cast(nw.Int64))
    codes = _codes(_sets(engine.keep(cut_users(engine, rows, most)), size), size)
    return Counted.of(engine, codes.group_by("item").agg(nw.len().alias("score"))), listed


def _numbered(rows: Frame, numbers: Frame) -> Frame:
    """The rows with the number of each item in place of the item; what has no number is left out."""
    joined = rows.join(numbers, on="item", how="inner")
    return joined.select("user", nw.col("index").cast(nw.Int64).alias("item"))


def _sets(baskets: Frame, size: int) -> Frame:
    """One row for each set in each basket: its numbers, rising."""
    joined = baskets.rename({"item": "a"})
    for smaller, larger in itertools.pairwise(PARTS[:size]):
        more = baskets.rename({"item": larger})
        joined = joined.join(more, on="user", how="inner").filter(nw.col(smaller) < nw.col(larger))
    return joined


def _codes(sets: Frame, size: int) -> Frame:
    """The code of each set, as "item"."""
    a, b, c = map(nw.col, PARTS)
    code = a + b * (b - 1) // 2
    if size == 3:
        code = code + c * (c - 1) * (c - 2) // 6
    return sets.select(code.cast(nw.Int64).alias("item"))


def decode(code: int, size: int) -> tuple[int, ...]:
    """The numbers of the items in a set, rising.

    >>> [decode(code, 2) for code in range(4)], decode(math.comb(41_270, 3) - 1, 3)
    ([(0, 1), (0, 2), (1, 2), (0, 3)], (41267, 41268, 41269))
    """
    numbers: list[int] = []
    for k in range(size, 0, -1):
        low, high = k - 1, k
        while math.comb(high, k) <= code:
            low, high = high, 2 * high
        while high - low > 1:  # C(low, k) <= code < C(high, k)
            middle = (low + high) // 2
            low, high = (middle, high) if math.comb(middle, k) <= code else (low, middle)
        numbers.append(low)
        code -= math.comb(low, k)
    return tuple(reversed(numbers))


def name_itemsets(engine: Engine, numbers: Frame | None, sets: Sequence[tuple[int, ...]]) -> list[tuple[Any, ...]]:
    """The sets with the given numbers, each as a tuple of its labels in their order."""
    if numbers is None:
        return list(sets)
    wanted = sorted({number for members in sets for number in members})
    labels = dict(engine.rows(numbers.filter(nw.col("index").is_in(wanted)).select("index", "item")))
    return [tuple(labels[number] for number in members) for members in sets]
