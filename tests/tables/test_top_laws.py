"""Exactly the law that a release claims: tiny tables, selection probabilities by hand, counting and naming included."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Hashable
from fractions import Fraction
from typing import Any

import pytest
from tests.support.goodness import FALSE_ALARM, law_p
from tests.support.selection_laws import peeled
from tests.support.table_releases import prepared

from sparsegate.budget import exact_epsilon
from sparsegate.noise import Seeded
from sparsegate.tables.prepared import Prepared

DRAWS = 1_000


def named(release: Prepared, picks: set[tuple[int, int]]) -> dict[tuple[int, int], Hashable]:
    ordered = sorted(picks)
    return dict(zip(ordered, release.name(ordered), strict=True))


def observed_law(release: Prepared, seed: int) -> Counter[Hashable]:
    source = Seeded(seed)
    drawn = [tuple(release.select(source)[0]) for _ in range(DRAWS)]
    names = named(release, set(itertools.chain(*drawn)))
    return Counter(tuple(names[pick] for pick in picks) for picks in drawn)


TINY = [("a", 1), ("a", 2), ("a", 2), ("a", 3), ("b", 3), ("z", 3), ("z", 4)]


def claimed_law(scores: dict[Hashable, int], count: int, epsilon: float) -> dict[Hashable, float]:
    """Two rounds of the exponential mechanism at epsilon / count each, by hand."""
    labels = list(scores)
    by_number = peeled([math.exp(epsilon / count * score) for score in scores.values()], count)
    return {tuple(labels[n] for n in order): probability for order, probability in by_number.items()}


@pytest.mark.parametrize(
    ("rows", "domain", "scores"),
    [
        (TINY, ["a", "b", "c", "d"], {"a": 3, "b": 1, "c": 0, "d": 0}),
        ([(2, 1), (2, 2), (4, 1), (9, 1)], 5, {0: 0, 1: 0, 2: 2, 3: 0, 4: 1}),
    ],
    ids=["listed", "sized"],
)
def test_the_selection_follows_its_law_and_no_other(
    rows: list[tuple[Any, Any]], domain: Any, scores: dict[Hashable, int]
) -> None:
    release = prepared(rows, domain, count=2, epsilon=exact_epsilon(2.5))
    seen = observed_law(release, seed=11)
    assert law_p(seen, claimed_law(scores, 2, 2.5)) > FALSE_ALARM
    assert law_p(seen, claimed_law(scores, 2, 2.5 * 1.2)) < FALSE_ALARM


def test_without_a_domain_it_follows_its_law_and_no_other() -> None:
    """By hand: of a, b, c and d with 4, 2, 1 and 1 users, and dbar = 3, d comes after c by label and takes no part.

    Bottom is 1 + 1 + ceil(ln(1 / 0.4) / 1.25) = 3, the third user's one item being the most that a person has.
    """
    rows = [("a", user) for user in range(4)] + [("b", 4), ("b", 5), ("d", 6), ("c", 7)]
    epsilon, delta, dbar = 2.5, Fraction(2, 5), 3
    release = prepared(
        rows, "observed", count=2, epsilon=exact_epsilon(epsilon), delta=delta, dbar=dbar, max_items_per_user=1
    )
    seen = observed_law(release, seed=12)

    def law(epsilon: float, bottom: int) -> dict[Hashable, float]:
        labels = ["a", "b", "c", None]
        drawn = peeled([math.exp(epsilon / 2 * score) for score in (4, 2, 1, bottom)], 2)
        claimed: Counter[Hashable] = Counter()
        for order, probability in drawn.items():
            names = [labels[n] for n in order]
            claimed[tuple(names[: names.index(None)] if None in names else names)] += probability
        return claimed

    assert law_p(seen, law(epsilon, 3)) > FALSE_ALARM
    assert law_p(seen, law(epsilon * 1.2, 3)) < FALSE_ALARM
    assert law_p(seen, law(epsilon, 4)) < FALSE_ALARM
