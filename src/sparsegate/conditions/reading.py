"""From text to a typed tree: a closed lexicon, constants, and a parser by precedence that refuses at the wrong place.

Whatever is not in the tables is refused: other functions, subqueries, aggregates, windows, parameters, names with a
table before them. Each node is built of arguments that fit: a text in quotes takes the kind of what it is compared
with, and must be one of that kind; whole numbers become reals, and dates timestamps, beside the wider kind. No other
conversion happens without a CAST.
"""

from __future__ import annotations

import datetime
import itertools
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from sparsegate.conditions.condition import Condition
from sparsegate.conditions.operations import COMPARISONS, CONVERTS, FUNCTIONS, MATCHES, PARTS, TYPES, Type
from sparsegate.conditions.tree import (
    NEAR,
    Apply,
    CaseWhen,
    Cast,
    Column,
    Constant,
    Kind,
    Literal,
    Node,
    Schema,
    columns_in,
)
from sparsegate.errors import ConditionError

MOST_CHARACTERS: Final = 10_000

_LEXICON: Final = re.compile(
    r"""(?P<space>[ \t\r\n]+|--[^\n]*|/\*(?s:.*?)\*/)
    | (?P<string>[nN]?'(?:[^']|'')*+'|\$\$(?s:.*?)\$\$)
    | (?P<escaped>[eE]'(?:[^'\\]|\\.|'')*+')
    | (?P<name>"(?:[^"]|"")*+")
    | (?P<number>(?:[0-9]+(?:_[0-9]+)*(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)(?![\w.])
    | (?P<word>[^\W\d]\w*)
    | (?P<sign><>|!=|<=|>=|==?|<|>|!?~~\*?|!?~(?!\*)|::|[-+*/(),])""",
    re.VERBOSE,
)
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "\\": "\\", "'": "'", '"': '"'}
_MEANT: Final = {
    **dict.fromkeys("'\"", "close the quote; a quote inside is written twice"),
    **dict.fromkeys("‘’“”", "a text value is written in straight single quotes, as 'DE'"),
    ";": "ask one condition, without a semicolon",
    ".": "name a column alone, without a table before it, in double quotes if it holds a dot",
    "/": "close the comment",
    **dict.fromkeys("%|&^~#!", "of operators there are + - * / and comparisons"),
    **dict.fromkeys(":?$@", "leave out parameters: a value is written in the condition"),
    **dict.fromkeys("[]{}", "leave out arrays, structs and indices"),
    **dict.fromkeys("0123456789", "write a number in decimal digits, as 1000 or 0.5 or 1e9"),
}


@dataclass(frozen=True)
class Word:
    """One word at ``text[start:end]``; ``part`` is string, number, name (in double quotes), word, sign or end.

    ``value`` is what a string or a name says; a word in ASCII letters is also known by its capitals, in ``upper``.
    """

    part: str
    value: str
    start: int
    end: int
    upper: str = ""


def read_words(text: str) -> list[Word]:
    """The words of the text, and an end; or ConditionError."""
    if not isinstance(text, str):
        raise ConditionError("must be text", "", 0, 0)
    if len(text) > MOST_CHARACTERS:
        raise ConditionError(f"must have at most {MOST_CHARACTERS:,} characters", text, MOST_CHARACTERS, len(text))
    if broken := re.search("[\0\ud800-\udfff]", text):
        raise ConditionError("must be UTF-8 text without a zero byte", text, *broken.span())
    words, position = [], 0
    while position < len(text):
        match = _LEXICON.match(text, position)
        if match is None or (text.startswith("/*", position) and match.lastgroup == "sign"):
            rule, hint = "must be readable as a condition on one row", _MEANT.get(text[position], "")
            raise ConditionError(rule, text, position, position + 1, next_step=hint)
        position = match.end()
        if match.lastgroup != "space":
            words.append(_word(match))
    return [*words, Word("end", "", len(text), len(text))]


