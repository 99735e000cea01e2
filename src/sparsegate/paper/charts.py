"""Small line and bar charts as inline SVG: text is text, colours follow the page, and nothing needs a script.

Where the pointer, or a finger, is over a value of x, a guide and a box with the value and the standard error of every
line appear: that is CSS alone. A colour is given twice, for a light page and for a dark one (``--light``, ``--dark``).

Where a value is on an axis, which numbers stand beside it, and labels that do not meet.

How each method is drawn: one colour on white and another on black, a marker, a dash and a short label.

Every picture takes its lines from here, those of the page and those in files. A colour has a contrast of at least 3:1
with the background it is drawn on, and two lines of one figure differ also for eyes that do not tell red from green;
where colour is not enough there are the marker, the dash and the label. The raises of the threshold have an order, so
they are one hue from faint to strong.

A map as inline SVG: a cell for each pair of values, with letters in it, so that no colour has to be told apart.

A figure of a page: panels side by side, a choice of what they show that needs no script, and links to files.

Tables of a page: numbers sort by their value, headings stay in sight, and on a phone each row is a card.
"""

from __future__ import annotations

import math
from bisect import bisect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from types import MappingProxyType
from typing import Protocol

_STEPS = (1.0, 2.0, 5.0)


@dataclass(frozen=True, kw_only=True)
class Axis:
    """An axis from ``low`` at ``start`` to ``high`` at ``end``; ``values`` are those that were given, rising."""

    low: float
    high: float
    start: float
    end: float
    log: bool
    ticks: tuple[float, ...]
    values: tuple[float, ...]

    @classmethod
    def of(
        cls,
        values: Sequence[float],
        *,
        start: float,
        end: float,
        log: bool = False,
        rounded: bool = False,
        ticks: Sequence[float] = (),
    ) -> Axis:
        """The axis of these values, with ticks that are round numbers; ``rounded`` ends it at such a number, too.

        It begins at the lowest value: a small one below 0 takes no more room than it needs.
        """
        given = tuple(sorted({value for value in values if math.isfinite(value) and (value > 0 or not log)})) or (1.0,)
        low, high = given[0], given[-1]
        shown = tuple(ticks) or (_decades(low, high) if log else round_ticks(low, high))
        if rounded and not ticks:
            high = max(high, shown[-1])
        shown = tuple(tick for tick in shown if low <= tick <= high)
        if low == high:
            low, high = (low / 2, high * 2) if log else (low - 0.5, high + 0.5)
        return cls(low=low, high=high, start=start, end=end, log=log, ticks=shown, values=given)

    def at(self, value: float) -> float:
        """The place of a value; what is beyond the ends is put there."""
        scale = math.log if self.log else float
        inside = min(max(value, self.low), self.high)
        share = (scale(inside) - scale(self.low)) / (scale(self.high) - scale(self.low))
        return self.start + share * (self.end - self.start)

    def strip(self, value: float) -> tuple[float, float]:
        """Half way to the neighbours of a value, on both sides."""
        place = bisect(self.values, value) - 1
        middle = self.at(value)
        beside = [self.at(v) for v in (*self.values[max(place - 1, 0) : place], *self.values[place + 1 : place + 2])]
        reach = max((abs(middle - other) / 2 for other in beside), default=(self.end - self.start) / 2)
        before = (middle + self.at(self.values[place - 1])) / 2 if place > 0 else middle - reach
        after = (middle + self.at(self.values[place + 1])) / 2 if place + 1 < len(self.values) else middle + reach
        return before, after

    def text(self, tick: float) -> str:
        """The number beside a tick."""
        return f"{tick:,.0f}" if abs(tick) >= 1000 else f"{tick:g}"


