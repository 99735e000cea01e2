"""The picture: thin bars for all at once, thick ones for each, and nothing of pyplot's."""

from __future__ import annotations

import io

import pytest

pytest.importorskip("matplotlib")

import matplotlib
from matplotlib import pyplot
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from tests.support.display import release

import sparsegate as sg
from sparsegate.display.charts import MOST_BARS, bar_chart
from sparsegate.display.published import PrintedTop


def drawn(*labels: str, title: str = "page") -> Figure:
    figure = bar_chart(
        labels, list(range(len(labels))), error_bar=3, error_bar_all=7, title=(title, "top"), caption="users"
    )
    figure.savefig(io.BytesIO(), format="png")
    return figure


def test_both_error_bars_are_drawn_and_told_apart_by_their_width() -> None:
    top = release(answers_epsilon=1)
    (axes,) = top.plot().axes
    reaches = {}
    for lines in axes.collections:
        assert isinstance(lines, LineCollection)
        (first, *_) = lines.get_segments()
        reaches[float(lines.get_linewidth()[0])] = (first[1][0] - first[0][0]) / 2
    assert reaches == {1.0: pytest.approx(top.error_bar_all), 3.0: pytest.approx(top.error_bar)}
    assert [text.get_text() for text in axes.get_yticklabels()] == list(top.items)


def test_the_picture_says_for_what_its_bars_hold_or_what_it_needs() -> None:
    top = release(answers_epsilon=1).to_dict()
    assert "all at once (thin) and for each (thick), 95 %" in PrintedTop(kept=top).plot().axes[0].get_xlabel()
    grouped = {**top, "groups": ["DE"], "items": [{"group": "DE", **row} for row in top["items"]]}
    assert "all of a group at once (thin)" in PrintedTop(kept=grouped).plot().axes[0].get_xlabel()
    with pytest.raises(sg.ParameterError, match="plot needs noisy counts to draw; pay for them with answers_epsilon"):
        release().plot()


def test_a_hundred_bars_at_most_and_no_label_is_a_formula_and_no_state_is_left_behind() -> None:
    before = dict(matplotlib.rcParams)
    assert len(drawn(*map(str, range(150))).axes[0].patches) == MOST_BARS
    assert len(drawn().axes[0].patches) == 0
    labels = ["$x^2$", r"$\frac{", "a\nb"]
    shown = [text.get_text() for text in drawn(*labels, title="$page$").axes[0].get_yticklabels()]
    assert shown == [*labels[:2], "a�b"]
    assert dict(matplotlib.rcParams) == before
    assert pyplot.get_fignums() == []
