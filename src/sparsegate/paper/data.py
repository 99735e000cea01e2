"""The paper's four datasets: Zipf exactly, the other three from the user's file, or a stand-in that says so.

| | records | items |
|---|---|---|
| BMS-POS | 515,597 | 1,657 |
| Kosarak | 990,002 | 41,270 |
| AOL | 647,377 | 2,290,685 |
| Zipf | 1,000,000 | 10,000 |

The score of an item is the number of records that hold it, so one record moves a score by at most 1, and all of
them the same way.

Without a file, a stand-in takes the place of the data, see ``count_laws``.

Item counts from a user's file: transactions as in the FIMI repository, or a table of items.

Understood, each also gzipped:

- *transactions*: whole numbers, one record a line, items set apart by blanks or commas (FIMI's ``.dat``);
- *pairs*: on every line a record and an item, whole numbers with a TAB between them (KDD Cup 2000);
- *CSV with a header*, or *Parquet*: columns ``item`` and ``count``; or ``item`` and one of ``record``,
  ``transaction`` and ``user``, one row a pair. The caller may know the items and records under other names.

An item counts once in a record, however often it is named there.

What is publicly known of the files of datasets, so that one file does not pass for another.

A file is *verified* by its public checksum: numbers of records, items and occurrences are easily made up. A part of a
file is known by its number of records and the fingerprint of its counts, which depends neither on the form of the file
nor on the names of the items. Everything else is an *unverified file*, and is called so wherever it is named.

Laws of three numbers that stand in for data, and say so.

A stand-in is a law of three numbers with the published number of items, no data at all. Item i of n, counted from
the most frequent, has the count

    max(1, round(C (i + q)**-s exp(-i / k))),

a Zipf-Mandelbrot law with a cut-off; every stand-in uses s, C and one of shift q and cut-off k. Results on a
stand-in show how methods compare on data of that kind. They are not comparable with published values.

Datasets from their public addresses, checked before anything may use them.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import math
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from sparsegate.budget import exact_count
from sparsegate.errors import ParameterError, SparsegateError, load_extra, unknown_key
from sparsegate.paper import data as known_files
from sparsegate.paper.ranked import Integers, Ladder

_RECORD_COLUMNS = ("record", "transaction", "user")
_DIGIT, _NEWLINE, _OTHER = 1, 2, 3
_LONGEST = 18  # digits that always fit int64
_MOST = 2**53  # counts become floats, which have every whole number up to here
_MARK, _WIDE = b"\xef\xbb\xbf", (b"\xff\xfe", b"\xfe\xff")  # what texts in UTF-8 and UTF-16 may begin with


@dataclass(frozen=True, kw_only=True, eq=False)
class ItemCounts:
    """How often each item occurs, in no particular order; the number of records, or None if the file does not tell.

    >>> import pathlib, tempfile
    >>> from sparsegate import paper
    >>> folder = tempfile.TemporaryDirectory()
    >>> file = pathlib.Path(folder.name, "clicks.csv")
    >>> _ = file.write_text("user,item\\nann,tea\\nbob,tea\\nbob,jam\\n")
    >>> found = paper.read_counts(file)
    >>> sorted(found.counts.tolist()), found.records
    ([1, 2], 2)
    >>> folder.cleanup()
    """

    counts: Integers
    """How often each item occurs."""
    records: int | None
    """How many records there are, or None."""


def read_counts(path: str | Path, *, item: str = "item", user: str | None = None) -> ItemCounts:
    """Read a file in any of the forms of ``paper.data``; what it is shows from its bytes, not its name.

    ``path`` may be that of a gzipped file. ``item`` and ``user`` are the names of the columns of a table, if they
    are not those named there.

    >>> import pathlib, tempfile
    >>> from sparsegate import paper
    >>> folder = tempfile.TemporaryDirectory()
    >>> file = pathlib.Path(folder.name, "baskets.dat")
    >>> _ = file.write_text("1 2 3\\n1 2\\n1\\n")  # a record a line, as in the FIMI repository
    >>> found = paper.read_counts(file)
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
            "see sparsegate.paper.data",
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


