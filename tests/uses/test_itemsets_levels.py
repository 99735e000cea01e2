"""The whole law of a release by levels, over every small table and every person who may be added to it.

Each selection is the exponential mechanism over sets, from its definition in ``privacy.selections``; what production
makes of its outcomes is production's own.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.branches import Choose, largest_loss, law_of

from sparsegate.errors import ParameterError
from sparsegate.privacy.selections import subset_weights
from sparsegate.uses import itemsets as levels
from sparsegate.uses.itemsets import MOST_SETS, ItemBits, LevelPlan, SetQuestion, all_sets, number_of_sets, release_sets

ITEMS = 3
PEOPLE = [frozenset(who) for size in (1, 2, 3) for who in itertools.combinations(range(ITEMS), size)]
Table = tuple[frozenset[int], ...]
TABLES: list[Table] = [table for size in range(3) for table in itertools.combinations_with_replacement(PEOPLE, size)]

PLANS = [
    LevelPlan(method="items-first", count=2, size=2, smallest=1, pool=2, everything=False),
    LevelPlan(method="levels", count=2, size=2, smallest=1, pool=2, everything=False),
    LevelPlan(method="levels", count=2, size=3, smallest=2, pool=3, everything=True),
    LevelPlan(method="whole", count=2, size=3, smallest=1, pool=3, everything=True),
]
EPSILON = Fraction(2)


def bits(table: Table, items: Sequence[int]) -> ItemBits:
    holders = [np.array([who for who, basket in enumerate(table) if item in basket], dtype=int) for item in items]
    return ItemBits.of_people(holders, len(table))


def drawn(choose: Choose, scores: Sequence[int], count: int, epsilon: Fraction) -> list[int]:
    """One draw of a set, of loss epsilon: the loss of a set moves by one, so its rate is a half of that."""
    return sorted(choose(subset_weights(tuple(map(int, scores)), count, float(epsilon / 2))))


def release(table: Table, plan: LevelPlan, choose: Choose) -> Any:
    def first(count: int, epsilon: Fraction) -> list[int]:
        if plan.everything:
            assert epsilon == 0
            return list(range(ITEMS))
        return drawn(choose, [sum(item in basket for basket in table) for item in range(ITEMS)], count, epsilon)

    found = release_sets(
        plan,
        EPSILON,
        first=first,
        bits_of=lambda items: bits(table, items),
        select=lambda supports, count, epsilon: drawn(choose, list(supports), count, epsilon),
    )
    return frozenset(tuple(found.items[member] for member in members) for members in found.sets), tuple(found.items)


def worst(plan: LevelPlan, tables: Sequence[Table] = TABLES) -> float:
    """The largest loss between any of the tables and the same with one person more."""

    @cache
    def law(table: Table) -> dict[Any, float]:
        found = law_of(lambda choose: release(table, plan, choose))
        assert math.isclose(sum(found.values()), 1)
        return found

    pairs = ((table, tuple(sorted((*table, person), key=sorted))) for table in tables for person in PEOPLE)
    return max(largest_loss(law(table), law(neighbour)) for table, neighbour in pairs)


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: f"{plan.method}-{plan.size}")
def test_no_table_and_no_person_cost_more_than_epsilon(plan: LevelPlan) -> None:
    assert sum(plan.shares) == 1
    assert 0.3 * EPSILON < worst(plan) <= EPSILON * (1 + 1e-12)


@pytest.mark.soak
@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: f"{plan.method}-{plan.size}")
def test_nor_does_any_table_of_three(plan: LevelPlan) -> None:
    three = list(itertools.combinations_with_replacement(PEOPLE, 3))
    assert worst(plan, three) <= EPSILON * (1 + 1e-12)


def test_shares_that_sum_to_more_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin: each selection spends twice what it should, and some person is worth more than epsilon."""
    shares = LevelPlan.shares.fget
    assert shares is not None
    monkeypatch.setattr(LevelPlan, "shares", property(lambda plan: tuple(2 * share for share in shares(plan))))
    assert worst(PLANS[0], TABLES[:30]) > 1.1 * EPSILON


