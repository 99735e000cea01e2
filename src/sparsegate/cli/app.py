"""The typer application: a sub-command is loaded when it is called, or when all of them are listed."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from typer.core import TyperGroup

from sparsegate import __version__
from sparsegate.cli import loaded
from sparsegate.cli.wording import speak

if TYPE_CHECKING:
    from sparsegate.cli.described import DescribedCommand

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
    from sparsegate.cli.described import describe

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
    from sparsegate.cli.described import describe
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
