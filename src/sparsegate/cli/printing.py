"""How a private selection is printed: a table for a terminal, JSON or CSV, each with the record to publish beside it.

Everything here was released by the mechanism or is a public parameter. What was read, dropped or ignored is nowhere.
"""

from __future__ import annotations

import csv
import errno
import io
import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from sparsegate.errors import SparsegateError

UNREMARKABLE = (("itemset_size", 1), ("private", True), ("answers_epsilon", "0"))
"""Entries of a record that a table on a terminal leaves out, because they are what one expects."""


@dataclass(frozen=True, kw_only=True)
class PrintedTop:
    """A release of `top` as a ledger keeps it (``TopItems.published``, and the column that was ranked), to be printed.

    Fresh or from a ledger, it prints the same.
    """

    kept: Mapping[str, Any]
    recorded: str

    @property
    def item(self) -> str:
        """The column that was ranked."""
        return str(self.kept["item"])

    @property
    def estimated(self) -> bool:
        """Whether the items have noisy counts."""
        return self.kept["estimates"] is not None

    @property
    def headings(self) -> list[str]:
        """One heading for each part of an item: a set of two has two."""
        size = self.kept["record"]["itemset_size"]
        return [self.item] if size == 1 else [f"{self.item} {part}" for part in range(1, size + 1)]

    @property
    def rows(self) -> list[tuple[tuple[Any, ...], int | None]]:
        """The parts of each item, and its noisy count where there is one, in the order selected."""
        single = self.kept["record"]["itemset_size"] == 1
        parts = [(item,) if single else tuple(item) for item in self.kept["items"]]
        return list(zip(parts, self.kept["estimates"] or [None] * len(parts), strict=True))

    @property
    def record(self) -> dict[str, Any]:
        """What may be published beside the items: public parameters, epsilon and delta as exact decimals."""
        return {**self.kept["record"], "recorded": self.recorded}


def print_top(top: PrintedTop, *, as_json: bool = False, as_csv: bool = False, again: str = "") -> None:
    """Print a release; ``again`` says how to print it again, should that fail."""
    with to_standard_output(again):
        (_print_json if as_json else _print_csv if as_csv else _print_table)(top)


def _print_table(top: PrintedTop) -> None:
    """The items, then the record, as wide as the terminal at most."""
    bar = top.kept["error_bar"]
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    table.add_column("#", justify="right", no_wrap=True)
    for heading in top.headings:
        table.add_column(printable(heading), overflow="fold")
    if top.estimated:
        table.add_column(f"{top.record['unit']}s ± {bar:,}", justify="right", no_wrap=True)
    for rank, (parts, estimate) in enumerate(top.rows, start=1):
        cells = [Text(printable(part)) for part in parts]
        table.add_row(str(rank), *cells, *([] if estimate is None else [f"{estimate:,}"]))
    console = Console(markup=False, highlight=False)
    console.print(table if top.rows else "no item was selected")
    console.print()
    notes = Table(box=None, show_header=False, padding=(0, 2, 0, 0), pad_edge=False)
    for name, value in top.record.items():
        if (name, value) not in UNREMARKABLE:
            notes.add_row(name.replace("_", " "), Text(printable(_number(value))))
    if top.estimated:
        notes.add_row("error bar", f"± {bar:,} for each count, {100 * top.kept['confidence']:g} % confidence")
    console.print(notes)


def _print_json(top: PrintedTop) -> None:
    """One object: the items with rank and estimate, and the record."""
    single = len(top.headings) == 1
    items = [
        {"rank": rank, "item": parts[0] if single else parts} | ({} if estimate is None else {"estimate": estimate})
        for rank, (parts, estimate) in enumerate(top.rows, start=1)
    ]
    bars = {name: top.kept[name] for name in ("error_bar", "confidence")} if top.estimated else {}
    found = {"items": items, "record": top.record | bars}
    typer.echo(json.dumps(found, indent=2, ensure_ascii=not takes_unicode(), default=str))


def _print_csv(top: PrintedTop) -> None:
    """A row for each item; the record is repeated in every row, so that a file of them says how it was made."""
    bars = {name: top.kept[name] for name in ("error_bar", "confidence")} if top.estimated else {}
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(["rank", *top.headings, *(["estimate"] if bars else []), *bars, *top.record])
    for rank, (parts, estimate) in enumerate(top.rows, start=1):
        writer.writerow([rank, *parts, *([estimate] if bars else []), *bars.values(), *top.record.values()])


@contextmanager
def to_standard_output(again: str) -> Iterator[None]:
    """Write and flush. A closed pipe ends the program without a message, a full disk with one."""
    try:
        yield
        sys.stdout.flush()
        return
    except OSError as error:
        reason, left = error.strerror, error.errno == errno.EPIPE
    with suppress(OSError, ValueError):  # what is still in the buffer would fail again when Python ends
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if left:
        raise SystemExit(1)
    raise SparsegateError(f"standard output cannot be written: {reason}" + (f"; {again}" if again else ""))


def ready_to_print() -> None:
    """Make sure, before a result is paid for, that no name in it can stop it from being printed."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def takes_unicode() -> bool:
    """Whether standard output can encode all characters; if not, JSON escapes them."""
    return (sys.stdout.encoding or "").lower().startswith("utf")


def _number(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:,.15g}"


def printable(value: object) -> str:
    """A cell as text without control characters: an item's name must not steer the terminal it is shown on."""
    return "".join(mark if mark.isprintable() else "�" for mark in str(value))
