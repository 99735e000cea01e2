"""One value for each record, on a public range, in whole steps: what a sum over private records is made of.

A record's value v is clamped to the public range from low to high and rounded to whole steps, x = round(``STEPS`` (v -
low) / (high - low)), by itself: x is a function of that record alone, from 0 to ``STEPS``. So one record more or less
moves the sum of the x by at most ``STEPS``, exactly. A sum of floats would not do: its rounding depends on all records.

No value is refused, because an error would tell of a record: NaN, and a gap (None, NA, a masked cell), are at the lower
end, and what no float holds is clamped before it is one. A type is refused, and a shape, without a word of what it
held. What is no number among numbers is of another type, and refused as well.

A cell of a category is read as its place in a public list. Every cell has one: what is in no list (a null, a word among
numbers, a list) takes the place that was named for the others. So a cell enters a count in a way that no other cell
changes, and no error depends on what one holds.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Final, NoReturn

import numpy as np
from numpy.typing import NDArray

from sparsegate.budget import Number
from sparsegate.errors import ParameterError
from sparsegate.gates.lattice import exact_number

STEPS: Final = 1 << 20  # the range of one record, in steps of about a millionth: one record moves a sum by at most this
_LARGEST: Final = 10**300  # of an end of the range: differences of floats stay finite
_GAPS: Final = ("NoneType", "NAType", "NaTType")  # how columns spell a value that is not there
_NUMBERS: Final = bool | int | float | np.bool_ | np.integer | np.floating | Fraction


def public_range(low: Number, high: Number) -> tuple[float, float]:
    """The public range of one record's value, checked."""
    ends = exact_number(low), exact_number(high)
    finite = [end for end in ends if end is not None and abs(end) < _LARGEST]
    if len(finite) < 2 or not float(finite[0]) < float(finite[1]):
        rule = "and high must be finite numbers, the range of a record's value, low below high"
        raise ParameterError("low", rule, (low, high), "pass for instance low=0, high=1")
    return float(finite[0]), float(finite[1])


def record_steps(values: Any, parameter: str, *, low: float, high: float) -> NDArray[np.int64]:
    """The place of each record's value in the range, in whole steps."""
    try:
        array = np.asarray(unmasked(values))
    except ValueError:  # ragged nesting
        array = np.empty((0, 0))
    if array.ndim == 1 and array.dtype.kind == "O":
        # This order of arguments takes NaN to the lower end.
        plain = [float(min(max(low, _plain(value, parameter)), high)) for value in array.tolist()]
        array = np.array(plain, dtype=np.float64)
    if array.ndim != 1 or array.dtype.kind not in "biuf":
        _refuse(parameter)
    with np.errstate(over="ignore"):  # of long doubles: a warning would tell of a value
        numbers = array.astype(np.float64)
    clamped = np.fmin(np.fmax(numbers, low), high)  # NaN goes to the lower end
    return np.rint((clamped - low) / (high - low) * STEPS).astype(np.int64)


def unmasked(values: Any) -> Any:
    """An array in which masked cells are None, a gap: what lies under a mask was not meant."""
    if not isinstance(values, np.ma.MaskedArray):
        return values
    plain = np.array(np.ma.getdata(values), dtype=object)
    plain[np.ma.getmaskarray(values)] = None
    return plain


def _plain(value: Any, parameter: str) -> Any:
    """A value of a column of objects."""
    if type(value).__name__ in _GAPS:
        return math.nan
    if not isinstance(value, _NUMBERS):
        _refuse(parameter)
    return value


def _refuse(parameter: str) -> NoReturn:
    rule = "must be one number or truth value for each record"
    raise ParameterError(parameter, rule, next_step="pass a flat array, for instance predicted == true")


Integers = NDArray[np.int64]

_FITS: Final = 2**31  # rows up to which 2 n**2 fits 64 bits


def contingency(values: Integers, classes: Integers, *, shape: tuple[int, int]) -> Integers:
    """How many rows have each value and class: ``values`` in 0..shape[0]-1, ``classes`` in 0..shape[1]-1."""
    cells = np.bincount(values * shape[1] + classes, minlength=shape[0] * shape[1])
    return cells.reshape(shape).astype(np.int64)


def distance_from_independence(counts: Integers) -> int:
    """n S, exactly, where S is the sum of abs(c(x, y) - r(x) s(y) / n) over the cells of n rows with marginals r and s.

    **Theorem.** One row more moves S by less than 4. *Proof.* Let M be the matrix in the bars, p = r/n, q = s/n and e a
    unit vector. A new row in the cell (x, y) makes of the outer product n p q' that of (n p + e_x) and (n q + e_y),
    over n + 1; collecting terms, M moves by n/(n+1) (e_x - p)(e_y - q)'. A matrix of rank one has as sum of absolute
    entries |e_x - p|_1 |e_y - q|_1 = 2 (1 - p_x) 2 (1 - q_y) <= 4. From n = 0 to one row S stays 0. []

    The bound is the best: all moves may have the signs of M (two categories each, n - 1 rows (x, y), one row (a, b),
    and that row once more), and then S moves by as near to 4 as one likes.
    """
    n = int(counts.sum())
    exact = counts if n < _FITS else counts.astype(object)
    return int(np.abs(n * exact - np.multiply.outer(exact.sum(axis=1), exact.sum(axis=0))).sum())


def category_places(cells: Any, categories: Sequence[Hashable], *, other: int) -> NDArray[np.int64]:
    """The place of each cell among the categories, and ``other`` where it is none of them."""
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
