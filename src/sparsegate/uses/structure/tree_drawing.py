"""The picture of a tree of dependencies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sparsegate.display.bar_chart import new_figure
from sparsegate.display.fonts import fitting
from sparsegate.display.plain import printable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from sparsegate.uses.structure.tree_model import DependencyTree

_LONGEST = 16
_LINE, _INK, _PAPER = "#4c78a8", "#222222", "#ffffff"


def draw_tree(tree: DependencyTree) -> Figure:
    """A figure of its own: a box for each attribute, a line for each edge, with its strength."""
    places = layout(tree)
    wide, deep = 1 + max(x for x, _ in places.values()), 1 + max(y for _, y in places.values())
    figure = new_figure(max(6.0, 1.15 * wide), max(2.5, 1.15 * deep))
    draw_on(figure.add_subplot(), tree, places)
    return figure  # type: ignore[no-any-return]


def draw_on(axes: Any, tree: DependencyTree, places: dict[str, tuple[float, int]] | None = None) -> None:
    """The same, on given axes."""
    places = layout(tree) if places is None else places
    names = list(tree.columns)
    shown, families = fitting([_short(name) for name in names])
    for parent, child in tree.edges:
        (x, y), (to_x, to_y) = places[parent], places[child]
        strength = tree.strength(parent, child)
        axes.plot([x, to_x], [-y, -to_y], color=_LINE, lw=0.8 + 12 * strength, zorder=1, solid_capstyle="round")
    for name, text in zip(names, shown, strict=True):
        x, y = places[name]
        box = {"boxstyle": "round,pad=0.3", "facecolor": _PAPER, "edgecolor": _INK, "linewidth": 0.8}
        axes.text(
            x, -y, text, ha="center", va="center", fontsize=8, bbox=box, zorder=2, parse_math=False, fontfamily=families
        )
    axes.set_axis_off()
    axes.margins(0.12)


def layout(tree: DependencyTree) -> dict[str, tuple[float, int]]:
    """For each attribute its place from the left, leaves one apart, and its depth."""
    children: dict[str, list[str]] = {name: [] for name in tree.columns}
    for parent, child in tree.edges:
        children[parent].append(child)
    depth = dict.fromkeys(tree.roots, 0)
    for parent, child in tree.edges:
        depth[child] = depth[parent] + 1
    order: list[str] = []
    waiting = list(tree.roots)[::-1]
    while waiting:
        order.append(waiting.pop())
        waiting.extend(reversed(children[order[-1]]))
    left: dict[str, float] = {}
    leaves = 0
    for name in order:
        if not children[name]:
            left[name], leaves = float(leaves), leaves + 1
    for name in reversed(order):  # children stand after their parents
        if children[name]:
            left[name] = sum(left[child] for child in children[name]) / len(children[name])
    return {name: (left[name], depth[name]) for name in tree.columns}


def _short(text: str) -> str:
    shown = printable(text)
    return shown if len(shown) <= _LONGEST else shown[: _LONGEST - 1] + "…"
