"""An alert that is interrupted goes on as before, or answers no more: nobody sees an answer that is not stored."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.accounts import Account
from tests.support.interrupts import interrupt_by_signal, interrupt_everywhere

import sparsegate as sg
from sparsegate.uses.alerts import AlertAnswer, AlertState, StateFile

ERRORS = [KeyboardInterrupt, MemoryError]
LOW, HIGH = 0, 10_000
PUBLIC: dict[str, Any] = {"threshold": 5_000, "cutoff": 2, "epsilon": 5}
COUNTS: dict[str, Any] = {**PUBLIC, "windows_per_user": 3, "method": "counts"}


class Watched:
    """An alert with its account, and what it has told."""

    def __init__(self, **options: Any) -> None:
        self.account = Account()
        self.alert = sg.uses.Alert(**options, ledger=self.account)
        self.drawn, draw = 0, self.alert._draws.answer

        def drawing(*asked: Any) -> AlertAnswer:
            self.drawn += 1
            return draw(*asked)

        self.alert._draws.answer = drawing  # type: ignore[method-assign]
        self.told = [self.alert.ask(0, LOW), self.alert.ask(1, HIGH)]

    def ask(self, window: int = 2, count: int = HIGH) -> None:
        self.told.append(self.alert.ask(window, count))

    def ask_on(self) -> None:
        for window in range(2, 15):
            self.ask(window, HIGH if window == 14 else LOW)

    def check(self, *, own: bool = False) -> None:
        """``own``: where an account of one's own fails to store something there is a warning, and it is told."""
        loss = self.alert._draws.loss
        assert self.drawn == len(self.alert.answers) or self.alert.closed, "one that is lost is the last"
        for window in range(20, 24):
            try:
                self.ask(window, HIGH)
            except sg.GateClosed:
                break
        fired = sum(answer.fired for answer in self.told)
        if self.alert.plan.method == "gate":
            assert fired <= self.alert.plan.cutoff
        assert self.alert.spent >= loss(len(self.told) - fired, fired)
        stored = [part["window"] for part in self.account.kept]
        assert own or set(stored) >= {answer.window for answer in self.told}
        assert len(stored) == len(set(stored))
        self.alert.close()
        assert self.account.spent >= loss(len(self.told) - fired, fired)
        if self.alert._lost:
            assert self.account.spent == self.alert.epsilon, "nobody knows what was drawn"


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # what is not stored in an account of one's own is a warning
@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("options", [PUBLIC, COUNTS], ids=["gate", "counts"])
def test_nobody_sees_what_is_not_stored_wherever_it_is_interrupted(
    options: dict[str, Any], error: type[BaseException]
) -> None:
    lost = []

    def check(watched: Watched) -> None:
        lost.append(watched.alert._lost)
        watched.check(own=error is MemoryError)

    assert interrupt_everywhere(lambda: Watched(**options), Watched.ask, check, error=error) > 30
    assert {True, False} == set(lost)


def test_nobody_sees_what_is_not_stored_whenever_a_signal_comes() -> None:
    assert interrupt_by_signal(lambda: Watched(**PUBLIC), Watched.ask_on, Watched.check, times=80, within=6e-4) > 10


@pytest.mark.parametrize("every", [19, pytest.param(1, marks=pytest.mark.soak)])
@pytest.mark.parametrize("error", ERRORS)
def test_what_goes_on_from_its_state_file_fires_no_more_than_was_paid_for(
    again: Callable[[], sg.Ledger], error: type[BaseException], every: int
) -> None:
    told: dict[str, list[bool]] = {}

    def make() -> tuple[sg.Ledger, sg.uses.Alert, Path]:
        ledger = again()
        state = Path(f"{ledger.database.shown}.state")
        alert = sg.uses.Alert(**PUBLIC, ledger=ledger, state=state)
        told[str(state)] = [bool(alert.ask(0, LOW)), bool(alert.ask(1, HIGH))]
        return ledger, alert, state

    def act(made: tuple[sg.Ledger, sg.uses.Alert, Path]) -> None:
        told[str(made[2])].append(bool(made[1].ask(2, HIGH)))

    def check(made: tuple[sg.Ledger, sg.uses.Alert, Path]) -> None:
        ledger, alert, state = made
        said = told[str(state)]
        alert.pause()
        with sg.uses.Alert(**PUBLIC, ledger=ledger, state=state) as later:
            kept = [part["fired"] for part in ledger.release(later.entry or 0).gave]
            assert kept[: len(said)] == said
            assert len(kept) <= 3
            if not later.closed:
                later.ask(3, HIGH)
            assert sum(answer.fired for answer in later.answers.values()) == 2
            assert later.closed
            later.close()
        assert ledger.total_spent().epsilon == later.epsilon  # both fired: all of it is used
        ledger.close()

    assert interrupt_everywhere(make, act, check, error=error, every=every) > 100


@pytest.mark.parametrize("error", ERRORS)
def test_a_state_file_is_that_of_before_or_after_and_the_noise_is_in_no_other_file(
    error: type[BaseException], tmp_path: Path
) -> None:
    first, second = AlertState(2, "visits", {}, b"secret"), AlertState(2, "visits", {}, b"secret", mark="row 7")

    def make() -> StateFile:
        file = StateFile(tmp_path / "errors.state")
        file.write(first)
        return file

    def check(file: StateFile) -> None:
        assert file.read() in (first, second)
        assert [path.name for path in tmp_path.iterdir()] == ["errors.state"]

    def forgotten(file: StateFile) -> None:
        assert file.read() in (first, first._replace(noise=b""))

    assert interrupt_everywhere(make, lambda file: file.mark("row 7"), check, error=error) > 15
    assert interrupt_everywhere(make, StateFile.forget, forgotten, error=error) > 15
