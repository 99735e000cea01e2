"""Item counts from a user's file: transactions as in the FIMI repository, or a table of items.

Understood, each also gzipped:

- *transactions*: whole numbers, one record a line, items set apart by blanks or commas (FIMI's ``.dat``);
- *pairs*: on every line a record and an item, whole numbers with a TAB between them (KDD Cup 2000);
- *CSV with a header*, or *Parquet*: columns ``item`` and ``count``; or ``item`` and one of ``record``,
  ``transaction`` and ``user``, one row a pair. The caller may know the items and records under other names.

An item counts once in a record, however often it is named there.
"""

from __future__ import annotations

import gzip
import io
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsegate.errors import ParameterError, load_extra
from sparsegate.evaluation.simulated.ranked import Integers

_RECORD_COLUMNS = ("record", "transaction", "user")
_DIGIT, _NEWLINE, _OTHER = 1, 2, 3
_LONGEST = 18  # digits that always fit int64
_MOST = 2**53  # counts become floats, which have every whole number up to here
_MARK, _WIDE = b"\xef\xbb\xbf", (b"\xff\xfe", b"\xfe\xff")  # what texts in UTF-8 and UTF-16 may begin with


@dataclass(frozen=True, kw_only=True, eq=False)
class ItemCounts:
    """How often each item occurs, in no particular order; the number of records, or None if the file does not tell.

    >>> import pathlib, tempfile
    >>> from sparsegate import evaluation
    >>> folder = tempfile.TemporaryDirectory()
    >>> file = pathlib.Path(folder.name, "clicks.csv")
    >>> _ = file.write_text("user,item\\nann,tea\\nbob,tea\\nbob,jam\\n")
    >>> found = evaluation.read_counts(file)
    >>> sorted(found.counts.tolist()), found.records
    ([1, 2], 2)
    >>> folder.cleanup()
    """

    counts: Integers
    """How often each item occurs."""
    records: int | None
    """How many records there are, or None."""


def read_counts(path: str | Path, *, item: str = "item", user: str | None = None) -> ItemCounts:
    """Read a file in any of the forms of ``evaluation.data.readers``; what it is shows from its bytes, not its name.

    ``path`` may be that of a gzipped file. ``item`` and ``user`` are the names of the columns of a table, if they
    are not those named there.

    >>> import pathlib, tempfile
    >>> from sparsegate import evaluation
    >>> folder = tempfile.TemporaryDirectory()
    >>> file = pathlib.Path(folder.name, "baskets.dat")
    >>> _ = file.write_text("1 2 3\\n1 2\\n1\\n")  # a record a line, as in the FIMI repository
    >>> found = evaluation.read_counts(file)
    >>> found.counts.tolist(), found.records
    ([3, 2, 1], 3)
    >>> folder.cleanup()
    """
    return counts_in(unpacked(path), path, item=item, user=user)


def counts_in(content: bytes, path: str | Path, *, item: str = "item", user: str | None = None) -> ItemCounts:
    """The same of what was read from a file already."""
    data = content.removeprefix(_MARK)
    if not data.strip():
        raise ParameterError("data", "must name a file that is not empty", str(path))
    if data[:2] in _WIDE:
        raise ParameterError("data", "must be a text in UTF-8, not in UTF-16", str(path), "save it as UTF-8")
    if data[:4] == b"PAR1":
        return _from_table(_parse(path, "pyarrow.parquet", "read_table", data), path, item, user)
    first_line = data.lstrip().split(b"\n", 1)[0]
    if any(byte > 127 or chr(byte).isalpha() for byte in first_line):
        return _from_table(_parse(path, "pyarrow.csv", "read_csv", data), path, item, user)
    return _from_numbers(data, path)


def unpacked(path: str | Path) -> bytes:
    """The content of a file, gzipped or not."""
    try:
        data = Path(path).read_bytes()
        return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or "not a whole gzip file"
        raise ParameterError("data", "must name a file that can be read", str(path), reason) from None


def _parse(path: str | Path, module: str, function: str, data: bytes) -> Any:
    reader = load_extra(module, extra="evaluation")
    invalid = load_extra("pyarrow", extra="evaluation").ArrowException
    try:
        table = getattr(reader, function)(io.BytesIO(data))
        names = table.column_names
    except (invalid, OSError, UnicodeDecodeError) as error:
        raise ParameterError("data", f"must be readable as a table; {error}".splitlines()[0], str(path)) from None
    if len(set(names)) < len(names):
        raise ParameterError("data", "must name each of its columns once", str(path))
    return table


