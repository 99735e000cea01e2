"""The kinds of the parts of a condition: each node is built here, of arguments that fit, or is refused at its place.

A text in quotes takes the kind of what it is compared with, and must be one of that kind; whole numbers become reals,
and dates timestamps, beside the wider kind. No other conversion happens without a CAST.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from sparsegate.conditions.literals import WRITTEN, converted
from sparsegate.conditions.operations import CONVERTS, FUNCTIONS, Type
from sparsegate.conditions.schema import Kind
from sparsegate.conditions.tree import All, Apply, CaseWhen, Cast, Coalesce, Either, Literal, Node, Not
from sparsegate.errors import ConditionError

MOST_DEPTH: Final = 50
"""Brackets, NOTs, calls and CASEs inside one another, and signs in one row of arithmetic."""

_FAMILIES: Final = ({Kind.INTEGER, Kind.REAL}, {Kind.DATE, Kind.TIMESTAMP})
_WIDER: Final = (Kind.REAL, Kind.TIMESTAMP)


class Place(Protocol):
    """Where something stands in the text."""

    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...


@dataclass(frozen=True)
class Piece:
    """A node, where it stands in the text, and how deep it is."""

    node: Node
    start: int
    end: int
    depth: int = 1


class Checker:
    """Builds nodes over one text."""

    def __init__(self, text: str) -> None:
        self._text = text

    def refusal(self, at: Place, rule: str, next_step: str = "", near: tuple[str, ...] = ()) -> ConditionError:
        """An error at a place."""
        return ConditionError(rule, self._text, at.start, at.end, next_step=next_step, near=near)

    def joined(
        self, node: Node, parts: Sequence[Piece], first: Place | None = None, last: Place | None = None
    ) -> Piece:
        """A node that stands where its parts stand, with the words before and after them."""
        start, end = (first or parts[0]).start, (last or parts[-1]).end
        part = Piece(node, start, end, 1 + max(each.depth for each in parts))
        if part.depth > MOST_DEPTH:
            raise self.refusal(part, f"must not nest more than {MOST_DEPTH} deep", "split it into several conditions")
        return part

    def truth(self, part: Piece) -> Piece:
        """A part that must be true or false."""
        if part.node.kind in (Kind.BOOLEAN, None):
            return self._fit(part, Kind.BOOLEAN)
        raise self.refusal(part, "must compare this with something: it is not true or false by itself")

    def negated(self, part: Piece, first: Place | None = None) -> Piece:
        """NOT of a part."""
        return self.joined(Not(self.truth(part).node), [part], first)

    def junction(self, kind: type[All] | type[Either], terms: Sequence[Piece]) -> Piece:
        """AND or OR of several."""
        return self.joined(kind(tuple(self.truth(term).node for term in terms)), terms)

    def compared(self, operation: str, parts: Sequence[Piece], last: Place | None = None) -> Piece:
        """A test of parts that are brought to one kind."""
        nodes, _ = self._alike(parts)
        return self.joined(Apply(operation, nodes, Kind.BOOLEAN), parts, None, last)

    def is_null(self, part: Piece, last: Place) -> Piece:
        """``part IS NULL``."""
        return self.joined(Apply("is null", (part.node,), Kind.BOOLEAN), [part], None, last)

    def coalesced(self, parts: Sequence[Piece], first: Place, last: Place) -> Piece:
        """The first of the parts that is not null."""
        nodes, kind = self._alike(parts)
        return self.joined(Coalesce(nodes, kind) if nodes[1:] and kind else nodes[0], parts, first, last)

    def case(
        self, base: Piece | None, branches: Sequence[tuple[Piece, Piece]], otherwise: Piece, first: Place, last: Place
    ) -> Piece:
        """CASE, with or without a base that is compared."""
        if base is None:
            tests: tuple[Node, ...] = tuple(self.truth(test).node for test, _ in branches)
            compared = None
        else:
            (compared, *rest), _ = self._alike([base, *(test for test, _ in branches)])
            tests = tuple(rest)
        values, kind = self._alike([*(then for _, then in branches), otherwise])
        branched = CaseWhen(compared, tuple(zip(tests, values, strict=False)), values[-1], kind) if kind else values[-1]
        parts = [*(each for branch in branches for each in branch), otherwise, *([] if base is None else [base])]
        return self.joined(branched, parts, first, last)

    def called(self, name: str, parts: Sequence[Piece], first: Place, last: Place) -> Piece:
        """A function of the table."""
        function = FUNCTIONS[name]
        if len(parts) != 1 + function.pattern:
            raise self.refusal(parts[-1], f"must give {name} {'two values' if function.pattern else 'one value'}")
        if function.pattern:
            return self.matched(function.operation, parts[0], parts[1], first, last)
        (part,) = parts
        if part.node.kind not in (*function.takes, None):
            raise self.refusal(part, f"must give {name} {' or '.join(sorted(function.takes))}", "convert it with CAST")
        kind = part.node.kind or min(function.takes)
        return self.joined(Apply(name, (self._fit(part, kind).node,), function.kind), parts, first, last)

    def matched(
        self, operation: str, value: Piece, pattern: Piece, first: Place | None = None, last: Place | None = None
    ) -> Piece:
        """A text against a pattern, which is a constant."""
        if value.node.kind not in (Kind.TEXT, None):
            raise self.refusal(value, "must match text against a pattern", "convert it with CAST(... AS VARCHAR)")
        if not isinstance(pattern.node, Literal) or pattern.node.kind is not Kind.TEXT:
            raise self.refusal(pattern, "must have a pattern in single quotes here")
        subject, text = self._fit(value, Kind.TEXT).node, str(pattern.node.constant)
        if operation in ("like", "ilike"):
            node = _liked(subject, text, fold=operation == "ilike")
        else:
            node = Apply(operation, (subject, pattern.node), Kind.BOOLEAN)
        return self.joined(node, [value, pattern], first, last)

    def arithmetic(self, sign: str, parts: Sequence[Piece], first: Place | None = None) -> Piece:
        """Arithmetic, which is that of doubles; of one part, its sign."""
        for part in parts:
            if part.node.kind not in (Kind.INTEGER, Kind.REAL, None):
                step = "convert it with CAST(... AS DOUBLE)" if part.node.kind is Kind.TEXT else ""
                raise self.refusal(part, "must have numbers in arithmetic", step)
        node = parts[0].node
        if len(parts) == 1 and isinstance(node, Literal) and isinstance(node.constant, int | float):
            return self.joined(Literal(node.kind, -node.constant if sign == "-" else node.constant), parts, first)
        nodes = tuple(self._fit(part, Kind.REAL).node for part in parts)
        if len(parts) == 1:
            return self.joined(Apply("negative", nodes, Kind.REAL) if sign == "-" else nodes[0], parts, first)
        return self.joined(Apply(sign, nodes, Kind.REAL), parts)

    def cast(
        self, part: Piece, target: Type, sizes: tuple[int, ...], *, tried: bool, first: Place | None, last: Place
    ) -> Piece:
        """A cast; one of a constant that does not convert is refused, unless it is a TRY_CAST."""
        node, kind = part.node, part.node.kind
        if kind is not None and target.kind not in CONVERTS[kind]:
            raise self.refusal(part, f"must not cast {kind} to {target.name}: no value converts")
        if isinstance(node, Literal):
            try:
                constant = converted(node.constant, target.kind, zoned=target.zoned)
                low, high = target.bounds or (0, 0)
                fits = constant is None or low == high or low <= int(constant) <= high
            except ValueError:  # a number that is rounded, or a text that does not convert
                fits, constant = kind is not Kind.TEXT, ""
            if fits and constant != "" and target.exact:
                return self.joined(Literal(target.kind, constant), [part], first, last)
            if not fits and not tried:
                raise self._unfit(part, target.kind)
        return self.joined(Cast((node,), target.name, sizes, target.kind), [part], first, last)

    def _alike(self, parts: Sequence[Piece]) -> tuple[tuple[Node, ...], Kind | None]:
        """The parts brought to one kind, and that kind; None where every part is NULL."""
        if all(part.node.kind is None for part in parts):
            return tuple(part.node for part in parts), None
        firm = [part for part in parts if part.node.kind and not _adapts(part.node)]
        kinds = {part.node.kind for part in firm if part.node.kind} or {Kind.TEXT}
        kind = next((wide for wide in _WIDER if wide in kinds), next(iter(kinds)))
        if len(kinds) > 1 and not any(kinds <= family for family in _FAMILIES):
            one = firm[0]
            other = next(part for part in firm if part.node.kind is not one.node.kind)
            first, second = (self._text[part.start : part.end] for part in (one, other))
            step = f"{first} is {one.node.kind} and {second} is {other.node.kind}: convert one, as "
            text = first if one.node.kind is Kind.TEXT else second if other.node.kind is Kind.TEXT else ""
            step += f"CAST({text or 'age'} AS INTEGER)"
            if text:
                opened = f"of a service: --read {text}=integer, when the data are opened"
                step += f" ({opened}), or write text in single quotes"
            raise self.refusal(other, "must compare values of one kind", step)
        return tuple(self._fit(part, kind).node for part in parts), kind

    def _fit(self, part: Piece, kind: Kind) -> Piece:
        """The part as one of the kind, where that is always possible or the part is a constant."""
        node = part.node
        if node.kind is kind:
            return part
        if not isinstance(node, Literal):
            name = "DOUBLE" if kind is Kind.REAL else kind.upper()
            return Piece(Cast((node,), name, (), kind), part.start, part.end, part.depth)
        try:
            return Piece(Literal(kind, converted(node.constant, kind)), part.start, part.end, part.depth)
        except ValueError:
            pass
        raise self._unfit(part, kind)

    def _unfit(self, part: Piece, kind: Kind) -> ConditionError:
        noun, form = WRITTEN[kind]
        return self.refusal(part, f"must have {noun} here", f"write it {form}")


def _adapts(node: Node) -> bool:
    """Whether it is a text in quotes, which takes the kind of what it is compared with."""
    return isinstance(node, Literal) and node.kind is Kind.TEXT


def _liked(value: Node, pattern: str, *, fold: bool) -> Node:
    """``value LIKE pattern``, without an escape, as an operation that ``costs`` knows; with ``fold``, ILIKE."""

    def test(operation: str, text: str) -> Node:
        sides = (value, Literal(Kind.TEXT, text))
        return Apply(operation, tuple(Apply("lower", (s,), Kind.TEXT) for s in sides) if fold else sides, Kind.BOOLEAN)

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
