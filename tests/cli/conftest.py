"""The command line, run in the test's own process."""

from __future__ import annotations

import io

import pytest

from noisegate import cli


@pytest.fixture
def command(monkeypatch, capsys):
    """Run the command line in this process, 80 columns wide, and return exit code, stdout and stderr."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")

    def run(*arguments: object, stdin: str = "") -> tuple[object, str, str]:
        monkeypatch.setattr("sys.argv", ["noisegate", *map(str, arguments)])
        monkeypatch.setattr("sys.stdin", io.StringIO(stdin))
        with pytest.raises(SystemExit) as stopped:
            cli.main()
        captured = capsys.readouterr()
        return stopped.value.code, captured.out, captured.err

    return run
