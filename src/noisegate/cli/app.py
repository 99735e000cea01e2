"""The typer application that gathers the sub-commands."""

from __future__ import annotations

from typing import Annotated

import typer

from noisegate import __version__
from noisegate.cli.audit import audit
from noisegate.cli.datasets import datasets
from noisegate.cli.ledger import app as ledger
from noisegate.cli.loss import loss
from noisegate.cli.reproduce import reproduce
from noisegate.cli.serve import serve
from noisegate.cli.theorems import theorems
from noisegate.cli.token import app as token
from noisegate.cli.top import top
from noisegate.cli.variants import variants
from noisegate.cli.watch import watch

# Typer's own tracebacks print local variables, which may be private data.
app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"noisegate {__version__}")
        raise typer.Exit


@app.callback()
def noisegate(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Ask which private answers are above a threshold, and pay privacy only for those."""


app.command()(variants)
app.command()(loss)
app.command()(audit)
app.command()(theorems)
app.command()(reproduce)
app.add_typer(datasets, name="datasets")
app.command()(top)
app.command()(watch)
app.add_typer(ledger, name="ledger")
app.command()(serve)
app.add_typer(token, name="token")
