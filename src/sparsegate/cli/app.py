"""The typer application that gathers the sub-commands."""

from __future__ import annotations

from typing import Annotated

import typer

from sparsegate import __version__
from sparsegate.cli.audit import audit
from sparsegate.cli.datasets import datasets
from sparsegate.cli.ledger import app as ledger
from sparsegate.cli.loss import loss
from sparsegate.cli.reproduce import reproduce
from sparsegate.cli.serve import serve
from sparsegate.cli.theorems import theorems
from sparsegate.cli.token import app as token
from sparsegate.cli.top import top
from sparsegate.cli.variants import variants
from sparsegate.cli.watch import watch

# Typer's own tracebacks print local variables, which may be private data.
app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False)


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
