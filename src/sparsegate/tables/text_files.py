"""A look through a text file before the engine reads it, so that no line changes how another one is read.

The engine reads a file in blocks, several at once: a line that it cannot read fails the whole file, and at the edge of
a block it can take the lines of others with it without a word. So every byte is looked at here first.

**Lines.** One that the engine cannot read (longer than ``LONGEST``, or with a byte of ``UNREADABLE``) counts as an
empty one, by a rule that looks at that line alone: the file is written anew with nothing in its place.
**Rows of CSV** go to the engine only where the file is *regular*: every row has as many cells as the header line has
names, and every quote opens or closes a cell. Any other file is written anew as a regular one, by ``write_rows``.
Whether it is UTF-8, has line feeds and is CSV at all is asked of the file as a whole (``tables.identity``).
"""

from __future__ import annotations

import codecs
import gzip
import re
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final, NoReturn, cast

import numpy as np

from sparsegate.errors import TableError
from sparsegate.tables.engine_errors import raise_alone

LONGEST: Final = {"CSV": 16_000_000, "lines": 2_000_000, "FIMI": 2_000_000, "baskets": 2_000_000, "JSON": 16_000_000}
"""The bytes of a line that is read, without its end, by the kind of file."""

UNREADABLE: Final = {"CSV": b"\r", "lines": b"\r\1", "FIMI": b"\r\1", "baskets": b"\r\1", "JSON": b""}
"""The bytes that a line must not hold to be read; of a carriage return and a line feed that end it, neither is held."""

NO_TEXT: Final = 'pass encoding=, for instance "utf-16" or "latin-1"'
LONG: Final = 500_000
"""The engine has to be told of a row of more bytes, or characters."""

_CHUNK: Final = 1 << 17  # what numpy looks at in one go stays near the processor
_FIRST: Final = 1 << 16
_LONGEST_HEADER: Final = 1 << 20
_WIDE: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE)
_FEED, _RETURN, _QUOTE = b'\n\r"'
_OPENS: Final = re.compile(' *"')
_HELD: Final = re.compile('[^"]*+(?:""[^"]*+)*+')
_OUTSIDE: Final = "this is asked of the file, which must be CSV whatever people have in it, and its row is not shown"


@contextmanager
def unpacked(file: str) -> Iterator[IO[bytes]]:
    """The bytes of a file, out of its compression. Raises a TableError for one that the engine alone can undo."""
    if engine_alone(file):
        raise TableError(f"{file} is compressed in a way that is read as UTF-8 alone; unpack it first")
    try:
        with gzip.open(file) if file.lower().endswith(".gz") else Path(file).open("rb") as raw:
            yield cast("IO[bytes]", raw)
    except (EOFError, zlib.error):
        raise OSError("the file is cut short or damaged") from None


def engine_alone(file: str) -> bool:
    """Whether only the engine can undo the compression of a file."""
    return file.lower().endswith(".zst")


def first_line(file: str, shown: str) -> str:
    """The first line of a text file, without its end and a byte-order mark."""
    with unpacked(file) as raw:
        start = raw.readline(_LONGEST_HEADER)
    if b"\0" in start:  # the other half of a character of UTF-16, say
        _refuse(shown)
    try:
        return start.removeprefix(codecs.BOM_UTF8).decode().rstrip("\r\n")
    except UnicodeDecodeError:
        _refuse(shown)


def begins(file: str) -> bytes:
    """The first bytes of a text file, without white space and a byte-order mark."""
    with unpacked(file) as raw:
        return raw.read(_FIRST).removeprefix(codecs.BOM_UTF8).lstrip(b" \t\r\n")


def _refuse(shown: str) -> NoReturn:
    raise_alone(TableError(f"{shown} is not UTF-8 text: {NO_TEXT}"))


def _lines(file: str, longest: int) -> Iterator[tuple[bytes, bytes, bool, bool]]:
    """Each line, its end, whether it has a quote, and whether it was cut: then no more than its last part is there."""
    mark = codecs.BOM_UTF8
    with unpacked(file) as raw:
        while line := raw.readline(longest + 2 + len(mark)).removeprefix(mark):
            mark, quoted, cut = b"", b'"' in line, len(line) > longest + 1 and not line.endswith(b"\n")
            while cut and not line.endswith(b"\n") and (more := raw.readline(_CHUNK)):
                line, quoted = more, quoted or b'"' in more
            held = line.removesuffix(b"\n").removesuffix(b"\r")
            yield held, line[len(held) :], quoted, cut


# --- Lines -----------------------------------------------------------------------------------------------------------


