"""The typer application: a sub-command is loaded when it is called, or when all of them are listed.

The groups in which `--help`, the manual and the site show the options of each command, and in which order.

A test finds an option that has no place here, and a name here that is no option.

What there is to say about a command, read from the command once: for `--help`, for the manual and for the site.

What a shell offers after an option, or for an argument, that takes one of a few words.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from types import NoneType
from typing import Annotated, Any, Final, get_args, get_origin, get_type_hints

import typer
from typer.core import TyperGroup

from sparsegate import __version__
from sparsegate.cli import loaded
from sparsegate.cli.errors import speak

GROUPS: Final[dict[str, dict[str, str]]] = {
    "Publish": {
        "top": "The items that most people have, from files or a database.",
        "itemsets": "The sets of items that most people have together.",
    },
    "Ask one by one": {
        "watch": "Which conditions hold for more people than a threshold.",
        "serve": "Answer such questions over HTTP, from data that stays here.",
        "token": "Who may ask a service, and who may open gates.",
        "holdout": "Score models on a holdout that can be used again.",
    },
    "Account": {
        "ledger": "What was spent on a dataset, and what is left.",
    },
    "Compare and reproduce": {
        "variants": "The published algorithms: how they differ, which are private.",
        "loss": "What one of them really leaks, exactly.",
        "theorems": "Every claim of the paper and beyond, measured.",
        "reproduce": "The paper's evaluation, from data to report.",
        "compare": "Ways to select the highest scores: who wins where.",
        "methods": "What `reproduce` and `compare` can run.",
        "datasets": "What they run on.",
    },
    "Review": {
        "audit": "Prove what somebody's code leaks, or find nothing.",
    },
}
"""The sub-commands, and a line about each: a list of them loads none."""

COMMANDS: Final = {name: line for group in GROUPS.values() for name, line in group.items()}
"""Each is a module here that holds a function, or a typer application, of its own name."""

# Typer's own tracebacks print local variables, which may be private data.
_OPTIONS: dict[str, Any] = {"pretty_exceptions_enable": False}


@dataclass(frozen=True, kw_only=True)
class Offered:
    """A word that a shell may complete to, in the form that typer reads."""

    value: str
    help: str | None = None
    type: str = "plain"


class Commands(TyperGroup):
    """The sub-commands, in the order in which they are listed."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        nothing: Any = None
        self.commands = dict.fromkeys(COMMANDS, nothing)  # what a mistyped name is compared with: none is loaded

    def list_commands(self, ctx: Any) -> list[str]:
        """Their names."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Load one of them."""
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"sparsegate.cli.{cmd_name}")
        loaded()
        found = getattr(module, cmd_name)
        if not isinstance(found, typer.Typer):
            alone = typer.Typer(add_completion=False, **_OPTIONS)
            alone.command(cmd_name, cls=getattr(module, "COMMAND", None))(found)
            found = alone
        command = typer.main.get_command(found)
        command.name = cmd_name
        speak(command)
        _explain(command)
        return command

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print what `--help` prints."""
        _print_help(self, ctx, GROUPS)

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """What a shell offers: the sub-commands, of which none is loaded, and the options."""
        params: list[Any] = self.get_params(ctx) if incomplete else []
        options = {name: one.help for one in params for name in one.opts}
        found = {**COMMANDS, **options}
        return [Offered(value=name, help=found[name]) for name in found if name.startswith(incomplete)]


def described(words: str) -> DescribedCommand:
    """Say all about the command of these words, such as "ledger show"; "" is `sparsegate` itself."""

    command: Any = typer.main.get_command(app)
    if not words:
        return describe(command, "", GROUPS)
    first, *rest = words.split()
    command = command.get_command(None, first)
    for word in rest:
        command = command.commands[word]
    return describe(command, words)


def _explain(command: Any) -> None:
    """Give a command, and each of its sub-commands, our `--help`."""
    for part in getattr(command, "commands", {}).values():
        _explain(part)
    command.format_help = lambda ctx, formatter: _print_help(command, ctx)


def _print_help(command: Any, ctx: Any, below: Any = None) -> None:
    from sparsegate.cli.help_page import print_help

    words = ctx.command_path.partition(" ")[2]
    print_help(describe(command, words, below))


app = typer.Typer(
    cls=Commands, no_args_is_help=True, context_settings={"help_option_names": ["-h", "--help"]}, **_OPTIONS
)


def _print_version(context: typer.Context, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:  # that is a shell which asks for words
        typer.echo(f"sparsegate {__version__}")
        raise typer.Exit


@app.callback()
def sparsegate(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Ask which private answers are above a threshold, and pay privacy only for those."""


