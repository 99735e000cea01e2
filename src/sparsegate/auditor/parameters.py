"""Checks of what the caller passes: a wrong type is refused in the same words as a wrong value."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from typing import Any

from sparsegate.errors import ParameterError


def require_number(name: str, value: Any, rule: str, holds: Callable[[Any], bool], next_step: str = "") -> None:
    """Raise unless the value is a real number for which the rule holds."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or not holds(value):
        raise ParameterError(name, rule, value, next_step)


def whole(name: str, value: Any, rule: str, least: int, next_step: str = "") -> int:
    """The value as an int of at least ``least``."""
    require_number(name, value, rule, lambda number: number >= least and number % 1 == 0, next_step)
    return int(value)


def bounds_of(queries: Any) -> tuple[int, int]:
    """The least and the most answers: from a number n, (1, n); or from a pair.

    >>> bounds_of(10), bounds_of((2, 5))
    ((1, 10), (2, 5))
    """
    rule, hint = "must be a whole number n >= 1, or a pair (least, most)", "pass e.g. queries=10"
    both = queries if isinstance(queries, tuple | list) else (1, queries)
    if len(both) != 2:
        raise ParameterError("queries", rule, queries, hint)
    least, most = (whole("queries", n, rule, 1, hint) for n in both)
    if least > most:
        raise ParameterError("queries", rule, queries, hint)
    return least, most
