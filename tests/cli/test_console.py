"""One run of the command line: refusals that name options, Ctrl-C while it loads, an output that is full or gone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import PROGRAM, Command, closed_pipe

from sparsegate import Ledger, cli
from sparsegate.cli.console import refusal
from sparsegate.errors import ConditionError, ParameterError

FULL = Path("/dev/full")
NO_ROOM = "sparsegate: standard output cannot be written: No space left on device; "

INTERRUPT = """
import os, signal, sys

class Interrupt:
    left = {place}

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if "sparsegate.cli" in sys.modules:
            cls.left -= 1
            if not cls.left:
                os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupt)
"""
"""A `sitecustomize` that presses Ctrl-C as the command line loads its ``place``-th module."""

full_device = pytest.mark.skipif(not FULL.exists(), reason="this system has no /dev/full")


def test_a_refusal_names_options_and_repeats_what_was_typed_as_it_was() -> None:
    options = {"delta": "--delta", "count": "--count", "where": "--where"}
    error = ParameterError("count", "must fit delta=0", "delta=3; delta=4", "pass count=3, or top_count=4")
    said = "--count must fit --delta 0, got 'delta=3; delta=4'; pass --count 3, or top_count=4"
    assert refusal(error, options) == said
    condition = ConditionError("must be one", "delta=3", 0, 7, next_step="pass where=")
    assert refusal(condition, options) == "--where must be one (character 1), got 'delta=3'; pass --where"
    assert refusal(ParameterError("rows", "must be few"), options) == "rows must be few"


@pytest.mark.parametrize(("place", "module"), [(1, True), (2, False), (5, True), (100, False), (300, True)])
def test_ctrl_c_while_anything_loads_is_one_line(tmp_path: Path, module: bool, place: int) -> None:
    (tmp_path / "sitecustomize.py").write_text(INTERRUPT.format(place=place), encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    program = [sys.executable, "-m", "sparsegate"] if module else PROGRAM
    done = subprocess.run([*program, "variants"], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == "sparsegate: interrupted, nothing was spent\n"


def test_the_library_loads_nothing_before_it_is_used() -> None:
    """So that there is next to no time in which Ctrl-C is not heard; and each name is loaded once."""
    script = """
import sys
before = set(sys.modules)
import sparsegate.cli
print(*sorted(set(sys.modules) - before))
from sparsegate import SparseVector
print(vars(sparsegate)["SparseVector"] is SparseVector, sparsegate.noise.__name__)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["sparsegate sparsegate.cli", "True sparsegate.noise"]


@full_device
@pytest.mark.parametrize("words", ["--help", "--version", "variants --json", "variants --format csv", "methods"])
def test_a_full_disk_is_one_line(printed_to, words: str) -> None:
    told = f"{NO_ROOM}give it a file or a terminal that takes it\n"
    assert printed_to(FULL.open("w"), *words.split()) == (2, told)
    if "csv" in words:  # what Python would flush, and complain of, after the command is done
        buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
        with FULL.open("w") as full:
            program = [*PROGRAM, *words.split()]
            done = subprocess.run(program, stdout=full, stderr=subprocess.PIPE, text=True, env=buffered, check=False)
        assert (done.returncode, done.stderr) == (2, told)


@full_device
def test_what_is_done_and_cannot_be_told_is_done(printed_to, command: Command, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    told = {
        "ledger create x.ledger --dataset visits --budget 2": "the ledger is made",
        "ledger raise x.ledger --budget 3 --why more": "the budget is raised",
        "ledger backup x.ledger copy.ledger": "the backup is complete",
        "ledger restore new.ledger --from copy.ledger --spent-since 0": "the ledger is restored",
        "ledger compact x.ledger --to old.csv": "the answers are in old.csv",
        "token add olga --ledger x.ledger": "the token is lost: revoke it, and make another under a new name",
        "token add ivan --ledger x.ledger --token-file ivan": "the token is in ivan",
        "token revoke olga --ledger x.ledger": "olga is revoked",
    }
    for words, said in told.items():
        code, err = printed_to(FULL.open("w"), *words.split())
        assert (code, err.splitlines()[-1]) == (2, f"{NO_ROOM}{said}")
    assert Ledger("x.ledger").statement().budget.epsilon == 3
    assert Path("copy.ledger").exists()
    assert Path("ivan").read_text().startswith("sg_")
    assert "ivan" in command("token", "list", "--ledger", "x.ledger")[1]


def test_whoever_reads_and_leaves_is_told_nothing(printed_to) -> None:
    assert printed_to(closed_pipe(), "variants") == (1, "")
    with closed_pipe() as write:
        done = subprocess.run([*PROGRAM, "variants"], stdout=write, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "")


def test_nohup_is_heard() -> None:
    script = "import os, signal; signal.signal(signal.SIGHUP, signal.SIG_IGN); from sparsegate.cli import app; "
    script += "app.app = lambda **_: os.kill(os.getpid(), signal.SIGHUP); from sparsegate.cli import main; main()"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_an_error_of_another_file_is_not_taken_for_that_of_the_output(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device", "elsewhere")

    monkeypatch.setattr("sparsegate.cli.variants.print_table", fail)
    monkeypatch.setattr("sys.argv", ["sparsegate", "variants"])
    with pytest.raises(OSError, match="elsewhere"):
        cli.main()


def test_a_token_is_not_made_where_it_cannot_be_shown(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Ledger.create("x.ledger", dataset="visits", budget=1).close()
    with monkeypatch.context() as patched:
        patched.setattr("sys.stdout", None)
        code, _, err = command("token", "add", "olga", "--ledger", "x.ledger")
    assert (code, "standard output is closed" in err) == (2, True)
    assert "olga" not in command("token", "list", "--ledger", "x.ledger")[1]
