"""The typer application: a sub-command is loaded when it is called, or when all of them are listed."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from sparsegate import __version__
from sparsegate.cli.wording import speak

COMMANDS = (
    "variants",
    "loss",
    "audit",
    "theorems",
    "reproduce",
    "compare",
    "datasets",
    "methods",
    "top",
    "itemsets",
    "watch",
    "holdout",
    "ledger",
    "serve",
    "token",
)
"""Each is a module here that holds a function, or a typer application, of its own name."""

# Typer's own tracebacks print local variables, which may be private data.
_OPTIONS: dict[str, Any] = {"add_completion": False, "pretty_exceptions_enable": False}


class Commands(TyperGroup):
    """The sub-commands, in the order in which they are listed."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Their names."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Load one of them."""
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"sparsegate.cli.{cmd_name}")
        found = getattr(module, cmd_name)
        if not isinstance(found, typer.Typer):
            alone = typer.Typer(**_OPTIONS)
            alone.command(cmd_name, cls=getattr(module, "COMMAND", None))(found)
            found = alone
        command = typer.main.get_command(found)
        command.name = cmd_name
        speak(command)
        return command


app = typer.Typer(
    cls=Commands, no_args_is_help=True, context_settings={"help_option_names": ["-h", "--help"]}, **_OPTIONS
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"sparsegate {__version__}")
        raise typer.Exit


@app.callback()
def sparsegate(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Ask which private answers are above a threshold, and pay privacy only for those."""
