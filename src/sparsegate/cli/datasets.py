"""`sparsegate datasets`: the datasets of the evaluation, and `sparsegate datasets fetch NAME`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sparsegate.cli.options import AsJson, option
from sparsegate.cli.printing import grid, print_json, print_plain
from sparsegate.paper.data import PUBLISHED, how_checked, load
from sparsegate.paper.data import fetch as fetch_file

LEGEND = """
A stand-in has the published number of items, and counts through a few knots: of
public samples, scaled, or fitted to printed numbers. To use the real data:
sparsegate reproduce --data kosarak=FILE"""

_FETCHED = [name for name, row in PUBLISHED.items() if row.url]

datasets = typer.Typer(
    add_completion=False, invoke_without_command=True, help="The datasets of the evaluation: list them, or fetch one."
)


@datasets.callback()
def listing(context: typer.Context, as_json: AsJson = False) -> None:
    """List the datasets: records, items, source, and whether a stand-in is used where there is no file."""
    if context.invoked_subcommand is not None:
        return
    loaded = [(PUBLISHED[name], load(name)) for name in PUBLISHED]
    if as_json:
        own = ("name", "title", "records", "items", "source", "url")
        print_json(
            [
                {name: getattr(row, name) for name in own}
                | {"without_a_file": data.kind, "stand_in": data.stand_in, "description": data.description}
                for row, data in loaded
            ],
            schema="dataset",
        )
        return
    table = grid("name", "records", "items", "no file", "fetch", "source", right=("records", "items"))
    for row, data in loaded:
        numbers = (f"{row.records:,}", f"{row.items:,}")
        table.add_row(row.name, *numbers, data.kind, "yes" if row.url else "no", row.source)
    print_plain(table, LEGEND)


@datasets.command()
def fetch(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", show_default=False, autocompletion=lambda: _FETCHED, help="A dataset that has an address."
        ),
    ],
    folder: Annotated[
        Path | None, option("FOLDER", "Where to put it; your cache unless given.", "--folder", show_default=False)
    ] = None,
) -> None:
    """Download a dataset, check it, and print its path."""
    path = fetch_file(name, folder=folder)
    typer.echo(path)
    typer.echo(how_checked(name), err=True)
    typer.echo(f"use it with: sparsegate reproduce --data {name}={path}", err=True)
