"""Lines can be seen on both backgrounds, and told apart in every figure, also by eyes that mix up red and green."""

from __future__ import annotations

import math
import re
from importlib.resources import files
from itertools import combinations

import pytest

from sparsegate.paper.charts import DARK, LIGHT, LINE_STYLES, styles
from sparsegate.paper.figures import COMPARISONS, ErrorFigure

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


def contrast(one: str, other: str) -> float:
    """The contrast ratio of WCAG 2."""
    low, high = sorted(
        sum(w * part for w, part in zip((0.2126, 0.7152, 0.0722), linear(c), strict=True)) for c in (one, other)
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


def test_the_contrast_is_that_of_the_standard() -> None:
    assert contrast("#ffffff", "#000000") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("key", [*LINE_STYLES, *OTHERS])
def test_every_line_has_a_contrast_of_three_on_either_background(key: str) -> None:
    style = styles([*LINE_STYLES, *OTHERS])[key]
    assert contrast(style.light, LIGHT) >= 3
    assert contrast(style.dark, DARK) >= 3


@pytest.mark.parametrize("eyes", EYES)
@pytest.mark.parametrize("comparison", COMPARISONS, ids=lambda one: one.name)
def test_lines_of_a_figure_differ_for_every_eye_and_in_marker(comparison: ErrorFigure, eyes: str) -> None:
    for one, other in combinations(styles(comparison.methods).values(), 2):
        assert math.dist(seen(one.light, eyes), seen(other.light, eyes)) > 0.07, (one, other)
        assert math.dist(seen(one.dark, eyes), seen(other.dark, eyes)) > 0.07, (one, other)
        assert one.marker != other.marker


def test_two_colours_that_look_alike_without_green_are_noticed() -> None:
    assert math.dist(seen("#c8450a", "no green"), seen("#a86a00", "no green")) < 0.02


def test_the_page_draws_figures_on_these_backgrounds() -> None:
    style = files("sparsegate.paper").joinpath("report_page.css").read_text(encoding="utf-8")
    assert re.findall(r"--card: (#\w+)", style) == [LIGHT, DARK]


def test_em_is_drawn_last_and_labelled_strongly() -> None:
    assert list(styles(["em", "mine", "svt-s-1:1", "svt-dpbook"])) == ["svt-dpbook", "svt-s-1:1", "mine", "em"]
    assert [key for key, style in LINE_STYLES.items() if style.strong] == ["em"]


def test_unknown_methods_of_a_figure_differ() -> None:
    found = styles(OTHERS)
    assert len({style.light for style in found.values()}) == len(OTHERS)
    assert len({style.marker for style in found.values()}) == len(OTHERS)
