"""The keeper: gates are charged in full, answer and close; whatever fails after the intent counts as an ABOVE."""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from tests.support.pretend_service import HIGH, LOW, Pretend, Shop, broken, swallow, until

from sparsegate.conditions import Column, Condition, ConditionError, Kind, Schema, read_condition
from sparsegate.errors import (
    BudgetExceeded,
    GateClosed,
    KeyReused,
    LedgerError,
    OutcomeLost,
    ParameterError,
    RequestLost,
    TableError,
)
from sparsegate.gates.gate import Gate, threshold_noise
from sparsegate.ledger import schema
from sparsegate.ledger.database import Connection
from sparsegate.noise import Reservoir
from sparsegate.service import schema as service_schema
from sparsegate.service.deadline import Asking
from sparsegate.service.gate_store import GateStore
from sparsegate.service.keeper import CHANGED, ELSEWHERE, FAILED, AskedConditions, Keeper, Places
from sparsegate.service.keys import SealingKey


def test_a_gate_answers_and_closes_after_its_positives(shop: Shop, keeper: Keeper) -> None:
    gate = shop.open(keeper, cutoff=2)
    replies = [keeper.ask(shop.caller(), gate, where) for where in (LOW, HIGH, LOW, HIGH)]
    assert [reply.above for reply in replies] == [False, True, False, True]
    assert [reply.remaining for reply in replies] == [2, 1, 1, 0]
    assert [reply.number for reply in replies] == [1, 2, 3, 4]
    assert replies[-1].closed
    with pytest.raises(GateClosed, match="all 2 of its positive answers"):
        keeper.ask(shop.caller(), gate, LOW)
    view = keeper.gate(gate)
    assert (view["asked"], view["positives"], view["lost"], view["closed"]) == (4, 2, 0, True)
    planned = shop.open(keeper, queries=2)
    assert [keeper.ask(shop.caller(), planned, LOW).closed for _ in range(2)] == [False, True]
    with pytest.raises(GateClosed, match="planned for"):
        shop.keeper().ask(shop.caller(), planned, LOW)


def test_a_gate_that_cannot_be_made_is_not_charged(shop: Shop, keeper: Keeper) -> None:
    for parameter, wrong in {"epsilon": 0, "cutoff": 0, "threshold": 0.5, "queries": 0}.items():
        with pytest.raises(ParameterError) as refused:
            keeper.open_gate(shop.caller(), **{"threshold": 1, "cutoff": 1, "epsilon": 1} | {parameter: wrong})
        assert refused.value.parameter == parameter
    assert keeper.budget().spent.epsilon == 0


def test_a_top_is_charged_once_stored_and_given_again(shop: Shop, keeper: Keeper) -> None:
    question = {"item": "page", "count": 1, "epsilon": Decimal(2), "domain": ["a", "b"]}
    first = keeper.top(shop.caller("k"), question)
    assert first == keeper.top(shop.caller("k"), question)
    assert [row["item"] for row in first["items"]] == ["a"]
    (kept,) = keeper.ledger.release(2).gave
    assert {name: kept[name] for name in first} == first
    assert keeper.budget().spent.epsilon == 2
    with pytest.raises(BudgetExceeded):
        keeper.top(shop.caller(), question | {"epsilon": Decimal(9)})
    assert keeper.budget().spent.epsilon == 2


def test_an_above_carries_an_estimate_and_a_retry_and_the_list_have_the_same(shop: Shop, keeper: Keeper) -> None:
    gate = shop.open(keeper, epsilon=10)
    first = keeper.ask(shop.caller("mine"), gate, HIGH)
    assert first.estimate is not None
    assert abs(first.estimate - 1_000_000) < 100
    view = keeper.gate(gate)
    assert first.standard_error == view["standard_error"] > 0
    below = keeper.ask(shop.caller(), gate, LOW)
    assert (below.estimate, below.standard_error) == (None, None)
    assert keeper.ask(shop.caller("mine"), gate, HIGH).estimate == first.estimate
    assert [past.estimate for past in keeper.answers(gate)] == [first.estimate, None]


