"""What `reproduce` and `compare` share: options that are wrong, and the progress of a run that takes a while."""

from __future__ import annotations

import re
import sys

import pytest
from tests.support.screen import Screen

from sparsegate.cli import evaluation_options
from sparsegate.cli.evaluation_options import shown_progress
from sparsegate.paper import Progress


def told(*, done: int = 3, left: float = 75.2) -> Progress:
    return Progress(what="main", done=done, total=9, resumed=0, elapsed=25.0, seconds_left=left)


def shown(monkeypatch: pytest.MonkeyPatch, *steps: Progress, terminal: bool) -> str:
    """What is on the screen after each step was told."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    screen = Screen(terminal=terminal)
    monkeypatch.setattr(sys, "stderr", screen)
    with shown_progress() as show:
        for step in steps:
            show(step)
    return re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", screen.getvalue())  # colours, and where the cursor goes


def test_stage_cases_share_and_seconds_left_are_shown_and_the_share_never_falls(monkeypatch) -> None:
    assert re.search(r"main 3/9 +\S+ +24 %, 1:16 left", shown(monkeypatch, told(), terminal=True))
    assert shown(monkeypatch, told(), terminal=False) == "", "a short run says nothing"
    monkeypatch.setattr(evaluation_options, "LINE_SECONDS", 0.0)
    lines = shown(monkeypatch, told(left=25.0), told(done=4, left=975.0), terminal=False).splitlines()
    assert lines == ["main 3/9: 50 %, 25 s left", "main 4/9: 50 %, 16:15 left"]


@pytest.mark.parametrize("name", ["reproduce", "compare"])
@pytest.mark.parametrize(
    ("arguments", "option"),
    [
        (("--counts", "25,many"), "--counts"),
        (("--epsilon", "x"), "--epsilon"),
        (("--data", "kosarak"), "--data"),
        (("--data", "a=x", "--data", "a=y"), "--data"),
        (("--records", "5"), "--records"),
        (("--methods", "svt"), "method"),
        (("--datasets", "kosarak", "--data", "kosarak=nowhere.dat"), "--data"),
    ],
)
def test_a_bad_option_is_named(refused, tmp_path, name: str, arguments: tuple[str, ...], option: str) -> None:
    assert refused(name, *arguments, "--out", tmp_path / "out").split()[0] == option
