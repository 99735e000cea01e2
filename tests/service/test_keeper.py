"""The keeper: gates are charged in full, answer, and close; whatever is refused spends nothing."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from tests.support.pretend_service import HIGH, LOW, Shop

from sparsegate.errors import BudgetExceeded, GateClosed, KeyReused, ParameterError, UnknownGate
from sparsegate.service.keeper import Keeper


def test_a_gate_answers_and_closes_after_its_positives(shop: Shop, keeper: Keeper) -> None:
    gate = shop.open(keeper, cutoff=2)
    replies = [keeper.ask(shop.caller(), gate, where) for where in (LOW, HIGH, LOW, HIGH)]
    assert [reply.above for reply in replies] == [False, True, False, True]
    assert [reply.remaining for reply in replies] == [2, 1, 1, 0]
    assert [reply.number for reply in replies] == [1, 2, 3, 4]
    assert replies[-1].closed
    with pytest.raises(GateClosed, match="all 2 of its positive answers"):
        keeper.ask(shop.caller(), gate, LOW)
    view = keeper.gate(gate)
    assert (view["asked"], view["positives"], view["lost"], view["closed"]) == (4, 2, 0, True)


def test_opening_reserves_the_whole_epsilon_and_closing_gives_back_the_rest(shop: Shop, keeper: Keeper) -> None:
    gate = shop.open(keeper, epsilon=Decimal("0.1"))
    assert str(keeper.budget().spent) == "epsilon 0.1"
    keeper.ask(shop.caller(), gate, LOW)
    view = keeper.close_gate(gate)
    assert Fraction(view["spent"]) + Fraction(view["given_back"]) == Fraction(1, 10)
    assert Fraction(0) < Fraction(view["spent"]) < Fraction(1, 10)
    assert view["reserved"] == "0"
    assert keeper.budget().spent.epsilon == Fraction(view["spent"])
    assert keeper.gate(gate)["because"] == "it was closed by hand"
    with pytest.raises(GateClosed, match="closed by hand"):
        keeper.ask(shop.caller(), gate, LOW)


@pytest.mark.parametrize(
    ("changes", "parameter"),
    [
        ({"epsilon": 0}, "epsilon"),
        ({"cutoff": 0}, "cutoff"),
        ({"threshold": 0.5}, "threshold"),
        ({"queries": 0}, "queries"),
    ],
)
def test_a_gate_that_cannot_be_made_is_not_charged(shop: Shop, keeper: Keeper, changes: dict, parameter: str) -> None:
    with pytest.raises(ParameterError) as refused:
        keeper.open_gate(shop.caller(), **{"threshold": 1, "cutoff": 1, "epsilon": 1} | changes)
    assert refused.value.parameter == parameter
    assert keeper.budget().spent.epsilon == 0


def test_a_planned_gate_closes_after_its_questions(shop: Shop, keeper: Keeper) -> None:
    gate = shop.open(keeper, queries=2)
    assert [keeper.ask(shop.caller(), gate, LOW).closed for _ in range(2)] == [False, True]
    with pytest.raises(GateClosed, match="planned for"):
        shop.keeper().ask(shop.caller(), gate, LOW)


def test_a_wrong_condition_and_an_unknown_gate_spend_nothing(shop: Shop, keeper: Keeper) -> None:
    gate = shop.open(keeper)
    with pytest.raises(ParameterError, match="page"):
        keeper.ask(shop.caller(), gate, "pag = 'x'")
    with pytest.raises(UnknownGate):
        keeper.ask(shop.caller(), "g-none", LOW)
    with pytest.raises(UnknownGate):
        keeper.close_gate("g-none")
    assert keeper.gate(gate)["asked"] == 0


def test_a_top_is_charged_once_stored_and_given_again(shop: Shop, keeper: Keeper) -> None:
    question = {"item": "page", "count": 1, "epsilon": Decimal(2), "domain": ["a", "b"]}
    first = keeper.top(shop.caller("k"), question)
    assert first == keeper.top(shop.caller("k"), question)
    assert [row["item"] for row in first["items"]] == ["a"]
    (kept,) = keeper.ledger.release(2).gave
    assert {name: kept[name] for name in first} == first
    assert keeper.budget().spent.epsilon == 2
    with pytest.raises(BudgetExceeded):
        keeper.top(shop.caller(), question | {"epsilon": Decimal(9)})
    assert keeper.budget().spent.epsilon == 2


def test_an_above_carries_an_estimate_and_a_retry_and_the_list_have_the_same(shop: Shop, keeper: Keeper) -> None:
    gate = shop.open(keeper, epsilon=10)
    first = keeper.ask(shop.caller("mine"), gate, HIGH)
    assert first.estimate is not None
    assert abs(first.estimate - 1_000_000) < 100
    view = keeper.gate(gate)
    assert first.standard_error == view["standard_error"] > 0
    below = keeper.ask(shop.caller(), gate, LOW)
    assert (below.estimate, below.standard_error) == (None, None)
    assert keeper.ask(shop.caller("mine"), gate, HIGH).estimate == first.estimate
    assert [past.estimate for past in keeper.answers(gate)] == [first.estimate, None]


@pytest.mark.parametrize(("noise", "stored"), [("auto", "exponential"), ("laplace", "laplace")])
def test_a_gate_has_the_noise_that_was_asked_for(shop: Shop, keeper: Keeper, noise: str, stored: str) -> None:
    gate = shop.open(keeper, noise=noise)
    assert keeper.gate(gate)["noise"] == stored
    assert shop.keeper().ask(shop.caller(), gate, HIGH).above, "another process goes on with it"


def test_a_two_sided_gate_goes_on_until_both_answers_were_given(shop: Shop, keeper: Keeper) -> None:
    gate = shop.open(keeper, cutoff=2, closes="rarer")
    replies = [keeper.ask(shop.caller(), gate, where) for where in (HIGH, HIGH, HIGH, HIGH, LOW, HIGH, LOW)]
    assert [reply.remaining for reply in replies] == [2, 2, 2, 2, 1, 1, 0]
    assert {reply.estimate for reply in replies} == {None}
    assert replies[-1].closed
    with pytest.raises(GateClosed, match="both answers are given or lost 2 times"):
        keeper.ask(shop.caller(), gate, LOW)


def test_a_request_from_before_the_noise_could_be_chosen_stays_the_same(shop: Shop, keeper: Keeper) -> None:
    public = {"threshold": 0, "cutoff": 3, "epsilon": 1}
    first = keeper.open_gate(shop.caller("again"), **public)
    assert keeper.open_gate(shop.caller("again"), **public, noise="auto", closes="above") == first
    with pytest.raises(KeyReused):
        keeper.open_gate(shop.caller("again"), **public, closes="rarer")
