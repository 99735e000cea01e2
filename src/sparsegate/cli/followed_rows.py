"""Where `watch --follow` gets its rows: a text file that grows, standard input, or (``polled_table``) a database.

**One line, one row.** A line is read by itself, and what cannot be read is left out: an open quote or a broken cell of
one person cannot swallow the row of another. So a cell has no line break in it. A last line without its end is not
there yet.

**What counts is what was there at a public moment.** Of a file that is its size then; of standard input the lines that
had been read; of a database the one moment that a transaction sees. What is written while rows are read comes next.
"""

from __future__ import annotations

import csv
import hashlib
import json
import os
import queue
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np

from sparsegate.errors import TableError

Row = tuple[Any, Any]
"""Who, and when."""

_PIECE: Final = 1 << 20
_LONGEST: Final = 1 << 20  # bytes of a line; a longer one is left out
_HELD: Final = 10_000  # lines of standard input that wait to be looked at
_STEP: Final = 0.2  # seconds, between two looks at whether somebody wants to stop
_END: Final = None
_PLACE: Final = "sparsegate: the place of a row"


class FollowedRows(Protocol):
    """A source of rows."""

    behind: bool
    """Whether more rows wait than one look takes."""
    ended: bool
    """Whether no row will come any more."""
    gone: bool
    """Whether rows that were counted are there no more: who has counted cannot be known after a restart."""

    def check(self, stopped: Callable[[], bool]) -> None:
        """Look at the header, before anything is paid."""

    def read(self, start: int, end: int) -> Iterator[Row]:
        """What has come; of a database the rows from ``start`` to before ``end``, in microseconds since 1970."""


class FollowedLines:
    """Lines of CSV or JSON as rows; the first line, or the ending of the name, tells which of the two."""

    def __init__(self, *, user: str, time: str, where: str | None, separator: str | None, json_lines: bool) -> None:
        self._user, self._time, self._separator, self._json = user, time, separator, json_lines
        self._names: list[str] | None = [] if json_lines else None
        self._test = None if where is None else RowTest(where)

    def rows(self, lines: Iterable[str]) -> Iterator[Row]:
        """Who and when of the lines whose rows match."""
        batch: list[Mapping[str, Any]] = []
        for line in lines:
            if self._names is None:
                self._begin(line)
                if not self._json:
                    continue
            if (found := self._cells(line)) is not None:
                batch.append(found)
            if len(batch) >= _HELD:
                yield from self._matching(batch)
                batch = []
        yield from self._matching(batch)

    def renew(self) -> None:
        """The next line is the first of a new file."""
        self._names = [] if self._json else None

    def begin(self, line: str) -> bool:
        """Read the first line, before anything is paid; whether it is a header, and no row."""
        if self._names is None:
            self._begin(line)
        if self._json and line.lstrip("\ufeff \t").startswith("["):  # any other first line may be a row that is broken
            raise TableError("the first line begins an array; follow JSON lines, with an object on each, or CSV")
        return not self._json

    def _begin(self, line: str) -> None:
        if line.lstrip("\ufeff \t").startswith("{"):
            self._json, self._names = True, []
            return
        text = line.lstrip("\ufeff").rstrip("\r\n")
        if self._separator is None:
            self._separator = "\t" if "\t" in text and "," not in text else ","
        self._names = next(csv.reader([text], delimiter=self._separator), [])
        for name in (self._user, self._time, *(() if self._test is None else self._test.names)):
            if name not in self._names:
                raise TableError(f"there is no column {name!r} in the header line; write its name as it is there")

    def _cells(self, line: str) -> Mapping[str, Any] | None:
        try:
            if self._json:
                found = json.loads(line)
                return found if isinstance(found, dict) else None
            cells = next(csv.reader([line.rstrip("\r\n")], delimiter=self._separator or ","), [])
            return dict(zip(self._names or (), cells, strict=False))
        except Exception:  # a cell of one person must not stop the alert
            return None

    def _matching(self, batch: Sequence[Mapping[str, Any]]) -> Iterator[Row]:
        kept = batch if self._test is None else self._test.matching(batch)
        for cells in kept:
            user = cells.get(self._user)
            yield None if user == "" else user, cells.get(self._time)