def round_ticks(low: float, high: float, most: int = 6) -> tuple[float, ...]:
    """At most this many round numbers from ``low`` on; the last is the first one that is not below ``high``.

    >>> round_ticks(0, 0.83)
    (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
    >>> round_ticks(-0.003, 0.99)
    (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
    """
    span = (high - low) or 1.0
    size = 10.0 ** math.floor(math.log10(span / most))
    for step in (factor * scale for scale in (size, 10 * size) for factor in _STEPS):
        first, last = math.ceil(low / step - 1e-9), math.ceil(high / step - 1e-9)
        if last - first < most:
            break
    return tuple(float(f"{place * step:.12g}") for place in range(first, last + 1))


def _decades(low: float, high: float) -> tuple[float, ...]:
    """The powers of ten from at most low to at least high; with 2 and 5 between where there are few."""
    first, last = math.floor(math.log10(low) + 1e-9), math.ceil(math.log10(high) - 1e-9)
    factors = (1, 2, 5) if high < 100 * low else (1,)
    found = (factor * 10.0**power for power in range(first, max(last, first + 1) + 1) for factor in factors)
    return tuple(tick for tick in found if tick <= 10.0**last)


def spread(wanted: Sequence[float], *, gap: float, low: float, high: float) -> list[float]:
    """Places as near as can be to those wanted, in their order, at least ``gap`` apart, between low and high.

    Where there is no room for that gap, the gap is as large as there is room for.

    >>> spread([50, 51, 10], gap=10, low=0, high=60)
    [45.5, 55.5, 10.0]
    """
    order = sorted(range(len(wanted)), key=lambda place: wanted[place])
    gap = min(gap, (high - low) / max(len(wanted) - 1, 1))
    blocks: list[tuple[list[int], float]] = []
    for place in order:
        members, middle = [place], min(max(float(wanted[place]), low), high)
        while blocks and middle - (len(members) - 1) * gap / 2 < blocks[-1][1] + (len(blocks[-1][0]) + 1) * gap / 2:
            before, other = blocks.pop()
            middle = (other * len(before) + middle * len(members)) / (len(before) + len(members))
            members = before + members
            half = (len(members) - 1) * gap / 2
            middle = min(max(middle, low + half), high - half)
        blocks.append((members, middle))
    found = [0.0] * len(wanted)
    for members, middle in blocks:
        for number, place in enumerate(members):
            found[place] = middle + (number - (len(members) - 1) / 2) * gap
    return found


LIGHT, DARK = "#ffffff", "#1b1f23"
"""What figures are drawn on."""

LONG = (6.0, 2.0)
DOTS = (1.0, 1.5)
MIXED = (4.0, 1.5, 1.0, 1.5)


@dataclass(frozen=True, kw_only=True)
class LineStyle:
    """How a method or a dataset is drawn: ``light`` and ``dark`` are its colours, ``marker`` is one of Matplotlib's.

    ``dash`` has lengths of dashes and gaps, and is empty for a whole line. ``label`` stands at the end of the line.
    """

    light: str
    dark: str
    marker: str
    dash: tuple[float, ...] = ()
    label: str = ""
    strong: bool = False

    @property
    def width(self) -> float:
        """The width of the line; the one to look for is a strong one."""
        return 2.4 if self.strong else 1.5


_INK = ("#1c1f23", "#e6e8ea")
_GOLD = ("#b08900", "#ffe08a")
_SKY = ("#2f8fd0", "#58b4f5")
_BROWN = ("#6b3f1d", "#c89a74")
_NAVY = ("#123a7a", "#3f7fe0")
_RED = ("#b3261e", "#f26d64")
_GREY = ("#6b7280", "#98a2ad")
_RAISES = (
    ("#868ade", "#6d70c9"),
    ("#686ccc", "#8488de"),
    ("#4d4fb8", "#9fa3ec"),
    ("#363590", "#bcc0f7"),
    ("#201e56", "#dadcff"),
)
_OTHERS = (
    ("#00805e", "#35c79b"),
    ("#d1478f", "#f79ac9"),
    ("#006d77", "#5fd6d6"),
    ("#d04a00", "#ff8f52"),
    ("#5a7d00", "#b5d955"),
    ("#7a4fd0", "#b39aff"),
    ("#7a1450", "#c74a8f"),
    ("#0057a8", "#4a90e2"),
)
_OTHER_MARKERS = ("o", "^", "s", "D", "v", "P", "X", "*")
_OTHER_DASHES = ((), LONG, DOTS, MIXED)


