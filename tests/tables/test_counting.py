"""Cutting users by a rule that looks at nobody else; and noisy counts, with error bars that keep their word."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support import table_reference as reference
from tests.support.goodness import FALSE_ALARM, chi_square_p, discrete_laplace_mass
from tests.support.table_releases import prepared
from tests.tables.conftest import Maker, table

from sparsegate.gates.laplace import error_bar, error_bar_all
from sparsegate.noise import Seeded
from sparsegate.tables.columns import read_columns
from sparsegate.tables.counting import cut_users
from sparsegate.tables.engines.engine import open_engine
from sparsegate.tables.top import top_items

Row = tuple[Any, Any]


def kept(native: Any, most: int) -> dict[Any, set[Any]]:
    """What is left of each user's items."""
    with open_engine(native) as engine:
        rows, _ = read_columns(engine, "item", "user")
        left: dict[Any, set[Any]] = {}
        for item, user in engine.rows(cut_users(engine, rows, most).select("item", "user")):
            assert item not in left.setdefault(user, set()), "a pair must come once"
            left[user].add(item)
    return left


def columns(rows: list[Row]) -> dict[str, list[Any]]:
    return {"item": [item for item, _ in rows], "user": [user for _, user in rows]}


def native(rows: list[Row]) -> Any:
    return table("duckdb", columns(rows))


def baskets(rng: np.random.Generator, *, users: int, items: int, size: int) -> list[Row]:
    return [(f"i{item:02}", user) for user in range(users) for item in rng.choice(items, size, replace=False)]


def test_every_engine_keeps_what_plain_python_keeps(make: Maker) -> None:
    rng = np.random.default_rng(3)
    rows = [row for size in (1, 3, 4, 9) for row in baskets(rng, users=5, items=12, size=size)]
    rows = [(item, f"{user}-{number % 4}") for number, (item, user) in enumerate(rows)] + [("i01", "0-0")] * 3
    left = kept(make(columns(rows)), 3)
    expected = reference.baskets(rows, {item for item, _ in rows}, 3)
    assert sorted(map(sorted, left.values())) == sorted(map(sorted, expected))


@settings(max_examples=8, deadline=None)
@given(
    others=st.lists(st.tuples(st.sampled_from("abcdefgh"), st.integers(1, 4)), max_size=30),
    mine=st.sets(st.sampled_from("abcdefgh"), min_size=1),
    most=st.integers(1, 4),
    shift=st.integers(0, 3),
)
def test_what_is_kept_of_a_person_depends_on_their_rows_alone(
    others: list[Row], mine: set[str], most: int, shift: int
) -> None:
    """Not on others, and not on a number that others have a part in, as the number of a line has."""
    me = [(item, 9) for item in mine]
    alone, together = kept(native(me), most), kept(native([*others, *me]), most)
    assert together[9] == alone[9]
    assert len(alone[9]) == min(most, len(mine))
    renumbered = [(item, user + shift) for item, user in others]
    left = kept(native(renumbered), most) if others else {}
    assert left == {user + shift: items for user, items in together.items() if user != 9}


def test_no_item_is_lost_for_all_alike() -> None:
    """Each user keeps 3 of 12, so each item should keep about a quarter of its 1,200 users.

    The rule is fixed, and so is the seed: nothing here fails by chance. Were each item kept with probability 1/4, the
    count of one of them would leave these bounds with a probability below 1e-6. A hash of the item alone gives 0 to
    some items and nearly all to others.
    """
    rows = baskets(np.random.default_rng(7), users=2000, items=20, size=12)
    before = Counter(item for item, _ in rows)
    after = Counter(item for items in kept(native(rows), 3).values() for item in items)
    shares = [after[item] / before[item] for item in before]
    assert 0.18 < min(shares) <= 0.25 <= max(shares) < 0.32


def test_counts_carry_fresh_discrete_laplace_noise_and_no_other() -> None:
    """24 items with a count of 1000 each, so that the cut at zero is far away."""
    rows = [(item, user) for user in range(1000) for item in range(24)]
    release = prepared(rows, 24, count=24, epsilon=1, answers_epsilon=8)
    record = release.record(private=False)
    noise = np.array([n - 1000 for seed in range(100) for n in release.draw(Seeded(seed), record).estimates or ()])
    assert chi_square_p(noise, discrete_laplace_mass(3, range(-6, 7))) > FALSE_ALARM
    assert chi_square_p(noise, discrete_laplace_mass(3 * 1.2, range(-6, 7))) < FALSE_ALARM


@pytest.mark.parametrize("scale", [Fraction(1, 10), Fraction(1, 2), Fraction(3), Fraction(500)])
@pytest.mark.parametrize(("confidence", "count"), [(0.5, 1), (0.95, 1), (0.999, 1), (0.95, 2), (0.95, 100_000)])
def test_an_error_bar_is_the_smallest_that_keeps_its_word(scale: Fraction, confidence: float, count: int) -> None:
    bar, q = error_bar_all(scale, confidence, count), math.exp(-1 / scale)

    def all_within(t: int) -> float:
        return math.exp(count * math.log1p(-2 * q ** (t + 1) / (1 + q)))

    assert all_within(bar) >= confidence - 1e-9
    assert bar == 0 or all_within(bar - 1) < confidence
    assert count > 1 or bar == error_bar(scale, confidence)


def test_a_count_is_cut_at_zero_after_the_noise() -> None:
    asked = {"item": "item", "unit": "row", "domain": 200, "count": 200, "epsilon": Fraction(1, 4)}
    nobody = table("polars", {"item": [-1]})
    counts = top_items(nobody, **asked, source=Seeded(1), not_private=True).estimates
    assert min(counts) == 0
    assert 60 < sum(count > 0 for count in counts) < 140
