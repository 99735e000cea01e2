"""The balance that a ledger carries from entry to entry is what its entries add up to; else these are read."""

from __future__ import annotations

import random
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest

import sparsegate as sg
from sparsegate.errors import BudgetExceeded, LedgerError
from sparsegate.ledger.account import EntryKind, exact_amount
from sparsegate.ledger.ledger import Ledger, append

GATE = {"threshold": 1000, "sensitivity": 1, "monotonic": True, "within": 500}


@pytest.fixture(params=["sqlite", "postgresql"])
def ledger(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Ledger]:
    on_disk = request.param == "sqlite"
    place = str(tmp_path / "z.ledger") if on_disk else request.getfixturevalue("cluster").database()
    with Ledger.create(place, dataset="visits", budget=(1, 1e-6), budget_delta=1e-3) as made:
        yield made


def carried(ledger: Ledger) -> object:
    with ledger.database.reading() as connection:
        return ledger._carried(connection)


def test_an_above_reads_no_statement(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """So it costs the same however many entries there are: ``python -m benchmarks budget`` measures it."""
    with sg.SparseVector(**GATE, ledger=ledger) as gate:
        with monkeypatch.context() as patched:
            patched.setattr(Ledger, "_read", None)
            assert [gate.ask(answer).above for answer in (10**6, -(10**6), 10**6)] == [True, False, True]
        assert carried(ledger) == ledger.statement().balance


def test_whatever_is_written_the_balance_is_that_of_the_statement(ledger: Ledger) -> None:
    draw = random.Random(7)
    gates: list[sg.SparseVector] = []
    steps = (
        lambda: ledger.spend(epsilon=Fraction(1, draw.randint(300, 900)), delta=Fraction(1, 10**6), what="some"),
        lambda: gates.append(sg.SparseVector(**GATE, ledger=ledger)),
        lambda: gates and draw.choice(gates).ask(10**6),
        lambda: gates and gates.pop().close(),
        lambda: ledger.raise_budget(budget=1 + Fraction(len(ledger.entries()), 100), why="more"),
    )
    for _ in range(40):
        draw.choice(steps)()
        statement = ledger.statement()
        assert carried(ledger) in (None, statement.balance)
        signs = [{"budget": 0, "refund": -1}.get(entry.kind, 1) for entry in statement.entries]
        added = sum(sign * (entry.amount.rho or 0) for sign, entry in zip(signs, statement.entries, strict=True))
        assert statement.spent.rho == added
    assert carried(ledger) is not None


def test_entries_that_somebody_else_added_are_read(ledger: Ledger) -> None:
    with sg.SparseVector(**GATE, ledger=ledger) as gate:
        left = ledger.statement().remaining
        with ledger.database.writing() as connection:  # as a program that knows no balance would
            append(connection, 4, EntryKind.SPEND, exact_amount(left.epsilon, 0, left.rho), "elsewhere")
        assert carried(ledger) is None
        assert gate.ask(10**6)
        assert gate.closed, "there is nothing left to reserve the next ABOVE from"
    ledger.raise_budget(budget=2, why="more")
    assert carried(ledger) == ledger.statement().balance


def test_a_ledger_that_lacks_a_table_is_damaged(ledger: Ledger) -> None:
    with ledger.database.writing() as connection:
        connection.run("DROP TABLE balance")
    with pytest.raises(LedgerError, match="lacks one of its tables"):
        ledger.reopening()()


def test_a_balance_that_a_hand_changed_is_damage_when_the_ledger_is_opened(ledger: Ledger) -> None:
    for change in (
        "epsilon = '0'",
        "epsilon = ''",
        "delta = ''",
        "rho = '0'",
        "rho = NULL",
        "budget = 2",
        "restored = 1",
    ):
        ledger.spend(epsilon=0.02, what="some")  # which writes the balance anew
        with ledger.database.writing() as connection:
            connection.run(f"UPDATE balance SET {change}")
        with pytest.raises(LedgerError, match="damaged: (its balance|it holds an amount)"):
            ledger.reopening()()


def test_sums_that_are_too_long_to_be_written_are_added_up_each_time(tmp_path: Path) -> None:
    with Ledger.create(tmp_path / "v.ledger", dataset="visits", budget=1) as ledger:
        for number in (3**500, 7**300, 11**250):
            ledger.spend(epsilon=Fraction(1, number), what="a long one")
        with ledger.database.reading() as connection:
            assert connection.rows("SELECT * FROM balance") == []
        with pytest.raises(BudgetExceeded):
            ledger.spend(epsilon=1, what="all")


def test_the_sums_of_a_zcdp_ledger_read_as_rho(ledger: Ledger) -> None:
    ledger.spend(epsilon=0.1, what="some")
    statement = ledger.statement()
    assert str(statement.spent) == f"rho {float(statement.spent.rho or 0)}"
    assert str(statement.remaining).startswith("rho 0.01936")
    record = statement.to_dict()
    assert "counts_rho" not in str(record)
    assert (record["rule"], record["conversion_delta"], record["budget"]["epsilon"]) == ("zcdp", "0.000001", "1")
    assert record["spent"]["rho"] == record["entries"][1]["rho"] == "0.004995837495788"
    assert "for epsilon 1 at delta 0.000001" in statement.says(statement.budget)
    assert "rho" in str(statement)
