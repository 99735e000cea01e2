"""The files that an owner means: which they are, of what kind, and how their text is written.

**Kinds.** The first bytes tell a database or a workbook, unless the first line is somebody's own (baskets, lines,
JSON); everything else goes by what the owner says (``TextForm``), or by the ending of its name.
**Headers.** The header of a CSV file is public, but a first line may be a row all the same. So nothing of it is shown
unless all of it looks like names, and of another only the columns that the owner asks for are given their names.
**Text** is UTF-8 to engines. Text in another encoding, as the owner says, is written anew into the private folder of
the workspace (``Inbox``), and goes with it; so is standard input.
"""

from __future__ import annotations

import codecs
import csv
import glob
import io
import re
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sparsegate.errors import ParameterError, TableError
from sparsegate.tables.columns import unlike
from sparsegate.tables.engine_errors import quiet, raise_alone
from sparsegate.tables.text_files import RegularRows, look_through, unpacked, write_lines, write_rows

FORMATS: Final = {"fimi": "FIMI", "baskets": "baskets"}
"""What ``format`` may say, and the kind of file that it is."""
TEXT: Final = ("CSV", "JSON", "lines", *FORMATS.values())
DATABASES: Final = ("DuckDB", "SQLite")
KINDS: Final = {
    **dict.fromkeys(("parquet", "pq"), "Parquet"),
    **dict.fromkeys(("csv", "tsv"), "CSV"),
    **dict.fromkeys(("json", "ndjson", "jsonl"), "JSON"),
    "dat": "FIMI",
    "txt": "lines",
}
"""By the ending of a name."""

_OWN_FIRST_LINE = ("JSON", "FIMI", "lines")
_NO_TEXT = ("db", "duckdb", "sqlite", "sqlite3", "parquet", "pq", "xls", "xlsx")
_OFFICE = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")
_NAME = re.compile(r"[^\W\d][^@\n]{0,99}")
_CHUNK: Final = 1 << 20


@dataclass(frozen=True, kw_only=True)
class TextForm:
    """What the owner says of how the text files are written (``opening.Table``); None leaves it to their names.

    >>> TextForm(format="baskets").cells
    '[ \\\\t]*("(?:[^"]|"")*"|.*?)[ \\\\t]*(?:,|$)'
    """

    format: str | None = None
    separator: str | None = None
    encoding: str | None = None

    def __post_init__(self) -> None:
        if self.format is not None and self.format not in FORMATS:
            raise ParameterError("format", 'must be "fimi" or "baskets", or left out', self.format)
        if (separator := self.separator) == r"\t":  # as it is typed in a shell
            object.__setattr__(self, "separator", separator := "\t")
        if separator is not None:
            text = separator if isinstance(separator, str) else ""
            if not 0 < len(text.encode()) <= 4 or set(text) & set('"\r\n\0'):
                rule = "must be one to four characters, without quotes and line ends"
                raise ParameterError("separator", rule, separator, 'pass for instance "," or "\\t"')
            if self.format == "fimi":
                rule = 'must not be given with format="fimi", whose items stand apart by white space'
                raise ParameterError("separator", rule, separator, 'pass format="baskets"')
        if self.encoding is not None:
            try:
                io.TextIOWrapper(io.BytesIO(), encoding=self.encoding)
            except (LookupError, ValueError, TypeError):
                rule, step = "must be an encoding of text that Python knows", 'pass for instance "latin-1" or "utf-16"'
                raise ParameterError("encoding", rule, self.encoding, step) from None

    @property
    def options(self) -> dict[str, str]:
        return {name: value for name, value in vars(self).items() if value is not None}

    @property
    def cells(self) -> str:
        """A regular expression for one cell of a basket: quoted whole, or anything up to the next separator."""
        return rf'[ \t]*("(?:[^"]|"")*"|.*?)[ \t]*(?:{re.escape(self.separator or ",")}|$)'


PLAIN: Final = TextForm()


