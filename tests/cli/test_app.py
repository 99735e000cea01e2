"""What every sub-command shares: exit codes, one-line errors, `--version`, and a start that loads little."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import entry_points

import pytest

import sparsegate
from sparsegate import cli
from sparsegate.cli.app import COMMANDS

SLOW = {"sqlalchemy", "duckdb", "scipy", "matplotlib", "sklearn", "pyarrow", "pandas", "fastapi", "httpx"}


def test_the_console_script_is_this_main() -> None:
    (script,) = entry_points(group="console_scripts", name="sparsegate")
    assert script.load() is cli.main


def test_the_package_is_the_command_too() -> None:
    command = [sys.executable, "-m", "sparsegate", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == f"sparsegate {sparsegate.__version__}\n"


def test_version_prints_the_version(command) -> None:
    assert command("--version") == (0, f"sparsegate {sparsegate.__version__}\n", "")


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("sparsegate.cli.app.app", "interrupted, nothing was spent"),
        ("sparsegate.cli.variants.print_table", "interrupted"),
    ],
)
def test_ctrl_c_is_one_line_and_exits_130(command, monkeypatch, place: str, said: str) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(place, interrupt)
    assert command("variants") == (130, "", f"sparsegate: {said}\n")


def loaded_by(*arguments: str) -> set[str]:
    """The modules that a fresh interpreter has loaded when the command line is done."""
    script = f"""
import atexit, sys
atexit.register(lambda: print(*sys.modules, file=sys.stderr))
sys.argv = ["sparsegate", *{arguments!r}]
from sparsegate.cli import main
main()
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stderr.split())


@pytest.mark.parametrize("argument", ["--version", "--help"])
def test_the_version_and_the_help_load_nothing_slow(argument: str) -> None:
    assert SLOW & loaded_by(argument) == set()


def test_a_sub_command_loads_itself_and_no_other() -> None:
    ours = {f"sparsegate.cli.{name}" for name in COMMANDS}
    assert loaded_by("--version") & ours == set()
    assert loaded_by("--help") & ours == set()
    assert loaded_by("variants") & ours == {"sparsegate.cli.variants"}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_sub_command_says_what_it_is_for(command, name: str) -> None:
    code, out, err = command(name, "--help")
    assert (code, err) == (0, "")
    assert f"sparsegate {name}" in out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("vairants", "No such command 'vairants'. Did you mean 'variants'? See `sparsegate --help`."),
        ("ledger shwo", "No such command 'shwo'. Did you mean 'show'? See `sparsegate ledger --help`."),
        ("variants --jsn", "No such option: --jsn (Possible options: --json). See `sparsegate variants --help`."),
        ("loss", "Missing argument 'ROW'. See `sparsegate loss --help`."),
        (
            "loss standrad",
            "ROW must be the key of a variant, got 'standrad'; did you mean 'standard'? see `sparsegate variants`",
        ),
    ],
)
def test_a_command_that_cannot_be_read_is_one_line_with_a_next_step(command, words: str, said: str) -> None:
    assert command(*words.split()) == (2, "", f"sparsegate: {said}\n")


def test_ctrl_c_while_a_sub_command_loads_is_one_line(command, monkeypatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("sparsegate.cli.app.import_module", interrupt)
    assert command("variants") == (130, "", "sparsegate: interrupted, nothing was spent\n")


def test_a_terminal_without_greek_letters_gets_their_numbers() -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    script = "import sys; sys.argv = ['sparsegate', 'variants', 'gptt']; from sparsegate.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, env=environment)
    assert r"\u03b5" in done.stdout
