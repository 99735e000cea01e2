"""Types and forms of a predicate: the parser's tree goes in, and the checked tree of our own nodes comes out.

Both sides of a comparison must be of one kind, and a value is read as the kind of the column beside it. A whole number
may be compared with any integer column, however narrow: the engine widens the column, which cannot fail. A number
beside a real column is rounded to the nearest double, once, here.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from sqlglot import exp

from sparsegate.service.predicates.schema import Column, Kind, PredicateError
from sparsegate.service.predicates.tree import (
    Among,
    Between,
    Both,
    Comparison,
    Condition,
    Either,
    IsNull,
    Like,
    Literal,
    Not,
    Value,
)
from sparsegate.service.predicates.words import FORMS, Number, Part, Word

MOST_INTEGER: Final = 2**127 - 1
MOST_PATTERN: Final = 200
MOST_PERCENT: Final = 20

_OPERATORS: Final[dict[type[exp.Expr], str]] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}
_TWO, _ONE, _NEGATED = (
    frozenset({"this", "expression"}),
    frozenset({"this"}),
    frozenset({"this", "expression", "negate"}),
)
_NODES: Final[dict[type[exp.Expr], frozenset[str]]] = {
    **dict.fromkeys([*_OPERATORS, exp.And, exp.Or], _TWO),
    **dict.fromkeys([exp.Paren, exp.Not, exp.Column], _ONE),
    **dict.fromkeys([exp.Like, exp.Is], _NEGATED),
    exp.In: frozenset({"this", "expressions"}),
    exp.Between: frozenset({"this", "low", "high"}),
}
"""The closed list: the parser's nodes that are understood, each with the only arguments that it may have."""

_WRITTEN: Final = {
    Kind.TEXT: ("text", "in single quotes"),
    Kind.INTEGER: ("a whole number", "in digits alone, as 42"),
    Kind.REAL: ("a number", "as 0.5 or 1e9"),
    Kind.BOOLEAN: ("a truth value", "TRUE or FALSE"),
    **{kind: (f"a {kind}", f"as {form}") for kind, form in FORMS.items()},
}
"""How an error calls a value of the kind, and how it is written."""