CHECKSUMS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "kosarak": (
            "sha256:b7855ba155567d52390aa2a9eb09bb91ca27b5c737d358010501038f42d13dcf",
            "github.com/n3slami/Sublime, bench/scripts/download_datasets.sh",
        ),
        "bms-pos": (
            "sha1:b9fa6e98dbd3088bc76662660b44ed62d80564d5",
            "github.com/mitakas/flink-apriori-java, BMS-POS.dat.sha1",
        ),
    }
)
"""Public checksums of the unpacked files, and who made each public."""

PARTS: Mapping[str, Mapping[str, int]] = MappingProxyType(
    {
        "kosarak": {"9dfcbfcaa6c4bfed16af3bfd0244b15d1e8356fabef32d36a23060b52239db1e": 100_000},
        "bms-pos": {"f3f5ea8f78a458d2e2f88a12b3cbfb7d1608486891e447e38a67e15ffb5b3935": 100_000},
    }
)
"""How many of its first records a part of a dataset has, by the fingerprint of its counts."""

OTHERS: Mapping[tuple[int, int], str] = MappingProxyType(
    {
        (88_162, 16_470): "Retail",
        (340_183, 468): "Accidents",
        (3_196, 75): "Chess",
        (67_557, 129): "Connect",
        (8_124, 119): "Mushroom",
        (49_046, 2_113): "Pumsb",
        (49_046, 2_088): "Pumsb-star",
        (100_000, 870): "T10I4D100K",
        (100_000, 942): "T40I10D100K",
        (59_602, 497): "BMS-WebView-1",
        (77_512, 3_340): "BMS-WebView-2",
        (990_002, 41_270): "Kosarak",
        (515_597, 1_657): "BMS-POS",
    }
)
"""Files that are easily mistaken for each other (FIMI repository, KDD Cup 2000) by their records and items."""


def counts_fingerprint(ladder: Ladder) -> str:
    """SHA-256 of the distinct counts, falling, and of how many items have each.

    >>> counts_fingerprint(Ladder.of([3, 1, 1])) == counts_fingerprint(Ladder.of([1, 3, 1]))
    True
    """
    digest = hashlib.sha256(ladder.values.astype("<f8").tobytes())
    digest.update(ladder.sizes.astype("<i8").tobytes())
    return digest.hexdigest()


def has_checksum(name: str, content: bytes) -> bool | None:
    """Whether the unpacked file has the public checksum of this dataset; None where none is public.

    >>> has_checksum("kosarak", b"1 2 3"), has_checksum("aol", b"1 2 3")
    (False, None)
    """
    if name not in CHECKSUMS:
        return None
    algorithm, _, digest = CHECKSUMS[name][0].partition(":")
    return hashlib.new(algorithm, content, usedforsecurity=False).hexdigest() == digest


def part_of(name: str, counted: ItemCounts) -> str | None:
    """Which part of the dataset these counts are, if it is known."""
    first = PARTS.get(name, {}).get(counts_fingerprint(Ladder.of(counted.counts)))
    return f"its first {first:,} records" if first is not None and first == counted.records else None


def other_file(title: str, counted: ItemCounts) -> str | None:
    """The title of the other file that has these numbers of records and items, if one is known."""
    found = OTHERS.get((counted.records or 0, counted.counts.size))
    return None if found == title else found


