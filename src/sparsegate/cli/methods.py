"""`sparsegate methods`: what `reproduce` and `compare` can run, by key: ours, and what other packages bring."""

from __future__ import annotations

from sparsegate.cli.options import AsJson
from sparsegate.cli.printing import grid, print_json, print_plain
from sparsegate.paper.methods import DEFAULT_METHODS, METHODS, installed, package

LEGEND = """
*  run by `sparsegate reproduce` unless --methods says otherwise
sees  one item after the other (a gate), or all of them at once

A method of your own is anything with select(scores, count, epsilon, rng), and a
package may bring some: docs/how-to/methods.md has a template."""


def methods(as_json: AsJson = False) -> None:
    """The methods of the evaluation, and those of installed packages."""
    theirs = [(key, point) for key, points in installed().items() for point in points]
    if as_json:
        ours = [
            {"key": key, "title": row.title, "interactive": row.interactive, "package": None, "source": None}
            for key, row in METHODS.items()
        ]
        unknown = {"title": None, "interactive": None}  # nothing is imported for a list
        others = [{"key": key, **unknown, "package": package(point), "source": point.value} for key, point in theirs]
        print_json([*ours, *others], schema="method")
        return
    table = grid("key", "", "method", "sees")
    for key, row in METHODS.items():
        table.add_row(key, "*" if key in DEFAULT_METHODS else "", row.title, "one" if row.interactive else "all")
    for key, point in theirs:
        hidden = ": hidden, the key is ours" if key in METHODS else ""
        table.add_row(key, "", f"{point.value}, {package(point)}{hidden}", "")
    print_plain(table, LEGEND)
