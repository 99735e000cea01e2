"""A gate looks closed while the ask that could be its last is under way: nobody may act on that."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import select
from tests.support.pretend_service import HIGH, LOW, Pretend, Shop, until

from sparsegate.errors import OutcomeLost, SparsegateError
from sparsegate.ledger.database import DriverConnection
from sparsegate.ledger.database_schema import ASKS
from sparsegate.service.compaction import compact
from sparsegate.service.gate_store import GateStore
from sparsegate.service.gates import cost
from sparsegate.service.keeper import Keeper
from sparsegate.service.tokens import Tokens


@contextmanager
def asking(shop: Shop, **gate: Any) -> Iterator[tuple[Keeper, str]]:
    """Without a D: a gate that has one ABOVE left, and a count under way that comes to a BELOW."""
    at_work, go_on = threading.Event(), threading.Event()
    data = Pretend()
    keeper = shop.keeper(data)
    opened = shop.open(keeper, cutoff=1, **gate)
    keeper.ask(shop.caller("first"), opened, LOW)

    def count() -> None:
        at_work.set()
        go_on.wait(10)

    data.counted = count
    thread = threading.Thread(target=lambda: keeper.ask(shop.caller("mine"), opened, LOW))
    thread.start()
    try:
        assert at_work.wait(10)
        yield keeper, opened
    finally:
        go_on.set()
        thread.join()


def covered(keeper: Keeper, gate: str) -> bool:
    """Whether the ledger counts what the gate's answers have cost."""
    return keeper.budget().spent.epsilon >= cost(GateStore(keeper.ledger).gate(gate).tally)


@pytest.mark.parametrize("elsewhere", [False, True])
def test_without_a_d_whoever_looks_at_the_last_ask_gets_nothing_back(shop: Shop, elsewhere: bool) -> None:
    other = shop.keeper()
    with asking(shop) as (keeper, gate):
        looks = other if elsewhere else keeper
        view = looks.gate(gate)
        assert (view["asked"], view["closed"], view["given_back"]) == (1, False, "0")
        looks.gates()
        shop.open(looks)
    assert not keeper.ask(shop.caller("mine"), gate, LOW).above, "the answer is not lost for it"
    for where in [LOW] * 20 + [HIGH]:
        keeper.ask(shop.caller(), gate, where)
    assert covered(keeper, gate)


def test_a_gate_that_gave_back_takes_no_outcome_any_more(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """D is over while the outcome waits to be written, the refund comes first, and the server is killed after it."""
    keeper = shop.keeper(delay=0.3)
    gate = shop.open(keeper, cutoff=1)
    settle, back = GateStore.settle, []

    def late(*args: Any, **values: Any) -> Any:
        until(lambda: keeper.gate(gate)["closed"])
        back.append(keeper.gate(gate)["given_back"])
        return settle(*args, **values)

    with monkeypatch.context() as patch:
        patch.setattr(GateStore, "settle", late)
        patch.setattr(GateStore, "void", lambda *_: None)
        with pytest.raises(OutcomeLost):
            keeper.ask(shop.caller(), gate, LOW)
        until(lambda: not keeper._turns.held([1]))
    assert back not in ([], ["0"])
    with pytest.raises(SparsegateError, match="is closed"):
        shop.keeper().ask(shop.caller(), gate, HIGH)
    assert covered(keeper, gate)


def test_compaction_leaves_the_keys_of_a_gate_that_only_looks_closed(shop: Shop) -> None:
    with asking(shop) as (keeper, gate):
        moved: list[Any] = []
        assert compact(GateStore(keeper.ledger), until="9999", keep=moved.extend) == 0
    keeper.ask(shop.caller("first"), gate, LOW)
    with keeper.ledger.database.reading() as connection:
        assert len(connection.execute(select(ASKS.c.number)).all()) == 2, "a key is never asked anew"


@pytest.mark.parametrize("after", [1, 2, 3])
def test_what_a_token_has_used_is_read_at_one_moment(shop: Shop, monkeypatch: pytest.MonkeyPatch, after: int) -> None:
    """Else an outcome that is written between two looks is counted twice or not at all, before it has left."""
    keeper, other = shop.keeper(), shop.keeper()
    Tokens(keeper.ledger).add("alice", "analyst", most_above=5)
    row = keeper._store.gate(shop.open(keeper))
    number = keeper._store.intend(row, shop.caller(), LOW, arrive=lambda: time.monotonic() + 60)
    rows, looks = DriverConnection.rows, []

    def meanwhile(*args: Any, **values: Any) -> list[Any]:
        found = rows(*args, **values)
        looks.append(args)
        if len(looks) == after:
            other._store.settle(row, int(number), above=False)  # type: ignore[arg-type]
        return found

    with monkeypatch.context() as patch:
        patch.setattr(DriverConnection, "rows", meanwhile)
        assert keeper.standing(1).above == 1
    assert keeper.standing(1).above == 1