class Checker:
    """Turns the parser's nodes into ours, each by its own rule; a node without a rule is refused."""

    def __init__(self, text: str, words: Sequence[Word]) -> None:
        self._text = text
        self._values = [word for word in words if word.part is Part.VALUE]

    def condition(self, node: exp.Expr) -> Condition:
        """The checked condition that the node stands for."""
        args = self._args(node)
        match node:
            case exp.Paren():
                return self.condition(args["this"])
            case exp.And():
                return Both(tuple(map(self.condition, self._chain(node))))
            case exp.Or():
                return Either(tuple(map(self.condition, self._chain(node))))
            case exp.Not():
                return _negated(self.condition(args["this"]))
            case exp.Like():
                column = self._column(args["this"])
                return Like(column, self._pattern(args["expression"], column), negated=bool(args.get("negate")))
            case exp.Is():
                if type(args["expression"]) is not exp.Null:
                    raise self._refusal(node, "must ask IS NULL or IS NOT NULL")
                return IsNull(self._column(args["this"]), negated=bool(args.get("negate")))
            case exp.In():
                column = self._column(args["this"])
                return Among(column, tuple(self._literal(each, column) for each in args["expressions"]), negated=False)
            case exp.Between():
                value, low, high = self._alike(node, [args["this"], args["low"], args["high"]], ordered=True)
                return Between(value, low, high, negated=False)
            case exp.Column():
                return self._truth(self._leaf(node))
        operator = _OPERATORS[type(node)]
        left, right = self._alike(node, [args["this"], args["expression"]], ordered=operator not in ("=", "<>"))
        return Comparison(operator, left, right)

    def _args(self, node: exp.Expr) -> dict[str, Any]:
        """The arguments of a node of the closed list that has no others."""
        given = {name: value for name, value in node.args.items() if value not in (None, False, [])}
        if not given.keys() <= _NODES.get(type(node), frozenset()):
            raise self._refusal(node, "must be built of comparisons, IN, BETWEEN, LIKE, IS NULL, AND, OR and NOT")
        return given

    def _chain(self, node: exp.Expr) -> list[exp.Expr]:
        """The terms of ``a AND b AND c``, which the parser gives as ``(a AND b) AND c``."""
        terms = []
        kind = type(node)
        while type(node) is kind:
            args = self._args(node)
            terms.append(args["expression"])
            node = args["this"]
        return [node, *reversed(terms)]

    def _leaf(self, node: exp.Expr) -> Word:
        """The word that stands for this column of the parser's; brackets around it do not matter."""
        while type(node) is exp.Paren:
            node = self._args(node)["this"]
        if type(node) is not exp.Column:
            raise self._refusal(node, "must have a column or a value here, and not a condition")
        self._args(node)
        return self._values[int(node.name)]

    def _column(self, node: exp.Expr) -> Column:
        word = self._leaf(node)
        if not isinstance(word.value, Column):
            raise self._refusal(word, "must have a column here")
        return word.value

    def _truth(self, word: Word) -> Condition:
        match word.value:
            case (Column(kind=Kind.BOOLEAN) | Literal(kind=Kind.BOOLEAN)) as value:
                return value
        raise self._refusal(word, "must compare this with something: it is not true or false by itself")

    def _alike(self, node: exp.Expr, sides: Sequence[exp.Expr], *, ordered: bool) -> list[Value]:
        """The sides of a comparison, all of the kind of the first column among them."""
        words = [self._leaf(side) for side in sides]
        column = next((word.value for word in words if isinstance(word.value, Column)), None)
        if column is None:
            raise self._refusal(node, "must have a column in every comparison")
        if ordered and column.kind is Kind.BOOLEAN:
            raise self._refusal(node, "must compare a boolean with = or <> alone")
        return [self._of_kind(word, column) for word in words]

    def _literal(self, node: exp.Expr, column: Column) -> Literal:
        word = self._leaf(node)
        value = self._of_kind(word, column)
        if isinstance(value, Column):
            raise self._refusal(word, "must have values here, and no column")
        return value

    def _of_kind(self, word: Word, column: Column) -> Value:
        """The value, which must be of the column's kind: there are no casts."""
        value = word.value
        if isinstance(value, Column | Literal) and value.kind is column.kind:
            return value
        if isinstance(value, Number) and column.kind is Kind.INTEGER and re.fullmatch("-?[0-9]+", value.text):
            if abs(int(value.text)) <= MOST_INTEGER:
                return Literal(Kind.INTEGER, int(value.text))
            raise self._refusal(word, "must hold whole numbers of less than 2^127")
        if isinstance(value, Number) and column.kind is Kind.REAL:
            if math.isfinite(float(value.text)):
                return Literal(Kind.REAL, float(value.text))
            raise self._refusal(word, "must hold numbers within the range of a double")
        if isinstance(value, Column):
            kinds = f"{column.name!r} is {column.kind} and {value.name!r} is {value.kind}"
            raise self._refusal(word, f"must compare columns of one kind, and {kinds}")
        noun, form = _WRITTEN[column.kind]
        raise self._refusal(word, f"must compare {column.name!r} with {noun}", f"write it {form}")

    def _pattern(self, node: exp.Expr, column: Column) -> str:
        """A pattern that the engine matches in a time linear in the cell.

        Segments between % are found one after another; but where there is a _ the engine tries every place of every
        % against every place of the next, so that only one % may have something after it.
        """
        word = self._leaf(node)
        if column.kind is not Kind.TEXT or not isinstance(word.value, Literal) or word.value.kind is not Kind.TEXT:
            raise self._refusal(word, "must use LIKE on a text column, with a pattern in single quotes")
        pattern = re.sub("%+", "%", str(word.value.constant))
        if len(pattern) > MOST_PATTERN or pattern.count("%") > MOST_PERCENT:
            raise self._refusal(word, f"must have a pattern of at most {MOST_PATTERN} characters and {MOST_PERCENT} %")
        if "_" in pattern and pattern[:-1].count("%") > 1:
            raise self._refusal(word, "must have at most one % before the last character of a pattern with _")
        return pattern

    def _refusal(self, at: exp.Expr | Word, rule: str, next_step: str = "") -> PredicateError:
        """An error at a word, or from the first value inside a node of the parser's to the last."""
        if isinstance(at, Word):
            return PredicateError(rule, self._text, at.start, at.end, next_step=next_step)
        words = [self._values[int(leaf.name)] for leaf in at.find_all(exp.Identifier)]
        start = min((word.start for word in words), default=0)
        end = max((word.end for word in words), default=len(self._text))
        return PredicateError(rule, self._text, start, end, next_step=next_step)


def _negated(term: Condition) -> Condition:
    """NOT of a condition; into the operator where it has a place for it, which is the same in three values too."""
    if isinstance(term, Among | Between | Like | IsNull):
        return replace(term, negated=not term.negated)
    return Not(term)
