"""What every sub-command prints with: tables, JSON, and standard output that may be closed or full."""

from __future__ import annotations

import errno
import io
import json
import sys
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import typer
from rich.console import Console, RenderableType
from rich.table import Table

from sparsegate.cli.console import give_up_output
from sparsegate.display.plain import plain
from sparsegate.display.sheet import Sheet
from sparsegate.errors import SparsegateError


def print_plain(*parts: RenderableType) -> None:
    """Print tables and texts as they are, as wide as the terminal at most."""
    console = Console(markup=False, highlight=False, emoji=False)
    for part in parts:
        console.print(part)


def counted(number: int, noun: str) -> str:
    """A number and its noun: 1 gate, 2 gates."""
    return f"{number} {noun}{'s' * (number != 1)}"


def grid(*headings: str, right: Collection[str] = (), unbroken: Collection[str] = (), gap: int = 1) -> Table:
    """An empty table without lines; numbers belong ``right``, and what is ``unbroken`` stays on its line."""
    table = Table(box=None, padding=(0, gap, 0, 0), pad_edge=False)
    for heading in headings:
        side: Any = "right" if heading in right else "left"
        table.add_column(heading, justify=side, no_wrap=heading in unbroken, overflow="fold")  # no name is cut
    return table


def facts(found: Mapping[str, RenderableType], *, bold: bool = False) -> Table:
    """A line for each name and what there is to say about it."""
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0), pad_edge=False)
    table.add_column(style="bold" if bold else "", no_wrap=bold)
    for name, said in found.items():
        table.add_row(name, said)
    return table


def print_table(table: Table, form: str, *, title: str, after: str = "") -> None:
    """Print a table in a word of ``cli.formats`` other than json; ``after`` is for those who read it on a terminal."""
    if form == "table":
        print_plain(table, *([after] if after else []))
        return
    names = [str(column.header) for column in table.columns] if table.show_header else ["about", "said"]
    columns = {name: [str(cell) for cell in column.cells] for name, column in zip(names, table.columns, strict=True)}
    numbers = frozenset(str(column.header) for column in table.columns if column.justify == "right")
    write_sheet(Sheet(title=title, columns=columns, numbers=numbers), form)


def write_sheet(sheet: Sheet, form: str, constant: Mapping[str, object] | None = None) -> None:
    """Write a table as csv, html or markdown; ``constant`` columns of a CSV are the same in every row."""
    if form == "csv":
        sys.stdout.write(sheet.csv(constant))
    else:
        sys.stdout.write(sheet.page() if form == "html" else sheet.markdown())


def print_json(data: Any, *, schema: str = "", indent: int | None = 2) -> None:
    """Print as JSON, by a schema of docs/reference/json.md: of a list, each entry names it."""
    shown = plain(data)
    if schema:
        name = {"schema": f"sparsegate/{schema}/1"}
        shown = [name | entry for entry in shown] if isinstance(shown, list) else name | shown
    # Where the terminal does not take all characters, they are written in JSON's own way.
    typer.echo(json.dumps(shown, indent=indent, ensure_ascii=not takes_unicode()))


@contextmanager
def to_standard_output(again: str) -> Iterator[None]:
    """Write and flush. A closed pipe ends the program without a message, a full disk with one."""
    try:
        ready_to_print(again)
        yield
        sys.stdout.flush()
        return
    except OSError as error:
        reason, left = error.strerror, error.errno == errno.EPIPE
    give_up_output()
    if left:
        raise SystemExit(1)
    raise SparsegateError(f"standard output cannot be written: {reason}" + (f"; {again}" if again else ""))


def ready_to_print(again: str = "give it a file or a terminal") -> None:
    """Make sure, before a result is paid for, that it can be printed: no name in it stops that, nor a closed output."""
    if sys.stdout is None:  # as after `>&-`
        said = "standard output is closed, so nothing could be printed"
        raise SparsegateError(f"{said}; {again}" if again else said)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def takes_unicode() -> bool:
    """Whether standard output can encode all characters; if not, JSON escapes them."""
    return (sys.stdout.encoding or "").lower().startswith("utf")
