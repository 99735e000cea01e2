"""LIKE and ILIKE as operations whose time is known: % is any text, _ any one character, and there is no escape.

A pattern without _ is matched in a time linear in the cell: segments between % are found one after another, each as
far left as it goes, and no earlier place could help. With _ the engine tries every place after a % against the rest of
the pattern: with one such % the time is at most the cell's length times the pattern's, and with two it has no use to
state it. So the latter has no public cost; see ``costs``.
"""

from __future__ import annotations

import re

from sparsegate.conditions.schema import Kind
from sparsegate.conditions.tree import Apply, Literal, Node


def matches(value: Node, pattern: str, *, fold: bool) -> Node:
    """``value LIKE pattern``; with ``fold``, ILIKE: both in lower case, as the engine lowers them."""

    def lowered(node: Node) -> Node:
        return Apply("lower", (node,), Kind.TEXT) if fold else node

    def test(operation: str, text: str) -> Node:
        return Apply(operation, (lowered(value), lowered(Literal(Kind.TEXT, text))), Kind.BOOLEAN)

    pattern = re.sub("%+", "%", pattern)
    if "_" in pattern:
        return test("wildcards", pattern)
    match pattern.split("%"):
        case [text]:
            return test("=", text)
        case [text, ""]:
            return test("starts_with", text)
        case ["", text]:
            return test("ends_with", text)
        case ["", text, ""]:
            return test("contains", text)
    return test("segments", pattern)


def places(pattern: str) -> int:
    """How many % of a pattern have something after them: each of their places may be tried against each."""
    return len(re.findall("%+(?!$)", pattern))
