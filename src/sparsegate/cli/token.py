"""`sparsegate token`: who may ask a service, and who may open gates and see the budget."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import sparsegate as sg
from sparsegate.cli.options import AsJson, option
from sparsegate.cli.printing import grid, print_json, print_plain, ready_to_print, to_standard_output
from sparsegate.errors import ParameterError
from sparsegate.ledger.account import exact_text

if TYPE_CHECKING:
    from sparsegate.service.tokens import Tokens

token = typer.Typer(add_completion=False, no_args_is_help=True, help="Who may ask a service, and who may open gates.")

Name = Annotated[str, typer.Argument(metavar="NAME", help="Whose token it is.")]
Place = Annotated[str, option("FILE|URL", "The ledger of the service: a file, or postgresql://...", "--ledger")]
TokenFile = Annotated[
    str | None, option("FILE", "Write the token to a new file that only you can read, and do not print it.")
]


@token.command()
def add(
    name: Name,
    ledger: Place,
    role: Annotated[
        str,
        option(
            "WORD",
            "analyst asks; owner opens gates and sees the budget too.",
            autocompletion=lambda: ["analyst", "owner"],
        ),
    ] = "analyst",
    expires: Annotated[
        str | None, option("30d|12h|DATE", "It lets nobody in from then on (0:00 UTC of a date).")
    ] = None,
    most_above: Annotated[int | None, option("N", "It may be given this many ABOVE in all; lost ones count.")] = None,
    most_epsilon: Annotated[
        float | None, option("E", "An owner's: it may charge this much in all, less refunds.")
    ] = None,
    token_file: TokenFile = None,
) -> None:
    """Make a token and print it, this once: the ledger keeps a digest."""
    ready_to_print()
    with shown_once(token_file) as show, _tokens(ledger) as tokens:
        shown = show(tokens.add(name, role, expires=expires, most_above=most_above, most_epsilon=most_epsilon))
        lost = "the token is lost: revoke it, and make another under a new name"
        with to_standard_output(lost if token_file is None else f"the token is in {token_file}"):
            typer.echo(shown)


@token.command("list")
def list_tokens(ledger: Place, as_json: AsJson = False) -> None:
    """Every token that was ever made; none can be shown again."""
    with _tokens(ledger) as tokens:
        records = tokens.list()
    if as_json:
        print_json(records, schema="token")
        return
    short = ("role", "added", "expires", "last used", "revoked")
    table = grid("name", *short, "at most", unbroken=short, gap=2)
    for record in records:
        times = (record.added_at, record.expires_at, record.last_used_at, record.revoked_at)
        quotas = [] if record.most_above is None else [f"{record.most_above} ABOVE"]
        quotas += [] if record.most_epsilon is None else [f"epsilon {exact_text(record.most_epsilon)}"]
        table.add_row(record.name, record.role.value, *((moment or "")[:10] for moment in times), ", ".join(quotas))
    print_plain(table)


@token.command()
def revoke(name: Name, ledger: Place) -> None:
    """Stop a token, also in a service that runs, within seconds."""
    with _tokens(ledger) as tokens:
        tokens.revoke(name)
    with to_standard_output(f"{name} is revoked"):
        typer.echo(f"{name}: revoked")


@contextmanager
def _tokens(ledger: str) -> Iterator[Tokens]:
    from sparsegate.service.tokens import Tokens

    with sg.Ledger(ledger) as opened:
        yield Tokens(opened)


@contextmanager
def shown_once(file: str | None) -> Iterator[Callable[[str], str]]:
    """What to print of a token: its text; or, where there is a file for it, where it was written.

    The file is made before the token is, and one that is already there is refused; if no token comes it is removed.
    """
    if file is None:
        yield lambda text: text
        return
    try:
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        reason = (error.strerror or "it is refused").lower()
        raise ParameterError("token_file", f"must be a new file: {reason}", file, "choose another path") from None

    def show(text: str) -> str:
        os.write(handle, f"{text}\n".encode())
        os.fsync(handle)
        return f"in {file}"

    try:
        yield show
    except BaseException:
        if not os.fstat(handle).st_size:
            Path(file).unlink(missing_ok=True)
        raise
    finally:
        os.close(handle)
