"""A run that takes a while: one bar on a terminal, lines elsewhere, both with the seconds left."""

from __future__ import annotations

import itertools
import re
import sys
import time

import pytest
from tests.support.screen import Screen

from sparsegate.cli import evaluation_options as long_run
from sparsegate.cli.evaluation_options import shown_progress
from sparsegate.paper import Progress


def told(what: str = "main", *, done: int = 3, left: float = 75.2) -> Progress:
    return Progress(what=what, done=done, total=9, resumed=0, elapsed=25.0, seconds_left=left)


def shown(monkeypatch: pytest.MonkeyPatch, *steps: Progress, terminal: bool, until: str = "") -> str:
    """What is on the screen after each step was told, and shows the text that is waited for."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    screen = Screen(terminal=terminal)
    monkeypatch.setattr(sys, "stderr", screen)
    with shown_progress() as show:
        for step in steps:
            show(step)
            begun, end = len(screen.getvalue()), time.monotonic() + 20
            while until not in screen.getvalue()[begun:] and time.monotonic() < end:
                time.sleep(0.01)
    return re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", screen.getvalue())  # colours, and where the cursor goes


def test_a_terminal_shows_stage_cases_share_and_the_seconds_left(monkeypatch: pytest.MonkeyPatch) -> None:
    assert re.search(r"main 3/9 +\S+ +24 %, 1:1[56] left", shown(monkeypatch, told(), terminal=True))


@pytest.mark.parametrize("terminal", [True, False])
def test_the_share_never_falls_when_the_plan_grows(monkeypatch: pytest.MonkeyPatch, terminal: bool) -> None:
    monkeypatch.setattr(long_run, "LINE_SECONDS", 0.01)
    seen = shown(monkeypatch, told(left=25.0), told(done=4, left=975.0), terminal=terminal, until="%")
    assert set(re.findall(r"(\d+) %", seen)) <= {"50", "51", "52"}
    assert "16:1" in seen


def test_without_a_terminal_there_is_a_line_every_few_seconds_and_the_clock_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seconds = itertools.count()
    monkeypatch.setattr(long_run, "LINE_SECONDS", 0.01)
    monkeypatch.setattr(long_run, "monotonic", lambda: float(next(seconds)))
    lines = shown(monkeypatch, told(left=3.0), terminal=False, until="99 %").splitlines()
    assert lines[:3] == ["main 3/9: 92 %, 2 s left", "main 3/9: 96 %, 1 s left", "main 3/9: 99 %, 1 s left"]


def test_without_a_terminal_a_short_run_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(monkeypatch, told(), terminal=False) == ""