@dataclass(frozen=True, kw_only=True)
class CountLaw:
    """The numbers of the law: s, C, q, k; ``fitted_to`` says in a sentence where they come from."""

    exponent: float
    scale: float
    shift: float = 0.0
    cutoff: float = math.inf
    fitted_to: str

    def ladder(self, items: int) -> Ladder:
        """The counts of ``items`` items.

        >>> CountLaw(exponent=1.0, scale=6.0, fitted_to="nothing").ladder(5).highest(5).tolist()
        [6.0, 3.0, 2.0, 2.0, 1.0]
        """
        rank = np.arange(1.0, items + 1)
        counts = self.scale * (rank + self.shift) ** -self.exponent * np.exp(-rank / self.cutoff)
        counts = np.maximum(np.rint(counts), 1)
        starts = np.flatnonzero(np.diff(counts, prepend=np.inf))  # counts fall, so equal ones are neighbours
        return Ladder(values=counts[starts], sizes=np.diff(starts, append=items), starts=starts)

    def __str__(self) -> str:
        shift = f"(i + {self.shift:g})" if self.shift else "i"
        cutoff = f" exp(-i / {self.cutoff:g})" if math.isfinite(self.cutoff) else ""
        return f"{self.scale:.10g} {shift}**-{self.exponent:g}{cutoff}"


LAWS: Mapping[str, CountLaw] = MappingProxyType(
    {
        "bms-pos": CountLaw(
            exponent=0.682,
            cutoff=234.0,
            scale=268210.3,
            fitted_to=(
                "the 1,000 most frequent items of the first 100,000 records of BMS-POS (8 % off, root mean square); "
                "the counts sum to 3,583,028, the published number of records times the 6.949 items a record has there"
            ),
        ),
        "kosarak": CountLaw(
            exponent=0.826,
            cutoff=17850.0,
            scale=333313.4,
            fitted_to=(
                "the 1,000 most frequent items of the first 100,000 records of Kosarak (19 % off, root mean square); "
                "the counts sum to 7,939,288, the published number of records times the 8.019 items a record has there"
            ),
        ),
        "aol": CountLaw(
            exponent=1.029,
            shift=75.0,
            scale=3515000.0,
            fitted_to=(
                "no data but three values published for c = 150, ε = 0.1 (score error rate 0.15 for EM, 0.59 for SVT-S "
                "1:c^(2/3), 0.99 for SVT-S 1:1) and a least count of 1; the counts sum to 27,574,012, which is a "
                "guess"
            ),
        ),
    }
)


UNVERIFIED, OWN = "unverified file", "own file"

NAMED_KINDS = ("stand-in", "scaled", "rescaled", UNVERIFIED, OWN)
"""Kinds of datasets that are not what the paper names so: whatever is said of one says its kind."""

_NAME = re.compile(r"\w[\w.-]{0,63}")


@dataclass(frozen=True)
class Published:
    """What is published of a dataset; ``url`` is where to fetch it, ``member`` its place in a zip archive there.

    ``occurrences`` is the sum of all counts.
    """

    name: str
    title: str
    records: int
    items: int
    source: str
    url: str | None = None
    member: str | None = None
    occurrences: int | None = None

    def made(self, kind: str, description: str, ladder: Ladder) -> Dataset:
        """Scores for it, of a kind that its title names where they are not the published ones."""
        title = f"{self.title} ({kind})" if kind in NAMED_KINDS else self.title
        return Dataset(
            name=self.name, title=title, kind=kind, records=self.records, description=description, ladder=ladder
        )


_FIMI = "https://www.cs.rpi.edu/~zaki/Workshops/FIMI/data/kosarak.dat.gz"  # a copy; the repository itself is gone
_CUP = "https://www.kdd.org/cupfiles/KDDCup2000.zip"
_BASKETS = "baskets of an electronics shop, KDD Cup 2000"
_CLICKS = "clicks on a Hungarian news portal, FIMI repository"
_WORDS = "words of search queries by user, 2006; withdrawn by its publisher"
_MADE = "made: scores proportional to 1/i that sum to the number of records"
_ROWS = (
    Published("bms-pos", "BMS-POS", 515_597, 1_657, _BASKETS, _CUP, "assoc/BMS-POS.dat.gz"),
    Published("kosarak", "Kosarak", 990_002, 41_270, _CLICKS, _FIMI, occurrences=8_019_015),
    Published("aol", "AOL", 647_377, 2_290_685, _WORDS),
    Published("zipf", "Zipf", 1_000_000, 10_000, _MADE),
)

