"""The picture of a preview: what each method promises against epsilon."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sparsegate.errors import load_extra

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from sparsegate.tables.previewed_methods import TopPreview

# The colours of Okabe and Ito; a marker of its own tells each line apart without colour vision and in print.
_LINES: Final = {
    "exponential": ("#000000", "s"),
    "subset": ("#0072B2", "o"),
    "gumbel": ("#009E73", "D"),
    "one-shot": ("#E69F00", "^"),
    "noisy-scores": ("#D55E00", "v"),
}


def draw_preview(preview: TopPreview) -> Figure:
    """A line for each method that promises something, a filled ring where it stands, and what a stand-in showed."""
    figure: Figure = load_extra("matplotlib.figure", extra="plots").Figure(figsize=(7, 4.4), layout="constrained")
    load_extra("matplotlib.backends.backend_agg", extra="plots").FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    for row in preview:
        curve = preview.curve(row)
        if not curve:
            continue
        colour, marker = _LINES[row.method]
        label = f"{row.method}, would run" if row.chosen else row.method
        width = 2.2 if row.chosen else 1.2
        points = [(float(epsilon), distance) for epsilon, distance in curve]
        axes.plot(*zip(*points, strict=True), color=colour, marker=marker, markersize=3.5, linewidth=width, label=label)
        if row.like_within is not None:
            axes.plot(
                [float(row.epsilon)],
                [row.like_within],
                color=colour,
                marker=marker,
                markersize=9,
                fillstyle="none",
                linestyle="",
            )
    axes.set_xscale("log")
    axes.set_yscale("symlog", linthresh=1)  # nobody too low is 0, and has its place, too
    axes.set_ylim(bottom=-0.1)
    axes.xaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_major_formatter("{x:,.0f}")
    if (people := preview.question.people) is not None:
        axes.axhline(people, color="#999999", linestyle=":", linewidth=1.2)
        axes.annotate(
            f"{people:,} people in all",
            (0.99, people),
            xycoords=("axes fraction", "data"),
            ha="right",
            va="bottom",
            fontsize=8,
        )
    sure = f"{100 * preview.confidence:g} %"
    note = "\nlarge hollow marks: seen on the stand-in" if any(row.like_within is not None for row in preview) else ""
    axes.set_xlabel(f"ε of the selection{note}")
    axes.set_ylabel(f"furthest below the true number {preview.question.count:,}, {sure}")
    size = "observed" if preview.total is None else f"{preview.total:,}"
    axes.set_title(
        f"top {preview.question.count:,} of {size} candidates: what is promised, whatever the data",
        fontsize=10,
        loc="left",
    )
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=8)
    return figure
