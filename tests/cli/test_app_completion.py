"""Completion by the shell: what bash is offered, in a real bash, and what zsh and fish are told."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ASKED = {
    "sparsegate l": "ledger loss",
    "sparsegate --i": "--install-completion",
    "sparsegate top --max": "--max-items-per-user",
    "sparsegate loss lee": "lee-clifton-2014",
    "sparsegate top visi": "",
    "sparsegate --version lo": "loss",
    "sparsegate variants --format m": "markdown",
    "sparsegate token add ada --role o": "owner",
}
IN_BASH = """
eval "$(_SPARSEGATE_COMPLETE=source_bash sparsegate)"
while read -r line; do
    COMP_WORDS=($line) COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMPREPLY=()
    _sparsegate_completion sparsegate
    echo "${COMPREPLY[*]}"
done
"""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """A `sparsegate` on the path that is this one, and a home of its own."""
    script = tmp_path / "bin" / "sparsegate"
    script.parent.mkdir()
    script.write_text(f"#!{sys.executable}\nfrom sparsegate.cli import main\nmain()\n")
    script.chmod(0o755)
    return {**os.environ, "PATH": f"{script.parent}:{os.environ['PATH']}", "HOME": str(tmp_path)}


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
def test_a_bash_completes(environment: dict[str, str]) -> None:
    done = subprocess.run(
        ["bash", "-c", IN_BASH],
        input="sparsegate ledger r\n",
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "raise restore rotate-key\n"


@pytest.mark.parametrize("line", ASKED)
def test_commands_options_and_words_are_completed(command, monkeypatch, line: str) -> None:
    monkeypatch.setenv("_SPARSEGATE_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", line.replace(" ", "\n"))
    monkeypatch.setenv("COMP_CWORD", str(line.count(" ")))
    assert command() == (0, ASKED[line].replace(" ", "\n") + "\n", "")


@pytest.mark.parametrize(
    ("shell", "more", "told"),
    [
        ("zsh", {}, '"ledger":"What was spent on a dataset, and what is left."'),
        ("fish", {"_TYPER_COMPLETE_FISH_ACTION": "get-args"}, "ledger\tWhat was spent on a dataset, and what is left."),
    ],
)
def test_other_shells_are_told_what_each_is_for(
    command, monkeypatch, shell: str, more: dict[str, str], told: str
) -> None:
    monkeypatch.setenv("_SPARSEGATE_COMPLETE", f"complete_{shell}")
    monkeypatch.setenv("_TYPER_COMPLETE_ARGS", "sparsegate le")
    for name, value in more.items():
        monkeypatch.setenv(name, value)
    code, out, _ = command()
    assert code == 0
    assert told in out
    assert "itemsets" not in out


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_each_shell_calls_sparsegate(command, monkeypatch, shell: str) -> None:
    monkeypatch.setenv("_SPARSEGATE_COMPLETE", f"source_{shell}")
    code, out, _ = command()
    assert code == 0
    assert f"_SPARSEGATE_COMPLETE=complete_{shell}" in out
    assert "sparsegate" in out


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
def test_completion_is_installed_for_the_shell_that_asks(environment: dict[str, str], tmp_path: Path) -> None:
    subprocess.run(
        ["bash", "-c", "sparsegate --install-completion; true"], env=environment, check=True, stdout=subprocess.PIPE
    )
    assert "_sparsegate_completion" in (tmp_path / ".bash_completions" / "sparsegate.sh").read_text()
    assert ".bash_completions/sparsegate.sh" in (tmp_path / ".bashrc").read_text()
