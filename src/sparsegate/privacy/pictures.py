"""The picture of what every row leaks as questions are asked, computed from closed forms; nothing is sampled."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sparsegate.budget import Number, exact_epsilon
from sparsegate.display.charts import new_figure
from sparsegate.errors import ParameterError
from sparsegate.gates.bounds import tight_epsilon
from sparsegate.gates.variants import VARIANTS

QUESTIONS = (1, 2, 3, 4, 5, 6, 8, 10, 13, 16, 20, 25, 32, 40, 50, 64, 80, 100)

# Colours of Okabe and Ito and some that go with them, told apart without colour vision and in print. A row takes the
# pair at its place in the table; as 16 and 15 have no common factor, 240 rows have different pairs.
_COLOURS = (
    *("#009E73", "#0072B2", "#56B4E9", "#D55E00", "#CC79A7", "#000000"),
    *("#E69F00", "#661100", "#8C510A", "#888888", "#44AA99", "#332288"),
    *("#999933", "#882255", "#DDCC77", "#117733"),
)
_MARKERS = ("^", "o", "s", "v", "D", "*", "P", "+", "<", "x", "1", ">", "h", "2", "p")


def line_style(place: int) -> dict[str, str]:
    """The colour and the marker of the row at this place of the table."""
    return {"color": _COLOURS[place % len(_COLOURS)], "marker": _MARKERS[place % len(_MARKERS)]}


def draw_losses(path: str | Path, *, cutoff: int, epsilon: Number, monotonic: bool = False) -> None:
    """The tight loss of every row against the number of questions; solid where the claim of epsilon-DP is true."""
    figure = new_figure(9, 4.6)
    axes = figure.add_subplot()
    small: dict[str, Any] = {"textcoords": "offset points", "fontsize": 8}
    options: dict[str, Any] = {"cutoff": cutoff, "epsilon": epsilon, "monotonic": monotonic}
    losses = {key: [tight_epsilon(key, queries=n, **options) for n in QUESTIONS] for key in VARIANTS}
    for place, row in enumerate(VARIANTS.values()):
        finite = [(n, loss) for n, loss in zip(QUESTIONS, losses[row.key], strict=True) if loss < float("inf")]
        covered_by = sum(losses[key] == losses[row.key] for key in list(VARIANTS)[place + 1 :])
        style = line_style(place)
        axes.plot(
            *zip(*finite, strict=True),
            "-" if row.private else "--",
            markersize=4,
            label=f"{row.key} ({row.algorithm})",
            linewidth=1.6 * (1 + covered_by),  # so that lines that coincide are all seen
            **style,
        )
        if len(finite) < len(QUESTIONS):
            axes.annotate(
                f"{row.algorithm}: ∞ from question {finite[-1][0] + 1} on",
                finite[-1],
                (8, 80),
                color=style["color"],
                **small,
                arrowprops={"arrowstyle": "<-", "color": style["color"]},
            )
    claimed = float(exact_epsilon(epsilon))
    axes.axhline(claimed, color="grey", linewidth=0.8)
    axes.annotate(f"claimed: ε = {claimed:g}", (QUESTIONS[-1], claimed), (0, 4), ha="right", color="grey", **small)
    axes.set(xscale="log", yscale="log", xlabel="questions asked", ylabel="privacy loss, worst case (exact)")
    kind = "monotonic queries" if monotonic else "any queries"
    axes.set_title(f"What each variant leaks when it claims ε = {claimed:g} (cutoff {cutoff}, {kind})", fontsize=10)
    axes.set_xticks([1, 2, 5, 10, 20, 50, 100], labels=["1", "2", "5", "10", "20", "50", "100"])
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter("")
    axes.tick_params(which="minor", bottom=False)
    legend = {"loc": "upper left", "bbox_to_anchor": (1, 1), "title": "solid: private, dashed: not"}
    axes.legend(fontsize=8, title_fontsize=8, frameon=False, **legend)
    try:
        figure.savefig(path, dpi=130)
    except (OSError, ValueError) as error:
        rule = "must be a file that can be written, ending in .png, .svg or .pdf"
        raise ParameterError("plot", rule, str(path), "choose another path") from error
