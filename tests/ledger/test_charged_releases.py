"""Everything that takes ``ledger=``: charged in full when all is checked and nothing is drawn, and then kept."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import pandas
import pytest
from tests.support.accounts import Noted
from tests.support.untouchable import Untouchable

import sparsegate as sg
from sparsegate.budget import in_decimals

VISITS = pandas.DataFrame({"page": ["/home"] * 40 + ["/docs"] * 30, "visitor": [*range(40), *range(30)]})


SCORES = {"/home": 900, "/blog": 3, "/docs": 800}
GATE = {"threshold": 1000, "cutoff": 25, "sensitivity": 1, "epsilon": 0.5}
SHARES = sg.Budget(threshold_epsilon=0.25, query_epsilon=0.125, answer_epsilon=0.125)
TOP = {"count": 1, "epsilon": 0.5, "sensitivity": 1}
PAGES = {"item": "page", "user": "visitor", "epsilon": 0.5}
LISTED = PAGES | {"count": 1, "epsilon": 0.25, "answers_epsilon": 0.25, "domain": ["/home", "/docs"]}
RECORDED = "gate: threshold 1000, cutoff 25, exponential-gap"
EVERY: dict[str, tuple[Callable[..., Any], dict[str, Any], str, str]] = {
    "gate": (sg.SparseVector, GATE, RECORDED, "cutoff"),
    "gate with shares": (sg.SparseVector, GATE | {"budget": SHARES, "epsilon": None}, RECORDED, "cutoff"),
    "planned": (sg.SparseVector, GATE | {"queries": 400}, RECORDED, "queries"),
    "number": (
        partial(sg.laplace, 1234),
        {"epsilon": 0.5, "sensitivity": 1},
        "one number with Laplace noise, sensitivity 1",
        "sensitivity",
    ),
    "positions": (partial(sg.select_top, [9, 400, 8]), TOP, "top 1, method subset", "count"),
    "names": (partial(sg.select_top, SCORES), TOP | {"count": 2}, "top 2, method subset", "count"),
    "passes": (
        partial(sg.select_top, [9, 400, 8]),
        TOP | {"method": "retraversal", "threshold": 50},
        "top 1, method retraversal",
        "max_passes",
    ),
    "items": (
        partial(sg.top_items, VISITS),
        LISTED,
        "top 1 of page, unit user, method subset, domain public",
        "count",
    ),
    "observed": (
        partial(sg.top_items, VISITS),
        PAGES | {"count": 1, "domain": "observed", "delta": 1e-6},
        "top 1 of page, unit user, method exponential, domain observed",
        "count",
    ),
    "above": (
        partial(sg.items_above, VISITS),
        PAGES | {"above": 50, "delta": 1e-6, "max_items_per_user": 1},
        "page of 50 or more, unit user, method partition-selection, domain observed",
        "above",
    ),
    "online": (
        partial(sg.uses.OnlineAnswers, VISITS, {"page": ["/home", "/docs"]}),
        {"user": "visitor", "epsilon": 0.5, "tolerance": 20, "cutoff": 3},
        "online answers: tolerance 20, cutoff 3, 2 cells",
        "cutoff",
    ),
}
"""The call, its parameters, what is recorded of it, and a parameter that must not be 0."""
each = pytest.mark.parametrize("name", EVERY)
SEEDED: dict[str, Any] = {"source": sg.Seeded(1), "not_private": True}
UNTOUCHED: dict[str, Any] = {"source": Untouchable(1), "not_private": True}


def release(name: str, **options: Any) -> Any:
    call, parameters, _, _ = EVERY[name]
    return call(**parameters | options)


@each
def test_a_release_is_charged_all_of_its_epsilon_and_says_which_it_was(name: str) -> None:
    account = Noted()
    release(name, ledger=account, **SEEDED)
    ((epsilon, delta, said),) = account.charged
    assert (Fraction(str(epsilon)), said) == (Fraction(1, 2), EVERY[name][2])
    assert Fraction(delta) == (Fraction(1, 10**6) if name in ("observed", "above") else 0)


@each
def test_a_ledger_that_refuses_comes_before_any_draw_and_the_charge_before_it(name: str) -> None:
    """Where the draw fails, the charge is there: a crash at that moment leaves it spent."""
    account = Noted(refuses=sg.BudgetExceeded("no more"))
    with pytest.raises(sg.BudgetExceeded, match="no more"):
        release(name, ledger=account, **UNTOUCHED)
    charged = Noted()
    with pytest.raises((AssertionError, sg.TableError)):
        release(name, ledger=charged, **UNTOUCHED)
    assert len(charged.charged) == 1
    assert account.kept == charged.kept == []


@each
def test_a_call_that_is_refused_spends_nothing(name: str) -> None:
    account = Noted()
    for wrong in ({EVERY[name][3]: 0}, {"source": "dice"}, {"source": sg.Seeded(1)}):
        with pytest.raises(sg.ParameterError):
            release(name, ledger=account, **wrong)
    assert account.charged == []


class Shrinking(float):
    """A number that is smaller each time it is read."""

    read = 0

    def __repr__(self) -> str:
        self.read += 1
        return str(0.5**self.read)


@pytest.mark.parametrize("name", ["gate", "number", "positions", "names", "passes"])
def test_an_epsilon_is_read_once(name: str) -> None:
    """What the noise is made for is what is charged."""
    account, epsilon = Noted(), Shrinking(0.5)
    release(name, ledger=account, epsilon=epsilon)
    assert repr(account.charged[0][0]) == "Fraction(1, 2)"  # whoever reads it again reads the same
    assert epsilon.read == 1


def test_what_a_release_returns_is_what_is_kept() -> None:
    account = Noted()
    assert release("number", ledger=account, **SEEDED) == account.kept[-1]["value"]
    for name, named in (("positions", lambda top: top.indices.tolist()), ("names", lambda top: list(top.items))):
        assert named(release(name, ledger=account, **SEEDED)) == [row["item"] for row in account.kept[-1]["items"]]
    found = release("items", ledger=account, **SEEDED)
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
        release("number", ledger=wrong, **UNTOUCHED)


COLUMNS = {"a": [0, 1], "b": [0, 1, 2], "c": [0, 1]}
ROWS = {"a": [0, 1] * 40, "b": [0, 1, 2, 2] * 20, "c": [1, 0] * 40}
HOLDOUT = {"size": 9_000, "threshold": 0.1, "cutoff": 5, "epsilon": 0.5}
BETTER = {"by": 0.1, "size": 9_000, "epsilon": 0.5, "cutoff": 3}
ONLINE = {"user": "visitor", "epsilon": 0.5, "tolerance": 200, "cutoff": 3}
PREDICTED: dict[str, Any] = {"threshold": 0.4, "cutoff": 9, "epsilon": 1, "clip": 5, "vocabulary": 2}
MODELS = partial(sg.uses.PrivatePredictor, [None] * 500, lambda text: [0, 1])
WIDE = pandas.DataFrame({"page": [*range(60)] * 900, "visitor": [n // 60 for n in range(54_000)], "amount": 7})
COUNTED = PAGES | {"count": 60, "epsilon": 9, "answers_epsilon": 1}
LOOKED_AT: dict[str, tuple[Callable[..., Any], Callable[..., Any], dict[str, Any]]] = {
    "holdout": (sg.uses.Holdout, sg.uses.Holdout.preview, HOLDOUT),
    "improvement": (sg.uses.improved, sg.uses.Improvement.preview, BETTER),
    "online": (
        partial(sg.uses.OnlineAnswers, VISITS, {"page": ["/home", "/docs"]}),
        partial(sg.uses.OnlineAnswers.preview, {"page": ["/home", "/docs"]}),
        ONLINE,
    ),
    "tree": (
        partial(sg.uses.dependency_tree, ROWS, COLUMNS),
        partial(sg.uses.preview_tree, COLUMNS),
        {"epsilon": 0.5, "unit": "row"},
    ),
    "forest": (
        partial(sg.uses.dependency_tree, ROWS, COLUMNS),
        partial(sg.uses.preview_tree, COLUMNS),
        {"epsilon": 0.5, "unit": "row", "thresholds": [90, 40]},
    ),
    "prediction": (MODELS, partial(sg.uses.PrivatePredictor.preview, batches=500), PREDICTED),
    "labels": (
        partial(sg.uses.PrivatePredictor, [None] * 500, lambda text: 1),
        partial(sg.uses.PrivatePredictor.preview, batches=500),
        {"threshold": 0.4, "cutoff": 9, "epsilon": 1, "vocabulary": 3, "gives": "labels", "alone": True},
    ),
    "gate": (sg.SparseVector, sg.SparseVector.preview, GATE | {"delta": 1e-6}),
    "cells": (sg.Gates, sg.Gates.preview, GATE | {"cells": 100, "cells_per_user": 3}),
    "alert": (sg.uses.Alert, sg.uses.Alert.preview, {"threshold": 99, "cutoff": 3, "epsilon": 1, "fires": "below"}),
    "items": (partial(sg.top_items, VISITS), sg.preview, LISTED | {"max_items_per_user": 2}),
    "counts": (partial(sg.top_items, WIDE), sg.preview, COUNTED | {"domain": range(60), "max_items_per_user": 60}),
    "observed": (
        partial(sg.top_items, WIDE),
        sg.preview,
        COUNTED | {"domain": "observed", "delta": 1e-6, "max_items_per_user": 60},
    ),
    "sums": (
        partial(sg.top_sums, WIDE),
        sg.preview,
        COUNTED | {"value": "amount", "clip": "auto", "domain": range(60), "max_items_per_user": 60},
    ),
    "itemsets": (
        partial(sg.uses.frequent_itemsets, VISITS),
        sg.uses.preview_itemsets,
        PAGES | {"count": 1, "domain": ["/home", "/docs"], "answers_epsilon": 0.5},
    ),
}


@pytest.mark.parametrize("name", LOOKED_AT)
@pytest.mark.parametrize("budget", [90, (90, 1e-6)])
def test_a_preview_says_what_the_ledger_is_charged_and_charges_nothing(tmp_path: Any, name: str, budget: Any) -> None:
    release, preview, public = LOOKED_AT[name]
    with sg.Ledger.create(tmp_path / "l.ledger", dataset="visits", budget=budget, budget_delta=0.01) as ledger:
        unread = {"ledger": ledger, "source": Untouchable(1), "not_private": True}
        takes = inspect.signature(preview).parameters
        shown = preview(**public, **{name: value for name, value in unread.items() if name in takes})
        assert not [entry for entry in ledger.statement().entries if entry.kind.spends]
        release(**public, ledger=ledger)
        amount, cost = next(entry.amount for entry in ledger.statement().entries if entry.kind.spends), shown.cost
        assert amount.epsilon == cost.epsilon
        assert amount.delta == (cost.delta if budget == 90 else cost.rho_delta)
        assert budget == 90 or amount.rho == in_decimals(cost.rho)
    assert shown.cost_at(shown.epsilon).epsilon == pytest.approx(float(shown.epsilon), rel=1e-9)
    series = shown.repeated(50, budget=budget).series
    assert all(each > 0 for each in series.largest.values())
    assert not shown.warning
