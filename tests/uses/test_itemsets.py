"""Frequent sets: supports are counts of people, the law of a release by levels, what comes out, what it costs."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.support.accounts import Noted
from tests.support.branches import largest_loss, law_of

import sparsegate as sg
from sparsegate.gates.laplace import error_bar
from sparsegate.privacy.selections import subset_weights
from sparsegate.selection.select import Request
from sparsegate.tables.counting import noisy_counts
from sparsegate.tables.observed import best_accounting
from sparsegate.uses import itemsets as levels
from sparsegate.uses.itemsets import (
    MOST_SETS,
    CountedBaskets,
    ItemBits,
    ItemsetQuestion,
    LevelPlan,
    SetQuestion,
    all_sets,
    frequent_itemsets,
    joined,
    number_of_sets,
    release_sets,
)

# Candidates and supports


BASKETS = st.lists(st.frozensets(st.integers(0, 6)), max_size=90)


def supports(baskets, sets):
    """By the definition."""
    return [sum(set(members) <= basket for basket in baskets) for members in sets]


@settings(max_examples=40)
@given(BASKETS)
def test_support_is_the_number_of_people_who_have_all_items(baskets):
    sets = all_sets(7, 1, 3)
    holders = [np.array([who for who, basket in enumerate(baskets) if item in basket], dtype=int) for item in range(7)]
    assert ItemBits.of_people(holders, len(baskets)).supports(sets).tolist() == supports(baskets, sets)


@settings(max_examples=40)
@given(st.sets(st.frozensets(st.integers(0, 5), min_size=2, max_size=2)))
def test_a_set_is_joined_where_all_its_parts_were_released(pairs):
    released = [tuple(sorted(pair)) for pair in pairs]
    wanted = [
        triple
        for triple in itertools.combinations(range(6), 3)
        if all(part in released for part in itertools.combinations(triple, 2))
    ]
    assert sorted(joined([*released, (0,), (0, 1, 2)], 3)) == wanted


# The whole law, over every small table and every person who may be added to it: each selection is the exponential
# mechanism over sets, from its definition in ``privacy.selections``


ITEMS = 3
PEOPLE = [frozenset(who) for size in (1, 2, 3) for who in itertools.combinations(range(ITEMS), size)]
Table = tuple[frozenset[int], ...]
TABLES = [table for size in range(3) for table in itertools.combinations_with_replacement(PEOPLE, size)]
PLANS = [
    LevelPlan(method="items-first", count=2, size=2, smallest=1, pool=2, everything=False),
    LevelPlan(method="levels", count=2, size=2, smallest=1, pool=2, everything=False),
    LevelPlan(method="levels", count=2, size=3, smallest=2, pool=3, everything=True),
    LevelPlan(method="whole", count=2, size=3, smallest=1, pool=3, everything=True),
]
EPSILON = Fraction(2)


def bits(table, items):
    holders = [np.array([who for who, basket in enumerate(table) if item in basket], dtype=int) for item in items]
    return ItemBits.of_people(holders, len(table))


def drawn(choose, scores, count, epsilon):
    """One draw of a set, of loss epsilon: the loss of a set moves by one, so its rate is a half of that."""
    return sorted(choose(subset_weights(tuple(map(int, scores)), count, float(epsilon / 2))))


def release(table, plan, choose):
    def first(count, epsilon):
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


def worst(plan, tables=TABLES):
    """The largest loss between any of the tables and the same with one person more."""

    @cache
    def law(table):
        found = law_of(lambda choose: release(table, plan, choose))
        assert math.isclose(sum(found.values()), 1)
        return found

    pairs = ((table, tuple(sorted((*table, person), key=sorted))) for table in tables for person in PEOPLE)
    return max(largest_loss(law(table), law(neighbour)) for table, neighbour in pairs)


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: f"{plan.method}-{plan.size}")
def test_no_table_and_no_person_cost_more_than_epsilon(plan):
    assert sum(plan.shares) == 1
    assert 0.3 * EPSILON < worst(plan) <= EPSILON * (1 + 1e-12)


def asked_for(plan, epsilon=EPSILON):
    sets = SetQuestion(count=plan.count, size=plan.size, smallest=plan.smallest, method=plan.method, pool=None)
    public = {"item": "i", "user": "u", "where": None, "delta": 0, "answers_epsilon": 0, "selection": "auto"}
    return ItemsetQuestion(sets=sets, domain=ITEMS, epsilon=epsilon, **public)


def misses(plan, table, of_sets, of_items):
    """The probability that a set, or an item of the pool, is farther below what it is held against."""

    def missed(outcome):
        sets, items = outcome
        supports = {members: sum(set(members) <= who for who in table) for members in all_sets(ITEMS, 1, ITEMS)}
        sizes = range(plan.smallest, min(plan.size, 2 if plan.method == "levels" else 3) + 1)
        every = [supports[members] for size in sizes for members in itertools.combinations(items, size)]
        singles = sorted((supports[(item,)] for item in range(ITEMS)), reverse=True)
        low_item = singles[plan.pool - 1] - min(supports[(item,)] for item in items) > of_items
        return low_item or sorted(every)[-plan.count] - min(supports[members] for members in sets) > of_sets

    law = law_of(lambda choose: release(table, plan, choose))
    return sum(chance for outcome, chance in law.items() if missed(outcome))


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: f"{plan.method}-{plan.size}")
def test_sets_and_items_are_as_near_as_is_promised_whatever_the_table_is(plan):
    """Over tables of a few kinds of people, up to five of each; a promise of half as much is broken by one of them."""
    of_sets, of_items = asked_for(plan).within(plan, ITEMS)
    kinds = [frozenset({0}), frozenset({0, 1}), frozenset({1, 2}), frozenset({0, 1, 2})]
    tables = [
        tuple(who for who, times in zip(kinds, each, strict=True) for _ in range(times))
        for each in itertools.product((0, 3, 5), repeat=len(kinds))
    ]
    assert (of_items is None) == plan.everything
    items = of_items if of_items is not None else 0
    assert max(misses(plan, table, of_sets, items) for table in tables) <= 0.05
    assert max(misses(plan, table, of_sets // 2, items // 2) for table in tables) > 0.05


@settings(max_examples=40)
@example([frozenset(range(4))] * 5, 6, 3, 2)
@given(
    st.lists(st.frozensets(st.integers(0, 7)), max_size=12), st.integers(1, 40), st.integers(2, 5), st.integers(1, 3)
)
def test_no_level_has_more_candidates_than_the_promise_is_made_for(table, count, size, smallest):
    smallest = min(smallest, size)
    plan = SetQuestion(count=min(count, 28), size=size, smallest=smallest, method="levels", pool=8).plan(8)
    seen = []

    def best(scores, count, epsilon):
        seen.append(len(scores))
        return [int(place) for place in np.argsort(-np.asarray(scores), kind="stable")[:count]]

    public = {"first": lambda *_: list(range(8)), "bits_of": lambda chosen: bits(tuple(table), chosen)}
    release_sets(plan, EPSILON, select=best, **public)
    assert seen[0] == plan.candidates[0]
    assert all(number <= most for number, most in zip(seen, plan.candidates, strict=False))


def test_the_promises_of_all_selections_share_what_may_go_wrong():
    plan = SetQuestion(count=5, size=3, smallest=1, method="levels", pool=None).plan(1_000)
    question = asked_for(plan)
    first, later = question.promises(plan, 1_000)
    wrong = 1 - 0.05 / 3
    assert question.within(plan, 1_000) == (max(each.within(wrong) or 0 for each in later), first.within(wrong))


def test_candidates_that_depend_on_people_have_no_epsilon(monkeypatch):
    """The twin: sets that nobody has are left out of the candidates. One person then changes what can come out."""
    table = (frozenset({0}), frozenset({1}))
    neighbour = (*table, frozenset({0, 1}))

    def law(people):
        supported = [members for members in all_sets(2, 1, 2) if bits(people, [0, 1]).supports([members])[0]]
        with monkeypatch.context() as patch:
            patch.setattr(levels, "all_sets", lambda *_: supported)
            plan = LevelPlan(method="whole", count=2, size=2, smallest=1, pool=2, everything=True)
            return law_of(lambda choose: release(people, plan, choose))

    assert largest_loss(law(table), law(neighbour)) == math.inf


@settings(max_examples=40)
@given(st.lists(st.frozensets(st.integers(0, 5)), max_size=12), st.integers(1, 20), st.integers(2, 4))
def test_levels_with_exact_selections_find_sets_of_the_largest_supports(table, count, size):
    plan = SetQuestion(count=count, size=size, smallest=1, method="levels", pool=None).plan(6)
    items = bits(tuple(table), range(6))

    def best(scores, count, epsilon):
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
        ({"smallest": 2}, 40_000, "items-first", 36),
        ({"count": 2000}, 40_000, "levels", 700),
        ({"pool": 40}, 120, "items-first", 40),
        ({}, None, "items-first", 29),
        ({"method": "levels"}, None, "levels", 50),
    ],
)
def test_auto_chooses_from_public_numbers(asked, items, method, pool):
    asked_for = {"count": 50, "size": 3, "smallest": 1, "method": "auto", "pool": None} | asked
    plan = SetQuestion(**asked_for).plan(items)
    assert (plan.method, plan.pool) == (method, pool)
    assert sum(plan.shares) == 1
    assert number_of_sets(pool, 2, 2) <= MOST_SETS


# Tables


duckdb = pytest.importorskip("duckdb")
DOMAIN = ["a", "b", "c", "d", "e"]
BOUGHT = {"a": range(300), "b": range(280), "c": range(260), "d": range(400, 420), "z": range(900)}


"""a, b and c go together; d is rare, e nobody has, and z is no candidate."""


BEST = {("a",), ("b",), ("c",), ("a", "b"), ("a", "c"), ("b", "c"), ("a", "b", "c")}
ASKED = {"item": "product", "user": "customer", "count": 7, "epsilon": 20, "domain": DOMAIN}
SEEDED = {"source": sg.Seeded(3), "not_private": True}


def rows(times=2):
    """Each row several times: a person counts once."""
    return [(item, who) for item, people in BOUGHT.items() for who in people] * times


def pandas(times=2):
    return pd.DataFrame(rows(times), columns=["product", "customer"])


def polars(times=2):
    return pl.DataFrame(rows(times), schema=["product", "customer"], orient="row")


def relation():
    return duckdb.from_arrow(polars().to_arrow())


@pytest.mark.parametrize(
    ("make", "how"),
    [(pandas, {}), (polars, {"pool": 4}), (relation, {"method": "levels"}), (lambda: polars().to_arrow(), {"pool": 3})],
    ids=["pandas-whole", "polars-items-first", "duckdb-levels", "pyarrow-items-first"],
)
def test_the_sets_that_most_people_have_come_out(make, how):
    found = sg.uses.frequent_itemsets(make(), **ASKED, **how)
    assert set(found.items) == BEST
    assert found.items[0] == ("a",)
    assert found.sizes == (1, 1, 1, 2, 2, 2, 3)
    assert (found.record.epsilon, found.record.delta, found.record.private) == (20, 0, True)
    assert sum(found.record.shares) == 20


@pytest.mark.parametrize("method", ["whole", "items-first", "levels"])
def test_each_selection_is_at_its_share_of_epsilon_and_all_of_them_are_all_of_it(method, monkeypatch):
    asked, pick = [], Request.pick

    def noted(self, *scores, **options):
        assert (self.method, self.sensitivity, self.monotonic) == ("subset", 1, True)
        asked.append(self.epsilon)
        return pick(self, *scores, **options)

    monkeypatch.setattr(Request, "pick", noted)
    pool = {} if method == "whole" else {"pool": 4}
    record = frequent_itemsets(polars(), **ASKED, method=method, **pool).record
    assert asked == [share for share in record.shares if share]
    assert sum(asked) == 20


def test_supports_count_each_person_once():
    found = frequent_itemsets(polars(times=3), **ASKED | {"count": 3}, answers_epsilon=2000, smallest=2, size=2, pool=3)
    estimates = dict(zip(found.items, found.estimates or (), strict=True))
    wanted = {("a", "b"): 280, ("a", "c"): 260, ("b", "c"): 260}
    assert {pair: estimates[pair] for pair in wanted} == pytest.approx(wanted, abs=found.error_bar_all)
    assert found.error_bar_all < 5


def test_supports_have_noise_for_a_person_who_has_all_sets(monkeypatch):
    drawn = []

    def noted(source, scores, scale):
        drawn.append(scale)
        return noisy_counts(source, scores, scale)

    monkeypatch.setattr("sparsegate.uses.itemsets.noisy_counts", noted)
    for count in (1, 7):
        found = frequent_itemsets(polars(), **ASKED | {"count": count}, answers_epsilon=0.5)
        assert drawn.pop() == Fraction(count) / Fraction(1, 2)
        assert found.error_bar == error_bar(Fraction(2 * count), 0.95)


def test_a_pool_of_more_than_sixty_items_and_numbers_for_a_domain():
    """Bits of 70 items are two whole numbers in the engine."""
    items = [(item, who) for item in range(70) for who in range(item, 400)]
    found = frequent_itemsets(
        pl.DataFrame(items, schema=["i", "u"], orient="row"),
        item="i",
        user="u",
        count=69,
        size=2,
        smallest=2,
        epsilon=4000,
        domain=1000,
        pool=70,
        answers_epsilon=10**6,
    )
    assert found.record.method == "items-first"
    exact = {(a, b): 400 - b for a in range(70) for b in range(a + 1, 70)}
    assert sum(found.estimates or ()) == sum(sorted(exact.values(), reverse=True)[:69])
    assert all(exact[pair] == estimate for pair, estimate in found)


def test_what_nobody_has_listed_is_found_for_a_delta():
    found = frequent_itemsets(polars(), **ASKED | {"domain": "observed", "count": 3, "size": 2}, delta=1e-6)
    assert ("z",) in found.items
    assert (found.record.delta, found.record.domain_size) == (Fraction(1, 10**6), None)
    nothing = frequent_itemsets(polars().head(1), **ASKED | {"domain": "observed"}, delta=1e-6, answers_epsilon=1)
    assert (nothing.items, nothing.estimates) == ((), ())


def test_items_that_nobody_has_listed_are_selected_at_their_share(monkeypatch):
    drawn = []

    def noted(self, accounting, dbar, noise):
        drawn.append(accounting)
        return pick(self, accounting, dbar, noise)

    pick = CountedBaskets.pick_observed
    monkeypatch.setattr(CountedBaskets, "pick_observed", noted)
    asked = ASKED | {"domain": "observed", "delta": 1e-6, "count": 5}
    for method in ("items-first", "levels"):
        found = frequent_itemsets(polars(), **asked, method=method)
        share, *others = found.record.shares
        assert (share + sum(others), found.record.epsilon) == (20, 20)
        public = {"delta": Fraction(1, 10**6), "count": found.record.pool, "max_items_per_user": 10 * found.record.pool}
        assert (
            drawn.pop() == best_accounting(epsilon=share, **public) != best_accounting(epsilon=Fraction(20), **public)
        )


def test_one_charge_before_anything_is_drawn(monkeypatch):
    account = Noted()
    found = frequent_itemsets(polars(), **ASKED, pool=4, answers_epsilon=1, ledger=account)
    ((epsilon, delta, what),) = account.charged
    assert (epsilon, delta, found.record.epsilon) == (21, 0, 21)
    assert what == "7 sets of up to 3 of product, method items-first, selection subset, domain public"
    (kept,) = account.kept
    assert kept == {"release": "top_items", **found.to_dict()}
    monkeypatch.setattr(Request, "pick", lambda *_, **__: pytest.fail("drew without paying"))
    with pytest.raises(sg.BudgetExceeded):
        frequent_itemsets(polars(), **ASKED, ledger=Noted(refuses=sg.BudgetExceeded("nothing is left")))
