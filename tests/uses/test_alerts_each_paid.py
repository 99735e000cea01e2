"""Alerts that pay for each alarm on a zCDP ledger: what is said was paid for before, whatever stops and goes on."""

from __future__ import annotations

import os
import signal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from tests.support.interrupts import interrupt_everywhere

import sparsegate as sg
from sparsegate.ledger.ledger import Ledger

BUSY, QUIET = 10**6, 0
ALERT: dict[str, Any] = {"threshold": 1000, "within": 90}


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger.create(tmp_path / "z.ledger", dataset="site", budget=(1, 1e-6))


def spent(ledger: Ledger) -> Fraction:
    rho = ledger.statement().spent.rho
    assert rho is not None
    return rho


def price(alert: sg.uses.Alert) -> tuple[Fraction, Fraction]:
    return alert.plan.opening_rho, alert.plan.alarm_rho


@pytest.mark.parametrize(("fires", "counts"), [("above", (QUIET, BUSY)), ("below", (BUSY, QUIET))])
def test_each_alarm_is_paid_for_and_the_next_one_held(ledger: Ledger, fires: Any, counts: tuple[int, int]):
    quiet, busy = counts
    with sg.uses.Alert(**ALERT, fires=fires, ledger=ledger) as alert:
        opening, each = price(alert)
        assert spent(ledger) == opening + each
        for window, (count, fired) in enumerate([(quiet, 0), (busy, 1), (quiet, 1), (busy, 2)]):
            alert.ask(window, count)
            assert spent(ledger) == opening + (fired + 1) * each
        assert (alert.remaining, alert.closed, alert.rho_spent) == (None, False, opening + 2 * each)
        assert alert.epsilon - alert.spent == Fraction(ledger.statement().entries[-1].amount.epsilon)
    assert spent(ledger) == opening + 2 * each
    again = sg.uses.Alert(**ALERT, fires=fires, ledger=ledger)
    assert again.ask(3, quiet).fired  # it is read, and costs nothing
    assert spent(ledger) == 2 * opening + 3 * each


def test_it_closes_where_the_ledger_cannot_hold_another_alarm(ledger: Ledger):
    alert = sg.uses.Alert(**ALERT, ledger=ledger)
    opening, each = price(alert)
    budget = ledger.statement().budget.rho
    assert budget is not None
    for window in range(int((budget - opening) / each)):
        assert not alert.closed
        assert alert.ask(window, BUSY)
    assert alert.closed
    with pytest.raises(sg.GateClosed, match="its ledger cannot pay for another alarm"):
        alert.ask(999, QUIET)
    alert.close()
    assert budget - each < spent(ledger) <= budget


def test_a_paused_alert_gives_back_what_it_holds_and_holds_it_again(ledger: Ledger, tmp_path: Path):
    options = {**ALERT, "ledger": ledger, "state": tmp_path / "state"}
    with sg.uses.Alert(**options) as alert:
        opening, each = price(alert)
        alert.ask(0, BUSY)
    assert spent(ledger) == opening + each
    with sg.uses.Alert(**options) as alert:
        assert spent(ledger) == opening + 2 * each
        alert.ask(1, QUIET)
        alert.ask(2, BUSY)
        alert.close()
    assert spent(ledger) == opening + 2 * each
    with pytest.raises(sg.GateClosed):
        sg.uses.Alert(**options)
    assert spent(ledger) == opening + 2 * each


def test_what_a_killed_alert_held_counts_as_an_alarm(ledger: Ledger, tmp_path: Path):
    options = {**ALERT, "state": tmp_path / "state"}
    child = os.fork()
    if child == 0:
        own = sg.uses.Alert(**options, ledger=Ledger(tmp_path / "z.ledger"))
        own.ask(0, BUSY)
        own._paid.keep = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)  # type: ignore[method-assign, assignment]
        own.ask(1, BUSY)
        os._exit(1)
    assert os.WIFSIGNALED(os.waitpid(child, 0)[1])
    with sg.uses.Alert(**options, ledger=ledger) as alert:
        opening, each = price(alert)
        assert spent(ledger) == opening + 3 * each  # an alarm, what was held, and what is held now
        assert list(alert.answers) == [0]
        assert not alert.ask(1, QUIET)
    assert spent(ledger) == opening + 2 * each