_INPUT: Final = ("table", "sql", "separator", "encoding")
_LEDGER: Final = ("ledger", "budget", "budget_delta", "dataset")
_PRINTED: Final = ("formats", "as_json", "as_csv", "plot")
_DATASETS: Final = ("datasets", "data", "records", "scale_to_records")
_TLS: Final = ("host", "port", "allowed_host", "trusted_proxy", "tls_cert", "tls_key")

ASKED: Final = "What is asked"
PRIVACY: Final = "Privacy"
LEDGER: Final = "Ledger"
INPUT: Final = "Input"
OUTPUT: Final = "Output"
EFFORT: Final = "Effort"

PANELS: Final[dict[str, dict[str, tuple[str, ...]]]] = {
    "": {"Options": ("version", "install_completion", "show_completion")},
    "top": {
        ASKED: (*("count", "above", "item", "user", "unit", "domain", "where", "ordered"),),
        PRIVACY: ("epsilon", "delta", "answers_epsilon", "method", "threshold", "max_items_per_user", "dbar"),
        "Groups and sums": ("per", "groups", "groups_per_user", "value", "clip", "granularity"),
        "Before you pay": ("preview", "within", "like", "people"),
        LEDGER: _LEDGER,
        INPUT: _INPUT,
        OUTPUT: _PRINTED,
    },
    "itemsets": {
        ASKED: ("count", "size", "smallest", "item", "user", "domain", "where"),
        PRIVACY: ("epsilon", "delta", "answers_epsilon", "method", "pool", "selection"),
        LEDGER: _LEDGER,
        INPUT: _INPUT,
        OUTPUT: _PRINTED,
    },
    "watch": {
        ASKED: ("threshold", "where", "conditions", "user", "unit"),
        PRIVACY: ("epsilon", "cutoff"),
        "With --follow": (
            *("follow", "time", "width", "start", "until", "lateness", "windows_per_user", "fires", "two_sided"),
            *("method", "name", "state", "metrics", "webhook"),
        ),
        LEDGER: (*_LEDGER, "no_refund"),
        INPUT: ("table", "sql", "format", "separator", "encoding"),
        OUTPUT: ("as_json",),
    },
    "serve": {
        "Data": ("user", "unit", "columns", "max_cell", "read", "table", "sql", "format", "separator", "encoding"),
        LEDGER: (
            *("ledger", "new_ledger", "budget", "budget_delta", "dataset", "key", "new_key", "close_gates"),
            *("no_refund", "token_file"),
        ),
        "Sizes": ("size_epsilon", "size_delta", "person_rows", "capacity"),
        "Answers": ("delay", "headroom", "most_asks", "refresh"),
        "Network": (*_TLS, "max_connections", "max_connections_of_one", "metrics_port"),
        "Running it": ("config", "log_format"),
    },
    "token add": {
        "Token": ("role", "expires", "most_above", "most_epsilon"),
        LEDGER: ("ledger",),
        OUTPUT: ("token_file",),
    },
    "token list": {LEDGER: ("ledger",), OUTPUT: ("as_json",)},
    "token revoke": {LEDGER: ("ledger",)},
    "holdout score": {
        ASKED: ("threshold", "size", "label", "models", "low", "high"),
        PRIVACY: ("epsilon", "cutoff"),
        LEDGER: ("ledger", "budget", "dataset", "name"),
        OUTPUT: ("as_json",),
    },
    "ledger show": {ASKED: ("release",), OUTPUT: _PRINTED},
    "ledger create": {LEDGER: ("dataset", "budget", "budget_delta"), "Key": ("key",)},
    "ledger export": {OUTPUT: ("as_json",)},
    "ledger asks": {ASKED: ("gate", "by"), OUTPUT: ("as_json", "as_csv")},
    "ledger compact": {"What is moved": ("to", "days")},
    "ledger raise": {"Budget": ("budget", "budget_delta", "why")},
    "ledger restore": {"Backup": ("backup", "spent_since", "delta_since", "write_off")},
    "ledger rotate-key": {"Key": ("key",)},
    "variants": {OUTPUT: ("formats", "as_json")},
    "loss": {
        "The gate": ("cutoff", "epsilon", "monotonic", "queries", "lattice"),
        "A pair of your own": ("answers", "neighbour", "outcome", "threshold", "estimates"),
        OUTPUT: ("formats", "as_json", "plot"),
    },
    "theorems": {OUTPUT: ("brief", "as_json")},
    "reproduce": {
        "What is run": ("counts", "epsilon", "methods", "paper_only", "reading"),
        "Data": _DATASETS,
        EFFORT: ("runs", "most_runs", "jobs", "seed"),
        OUTPUT: ("out", "as_json"),
    },
    "compare": {
        "What is run": ("counts", "epsilon", "methods", "mine", "no_peers", "uses", "by"),
        "Data": _DATASETS,
        EFFORT: ("runs", "most_runs", "jobs", "seed"),
        OUTPUT: ("out", "as_json"),
    },
    "methods": {OUTPUT: ("as_json",)},
    "datasets": {OUTPUT: ("as_json",)},
    "datasets fetch": {OUTPUT: ("folder",)},
    "audit": {
        "The claim": ("epsilon", "delta", "sensitivity", "monotonic"),
        "The mechanism": ("batch", "queries", "centre", "call_timeout", "variants"),
        EFFORT: ("seconds", "samples", "confidence", "whole_budget", "seed"),
        OUTPUT: ("formats", "as_json"),
    },
}
"""Of each command, by its words after `sparsegate`: the groups, and in them the names of parameters."""


