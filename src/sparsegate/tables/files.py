"""Which files are meant, and of what kind they are: told from their names, their first bytes and a header line.

The first bytes tell a database; everything else goes by the ending of its name. The header of a CSV file is public, and
the only line of it that is read to find out how to read it.
"""

from __future__ import annotations

import csv
import glob
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from sparsegate.errors import TableError

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

_PACKED = ("gz", "zst")
_NAME = re.compile(r"[^\W\d][^@\n]{0,99}")


def expand(patterns: Sequence[str]) -> list[str]:
    """The files that the paths and patterns stand for; each must stand for one at least."""
    files: list[str] = []
    for pattern in patterns:
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


def kind_of(file: str) -> str:
    """ "Parquet", "CSV", "JSON", "FIMI", "lines", "DuckDB" or "SQLite"."""
    path = Path(file)
    if path.is_dir():
        raise TableError(f"{file} is a folder; name its files, for instance {file.rstrip('/')}/*.parquet")
    try:
        with path.open("rb") as stream:
            start = stream.read(16)
    except OSError:
        raise TableError(f"{file} cannot be opened; check its permissions") from None
    if start.startswith(b"SQLite format 3\0"):
        return "SQLite"
    if start[8:12] == b"DUCK":
        return "DuckDB"
    endings = [ending.lstrip(".").lower() for ending in path.suffixes]
    if endings and endings[-1] in _PACKED:
        endings.pop()
    if not endings or endings[-1] not in KINDS:
        known = ", ".join(f".{ending}" for ending in KINDS)
        raise TableError(
            f"{file} is of no known kind; it must be a DuckDB or SQLite database, or end in {known} (or .gz)"
        )
    return KINDS[endings[-1]]


def header_of(file: str, line: str) -> tuple[str, tuple[str, ...]]:
    """The delimiter and the names in a header line, which is public; a first line of data is refused unquoted."""
    delimiter = max(",\t;|", key=line.count)
    names = tuple(next(csv.reader([line], delimiter=delimiter), []))
    if not names or not all(map(_NAME.fullmatch, names)) or len({name.lower() for name in names}) < len(names):
        raise TableError(
            f"the first line of {file} must hold its column names: different ones, each beginning with a letter"
        )
    return delimiter, names


def listed(files: Sequence[str]) -> str:
    """The files as an error names them."""
    return files[0] if len(files) == 1 else f"{files[0]} and {len(files) - 1} more"
