"""The ledger: exact sums, refusals that change nothing; many who spend at once, forks and crashes, on both stores."""

from __future__ import annotations

import contextlib
import copy
import math
import pickle
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from tests.support.processes import in_forked_child
from tests.support.threads import at_once

from sparsegate.errors import BudgetExceeded, LedgerError, ParameterError
from sparsegate.ledger.account import Amount, EntryKind
from sparsegate.ledger.database import open_database
from sparsegate.ledger.ledger import Ledger


@pytest.fixture
def shared(place: str) -> Ledger:
    """For what must hold on both stores."""
    return Ledger.create(place, dataset="visits", budget=1)


def test_ten_tenths_are_one_and_not_a_bit_more(ledger: Ledger) -> None:
    for number in range(10):
        ledger.spend(epsilon=0.1, what=f"release {number}")
    assert ledger.total_spent() == Amount(epsilon=Fraction(1))
    with pytest.raises(BudgetExceeded):
        ledger.spend(epsilon=1e-300, what="one too many")


def test_an_entry_says_when_what_and_how_much(path: Path, ledger: Ledger) -> None:
    entry = ledger.spend(epsilon=Fraction(1, 3), what="a third")
    budget, spend = Ledger(path).entries()
    assert spend == entry
    assert (budget.number, budget.kind, spend.number, spend.kind) == (1, EntryKind.BUDGET, 2, EntryKind.SPEND)
    assert (spend.amount.epsilon, spend.what) == (Fraction(1, 3), "a third")
    assert spend.at.utcoffset() is not None


def test_a_refusal_changes_nothing(ledger: Ledger) -> None:
    ledger.spend(epsilon=0.7, what="most of it")
    before = ledger.statement()
    with pytest.raises(BudgetExceeded, match="epsilon 0.7 is spent and epsilon 0.3 remains"):
        ledger.spend(epsilon=0.4, what="too much")
    with pytest.raises(BudgetExceeded, match="epsilon 0.3, and no delta remains"):
        ledger.spend(epsilon=0.2, delta=1e-6, what="a budget without delta")
    assert ledger.statement() == before
    assert before.remaining == Amount(epsilon=Fraction(3, 10))


def test_delta_has_a_budget_of_its_own_and_it_is_zero_unless_given(path: Path, ledger: Ledger) -> None:
    with pytest.raises(BudgetExceeded, match="delta 0.000001"):
        ledger.spend(epsilon=0.1, delta=1e-6, what="unknown domain")
    other = Ledger.create(path.with_suffix(".two"), dataset="visits", budget=1, budget_delta=2e-6)
    for _ in range(2):
        other.spend(epsilon=0.1, delta=1e-6, what="unknown domain")
    with pytest.raises(BudgetExceeded):
        other.spend(epsilon=0.1, delta=1e-12, what="unknown domain")


@pytest.mark.parametrize("bad", [math.nan, math.inf, -1, 0, True, "0.5", None, Decimal("NaN"), Fraction(1, 10**500)])
def test_an_epsilon_that_is_no_positive_number_is_refused_and_not_recorded(ledger: Ledger, bad: object) -> None:
    with pytest.raises(ParameterError, match="epsilon"):
        ledger.spend(epsilon=bad, what="nonsense")  # type: ignore[arg-type]
    assert len(ledger.entries()) == 1


@pytest.mark.parametrize("bad", [math.nan, -1e-9, 1])
def test_a_delta_outside_zero_to_one_is_refused(ledger: Ledger, bad: float) -> None:
    with pytest.raises(ParameterError, match="delta"):
        ledger.spend(epsilon=0.1, delta=bad, what="nonsense")


@pytest.mark.parametrize("bad", ["", "two\nlines", "x" * 501])
def test_what_is_one_line(ledger: Ledger, bad: str) -> None:
    with pytest.raises(ParameterError, match="what"):
        ledger.spend(epsilon=0.1, what=bad)


@pytest.mark.parametrize(("epsilon", "delta"), [(1, None), (0.5, None), (1, 0), (2, -1), (math.nan, None), (0.9, 0.1)])
def test_a_budget_is_never_lowered(ledger: Ledger, epsilon: float, delta: float | None) -> None:
    with pytest.raises(ParameterError):
        ledger.raise_budget(budget=epsilon, budget_delta=delta, why="a slip")
    assert len(ledger.entries()) == 1


def test_a_second_dataset_is_refused(path: Path, ledger: Ledger) -> None:
    with pytest.raises(LedgerError, match="belongs to the dataset 'visits', not 'sales'"):
        Ledger(path, dataset="sales")


