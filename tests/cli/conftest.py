"""The command line, run in the test's own process."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

import pytest
from tests.support.display import valid

from sparsegate import cli

Command = Callable[..., tuple[object, str, str]]
Refused = Callable[..., str]

PROGRAM = [sys.executable, "-c", "from sparsegate.cli import main; main()"]
"""The command line in a process of its own."""

PAGES = {"/home", "/pay", "/docs"}
ASK = ("--item", "page", "--user", "visitor", "-c", "3", "--epsilon", "30")
"""A question about the table of ``folder``."""
ABOVE = (*ASK[:4], "--above", "500", "--epsilon", "30", "--domain", "observed", "--delta", "1e-6")
ABOVE = (*ABOVE, "--max-items-per-user", "4")
"""The same pages, as all that about 500 visitors have."""


@pytest.fixture
def command(monkeypatch, capsys):
    """Run the command line in this process, 80 columns wide, and return exit code, stdout and stderr."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")

    def run(*arguments: object, stdin: str | bytes = "") -> tuple[object, str, str]:
        monkeypatch.setattr("sys.argv", ["sparsegate", *map(str, arguments)])
        raw = stdin if isinstance(stdin, bytes) else stdin.encode("utf-8", "surrogateescape")
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(raw), encoding="utf-8"))
        with pytest.raises(SystemExit) as stopped:
            cli.main()
        captured = capsys.readouterr()
        if "--json" in arguments and stopped.value.code == 0:
            assert valid(*_records(captured.out)), captured.out
        return stopped.value.code, captured.out, captured.err

    return run


def _records(printed: str) -> list[Any]:
    """The objects that were printed: one, a list of them, or one on each line."""
    try:
        records = json.loads(printed)
    except ValueError:
        records = [json.loads(line) for line in printed.splitlines() if line.startswith('{"schema"')]
    return records if isinstance(records, list) else [records]


@pytest.fixture
def refused(command):
    """Run a command that must be refused: exit code 2, nothing on stdout, one line on stderr, which is returned."""

    def run(*arguments: object, stdin: str | bytes = "") -> str:
        code, out, err = command(*arguments, stdin=stdin)
        assert (code, out, err.count("\n")) == (2, "", 1), err
        return err.removeprefix("sparsegate: ").rstrip("\n")

    return run


@pytest.fixture
def printed_to(command, monkeypatch):
    """Run a command whose standard output is this file, and return exit code and stderr."""

    def run(file: TextIO, *arguments: object) -> tuple[object, str]:
        with file, monkeypatch.context() as patched:
            patched.setattr("sys.stdout", file)
            code, _, err = command(*arguments)
        return code, err

    return run


def closed_pipe() -> TextIO:
    """A pipe that nobody reads any more."""
    read, write = os.pipe()
    os.close(read)
    return os.fdopen(write, "w")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch) -> Path:
    """A thousand visitors of three pages, each row twice, and a public list of 100 pages; the working directory."""
    monkeypatch.chdir(tmp_path)
    rows = [f"{page},u{user},{number}\n" * 2 for user in range(1000) for number, page in enumerate(sorted(PAGES))]
    Path("visits.csv").write_text("page,visitor,number\n" + "".join(rows) + ",u1,7\n/home,,0\n/elsewhere,u1,9\n")
    Path("pages.csv").write_text("page,title\n" + "".join(f"{page},x\n" for page in PAGES))
    with Path("pages.csv").open("a") as pages:
        pages.writelines(f"/page/{number},y\n" for number in range(97))
    return tmp_path
