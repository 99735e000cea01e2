"""The words of a predicate: a closed lexicon, and which word may follow which.

Whatever the lexicon does not hold is refused where it stands: functions, casts, arithmetic, comments, parameters,
strings with a prefix or an escape, qualified names, columns that were not declared. What passes is a flat list of words
in which every value is known and has its place, so that the parser after it has only to find out what belongs to what.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum, auto
from typing import Final

from sparsegate.service.predicates.schema import NEAR, Column, Kind, PredicateError, PublicSchema
from sparsegate.service.predicates.tree import Literal

MOST_STRING: Final = 1_000
MOST_DIGITS: Final = 100


class Part(StrEnum):
    """What a word does in the sentence. NOT has three uses, which are told apart by what stands before it."""

    START = auto()
    END = auto()
    VALUE = auto()
    COMPARE = auto()
    AND = auto()
    OR = auto()
    NOT = auto()
    INFIX_NOT = auto()
    IN = auto()
    BETWEEN = auto()
    LIKE = auto()
    IS = auto()
    IS_NOT = auto()
    NULL = auto()
    OPEN = auto()
    CLOSE = auto()
    COMMA = auto()


@dataclass(frozen=True)
class Number:
    """A number that gets its kind from the column beside it."""

    text: str


@dataclass(frozen=True)
class Word:
    """One word and its place, ``text[start:end]``; ``value`` is there for a VALUE alone."""

    part: Part
    start: int
    end: int
    value: Column | Literal | Number | None = None


_OPERAND: Final = {Part.VALUE, Part.OPEN}
_TERM: Final = {Part.VALUE, Part.OPEN, Part.NOT}
_AFTER_TERM: Final = {Part.AND, Part.OR, Part.CLOSE, Part.END}
_AFTER_OPERAND: Final = _AFTER_TERM | {
    *(Part.COMPARE, Part.INFIX_NOT, Part.IN, Part.BETWEEN, Part.LIKE, Part.IS, Part.COMMA)
}
FOLLOW: Final[dict[Part, set[Part]]] = {
    Part.START: _TERM,
    Part.AND: _TERM,
    Part.OR: _TERM,
    Part.NOT: _TERM,
    Part.OPEN: _TERM,
    Part.VALUE: _AFTER_OPERAND,
    Part.CLOSE: _AFTER_OPERAND,
    Part.NULL: _AFTER_TERM,
    Part.COMPARE: _OPERAND,
    Part.BETWEEN: _OPERAND,
    Part.LIKE: _OPERAND,
    Part.INFIX_NOT: {Part.IN, Part.BETWEEN, Part.LIKE},
    Part.IN: {Part.OPEN},
    Part.COMMA: {Part.VALUE},
    Part.IS: {Part.IS_NOT, Part.NULL},
    Part.IS_NOT: {Part.NULL},
}

_EXPECTED: Final[dict[Part, str]] = {
    **dict.fromkeys((Part.START, Part.AND, Part.OR, Part.NOT, Part.OPEN), "a column, a value, NOT or a bracket"),
    **dict.fromkeys((Part.VALUE, Part.CLOSE), "an operator, such as = or AND"),
    **dict.fromkeys((Part.COMPARE, Part.BETWEEN, Part.LIKE, Part.COMMA), "a column or a value"),
    Part.NULL: "AND or OR",
    Part.INFIX_NOT: "IN, BETWEEN or LIKE",
    Part.IN: "a list in brackets",
    Part.IS: "NULL or NOT NULL",
    Part.IS_NOT: "NULL",
}
"""What an error says that ``FOLLOW`` has after this part."""

_KEYWORDS: Final = {part.name: part for part in (Part.AND, Part.OR, Part.IN, Part.BETWEEN, Part.LIKE, Part.IS)}
_SIGNS: Final = {"(": Part.OPEN, ")": Part.CLOSE, ",": Part.COMMA}
_LEXICON: Final = re.compile(
    r"""(?P<space>[ \t\r\n]+)
    | (?P<comment>--|/\*)
    | (?P<string>'(?:[^']|'')*+')
    | (?P<quoted>"(?:[^"]|"")*+")
    | (?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)(?![\w.])
    | (?P<word>[^\W\d]\w*)
    | (?P<compare><>|!=|<=|>=|=(?!=)|<|>)
    | (?P<minus>-)
    | (?P<sign>[(),])""",
    re.VERBOSE,
)
_TYPED: Final = {
    "DATE": (Kind.DATE, re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")),
    "TIMESTAMP": (
        Kind.TIMESTAMP,
        re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?"),
    ),
}
FORMS: Final = {Kind.DATE: "DATE 'YYYY-MM-DD'", Kind.TIMESTAMP: "TIMESTAMP 'YYYY-MM-DD HH:MM:SS'"}
_SPOKEN: Final = "= <> < <= > >=, AND, OR, NOT, IN, BETWEEN, LIKE and IS NULL"
_FOREIGN: Final = {
    "ALL",
    "ANY",
    "ARRAY",
    "AS",
    "CASE",
    "CAST",
    "COLLATE",
    "DISTINCT",
    "ESCAPE",
    "EXISTS",
    "FROM",
    "GLOB",
    "GROUP",
    "HAVING",
    "ILIKE",
    "INTERVAL",
    "ISNULL",
    "JOIN",
    "LAMBDA",
    "LIMIT",
    "NOTNULL",
    "ORDER",
    "OVER",
    "REGEXP",
    "RLIKE",
    "SELECT",
    "SIMILAR",
    "SYMMETRIC",
    "TRY_CAST",
    "UNION",
    "WHERE",
    "WITH",
    "XOR",
}
"""Words that are meant as SQL and not as columns, where no column has that name."""
_MEANT: Final = {
    "'": "close the quote; a quote inside is written twice",
    '"': "close the quote; a quote inside is written twice",
    ";": "ask one condition, without a semicolon",
    ".": "name a column alone, without a table before it, in double quotes if it holds a dot",
    ":": "leave out casts and parameters: a value is written as the column has it",
    "=": "write = once",
    **dict.fromkeys("+*/%|&^~#", "leave out arithmetic, concatenation and other operators"),
    **dict.fromkeys("?$@", "leave out parameters: a value is written in the condition"),
    **dict.fromkeys("[]{}", "leave out arrays, structs and indices"),
    **dict.fromkeys("0123456789", "write a number in decimal digits, as 1000 or 0.5 or 1e9"),
}


def read_words(text: str, schema: PublicSchema) -> list[Word]:
    """The words of the text, each known and each where it may stand; or PredicateError."""
    if broken := re.search("[\0\ud800-\udfff]", text):
        raise PredicateError("must be UTF-8 text without a zero byte", text, *broken.span())
    words = list(_words(text, schema))
    end = Word(Part.END, len(text), len(text))
    before = Part.START
    for word in [*words, end]:
        if word.part not in FOLLOW[before]:
            raise PredicateError(f"must have {_EXPECTED[before]} here", text, word.start, word.end)
        before = word.part
    return words


def _words(text: str, schema: PublicSchema) -> Iterator[Word]:
    """Cut the text, and tell what each piece is by what it is and by what stands before it."""
    before, position = Part.START, 0
    while position < len(text):
        found = _LEXICON.match(text, position)
        if found is None or found.lastgroup == "comment":
            hint = "leave out comments" if found else _MEANT.get(text[position], "")
            end = found.end() if found else position + 1
            raise PredicateError("must be readable as a condition on one row", text, position, end, next_step=hint)
        position = found.end()
        if found.lastgroup != "space":
            word = _word(found, before, schema)
            before, position = word.part, word.end
            yield word


def _word(found: re.Match[str], before: Part, schema: PublicSchema) -> Word:
    text, piece, (start, end) = found.string, found.group(), found.span()
    value: Column | Literal | Number
    match found.lastgroup:
        case "compare":
            return Word(Part.COMPARE, start, end)
        case "sign":
            return Word(_SIGNS[piece], start, end)
        case "word":
            # Only ASCII: the capital of a Turkish dotless i is an I, and IS must not be spelled with it.
            upper = piece.upper() if piece.isascii() else piece
            if upper in _TYPED and (string := _next(text, end, "string")):
                return Word(Part.VALUE, start, string.end(), _typed(upper, string, start))
            if upper == "NOT":
                part = Part.IS_NOT if before is Part.IS else Part.NOT
                return Word(Part.INFIX_NOT if before in (Part.VALUE, Part.CLOSE) else part, start, end)
            if upper == "NULL":
                if before not in (Part.IS, Part.IS_NOT):
                    hint = "write IS NULL or IS NOT NULL: no comparison with NULL is ever true"
                    raise PredicateError("must not use NULL as a value", text, start, end, next_step=hint)
                return Word(Part.NULL, start, end)
            if upper in _KEYWORDS:
                return Word(_KEYWORDS[upper], start, end)
            value = Literal(Kind.BOOLEAN, upper == "TRUE") if upper in ("TRUE", "FALSE") else _column(found, schema)
        case "quoted":
            value = _column(found, schema)
        case "string":
            if len(piece) - 2 > MOST_STRING:
                raise PredicateError(f"must not hold a text of over {MOST_STRING:,} characters", text, start, end)
            value = Literal(Kind.TEXT, _unquoted(piece))
        case _:
            number = found if found.lastgroup == "number" else _next(text, end, "number")
            if number is None or (number is not found and Part.VALUE not in FOLLOW[before]):
                hint = "leave out arithmetic; a minus stands before a number alone"
                raise PredicateError("must be readable as a condition on one row", text, start, end, next_step=hint)
            if len(number.group()) > MOST_DIGITS:
                raise PredicateError(f"must not hold a number of over {MOST_DIGITS} digits", text, *number.span())
            value, end = Number(("" if number is found else "-") + number.group()), number.end()
    return Word(Part.VALUE, start, end, value)


def _next(text: str, position: int, group: str) -> re.Match[str] | None:
    """The next piece after white space, where it is of the group."""
    found = _LEXICON.match(text, position)
    if found and found.lastgroup == "space":
        found = _LEXICON.match(text, found.end())
    return found if found and found.lastgroup == group else None


def _column(found: re.Match[str], schema: PublicSchema) -> Column:
    """The declared column of this name; near names are listed where there is none."""
    piece, place = found.group(), (found.string, *found.span())
    if found.lastgroup == "word" and re.match(r"\s*\(", found.string[found.end() :]):
        raise PredicateError("must not call a function", *place, next_step="compare columns with values")
    name = _unquoted(piece) if found.lastgroup == "quoted" else piece
    if column := schema.find(name):
        return column
    if found.lastgroup == "word" and piece.upper() in _FOREIGN:
        raise PredicateError("must not use this word of SQL", *place, next_step=f"there is {_SPOKEN}")
    near = schema.near(name)
    names = [column.name for column in schema.columns]
    hint = "" if near else f"there is {', '.join(names[:NEAR])}{' ...' if len(names) > NEAR else ''}"
    if found.lastgroup == "quoted":
        hint = "a text value is written in single quotes"
    raise PredicateError("must name a declared column", *place, near=near, next_step=hint)


def _typed(name: str, string: re.Match[str], start: int) -> Literal:
    kind, form = _TYPED[name]
    written = _unquoted(string.group())
    read = datetime.date.fromisoformat if kind is Kind.DATE else datetime.datetime.fromisoformat
    try:
        if form.fullmatch(written):
            return Literal(kind, read(written))
    except ValueError:  # a thirteenth month
        pass
    place = (string.string, start, string.end())
    raise PredicateError(f"must hold a {kind} that exists", *place, next_step=f"write {FORMS[kind]}")


def _unquoted(piece: str) -> str:
    return piece[1:-1].replace(piece[0] * 2, piece[0])
