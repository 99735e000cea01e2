"""Filling up to public sizes, so that what one person has takes the place of filling instead of adding work.

**Sizes.** The rows, and the different values of a column, are filled up to a ``public_size``: at least 4,096, and else
one of eight steps to each doubling. So are the characters in them of one byte, of two, of three and of four, in steps
of at least what one person can bring: ``PERSON`` cells as long as they may be.

**Characters, and not only cells.** What the engine does with a text takes a time for each cell, and for each character
one that depends on its bytes: ``lower`` takes ten times as long for é as for e. Were a column filled up with nulls, one
person with fifty long notes would make a question slower; with long cells, one with fifty short notes would make it
faster. So the characters of each width are counted over the whole column and filled up, in cells as long as may be; and
then the cells are, with nulls. What one person has takes the place of as many characters of the same width and as many
cells, unless a sum stands within them of the edge of a step.

Filling is in the tables that the engine works through, and nowhere else: no code points to a filled value, and no end
of a person to a filled row.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

LEAST: Final = 4_096
STEPS: Final = 8
PERSON: Final = 64
"""A public number: this many long cells of one person take the place of filling, where a column has none like them."""
WIDTHS: Final = ("a", "é", "ก", "😀")
"""A character of one byte, of two, of three, of four."""
_FROM: Final = (0x80, 0x800, 0x10000, 0x110000)


def public_size(size: int) -> int:
    """The size rounded up to a public one.

    >>> public_size(1), public_size(4_097), public_size(1_000_000)
    (4096, 4608, 1048576)
    """
    step = max(LEAST, 1 << size.bit_length() - 1 if size else 1) // STEPS
    return max(LEAST, -(-size // step) * step)


def width_counts(cell: str) -> list[str]:
    """As SQL: how many characters of each width a text has."""
    several = [
        rf"length(regexp_replace({cell}, '[^\x{{{low:X}}}-\x{{{high - 1:X}}}]', '', 'g'))"
        for low, high in pairwise(_FROM)
    ]
    plain = f"strlen({cell}) = length({cell})"
    one = " - ".join([f"length({cell})", *several])
    return [
        f"CASE WHEN {plain} THEN length({cell}) ELSE {one} END",
        *(f"CASE WHEN {plain} THEN 0 ELSE {each} END" for each in several),
    ]


def filling_cells(counts: Sequence[int], max_cell: int) -> list[tuple[str, int]]:
    """The cells that fill the characters of a text column up, each as a character and how many of it.

    >>> filling_cells([100, 64_000, 64_001, 0], 1_000)[62:66]
    [('a', 1000), ('a', 900), ('ก', 1000), ('ก', 1000)]
    """
    cells, least = [], PERSON * max_cell
    for character, count in zip(WIDTHS, counts, strict=True):
        step = least << max(0, (count // (STEPS * least)).bit_length() - 1)
        missing = max(least, -(-count // step) * step) - count
        cells += [(character, min(max_cell, missing - done)) for done in range(0, missing, max_cell)]
    return cells
