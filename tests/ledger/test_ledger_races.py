"""The ledger under way, on both stores: many who spend at once, forks and crashes never pass the budget."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys

import pytest
from tests.support.processes import in_forked_child
from tests.support.threads import at_once

from sparsegate.errors import BudgetExceeded, LedgerError
from sparsegate.ledger.ledger import Ledger


@pytest.fixture
def ledger(place: str) -> Ledger:
    return Ledger.create(place, dataset="visits", budget=1)


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
        ledger.spend(epsilon=0.01, what="one of many")
        granted += 1
except BudgetExceeded:
    print(granted)
"""


def test_processes_that_spend_at_once_never_pass_the_budget(place: str, ledger: Ledger) -> None:
    spenders = [
        subprocess.Popen([sys.executable, "-c", SPENDER, place], stdout=subprocess.PIPE, text=True) for _ in range(4)
    ]
    granted = [int(spender.communicate(timeout=60)[0]) for spender in spenders]
    assert sum(granted) == 100
    assert ledger.total_spent().epsilon == 1


def test_threads_that_spend_at_once_never_pass_the_budget(ledger: Ledger) -> None:
    granted: list[int] = []

    def spend(_: int) -> None:
        for _ in range(15):
            try:
                granted.append(ledger.spend(epsilon=0.05, what="one of many").number)
            except BudgetExceeded:
                return

    at_once(spend, range(3))
    assert sorted(granted) == list(range(2, 22))


def test_a_fork_goes_on_with_the_same_ledger(ledger: Ledger) -> None:
    assert in_forked_child(lambda: ledger.spend(epsilon=0.5, what="by the child").number) == 2
    assert ledger.spend(epsilon=0.5, what="by the parent").number == 3


KILLED = """
import os, signal, sys
from sparsegate.ledger.ledger import Ledger
Ledger(sys.argv[1]).spend(epsilon=0.5, what="lost in a crash")
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_was_committed_before_a_sigkill_stays_spent(place: str, ledger: Ledger) -> None:
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", KILLED, place], check=False)
        assert done.returncode == -signal.SIGKILL
    assert ledger.total_spent().epsilon == 1
    with pytest.raises(BudgetExceeded):
        ledger.spend(epsilon=0.01, what="after the crashes")


def test_a_transaction_that_was_cut_short_spends_nothing(ledger: Ledger) -> None:
    def die_inside() -> None:
        with ledger.database.writing() as connection:
            values = "2, '2025-01-01T00:00:00+00:00', 'spend', '1', '0', 'x'"
            connection.exec_driver_sql(f"INSERT INTO entries VALUES ({values})")
            os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises(EOFError):
        in_forked_child(die_inside)
    assert ledger.total_spent().epsilon == 0
