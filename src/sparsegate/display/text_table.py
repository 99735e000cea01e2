"""A table as plain text that fits a terminal: for `print`, for logs, for an issue.

Columns that are too wide together are folded, those of text first, down to a few letters; where that is not enough, a
single row is written as a list, and of several rows the last columns are left out and named. No character is lost, and
none steers the terminal.
"""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterable, Sequence
from itertools import zip_longest
from typing import Final
from unicodedata import combining, east_asian_width

from sparsegate.display.plain import printable

_GAP: Final = "  "
_LEAST: Final = 12  # a column of text is folded down to this, and no further
_NARROWEST: Final = 20  # a terminal is taken to be at least this wide


def terminal_width() -> int:
    """How wide a line may be: COLUMNS, or the terminal, or 80."""
    return max(_NARROWEST, shutil.get_terminal_size().columns)


def text_table(headings: Sequence[str], rows: Sequence[Sequence[str]], numbers: Collection[str], width: int) -> str:
    """The cells below their headings, ``numbers`` to the right, in lines of at most ``width``.

    >>> rows = [["/home", "9,120"], ["/a page of a long name", "15"]]
    >>> print(text_table(["page", "estimate"], rows, ["estimate"], 22))
    page          estimate
    /home            9,120
    /a page of a        15
    long name
    """
    cells = [[printable(cell) for cell in row] for row in [headings, *rows]]
    widths = [min(max(map(cell_width, column)), width) for column in zip(*cells, strict=True)]
    text = [place for place, name in enumerate(headings) if name not in numbers]
    while _total(widths) > width and (wide := [place for place in text if widths[place] > _LEAST]):
        widest = max(wide, key=lambda place: widths[place])
        widths[widest] -= 1
    if _total(widths) <= width:
        return "\n".join(_line(row, widths, text) for row in cells)
    if len(rows) == 1:
        return fact_lines(zip(headings, rows[0], strict=True), width)
    shown = len(widths)
    while shown > 1 and _total(widths[:shown]) > width:
        shown -= 1
    table = "\n".join(_line(row[:shown], widths[:shown], text) for row in cells)
    left = f"not shown: {', '.join(headings[shown:])}"
    return "\n".join([table, *(folded(left, width) if shown < len(headings) else [])])


def fact_lines(facts: Iterable[tuple[str, str]], width: int) -> str:
    """A line for each name and what there is to say about it.

    >>> print(fact_lines([("epsilon", "1"), ("noise", "exponential")], 80))
    epsilon  1
    noise    exponential
    """
    said = [(printable(name), printable(text)) for name, text in facts]
    side = min(max((cell_width(name) for name, _ in said), default=0), width // 2)
    return "\n".join(_line(each, [side, width - side - len(_GAP)], (0, 1)) for each in said)


def folded(text: str, width: int) -> list[str]:
    """The text in lines of at most this width, broken between words where it can be.

    >>> folded("what was released, or why", 10), folded("abcdefgh", 5)
    (['what was', 'released,', 'or why'], ['abcde', 'fgh'])
    """
    if cell_width(text) <= width:
        return [text]
    lines = [""]
    for word in text.split(" "):
        joined = f"{lines[-1]} {word}" if lines[-1] else word
        if cell_width(joined) <= width:
            lines[-1] = joined
            continue
        if lines[-1]:
            lines.append("")
        for mark in word:
            if cell_width(lines[-1] + mark) > width and lines[-1]:
                lines.append("")
            lines[-1] += mark
    return lines


def cell_width(text: str) -> int:
    """How many columns of a terminal a text takes: a wide letter takes two, an accent on its own none.

    >>> cell_width("abc"), cell_width("東京"), cell_width("e\\u0301")
    (3, 4, 1)
    """
    if text.isascii():
        return len(text)
    return sum(0 if combining(mark) else 1 + (east_asian_width(mark) in "WF") for mark in text)


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + len(_GAP) * (len(widths) - 1)


def _line(row: Sequence[str], widths: Sequence[int], text: Collection[int]) -> str:
    """A row: as many lines as its longest cell."""
    parts = [folded(cell, width) for cell, width in zip(row, widths, strict=True)]
    lines = []
    for pieces in zip_longest(*parts, fillvalue=""):
        padded = []
        for place, (piece, width) in enumerate(zip(pieces, widths, strict=True)):
            blank = " " * (width - cell_width(piece))
            padded.append(piece + blank if place in text else blank + piece)
        lines.append(_GAP.join(padded).rstrip())
    return "\n".join(lines)