def test_a_two_sided_gate_goes_on_until_both_answers_were_given(shop: Shop, keeper: Keeper) -> None:
    gate = shop.open(keeper, cutoff=2, closes="rarer")
    replies = [keeper.ask(shop.caller(), gate, where) for where in (HIGH, HIGH, HIGH, HIGH, LOW, HIGH, LOW)]
    assert [reply.remaining for reply in replies] == [2, 2, 2, 2, 1, 1, 0]
    assert {reply.estimate for reply in replies} == {None}
    assert replies[-1].closed
    with pytest.raises(GateClosed, match="both answers are given or lost 2 times"):
        keeper.ask(shop.caller(), gate, LOW)


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


def test_an_engine_that_fails_gives_one_constant_answer_and_closes_the_gate(
    shop: Shop, caplog: pytest.LogCaptureFixture
) -> None:
    """The owner is told, without a cell."""
    keeper = shop.keeper(Pretend(counted=broken))
    gate = shop.open(keeper)
    with caplog.at_level("WARNING", logger="sparsegate.service"), pytest.raises(OutcomeLost) as lost:
        keeper.ask(shop.caller(), gate, LOW)
    assert str(lost.value) == str(OutcomeLost())
    assert f"gate {gate}, question 1: it could not be counted (RuntimeError)" in caplog.text
    assert "SECRET" not in caplog.text + "".join(traceback.format_exception(lost.value))
    with pytest.raises(GateClosed, match="a question could not be answered"):
        keeper.ask(shop.caller(), gate, LOW)


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


def test_closing_by_hand_shows_at_once_also_over_a_failure_that_is_not_seen_yet(shop: Shop) -> None:
    keeper = shop.keeper(Pretend(counted=broken), delay=1.0)
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
    def fail(*_: object, **row: object) -> None:
        raise LedgerError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(Connection, "add_once", fail)  # after the charge, in the same transaction
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


CUTOFF = 3
WHERE: dict[str, tuple[Any, str]] = {
    "in the count": (Pretend, "count"),
    "in the draw": (Reservoir, "_ahead"),
    "in the comparison": (Gate, "_decide"),
    "in the commit": (GateStore, "settle"),
    "in the answer": (Asking, "deliver"),
}


def after(method: Callable[..., Any]) -> Callable[..., Any]:
    """The method, and then the interrupt."""

    def interrupted(*args: Any, **options: Any) -> None:
        method(*args, **options)
        raise KeyboardInterrupt

    return interrupted


def before(method: Callable[..., Any]) -> Callable[..., Any]:
    """The interrupt in place of the method."""

    def interrupted(*args: Any, **options: Any) -> None:
        raise KeyboardInterrupt

    return interrupted


@pytest.mark.parametrize("when", [before, after])
@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("asked", [HIGH, LOW])
def test_an_ask_that_is_interrupted_counts_and_the_gate_goes_on_with_one_above_less(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: str, where: str, when: Callable[..., Any]
) -> None:
    shop = Shop(tmp_path)
    keeper = shop.keeper()
    gate, mine = shop.open(keeper, cutoff=CUTOFF), shop.caller("mine")
    place, method = WHERE[where]
    with monkeypatch.context() as patch:
        patch.setattr(place, method, when(getattr(place, method)))
        with pytest.raises(KeyboardInterrupt):
            keeper.ask(mine, gate, asked)
    written = keeper.gate(gate)
    assert written["asked"] == 1
    # What was written is told again; what was not is lost, and may have been an ABOVE.
    try:
        assert keeper.ask(mine, gate, asked).above == (asked == HIGH)
        assert written["positives"] == (asked == HIGH)
    except OutcomeLost:
        assert written["positives"] == written["lost"] == 1
    given = 0
    while not keeper.gate(gate)["closed"]:
        given += keeper.ask(shop.caller(), gate, HIGH).above
    assert given == CUTOFF - written["positives"]
    assert keeper.gate(gate)["because"] == f"all {CUTOFF} of its positive answers are given or lost"
    shop.shut()


