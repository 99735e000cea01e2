"""`sparsegate datasets`: the datasets of the evaluation, and `sparsegate datasets fetch NAME`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from sparsegate.evaluation.datasets import PUBLISHED, load
from sparsegate.evaluation.datasets import fetch as fetch_file

LEGEND = """
A stand-in is a law of three numbers with the published number of items; results
on it are not comparable with published ones. To use the real data:
sparsegate reproduce --data kosarak=FILE"""

datasets = typer.Typer(invoke_without_command=True, help="The datasets of the evaluation: list them, or fetch one.")


@datasets.callback()
def listing(
    context: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="Print them as a JSON array, with every field.")] = False,
) -> None:
    """List the datasets: records, items, source, and whether a stand-in is used where there is no file."""
    if context.invoked_subcommand is not None:
        return
    loaded = [load(name) for name in PUBLISHED]
    if as_json:
        rows = [
            {
                "name": data.name,
                "title": PUBLISHED[data.name].title,
                "records": data.records,
                "items": data.items,
                "source": PUBLISHED[data.name].source,
                "url": PUBLISHED[data.name].url,
                "without_a_file": data.kind,
                "stand_in": data.stand_in,
                "description": data.description,
            }
            for data in loaded
        ]
        typer.echo(json.dumps(rows, indent=2, ensure_ascii=False))
        return
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False)
    for heading, justify in (
        ("name", "left"),
        ("records", "right"),
        ("items", "right"),
        ("no file", "left"),
        ("fetch", "left"),
        ("source", "left"),
    ):
        table.add_column(heading, justify=justify)  # type: ignore[arg-type]
    for data in loaded:
        row = PUBLISHED[data.name]
        can_fetch = "yes" if row.url else "no"
        table.add_row(row.name, f"{row.records:,}", f"{row.items:,}", data.kind, can_fetch, row.source)
    console = Console(markup=False, highlight=False)
    console.print(table)
    console.print(LEGEND)


@datasets.command()
def fetch(
    name: Annotated[str, typer.Argument(metavar="NAME", show_default=False, help="A dataset that has an address.")],
    folder: Annotated[
        Path | None, typer.Option("--folder", show_default=False, help="Where to put it; your cache unless given.")
    ] = None,
) -> None:
    """Download a dataset, check it, and print its path."""
    path = fetch_file(name, folder=folder)
    typer.echo(path)
    typer.echo(f"use it with: sparsegate reproduce --data {name}={path}", err=True)
