"""Gates of a service without a cutoff: each ABOVE is paid for before it is drawn, once, whatever crashes."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from tests.support.pretend_service import HIGH, LOW, Shop

from sparsegate.errors import (
    BudgetExceeded,
    GateBusy,
    GateClosed,
    OutcomeLost,
    ParameterError,
    QuotaExceeded,
    SparsegateError,
)
from sparsegate.gates.sparse_vector import SparseVector
from sparsegate.ledger.backup import back_up, restore
from sparsegate.ledger.ledger import Ledger
from sparsegate.service.gate_store import CANNOT_PAY, GateStore
from sparsegate.service.gates import GateRow, GateSpec, preview_view
from sparsegate.service.keeper import Keeper
from sparsegate.service.tokens import Tokens

WITHIN = 1000


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    made = Shop(tmp_path, budget=(1, 1e-6))  # type: ignore[arg-type]
    yield made
    made.shut()


@pytest.fixture
def shop_on_both(tmp_path: Path, place: str) -> Iterator[Shop]:
    """What a store decides must hold on SQLite and on PostgreSQL."""
    made = Shop(tmp_path, place=place, budget=(1, 1e-6))  # type: ignore[arg-type]
    yield made
    made.shut()


@pytest.fixture
def keeper(shop: Shop) -> Keeper:
    return shop.keeper()


def opened(shop: Shop, keeper: Keeper, **more: object) -> str:
    return str(keeper.open_gate(shop.caller(), threshold=0, within=WITHIN, **more)["id"])  # type: ignore[arg-type]


def row_of(keeper: Keeper, gate: str) -> GateRow:
    return keeper._store.gate(gate)


def rho(keeper: Keeper) -> Fraction:
    return keeper.ledger.statement().spent.rho or Fraction(0)


def costs(keeper: Keeper, gate: str, positives: int) -> bool:
    """Whether the ledger counts the opening of its one gate, and this many ABOVE."""
    price = row_of(keeper, gate).tally.spec.price
    assert price is not None
    return rho(keeper) == price.rho(positives)


def test_the_opening_is_charged_and_one_above_is_held_and_a_below_is_free(shop: Shop, keeper: Keeper) -> None:
    gate = opened(shop, keeper)
    assert costs(keeper, gate, 1)
    assert [keeper.ask(shop.caller(), gate, LOW).above for _ in range(5)] == [False] * 5
    assert costs(keeper, gate, 1)
    replies = [keeper.ask(shop.caller(), gate, where) for where in (HIGH, LOW, HIGH, LOW)]
    assert [reply.above for reply in replies] == [True, False, True, False]
    assert {(reply.remaining, reply.closed, reply.estimate) for reply in replies} == {(None, False, None)}
    assert costs(keeper, gate, 3)  # two given, one held
    view = keeper.gate(gate)
    assert (view["cutoff"], view["remaining"], view["positives"], view["closed"]) == (None, None, 2, False)
    assert Fraction(view["spent"]) + Fraction(view["reserved"]) == Fraction(view["epsilon"])
    assert Fraction(view["reserved"]) == row_of(keeper, gate).tally.spec.above
    assert (view["within"], view["expect"], view["margin"] <= WITHIN) == ("1000", 10, True)


def test_the_commit_of_an_outcome_shows_nothing_on_the_ledger(shop: Shop, keeper: Keeper) -> None:
    store, gate = keeper._store, opened(shop, keeper)
    row = row_of(keeper, gate)
    store.pay_ahead(row)
    number = store.intend(row, shop.caller(), HIGH, arrive=lambda: time.monotonic() + 60)
    assert isinstance(number, int)
    before = keeper.ledger.entries()
    store.settle(row, number, above=True)
    assert keeper.ledger.entries() == before
    assert keeper.gate(gate)["positives"] == 0


def test_closing_gives_back_what_is_held_once(shop_on_both: Shop) -> None:
    shop, keeper = shop_on_both, shop_on_both.keeper()
    gate = opened(shop, keeper)
    keeper.ask(shop.caller(), gate, HIGH)
    keeper.ask(shop.caller(), gate, LOW)
    assert costs(keeper, gate, 2)
    view = keeper.close_gate(gate)
    assert costs(keeper, gate, 1)
    assert (view["reserved"], Fraction(view["given_back"])) == ("0", row_of(keeper, gate).tally.spec.above)
    keeper.close_gate(gate)
    shop.keeper()
    assert costs(keeper, gate, 1)
    with pytest.raises(GateClosed, match="closed by hand"):
        keeper.ask(shop.caller(), gate, LOW)


@pytest.mark.parametrize("refund", [True, False])
def test_neither_what_an_above_has_used_goes_back_nor_without_refunds_what_is_held(shop: Shop, refund: bool) -> None:
    keeper = shop.keeper(refund=refund)
    gate = opened(shop, keeper)
    if refund:
        keeper.ask(shop.caller(), gate, HIGH)
    keeper.close_gate(gate)
    assert costs(keeper, gate, 1)


def test_an_outcome_after_the_charge_went_back_stays_lost(shop: Shop, keeper: Keeper) -> None:
    """As for any gate that gave back: here by a server that thinks that the answer has left."""
    store, gate = keeper._store, opened(shop, keeper)
    row = row_of(keeper, gate)
    number = store.intend(row, shop.caller(), LOW, arrive=time.monotonic)
    assert isinstance(number, int)
    store.settle(row, number, above=False)
    store.close("by hand", id=gate)
    assert costs(keeper, gate, 0)
    with pytest.raises(SparsegateError, match="stays lost"):
        store.settle(row, number, above=True)


def test_a_server_that_is_killed_while_it_counts_leaves_one_above_spent(shop_on_both: Shop) -> None:
    shop, keeper = shop_on_both, shop_on_both.keeper()
    gate = opened(shop, keeper)
    lost = shop.caller()
    keeper._store.intend(
        row_of(keeper, gate), lost.bound_to({"gate": gate, "where": HIGH}), HIGH, arrive=time.monotonic
    )
    again = shop.keeper()
    assert costs(again, gate, 1)
    assert not again.ask(shop.caller(), gate, LOW).above
    assert costs(again, gate, 2)  # the lost one, and the next
    for _ in range(2):  # asked for again under its key it is lost, and paid for once
        with pytest.raises(OutcomeLost):
            again.ask(lost, gate, HIGH)
    again.close_gate(gate)
    assert costs(again, gate, 1)
    assert again.gate(gate)["lost"] == 1


def test_a_gate_whose_noise_would_be_other_now_is_not_gone_on_with(
    shop: Shop, keeper: Keeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = opened(shop, keeper)
    again = shop.keeper()
    found = row_of(again, gate).tally.spec
    other = Fraction(found.above or 0) * 2
    monkeypatch.setattr("sparsegate.service.keeper.law", lambda spec: type("", (), {"price": other}))
    with pytest.raises(GateClosed, match="another version"):
        again.ask(shop.caller(), gate, LOW)
    assert costs(again, gate, 1)


def test_two_servers_on_one_ledger_pay_for_each_above_once(shop_on_both: Shop) -> None:
    shop, keeper = shop_on_both, shop_on_both.keeper()
    other = shop.keeper()
    gate = opened(shop, keeper)
    callers = [(server, shop.caller()) for _ in range(6) for server in (keeper, other)]
    with ThreadPoolExecutor(6) as pool:
        replies = list(pool.map(lambda each: each[0].ask(each[1], gate, HIGH), callers))
    assert all(reply.above for reply in replies)
    assert costs(keeper, gate, len(callers))
    other._store.pay_ahead(row_of(other, gate))
    keeper._store.pay_ahead(row_of(keeper, gate))
    assert costs(keeper, gate, len(callers) + 1)


def test_without_turns_the_store_admits_one_ask_for_one_charge(shop: Shop, keeper: Keeper) -> None:
    store, gate = keeper._store, opened(shop, keeper)
    row = row_of(keeper, gate)
    store.intend(row, shop.caller(), HIGH, arrive=time.monotonic)
    with pytest.raises(GateBusy):
        store.intend(row, shop.caller(), HIGH, arrive=time.monotonic)
    assert row_of(keeper, gate).tally.asked == 1


def test_a_ledger_that_adds_refuses_before_it_is_charged(tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    keeper = shop.keeper()
    with pytest.raises(ParameterError, match="within must not be given without a cutoff: this ledger adds epsilons"):
        opened(shop, keeper)
    assert len(keeper.ledger.entries()) == 1
    spec = GateSpec.of(threshold=0, within=Fraction(WITHIN))
    assert "adds epsilons" in preview_view(spec, None, rule="epsilon")["warning"]
    shop.shut()


def test_what_cannot_be_made_is_not_charged(shop: Shop, keeper: Keeper) -> None:
    refusals: list[tuple[str, dict[str, Any]]] = [
        *(("within", {"within": wrong}) for wrong in (float("nan"), Fraction(1, 2), "far")),
        ("cutoff", {"within": None}),
        ("epsilon", {"within": None, "cutoff": 3}),
        ("within", {"cutoff": 3, "epsilon": 1}),
        *((name, {name: wrong}) for name, wrong in (("epsilon", 1), ("expect", 0), ("queries", 7))),
        *((name, {name: wrong}) for name, wrong in (("closes", "rarer"), ("noise", "exponential"))),
    ]
    for parameter, wrong in refusals:
        with pytest.raises(ParameterError) as refused:
            keeper.open_gate(shop.caller(), **{"threshold": 0, "within": WITHIN} | wrong)
        assert refused.value.parameter == parameter, wrong
    assert len(keeper.ledger.entries()) == 1


def test_a_gate_answers_until_the_budget_ends_and_is_closed_then(tmp_path: Path) -> None:
    shop = Shop(tmp_path, budget=(0.05, 1e-6))  # type: ignore[arg-type]
    keeper = shop.keeper()
    gate = str(keeper.open_gate(shop.caller(), threshold=0, within=2000)["id"])
    budget = keeper.budget().budget.rho
    assert budget is not None
    price = row_of(keeper, gate).tally.spec.price
    assert price is not None
    given = (budget - price.opening_rho) // price.above_rho
    assert given > 1
    assert all(keeper.ask(shop.caller(), gate, HIGH).above for _ in range(given))
    with pytest.raises(GateClosed, match=CANNOT_PAY):
        keeper.ask(shop.caller(), gate, LOW)
    assert costs(keeper, gate, given)
    assert keeper.gate(gate)["because"] == CANNOT_PAY
    with pytest.raises(GateClosed, match=CANNOT_PAY):
        shop.keeper().ask(shop.caller(), gate, LOW)
    with pytest.raises(BudgetExceeded):
        keeper.open_gate(shop.caller(), threshold=0, within=2000)
    assert costs(keeper, gate, given)
    shop.shut()


def test_a_gate_that_cannot_be_held_is_not_opened(tmp_path: Path) -> None:
    """The opening fits, and its first ABOVE does not: neither is charged."""
    spec = GateSpec.of(threshold=0, within=Fraction(WITHIN)).priced()
    shop = Shop(tmp_path, budget=(1, 1e-6))  # type: ignore[arg-type]
    keeper = shop.keeper()
    left = (keeper.budget().remaining.rho or 0) - (spec.opening.rho or 0) - (spec.each.rho or 0) / 2
    keeper.ledger.spend(epsilon=1, rho=left, what="other releases")
    before = keeper.ledger.entries()
    with pytest.raises(BudgetExceeded):
        opened(shop, keeper)
    assert keeper.ledger.entries() == before
    assert keeper.gates() == []
    shop.shut()


@pytest.mark.parametrize("above", [True, False])
def test_an_outcome_that_is_taken_back_counts_as_an_above(shop: Shop, keeper: Keeper, above: bool) -> None:
    store, gate = keeper._store, opened(shop, keeper)
    row = row_of(keeper, gate)
    number = store.intend(row, shop.caller(), LOW, arrive=time.monotonic)
    assert isinstance(number, int)
    store.settle(row, number, above=above)
    store.void(row, number, None)
    store.void(row, number, None)
    assert row_of(keeper, gate).tally.unpaid == 1
    assert not keeper.ask(shop.caller(), gate, LOW).above
    assert costs(keeper, gate, 2)


def test_a_restored_ledger_gives_nothing_back(shop: Shop, keeper: Keeper, tmp_path: Path) -> None:
    gate = opened(shop, keeper)
    back_up(shop.place, tmp_path / "backup")
    shop.place = str(tmp_path / "again.ledger")
    restore(shop.place, backup=tmp_path / "backup", rho_since=0)
    again = shop.keeper()
    again.close_gate(gate)
    assert costs(again, gate, 1)
    with pytest.raises(GateClosed):
        again.ask(shop.caller(), gate, LOW)


def test_a_token_with_a_bound_on_epsilon_opens_gates_with_a_cutoff_alone(shop: Shop, keeper: Keeper) -> None:
    tokens = Tokens(keeper.ledger)
    tokens.add("olga", role="owner", most_epsilon=5)
    (number,) = [record.number for record in tokens.list()]
    with pytest.raises(QuotaExceeded, match="without a cutoff"):
        keeper.open_gate(shop.caller(token=number), threshold=0, within=WITHIN)
    assert len(keeper.ledger.entries()) == 1
    tokens.close()


@pytest.mark.parametrize("seed", range(3))
def test_what_may_be_an_above_is_paid_for_whatever_happens_in_whatever_order(tmp_path: Path, seed: int) -> None:
    """Two stores, events of any kind, with turns or without: no more is ever drawn for than is charged."""
    chance, shop = random.Random(seed), Shop(tmp_path, budget=(0.2, 1e-6))  # type: ignore[arg-type]
    keeper, gate = (made := shop.keeper()), opened(shop, made)
    stores = [made._store, GateStore(Ledger(shop.place, pooled=True))]
    row, settled = row_of(keeper, gate), 0
    spec, drawn = row.tally.spec, dict[int, bool | None]()
    for step in range(120):
        store, event = chance.choice(stores), chance.random()
        with suppress(SparsegateError):
            if event < 0.35:
                store.pay_ahead(row)
            elif event < 0.65:
                number = store.intend(row, shop.caller(), LOW, arrive=time.monotonic)
                assert isinstance(number, int)
                drawn[number] = None
            elif event < 0.95 and (under_way := [number for number, said in drawn.items() if said is None]):
                number, above = chance.choice(under_way), chance.random() < 0.5
                store.settle(row, number, above=above)
                drawn[number], settled = above, settled + 1
            elif event > 0.95 and step > 100:
                store.close("by hand", id=gate)
        now = row_of(keeper, gate)
        could_be = sum(said is not False for said in drawn.values())
        held = now.tally.paid - bool(now.given_back)
        assert could_be == now.tally.positives <= held
        assert rho(keeper) == (spec.opening.rho or 0) + held * (spec.each.rho or 0)
        assert rho(keeper) <= (keeper.budget().budget.rho or 0)
    assert settled > 10
    stores[1].ledger.close()
    shop.shut()


@pytest.mark.parametrize("kind", [{"noise": "laplace"}, {"noise": "exponential"}, {"closes": "rarer"}, {"queries": 50}])
def test_a_gate_with_a_cutoff_is_charged_the_rho_of_the_library_and_gives_none_back(
    shop: Shop, keeper: Keeper, kind: dict[str, Any]
) -> None:
    numbers: dict[str, Any] = {"threshold": 0, "cutoff": 25, "epsilon": Fraction(1, 10), **kind}
    preview = preview_view(GateSpec(**numbers), None, rule="zcdp")
    gate = keeper.open_gate(shop.caller(), **numbers)["id"]
    charged = rho(keeper)
    SparseVector(**numbers, sensitivity=1, monotonic=True, ledger=keeper.ledger)
    assert charged == Fraction(preview["rho"]) == rho(keeper) - charged
    keeper.ask(shop.caller(), gate, HIGH)
    keeper.close_gate(gate)
    assert rho(keeper) == 2 * charged
