"""The manual: it is what the commands say now, roff reads it without a word, and the wheel has it."""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib

import pytest
from pages.blocks import ROOT
from pages.manual import MANUAL, documented_commands, manual

from sparsegate.cli.help_page import EXAMPLES

MADE = manual()


def test_the_file_is_what_the_commands_say_now() -> None:
    assert MANUAL.read_text(encoding="utf-8") == MADE, "run `python -m pages.manual`"


def test_every_command_and_every_option_is_in_it() -> None:
    commands = documented_commands()
    assert {command.words for command in commands} == {*EXAMPLES} - {""}
    bold = {name.replace(r"\-", "-") for name in re.findall(r"\\fB(.*?)\\fR", MADE)}
    options = {one.long for command in commands for panel in command.panels.values() for one in panel if one.long}
    assert len(options) > 100
    assert options - bold == set()


@pytest.mark.skipif(shutil.which("man") is None or shutil.which("groff") is None, reason="no man")
def test_man_shows_it_without_a_warning() -> None:
    done = subprocess.run(
        ["man", "--warnings", "-E", "UTF-8", "-l", str(MANUAL)],
        capture_output=True,
        text=True,
        check=True,
        env={"MANWIDTH": "80", "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "MANROFFOPT": "-c", "TERM": "dumb"},
    )
    shown = re.sub(r".\x08", "", done.stdout)
    assert done.stderr == ""
    assert max(map(len, shown.splitlines())) <= 80
    for line in ("EXIT STATUS", "   sparsegate ledger rotate-key", "       -c, --count N", "       Example"):
        assert line in shown.splitlines()
    assert "page = '/pay'" in shown


def test_the_wheel_has_it() -> None:
    with (ROOT / "pyproject.toml").open("rb") as file:
        shared = tomllib.load(file)["tool"]["hatch"]["build"]["targets"]["wheel"]["shared-data"]
    assert shared == {MANUAL.relative_to(ROOT).as_posix(): "share/man/man1/sparsegate.1"}
