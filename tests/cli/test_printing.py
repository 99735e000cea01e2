"""How results are printed: one option for every form, and what is paid for reaches its reader whatever happens next.

Scores and epsilon are those of test_top: nothing fails by chance.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import ASK, PAGES, PROGRAM, Command
from tests.support.display import release, valid
from tests.support.screen import Screen

from sparsegate.cli.console import Interrupted
from sparsegate.cli.options import OUTPUTS, read_output
from sparsegate.cli.printing import busy, draw
from sparsegate.display import published
from sparsegate.display.published import PrintedTop
from sparsegate.errors import ParameterError, SparsegateError

TOP = ("top", "visits.csv", *ASK, "--domain", "pages.csv", "--answers-epsilon", "300")
CHARGED = ("--ledger", "x.ledger", "--budget", "1000", "--dataset", "visits")
AGAIN = ("ledger", "show", "x.ledger", "--release", "2")


def test_every_format_shows_the_same_items(command: Command, folder: Path) -> None:
    first = command(*TOP, *CHARGED, "--format", "json")[1]
    shown = {word: command(*AGAIN, "--format", word) for word in OUTPUTS}
    assert {(code, err) for code, _, err in shown.values()} == {(0, "")}
    text = {word: out for word, (_, out, _) in shown.items()}
    assert all(page in out for out in text.values() for page in PAGES)
    assert text["json"] == first == command(*AGAIN, "--json")[1]
    assert valid(json.loads(first))
    assert {row["page"] for row in csv.DictReader(io.StringIO(text["csv"]))} == PAGES
    assert text["csv"] == command(*AGAIN, "--csv")[1]
    assert text["html"].startswith("<!doctype html>")
    assert "| /home | 1,000 |" in text["markdown"]
    for words in (("variants",), ("variants", "standard"), ("loss", "roth-2011"), ("ledger", "show", "x.ledger")):
        lines = [line for line in command(*words, "--format", "markdown")[1].splitlines() if line.startswith("|")]
        assert {line.count("|") - line.count("\\|") for line in lines} == {lines[0].count("|")}
        assert command(*words, "--format", "html")[1].startswith("<!doctype html>")
        told = json.loads(command(*words, "--format", "json")[1])
        assert valid(*(told if isinstance(told, list) else [told]))
    for options in ({"word": "json", "as_csv": True}, {"word": None, "as_json": True, "as_csv": True}, {"word": "xml"}):
        with pytest.raises(ParameterError) as raised:
            read_output(**options)
        assert raised.value.parameter == "output"


@pytest.mark.parametrize(
    ("failure", "kind", "said"),
    [
        (KeyboardInterrupt(), Interrupted, "interrupted while x.png was drawn; the result above is complete; see N"),
        (RuntimeError("a font broke"), SparsegateError, "x.png could not be drawn (RuntimeError); the result above"),
        (OSError(28, "No space left on device"), ParameterError, "could not be written (No space left on device), and"),
        (MemoryError(), SparsegateError, "could not be drawn (MemoryError)"),
    ],
    ids=["ctrl-c", "font", "disk", "memory"],
)
def test_a_picture_that_fails_says_that_the_result_is_complete(
    tmp_path: Path, monkeypatch, failure: BaseException, kind: type[BaseException], said: str
) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)

    def fails(*_: Any, **__: Any) -> Any:
        raise failure

    Path("x.png").write_text("as it was")
    monkeypatch.setattr(published, "bar_chart", fails)
    with pytest.raises(kind) as raised:
        draw("x.png", PrintedTop(kept=release(answers_epsilon=1).to_dict()), "see N")
    assert said in str(raised.value)
    assert "see N" in str(raised.value)
    assert "a font broke" not in str(raised.value)
    assert Path("x.png").read_text() == "as it was"


def test_ctrl_c_in_the_middle_of_a_picture_costs_nothing_but_the_picture(
    command: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A real signal, while the figure is being saved; the ledger draws it again."""
    figures = pytest.importorskip("matplotlib.figure")
    with monkeypatch.context() as broken:
        broken.setattr(figures.Figure, "savefig", lambda *_, **__: os.kill(os.getpid(), signal.SIGINT))
        code, out, err = command(*TOP, *CHARGED, "--plot", "x.png")
    assert (code, all(page in out for page in PAGES)) == (130, True)
    assert err == (
        "sparsegate: interrupted while x.png was drawn; the result above is complete; "
        "print it again: sparsegate ledger show x.ledger --release 2 --plot x.png\n"
    )
    assert not Path("x.png").exists()
    assert command(*AGAIN, "--plot", "x.png")[0] == 0
    assert Path("x.png").read_bytes()[:4] == b"\x89PNG"


def test_an_item_that_the_terminal_cannot_show_is_printed_all_the_same(folder: Path) -> None:
    Path("pages.csv").write_text("page\n/é\n", encoding="utf-8")
    question = ["top", "visits.csv", *ASK[:4], "-c", "1", "--epsilon", "1", "--domain", "pages.csv"]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    for style in ("json", "table"):
        words = [*PROGRAM, *question, "--format", style]
        done = subprocess.run(words, env=environment, capture_output=True, timeout=60, check=False)
        assert (done.returncode, done.stderr) == (0, b"")
        text = done.stdout.decode("ascii")
        assert json.loads(text)["items"] == [{"item": "/é"}] if style == "json" else "/\\xe9" in text


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_no_data_behind_and_ends_the_process_as_ever(folder: Path, ending: signal.Signals) -> None:
    spill = folder / "spill"
    spill.mkdir()
    gate = ["--threshold", "5", "--cutoff", "9", "--epsilon", "1", "--unit", "row", "--conditions", "-"]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    environment = {**os.environ, "TMPDIR": str(spill)}
    pipes["preexec_fn"] = lambda: signal.signal(ending, signal.SIG_DFL)  # the tests may run under nohup
    with subprocess.Popen([*PROGRAM, "watch", "visits.csv", *gate], env=environment, text=True, **pipes) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline()
        assert len(list(spill.glob("sparsegate-*"))) == 1
        process.send_signal(ending)
        assert process.wait(timeout=30) == -ending
        assert process.stderr.read() == ""
    assert list(spill.iterdir()) == []


@pytest.mark.parametrize("terminal", [True, False])
def test_a_terminal_shows_each_stage_and_the_time_elapsed_and_left_and_no_share(monkeypatch, terminal: bool) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    screen = Screen(terminal=terminal)
    monkeypatch.setattr(sys, "stderr", screen)
    for last in (("counting", 47), ("drawing",)):
        with busy("reading and counting") as stage:
            stage(*last)
    seen = re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", screen.getvalue())  # colours, and where the cursor goes
    for name in ("reading and counting", "counting, about 50 s left", "drawing"):
        assert bool(re.search(rf"{name} +\d+:\d\d:\d\d", seen)) == terminal
    assert "%" not in seen
    assert terminal or seen == ""
