"""Online answers that are interrupted: what was paid for counts, said or not, and never more than the cutoff."""

from __future__ import annotations

from typing import Any

import duckdb
import numpy as np
import pytest
from tests.support.accounts import Account
from tests.support.interrupts import interrupt_by_signal, interrupt_everywhere

import sparsegate as sg

ERRORS = [KeyboardInterrupt, MemoryError]
PEOPLE = duckdb.sql("SELECT 'DE' AS country")
PUBLIC: dict[str, Any] = {"unit": "row", "epsilon": 4000, "tolerance": 2, "cutoff": 2, "population": 10}


class Watched:
    """Answers with their account, and what was said: one that is paid for, and one that is known from it."""

    def __init__(self) -> None:
        self.account = Account()
        with pytest.MonkeyPatch.context() as patch:  # what a table says is known: questions are interrupted, not counts
            patch.setattr("sparsegate.tables.online._counted", lambda *_, **__: np.array([9, 1]))
            self.online = sg.uses.OnlineAnswers(PEOPLE, {"country": ["DE", "FR"]}, ledger=self.account, **PUBLIC)
        self.said: list[sg.uses.OnlineAnswer] = []
        self.ask("DE")

    def ask(self, country: str = "DE") -> None:
        self.said.append(self.online.ask({"country": country}))

    def surprise(self) -> None:
        """What the histogram says now is wrong again."""
        self.online._histogram = type(self.online._histogram).uniform(2)
        self.ask()

    def ask_on(self) -> None:
        for _ in range(8):
            self.ask()
        self.surprise()

    @property
    def paid(self) -> int:
        return sum(each.paid for each in self.said)

    def check(self) -> None:
        online = self.online
        for _ in range(4):
            try:
                self.surprise()
            except sg.GateClosed:
                break
        assert online.closed
        assert self.paid <= 2
        cost = online._gate._calibration.spent([(len(self.said) - self.paid, self.paid)])
        assert online.spent >= cost
        online.close()
        assert self.account.spent >= cost
        assert online.synthetic.sum() <= 10.001
        assert not online.ask({"country": "DE"}, unchecked=True).checked


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # what cannot be given back is a warning
@pytest.mark.parametrize("every", [2, pytest.param(1, marks=pytest.mark.soak)])
@pytest.mark.parametrize("error", ERRORS)
def test_what_was_drawn_counts_wherever_it_is_interrupted(error: type[BaseException], every: int) -> None:
    assert interrupt_everywhere(Watched, Watched.surprise, Watched.check, error=error, every=every) > 50


def test_what_was_drawn_counts_whenever_a_signal_comes() -> None:
    assert interrupt_by_signal(Watched, Watched.ask_on, Watched.check, times=60, within=1e-3) > 10
