"""Counts of small tables as a release has them, and the check that they are counts of people."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import duckdb
import pandas
import polars
import pyarrow

from sparsegate.noise import Seeded
from sparsegate.tables.top import top_items
from sparsegate.tables.workspace import Workspace

Visit: TypeAlias = tuple[str, Any]
"""A page, and who saw it, in one of the ways to write that person."""

PAGES = ["a", "b", "c"]
TYPED_ENGINES: dict[str, Callable[[pyarrow.Table], Any]] = {
    "pyarrow": lambda table: table,
    "pandas": lambda table: table.to_pandas(types_mapper=pandas.ArrowDtype),
    "pandas-numpy": lambda table: table.to_pandas(),
    "polars": polars.from_arrow,
    "duckdb": lambda table: duckdb.connect().from_arrow(table),
}
"""What a table of typed columns may be in."""


def counts(native: Any, user: str | None = "visitor", **options: Any) -> dict[Any, int]:
    """The count of every page as the release has it, with noise that is zero but for one in exp(1000)."""
    asked: dict[str, Any] = {"item": "page", "user": user, "count": 3, "domain": PAGES} | options
    asked = {"epsilon": 1000, "answers_epsilon": 1000 * asked["count"]} | asked
    release = top_items(native, **asked, source=Seeded(1), not_private=True)
    assert release.estimates is not None
    return dict(zip(release.items, map(int, release.estimates), strict=True))


def check_counts(
    rows: Sequence[Visit], counted: Callable[[Sequence[Visit]], dict[Any, int]], who: Sequence[Hashable]
) -> None:
    """Each count is its number of classes, and the class of the first row takes at most one from each when it goes.

    ``who`` has the class of each row, None for nobody's.
    """
    full = counted(rows)
    for page in PAGES:
        assert full[page] == len({key for (where, _), key in zip(rows, who, strict=True) if where == page} - {None})
    left = counted([row for row, key in zip(rows, who, strict=True) if key is None or key != who[0]])
    assert all(0 <= full[page] - left[page] <= 1 for page in PAGES)


def counted_in(file: Path, **options: Any) -> dict[Any, int]:
    with Workspace() as workspace:
        opened = workspace.open([str(file)], columns=["page", "visitor"], user="visitor", **options)
        return counts(opened, workspace.people or "visitor")
