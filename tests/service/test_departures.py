"""What is seen of a gate does not depend on the time of day, and nothing is seen before it leaves."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from tests.support.pretend_service import HIGH, LOW, Pretend, Shop, broken, swallow, until

from sparsegate.errors import OutcomeLost
from sparsegate.service.departures import Departures
from sparsegate.service.gate_store import GateStore
from sparsegate.service.keeper import FAILED, Keeper

D = 0.8
DAY = 86_400.0


@pytest.fixture
def set_clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Set the time of day of this machine and of its database by some seconds."""
    right, by = time.time, [0.0]
    monkeypatch.setattr(time, "time", lambda: right() + by[0])
    return lambda seconds: by.__setitem__(0, seconds)


def written(keeper: Keeper, gate: str, asked: int = 1) -> bool:
    """Whether the newest ask is written to its end, though nobody may see it yet."""
    tally = GateStore(keeper.ledger).gate(gate).tally
    return tally.asked == asked and (not tally.unsettled or bool(tally.because))


def look(keeper: Keeper, gate: str) -> tuple[Any, ...]:
    view = keeper.gate(gate)
    listed = next(each for each in keeper.gates() if each["id"] == gate)
    # One after the other: of two looks the second may see more.
    assert view["asked"] <= listed["asked"] <= view["asked"] + 1
    return view["asked"], view["closed"], [(answer.number, answer.above) for answer in keeper.answers(gate)]


@pytest.mark.parametrize("by", [-DAY, DAY])
def test_a_clock_that_is_set_hides_no_answer_that_has_left(
    shop: Shop, set_clock: Callable[[float], None], by: float
) -> None:
    keeper = shop.keeper(delay=D)
    gate = shop.open(keeper)
    swallow(keeper, shop, gate, LOW)
    first = answered(keeper, shop, gate)
    until(lambda: look(keeper, gate)[0] == 2)
    before = look(keeper, gate)
    set_clock(by)
    assert look(keeper, gate) == before
    assert answered(keeper, shop, gate) == first
    assert keeper.close_gate(gate)["given_back"] != "0"
    again = shop.keeper(delay=D)
    until(lambda: look(again, gate)[0] == 2)


def answered(keeper: Keeper, shop: Shop, gate: str) -> bool | None:
    """Under one key; None: lost, where the machine is that busy."""
    try:
        return keeper.ask(shop.caller("mine"), gate, HIGH).above
    except OutcomeLost:
        return None


@pytest.mark.parametrize("by", [-DAY, DAY])
@pytest.mark.parametrize(("where", "trouble"), [(HIGH, None), (LOW, broken)])
def test_a_clock_that_is_set_shows_nothing_before_it_leaves(
    shop: Shop, set_clock: Callable[[float], None], by: float, where: str, trouble: Any
) -> None:
    """Neither to this server nor to another on the same ledger, and to both once it has left."""
    keeper, other = shop.keeper(Pretend(counted=trouble or (lambda: None)), delay=D), shop.keeper()
    gate = shop.open(keeper, cutoff=1)
    begun = time.monotonic()
    asking = threading.Thread(target=lambda: swallow(keeper, shop, gate, where))
    asking.start()
    until(lambda: written(keeper, gate))
    set_clock(by)
    seen = [look(each, gate) for each in (keeper, other)]
    late = time.monotonic() - begun >= D
    assert late or seen == [(0, False, [])] * 2
    asking.join()
    until(lambda: look(keeper, gate)[1])
    left = look(keeper, gate)
    # On a machine that is too busy for D the answer is lost as well.
    assert left in [(1, True, [(1, above)]) for above in ([None] if trouble else [True, None])]
    until(lambda: look(other, gate) == left)
    assert keeper.gate(gate)["because"] == (FAILED if trouble else "all 1 of its positive answers are given or lost")


def test_a_server_that_starts_shows_what_nobody_is_at_work_on(shop_on_both: Shop) -> None:
    """With a D so long that nothing but the turns can tell it that the answers have left."""
    shop = shop_on_both
    first = shop.keeper()
    gate, other = shop.open(first), shop.open(first)
    first.ask(shop.caller(), gate, LOW)
    with first.ledger.database.writing() as connection:
        connection.run("UPDATE asks SET lasts = :day", day=DAY)
    with first._turns.at(first._store.gate(other).number):  # another gate is another turn
        assert look(shop.keeper(), gate) == (1, False, [(1, False)])
    with first._turns.at(first._store.gate(gate).number):
        assert look(shop.keeper(), gate) == (0, False, [])


def test_a_retry_at_another_server_waits_until_the_answer_has_left(shop: Shop) -> None:
    keeper, other = shop.keeper(delay=D), shop.keeper()
    gate, left = shop.open(keeper), []
    begun = time.monotonic()

    def ask() -> None:
        keeper.ask(shop.caller("mine"), gate, HIGH)
        left.append(time.monotonic())

    asking = threading.Thread(target=ask)
    asking.start()
    until(lambda: written(keeper, gate))
    assert other.ask(shop.caller("mine"), gate, HIGH).above
    assert time.monotonic() - begun >= D
    asking.join()


def test_departures_know_their_own_moment_and_wait_for_that_of_others() -> None:
    departures = Departures()
    assert departures.left(1, 1, 0.0) == departures.left(1, 1, None) == 0
    assert 9 < departures.left(1, 3, 10.0) <= 10
    assert departures.left(1, 2, 10.0) == 0, "older than the newest"
    departures.expect(1, 3, time.monotonic() - 1)
    assert departures.left(1, 3, 10.0) == 0
    assert 9 < departures.left(1, 4, 10.0) <= 10
    assert departures.left(1, 3, 10.0) == 0
    assert 9 < departures.left(2, 4, 10.0) <= 10
