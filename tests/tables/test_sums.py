"""Clipped sums: the same whole numbers from every engine, whatever the order of the rows and whatever a cell holds."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import duckdb
import numpy as np
import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.goodness import excess
from tests.support.release_laws import law
from tests.support.selection_laws import peeled
from tests.support.table_releases import prepared
from tests.tables.conftest import Maker, table

from sparsegate.errors import ParameterError, TableError
from sparsegate.gates.lattice import LIMIT
from sparsegate.noise import Seeded
from sparsegate.tables import prepared as drawing
from sparsegate.tables.answers import AnswerNoise
from sparsegate.tables.columns import read_columns
from sparsegate.tables.engines.engine import open_engine
from sparsegate.tables.sums import CAP, Clip, as_values, sum_items
from sparsegate.tables.top import top_sums

NAN, INF = math.nan, math.inf
ODD = [0.1, -0.1, 19.99, 0.005, -7.25, 1e16, -1e16, 1e300, INF, -INF, NAN, None, 5e-324, 99.99996]


def purchases(cells: list[Any]) -> dict[str, list[Any]]:
    """Seven buyers and five things, and every cell comes at several of them; nulls among buyers and things."""
    rows = [(f"i{n % 5}", n % 7, cell) for n, cell in enumerate(cells * 3)]
    rows += [(None, 1, cells[0]), ("i1", None, cells[0])]
    random.Random(1).shuffle(rows)
    return {name: [row[place] for row in rows] for place, name in enumerate(("item", "user", "amount"))}


def by_hand(columns: dict[str, list[Any]], clip: Clip, *, users: bool) -> dict[Any, int]:
    """The scores by the definition, in rationals; only the place of a cell is in double precision, as the page says."""
    worths: dict[Any, int] = defaultdict(int)
    step, cap = clip.granularity, float(CAP * clip.granularity)
    for place, (item, user, cell) in enumerate(zip(*columns.values(), strict=True)):
        if item is None or (users and user is None) or cell is None or (number := float(cell)) != number:
            continue
        scaled = min(max(number, -cap), cap) * float(step.denominator) / float(step.numerator)
        worths[item, user if users else place] += math.floor(scaled + 0.5)
    low, high = clip.steps
    scores: dict[Any, int] = defaultdict(int)
    for (item, _), worth in worths.items():
        scores[item] += min(max(worth, low), high)
    return {item: score for item, score in scores.items() if score != 0}


def summed(native: Any, clip: Clip, *, users: bool = True) -> dict[Any, int]:
    with open_engine(native) as engine:
        rows, _ = read_columns(engine, "item", "user" if users else None, "amount")
        counted = sum_items(engine, as_values(rows, "amount"), None, clip, None)
        found = dict(engine.rows(counted.counts.select("item", "score")))
    assert sum(counted.histogram.values()) == len(found)
    return found


WHOLE = [7, -3, 2**53 + 1, -(2**63), 2**63 - 1, None, 0]


@pytest.mark.parametrize(
    ("cells", "clip", "users"),
    [
        (ODD, (0, 100), False),
        (ODD, (-30, 12.5), True),
        (WHOLE, (2, 10**9), True),
        ([Decimal("0.29"), Decimal("-12.50"), None, Decimal(9)], (-5, 1), True),
    ],
    ids=["floats-of-rows", "floats", "whole", "decimals"],
)
def test_every_engine_gives_the_sums_of_the_definition(make: Maker, cells: list[Any], clip: Any, users: bool) -> None:
    columns = purchases(cells)
    assert summed(make(columns), Clip.of(clip), users=users) == by_hand(columns, Clip.of(clip), users=users)


def test_a_column_of_objects_or_of_text_is_read_cell_by_cell() -> None:
    cells = [1, Decimal("2.5"), np.float32(0.5), 10**400, -(10**400), True, "7", None, NAN, object()]
    frame = pandas.DataFrame({"item": [f"i{n}" for n in range(len(cells))], "user": 1})
    frame["amount"] = pandas.Series(cells, dtype=object)
    clip = Clip.of((-4, 100), granularity=0.5)
    assert summed(frame, clip) == {"i0": 2, "i1": 5, "i2": 1, "i3": 200, "i4": -8}
    text = duckdb.connect().sql(
        "SELECT * FROM (VALUES ('a', 1, '2.5'), ('b', 1, 'x'), ('c', 1, 'inf')) t(item, \"user\", amount)"
    )
    assert summed(text, clip) == {"a": 5, "c": 200}
    large = table("pyarrow", {"item": ["a"], "user": [1], "amount": [1]})
    large = large.set_column(2, "amount", [np.array([2**64 - 1], dtype=np.uint64)])
    assert summed(large, clip) == {"a": 200}
    assert summed(large.to_pandas(types_mapper=pandas.ArrowDtype), clip) == {"a": 200}


numbers = st.decimals(-(10**12), 10**12, places=6).filter(bool)


@given(st.tuples(numbers, numbers).filter(lambda ends: ends[0] != ends[1]).map(sorted))
def test_the_lattice_is_fine_and_leaves_room_for_everybody(ends: list[Decimal]) -> None:
    clip = Clip.of(ends)
    assert 10**6 <= Fraction(max(map(abs, ends))) / clip.granularity < 10**7
    assert clip.sensitivity <= 10**7
    assert clip.sensitivity * 2**37 <= LIMIT
    assert CAP * 2**34 <= 2**62
    assert clip.sensitivity * 26 < CAP
    assert clip.sensitivity * clip.granularity <= max(map(abs, ends))
    low, high = clip.steps
    assert low <= high


def ask(native: Any = None, **changes: Any) -> Any:
    columns = {"item": ["a", "a", "b"], "user": [1, 1, 2], "amount": [60.5, 70.0, 20.25]}
    asked = {"item": "item", "user": "user", "value": "amount", "clip": (0, 100), "domain": ["a", "b", "c"]}
    fixed = {"count": 2, "epsilon": 10**4, "source": Seeded(1), "not_private": True}
    return top_sums(table("polars", columns) if native is None else native, **asked | fixed | changes)


def test_estimates_and_bars_are_in_the_units_of_the_values() -> None:
    release = ask(answers_epsilon=10**4)
    assert release.items == ("a", "b")
    assert release.estimates == pytest.approx((100, 20.25), abs=0.5)
    assert release.error_bar == pytest.approx(math.log(20) * 2 * 100 / 10**4, rel=0.01)
    assert release.error_bar < release.error_bar_all < 1
    free = ask(max_items_per_user=1)
    assert free.estimates == pytest.approx((100, 20.25), abs=0.5)
    assert free.record.answers_epsilon == 0
    record = ask(max_items_per_user=3, clip=(-250, 100.5)).record
    assert (record.clip, record.granularity, record.sensitivity) == ((-250, 100.5), 0.0001, 250)
    assert "clipped to -250 and 100.5" in record.counted
    with pytest.raises(TableError, match="'item' must be numbers, not varchar"):
        ask(value="item")
    whole = ask(granularity=1, answers_epsilon=1)
    assert all(isinstance(number, int) for number in (*whole.estimates, whole.error_bar))


@pytest.mark.parametrize(
    ("parameter", "changes"),
    [
        *(("clip", {"clip": bad}) for bad in (None, 5, (1, 2, 3), (2, 2), (0, INF), ("0", "1"), (0, 1e21), (0, 1e-21))),
        *(("granularity", {"granularity": bad}) for bad in (0, 101, 1e-6, NAN)),
        ("value", {"value": 7}),
        ("clip", {"domain": "observed", "delta": 1e-6, "clip": (-1, 1)}),
        ("scale", {"epsilon": 1e-9, "max_items_per_user": 1}),
        ("epsilon", {"epsilon": 1e-12, "domain": "observed", "delta": 1e-26}),
    ],
)
def test_a_bad_parameter_is_named(parameter: str, changes: dict[str, Any]) -> None:
    with pytest.raises(ParameterError) as caught:
        ask(**changes)
    assert caught.value.parameter == parameter


def test_a_threshold_is_in_the_units_of_the_values() -> None:
    asked = {"method": "sparse-vector", "count": 1, "epsilon": 10**6}
    assert ask(**asked, threshold=99.5).items == ("a",)
    assert ask(**asked, threshold=100.5).items == ()
    assert ask(**asked, threshold=Fraction(201, 10), clip=(0, 20.25), domain=["b"]).items == ("b",)


Purchase = tuple[str, str, float]

SHOP = [(item, f"{item}{n}", amount) for item in "abcdef" for n, amount in enumerate((2.5, 1.5))]
UNEVEN = [*SHOP, ("a", "a0", 3.0), ("b", "b7", -4.0), ("f", "f9", 0.25)]


def worst(rows: list[Purchase], person: dict[str, float], domain: Any, *, at: float, **options: Any) -> float:
    """The larger delta of both directions, with and without one person, whose every amount comes in two rows."""
    bought = [(item, "new", amount / 2) for item, amount in person.items() for _ in range(2)]
    given = {"value": "amount", "count": 2, "epsilon": 2} | options
    one, other = (law(prepared(table, domain, **given)) for table in (rows, [*rows, *bought]))
    return max(excess(one, other, at), excess(other, one, at))


RICH = dict.fromkeys("ef", 1e9)
MIXED = {"d": 1e9, "e": 5.0, "f": -1e9}


@pytest.mark.parametrize(
    ("rows", "person", "options"),
    [
        (SHOP, RICH, {"clip": (0, 5)}),
        (UNEVEN, RICH, {"clip": (2, 5), "granularity": 5}),
        (SHOP, dict.fromkeys("ef", -1e9), {"clip": (-5, 0)}),
        (UNEVEN, MIXED, {"clip": (-5, 5)}),
        (UNEVEN, MIXED, {"clip": (-3, 5), "max_items_per_user": 2}),
    ],
    ids=["rich", "coarse", "debts", "both", "cut"],
)
def test_a_person_with_extreme_values_costs_epsilon_and_no_more(
    rows: list[Purchase], person: dict[str, float], options: dict[str, Any]
) -> None:
    assert worst(rows, person, list("abcdefg"), at=2, **options) < 1e-12
    assert worst(rows, person, list("abcdefg"), at=0.2, **options) > 1e-3


def test_sums_without_their_clip_break_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Clip, "steps", (-(2**60), 2**60))
    monkeypatch.setattr(Clip, "sensitivity", 5_000_000)
    assert worst(SHOP, RICH, list("abcdefg"), at=2, clip=(0, 5)) > 0.1


def test_rows_clipped_one_by_one_would_break_it() -> None:
    """What is clipped is the sum of a person: four rows of 4 count for 5, and not for 16."""
    rows = [*SHOP, *[("f", "new", 4.0)] * 4]
    release = prepared(rows, list("abcdef"), value="amount", clip=(0, 5), count=1, epsilon=1)
    assert max(release._counted.histogram) == 9 * 10**6


def test_noise_for_one_direction_breaks_it_for_a_person_who_moves_scores_in_both(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Clip, "monotonic", True)
    assert worst(SHOP, {"a": 5.0} | dict.fromkeys("bcdef", -5.0), list("abcdef"), at=2, clip=(-5, 5), count=1) > 0.01


def test_negative_sums_and_sums_of_nothing_have_the_law_that_they_deserve() -> None:
    """By hand, in clips of 5: a has 2.5 + 4, d has -5, and b, c, e have nothing, whoever bought and gave back."""
    sold = [("a", 1, 3.0), ("a", 1, -0.5), ("a", 2, 9.0), ("b", 3, 2.0), ("b", 4, -2.0), ("d", 5, -7.0), ("e", 6, 0.0)]
    release = prepared(sold, list("abcde"), value="amount", clip=(-5, 4), count=2, epsilon=3)
    weights = [math.exp(3 / 2 * score / 2) for score in (1.3, 0, 0, -1, 0)]
    by_hand = {tuple("abcde"[place] for place in order): chance for order, chance in peeled(weights, 2).items()}
    assert law(release) == pytest.approx(by_hand)


@pytest.mark.parametrize("person", [{"d": 1e9, "e": 1e9, "g": 1e9}, {"g": 0.5, "h": 5.0}])
@pytest.mark.parametrize("count", [1, 2])
def test_an_observed_domain_keeps_delta(person: dict[str, float], count: int) -> None:
    options = {"clip": (0, 5), "delta": 0.01, "dbar": 4, "count": count, "epsilon": 4.7 * count}
    assert 0 < worst(SHOP, person, "observed", at=4.7 * count, **options) <= 0.01


def test_a_bottom_for_counts_breaks_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same check sees a bottom that stands one, and not one clip, above the rest."""
    picked = drawing.pick_observed

    def low(*args: Any, accounting: Any, sensitivity: int, **rest: Any) -> Any:
        return picked(*args, accounting=replace(accounting, margin=0), sensitivity=sensitivity, **rest)

    monkeypatch.setattr(drawing, "pick_observed", low)
    options = {"clip": (0, 5), "delta": 0.01, "dbar": 4, "count": 1, "epsilon": 4.7}
    assert worst(SHOP, {"g": 5.0}, "observed", at=4.7, **options) > 0.02


@pytest.mark.parametrize(("options", "moved"), [({}, 6), ({"max_items_per_user": 3}, 3)])
def test_the_noise_of_the_answers_covers_what_one_person_can_move(
    options: dict[str, Any], moved: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    scales: list[Fraction] = []
    monkeypatch.setattr(AnswerNoise, "noisy", lambda noise, _, sums: scales.append(noise.scale) or tuple(sums))
    given = {"value": "amount", "clip": (0, 5), "count": 6, "epsilon": 1, "answers_epsilon": Fraction(1, 2), **options}

    def total(rows: list[Purchase]) -> int:
        release = prepared(rows, list("abcdef"), **given)
        release.draw(Seeded(1), release.record(private=False))
        return sum(score * items for score, items in release._counted.histogram.items())

    assert total([*SHOP, *((item, "new", 1e9) for item in "abcdef")]) - total(SHOP) == moved * 5 * 10**6
    assert scales == [2 * moved * 5 * 10**6] * 2
