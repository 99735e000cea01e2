"""Rows as scores of features take them: codes of public categories, or numbers clipped to public bounds.

Each cell is read by itself, by public numbers alone, so that a row enters every sum in a way that no other row changes;
and every cell has a reading, so that no row can raise an error: what is in no category is of one more category,
"other"; a number beyond its bounds is the bound; and what is no number (NaN, None, text) is of the bin "other", or the
middle of its bounds.

Two ways in which numpy reads a cell by others are kept out. Of a list with one text it makes text of every number: a
list is read as objects. Of a frame with one empty cell whole numbers become floats, which are the same numbers up to
2**53: no category is beyond.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from sparsegate.budget import exact_count
from sparsegate.errors import ParameterError
from sparsegate.uses.category_places import category_places
from sparsegate.uses.features.feature_scores import FINE, Integers
from sparsegate.uses.record_values import unmasked

Floats = NDArray[np.float64]
Bounds = tuple[Floats, Floats]

_NO_LIST: Final = (str, bytes, Mapping)  # their parts are no list of values
_NOT_REAL: Final = (complex, np.complexfloating, np.ndarray)  # as a float they warn, and a warning would tell of it
_EXACT: Final = 2**53  # up to here whole numbers and floats are the same numbers


def plain_table(rows: Any) -> NDArray[Any]:
    """X as an array of two dimensions. An error says what is wrong with its shape or type, and shows no cell."""
    if hasattr(rows, "tocsr"):
        raise TypeError("X must be dense: sparse data is not supported; pass X.toarray()")
    table = _cells(rows, "X")
    if table.ndim == 1 and any(isinstance(row, Sequence) and not isinstance(row, str) for row in table.tolist()):
        raise ParameterError("X", "must have rows of one length", next_step="pass a table of two dimensions")
    if table.ndim != 2:
        rule = f"must have two dimensions, rows and features; this has {table.ndim}"
        raise ParameterError("X", rule, next_step="Reshape your data with X.reshape(-1, 1) if it is one feature")
    if table.dtype.kind == "c":
        raise ParameterError("X", "must hold real values: Complex data not supported")
    if table.shape[1] == 0:
        rule = f"must have features: 0 feature(s) (shape={table.shape}) while a minimum of 1 is required."
        raise ParameterError("X", rule)
    return table


def plain_target(y: Any, rows: int) -> NDArray[Any]:
    """y as an array of one dimension, with one entry for each row."""
    if y is None:
        raise ParameterError("y", "must be given: this requires y to be passed, but the target y is None")
    target = _cells(y, "y")
    if target.ndim != 1:
        rule = f"must have one entry for each row: y should be a 1d array, this has {target.ndim} dimensions"
        raise ParameterError("y", rule, next_step="pass y.ravel()")
    if target.size != rows:
        raise ParameterError("y", "must have one entry for each row of X", next_step="look at the lengths of both")
    return target


def _cells(values: Any, parameter: str) -> NDArray[Any]:
    """What has a type of its own by that; a list cell by cell, whatever its cells are; a masked cell is None."""
    values = unmasked(values)
    try:
        return np.asarray(values, dtype=None if hasattr(values, "__array__") else object)
    except ValueError:
        raise ParameterError(parameter, "must be a table or a list that numpy can read") from None


def public_values(values: Any, parameter: str) -> tuple[Hashable, ...]:
    """The different values of a public list, in its order."""
    try:
        listed = tuple(dict.fromkeys(item.item() if isinstance(item, np.generic) else item for item in values))
        sound = bool(listed) and not isinstance(values, _NO_LIST) and all(item == item for item in listed)
        exact = not any(isinstance(item, int | float) and _EXACT <= abs(item) < math.inf for item in listed)
    except (TypeError, ValueError):
        sound = False
    if not sound:
        rule = "must be a list of one or more values that can be told apart"
        raise ParameterError(parameter, rule, values, f"pass for instance {parameter}=[0, 1]; NaN is always 'other'")
    if not exact:
        raise ParameterError(parameter, "must have numbers below 2**53", values, "write such numbers as text")
    return listed


def public_categories(categories: Any, features: int) -> list[tuple[Hashable, ...]]:
    """A list of categories for each feature, from one list for all, one for each, or m for 0 .. m-1."""
    if isinstance(categories, int | np.integer):
        return [tuple(range(exact_count(categories, "categories")))] * features
    if isinstance(categories, Iterable) and not isinstance(categories, _NO_LIST):
        listed = list(categories)
        if listed and all(isinstance(item, Iterable) and not isinstance(item, _NO_LIST) for item in listed):
            if len(listed) != features:
                rule = f"must have one list for each of the {features} features"
                raise ParameterError("categories", rule, len(listed), "or pass one list of values for all")
            return [public_values(item, "categories") for item in listed]
        categories = listed
    return [public_values(categories, "categories")] * features


def public_bounds(bounds: Any, features: int, parameter: str) -> Bounds:
    """The least and the largest value of each feature."""
    try:
        low, high = (np.broadcast_to(np.asarray(end, dtype=np.float64), (features,)) for end in bounds)
        sound = bool(np.all(np.isfinite(high - low) & (low < high)))
    except (TypeError, ValueError):
        sound = False
    if not sound:
        rule = "must be two finite public numbers, the lower first, or two lists of one for each feature"
        raise ParameterError(parameter, rule, bounds, f"pass for instance {parameter}=(0, 1)")
    return low, high


def coded(column: NDArray[Any], categories: Sequence[Hashable]) -> Integers:
    """The place of each cell among the categories, and their number where it is none of them.

    >>> coded(np.array([3.0, 1.0, np.nan]), [1, 2, 3]).tolist()
    [2, 0, 3]
    """
    return category_places(column, categories, other=len(categories))


def check_type(held: NDArray[Any], listed: Sequence[Hashable], parameter: str) -> None:
    """Refuse an array whose type has none of the values: every cell would be "other", and the release worth nothing.

    The type of the array alone decides: what the cells of objects are is private.
    """
    texts = sum(isinstance(value, str) for value in listed)
    if (held.dtype.kind in "biuf" and texts == len(listed)) or (held.dtype.kind == "U" and not texts):
        kind = "text" if texts == 0 else "numbers"  # not the type's name, which has the length of the longest text
        raise ParameterError(parameter, f"must have {kind}, as the cells are {kind}", next_step="cast one of the two")


def numbers(table: NDArray[Any]) -> Floats:
    """Every cell as a float, and NaN for what is none."""
    if table.dtype.kind in "biuf":
        with np.errstate(all="ignore"):  # a wider float may be beyond all of these, and a warning would tell of it
            return table.astype(np.float64)
    return np.array([_number(cell) for cell in table.ravel().tolist()], dtype=np.float64).reshape(table.shape)


def _number(cell: Any) -> float:
    try:
        return math.nan if isinstance(cell, _NOT_REAL) else float(cell)
    except Exception:
        return math.nan


def _unit(table: Floats, bounds: Bounds) -> Floats:
    """Each number clipped to its bounds, which go to 0 and 1; NaN stays."""
    low, high = bounds
    spread: Floats = (np.clip(table, low, high) - low) / (high - low)
    return spread


def binned(table: Floats, bounds: Bounds, bins: int) -> Integers:
    """The number of the bin, of ``bins`` equal ones between the bounds, and ``bins`` for NaN.

    >>> binned(np.array([[-9.0], [0.5], [9.0], [np.nan]]), (np.zeros(1), np.ones(1)), 4).ravel().tolist()
    [0, 2, 3, 4]
    """
    unit = _unit(table, bounds)
    return np.where(np.isnan(unit), bins, np.minimum(np.nan_to_num(unit) * bins, bins - 1)).astype(np.int64)


def clipped(table: Floats, bounds: Bounds) -> Integers:
    """Steps from the middle of the bounds, which are at -1024 and 1024; NaN is the middle.

    >>> clipped(np.array([[-9.0], [0.75], [np.nan]]), (np.zeros(1), np.ones(1))).ravel().tolist()
    [-1024, 512, 0]
    """
    return np.rint(np.nan_to_num((2 * _unit(table, bounds) - 1) * FINE)).astype(np.int64)
