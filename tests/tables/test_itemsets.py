"""Itemsets: codes and sets are the same thing, and baskets are cut by a rule that looks at one user alone."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support import table_reference as reference
from tests.support.table_releases import prepared
from tests.tables.conftest import Maker

from sparsegate.errors import ParameterError
from sparsegate.noise import Seeded
from sparsegate.tables.domain import Sized
from sparsegate.tables.itemsets import decode, itemset_domain
from sparsegate.tables.observed import best_accounting, pick_observed
from sparsegate.tables.top import top_items


@pytest.mark.parametrize("size", [2, 3])
def test_every_set_has_one_code(size: int) -> None:
    sets = sorted(itertools.combinations(range(9), size), key=lambda numbers: numbers[::-1])
    assert [decode(code, size) for code in range(math.comb(9, size))] == sets


@given(numbers=st.sets(st.integers(0, 200_000), min_size=3, max_size=3))
def test_a_large_code_is_decoded_exactly(numbers: set[int]) -> None:
    a, b, c = sorted(numbers)
    assert decode(a + math.comb(b, 2) + math.comb(c, 3), 3) == (a, b, c)


def test_sets_of_numbers_need_no_list(make: Maker) -> None:
    """Codes near 2**53 are computed in the engine, and must be exact there."""
    items = [94_906_000, 94_906_001, 5, 94_906_000, 94_906_001]
    native = make({"item": items, "user": [1, 1, 1, 2, 2]})
    release = top_items(
        native,
        item="item",
        user="user",
        count=1,
        epsilon=500,
        domain=94_906_002,
        itemset_size=2,
        source=Seeded(1),
        not_private=True,
    )
    assert release.items == ((94_906_000, 94_906_001),)
    assert release.record.domain_size == math.comb(94_906_002, 2)


def test_a_domain_whose_sets_cannot_be_numbered_is_refused() -> None:
    assert itemset_domain(Sized(size=208_063), 3).size == math.comb(208_063, 3)
    with pytest.raises(ParameterError, match=r"^domain must have at most 20806\d candidates for itemsets of 3"):
        itemset_domain(Sized(size=208_065), 3)


ROWS = [(f"p{page:02}", user) for user in range(80) for page in range(3 + 30 // (1 + user % 7))]
OBSERVED: dict[str, Any] = {"count": 6, "epsilon": Fraction(6), "delta": Fraction(1, 1000)}


@pytest.mark.turns(2)
@pytest.mark.parametrize(("size", "most"), [(2, 4), (2, 100), (3, 5)])
def test_observed_sets_are_those_of_plain_python(make: Maker, size: int, most: int) -> None:
    native = make({"page": [page for page, _ in ROWS], "visitor": [user for _, user in ROWS]})
    release = top_items(
        native,
        item="page",
        user="visitor",
        domain="observed",
        itemset_size=size,
        max_items=most,
        source=Seeded(3),
        not_private=True,
        **OBSERVED,
    )
    counted = Counter(
        members
        for basket in reference.baskets(ROWS, [page for page, _ in ROWS], most)
        for members in itertools.combinations(sorted(basket), size)
    )
    groups: dict[int, list[Any]] = defaultdict(list)
    for members in sorted(counted):
        groups[counted[members]].append(members)
    accounting = best_accounting(**OBSERVED, touched=min(60, math.comb(most, size)))
    histogram = {score: len(groups[score]) for score in sorted(groups)}
    picks = pick_observed(Seeded(3).stream(), histogram, dbar=60, accounting=accounting)
    assert release.items == tuple(groups[score][rank] for score, rank in picks)
    assert release.items
    assert release.record.domain_size is None


def test_a_newcomer_with_a_new_item_moves_nobodys_basket_and_no_order() -> None:
    """Their item comes first by label, so every other item is another number; no one has a set more or less by it."""
    options = {**OBSERVED, "itemset_size": 2, "max_items": 4, "dbar": 60}
    one, other = (prepared([*ROWS, *more], "observed", **options) for more in ([], [("a", 999)]))
    assert one._counted.histogram == other._counted.histogram
    everything = [(score, rank) for score, sets in one._counted.histogram.items() for rank in range(sets)]
    assert one.name(everything) == other.name(everything)


def test_everything_above_a_bar_may_be_sets() -> None:
    options = {"count": None, "above": 70, "epsilon": 9, "delta": Fraction(1, 1000), "itemset_size": 2, "max_items": 3}
    release = prepared([(page, user) for user in range(200) for page in "abc"], "observed", **options)
    assert release.draw(Seeded(1), release.record(private=False)).items == (("a", "b"), ("a", "c"), ("b", "c"))
    assert release.record(private=False).always_from == 73
