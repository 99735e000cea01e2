"""Small line and bar charts as inline SVG: text is text, colours follow the page, and nothing needs a script.

Where the pointer, or a finger, is over a value of x, a guide and a box with the value and the standard error of every
line appear: that is CSS alone. A colour is given twice, for a light page and for a dark one (``--light``, ``--dark``).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

from sparsegate.evaluation.reporting.chart_axes import Axis, spread
from sparsegate.evaluation.reporting.line_styles import LineStyle

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
