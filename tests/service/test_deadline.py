"""One ask and its deadline: whatever comes of it leaves at arrival + D; what is late costs that ask alone."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction

import pytest
from tests.support.pretend_service import HIGH, LOW, Pretend, Shop, slow, swallow, until

from sparsegate.errors import GateClosed, OutcomeLost
from sparsegate.ledger.account import EntryKind
from sparsegate.ledger.ledger import Ledger
from sparsegate.service import deadline, opening
from sparsegate.service.deadline import Asking, Pressure, lost
from sparsegate.service.gates import GateSpec, Tally, unused
from sparsegate.service.opening import all_cores_busy, slowdown

SHORT = 0.3


@pytest.mark.parametrize(
    ("delay", "work", "outcome"),
    [
        *((0.0, 0.0, "done"), (SHORT, 0.0, "done"), (SHORT, 0.2, "done"), (SHORT, 0.2, "lost")),
        *((0.0, 0.0, "failed"), (SHORT, 0.0, "failed"), (0.0, 0.0, "refused"), (3.0, 0.0, "refused")),
    ],
)
def test_whatever_comes_of_an_ask_leaves_at_the_delay_and_a_refusal_at_once(
    delay: float, work: float, outcome: str
) -> None:
    asking: Asking[int] = Asking(delay)

    def steps() -> None:
        asking.arrive()
        if outcome == "refused":
            raise GateClosed("closed")
        asking.intend(lambda: None)
        time.sleep(work)
        if outcome == "failed":
            raise RuntimeError("SECRET")
        thread = threading.get_ident()
        assert asking.deliver(lost if outcome == "lost" else lambda: thread)
        asking.leave()

    begun = time.monotonic()
    if outcome == "done":
        assert (asking.run(steps) == threading.get_ident()) is (delay == 0), "without a delay it is done here and now"
    else:
        with pytest.raises(GateClosed if outcome == "refused" else OutcomeLost) as told:
            asking.run(steps)
        assert outcome == "lost" or told.value.__cause__ is told.value.__context__ is None
    least = 0 if outcome == "refused" else delay
    assert least <= time.monotonic() - begun < least + 1.5


def test_what_is_late_is_lost_at_the_delay() -> None:
    asking: Asking[str] = Asking(SHORT)
    late, ended = threading.Event(), threading.Event()

    def work() -> None:
        asking.arrive()
        asking.intend(lambda: None)
        assert late.wait(5)
        assert asking.late
        assert not asking.deliver(lambda: "too late")
        ended.set()

    begun = time.monotonic()
    with pytest.raises(OutcomeLost):
        asking.run(work)
    assert SHORT <= time.monotonic() - begun < SHORT + 1.5
    late.set()
    assert ended.wait(5)


def test_the_turn_of_late_work_ends_at_a_multiple_of_the_delay() -> None:
    asking: Asking[str] = Asking(SHORT)
    held: list[tuple[float, float]] = []

    def work() -> None:
        arrival = asking.arrive() - SHORT
        asking.intend(lambda: None)
        time.sleep(1.3 * SHORT)
        asking.deliver(lost)
        asking.leave()
        held.append((arrival, time.monotonic()))

    with pytest.raises(OutcomeLost):
        asking.run(work)
    until(lambda: bool(held))
    arrival, ended = held[0]
    assert ended >= arrival + 2 * SHORT
    assert asking.used >= 1.3


D = 0.6


def test_an_overrun_costs_one_above_at_d_and_the_gate_stays_open(shop: Shop) -> None:
    go_on = threading.Event()
    keeper = shop.keeper(Pretend(counted=lambda: go_on.wait(30) and None), delay=D)
    gate, begun = shop.open(keeper), time.monotonic()
    for _ in range(2):  # while its count is still under way
        with pytest.raises(OutcomeLost) as lost:
            keeper.ask(shop.caller("mine"), gate, LOW)
        assert time.monotonic() - begun >= D
        assert str(lost.value) == str(OutcomeLost())
        until(lambda: keeper.gate(gate)["lost"] == 1)
    view = keeper.gate(gate)
    assert (view["asked"], view["positives"], view["remaining"], view["closed"]) == (1, 1, 2, False)
    go_on.set()
    other = shop.keeper()
    assert not other.ask(shop.caller(), gate, LOW).above
    view = other.gate(gate)
    assert (view["asked"], view["lost"], view["remaining"], view["closed"]) == (2, 1, 2, False)
    # What goes back takes the lost one for whichever answer is dearer.
    other.close_gate(gate)
    spec = GateSpec(threshold=0, cutoff=3, epsilon=Fraction(1), noise=view["noise"])
    back = [entry.amount.epsilon for entry in other.ledger.entries() if entry.kind is EntryKind.REFUND]
    assert back == [unused(Tally(spec=spec, asked=2, below=1))] < [unused(Tally(spec=spec, asked=2, below=2))]


def test_waiting_for_other_writers_is_outside_d(shop: Shop) -> None:
    keeper = shop.keeper(delay=D)
    gate, held, released = shop.open(keeper), threading.Event(), []

    def write() -> None:
        with Ledger(shop.place).database.writing():
            held.set()
            time.sleep(1.5 * D)
            released.append(time.monotonic())

    writer = threading.Thread(target=write)
    writer.start()
    assert held.wait(5)
    swallow(keeper, shop, gate, HIGH)
    assert time.monotonic() >= released[0] + D, "D runs from when the others have written"
    writer.join()


def test_the_owner_is_warned_once_a_minute_and_told_a_rounded_number(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    clock = [600.0]
    monkeypatch.setattr(deadline.time, "monotonic", lambda: clock[0])
    pressure = Pressure(2.0)
    with caplog.at_level("WARNING", logger="sparsegate.service"):
        for used in (0.0, 0.1, 0.5):
            pressure.note(used)
        assert caplog.messages == []
        for used in (0.62, 0.7, 1.3, 0.2):
            pressure.note(used)
        assert len(caplog.messages) == 1
        assert "a question took 62 % of D = 2 s" in caplog.text
        assert (pressure.headroom(), pressure.overruns) == (None, 1), "the minute is not over"
        clock[0] += 60
        assert pressure.headroom() == 0
        for used in (0.1, 0.24):
            pressure.note(used)
        clock[0] += 60
        assert pressure.headroom() == 0.75
        pressure.note(0.51)
        assert len(caplog.messages) == 2
        clock[0] += 60
        assert pressure.headroom() == 0.25
        clock[0] += 120
        assert pressure.headroom() is None


def test_an_ask_that_takes_much_of_d_is_told_to_the_owner_after_it_has_left(
    shop: Shop, caplog: pytest.LogCaptureFixture
) -> None:
    keeper = shop.keeper(Pretend(counted=slow(0.6 * D)), delay=D)
    gate, begun = shop.open(keeper), time.monotonic()
    with caplog.at_level("WARNING", logger="sparsegate.service"):
        swallow(keeper, shop, gate, LOW)
        until(lambda: bool(caplog.messages))
    assert time.monotonic() - begun >= D
    assert "of D = 0.6 s" in caplog.messages[0]


@pytest.mark.parametrize(("cores", "found"), [(1, 4.0), (4, 2.0)])
def test_how_much_slower_is_measured_with_every_core_busy_and_every_place_taken(
    monkeypatch: pytest.MonkeyPatch, cores: int, found: float
) -> None:
    busy, workers = threading.Event(), set()

    @contextmanager
    def flag() -> Iterator[None]:
        busy.set()
        yield
        busy.clear()

    def work() -> None:
        if busy.is_set():
            workers.add(threading.get_ident())
        time.sleep(0.4 if busy.is_set() else 0.1)

    monkeypatch.setattr(opening, "all_cores_busy", flag)
    monkeypatch.setattr(opening, "CORES", cores)
    assert slowdown(work, at_once=4) == pytest.approx(found, rel=0.3)
    assert len(workers) == 4


def test_busy_cores_compute() -> None:
    begun, threads = time.process_time(), threading.active_count()
    with all_cores_busy():
        assert threading.active_count() == threads + opening.CORES
        until(lambda: time.process_time() - begun > 0.05)
    assert threading.active_count() == threads
