"""From text to a typed tree: a parser by precedence, which refuses at the place that is wrong.

Whatever is not in the tables is refused: other functions, subqueries, aggregates, windows, parameters, names with a
table before them.
"""

from __future__ import annotations

from typing import Final

from sparsegate.conditions.checking import MOST_DEPTH, Checker, Piece
from sparsegate.conditions.condition import Condition
from sparsegate.conditions.literals import WRITTEN, converted, number
from sparsegate.conditions.operations import COMPARISONS, FUNCTIONS, MATCHES, PARTS, TYPES, Type
from sparsegate.conditions.schema import NEAR, Column, Kind, Schema
from sparsegate.conditions.tree import All, Either, Literal, columns_in
from sparsegate.conditions.words import Word, possible_names, read_words
from sparsegate.errors import ConditionError

OR, AND, NOT, IS, COMPARE, MATCH, SUM, PRODUCT, SIGN, TYPE = range(1, 11)
_LEVELS: Final = {
    "OR": OR,
    "AND": AND,
    "IS": IS,
    "ISNULL": IS,
    "NOTNULL": IS,
    **dict.fromkeys(COMPARISONS, COMPARE),
    **dict.fromkeys(("NOT", "IN", "BETWEEN", *MATCHES, *(f"!{sign}" for sign in MATCHES if "~" in sign)), MATCH),
    "+": SUM,
    "-": SUM,
    "*": PRODUCT,
    "/": PRODUCT,
    "::": TYPE,
}
"""How tightly an operator binds, as in PostgreSQL and DuckDB."""
_RESERVED: Final = {"AND", "OR", "NOT", "IN", "BETWEEN", "LIKE", "IS"}
_CONSTANTS: Final = {
    "TRUE": Literal(Kind.BOOLEAN, True),
    "FALSE": Literal(Kind.BOOLEAN, False),
    "NULL": Literal(None, None),
}
_AFTER: Final = {
    "ESCAPE": "for a text that holds % or _ use contains, starts_with or ends_with",
    "COLLATE": "text is compared code point by code point: use lower on both sides, or ILIKE",
}
_FOREIGN: Final = {
    **dict.fromkeys(("SELECT", "EXISTS", "WITH", "ALL", "ANY", "FROM"), "a subquery"),
    **dict.fromkeys(("OVER", "DISTINCT", "GROUP", "HAVING", "ORDER", "LIMIT", "UNION", "COLUMNS"), "this word of SQL"),
    **dict.fromkeys(("INTERVAL", "ARRAY", "LAMBDA"), "this word of SQL"),
}


def read_condition(text: str, schema: Schema) -> Condition:
    """Read a condition over the columns of a schema, or raise ConditionError with the place that is wrong.

    >>> schema = Schema((Column("page", Kind.TEXT), Column("seconds", Kind.INTEGER)))
    >>> print(read_condition("page in ('/pay') and not seconds<10", schema).sql())
    (("page" IN ('/pay')) AND (NOT ("seconds" < 10)))
    >>> read_condition("page = 5", schema)
    Traceback (most recent call last):
    sparsegate.errors.ConditionError: where must compare values of one kind (character 8), got '5'; page is
    text and 5 is integer: convert one, as CAST(page AS INTEGER) (of a service: --read page=integer, when the data are
    opened), or write text in single quotes
    """
    reader = _Reader(text, schema)
    return Condition(text, schema, reader.truth(reader.whole()).node)


def read_value(text: str, schema: Schema) -> Condition:
    """Read an expression over the columns of a schema: a value of some kind for every row, of that row alone."""
    return Condition(text, schema, _Reader(text, schema).whole().node)


def names_in(text: str) -> tuple[str, ...]:
    """The columns that a condition speaks of; where it is none on text, as "n > 5", the words that may be columns."""
    try:
        tree = _Reader(text, _AnyColumn(())).whole().node
    except ConditionError:
        return tuple(name for name in possible_names(text) if name.upper() not in {*_LEVELS, *_CONSTANTS})
    return tuple({column.name.casefold(): column.name for column in columns_in(tree)}.values())


