"""What a predicate may speak of, and how a wrong one is refused."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from sparsegate.errors import ParameterError

NEAR: Final = 5
MOST_NAME: Final = 1_000


class Kind(StrEnum):
    """The type of a column, as a predicate sees it; nothing is ever cast from one to another."""

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
class PublicSchema:
    """The declared columns, and no others. It is public: every token may read it.

    A column is found by its exact name, capitals included. The engine makes no difference between ``page`` and
    ``Page``, so a schema with both is refused: neither could be asked about for certain.
    """

    columns: tuple[Column, ...]

    def __post_init__(self) -> None:
        seen: dict[str, str] = {}
        for column in self.columns:
            folded = column.name.casefold()
            if folded in seen:
                names = f"{seen[folded]!r} and {column.name!r}"
                raise ParameterError("columns", f"must differ in more than capitals, and {names} do not")
            seen[folded] = column.name

    def find(self, name: str) -> Column | None:
        """The column of exactly this name."""
        return next((column for column in self.columns if column.name == name), None)

    def near(self, name: str) -> tuple[str, ...]:
        """Declared names that may have been meant, the nearest first."""
        names = [column.name for column in self.columns]
        same = [each for each in names if each.casefold() == name.casefold()]
        close = difflib.get_close_matches(name, names, n=NEAR, cutoff=0.5)
        return tuple(dict.fromkeys(same + close))[:NEAR]


class PredicateError(ParameterError):
    """A predicate that is refused before any data is touched; ``text[start:end]`` is the place.

    The message holds the analyst's own words and names of declared columns, and never anything of the data.
    """

    start: int
    end: int
    near: tuple[str, ...]

    def __init__(
        self, rule: str, text: str, start: int, end: int, *, next_step: str = "", near: tuple[str, ...] = ()
    ) -> None:
        if near:
            next_step = "; ".join(filter(None, [f"near it: {', '.join(near)}", next_step]))
        super().__init__("where", f"{rule} (character {start + 1})", text[start:end], next_step)
        self.start = start
        self.end = end
        self.near = near
