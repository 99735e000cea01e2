"""Every ask is written and leaves the same way; whatever fails after the intent counts as an ABOVE."""

from __future__ import annotations

import threading
import time
import traceback
from typing import Any

import pytest
from tests.support.pretend_service import HIGH, LOW, Pretend, Shop, broken, slow, swallow, until

from sparsegate.errors import GateClosed, LedgerError, OutcomeLost, RequestLost, TableError
from sparsegate.service import gate_store
from sparsegate.service.gate_store import GateStore
from sparsegate.service.keeper import FAILED, Keeper


def failing(monkeypatch: pytest.MonkeyPatch, method: str) -> None:
    def fail(*args: object, **options: object) -> None:
        raise LedgerError("the disk is full")

    monkeypatch.setattr(GateStore, method, fail)


@pytest.mark.parametrize("where", [HIGH, LOW])
def test_an_outcome_that_cannot_be_committed_looks_the_same_above_and_below(
    shop: Shop, keeper: Keeper, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    gate = shop.open(keeper, cutoff=2)
    with monkeypatch.context() as patch:
        failing(patch, "settle")
        with pytest.raises(OutcomeLost) as lost:
            keeper.ask(shop.caller("mine"), gate, where)
    assert str(lost.value) == str(OutcomeLost())
    assert lost.value.__cause__ is lost.value.__context__ is None
    view = keeper.gate(gate)
    assert (view["asked"], view["positives"], view["lost"], view["remaining"]) == (1, 1, 1, 1)
    with pytest.raises(OutcomeLost):
        keeper.ask(shop.caller("mine"), gate, where)
    assert keeper.gate(gate)["asked"] == 1


def test_an_intent_that_cannot_be_committed_touches_neither_data_nor_noise(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted: list[int] = []
    keeper = shop.keeper(Pretend(counted=lambda: counted.append(1)))
    gate = shop.open(keeper)
    with monkeypatch.context() as patch:
        failing(patch, "intend")
        with pytest.raises(LedgerError):
            keeper.ask(shop.caller(), gate, HIGH)
    assert counted == []
    assert keeper.gate(gate)["asked"] == 0


def test_an_intent_counts_as_an_above_for_ever_after_a_crash(shop: Shop) -> None:
    class Crash(BaseException):
        """Nothing in the keeper gets to clean up."""

    def crash() -> None:
        raise Crash

    gate = shop.open(shop.keeper(), cutoff=2)
    for remaining in (1, 0):
        keeper = shop.keeper(Pretend(counted=crash))
        with pytest.raises(Crash):
            keeper.ask(shop.caller(), gate, LOW)
        assert shop.keeper().gate(gate)["remaining"] == remaining
    with pytest.raises(GateClosed):
        shop.keeper().ask(shop.caller(), gate, LOW)


def test_an_engine_that_fails_gives_one_constant_answer_and_closes_the_gate(shop: Shop) -> None:
    keeper = shop.keeper(Pretend(counted=broken))
    gate = shop.open(keeper)
    with pytest.raises(OutcomeLost) as lost:
        keeper.ask(shop.caller(), gate, LOW)
    assert str(lost.value) == str(OutcomeLost())
    assert "SECRET" not in "".join(traceback.format_exception(lost.value))
    with pytest.raises(GateClosed, match="could not be answered in time"):
        keeper.ask(shop.caller(), gate, LOW)


@pytest.mark.parametrize(("where", "trouble"), [(HIGH, None), (LOW, None), (LOW, broken)])
def test_every_answer_leaves_after_the_same_delay(shop: Shop, where: str, trouble) -> None:
    keeper = shop.keeper(Pretend(counted=trouble or slow(0.05)), delay=0.4)
    gate = shop.open(keeper)
    begun = time.monotonic()
    try:
        keeper.ask(shop.caller(), gate, where)
    except OutcomeLost:
        assert trouble is broken
    assert 0.4 <= time.monotonic() - begun < 1.9


def through(keeper: Keeper, gate: str) -> bool:
    """Whether the first ask of a gate is written to its end."""
    tally = GateStore(keeper.ledger).gate(gate).tally  # type: ignore[arg-type]
    return tally.asked == 1 and (not tally.unsettled or bool(tally.because))


def test_nobody_sees_an_outcome_or_a_closing_before_it_leaves(shop: Shop) -> None:
    keeper = shop.keeper(delay=1.2)
    for where, trouble in ((HIGH, None), (LOW, None), (LOW, broken)):
        gate = shop.open(keeper)
        before = keeper.gate(gate)
        keeper.dataset.counted = trouble or (lambda: None)  # type: ignore[attr-defined]
        asking = threading.Thread(target=lambda gate=gate, where=where: swallow(keeper, shop, gate, where))
        asking.start()
        until(lambda gate=gate: through(keeper, gate))
        assert keeper.gate(gate) == before
        assert [view for view in keeper.gates() if view["id"] == gate] == [before]
        assert keeper.answers(gate) == []
        asking.join()
        assert keeper.gate(gate)["asked"] == 1
        assert len(keeper.answers(gate)) == 1


def test_an_outcome_that_is_written_too_late_is_taken_back(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    keeper = shop.keeper(delay=0.2)
    gate, settle, threads = shop.open(keeper), GateStore.settle, threading.active_count()

    def slowly(*arguments: Any, **options: Any) -> Any:
        done = settle(*arguments, **options)
        time.sleep(0.4)
        return done

    monkeypatch.setattr(GateStore, "settle", slowly)
    with pytest.raises(OutcomeLost):
        keeper.ask(shop.caller("mine"), gate, HIGH)
    until(lambda: keeper.gate(gate)["lost"] == 1)
    until(lambda: threading.active_count() <= threads)
    view = keeper.gate(gate)
    assert not view["closed"]
    assert (view["asked"], view["positives"], view["lost"]) == (1, 1, 1)
    assert [(answer.above, answer.estimate) for answer in keeper.answers(gate)] == [(None, None)]
    with pytest.raises(OutcomeLost):
        keeper.ask(shop.caller("mine"), gate, HIGH)
    until(lambda: threading.active_count() <= threads)


def test_what_fails_is_told_to_the_owner_without_a_cell(shop: Shop, caplog: pytest.LogCaptureFixture) -> None:
    keeper = shop.keeper(Pretend(counted=broken))
    gate = shop.open(keeper)
    with caplog.at_level("WARNING", logger="sparsegate.service"), pytest.raises(OutcomeLost):
        keeper.ask(shop.caller(), gate, LOW)
    assert f"gate {gate}, question 1: it could not be counted (RuntimeError)" in caplog.text
    assert "SECRET" not in caplog.text


def test_closing_by_hand_shows_at_once_also_over_a_failure_that_is_not_seen_yet(shop: Shop) -> None:
    keeper = shop.keeper(Pretend(counted=broken), delay=2.0)
    gate = shop.open(keeper)
    asking = threading.Thread(target=lambda: swallow(keeper, shop, gate, LOW))
    asking.start()
    until(lambda: GateStore(keeper.ledger).gate(gate).tally.because == FAILED)  # type: ignore[arg-type]
    assert keeper.close_gate(gate)["because"] == "it was closed by hand"
    asking.join()


def test_a_top_that_fails_leaves_at_a_multiple_of_the_delay(shop: Shop) -> None:
    keeper, begun = shop.keeper(delay=0.3), time.monotonic()
    with pytest.raises(TableError):
        keeper.top(shop.caller(), {"item": "no such column", "count": 1, "epsilon": 1, "domain": ["a"]})
    assert time.monotonic() - begun >= 0.3
    assert keeper.budget().spent.epsilon == 0


def test_an_opening_that_was_cut_short_spends_nothing_and_gives_no_gate(
    shop: Shop, keeper: Keeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise LedgerError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(gate_store, "insert", fail)  # after the charge, in the same transaction
        with pytest.raises(LedgerError):
            keeper.open_gate(shop.caller("k"), threshold=5, cutoff=1, epsilon=4)
    assert keeper.budget().spent.epsilon == 0
    assert keeper.gates() == []
    view = keeper.open_gate(shop.caller("k"), threshold=5, cutoff=1, epsilon=4)
    assert [gate["id"] for gate in keeper.gates()] == [view["id"]]
    assert keeper.budget().spent.epsilon == 4


def test_a_release_that_was_cut_short_after_its_charge_stays_spent(
    shop: Shop, keeper: Keeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    question = {"item": "page", "count": 1, "epsilon": 4, "domain": ["a", "b"]}
    with monkeypatch.context() as patch:
        failing(patch, "finish")
        with pytest.raises(LedgerError):
            keeper.top(shop.caller("k"), question)
    with pytest.raises(RequestLost):
        keeper.top(shop.caller("k"), question)
    assert keeper.budget().spent.epsilon == 4
