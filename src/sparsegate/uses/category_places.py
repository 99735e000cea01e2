"""The place of a value in a public list: how a cell of a category is read, cell by cell.

Every cell has a place: what is in no list (a null, a word among numbers, a list) takes the place that was named for the
others. So a cell enters a count in a way that no other cell changes, and no error depends on what one holds.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


def category_places(cells: Any, categories: Sequence[Hashable], *, other: int) -> NDArray[np.int64]:
    """The place of each cell among the categories, and ``other`` where it is none of them.

    >>> category_places(np.array([3.0, 1.0, np.nan]), [1, 2, 3], other=3).tolist()
    [2, 0, 3]
    >>> category_places(["b", None, ["b"]], ["a", "b"], other=0).tolist()
    [1, 0, 0]
    """
    places = {value: place for place, value in enumerate(categories)}
    if isinstance(cells, np.ndarray) and cells.dtype.kind in "biuf" and not np.ma.isMaskedArray(cells):
        distinct, which = np.unique(cells, return_inverse=True)
        return np.array([places.get(value, other) for value in distinct.tolist()], dtype=np.int64)[which]
    held = cells.tolist() if isinstance(cells, np.ndarray) else cells
    return np.fromiter((_place(places, cell, other) for cell in held), dtype=np.int64, count=len(held))


def _place(places: Mapping[Hashable, int], cell: Any, other: int) -> int:
    try:
        return places.get(cell, other)
    except Exception:  # what has no hash, or will not be compared, is in no list; an error would tell of it
        return other
