"""The words of a condition: a closed lexicon. What it does not hold is refused where it stands."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from typing import Final

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
_QUOTE: Final = "close the quote; a quote inside is written twice"
_MEANT: Final = {
    "'": _QUOTE,
    '"': _QUOTE,
    "‘": "a text value is written in straight single quotes, as 'DE'",
    "’": "a text value is written in straight single quotes, as 'DE'",
    "“": "a text value is written in straight single quotes, as 'DE'",
    "”": "a text value is written in straight single quotes, as 'DE'",
    ";": "ask one condition, without a semicolon",
    ".": "name a column alone, without a table before it, in double quotes if it holds a dot",
    ":": "leave out parameters: a value is written in the condition",
    "/": "close the comment",
    **dict.fromkeys("%|&^~#!", "of operators there are + - * / and comparisons"),
    **dict.fromkeys("?$@", "leave out parameters: a value is written in the condition"),
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
        found = _LEXICON.match(text, position)
        if found is None or (text.startswith("/*", position) and found.lastgroup == "sign"):
            rule, hint = "must be readable as a condition on one row", _MEANT.get(text[position], "")
            raise ConditionError(rule, text, position, position + 1, next_step=hint)
        position = found.end()
        if found.lastgroup != "space":
            words.append(_word(found))
    return [*words, Word("end", "", len(text), len(text))]


def possible_names(text: str) -> tuple[str, ...]:
    """The words that may be columns, each once: all but functions, by the bracket behind them; () if it has no words.

    >>> possible_names('month(day) = 3 AND "the end" < 5')
    ('day', 'AND', 'the end')
    """
    try:
        words = read_words(text)
    except ConditionError:
        return ()
    named = [
        word.value
        for word, after in itertools.pairwise(words)
        if word.part == "name" or (word.part == "word" and after.upper != "(")
    ]
    return tuple({name.casefold(): name for name in named}.values())


def _word(found: re.Match[str]) -> Word:
    part, piece, (start, end) = str(found.lastgroup), found.group(), found.span()
    match part:
        case "string" if piece.startswith("$"):
            value = piece[2:-2]
        case "string" | "name":
            quote = piece[-1]
            value = piece[piece.index(quote) + 1 : -1].replace(quote * 2, quote)
        case "escaped":
            part, value = "string", _unescaped(found)
        case "number":
            value = piece.replace("_", "")
        case _:
            value = piece
    # Only ASCII: the capital of a Turkish dotless i is an I, and IS must not be spelled with it.
    return Word(part, value, start, end, piece.upper() if piece.isascii() and part in ("word", "sign") else "")


def _unescaped(found: re.Match[str]) -> str:
    def meant(mark: re.Match[str]) -> str:
        if mark[0] == "''":
            return "'"
        if mark[1] not in _ESCAPES:
            start = found.start() + 2 + mark.start()
            raise ConditionError("must hold a known escape", found.string, start, start + 2, next_step=r"as \n or \\")
        return _ESCAPES[mark[1]]

    return re.sub(r"\\(.)|''", meant, found.group()[2:-1], flags=re.DOTALL)
