"""The closed list of nodes that a condition is made of. Each has a value, perhaps null, for every row.

``kind`` is the type of that value; None is that of NULL, which fits everywhere. A tree holds nothing of the text that
was read but names of columns and constants, and it is typed: both sides of a comparison are of one kind, and where a
value is converted there is a ``Cast``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

from sparsegate.conditions.schema import Column, Kind

Constant: TypeAlias = str | int | float | bool | None
"""Dates, timestamps and times are text in the form of ISO 8601, or infinity."""


@dataclass(frozen=True)
class Literal:
    """A constant."""

    kind: Kind | None
    constant: Constant


@dataclass(frozen=True)
class Apply:
    """One of ``operations.OPERATIONS``, applied to arguments."""

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


@dataclass(frozen=True)
class Coalesce:
    """The first argument that is not null."""

    arguments: tuple[Node, ...]
    kind: Kind


@dataclass(frozen=True)
class Not:
    """True where the term is false."""

    term: Node
    kind: Kind = Kind.BOOLEAN


@dataclass(frozen=True)
class All:
    """``first AND second AND ...``."""

    terms: tuple[Node, ...]
    kind: Kind = Kind.BOOLEAN


@dataclass(frozen=True)
class Either:
    """``first OR second OR ...``."""

    terms: tuple[Node, ...]
    kind: Kind = Kind.BOOLEAN


Node: TypeAlias = Column | Literal | Apply | Cast | CaseWhen | Coalesce | Not | All | Either

TRUE, FALSE, NULL = Literal(Kind.BOOLEAN, True), Literal(Kind.BOOLEAN, False), Literal(Kind.BOOLEAN, None)


def children(node: Node) -> tuple[Node, ...]:
    """The nodes right below."""
    match node:
        case Apply(arguments=below) | Cast(arguments=below) | Coalesce(arguments=below):
            return below
        case All(terms) | Either(terms):
            return terms
        case Not(term):
            return (term,)
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
        case Not(term):
            return Not(by_column(term))
        case All(terms) | Either(terms):
            groups: dict[frozenset[Column], list[Node]] = {}
            for term in map(by_column, terms):
                groups.setdefault(frozenset(columns_in(term)), []).append(term)
            kept = (
                [type(node)(tuple(found))] if len(names) == 1 and found[1:] else found
                for names, found in groups.items()
            )
            return type(node)(tuple(each for found in kept for each in found))
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
        case Coalesce((first, *rest)):
            missing = Apply("is null", (first,), Kind.BOOLEAN)
            return missing, replace(node, arguments=tuple(rest)) if rest[1:] else rest[0], first
        case Not() | All() | Either():
            return node, TRUE, CaseWhen(None, ((Not(node), FALSE),), NULL, Kind.BOOLEAN)
        case Apply(arguments=arguments) | Cast(arguments=arguments):
            for place, argument in enumerate(arguments):
                if found := split(argument):
                    then, otherwise = (
                        replace(node, arguments=(*arguments[:place], each, *arguments[place + 1 :]))
                        for each in found[1:]
                    )
                    return found[0], then, otherwise
    return None
