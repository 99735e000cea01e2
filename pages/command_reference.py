"""The command line, as Markdown: every command with its example, and its options in tables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from pages.manual import documented_commands
from sparsegate.cli.console import ENVIRONMENT, EXIT_CODES
from sparsegate.cli.help import CommandHelp, OptionHelp, example_lines

_CODE = re.compile(r"`[^`]*`|(?<![\w-])--?[a-z][a-z-]*(?![\w-])|\bSPARSEGATE_[A-Z_]+(?:=\S*\w)?")

_PAGE = re.compile(r"docs/((?:[a-z-]+/)*)(\w+)\.md")


def commands_part() -> str:
    """A section for each command."""
    return "\n".join(line for command in documented_commands() for line in _section(command))


def exit_codes_part() -> str:
    """The tables of exit codes and of the environment."""
    tables = {"Exit code": EXIT_CODES, "Name": ENVIRONMENT}
    lines = [line for heading, table in tables.items() for line in _table(heading, _coded(table))]
    return "\n".join(['<div class="options" markdown="1">', "", *lines, "</div>"])


def _coded(table: Mapping[str, str]) -> dict[str, str]:
    return {", ".join(f"`{part}`" for part in name.split(", ")): prose(said) for name, said in table.items()}


def _section(command: CommandHelp) -> Iterator[str]:
    yield from ("", f"{'###' if ' ' in command.words else '##'} sparsegate {command.words}", "")
    for paragraph in command.paragraphs:
        yield from (prose(paragraph), "")
    yield from ("```text", command.usage, "```", "", "For example:", "")
    yield from ("```sh", *example_lines(command.words, width=80), "```", "")
    yield from ('<div class="options" markdown="1">', "")
    for title, options in command.panels.items():
        yield from _table(title, {_names(option): prose(option.text) for option in options})
    for commands in command.lists.values():
        linked = {_link(command, name): prose(said) for name, said in commands.items()}
        yield from _table("Command", linked)
    yield from ("</div>", "")


def _table(heading: str, rows: Mapping[str, str]) -> Iterator[str]:
    yield from (f"| {heading} | |", "| --- | --- |")
    yield from (f"| {name} | {said} |" for name, said in rows.items())
    yield ""


def _names(option: OptionHelp) -> str:
    return ", ".join(f"`{name}`" for name in f"{option.names} {option.value}".strip().split(", "))


def _link(command: CommandHelp, name: str) -> str:
    anchor = re.sub(r"[^\w-]", "-", f"sparsegate {command.words} {name}")
    return f"[`{name}`](#{anchor})"


def prose(text: str) -> str:
    """Plain words as Markdown: options are code, and no sign means more than itself.

    >>> print(prose("see --per, a*b of [1] and `sparsegate top`"))
    see `--per`, a\\*b of \\[1\\] and `sparsegate top`
    >>> print(prose("see docs/how-to/top.md."))
    see [top](../how-to/top.md).
    """
    parts, at = [], 0
    for found in _CODE.finditer(text):
        parts += [_escaped(text[at : found.start()]), f"`{found[0].strip('`')}`"]
        at = found.end()
    return _PAGE.sub(r"[\2](../\1\2.md)", "".join([*parts, _escaped(text[at:])]))


def _escaped(text: str) -> str:
    return re.sub(r"([\\*_\[\]<>|#])", r"\\\1", text)
