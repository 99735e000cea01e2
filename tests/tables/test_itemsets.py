"""Itemsets: codes and sets are the same thing, and baskets are cut by a rule that looks at one user alone."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tables.conftest import Maker

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


def test_a_domain_whose_sets_cannot_be_numbered_is_refused() -> None:
    assert itemset_domain(Sized(size=208_063), 3).size == math.comb(208_063, 3)
    with pytest.raises(ParameterError, match=r"^domain must have at most 20806\d candidates for itemsets of 3"):
        itemset_domain(Sized(size=208_065), 3)
