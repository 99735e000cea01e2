"""Charts of lines, bars and maps: on a page as inline SVG, and in files as Matplotlib draws them.

On a page text is text, colours follow the page, and nothing needs a script: where the pointer, or a finger, is over a
value of x, a guide and a box with the value and the standard error of every line appear, by CSS alone.

Every picture takes the look of its lines from ``LINE_STYLES``: one colour on white and another on black, a marker, a
dash and a short label. A colour has a contrast of at least 3:1 with its background, and two lines of one figure differ
also for eyes that do not tell red from green. The raises of the threshold are one hue from faint to strong.
"""

from __future__ import annotations

import math
import textwrap
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sparsegate.display.charts import new_figure
from sparsegate.errors import load_extra
from sparsegate.paper.page import element

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LIGHT, DARK = "#ffffff", "#1b1f23"  # what figures are drawn on


class LineStyle(NamedTuple):
    """How a method or a dataset is drawn: its colours on white and on black, a marker of Matplotlib's, and its label.

    ``dash`` has lengths of dashes and gaps, none for a whole line. The line to look for is a ``strong`` one.
    """

    light: str
    dark: str
    marker: str
    label: str
    dash: tuple[float, ...] = ()
    strong: bool = False

    @property
    def width(self) -> float:
        return 2.4 if self.strong else 1.5

    @property
    def colours(self) -> str:
        return f"--light:{self.light};--dark:{self.dark}"


DRAWN = tomllib.loads(files("sparsegate.paper").joinpath("figures.toml").read_text(encoding="utf-8"))

LINE_STYLES: Mapping[str, LineStyle] = MappingProxyType(
    {key: LineStyle(**style | {"dash": tuple(style.get("dash", ()))}) for key, style in DRAWN["style"].items()}
)
"""Every method of the paper and of the ablation, in the order in which lines are drawn: EM is the last, on top."""

_OTHERS = (
    ("#00805e", "#35c79b", "o"),
    ("#d1478f", "#f79ac9", "^"),
    ("#006d77", "#5fd6d6", "s"),
    ("#d04a00", "#ff8f52", "D"),
    ("#5a7d00", "#b5d955", "v"),
    ("#7a4fd0", "#b39aff", "P"),
    ("#7a1450", "#c74a8f", "X"),
    ("#0057a8", "#4a90e2", "*"),
)
_DASHES = ((), (6.0, 2.0), (1.0, 1.5), (4.0, 1.5, 1.0, 1.5))

# For a figure with a line for each dataset, in turn
DATASET_STYLES = tuple(LINE_STYLES[key] for key in ("svt-s-1:1", "svt-s-1:3", "svt-s-1:c23", "svt-dpbook"))


def styles(keys: Iterable[str]) -> dict[str, LineStyle]:
    """A style for each method of a figure, in drawing order; a method that is not known takes the next free one."""
    wanted = dict.fromkeys(keys)
    shown = {key: style for key, style in LINE_STYLES.items() if key in wanted and not style.strong}
    for place, key in enumerate(key for key in wanted if key not in LINE_STYLES):
        turn, number = divmod(place, len(_OTHERS))
        shown[key] = LineStyle(*_OTHERS[number], key, _DASHES[(place + turn) % len(_DASHES)])
    return shown | {key: style for key, style in LINE_STYLES.items() if key in wanted and style.strong}


class Axis:
    """The axis of some ``values`` between two places on the page, with ticks that are round numbers.

    It begins at the lowest value: a small one below 0 takes no more room than it needs. ``rounded`` ends it at a tick.
    """

    def __init__(
        self,
        values: Iterable[float],
        *,
        start: float,
        end: float,
        log: bool = False,
        rounded: bool = False,
        ticks: Sequence[float] = (),
    ) -> None:
        self.values = sorted({value for value in values if math.isfinite(value) and (value > 0 or not log)}) or [1.0]
        low, high = self.values[0], self.values[-1]
        shown = ticks or (_decades(low, high) if log else round_ticks(low, high))
        if rounded and not ticks:
            high = max(high, shown[-1])
        self.ticks = [tick for tick in shown if low <= tick <= high]
        if low == high:
            low, high = (low / 2, high * 2) if log else (low - 0.5, high + 0.5)
        self.low, self.high, self.start, self.end, self._scale = low, high, start, end, math.log if log else float

    def at(self, value: float) -> float:
        low, place, high = map(self._scale, (self.low, min(max(value, self.low), self.high), self.high))
        return self.start + (place - low) / (high - low) * (self.end - self.start)

    def strips(self) -> dict[float, tuple[float, float]]:
        """Of each value, half the way to its neighbours on both sides; at the ends as far as to the only one."""
        places = [self.at(value) for value in self.values]
        middles = [(left + right) / 2 for left, right in pairwise(places)]
        if not middles:
            return {self.values[0]: (self.start, self.end)}
        borders = [2 * places[0] - middles[0], *middles, 2 * places[-1] - middles[-1]]
        return dict(zip(self.values, pairwise(borders), strict=True))


