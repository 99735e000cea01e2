"""The integer lattice a private run lives on, fixed from public numbers before any data is seen.

Answers, thresholds and noise are whole numbers of steps g; comparisons are integer comparisons. Integer gates have g =
1. Float answers are rounded down to the largest power of two g <= Delta/1024. Every noise scale is computed from the
lattice sensitivity ceil(Delta/g), so the guarantee holds for the rounded answers exactly.

**No private value is refused**: only its type, since a refusal is free and would tell the value. floor(x/g) is clamped
to [-LIMIT, LIMIT], and NaN, or a gap in a column, is read at -LIMIT. *Theorem.* That is monotone, and takes two numbers
at most Delta apart to places at most ceil(Delta/g) apart; where one person moves d numbers by Delta in all,
ceil(Delta/g) + d - 1 steps. The proof, and the two promises that stay with the caller:
docs/explanation/proofs_in_words/core.md.
"""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass, field
from fractions import Fraction
from numbers import Rational
from typing import Any, NoReturn, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sparsegate.budget import Number
from sparsegate.errors import ParameterError

LIMIT = 2**61
"""Answers and thresholds lie within this many steps of zero, so that sums with noise below 2**62 fit int64."""

_FINENESS = 1024
_LARGEST = float(np.finfo(np.float64).max)


