"""`sparsegate top --plot`: the noisy counts of the selected items, as bars with their error bars."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

from sparsegate.cli.printing import PrintedTop, printable
from sparsegate.errors import ParameterError

FORMATS = ("png", "svg", "pdf")
MOST_BARS = 100


def drawable(file: str) -> None:
    """Refuse a picture that could not be written, before anything is spent on it."""
    path = Path(file)
    if path.suffix.lower().lstrip(".") not in FORMATS:
        raise ParameterError("plot", f"must end in .{', .'.join(FORMATS)}", file)
    if not path.parent.is_dir() or path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
        raise ParameterError("plot", "must be a file that can be written", file, "check its folder")
    if importlib.util.find_spec("matplotlib") is None:
        raise ParameterError("plot", "needs matplotlib", next_step="install sparsegate[plots]")


def draw_bars(file: str, top: PrintedTop) -> None:
    """Draw one bar for each item, in the order selected, at most 100 of them."""
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
    axes.set_xlim(left=0)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.spines[["top", "right"]].set_visible(False)
    record = top.record
    axes.set_xlabel(f"{record['unit']}s, noisy; bars are {100 * top.kept['confidence']:g} % error bars")
    delta = "" if record["delta"] == "0" else f", δ = {record['delta']}"
    axes.set_title(
        f"{_short(top.item)}: top {len(top.rows)}, ε = {record['epsilon']}{delta}, {top.recorded}",
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