def round_ticks(low: float, high: float, most: int = 6) -> list[float]:
    """At most this many round numbers from ``low`` on; the last is the first one that is not below ``high``."""
    size = 10.0 ** math.floor(math.log10(((high - low) or 1.0) / most))
    for step in (size * factor for factor in (1, 2, 5, 10, 20, 50)):
        first, last = math.ceil(low / step - 1e-9), math.ceil(high / step - 1e-9)
        if last - first < most:
            break
    return [float(f"{place * step:.12g}") for place in range(first, last + 1)]


def _decades(low: float, high: float) -> list[float]:
    """The powers of ten from at most low to at least high; with 2 and 5 between where there are few."""
    first, last = math.floor(math.log10(low) + 1e-9), math.ceil(math.log10(high) - 1e-9)
    factors = (1, 2, 5) if high < 100 * low else (1,)
    ticks = (factor * 10.0**power for power in range(first, max(last, first + 1) + 1) for factor in factors)
    return [tick for tick in ticks if tick <= 10.0**last]


def spread(wanted: Sequence[float], *, gap: float, low: float, high: float) -> list[float]:
    """Places near to those wanted, in their order, between low and high, and ``gap`` apart where there is room for it.

    Each is the mean of the two that pushing from above and from below leads to: both keep the gap.
    """
    order = np.argsort(wanted, kind="stable")
    steps = min(gap, (high - low) / max(len(wanted) - 1, 1)) * np.arange(len(wanted))
    free = np.clip(np.asarray(wanted, dtype=float)[order] - steps, low, high - steps[-1])
    pushed = (np.maximum.accumulate(free) + np.minimum.accumulate(free[::-1])[::-1]) / 2 + steps
    places: list[float] = pushed[np.argsort(order)].tolist()
    return places


WIDTH, HEIGHT = 360.0, 226.0
LEFT, TOP, BOTTOM = 36.0, 20.0, 32.0
LETTER = 6.1  # the width of a letter, about, at the size of text in a chart
ROW = 12.5  # the distance of two lines of text
BAR_ERRORS = 2  # an error bar has this many standard errors to each side: about 95 %

_MARKS = {
    "o": "m-2.3,0a2.3,2.3 0 1 0 4.6,0a2.3,2.3 0 1 0 -4.6,0",
    "s": "m-2.3,-2.3h4.6v4.6h-4.6z",
    "^": "m0,-3.3l2.9,5h-5.8z",
    "v": "m0,3.3l-2.9,-5h5.8z",
    "D": "m0,-3.2l3.2,3.2l-3.2,3.2l-3.2,-3.2z",
    "P": "m-1.2,-3h2.4v1.8h1.8v2.4h-1.8v1.8h-2.4v-1.8h-1.8v-2.4h1.8z",
    "*": "m0,-4.4l1.1,2.9l3.1,.1l-2.4,1.9l.8,3l-2.6,-1.7l-2.6,1.7l.8,-3l-2.4,-1.9l3.1,-.1z",
    "x": "m-2.3,-2.3l4.6,4.6m0,-4.6l-4.6,4.6",
    "X": "m-2.3,-2.3l4.6,4.6m0,-4.6l-4.6,4.6",
}
"""Each marker as a path around its place."""


def _text(text: str, x: float, y: float, **attributes: object) -> str:
    return element("text", escape(text), x=x, y=y, **attributes)


def _path(route: str, **attributes: object) -> str:
    return element("path", d=route, **attributes)


def _svg(title: str, height: float, parts: Iterable[str]) -> str:
    return element("svg", *parts, class_="chart", viewBox=f"0 0 {WIDTH:g} {height:g}", role="img", aria_label=title)


class ChartPoint(NamedTuple):
    """A value at x, with its standard error."""

    x: float
    y: float
    error: float = 0.0

    @property
    def ends(self) -> tuple[float, float]:
        return self.y - BAR_ERRORS * self.error, self.y + BAR_ERRORS * self.error