ARGUMENTS: Final = "Arguments"
_VALUES: Final = {int: "N", float: "NUMBER"}
"""What an option takes, where it has no word of its own for that; texts and paths have one."""


@dataclass(frozen=True, kw_only=True)
class DescribedOption:
    """An option, or an argument: `-c, --count N`, what it is for, and what holds where it is left out."""

    short: str
    long: str
    value: str
    help: str
    notes: tuple[str, ...]
    required: bool

    @property
    def names(self) -> str:
        """All its names, and its value."""
        names = ", ".join(name for name in (self.short, self.long) if name)
        return f"{names} {self.value}".strip()

    @property
    def sentence(self) -> str:
        """Its help, and the notes in brackets."""
        return " ".join([self.help, *(f"[{note}]" for note in self.notes)]).strip()


@dataclass(frozen=True, kw_only=True)
class DescribedCommand:
    """A command: how it is called, what it does, its options in their groups, and the commands below it."""

    words: str
    paragraphs: tuple[str, ...]
    panels: Mapping[str, tuple[DescribedOption, ...]] = field(default_factory=dict)
    below: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    alone: bool = True

    @property
    def name(self) -> str:
        """As it is typed."""
        return f"sparsegate {self.words}".strip()

    @property
    def usage(self) -> str:
        """Its arguments, the options that it needs, and a word for the others.

        >>> from sparsegate.cli.app import described
        >>> described("token revoke").usage
        'sparsegate token revoke NAME --ledger FILE|URL'
        """
        parts = [self.name]
        parts += [one.value if one.required else f"[{one.value}]" for one in self.panels.get(ARGUMENTS, ())]
        options = [one for title, group in self.panels.items() if title != ARGUMENTS for one in group]
        parts += [f"{one.long} {one.value}" for one in options if one.required]
        parts += ["[OPTIONS]"] if any(not one.required for one in options) else []
        if self.below:
            parts.append("[COMMAND]" if self.alone else "COMMAND")
        return " ".join(parts)


