"""A look through a text file before the engine reads it, so that no line changes how another one is read.

The engine reads a file in blocks, several at once. A line that it cannot read fails the whole file, and at the edge of
a block it can take the lines of others with it without a word. So every byte is looked at here first, at a small part
of the cost of reading it:

- **A line that the engine cannot read counts as an empty one**, by a rule that looks at that line alone: it is longer
  than ``LONGEST``, or holds a carriage return that does not end it, or, in lines and baskets, the character U+0001.
  Where there is one, the file is written anew with nothing in its place. Lines end in a line feed, or in a carriage
  return and a line feed, each as it likes.

The rows of a CSV file are not its lines: see ``tables.csv_rows``.

Whether a file is text in UTF-8, and has line feeds where it has carriage returns, is asked of the file as a whole: its
refusal is outside the promise that nothing is refused because of a cell, as ``tables.identity`` says.
"""

from __future__ import annotations

import codecs
import gzip
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final, NoReturn, cast

from sparsegate.errors import TableError
from sparsegate.tables.engine_errors import raise_alone

LONGEST: Final = {"CSV": 16_000_000, "lines": 2_000_000, "FIMI": 2_000_000, "baskets": 2_000_000, "JSON": 16_000_000}
"""The bytes of a line that is read, without its end, by the kind of file."""

UNREADABLE: Final = {"CSV": b"\r", "lines": b"\r\1", "FIMI": b"\r\1", "baskets": b"\r\1", "JSON": b""}
"""The bytes that a line must not hold to be read; of a carriage return and a line feed that end it, neither is held."""

NO_TEXT: Final = 'pass encoding=, for instance "utf-16" or "latin-1"'

_CHUNK: Final = 1 << 17
"""What numpy looks at in one go stays near the processor."""
_FIRST: Final = 1 << 16
_LONGEST_HEADER: Final = 1 << 20
_WIDE: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE)


@contextmanager
def unpacked(file: str) -> Iterator[IO[bytes]]:
    """The bytes of a file, out of its compression. Raises a TableError for one that the engine alone can undo."""
    if engine_alone(file):
        raise TableError(f"{file} is compressed in a way that is read as UTF-8 alone; unpack it first")
    try:
        with gzip.open(file) if file.lower().endswith(".gz") else Path(file).open("rb") as raw:
            yield cast("IO[bytes]", raw)
        return
    except (EOFError, zlib.error):
        pass
    raise OSError("the file is cut short or damaged")


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
    decoder = codecs.getincrementaldecoder("utf-8")()
    longest, control = LONGEST[kind], UNREADABLE[kind][1:]
    odd, first, wide = False, True, False
    lone = pairs = held = 0
    feeds = bare = False
    before = after = True
    try:
        with unpacked(file) as raw:
            while chunk := raw.read(_CHUNK):
                go_on()
                while chunk.endswith(b"\r") and (more := raw.read(1)):
                    chunk += more
                if first and chunk.startswith(_WIDE):
                    _refuse(shown)
                wide = _seems_wide(chunk[:16]) if first else wide
                if wide:
                    ends = chunk.count(b"\n")
                    before, after = before and ends == chunk.count(b"\0\n"), after and ends == chunk.count(b"\n\0")
                if not chunk.isascii() or decoder.getstate()[0]:
                    decoder.decode(chunk)
                marked = first and chunk.startswith(codecs.BOM_UTF8)
                take(chunk.removeprefix(codecs.BOM_UTF8) if marked else chunk)
                odd, first = odd or (marked and kind == "JSON"), False
                here = b"\n" in chunk
                feeds = feeds or here
                if b"\r" in chunk:
                    both = chunk.count(b"\r\n")
                    lone, pairs = lone + chunk.count(b"\r") - both, pairs + both
                    bare = bare or chunk.count(b"\n") > both
                else:
                    bare = bare or here
                # A chunk is shorter than the longest line, so that only the ends of it can be part of a longer one.
                odd = odd or (held + chunk.find(b"\n") if here else held + len(chunk)) > longest
                odd = odd or (control != b"" and control in chunk)
                held = len(chunk) - chunk.rfind(b"\n") - 1 if here else held + len(chunk)
            decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        _refuse(shown)
    if wide and (before or after):
        _refuse(shown)
    if lone > 1 and not feeds:
        raise TableError(
            f"{shown} has carriage returns and no line feed, so that nobody can say where its lines end; write it anew "
            "with line feeds"
        )
    return odd or (b"\r" in UNREADABLE[kind] and (lone > 0 or (pairs > 0 and bare)))


def _seems_wide(start: bytes) -> bool:
    """Whether every second byte is zero, as in UTF-16 and UTF-32. It is so if no line of the file ends otherwise."""
    return len(start) > 3 and not (any(start[::2]) and any(start[1::2]))


def _refuse(shown: str) -> NoReturn:
    raise_alone(TableError(f"{shown} is not UTF-8 text: {NO_TEXT}"))


def write_lines(file: str, kind: str, target: Path) -> None:
    """Write a file anew, with an empty line in place of every one that the engine cannot read."""
    longest, mark = LONGEST[kind], codecs.BOM_UTF8
    with unpacked(file) as raw, target.open("xb") as kept:
        while line := raw.readline(longest + 2 + len(mark)).removeprefix(mark):
            mark, cut = b"", len(line) > longest + 1 and not line.endswith(b"\n")
            while cut and not line.endswith(b"\n") and (more := raw.readline(_CHUNK)):
                line = more  # the rest of it, of which nothing is kept
            held = line.removesuffix(b"\n").removesuffix(b"\r")
            readable = not cut and len(held) <= longest and not any(byte in held for byte in UNREADABLE[kind])
            kept.write(held + b"\n" if readable else b"\n")