def _word(match: re.Match[str]) -> Word:
    part, piece, (start, end) = str(match.lastgroup), match.group(), match.span()
    match part:
        case "string" if piece.startswith("$"):
            value = piece[2:-2]
        case "string" | "name":
            quote = piece[-1]
            value = piece[piece.index(quote) + 1 : -1].replace(quote * 2, quote)
        case "escaped":
            part, value = "string", _unescaped(match)
        case "number":
            value = piece.replace("_", "")
        case _:
            value = piece
    # Only ASCII: the capital of a Turkish dotless i is an I, and IS must not be spelled with it.
    return Word(part, value, start, end, piece.upper() if piece.isascii() and part in ("word", "sign") else "")


def _unescaped(match: re.Match[str]) -> str:
    def meant(mark: re.Match[str]) -> str:
        if mark[0] == "''":
            return "'"
        if mark[1] not in _ESCAPES:
            start = match.start() + 2 + mark.start()
            raise ConditionError("must hold a known escape", match.string, start, start + 2, next_step=r"as \n or \\")
        return _ESCAPES[mark[1]]

    return re.sub(r"\\(.)|''", meant, match.group()[2:-1], flags=re.DOTALL)


# --- Constants -------------------------------------------------------------------------------------------------------

MOST_INTEGER: Final = 2**127 - 1

WRITTEN: Final = {
    Kind.TEXT: ("text", "in single quotes"),
    Kind.INTEGER: ("a whole number", "in digits, as 42"),
    Kind.REAL: ("a number", "as 0.5 or 1e9"),
    Kind.BOOLEAN: ("a truth value", "TRUE or FALSE"),
    Kind.DATE: ("a date that exists", "DATE 'YYYY-MM-DD'"),
    Kind.TIMESTAMP: ("a timestamp that exists", "TIMESTAMP 'YYYY-MM-DD HH:MM:SS'"),
    Kind.TIME: ("a time of day", "TIME 'HH:MM:SS'"),
}
"""How an error calls a value of the kind, and how it is written."""

_DAY: Final = r"([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})"
_TIME: Final = r"([0-9]{1,2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,6}))?)?"
_ZONE: Final = r"|Z|[+-][0-9]{2}(?::?[0-9]{2})?"
_TRUTHS: Final = {
    **dict.fromkeys(("true", "t", "yes", "y", "1"), True),
    **dict.fromkeys(("false", "f", "no", "n", "0"), False),
}


def number(text: str) -> Literal:
    """A number as it is written: whole up to 127 bits, else the nearest double. Raises OverflowError beyond doubles.

    >>> number("007"), number("1e3")
    (Literal(kind=<Kind.INTEGER: 'integer'>, constant=7), Literal(kind=<Kind.REAL: 'real'>, constant=1000.0))
    """
    if text.isdigit() and len(text.lstrip("0")) < 40 and int(text) <= MOST_INTEGER:
        return Literal(Kind.INTEGER, int(text))
    value = float(text)
    if value == float("inf"):
        raise OverflowError
    return Literal(Kind.REAL, value)


def converted(value: Constant, kind: Kind, *, zoned: bool = False) -> Constant:
    """A constant as one of another kind; raises ValueError where it is none. With ``zoned`` a time may have a zone.

    >>> converted(" 5 ", Kind.INTEGER), converted("2024-1-31", Kind.DATE), converted(5, Kind.REAL)
    (5, '2024-01-31', 5.0)
    """
    if value is None:
        return None
    text = value.strip() if isinstance(value, str) else repr(value)
    match kind:
        case Kind.TEXT if isinstance(value, str):
            return value
        case Kind.INTEGER if re.fullmatch("[+-]?[0-9]{1,39}", text) and abs(int(text)) <= MOST_INTEGER:
            return int(text)
        case Kind.REAL if re.fullmatch(r"[-+.0-9eE]+|[+-]?(?i:inf|infinity|nan)", text):
            return float(text)
        case Kind.BOOLEAN if text.lower() in _TRUTHS:
            return _TRUTHS[text.lower()]
        case Kind.DATE | Kind.TIMESTAMP if re.fullmatch("-?(?i:infinity)", text):
            return text.lower()
        case Kind.DATE if day := re.fullmatch(_DAY, text):
            return datetime.date(*map(int, day.groups())).isoformat()
        case Kind.TIMESTAMP if moment := re.fullmatch(f"{_DAY}(?:[ T]{_TIME}({_ZONE if zoned else ''}))?", text):
            return _moment(moment)
        case Kind.TIME if clock := re.fullmatch(_TIME, text):
            hour, minute, second, fraction = (part or "0" for part in clock.groups())
            return datetime.time(int(hour), int(minute), int(second), int(fraction.ljust(6, "0"))).isoformat()
    raise ValueError


