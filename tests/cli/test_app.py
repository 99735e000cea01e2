"""What every sub-command shares: one-line errors, `--version`, a start that loads little, and completion."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import entry_points

import pytest

import sparsegate
from sparsegate import cli
from sparsegate.cli.app import COMMANDS

SLOW = {"sqlalchemy", "duckdb", "scipy", "matplotlib", "sklearn", "pyarrow", "pandas", "fastapi", "httpx"}


def test_the_console_script_the_package_and_the_version_are_this(command) -> None:
    (script,) = entry_points(group="console_scripts", name="sparsegate")
    assert script.load() is cli.main
    said = f"sparsegate {sparsegate.__version__}\n"
    module = [sys.executable, "-m", "sparsegate", "--version"]
    assert subprocess.run(module, capture_output=True, text=True, check=True).stdout == said
    assert command("--version") == (0, said, "")


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


def test_the_help_loads_nothing_slow_and_a_sub_command_itself_and_no_other() -> None:
    ours = {f"sparsegate.cli.{name}" for name in COMMANDS}
    assert loaded_by("--help") & (ours | SLOW) == set()
    assert loaded_by("variants") & ours == {"sparsegate.cli.variants"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("vairants", "No such command 'vairants'. Did you mean 'variants'? See `sparsegate --help`."),
        ("ledger shwo", "No such command 'shwo'. Did you mean 'show'? See `sparsegate ledger --help`."),
        ("variants --jsn", "No such option: --jsn (Possible options: --json). See `sparsegate variants --help`."),
        ("loss", "Missing argument 'ROW'. See `sparsegate loss --help`."),
    ],
)
def test_a_command_that_cannot_be_read_is_one_line_with_a_next_step(refused, words: str, said: str) -> None:
    assert refused(*words.split()) == said


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("sparsegate.cli.app.app", "interrupted, nothing was spent"),
        ("sparsegate.cli.app.import_module", "interrupted, nothing was spent"),
        ("sparsegate.cli.variants.print_table", "interrupted"),
    ],
)
def test_ctrl_c_is_one_line_and_exits_130(command, monkeypatch, place: str, said: str) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(place, interrupt)
    assert command("variants") == (130, "", f"sparsegate: {said}\n")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("sparsegate le", "ledger"),
        ("sparsegate top --max", "--max-items-per-user"),
        ("sparsegate loss lee", "lee-clifton-2014"),
    ],
)
def test_a_shell_completes_commands_options_and_words(command, monkeypatch, line: str, words: str) -> None:
    monkeypatch.setenv("_SPARSEGATE_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", line.replace(" ", "\n"))
    monkeypatch.setenv("COMP_CWORD", str(line.count(" ")))
    assert command()[:2] == (0, f"{words}\n")
