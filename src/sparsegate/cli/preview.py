"""`sparsegate top --preview`: what the release will be good for. The data are not opened and nothing is charged."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Final

import typer

from sparsegate.cli.printed_top import drawable
from sparsegate.cli.printing import grid, print_json, print_plain, ready_to_print, to_standard_output
from sparsegate.display.plain import printable
from sparsegate.errors import ParameterError
from sparsegate.tables.preview import previewed
from sparsegate.tables.previewed_methods import TopPreview
from sparsegate.tables.question import Question


def show_preview(
    question: Question,
    domain: str | int | Path,
    *,
    fixed: bool,
    within: int | None,
    like: str | None,
    plot: str | None,
    form: str,
) -> None:
    """Print a preview, and draw it where that is asked for."""
    if plot is not None:
        drawable(plot)
    total = None if domain == "observed" else _size(domain, question)
    found = previewed(question, total, fixed=fixed, within=within, like=like)
    ready_to_print()
    with to_standard_output(""):
        _PRINTED[form](found)
    if plot is not None:
        _draw(found, plot)


def _size(domain: str | int | Path, question: Question) -> int:
    """How many candidates there are: the file of them is public."""
    if isinstance(domain, Path):
        from sparsegate.tables.domain_file import read_labels

        size = len(set(read_labels(domain, item=question.item, whole=False)))
    else:
        size = int(domain)
    return math.comb(size, question.itemset_size)


def _cell(cell: object) -> str:
    if cell is None:
        return "-"
    if isinstance(cell, int):
        return f"{cell:,}"
    return f"{cell:,.6g}" if isinstance(cell, float) else str(cell)


def _print_table(found: TopPreview) -> None:
    sheet = found.sheet()
    if found.rows:
        table = grid(*sheet.columns, right=sheet.numbers, unbroken=sheet.columns, gap=2)
        for cells in sheet.rows:
            table.add_row(*map(_cell, cells))
        print_plain(table, "")
    question, lines = found.question, [found.statement]
    if found.chosen is not None:
        lines.append("* would run. within: how far below that item a selected one can be, at worst.")
    if found.asked is not None and (row := found.chosen) is not None and row.needed is not None:
        lines.append(f"Within {found.asked:,} needs --epsilon {float(row.needed):g} with {row.method}.")
    if any(row.recall is not None for row in found):
        lines.append("like: seen in 400 runs on the public stand-in; recall: share of right items.")
    if question.people is not None:
        verdict = "hopeless: " + found.verdict if found.verdict else f"not hopeless for {question.people:,} people"
        lines.append(verdict[0].upper() + verdict[1:] + ".")
    print_plain(*(printable(line) for line in lines), "The table was not read, and nothing was charged.")


_PRINTED: Final[dict[str, Callable[[TopPreview], None]]] = {
    "table": _print_table,
    "json": lambda found: print_json(found.to_dict()),
    "csv": lambda found: typer.echo(found.data().csv(), nl=False),
    "html": lambda found: typer.echo(found.sheet().page(), nl=False),
    "markdown": lambda found: typer.echo(found.sheet().markdown(), nl=False),
}


def _draw(found: TopPreview, plot: str) -> None:
    if not found.rows:
        raise ParameterError("plot", "needs a count: what is above a bar has no curve", plot, "leave it out")
    try:
        found.plot().savefig(plot, dpi=150)
    except OSError:
        raise ParameterError("plot", "could not be written", plot, "check its folder and the space there") from None
