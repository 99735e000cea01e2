"""From the text of a question to SQL that is safe to run: read, parse, check every type, write anew.

A predicate is a condition on one row::

    country = 'DE' AND (page IN ('/pay', '/cart') OR seconds BETWEEN 10 AND 60) AND NOT referrer LIKE '%.example/%'

**What it may hold.** Declared columns, by their exact names; 'text', numbers, TRUE, FALSE, DATE '...' and TIMESTAMP
'...'; = <> != < <= > >=; AND, OR, NOT; [NOT] IN, BETWEEN and LIKE; IS [NOT] NULL; brackets. Nothing else.

**Sensitivity.** Whether a row matches depends on that row alone, so one person more or less changes the number of
people with a matching row by at most one, and always in the same direction.

**No error on data.** Both sides of a comparison are of one kind before anything runs, so the engine never has a cell to
cast, and which cells there are cannot decide whether it fails.

**Three values.** As in SQL, a comparison with a null is neither true nor false, and a row matches where the whole is
true: see ``predicates.tree``.

sqlglot sees words whose values have been replaced by their number (``"0" = "1" AND "2" IN ("3", "4")``): it decides
what belongs to what, and nothing that was written reaches the engine through it. Its tokenizer and parser read far more
than is allowed here, and forgive mistakes (``n BETWEEN 1 2``), so a closed list of words stands before it, and a closed
list of nodes after it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sqlglot import Dialect, ErrorLevel, ParseError, Token, TokenType, exp

from sparsegate.service.predicates.check import Checker
from sparsegate.service.predicates.limits import MOST_CHARACTERS, check_sizes
from sparsegate.service.predicates.schema import Column, Kind, PredicateError, PublicSchema
from sparsegate.service.predicates.tree import Condition, sql_of
from sparsegate.service.predicates.words import Part, Word, read_words

__all__ = ["Column", "Kind", "Predicate", "PredicateError", "PublicSchema", "parse", "read_predicate"]

_TOKENS: Final[dict[str, TokenType]] = {
    "=": TokenType.EQ,
    "<>": TokenType.NEQ,
    "!=": TokenType.NEQ,
    "<": TokenType.LT,
    "<=": TokenType.LTE,
    ">": TokenType.GT,
    ">=": TokenType.GTE,
    Part.AND: TokenType.AND,
    Part.OR: TokenType.OR,
    Part.NOT: TokenType.NOT,
    Part.INFIX_NOT: TokenType.NOT,
    Part.IN: TokenType.IN,
    Part.BETWEEN: TokenType.BETWEEN,
    Part.LIKE: TokenType.LIKE,
    Part.IS: TokenType.IS,
    Part.IS_NOT: TokenType.NOT,
    Part.NULL: TokenType.NULL,
    Part.OPEN: TokenType.L_PAREN,
    Part.CLOSE: TokenType.R_PAREN,
    Part.COMMA: TokenType.COMMA,
}


@dataclass(frozen=True)
class Predicate:
    """A condition that was read and checked; ``sql`` was written from the checked tree, and is what runs."""

    text: str
    sql: str


def read_predicate(text: str, schema: PublicSchema) -> Predicate:
    """Read a condition over the declared columns, or raise PredicateError with the place that is wrong.

    >>> schema = PublicSchema((Column("page", Kind.TEXT), Column("seconds", Kind.INTEGER)))
    >>> print(read_predicate("page in ('/pay') and not seconds<10", schema).sql)
    ("page" IN ('/pay')) AND (NOT ("seconds" < 10))
    >>> read_predicate("page = 5", schema)
    Traceback (most recent call last):
    sparsegate.service.predicates.schema.PredicateError: where must compare 'page' with text (character 8), got '5';
    write it in single quotes
    """
    return Predicate(text=text, sql=sql_of(parse(text, schema)))


def parse(text: str, schema: PublicSchema) -> Condition:
    """The checked tree of a condition; see ``read_predicate``."""
    if not isinstance(text, str):
        raise PredicateError("must be text", "", 0, 0)
    if len(text) > MOST_CHARACTERS:
        raise PredicateError(f"must have at most {MOST_CHARACTERS:,} characters", text, MOST_CHARACTERS, len(text))
    words = read_words(text, schema)
    check_sizes(words, text)
    return Checker(text, words).condition(_structure(text, words))


def _structure(text: str, words: Sequence[Word]) -> exp.Expr:
    """What belongs to what, as sqlglot reads DuckDB's SQL; every value is a column named by its number."""
    tokens, values = [], 0
    for word in words:
        written = text[word.start : word.end]
        if word.part is Part.VALUE:
            kind, written = TokenType.IDENTIFIER, str(values)
            values += 1
        else:
            kind = _TOKENS[written if word.part is Part.COMPARE else word.part]
        tokens.append(Token(kind, written, start=word.start, end=word.end - 1))
    parser = Dialect.get_or_raise("duckdb").parser(
        error_level=ErrorLevel.IMMEDIATE, error_message_context=MOST_CHARACTERS
    )
    start, end = 0, len(text)
    try:
        (tree,) = parser.parse_into(exp.Condition, tokens, text)
        if tree is not None:
            return tree
    except ParseError as error:
        # With so much context around it, what stands before the place is all the text before it.
        start = len(error.errors[0].get("start_context") or "")
        end = start + len(error.errors[0].get("highlight") or "")
    except Exception:  # whatever else a parser may raise, RecursionError in a deep caller included, is a refusal
        pass
    raise PredicateError("must be a condition; it makes no sense here", text, start, end)
