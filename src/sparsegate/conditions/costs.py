"""The public cost of a condition: an upper bound of the work on one row, from the condition and the schema alone.

The unit is about a nanosecond of one core. A text has at most ``Schema.max_cell`` characters, and no operation makes a
longer one. The numbers are rounded up from DuckDB 2.0 on the worst cells that were found: repeats of the beginning of a
pattern, characters of several bytes, a thousand blanks, numbers that do not fit. A search for dear cells holds them
against the engine (``tests/support/dear_cells.py``). What has no bound of this form has no cost: regular expressions,
whose factor only the engine knows; patterns in which several % meet a _; and casts of text. What an engine does with a
text that is no number, or names a time zone that does not exist, is its own affair, and took hundreds of times what
other cells had taught. So a text becomes a number or a date when the data are opened, before anybody asks.

A pattern without _ is matched in a time linear in the cell: the segments between % are found one after another, each as
far left as possible, and no other place could help. With _ the engine tries every place after a % against the rest of
the pattern: with one such % the time is at most the cell's length times the pattern's. With two the bound would be so
large that it is of no use.

An engine works the first argument of some operations out more than once (``TIMES``), and so again at each level where
they stand inside one another: eight BETWEENs took 476 times what their parts cost.
"""

from __future__ import annotations

import re
from typing import Final

from sparsegate.conditions.operations import REGEXPS, TYPES, WINDOWS
from sparsegate.conditions.schema import Column, Kind
from sparsegate.conditions.tree import Apply, Cast, Literal, Node, children, columns_in

STEP: Final = 20
"""What any node costs: a value of fixed size is read and written."""
SHOWN: Final = 40
"""The characters of a number, a date or a truth value as text."""
READ, COMPARED, WILDCARD = 5, 3, 44
"""For each character: of a cell; of the shorter of two texts; of a pattern with _, at each place where it is tried."""
WINDOW: Final = 300
"""A window of time as text: two parts of a date are written out."""
PER_CHARACTER: Final = {
    **dict.fromkeys(("lower", "upper"), 40),
    **dict.fromkeys(("trim", "ltrim", "rtrim"), 32),
    "length": 2,
}
"""Of the first argument."""
FAILED, FAILED_DECIMAL = 2_000, 24_000
"""A cast that does not convert: the engine writes a message that nobody reads."""
TIMES: Final = {"between": 2, "week": 2, **dict.fromkeys(WINDOWS, 4)}
"""How often the engine works the first argument out, as an operation is written for it (``conditions.sql``)."""
SOUGHT: Final = 20
"""For each character of a cell in which a text is looked for; and more if that has over 8 characters."""


class Unbounded(Exception):
    """Has the rule that a condition breaks, and the next step."""


def cost_of(node: Node, max_cell: int) -> int:
    """The cost of a node and all below it.

    >>> cost_of(Apply("=", (Column("page", Kind.TEXT), Literal(Kind.TEXT, "/pay")), Kind.BOOLEAN), max_cell=100)
    592
    """
    below = children(node)
    costs = [cost_of(each, max_cell) for each in below]
    lengths = [_characters(each, max_cell) for each in below]
    own = STEP
    match node:
        case Column(kind=Kind.TEXT):
            own += READ * max_cell
        case Apply(operation, (_, *others)):
            own += _applied(operation, lengths, others) + (TIMES.get(operation, 1) - 1) * costs[0]
        case Cast() if below[0].kind is Kind.TEXT and node.target != "VARCHAR":
            raise _from_text(node)
        case Cast(target="DECIMAL"):
            own += FAILED_DECIMAL
        case Cast(target=target) if (below[0].kind, target) != (Kind.INTEGER, "DOUBLE"):
            own += FAILED
    return own + sum(costs)


def _applied(operation: str, lengths: list[int], others: list[Node]) -> int:
    first, *rest = lengths
    if operation in REGEXPS:
        raise Unbounded(f"must not use {operation} where the cost of every condition is public", "use LIKE")
    if operation in WINDOWS:
        return WINDOW
    if operation in PER_CHARACTER:
        return PER_CHARACTER[operation] * first
    if operation in ("contains", "segments"):
        sought = [_pattern(others[0])] if operation == "contains" else _pattern(others[0]).split("%")
        return (SOUGHT + max(map(len, sought)) // 8) * first
    if operation == "wildcards":
        pattern = _pattern(others[0])
        places = len(re.findall("%+(?!$)", pattern))  # the % that have something after them
        if places > 1:
            rule = "must have at most one % before the last character of a pattern with _"
            raise Unbounded(rule, "ask for the parts with AND")
        return WILDCARD * len(pattern) * (first if places else 1)
    return sum(STEP + COMPARED * min(first, each) for each in rest)


def _from_text(node: Cast) -> Unbounded:
    name = next((column.name for column in columns_in(node)), "COLUMN")
    rule = "must not cast text where the cost of every condition is public"
    if node.kind is Kind.TEXT:
        return Unbounded(rule, "compare it as text")
    read = "timestamptz" if TYPES[node.target].zoned else "double" if node.kind is Kind.REAL else str(node.kind)
    step = f"give the column its type when the data are opened: sparsegate serve --read {name}={read}"
    return Unbounded(rule, f"{step}; of a table in a database, there")


def _characters(node: Node, max_cell: int) -> int:
    """The most characters that a text has; 0 where it is none."""
    match node:
        case Literal(kind=Kind.TEXT, constant=constant):
            return len(str(constant))
        case Column(kind=Kind.TEXT):
            return max_cell
        case Apply(kind=Kind.TEXT) | Cast(kind=Kind.TEXT) if children(node)[0].kind is not Kind.TEXT:
            return SHOWN
        case Apply(kind=Kind.TEXT) | Cast(kind=Kind.TEXT):
            return _characters(children(node)[0], max_cell)
    return 0


def _pattern(node: Node) -> str:
    """The text of a pattern, whether or not it is brought to lower case."""
    return str(node.constant) if isinstance(node, Literal) else _pattern(children(node)[0])
