"""What a condition may speak of, and the closed list of nodes that it is made of.

Each node has a value, perhaps null, for every row; ``kind`` is its type, None that of NULL, which fits everywhere. A
tree holds nothing of the text that was read but names of columns and constants, and it is typed: both sides of a
comparison are of one kind, and where a value is converted there is a ``Cast``.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, TypeAlias

from sparsegate.errors import ParameterError

NEAR: Final = 5
MOST_NAME: Final = 1_000
MAX_CELL: Final = 1_000
"""The characters of a text cell that the cost of a condition reckons with, unless the schema says another number."""
MOST_CELL: Final = 100_000
"""The most that it can be: a table is filled up, and its speed measured, with cells of that length."""


class Kind(StrEnum):
    """The type of a value, as a condition sees it."""

    TEXT = "text"  # compared code point by code point, with no collation
    INTEGER = "integer"  # of up to 128 bits with its sign
    REAL = "real"  # a double; NaN equals NaN and is greater than every other number, as the engine sorts it
    BOOLEAN = "boolean"
    DATE = "date"
    TIMESTAMP = "timestamp"  # to the microsecond, without a time zone
    TIME = "time"  # of day, to the microsecond


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
        return next((column for column in self.columns if column.name.casefold() == name.casefold()), None)

    def near(self, name: str) -> tuple[str, ...]:
        """Names that may have been meant, the nearest first."""
        names = [column.name for column in self.columns]
        return tuple(difflib.get_close_matches(name, names, n=NEAR, cutoff=0.5))


def check_max_cell(max_cell: int) -> None:
    """Refuse a length that no cell could be cut to."""
    if not 1 <= max_cell <= MOST_CELL:
        raise ParameterError("max_cell", f"must be a number of characters from 1 to {MOST_CELL:,}", max_cell)


Constant: TypeAlias = str | int | float | bool | None
"""Dates, timestamps and times are text in the form of ISO 8601, or infinity."""


@dataclass(frozen=True)
class Literal:
    """A constant."""

    kind: Kind | None
    constant: Constant


@dataclass(frozen=True)
class Apply:
    """An operation, or a function of ``operations.FUNCTIONS``, applied to arguments.

    "and" and "or" have two arguments or more; "coalesce" is the first of its arguments that is not null.
    """

    operation: str
    arguments: tuple[Node, ...]
    kind: Kind


@dataclass(frozen=True)
class Cast:
    """The argument as a type of ``operations.TYPES``, for instance DECIMAL(10, 2); null where it does not convert."""

    arguments: tuple[Node, ...]
    target: str
    sizes: tuple[int, ...]
    kind: Kind


@dataclass(frozen=True)
class CaseWhen:
    """The value of the first branch whose test is true, or which equals ``base`` where there is one."""

    base: Node | None
    branches: tuple[tuple[Node, Node], ...]
    otherwise: Node
    kind: Kind


Node: TypeAlias = Column | Literal | Apply | Cast | CaseWhen


def children(node: Node) -> tuple[Node, ...]:
    """The nodes right below."""
    match node:
        case Apply(arguments=below) | Cast(arguments=below):
            return below
        case CaseWhen(base, branches, otherwise):
            return (*(() if base is None else (base,)), *(each for branch in branches for each in branch), otherwise)
    return ()


def columns_in(node: Node) -> Iterator[Column]:
    """The columns of a tree, as often as they occur."""
    if isinstance(node, Column):
        yield node
    for each in children(node):
        yield from columns_in(each)


def by_column(node: Node) -> Node:
    """The same condition, in which the terms of an AND or an OR that look at one and the same column stand together."""
    match node:
        case Apply("not", (term,)):
            return replace(node, arguments=(by_column(term),))
        case Apply("and" | "or", terms):
            groups: dict[frozenset[Column], list[Node]] = {}
            for term in map(by_column, terms):
                groups.setdefault(frozenset(columns_in(term)), []).append(term)
            kept: list[Node] = []
            for names, group in groups.items():
                kept += [replace(node, arguments=tuple(group))] if len(names) == 1 and group[1:] else group
            return replace(node, arguments=tuple(kept))
    return node


def split(node: Node) -> tuple[Node, Node, Node] | None:
    """``node`` as (test, then, otherwise), with the first choice in it brought to the top; None where there is none.

    f(CASE WHEN a THEN x ELSE y END) is CASE WHEN a THEN f(x) ELSE f(y) END, because f has a value everywhere. A
    condition as an argument is a choice between TRUE, FALSE and NULL.
    """
    match node:
        case CaseWhen(base, ((test, then), *rest), otherwise):
            first = test if base is None else Apply("=", (base, test), Kind.BOOLEAN)
            return first, then, replace(node, branches=tuple(rest)) if rest else otherwise
        case Apply("coalesce", (first, *others)):
            missing = Apply("is null", (first,), Kind.BOOLEAN)
            return missing, replace(node, arguments=tuple(others)) if others[1:] else others[0], first
        case Apply("not" | "and" | "or"):
            true, false, null = (Literal(Kind.BOOLEAN, value) for value in (True, False, None))
            return node, true, CaseWhen(None, ((Apply("not", (node,), Kind.BOOLEAN), false),), null, Kind.BOOLEAN)
        case Apply(arguments=arguments) | Cast(arguments=arguments):
            for place, argument in enumerate(arguments):
                if parts := split(argument):
                    then, otherwise = (
                        replace(node, arguments=(*arguments[:place], each, *arguments[place + 1 :]))
                        for each in parts[1:]
                    )
                    return parts[0], then, otherwise
    return None
