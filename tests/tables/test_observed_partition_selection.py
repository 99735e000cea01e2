"""Optimal partition selection: the inequalities of the proof for the very numbers used, and the law of the draw."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.goodness import FALSE_ALARM, excess, law_p
from tests.tables.conftest import Maker, table

from sparsegate.errors import ParameterError
from sparsegate.noise import Seeded
from sparsegate.noise.expansions import interval_arithmetic
from sparsegate.tables.observed import CountBar, bar_at, pick_above, steps_of
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


@pytest.mark.parametrize(("epsilon", "delta"), SHARES[:4])
def test_a_slope_that_is_a_fifth_steeper_does_not(epsilon: Fraction, delta: Fraction) -> None:
    assert list(violations(chances(epsilon * 6 / 5, delta), epsilon, delta))
    assert list(violations(chances(epsilon, delta * 6 / 5), epsilon, delta))


@pytest.mark.parametrize(("epsilon", "delta"), SHARES[:4])
def test_no_chance_could_be_larger(epsilon: Fraction, delta: Fraction) -> None:
    """A millionth of delta more, at any number of people, and an inequality breaks: the rule is the optimal one."""
    kept = chances(epsilon, delta)
    for n in range(1, len(kept) - 1, max(1, len(kept) // 40)):
        assert not list(violations(kept[n - 1 : n + 1], epsilon, delta))
        assert list(violations([kept[n - 1], kept[n] + delta / 10**6], epsilon, delta))


def test_the_first_half_has_its_closed_form() -> None:
    """pi(n) = d (e^(a n) - 1) / (e^a - 1) until it is even, by floats."""
    kept = chances(Fraction(1, 10), Fraction(1, 10**6))
    for n in range(109):
        assert float(kept[n]) == pytest.approx(1e-6 * math.expm1(0.1 * n) / math.expm1(0.1), rel=1e-12)


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


def test_a_share_that_asks_for_a_bar_beyond_all_counts_is_refused() -> None:
    with pytest.raises(ParameterError, match="epsilon is too small for this delta and 3 labels"):
        bar(10**11, epsilon=Fraction(1, 10**6), max_items_per_user=3)
    with pytest.raises(ParameterError, match="epsilon is too small"):
        bar(10**11, epsilon=Fraction(1, 10**400), delta=Fraction(1, 10**400))


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
    shown = items_above(table("polars", visits(COUNTS)), above=20, epsilon=1, max_items_per_user=1, **OPTIONS).items
    assert list(shown) == sorted(shown)
    assert "m" in shown[:-1]


def test_estimates_are_noisy_counts_and_the_largest_come_first() -> None:
    release = items_above(
        table("polars", visits(COUNTS)),
        above=20,
        epsilon=1,
        answers_epsilon=Fraction(1, 2),
        max_items_per_user=2,
        source=Seeded(1),
        **OPTIONS,
    )
    assert release.estimates is not None
    assert list(release.estimates) == sorted(release.estimates, reverse=True)
    assert release.items[0] == "m"
    assert release.error_bar == 12  # noise of scale 2 / 0.5: two items of a person, however many are released
    assert any(COUNTS[str(page)] != count for page, count in zip(release.items, release.estimates, strict=True))
    assert release.record.epsilon == Fraction(3, 2)