PUBLISHED: Mapping[str, Published] = MappingProxyType({row.name: row for row in _ROWS})
"""The datasets of the paper by name.

>>> from sparsegate import paper
>>> {name: row.items for name, row in paper.PUBLISHED.items()}
{'bms-pos': 1657, 'kosarak': 41270, 'aol': 2290685, 'zipf': 10000}
"""


@dataclass(frozen=True, kw_only=True, eq=False)
class Dataset:
    """Scores to select from. ``kind`` is "exact", "real" or of ``NAMED_KINDS``; ``description`` says it in words.

    >>> from sparsegate import paper
    >>> zipf = paper.load("zipf")
    >>> zipf.title, zipf.kind, zipf.items, zipf.records
    ('Zipf', 'exact', 10000, 1000000)
    >>> paper.load("kosarak").title
    'Kosarak (stand-in)'
    """

    name: str
    """Its key."""
    title: str
    """Its name for people, with its kind where it is not what the paper names so."""
    kind: str
    records: int
    """How many records there are."""
    description: str
    ladder: Ladder
    """The scores, ranked."""

    @classmethod
    def from_file(cls, path: str | Path, *, name: str | None = None, records: int | None = None) -> Dataset:
        """A file in a form of ``read_counts`` as a dataset of its own, called by its file's name unless told.

        ``records`` is how many records there are; a table of counts does not tell it. Under the name of a dataset of
        the paper the file must be that dataset, see ``load``.
        """
        return load(Path(path).name.partition(".")[0] if name is None else name, path, records=records)

    @property
    def items(self) -> int:
        """The number of items."""
        return self.ladder.total

    @property
    def stand_in(self) -> bool:
        """Whether a law stands in for the data: its results are not comparable with published values."""
        return self.kind == "stand-in"

    @property
    def described(self) -> dict[str, object]:
        """What a manifest says of it."""
        names = ("name", "title", "kind", "stand_in", "records", "items", "description", "fingerprint")
        return {name: getattr(self, name) for name in names} | {
            "distinct_scores": self.ladder.values.size,
            "sum_of_scores": float(self.ladder.values @ self.ladder.sizes),
        }

    @property
    def fingerprint(self) -> str:
        """A hash of the scores."""
        return counts_fingerprint(self.ladder)


def load(
    name: str, file: str | Path | None = None, *, records: int | None = None, scale_to_records: bool = False
) -> Dataset:
    """Load a dataset by name: from ``file`` if there is one, else exactly (zipf) or as a stand-in.

    Under the name of a dataset of the paper, the file must have the published number of records and items. With
    ``scale_to_records`` it may be shorter: its counts are multiplied by published / own number of records, not rounded,
    and items of count 1 are added up to the published number of items. A file that is not known to be the published
    one (by its checksum), or a part of it, is of the kind "unverified file". Under any other name it is a dataset of
    its own.

    ``records`` is how many records there are; a table of counts does not tell it.

    >>> import sparsegate as sg
    >>> sg.paper.load("zipf").description
    '10,000 scores proportional to 1/i that sum to 1,000,000'
    >>> sg.paper.load("kosarak").stand_in
    True
    """
    if file is None:
        published = named(name, next_step="a file may have any name (--data NAME=FILE)")
        return zipf() if name == "zipf" else _stand_in(published)
    if name == "zipf":
        raise ParameterError("data", "must not be given for zipf, which is made", str(file), "leave it out")
    content, path = unpacked(file), Path(file)
    counted = counts_in(content, path)
    told = counted.records is not None
    counted = _with_records(counted, records, path)
    if name not in PUBLISHED:
        return _own(name, counted, path)
    published = named(name)
    largest = int(counted.counts.max())
    if not told and largest > published.records:
        rule = f"must not have a count of {largest:,}, more than the {published.records:,} records there are"
        raise ParameterError("data", rule, path.name)
    got = _difference(published, counted)
    if got and (other := other_file(published.title, counted)):
        rule = f"must be {published.title}: {got}, which are the numbers of {other}"
        raise ParameterError("data", rule, path.name, f"give it a name of its own (--data {other.lower()}=FILE)")
    if got and not scale_to_records:
        raise ParameterError(
            "data",
            f"must be the published {published.title}: {got}",
            path.name,
            "pass the whole file, or scale_to_records=True (--scale-to-records) to scale a shorter one, or give it a "
            "name of its own",
        )
    if got:
        return _scaled(published, counted, path)
    kind, why = {
        True: ("real", ""),
        False: (UNVERIFIED, ", which has the published numbers and not the public checksum"),
        None: (UNVERIFIED, ", which has the published numbers; no checksum of it is public"),
    }[has_checksum(name, content)]
    return published.made(kind, f"{published.source}; read from {path.name}{why}", Ladder.of(counted.counts))