def expand(patterns: Sequence[str]) -> list[str]:
    """The files that the paths and patterns stand for; each must stand for one at least."""
    files: list[str] = []
    for pattern in patterns:
        if not pattern:  # which would be this folder
            raise TableError("the name of a file must not be empty; check the variable that it came from")
        # Path.glob takes no absolute pattern.
        named = [pattern] if Path(pattern).exists() else sorted(glob.glob(pattern, recursive=True))  # noqa: PTH207
        if not named:
            raise TableError(f"no file matches {without_password(pattern)!r}; check the path")
        files += named
    if not files:
        raise TableError("no file was given; name at least one")
    return files


def without_password(place: str) -> str:
    """A path as it is; of a URL all but its password.

    >>> without_password("postgresql://ann:s3:cr@t@db/shop")
    'postgresql://ann:***@db/shop'
    """
    return re.sub(r"^(\w[\w+.-]*://[^:/@]*):.*@", r"\1:***@", place)


def kind_of(file: str, form: TextForm = PLAIN) -> str:
    """ "Parquet", "CSV", "JSON", "FIMI", "baskets", "lines", "DuckDB" or "SQLite"."""
    path = Path(file)
    if path.is_dir():
        raise TableError(f"{file} is a folder; name its files, for instance {file.rstrip('/')}/*.parquet")
    try:
        with path.open("rb") as stream:
            start = stream.read(16)
    except OSError:
        raise TableError(f"{file} cannot be opened; check its permissions") from None
    kind = _kind(file, start, form)
    for name, value in form.options.items():
        if kind not in (FORMATS.values() if name == "format" else TEXT):
            raise ParameterError(name, f"is for text, and {file} is {kind}", value, "leave it out")
    if form.separator is not None and kind == "JSON":
        raise ParameterError("separator", f"is for CSV and baskets, and {file} is JSON", next_step="leave it out")
    return kind


def _kind(file: str, start: bytes, form: TextForm) -> str:
    ending = Path(_without_packing(file)).suffix.lower().removeprefix(".")
    if KINDS.get(ending) in _OWN_FIRST_LINE or (form.format is not None and ending not in _NO_TEXT):
        start = b""  # of a person: it tells nothing of the file
    if start.startswith(b"SQLite format 3\0"):
        return "SQLite"
    if start[8:12] == b"DUCK":
        return "DuckDB"
    if start.startswith(_OFFICE):
        raise TableError(f"{file} is a workbook, as Excel writes them, or a zip archive; save its sheet as CSV")
    if form.format is not None:
        return "Parquet" if start.startswith(b"PAR1") else FORMATS[form.format]
    if ending not in KINDS:
        known = ", ".join(f".{ending}" for ending in KINDS)
        rule = f"it must be a DuckDB or SQLite database, or end in {known} (or .gz)"
        step = 'for baskets under another name pass format="fimi" or format="baskets"'
        raise TableError(f"{file} is of no known kind; {rule}; {step}")
    return "CSV" if KINDS[ending] == "lines" and form.separator else KINDS[ending]


def _without_packing(file: str) -> str:
    return re.sub(r"\.(gz|zst)$", "", file, flags=re.IGNORECASE)


def header_of(
    file: str, line: str, *, separator: str | None = None, asked: Sequence[str] | None = None, query: str | None = None
) -> tuple[str, tuple[str, ...]]:
    """The delimiter and the names in a header line.

    ``asked`` are the columns that will be needed, None where nobody can say; with a ``query`` they may be its own. A
    line that does not look like names is a header only where it has each of them once, or for a query; columns that
    nobody speaks of are then called by their places.
    """
    delimiter = separator or max(",\t;|", key=line.count)
    # Python's reader takes one character.
    cells = line.split(delimiter) if delimiter[1:] else next(csv.reader([line], delimiter=delimiter), [])
    names = [name.strip() for name in cells]
    folded = [name.casefold() for name in names]
    once = {name for name in folded if name and folded.count(name) == 1}
    if names and all(map(_NAME.fullmatch, names)) and len(once) == len(names):
        return delimiter, tuple(names)
    first = f"the first line of {file} must"
    if asked is None and query is None:
        raise TableError(f"{first} hold its column names: different ones, each beginning with a letter")
    wanted = {name.casefold() for name in asked or ()}
    if query is not None:
        wanted |= {name for name in once if name in query.casefold()}
    elif missing := [name for name in asked or () if name.casefold() not in once]:
        step = "check that it holds the names of the columns"
        raise TableError(f"{first} name the column {missing[0]!r} once, and does not; {step}")
    return delimiter, tuple(
        name if name.casefold() in wanted & once else unlike(f"column {place}", [*names, *wanted])
        for place, name in enumerate(names, 1)
    )


