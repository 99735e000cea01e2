"""What a condition may speak of, and how a wrong one is refused."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from sparsegate.errors import ParameterError

NEAR: Final = 5
MOST_NAME: Final = 1_000
MAX_CELL: Final = 1_000
"""The characters of a text cell that the cost of a condition reckons with, unless the schema says another number."""
MOST_CELL: Final = 100_000
"""The most that it can be: a table is filled up, and its speed measured, with cells of that length."""


class Kind(StrEnum):
    """The type of a value, as a condition sees it."""

    TEXT = "text"
    """Compared code point by code point, with no collation."""

    INTEGER = "integer"
    """A whole number of up to 128 bits with its sign."""

    REAL = "real"
    """A double. NaN equals NaN and is greater than every other number, infinity included, as the engine sorts it."""

    BOOLEAN = "boolean"
    DATE = "date"

    TIMESTAMP = "timestamp"
    """A date and a time to the microsecond, without a time zone."""

    TIME = "time"
    """A time of day to the microsecond."""


@dataclass(frozen=True)
class Column:
    """One column that may be asked about."""

    name: str
    kind: Kind

    def __post_init__(self) -> None:
        broken = "\0" in self.name or any("\ud800" <= mark <= "\udfff" for mark in self.name)
        if not 1 <= len(self.name) <= MOST_NAME or broken:
            rule = f"must have names of 1 to {MOST_NAME:,} characters of UTF-8 without a zero byte"
            raise ParameterError("columns", rule, self.name)


@dataclass(frozen=True)
class Schema:
    """The columns that conditions may speak of, and no others. It is public.

    A name is found exactly, or else in other capitals. The engine makes no difference between ``page`` and ``Page``,
    so a schema with both is refused. ``unreadable`` names columns that are there, and whose type is none of ``Kind``.
    ``listed`` says whether an error may list the columns: the first line of a file may be a row, and not a header.
    ``max_cell`` is the greatest number of characters that a text cell has: whoever runs a condition at its public
    cost cuts the cells to it first.
    """

    columns: tuple[Column, ...]
    max_cell: int = MAX_CELL
    unreadable: tuple[str, ...] = ()
    listed: bool = True

    def __post_init__(self) -> None:
        seen: dict[str, str] = {}
        for column in self.columns:
            folded = column.name.casefold()
            if folded in seen:
                names = f"{seen[folded]!r} and {column.name!r}"
                raise ParameterError("columns", f"must differ in more than capitals, and {names} do not")
            seen[folded] = column.name
        check_max_cell(self.max_cell)

    def find(self, name: str) -> Column | None:
        """The column of this name."""
        folded = [column for column in self.columns if column.name.casefold() == name.casefold()]
        return folded[0] if folded else None

    def near(self, name: str) -> tuple[str, ...]:
        """Names that may have been meant, the nearest first."""
        names = [column.name for column in self.columns]
        return tuple(difflib.get_close_matches(name, names, n=NEAR, cutoff=0.5))


def check_max_cell(max_cell: int) -> None:
    """Refuse a length that no cell could be cut to."""
    if not 1 <= max_cell <= MOST_CELL:
        raise ParameterError("max_cell", f"must be a number of characters from 1 to {MOST_CELL:,}", max_cell)