class ChartLine(NamedTuple):
    """A line; ``title`` names it in a legend. Lines are drawn in their order: the last is on top."""

    style: LineStyle
    points: tuple[ChartPoint, ...]
    title: str = ""


@dataclass(frozen=True, kw_only=True)
class LineChart:
    """Lines over one axis, from 0 at least; ``digits`` are those of a value."""

    title: str
    lines: tuple[ChartLine, ...]
    x_label: str
    y_label: str
    x_log: bool = False
    y_log: bool = False
    x_ticks: tuple[float, ...] = ()
    digits: int = 3

    def svg(self) -> str:
        lines = [line for line in self.lines if line.points]
        if not lines:
            return ""
        right = WIDTH - max(30.0, 12 + LETTER * max(len(line.style.label) for line in lines))
        points = [point for line in lines for point in line.points]
        x = Axis([p.x for p in points], start=LEFT + 6, end=right, log=self.x_log, ticks=self.x_ticks)
        heights = [p.y for p in points] + ([] if self.y_log else [0.0])
        y = Axis(heights, start=HEIGHT - BOTTOM, end=TOP, log=self.y_log, rounded=True)
        parts = []
        for tick in y.ticks:
            parts.append(_path(f"M{LEFT},{y.at(tick):.1f}H{right + 4:.1f}", class_="mesh" if tick else "base"))
            parts.append(_text(_number(tick), LEFT - 4, y.at(tick) + 3.5, text_anchor="end"))
        parts += [_text(_number(tick), x.at(tick), HEIGHT - BOTTOM + 14, text_anchor="middle") for tick in x.ticks]
        parts.append(_text(self.y_label, LEFT - 30, 9, class_="axis"))
        parts.append(_text(self.x_label, (LEFT + right) / 2, HEIGHT - 3, class_="axis", text_anchor="middle"))
        parts += [_line(line, x, y) for line in lines]
        ends = [(x.at(line.points[-1].x), y.at(line.points[-1].y)) for line in lines]
        places = spread([down for _, down in ends], gap=ROW - 1, low=TOP, high=HEIGHT - BOTTOM)
        for line, (across, down), place in zip(lines, ends, places, strict=True):
            to_label = _path(f"M{across + 4:.1f},{down:.1f}L{x.end + 8:.1f},{place:.1f}")
            label = _text(line.style.label, x.end + 10, place + 3.5)
            strong = "label strong" if line.style.strong else "label"
            parts.append(element("g", to_label, label, class_=strong, style=line.style.colours))
        parts += [self._readout(lines, at, x, strip) for at, strip in x.strips().items()]
        return _svg(f"{self.title}: {self.y_label} against {self.x_label}", HEIGHT, parts)

    def _readout(self, lines: Sequence[ChartLine], at: float, x: Axis, strip: tuple[float, float]) -> str:
        """A strip over one value of x; what belongs to it is seen while the pointer is there."""
        met = [(point, line) for line in lines for point in line.points if point.x == at]
        met.sort(key=lambda pair: -pair[0].y)
        texts = [f"{p.y:,.{self.digits}f}" + (f" ± {p.error:.{self.digits}f}" if p.error > 0 else "") for p, _ in met]
        wide = 32 + LETTER * (max(len(line.style.label) for _, line in met) + max(map(len, texts)))
        middle = x.at(at)
        left = middle + 8 if middle + 8 + wide < WIDTH else max(middle - 8 - wide, 0.0)
        box = {"y": TOP, "width": wide, "height": ROW * (len(met) + 1) + 8, "rx": 4}
        parts = [
            _path(f"M{middle:.1f},{TOP}V{HEIGHT - BOTTOM}", class_="guide"),
            element("rect", x=left, **box),
            _text(f"{self.x_label.split(',')[0]} = {at:g}", left + 6, TOP + 14, class_="head"),
        ]
        for row, ((_, line), text) in enumerate(zip(met, texts, strict=True), start=1):
            down = TOP + 12 + ROW * row
            parts.append(_path(f"M{left + 6:.1f},{down:.1f}h8", class_="swatch", style=line.style.colours))
            name = element("tspan", escape(line.style.label), x=left + 18)
            value = element("tspan", text, x=left + wide - 6, text_anchor="end")
            parts.append(element("text", name, value, y=down + 3.5))
        band = {"x": strip[0], "y": TOP, "width": strip[1] - strip[0], "height": HEIGHT - BOTTOM - TOP}
        return element(
            "g", element("rect", class_="strip", **band), element("g", *parts, class_="readout"), class_="at"
        )

    def draw(self, axes: Any) -> dict[str, Any]:
        """Draw the chart on Matplotlib's axes; the lines by their titles, for a legend."""
        handles = {}
        for line in self.lines:
            style, (x, y, errors) = line.style, zip(*line.points, strict=True)
            axes.errorbar(x, y, [BAR_ERRORS * each for each in errors], fmt="none", ecolor=style.light, elinewidth=0.8)
            look = {"color": style.light, "marker": style.marker, "linewidth": style.width}
            (handle,) = axes.plot(x, y, linestyle=(0, style.dash) if style.dash else "-", **look)
            handles[line.title or style.label] = handle
            if style.strong:
                bold = {"color": style.light, "fontweight": "bold", "va": "center", "annotation_clip": False}
                axes.annotate(style.label, (x[-1], y[-1]), xytext=(5, 0), textcoords="offset points", **bold)
        axes.set(xlabel=self.x_label, ylabel=self.y_label, yscale="log" if self.y_log else "linear")
        axes.set_title(f"{self.title}, {self.y_label}", loc="left")
        if not self.y_log:
            axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))
        if self.x_log:
            axes.set_xscale("log")
            if self.x_ticks:
                axes.set_xticks(self.x_ticks, labels=[f"{tick:g}" for tick in self.x_ticks])
                axes.minorticks_off()
        return handles