class Inbox:
    """Files that were received in a folder, and how errors name them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._shown: dict[str, str] = {}
        self.meant: list[str] = []
        """The owner's own files, whatever is read in their place."""

    def receive(self, patterns: Sequence[str], form: TextForm) -> list[str]:
        files: list[str] = []
        for pattern in patterns:
            files += [self._standard_input(form)] if pattern == "-" else expand([pattern])
        self.meant = files
        if form.encoding is None or codecs.lookup(form.encoding).name in ("utf-8", "utf-8-sig"):
            return files
        return [self._rewritten(file, form, form.encoding) for file in files]

    def _standard_input(self, form: TextForm) -> str:
        if self._shown:
            raise TableError("standard input can be read only once; name it once")
        stream = getattr(sys.stdin, "buffer", None)
        if stream is None:  # a notebook, or a program without one
            raise TableError("standard input cannot be read here; name a file")
        with quiet("standard input cannot be read"):
            start = stream.read(64)
            file = self._folder / f"standard-input{_ending(start, form)}"
            with file.open("xb") as kept:
                kept.write(start)
                shutil.copyfileobj(stream, kept, _CHUNK)
        self._shown[str(file)] = "standard input"
        return str(file)

    def _rewritten(self, file: str, form: TextForm, encoding: str) -> str:
        kind_of(file, form)  # refuses what is no text
        shown, target = self.shown(file), self.beside(file)
        try:
            with (
                unpacked(file) as raw,
                io.TextIOWrapper(raw, encoding=encoding, newline="") as text,
                target.open("x", encoding="utf-8", newline="") as kept,
            ):
                shutil.copyfileobj(text, kept, _CHUNK)
        except UnicodeError:
            raise_alone(TableError(f"{shown} is not written in {encoding}; pass another encoding="))
        except OSError:
            raise_alone(TableError(f"{shown} cannot be read, or the disk is full"))
        return str(target)

    def beside(self, file: str) -> Path:
        """A path for what is read in place of a file."""
        place = self._folder / f"file-{len(self._shown)}"
        place.mkdir()
        target = place / _without_packing(Path(file).name)
        self._shown[str(target)] = self.shown(file)
        return target

    def lines(self, file: str, kind: str, go_on: Callable[[], None], *, whole: bool = False) -> str:
        """The file to read: another one where a line of it cannot be read, unless it must be read as a whole."""
        if not look_through(file, kind, shown=self.shown(file), go_on=go_on) or whole:
            return file
        target = self.beside(file)
        write_lines(file, kind, target)
        return str(target)

    def rows(self, file: str, delimiter: str, cells: int, go_on: Callable[[], None]) -> tuple[str, bool]:
        """The regular CSV file to read, and whether it must be read in one piece; see ``tables.text_files``."""
        seen = RegularRows(delimiter, cells)
        look_through(file, "CSV", shown=self.shown(file), take=seen.take, go_on=go_on)
        seen.end()
        if seen.regular:
            return file, seen.serial
        target, shown = self.beside(file), self.shown(file)
        return str(target), write_rows(file, target, delimiter=delimiter, cells=cells, shown=shown, go_on=go_on)

    def clear(self) -> None:
        for file in self._shown:
            Path(file).unlink(missing_ok=True)

    def shown(self, *files: str) -> str:
        """The files as an error names them."""
        first = self._shown.get(files[0], files[0])
        return f"{first} and {len(files) - 1} more" if files[1:] else first


def _ending(start: bytes, form: TextForm) -> str:
    """The ending of a name that the first bytes of a stream tell; of baskets, whose first line is somebody's, less."""
    first = start.replace(b"\0", b"").lstrip(b"\xef\xbb\xbf\xff\xfe \t\r\n")
    signs = {b"\x1f\x8b": ".csv.gz", b"\x28\xb5\x2f\xfd": ".csv.zst"}
    if form.format is None:
        signs |= {b"PAR1": ".parquet", b"{": ".json", b"[": ".json"}
    return next((ending for sign, ending in signs.items() if first.startswith(sign)), ".csv")
