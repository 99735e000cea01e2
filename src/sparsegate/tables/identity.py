"""Who is one person, and what is one item: the contract that every engine and every kind of file keeps.

**Contract.** Two cells of the user column that their source calls equal are one person, and cells that it calls
different are two; two cells of the item column that it calls equal are one item. A null, and a cell that has no key, is
nobody and nothing: its row is dropped. (docs/how-to/files.md has it for each kind of source, and its limits.)

*What follows.* The key of a cell is a function of that cell alone, and all the rows of a person have one key or none.
So adding or removing a person moves each count of different users by at most one, whoever else is there.
*Nothing is refused because of a cell*, but by the type of its column: the refusal would tell that somebody has it.

A typed column is compared by its values. A collation makes one person of 'U1' and 'u1' where it calls them equal, but
not one item, which would show the spelling of one person for both. Cells with a type of their own (objects of pandas,
lists, SQLite; JSON likewise, in SQL) are read by the functions below: a number is its exact value however it is
written, text is no number, and bytes are not text, though 17 and '17' have one label.
"""

from __future__ import annotations

import datetime
import decimal
import functools
import math
import uuid
from collections.abc import Callable, Iterable
from typing import Any, Final, TypeAlias

import numpy as np

Known: TypeAlias = tuple[str, str] | None
"""The kind of a cell and its text, or None."""

_EXACT: Final = decimal.Context(prec=decimal.MAX_PREC, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN, traps=[])
# Longer whole numbers are written with an exponent: Decimal("1E+999999999") has a key, too, and that in no time.
_DIGITS: Final = 400
_LONG: Final = 10**_DIGITS
_COMPARED: Final = {"builtins", "datetime", "decimal", "numpy", "pandas", "uuid"}
"""Whose ``==`` is the one that the keys keep to."""


def people(cells: Iterable[Any]) -> list[str | None]:
    """The keys of user cells that have no declared type: equal for equal cells, different for different ones.

    >>> from decimal import Decimal
    >>> people([17, 17.0, Decimal("17.00"), np.uint8(17), "17", float("nan")])
    ['n17', 'n17', 'n17', 'n17', 's17', None]
    """
    return [None if (known := _read(cell)) is None else known[0] + known[1] for cell in cells]


def labels(cells: Iterable[Any]) -> list[str | None]:
    """The labels of item cells that have no declared type: what is shown of them, and matched with the domain.

    >>> labels([17.0, "17", 2.50, True, None, b"/home"])
    ['17', '17', '2.5', '1', None, '/home']
    """
    return [None if (known := _read(cell)) is None else known[1] for cell in cells]


def numbers(cells: Iterable[Any]) -> list[float | None]:
    """The nearest doubles of value cells that have no declared type; None for what is no number, also for True.

    >>> numbers([17, decimal.Decimal("2.50"), True, "17", float("nan"), np.float32(0.5), 10**400])
    [17.0, 2.5, None, None, None, 0.5, inf]
    """
    return [_double(cell) for cell in cells]


def _double(cell: Any) -> float | None:
    if isinstance(cell, bool | np.bool_) or not isinstance(cell, int | float | np.number | decimal.Decimal):
        return None
    try:
        number = float(cell)
    except OverflowError:
        return math.inf if cell > 0 else -math.inf
    except Exception:  # a class of its own, say: it must not fail the release
        return None
    return None if number != number else number


def _read(cell: Any) -> Known:
    """The kind of a cell and its text, or None; whatever the cell does when it is looked at."""
    if type(cell) is str and cell.isascii():
        return "s", cell
    try:
        return _reader(type(cell))(cell)  # type: ignore[arg-type]  # a type is hashable
    except Exception:  # a time zone that fails on this instant, say: it must not fail the release
        return None


def _text(cell: str) -> tuple[str, str]:
    exact = str.__str__(cell)  # of a subclass, too, what it is equal to
    try:
        exact.encode()
    except UnicodeEncodeError:  # half of a surrogate pair, which no engine takes
        return "h", exact.encode("utf-8", "surrogatepass").hex()
    return "s", exact


