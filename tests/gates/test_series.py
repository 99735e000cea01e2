"""What a series of releases costs: the ledger admits just what the preview says, by either rule."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import sparsegate as sg
from sparsegate.budget import Cost
from sparsegate.gates.series import rounded_up

TOP: dict[str, Any] = {"count": 10, "epsilon": 0.1, "domain": 1000, "method": "exponential"}
PREVIEWS: dict[str, Any] = {
    "top by exponential": lambda epsilon: sg.preview(**TOP | {"epsilon": epsilon}),
    "top with counts": lambda epsilon: sg.preview(**TOP | {"epsilon": epsilon / 2}, answers_epsilon=epsilon / 2),
    "top by noisy scores": lambda epsilon: sg.preview(count=9, epsilon=epsilon, domain=99, max_items_per_user=2),
    "groups": lambda epsilon: sg.preview(
        **TOP | {"epsilon": epsilon}, per="city", groups="A,B", groups_per_user=2, user="u"
    ),
    "a gate": lambda epsilon: sg.SparseVector.preview(cutoff=5, epsilon=epsilon, sensitivity=1),
    "cells": lambda epsilon: sg.Gates.preview(cells=9, cells_per_user=3, cutoff=2, epsilon=epsilon, sensitivity=1),
    "an alert": lambda epsilon: sg.uses.Alert.preview(threshold=9, cutoff=2, epsilon=epsilon, windows_per_user=2),
    "sets": lambda epsilon: sg.uses.preview_itemsets(count=5, size=2, epsilon=epsilon, domain=40),
    "features": lambda epsilon: sg.uses.SelectKBestPrivate(k=2, epsilon=epsilon, classes=[0, 1], categories=2).preview(
        9
    ),
}


@pytest.mark.parametrize("name", PREVIEWS)
@pytest.mark.parametrize("budget", [2, (2, 1e-6)])
def test_the_largest_epsilon_is_the_last_that_the_ledger_admits(tmp_path: Path, name: str, budget: Any) -> None:
    """So many releases of that epsilon fit a ledger, and of one more in its third digit they do not."""
    series = PREVIEWS[name](Fraction(1, 10)).repeated(50, budget=budget).series
    rule = "epsilon" if budget == 2 else "zcdp"
    largest = series.largest[rule]
    assert largest is not None
    step = Fraction(10) ** (math.floor(math.log10(largest)) - 2)
    for epsilon, fits in ((largest, True), (largest + step, False)):
        cost = 50 * PREVIEWS[name](epsilon).cost
        with sg.Ledger.create(tmp_path / f"{fits}.ledger", dataset="visits", budget=budget) as ledger:
            if fits:
                ledger.spend(epsilon=cost.epsilon, rho=cost.rho, what="all of them")
            else:
                with pytest.raises(sg.BudgetExceeded):
                    ledger.spend(epsilon=cost.epsilon, rho=cost.rho, what="all of them")


def test_what_a_ledger_has_left_is_the_budget(tmp_path: Path) -> None:
    with sg.Ledger.create(tmp_path / "z.ledger", dataset="visits", budget=(1, 1e-7)) as ledger:
        before = sg.preview(**TOP, times=100, ledger=ledger).series
        ledger.spend(epsilon=0.15, what="a mean")
        after = sg.preview(**TOP, times=100, ledger=ledger).series
        assert len(ledger.entries()) == 2
    assert before is not None
    assert after is not None
    assert (after.delta, set(after.largest)) == (Fraction(1, 10**7), {"zcdp"})
    assert 0 < after.largest["zcdp"] < before.largest["zcdp"]  # type: ignore[operator]
    assert "what the ledger has left, rho" in after.statement
    with sg.Ledger.create(tmp_path / "a.ledger", dataset="visits", budget=1) as ledger:
        assert sg.preview(**TOP, times=100, ledger=ledger).series.largest == {"epsilon": Fraction(1, 100)}  # type: ignore[union-attr]
        # Deltas that releases have of their own need a budget, too, and this ledger has none.
        observed: dict[str, Any] = TOP | {"domain": "observed", "delta": 1e-8}
        assert sg.preview(**observed, times=2, ledger=ledger).series.largest == {"epsilon": None}  # type: ignore[union-attr]


@pytest.mark.parametrize("asked", [{"above": 1000, "max_items_per_user": 2}, {"above": 400, "max_items_per_user": 50}])
def test_a_bar_that_a_smaller_epsilon_cannot_have_has_a_largest_epsilon(tmp_path: Path, asked: dict[str, Any]) -> None:
    """Far below the epsilon that was asked for there is no such bar: that is no reason why none should fit."""

    def cost(epsilon: Fraction) -> Cost:
        return 30 * sg.preview(**asked, epsilon=epsilon, delta=1e-7).cost

    series = sg.preview(**asked, epsilon=0.5, delta=1e-7, times=30, budget=(3, 1e-6)).series
    assert series is not None
    largest = series.largest["zcdp"]
    assert largest is not None
    assert f"{float(largest):g} at most on a zCDP ledger (budget_delta {float(series.cost.rho_delta):g})" in (
        series.statement
    )
    with sg.Ledger.create(tmp_path / "z.ledger", dataset="d", budget=(3, 1e-6), budget_delta=1e-5) as ledger:
        spent = cost(largest)
        ledger.spend(epsilon=spent.epsilon, delta=spent.rho_delta, rho=spent.rho, what="all of them")
        limit = ledger.statement().budget.rho
    assert cost(largest + Fraction(10) ** (math.floor(math.log10(largest)) - 2)).rho > limit
    # An epsilon that is so small that there is no such bar is none that fits.
    assert sg.preview(**asked, epsilon=0.5, delta=1e-7, times=10**6, budget=1).series.largest == {"epsilon": None}  # type: ignore[union-attr]


REFUSED = [
    ({"times": 0}, "times must be a whole number"),
    ({"times": 2, "budget": float("nan")}, "budget must be a positive finite number"),
    ({"times": 2, "budget": (1, 0)}, r"a delta strictly between 0 and 1, got \(1, 0\); pass .* budget=\(1, 1e-6\)"),
    ({"times": 2, "budget": (1,)}, "budget must be a positive finite epsilon, or such an epsilon and a delta"),
    ({"budget": 2}, "budget is for a series"),
    ({"times": 2, "budget": 2, "ledger": object()}, "budget must not be given with a ledger"),
]


@pytest.mark.parametrize(("asked", "message"), REFUSED)
def test_what_is_wrong_with_a_series_is_said(asked: dict[str, Any], message: str) -> None:
    with pytest.raises(sg.ParameterError, match=message):
        sg.preview(**TOP, **asked)


@pytest.mark.parametrize("epsilon", [1.40069, 0.0001234567, 12345.678, 0.25, 99.999])
def test_an_epsilon_is_never_shown_smaller_than_it_is(epsilon: float) -> None:
    assert epsilon <= float(rounded_up(epsilon)) <= epsilon * 1.001
