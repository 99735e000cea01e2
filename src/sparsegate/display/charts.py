"""Bars with two error bars: the thick one holds for each of them, the thin one for all at once.

Labels are drawn with the fonts of Matplotlib's own settings: for Chinese, Japanese or Korean name one that has them
there (``font.family`` in a matplotlibrc).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sparsegate.display.plain import printable
from sparsegate.errors import load_extra

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_BARS = 100
_LONGEST = 40


def new_figure(width: float, height: float) -> Any:
    """A figure of its own, not pyplot's: no window, and no state beyond it."""
    figures = load_extra("matplotlib.figure", extra="plots")
    agg = load_extra("matplotlib.backends.backend_agg", extra="plots")
    figure = figures.Figure(figsize=(width, height), layout="constrained")
    agg.FigureCanvasAgg(figure)
    return figure


def bar_chart(
    labels: Sequence[str],
    values: Sequence[float],
    *,
    error_bar: float | None,
    error_bar_all: float | None,
    title: tuple[str, str],
    caption: str,
) -> Figure:
    """One bar for each label, from above, at most a hundred; ``title`` is what is shown, and what to say about it."""
    names = [_short(label) for label in labels[:MOST_BARS]]
    counts, places = list(values[:MOST_BARS]), range(len(names))
    figure = new_figure(8, 1.6 + 0.24 * max(len(names), 3))
    axes = figure.add_subplot()
    axes.barh(places, counts, height=0.7, color="#4c78a8")
    for reach, width in ((error_bar_all, 1.0), (error_bar, 3.0)):
        if reach is not None:
            axes.errorbar(
                counts, places, xerr=reach, fmt="none", ecolor="#222222", elinewidth=width, capsize=2 * (width < 2)
            )
    axes.set_yticks(places, names, fontsize=8, parse_math=False)
    axes.invert_yaxis()
    axes.margins(y=0.01)
    axes.set_xlim(left=min(0, *counts, 0))
    axes.xaxis.set_major_formatter("{x:,.10g}")
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_xlabel(caption)
    axes.set_title(f"{_short(title[0])}: {title[1]}", fontsize=10, loc="left", parse_math=False)
    return figure  # type: ignore[no-any-return]


def _short(text: str) -> str:
    shown = printable(text)
    return shown if len(shown) <= _LONGEST else shown[: _LONGEST - 1] + "…"
