"""A gate looks closed while the ask that could be its last is under way: nobody may act on that."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from sqlalchemy import select
from tests.support.pretend_service import HIGH, LOW, Pretend, Shop, until

from sparsegate.errors import GateClosed, OutcomeLost
from sparsegate.ledger.database import DriverConnection
from sparsegate.ledger.ledger import Ledger
from sparsegate.service.gate_store import GateStore, compact
from sparsegate.service.gates import cost
from sparsegate.service.keeper import Keeper
from sparsegate.service.schema import ASKS
from sparsegate.service.tokens import Tokens


@contextmanager
def asking(shop: Shop, *keys: str) -> Iterator[tuple[Keeper, str]]:
    """Without a D: a gate that has one ABOVE left, and a count under way that comes to a BELOW, as those before did."""
    at_work, go_on = threading.Event(), threading.Event()
    data = Pretend()
    keeper = shop.keeper(data)
    opened = shop.open(keeper, cutoff=1)
    for key in keys:
        keeper.ask(shop.caller(key), opened, LOW)

    def count() -> None:
        at_work.set()
        go_on.wait(10)

    data.counted = count

    def ask() -> None:
        with suppress(OutcomeLost):
            keeper.ask(shop.caller("mine"), opened, LOW)

    thread = threading.Thread(target=ask)
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
        assert (view["asked"], view["closed"], view["given_back"]) == (0, False, "0")
        looks.gates()
        shop.open(looks)
    assert not keeper.ask(shop.caller("mine"), gate, LOW).above, "the answer is not lost for it"
    for where in [LOW] * 20 + [HIGH]:
        keeper.ask(shop.caller(), gate, where)
    assert covered(keeper, gate)


@pytest.mark.parametrize("elsewhere", [False, True])
def test_without_a_d_a_retry_waits_for_what_is_under_way(shop: Shop, elsewhere: bool) -> None:
    other = shop.keeper()
    with ThreadPoolExecutor() as pool:
        with asking(shop) as (keeper, gate):
            again = pool.submit((other if elsewhere else keeper).ask, shop.caller("mine"), gate, LOW)
            wait([again], timeout=0.2)
            assert not again.done(), "it is not lost, it is under way"
        assert not again.result().above


def test_a_gate_that_gave_back_takes_no_outcome_any_more(shop: Shop) -> None:
    """Whoever knows nothing of turns can be wrong about what is under way: the store decides."""
    with asking(shop) as (keeper, gate):
        GateStore(keeper.ledger).give_back()
        assert keeper.gate(gate)["given_back"] != "0"
    with pytest.raises(OutcomeLost):
        keeper.ask(shop.caller("mine"), gate, LOW)
    with pytest.raises(GateClosed):
        keeper.ask(shop.caller(), gate, HIGH)
    assert covered(keeper, gate)


def test_what_waited_to_be_written_until_d_was_over_stays_lost(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not only when it is taken back: until then it would be seen, and for good where the server is killed."""
    held, free = threading.Event(), threading.Event()

    def write() -> None:
        with Ledger(shop.place) as ledger, ledger.database.writing():
            held.set()
            free.wait(10)

    writer = threading.Thread(target=write)
    data = Pretend(counted=lambda: writer.start() or (held.wait(10) and None))
    keeper = shop.keeper(data, delay=0.5)
    gate = shop.open(keeper)
    monkeypatch.setattr(GateStore, "void", lambda *_: None)
    with pytest.raises(OutcomeLost):
        keeper.ask(shop.caller("mine"), gate, HIGH)
    free.set()
    writer.join()
    until(lambda: not keeper._turns.held([2]))
    with pytest.raises(OutcomeLost):
        keeper.ask(shop.caller("mine"), gate, HIGH)


def test_compaction_leaves_the_keys_of_a_gate_that_only_looks_closed(shop: Shop) -> None:
    with asking(shop, "first") as (keeper, gate):
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