def test_of_two_that_go_on_with_one_state_one_is_stopped_and_gives_nothing_back(ledger: Ledger, tmp_path: Path):
    options = {**ALERT, "ledger": ledger, "state": tmp_path / "state"}
    with sg.uses.Alert(**options) as alert:
        opening, each = price(alert)
        alert.ask(0, QUIET)
    first, second = sg.uses.Alert(**options), sg.uses.Alert(**options)
    assert first.ask(1, BUSY)
    for count in (BUSY, QUIET):
        with pytest.raises(sg.GateClosed):
            second.ask(2, count)
    assert second.closed
    for alert in (second, first):
        alert.pause()
    assert spent(ledger) == opening + 2 * each


def test_an_answer_that_could_not_be_stored_is_seen_by_nobody_and_stays_paid_for(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
):
    alert = sg.uses.Alert(**ALERT, ledger=ledger)
    opening, each = price(alert)

    def fail(*_: object, **__: object) -> None:
        raise sg.LedgerError("the disk is full; nothing was spent")

    with monkeypatch.context() as patched:
        patched.setattr(Ledger, "use_held", fail)
        with pytest.raises(sg.LedgerError, match="disk is full"):
            alert.ask(0, BUSY)
    assert alert.closed
    alert.close()
    assert spent(ledger) == alert.rho_spent == opening + each
    assert ledger.release(2).gave == ()


@pytest.mark.parametrize("option", [{"refund": False}, {"source": sg.Seeded(1), "not_private": True}])
def test_an_owner_who_wants_no_refunds_gets_none(ledger: Ledger, option: dict[str, Any]):
    with sg.uses.Alert(**ALERT, ledger=ledger, **option) as alert:
        opening, each = price(alert)
    assert spent(ledger) == opening + each


@pytest.mark.parametrize(
    ("change", "parameter"),
    [
        ({"epsilon": 1}, "epsilon"),
        ({"method": "counts"}, "method"),
        ({"closes": "rarer"}, "closes"),
        ({"cells": ["Berlin"]}, "cells"),
        ({"within": None}, "cutoff"),
        ({"within": float("nan")}, "within"),
        ({"cutoff": 2, "epsilon": 1}, "within"),
        ({"cutoff": 2, "epsilon": 1, "within": None, "expect": 3}, "expect"),
        ({"ledger": None}, "ledger"),
    ],
)
def test_what_it_is_not_for_is_refused_and_spends_nothing(ledger: Ledger, change: dict[str, Any], parameter: str):
    before = ledger.statement()
    with pytest.raises(sg.ParameterError) as refused:
        sg.uses.Alert(**{**ALERT, "ledger": ledger, **change})
    assert refused.value.parameter == parameter
    assert ledger.statement() == before


def test_an_account_that_keeps_no_gates_is_refused(tmp_path: Path):
    class Account:
        rule = "zcdp"

        def open_meter(self, **_: object) -> None: ...
        def spend(self, **_: object) -> None: ...
        def keep(self, *_: object) -> None: ...

    with pytest.raises(sg.ParameterError, match="must be an open zCDP ledger"):
        sg.uses.Alert(**ALERT, ledger=Account())  # type: ignore[arg-type]


def test_a_state_of_another_price_is_refused(ledger: Ledger, tmp_path: Path):
    options = {**ALERT, "ledger": ledger, "state": tmp_path / "state"}
    with sg.uses.Alert(**options):
        pass
    with pytest.raises(sg.ParameterError, match="alarm, epsilon differs"):
        sg.uses.Alert(**options, expect=500)


def test_an_interrupt_at_any_line_leaves_every_alarm_paid_for(tmp_path: Path):
    """What was said is stored and paid for; what may have been drawn and not stored is not given back."""
    made: list[Ledger] = []

    class Asked:
        def __init__(self) -> None:
            ledger = Ledger.create(tmp_path / f"{len(made)}.ledger", dataset="site", budget=(1, 1e-6))
            made.append(ledger)
            self.ledger, self.alert, self.said = ledger, sg.uses.Alert(**ALERT, ledger=ledger), 0

        def ask(self) -> None:
            self.said += bool(self.alert.ask(0, BUSY))

        def check(self) -> None:
            opening, each = price(self.alert)
            lost = self.alert._unsaid or self.alert._lost
            stored = len(self.ledger.release(2).gave)
            self.alert.close()
            after = spent(self.ledger)
            assert self.said <= stored
            assert after >= opening + max(stored, int(lost)) * each
            assert lost or after == opening + stored * each

    assert interrupt_everywhere(Asked, Asked.ask, Asked.check, every=17) > 9
