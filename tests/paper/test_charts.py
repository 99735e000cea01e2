"""Charts: numbers as text, lines in order and told apart, labels that keep apart, and what is under the pointer."""

from __future__ import annotations

import math
import re
from importlib.resources import files
from itertools import combinations, pairwise, product
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsegate.paper import charts
from sparsegate.paper.charts import LINE_STYLES, Axis, BarChart, ChartLine, ChartPoint, LineChart, styles
from sparsegate.paper.figures import COMPARISONS

EM, BOOK = LINE_STYLES["em"], LINE_STYLES["svt-dpbook"]


def chart(*, error: float = 0.004, label: str = "EM") -> ElementTree.Element:
    lines = (
        ChartLine(BOOK, tuple(ChartPoint(c, c / 100, 0.01) for c in (25, 50))),
        ChartLine(EM._replace(label=label), tuple(ChartPoint(c, c / 400, error) for c in (25, 50))),
    )
    return ElementTree.fromstring(LineChart(title="Zipf", lines=lines, x_label="c, how many", y_label="SER").svg())


def by_class(drawn: ElementTree.Element, name: str) -> list[ElementTree.Element]:
    return [element for element in drawn.iter() if name in element.get("class", "").split()]


def test_under_the_pointer_are_value_and_standard_error_of_every_line_the_highest_first() -> None:
    first, second = by_class(chart(), "readout")
    assert list(first.itertext()) == ["c = 25", "DPBook", "0.250 ± 0.010", "EM", "0.062 ± 0.004"]
    assert list(second.itertext())[::2] == ["c = 50", "0.500 ± 0.010", "0.125 ± 0.004"]


def test_heights_are_in_proportion_and_error_bars_two_standard_errors_to_each_side() -> None:
    drawn, zero = chart(), 194.0
    book, em = ([float(y) for y in re.findall(r",([\d.]+)", line[0].get("d", ""))] for line in by_class(drawn, "line"))
    assert book[0] < em[0] < zero
    assert abs((zero - book[1]) / (zero - em[1]) - 4) < 0.02
    first, last = map(float, re.findall(r"[,V]([\d.]+)", by_class(drawn, "error")[0].get("d", ""))[:2])
    assert abs((first - last) / (book[0] - book[1]) - 0.04 / 0.25) < 0.01


def test_what_has_no_error_has_no_bar_foreign_text_is_escaped_and_nothing_is_empty() -> None:
    drawn = chart(error=0, label="<b>&")
    assert len(by_class(drawn, "error")) == 1
    assert {"0.062", "<b>&"} <= set(drawn.itertext())
    assert LineChart(title="", lines=(), x_label="", y_label="").svg() == BarChart(title="", bars=()).svg() == ""


def test_bars_are_as_long_as_their_values() -> None:
    bars = tuple(charts.ChartBar(f"{v:g}", v, f"{v:.0%}", EM, 0.1) for v in (0.25, 1.0))
    drawn = ElementTree.fromstring(BarChart(title="Shares", bars=bars).svg())
    first, second = (float(rect.get("width", "0")) for rect in drawn.iter("rect"))
    assert abs(second / first - 4) < 0.02
    assert [text.text for text in by_class(drawn, "value")] == ["25%", "100%"]


@given(st.floats(-1e3, 1e3), st.floats(1e-3, 1e6))
def test_ticks_are_few_and_reach_the_highest_value(low: float, span: float) -> None:
    ticks = charts.round_ticks(low, low + span)
    assert 1 <= len(ticks) <= 6
    assert ticks[-1] >= low + span - 1e-6 * span
    assert list(ticks) == sorted(set(ticks))


