"""`sparsegate token`: who may ask a service, and who may open gates and see the budget."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

import sparsegate as sg
from sparsegate.cli.printing import grid, print_plain

if TYPE_CHECKING:
    from sparsegate.service.tokens import Tokens

token = typer.Typer(no_args_is_help=True, help="Who may ask a service, and who may open gates.")

Name = Annotated[str, typer.Argument(metavar="NAME", help="Whose token it is.")]
Place = Annotated[
    str, typer.Option("--ledger", metavar="FILE|URL", help="The ledger of the service: a file, or postgresql://...")
]


@token.command()
def add(
    name: Name,
    ledger: Place,
    role: Annotated[str, typer.Option(help="analyst asks; owner opens gates and sees the budget too.")] = "analyst",
) -> None:
    """Make a token and print it, this once: the ledger keeps a digest."""
    with _tokens(ledger) as tokens:
        typer.echo(tokens.add(name, role))


@token.command("list")
def list_tokens(ledger: Place) -> None:
    """Every token that was ever made; none can be shown again."""
    with _tokens(ledger) as tokens:
        records = tokens.list()
    short = ("role", "added (UTC)", "revoked (UTC)")
    table = grid("name", *short, unbroken=short, gap=2)
    for record in records:
        table.add_row(record.name, record.role.value, _minute(record.added_at), _minute(record.revoked_at or ""))
    print_plain(table)


@token.command()
def revoke(name: Name, ledger: Place) -> None:
    """Stop a token, also in a service that runs, within seconds."""
    with _tokens(ledger) as tokens:
        tokens.revoke(name)
    typer.echo(f"{name}: revoked")


@contextmanager
def _tokens(ledger: str) -> Iterator[Tokens]:
    from sparsegate.service.tokens import Tokens

    with sg.Ledger(ledger) as opened:
        yield Tokens(opened)


def _minute(moment: str) -> str:
    return moment[:16].replace("T", " ")
