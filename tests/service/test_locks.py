"""Turns: one at a time at each gate, in one process and between processes, and given back when a process dies."""

from __future__ import annotations

import subprocess
import sys
import time
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import pytest
from tests.support.threads import at_once

from sparsegate.errors import GateBusy, LedgerError
from sparsegate.ledger.database import open_database
from sparsegate.service.locks import FileTurns, turns_of

HOLDER = """
import sys, time
from sparsegate.ledger.database import open_database
from sparsegate.service.locks import turns_of
with turns_of(open_database(sys.argv[1]), patience=60).at(int(sys.argv[2])):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    return tmp_path / "visits.ledger"


def test_threads_take_turns_at_one_gate_and_not_at_two(ledger: Path) -> None:
    turns, inside, most = FileTurns(ledger, patience=60), [0, 0], [0, 0]

    def work(gate: int) -> None:
        for _ in range(10):
            with turns.at(gate):
                inside[gate] += 1
                most[gate] = max(most[gate], inside[gate])
                time.sleep(0.001)
                inside[gate] -= 1

    at_once(work, [place % 2 for place in range(8)])
    assert most == [1, 1]
    with turns.at(0), turns.at(1):
        pass


def test_another_process_is_waited_for_until_it_dies(place: str) -> None:
    command = [sys.executable, "-c", HOLDER, place, "3"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        turns = turns_of(open_database(place), patience=0.2)
        with pytest.raises(GateBusy), turns.at(3):
            pass
        with turns.at(4), turns.at(5):
            pass
        holder.kill()
    with turns_of(open_database(place), patience=5).at(3):
        pass


def test_a_database_that_is_gone_is_an_error_in_our_words(tmp_path: Path) -> None:
    database = open_database(f"postgresql://nobody@/none?host={tmp_path}")
    with pytest.raises(LedgerError, match="cannot be reached") as refused, turns_of(database, patience=1).at(1):
        pass
    assert refused.value.__context__ is None


def test_whoever_gave_a_turn_back_goes_behind_whoever_waits_for_it(place: str) -> None:
    """Lines of two workers, each of which comes again at once: they alternate, but for their first and last turns."""
    order: list[str] = []

    def work(name: str) -> None:
        with closing(turns_of(open_database(place), patience=60)) as turns:
            for _ in range(8):
                with turns.at(1):
                    order.append(name)
                    time.sleep(0.03)

    at_once(work, ["a", "b"])
    assert sum(one == other for one, other in pairwise(order)) <= 4
