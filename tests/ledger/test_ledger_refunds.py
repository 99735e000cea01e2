"""What a closed gate gives back: once, no more than was spent, and only where the theorem of ``account`` holds."""

from __future__ import annotations

import os
import sqlite3
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text
from tests.support.processes import in_forked_child
from tests.support.threads import at_once

import sparsegate as sg
from sparsegate.budget import Prepaid, charge
from sparsegate.errors import LedgerError, ParameterError
from sparsegate.ledger.account import EntryKind
from sparsegate.ledger.gate import rounded_down
from sparsegate.ledger.ledger import Ledger, append

FAR = 10**6
HALF = Fraction(1, 2)
PLACE = Fraction(1, 10**12)


@pytest.fixture
def shared(place: str) -> Ledger:
    """For what must hold on both stores."""
    return Ledger.create(place, dataset="visits", budget=1)


def gate(ledger: Any, **options: Any) -> sg.SparseVector:
    public = {"threshold": 0, "cutoff": 5, "epsilon": HALF, "sensitivity": 1, "monotonic": True}
    return sg.SparseVector(**public | options, ledger=ledger)


def test_closing_gives_back_what_the_answers_did_not_cost(shared: Ledger) -> None:
    with gate(shared) as asked:
        asked.ask(-FAR)
        asked.ask(FAR)
        assert shared.total_spent().epsilon == HALF
    cost = asked.spent
    statement = shared.statement()
    assert cost == asked.cost(below=1, above=1)
    assert 0 < cost <= statement.spent.epsilon < cost + PLACE < HALF
    assert statement.given_back.epsilon == HALF - statement.spent.epsilon
    *_, paid, back = statement.entries
    assert (back.kind, back.of, back.amount.epsilon) == (EntryKind.REFUND, paid.number, rounded_down(HALF - cost))
    assert back.what == f"not used by entry {paid.number}, {paid.what}"


def test_a_gate_that_closed_by_itself_gives_back_too(ledger: Ledger) -> None:
    asked = gate(ledger, cutoff=1)
    asked.ask(FAR)
    assert asked.closed
    assert ledger.total_spent().epsilon == HALF
    asked.close()
    assert ledger.total_spent().epsilon == HALF - rounded_down(HALF - asked.spent) < HALF


def test_a_gate_that_used_everything_leaves_no_entry(ledger: Ledger) -> None:
    asked = gate(ledger, cutoff=1)
    asked.ask_many([-FAR] * 100 + [FAR])
    asked.close()
    assert asked.spent == HALF
    assert [entry.kind for entry in ledger.entries()] == ["budget", "spend"]


def test_closing_twice_gives_back_once(shared: Ledger) -> None:
    asked = gate(shared)
    at_once(lambda _: asked.close(), range(4))
    asked.close()
    assert [entry.kind for entry in shared.entries()] == ["budget", "spend", "refund"]
    assert shared.total_spent().epsilon == 0


def test_the_store_decides_which_of_two_comes_first(shared: Ledger) -> None:
    entry = shared.spend(epsilon=HALF, what="a gate")
    found = at_once(lambda part: shared.give_back(entry, epsilon=Fraction(part, 16)), (1, 2, 3, 4))
    assert len({one.number for one in found}) == 1
    assert shared.total_spent().epsilon == HALF - found[0].amount.epsilon
    with pytest.raises(LedgerError), shared.database.writing() as connection:
        append(connection, 4, EntryKind.REFUND, found[0].amount, "a second time", of=entry.number)
    assert len(shared.entries()) == 3


def test_what_was_given_back_can_be_spent_and_no_more(ledger: Ledger) -> None:
    entry = ledger.spend(epsilon=1, what="all of it")
    ledger.give_back(entry, epsilon=0.25)
    with pytest.raises(sg.BudgetExceeded, match="epsilon 0.75 is spent and epsilon 0.25 remains"):
        ledger.spend(epsilon=0.26, what="too much")
    ledger.spend(epsilon=0.25, what="the rest")
    assert ledger.statement().remaining.epsilon == 0