def test_places_are_in_proportion_end_at_the_ends_and_strips_meet_half_way() -> None:
    axis = Axis([0, 2, 10], start=100, end=200)
    assert [axis.at(value) for value in (0, 5, 10, 99)] == [100, 150, 200, 200]
    assert axis.strips() == {0: (90, 110), 2: (110, 160), 10: (160, 240)}
    log = Axis([0.05, 0.8], start=0, end=4, log=True)
    assert [log.at(value) for value in (0.05, 0.1, 0.2, 0.8)] == pytest.approx([0, 1, 2, 4])
    below = Axis([-0.003, 0.97], start=0, end=1, rounded=True)
    assert (below.low, below.high, below.ticks[0]) == (-0.003, 1.0, 0)
    for scale in (False, True):
        single = Axis([3], start=0, end=10, log=scale)
        assert (single.at(3), single.strips()) == (pytest.approx(5), {3: (0, 10)})


@given(st.lists(st.floats(0, 100), min_size=1, max_size=12))
def test_labels_keep_apart_inside_and_in_order(wanted: list[float]) -> None:
    places, gap = charts.spread(wanted, gap=9, low=0, high=100), min(9, 100 / max(len(wanted) - 1, 1))
    placed = [places[place] for place in sorted(range(len(wanted)), key=lambda place: wanted[place])]
    assert all(after - before >= gap - 1e-6 for before, after in pairwise(placed))
    assert -1e-6 <= placed[0] <= placed[-1] <= 100 + 1e-6
    assert charts.spread([10, 50, 90], gap=9, low=0, high=100) == [10, 50, 90]


# Machado, Oliveira and Fernandes 2009, severity 1: protan and deutan, on linear RGB.
EYES = {
    "all colours": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "no red": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "no green": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
}
OTHERS = [f"other-{place}" for place in range(8)]


def linear(colour: str) -> list[float]:
    """Red, green and blue of sRGB, linear."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    return [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]


def contrast(colour: str, background: str) -> float:
    """The contrast ratio of WCAG 2."""
    low, high = sorted(
        sum(w * part for w, part in zip((0.2126, 0.7152, 0.0722), linear(c), strict=True)) for c in (colour, background)
    )
    return (high + 0.05) / (low + 0.05)


def seen(colour: str, eyes: str) -> list[float]:
    """Oklab (Ottosson 2020) of a colour as these eyes see it."""
    r, g, b = (min(max(sum(w * part for w, part in zip(row, linear(colour), strict=True)), 0), 1) for row in EYES[eyes])
    long = (0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b) ** (1 / 3)
    middle = (0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b) ** (1 / 3)
    short = (0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b) ** (1 / 3)
    return [
        0.2104542553 * long + 0.7936177850 * middle - 0.0040720468 * short,
        1.9779984951 * long - 2.4285922050 * middle + 0.4505937099 * short,
        0.0259040371 * long + 0.7827717662 * middle - 0.8086757660 * short,
    ]


def test_lines_have_a_contrast_of_three_on_the_backgrounds_of_the_page_and_differ_in_colour_and_marker() -> None:
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)
    for style in styles([*LINE_STYLES, *OTHERS]).values():
        assert min(contrast(style.light, charts.LIGHT), contrast(style.dark, charts.DARK)) >= 3, style
    page = files("sparsegate.paper").joinpath("report_page.css").read_text(encoding="utf-8")
    assert re.findall(r"--card: (#\w+)", page) == [charts.LIGHT, charts.DARK]
    for keys in (*(comparison.methods for comparison in COMPARISONS), OTHERS):
        assert len({style.marker for style in styles(keys).values()}) == len(keys)


@pytest.mark.parametrize("eyes", EYES)
def test_lines_of_a_figure_differ_for_every_eye(eyes: str) -> None:
    pairs = {pair for comparison in COMPARISONS for pair in combinations(styles(comparison.methods).values(), 2)}
    for (style, other), look in product(pairs, ("light", "dark")):
        assert math.dist(seen(getattr(style, look), eyes), seen(getattr(other, look), eyes)) > 0.07, (style, other)
    assert math.dist(seen("#c8450a", "no green"), seen("#a86a00", "no green")) < 0.02  # what this would notice


def test_em_is_drawn_last_and_strong() -> None:
    assert list(styles(["em", "mine", "svt-s-1:1", "svt-dpbook"])) == ["svt-dpbook", "svt-s-1:1", "mine", "em"]
    assert [key for key, style in LINE_STYLES.items() if style.strong] == ["em"]
