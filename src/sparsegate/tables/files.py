"""Which files are meant, and of what kind they are: told from their names, their first bytes and a header line.

The first bytes tell a database or a workbook; everything else goes by what the owner says (``tables.text_files``), or
else by the ending of its name. Where these say that the first line is somebody's own (baskets, lines, JSON), the first
bytes tell nothing: a basket may begin as a database does. The header of a CSV file is public, and the only line of it
that is read to find out how to read it. But a first line may be a row all the same. So nothing of it is shown or
suggested unless all of it looks like names, and of another only the columns that the owner asks for by name are given
theirs.
"""

from __future__ import annotations

import csv
import glob
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from sparsegate.errors import TableError
from sparsegate.tables.columns import unlike
from sparsegate.tables.text_files import FORMATS, PLAIN, TextForm

KINDS: Final = {
    "parquet": "Parquet",
    "pq": "Parquet",
    "csv": "CSV",
    "tsv": "CSV",
    "json": "JSON",
    "ndjson": "JSON",
    "jsonl": "JSON",
    "dat": "FIMI",
    "txt": "lines",
}

DATABASES: Final = ("DuckDB", "SQLite")

_OWN_FIRST_LINE = ("JSON", "FIMI", "lines")
_NO_TEXT = ("db", "duckdb", "sqlite", "sqlite3", "parquet", "pq", "xls", "xlsx")
_PACKED = ("gz", "zst")
_OFFICE = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")
_NAME = re.compile(r"[^\W\d][^@\n]{0,99}")


def expand(patterns: Sequence[str]) -> list[str]:
    """The files that the paths and patterns stand for; each must stand for one at least."""
    files: list[str] = []
    for pattern in patterns:
        if not pattern:  # which would be this folder
            raise TableError("the name of a file must not be empty; check the variable that it came from")
        # Path.glob takes no absolute pattern.
        found = [pattern] if Path(pattern).exists() else sorted(glob.glob(pattern, recursive=True))  # noqa: PTH207
        if not found:
            raise TableError(f"no file matches {without_password(pattern)!r}; check the path")
        files += found
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
    form.check(file, kind)
    return kind


def _kind(file: str, start: bytes, form: TextForm) -> str:
    endings = [ending.lstrip(".").lower() for ending in Path(file).suffixes]
    if endings and endings[-1] in _PACKED:
        endings.pop()
    ending = endings[-1] if endings else ""
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
        raise TableError(
            f"{file} is of no known kind; it must be a DuckDB or SQLite database, or end in {known} (or .gz); "
            'for baskets under another name pass format="fimi" or format="baskets"'
        )
    kind = KINDS[ending]
    return "CSV" if kind == "lines" and form.separator else kind


def header_of(
    file: str, line: str, *, separator: str | None = None, asked: Sequence[str] | None = None, query: str | None = None
) -> tuple[str, tuple[str, ...]]:
    """The delimiter and the names in a header line.

    ``asked`` are the columns that will be needed, None where nobody can say; with a ``query`` they may be its own. A
    line that does not look like names is taken for a header only where it has each of them once, or for a query; its
    other columns, and those of a query that does not speak of them, are then called by their places.
    """
    delimiter = separator or max(",\t;|", key=line.count)
    names = [name.strip() for name in _split(line, delimiter)]
    folded = [name.casefold() for name in names]
    once = {name for name in folded if name and folded.count(name) == 1}
    if names and all(map(_NAME.fullmatch, names)) and len(once) == len(names):
        return delimiter, tuple(names)
    if asked is None and query is None:
        raise TableError(
            f"the first line of {file} must hold its column names: different ones, each beginning with a letter"
        )
    wanted = {name.casefold() for name in asked or ()}
    if query is None:
        for name in asked or ():
            if name.casefold() not in once:
                raise TableError(
                    f"the first line of {file} must name the column {name!r} once, and does not; check that it holds "
                    "the names of the columns"
                )
    else:
        wanted |= {name for name in once if name in query.casefold()}
    return delimiter, tuple(
        name if name.casefold() in wanted & once else unlike(f"column {place}", [*names, *wanted])
        for place, name in enumerate(names, 1)
    )


def _split(line: str, delimiter: str) -> list[str]:
    if len(delimiter) > 1:  # Python's reader takes one character
        return line.split(delimiter)
    return next(csv.reader([line], delimiter=delimiter), [])


def listed(files: Sequence[str]) -> str:
    """The files as an error names them."""
    return files[0] if len(files) == 1 else f"{files[0]} and {len(files) - 1} more"