def test_what_cannot_go_back_is_refused_and_changes_nothing(path: Path) -> None:
    ledger = Ledger.create(path, dataset="visits", budget=2, budget_delta=1e-6)
    pure = ledger.spend(epsilon=HALF, what="a gate")
    both = ledger.spend(epsilon=HALF, delta=1e-6, what="an (epsilon, delta) gate")
    back = ledger.give_back(pure, epsilon=0.25)
    other = Ledger.create(path.with_name("other.ledger"), dataset="other", budget=2)
    strange = other.spend(epsilon=HALF, what="elsewhere")
    before = ledger.statement()
    for entry, epsilon in ((both, 0.1), (1, 0.1), (99, 0.1), (back, 0.1), (back.number, 0.1), (strange, 0.1)):
        with pytest.raises(ParameterError):
            ledger.give_back(entry, epsilon=epsilon)
    more = ledger.spend(epsilon=HALF, what="another")
    for wrong in (0, -1, 0.51, float("nan")):
        with pytest.raises(ParameterError):
            ledger.give_back(more, epsilon=wrong)
    assert ledger.entries()[:-1] == before.entries
    with pytest.raises(ParameterError):
        ledger.release(back.number)


@pytest.mark.parametrize(
    "options",
    [{"refund": False}, {"source": sg.Seeded(1), "not_private": True}],
    ids=["the old rule", "waived privacy"],
)
def test_a_gate_that_may_not_give_back_does_not(ledger: Ledger, options: dict[str, Any]) -> None:
    with gate(ledger, **options) as asked:
        asked.ask(-FAR)
    assert 0 < asked.spent < HALF
    assert ledger.total_spent().epsilon == HALF


def test_nothing_goes_back_where_there_is_a_delta(path: Path) -> None:
    ledger = Ledger.create(path, dataset="visits", budget=1, budget_delta=1e-6)
    assert charge(ledger, epsilon=HALF, delta=1e-6, what="approximate").give_back(HALF)
    assert charge(ledger, epsilon=HALF, what="pure").give_back(HALF)
    assert ledger.total_spent().epsilon == HALF


def test_a_reserved_charge_gets_back_what_its_gate_did_not_use(ledger: Ledger) -> None:
    with ledger.together() as report:
        reserved = report.reserve(epsilon=0.75, what="June")
    with gate(reserved) as asked:
        asked.ask(-FAR)
    assert ledger.total_spent().epsilon == Fraction(3, 4) - rounded_down(HALF - asked.spent)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_gate_in_another_process_gives_nothing_back_even_if_it_was_locked(ledger: Ledger) -> None:
    asked = gate(ledger)
    asked.ask(-FAR)
    with asked._lock:
        assert in_forked_child(lambda: (asked.close(), asked.spent)) == (None, asked.cost(below=1, above=0))
    assert ledger.total_spent().epsilon == HALF
    asked.ask(-FAR)
    asked.close()
    assert ledger.total_spent().epsilon == HALF - rounded_down(HALF - asked.cost(below=2, above=0))


def test_a_ledger_that_cannot_be_written_is_a_warning_and_closing_again_gives_back(ledger: Ledger, path: Path) -> None:
    asked = gate(ledger)
    moved = path.rename(path.with_name("away"))
    with pytest.warns(RuntimeWarning, match="what this did not cost stays spent"):
        asked.close()
    moved.rename(path)
    assert ledger.total_spent().epsilon == HALF
    with pytest.raises(sg.GateClosed):
        asked.ask(0)
    asked.close()
    assert ledger.total_spent().epsilon == 0


