"""The exact loss of releases by sums, from the rows to the names, for the worst person that a table can meet."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest
from tests.support.goodness import excess
from tests.support.release_laws import law
from tests.support.selection_laws import peeled
from tests.support.table_releases import prepared

from sparsegate.noise import Seeded
from sparsegate.tables import prepared as drawing
from sparsegate.tables.answers import AnswerNoise
from sparsegate.tables.sums import Clip

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
        (SHOP, MIXED, {"clip": (-5, 5)}),
        (UNEVEN, MIXED, {"clip": (-5, 5)}),
        (UNEVEN, MIXED, {"clip": (-3, 5), "max_items_per_user": 2}),
    ],
    ids=["rich", "coarse", "debts", "both", "both-uneven", "cut"],
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


@pytest.mark.parametrize("person", [{"f": 1e9}, {"d": 1e9, "e": 1e9, "g": 1e9}, {"g": 0.5, "h": 5.0}])
@pytest.mark.parametrize("count", [1, 2])
def test_an_observed_domain_keeps_delta(person: dict[str, float], count: int) -> None:
    options = {"clip": (0, 5), "delta": 0.01, "dbar": 4, "count": count, "epsilon": 4.7 * count}
    assert 0 < worst(SHOP, person, "observed", at=4.7 * count, **options) <= 0.01


def test_a_bottom_for_counts_breaks_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same check sees a bottom that stands one, and not one clip, above the rest."""
    picked = drawing.pick_observed

    def low(*args: Any, accounting: Any, sensitivity: int, **rest: Any) -> Any:
        from dataclasses import replace

        lower = replace(accounting, margin=0)
        return picked(*args, accounting=lower, sensitivity=sensitivity, **rest)

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
