"""`sparsegate top --ledger`: what is charged, when, and what stays spent after a kill or Ctrl-C.

Scores and epsilon are those of test_top: nothing fails by chance.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.cli.conftest import ASK, PROGRAM, Command, Refused

from sparsegate.ledger.ledger import Ledger
from sparsegate.tables import prepared as drawing
from sparsegate.tables.workspace import Workspace

TOP = ("top", "visits.csv", *ASK, "--domain", "pages.csv", "--json")
CHARGED = (*TOP, "--ledger", "x.ledger")


def test_the_ledger_is_charged_refuses_and_is_named(command: Command, refused: Refused, folder: Path) -> None:
    code, out, _ = command(*CHARGED, "--budget", "70", "--dataset", "visits", "--answers-epsilon", "5")
    assert code == 0
    assert json.loads(out)["record"]["recorded"] == "entry 2 of the ledger of 'visits'"
    assert command(*CHARGED)[0] == 0
    assert "epsilon 65 is spent and epsilon 5 remains" in refused(*CHARGED)
    # A delta that no method needs is not charged, and no reason to refuse.
    assert command(*CHARGED, "--epsilon", "5", "--delta", "1e-9")[::2] == (0, "")
    assert Ledger("x.ledger").entries()[1].what == "top 3 of page, unit user, method subset, domain public"
    assert Ledger("x.ledger").total_spent().epsilon == 70
    elsewhere = (*TOP, "--ledger", "no/folder/x.ledger", "--budget", "70", "--dataset", "visits")
    assert "no/folder/x.ledger cannot be made; check that its folder exists" in refused(*elsewhere)


KILLED = """
import os, signal, sys
from sparsegate import cli
from sparsegate.cli.options import Spending
spend = Spending.spend
def dying(*arguments, **named):
    spend(*arguments, **named)
    os.kill(os.getpid(), signal.SIGKILL)
Spending.spend = dying
sys.argv = ["sparsegate", *sys.argv[1:]]
cli.main()
"""


def test_a_kill_between_the_commit_and_the_output_leaves_it_spent(folder: Path) -> None:
    ledger = Ledger.create("x.ledger", dataset="visits", budget=70)
    words, environment = [sys.executable, "-c", KILLED, *CHARGED], {**os.environ, "TMPDIR": str(folder)}
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=environment)
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGKILL, "", "")
    assert ledger.total_spent().epsilon == 30


def test_ctrl_c_stops_the_engine_at_once_and_spends_nothing(folder: Path) -> None:
    """The query would count for hours, in little memory; the test waits until it has counted for a moment."""
    ledger = Ledger.create("x.ledger", dataset="visits", budget=30)
    endless = "SELECT page, visitor FROM data, range(1000000000000)"
    program = [*PROGRAM, *CHARGED, "--sql", endless]
    environment = {**os.environ, "TMPDIR": str(folder)}
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as running:
        while not list(folder.glob("sparsegate-*")):
            assert running.poll() is None
            time.sleep(0.02)
        time.sleep(0.5)
        running.send_signal(signal.SIGINT)
        assert running.communicate(timeout=30) == (b"", b"sparsegate: interrupted, nothing was spent\n")
        assert running.returncode == 130
    assert list(folder.glob("sparsegate-*")) == []
    assert len(ledger.entries()) == 1


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
    code, out, err = command(*CHARGED)
    assert (code, out, err) == (130, "", "sparsegate: interrupted, nothing was spent\n")
    assert len(ledger.entries()) == 1


@pytest.mark.parametrize("times", [1, 3])
def test_after_the_charge_the_release_is_finished_printed_and_kept(
    command: Command, ledger: Ledger, interrupted_at, times: int
) -> None:
    interrupted_at(drawing.Prepared, "draw", times)
    code, out, err = command(*CHARGED)
    assert code == 130
    assert len(json.loads(out)["items"]) == 3, err
    assert "interrupted after epsilon 30 was paid: charged as entry 2 of the ledger of 'visits'" in err
    assert "sparsegate ledger show x.ledger --release 2" in err
    again = json.loads(command("ledger", "show", "x.ledger", "--release", "2", "--json")[1])
    assert again["items"] == json.loads(out)["items"]
    code, out, err = command(*TOP)
    assert (code, len(json.loads(out)["items"])) == (130, 3)
    assert "interrupted after epsilon 30 was paid: count it as spent" in err
