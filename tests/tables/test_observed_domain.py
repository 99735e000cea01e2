"""The unknown-domain mechanism: its law, and its guarantee by enumeration over tiny neighbours."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Hashable, Mapping
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.goodness import FALSE_ALARM, excess, law_p

from sparsegate.budget import Cost
from sparsegate.errors import ParameterError
from sparsegate.gates.approximate import round_epsilon
from sparsegate.noise import Seeded
from sparsegate.tables.observed import (
    Accounting,
    best_accounting,
    bottom_margin,
    bounded_range,
    candidates,
    pick_observed,
    pure,
)

Counts = Mapping[str, int]
Order = Callable[[str], Hashable]


def by_label(label: str) -> str:
    return label


def kept(counts: Counts, dbar: int, order: Order = by_label) -> tuple[dict[str, int], int]:
    """The candidates of a table by another road, by sorting it: labels with their scores, and h_(dbar+1)."""
    ranked = sorted((label for label in counts if counts[label] > 0), key=lambda label: (-counts[label], order(label)))
    largest = {label: counts[label] for label in ranked[:dbar]}
    largest |= {f"dummy {number}": 0 for number in range(dbar - len(largest))}
    return largest, counts[ranked[dbar]] if len(ranked) > dbar else 0


def law(
    counts: Counts, *, count: int, rate: float, dbar: int, margin: float, order: Order = by_label
) -> dict[Hashable, float]:
    """The probability of everything that may be released, by enumeration of all transcripts."""
    largest, following = kept(counts, dbar, order)
    weights = {label: math.exp(rate * score) for label, score in largest.items()}
    bottom = math.exp(rate * (following + 1 + margin))
    released: Counter[Hashable] = Counter()
    for length in range(count + 1):
        for labels in itertools.permutations(weights, length):
            left, probability = sum(weights.values()) + bottom, 1.0
            for label in labels:
                probability *= weights[label] / left
                left -= weights[label]
            if length < count:
                probability *= bottom / left
            released[tuple(label for label in labels if not label.startswith("dummy"))] += probability
    return released


def worst_excess(
    table: Counts, person: set[str], *, accounting: str = "pure", order: Order = by_label, less: int = 0, **options: Any
) -> float:
    """The larger of both directions, for a table with and without one person, at bottom's margin less this much."""
    count, dbar = options["count"], options["dbar"]
    epsilon, delta = Fraction(options["epsilon"]), Fraction(options["delta"])
    most = min(dbar, options["max_items_per_user"])
    plan = ACCOUNTINGS[accounting](epsilon=epsilon, delta=delta, count=count, max_items_per_user=most)
    more = {label: table.get(label, 0) + (label in person) for label in {*table, *person}}
    rate, margin = float(plan.rate), plan.margin - less
    one, other = (
        law(counts, count=count, rate=rate, dbar=dbar, margin=margin, order=order) for counts in (table, more)
    )
    return max(excess(one, other, float(epsilon)), excess(other, one, float(epsilon)))


ACCOUNTINGS = {"pure": pure, "bounded-range": bounded_range}
tables = st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 3), max_size=6)


@pytest.mark.parametrize("accounting", list(ACCOUNTINGS))
@given(
    table=tables,
    person=st.sets(st.sampled_from("abcdefg"), min_size=1, max_size=3),
    count=st.integers(1, 3),
    more=st.integers(0, 2),
    epsilon=st.sampled_from([0.25, 1.0, 3.0, 6.0]),
    delta=st.sampled_from([0.3, 0.05, 0.001]),
)
def test_neighbours_are_within_epsilon_and_delta(
    accounting: str, table: Counts, person: set[str], count: int, more: int, epsilon: float, delta: float
) -> None:
    """With as many candidates as rounds, too, where every candidate may come before bottom."""
    options = {"count": count, "dbar": count + more, "epsilon": epsilon, "delta": delta}
    found = worst_excess(table, person, accounting=accounting, max_items_per_user=len(person), **options)
    assert found <= delta * (1 + 1e-9)


def test_bounded_range_without_bottoms_margin_breaks_it() -> None:
    options = {"epsilon": 0.05, "delta": 0.2, "count": 3, "max_items_per_user": 3, "dbar": 3}
    table = dict.fromkeys("abcdef", 2)
    assert worst_excess(table, set("def"), accounting="bounded-range", **options) <= 0.2
    margin = bounded_range(epsilon=Fraction("0.05"), delta=Fraction("0.2"), count=3, max_items_per_user=3).margin
    assert worst_excess(table, set("def"), accounting="bounded-range", less=margin, **options) > 0.2


BOUNDARY = dict.fromkeys("abcdef", 2)


def test_the_guarantee_is_used_up_and_a_bottom_that_is_one_count_lower_breaks_it() -> None:
    """One item pushes another out."""
    options = {"count": 1, "dbar": 3, "epsilon": 3.0, "delta": 0.01, "max_items_per_user": 1}
    assert 0.002 < worst_excess(BOUNDARY, {"f"}, **options) <= 0.01 < worst_excess(BOUNDARY, {"f"}, less=1, **options)


