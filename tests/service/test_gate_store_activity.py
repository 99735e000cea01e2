"""Who asked what: newest first, page by page, and nothing that has not left."""

from __future__ import annotations

import threading

import pytest
from tests.support.pretend_service import HIGH, LOW, Pretend, Shop, broken, swallow, until

from sparsegate.errors import ParameterError
from sparsegate.service.gate_store import activity
from sparsegate.service.keeper import Keeper
from sparsegate.service.tokens import Tokens


@pytest.fixture
def gates(shop: Shop, keeper: Keeper) -> list[str]:
    for name in ("olga", "anna"):
        Tokens(keeper.ledger).add(name, "owner")
    return [shop.open(keeper, cutoff=9, noise="exponential") for _ in range(2)]


def test_everybodys_questions_are_listed_newest_first(shop: Shop, keeper: Keeper, gates: list[str]) -> None:
    keeper.ask(shop.caller(), gates[0], LOW)
    keeper.ask(shop.caller(token=2), gates[0], HIGH)
    keeper.ask(shop.caller(token=7), gates[1], LOW)
    shown = [(ask.gate, ask.number, ask.by, ask.condition, ask.above) for ask in activity(keeper._store)]
    # The three may come in one second, and then the gates give the order.
    assert shown == [
        (gates[1], 1, None, LOW, False),
        (gates[0], 2, "anna", HIGH, True),
        (gates[0], 1, "olga", LOW, False),
    ]
    assert activity(keeper._store)[1].estimate is not None
    assert [ask.number for ask in activity(keeper._store, gate=gates[1])] == [1]
    assert [ask.condition for ask in activity(keeper._store, by="anna")] == [HIGH]
    assert activity(keeper._store, by="nobody") == []


def test_pages_have_every_ask_once(shop: Shop, keeper: Keeper, gates: list[str]) -> None:
    for place in range(7):
        keeper.ask(shop.caller(), gates[place % 2], LOW)
    pages, after = [], None
    while page := activity(keeper._store, after=after, limit=2):
        pages += page
        after = page[-1].cursor
    assert pages == activity(keeper._store)
    assert len({(ask.gate, ask.number) for ask in pages}) == 7


def test_an_answer_that_has_not_left_is_not_there_and_a_lost_one_has_no_outcome(shop: Shop) -> None:
    keeper = shop.keeper(Pretend(counted=broken), delay=0.5)
    gate = shop.open(keeper)
    asking = threading.Thread(target=swallow, args=(keeper, shop, gate, LOW))
    asking.start()
    until(lambda: keeper._store.gate(gate).tally.asked == 1)
    assert activity(keeper._store) == []
    assert activity(keeper._store, limit=1) == []
    asking.join()
    assert [ask.above for ask in activity(keeper._store)] == [None]


def test_what_has_left_is_found_behind_a_page_of_what_has_not(shop: Shop) -> None:
    keeper = shop.keeper(delay=1.0)
    gates = [shop.open(keeper, cutoff=9) for _ in range(2)]
    keeper.ask(shop.caller(), gates[0], LOW)
    asking = [threading.Thread(target=keeper.ask, args=(shop.caller(), gate, HIGH)) for gate in gates]
    for thread in asking:
        thread.start()
    until(lambda: [keeper._store.gate(gate).tally.asked for gate in gates] == [2, 1])
    assert [(ask.gate, ask.number) for ask in activity(keeper._store, limit=1)] == [(gates[0], 1)]
    for thread in asking:
        thread.join()
    assert len(activity(keeper._store)) == 3


@pytest.mark.parametrize("cursor", ["", "x", "1_2", "a_b_c", "2030_1_9999999999", "2030_1_\u0661"])
def test_a_cursor_is_one_that_was_given(shop: Shop, keeper: Keeper, cursor: str) -> None:
    with pytest.raises(ParameterError, match="after must be the cursor"):
        activity(keeper._store, after=cursor)
