"""One ask and its deadline: whatever comes of it leaves at arrival + D, and what is late is lost."""

from __future__ import annotations

import threading
import time

import pytest
from tests.support.pretend_service import until

from sparsegate.errors import GateClosed, OutcomeLost
from sparsegate.service.deadline import Asking, lost

D = 0.3


def course(asking: Asking[str], *, work: float, outcome=lambda: "done") -> bool:
    """The steps of an ask whose work takes so long; whether it was delivered in time."""
    asking.arrive()
    asking.intend(lambda: None)
    time.sleep(work)
    delivered = asking.deliver(outcome)
    asking.leave()
    return delivered


@pytest.mark.parametrize("work", [0.0, 0.1, 0.25])
@pytest.mark.parametrize("outcome", [lambda: "done", lost])
def test_what_is_delivered_in_time_leaves_at_the_delay(work: float, outcome) -> None:
    asking: Asking[str] = Asking(D)
    begun = time.monotonic()
    try:
        assert asking.run(lambda: course(asking, work=work, outcome=outcome) and None) == "done"
    except OutcomeLost:
        assert outcome is lost
    assert D <= time.monotonic() - begun < D + 1.5


def test_what_is_late_is_lost_at_the_delay() -> None:
    asking: Asking[str] = Asking(D)
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
    assert D <= time.monotonic() - begun < D + 1.5
    late.set()
    assert ended.wait(5)


@pytest.mark.parametrize("delay", [0.0, 0.2])
def test_whatever_fails_after_the_intent_is_one_constant_outcome(delay: float) -> None:
    asking: Asking[str] = Asking(delay)

    def work() -> None:
        asking.arrive()
        asking.intend(lambda: None)
        raise RuntimeError("SECRET")

    begun = time.monotonic()
    with pytest.raises(OutcomeLost) as lost:
        asking.run(work)
    assert lost.value.__cause__ is lost.value.__context__ is None
    assert time.monotonic() - begun >= delay


def test_the_turn_of_late_work_ends_at_a_multiple_of_the_delay() -> None:
    asking: Asking[str] = Asking(D)
    held: list[tuple[float, float]] = []

    def work() -> None:
        arrival = asking.arrive() - D
        asking.intend(lambda: None)
        time.sleep(1.3 * D)
        asking.deliver(lost)
        asking.leave()
        held.append((arrival, time.monotonic()))

    with pytest.raises(OutcomeLost):
        asking.run(work)
    until(lambda: bool(held))
    arrival, ended = held[0]
    assert ended >= arrival + 2 * D
    assert asking.used >= 1.3


def test_waiting_for_the_turn_does_not_count() -> None:
    asking: Asking[str] = Asking(D)

    def work() -> None:
        time.sleep(2 * D)
        course(asking, work=0)

    begun = time.monotonic()
    assert asking.run(work) == "done"
    assert 3 * D <= time.monotonic() - begun < 3 * D + 1.5


@pytest.mark.parametrize("delay", [0.0, 3.0])
def test_what_is_refused_before_the_intent_is_raised_at_once(delay: float) -> None:
    asking: Asking[str] = Asking(delay)

    def work() -> None:
        asking.arrive()
        raise GateClosed("closed")

    begun = time.monotonic()
    with pytest.raises(GateClosed):
        asking.run(work)
    assert time.monotonic() - begun < max(delay, 1.0)


def test_without_a_delay_the_work_is_done_here_and_now() -> None:
    asking: Asking[int] = Asking(0.0)
    threads: list[int] = []

    def work() -> None:
        asking.arrive()
        asking.intend(lambda: None)
        threads.append(threading.get_ident())
        assert asking.deliver(lambda: 7)
        asking.leave()

    assert asking.run(work) == 7
    assert threads == [threading.get_ident()]
