"""The picture of a preview: what each method promises against epsilon, and its recall on a stand-in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from sparsegate.errors import load_extra

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from sparsegate.tables.previewed_methods import MethodPreview, TopPreview

# The colours of Okabe and Ito; a marker of its own tells each line apart without colour vision and in print.
_LINES: Final = {
    "exponential": ("#000000", "s"),
    "subset": ("#0072B2", "o"),
    "gumbel": ("#009E73", "D"),
    "one-shot": ("#E69F00", "^"),
    "noisy-scores": ("#D55E00", "v"),
}


def draw_preview(preview: TopPreview) -> Figure:
    """A line for each method that promises something; beside it, where there is a stand-in, the recall there."""
    panels = 1 if preview.ladder is None else 2
    figure: Figure = load_extra("matplotlib.figure", extra="plots").Figure(
        figsize=(7 if panels == 1 else 11, 4.4), layout="constrained"
    )
    load_extra("matplotlib.backends.backend_agg", extra="plots").FigureCanvasAgg(figure)
    promises, *recalls = figure.subplots(1, panels, squeeze=False)[0]
    for row in preview:
        _line(promises, row, preview.curve(row))
    if (people := preview.question.people) is not None:
        promises.axhline(people, color="#999999", linestyle=":", linewidth=1.2)
        promises.text(
            0.99, people, f"{people:,} people in all", transform=promises.get_yaxis_transform(), ha="right", va="bottom"
        )
    count, size = preview.question.count, "observed" if preview.total is None else f"{preview.total:,}"
    promises.set_yscale("symlog", linthresh=1)  # 0 has its place, too
    promises.yaxis.set_major_formatter("{x:,.0f}")
    promises.set_ylim(bottom=0)
    promises.set_ylabel(f"furthest below the true number {count:,}, {100 * preview.confidence:g} %")
    promises.set_title(f"top {count:,} of {size} candidates: promised, whatever the data", fontsize=10, loc="left")
    for axes in recalls:
        for row in preview:
            _line(axes, row, preview.recall_curve(row))
        axes.set_ylim(0, 1.02)
        axes.set_ylabel("recall: share of right items")
        axes.set_title("seen on the public stand-in", fontsize=10, loc="left")
    for axes in (promises, *recalls):
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter("{x:g}")
        axes.set_xlabel("ε of the selection")
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
    promises.legend(frameon=False, fontsize=8)
    return figure


def _line(axes: Any, row: MethodPreview, curve: list[tuple[float, float]]) -> None:
    if curve:
        colour, marker = _LINES[row.method]
        label = f"{row.method}, would run" if row.chosen else row.method
        width = 2.2 if row.chosen else 1.2
        axes.plot(*zip(*curve, strict=True), color=colour, marker=marker, markersize=3.5, linewidth=width, label=label)
