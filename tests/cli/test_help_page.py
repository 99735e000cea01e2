"""`--help` on a terminal of 80 columns: how it is called, what it does, an example, options in their groups."""

from __future__ import annotations

import pytest

from sparsegate.cli.app import described
from sparsegate.cli.help_page import EXAMPLES, MOST_COLUMNS, help_lines


@pytest.mark.parametrize("words", EXAMPLES)
def test_no_line_is_longer_than_the_screen_or_ends_in_blanks(words: str) -> None:
    command = described(words)
    lines = [line.plain for line in help_lines(command, 80)]
    assert [line for line in lines if len(line) > 80 or line != line.rstrip()] == []
    at = [lines.index(heading) for heading in ("Example", *command.below, *command.panels)]
    assert at == sorted(at)
    assert lines[0].startswith(f"Usage: {command.name}")


REVOKE = """\
Usage: sparsegate token revoke NAME --ledger FILE|URL

Stop a token, also in a service that runs, within seconds.

Example
  sparsegate token revoke ada --ledger visits.ledger

Arguments
  NAME  Whose token it is.

Ledger
  --ledger FILE|URL  The ledger of the service: a file, or postgresql://...
                     [required]
"""


def test_the_help_is_printed(command) -> None:
    code, out, err = command("token", "revoke", "--help")
    assert (code, out.rstrip("\n"), err) == (0, REVOKE.rstrip("\n"), "")


@pytest.mark.parametrize("arguments", [(), ("ledger",), ("token",)])
def test_a_command_that_needs_another_prints_its_help(command, arguments: tuple[str, ...]) -> None:
    code, out, err = command(*arguments)
    assert (code, err) == (2, "")
    assert out.startswith(f"Usage: {' '.join(('sparsegate', *arguments))}")


def test_a_note_is_not_broken_and_a_long_name_has_a_line_of_its_own() -> None:
    lines = [line.plain for line in help_lines(described("top"), 80)]
    assert "      --domain FILE[:COLUMN]|N|observed" in lines
    assert any(line.strip() == "together. [default: 1]" for line in lines)
    assert not any("\N{NO-BREAK SPACE}" in line for line in lines)


def test_on_a_wide_screen_lines_are_no_longer_than_can_be_read(monkeypatch, command) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    _, wide, _ = command("top", "--help")
    monkeypatch.setenv("COLUMNS", "60")
    _, narrow, _ = command("top", "--help")
    assert 75 < max(map(len, wide.splitlines())) <= MOST_COLUMNS
    assert max(map(len, narrow.splitlines())) <= 60


@pytest.mark.parametrize("words", EXAMPLES)
def test_on_a_narrow_screen_only_what_has_no_blank_is_wider(words: str) -> None:
    lines = [line.plain.strip() for line in help_lines(described(words), 40)]
    wide = [line for line in lines if len(line) > 40 and not line.startswith(("sparsegate", "More about", "--"))]
    assert [line for line in wide if " " in line] == []


def test_a_long_list_goes_on_after_a_comma(monkeypatch, command) -> None:
    out = command("reproduce", "--help")[1]
    assert "[default: 25,50,75,100,125,150,175,200,225,250,275,\n" in out
    monkeypatch.setenv("COLUMNS", "1")  # as some programs that watch a terminal say
    assert command("reproduce", "--help")[0] == 0