@dataclass(frozen=True, kw_only=True)
class Lattice:
    """Steps of size ``granularity`` = 2**exponent; ``sensitivity`` is ceil(Delta / granularity) steps."""

    exponent: int
    sensitivity: int
    integers: bool
    largest: float = field(init=False, repr=False)
    """The largest float whose place is not clamped, or the largest of all."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "largest", 2.0 ** (61 + self.exponent) if self.exponent <= 962 else _LARGEST)

    @property
    def granularity(self) -> Fraction:
        """The step g, a power of two."""
        return Fraction(2) ** self.exponent

    @classmethod
    def fit(
        cls, *, sensitivity: Number, threshold: object = 0, granularity: Number | None = None, entries: int = 1
    ) -> Lattice:
        """Choose the lattice: whole numbers where sensitivity and threshold are ints, else steps of at most Delta/1024.

        With ``entries``, that of this many numbers which one person moves by ``sensitivity`` in all.
        """
        delta = exact_number(sensitivity)
        if delta is None or delta <= 0:
            hint = "pass how much one person can move an answer: 1 for counts"
            raise ParameterError("sensitivity", "must be a positive finite number", sensitivity, hint)
        integers = granularity is None and _whole(sensitivity) and _whole(threshold)
        if integers:
            exponent = 0
        elif granularity is None:
            exponent = _floor_log2(delta / (_FINENESS * entries))
        else:
            step = exact_number(granularity)
            if step is None or step <= 0 or Fraction(2) ** _floor_log2(step) != step:
                hint = "pass for instance granularity=1 or 2**-10"
                raise ParameterError("granularity", "must be a power of two", granularity, hint)
            exponent = _floor_log2(step)
        if not -1000 <= exponent <= 1000:
            rule = "must lie between 2**-990 and 2**990"
            raise ParameterError("sensitivity", rule, sensitivity, "rescale the answers")
        steps = math.ceil(delta / Fraction(2) ** exponent) + (0 if integers else entries - 1)
        return cls(exponent=exponent, sensitivity=steps, integers=integers)

    def private_steps(self, value: Any, parameter: str = "answer") -> int:
        """The place of one private number: only its type can be refused, and the error does not show it."""
        if type(value) is not float:
            value = plain_number(value)
            if type(value) is not float:
                if type(value) is int:
                    steps = value >> self.exponent if self.exponent >= 0 else value << -self.exponent
                elif self.integers or value is None:
                    self._refuse_type(parameter)
                else:
                    steps = math.floor(value / self.granularity)
                return max(-LIMIT, min(LIMIT, steps))
        if self.integers:
            self._refuse_type(parameter)
        # This order of arguments takes NaN to the lower end.
        clamped = min(max(-self.largest, value), self.largest)
        scaled = math.ldexp(clamped, -self.exponent)
        return math.floor(scaled) - (scaled == 0 > clamped)  # what a coarse lattice underflowed still rounds down

    def private_steps_many(self, values: ArrayLike, parameter: str = "answers") -> NDArray[np.int64]:
        """The places of private numbers, each the one that ``private_steps`` gives it."""
        array = exact_array(values, parameter)
        if array.dtype.kind == "O":
            return np.array([self.private_steps(value, parameter) for value in array.tolist()], dtype=np.int64)
        if array.dtype.kind == "f" and self.integers and array.size:
            self._refuse_type(parameter)
        return self._places(array)

    def steps(self, value: Any, parameter: str = "threshold") -> int:
        """The place of one public number, which is refused where it has none."""
        if type(value) is float and not self.integers and -self.largest <= value <= self.largest:
            return self.private_steps(value)
        exact = exact_number(value)
        if exact is None:
            raise ParameterError(parameter, "must be a finite number", next_step="convert it to int or float")
        if self.integers and exact.denominator != 1:
            self._refuse_type(parameter)
        steps = math.floor(exact / self.granularity)
        if not -LIMIT <= steps <= LIMIT:
            rule = "must lie within 2**61 lattice steps of zero"
            raise ParameterError(parameter, rule, next_step="use a coarser granularity")
        return steps

    def steps_many(self, values: ArrayLike, parameter: str = "thresholds") -> NDArray[np.int64]:
        """The places of public numbers; all are checked before anything is returned."""
        array = exact_array(values, parameter)
        if array.dtype.kind == "f":
            with np.errstate(invalid="ignore"):
                placed = (np.abs(array) <= self.largest) & ((np.floor(array) == array) | (not self.integers))
            unplaced = array[~placed]
        elif array.dtype.kind in "iu":
            room = LIMIT << self.exponent if self.exponent >= 0 else LIMIT >> -self.exponent
            unplaced = array[(array > room) | (array < -room)]
        else:
            return np.array([self.steps(value, parameter) for value in array.tolist()], dtype=np.int64)
        if unplaced.size:
            self.steps(unplaced[0], parameter)  # says what is wrong with it
        return self._places(array)

    def _places(self, array: NDArray[Any]) -> NDArray[np.int64]:
        if array.dtype.kind == "f":
            with np.errstate(invalid="ignore", under="ignore"):
                clamped = np.fmin(np.fmax(array, -self.largest), self.largest)  # NaN goes to the lower end
                scaled = np.ldexp(clamped, -self.exponent)
            places = np.floor(scaled)
            places -= (scaled == 0) & (clamped < 0)  # what a coarse lattice underflowed still rounds down
            return cast("NDArray[np.int64]", places.astype(np.int64))
        if self.exponent > 0:
            array = np.right_shift(array, array.dtype.type(min(self.exponent, 63)))  # arithmetic: rounds down
            if self.exponent > 63 and array.dtype.kind == "u":
                array = np.zeros_like(array)
        fine = min(max(-self.exponent, 0), 61)
        room = LIMIT >> fine
        steps: NDArray[np.int64] = np.clip(array, -room if array.dtype.kind == "i" else 0, room)
        steps = steps.astype(np.int64, copy=False)  # np.clip made an array of its own: what follows may write to it
        return np.left_shift(steps, fine, out=steps) if fine else steps

    def _refuse_type(self, parameter: str) -> NoReturn:
        if self.integers:
            rule = "must be a whole number, an int by its type, where the sensitivity is one"
            hint = "convert it to int, or pass a float sensitivity (sensitivity=1.0) or a granularity="
            raise ParameterError(parameter, rule, next_step=hint)
        raise ParameterError(parameter, "must be a number", next_step="convert it to int or float")

    def value(self, steps: int) -> int | float:
        """The number ``steps`` steps from zero; beyond all floats the largest: an error would tell where it was."""
        top = Fraction(_LARGEST)
        return steps if self.integers else float(max(-top, min(top, steps * self.granularity)))

    def values(self, steps: NDArray[np.int64]) -> NDArray[np.int64] | NDArray[np.float64]:
        """The same for an array."""
        if self.integers:
            return steps
        with np.errstate(over="ignore"):
            return np.clip(np.ldexp(steps.astype(np.float64), self.exponent), -_LARGEST, _LARGEST)


def _whole(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def plain_number(value: object) -> Any:
    """A number as an int, a float or a Fraction, of the same value; None for any other type."""
    if isinstance(value, np.generic):
        # A long double does not fit a float; a date and a truth value are no numbers.
        return value.item() if value.dtype.kind in "iuf" and value.dtype.itemsize <= 8 else None
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        # Not int(value): what a subclass says of itself may be another number, or an error.
        return int.__index__(value) if isinstance(value, int) else float.__float__(value)
    return Fraction(value) if isinstance(value, Rational) else None


def exact_array(values: ArrayLike, parameter: str) -> NDArray[Any]:
    """Numbers as int64, uint64 or float64 without rounding, as numpy would [2**53 + 1, 3.0]; else as objects."""
    if isinstance(values, list | tuple):
        kinds = set(map(type, values))
        if kinds <= {float}:
            return np.array(values, dtype=np.float64)
        if kinds == {int}:
            with contextlib.suppress(OverflowError):
                return np.array(values, dtype=np.int64)
        array = np.fromiter(values, dtype=object, count=len(values))
        if any(issubclass(kind, list | tuple | np.ndarray) for kind in kinds):
            array = array.reshape(-1, 1)
    else:
        try:
            array = _column(values)
        except (ValueError, OverflowError):  # ragged nesting
            array = np.empty((0, 0))
    if array.ndim != 1:
        raise ParameterError(parameter, "must be one-dimensional", next_step="pass a flat sequence of numbers")
    if array.dtype.kind == "O" or array.dtype == np.uint64:
        return array
    for kind, target in (("iu", np.int64), ("f", np.float64)):
        if array.dtype.kind in kind and array.dtype.itemsize <= 8:
            return array.astype(target, copy=False)
    return np.full(array.size, None)  # no numbers, and refused like any other object: with a gap they would be some


def _column(values: Any) -> NDArray[Any]:
    """An array, or a column of pandas, Polars or PyArrow, whose gaps are read as NaN is: below all numbers.

    numpy would make floats of whole numbers, rounded, where there is a gap and only there: one empty group would move
    the answers of all the others, and an integer gate would refuse them.
    """
    for gaps, fill in (("is_null", "fill_null"), ("isna", "fillna")):
        if hasattr(values, gaps) and np.asarray(values[:0]).dtype.kind in "iuf":  # by type alone
            array = np.asarray(getattr(values, fill)(0))
            if array.dtype.kind != "f" and array.dtype != np.uint64:
                array = array.astype(np.int64)
            below = {"i": -(2**63), "u": 0, "f": np.nan}[array.dtype.kind]
            return np.where(np.asarray(getattr(values, gaps)()), array.dtype.type(below), array)
    # Of a deque or the like the objects themselves: for them, as for a list, numpy would choose a type and round.
    return np.asarray(values, dtype=None if hasattr(values, "__array__") else object)


def exact_number(value: object) -> Fraction | None:
    """A number at its exact value, None where it is none or not finite: data are not decimals, as an epsilon is."""
    plain = plain_number(value)
    try:
        return None if plain is None else Fraction(plain)
    except (ValueError, OverflowError):
        return None


def _floor_log2(x: Fraction) -> int:
    guess = x.numerator.bit_length() - x.denominator.bit_length()
    return guess if Fraction(2) ** guess <= x else guess - 1
