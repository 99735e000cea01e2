"""Charts: numbers as text, lines in order, and what is seen under the pointer."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from sparsegate.paper.charts import LINE_STYLES, BarChart, ChartBar, ChartLine, ChartPoint, LineChart

EM, BOOK = LINE_STYLES["em"], LINE_STYLES["svt-dpbook"]


def chart(*, error: float = 0.004, label: str = "EM") -> ElementTree.Element:
    lines = (
        ChartLine(style=BOOK, label="DPBook", points=tuple(ChartPoint(x=c, y=c / 100, error=0.01) for c in (25, 50))),
        ChartLine(style=EM, label=label, points=tuple(ChartPoint(x=c, y=c / 400, error=error) for c in (25, 50))),
    )
    drawn = LineChart(title="Zipf", lines=lines, x_label="c, how many", y_label="SER").svg()
    return ElementTree.fromstring(drawn)


def by_class(drawn: ElementTree.Element, name: str) -> list[ElementTree.Element]:
    return [one for one in drawn.iter() if name in one.get("class", "").split()]


def test_under_the_pointer_are_value_and_standard_error_of_every_line_the_highest_first() -> None:
    first, second = by_class(chart(), "readout")
    assert list(first.itertext()) == ["c = 25", "DPBook", "0.250 ± 0.010", "EM", "0.062 ± 0.004"]
    assert list(second.itertext())[::2] == ["c = 50", "0.500 ± 0.010", "0.125 ± 0.004"]


def test_each_line_has_both_colours_and_the_last_one_is_on_top() -> None:
    drawn = chart()
    lines = [one for one in drawn if one.get("class") == "line"]
    assert [one.get("style") for one in lines] == [f"--light:{s.light};--dark:{s.dark}" for s in (BOOK, EM)]
    assert [text.text for one in by_class(drawn, "label") for text in one.iter("text")] == ["DPBook", "EM"]
    assert len(by_class(drawn, "strong")) == 1


def test_a_higher_value_is_further_up_and_in_proportion() -> None:
    book, em = ([float(y) for y in re.findall(r",([\d.]+)", one[0].get("d"))] for one in by_class(chart(), "line")[:2])
    zero = 194.0
    assert book[0] < em[0] < zero
    assert abs((zero - book[1]) / (zero - em[1]) - 4) < 0.02


def test_error_bars_are_two_standard_errors_to_each_side() -> None:
    (bar, _) = by_class(chart(), "error")
    first, last = map(float, re.findall(r"[,V]([\d.]+)", bar.get("d", ""))[:2])
    (line, _) = (one[0] for one in by_class(chart(), "line")[:2])
    down = [float(y) for y in re.findall(r",([\d.]+)", line.get("d", ""))]
    assert abs((first - last) / (down[0] - down[1]) - 0.04 / 0.25) < 0.01


def test_what_has_no_error_has_no_bar_and_no_plus_minus() -> None:
    drawn = chart(error=0)
    assert len(by_class(drawn, "error")) == 1
    assert "0.062" in list(drawn.itertext())


def test_foreign_text_is_escaped() -> None:
    drawn = chart(label="<b>&")
    assert "<b>&" in [text.text for text in drawn.iter("text")]


def test_a_chart_without_points_is_empty() -> None:
    assert LineChart(title="", lines=(), x_label="", y_label="").svg() == ""
    assert BarChart(title="", bars=()).svg() == ""


def test_bars_are_as_long_as_their_values() -> None:
    bars = tuple(ChartBar(label=f"{v:g}", value=v, text=f"{v:.0%}", style=EM, error=0.1) for v in (0.25, 1.0))
    drawn = ElementTree.fromstring(BarChart(title="Shares", bars=bars).svg())
    first, second = (float(rect.get("width", "0")) for rect in drawn.iter("rect"))
    assert abs(second / first - 4) < 0.02
    assert [text.text for text in by_class(drawn, "value")] == ["25%", "100%"]