def test_ties_in_an_order_that_changes_with_the_table_break_it() -> None:
    """As an engine's order may: here the labels at the boundary come in another order once there are more rows."""
    options = {"count": 1, "epsilon": 3.0, "dbar": 200, "delta": 0.01, "max_items_per_user": 1}
    table = {**{f"{number:03}": 2 for number in range(400)}, "999": 3}
    margin = bottom_margin(rate=Fraction(3), delta=Fraction("0.01"), max_items_per_user=1)
    one = law(table, count=1, rate=3, dbar=200, margin=margin)
    same = law({**table, "999": 4}, count=1, rate=3, dbar=200, margin=margin)
    shuffled = law({**table, "999": 4}, count=1, rate=3, dbar=200, margin=margin, order=lambda label: -int(label))
    assert excess(one, same, 3) == 0
    assert excess(one, shuffled, 3) > 0.02
    assert worst_excess(table, {"999"}, **options) <= 0.01


@given(table=tables, dbar=st.integers(1, 7))
def test_the_candidates_are_the_largest_scores_made_up_with_dummies(table: Counts, dbar: int) -> None:
    histogram = Counter(score for score in table.values() if score > 0)
    largest, following = kept(table, dbar)
    assert candidates(histogram, dbar) == (Counter(largest.values()), following)


TABLE = {"a": 4, "b": 3, "c": 1, "d": 1, "e": 1}


def test_the_draw_follows_its_law_and_no_other() -> None:
    histogram = {1: 3, 3: 1, 4: 1}
    names = {(4, 0): "a", (3, 0): "b", (1, 0): "c"}  # of three items with the score 1, the first label takes part
    source, cost = Seeded(3), Cost.of(Fraction(4))
    accounting = Accounting(name="pure", count=2, rate=Fraction(2), margin=1, cost=cost)
    seen = Counter(
        tuple(names[pick] for pick in pick_observed(source, histogram, dbar=3, accounting=accounting))
        for _ in range(1200)
    )
    assert law_p(seen, law(TABLE, count=2, rate=2, dbar=3, margin=1)) > FALSE_ALARM
    assert law_p(seen, law(TABLE, count=2, rate=2.4, dbar=3, margin=1)) < FALSE_ALARM
    assert law_p(seen, law(TABLE, count=2, rate=2, dbar=3, margin=2)) < FALSE_ALARM


@pytest.mark.parametrize("count", [1, 100])
@pytest.mark.parametrize("epsilon", [Fraction(1, 100), Fraction(50)])
@pytest.mark.parametrize("delta", [Fraction(1, 10), Fraction(1, 10**9)])
def test_the_better_accounting_has_the_lower_bottom_and_no_smaller_rate_than_pure(
    count: int, epsilon: Fraction, delta: Fraction
) -> None:
    plans = [plan(epsilon=epsilon, delta=delta, count=count, max_items_per_user=7) for plan in ACCOUNTINGS.values()]
    best = best_accounting(epsilon=epsilon, delta=delta, count=count, max_items_per_user=7)
    assert best in plans
    assert best.margin == min(plan.margin for plan in plans)
    assert best.rate >= epsilon / count


def test_bounded_range_pays_both_sides_of_the_comparison() -> None:
    """ln(m / delta0) with delta0 = delta / (2 (1 + e^epsilon)), by floats; half the delta is left for the rounds."""
    epsilon, delta = Fraction(3), Fraction(1, 10**6)
    plan = bounded_range(epsilon=epsilon, delta=delta, count=100, max_items_per_user=9)
    asked = math.log(9 * 2 * (1 + math.exp(3)) / 1e-6) / float(plan.rate)
    assert 0 <= plan.margin - asked <= 1 + 1e-9
    assert plan.rate == round_epsilon(epsilon=epsilon, delta=delta / 2, count=100)


@pytest.mark.parametrize("rate", [Fraction(1, 1000), Fraction(1, 3), Fraction(7)])
@pytest.mark.parametrize("delta", [Fraction(1, 2), Fraction(1, 10**6), Fraction(1, 10**30)])
@pytest.mark.parametrize("max_items_per_user", [1, 50])
def test_the_margin_is_the_logarithm_rounded_up(rate: Fraction, delta: Fraction, max_items_per_user: int) -> None:
    exact = (math.log(max_items_per_user) - math.log(delta)) / float(rate)
    assert 0 <= bottom_margin(rate=rate, delta=delta, max_items_per_user=max_items_per_user) - exact <= 1 + 1e-9


def test_a_bottom_beyond_every_count_is_refused() -> None:
    with pytest.raises(ParameterError, match="epsilon is too small for this delta"):
        bottom_margin(rate=Fraction(1, 10**20), delta=Fraction(1, 10**6), max_items_per_user=1)
