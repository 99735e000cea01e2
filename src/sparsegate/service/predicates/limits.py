"""How long, deep and wide a predicate may be: so that neither the parser nor the engine can be kept busy by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sparsegate.service.predicates.schema import PredicateError
from sparsegate.service.predicates.words import Part, Word

MOST_CHARACTERS: Final = 10_000
MOST_WORDS: Final = 200
"""Columns, values and operators, outside of the lists of IN."""
MOST_DEPTH: Final = 25
"""Brackets and NOTs inside one another. The parser needs over 20 Python frames for each, of 1,000 that there are."""
MOST_LISTED: Final = 1_000
"""Values in one list of IN."""


@dataclass(frozen=True)
class _Bracket:
    """An open bracket, with the NOTs before it, and whether it is the list of an IN."""

    word: Word
    nots: int
    listed: bool


def check_sizes(words: Sequence[Word], text: str) -> None:
    """Raise PredicateError where brackets do not match, or where something is too many.

    A list of IN holds values and commas, and no brackets; a comma stands nowhere else.
    """
    open_brackets: list[_Bracket] = []
    depth = nots = counted = items = 0
    before = Part.START
    for word in words:
        rule = ""
        listed = bool(open_brackets) and open_brackets[-1].listed
        if word.part is Part.OPEN and not listed:
            open_brackets.append(_Bracket(word, nots, listed=before is Part.IN))
            depth += nots + 1
            items = 0
        elif word.part is Part.CLOSE:
            if open_brackets:
                depth -= open_brackets.pop().nots + 1
            else:
                rule = "must open a bracket before it is closed"
        elif listed:
            items += word.part is Part.VALUE
            if word.part not in (Part.VALUE, Part.COMMA):
                rule = "must hold nothing but values in a list"
        elif word.part is Part.COMMA:
            rule = "must have commas in the list of an IN alone"
        else:
            counted += 1
        nots = nots + 1 if word.part is Part.NOT else 0
        if depth + nots > MOST_DEPTH:
            rule = f"must not nest brackets and NOTs more than {MOST_DEPTH} deep"
        elif items > MOST_LISTED:
            rule = f"must have at most {MOST_LISTED:,} values in a list"
        elif counted > MOST_WORDS:
            rule = f"must have at most {MOST_WORDS} columns, values and operators outside of lists"
        if rule:
            raise PredicateError(rule, text, word.start, word.end)
        before = word.part
    if open_brackets:
        last = open_brackets[-1].word
        raise PredicateError("must close this bracket", text, last.start, last.end)