def _bytes(cell: bytes) -> tuple[str, str]:
    try:
        return "b", cell.decode()
    except UnicodeDecodeError:
        return "x", cell.hex()


def _whole(cell: Any) -> Known:
    number = int.__index__(cell) if isinstance(cell, int) else int(cell)  # whatever a subclass says of itself
    return ("n", str(number)) if -_LONG < number < _LONG else _decimal(decimal.Decimal(number))


def _float(cell: Any) -> Known:
    number = float.__float__(cell) if isinstance(cell, float) else float(cell)
    if number != number:
        return None
    return _whole(number) if number.is_integer() else ("n", repr(number))


def _decimal(cell: decimal.Decimal) -> Known:
    if cell.is_nan():
        return None
    if cell.is_infinite():
        return _float(cell)
    number = cell.normalize(_EXACT)
    if number.as_tuple().exponent >= 0:  # type: ignore[operator]  # it is a number
        return _whole(number) if number.adjusted() < _DIGITS else ("n", str(number))
    # Few decimals are a double: those have the key of that double.
    near = float(number)
    return _float(near) if number == near else ("d", str(number))


def _instant(cell: datetime.datetime) -> Known:
    if cell != cell:  # pandas.NaT
        return None
    if cell.utcoffset() is None:
        return "t", str(cell)
    # Of an hour that is repeated, Python calls both turns equal, and pandas each equal to its own instant elsewhere.
    first, second = (str(cell.replace(fold=fold).astimezone(datetime.UTC)) for fold in (0, 1))
    return ("t", first) if first == second else None


@functools.cache
def _reader(kind: type) -> Callable[[Any], Known]:
    equal = next(base for base in kind.__mro__ if "__eq__" in vars(base))
    if equal.__module__.partition(".")[0] not in _COMPARED:
        return lambda cell: None  # text that calls 'U1' and 'u1' equal, say
    return next((read for kinds, read in _KINDS if issubclass(kind, kinds)), lambda cell: None)


_KINDS: Final[tuple[tuple[Any, Callable[[Any], Known]], ...]] = (
    (str, _text),
    ((int, np.integer, np.bool_), _whole),
    ((float, np.float32, np.float16), _float),
    (decimal.Decimal, _decimal),
    ((bytes, bytearray), _bytes),
    (datetime.datetime, _instant),
    (datetime.date, lambda cell: ("y", cell.isoformat())),
    (datetime.time, lambda cell: None if cell.tzinfo else ("c", cell.isoformat())),
    (uuid.UUID, lambda cell: ("u", str(cell))),
)
"""The kinds of cells that have a key, and how it is read; the first that fits. Other objects have none."""


def json_label(cell: str) -> str:
    """SQL of DuckDB for the label of a JSON cell: ``labels`` without the kinds that JSON has not."""
    text = f"CAST({cell} AS VARCHAR)"
    number = f"TRY_CAST({text} AS DOUBLE)"
    return f"""CASE
        WHEN starts_with({text}, '"') THEN {cell}->>'$'
        WHEN regexp_full_match({text}, '-?[0-9]{{1,38}}') OR NOT regexp_matches({text}, '^[-0-9]') THEN {text}
        WHEN abs({number}) < 1e38 AND {number} = trunc({number}) THEN CAST(CAST({number} AS HUGEINT) AS VARCHAR)
        ELSE CAST({number} AS VARCHAR) END"""


def json_person(cell: str) -> str:
    """SQL of DuckDB for the key of a JSON cell, which has one unless it is null, an object or an array."""
    return f"""CASE substr(CAST({cell} AS VARCHAR), 1, 1)
        WHEN '"' THEN 's' || ({cell}->>'$')
        WHEN '{{' THEN NULL WHEN '[' THEN NULL
        ELSE 'n' || ({json_label(cell)}) END"""
