"""The checked predicate as a tree of a closed list of nodes, and the SQL that is written from it.

The SQL holds nothing of the text that was read: names and strings are quoted here, numbers and dates are printed from
their values. Each node prints so that the engine needs no cast of a cell that could fail, whatever the data.

A predicate has SQL's three values: a comparison with a null is null, NOT null is null, and a row matches where the
whole is true. So neither ``page = '/pay'`` nor ``NOT page = '/pay'`` matches a row whose page is null.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import TypeAlias

from sparsegate.service.predicates.schema import Column, Kind

Constant: TypeAlias = str | int | float | bool | datetime.date | datetime.datetime


@dataclass(frozen=True)
class Literal:
    """A value of one kind: ``constant`` is a str, int, float, bool, date or datetime, in the order of ``Kind``."""

    kind: Kind
    constant: Constant


Value: TypeAlias = Column | Literal


@dataclass(frozen=True)
class Comparison:
    """``left operator right``; the operator is one of = <> < <= > >=, and both sides are of one kind."""

    operator: str
    left: Value
    right: Value


@dataclass(frozen=True)
class Among:
    """``column [NOT] IN (...)``."""

    column: Column
    literals: tuple[Literal, ...]
    negated: bool


@dataclass(frozen=True)
class Between:
    """``value [NOT] BETWEEN low AND high``, both ends included."""

    value: Value
    low: Value
    high: Value
    negated: bool


@dataclass(frozen=True)
class Like:
    """``column [NOT] LIKE pattern``: % is any text, _ any one character, and there is no escape."""

    column: Column
    pattern: str
    negated: bool


@dataclass(frozen=True)
class IsNull:
    """``column IS [NOT] NULL``: never null itself."""

    column: Column
    negated: bool


@dataclass(frozen=True)
class Not:
    """``NOT term``."""

    term: Condition


@dataclass(frozen=True)
class Both:
    """``first AND second AND ...``."""

    terms: tuple[Condition, ...]


@dataclass(frozen=True)
class Either:
    """``first OR second OR ...``."""

    terms: tuple[Condition, ...]


Condition: TypeAlias = Comparison | Among | Between | Like | IsNull | Not | Both | Either | Column | Literal
"""A column or a literal is a condition only where it is boolean."""


def sql_of(node: Condition) -> str:
    """The node in the engine's SQL.

    >>> page = Column(name="page", kind=Kind.TEXT)
    >>> sql_of(Not(Like(page, "it's%", negated=False)))
    'NOT ("page" LIKE \\'it\\'\\'s%\\')'
    """
    match node:
        case Column(name=name):
            return '"' + name.replace('"', '""') + '"'
        case Literal():
            return _literal(node)
        case Comparison(operator, left, right):
            return f"{sql_of(left)} {operator} {sql_of(right)}"
        case Among(column, literals, negated):
            return f"{sql_of(column)} {_not(negated)}IN ({', '.join(map(_literal, literals))})"
        case Between(value, low, high, negated):
            return f"{sql_of(value)} {_not(negated)}BETWEEN {sql_of(low)} AND {sql_of(high)}"
        case Like(column, pattern, negated):
            return f"{sql_of(column)} {_not(negated)}LIKE {_quoted(pattern)}"
        case IsNull(column, negated):
            return f"{sql_of(column)} IS {_not(negated)}NULL"
        case Not(term):
            return f"NOT ({sql_of(term)})"
        case Both(terms):
            return " AND ".join(f"({sql_of(term)})" for term in terms)
        case Either(terms):
            return " OR ".join(f"({sql_of(term)})" for term in terms)


def _literal(literal: Literal) -> str:
    constant = literal.constant
    match literal.kind:
        case Kind.TEXT:
            return _quoted(str(constant))
        case Kind.REAL:
            # Bare, 0.1 would be a decimal number; and a decimal is not read to the nearest double, as a string is.
            return f"CAST({_quoted(repr(float(constant)))} AS DOUBLE)"  # type: ignore[arg-type]
        case Kind.BOOLEAN:
            return "TRUE" if constant else "FALSE"
        case Kind.DATE:
            return f"DATE {_quoted(str(constant))}"
        case Kind.TIMESTAMP:
            return f"TIMESTAMP {_quoted(str(constant))}"
        case Kind.INTEGER:
            return str(constant)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _not(negated: bool) -> str:
    return "NOT " if negated else ""