class _AnyColumn(Schema):
    """Every name is a column of text."""

    def find(self, name: str) -> Column | None:
        return Column(name, Kind.TEXT) if name else None


class _Reader(Checker):
    def __init__(self, text: str, schema: Schema) -> None:
        super().__init__(text)
        self._schema = schema
        self._words = read_words(text)
        self._at = 0
        self._open = 0

    def whole(self) -> Piece:
        try:
            part = self._expression()
        except RecursionError:  # of a caller who is deep in the stack already
            part = None
        if part is None:
            raise self.refusal(self._words[0], "must be read by a caller with room on the stack")
        if self._word.part != "end":
            hint = _AFTER.get(self._word.upper, "")
            raise self.refusal(self._word, "must have an operator, such as = or AND, here", hint)
        return part

    # --- Words ------------------------------------------------------------------------------------------------------

    @property
    def _word(self) -> Word:
        return self._words[self._at]

    def _next(self) -> Word:
        word = self._word
        self._at += word.part != "end"
        return word

    def _took(self, *uppers: str) -> bool:
        """Whether the next words are these; then they are read."""
        found = [word.upper for word in self._words[self._at : self._at + len(uppers)]] == list(uppers)
        self._at += len(uppers) * found
        return found

    @property
    def _last(self) -> Word:
        return self._words[self._at - 1]

    def _require(self, upper: str) -> Word:
        if self._word.upper != upper:
            raise self.refusal(self._word, f"must have {'an operator or ) ' if upper == ')' else f'{upper} '}here")
        return self._next()

    # --- Operators --------------------------------------------------------------------------------------------------

    def _expression(self, least: int = OR) -> Piece:
        """What binds at least this tightly."""
        self._open += 1
        if self._open > MOST_DEPTH:
            raise self.refusal(self._word, f"must not nest more than {MOST_DEPTH} deep")
        left, most = self._operand(least), TYPE
        while least <= (level := _LEVELS.get(self._word.upper, 0)):
            if level > most:
                raise self.refusal(self._word, "must not chain comparisons", "combine them with AND, or set brackets")
            left = self._operator(left, level)
            most = level - 1 if level in (COMPARE, MATCH) else TYPE
        self._open -= 1
        return left

    def _operator(self, left: Piece, level: int) -> Piece:
        sign = self._next().upper
        if level in (OR, AND):
            terms = [left, self._expression(level + 1)]
            while self._took(sign):
                terms.append(self._expression(level + 1))
            return self.junction(Either if level == OR else All, terms)
        if level == IS:
            return self._is(left, sign)
        if level == COMPARE:
            return self.compared(COMPARISONS[sign], [left, self._expression(level + 1)])
        if level == MATCH:
            return self._match(left, sign)
        if level == TYPE:
            return self.cast(left, *self._type(), tried=False, first=None, last=self._last)
        return self.arithmetic(sign, [left, self._expression(level + 1)])

    def _is(self, left: Piece, sign: str) -> Piece:
        negated = sign == "NOTNULL" or (sign == "IS" and self._took("NOT"))
        if sign != "IS" or self._took("NULL"):
            found = self.is_null(left, self._last)
        elif self._took("UNKNOWN"):
            found = self.is_null(self.truth(left), self._last)
        elif self._took("DISTINCT", "FROM"):
            found = self.compared("is not distinct from", [left, self._expression(COMPARE)])
            negated = not negated
        elif self._word.upper in ("TRUE", "FALSE"):
            word = self._next()
            if left.node.kind is not Kind.BOOLEAN:
                left = self.cast(left, TYPES["BOOLEAN"], (), tried=False, first=None, last=left)
            found = self.compared("is not distinct from", [left, Piece(_CONSTANTS[word.upper], word.start, word.end)])
        else:
            raise self.refusal(self._word, "must have NULL, TRUE, FALSE, UNKNOWN or DISTINCT FROM here")
        return self.negated(found) if negated else found

    def _match(self, left: Piece, sign: str) -> Piece:
        negated = sign == "NOT" or sign.startswith("!")
        if sign == "NOT":
            if self._took("NULL"):
                return self.negated(self.is_null(left, self._last))
            if self._word.upper not in ("IN", "BETWEEN", "LIKE", "ILIKE", "SIMILAR"):
                raise self.refusal(self._word, "must have IN, BETWEEN or LIKE here")
            sign = self._next().upper
        sign = sign.removeprefix("!")
        if sign == "IN":
            self._require("(")
            found = self.compared("in", [left, *self._listed()], self._last)
        elif sign == "BETWEEN":
            low = self._expression(SUM)
            self._require("AND")
            found = self.compared("between", [left, low, self._expression(SUM)])
        else:
            if sign == "SIMILAR":
                self._require("TO")
            found = self.matched(MATCHES[sign], left, self._expression(SUM))
        return self.negated(found) if negated else found

    def _listed(self) -> list[Piece]:
        """Expressions up to a bracket that closes; a comma may stand before it."""
        parts = [self._expression()]
        while self._took(",") and self._word.upper != ")":
            parts.append(self._expression())
        self._require(")")
        return parts

    # --- Operands ---------------------------------------------------------------------------------------------------

    def _operand(self, least: int) -> Piece:
        word = self._next()
        match word.part:
            case "string":
                return Piece(Literal(Kind.TEXT, word.value), word.start, word.end)
            case "number":
                return self._number(word)
            case "name":
                return self._call(word, word.value.lower()) if self._word.upper == "(" else self._column(word)
            case "word":
                return self._named(word, least)
            case "sign" if word.value == "(":
                inner = self._expression()
                if self._word.part == "end":
                    raise self.refusal(word, "must close this bracket")
                return Piece(inner.node, word.start, self._require(")").end, inner.depth)
            case "sign" if word.value in "+-":
                return self.arithmetic(word.value, [self._expression(SIGN)], word)
        raise self.refusal(word, "must have a column, a value, NOT or a bracket here")

    def _number(self, word: Word) -> Piece:
        try:
            return Piece(Literal(*number(word.value)), word.start, word.end)
        except OverflowError:
            pass
        raise self.refusal(word, "must hold numbers within the range of a double", "write 'inf' for infinity")

    def _named(self, word: Word, least: int) -> Piece:
        """What begins with a word. A declared column comes before a word of SQL that is not reserved."""
        if word.upper == "NOT" and least <= NOT:
            return self.negated(self._expression(NOT), word)
        if word.upper in _CONSTANTS:
            return Piece(_CONSTANTS[word.upper], word.start, word.end)
        if word.upper in ("DATE", "TIMESTAMP", "TIMESTAMPTZ", "TIME"):
            name = "TIMESTAMPTZ" if self._took("WITH", "TIME", "ZONE") else word.upper
            if self._word.part == "string":
                return self._moment(word, TYPES[name])
        if self._word.upper == "(" and word.upper not in _RESERVED:
            return self._call(word, word.upper.lower())
        known = self._schema.find(word.value)
        if word.upper == "CASE" and (known is None or self._word.upper == "WHEN"):
            return self._case(word)
        if word.upper in _RESERVED:
            raise self.refusal(word, "must have a column, a value, NOT or a bracket here")
        if word.upper in _FOREIGN and known is None:
            raise self.refusal(word, f"must not hold {_FOREIGN[word.upper]}", "a row must match by itself")
        return self._column(word)

    def _moment(self, word: Word, target: Type) -> Piece:
        string = self._next()
        try:
            constant = converted(string.value, target.kind, zoned=target.zoned)
            return Piece(Literal(target.kind, constant), word.start, string.end)
        except ValueError:
            pass
        noun, form = WRITTEN[target.kind]
        raise self.refusal(Piece(_CONSTANTS["NULL"], word.start, string.end), f"must hold {noun}", f"write {form}")

    def _column(self, word: Word) -> Piece:
        column = self._schema.find(word.value)
        if column is not None:
            return Piece(column, word.start, word.end)
        if word.value.casefold() in map(str.casefold, self._schema.unreadable):
            raise self.refusal(word, "must name a column whose type can be asked about", "convert it with --sql")
        near = self._schema.near(word.value)
        names = [column.name for column in self._schema.columns if self._schema.listed and not near]
        hint = f"there is {', '.join(names[:NEAR])}{' ...' if len(names) > NEAR else ''}" if names else ""
        if word.part == "name":
            hint = "a text value is written in single quotes"
        raise self.refusal(word, "must name a declared column", hint, near)

    def _call(self, word: Word, name: str) -> Piece:
        self._require("(")
        if name in ("cast", "try_cast"):
            part = self._expression()
            self._require("AS")
            target, sizes = self._type()
            return self.cast(part, target, sizes, tried=name == "try_cast", first=word, last=self._require(")"))
        if name in ("extract", "date_part"):
            unit = self._next()
            name = unit.value.lower() if unit.part in ("string", "word") else ""
            if name not in PARTS:
                raise self.refusal(unit, f"must name one of {', '.join(PARTS)}")
            self._require("FROM" if word.value.lower() == "extract" else ",")
        elif name == "trim" and self._word.upper in ("BOTH", "LEADING", "TRAILING"):
            name = {"BOTH": "trim", "LEADING": "ltrim", "TRAILING": "rtrim"}[self._next().upper]
            self._require("FROM")
        elif name not in (*FUNCTIONS, "coalesce", "ifnull"):
            hint = f"there are {', '.join([*FUNCTIONS, 'coalesce', 'CAST'])}"
            raise self.refusal(word, "must not call a function that is not known here", hint)
        parts = self._listed()
        if name in ("coalesce", "ifnull"):
            return self.coalesced(parts, word, self._last)
        return self.called(name, parts, word, self._last)

    def _type(self) -> tuple[Type, tuple[int, ...]]:
        """A type, with sizes where it is a DECIMAL; those of a VARCHAR say nothing."""
        word = self._next()
        name = word.value.upper() if word.part in ("word", "name") else ""
        if name == "DOUBLE":
            self._took("PRECISION")
        if name == "TIMESTAMP":
            name = "TIMESTAMPTZ" if self._took("WITH", "TIME", "ZONE") else name
            self._took("WITHOUT", "TIME", "ZONE")
        if name not in TYPES:
            raise self.refusal(word, "must cast to a type that is known here", f"there are {', '.join(TYPES)}")
        sizes = []
        if self._took("("):
            while self._word.part == "number" and self._word.value.isdigit() and len(self._word.value) < 6:
                sizes.append(int(self._next().value))
                self._took(",")
            self._require(")")
        if TYPES[name].name != "DECIMAL":
            return TYPES[name], ()
        width, scale = (*sizes, *((18, 3), (0,), ())[len(sizes)]) if len(sizes) < 3 else (0, 0)
        if not 1 <= width <= 38 or scale > width:
            raise self.refusal(word, "must give a DECIMAL 1 to 38 digits, and no more of them after the point")
        return TYPES[name], (width, scale)

    def _case(self, word: Word) -> Piece:
        base = None if self._word.upper == "WHEN" else self._expression()
        branches = []
        while self._took("WHEN"):
            test = self._expression()
            self._require("THEN")
            branches.append((test, self._expression()))
        if not branches:
            raise self.refusal(self._word, "must have WHEN here")
        null = Piece(_CONSTANTS["NULL"], self._word.start, self._word.end)
        otherwise = self._expression() if self._took("ELSE") else null
        return self.case(base, branches, otherwise, word, self._require("END"))