def _style(pair: tuple[str, str], marker: str, label: str, dash: tuple[float, ...] = ()) -> LineStyle:
    return LineStyle(light=pair[0], dark=pair[1], marker=marker, dash=dash, label=label)


LINE_STYLES: Mapping[str, LineStyle] = MappingProxyType(
    {
        "svt-dpbook": _style(_INK, "s", "DPBook"),
        "svt-s-1:1": _style(_GOLD, "v", "SVT-S 1:1", LONG),
        "svt-s-1:3": _style(_SKY, "^", "SVT-S 1:3", DOTS),
        "svt-s-1:c": _style(_BROWN, "D", "SVT-S 1:c", MIXED),
        "svt-s-1:c23": _style(_NAVY, "o", "1:c^(2/3)"),
        "alg-4": _style(_INK, "X", "Alg. 4", LONG),
        "svt-s-half-t": _style(_SKY, "v", "T halved", DOTS),
        "svt-s-double-t": _style(_GOLD, "^", "T doubled", LONG),
        "svt-s-double-t-retr": _style(_BROWN, "D", "T × 2, ReTr", MIXED),
        "svt-dpbook-once": _style(_SKY, "P", "ρ drawn once", DOTS),
        "svt-alg1": _style(_NAVY, "^", "ρ of Alg. 1", MIXED),
        "svt-dpbook-monotonic": _style(_RED, "D", "ν halved", LONG),
        "svt-retr-0d": _style(_GREY, "x", "ReTr 0D", DOTS),
        **{
            f"svt-retr-{raised}d": _style(_RAISES[raised - 1], marker, f"ReTr {raised}D", dash)
            for raised, marker, dash in (
                (1, "^", DOTS),
                (2, "v", LONG),
                (3, "D", MIXED),
                (4, "P", LONG),
                (5, "X", DOTS),
            )
        },
        "em": LineStyle(light=_RED[0], dark=_RED[1], marker="*", label="EM", strong=True),
    }
)
"""Every method of the paper and of the ablation, in the order in which lines are drawn: EM is the last, on top."""

DATASET_STYLES = tuple(LINE_STYLES[key] for key in ("svt-s-1:1", "svt-s-1:3", "svt-s-1:c23", "svt-dpbook"))
"""For a figure with a line for each dataset, in turn."""


