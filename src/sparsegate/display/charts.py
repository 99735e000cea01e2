"""Bars with two error bars: the thick one holds for each of them, the thin one for all at once.

Fonts for the labels of a picture: whatever script they are in, no glyph is missing and nothing warns.

Matplotlib's own font has no Chinese, Japanese or Korean. The fonts of the machine are asked for what it lacks; what no
font has is written as Python escapes it, such as \\u4e2d: it can be read back, and is no row of empty boxes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from sparsegate.display.plain import printable
from sparsegate.errors import load_extra

if TYPE_CHECKING:
    from matplotlib.figure import Figure


FIRST = "DejaVu Sans"
_LAST_RESORT = "Last Resort"  # it has a placeholder for everything, and a glyph for nothing


def fitting(texts: Iterable[str]) -> tuple[list[str], list[str]]:
    """The texts as they can be drawn, and the families to draw them with, in the order to try."""
    given = list(texts)
    families, missing = _families(frozenset("".join(given)))
    escaped = {ord(mark): mark.encode("unicode_escape").decode() for mark in missing}
    return [text.translate(escaped) for text in given], list(families)


@lru_cache(maxsize=64)
def _families(marks: frozenset[str]) -> tuple[tuple[str, ...], frozenset[str]]:
    """The families that together have as many of the characters as any do, and the characters that none has."""
    manager = load_extra("matplotlib.font_manager", extra="plots")
    chosen = [FIRST]
    wanted = {ord(mark) for mark in marks} - _glyphs(manager.findfont(FIRST))
    others = {} if not wanted else {name: wanted & _glyphs(file) for name, file in _upright(manager).items()}
    while wanted and others:
        best = max(sorted(others), key=lambda name: len(others[name] & wanted))
        if not others[best] & wanted:
            break
        chosen.append(best)
        wanted -= others.pop(best)
    return tuple(chosen), frozenset(map(chr, wanted))


def _upright(manager: Any) -> dict[str, str]:
    """The file of each family's upright, regular face."""
    return {
        entry.name: manager.findfont(manager.FontProperties(family=[entry.name]), fallback_to_default=False)
        for entry in manager.fontManager.ttflist
        if entry.style == "normal" and entry.weight == 400 and not entry.name.startswith(_LAST_RESORT)
    }


@lru_cache(maxsize=512)
def _glyphs(file: str) -> frozenset[int]:
    fonts = load_extra("matplotlib.ft2font", extra="plots")
    try:
        return frozenset(fonts.FT2Font(file).get_charmap())
    except (OSError, RuntimeError):  # a damaged font has nothing to offer
        return frozenset()


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
    shown = [_short(label) for label in labels[:MOST_BARS]]
    counts, places = list(values[:MOST_BARS]), range(len(shown))
    said = f"{_short(title[0])}: {title[1]}"
    (heading, *names), families = fitting([said, *shown])
    figure = new_figure(8, 1.6 + 0.24 * max(len(shown), 3))
    axes = figure.add_subplot()
    axes.barh(places, counts, height=0.7, color="#4c78a8")
    for reach, width in ((error_bar_all, 1.0), (error_bar, 3.0)):
        if reach is not None:
            axes.errorbar(
                counts, places, xerr=reach, fmt="none", ecolor="#222222", elinewidth=width, capsize=2 * (width < 2)
            )
    axes.set_yticks(places, names, fontsize=8, parse_math=False, fontfamily=families)
    axes.invert_yaxis()
    axes.margins(y=0.01)
    axes.set_xlim(left=min(0, *counts, 0))
    axes.xaxis.set_major_formatter("{x:,.10g}")
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_xlabel(caption)
    axes.set_title(heading, fontsize=10, loc="left", parse_math=False, fontfamily=families)
    return figure  # type: ignore[no-any-return]


def _short(text: str) -> str:
    shown = printable(text)
    return shown if len(shown) <= _LONGEST else shown[: _LONGEST - 1] + "…"
