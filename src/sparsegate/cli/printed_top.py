"""How a private selection is printed: a table for a terminal, JSON, CSV or a picture, each with the record beside it.

Everything here was released by the mechanism or is a public parameter. What was read, dropped or ignored is nowhere.
"""

from __future__ import annotations

import csv
import math
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.text import Text

from sparsegate.cli.printing import facts, grid, print_json, print_plain, printable, to_standard_output
from sparsegate.errors import ParameterError, load_extra

FORMATS = ("png", "svg", "pdf")
MOST_BARS = 100
UNREMARKABLE = (("itemset_size", 1), ("ordered", True), ("private", True), ("answers_epsilon", "0"))
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
    def measure(self) -> str:
        """What the estimates are numbers of: people, rows, or the column that was summed."""
        record = self.kept["record"]
        return printable(record["value"]) if "value" in record else f"{record['unit']}s"

    @property
    def headings(self) -> list[str]:
        """One heading for each part of an item: a set of two has two."""
        size = self.kept["record"]["itemset_size"]
        return [self.item] if size == 1 else [f"{self.item} {part}" for part in range(1, size + 1)]

    @property
    def ranked(self) -> bool:
        """Whether the place of an item means something: what was selected as a set is in the order of its labels."""
        record = self.kept["record"]
        return bool(record.get("ordered", "above" not in record))

    @property
    def rows(self) -> list[tuple[tuple[Any, ...], float | None]]:
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
    table = grid(gap=2)
    if top.ranked:
        table.add_column("#", justify="right", no_wrap=True)
    for heading in top.headings:
        table.add_column(printable(heading), overflow="fold")
    if top.estimated:
        table.add_column(f"{top.measure} ± {_rounded(bar, bar)}", justify="right", no_wrap=True)
    for rank, (parts, estimate) in enumerate(top.rows, start=1):
        cells = [Text(printable(part)) for part in parts]
        place = [str(rank)] if top.ranked else []
        table.add_row(*place, *cells, *([] if estimate is None else [_rounded(estimate, bar)]))
    notes = {
        name.replace("_", " "): printable(_number(value))
        for name, value in top.record.items()
        if (name, value) not in UNREMARKABLE
    }
    if top.estimated:
        sure = f"{100 * top.kept['confidence']:g} %"
        fresh = top.record["answers_epsilon"] != "0"
        what = "sum" if "value" in top.record else "count"
        notes["error bar"] = f"± {_rounded(bar, bar)} for " + (
            f"each {what}, {sure} confidence" if fresh else f"{sure} of the {what}s"
        )
        if (bar_all := top.kept.get("error_bar_all")) is not None:  # what older versions stored has none
            notes["error bar"] += f"; ± {bar_all:,} for all at once, {sure} confidence"
    print_plain(table if top.rows else "no item was selected", "", facts(notes))


def _print_json(top: PrintedTop) -> None:
    """One object: the items with rank and estimate, and the record."""
    single = len(top.headings) == 1
    items = [
        ({"rank": rank} if top.ranked else {})
        | {"item": parts[0] if single else parts}
        | ({} if estimate is None else {"estimate": estimate})
        for rank, (parts, estimate) in enumerate(top.rows, start=1)
    ]
    bars = {name: top.kept[name] for name in ("error_bar", "confidence")} if top.estimated else {}
    found = {"items": items, "record": top.record | bars}
    print_json(found)


def _print_csv(top: PrintedTop) -> None:
    """A row for each item; the record is repeated in every row, so that a file of them says how it was made."""
    bars = {name: top.kept[name] for name in ("error_bar", "confidence")} if top.estimated else {}
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(
        [*(["rank"] if top.ranked else []), *top.headings, *(["estimate"] if bars else []), *bars, *top.record]
    )
    for rank, (parts, estimate) in enumerate(top.rows, start=1):
        writer.writerow(
            [
                *([rank] if top.ranked else []),
                *parts,
                *([estimate] if bars else []),
                *bars.values(),
                *top.record.values(),
            ]
        )


def _rounded(estimate: float, bar: float) -> str:
    """A noisy count, or a noisy sum to two digits of its error bar: more of them would be noise."""
    if isinstance(estimate, int) and isinstance(bar, int):
        return f"{estimate:,}"
    return f"{estimate:,.{max(0, 1 - math.floor(math.log10(bar))) if bar else 6}f}"


def _number(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:,.15g}"


def drawable(file: str) -> None:
    """Refuse a picture that could not be written, before anything is spent on it."""
    path = Path(file)
    if path.suffix.lower().lstrip(".") not in FORMATS:
        raise ParameterError("plot", f"must end in .{', .'.join(FORMATS)}", file)
    if not path.parent.is_dir() or path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
        raise ParameterError("plot", "must be a file that can be written", file, "check its folder")
    load_extra("matplotlib.figure", extra="plots")


def draw_bars(file: str, top: PrintedTop) -> None:
    """Draw one bar for each item, in the order of the release, at most 100 of them."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    rows = top.rows[:MOST_BARS]
    names = [_short(" + ".join(map(str, parts))) for parts, _ in rows]
    counts = [estimate or 0 for _, estimate in rows]
    # A Figure of its own, not pyplot: no window, no state beyond this call.
    figure = Figure(figsize=(8, 1.6 + 0.24 * max(len(rows), 3)), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    places = range(len(rows))
    axes.barh(
        places,
        counts,
        xerr=top.kept["error_bar"],
        height=0.7,
        color="#4c78a8",
        ecolor="#222222",
        capsize=2,
        error_kw={"elinewidth": 1},
    )
    axes.set_yticks(places, names, fontsize=8, parse_math=False)
    axes.invert_yaxis()
    axes.margins(y=0.01)
    axes.set_xlim(left=min(0, *counts) if counts else 0)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.spines[["top", "right"]].set_visible(False)
    record = top.record
    noise = f"{_short(top.measure)}, noisy; bars are {100 * top.kept['confidence']:g} % error bars"
    axes.set_xlabel("\n".join([noise, *([record["counted"]] if record.get("counted") else [])]))
    delta = "" if record["delta"] == "0" else f", δ = {record['delta']}"
    asked = f"about {record['above']:,} {record['unit']}s or more" if "above" in record else f"top {len(top.rows)}"
    axes.set_title(
        f"{_short(top.item)}: {asked}, ε = {record['epsilon']}{delta}, {top.recorded}",
        fontsize=10,
        loc="left",
        parse_math=False,
    )
    try:
        figure.savefig(file, dpi=150)
    except OSError:
        rule = "could not be written, and the result above is complete"
        raise ParameterError("plot", rule, file, "check the space on its disk, and draw the printed counts") from None


def _short(text: str, most: int = 40) -> str:
    shown = printable(text)
    return shown if len(shown) <= most else shown[: most - 1] + "…"
