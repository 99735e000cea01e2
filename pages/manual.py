"""The manual, `sparsegate.1`: `python -m pages.manual` writes it, and a test compares it with the commands."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import sparsegate
from sparsegate.cli.app import GROUPS, described
from sparsegate.cli.console import ENVIRONMENT, EXIT_CODES
from sparsegate.cli.help import EXAMPLES, CommandHelp, example_lines

MANUAL = Path(__file__).parents[1] / "docs" / "reference" / "sparsegate.1"


@cache
def documented_commands() -> tuple[CommandHelp, ...]:
    """Every command, each followed by those below it, in the order of the list of all."""
    words = [name for group in GROUPS.values() for name in group]
    below = {name: [word for word in EXAMPLES if word.startswith(f"{name} ")] for name in words}
    return tuple(described(each) for name in words for each in (name, *below[name]))


def manual() -> str:
    """The manual in roff."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    root = described("")
    yield r".\" Made by `python -m pages.manual` from the commands themselves."
    yield f'.TH SPARSEGATE 1 "" "sparsegate {sparsegate.__version__}" "User Commands"'
    yield from (".ad l", ".nh")  # wide gaps, and names that are cut in two, are hard to read
    yield from (".SH NAME", r"sparsegate \- the Sparse Vector Technique and private top\-c selection")
    yield from (".SH SYNOPSIS", r".B sparsegate", r"[\fIOPTIONS\fR] \fICOMMAND\fR ...")
    yield from (".SH DESCRIPTION", *(_text(paragraph) for paragraph in root.paragraphs))
    yield _text("Epsilon is the privacy loss of a release: less is more private. Every command has --help (-h).")
    yield from _options(root)
    for title, commands in GROUPS.items():
        yield f".SS {_text(title)}"
        for name, said in commands.items():
            yield from (".TP", rf"\fB{_text(name)}\fR", _text(said))
    yield ".SH COMMANDS"
    for command in documented_commands():
        yield from _command(command)
    for title, table in (("EXIT STATUS", EXIT_CODES), ("ENVIRONMENT", ENVIRONMENT)):
        yield f".SH {title}"
        for name, said in table.items():
            yield from (".TP", rf"\fB{_text(name)}\fR", _text(said))
    yield from (
        ".SH SEE ALSO",
        "M. Lyu, D. Su, N. Li,",
        r"\fIUnderstanding the Sparse Vector Technique for Differential",
    )
    yield from (r"Privacy\fR,", "PVLDB 10(6), 2017.")


def _command(command: CommandHelp) -> Iterator[str]:
    yield f".SS {_text(f'sparsegate {command.words}')}"
    yield rf"\fB{_text(command.usage)}\fR"
    for paragraph in command.paragraphs:
        yield from (".PP", _text(paragraph))
    yield from (".PP", r"\fIExample\fR", ".PP", ".in +4n", ".nf")
    yield from (_text(line) for line in example_lines(command.words, width=68))
    yield from (".fi", ".in")
    yield from _options(command)


def _options(command: CommandHelp) -> Iterator[str]:
    for title, options in command.panels.items():
        yield from (".PP", rf"\fI{_text(title)}\fR")
        for option in options:
            names = ", ".join(rf"\fB{_text(name)}\fR" for name in option.names.split(", ") if name)
            value = rf"\fI{_text(option.value)}\fR" if option.value else ""
            yield from (".TP", f"{names} {value}".strip(), _text(option.text))


def _text(text: str) -> str:
    r"""A line of text as roff reads it; a hyphen that is to be typed stays one.

    >>> print(_text(".csv, or --csv"))
    \&.csv, or \-\-csv
    """
    safe = (
        text.replace("\\", r"\e").replace("-", r"\-").replace("`", r"\(ga").replace("'", r"\(aq").replace("^", r"\(ha")
    )
    return re.sub(r"^(?=\.)", r"\\&", re.sub(r",(?=\S)", r",\\:", safe))  # a long list may be broken after a comma


if __name__ == "__main__":
    MANUAL.write_text(manual(), encoding="utf-8")
