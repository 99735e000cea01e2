"""How a private selection is printed: a table for a terminal, JSON or CSV, each with the record to publish beside it.

Everything here was released by the mechanism or is a public parameter. What was read, dropped or ignored is nowhere.
"""

from __future__ import annotations

import csv
import io
import json
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from sparsegate.ledger.account import exact_text

if TYPE_CHECKING:
    from sparsegate.tables.release import TopItems


UNREMARKABLE = (("itemset_size", 1), ("private", True), ("answers_epsilon", "0"))
"""Entries of a record that a table on a terminal leaves out, because they are what one expects."""


@dataclass(frozen=True, kw_only=True)
class Published:
    """A release, the name of the column that was ranked, and where the release was recorded."""

    release: TopItems
    item: str
    recorded: str

    @property
    def headings(self) -> list[str]:
        """One heading for each part of an item: a set of two has two."""
        size = self.release.record.itemset_size
        return [self.item] if size == 1 else [f"{self.item} {part}" for part in range(1, size + 1)]

    @property
    def rows(self) -> list[tuple[tuple[Any, ...], int | None]]:
        """The parts of each item, and its noisy count where there is one, in the order selected."""
        single = self.release.record.itemset_size == 1
        parts = [(item,) if single else tuple(item) for item in self.release.items]  # type: ignore[arg-type]
        return list(zip(parts, self.release.estimates or [None] * len(parts), strict=True))

    @property
    def record(self) -> dict[str, Any]:
        """What may be published beside the items: public parameters, epsilon and delta as exact decimals."""
        record = self.release.record
        exact = {name: exact_text(getattr(record, name)) for name in ("epsilon", "delta", "answers_epsilon")}
        return {**record.as_dict(), **exact, "recorded": self.recorded}


def print_table(published: Published) -> None:
    """The items, then the record, as wide as the terminal at most."""
    release = published.release
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    table.add_column("#", justify="right", no_wrap=True)
    for heading in published.headings:
        table.add_column(printable(heading), overflow="fold")
    if release.estimates is not None:
        unit = release.record.unit
        table.add_column(f"{unit}s ± {release.error_bar:,}", justify="right", no_wrap=True)
    for rank, (parts, estimate) in enumerate(published.rows, start=1):
        cells = [Text(printable(part)) for part in parts]
        table.add_row(str(rank), *cells, *([] if estimate is None else [f"{estimate:,}"]))
    console = Console(markup=False, highlight=False)
    if len(release):
        console.print(table)
    else:
        console.print("no item was selected")
    console.print()
    notes = Table(box=None, show_header=False, padding=(0, 2, 0, 0), pad_edge=False)
    for name, value in published.record.items():
        if (name, value) not in UNREMARKABLE:
            notes.add_row(name.replace("_", " "), Text(printable(_number(value))))
    if release.estimates is not None:
        notes.add_row("error bar", f"± {release.error_bar:,} for each count, {100 * release.confidence:g} % confidence")
    console.print(notes)


def print_json(published: Published) -> None:
    """One object: the items with rank and estimate, and the record."""
    single = published.release.record.itemset_size == 1
    items = [
        {"rank": rank, "item": parts[0] if single else parts} | ({} if estimate is None else {"estimate": estimate})
        for rank, (parts, estimate) in enumerate(published.rows, start=1)
    ]
    record = published.record
    if published.release.estimates is not None:
        record |= {"error_bar": published.release.error_bar, "confidence": published.release.confidence}
    typer.echo(json.dumps({"items": items, "record": record}, indent=2, ensure_ascii=not takes_unicode(), default=str))


def print_csv(published: Published) -> None:
    """A row for each item; the record is repeated in every row, so that a file of them says how it was made."""
    release, record = published.release, published.record
    answers = [] if release.estimates is None else ["estimate", "error_bar", "confidence"]
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(["rank", *published.headings, *answers, *record])
    for rank, (parts, estimate) in enumerate(published.rows, start=1):
        numbers = [estimate, release.error_bar, release.confidence] if answers else []
        writer.writerow([rank, *parts, *numbers, *record.values()])


def ready_to_print() -> None:
    """Make sure, before a result is paid for, that no name in it can stop it from being printed."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def takes_unicode() -> bool:
    """Whether all characters can be written as they are; if not, JSON has a way of its own to write them."""
    return (sys.stdout.encoding or "").lower().startswith("utf")


def _number(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:,.15g}"


def printable(value: object) -> str:
    """A cell as text without control characters: an item's name must not steer the terminal it is shown on."""
    return "".join(mark if mark.isprintable() else "�" for mark in str(value))
