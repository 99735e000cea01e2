"""`sparsegate variants`: the paper's table of differences, printed from the rows."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from enum import Enum
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from sparsegate.errors import ParameterError
from sparsegate.mechanisms.variants import VARIANTS, Released, Scale, Variant

LEGEND = """
rho, nu  scales of the threshold noise and of the query noise (general queries);
         Δ is the sensitivity, c the cutoff; * drawn again after a positive
value    the number a positive releases: noisy (the one compared) or fresh
ε-DP     whether the algorithm is as private as its ε says

`sparsegate variants KEY` says more about one of them."""


def variants(
    key: Annotated[
        str | None, typer.Argument(metavar="KEY", show_default=False, help="Say all about this one.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the rows as a JSON array, with every field.")] = False,
) -> None:
    """The published sparse vector algorithms: how they differ, and which of them are private."""
    if key is not None and key not in VARIANTS:
        raise ParameterError("KEY", f"must be one of {', '.join(VARIANTS)}", key, "run `sparsegate variants`")
    rows = list(VARIANTS.values()) if key is None else [VARIANTS[key]]
    if as_json:
        typer.echo(json.dumps([asdict(row) for row in rows], indent=2, ensure_ascii=False, default=_plain))
        return
    console = Console(markup=False, highlight=False)
    if key is None:
        console.print(_overview(rows))
        console.print(LEGEND)
    else:
        console.print(_detail(rows[0]))


def _overview(rows: Iterable[Variant]) -> Table:
    """One line per row, 80 columns wide at most."""
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False)
    for heading in ("key", "paper", "ε₁:ε₂", "rho", "nu", "value", "stops", "ε-DP"):
        table.add_column(heading)
    for row in rows:
        table.add_row(
            row.key,
            row.algorithm,
            _split(row),
            row.threshold_noise.formula("ε₁") + ("*" if row.redraws_threshold else ""),
            row.query_noise.formula("ε₂"),
            "-" if row.released is Released.NOTHING else row.released.name.partition("_")[0].lower(),
            "at c" if row.stops else "never",
            Text("yes", style="green") if row.private else Text("no", style="red"),
        )
    return table


def _detail(row: Variant) -> Table:
    """Everything about one row, a line per property."""
    again = ", drawn again after each positive" if row.redraws_threshold else ""
    query = _law(row.query_noise, "ε₂")
    monotonic = _law(row.query_noise_monotonic, "ε₂")
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, show_header=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column()
    table.add_row("key", row.key)
    table.add_row("title", row.title)
    table.add_row("paper", row.algorithm)
    table.add_row("citation", row.citation)
    table.add_row("ε₁:ε₂", _split(row))
    table.add_row("noise", row.noise.value)
    table.add_row("threshold noise, rho", _law(row.threshold_noise, "ε₁") + again)
    table.add_row("query noise, nu", query if query == monotonic else f"{query}; monotonic {monotonic}")
    table.add_row("compared with T + rho", row.compared.value)
    table.add_row("a positive releases", row.released.value)
    table.add_row("stops", "after c positives" if row.stops else "never")
    table.add_row("claimed loss", row.claimed)
    table.add_row("true loss", row.truth)
    table.add_row("ε-DP", Text("yes", style="green") if row.private else Text("no", style="red"))
    if row.flaw:
        table.add_row("flaw", row.flaw)
    return table


def _split(row: Variant) -> str:
    return row.allocation if isinstance(row.allocation, str) else f"1:{row.allocation}"


def _law(scale: Scale, share: str) -> str:
    return f"scale {scale.formula(share)}" if scale.factor else "none"


def _plain(value: object) -> str:
    """Values that JSON does not know: an enum by its name, an exact number by its digits."""
    return value.name.lower() if isinstance(value, Enum) else str(value)
