"""Itemsets: codes and sets are the same thing, and baskets are cut by a rule that looks at one user alone."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support import table_reference as reference
from tests.tables.conftest import Maker, table

from sparsegate.errors import ParameterError
from sparsegate.noise import Seeded
from sparsegate.tables.domain import Sized
from sparsegate.tables.itemsets import decode, itemset_domain
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


@pytest.mark.parametrize("most", [2, 3, 10])
def test_a_basket_is_cut_by_its_own_labels_alone(most: int) -> None:
    """What others have changes nothing about which of a user's sets count."""
    mine = [(f"i{n}", 0) for n in range(12)]
    others = [(f"i{n}", user) for user in range(1, 9) for n in range(user, 12)]
    domain = [f"i{n}" for n in range(12)]

    def pairs(rows: list[tuple[str, int]]) -> set[tuple[str, str]]:
        release = top_items(
            table("duckdb", {"item": [i for i, _ in rows], "user": [u for _, u in rows]}),
            item="item",
            user="user",
            count=math.comb(most, 2),
            epsilon=10**4,
            domain=domain,
            itemset_size=2,
            max_items=most,
            source=Seeded(1),
            not_private=True,
        )
        return set(release.items)

    (basket,) = reference.baskets(mine, domain, most)
    assert pairs(mine) == set(itertools.combinations(sorted(basket), 2))
    alone = reference.scores(mine, domain, most=most, size=2)
    together = reference.scores([*mine, *others], domain, most=most, size=2)
    without = reference.scores(others, domain, most=most, size=2)
    assert all(together[names] - without[names] == alone[names] for names in together)


def test_a_domain_whose_sets_cannot_be_numbered_is_refused() -> None:
    assert itemset_domain(Sized(size=208_063), 3).size == math.comb(208_063, 3)
    with pytest.raises(ParameterError, match=r"^domain must have at most 20806\d candidates for itemsets of 3"):
        itemset_domain(Sized(size=208_065), 3)