def styles(keys: Iterable[str]) -> dict[str, LineStyle]:
    """A style for each method of a figure, in drawing order; a method that is not known takes the next free one.

    >>> list(styles(["em", "mine", "svt-dpbook"]))
    ['svt-dpbook', 'mine', 'em']
    >>> styles(["mine"])["mine"].label
    'mine'
    """
    given = list(dict.fromkeys(keys))
    order = list(LINE_STYLES)
    known = sorted((key for key in given if key in LINE_STYLES), key=order.index)
    others = {
        key: LineStyle(
            light=_OTHERS[place % len(_OTHERS)][0],
            dark=_OTHERS[place % len(_OTHERS)][1],
            marker=_OTHER_MARKERS[place % len(_OTHER_MARKERS)],
            dash=_OTHER_DASHES[(place + place // len(_OTHERS)) % len(_OTHER_DASHES)],
            label=key,
        )
        for place, key in enumerate(key for key in given if key not in LINE_STYLES)
    }
    found = {key: LINE_STYLES[key] for key in known} | others
    return {key: found[key] for key in sorted(found, key=lambda key: key == "em")}


WIDTH, HEIGHT = 360.0, 226.0
LEFT, TOP, BOTTOM = 36.0, 20.0, 32.0
LETTER = 6.1
"""The width of a letter, about, at the size of text in a chart."""

ROW = 12.5
"""The distance of two lines of text."""

BAR_ERRORS = 2
"""An error bar has this many standard errors to each side: about 95 %."""


@dataclass(frozen=True, kw_only=True)
class ChartPoint:
    """A value at x, with its standard error."""

    x: float
    y: float
    error: float = 0.0


@dataclass(frozen=True, kw_only=True)
class ChartLine:
    """A line with its label; lines are drawn in the order given, so the last is on top."""

    style: LineStyle
    label: str
    points: tuple[ChartPoint, ...]


@dataclass(frozen=True, kw_only=True)
class LineChart:
    """One panel. ``low`` and ``high`` are shown on the axis of y at least; ``digits`` are those of a value."""

    title: str
    lines: tuple[ChartLine, ...]
    x_label: str
    y_label: str
    x_log: bool = False
    y_log: bool = False
    x_ticks: tuple[float, ...] = ()
    low: float | None = 0.0
    high: float | None = None
    digits: int = 3

    def svg(self) -> str:
        """The panel as an SVG element; empty where no line has a point."""
        lines = [line for line in self.lines if line.points]
        if not lines:
            return ""
        right = max(30.0, 12 + LETTER * max(len(line.label) for line in lines))
        points = [point for line in lines for point in line.points]
        x = Axis.of([p.x for p in points], start=LEFT + 6, end=WIDTH - right, log=self.x_log, ticks=self.x_ticks)
        bounds = [value for value in (self.low, self.high) if value is not None and not self.y_log]
        y = Axis.of([*(p.y for p in points), *bounds], start=HEIGHT - BOTTOM, end=TOP, log=self.y_log, rounded=True)
        parts = [
            *_frame(x, y, WIDTH - right + 4),
            f'<text class="axis" x="{LEFT - 30}" y="9">{escape(self.y_label)}</text>',
            f'<text class="axis" x="{(LEFT + WIDTH - right) / 2:.0f}" y="{HEIGHT - 3}" text-anchor="middle">'
            f"{escape(self.x_label)}</text>",
            *(_line(line, x, y) for line in lines),
            *_labels(lines, x, y),
            *(_readout(self, lines, at, x, y) for at in sorted({point.x for point in points})),
        ]
        return _svg(f"{self.title}: {self.y_label} against {self.x_label}", HEIGHT, parts)


@dataclass(frozen=True, kw_only=True)
class ChartBar:
    """A bar with its label, and text that says the value; ``error`` is a standard error."""

    label: str
    value: float
    text: str
    style: LineStyle
    error: float = 0.0


@dataclass(frozen=True, kw_only=True)
class BarChart:
    """Bars from 0 to the right, one below the other; the text is beside each bar, so nothing is read off an axis."""

    title: str
    bars: tuple[ChartBar, ...]
    high: float | None = None

    def svg(self) -> str:
        """The chart as an SVG element; empty without bars."""
        if not self.bars:
            return ""
        start = 10 + LETTER * max(len(bar.label) for bar in self.bars)
        end = WIDTH - 8 - LETTER * max(len(bar.text) for bar in self.bars)
        ends = (bar.value + sign * BAR_ERRORS * bar.error for bar in self.bars for sign in (-1, 1))
        reach = [0.0, *ends, *([] if self.high is None else [self.high])]
        x = Axis.of(reach, start=start, end=end)
        height = 24.0 * len(self.bars) + 6
        parts = [f'<path class="base" d="M{x.at(0):.1f},2V{height - 4:.1f}"/>']
        for place, bar in enumerate(self.bars):
            middle = 24.0 * place + 15
            first, last = sorted((x.at(0), x.at(bar.value)))
            parts.append(
                f'<g class="bar" style="{_colours(bar.style)}"><text x="{start - 6:.1f}" y="{middle + 3.5:.1f}" '
                f'text-anchor="end">{escape(bar.label)}</text><rect x="{first:.1f}" y="{middle - 7:.1f}" '
                f'width="{max(last - first, 0.5):.1f}" height="14" rx="2"/>'
                f"{_error_bar_across(bar, x, middle)}"
                f'<text class="value" x="{max(last, x.at(bar.value + BAR_ERRORS * bar.error)) + 5:.1f}" '
                f'y="{middle + 3.5:.1f}">{escape(bar.text)}</text></g>'
            )
        return _svg(self.title, height, parts)


def _svg(title: str, height: float, parts: Iterable[str]) -> str:
    body = "".join(parts)
    return f'<svg class="chart" viewBox="0 0 {WIDTH:g} {height:g}" role="img" aria-label="{escape(title)}">{body}</svg>'


def _colours(style: LineStyle) -> str:
    return f"--light:{style.light};--dark:{style.dark}"


def _frame(x: Axis, y: Axis, right: float) -> Iterable[str]:
    """Thin lines across, and the numbers of both axes."""
    for tick in y.ticks:
        strong = ' class="base"' if tick == 0 else ' class="mesh"'
        yield f'<path{strong} d="M{LEFT:g},{y.at(tick):.1f}H{right:.1f}"/>'
        yield f'<text x="{LEFT - 4:g}" y="{y.at(tick) + 3.5:.1f}" text-anchor="end">{y.text(tick)}</text>'
    for tick in x.ticks:
        yield f'<text x="{x.at(tick):.1f}" y="{HEIGHT - BOTTOM + 14:.1f}" text-anchor="middle">{x.text(tick)}</text>'


def _line(line: ChartLine, x: Axis, y: Axis) -> str:
    """The line, its error bars and its markers: three paths."""
    places = [(x.at(point.x), y.at(point.y)) for point in line.points]
    route = "M" + "L".join(f"{across:.1f},{down:.1f}" for across, down in places)
    dash = f' stroke-dasharray="{" ".join(f"{part * 1.2:g}" for part in line.style.dash)}"' if line.style.dash else ""
    bars = "".join(
        f"M{x.at(p.x):.1f},{y.at(p.y - BAR_ERRORS * p.error):.1f}V{y.at(p.y + BAR_ERRORS * p.error):.1f}"
        for p in line.points
        if p.error > 0
    )
    marks = "".join(_mark(line.style.marker, across, down) for across, down in places)
    return (
        f'<g class="line" style="{_colours(line.style)}"><path d="{route}" stroke-width="{line.style.width:g}"{dash}/>'
        + (f'<path class="error" d="{bars}"/>' if bars else "")
        + f'<path class="mark{" open" if line.style.marker == "x" else ""}" d="{marks}"/></g>'
    )


def _turned(corners: Sequence[tuple[float, float]], times: int) -> tuple[tuple[float, float], ...]:
    """Some corners, turned this many times around the middle."""
    turns = [2 * math.pi * turn / times for turn in range(times)]
    return tuple(
        (a * math.cos(turn) - b * math.sin(turn), a * math.sin(turn) + b * math.cos(turn))
        for turn in turns
        for a, b in corners
    )


_CORNERS = {
    "s": _turned(((1.0, 1.0),), 4),
    "^": _turned(((0.0, -1.45),), 3),
    "v": _turned(((0.0, 1.45),), 3),
    "D": _turned(((0.0, -1.4),), 4),
    "P": _turned(((0.5, -1.3), (0.5, -0.5)), 4),
    "*": _turned(((0.0, -1.9), (0.47, -0.65)), 5),
}


def _mark(marker: str, x: float, y: float, size: float = 2.3) -> str:
    """A marker as a path: a polygon, a cross, or else a disc."""
    if marker in _CORNERS:
        return "M" + "L".join(f"{x + size * a:.1f},{y + size * b:.1f}" for a, b in _CORNERS[marker]) + "Z"
    if marker in ("x", "X"):
        return "".join(f"M{x - size:.1f},{y - s:.1f}L{x + size:.1f},{y + s:.1f}" for s in (size, -size))
    return f"M{x - size:.1f},{y:.1f}a{size},{size} 0 1 0 {2 * size},0a{size},{size} 0 1 0 {-2 * size},0"


def _labels(lines: Sequence[ChartLine], x: Axis, y: Axis) -> Iterable[str]:
    """The label of each line at its right end, moved up or down where two would meet."""
    ends = [(x.at(line.points[-1].x), y.at(line.points[-1].y)) for line in lines]
    edge = x.end + 3
    places = spread([down for _, down in ends], gap=ROW - 1, low=TOP, high=HEIGHT - BOTTOM)
    for line, (across, down), place in zip(lines, ends, places, strict=True):
        strong = " strong" if line.style.strong else ""
        yield (
            f'<g class="label{strong}" style="{_colours(line.style)}">'
            f'<path d="M{across + 4:.1f},{down:.1f}L{edge + 5:.1f},{place:.1f}"/>'
            f'<text x="{edge + 7:.1f}" y="{place + 3.5:.1f}">{escape(line.label)}</text></g>'
        )


def _readout(chart: LineChart, lines: Sequence[ChartLine], at: float, x: Axis, y: Axis) -> str:
    """A strip over one value of x; what belongs to it is seen while the pointer is there."""
    here = [(point, line) for line in lines for point in line.points if point.x == at]
    here.sort(key=lambda pair: -pair[0].y)
    texts = [f"{p.y:,.{chart.digits}f}" + (f" ± {p.error:.{chart.digits}f}" if p.error > 0 else "") for p, _ in here]
    wide = 32 + LETTER * (max(len(line.label) for _, line in here) + max(map(len, texts)))
    high = ROW * (len(here) + 1) + 8
    middle, (first, last) = x.at(at), x.strip(at)
    left = middle + 8 if middle + 8 + wide < WIDTH else max(middle - 8 - wide, 0)
    rows = "".join(
        f'<path class="swatch" style="{_colours(line.style)}" d="M{left + 6:.0f},{TOP + ROW * row + 12:.1f}h8"/>'
        f'<text y="{TOP + ROW * row + 15.5:.1f}"><tspan x="{left + 18:.0f}">{escape(line.label)}</tspan>'
        f'<tspan x="{left + wide - 6:.0f}" text-anchor="end">{text}</tspan></text>'
        for row, ((_, line), text) in enumerate(zip(here, texts, strict=True), start=1)
    )
    return (
        f'<g class="at"><rect class="strip" x="{first:.1f}" y="{TOP}" width="{last - first:.1f}" '
        f'height="{HEIGHT - BOTTOM - TOP:.1f}"/><g class="readout"><path class="guide" '
        f'd="M{middle:.1f},{TOP}V{HEIGHT - BOTTOM}"/><rect x="{left:.1f}" y="{TOP}" width="{wide:.1f}" '
        f'height="{high:.1f}" rx="4"/><text class="head" x="{left + 6:.1f}" y="{TOP + 14}">'
        f"{escape(chart.x_label.split(',')[0])} = {at:g}</text>{rows}</g></g>"
    )


def _error_bar_across(bar: ChartBar, x: Axis, middle: float) -> str:
    if not bar.error:
        return ""
    first, last = (x.at(bar.value + sign * BAR_ERRORS * bar.error) for sign in (-1, 1))
    return f'<path class="error" d="M{first:.1f},{middle:.1f}H{last:.1f}"/>'


MAP_WIDTH, MAP_LEFT, MAP_BOTTOM, MAP_HEIGHT = 360.0, 40.0, 34.0, 30.0
"""Of the map, of the space for the names of rows and columns, and of a cell."""


@dataclass(frozen=True, kw_only=True)
class MapCell:
    """A cell: ``text`` large and ``note`` small in it, ``says`` where the pointer is; no colour without a ``style``.

    Where more may belong in it, it is not ``sure``, and its colour is pale.
    """

    text: str
    note: str = ""
    says: str = ""
    style: LineStyle | None = None
    sure: bool = True


@dataclass(frozen=True, kw_only=True)
class MapChart:
    """``cells`` from top to bottom and from left to right, with a name for each row and column."""

    title: str
    columns: Sequence[str]
    rows: Sequence[str]
    cells: Sequence[Sequence[MapCell]]
    x_label: str
    y_label: str

    def svg(self) -> str:
        """The map as an SVG element."""
        wide, height = (MAP_WIDTH - MAP_LEFT - 2) / len(self.columns), MAP_HEIGHT * len(self.rows) + MAP_BOTTOM + 12
        parts = [f'<text class="axis" x="2" y="9">{escape(self.y_label)}</text>']
        for place, name in enumerate(self.rows):
            middle = 14 + MAP_HEIGHT * (place + 0.5)
            parts.append(f'<text x="{MAP_LEFT - 5:g}" y="{middle + 3.5:.1f}" text-anchor="end">{escape(name)}</text>')
            parts += [
                _cell(cell, MAP_LEFT + wide * number, 14 + MAP_HEIGHT * place, wide)
                for number, cell in enumerate(self.cells[place])
            ]
        below = 14 + MAP_HEIGHT * len(self.rows)
        parts += [_below(name, MAP_LEFT + wide * (place + 0.5), below + 14) for place, name in enumerate(self.columns)]
        parts.append(_below(self.x_label, (MAP_LEFT + MAP_WIDTH) / 2, below + 29, kind="axis"))
        body, name = "".join(parts), escape(self.title)
        size = f"0 0 {MAP_WIDTH:g} {height:g}"
        return f'<svg class="chart" viewBox="{size}" role="img" aria-label="{name}">{body}</svg>'


def _below(text: str, middle: float, down: float, kind: str = "") -> str:
    shown = f' class="{kind}"' if kind else ""
    return f'<text{shown} x="{middle:.1f}" y="{down:.1f}" text-anchor="middle">{escape(text)}</text>'


def _cell(cell: MapCell, left: float, top: float, wide: float) -> str:
    colours = f' style="--light:{cell.style.light};--dark:{cell.style.dark}"' if cell.style else ""
    kind = "tile" + ("" if cell.style else " plain") + ("" if cell.sure else " open")
    middle = left + wide / 2
    note = f'<text class="note" x="{middle:.1f}" y="{top + 24:.1f}">{escape(cell.note)}</text>' if cell.note else ""
    return (
        f'<g class="{kind}"{colours}><title>{escape(cell.says)}</title>'
        f'<rect x="{left + 1:.1f}" y="{top + 1:.1f}" width="{wide - 2:.1f}" height="{MAP_HEIGHT - 2:.1f}" rx="3"/>'
        f'<text x="{middle:.1f}" y="{top + (14 if note else 18):.1f}">{escape(cell.text)}</text>{note}</g>'
    )


class Chart(Protocol):
    """What a panel shows."""

    def svg(self) -> str:
        """The chart as an SVG element."""


@dataclass(frozen=True, kw_only=True)
class FigurePanel:
    """One chart for each view, below a title; ``identity`` is the name a link leads to, ``note`` is HTML below it.

    ``dataset`` says what it is about, where that is a dataset.
    """

    title: str
    charts: Mapping[str, Chart]
    dataset: str = ""
    identity: str = ""
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class PageFigure:
    """Panels that share their views; the first view is shown, the reader may choose another.

    ``files`` are links by their text, relative to the page; ``note`` is HTML below the caption.
    """

    name: str
    title: str
    caption: str
    panels: tuple[FigurePanel, ...]
    files: Mapping[str, str] = field(default_factory=dict)
    note: str = ""

    def html(self) -> str:
        """The figure as HTML."""
        views = list(dict.fromkeys(view for panel in self.panels for view in panel.charts))
        chosen = "".join(
            f'<input type="radio" name="view-{self.name}" id="view-{self.name}-{place}" class="view-{place}"'
            f'{" checked" if not place else ""}><label for="view-{self.name}-{place}">{escape(view)}</label>'
            for place, view in enumerate(views)
            if len(views) > 1
        )
        panels = "".join(_panel(panel, views) for panel in self.panels)
        links = " ".join(f'<a href="{escape(place)}" download>{escape(text)}</a>' for text, place in self.files.items())
        shown = f'<span class="files">{links}</span>' if links else ""
        return (
            f'<figure id="figure-{self.name}"><figcaption><h3>{escape(self.title)}</h3><p>{escape(self.caption)}</p>'
            f"{self.note}</figcaption>{chosen}{shown}"
            f'<div class="panels{" one" if len(self.panels) == 1 else ""}">{panels}</div></figure>'
        )


def _panel(panel: FigurePanel, views: list[str]) -> str:
    name = f' id="{escape(panel.identity)}"' if panel.identity else ""
    charts = "".join(
        f'<div class="show-{views.index(view)}">{chart.svg()}</div>' for view, chart in panel.charts.items()
    )
    return f'<div class="panel"{name}><h4>{escape(panel.title)}</h4>{charts}{panel.note}</div>'


SHORT, LONG_TABLE = 42, 120
"""A text of fewer letters than SHORT stays on one line; one of more than LONG has a wide column."""


@dataclass(frozen=True, kw_only=True)
class TableCell:
    """A cell of a table: text, or a number that is sorted by its value; ``markup`` stands where the text is HTML.

    A number is sorted as it is shown; one that is not shown in digits alone has its value beside it.

    ``kind`` is a class of the page's style, ``identity`` a name that a link can lead to.
    """

    text: str
    value: float | None = None
    markup: bool = False
    kind: str = ""
    identity: str = ""

    def _sorted_by(self) -> str:
        """The value where the text is not a number to a script; infinity is one to both."""
        if self.value is None or (math.isfinite(self.value) and "," not in self.text):
            return ""
        return repr(self.value).replace("inf", "Infinity")

    def html(self, label: str, *, head: bool = False) -> str:
        """The cell as HTML; ``label`` is shown before it on a phone. A head names its row."""
        if self.value is not None:
            width = "number"
        elif self.markup:
            width = ""
        else:
            width = "name" if len(self.text) < SHORT else "long" if len(self.text) > LONG_TABLE else "text"
        kinds = " ".join(filter(None, (width, self.kind)))
        attributes = "".join(
            f' {name}="{escape(text)}"'
            for name, text in (
                ("id", self.identity),
                ("class", kinds),
                ("data-value", self._sorted_by()),
                ("data-label", label),
            )
            if text
        )
        tag = "th" if head else "td"
        scope = ' scope="row"' if head else ""
        return f"<{tag}{scope}{attributes}>{self.text if self.markup else escape(self.text)}</{tag}>"


def number(value: float, form: str) -> TableCell:
    """A number in this format; one that rounds to zero has no sign."""
    return TableCell(text=f"{value:{'z' if form.endswith('f') else ''}{form}}", value=float(value))


def table(
    heads: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    identity: str = "",
    caption: str = "",
    tall: bool = False,
    names: int = 1,
) -> str:
    """A table in a box; a heading that begins with # is that of numbers. A tall one scrolls inside its box.

    The first cells of each row, as many as ``names``, say what the row is about.
    """
    head = "".join(
        f'<th scope="col" class="number">{escape(text[1:])}</th>'
        if text.startswith("#")
        else f'<th scope="col">{escape(text)}</th>'
        for text in heads
    )
    labels = [text.removeprefix("#") for text in heads]
    lines = [[cell if isinstance(cell, TableCell) else TableCell(text=str(cell)) for cell in cells] for cells in rows]
    body = "\n".join(
        "<tr>"
        + "".join(
            cell.html(label, head=place < names) for place, (cell, label) in enumerate(zip(cells, labels, strict=True))
        )
        + "</tr>"
        for cells in lines
    )
    name = f' id="{escape(identity)}"' if identity else ""
    said = f"<caption>{escape(caption)}</caption>" if caption else ""
    return (
        f'<div class="scroll{" tall" if tall else ""}" tabindex="0"><table class="sortable"{name}>{said}'
        f"<thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table></div>"
    )