def test_creating_over_a_ledger_is_refused_and_keeps_it(path: Path, ledger: Ledger) -> None:
    ledger.spend(epsilon=0.9, what="nearly all")
    with pytest.raises(LedgerError, match="already there"):
        Ledger.create(path, dataset="visits", budget=100)
    assert Ledger(path).total_spent().epsilon == Fraction(9, 10)
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_only_one_of_many_who_create_at_once_succeeds(place: str) -> None:
    made: list[Ledger] = []

    def create(_: int) -> None:
        with contextlib.suppress(LedgerError):
            made.append(Ledger.create(place, dataset="visits", budget=1))

    at_once(create, range(5))
    assert len(made) == 1
    assert len(Ledger(place).entries()) == 1


SPENDER = """
import sys
from sparsegate.errors import BudgetExceeded
from sparsegate.ledger.ledger import Ledger
ledger, granted = Ledger(sys.argv[1], patience=30), 0
try:
    while True:
        ledger.spend(epsilon=0.025, what="one of many")
        granted += 1
except BudgetExceeded:
    print(granted)
"""


def test_processes_that_spend_at_once_never_pass_the_budget(place: str, shared: Ledger) -> None:
    spenders = [
        subprocess.Popen([sys.executable, "-c", SPENDER, place], stdout=subprocess.PIPE, text=True) for _ in range(3)
    ]
    granted = [int(spender.communicate(timeout=60)[0]) for spender in spenders]
    assert sum(granted) == 40
    assert shared.total_spent().epsilon == 1


def test_threads_that_spend_at_once_never_pass_the_budget(shared: Ledger) -> None:
    granted: list[int] = []

    def spend(_: int) -> None:
        for _ in range(15):
            try:
                granted.append(shared.spend(epsilon=0.05, what="one of many").number)
            except BudgetExceeded:
                return

    at_once(spend, range(3))
    assert sorted(granted) == list(range(2, 22))


def test_a_fork_goes_on_with_the_same_ledger(shared: Ledger) -> None:
    assert in_forked_child(lambda: shared.spend(epsilon=0.5, what="by the child").number) == 2
    assert shared.spend(epsilon=0.5, what="by the parent").number == 3


def test_of_two_who_go_on_with_one_release_the_store_refuses_the_one_that_knows_less(shared: Ledger) -> None:
    entry = shared.spend(epsilon=0.5, what="answers")
    shared.keep(entry, {"answer": 1}, after=0)
    shared.keep(entry, {"answer": 2}, after=1)
    with pytest.raises(LedgerError, match="than this process knows"):
        shared.keep(entry, {"answer": "again"}, after=1)
    shared.give_back(entry, epsilon=0.25)
    with pytest.raises(LedgerError, match="than this process knows"):
        shared.keep(entry, {"answer": "late"}, after=2)
    assert [part["answer"] for part in shared.release(entry.number).gave] == [1, 2]


def test_a_server_that_keeps_old_snapshots_refuses_nobody(cluster: Any) -> None:
    """A transaction that waited for the lock sees what was spent while it waited, whatever the server's default is."""
    place = cluster.database()
    with Ledger.create(place, dataset="visits", budget=1) as ledger, ledger.database.writing() as connection:
        name = connection.exec_driver_sql("SELECT current_database()").scalar()
        connection.exec_driver_sql(f"ALTER DATABASE {name} SET default_transaction_isolation = 'repeatable read'")
    with Ledger(place) as ledger, ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda number: ledger.spend(epsilon=0.05, what=f"release {number}"), range(20)))
        assert ledger.total_spent().epsilon == 1


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda ledger: pickle.loads(pickle.dumps(ledger))])
def test_a_copy_of_a_ledger_is_the_ledger_opened_again(
    shared: Ledger, copied: Callable[[Ledger], Ledger], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared.spend(epsilon=0.25, what="before")
    monkeypatch.chdir(tmp_path)
    with copied(shared) as again:
        again.spend(epsilon=0.5, what="there")
        assert shared.total_spent() == again.total_spent() == Amount(epsilon=Fraction(3, 4))
        with pytest.raises(BudgetExceeded):
            again.spend(epsilon=0.5, what="too much")
    shared.spend(epsilon=0.25, what="after")


def test_a_pickle_of_a_ledger_opens_no_other(path: Path, ledger: Ledger) -> None:
    kept = pickle.dumps(ledger)
    path.unlink()
    with pytest.raises(LedgerError, match="does not exist"):
        pickle.loads(kept)
    Ledger.create(path, dataset="other visits", budget=1)
    with pytest.raises(LedgerError, match="belongs to the dataset 'other visits'"):
        pickle.loads(kept)


def test_a_pickle_of_a_ledger_holds_no_password() -> None:
    secret = "postgresql://ann:hush-1@db.example/visits?password=hush-2&sslpassword=hush-3&sslmode=require"
    database = open_database(secret)
    assert database.address == "postgresql://ann@db.example/visits?sslmode=require"
    assert database.shown == "postgresql://ann:***@db.example/visits?sslmode=require"
