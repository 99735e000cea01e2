"""Gates of a service give back what they did not use: when they close, once, and never more than is safe to tell."""

from __future__ import annotations

import threading
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from tests.support.pretend_service import HIGH, LOW, Pretend, Shop, broken, swallow, until
from tests.support.threads import at_once

import sparsegate as sg
from sparsegate.errors import BudgetExceeded, LedgerError
from sparsegate.gates.variants import Noise
from sparsegate.ledger.account import EntryKind
from sparsegate.ledger.gate import rounded_down
from sparsegate.ledger.ledger import Ledger
from sparsegate.service.gate_store import GateStore
from sparsegate.service.gates import GateSpec, Tally, law, unused
from sparsegate.service.keeper import Keeper

ONE = Fraction(1)


def counted(below: int = 0, above: int = 0, lost: int = 0, cutoff: int = 3) -> Fraction:
    """What a gate of epsilon 1 counts for on the ledger, by the bounds of the library's own gate."""
    like = sg.SparseVector(threshold=0, cutoff=cutoff, epsilon=1, sensitivity=1, monotonic=True)
    ways = [like.cost(below=below + i, above=above + lost - i) for i in range(lost + 1)]
    return ONE - rounded_down(ONE - max(ways))


def stored(keeper: Keeper, gate: str) -> Tally:
    """With what nobody may see yet."""
    return GateStore(keeper.ledger).gate(gate).tally


def refunds(keeper: Keeper) -> list[Fraction]:
    return [entry.amount.epsilon for entry in keeper.ledger.entries() if entry.kind is EntryKind.REFUND]


def test_an_ask_without_an_outcome_costs_what_the_dearer_one_would() -> None:
    spec = GateSpec(threshold=0, cutoff=3, epsilon=ONE)
    for below, above, lost in ((0, 0, 1), (1, 0, 1), (0, 1, 1), (2, 1, 1), (1, 0, 2)):
        tally = Tally(spec=spec, asked=below + above + lost, below=below, above=above)
        assert ONE - unused(tally) == counted(below, above, lost)
    assert counted(2, 0) < counted(1, 1) == counted(1, 0, lost=1)


def test_of_many_that_close_a_gate_at_once_one_gives_back(shop: Shop) -> None:
    keepers = [shop.keeper() for _ in range(3)]
    gate = shop.open(keepers[0])
    keepers[0].ask(shop.caller(), gate, LOW)
    views = at_once(lambda keeper: keeper.close_gate(gate), keepers)
    assert {view["given_back"] for view in views} == {views[0]["given_back"]}
    assert refunds(keepers[0]) == [ONE - counted(below=1)] == [Fraction(views[0]["given_back"])]


def test_a_gate_that_gave_its_last_answer_gives_back_to_whoever_comes_next(shop: Shop) -> None:
    keeper = shop.keeper()
    gate = shop.open(keeper, cutoff=1)
    assert keeper.ask(shop.caller(), gate, HIGH).closed
    assert refunds(keeper) == []
    view = keeper.gate(gate)
    assert Fraction(view["spent"]) == counted(above=1, cutoff=1) < 1
    assert Fraction(view["given_back"]) == ONE - Fraction(view["spent"])
    assert keeper.budget().spent.epsilon == Fraction(view["spent"])


def test_an_opening_may_use_what_closed_gates_left(shop: Shop) -> None:
    """Without a look in between: the transaction that charges gives back first."""
    keeper = shop.keeper()
    gate = shop.open(keeper, epsilon=10, cutoff=1)
    keeper.ask(shop.caller(), gate, HIGH)
    left = unused(stored(keeper, gate))
    assert refunds(keeper) == []
    with pytest.raises(BudgetExceeded):
        shop.open(keeper, epsilon=10)
    assert refunds(keeper) == []
    shop.open(keeper, epsilon=left)
    assert refunds(keeper) == [left]
    assert keeper.budget().remaining.epsilon == 0


def test_what_a_killed_server_did_not_give_back_the_next_one_does(shop: Shop) -> None:
    gate = shop.open(keeper := shop.keeper(), cutoff=1)
    keeper.ask(shop.caller(), gate, HIGH)
    assert refunds(keeper) == []
    assert refunds(shop.keeper()) == [ONE - counted(above=1, cutoff=1)]


@pytest.mark.parametrize("where", [HIGH, LOW])
def test_nothing_goes_back_while_an_answer_is_on_its_way(shop: Shop, where: str) -> None:
    keeper = shop.keeper(delay=1.2)
    gate = shop.open(keeper)
    asking = threading.Thread(target=lambda: swallow(keeper, shop, gate, where))
    asking.start()
    until(lambda: stored(keeper, gate).asked == 1 and not stored(keeper, gate).unsettled)
    view = keeper.close_gate(gate)
    assert (view["closed"], view["given_back"], view["spent"], refunds(keeper)) == (True, "0", "0", [])
    asking.join()
    view = keeper.gate(gate)
    assert view["asked"] == 1
    assert Fraction(view["spent"]) == counted(below=where == LOW, above=where == HIGH)
    assert refunds(keeper) == [ONE - Fraction(view["spent"])] == [Fraction(view["given_back"])]


def test_a_closing_that_nobody_may_see_yet_gives_nothing_back_yet(shop: Shop) -> None:
    keeper = shop.keeper(Pretend(counted=broken), delay=1.2)
    gate = shop.open(keeper)
    asking = threading.Thread(target=lambda: swallow(keeper, shop, gate, LOW))
    asking.start()
    until(lambda: bool(stored(keeper, gate).because))
    keeper.gates()
    other = shop.open(keeper)
    keeper.close_gate(other)
    assert keeper.budget().spent.epsilon == 1
    asking.join()
    assert keeper.budget().spent.epsilon == counted(lost=1)
    assert keeper.gate(gate)["lost"] == 1


def test_gates_on_other_data_give_back_when_the_service_starts(shop: Shop) -> None:
    gate = shop.open(shop.keeper())
    shop.keeper().ask(shop.caller(), gate, LOW)
    assert refunds(shop.keeper(Pretend("second"), close_gates=True)) == [ONE - counted(below=1)]


def test_closing_and_giving_back_are_one_transaction(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    keeper = shop.keeper()
    gate = shop.open(keeper)

    def fail(*_: Any) -> None:
        raise LedgerError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "refund", fail)
        with pytest.raises(LedgerError):
            keeper.close_gate(gate)
    assert not keeper.gate(gate)["closed"]
    keeper.ask(shop.caller(), gate, LOW)
    keeper.close_gate(gate)
    assert refunds(keeper) == [ONE - counted(below=1)]


@pytest.mark.parametrize("queries", [None, 2])
def test_a_gate_is_counted_by_the_law_of_its_own_noise(shop: Shop, queries: int | None) -> None:
    keeper = shop.keeper()
    gate = shop.open(keeper, queries=queries, cutoff=3)
    live = keeper._live[gate]._calibration
    assert law(stored(keeper, gate).spec) == live
    other = law(replace(stored(keeper, gate).spec, noise="laplace"))
    assert other.row.noise is Noise.LAPLACE
    assert (other == live) == (live.row.noise is Noise.LAPLACE) == (queries is not None)


def test_the_old_rule_is_that_of_the_gates_opened_under_it(shop: Shop) -> None:
    old, new = shop.keeper(refund=False), shop.keeper()
    kept, other = shop.open(old), shop.open(new)
    assert new.close_gate(kept)["reserved"] == "1"
    assert old.close_gate(other)["given_back"] == "1"
    assert new.budget().spent.epsilon == 1
