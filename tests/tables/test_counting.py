"""Cutting users: at most this many items of each, by a rule that looks at nobody else and favours no item."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support import table_reference as reference
from tests.tables.conftest import Maker, table

from sparsegate.tables.columns import read_columns
from sparsegate.tables.counting import cut_users
from sparsegate.tables.engines.engine import open_engine

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


def native(rows: list[Row], engine: str = "polars") -> Any:
    return table(engine, {"item": [item for item, _ in rows], "user": [user for _, user in rows]})


def baskets(rng: np.random.Generator, *, users: int, items: int, size: int) -> list[Row]:
    return [(f"i{item:02}", user) for user in range(users) for item in rng.choice(items, size, replace=False)]


def test_every_engine_keeps_what_plain_python_keeps(make: Maker) -> None:
    rng = np.random.default_rng(3)
    rows = [row for size in (1, 3, 4, 9) for row in baskets(rng, users=5, items=12, size=size)]
    rows = [(item, f"{user}-{number % 4}") for number, (item, user) in enumerate(rows)] + [("i01", "0-0")] * 3
    left = kept(make({"item": [item for item, _ in rows], "user": [user for _, user in rows]}), 3)
    expected = reference.baskets(rows, {item for item, _ in rows}, 3)
    assert sorted(map(sorted, left.values())) == sorted(map(sorted, expected))


@settings(max_examples=50)
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


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_no_item_is_lost_for_all_alike(engine: str) -> None:
    """Each user keeps 3 of 12, so each item should keep about a quarter of its 1,200 users.

    The rule is fixed, and so is the seed: nothing here fails by chance. Were each item kept with probability 1/4, the
    count of one of them would leave these bounds with a probability below 1e-6. A hash of the item alone gives 0 to
    some items and nearly all to others.
    """
    rows = baskets(np.random.default_rng(7), users=2000, items=20, size=12)
    before = Counter(item for item, _ in rows)
    after = Counter(item for items in kept(native(rows, engine), 3).values() for item in items)
    shares = [after[item] / before[item] for item in before]
    assert 0.18 < min(shares) <= 0.25 <= max(shares) < 0.32
