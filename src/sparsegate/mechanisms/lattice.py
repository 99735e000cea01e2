"""The integer lattice a private run lives on, fixed from public numbers before any data is seen.

Answers, thresholds and noise are whole numbers of steps g; comparisons are integer comparisons. Integer gates have
g = 1. Float answers are rounded down to the largest power of two g <= Delta/1024: rounding down is monotone, so
monotonic queries stay monotonic, and two answers at most Delta apart land at most ceil(Delta/g) steps apart. That
lattice sensitivity is what every noise scale is computed from, so the guarantee holds for the rounded answers
exactly. Multiplying by a power of two is exact in floating point, so no answer is ever rounded twice.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from numbers import Rational
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sparsegate.budget import Number
from sparsegate.errors import ParameterError

LIMIT = 2**61
"""Answers and thresholds lie within this many steps of zero, so that sums with noise below 2**62 fit int64."""

_FINENESS = 1024
_SMALL = 2.0**62


@dataclass(frozen=True, kw_only=True)
class Lattice:
    """Steps of size ``granularity`` = 2**exponent; ``sensitivity`` is ceil(Delta / granularity) steps."""

    exponent: int
    sensitivity: int
    integers: bool

    @property
    def granularity(self) -> Fraction:
        """The step g, a power of two."""
        return Fraction(2) ** self.exponent

    @classmethod
    def fit(cls, *, sensitivity: Number, threshold: object = 0, granularity: Number | None = None) -> Lattice:
        """Choose the lattice: whole numbers where sensitivity and threshold are ints, else steps of at most Delta/1024.

        >>> Lattice.fit(sensitivity=1, threshold=1000)
        Lattice(exponent=0, sensitivity=1, integers=True)
        >>> Lattice.fit(sensitivity=0.5).granularity
        Fraction(1, 2048)
        """
        delta = exact_number(sensitivity)
        if delta is None or delta <= 0:
            raise ParameterError(
                "sensitivity",
                "must be a positive finite number",
                sensitivity,
                "pass how much one person can move an answer: 1 for counts",
            )
        integers = granularity is None and _whole(sensitivity) and _whole(threshold)
        if integers:
            exponent = 0
        elif granularity is None:
            exponent = _floor_log2(delta / _FINENESS)
        else:
            step = exact_number(granularity)
            if step is None or step <= 0 or Fraction(2) ** _floor_log2(step) != step:
                raise ParameterError(
                    "granularity", "must be a power of two", granularity, "pass for instance granularity=1 or 2**-10"
                )
            exponent = _floor_log2(step)
        if not -1000 <= exponent <= 1000:
            raise ParameterError(
                "sensitivity", "must lie between 2**-990 and 2**990", sensitivity, "rescale the answers"
            )
        return cls(
            exponent=exponent,
            sensitivity=math.ceil(delta / Fraction(2) ** exponent),
            integers=integers,
        )

    def steps(self, value: Any, parameter: str = "answer") -> int:
        """Round one number down to the lattice. The error never shows the value: an answer is private."""
        steps = self._floor(value, parameter)
        self._check_range(-LIMIT <= steps <= LIMIT, parameter)
        return steps

    def _floor(self, value: Any, parameter: str) -> int:
        if type(value) is int:
            return value >> self.exponent if self.exponent >= 0 else value << -self.exponent
        if type(value) is not float:
            if isinstance(value, np.generic):
                value = value.item()
            if isinstance(value, bool) or not isinstance(value, int | float | Rational):
                raise ParameterError(parameter, "must be a number", next_step="convert it to int or float")
        if isinstance(value, float):
            if not math.isfinite(value):
                raise ParameterError(parameter, "must be finite", next_step="replace NaN and infinity before asking")
            if -_SMALL < value < _SMALL and -900 <= self.exponent <= 0:
                # Neither overflow nor underflow: the product with a power of two is exact.
                steps = math.floor(math.ldexp(value, -self.exponent))
                self._check_whole(not self.integers or steps == value, parameter)
                return steps
        exact = Fraction(value)
        self._check_whole(not self.integers or exact.denominator == 1, parameter)
        return math.floor(exact / self.granularity)

    def steps_many(self, values: ArrayLike, parameter: str = "answers") -> NDArray[np.int64]:
        """Round an array down to the lattice; the whole array is checked before anything is returned."""
        try:
            array = np.asarray(values)
        except ValueError:  # ragged nesting
            array = np.empty((0, 0))
        if array.ndim != 1:
            raise ParameterError(parameter, "must be one-dimensional", next_step="pass a flat sequence of numbers")
        if array.dtype.kind == "O" or (array.dtype.kind == "u" and array.dtype.itemsize == 8):
            return np.array([self.steps(v, parameter) for v in array.tolist()], dtype=np.int64)
        if array.dtype.kind in "iu":
            return self._integer_steps(array.astype(np.int64, copy=False), parameter)
        if array.dtype.kind != "f":
            if array.size == 0:
                return np.empty(0, dtype=np.int64)
            raise ParameterError(parameter, "must be numbers", next_step="convert them to int or float")
        # A product with a power of two is exact; where it overflows to infinity the range check below refuses it.
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            scaled = np.ldexp(array.astype(np.float64, copy=False), -self.exponent)
        finite = np.isfinite(array)
        if not finite.all():
            raise ParameterError(parameter, "must be finite", next_step="replace NaN and infinity before asking")
        floored = np.floor(scaled)
        floored[(array < 0) & (floored == 0)] = -1  # what a coarse lattice underflowed to zero still rounds down
        self._check_whole(not self.integers or bool((floored == array).all()), parameter)
        self._check_range(bool((np.abs(floored) <= LIMIT).all()), parameter)
        return floored.astype(np.int64)

    def _integer_steps(self, array: NDArray[np.int64], parameter: str) -> NDArray[np.int64]:
        if self.exponent > 0:
            steps = np.right_shift(array, min(self.exponent, 63))  # arithmetic shift: rounds down
        else:
            room = LIMIT >> min(-self.exponent, 62)
            self._check_range(not array.size or (int(array.max()) <= room and int(array.min()) >= -room), parameter)
            steps = np.left_shift(array, min(-self.exponent, 62))
        self._check_range(not steps.size or (int(steps.max()) <= LIMIT and int(steps.min()) >= -LIMIT), parameter)
        return steps

    @staticmethod
    def _check_whole(whole: bool, parameter: str) -> None:
        if not whole:
            raise ParameterError(
                parameter,
                "must be a whole number on an integer gate",
                next_step="make the gate with a float sensitivity, such as sensitivity=1.0, or pass granularity=",
            )

    @staticmethod
    def _check_range(fits: bool, parameter: str) -> None:
        if not fits:
            raise ParameterError(
                parameter, "must lie within 2**61 lattice steps of zero", next_step="use a coarser granularity"
            )

    def value(self, steps: int) -> int | float:
        """The number that stands ``steps`` steps from zero: an int on an integer lattice, else a float."""
        return steps if self.integers else float(steps * self.granularity)

    def values(self, steps: NDArray[np.int64]) -> NDArray[np.int64] | NDArray[np.float64]:
        """The same for an array."""
        return steps if self.integers else np.ldexp(steps.astype(np.float64), self.exponent)


def _whole(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def exact_number(value: object) -> Fraction | None:
    """A number at its exact value, None where it is none or not finite: data are not decimals, as an epsilon is."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, int | float | Rational):
        return None
    try:
        return Fraction(value)
    except (ValueError, OverflowError):
        return None


def _floor_log2(x: Fraction) -> int:
    guess = x.numerator.bit_length() - x.denominator.bit_length()
    return guess if Fraction(2) ** guess <= x else guess - 1