def test_online_answers_give_back_what_they_did_not_cost(ledger: Ledger) -> None:
    import pandas

    people = pandas.DataFrame({"page": ["/home"] * 40 + ["/docs"] * 30})
    with sg.uses.OnlineAnswers(
        people, {"page": ["/home", "/docs"]}, unit="row", epsilon=HALF, tolerance=FAR, cutoff=3, ledger=ledger
    ) as online:
        online.ask({"page": "/home"})
        assert ledger.total_spent().epsilon == HALF
    counted = HALF / 20
    assert counted < online.spent < HALF
    assert ledger.total_spent().epsilon == HALF - rounded_down(HALF - online.spent)
    with pytest.raises(ParameterError, match="^refund must be True or False"):
        sg.uses.OnlineAnswers(people, {}, unit="row", tolerance=FAR, refund="no", ledger=ledger)


def test_what_goes_back_is_rounded_down_so_that_sums_stay_short(ledger: Ledger) -> None:
    entry = ledger.spend(epsilon=HALF, what="a gate")
    assert ledger.give_back(entry, epsilon=PLACE / 2) is None
    ledger.give_back(entry, epsilon=Fraction(2, 7) - Fraction(1, 7**600))
    assert str(ledger.statement().given_back) == "epsilon 0.285714285714"


@pytest.mark.parametrize("change", ["UPDATE refunds SET of = 2", "DELETE FROM refunds"])
def test_refunds_are_never_changed(shared: Ledger, change: str) -> None:
    shared.give_back(shared.spend(epsilon=HALF, what="a gate"), epsilon=0.25)
    with pytest.raises(LedgerError), shared.database.writing() as connection:
        connection.execute(text(change))


@pytest.mark.parametrize(("amount", "of"), [("0.6", 2), ("0.25", 1), ("0.25", 3), ("0.25", None)])
def test_a_refund_that_does_not_fit_is_damage(ledger: Ledger, amount: str, of: int | None) -> None:
    entry = ledger.spend(epsilon=HALF, what="a gate")
    with ledger.database.writing() as connection:
        append(connection, 3, EntryKind.REFUND, type(entry.amount)(epsilon=Fraction(amount)), "forged", of=of)
    with pytest.raises(LedgerError, match="damaged"):
        ledger.statement()


@pytest.mark.parametrize(("of", "delta"), [(3, 0), (3, 1e-3), (-2, 0), (-99, 0)])
def test_a_refund_that_a_hand_wrote_is_damage(tmp_path: Path, of: int, delta: float) -> None:
    """Of an entry with a delta, or of one that a list counts from its end: SQLite does not look unless it is told."""
    path = tmp_path / "visits.ledger"
    with Ledger.create(path, dataset="visits", budget=1, budget_delta=0.1) as ledger:
        ledger.spend(epsilon=HALF, what="a gate")
        ledger.spend(epsilon=HALF, delta=1e-3, what="a gate with a delta")
        at = ledger.entries()[-1].at.isoformat()
    with sqlite3.connect(path) as connection:
        forged = (4, at, "refund", "0.5", str(delta), "forged")
        connection.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?)", forged)
        connection.execute("INSERT INTO refunds VALUES (?, 4)", (of,))
    with pytest.raises(LedgerError, match="entry 4 gives back what was not spent"):
        Ledger(path)


def test_what_was_paid_for_before_is_given_back_when_the_ledger_can_be_written_again(ledger: Ledger) -> None:
    asked = gate(Prepaid(charge(ledger, epsilon=HALF, what="a watch")))
    with sqlite3.connect(ledger.database.path) as other:
        other.execute("DROP TABLE refunds")
    with pytest.warns(RuntimeWarning, match="what this did not cost stays spent"):
        asked.close()
    with sqlite3.connect(ledger.database.path) as other:
        other.execute("CREATE TABLE refunds (of INTEGER NOT NULL PRIMARY KEY, entry INTEGER NOT NULL UNIQUE)")
    asked.close()
    assert ledger.total_spent().epsilon == 0
