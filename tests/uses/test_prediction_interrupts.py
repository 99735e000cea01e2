"""A predictor that is interrupted: a token that was paid for counts, said or not; and the next one can be asked for."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import pytest
from tests.support.accounts import Account
from tests.support.interrupts import interrupt_by_signal, interrupt_everywhere

import sparsegate as sg
from sparsegate.uses.prediction import Prediction

ERRORS = [KeyboardInterrupt, MemoryError]
NUMBERS: dict[str, Any] = {"vocabulary": 3, "threshold": 0.5, "cutoff": 2, "epsilon": 4000, "clip": 5}


class Watched:
    """A predictor with its account, and what it has said: after a 1 the private records disagree."""

    def __init__(self) -> None:
        private: Callable[[Any], Any] = lambda text: [0, 0, 9] if text == (1,) else [0, 9, 0]  # noqa: E731
        self.account = Account()
        self.predictor = sg.uses.PrivatePredictor([private] * 3, lambda text: [0, 9, 0], ledger=self.account, **NUMBERS)
        self.said: list[Prediction] = []
        self.ask(0)
        self.ask(1)

    def ask(self, token: int = 1) -> None:
        self.said.append(self.predictor.predict((token,)))

    def ask_on(self) -> None:
        for token in (0, 0, 0, 0, 0, 0, 0, 0, 1):
            self.ask(token)

    @property
    def paid(self) -> int:
        return sum(each.paid for each in self.said)

    def check(self) -> None:
        predictor = self.predictor
        for _ in range(4):
            try:
                self.ask(0)
                self.ask(1)
            except sg.GateClosed:
                break
        assert predictor.closed
        assert self.paid <= 2
        gate = predictor._gate
        cost = (
            gate._calibration.spent([(len(self.said) - self.paid, self.paid)])
            + self.paid * predictor.terms.token_epsilon
        )
        assert predictor.spent >= cost
        predictor.close()
        assert self.account.spent >= cost
        assert not predictor.predict((1,), unchecked=True).checked


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # what cannot be given back is a warning
@pytest.mark.parametrize("every", [3, pytest.param(1, marks=pytest.mark.soak)])
@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("token", [0, 1])
def test_what_was_drawn_counts_wherever_it_is_interrupted(token: int, error: type[BaseException], every: int) -> None:
    def ask(watched: Watched) -> None:
        with contextlib.suppress(sg.ParameterError):  # where memory was short to read what the public model said
            watched.ask(token)

    assert interrupt_everywhere(Watched, ask, Watched.check, error=error, every=every) > 50


def test_what_was_drawn_counts_whenever_a_signal_comes() -> None:
    assert interrupt_by_signal(Watched, Watched.ask_on, Watched.check, times=80, within=1e-3) > 10