def _with_records(counted: ItemCounts, records: int | None, path: Path) -> ItemCounts:
    """The counts with the number of records that the file, or else the user, tells."""
    least = int(counted.counts.max()) if counted.records is None else counted.records
    if records is None:
        return counted
    if exact_count(records, "records") < least:
        raise ParameterError("records", f"must be at least {least:,}, which {path.name} has", records)
    return replace(counted, records=records)


def _own(name: str, counted: ItemCounts, path: Path) -> Dataset:
    if not _NAME.fullmatch(name):
        rule = "must have a name of at most 64 letters, digits, dots, hyphens and underscores"
        raise ParameterError("dataset", rule, name)
    if counted.records is None:
        raise ParameterError(
            "records",
            f"must be given for {path.name}: counts alone do not tell how many records there are",
            next_step="pass records= (--records)",
        )
    return Dataset(
        name=name,
        title=f"{name} ({OWN})",
        kind=OWN,
        records=counted.records,
        description=f"a file of its own; read from {path.name}",
        ladder=Ladder.of(counted.counts),
    )


def named(name: str, *, next_step: str = "see `sparsegate datasets`") -> Published:
    """What is published of a dataset, or an error that lists the names."""
    if name not in PUBLISHED:
        rule = f"must be one of {', '.join(PUBLISHED)}"
        raise unknown_key("dataset", rule, name, PUBLISHED, next_step)
    return PUBLISHED[name]


def zipf(total: float | None = None) -> Dataset:
    """Scores proportional to 1/i that sum to ``total``, or to the number of records; the paper does not say to what.

    >>> zipf(2e6).kind, zipf(2e6).description
    ('rescaled', '10,000 scores proportional to 1/i that sum to 2,000,000')
    """
    published = PUBLISHED["zipf"]
    wanted = published.records if total is None else total
    scores = 1 / np.arange(1.0, published.items + 1)
    description = f"{published.items:,} scores proportional to 1/i that sum to {wanted:,.15g}"
    kind = "exact" if wanted == published.records else "rescaled"
    return published.made(kind, description, Ladder.of(scores * (wanted / scores.sum())))


def _stand_in(published: Published) -> Dataset:
    law = LAWS[published.name]
    what = f"STAND-IN, not the data: counts max(1, round({law})) for {published.items:,} items"
    return published.made("stand-in", f"{what}; fitted to {law.fitted_to}", law.ladder(published.items))


def _scaled(published: Published, counted: ItemCounts, path: Path) -> Dataset:
    items, records = counted.counts.size, counted.records
    if records is None:
        raise ParameterError(
            "data",
            "must have records to be scaled to the published number; counts alone do not tell it",
            path.name,
            "pass transactions, or records= (--records)",
        )
    if records > published.records or items > published.items:
        rule = f"must not be larger than the published {published.title}: {_difference(published, counted)}"
        raise ParameterError("data", rule, path.name)
    factor = published.records / records
    scores = np.concatenate((counted.counts * factor, np.ones(published.items - items)))
    part = part_of(published.name, counted)
    known = part or "not known to be a part of it"
    how = f"SCALED from the {records:,} records of {path.name} ({known}): counts times {factor:.6g}, not rounded"
    added = f"{published.items - items:,} items of count 1 added to make {published.items:,}"
    kind = "scaled" if part else UNVERIFIED
    return published.made(kind, f"{published.source}; {how}, and {added}", Ladder.of(scores))


