"""One charge, one gate, one answer for each idempotency key, though every lock beside the store is broken."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from typing import Any

import pytest
from sqlalchemy import func, select
from tests.support.pretend_service import HIGH, LOW, Shop

from sparsegate.errors import GateClosed, LedgerError, OutcomeLost, RequestLost
from sparsegate.ledger.schema import ENTRIES
from sparsegate.service import gate_store
from sparsegate.service.keeper import Keeper
from sparsegate.service.schema import ASKS, REQUESTS, SERVED_GATES

KEYS, SENDERS = 20, 6
EPSILON = 0.01


@contextmanager
def no_locks(shop: Shop, keepers: list[Keeper]) -> Iterator[None]:
    """Everybody has every turn."""
    for keeper in keepers:
        keeper._turns.at = lambda gate: nullcontext()  # type: ignore[method-assign]
    yield


def two_keepers(shop: Shop) -> list[Keeper]:
    """As two servers whose folder of turns was deleted between their starts: each locks a file of its own."""
    first = shop.keeper()
    shutil.rmtree(f"{shop.place}.turns", ignore_errors=True)
    return [first, shop.keeper()]


def stored(keeper: Keeper, *columns: Any) -> list[Any]:
    with keeper.ledger.database.reading() as connection:  # type: ignore[attr-defined]
        return [tuple(row) for row in connection.execute(select(*columns))]


def hammer(keepers: list[Keeper], send: Callable[[Keeper, str], Any]) -> dict[str, list[Any]]:
    """Every key from many senders at once, through all keepers; what each was told."""
    told: dict[str, list[Any]] = {f"key {place}": [] for place in range(KEYS)}
    start = threading.Barrier(SENDERS)

    def work(place: int) -> None:
        for key in told:
            start.wait(30)
            deadline = time.monotonic() + 20
            while time.monotonic() < deadline:
                with suppress(LedgerError):  # a session that was ended under it: the client sends it again
                    told[key].append(send(keepers[place % len(keepers)], key))
                    break

    def work_or_stop(place: int) -> None:
        try:
            work(place)
        except BaseException:
            start.abort()
            raise

    with ThreadPoolExecutor(SENDERS) as pool:
        list(pool.map(work_or_stop, range(SENDERS)))
    return told


@pytest.mark.parametrize("attack", [no_locks, lambda shop, keepers: nullcontext()], ids=["no locks", "turns deleted"])
def test_a_key_opens_one_gate_for_one_charge_though_no_lock_holds(shop: Shop, attack: Any) -> None:
    keepers = two_keepers(shop)
    with attack(shop, keepers):
        told = hammer(
            keepers,
            lambda keeper, key: keeper.open_gate(shop.caller(key), threshold=0, cutoff=1, epsilon=EPSILON)["id"],
        )
    assert all(len(ids) == SENDERS and len(set(ids)) == 1 for ids in told.values())
    assert len({ids[0] for ids in told.values()}) == KEYS
    gates = stored(keepers[0], SERVED_GATES.c.id, SERVED_GATES.c.gate)
    charges = stored(keepers[0], ENTRIES.c.number)[1:]
    assert len(gates) == len(charges) == len({entry for _, entry in gates}) == KEYS
    assert keepers[0].budget().spent.epsilon * 100 == KEYS


@pytest.mark.parametrize("attack", [no_locks, lambda shop, keepers: nullcontext()], ids=["no locks", "turns deleted"])
def test_a_key_asks_one_question_though_no_lock_holds(shop: Shop, attack: Any) -> None:
    keepers = two_keepers(shop)
    gate = shop.open(keepers[0], cutoff=KEYS + 1)
    with attack(shop, keepers):
        told = hammer(keepers, lambda keeper, key: answer(keeper, shop, gate, key))
    assert [len(set(answers) - {"lost"}) for answers in told.values()] == [1] * KEYS
    asked = stored(keepers[0], ASKS.c.key, ASKS.c.above)
    assert len(asked) == len({key for key, _ in asked}) == KEYS
    view = keepers[0].gate(gate)
    assert (view["asked"], view["positives"], view["lost"]) == (KEYS, KEYS // 2, 0)


def answer(keeper: Keeper, shop: Shop, gate: str, key: str) -> bool | str:
    try:
        return keeper.ask(shop.caller(key), gate, HIGH if int(key.split()[1]) % 2 else LOW).above
    except OutcomeLost:
        return "lost"  # seen by a retry that came before the outcome was written


def test_no_more_positives_than_the_cutoff_are_given_though_no_lock_holds(shop: Shop) -> None:
    keepers = two_keepers(shop)
    gate = shop.open(keepers[0], cutoff=3)

    def ask(keeper: Keeper, key: str) -> bool:
        try:
            return keeper.ask(shop.caller(f"{key} {threading.get_ident()}"), gate, HIGH).above
        except (GateClosed, OutcomeLost):
            return False

    with no_locks(shop, keepers):
        told = hammer(keepers, ask)
    assert sum(sum(answers) for answers in told.values()) <= 3
    assert keepers[0].gate(gate)["positives"] == 3


def test_a_top_is_charged_and_drawn_once_for_a_key_though_no_lock_holds(shop: Shop) -> None:
    keepers = two_keepers(shop)
    question = {"item": "page", "count": 1, "epsilon": EPSILON, "domain": ["a", "b"], "answers_epsilon": EPSILON}
    with no_locks(shop, keepers):
        told = hammer(keepers, lambda keeper, key: top(keeper, shop, key, question))
    for releases in told.values():
        given = [release for release in releases if release != "lost"]
        assert given
        assert all(release == given[0] for release in given), "one draw for each charge"
    assert len(stored(keepers[0], ENTRIES.c.number)) - 1 == KEYS
    assert stored(keepers[0], func.count(REQUESTS.c.response)) == [(KEYS,)]


def top(keeper: Keeper, shop: Shop, key: str, question: dict[str, Any]) -> Any:
    try:
        return keeper.top(shop.caller(key), question)
    except RequestLost:
        return "lost"  # seen by a retry that came before the result was written


def test_where_a_look_misses_an_earlier_request_the_constraint_decides(
    shop: Shop, keeper: Keeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = keeper.open_gate(shop.caller("k"), threshold=0, cutoff=1, epsilon=1)
    looks = iter([None, None])  # the look before, and the one inside the transaction
    recalled = gate_store.recalled
    monkeypatch.setattr(gate_store, "recalled", lambda *where: next(looks, recalled(*where)))
    assert keeper.open_gate(shop.caller("k"), threshold=0, cutoff=1, epsilon=1) == first
    assert keeper.budget().spent.epsilon == 1
    assert len(keeper.gates()) == 1


def test_where_a_look_misses_an_earlier_ask_the_constraint_decides(
    shop: Shop, keeper: Keeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = shop.open(keeper)
    first = keeper.ask(shop.caller("k"), gate, HIGH)
    looks = iter([None, None])
    same = gate_store._same
    monkeypatch.setattr(gate_store, "_same", lambda *where: next(looks, same(*where)))
    assert keeper.ask(shop.caller("k"), gate, HIGH) == first
    assert keeper.gate(gate)["asked"] == 1
