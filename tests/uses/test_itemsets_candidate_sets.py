"""Candidates are functions of sets that were released, and supports are counts of people."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparsegate.uses.itemsets import ItemBits, all_sets, joined, number_of_sets

BASKETS = st.lists(st.frozensets(st.integers(0, 6)), max_size=90)


def supports(baskets: list[frozenset[int]], sets: list[tuple[int, ...]]) -> list[int]:
    """By the definition."""
    return [sum(set(members) <= basket for basket in baskets) for members in sets]


@settings(max_examples=40)
@given(BASKETS)
def test_support_is_the_number_of_people_who_have_all_items(baskets: list[frozenset[int]]) -> None:
    sets = all_sets(7, 1, 3)
    holders = [np.array([who for who, basket in enumerate(baskets) if item in basket], dtype=int) for item in range(7)]
    assert ItemBits.of_people(holders, len(baskets)).supports(sets).tolist() == supports(baskets, sets)


@pytest.mark.parametrize("items", [7, 60, 61, 130])
def test_people_with_the_same_numbers_count_each(items: int) -> None:
    """Three people have the first and the last item, two the last alone."""
    last, words = items - 1, -(-items // 60)
    both, one = [0] * words, [0] * words
    both[0] += 1
    for mask in (both, one):
        mask[last // 60] += 1 << last % 60
    held = ItemBits.of_masks(items, [(*both, 3), (*one, 2)])
    assert held.supports([(0,), (last,), (0, last), (1,)]).tolist() == [3, 5, 3, 0]


def test_nobody_has_anything_in_an_empty_table() -> None:
    assert ItemBits.of_masks(2, []).supports([(0,), (0, 1)]).tolist() == [0, 0]
    assert ItemBits.of_masks(0, []).supports([]).tolist() == []


def test_many_people_are_counted_block_by_block() -> None:
    """More than 64 * 8192 people: two blocks."""
    people = 600_000
    held = ItemBits.of_people([np.arange(0, people, 2), np.arange(0, people, 3)], people)
    assert held.supports([(0,), (1,), (0, 1)]).tolist() == [300_000, 200_000, 100_000]


@settings(max_examples=40)
@given(st.sets(st.frozensets(st.integers(0, 5), min_size=2, max_size=2)))
def test_a_set_is_joined_where_all_its_parts_were_released(pairs: set[frozenset[int]]) -> None:
    released = [tuple(sorted(pair)) for pair in pairs]
    wanted = [
        triple
        for triple in itertools.combinations(range(6), 3)
        if all(part in released for part in itertools.combinations(triple, 2))
    ]
    assert sorted(joined([*released, (0,), (0, 1, 2)], 3)) == wanted


def test_all_sets_are_as_many_as_said() -> None:
    assert len(set(all_sets(9, 2, 4))) == number_of_sets(9, 2, 4) == 36 + 84 + 126
