"""How many people are in each cell of a public domain, counted in the table's own engine: each person in one cell.

A row lies in a cell where each of its columns holds a public category; other rows, also those with a null, lie in none.
A person with rows in several cells counts in the first of them, in the order in which the categories were listed; or,
where one cell for each is required, in none.

*Theorem.* Adding or removing one person, with all their rows, moves one cell by one, or none. *Proof.* Either rule
looks at the least and the largest of the cells of that person's own rows, at public lists and at a public choice of
the rule: so everybody else stays where they were, and this person is in one cell or in none. [] Nothing is refused
because of what rows hold: a refusal would tell that somebody has such rows.
"""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np

from sparsegate.errors import ParameterError
from sparsegate.tables.columns import as_labels, read_columns
from sparsegate.tables.engines.engine import Engine, Frame
from sparsegate.tables.label_kinds import FLOAT, Cell
from sparsegate.tables.online.categories import Cells, Integers


def count_cells(engine: Engine, cells: Cells, user: str | None, *, only_one: bool = False) -> Integers:
    """The number of people in each cell; private. ``user`` None: every row is another person.

    ``only_one``: whoever has rows in several cells is in none of them.
    """
    rows, written = _read(engine, cells, user)
    cell, stride = None, cells.size
    for place, labels in enumerate(written):
        stride //= len(labels)
        codes: dict[str, Any] = {f"c{place}": labels, f"k{place}": [code * stride for code in range(len(labels))]}
        rows = rows.join(engine.bring(codes), on=f"c{place}", how="inner")
        cell = nw.col(f"k{place}") if cell is None else cell + nw.col(f"k{place}")
    assert cell is not None
    rows = rows.with_columns(cell.alias("cell"))
    if user is not None:
        last = [nw.col("cell").max().alias("last")] if only_one else []
        rows = rows.group_by("user").agg(nw.col("cell").min(), *last)
        if only_one:
            rows = rows.filter(nw.col("cell") == nw.col("last"))
    counted = engine.rows(rows.group_by("cell").agg(nw.len().alias("people")))
    histogram = np.zeros(cells.size, dtype=np.int64)
    for index, people in counted:
        histogram[int(index)] = int(people)
    return histogram


def _read(engine: Engine, cells: Cells, user: str | None) -> tuple[Frame, list[list[Cell]]]:
    """The columns as c0, c1, ... and "user", without nulls; and the categories as they are written there."""
    kinds, written = [], []
    for name, labels in zip(cells.names, cells.categories, strict=True):
        _, kind = read_columns(engine, name, user)  # for its checks of names and types
        try:
            found = kind.cells(labels, "columns")
        except ParameterError:
            found = {}
        if len(found) < len(labels):
            rule = f"must list {kind} as categories of {name!r}, as the table's column holds, each of them once"
            raise ParameterError("columns", rule, list(labels), "cast one of the two")
        kinds.append(kind)
        written.append(list(found))
    rows = _without_nulls(engine, {f"c{place}": name for place, name in enumerate(cells.names)}, user)
    for place, kind in enumerate(kinds):
        rows = as_labels(engine, rows, kind, f"c{place}")
    return rows, written


def _without_nulls(engine: Engine, named: dict[str, str], user: str | None) -> Frame:
    if user is None:
        return engine.select(named).drop_nulls()
    rows = engine.select(named | {"user": user}).drop_nulls()
    floats = rows.collect_schema()["user"].is_float()
    return engine.cells(rows, "user", FLOAT).drop_nulls() if floats else rows
