"""The exact loss of a release for many groups, as one mechanism, against a person who has rows in every group."""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable
from typing import Any

import pytest
from tests.support.goodness import excess
from tests.support.release_laws import law
from tests.support.table_releases import prepared_groups

from sparsegate.tables import prepared as counting
from sparsegate.tables.prepared import PreparedGroups

COUNTRIES = ["DE", "FR", "IT"]
Rows = list[tuple[str, str, str]]
CROWD: Rows = [
    (country, page, f"{country}{page}{number}") for country in COUNTRIES for page in "abc" for number in range(2)
]
# Everybody else is in two groups, so that a rule which looked at other people could move them.
BOTH: Rows = [*CROWD, *((country, page, f"{page}") for page in "abc" for country in ("DE", "IT"))]


def joint_law(release: PreparedGroups) -> dict[Hashable, float]:
    """Every group draws by itself: the law of all of them together is the product of theirs."""
    laws = [law(prepared) for prepared in release.groups.values()]
    whole: dict[Hashable, float] = {}
    for outcome in itertools.product(*(one.items() for one in laws)):
        whole[tuple(names for names, _ in outcome)] = math.prod(probability for _, probability in outcome)
    return whole


def worst(rows: Rows, person: Rows, domain: Any, *, at: float, **options: Any) -> float:
    """The larger delta of both directions, with and without the person, at epsilon = ``at``."""
    tables = (rows, [*rows, *person])
    one, other = (joint_law(prepared_groups(table, domain, COUNTRIES, **options)) for table in tables)
    return max(excess(one, other, at), excess(other, one, at))


EVERYWHERE: Rows = [(country, page, "new") for country in COUNTRIES for page in "d"]
MANY: Rows = [(country, page, "new") for country in COUNTRIES for page in "abcd"]


@pytest.mark.parametrize(
    ("person", "options"),
    [
        (EVERYWHERE, {}),
        (MANY, {}),
        (MANY, {"groups_per_user": 2}),
        (EVERYWHERE, {"groups_per_user": 3}),
        (MANY, {"max_items_per_user": 1}),
        (MANY, {"max_items_per_user": 2, "groups_per_user": 2}),
    ],
    ids=str,
)
def test_a_person_with_rows_in_every_group_costs_epsilon_once(person: Rows, options: dict[str, Any]) -> None:
    assert worst(BOTH, person, list("abcd"), at=2, count=1, epsilon=2, **options) < 1e-12


@pytest.mark.parametrize("most", [1, 2, 3])
def test_nearly_all_of_epsilon_is_used(most: int) -> None:
    """A page that nobody else has is as rare as can be: the loss of each group comes near its share."""
    assert worst(CROWD, EVERYWHERE, list("abcd"), at=2 * 0.5, count=1, epsilon=2, groups_per_user=most) > 1e-3


@pytest.mark.parametrize("most", [1, 2])
def test_without_the_cut_epsilon_is_exceeded(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same check sees a person who keeps rows in every group, at a price for fewer."""

    def uncut(engine: Any, rows: Any, *_: Any, **__: Any) -> Any:
        return rows.group("item", "user")

    monkeypatch.setattr(counting, "cut_users", uncut)
    assert worst(CROWD, EVERYWHERE, list("abcd"), at=2, count=1, epsilon=2, groups_per_user=most) > 1e-4


@pytest.mark.parametrize("most", [1, 2])
def test_an_observed_domain_keeps_delta_for_all_groups_together(most: int) -> None:
    given = {"count": 1, "epsilon": 6, "delta": 0.02, "dbar": 4, "groups_per_user": most}
    assert 0 < worst(BOTH, MANY, "observed", at=6, **given) <= 0.02


def test_a_row_is_in_one_group_by_itself() -> None:
    given = {"count": 1, "epsilon": 2, "unit": "row"}
    assert worst(CROWD, EVERYWHERE[:1], list("abcd"), at=2, **given) < 1e-12
    assert worst(CROWD, EVERYWHERE[:1], list("abcd"), at=1, **given) > 1e-3


def test_what_is_kept_of_a_person_does_not_depend_on_others() -> None:
    """The groups whose counts a person moves are at most k, and the same whoever else is there."""

    def moved(rows: Rows, most: int) -> set[Hashable]:
        before, after = (
            prepared_groups(table, list("abcd"), COUNTRIES, count=1, epsilon=1, groups_per_user=most).groups
            for table in (rows, [*rows, *MANY])
        )
        return {g for g in COUNTRIES if before[g]._counted.histogram != after[g]._counted.histogram}

    for most in (1, 2):
        alike = [moved(rows, most) for rows in (CROWD, BOTH, CROWD[3:])]
        assert len(alike[0]) == most
        assert alike[0] == alike[1] == alike[2]
