"""What every sub-command prints with: tables, JSON, pictures, and a standard output that may be closed or full."""

from __future__ import annotations

import errno
import io
import json
import math
import os
import sys
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from sparsegate.budget import Cost
from sparsegate.cli.console import Interrupted, give_up_output
from sparsegate.cli.options import Spending
from sparsegate.display.plain import plain, printable, rounded
from sparsegate.display.published import PrintedTop
from sparsegate.display.sheet import Sheet
from sparsegate.display.tabular import Tabular
from sparsegate.errors import ParameterError, SparsegateError, load_extra


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


def facts(texts: Mapping[str, RenderableType], *, bold: bool = False) -> Table:
    """A line for each name and what there is to say about it."""
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0), pad_edge=False)
    table.add_column(style="bold" if bold else "", no_wrap=bold)
    for name, text in texts.items():
        table.add_row(name, text)
    return table


def print_table(table: Table, form: str, *, title: str, after: str = "") -> None:
    """Print a table in a word of ``cli.options`` other than json; ``after`` is for those who read it on a terminal."""
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
    unicode = (sys.stdout.encoding or "").lower().startswith("utf")  # else characters are written in JSON's own way
    typer.echo(json.dumps(shown, indent=indent, ensure_ascii=not unicode))


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
    raise SparsegateError(f"standard output cannot be written: {reason}{f'; {again}' if again else ''}")


def ready_to_print(again: str = "give it a file or a terminal") -> None:
    """Make sure, before a result is paid for, that it can be printed: no name in it stops that, nor a closed output."""
    if sys.stdout is None:  # as after `>&-`
        raise SparsegateError(f"standard output is closed, so nothing could be printed{f'; {again}' if again else ''}")
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


@contextmanager
def busy(stage: str) -> Iterator[Callable[..., None]]:
    """Show the stage, the time elapsed and, once it is known, the time left; never how many rows there are.

    Yields what changes the stage, and takes the seconds ``left``. Both times are for whoever runs the command and
    holds the data: where standard error is no terminal nothing is shown.
    """
    if not sys.stderr.isatty():
        yield lambda stage, left=None: None
        return
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(stage, total=None)

        def show(stage: str, left: float | None = None) -> None:
            shown = "" if left is None else f", about {time_left(left)} left"
            progress.update(task, description=stage + shown)

        yield show


def time_left(seconds: float) -> str:
    """A time to come, no finer than it is known.

    >>> time_left(3.2), time_left(47), time_left(200)
    ('5 s', '50 s', '4 min')
    """
    step = 5 if seconds < 20 else 10
    return f"{math.ceil(seconds / step) * step} s" if seconds <= 90 else f"{math.ceil(seconds / 60)} min"


COUNTING = "reading and counting"
PICTURES = ("png", "svg", "pdf")


def publish(
    make: Callable[[], object], spending: Spending, *, cost: Cost, form: str, plot: str | None, estimated: bool
) -> None:
    """Make a release of top items and print it: once it is paid for, after Ctrl-C, too.

    What can be refused is refused before ``make`` reads the data.
    """
    with spending:
        if plot is not None:
            if not estimated:
                raise ParameterError("plot", "needs noisy counts to draw", next_step="give --answers-epsilon too")
            drawable(plot)
        spending.check(cost)
        ready_to_print()
    try:
        with spending, busy(COUNTING) as spending.stage:
            make()
    finally:
        if spending.gave is not None:
            top = PrintedTop(kept=spending.gave, recorded=spending.recorded)
            with spending:
                try:
                    print_top(top, form, again=spending.again)
                finally:  # a reader who left early must not cost the picture too
                    if plot is not None:
                        draw(plot, top, "" if spending.account.ledger is None else f"{spending.again} --plot {plot}")


def print_top(top: PrintedTop, form: str = "table", *, again: str = "") -> None:
    """Print a release in one of the words of ``cli.options``; ``again`` says how to see it again, should that fail."""
    with to_standard_output(again):
        if form == "table":
            _print_table(top)
        elif form == "json":
            print_json(top.json)
        else:  # a CSV repeats the record in every row, so that a file of them says how it was made
            write_sheet(top.sheet(), form, top.bars | top.record)
    if form == "csv":  # after it: a warning that is made an error must not cost the result
        top.sheet().warn_of_formulas()


def _print_table(top: PrintedTop) -> None:
    """The items, a group named once, then the record; as wide as the terminal at most."""
    sheet, bar, groups = top.sheet(), top.kept["error_bar"], top.kept.get("groups", [])
    names = {name: printable(name) for name in sheet.columns}
    names |= {"rank": "#"} if "rank" in names else {}
    names |= {"estimate": f"{top.measure} ± {rounded(bar, bar)}"} if top.estimated else {}
    numbers = [names[name] for name in sheet.columns if name in sheet.numbers]
    table, last = grid(*names.values(), right=numbers, unbroken=numbers, gap=2), None
    for row in sheet.rows:
        first, *others = (Text(printable(cell)) for cell in sheet.texts(row))
        table.add_row(Text() if groups and row[0] == last else first, *others)
        last = row[0]
    notes = {name: printable(text) for name, text in top.notes.items()}
    if empty := [group for group in groups if group not in next(iter(sheet.columns.values()))]:
        notes["nothing selected in"] = ", ".join(map(printable, empty))
    print_plain(table if top.kept["items"] else "no item was selected", "", facts(notes))


def drawable(file: str) -> None:
    """Refuse a picture that could not be written, before anything is spent on it."""
    path = Path(file)
    if path.suffix.lower().lstrip(".") not in PICTURES:
        raise ParameterError("plot", f"must end in .{', .'.join(PICTURES)}", file)
    if not path.parent.is_dir() or path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
        raise ParameterError("plot", "must be a file that can be written", file, "check its folder")
    load_extra("matplotlib.figure", extra="plots")


def draw(file: str, result: Tabular | PrintedTop, again: str = "") -> None:
    """Draw a result; whatever goes wrong, it was printed before, and ``again`` says how to see it.

    The picture is drawn in memory first, so that one that fails leaves the file as it was.
    """
    kept = "the result above is complete" + (f"; {again}" if again else "")
    try:
        picture = io.BytesIO()
        warnings.filterwarnings("ignore", "Glyph .* missing")  # a box in its place is plain to see
        result.plot().savefig(picture, dpi=150, format=Path(file).suffix.lower().lstrip("."))
        Path(file).write_bytes(picture.getvalue())
    except KeyboardInterrupt:
        raise Interrupted(f"interrupted while {file} was drawn; {kept}") from None
    except SparsegateError:  # there is nothing to draw
        raise
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ParameterError("plot", f"could not be written ({reason}), and {kept}", file) from None
    except Exception as error:
        # What a library says of a label may hold anything; its kind is enough.
        raise SparsegateError(f"{file} could not be drawn ({type(error).__name__}); {kept}") from None