def look_through(
    file: str,
    kind: str,
    *,
    shown: str,
    take: Callable[[bytes], None] = lambda chunk: None,
    go_on: Callable[[], None] = lambda: None,
) -> bool:
    """Look at every byte of a text file; return whether it has a line that must be written anew.

    Raises a TableError where it is not UTF-8, or has no line feeds. ``take`` gets every chunk of it, and ``go_on`` is
    called with each: what it raises ends the look.
    """
    decoder, longest, control = codecs.getincrementaldecoder("utf-8")(), LONGEST[kind], UNREADABLE[kind][1:]
    first = before = after = True
    odd = wide = bare = False
    lone = pairs = held = 0
    try:
        with unpacked(file) as raw:
            while chunk := raw.read(_CHUNK):
                go_on()
                while chunk.endswith(b"\r") and (more := raw.read(1)):
                    chunk += more
                if first and chunk.startswith(_WIDE):
                    _refuse(shown)
                if first:  # every second byte is zero in UTF-16 and UTF-32, where no line ends otherwise
                    wide = len(chunk) > 3 and not (any(chunk[:16:2]) and any(chunk[1:16:2]))
                if wide:
                    feeds = chunk.count(b"\n")
                    before, after = before and feeds == chunk.count(b"\0\n"), after and feeds == chunk.count(b"\n\0")
                if not chunk.isascii() or decoder.getstate()[0]:
                    decoder.decode(chunk)
                marked = first and chunk.startswith(codecs.BOM_UTF8)
                take(chunk.removeprefix(codecs.BOM_UTF8) if marked else chunk)
                odd, first = odd or (marked and kind == "JSON"), False
                both = chunk.count(b"\r\n")
                lone, pairs = lone + chunk.count(b"\r") - both, pairs + both
                bare = bare or chunk.count(b"\n") > both
                ends = b"\n" in chunk
                # A chunk is shorter than the longest line, so that only the ends of it can be part of a longer one.
                odd = odd or (held + chunk.find(b"\n") if ends else held + len(chunk)) > longest
                odd = odd or (control != b"" and control in chunk)
                held = len(chunk) - chunk.rfind(b"\n") - 1 if ends else held + len(chunk)
            decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        _refuse(shown)
    if wide and (before or after):
        _refuse(shown)
    if lone > 1 and not pairs and not bare:
        trouble = "has carriage returns and no line feed, so that nobody can say where its lines end"
        raise TableError(f"{shown} {trouble}; write it anew with line feeds")
    return odd or (b"\r" in UNREADABLE[kind] and (lone > 0 or (pairs > 0 and bare)))


def write_lines(file: str, kind: str, target: Path) -> None:
    """Write a file anew, with an empty line in place of every one that the engine cannot read."""
    with target.open("xb") as kept:
        for held, _, _, cut in _lines(file, LONGEST[kind]):
            readable = not cut and len(held) <= LONGEST[kind] and not any(byte in held for byte in UNREADABLE[kind])
            kept.write(held + b"\n" if readable else b"\n")


# --- Rows of CSV -----------------------------------------------------------------------------------------------------


class RegularRows:
    """A look at the chunks of a file: whether it is ``regular`` so far, and, where a row has several lines or is long,
    must be read in one piece, ``serial``."""

    def __init__(self, delimiter: str, cells: int) -> None:
        self._delimiter, self._cells, self._rest, self._due = delimiter, cells, b"", 0
        self._pairs: bool | None = None
        self.regular, self.serial = len(delimiter.encode()) == 1, False

    def take(self, chunk: bytes) -> None:
        if self.regular:
            self._rest += chunk
            self.serial = self.serial or len(self._rest) > LONG + len(chunk)
            if len(self._rest) >= self._due:  # of a row that goes on and on, not all of it with every chunk
                self._look()
                self._due = 2 * len(self._rest)
            self.regular = self.regular and len(self._rest) <= LONGEST["CSV"]

    def end(self) -> None:
        if self.regular:
            self._look()
        if self.regular and self._rest:
            self._rest += b"\r\n" if self._pairs else b"\n"
            self._look()
            self.regular &= not self._rest

    def _look(self) -> None:
        """Look at the whole rows that there are, and keep the rest: a line that ends outside of quotes ends a row."""
        data = np.frombuffer(self._rest, np.uint8)
        feeds, marks = data == _FEED, data == ord(self._delimiter)
        returns = data == _RETURN if b"\r" in self._rest else None
        stray = False
        if b'"' in self._rest:
            quotes = data == _QUOTE
            within = (np.cumsum(quotes, dtype=np.uint8) & 1).view(np.bool_)
            edges = feeds | marks | quotes
            ends_cell = edges if returns is None else edges | returns
            # Quotes open and close in turn: one that opens stands first in its cell, one that closes last, or two of
            # them side by side.
            opens, closes = quotes & within, quotes > within
            stray = bool((opens[1:] > edges[:-1]).any() or (closes[:-1] > ends_cell[1:]).any())
            self.serial = self.serial or bool((feeds & within).any())
            for each in (feeds, marks, returns):
                if each is not None:
                    each &= ~within
        ends = np.flatnonzero(feeds)
        if not len(ends):
            return
        last = int(ends[-1]) + 1
        self._rest = self._rest[last:]
        places = np.flatnonzero(marks[:last])
        ended = 0 if returns is None else int(np.count_nonzero(returns[:last]))
        if self._pairs is None:  # no row ends in a carriage return and a line feed, or all do
            self._pairs = ended > 0
        self.regular = (
            not stray
            and len(places) == len(ends) * (self._cells - 1)
            and (last <= LONGEST["CSV"] or int(np.diff(ends, prepend=-1).max()) <= LONGEST["CSV"])
            and ended == (len(ends) if self._pairs else 0)
            and (returns is None or not self._pairs or bool(returns[ends - 1].all()))
        )
        if self.regular and self._cells > 1:
            rows = places.reshape(len(ends), self._cells - 1)
            self.regular = bool((rows[:, -1] < ends).all() and (rows[1:, 0] > ends[:-1]).all())