def _number(tick: float) -> str:
    return f"{tick:,.0f}" if abs(tick) >= 1000 else f"{tick:g}"


def _line(line: ChartLine, x: Axis, y: Axis) -> str:
    places = [f"{x.at(point.x):.1f},{y.at(point.y):.1f}" for point in line.points]
    dash = " ".join(f"{part * 1.2:g}" for part in line.style.dash)
    bars = "".join(f"M{x.at(p.x):.1f},{y.at(p.ends[0]):.1f}V{y.at(p.ends[1]):.1f}" for p in line.points if p.error > 0)
    marks = "".join(f"M{place}{_MARKS[line.style.marker]}" for place in places)
    return element(
        "g",
        _path("M" + "L".join(places), stroke_width=line.style.width, stroke_dasharray=dash),
        _path(bars, class_="error") if bars else "",
        _path(marks, class_="mark open" if line.style.marker == "x" else "mark"),
        class_="line",
        style=line.style.colours,
    )


class ChartBar(NamedTuple):
    """A bar with its label, and text that says the value; ``error`` is a standard error."""

    label: str
    value: float
    text: str
    style: LineStyle
    error: float = 0.0


@dataclass(frozen=True, kw_only=True)
class BarChart:
    """Bars from 0 to 1 or farther, one below the other; the text is beside each bar: nothing is read off an axis."""

    title: str
    bars: tuple[ChartBar, ...]

    def svg(self) -> str:
        if not self.bars:
            return ""
        start = 10 + LETTER * max(len(bar.label) for bar in self.bars)
        end = WIDTH - 8 - LETTER * max(len(bar.text) for bar in self.bars)
        ends = [ChartPoint(0, bar.value, bar.error).ends for bar in self.bars]
        x = Axis([0.0, 1.0, *(end for both in ends for end in both)], start=start, end=end)
        height = 24.0 * len(self.bars) + 6
        parts = [_path(f"M{x.at(0):.1f},2V{height - 4:.1f}", class_="base")]
        for place, (bar, (least, most)) in enumerate(zip(self.bars, ends, strict=True)):
            middle = 24.0 * place + 15
            first, last = sorted((x.at(0), x.at(bar.value)))
            inside = (
                _text(bar.label, start - 6, middle + 3.5, text_anchor="end"),
                element("rect", x=first, y=middle - 7, width=max(last - first, 0.5), height=14, rx=2),
                _path(f"M{x.at(least):.1f},{middle:.1f}H{x.at(most):.1f}", class_="error") if bar.error else "",
                _text(bar.text, max(last, x.at(most)) + 5, middle + 3.5, class_="value"),
            )
            parts.append(element("g", *inside, class_="bar", style=bar.style.colours))
        return _svg(self.title, height, parts)


class MapCell(NamedTuple):
    """A cell: ``text`` large and ``note`` small in it, ``says`` where the pointer is; no colour without a ``style``.

    Where more may belong in it, it is not ``sure``, and its colour is pale.
    """

    text: str
    note: str = ""
    says: str = ""
    style: LineStyle | None = None
    sure: bool = True


NAMES, TILE = 40.0, 30.0  # the room for the names of a map's rows, and the height of a cell


