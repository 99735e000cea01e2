"""One value for each record, on a public range, in whole steps: what a sum over private records is made of.

A record's value v is clamped to the public range from low to high and rounded to whole steps, x = round(``STEPS`` (v -
low) / (high - low)), by itself: x is a function of that record alone, from 0 to ``STEPS``. So one record more or less
moves the sum of the x by at most ``STEPS``, exactly. A sum of floats would not do: its rounding depends on all records.

No value is refused, because an error would tell of a record: NaN, and a gap (None, NA, a masked cell), are at the lower
end, and what no float holds is clamped before it is one. A type is refused, and a shape, without a word of what it
held. What is no number among numbers is of another type, and refused as well.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, Final, NoReturn

import numpy as np
from numpy.typing import NDArray

from sparsegate.budget import Number
from sparsegate.errors import ParameterError
from sparsegate.mechanisms.lattice import exact_number

STEPS: Final = 1 << 20
"""The range of one record, in steps of about a millionth: one record moves a sum by at most this."""

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
    """The place of each record's value in the range, in whole steps.

    >>> record_steps([True, 0.25, None, 7], "values", low=0, high=1).tolist()
    [1048576, 262144, 0, 1048576]
    """
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