def describe(command: Any, words: str, below: Mapping[str, Mapping[str, str]] | None = None) -> DescribedCommand:
    """Say all about a command that has these ``words`` after `sparsegate`; ``below`` is what a list says of others."""
    hints = {} if command.callback is None else get_type_hints(command.callback, include_extras=True)
    shown = {one.name: _option(one, hints.get(one.name)) for one in command.params if not getattr(one, "hidden", False)}
    arguments = tuple(shown[one.name] for one in command.params if one.param_type_name == "argument")
    panels = {ARGUMENTS: arguments} if arguments else {}
    for title, names in PANELS.get(words, {}).items():
        panels[title] = tuple(shown[name] for name in names if name in shown)
    if below is None and (parts := getattr(command, "commands", {})):
        below = {"Commands": {name: first_sentence(part.help or "") for name, part in parts.items()}}
    return DescribedCommand(
        words=words,
        paragraphs=tuple(" ".join(part.split()) for part in inspect.cleandoc(command.help or "").split("\n\n")),
        panels=panels,
        below=below or {},
        alone=getattr(command, "invoke_without_command", False),
    )


def first_sentence(text: str) -> str:
    """What a list of commands says of one.

    >>> first_sentence("Raise the budget, on record. A budget is never lowered.")
    'Raise the budget, on record.'
    """
    (first, *_) = inspect.cleandoc(text).split("\n\n")
    return re.split(r"(?<=[.?]) (?=[A-Z])", " ".join(first.split()))[0]


def _option(parameter: Any, hint: Any) -> DescribedOption:
    kind, info = _kind(hint)
    value = parameter.metavar or ("" if kind is bool else _VALUES.get(kind, ""))
    if parameter.param_type_name == "argument":
        short, long = "", ""
    else:
        long = "/".join(name for name in (*parameter.opts, *parameter.secondary_opts) if name.startswith("--"))
        short = next((name for name in parameter.opts if not name.startswith("--")), "")
    return DescribedOption(
        short=short,
        long=long,
        value=value,
        help=" ".join((parameter.help or "").split()),
        notes=tuple(_notes(parameter, info, flag=kind is bool)),
        required=parameter.required,
    )


def _kind(hint: Any) -> tuple[Any, Any]:
    """The type of one value, and what typer was told of it."""
    info = None
    while (origin := get_origin(hint)) is not None:
        if origin is Annotated:
            info = hint.__metadata__[0]
        hint = next(part for part in get_args(hint) if part is not NoneType)
    return hint, info


def _notes(parameter: Any, info: Any, *, flag: bool) -> Iterator[str]:
    least, most = getattr(info, "min", None), getattr(info, "max", None)
    if least is not None:
        yield f"{least:g} to {most:g}" if most is not None else f"{least:g} or more"
    if parameter.envvar and parameter.show_envvar:
        yield f"environment: {parameter.envvar}"
    if parameter.required and parameter.param_type_name == "option":
        yield "required"
    elif isinstance(parameter.show_default, str):
        yield f"default: {parameter.show_default}"
    elif parameter.show_default and not flag and parameter.default not in (None, [], ()):
        default = parameter.default
        yield f"default: {default:g}" if isinstance(default, float) else f"default: {default}"


def one_of(words: Iterable[str]) -> Callable[[str], list[str]]:
    """What typer's ``autocompletion`` asks: the words that begin so.

    >>> one_of(["table", "json", "csv"])("j")
    ['json']
    """

    def complete(incomplete: str) -> list[str]:
        return [word for word in words if word.startswith(incomplete)]

    return complete