def _moment(match: re.Match[str]) -> str:
    """To the microsecond, in UTC where a zone is given."""
    *parts, fraction, zone = match.groups()
    year, month, day, hour, minute, second = (int(part or 0) for part in parts)
    moment = datetime.datetime(year, month, day, hour, minute, second, int((fraction or "0").ljust(6, "0")))
    if zone and zone != "Z":
        minutes = int(zone[1:3]) * 60 + int(zone[3:].strip(":") or 0)
        try:
            moment -= datetime.timedelta(minutes=minutes if zone[0] == "+" else -minutes)
        except OverflowError:  # in UTC it lies before the year 1, or after 9999
            raise ValueError from None
    return moment.isoformat(" ")


# --- The parser ------------------------------------------------------------------------------------------------------

MOST_DEPTH: Final = 50
"""Brackets, NOTs, calls and CASEs inside one another, and signs in one row of arithmetic."""

_FAMILIES: Final = ({Kind.INTEGER, Kind.REAL}, {Kind.DATE, Kind.TIMESTAMP})
_WIDER: Final = (Kind.REAL, Kind.TIMESTAMP)

OR, AND, NOT, IS, COMPARE, MATCH, SUM, PRODUCT, SIGN, TYPE = range(1, 11)
_LEVELS: Final = {
    "OR": OR,
    "AND": AND,
    **dict.fromkeys(("IS", "ISNULL", "NOTNULL"), IS),
    **dict.fromkeys(COMPARISONS, COMPARE),
    **dict.fromkeys(("NOT", "IN", "BETWEEN", *MATCHES, *(f"!{sign}" for sign in MATCHES if "~" in sign)), MATCH),
    **dict.fromkeys("+-", SUM),
    **dict.fromkeys("*/", PRODUCT),
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
    return Condition(text, schema, reader.truth(reader.whole()))


def read_value(text: str, schema: Schema) -> Condition:
    """Read an expression over the columns of a schema: a value of some kind for every row, of that row alone."""
    return Condition(text, schema, _Reader(text, schema).whole().node)


def names_in(text: str) -> tuple[str, ...]:
    """The columns that a condition speaks of; where it is none on text, as "n > 5", the words that may be columns.

    >>> names_in('month(day) = 3 AND "the end" < 5')
    ('day', 'the end')
    """
    try:
        names = [column.name for column in columns_in(_Reader(text, _AnyColumn(())).whole().node)]
    except ConditionError:
        names = _possible_names(text)
    return tuple({name.casefold(): name for name in names}.values())


def _possible_names(text: str) -> list[str]:
    """The words that are no functions, by the bracket behind them, and no operators; none if the text has no words."""
    try:
        words = read_words(text)
    except ConditionError:
        return []
    return [
        word.value
        for word, after in itertools.pairwise(words)
        if word.part == "name"
        or (word.part == "word" and after.upper != "(" and word.value.upper() not in {*_LEVELS, *_CONSTANTS})
    ]


class _AnyColumn(Schema):
    """Every name is a column of text."""

    def find(self, name: str) -> Column | None:
        return Column(name, Kind.TEXT) if name else None


@dataclass(frozen=True)
class Piece:
    """A node, where it stands in the text, and how deep it is."""

    node: Node
    start: int
    end: int
    depth: int = 1


class _Reader:
    """Reads the words of one text from left to right, each of them once."""

    def __init__(self, text: str, schema: Schema) -> None:
        self._text, self._schema = text, schema
        self._words = read_words(text)
        self._at = self._open = 0

    def whole(self) -> Piece:
        part = None
        with suppress(RecursionError):  # of a caller who is deep in the stack already
            part = self._expression()
        if part is None:
            raise self._refusal(self._words[0], "must be read by a caller with room on the stack")
        if self._word.part != "end":
            hint = _AFTER.get(self._word.upper, "")
            raise self._refusal(self._word, "must have an operator, such as = or AND, here", hint)
        return part

    def _refusal(self, at: Word | Piece, rule: str, next_step: str = "", near: tuple[str, ...] = ()) -> ConditionError:
        return ConditionError(rule, self._text, at.start, at.end, next_step=next_step, near=near)

    def _unfit(self, at: Word | Piece, kind: Kind) -> ConditionError:
        noun, form = WRITTEN[kind]
        return self._refusal(at, f"must have {noun} here", f"write it {form}")

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
        matches = [word.upper for word in self._words[self._at : self._at + len(uppers)]] == list(uppers)
        self._at += len(uppers) * matches
        return matches

    def _require(self, upper: str) -> Word:
        if self._word.upper != upper:
            raise self._refusal(self._word, f"must have {'an operator or ) ' if upper == ')' else f'{upper} '}here")
        return self._next()

    # --- Nodes of parts that fit ------------------------------------------------------------------------------------

    def _joined(self, node: Node, parts: Sequence[Piece], first: Word | None = None) -> Piece:
        """A node from the first word of it, or of its parts, to the last word that was read."""
        start, end = (first or parts[0]).start, self._words[self._at - 1].end
        piece = Piece(node, start, end, 1 + max(part.depth for part in parts))
        if piece.depth > MOST_DEPTH:
            raise self._refusal(piece, f"must not nest more than {MOST_DEPTH} deep", "split it into several conditions")
        return piece

    def truth(self, part: Piece) -> Node:
        """A part that must be true or false."""
        if part.node.kind in (Kind.BOOLEAN, None):
            return self._fit(part, Kind.BOOLEAN)
        raise self._refusal(part, "must compare this with something: it is not true or false by itself")

    def _negated(self, part: Piece, first: Word | None = None) -> Piece:
        return self._joined(Apply("not", (self.truth(part),), Kind.BOOLEAN), [part], first)

    def _is_null(self, part: Piece, node: Node) -> Piece:
        return self._joined(Apply("is null", (node,), Kind.BOOLEAN), [part])

    def _compared(self, operation: str, parts: Sequence[Piece]) -> Piece:
        """A test of parts that are brought to one kind."""
        nodes, _ = self._alike(parts)
        return self._joined(Apply(operation, nodes, Kind.BOOLEAN), parts)

    def _matched(self, operation: str, value: Piece, pattern: Piece, first: Word | None = None) -> Piece:
        """A text against a pattern, which is a constant."""
        if value.node.kind not in (Kind.TEXT, None):
            raise self._refusal(value, "must match text against a pattern", "convert it with CAST(... AS VARCHAR)")
        if not isinstance(pattern.node, Literal) or pattern.node.kind is not Kind.TEXT:
            raise self._refusal(pattern, "must have a pattern in single quotes here")
        subject = self._fit(value, Kind.TEXT)
        if operation in ("like", "ilike"):
            node = _liked(subject, str(pattern.node.constant), fold=operation == "ilike")
        else:
            node = Apply(operation, (subject, pattern.node), Kind.BOOLEAN)
        return self._joined(node, [value, pattern], first)

    def _arithmetic(self, sign: str, parts: Sequence[Piece], first: Word | None = None) -> Piece:
        """Arithmetic, which is that of doubles; of one part, its sign."""
        for part in parts:
            if part.node.kind not in (Kind.INTEGER, Kind.REAL, None):
                step = "convert it with CAST(... AS DOUBLE)" if part.node.kind is Kind.TEXT else ""
                raise self._refusal(part, "must have numbers in arithmetic", step)
        node = parts[0].node
        if len(parts) == 1 and isinstance(node, Literal) and isinstance(node.constant, int | float):
            return self._joined(Literal(node.kind, -node.constant if sign == "-" else node.constant), parts, first)
        nodes = tuple(self._fit(part, Kind.REAL) for part in parts)
        if len(parts) == 1:
            return self._joined(Apply("negative", nodes, Kind.REAL) if sign == "-" else nodes[0], parts, first)
        return self._joined(Apply(sign, nodes, Kind.REAL), parts)

    def _cast(
        self, part: Piece, target: Type, sizes: tuple[int, ...] = (), first: Word | None = None, *, tried: bool = False
    ) -> Piece:
        """A cast; one of a constant that does not convert is refused, unless it is a TRY_CAST."""
        node, kind = part.node, part.node.kind
        if kind is not None and target.kind not in CONVERTS[kind]:
            raise self._refusal(part, f"must not cast {kind} to {target.name}: no value converts")
        if isinstance(node, Literal):
            try:
                constant = converted(node.constant, target.kind, zoned=target.zoned)
                low, high = target.bounds or (0, 0)
                fits = constant is None or low == high or low <= int(constant) <= high
            except ValueError:  # a number that is rounded, or a text that does not convert
                fits, constant = kind is not Kind.TEXT, ""
            if fits and constant != "" and target.exact:
                return self._joined(Literal(target.kind, constant), [part], first)
            if not fits and not tried:
                raise self._unfit(part, target.kind)
        return self._joined(Cast((node,), target.name, sizes, target.kind), [part], first)

    def _alike(self, parts: Sequence[Piece]) -> tuple[tuple[Node, ...], Kind | None]:
        """The parts brought to one kind, and that kind; None where every part is NULL."""
        if all(part.node.kind is None for part in parts):
            return tuple(part.node for part in parts), None
        # A text in quotes takes the kind of what it is compared with.
        firm = [p for p in parts if p.node.kind and not (isinstance(p.node, Literal) and p.node.kind is Kind.TEXT)]
        kinds = {part.node.kind for part in firm if part.node.kind} or {Kind.TEXT}
        kind = next((wide for wide in _WIDER if wide in kinds), next(iter(kinds)))
        if len(kinds) > 1 and not any(kinds <= family for family in _FAMILIES):
            sample = firm[0]
            other = next(part for part in firm if part.node.kind is not sample.node.kind)
            first, second = (self._text[part.start : part.end] for part in (sample, other))
            step = f"{first} is {sample.node.kind} and {second} is {other.node.kind}: convert one, as "
            text = first if sample.node.kind is Kind.TEXT else second if other.node.kind is Kind.TEXT else ""
            step += f"CAST({text or 'age'} AS INTEGER)"
            if text:
                opened = f"of a service: --read {text}=integer, when the data are opened"
                step += f" ({opened}), or write text in single quotes"
            raise self._refusal(other, "must compare values of one kind", step)
        return tuple(self._fit(part, kind) for part in parts), kind

    def _fit(self, part: Piece, kind: Kind) -> Node:
        """The part as one of the kind, where that is always possible or the part is a constant."""
        node = part.node
        if node.kind is kind:
            return node
        if not isinstance(node, Literal):
            return Cast((node,), "DOUBLE" if kind is Kind.REAL else kind.upper(), (), kind)
        with suppress(ValueError):
            return Literal(kind, converted(node.constant, kind))
        raise self._unfit(part, kind)

    # --- Operators --------------------------------------------------------------------------------------------------

    def _expression(self, least: int = OR) -> Piece:
        """What binds at least this tightly."""
        self._open += 1
        if self._open > MOST_DEPTH:
            raise self._refusal(self._word, f"must not nest more than {MOST_DEPTH} deep")
        left, most = self._operand(least), TYPE
        while least <= (level := _LEVELS.get(self._word.upper, 0)):
            if level > most:
                raise self._refusal(self._word, "must not chain comparisons", "combine them with AND, or set brackets")
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
            return self._joined(Apply(sign.lower(), tuple(map(self.truth, terms)), Kind.BOOLEAN), terms)
        if level == IS:
            return self._is(left, sign)
        if level == COMPARE:
            return self._compared(COMPARISONS[sign], [left, self._expression(level + 1)])
        if level == MATCH:
            return self._match(left, sign)
        if level == TYPE:
            return self._cast(left, *self._type())
        return self._arithmetic(sign, [left, self._expression(level + 1)])

    def _is(self, left: Piece, sign: str) -> Piece:
        negated = sign == "NOTNULL" or (sign == "IS" and self._took("NOT"))
        if sign != "IS" or self._took("NULL"):
            piece = self._is_null(left, left.node)
        elif self._took("UNKNOWN"):
            piece = self._is_null(left, self.truth(left))
        elif self._took("DISTINCT", "FROM"):
            piece = self._compared("is not distinct from", [left, self._expression(COMPARE)])
            negated = not negated
        elif self._word.upper in ("TRUE", "FALSE"):
            if left.node.kind is not Kind.BOOLEAN:
                left = self._cast(left, TYPES["BOOLEAN"])
            word = self._next()
            piece = self._compared("is not distinct from", [left, Piece(_CONSTANTS[word.upper], word.start, word.end)])
        else:
            raise self._refusal(self._word, "must have NULL, TRUE, FALSE, UNKNOWN or DISTINCT FROM here")
        return self._negated(piece) if negated else piece

    def _match(self, left: Piece, sign: str) -> Piece:
        negated = sign == "NOT" or sign.startswith("!")
        if sign == "NOT":
            if self._took("NULL"):
                return self._negated(self._is_null(left, left.node))
            if self._word.upper not in ("IN", "BETWEEN", "LIKE", "ILIKE", "SIMILAR"):
                raise self._refusal(self._word, "must have IN, BETWEEN or LIKE here")
            sign = self._next().upper
        sign = sign.removeprefix("!")
        if sign == "IN":
            self._require("(")
            piece = self._compared("in", [left, *self._listed()])
        elif sign == "BETWEEN":
            low = self._expression(SUM)
            self._require("AND")
            piece = self._compared("between", [left, low, self._expression(SUM)])
        else:
            if sign == "SIMILAR":
                self._require("TO")
            piece = self._matched(MATCHES[sign], left, self._expression(SUM))
        return self._negated(piece) if negated else piece

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
                with suppress(OverflowError):
                    return Piece(number(word.value), word.start, word.end)
                raise self._refusal(word, "must hold numbers within the range of a double", "write 'inf' for infinity")
            case "name":
                return self._call(word, word.value.lower()) if self._word.upper == "(" else self._column(word)
            case "word":
                return self._named(word, least)
            case "sign" if word.value == "(":
                inner = self._expression()
                if self._word.part == "end":
                    raise self._refusal(word, "must close this bracket")
                return Piece(inner.node, word.start, self._require(")").end, inner.depth)
            case "sign" if word.value in "+-":
                return self._arithmetic(word.value, [self._expression(SIGN)], word)
        raise self._refusal(word, "must have a column, a value, NOT or a bracket here")

    def _named(self, word: Word, least: int) -> Piece:
        """What begins with a word. A declared column comes before a word of SQL that is not reserved."""
        if word.upper == "NOT" and least <= NOT:
            return self._negated(self._expression(NOT), word)
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
            raise self._refusal(word, "must have a column, a value, NOT or a bracket here")
        if word.upper in _FOREIGN and known is None:
            raise self._refusal(word, f"must not hold {_FOREIGN[word.upper]}", "a row must match by itself")
        return self._column(word)

    def _moment(self, word: Word, target: Type) -> Piece:
        string = self._next()
        with suppress(ValueError):
            constant = converted(string.value, target.kind, zoned=target.zoned)
            return Piece(Literal(target.kind, constant), word.start, string.end)
        raise self._unfit(Piece(Literal(Kind.TEXT, string.value), word.start, string.end), target.kind)

    def _column(self, word: Word) -> Piece:
        column = self._schema.find(word.value)
        if column is not None:
            return Piece(column, word.start, word.end)
        if word.value.casefold() in map(str.casefold, self._schema.unreadable):
            raise self._refusal(word, "must name a column whose type can be asked about", "convert it with --sql")
        near = self._schema.near(word.value)
        names = [column.name for column in self._schema.columns if self._schema.listed and not near]
        hint = f"there is {', '.join(names[:NEAR])}{' ...' if len(names) > NEAR else ''}" if names else ""
        if word.part == "name":
            hint = "a text value is written in single quotes"
        raise self._refusal(word, "must name a declared column", hint, near)

    def _call(self, word: Word, name: str) -> Piece:
        self._require("(")
        if name in ("cast", "try_cast"):
            part = self._expression()
            self._require("AS")
            target, sizes = self._type()
            self._require(")")
            return self._cast(part, target, sizes, word, tried=name == "try_cast")
        if name in ("extract", "date_part"):
            unit = self._next()
            name = unit.value.lower() if unit.part in ("string", "word") else ""
            if name not in PARTS:
                raise self._refusal(unit, f"must name one of {', '.join(PARTS)}")
            self._require("FROM" if word.value.lower() == "extract" else ",")
        elif name == "trim" and self._word.upper in ("BOTH", "LEADING", "TRAILING"):
            name = {"BOTH": "trim", "LEADING": "ltrim", "TRAILING": "rtrim"}[self._next().upper]
            self._require("FROM")
        elif name not in (*FUNCTIONS, "coalesce", "ifnull"):
            hint = f"there are {', '.join([*FUNCTIONS, 'coalesce', 'CAST'])}"
            raise self._refusal(word, "must not call a function that is not known here", hint)
        parts = self._listed()
        if name in ("coalesce", "ifnull"):
            nodes, kind = self._alike(parts)
            return self._joined(Apply("coalesce", nodes, kind) if nodes[1:] and kind else nodes[0], parts, word)
        function = FUNCTIONS[name]
        if len(parts) != 1 + function.pattern:
            raise self._refusal(parts[-1], f"must give {name} {'two values' if function.pattern else 'one value'}")
        if function.pattern:
            return self._matched(function.operation, parts[0], parts[1], word)
        (part,) = parts
        if part.node.kind not in (*function.takes, None):
            raise self._refusal(part, f"must give {name} {' or '.join(sorted(function.takes))}", "convert it with CAST")
        argument = self._fit(part, part.node.kind or min(function.takes))
        return self._joined(Apply(name, (argument,), function.kind), parts, word)

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
            raise self._refusal(word, "must cast to a type that is known here", f"there are {', '.join(TYPES)}")
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
            raise self._refusal(word, "must give a DECIMAL 1 to 38 digits, and no more of them after the point")
        return TYPES[name], (width, scale)

    def _case(self, word: Word) -> Piece:
        base = None if self._word.upper == "WHEN" else self._expression()
        tests, results = [], []
        while self._took("WHEN"):
            tests.append(self._expression())
            self._require("THEN")
            results.append(self._expression())
        if not tests:
            raise self._refusal(self._word, "must have WHEN here")
        null = Piece(_CONSTANTS["NULL"], self._word.start, self._word.end)
        results.append(self._expression() if self._took("ELSE") else null)
        self._require("END")
        subjects = [] if base is None else [base]
        compared = tuple(map(self.truth, tests)) if base is None else self._alike([base, *tests])[0]
        values, kind = self._alike(results)
        node = values[-1]
        if kind:
            branches = tuple(zip(compared[len(subjects) :], values, strict=False))
            node = CaseWhen(compared[0] if subjects else None, branches, values[-1], kind)
        return self._joined(node, [*subjects, *tests, *results], word)


def _liked(value: Node, pattern: str, *, fold: bool) -> Node:
    """``value LIKE pattern``, without an escape, as one of the ``operations``; with ``fold``, ILIKE."""

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
