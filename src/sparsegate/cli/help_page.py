"""`--help`, on a terminal: how a command is called, what it does, one example, and its options in their groups."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from rich.console import Console
from rich.text import Text

from sparsegate.cli.described import DescribedCommand, DescribedOption
from sparsegate.cli.examples import example_lines

MOST_COLUMNS = 80
"""Longer lines are hard to read."""
FEWEST_COLUMNS = 30
"""Less has no room for a name beside its words."""
_NAMES = 26
"""Columns for the names of options, on a narrow screen a third of it; what is longer has a line of its own."""
_UNBROKEN = "\N{NO-BREAK SPACE}"


def print_help(command: DescribedCommand) -> None:
    """Print all that there is to say about a command."""
    console = Console(highlight=False, markup=False, emoji=False)
    for line in help_lines(command, max(FEWEST_COLUMNS, min(console.width, MOST_COLUMNS))):
        console.print(line, soft_wrap=True)


def help_lines(command: DescribedCommand, width: int) -> Iterator[Text]:
    """The lines of `--help`, with their colours."""
    first, *more = textwrap.wrap(command.usage, width - 7, break_on_hyphens=False)
    yield Text.assemble(("Usage: ", "yellow"), (first, "bold"))
    yield from (Text(f"       {line}", style="bold") for line in more)
    for paragraph in command.paragraphs:
        yield from map(Text, ["", *textwrap.wrap(paragraph, width, break_on_hyphens=False)])
    yield from _heading("Example")
    yield from (Text(f"  {line}", style="green") for line in example_lines(command.words, width=width - 2))
    column = max((len(name) for commands in command.below.values() for name in commands), default=0)
    for title, commands in command.below.items():
        yield from _heading(title)
        for name, said in commands.items():
            yield from _row(name, said, column, width)
    for title, options in command.panels.items():
        yield from _heading(title)
        yield from _options(options, width)
    if command.below:
        yield Text()
        yield Text(f"More about one of them: {command.name} COMMAND --help")


def _heading(title: str) -> list[Text]:
    return [Text(), Text(title, style="bold")]


def _options(options: tuple[DescribedOption, ...], width: int) -> Iterator[Text]:
    indent = "    " if any(one.short for one in options) else ""
    named = [f"{'' if one.short else indent}{one.names}" for one in options]
    column = min(_NAMES, width // 3, max(map(len, named), default=0))
    for option, name in zip(options, named, strict=True):
        # A short note is not broken, and a long one not after its first word.
        notes = (f"[{note}]".replace(" ", _UNBROKEN, -1 if len(note) < width // 2 else 1) for note in option.notes)
        yield from _row(name, " ".join([option.help, *notes]), column, width)


def _row(name: str, said: str, column: int, width: int) -> Iterator[Text]:
    """A name on the left, words on the right; a name too long for its column has a line to itself."""
    lines = [line.replace(_UNBROKEN, " ") for line in _wrapped(said, width - column - 4)]
    if len(name) > column:
        yield Text(f"  {name}", style="cyan")
    else:
        first = lines.pop(0) if lines else ""
        yield Text.assemble("  ", (name, "cyan"), f"{' ' * (column - len(name) + 2)}{first}")
    yield from (Text(f"{' ' * (column + 4)}{line}") for line in lines)


def _wrapped(text: str, width: int) -> Iterator[str]:
    """Lines of words; a list that is longer than a line goes on after a comma."""
    for line in textwrap.wrap(text, width, break_on_hyphens=False, break_long_words=False):
        while len(line) > width and (comma := line.rfind(",", 0, width)) > 0:
            yield line[: comma + 1]
            line = line[comma + 1 :]
        yield line
