"""How a private selection is printed: for a terminal, a program or a page, and as a picture, each with its record."""

from __future__ import annotations

import io
import os
from pathlib import Path

from rich.text import Text

from sparsegate.cli.printing import facts, grid, print_json, print_plain, to_standard_output, write_sheet
from sparsegate.cli.wording import Interrupted
from sparsegate.display.plain import printable, rounded
from sparsegate.display.published_top import PrintedTop
from sparsegate.errors import ParameterError, SparsegateError, load_extra

PICTURES = ("png", "svg", "pdf")


def print_top(top: PrintedTop, form: str = "table", *, again: str = "") -> None:
    """Print a release in one of the words of ``cli.formats``; ``again`` says how to see it again, should that fail."""
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
    """The items, then the record, as wide as the terminal at most."""
    table = grid(gap=2)
    if top.groups:
        table.add_column(printable(top.group_heading), overflow="fold")
    if top.ranked:
        table.add_column("#", justify="right", no_wrap=True)
    for heading in top.headings:
        table.add_column(printable(heading), overflow="fold")
    bar = top.kept["error_bar"]
    if top.estimated:
        table.add_column(f"{top.measure} ± {rounded(bar, bar)}", justify="right", no_wrap=True)
    groups = top.groups
    for at, (rank, (parts, estimate)) in enumerate(zip(top.places, top.rows, strict=True)):
        group = [Text(printable(groups[at]) if rank == 1 else "")] if groups else []
        cells = [Text(printable(part)) for part in parts]
        place = [str(rank)] if top.ranked else []
        table.add_row(*group, *place, *cells, *([] if estimate is None else [rounded(estimate, bar)]))
    notes = {name: printable(said) for name, said in top.notes.items()}
    if empty := [group for group in top.kept.get("groups", []) if group not in groups]:
        notes["nothing selected in"] = ", ".join(map(printable, empty))
    print_plain(table if top.rows else "no item was selected", "", facts(notes))


def drawable(file: str) -> None:
    """Refuse a picture that could not be written, before anything is spent on it."""
    path = Path(file)
    if path.suffix.lower().lstrip(".") not in PICTURES:
        raise ParameterError("plot", f"must end in .{', .'.join(PICTURES)}", file)
    if not path.parent.is_dir() or path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
        raise ParameterError("plot", "must be a file that can be written", file, "check its folder")
    load_extra("matplotlib.figure", extra="plots")


def draw_bars(file: str, top: PrintedTop, again: str = "") -> None:
    """Draw one bar for each item; whatever goes wrong, the result was printed before, and ``again`` says how to see it.

    The picture is drawn in memory first, so that one that fails leaves the file as it was.
    """
    kept = "the result above is complete" + (f"; {again}" if again else "")
    try:
        picture = io.BytesIO()
        top.plot().savefig(picture, dpi=150, format=Path(file).suffix.lower().lstrip("."))
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