def test_candidates_that_depend_on_people_have_no_epsilon(monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin: sets that nobody has are left out of the candidates. One person then changes what can come out."""
    table = (frozenset({0}), frozenset({1}))
    neighbour = (*table, frozenset({0, 1}))

    def law(people: Table) -> dict[Any, float]:
        supported = [members for members in all_sets(2, 1, 2) if bits(people, [0, 1]).supports([members])[0]]
        with monkeypatch.context() as patch:
            patch.setattr(levels, "all_sets", lambda *_: supported)
            plan = LevelPlan(method="whole", count=2, size=2, smallest=1, pool=2, everything=True)
            return law_of(lambda choose: release(people, plan, choose))

    assert largest_loss(law(table), law(neighbour)) == math.inf


def exactly(table: Table, plan: LevelPlan) -> Any:
    """The release without noise."""

    def best(law: Any) -> Any:
        return max(law, key=lambda outcome: law[outcome])

    return release(table, plan, best)[0]


def test_without_noise_levels_finds_the_best_sets() -> None:
    table = (*[frozenset({0, 1, 2})] * 9, *[frozenset({0, 1})] * 4, *[frozenset({0})] * 2)
    plan = LevelPlan(method="levels", count=3, size=3, smallest=1, pool=3, everything=True)
    assert exactly(table, plan) == {(0,), (1,), (0, 1)}
    whole = SetQuestion(count=7, size=3, smallest=1, method="levels", pool=None).plan(ITEMS)
    assert exactly(table, whole) == set(all_sets(3, 1, 3))
    larger = SetQuestion(count=2, size=3, smallest=2, method="levels", pool=None).plan(ITEMS)
    assert exactly(table, larger) < set(all_sets(3, 2, 3))


@settings(max_examples=40)
@given(st.lists(st.frozensets(st.integers(0, 5)), max_size=12), st.integers(1, 20), st.integers(2, 4))
def test_levels_with_exact_selections_find_sets_of_the_largest_supports(
    table: list[frozenset[int]], count: int, size: int
) -> None:
    plan = SetQuestion(count=count, size=size, smallest=1, method="levels", pool=None).plan(6)
    items = bits(tuple(table), range(6))

    def best(scores: Any, count: int, epsilon: Fraction) -> list[int]:
        return [int(place) for place in np.argsort(-np.asarray(scores), kind="stable")[:count]]

    found = release_sets(
        plan,
        EPSILON,
        first=lambda count, epsilon: sorted(best(items.supports(all_sets(6, 1, 1)), count, epsilon)),
        bits_of=lambda chosen: bits(tuple(table), chosen),
        select=best,
    )
    every = sorted(items.supports(all_sets(6, 1, size)).tolist(), reverse=True)
    assert sorted(found.supports(), reverse=True) == every[:count]


@pytest.mark.parametrize(
    ("asked", "items", "method", "pool"),
    [
        ({}, 120, "whole", 120),
        ({}, 40_000, "items-first", 29),
        ({"count": 3}, 40_000, "items-first", 10),
        ({"smallest": 2}, 40_000, "items-first", 36),
        ({"count": 2000}, 40_000, "levels", 700),
        ({"size": 6, "count": 100}, 40_000, "levels", 100),
        ({"pool": 40}, 120, "items-first", 40),
        ({}, None, "items-first", 29),
        ({"method": "levels"}, None, "levels", 50),
    ],
)
def test_auto_chooses_from_public_numbers(asked: dict[str, Any], items: int | None, method: str, pool: int) -> None:
    asked_for = {"count": 50, "size": 3, "smallest": 1, "method": "auto", "pool": None} | asked
    plan = SetQuestion(**asked_for).plan(items)
    assert (plan.method, plan.pool) == (method, pool)
    assert sum(plan.shares) == 1
    assert number_of_sets(pool, 2, 2) <= MOST_SETS


BAD: list[tuple[dict[str, Any], str]] = [
    ({"count": 0}, "count must be a whole number"),
    ({"count": 1.5}, "count must be a whole number"),
    ({"count": 5001}, "count must be at most 5000"),
    ({"size": 1}, "size must be at least 2"),
    ({"size": True}, "size must be a whole number"),
    ({"smallest": 4}, "smallest must be at most size = 3"),
    ({"method": "apriori"}, "method must be one of auto, whole, items-first, levels"),
    ({"method": "whole", "pool": 5}, 'pool must not be given with method="whole"'),
    ({"pool": 0}, "pool must be a whole number"),
]


@pytest.mark.parametrize(("wrong", "said"), BAD)
def test_a_bad_question_is_refused(wrong: dict[str, Any], said: str) -> None:
    asked_for = {"count": 5, "size": 3, "smallest": 1, "method": "auto", "pool": None} | wrong
    with pytest.raises(ParameterError, match=said):
        SetQuestion(**asked_for)


@pytest.mark.parametrize(
    ("asked", "items", "said"),
    [
        ({"count": 8}, 3, "must not exceed the number of sets of 1 to 3 items of the domain, 7"),
        ({"method": "whole"}, 1000, "method makes more than 300,000 candidate sets"),
        ({"pool": 2}, 40_000, "pool must have at least count = 5 sets of 1 to 3 items"),
        ({"pool": 2000}, 40_000, "pool makes more than 300,000 candidate sets"),
    ],
)
def test_what_the_domain_does_not_allow_is_refused(asked: dict[str, Any], items: int, said: str) -> None:
    asked_for = {"count": 5, "size": 3, "smallest": 1, "method": "auto", "pool": None} | asked
    with pytest.raises(ParameterError, match=said):
        SetQuestion(**asked_for).plan(items)
