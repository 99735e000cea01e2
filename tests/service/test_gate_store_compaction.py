"""Old BELOW answers of closed gates move out; nothing is answered, spent or given back twice for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import select
from tests.support.pretend_service import HIGH, LOW, Pretend, Shop, broken, swallow

from sparsegate.errors import GateClosed
from sparsegate.service import gate_store as compaction
from sparsegate.service.gate_store import COLUMNS, GateStore, compact
from sparsegate.service.keeper import Keeper
from sparsegate.service.schema import ASKS
from sparsegate.service.tokens import Tokens

LATER, EARLIER = "9999", "0000"
"""Moments, as they are written."""


def kept(keeper: Keeper) -> list[tuple[int, int, int | None]]:
    with keeper.ledger.database.reading() as connection:
        rows = connection.execute(select(ASKS.c.gate, ASKS.c.number, ASKS.c.above).order_by(ASKS.c.gate, ASKS.c.number))
        return [(row.gate, row.number, row.above) for row in rows]


def moved(keeper: Keeper, until: str = LATER, keep: Callable[[Any], None] | None = None) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    count = compact(GateStore(keeper.ledger), until=until, keep=keep or found.extend)
    assert count == len(found)
    return found


@pytest.fixture
def two_gates(shop: Shop, keeper: Keeper) -> tuple[str, str]:
    """Both were asked below, above, below, below; the first is closed."""
    gates = shop.open(keeper, name="the first"), shop.open(keeper)
    for gate in gates:
        for number, where in enumerate((LOW, HIGH, LOW, LOW), start=1):
            keeper.ask(shop.caller(f"{gate} {number}"), gate, where)
    keeper.close_gate(gates[0])
    return gates


def test_below_answers_of_closed_gates_move_out_and_all_else_stays(
    shop: Shop, keeper: Keeper, two_gates: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compaction, "SLICE", 1)
    closed, still_open = two_gates
    views, budget = [keeper.gate(gate) for gate in two_gates], keeper.budget()
    assert moved(keeper, EARLIER) == []
    found = moved(keeper)
    assert [(row["gate"], row["gate_name"], row["number"], row["condition"]) for row in found] == [
        (closed, "the first", 1, LOW),
        (closed, "the first", 3, LOW),
    ]
    assert all(tuple(row) == COLUMNS for row in found)
    assert kept(keeper) == [(2, 2, 1), (2, 4, 0), (3, 1, 0), (3, 2, 1), (3, 3, 0), (3, 4, 0)]
    assert [keeper.gate(gate) for gate in two_gates] == views
    assert keeper.budget() == budget
    assert [answer.number for answer in keeper.answers(closed)] == [2, 4]
    assert moved(keeper) == []
    # A retry is answered as before where its row is there, and never anew.
    assert keeper.ask(shop.caller(f"{closed} 2"), closed, HIGH).above
    assert not keeper.ask(shop.caller(f"{still_open} 1"), still_open, LOW).above
    with pytest.raises(GateClosed):
        keeper.ask(shop.caller(f"{closed} 1"), closed, LOW)
    assert [keeper.gate(gate) for gate in two_gates] == views


def test_what_is_not_safe_elsewhere_stays(keeper: Keeper, two_gates: tuple[str, str]) -> None:
    def full(_: Any) -> None:
        raise OSError("the disk is full")

    before = kept(keeper)
    with pytest.raises(OSError, match="full"):
        moved(keeper, keep=full)
    assert kept(keeper) == before


def test_lost_answers_and_what_a_token_has_used_stay(shop: Shop, keeper: Keeper) -> None:
    failing = shop.keeper(Pretend(counted=broken))
    Tokens(keeper.ledger).add("anna", "owner")
    gate = shop.open(keeper)
    keeper.ask(shop.caller(), gate, LOW)
    keeper.ask(shop.caller(), gate, HIGH)
    swallow(failing, shop, gate, LOW)
    assert keeper.gate(gate)["closed"]
    used = keeper.standing(1)
    assert [row["number"] for row in moved(keeper)] == [1]
    assert kept(keeper) == [(2, 2, 1), (2, 3, None)]
    assert keeper.standing(1) == used


def test_a_gate_admits_as_many_asks_as_it_was_opened_with(shop: Shop) -> None:
    keeper = shop.keeper(most_asks=3)
    gate = shop.open(keeper)
    for _ in range(3):
        assert not keeper.ask(shop.caller(), gate, LOW).above
    # A server that allows more later does not change the gate.
    with pytest.raises(GateClosed, match="it was asked 3 questions, the most that the service keeps of one gate"):
        shop.keeper().ask(shop.caller(), gate, LOW)
    assert keeper.gate(gate)["given_back"] != "0"
    later = shop.open(shop.keeper())
    assert [keeper._store.gate(each).tally.spec.most_asks for each in (gate, later)] == [3, 1_000_000]