def test_a_gate_that_is_made_anew_counts_what_was_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The ledger would refuse what is too much; the live gate counts it by itself as well."""
    shop = Shop(tmp_path)
    keeper = shop.keeper()
    gate = shop.open(keeper, cutoff=CUTOFF)
    for lost in range(1, CUTOFF):
        with monkeypatch.context() as patch:
            patch.setattr(Gate, "_decide", before(Gate._decide))
            with pytest.raises(KeyboardInterrupt):
                keeper.ask(shop.caller(), gate, LOW)
        live = keeper._resumed(keeper._store.gate(gate))
        assert (live.positives, live.remaining, live.closed) == (lost, CUTOFF - lost, False)
    shop.shut()


def test_a_retry_gets_its_answer_whatever_has_changed_since(shop: Shop, tmp_path: Path) -> None:
    keeper = shop.keeper()
    gate = shop.open(keeper)
    first = keeper.ask(shop.caller("mine"), gate, HIGH)
    keeper.dataset.altered = True  # type: ignore[attr-defined]
    keeper.dataset.schema = Schema((Column("other", Kind.TEXT),))
    assert keeper.ask(shop.caller("mine"), gate, HIGH) == first
    SealingKey.create(tmp_path / "new.key")
    shop.key = tmp_path / "new.key"
    assert shop.keeper(Pretend("second"), close_gates=True).ask(shop.caller("mine"), gate, HIGH).above is first.above


def test_a_server_on_other_data_neither_answers_a_gate_nor_closes_the_gates_of_others(shop: Shop) -> None:
    old, new = shop.keeper(Pretend("first")), shop.keeper(Pretend("second"))
    gate = shop.open(old)
    with pytest.raises(GateClosed, match=ELSEWHERE):
        new.ask(shop.caller(), gate, LOW)
    assert not old.ask(shop.caller(), gate, LOW).above
    fresh = shop.open(new)
    old.dataset.altered = True  # type: ignore[attr-defined]
    with pytest.raises(TableError):
        shop.open(old)
    assert not new.ask(shop.caller(), fresh, LOW).above


def test_no_more_questions_are_counted_at_once_than_there_are_places(shop: Shop) -> None:
    leave, inside = threading.Semaphore(0), list[int]()

    def count() -> None:
        inside.append(1)
        assert leave.acquire(timeout=10)
        assert len(inside) <= 2
        inside.pop()

    keeper = shop.keeper(Pretend(counted=count), places=2)
    gates = [shop.open(keeper) for _ in range(5)]
    with ThreadPoolExecutor(5) as pool:
        asked = [pool.submit(keeper.ask, shop.caller(), gate, LOW) for gate in gates]
        until(lambda: keeper.waiting == 3)
        leave.release(5)
        assert [each.result().above for each in asked] == [False] * 5
    assert keeper.waiting == 0


def test_a_key_with_another_body_is_refused_and_spends_nothing(shop: Shop, keeper: Keeper) -> None:
    public = {"threshold": 0, "cutoff": 3, "epsilon": 1}
    first = keeper.open_gate(shop.caller("k"), **public)
    assert keeper.open_gate(shop.caller("k"), **public, noise="auto", closes="above") == first
    gate = first["id"]
    keeper.ask(shop.caller("k"), gate, HIGH)
    with pytest.raises(KeyReused):
        keeper.ask(shop.caller("k"), gate, LOW)
    with pytest.raises(KeyReused):
        keeper.open_gate(shop.caller("k"), **public, closes="rarer")
    assert keeper.gate(gate)["asked"] == 1
    assert not keeper.ask(shop.caller("k", token=2), gate, LOW).above


@pytest.mark.parametrize(("common", "rare"), [(HIGH, LOW), (LOW, HIGH)])
def test_a_two_sided_gate_goes_on_after_a_restart_with_many_of_one_answer(shop: Shop, common: str, rare: str) -> None:
    keeper = shop.keeper()
    gate = shop.open(keeper, cutoff=2, closes="rarer")
    for _ in range(5):
        keeper.ask(shop.caller(), gate, common)
    keeper.close()
    other = shop.keeper()
    assert [other.ask(shop.caller(), gate, where).closed for where in (common, rare, rare)] == [False, False, True]


def test_the_threshold_noise_is_in_the_ledger_encrypted_only(shop: Shop, keeper: Keeper) -> None:
    gates = [shop.open(keeper, epsilon=1) for _ in range(8)]
    for gate in gates:
        keeper.ask(shop.caller(), gate, LOW)
    secrets = [threshold_noise(live) for live in keeper._live.values()]
    assert len(set(secrets)) > 1
    with keeper.ledger.database.reading() as connection:  # type: ignore[attr-defined]
        stored = connection.rows("SELECT * FROM gates")
    sealed = [bytes(row.sealed) for row in stored]
    assert len({len(value) for value in sealed}) == 1
    assert all(secret not in value for value in sealed for secret in secrets)


def test_gates_close_when_the_data_changes_and_the_budget_goes_on(shop: Shop) -> None:
    keeper = shop.keeper(Pretend("first"))
    gate = shop.open(keeper, epsilon=4)
    keeper.ask(shop.caller(), gate, LOW)
    other = shop.keeper(Pretend("second"), close_gates=True)
    assert other.gate(gate)["because"] == CHANGED
    assert other.budget().spent.epsilon == Fraction(other.gate(gate)["spent"]) > 0
    fresh = shop.open(other, epsilon=4)
    other.dataset.altered = True  # type: ignore[attr-defined]
    with pytest.raises(TableError, match="the data has changed"):
        other.ask(shop.caller(), fresh, LOW)
    assert other.gate(fresh)["closed"]
    with pytest.raises(TableError):
        shop.open(other)
    assert other.budget().spent.epsilon == Fraction(other.gate(gate)["spent"])


def test_a_start_on_other_data_is_refused_while_gates_are_open_and_writes_nothing(shop: Shop) -> None:
    keeper = shop.keeper(Pretend("first"))
    gates = [shop.open(keeper) for _ in range(3)]
    keeper.close_gate(gates[0])
    before = everything(keeper)
    with pytest.raises(LedgerError, match=f"has 2 open gates that this would close for good, because {CHANGED}; .*"):
        shop.keeper(Pretend("second"))
    assert everything(keeper) == before
    assert not keeper.ask(shop.caller(), gates[1], LOW).above
    for gate in gates[1:]:
        keeper.close_gate(gate)
    shop.keeper(Pretend("second"))


def everything(keeper: Keeper) -> list[Any]:
    with keeper.ledger.database.reading() as connection:
        return [connection.rows(f"SELECT * FROM {table}") for table in (*schema.TABLES, *service_schema.TABLES)]


def test_a_place_goes_to_whoever_waits_longest_and_to_no_newcomer() -> None:
    places, order = Places(1), list[str]()

    def take(name: str) -> None:
        with places.at():
            order.append(name)
            time.sleep(0.05)

    waiters = [threading.Thread(target=take, args=(name,)) for name in ("first", "second")]
    with places.at():
        for number, waiter in enumerate(waiters, start=1):
            waiter.start()
            until(lambda number=number: places.waiting == number)  # type: ignore[misc]
    take("newcomer")
    for waiter in waiters:
        waiter.join()
    assert (order, places.waiting) == (["first", "second", "newcomer"], 0)


def test_a_condition_is_kept_once_its_answer_has_left_and_not_before(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was only read, or refused, is read again: a stopwatch tells nothing that the list of answers does not."""
    reads: list[str] = []

    def counted(text: str, schema: Schema) -> Condition:
        reads.append(text)
        return read_condition(text, schema)

    monkeypatch.setattr("sparsegate.service.keeper.read_condition", counted)
    first, second = shop.keeper(), shop.keeper()
    gate = shop.open(first)
    known = [first.read(LOW), first.read(LOW)]
    assert reads == [LOW, LOW]
    first.ask(shop.caller(), gate, LOW)
    first.ask(shop.caller(), gate, LOW)
    assert first.read(LOW) == known[0]
    assert reads == [LOW] * 3
    second.read(LOW)  # another keeper may have other columns and limits
    for _ in range(2):
        with pytest.raises(ConditionError):
            first.read("nothing = 1")
    first.close_gate(gate)
    with pytest.raises(GateClosed):
        first.ask(shop.caller(), gate, HIGH)
    first.read(HIGH)
    assert reads == [LOW] * 4 + ["nothing = 1"] * 2 + [HIGH]


def test_kept_conditions_are_bounded_in_number_and_in_characters() -> None:
    schema = Schema((Column("age", Kind.INTEGER),))
    texts = [f"age > {number}" for number in range(100, 200)]
    kept = AskedConditions(most=10)
    for text in [*texts, texts[-5]]:
        kept.put(read_condition(text, schema))
    assert [text for text in texts if kept.get(text)] == texts[-10:]
    small = AskedConditions(characters=100)  # of which each takes 9 and 13
    for text in texts:
        small.put(read_condition(text, schema))
    assert [text for text in texts if small.get(text)] == texts[-4:]
    small.put(read_condition(texts[0] + " OR age > 1" * 9, schema))  # more than there is room for
    assert [text for text in texts if small.get(text)] == []