def _from_table(table: Any, path: str | Path, item: str, user: str | None) -> ItemCounts:
    names = set(table.column_names)
    item = item if item in names else "item"
    arrow = load_extra("pyarrow", extra="evaluation")
    for name in names & {item, user, *_RECORD_COLUMNS}:
        if arrow.types.is_nested(table.schema.field(name).type):
            raise ParameterError("data", f"must have one value in a cell of the column {name}", str(path))
    if len(table) and {item, "count"} <= names:
        counts = table.column("count").to_numpy()
        if counts.dtype.kind not in "iu" or counts.min() < 1 or counts.max() > _MOST:
            rule = "must have whole numbers of at least 1, and of 2^53 at most, in the column count"
            raise ParameterError("data", rule, str(path))
        if table.column(item).null_count or len(table.column(item).unique()) != len(table):
            raise ParameterError("data", "must name each item once beside its count", str(path))
        return ItemCounts(counts=counts.astype(np.int64), records=None)
    records = [name for name in (user, *_RECORD_COLUMNS) if name in names]
    if not len(table) or item not in names or not records:
        raise ParameterError(
            "data",
            "must have rows, and columns item and count, or item and one of " + ", ".join(_RECORD_COLUMNS),
            sorted(names),
        )
    coded = [_codes(table.column(name)) for name in (records[0], item)]
    return _count_pairs(*coded)


def _codes(column: Any) -> Integers:
    if column.null_count:
        raise ParameterError("data", f"must have no empty cells; {column.null_count} were found", next_step="fill them")
    codes: Integers = column.combine_chunks().dictionary_encode().indices.to_numpy().astype(np.int64)
    return codes


def _from_numbers(data: bytes, path: str | Path) -> ItemCounts:
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    kinds = np.full(256, _OTHER, dtype=np.uint8)
    kinds[list(b" \t,")] = 0
    kinds[list(b"0123456789")] = _DIGIT
    kinds[ord("\n")] = _NEWLINE
    kind = kinds[np.frombuffer(data, dtype=np.uint8)]
    line_ends = np.flatnonzero(kind == _NEWLINE)
    strange = np.flatnonzero(kind == _OTHER)
    if strange.size:
        line = int(np.searchsorted(line_ends, strange[0])) + 1
        raise ParameterError(
            "data",
            f"must hold whole numbers only; line {line} does not",
            str(path),
            "see sparsegate.evaluation.data.readers",
        )
    starts, ends = _edges(kind == _DIGIT)
    if not starts.size:
        raise ParameterError("data", "must hold numbers; there is none", str(path))
    if int((ends - starts).max()) > _LONGEST:
        raise ParameterError("data", f"must hold numbers of at most {_LONGEST} digits", str(path))
    numbers = np.fromstring(data.replace(b",", b" ").decode("ascii"), dtype=np.int64, sep=" ")
    lines = np.searchsorted(line_ends, starts)
    if b"\t" in data:
        if numbers.size % 2 or (lines[::2] != lines[1::2]).any() or (np.diff(lines[::2]) == 0).any():
            raise ParameterError(
                "data",
                "must hold a record and an item on every line, as it has TABs",
                str(path),
                "set items apart by blanks if a line is a record",
            )
        return _count_pairs(np.unique(numbers[::2], return_inverse=True)[1], _ranks(numbers[1::2]))
    return _count_pairs(_ranks(lines), _ranks(numbers))


def _edges(inside: NDArray[np.bool_]) -> tuple[Integers, Integers]:
    """Where stretches of True begin, and where they end."""
    change = np.flatnonzero(np.diff(inside, prepend=False, append=False))
    return change[::2], change[1::2]


def _ranks(values: Integers) -> Integers:
    ranks: Integers = np.unique(values, return_inverse=True)[1]
    return ranks


def _count_pairs(records: Integers, items: Integers) -> ItemCounts:
    """Count the distinct pairs of a record and an item, both numbered from 0."""
    width = int(items.max()) + 1
    pairs = records * width + items
    pairs.sort()
    distinct = pairs[np.diff(pairs, prepend=-1) != 0]
    return ItemCounts(counts=np.bincount(distinct % width), records=int(records.max()) + 1)
