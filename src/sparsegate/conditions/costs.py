"""The public cost of a condition: an upper bound of the work on one row, from the condition and the schema alone.

The unit is about a nanosecond of one core. Every operation has a fixed part and a part for each character of the text
it reads; a text has at most ``Schema.max_cell`` characters, and no operation makes a longer one. The parts are rounded
up from measurements on the worst cells that could be found (repeats of the pattern's beginning, characters outside of
ASCII, numbers of a thousand digits), so that a condition of twice the cost takes at most about twice the time of the
dearest one there is. What has no bound of this form has no cost: regular expressions, whose factor only the engine
knows, and patterns in which several % meet a _.
"""

from __future__ import annotations

from typing import Final

from sparsegate.conditions.operations import REGEXPS
from sparsegate.conditions.patterns import places
from sparsegate.conditions.schema import Column, Kind
from sparsegate.conditions.tree import Apply, Cast, Literal, Node, children

STEP: Final = 10
"""What any node costs: a value of fixed size is read and written."""
SHOWN: Final = 40
"""The characters of a number, a date or a truth value as text."""
PER_CHARACTER: Final = {
    **dict.fromkeys(("lower", "upper"), 16),
    **dict.fromkeys(("trim", "ltrim", "rtrim"), 10),
    "segments": 8,
}
"""Of the first argument; 1 for every other operation on text."""
FROM_TEXT: Final = 2
TO_TEXT: Final = 20 * SHOWN


class Unbounded(Exception):
    """Says which rule the node breaks, and the next step."""


def cost_of(node: Node, max_cell: int) -> int:
    """The cost of a node and all below it."""
    below = children(node)
    own = STEP
    match node:
        case Apply(operation, (first, *others)):
            longest = _characters(first, max_cell) if first.kind is Kind.TEXT else 0
            if operation in REGEXPS:
                raise Unbounded(f"must not use {operation} where the cost of every condition is public", "use LIKE")
            if operation == "wildcards":
                own += longest * _tried(others[0])
            else:
                own += longest * PER_CHARACTER.get(operation, 1) * max(1, len(others))
        case Cast((first,)) if first.kind is Kind.TEXT:
            own += _characters(first, max_cell) * FROM_TEXT
        case Cast(kind=Kind.TEXT):
            own += TO_TEXT
    return own + sum(cost_of(each, max_cell) for each in below)


def _characters(node: Node, max_cell: int) -> int:
    """The most characters that a text has."""
    match node:
        case Literal(constant=constant):
            return len(str(constant))
        case Column():
            return max_cell
        case Cast((value,)) if value.kind is not Kind.TEXT:
            return SHOWN
    return max(_characters(each, max_cell) for each in children(node))


def _tried(pattern: Node) -> int:
    """How many characters of a pattern with _ are compared for each character of the cell."""
    while not isinstance(pattern, Literal):
        (pattern,) = children(pattern)
    text = str(pattern.constant)
    if places(text) > 1:
        rule = "must have at most one % before the last character of a pattern with _"
        raise Unbounded(rule, "ask for the parts with AND")
    return len(text)