@dataclass(frozen=True, kw_only=True)
class MapChart:
    """A cell for each pair of values, with letters in it, so that no colour has to be told apart.

    ``cells`` are from top to bottom and from left to right, with a name for each row and column.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[str]
    cells: Sequence[Sequence[MapCell]]
    x_label: str
    y_label: str

    def svg(self) -> str:
        wide, below = (WIDTH - NAMES - 2) / len(self.columns), 14 + TILE * len(self.rows)
        parts = [_text(self.y_label, 2, 9, class_="axis")]
        for row, (name, cells) in enumerate(zip(self.rows, self.cells, strict=True)):
            top = 14 + TILE * row
            parts.append(_text(name, NAMES - 5, top + TILE / 2 + 3.5, text_anchor="end"))
            for column, cell in enumerate(cells):
                left = NAMES + wide * column
                inside = (
                    element("title", escape(cell.says)),
                    element("rect", x=left + 1, y=top + 1, width=wide - 2, height=TILE - 2, rx=3),
                    _text(cell.text, left + wide / 2, top + (14 if cell.note else 18)),
                    _text(cell.note, left + wide / 2, top + 24, class_="note") if cell.note else "",
                )
                kind = "tile" + ("" if cell.style else " plain") + ("" if cell.sure else " open")
                parts.append(element("g", *inside, class_=kind, style=cell.style.colours if cell.style else ""))
        for column, name in enumerate(self.columns):
            parts.append(_text(name, NAMES + wide * (column + 0.5), below + 14, text_anchor="middle"))
        parts.append(_text(self.x_label, (NAMES + WIDTH) / 2, below + 29, class_="axis", text_anchor="middle"))
        return _svg(self.title, below + 32, parts)

    def draw(self, axes: Any) -> dict[str, Any]:
        patches = load_extra("matplotlib.patches", extra="plots")
        for row, cells in enumerate(self.cells):
            for column, cell in enumerate(cells):
                face = (cell.style.light if cell.style else LIGHT, 0.3 if cell.sure else 0.12)
                look = {"fc": face, "ec": LINE_STYLES["svt-retr-0d"].light, "lw": 0.6}
                axes.add_patch(patches.Rectangle((column - 0.47, row - 0.46), 0.94, 0.92, **look))
                axes.text(column, row - 0.08, cell.text, ha="center", va="center", fontsize=9, fontweight="bold")
                axes.text(column, row + 0.3, cell.note, ha="center", va="center", fontsize=6)
        axes.set_xticks(range(len(self.columns)), labels=self.columns)
        axes.set_yticks(range(len(self.rows)), labels=self.rows)
        limits = {"xlim": (-0.5, len(self.columns) - 0.5), "ylim": (len(self.rows) - 0.5, -0.5)}
        axes.set(xlabel=self.x_label, ylabel=self.y_label, **limits)
        axes.set_title(self.title, loc="left")
        axes.grid(visible=False)
        return {}


_STYLE = {
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.3,
    "lines.markersize": 4,
    "legend.frameon": False,
    "svg.fonttype": "path",
    "svg.hashsalt": "sparsegate",
}


def draw(charts: Sequence[LineChart | MapChart], *, title: str, note: str = "", across: int = 2) -> Figure:
    """The charts as a Matplotlib figure, ``across`` in a row, with one legend of all lines and a note below."""
    across = max(1, min(across, len(charts)))
    down = math.ceil(len(charts) / across) or 1
    with load_extra("matplotlib", extra="plots").rc_context(_STYLE):
        figure = new_figure(7.8, 2.5 * down + 0.9)
        panels = figure.subplots(down, across, squeeze=False).ravel()
        handles: dict[str, Any] = {}
        for axes, chart in zip(panels, charts, strict=False):
            handles |= chart.draw(axes)
        for axes in panels[len(charts) :]:
            axes.set_axis_off()
        figure.suptitle(textwrap.fill(title, 105), fontsize=9)
        if note:
            figure.supxlabel(textwrap.fill(note, 120), fontsize=7)
        if handles:
            figure.legend(list(handles.values()), list(handles), loc="outside lower center", ncols=3)
    return figure  # type: ignore[no-any-return]


def save(figure: Figure, path: Path, *, pdf: bool = False) -> None:
    """Write a figure as ``path``.svg and ``path``.png, and as ``path``.pdf if asked; same results, same files."""
    with load_extra("matplotlib", extra="plots").rc_context(_STYLE):
        figure.savefig(f"{path}.svg", metadata={"Date": None})
        figure.savefig(f"{path}.png", dpi=150)
        if pdf:
            figure.savefig(f"{path}.pdf", metadata={"CreationDate": None})