def _difference(published: Published, counted: ItemCounts) -> str:
    """Got and expected numbers, or nothing where they agree."""
    pairs = [("items", counted.counts.size, published.items)]
    if counted.records is not None:
        pairs.insert(0, ("records", counted.records, published.records))
    if published.occurrences is not None:
        pairs.append(("occurrences", int(counted.counts.sum()), published.occurrences))
    if all(got == expected for _, got, expected in pairs):
        return ""
    return ", ".join(f"{got:,} {what} (expected {expected:,})" for what, got, expected in pairs)


def fetch(name: str, *, folder: str | Path | None = None) -> Path:
    """Download a dataset unless it is there already, check it, return its path.

    ``name`` is that of a published dataset with an address. ``folder`` replaces the user's cache. The file must have
    the public checksum where there is one, and the published numbers of records and items; one that fails is removed.
    ``how_checked`` says it in words. Nothing uses a fetched file by itself: pass its path where you want it used.

    >>> from sparsegate import paper
    >>> [name for name, row in paper.PUBLISHED.items() if row.url]  # what can be fetched
    ['bms-pos', 'kosarak']
    >>> paper.fetch("aol")
    Traceback (most recent call last):
    sparsegate.errors.ParameterError: dataset must be one of bms-pos, kosarak to be fetched; aol has no public ...
    """
    published = named(name)
    if published.url is None:
        known = ", ".join(row.name for row in PUBLISHED.values() if row.url)
        what = "is made and not read" if name == "zipf" else "has no public address"
        raise ParameterError("dataset", f"must be one of {known} to be fetched; {name} {what}", name)
    pooch = load_extra("pooch", extra="datasets")
    target = Path(pooch.os_cache("sparsegate") if folder is None else folder)
    path = _retrieve(pooch, published.url, published.member, target)
    try:
        _check(published, path)
    except ParameterError:
        path.unlink()
        (target / _file_name(published.url)).unlink(missing_ok=True)  # the archive it came in
        raise
    return path


def how_checked(name: str) -> str:
    """How a fetched file is checked, and what that is worth.

    >>> how_checked("kosarak")
    'checked by its public SHA-256, and by its numbers of records and items'
    """
    numbers = "its numbers of records and items"
    if name not in known_files.CHECKSUMS:
        return f"warning: no checksum of it is public; checked by {numbers} alone"
    algorithm = known_files.CHECKSUMS[name][0].partition(":")[0]
    if algorithm == "sha256":
        return f"checked by its public SHA-256, and by {numbers}"
    return f"warning: only a SHA-1 of it is public, which can be forged; checked by that, and by {numbers}"


def _check(published: Published, path: Path) -> None:
    if known_files.has_checksum(published.name, unpacked(path)) is False:
        checksum, source = known_files.CHECKSUMS[published.name]
        raise ParameterError(
            "data",
            f"must have the public checksum of {published.title}, {checksum} ({source}); what was downloaded has not",
            path.name,
            "if you trust a file of another origin, pass it with --data",
        )
    load(published.name, path)


def _retrieve(pooch: Any, url: str, member: str | None, folder: Path) -> Path:
    processor = pooch.Unzip(members=[member]) if member else None
    try:
        found = pooch.retrieve(
            url, known_hash=None, fname=_file_name(url), path=folder, processor=processor, progressbar=False
        )
    except (OSError, ValueError, BadZipFile) as error:  # requests' errors are OSErrors
        (folder / _file_name(url)).unlink(missing_ok=True)  # half of it, or not what its name says
        raise SparsegateError(
            f"could not download {url} ({type(error).__name__}); where there is a network, download it and pass the "
            "file with --data"
        ) from None
    if not member:
        return Path(found)
    files = [Path(file) for file in found if file.endswith(Path(member).name)]
    if not files:
        (folder / _file_name(url)).unlink(missing_ok=True)
        raise SparsegateError(f"could not find {member} in what was downloaded from {url}")
    return files[0]


def _file_name(url: str) -> str:
    return url.rpartition("/")[2]
