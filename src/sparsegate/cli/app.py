"""The typer application: a sub-command is loaded when it is called, and completion is typer's own."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated, Any, Final

import typer
from typer.core import TyperGroup

from sparsegate import __version__
from sparsegate.cli import loaded
from sparsegate.cli.console import in_options
from sparsegate.cli.help import CommandHelp, describe, print_help

GROUPS: Final[dict[str, dict[str, str]]] = {
    "Publish": {
        "top": "The items that most people have, from files or a database.",
        "itemsets": "The sets of items that most people have together.",
    },
    "Ask one by one": {
        "watch": "Which conditions hold for more people than a threshold.",
        "alert": "When the people in a window of a stream pass a threshold.",
        "serve": "Answer such questions over HTTP, from data that stays here.",
        "mcp": "Let agents ask, by the Model Context Protocol.",
        "token": "Who may ask a service, and who may open gates.",
        "holdout": "Score models on a holdout that can be used again.",
    },
    "Account": {"ledger": "What was spent on a dataset, and what is left."},
    "Compare and reproduce": {
        "variants": "The published algorithms: how they differ, which are private.",
        "loss": "What one of them really leaks, exactly.",
        "theorems": "Every claim of the paper and beyond, measured.",
        "reproduce": "The paper's evaluation, from data to report.",
        "compare": "Ways to select the highest scores: who wins where.",
        "methods": "What `reproduce` and `compare` can run.",
        "datasets": "What they run on.",
    },
    "Review": {"audit": "Prove what somebody's code leaks, or find nothing."},
}
"""The sub-commands, and a line about each: a list of them loads none."""

COMMANDS: Final = {name: line for group in GROUPS.values() for name, line in group.items()}
"""Each is a module here that holds a function, or a typer application, of its own name."""

_SETTINGS: Final[dict[str, Any]] = {"pretty_exceptions_enable": False}  # typer's tracebacks print local variables


class Commands(TyperGroup):
    """The sub-commands, in the order in which they are listed."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        nothing: Any = None
        self.commands = dict.fromkeys(COMMANDS, nothing)  # what a mistyped name is compared with: none is loaded

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"sparsegate.cli.{cmd_name}")
        loaded()
        application = getattr(module, cmd_name)
        if not isinstance(application, typer.Typer):
            function, application = application, typer.Typer(add_completion=False, **_SETTINGS)
            application.command(cmd_name, cls=getattr(module, "COMMAND", None))(function)
        command = typer.main.get_command(application)
        command.name = cmd_name
        _prepare(command)
        return command

    def format_help(self, ctx: Any, formatter: Any) -> None:
        print_help(describe(self, "", GROUPS))


def _prepare(command: Any) -> None:
    """Give a command, and each of its sub-commands, our `--help`, and refusals that name its options."""
    for part in getattr(command, "commands", {}).values():
        _prepare(part)
    command.format_help = lambda ctx, _: print_help(describe(command, ctx.command_path.partition(" ")[2]))
    if command.callback is not None:
        command.callback = in_options(command)


def described(words: str) -> CommandHelp:
    """All that is said about the command of these words, such as "ledger show"; "" is `sparsegate` itself."""
    command: Any = typer.main.get_command(app)
    for word in words.split():
        command = command.get_command(None, word)
    return describe(command, words, None if words else GROUPS)


app = typer.Typer(
    cls=Commands, no_args_is_help=True, context_settings={"help_option_names": ["-h", "--help"]}, **_SETTINGS
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