def write_rows(
    file: str, target: Path, *, delimiter: str, cells: int, shown: str, go_on: Callable[[], None] = lambda: None
) -> bool:
    """Write a file anew as a regular one; return whether it must be read in one piece.

    - a quote within a cell that none opened is a character of it, and spaces around quotes are no part of a cell;
    - a line end in quotes belongs to the cell; an empty line is no row, and a last cell that is empty is none;
    - a row with a carriage return outside of quotes, or without quotes and of more than 16 million bytes, is nothing.

    A *ragged* file, with a row of more cells or of fewer, and an *open quote*, which nothing closes or which closes
    before other text, or in a row of more than 16 million bytes, are refused: no program that writes CSV writes such
    rows, whatever people have in their cells.
    """
    serial, special = False, re.compile(f'["\\r\\n]|{re.escape(delimiter)}')
    with target.open("x", encoding="utf-8", newline="") as kept:
        for number, row in enumerate(_rows(file, delimiter, shown)):
            if number % 10_000 == 0:
                go_on()
            if isinstance(row, str):
                written, count = row, row.count(delimiter) + 1
            else:
                quoted = (f'"{cell.replace(chr(34), chr(34) * 2)}"' if special.search(cell) else cell for cell in row)
                written, count = delimiter.join(quoted) or '""', len(row)
            if count == cells + 1 and written.endswith(delimiter):
                written, count = written.removesuffix(delimiter), cells
            if count != cells:
                more = "a row has more cells than the header line has names, or fewer"
                raise TableError(f"{shown} is ragged: {more} ({_OUTSIDE}); make its rows alike")
            serial = serial or "\n" in written or len(written) > LONG
            kept.write(written + "\n")
    return serial


def _rows(file: str, delimiter: str, shown: str) -> Iterator[str | list[str]]:
    """The rows, as lists of cells; one without quotes as it is."""
    behind = re.compile(f" *(?:{re.escape(delimiter)}|$)")
    lines = _csv_lines(file, shown)
    for text, end in lines:
        if '"' not in text:
            if text and "\r" not in text:
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
                        raise _open_quote(shown)
                    text, end = following
                assert held is not None
                parts.append(text[place : held.end()])
                row.append("".join(parts).replace('""', '"'))
                closed = behind.match(text, held.end() + 1)
                if closed is None:
                    raise _open_quote(shown)
                place = closed.end() if closed.group().endswith(delimiter) else None
            else:
                cell, separator, _ = text[place:].partition(delimiter)
                row.append(cell)
                bare += cell
                place = place + len(cell) + len(delimiter) if separator else None
        if "\r" not in bare:
            yield row


def _csv_lines(file: str, shown: str) -> Iterator[tuple[str, str]]:
    """The lines and how each ends; one that is too long to be read is an empty one, or refused if it has a quote."""
    for held, end, quoted, cut in _lines(file, LONGEST["CSV"]):
        if cut and quoted:
            raise _open_quote(shown)
        long = cut or (len(held) > LONGEST["CSV"] and not quoted)
        yield "" if long else held.decode(), end.decode()


def _open_quote(shown: str) -> TableError:
    return TableError(
        f"{shown} has an open quote: one that nothing closes, or that is closed before other text, or a row of more "
        f"than 16 million bytes ({_OUTSIDE}); double the quotes within a cell"
    )
