"""Ctrl-C: what is not paid for stops at once, what is paid for is finished, and a line says which."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path

import pytest
from tests.cli.conftest import ASK, Command

from sparsegate.ledger.ledger import Ledger
from sparsegate.tables import top as drawing
from sparsegate.tables.workspace import Workspace

TOP = ("top", "visits.csv", *ASK, "--domain", "pages.csv", "--json")


@pytest.fixture
def ledger(folder: Path) -> Ledger:
    return Ledger.create("x.ledger", dataset="visits", budget=30)


@pytest.fixture
def interrupted_at(monkeypatch):
    """Press Ctrl-C just before a step of the release, and go on when it was heard."""
    opened: list[Workspace] = []
    enter = Workspace.__enter__
    monkeypatch.setattr(Workspace, "__enter__", lambda self: opened.append(self) or enter(self))

    def at(owner: object, name: str, times: int = 1) -> None:
        step = getattr(owner, name)

        def later(*given, **named):
            for _ in range(times):
                os.kill(os.getpid(), signal.SIGINT)
            deadline = time.monotonic() + 20
            while opened[-1]._stopped is None and time.monotonic() < deadline:
                time.sleep(0.01)
            return step(*given, **named)

        monkeypatch.setattr(owner, name, later)

    return at


def test_before_the_charge_nothing_is_spent_whatever_the_worker_does_next(
    command: Command, ledger: Ledger, interrupted_at
) -> None:
    """The signal comes between the last query and the charge, where no query is there to be interrupted."""
    interrupted_at(Workspace, "pay")
    code, out, err = command(*TOP, "--ledger", "x.ledger")
    assert (code, out, err) == (130, "", "sparsegate: interrupted, nothing was spent\n")
    assert len(ledger.entries()) == 1


@pytest.mark.parametrize("times", [1, 3])
def test_after_the_charge_the_release_is_finished_printed_and_kept(
    command: Command, ledger: Ledger, interrupted_at, times: int
) -> None:
    interrupted_at(drawing.Prepared, "draw", times)
    code, out, err = command(*TOP, "--ledger", "x.ledger")
    assert code == 130
    assert len(json.loads(out)["items"]) == 3, err
    assert "interrupted after epsilon 30 was paid: charged as entry 2 of the ledger of 'visits'" in err
    assert "sparsegate ledger show x.ledger --release 2" in err
    again = json.loads(command("ledger", "show", "x.ledger", "--release", "2", "--json")[1])
    assert again["items"] == json.loads(out)["items"]


def test_without_a_ledger_it_says_what_to_count_as_spent(command: Command, folder: Path, interrupted_at) -> None:
    interrupted_at(drawing.Prepared, "draw")
    code, out, err = command(*TOP)
    assert (code, len(json.loads(out)["items"])) == (130, 3)
    assert "interrupted after epsilon 30 was paid: count it as spent" in err
