"""Everything that takes ``ledger=``: charged in full when all is checked and nothing is drawn, and then kept."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pandas
import pytest
from tests.support.accounts import Noted
from tests.support.untouchable import Untouchable

import sparsegate as sg

VISITS = pandas.DataFrame({"page": ["/home"] * 40 + ["/docs"] * 30, "visitor": [*range(40), *range(30)]})


def gate(**options: Any) -> Any:
    return sg.SparseVector(**{"threshold": 1000, "cutoff": 25, "sensitivity": 1, "epsilon": 0.5} | options)


def gate_with_shares(**options: Any) -> Any:
    budget = sg.Budget(threshold_epsilon=0.25, query_epsilon=0.125, answer_epsilon=0.125)
    return gate(**{"budget": budget} | options, epsilon=options.get("epsilon"))


def planned(**options: Any) -> Any:
    return gate(**{"queries": 400} | options)


def number(**options: Any) -> Any:
    return sg.laplace(1234, **{"epsilon": 0.5, "sensitivity": 1} | options)


def positions(**options: Any) -> Any:
    return sg.select_top([9, 400, 8], **{"count": 1, "epsilon": 0.5, "sensitivity": 1} | options).indices.tolist()


def names(**options: Any) -> Any:
    scores = {"/home": 900, "/blog": 3, "/docs": 800}
    return sg.select_top(scores, **{"count": 2, "epsilon": 0.5, "sensitivity": 1} | options).items


def passes(**options: Any) -> Any:
    return positions(**{"method": "retraversal", "threshold": 50} | options)


def items(**options: Any) -> Any:
    asked = {"item": "page", "user": "visitor", "count": 1, "epsilon": 0.25, "answers_epsilon": 0.25}
    return sg.top_items(VISITS, **asked | {"domain": ["/home", "/docs"]} | options)


def observed(**options: Any) -> Any:
    asked = {"item": "page", "user": "visitor", "count": 1, "epsilon": 0.5, "domain": "observed", "delta": 1e-6}
    return sg.top_items(VISITS, **asked | options)


def above(**options: Any) -> Any:
    asked = {"item": "page", "user": "visitor", "above": 50, "epsilon": 0.5, "delta": 1e-6, "max_items_per_user": 1}
    return sg.items_above(VISITS, **asked | options)


def online(**options: Any) -> Any:
    asked = {"user": "visitor", "epsilon": 0.5, "tolerance": 20, "cutoff": 3}
    return sg.uses.OnlineAnswers(VISITS, {"page": ["/home", "/docs"]}, **asked | options)


EVERY: list[tuple[Callable[..., Any], str, str]] = [
    (gate, "gate: threshold 1000, cutoff 25, exponential-gap", "cutoff"),
    (gate_with_shares, "gate: threshold 1000, cutoff 25, exponential-gap", "cutoff"),
    (planned, "gate: threshold 1000, cutoff 25, exponential-gap", "queries"),
    (number, "one number with Laplace noise, sensitivity 1", "sensitivity"),
    (positions, "top 1, method subset", "count"),
    (names, "top 2, method subset", "count"),
    (passes, "top 1, method retraversal", "max_passes"),
    (items, "top 1 of page, unit user, method subset, domain public", "count"),
    (observed, "top 1 of page, unit user, method exponential, domain observed", "count"),
    (above, "page of 50 or more, unit user, method partition-selection, domain observed", "above"),
    (online, "online answers: tolerance 20, cutoff 3, 2 cells", "cutoff"),
]
each = pytest.mark.parametrize(("release", "what", "parameter"), EVERY, ids=[row[0].__name__ for row in EVERY])


@each
def test_a_release_is_charged_all_of_its_epsilon_and_says_which_it_was(
    release: Callable[..., Any], what: str, parameter: str
) -> None:
    account = Noted()
    release(ledger=account, source=sg.Seeded(1), not_private=True)
    ((epsilon, delta, said),) = account.charged
    assert (Fraction(str(epsilon)), said) == (Fraction(1, 2), what)
    assert Fraction(delta) == (Fraction(1, 10**6) if release in (observed, above) else 0)


@each
def test_a_ledger_that_refuses_comes_before_any_draw(release: Callable[..., Any], what: str, parameter: str) -> None:
    account = Noted(refuses=sg.BudgetExceeded("no more"))
    with pytest.raises(sg.BudgetExceeded, match="no more"):
        release(ledger=account, source=Untouchable(1), not_private=True)
    assert account.kept == []


@each
def test_the_charge_comes_before_the_draw(release: Callable[..., Any], what: str, parameter: str) -> None:
    """The draw fails, and the charge is there: a crash at that moment leaves it spent."""
    account = Noted()
    with pytest.raises((AssertionError, sg.TableError)):
        release(ledger=account, source=Untouchable(1), not_private=True)
    assert len(account.charged) == 1
    assert account.kept == []


@each
def test_a_call_that_is_refused_spends_nothing(release: Callable[..., Any], what: str, parameter: str) -> None:
    account = Noted()
    for wrong in ({parameter: 0}, {"source": "dice"}, {"source": sg.Seeded(1)}):
        with pytest.raises(sg.ParameterError):
            release(ledger=account, **wrong)
    assert account.charged == []


class Shrinking(float):
    """A number that is smaller each time it is read."""

    read = 0

    def __repr__(self) -> str:
        self.read += 1
        return str(0.5**self.read)


@pytest.mark.parametrize("release", [gate, number, positions, names, passes])
def test_an_epsilon_is_read_once(release: Callable[..., Any]) -> None:
    """What the noise is made for is what is charged."""
    account, epsilon = Noted(), Shrinking(0.5)
    release(ledger=account, epsilon=epsilon)
    assert repr(account.charged[0][0]) == "Fraction(1, 2)"  # whoever reads it again reads the same
    assert epsilon.read == 1


def test_what_a_release_returns_is_what_is_kept() -> None:
    seeded = {"source": sg.Seeded(1), "not_private": True}
    account = Noted()
    assert number(ledger=account, **seeded) == account.kept[-1]["value"]
    assert positions(ledger=account, **seeded) == [row["item"] for row in account.kept[-1]["items"]]
    assert names(ledger=account, **seeded) == tuple(row["item"] for row in account.kept[-1]["items"])
    found = items(ledger=account, **seeded)
    assert {"release": "top_items", **found.to_dict()} == account.kept[-1]
    assert [gave["release"] for gave in account.kept] == ["laplace", "select_top", "select_top", "top_items"]


class Later:
    """An account for another loop: what it is asked to spend is not spent when the call returns."""

    async def spend(self, **_: Any) -> None: ...
    async def keep(self, *_: Any) -> None: ...


class BackLater:
    """An account that spends at once, and takes back in another loop: what goes back would never arrive."""

    def spend(self, **_: Any) -> None:
        raise AssertionError

    def keep(self, *_: Any) -> None: ...
    async def give_back(self, *_: Any, **__: Any) -> None: ...


@pytest.mark.parametrize("wrong", ["visits.ledger", 3, object(), sg.Ledger, Later(), BackLater()])
def test_what_is_no_ledger_is_refused_by_name(wrong: Any) -> None:
    with pytest.raises(sg.ParameterError, match=r"^ledger must be an open ledger"):
        number(ledger=wrong, source=Untouchable(1), not_private=True)
