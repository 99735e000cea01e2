"""The rule of method="auto": what it takes on both sides of its limits, from public numbers alone."""

from __future__ import annotations

from fractions import Fraction

import pytest

from sparsegate.gates.approximate import round_epsilon
from sparsegate.selection.select import choose

TENTH, NONE = Fraction(1, 10), Fraction(0)


@pytest.mark.parametrize(
    ("max_items_per_user", "ordered", "taken"),
    [
        (70, False, "noisy-scores"),
        (71, False, "subset"),
        (90, True, "noisy-scores"),
        (91, True, "one-shot"),
        (None, False, "subset"),
        (None, True, "one-shot"),
    ],
)
@pytest.mark.parametrize("monotonic", [True, False])
def test_less_noise_is_taken_where_enough_of_it_is_saved(
    max_items_per_user: int | None, ordered: bool, taken: str, monotonic: bool
) -> None:
    count = 100 if monotonic else 50  # s c is 100
    given = {"count": count, "epsilon": TENTH, "delta": NONE, "max_items_per_user": max_items_per_user}
    assert choose(**given, ordered=ordered, monotonic=monotonic) == taken


@pytest.mark.parametrize(("ordered", "limit", "otherwise"), [(False, 0.7, "subset"), (True, 0.9, "one-shot")])
def test_a_delta_is_used_where_it_saves_enough(ordered: bool, limit: float, otherwise: str) -> None:
    taken = set()
    for count in range(1, 80):
        given = {"count": count, "epsilon": TENTH, "delta": Fraction(1, 10**6)}
        share = TENTH / count / round_epsilon(**given)
        method = choose(**given, max_items_per_user=None, ordered=ordered, monotonic=True)
        assert method == ("gumbel" if share <= limit else otherwise)
        taken.add(method)
    assert taken == {"gumbel", otherwise}


def test_of_two_savings_the_larger_is_taken() -> None:
    given = {"count": 100, "epsilon": TENTH, "delta": Fraction(1, 10**6), "ordered": False, "monotonic": True}
    assert [choose(**given, max_items_per_user=max_items_per_user) for max_items_per_user in (5, 60)] == [
        "noisy-scores",
        "gumbel",
    ]
