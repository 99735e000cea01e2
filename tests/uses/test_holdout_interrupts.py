"""A holdout that is interrupted counts what it may have told: no more answers than were paid for, and none for less."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.support.accounts import Account
from tests.support.interrupts import interrupt_by_signal, interrupt_everywhere

import sparsegate as sg

ERRORS = [KeyboardInterrupt, MemoryError]
RIGHT = np.ones(1000, dtype=bool)
TERMS: dict[str, Any] = {"size": 1000, "threshold": 0.2, "cutoff": 2, "epsilon": 10}


class Watched:
    """A holdout with its account, and what it has told."""

    def __init__(self, **options: Any) -> None:
        self.account = options.pop("ledger", None) or Account()
        self.holdout = sg.uses.Holdout(**TERMS, ledger=self.account, **options)
        self.told = [self.holdout.score(1, RIGHT), self.holdout.score(0, RIGHT)]

    def score(self) -> None:
        self.told.append(self.holdout.score(0, RIGHT))

    def score_on(self) -> None:
        for train in (1, 1, 1, 1, 1, 1, 0):
            self.told.append(self.holdout.score(train, RIGHT))

    @property
    def paid(self) -> int:
        return sum(score.paid for score in self.told)

    @property
    def spent(self) -> Fraction:
        return self.account.spent if isinstance(self.account, Account) else self.account.total_spent().epsilon

    def check(self) -> None:
        for _ in range(4):
            try:
                self.score()
            except sg.GateClosed:
                break
        assert self.holdout.closed
        cost = self.holdout.terms.cost
        unsaid = self.paid < 2  # one was drawn, and counts as paid for
        assert self.holdout.spent == cost(self.paid + unsaid)
        self.holdout.close()
        assert self.spent >= cost(self.paid + unsaid)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # what is not stored in an account of one's own is a warning
@pytest.mark.parametrize("error", ERRORS)
def test_what_was_drawn_counts_wherever_it_is_interrupted(error: type[BaseException]) -> None:
    paid = []

    def check(watched: Watched) -> None:
        watched.check()
        paid.append(watched.paid)

    assert interrupt_everywhere(Watched, Watched.score, check, error=error) > 50
    assert set(paid) == {1, 2}


def test_an_answer_that_is_interrupted_while_it_is_stored_is_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    watched = Watched()

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr(watched.account, "keep", interrupted)
        with pytest.raises(KeyboardInterrupt):
            watched.score()
    with pytest.raises(sg.GateClosed, match="cut short or could not be stored"):
        watched.holdout.score(1, RIGHT)
    assert watched.spent == watched.holdout.spent == watched.holdout.terms.cost(2)


def test_what_was_drawn_counts_whenever_a_signal_comes() -> None:
    assert interrupt_by_signal(Watched, Watched.score_on, Watched.check, times=80, within=6e-4) > 10


@pytest.mark.parametrize("every", [29, pytest.param(1, marks=pytest.mark.soak)])
@pytest.mark.parametrize("error", ERRORS)
def test_under_one_name_no_more_is_paid_for_wherever_it_is_interrupted(
    again: Callable[[], sg.Ledger], error: type[BaseException], every: int
) -> None:
    def check(watched: Watched) -> None:
        ledger, total = watched.account, watched.holdout.epsilon
        del watched.holdout  # nobody closes it
        assert ledger.total_spent().epsilon <= total
        try:
            watched.holdout = sg.uses.Holdout(**TERMS, ledger=ledger)
            watched.score()
        except sg.GateClosed:
            pass
        assert watched.paid <= 2
        assert ledger.total_spent().epsilon <= total
        ledger.close()

    places = interrupt_everywhere(lambda: Watched(ledger=again()), Watched.score, check, error=error, every=every)
    assert places > 100