class RowTest:
    """A condition on the cells of rows, as text, in the language of docs/reference/conditions.md."""

    def __init__(self, where: str) -> None:
        import duckdb

        from sparsegate.conditions import names_in

        self.names = list(dict.fromkeys(names_in(where)))
        self._where, self._connection = where, duckdb.connect()
        self._connection.execute("PRAGMA disable_optimizer")  # its choices would depend on everybody's rows
        self.matching([])

    def matching(self, rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """The rows that match."""
        from sparsegate.tables.columns import identifier
        from sparsegate.tables.engine_errors import quiet
        from sparsegate.tables.matching import Matching

        held = {f"c{n}": np.array([_text(row.get(name)) for row in rows], object) for n, name in enumerate(self.names)}
        held["place"] = np.arange(len(rows))
        place = identifier(_PLACE)
        casts = [f"CAST(c{n} AS VARCHAR) AS {identifier(name)}" for n, name in enumerate(self.names)]
        self._connection.register("held", held)
        with quiet("the rows cannot be tested"):
            relation = self._connection.sql(f"SELECT {', '.join(casts)}{', ' * bool(casts)}place AS {place} FROM held")
            places = Matching(relation).rows(self._where).project(place).fetchall()
        return [rows[place] for (place,) in places]


def _text(cell: Any) -> str | None:
    if cell is None:
        return None
    try:
        text = cell if isinstance(cell, str) else json.dumps(cell)
        return text.encode("utf-8", "replace").decode()
    except Exception:  # lists in lists that can be read and not written: a cell of one person must not stop the alert
        return None


class GrowingFile:
    """A file to which others write. One that was cut short, or replaced, is read from its beginning, or refused.

    It is held open: what was written to the end of a file that was moved away is read before the new one is.
    """

    behind = ended = gone = False

    def __init__(self, path: str, lines: FollowedLines, *, restarts: bool) -> None:
        """``restarts``: whether another file may take its place, as when a log is rotated."""
        self._path, self._lines, self._restarts = Path(path), lines, restarts
        self._at, self._rest, self._read = 0, b"", hashlib.sha256()
        if not self._path.is_file():
            raise TableError(f"{path} is no file; name a file of CSV or JSON lines that grows, or - for standard input")
        try:
            self._file = self._path.open("rb")
        except OSError as error:
            raise self._unread(error) from None

    def check(self, stopped: Callable[[], bool]) -> None:
        line = self._file.readline(_LONGEST)
        if line.endswith(b"\n") and self._lines.begin(line.decode("utf-8", "replace")):
            self._at = len(line)
            self._read.update(line)

    def mark(self) -> str:
        """How many bytes were read, and their digest, which is as secret as they are."""
        return f"{self._at} {self._read.hexdigest()}"

    def go_on_from(self, mark: str) -> None:
        """Refuse a file that does not begin with what was read when the mark was made."""
        left, read = int(size) if (size := mark.partition(" ")[0]).isdecimal() else 0, hashlib.sha256()
        try:
            with self._path.open("rb") as file:
                while left and (piece := file.read(min(_PIECE, left))):
                    read.update(piece)
                    left -= len(piece)
        except OSError as error:
            raise self._unread(error) from None
        if left or mark != f"{size} {read.hexdigest()}":
            raise self._gone()

    def read(self, start: int, end: int) -> Iterator[Row]:
        try:
            held = os.fstat(self._file.fileno())  # now: what is written while it is read comes next
            with suppress(FileNotFoundError):  # moved away, and the new one is not there yet
                there = self._path.stat()
                if (there.st_ino, there.st_dev) != (held.st_ino, held.st_dev):
                    yield from self._lines.rows(self._new_lines(held.st_size))
                    self._file.close()
                    self._file = self._path.open("rb")
                    self._begin_again()
                    held = there
            if held.st_size < self._at:
                self._begin_again()
            yield from self._lines.rows(self._new_lines(held.st_size))
        except OSError as error:
            raise self._unread(error) from None

    def close(self) -> None:
        """Let go of it."""
        self._file.close()

    def _unread(self, error: OSError) -> TableError:
        return TableError(f"{self._path} cannot be read: {error.strerror}")

    def _begin_again(self) -> None:
        if not self._restarts:
            raise self._gone()
        self._at, self._rest, self._read = 0, b"", hashlib.sha256()
        self._lines.renew()

    def _gone(self) -> TableError:
        self.gone = True
        return TableError(
            f"{self._path} was cut short or replaced: rows that were counted are gone, and who has counted in how many "
            "windows cannot be known after a restart; follow a file that only grows, or leave out windows_per_user"
        )

    def _new_lines(self, size: int) -> Iterator[str]:
        self._file.seek(self._at)
        while self._at < size and (piece := self._file.read(min(_PIECE, size - self._at))):
            self._at += len(piece)
            self._read.update(piece)
            *whole, rest = (self._rest + piece).split(b"\n")
            self._rest = rest[: _LONGEST + 1]  # enough to be too long
            yield from map(_decoded, whole)


class StandardInputLines:
    """Lines that a thread reads as they come."""

    def __init__(self, lines: FollowedLines) -> None:
        stream = getattr(sys.stdin, "buffer", None)
        if stream is None:
            raise TableError("standard input cannot be read here; name a file")
        self._lines, self.behind, self.ended, self.gone = lines, False, False, False
        self._first: list[str] = []
        self._waiting: queue.Queue[bytes | None] = queue.Queue(_HELD)
        threading.Thread(target=self._fill, args=(stream,), daemon=True).start()

    def _fill(self, stream: Iterable[bytes]) -> None:
        try:
            for line in stream:
                self._waiting.put(line)
        finally:
            self._waiting.put(_END)

    def check(self, stopped: Callable[[], bool]) -> None:
        while not self._first and not self.ended and not stopped():
            self._first = list(self._come(1, wait=_STEP))
        if self._first and self._lines.begin(self._first[0]):
            self._first = []

    def read(self, start: int, end: int) -> Iterator[Row]:
        waiting = self._waiting.qsize()
        self.behind = waiting >= _HELD  # whoever writes waits for us
        return self._lines.rows(self._come(waiting))

    def read_to_end(self, stopped: Callable[[], bool]) -> Iterator[Row]:
        """All that comes until the input ends, or somebody stops it."""

        def come() -> Iterator[str]:
            while not self.ended and not stopped():
                yield from self._come(1, wait=_STEP)

        return self._lines.rows(come())

    def _come(self, count: int, wait: float = 0) -> Iterator[str]:
        first, self._first = self._first, []
        yield from first
        for _ in range(count):
            try:
                line = self._waiting.get(timeout=wait) if wait else self._waiting.get_nowait()
            except queue.Empty:
                return
            if line is _END:
                self.ended = True
                return
            yield _decoded(line)


def _decoded(line: bytes) -> str:
    """Bytes are counted, and not characters: of a line that is too long not all were held."""
    return line.decode("utf-8", "replace") if len(line) <= _LONGEST else ""
