"""`--help`: how a command is called, what it does, an example, and its options in groups.

The manual and the site are made of the same: ``describe``.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, get_args, get_type_hints

EXAMPLES: Final = {
    "": "top visits.csv --item page --user visitor -c 3 --epsilon 1 --domain pages.csv",
    "ledger create": "ledger create visits.ledger --dataset visits --budget 4 --key visits.ledger.key",
    "top": "top visits.csv --item page --user visitor -c 3 --epsilon 1 --domain pages.csv --ledger visits.ledger",
    "itemsets": "itemsets sales.csv --item product --user buyer -c 3 --size 2 --epsilon 1 --domain products.csv",
    "watch": "watch visits.csv --user visitor --where \"page = '/pay'\" --threshold 500 --cutoff 1 --epsilon 0.5",
    "alert": "alert access.csv --time at --user visitor --window 5m --threshold 130 --cutoff 10 --epsilon 2",
    "ledger": "ledger show visits.ledger",
    "ledger show": "ledger show visits.ledger --release 2",
    "ledger export": "ledger export visits.ledger --json",
    "ledger raise": 'ledger raise visits.ledger --budget 6 --why "agreed on 3 May"',
    "ledger backup": "ledger backup visits.ledger visits.backup",
    "ledger restore": "ledger restore again.ledger --from visits.backup --spent-since 0.5",
    "ledger rotate-key": "ledger rotate-key visits.ledger --key visits.ledger.key",
    "serve": "serve visits.csv --user visitor --new-ledger --budget 2",
    "mcp": "mcp visits.csv --user visitor --ledger visits.ledger --budget 2 --domain page=pages.csv",
    "token": "token add grace --ledger visits.ledger --role owner",
    "token add": "token add ada --ledger visits.ledger --expires 30d",
    "token list": "token list --ledger visits.ledger",
    "token revoke": "token revoke ada --ledger visits.ledger",
    "ledger asks": "ledger asks visits.ledger --by ada",
    "ledger compact": "ledger compact visits.ledger --to old_answers.csv --days 30",
    "holdout": "holdout train.csv held.csv --label y --size 1000 --threshold 0.1 --cutoff 5 --epsilon 1",
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
"""An example of each command, by its words, without `sparsegate` before it. Tests run them, in this order."""

PANELS: Final = {
    "Options": "",
    "Privacy": "epsilon delta answers_epsilon choice_epsilon cutoff method max_items_per_user dbar pool selection "
    "monotonic",
    "Groups and sums": "per groups groups_per_user cells_per_user value clip granularity",
    "Windows": "time width start until lateness windows_per_user",
    "Before you pay": "preview within expect like people times",
    "Ledger": "ledger new_ledger budget budget_delta conversion_delta dataset key new_key close_gates no_refund state",
    "Sizes": "size_epsilon size_delta person_rows capacity",
    "Network": (
        "http host port allowed_host trusted_proxy tls_cert tls_key max_connections max_connections_of_one "
        "metrics_port workers"
    ),
    "Effort": "runs most_runs jobs seed seconds samples confidence whole_budget",
    "Input": "table sql input_format separator encoding memory_limit datasets data records scale_to_records",
    "Output": "output as_json as_csv plot out folder brief token_file log_format metrics",
}
"""The groups of options, by the names of parameters; what has no group is among the first."""

_PANEL_OF: Final = {name: title for title, names in PANELS.items() for name in names.split()}
_VALUES: Final = {int: "N", float: "NUMBER"}
_WIDEST, _NARROWEST, _NAMES = 80, 30, 26  # columns: of lines, and of the names before what is said about them


class OptionHelp(NamedTuple):
    """An option, or an argument: `-c, --count`, the word for its value, what is said about it, whether it is needed."""

    names: str
    value: str
    text: str
    required: bool


@dataclass(frozen=True, kw_only=True)
class CommandHelp:
    """All that is said about a command; ``lists`` are the commands below it, and a line about each."""

    words: str
    usage: str
    paragraphs: list[str]
    panels: dict[str, list[OptionHelp]]
    lists: Mapping[str, Mapping[str, str]]


def describe(command: Any, words: str, lists: Mapping[str, Mapping[str, str]] | None = None) -> CommandHelp:
    """All that is said about the command of these words after `sparsegate`."""
    hints = get_type_hints(command.callback, include_extras=True) if command.callback else {}
    panels: dict[str, list[OptionHelp]] = {"Arguments": [], **{title: [] for title in PANELS}}
    for parameter in command.params:
        if not getattr(parameter, "hidden", False) and parameter.name != "help":
            is_argument = parameter.param_type_name == "argument"
            title = "Arguments" if is_argument else _PANEL_OF.get(parameter.name, "Options")
            panels[title].append(_option(parameter, hints.get(parameter.name), is_argument=is_argument))
    options = [option for title, group in panels.items() if title != "Arguments" for option in group]
    below = getattr(command, "commands", {})
    pieces = [argument.value if argument.required else f"[{argument.value}]" for argument in panels["Arguments"]]
    pieces += [f"{option.names.split(', ')[-1]} {option.value}" for option in options if option.required]
    pieces += ["[OPTIONS]"] if any(not option.required for option in options) else []
    pieces += [] if not below else ["[COMMAND]" if command.invoke_without_command else "COMMAND"]
    if lists is None:
        lists = {"Commands": {name: first_sentence(part.help or "") for name, part in below.items()}} if below else {}
    return CommandHelp(
        words=words,
        usage=" ".join(["sparsegate", *words.split(), *pieces]),
        paragraphs=[" ".join(part.split()) for part in inspect.cleandoc(command.help or "").split("\n\n")],
        panels={title: group for title, group in panels.items() if group},
        lists=lists,
    )


def _option(parameter: Any, hint: Any, *, is_argument: bool) -> OptionHelp:
    kind, info = get_args(hint)[:2] if hint else (bool, None)  # those of typer itself have no hint
    kind = (get_args(kind) or (kind,))[0]
    least, most = getattr(info, "min", None), getattr(info, "max", None)
    notes = [] if least is None else [f"{least:g} to {most:g}" if most is not None else f"{least:g} or more"]
    if parameter.required and not is_argument:
        notes.append("required")
    elif isinstance(parameter.show_default, str):
        notes.append(f"default: {parameter.show_default}")
    elif parameter.show_default and kind is not bool and parameter.default not in (None, [], ()):
        notes.append(f"default: {parameter.default:{'g' if kind is float else ''}}")
    names = sorted(parameter.opts, key=len) if not is_argument else []
    return OptionHelp(
        ", ".join([*names[:-1], "/".join([*names[-1:], *parameter.secondary_opts])]),
        parameter.metavar or _VALUES.get(kind, ""),
        " ".join([*(parameter.help or "").split(), *(f"[{note}]" for note in notes)]),
        parameter.required,
    )


def first_sentence(text: str) -> str:
    """What a list of commands says of one."""
    return re.split(r"(?<=[.?]) (?=[A-Z])", " ".join(inspect.cleandoc(text).split("\n\n")[0].split()))[0]


def example_lines(words: str, *, width: int) -> list[str]:
    """The example of a command, broken before its options where it is longer than ``width``."""
    text = f"sparsegate {EXAMPLES[words]}".replace(" -", "\n-").replace(" ", "\xa0").replace("\n", " ")
    lines = textwrap.wrap(text, width - 2, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)
    return [line.replace("\xa0", " ") for line in [*(f"{line} \\" for line in lines[:-1]), lines[-1]]]


def print_help(command: CommandHelp) -> None:
    """Print what `--help` prints."""
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, markup=False, emoji=False)
    width = max(_NARROWEST, min(console.width, _WIDEST))
    for line, marked, style in _lines(command, width):
        console.print(Text.assemble((line[:marked], style), line[marked:]), soft_wrap=True)


def _lines(command: CommandHelp, width: int) -> Iterator[tuple[str, int, str]]:
    """Each line, how many of its characters are marked, and how."""
    for at, line in enumerate(textwrap.wrap(f"Usage: {command.usage}", width, subsequent_indent=" " * 7)):
        yield (line, 6, "yellow") if not at else (line, 0, "")
    for paragraph in command.paragraphs:
        yield from ((line, 0, "") for line in ["", *textwrap.wrap(paragraph, width, break_on_hyphens=False)])
    yield from (("", 0, ""), ("Example", 7, "bold"))
    yield from ((f"  {line}", width, "green") for line in example_lines(command.words, width=width - 2))
    column = max((len(name) for names in command.lists.values() for name in names), default=0)
    for title, commands in command.lists.items():
        yield from (("", 0, ""), (title, width, "bold"), *_rows(commands.items(), column, width))
    for title, options in command.panels.items():
        indent = "    " if any("," in option.names for option in options) else ""
        rows = []
        for names, value, text, _ in options:
            shown = f"{names} {value}".strip()
            rows.append((shown if "," in names else f"{indent}{shown}", text))
        column = min(_NAMES, width // 3, max(len(name) for name, _ in rows))
        yield from (("", 0, ""), (title, width, "bold"), *_rows(rows, column, width))
    if command.lists:
        more = f"More about one of them: sparsegate {command.words}".rstrip()
        yield from (("", 0, ""), (f"{more} COMMAND --help", 0, ""))


def _rows(rows: Any, column: int, width: int) -> Iterator[tuple[str, int, str]]:
    """Names on the left, words on the right; a name too long for its column has a line to itself."""
    for name, text in rows:
        lines = textwrap.wrap(text, width - column - 4, break_on_hyphens=False, break_long_words=False) or [""]
        first = "" if len(name) > column else lines.pop(0)
        yield f"  {name:{column}}  {first}".rstrip(), 2 + len(name), "cyan"
        yield from ((f"{' ' * (column + 4)}{line}", 0, "") for line in lines)
