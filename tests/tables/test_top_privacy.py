"""The exact (epsilon, delta) of a release, from the rows to the names: every line of production but the draw itself.

``tests.support.release_laws`` has the law of a whole release exactly; here neighbours are compared.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.support.goodness import FALSE_ALARM, excess, law_p
from tests.support.release_laws import law
from tests.support.selection_laws import peeled
from tests.support.table_reference import Row
from tests.support.table_releases import prepared

from sparsegate.budget import exact_epsilon
from sparsegate.noise import Seeded
from sparsegate.tables import observed as partition_selection
from sparsegate.tables import question
from sparsegate.tables.answers import AnswerNoise
from sparsegate.tables.observed import best_accounting
from sparsegate.tables.prepared import Prepared


def worst_excess(rows: list[Row], has: Iterable[str], domain: Any, *, at: float, **options: Any) -> float:
    """The larger delta of both directions, with and without one person who has these items, at epsilon = ``at``."""
    person = [(item, "new") for item in has]
    one, other = (law(prepared(table, domain, **options)) for table in (rows, [*rows, *person]))
    return max(excess(one, other, at), excess(other, one, at))


def crowd(counts: Mapping[str, int]) -> list[Row]:
    return [(label, f"{label}{number}") for label, count in counts.items() for number in range(count)]


RATE, DELTA = 4.7, 0.01
ONE_ITEM = {"max_items_per_user": 1}
TIED = crowd(dict.fromkeys("abcdefgh", 2))


@pytest.mark.parametrize(
    ("has", "options"),
    [
        ("efgh", {}),
        ("efgh", {"max_items_per_user": 2}),
        ("h", {"max_items_per_user": 1}),
        ("abcdefgh", {"max_items_per_user": 3}),
        ("efgh", {"dbar": 2}),
    ],
)
@pytest.mark.parametrize("count", [1, 2])
def test_the_observed_domain_keeps_delta_for_a_person_with_many_items(
    has: str, options: dict[str, Any], count: int
) -> None:
    given = {"count": count, "epsilon": RATE * count, "delta": DELTA, "dbar": 4} | options
    assert 0 < worst_excess(TIED, has, "observed", at=RATE * count, **given) <= DELTA


@pytest.mark.parametrize("has", ["h", "gh", "efgh"])
def test_the_observed_domain_keeps_delta_by_the_bounded_range_accounting(has: str) -> None:
    given = {"count": 3, "epsilon": Fraction(1, 20), "delta": Fraction(1, 5), "dbar": 4}
    assert prepared(TIED, "observed", **given).record(private=False).accounting == "bounded-range"
    assert 0 < worst_excess(TIED, has, "observed", at=0.05, **given) <= 0.2


def test_a_bar_for_one_item_breaks_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same check sees what a person with four items does to a bar that is meant for persons with one."""
    monkeypatch.setattr(question, "best_accounting", lambda **given: best_accounting(**given | ONE_ITEM))
    given = {"count": 1, "epsilon": RATE, "delta": DELTA, "dbar": 4}
    assert worst_excess(TIED, "efgh", "observed", at=RATE, **given) > 2 * DELTA


@pytest.mark.parametrize("options", [{}, {"max_items_per_user": 2}])
def test_a_public_domain_needs_no_delta_and_uses_its_epsilon(options: dict[str, Any]) -> None:
    given = {"count": 2, "epsilon": 2, **options}
    assert worst_excess(TIED, "hi", list("abcdefghi"), at=2, **given) < 1e-12
    assert worst_excess(TIED, "hi", list("abcdefghi"), at=0.5, **given) > 1e-4


@pytest.mark.parametrize(("has", "most", "above"), [("h", 1, 3), ("efgh", 4, 9), ("abcdefgh", 2, 4)])
def test_all_above_a_bar_keep_delta_for_a_person_with_many_items(has: str, most: int, above: int) -> None:
    """Each label has a coin of its own, so the law over all sets is a product; here over what the person can move."""
    given = {"count": None, "above": above, "epsilon": 3, "delta": DELTA, "max_items_per_user": most}
    kept = [coins(TIED + person, **given) for person in ([], [(item, "new") for item in has])]
    one, other = (
        {
            held: math.prod(coin.get(label, 0) if label in held else 1 - coin.get(label, 0) for label in "abcdefgh")
            for size in range(9)
            for held in itertools.combinations("abcdefgh", size)
        }
        for coin in kept
    )
    assert 0 < max(excess(one, other, 3), excess(other, one, 3)) <= DELTA


def coins(rows: list[Row], **options: Any) -> dict[str, float]:
    """The probability with which each label is kept: what production hands to its coin, label by label."""
    release = prepared(rows, "observed", **options)
    tossed: dict[str, float] = {}

    def toss(source: object, chance: Fraction, size: int) -> NDArray[np.bool_]:
        chances.append(chance)
        return np.ones(size, dtype=np.bool_)

    chances: list[Fraction] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(partition_selection, "bernoulli", toss)
        picks = release.select(Seeded(1))[0]
    of = dict(zip(sorted({people for people, _ in picks}), chances, strict=True))
    for (people, _), (label, _) in zip(picks, release.name(picks), strict=True):
        tossed[label] = float(of[people])
    return tossed


@pytest.mark.parametrize(("most", "moved"), [(None, 8), (3, 3), (20, 8)])
def test_the_noise_of_the_answers_covers_exactly_what_one_person_can_move(
    most: int | None, moved: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    scales: list[Fraction] = []

    def spy(noise: AnswerNoise, source: object, counts: list[int]) -> tuple[int, ...]:
        scales.append(noise.scale)
        return tuple(counts)

    def counted(rows: list[Row]) -> int:
        asked = {"count": 8, "epsilon": 1, "answers_epsilon": Fraction(1, 2), "max_items_per_user": most}
        release = prepared(rows, list("abcdefgh"), **asked)
        release.draw(Seeded(1), release.record(private=False))
        return sum(score * items for score, items in release._counted.histogram.items())

    monkeypatch.setattr(AnswerNoise, "noisy", spy)
    assert counted([*TIED, *((item, "new") for item in "abcdefgh")]) - counted(TIED) == moved
    assert scales == [2 * moved] * 2


# Exactly the law that a release claims: tiny tables, selection probabilities by hand, counting and naming included

DRAWS = 1_000


def named(release: Prepared, picks: set[tuple[int, int]]) -> dict[tuple[int, int], Hashable]:
    ordered = sorted(picks)
    return dict(zip(ordered, (label for label, _ in release.name(ordered)), strict=True))


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
