"""The rows of a CSV file: told from quotes alone, as RFC 4180 says, and the same in however many pieces it is read.

The engine reads large files in blocks, several at once, and where a block begins it guesses. A row with a cell too many
at the edge of a block then costs the rows of others, without an error; read in one piece, a quote that nobody closes
does. So a file is given to the engine only where it is **regular**: every row has as many cells as the header line has
names, and every quote opens or closes a cell. Most files are, and it is seen at a small part of the cost of reading
them. Any other file is read here, and what was read is written anew as a regular file:

- a quote within a cell that none opened is a character of it, and spaces around quotes are no part of a cell;
- a line end in quotes belongs to the cell; an empty line is no row, and a last cell that is empty is none;
- a row with a carriage return outside of quotes, or without quotes and of more than 16 million bytes, is nothing;
- **a ragged file**, which has a row of more cells or of fewer, and **an open quote**, one that nothing closes or that
  closes before other text, or a row with quotes of more than 16 million bytes, are refused. That is asked of the file:
  whatever people have in their cells, no program that writes CSV writes such rows. It is outside of the promise that
  nothing is refused because of a cell, and which row it is is not shown.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sparsegate.errors import TableError
from sparsegate.tables.text_lines import LONGEST, unpacked

LONG: Final = 500_000
"""A row of more bytes, or characters, is said to be long: the engine has to be told so."""

_FEED, _RETURN, _QUOTE = b'\n\r"'
_OPENS: Final = re.compile(' *"')
_HELD: Final = re.compile('[^"]*+(?:""[^"]*+)*+')
_OUTSIDE: Final = "this is asked of the file, which must be CSV whatever people have in it, and its row is not shown"


class RegularRows:
    """A look at the chunks of a file: whether it is ``regular``, so far, and whether some row has several lines."""

    def __init__(self, delimiter: str, cells: int) -> None:
        self._delimiter, self._cells, self._rest = delimiter, cells, b""
        self._pairs: bool | None = None
        self._due = 0
        self.regular = len(delimiter.encode()) == 1
        self.breaks = self.long = False

    def take(self, chunk: bytes) -> None:
        """Look at the next chunk."""
        if self.regular:
            self._rest += chunk
            self.long = self.long or len(self._rest) > LONG + len(chunk)
            if len(self._rest) >= self._due:  # of a row that goes on and on, not all of it with every chunk
                self._look()
                self._due = 2 * len(self._rest)
            self.regular = self.regular and len(self._rest) <= LONGEST["CSV"]

    def end(self) -> None:
        """Look at what is left."""
        if self.regular:
            self._look()
        if self.regular and self._rest:
            self._rest += b"\r\n" if self._pairs else b"\n"
            self._look()
            self.regular = self.regular and not self._rest

    def _look(self) -> None:
        """Look at the whole rows that there are, and keep the rest: a line that ends outside of quotes ends a row."""
        data = np.frombuffer(self._rest, np.uint8)
        feeds, marks = data == _FEED, data == ord(self._delimiter)
        returns = data == _RETURN if b"\r" in self._rest else None
        quotes = data == _QUOTE if b'"' in self._rest else None
        stray = False
        if quotes is not None:
            within = (np.cumsum(quotes, dtype=np.uint8) & 1).view(np.bool_)
            edges = feeds | marks | quotes
            ends_cell = edges if returns is None else edges | returns
            # Quotes open and close in turn: one that opens stands first in its cell, one that closes last, or two of
            # them side by side.
            opens, closes = quotes & within, quotes > within
            stray = bool((opens[1:] > edges[:-1]).any() or (closes[:-1] > ends_cell[1:]).any())
            self.breaks = self.breaks or bool((feeds & within).any())
            for each in (feeds, marks, returns):
                if each is not None:
                    each &= ~within
        ends = np.flatnonzero(feeds)
        if not len(ends):
            return
        last = int(ends[-1]) + 1
        self._rest = self._rest[last:]
        places = np.flatnonzero(marks[:last])
        self.regular = (
            not stray
            and len(places) == len(ends) * (self._cells - 1)
            and (last <= LONGEST["CSV"] or int(np.diff(ends, prepend=-1).max()) <= LONGEST["CSV"])
            and self._ended(None if returns is None else returns[:last], ends)
        )
        if self.regular and self._cells > 1:
            rows = places.reshape(len(ends), self._cells - 1)
            self.regular = bool((rows[:, -1] < ends).all() and (rows[1:, 0] > ends[:-1]).all())

    def _ended(self, returns: NDArray[np.bool_] | None, ends: NDArray[np.intp]) -> bool:
        """Whether no row ends in a carriage return and a line feed, or all do; and no row has another one."""
        found = 0 if returns is None else int(np.count_nonzero(returns))
        if self._pairs is None:
            self._pairs = found > 0
        if not self._pairs or returns is None:
            return found == 0 and not self._pairs
        return found == len(ends) and bool(returns[ends - 1].all())


def write_rows(
    file: str, target: Path, *, delimiter: str, cells: int, shown: str, go_on: Callable[[], None] = lambda: None
) -> tuple[bool, bool]:
    """Write a file anew as a regular one; return whether a row has several lines, and whether one is long.

    Raises a TableError for a ragged file, and for an open quote.
    """
    breaks = long = False
    special = re.compile(f'["\\r\\n]|{re.escape(delimiter)}')
    with target.open("x", encoding="utf-8", newline="") as kept:
        for number, row in enumerate(_rows(file, delimiter, shown)):
            if number % 10_000 == 0:
                go_on()
            written = row if isinstance(row, str) else _written(row, delimiter, special)
            found = row.count(delimiter) + 1 if isinstance(row, str) else len(row)
            if found == cells + 1 and written.endswith(delimiter):
                written, found = written.removesuffix(delimiter), cells
            if found != cells:
                more = "a row has more cells than the header line has names, or fewer"
                raise TableError(f"{shown} is ragged: {more} ({_OUTSIDE}); make its rows alike")
            breaks = breaks or "\n" in written
            long = long or len(written) > LONG
            kept.write(written + "\n")
    return breaks, long


def _written(row: list[str], delimiter: str, special: re.Pattern[str]) -> str:
    cells = [f'"{cell.replace(chr(34), chr(34) * 2)}"' if special.search(cell) else cell for cell in row]
    return delimiter.join(cells) or '""'


def _rows(file: str, delimiter: str, shown: str) -> Iterator[str | list[str]]:
    """The rows, of however many cells each; one without quotes as it is."""
    behind = re.compile(f" *(?:{re.escape(delimiter)}|$)")
    lines = _lines(file, shown)
    for text, end in lines:
        if not text:
            continue
        if '"' not in text:
            if "\r" not in text:
                yield text
            continue
        row: list[str] = []
        place: int | None = 0
        bare = ""
        while place is not None:
            if opened := _OPENS.match(text, place):
                parts, place, size = [], opened.end(), 0
                while (held := _HELD.match(text, place)) and held.end() == len(text):
                    parts += [text[place:], end]
                    size, place = size + len(text), 0
                    following = next(lines, None)
                    if following is None or size > LONGEST["CSV"]:
                        raise TableError(_open_quote(shown))
                    text, end = following
                assert held is not None
                parts.append(text[place : held.end()])
                row.append("".join(parts).replace('""', '"'))
                closed = behind.match(text, held.end() + 1)
                if closed is None:
                    raise TableError(_open_quote(shown))
                place = closed.end() if closed.group().endswith(delimiter) else None
            else:
                cell, found, _ = text[place:].partition(delimiter)
                row.append(cell)
                bare += cell
                place = place + len(cell) + len(delimiter) if found else None
        if "\r" not in bare:
            yield row


def _open_quote(shown: str) -> str:
    return (
        f"{shown} has an open quote: one that nothing closes, or that is closed before other text, or a row of more "
        f"than 16 million bytes ({_OUTSIDE}); double the quotes within a cell"
    )


def _lines(file: str, shown: str) -> Iterator[tuple[str, str]]:
    """The lines and how each ends. One that is too long to be read is an empty one, or the end if it has a quote."""
    longest, mark = LONGEST["CSV"], codecs.BOM_UTF8
    with unpacked(file) as raw:
        while line := raw.readline(longest + 2 + len(mark)).removeprefix(mark):
            mark, quoted, cut = b"", b'"' in line, len(line) > longest + 1 and not line.endswith(b"\n")
            while cut and not line.endswith(b"\n") and (more := raw.readline(1 << 20)):
                line, quoted = more, quoted or b'"' in more
            held = line.removesuffix(b"\n").removesuffix(b"\r")
            if cut and quoted:
                raise TableError(_open_quote(shown))
            long = cut or (len(held) > longest and not quoted)
            yield "" if long else held.decode(), line[len(held) :].decode()
