"""The sign of life: what a terminal shows while a command works, and that nothing else sees it."""

from __future__ import annotations

import re
import sys

import pytest
from tests.support.screen import Screen

from sparsegate.cli.printing import busy


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")


def shown(monkeypatch: pytest.MonkeyPatch, *, terminal: bool) -> str:
    screen = Screen(terminal=terminal)
    monkeypatch.setattr(sys, "stderr", screen)
    with busy("reading and counting") as stage:
        stage("drawing")
    return re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", screen.getvalue())  # colours, and where the cursor goes


def test_a_terminal_shows_each_stage_and_the_time_elapsed_and_no_share(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = shown(monkeypatch, terminal=True)
    for stage in ("reading and counting", "drawing"):
        assert re.search(rf"{stage} +\d+:\d\d:\d\d", seen)
    assert "%" not in seen


def test_what_is_no_terminal_sees_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(monkeypatch, terminal=False) == ""
