"""Retries, restarts, and several keepers on one ledger: one charge, one answer, one count of positives."""

from __future__ import annotations

import threading
import time
from contextlib import AbstractContextManager, nullcontext
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select
from tests.support.pretend_service import HIGH, LOW, Pretend, Shop, broken, until

from sparsegate.conditions import Column, Kind, Schema
from sparsegate.errors import GateClosed, KeyReused, LedgerError, TableError
from sparsegate.gates.gate import threshold_noise
from sparsegate.ledger import schema
from sparsegate.service import schema as service_schema
from sparsegate.service.gate_store import GateStore
from sparsegate.service.keeper import CHANGED, ELSEWHERE, Keeper
from sparsegate.service.keys import SealingKey


def test_a_retry_that_overtakes_its_answer_waits_for_it(shop: Shop) -> None:
    # Two keepers with turns that do not exclude one another, as when a connection to PostgreSQL breaks.
    first, second = (shop.keeper(delay=0.6) for _ in range(2))
    second._turns = ManyTurns()  # type: ignore[assignment]
    gate, begun = shop.open(first), time.monotonic()
    asking = threading.Thread(target=lambda: first.ask(shop.caller("mine"), gate, HIGH))
    asking.start()
    until(lambda: GateStore(first.ledger).gate(gate).tally.above == 1)  # type: ignore[arg-type]
    assert second.ask(shop.caller("mine"), gate, HIGH).above
    assert time.monotonic() - begun >= 0.6
    asking.join()


class ManyTurns:
    """Turns that everybody has at once."""

    def at(self, gate: int) -> AbstractContextManager[None]:
        return nullcontext()

    def close(self) -> None:
        pass


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


def test_a_retry_gets_the_stored_outcome_also_after_a_restart(shop: Shop, keeper: Keeper) -> None:
    gate = shop.open(keeper)
    first = keeper.ask(shop.caller("k"), gate, HIGH)
    again = keeper.ask(shop.caller("k"), gate, HIGH)
    later = shop.keeper(Pretend(counted=broken)).ask(shop.caller("k"), gate, HIGH)
    assert first == again == later
    assert keeper.gate(gate)["asked"] == 1


def test_a_key_with_another_body_is_refused_and_spends_nothing(shop: Shop, keeper: Keeper) -> None:
    gate = shop.open(keeper)
    keeper.ask(shop.caller("k"), gate, HIGH)
    with pytest.raises(KeyReused):
        keeper.ask(shop.caller("k"), gate, LOW)
    assert keeper.gate(gate)["asked"] == 1
    assert not keeper.ask(shop.caller("k", token=2), gate, LOW).above


def test_opening_twice_under_one_key_opens_and_charges_once(shop: Shop, keeper: Keeper) -> None:
    views = [keeper.open_gate(shop.caller("k"), threshold=5, cutoff=1, epsilon=0.5) for _ in range(2)]
    assert views[0] == views[1]
    assert keeper.budget().spent.epsilon * 2 == 1
    with pytest.raises(KeyReused):
        keeper.open_gate(shop.caller("k"), threshold=6, cutoff=1, epsilon=0.5)


def test_a_restart_goes_on_with_the_same_threshold_noise_at_no_cost(shop: Shop) -> None:
    keeper = shop.keeper()
    gate = shop.open(keeper, cutoff=5)
    keeper.ask(shop.caller(), gate, HIGH)
    noise = keeper._live[gate]._rho
    keeper.close()
    other = shop.keeper()
    other.ask(shop.caller(), gate, HIGH)
    assert other._live[gate]._rho == noise
    assert other._live[gate].positives == 2
    assert other.budget().spent.epsilon == 1


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
        stored = connection.execute(select(schema.GATES)).all()
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
        return [
            list(connection.execute(select(table)))
            for table in (*schema.METADATA.sorted_tables, *service_schema.METADATA.sorted_tables)
        ]
