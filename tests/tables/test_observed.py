"""Optimal partition selection: the inequalities of the proof for the very numbers used, and the law of the draw."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.goodness import FALSE_ALARM, excess, law_p
from tests.tables.conftest import Maker, table

from sparsegate.budget import Cost
from sparsegate.errors import ParameterError
from sparsegate.gates.approximate import round_epsilon
from sparsegate.noise import Seeded
from sparsegate.noise.expansions import interval_arithmetic
from sparsegate.tables.observed import (
    Accounting,
    CountBar,
    bar_at,
    best_accounting,
    bottom_margin,
    bounded_range,
    candidates,
    pick_above,
    pick_observed,
    pure,
    steps_of,
)
from sparsegate.tables.top import items_above

SHARES = [
    (Fraction(1, 10), Fraction(1, 10**6)),
    (Fraction(1), Fraction(1, 10)),
    (Fraction(1, 3), Fraction(1, 4)),
    (Fraction(1, 100), Fraction(1, 10**9)),
    (Fraction(7), Fraction(1, 10**30)),
    (Fraction(10**6), Fraction(1, 10**6)),
    (Fraction(1, 50), Fraction(999, 1000)),
]


def chances(epsilon: Fraction, delta: Fraction) -> list[Fraction]:
    """0, every probability that is used, and 1."""
    bits, steps = steps_of(epsilon, delta)
    return [Fraction(0), *(Fraction(step, 1 << bits) for step in steps), Fraction(1)]


def violations(kept: Sequence[Fraction], epsilon: Fraction, delta: Fraction) -> Iterator[int]:
    """Every n where a coin with kept[n] is not certainly within (epsilon, delta) of one with kept[n - 1].

    By interval arithmetic: what is not proven counts as a violation.
    """
    with interval_arithmetic(900) as iv:
        factor = iv.exp(iv.mpf(epsilon.numerator) / iv.mpf(epsilon.denominator))
        for n, (few, many) in enumerate(itertools.pairwise(kept), start=1):
            for one, other in ((few, many), (many, few), (1 - few, 1 - many), (1 - many, 1 - few)):
                left = one - delta
                allowed = factor * iv.mpf(other.numerator) / iv.mpf(other.denominator)
                if not (left <= 0 or allowed - iv.mpf(left.numerator) / iv.mpf(left.denominator) >= 0):
                    yield n


@pytest.mark.parametrize(("epsilon", "delta"), SHARES)
def test_the_numbers_used_keep_every_inequality_of_the_proof(epsilon: Fraction, delta: Fraction) -> None:
    kept = chances(epsilon, delta)
    assert kept == sorted(kept)
    assert not list(violations(kept, epsilon, delta))


def test_the_first_half_has_its_closed_form() -> None:
    """pi(n) = d (e^(a n) - 1) / (e^a - 1) until it is even, by floats."""
    for n, kept in enumerate(chances(Fraction(1, 10), Fraction(1, 10**6))[:109]):
        assert float(kept) == pytest.approx(1e-6 * math.expm1(0.1 * n) / math.expm1(0.1), rel=1e-12)


@pytest.mark.parametrize(("epsilon", "delta"), SHARES[:4])
def test_no_chance_could_be_larger(epsilon: Fraction, delta: Fraction) -> None:
    """A fifth more of either, or a millionth of delta at any number of people, and an inequality breaks."""
    assert list(violations(chances(epsilon * 6 / 5, delta), epsilon, delta))
    assert list(violations(chances(epsilon, delta * 6 / 5), epsilon, delta))
    kept = chances(epsilon, delta)
    for n in range(1, len(kept) - 1, max(1, len(kept) // 40)):
        assert not list(violations(kept[n - 1 : n + 1], epsilon, delta))
        assert list(violations([kept[n - 1], kept[n] + delta / 10**6], epsilon, delta))


def bar(above: int, **changes: Any) -> CountBar:
    options = {"epsilon": Fraction(1, 10), "delta": Fraction(1, 10**6), "max_items_per_user": 1} | changes
    counted = bar_at(above, **options)
    assert isinstance(counted, CountBar)
    return counted


def test_the_bar_stands_where_chances_are_even() -> None:
    for above in (109, 110, 5000):
        found = bar(above)
        even = found.chances(range(above - 1, above + 1))
        assert even[above - 1] < Fraction(1, 2) <= even[above]
        assert set(found.chances(range(10**4))) == set(range(found.never_below, found.always_from))
    assert bar(109).never_below == 1


def test_a_person_with_many_labels_has_a_share_for_each() -> None:
    assert bar(2000, max_items_per_user=7) == bar(2000, epsilon=Fraction(1, 70), delta=Fraction(1, 7 * 10**6))


@pytest.mark.parametrize(("above", "max_items_per_user", "least"), [(108, 1, 109), (1, 1, 109), (300, 3, 326)])
def test_a_bar_that_is_too_low_is_refused_and_the_lowest_named(above: int, max_items_per_user: int, least: int) -> None:
    with pytest.raises(ParameterError, match=f"above must be at least {least} .* got {above}; pass above={least}"):
        bar(above, max_items_per_user=max_items_per_user)
    assert bar(least, max_items_per_user=max_items_per_user).never_below == 1
    for few in (Fraction(1, 10**6), Fraction(1, 10**400)):  # a bar beyond all counts
        with pytest.raises(ParameterError, match="epsilon is too small for this delta and 3 labels"):
            bar(10**11, epsilon=few, delta=min(few, Fraction(1, 10**6)), max_items_per_user=3)


HISTOGRAM = {1: 1, 2: 2, 3: 1, 4: 1, 9: 2}
PEOPLE = [n for n, labels in HISTOGRAM.items() for _ in range(labels)]


def law(found: CountBar, people: Sequence[int]) -> dict[Hashable, float]:
    """The probability of every set of kept labels, by enumeration."""
    certain = {n: Fraction(int(n >= found.always_from)) for n in people}
    coins = [float((certain | found.chances(people))[n]) for n in people]
    return {
        kept: math.prod(p if held else 1 - p for p, held in zip(coins, kept, strict=True))
        for kept in itertools.product((False, True), repeat=len(people))
    }


def test_the_draw_follows_its_law_and_no_other() -> None:
    found = bar_at(4, epsilon=Fraction(1), delta=Fraction(1, 10), max_items_per_user=1)
    source = Seeded(3)
    members = [(n, rank) for n, labels in HISTOGRAM.items() for rank in range(labels)]
    seen: Counter[Hashable] = Counter()
    for _ in range(3000):
        picks = set(pick_above(source, HISTOGRAM, found))
        seen[tuple(member in picks for member in members)] += 1
    reachable = {kept: p for kept, p in law(found, PEOPLE).items() if p > 0}
    assert law_p(seen, reachable) > FALSE_ALARM
    other = bar_at(4, epsilon=Fraction(6, 5), delta=Fraction(1, 10), max_items_per_user=1)
    wrong = {kept: law(other, PEOPLE)[kept] for kept in reachable}
    assert law_p(seen, wrong) < FALSE_ALARM


@given(
    people=st.lists(st.integers(0, 7), min_size=1, max_size=5),
    has=st.sets(st.integers(0, 4), min_size=1, max_size=3),
    more=st.integers(0, 3),
    epsilon=st.sampled_from([Fraction(1, 2), Fraction(2)]),
    delta=st.sampled_from([Fraction(1, 4), Fraction(1, 100)]),
)
def test_neighbours_are_within_epsilon_and_delta(
    people: list[int], has: set[int], more: int, epsilon: Fraction, delta: Fraction
) -> None:
    """Over all sets of kept labels; a label that nobody has on one side is one that is never kept there."""
    max_items_per_user = len(has)
    least = next(n for n in itertools.count(1) if _possible(n, epsilon, delta, max_items_per_user))
    found = bar_at(least + more, epsilon=epsilon, delta=delta, max_items_per_user=max_items_per_user)
    joined = [count + (label in has) for label, count in enumerate(people)]
    one, other = law(found, people), law(found, joined)
    assert max(excess(one, other, float(epsilon)), excess(other, one, float(epsilon))) <= float(delta) * (1 + 1e-9)


def test_a_share_for_one_label_breaks_it_for_a_person_with_three() -> None:
    epsilon, delta = Fraction(1, 2), Fraction(1, 100)
    least = next(n for n in itertools.count(1) if _possible(n, epsilon, delta, 1))
    found = bar_at(least, epsilon=epsilon, delta=delta, max_items_per_user=1)
    one, other = law(found, [least] * 3), law(found, [least + 1] * 3)
    assert max(excess(one, other, 0.5), excess(other, one, 0.5)) > 0.02


def _possible(above: int, epsilon: Fraction, delta: Fraction, max_items_per_user: int) -> bool:
    try:
        bar_at(above, epsilon=epsilon, delta=delta, max_items_per_user=max_items_per_user)
    except ParameterError:
        return False
    return True


OPTIONS = {"item": "page", "user": "visitor", "delta": 1e-3, "not_private": True}


def visits(counts: dict[str, int]) -> dict[str, list[Any]]:
    rows = [(page, f"{page}{visitor}") for page, count in counts.items() for visitor in range(count)]
    return {"page": [page for page, _ in rows], "visitor": [visitor for _, visitor in rows]}


COUNTS = {f"p{number:02}": number for number in range(1, 41)} | {"z": 20, "a": 20, "m": 90}


def test_every_engine_gives_the_set_that_plain_python_gives(make: Maker) -> None:
    release = items_above(make(visits(COUNTS)), above=20, epsilon=1, max_items_per_user=1, source=Seeded(4), **OPTIONS)
    found = bar_at(20, epsilon=Fraction(1), delta=Fraction(1, 1000), max_items_per_user=1)
    groups: dict[int, list[str]] = {}
    for page in sorted(COUNTS):
        groups.setdefault(COUNTS[page], []).append(page)
    histogram = {people: len(groups[people]) for people in sorted(groups)}
    picks = pick_above(Seeded(4).stream().stream(), histogram, found)
    assert release.items == tuple(sorted(groups[people][rank] for people, rank in picks))
    assert (release.record.above, release.record.method) == (20, "partition-selection")
    assert all(COUNTS[page] >= release.record.never_below for page in release.items)
    assert {page for page in COUNTS if COUNTS[page] >= release.record.always_from} <= set(release.items)


def test_without_estimates_nothing_tells_who_has_more() -> None:
    """By label, though the engine and the mechanism go by count."""
    asked: dict[str, Any] = {"above": 20, "epsilon": 1, "max_items_per_user": 2, "source": Seeded(1), **OPTIONS}
    shown = items_above(table("polars", visits(COUNTS)), **asked).items
    assert list(shown) == sorted(shown)
    assert "m" in shown[:-1]
    paid = items_above(table("polars", visits(COUNTS)), **asked, answers_epsilon=Fraction(1, 2))
    assert list(paid.estimates or ()) == sorted(paid.estimates or (), reverse=True)
    assert (paid.items[0], paid.error_bar) == ("m", 12)  # of scale 2 / 0.5: two items of a person, however many come


Counts = Mapping[str, int]
Order = Callable[[str], Hashable]


def by_label(label: str) -> str:
    return label


def kept_of(counts: Counts, dbar: int, order: Order = by_label) -> tuple[dict[str, int], int]:
    """The candidates of a table by another road, by sorting it: labels with their scores, and h_(dbar+1)."""
    ranked = sorted((label for label in counts if counts[label] > 0), key=lambda label: (-counts[label], order(label)))
    largest = {label: counts[label] for label in ranked[:dbar]}
    largest |= {f"dummy {number}": 0 for number in range(dbar - len(largest))}
    return largest, counts[ranked[dbar]] if len(ranked) > dbar else 0


def law_of_top(
    counts: Counts, *, count: int, rate: float, dbar: int, margin: float, order: Order = by_label
) -> dict[Hashable, float]:
    """The probability of everything that may be released, by enumeration of all transcripts."""
    largest, following = kept_of(counts, dbar, order)
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
        law_of_top(counts, count=count, rate=rate, dbar=dbar, margin=margin, order=order) for counts in (table, more)
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
def test_neighbours_are_within_epsilon_and_delta_by_either_accounting(
    accounting: str, table: Counts, person: set[str], count: int, more: int, epsilon: float, delta: float
) -> None:
    """With as many candidates as rounds, too, where every candidate may come before bottom."""
    options = {"count": count, "dbar": count + more, "epsilon": epsilon, "delta": delta}
    found = worst_excess(table, person, accounting=accounting, max_items_per_user=len(person), **options)
    assert found <= delta * (1 + 1e-9)


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
    one = law_of_top(table, count=1, rate=3, dbar=200, margin=margin)
    same = law_of_top({**table, "999": 4}, count=1, rate=3, dbar=200, margin=margin)
    shuffled = law_of_top(
        {**table, "999": 4}, count=1, rate=3, dbar=200, margin=margin, order=lambda label: -int(label)
    )
    assert excess(one, same, 3) == 0
    assert excess(one, shuffled, 3) > 0.02
    assert worst_excess(table, {"999"}, **options) <= 0.01


@given(table=tables, dbar=st.integers(1, 7))
def test_the_candidates_are_the_largest_scores_made_up_with_dummies(table: Counts, dbar: int) -> None:
    histogram = Counter(score for score in table.values() if score > 0)
    largest, following = kept_of(table, dbar)
    assert candidates(histogram, dbar) == (Counter(largest.values()), following)


TABLE = {"a": 4, "b": 3, "c": 1, "d": 1, "e": 1}


def test_the_top_is_drawn_by_its_law_and_no_other() -> None:
    histogram = {1: 3, 3: 1, 4: 1}
    names = {(4, 0): "a", (3, 0): "b", (1, 0): "c"}  # of three items with the score 1, the first label takes part
    source, cost = Seeded(3), Cost.of(Fraction(4))
    accounting = Accounting(name="pure", count=2, rate=Fraction(2), margin=1, cost=cost)
    seen = Counter(
        tuple(names[pick] for pick in pick_observed(source, histogram, dbar=3, accounting=accounting))
        for _ in range(1200)
    )
    assert law_p(seen, law_of_top(TABLE, count=2, rate=2, dbar=3, margin=1)) > FALSE_ALARM
    assert law_p(seen, law_of_top(TABLE, count=2, rate=2.4, dbar=3, margin=1)) < FALSE_ALARM
    assert law_p(seen, law_of_top(TABLE, count=2, rate=2, dbar=3, margin=2)) < FALSE_ALARM


def test_bounded_range_pays_both_sides_of_the_comparison() -> None:
    """ln(m / delta0) with delta0 = delta / (2 (1 + e^epsilon)), by floats; half the delta is left for the rounds."""
    epsilon, delta = Fraction(3), Fraction(1, 10**6)
    plan = bounded_range(epsilon=epsilon, delta=delta, count=100, max_items_per_user=9)
    asked = math.log(9 * 2 * (1 + math.exp(3)) / 1e-6) / float(plan.rate)
    assert 0 <= plan.margin - asked <= 1 + 1e-9
    assert plan.rate == round_epsilon(epsilon=epsilon, delta=delta / 2, count=100)


@pytest.mark.parametrize("count", [1, 100])
@pytest.mark.parametrize("epsilon", [Fraction(1, 100), Fraction(50)])
@pytest.mark.parametrize("delta", [Fraction(1, 10), Fraction(1, 10**9)])
def test_the_better_accounting_has_the_lower_bottom(count: int, epsilon: Fraction, delta: Fraction) -> None:
    options: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "count": count, "max_items_per_user": 7}
    plans = [plan(**options) for plan in ACCOUNTINGS.values()]
    best = best_accounting(**options)
    assert best in plans
    assert best.margin == min(plan.margin for plan in plans)
    assert best.rate >= epsilon / count


@pytest.mark.parametrize("rate", [Fraction(1, 1000), Fraction(1, 3), Fraction(7)])
@pytest.mark.parametrize(("delta", "max_items_per_user"), [(Fraction(1, 2), 1), (Fraction(1, 10**30), 50)])
def test_the_margin_is_the_logarithm_rounded_up(rate: Fraction, delta: Fraction, max_items_per_user: int) -> None:
    exact = (math.log(max_items_per_user) - math.log(delta)) / float(rate)
    assert 0 <= bottom_margin(rate=rate, delta=delta, max_items_per_user=max_items_per_user) - exact <= 1 + 1e-9
    with pytest.raises(ParameterError, match="epsilon is too small for this delta"):  # beyond every count
        bottom_margin(rate=rate / 10**20, delta=delta, max_items_per_user=max_items_per_user)
