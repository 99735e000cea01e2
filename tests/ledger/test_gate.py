"""A durable gate: charged with its row, counted with what it said, closed with what goes back, on both stores."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import pytest
from tests.support.interrupts import interrupt_everywhere

from sparsegate.errors import BudgetExceeded, GateClosed, LedgerError
from sparsegate.ledger.backup import RESTORED, restore
from sparsegate.ledger.gate import AnswerCounts, DurableGate
from sparsegate.ledger.ledger import Ledger

TITLE, TERMS = "gate 'x'", {"cutoff": 3}


def loss(below: int, above: int) -> Fraction:
    return Fraction(bool(below) + 2 * above, 10)


@pytest.fixture
def shared(place: str) -> Iterator[Ledger]:
    with Ledger.create(place, dataset="visits", budget=1) as made:
        yield made


def opened(ledger: Ledger, **options: Any) -> DurableGate:
    public: dict[str, Any] = {"epsilon": Fraction(7, 10), "what": "a gate", "title": TITLE, "terms": TERMS}
    with ledger.database.writing() as connection:
        return ledger.open_gate(connection, **public | {"refund": True} | options)


def stored(ledger: Ledger) -> DurableGate:
    with ledger.database.reading() as connection:
        return ledger.gates(connection, TITLE)[-1]


def test_what_is_said_is_counted_and_stored_and_the_rest_goes_back_once(shared: Ledger) -> None:
    gate = opened(shared)
    with pytest.raises(BudgetExceeded):
        opened(shared)
    gate.keep({"n": 1}, above=False)
    gate.keep({"n": 2}, above=True)
    found = stored(shared)
    assert (found.entry, found.terms, found.closed) == (gate.entry, TERMS, "")
    assert found.counts == gate.counts == AnswerCounts(asked=2, above=1, below=1)
    assert found.answers() == ({"n": 1}, {"n": 2})
    for _ in range(2):
        gate.close(gate.counts.cost(loss))
    assert shared.total_spent().epsilon == loss(1, 1)
    assert stored(shared).closed
    assert stored(shared).given_back == Fraction(4, 10)


@pytest.mark.parametrize("refund", [True, False])
def test_whoever_does_not_know_all_answers_neither_says_nor_gives_back_anything(shared: Ledger, refund: bool) -> None:
    gate = opened(shared, refund=refund)
    stale = stored(shared)
    gate.keep({"n": 1}, above=True)
    with pytest.raises(GateClosed):
        stale.keep({"n": 1}, above=True)
    stale.close(Fraction(0))
    assert (stored(shared).closed, shared.total_spent().epsilon) == ("", gate.epsilon)
    late = stored(shared)
    gate.close(gate.counts.cost(loss))
    with pytest.raises(GateClosed):
        late.keep({"n": 2}, above=True)
    assert stored(shared).answers() == ({"n": 1},)


@pytest.mark.parametrize("text", ["{", "3", "null", "[" * 5000])
def test_terms_that_do_not_read_are_a_damaged_ledger(shared: Ledger, text: str) -> None:
    opened(shared)
    with shared.database.writing() as connection:
        connection.run(f"UPDATE gates SET terms = '{text}'")
    with pytest.raises(LedgerError, match="damaged: the terms of the gate of entry 2 do not read"):
        stored(shared)


def test_an_entry_that_gave_back_by_hand_takes_no_answer(shared: Ledger) -> None:
    gate = opened(shared)
    shared.give_back(gate.entry, epsilon=0.1)
    with pytest.raises(GateClosed):
        gate.keep({"n": 1}, above=True)


def test_what_is_reserved_counts_as_the_dearer_answer_until_it_is_said(shared: Ledger) -> None:
    gate = opened(shared, reserved=1)
    assert stored(shared).counts.cost(loss) == loss(0, 1)
    gate.keep({"n": 1}, above=False)
    assert gate.counts == AnswerCounts(asked=2, below=1)
    assert stored(shared).counts.cost(loss) == loss(1, 1)


def test_a_restored_ledger_has_closed_it(shared: Ledger, place: str) -> None:
    gate = opened(shared)
    restore(place, backup=None, spent_since=0)
    with pytest.raises(GateClosed):
        gate.keep({"n": 1}, above=True)
    gate.close(Fraction(0))
    assert (stored(shared).closed, shared.total_spent().epsilon) == (RESTORED, gate.epsilon)


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_an_answer_is_counted_and_stored_or_neither_wherever_it_is_interrupted(
    again: Callable[[], Ledger], error: type[BaseException]
) -> None:
    def check(gate: DurableGate) -> None:
        found = stored(gate.ledger)
        assert found.counts.above == len(found.answers()) <= 1
        assert gate.counts.above <= found.counts.above, "nobody may say what is not stored"
        gate.ledger.close()

    def keep(gate: DurableGate) -> None:
        gate.keep({"n": 1}, above=True)

    assert interrupt_everywhere(lambda: opened(again()), keep, check, error=error, every=7) > 50


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # what cannot go back is a warning
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_it_is_closed_and_gave_back_or_neither_wherever_that_is_interrupted(
    again: Callable[[], Ledger], error: type[BaseException]
) -> None:
    def check(gate: DurableGate) -> None:
        found = stored(gate.ledger)
        assert bool(found.closed) == bool(found.given_back)
        gate.ledger.close()

    assert (
        interrupt_everywhere(lambda: opened(again()), lambda gate: gate.close(Fraction(0)), check, error=error, every=7)
        > 50
    )
