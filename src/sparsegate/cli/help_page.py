"""`--help`, on a terminal: how a command is called, what it does, one example, and its options in their groups.

One example of every command, as `--help`, the manual and the site show it. Tests run them, in this order.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from typing import Final

from rich.console import Console
from rich.text import Text

from sparsegate.cli.app import DescribedCommand, DescribedOption

EXAMPLES: Final = {
    "": "top visits.csv --item page --user visitor -c 3 --epsilon 1 --domain pages.csv",
    "ledger create": "ledger create visits.ledger --dataset visits --budget 4 --key visits.ledger.key",
    "top": "top visits.csv --item page --user visitor -c 3 --epsilon 1 --domain pages.csv --ledger visits.ledger",
    "itemsets": "itemsets sales.csv --item product --user buyer -c 3 --size 2 --epsilon 1 --domain products.csv",
    "watch": "watch visits.csv --user visitor --where \"page = '/pay'\" --threshold 500 --cutoff 1 --epsilon 0.5",
    "ledger": "ledger show visits.ledger",
    "ledger show": "ledger show visits.ledger --release 2",
    "ledger export": "ledger export visits.ledger --json",
    "ledger raise": 'ledger raise visits.ledger --budget 6 --why "agreed on 3 May"',
    "ledger backup": "ledger backup visits.ledger visits.backup",
    "ledger restore": "ledger restore again.ledger --from visits.backup --spent-since 0.5",
    "ledger rotate-key": "ledger rotate-key visits.ledger --key visits.ledger.key",
    "serve": "serve visits.csv --user visitor --new-ledger --budget 2",
    "token": "token add grace --ledger visits.ledger --role owner",
    "token add": "token add ada --ledger visits.ledger --expires 30d",
    "token list": "token list --ledger visits.ledger",
    "token revoke": "token revoke ada --ledger visits.ledger",
    "ledger asks": "ledger asks visits.ledger --by ada",
    "ledger compact": "ledger compact visits.ledger --to old_answers.csv --days 30",
    "holdout": "holdout score train.csv held.csv --label y --models tree --size 1000 -t 0.1 -c 5 --epsilon 1",
    "holdout score": "holdout score train.csv held.csv --label y --size 1000 --threshold 0.1 --cutoff 5 --epsilon 1",
    "variants": "variants lee-clifton-2014",
    "loss": "loss lee-clifton-2014 --cutoff 3 --epsilon 0.1",
    "theorems": "theorems alg-5",
    "reproduce": "reproduce --paper-only --datasets kosarak --counts 25,50 --out quick",
    "compare": "compare --datasets zipf --counts 25 --epsilon 0.1,1 --out compared",
    "methods": "methods --json",
    "datasets": "datasets",
    "datasets fetch": "datasets fetch kosarak",
    "audit": "audit my_gate:answer --epsilon 1 --samples 20000",
}
"""By the words of a command; each without `sparsegate` before it."""


def example_lines(words: str, *, width: int) -> list[str]:
    """The example of a command, broken before its options where it is longer than ``width``.

    >>> print("\\n".join(example_lines("ledger create", width=70)))
    sparsegate ledger create visits.ledger --dataset visits --budget 4 \\
        --key visits.ledger.key
    """
    lines = [""]
    for part in re.split(r" (?=-)", f"sparsegate {EXAMPLES[words]}"):
        longer = f"{lines[-1]} {part}".lstrip(" ") if len(lines) == 1 else f"{lines[-1]} {part}"
        if lines[-1] and len(longer) > width - 2:
            lines.append(f"    {part}")
        else:
            lines[-1] = longer
    return [f"{line} \\" for line in lines[:-1]] + lines[-1:]


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
