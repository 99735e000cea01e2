"""Improvements that are interrupted: as before, or finished; and never more of them than were paid for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.support.accounts import Account
from tests.support.interrupts import interrupt_by_signal, interrupt_everywhere

import sparsegate as sg
from sparsegate.uses.improvement import Improvement
from sparsegate.uses.records import STEPS

ERRORS = [KeyboardInterrupt, MemoryError]
RECORDS = np.arange(1000)


def made(*, patience: int, ledger: Account | None = None) -> Improvement:
    """As ``improved`` makes it, without the preview, which takes longer than all the rest."""
    bar = STEPS * 100
    gate = sg.SparseVector(threshold=bar, cutoff=2, sensitivity=STEPS, epsilon=20, ledger=ledger)
    return Improvement(gate, by=0.1, size=1000, patience=patience, ends=(0.0, 1.0))


class Watched:
    """Candidates that are each better by 200 of 1000 records, and what was told of them."""

    def __init__(self) -> None:
        self.account = Account()
        self.better = made(patience=3, ledger=self.account)
        self.told = [self.ask(100), self.ask(100), self.ask(300)]

    def ask(self, right: int = 500) -> bool:
        return bool(self.better(right > RECORDS))

    def improve(self) -> None:
        for right in (300, 310, 500):
            self.told.append(self.ask(right))

    def check(self) -> None:
        better, before = self.better, len(self.told)
        if not better.finished:
            assert better.seen - before in (0, 1)  # 1: where it was counted, and was on its way
            best = {2: 300, 3: 500}[better.best or 0]
            assert better.best < better.seen
            assert better._best_sum == best * STEPS
            self.told.append(self.ask(best + 200))
        while not better.finished:
            self.told.append(self.ask(900))
        assert sum(self.told[1:]) <= 2
        below = len(self.told) - 1 - sum(self.told[1:])
        cost = better._gate.cost(below=below, above=sum(self.told[1:]))
        assert better.spent >= cost
        better.close()
        assert self.account.spent >= cost
        with pytest.raises(sg.GateClosed):
            self.ask()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # what cannot be given back is a warning
@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("right", [500, 300])
def test_it_is_as_before_or_finished_wherever_it_is_interrupted(right: int, error: type[BaseException]) -> None:
    ended = []

    def ask(watched: Watched) -> None:
        watched.told.append(watched.ask(right))

    def check(watched: Watched) -> None:
        ended.append(watched.better.finished)
        watched.check()

    assert interrupt_everywhere(Watched, ask, check, error=error) > 30
    assert {True, False} == set(ended)


def test_it_is_as_before_or_finished_whenever_a_signal_comes() -> None:
    assert interrupt_by_signal(Watched, Watched.improve, Watched.check, times=60, within=4e-4) > 10


def test_patience_ends_wherever_it_is_interrupted() -> None:
    def make() -> Improvement:
        better = made(patience=2)
        better(RECORDS < 100)
        better(RECORDS < 100)
        return better

    def check(better: Improvement) -> None:
        for _ in range(2):  # the one that was cut short, and one that was on its way
            if better.finished:
                break
            better(RECORDS < 100)
        assert better.finished

    assert interrupt_everywhere(make, lambda better: better(RECORDS < 100), check) > 30


def test_whoever_waits_is_not_told_that_it_is_finished_while_another_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    watched, seen = Watched(), []
    ask = watched.better._gate.ask

    class Looking:
        """The gate, looked past while it is asked."""

        def __getattr__(self, name: str) -> Any:
            return getattr(watched_gate, name)

        def ask(self, units: int) -> sg.Answer:
            seen.append(watched.better.finished)
            return ask(units)

    watched_gate = watched.better._gate
    watched.better._gate = Looking()  # type: ignore[assignment]
    watched.ask()
    assert seen == [False]
