"""The paper's four datasets: Zipf exactly, the other three from the user's file, or a stand-in that says so.

The score of an item is the number of records that hold it, so one record moves a score by at most 1, and all of
them the same way.

**Files** are read in these forms, each also gzipped; an item counts once in a record, however often it is named there:

- *transactions*: whole numbers, one record a line, items set apart by blanks or commas (FIMI's ``.dat``);
- *pairs*: on every line a record and an item, whole numbers with a TAB between them (KDD Cup 2000);
- *CSV with a header*, or *Parquet*: columns ``item`` and ``count``; or ``item`` and one of ``record``,
  ``transaction`` and ``user``, one row a pair. The caller may know the items and records under other names.

A file is *verified* by its public checksum: numbers of records, items and occurrences are easily made up. A part of it
is known by its number of records and the fingerprint of its counts. Everything else is an *unverified file*, and is
called so wherever it is named.

**A stand-in** has the published number of items, and counts on a line in log rank and log count through a few *knots*,
ranks whose counts are known: docs/explanation/proofs_in_words/paper.md.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import re
import tomllib
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import Any
from zipfile import BadZipFile

import numpy as np

from sparsegate.budget import exact_count
from sparsegate.errors import ParameterError, SparsegateError, load_extra, unknown_key
from sparsegate.paper.ranked import Integers, Ladder

_RECORD_COLUMNS = ("record", "transaction", "user")
_LONGEST = 18  # digits that always fit int64
_MOST = 2**53  # counts become floats, which have every whole number up to here


@dataclass(frozen=True, kw_only=True, eq=False)
class ItemCounts:
    """How often each item occurs, in no particular order; the number of records, or None if the file does not tell.

    >>> import numpy as np, sparsegate as sg
    >>> sg.paper.ItemCounts(counts=np.array([3, 2, 1]), records=3).records
    3
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
    >>> baskets = paper.read_counts(file)
    >>> baskets.counts.tolist(), baskets.records
    ([3, 2, 1], 3)
    >>> folder.cleanup()
    """
    return _counted(_unpacked(path), path, item, user)


def _unpacked(path: str | Path) -> bytes:
    try:
        data = Path(path).read_bytes()
        return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or "not a whole gzip file"
        raise ParameterError("data", "must name a file that can be read", str(path), reason) from None


def _counted(content: bytes, path: str | Path, item: str = "item", user: str | None = None) -> ItemCounts:
    data = content.removeprefix(b"\xef\xbb\xbf")  # which a text in UTF-8 may begin with
    _require(bool(data.strip()), "must name a file that is not empty", path)
    utf_16 = data[:2] in (b"\xff\xfe", b"\xfe\xff")
    _require(not utf_16, "must be a text in UTF-8, not in UTF-16", path, "save it as UTF-8")
    first_line = data.lstrip().split(b"\n", 1)[0]
    if data[:4] == b"PAR1" or any(byte > 127 or chr(byte).isalpha() for byte in first_line):
        return _from_table(data, path, item, user)
    return _from_numbers(data, path)


def _require(holds: bool, rule: str, value: object, next_step: str = "", *, parameter: str = "data") -> None:
    """Refuse a file, or what is said of it, unless a condition holds."""
    if not holds:
        raise ParameterError(parameter, rule, str(value) if isinstance(value, Path) else value, next_step)


def _from_table(data: bytes, path: str | Path, item: str, user: str | None) -> ItemCounts:
    module, reader = ("parquet", "read_table") if data[:4] == b"PAR1" else ("csv", "read_csv")
    arrow, engine = (load_extra(name, extra="evaluation") for name in ("pyarrow", f"pyarrow.{module}"))
    try:
        table = getattr(engine, reader)(io.BytesIO(data))
        names = set(table.column_names)
    except (arrow.ArrowException, OSError, UnicodeDecodeError) as error:
        raise ParameterError("data", f"must be readable as a table; {error}".splitlines()[0], str(path)) from None
    _require(len(names) == table.num_columns, "must name each of its columns once", path)
    item = item if item in names else "item"
    for name in names & {item, user, *_RECORD_COLUMNS}:
        nested = arrow.types.is_nested(table.schema.field(name).type)
        _require(not nested, f"must have one value in a cell of the column {name}", path)
    if len(table) and {item, "count"} <= names:
        counts = table.column("count").to_numpy()
        whole = counts.dtype.kind in "iu" and counts.min() >= 1 and counts.max() <= _MOST
        _require(whole, "must have whole numbers of at least 1, and of 2^53 at most, in the column count", path)
        once = not table.column(item).null_count and len(table.column(item).unique()) == len(table)
        _require(once, "must name each item once beside its count", path)
        return ItemCounts(counts=counts.astype(np.int64), records=None)
    records = [name for name in (user, *_RECORD_COLUMNS) if name in names]
    rule = "must have rows, and columns item and count, or item and one of " + ", ".join(_RECORD_COLUMNS)
    _require(bool(len(table) and item in names and records), rule, sorted(names))
    columns = [table.column(name).combine_chunks() for name in (records[0], item)]
    empty = max(column.null_count for column in columns)
    _require(not empty, f"must have no empty cells; {empty} were found", path, "fill them")
    return _count_pairs(*(column.dictionary_encode().indices.to_numpy() for column in columns))


def _from_numbers(data: bytes, path: str | Path) -> ItemCounts:
    lines = data.replace(b",", b" ").splitlines()
    if strange := re.search(rb"[^0-9 \t,\r\n]", data):
        line = len((data[: strange.start()] + b".").splitlines())
        step = "see sparsegate.paper.data"
        raise ParameterError("data", f"must hold whole numbers only; line {line} does not", str(path), step)
    short = not re.search(rb"[0-9]{%d}" % (_LONGEST + 1), data)
    _require(short, f"must hold numbers of at most {_LONGEST} digits", path)
    in_line = np.array([len(line.split()) for line in lines])
    _require(bool(in_line.any()), "must hold numbers; there is none", path)
    numbers = np.fromstring(b" ".join(lines).decode("ascii"), dtype=np.int64, sep=" ")
    if b"\t" not in data:
        return _count_pairs(np.repeat(np.arange(in_line.size), in_line), numbers)
    pairs, step = bool(np.isin(in_line, (0, 2)).all()), "set items apart by blanks if a line is a record"
    _require(pairs, "must hold a record and an item on every line, as it has TABs", path, step)
    return _count_pairs(numbers[::2], numbers[1::2])


def _count_pairs(records: Integers, items: Integers) -> ItemCounts:
    names, record = np.unique(records, return_inverse=True)
    known, item = np.unique(items, return_inverse=True)
    distinct = np.unique(record * known.size + item)
    return ItemCounts(counts=np.bincount(distinct % known.size), records=names.size)


def counts_fingerprint(ladder: Ladder) -> str:
    """SHA-256 of the distinct counts, falling, and of how many items have each."""
    digest = hashlib.sha256(ladder.values.astype("<f8").tobytes())
    digest.update(ladder.sizes.astype("<i8").tobytes())
    return digest.hexdigest()


@dataclass(frozen=True, kw_only=True)
class CountLaw:
    """The ``knots``, counts by rank, and the ``shift`` q; ``fitted_to`` says in a sentence where they come from."""

    knots: Mapping[int, float]
    shift: float = 0.0
    fitted_to: str

    def ladder(self, items: int) -> Ladder:
        ranks, counts = np.array(list(self.knots)) + self.shift, np.array(list(self.knots.values()))
        logs = np.interp(np.log(np.arange(1.0, items + 1) + self.shift), np.log(ranks), np.log(counts))
        whole = np.maximum(np.rint(np.exp(logs)), 1)
        starts = np.flatnonzero(np.diff(whole, prepend=np.inf))  # counts fall, so equal ones are neighbours
        return Ladder(values=whole[starts], sizes=np.diff(starts, append=items), starts=starts)

    def __str__(self) -> str:
        (first, highest), *_, (last, least) = self.knots.items()
        ends = f"from rank {first:,} with {highest:,.0f} to rank {last:,} with {least:.0f}"
        shift = f" + {self.shift:g}" if self.shift else ""
        return f"{len(self.knots)} knots, {ends}, and lines in log(rank{shift}) and log(count) between"


UNVERIFIED, OWN = "unverified file", "own file"

NAMED_KINDS = ("stand-in", "scaled", "rescaled", UNVERIFIED, OWN)
"""Kinds of datasets that are not what the paper names so: whatever is said of one says its kind."""


@dataclass(frozen=True, kw_only=True)
class Published:
    """What is published of a dataset: see ``datasets.toml``.

    ``checksum`` is that of the unpacked file, and who made it public; ``parts`` has how many of its first records a
    part has, by the fingerprint of its counts; ``law`` stands in for it.
    """

    name: str
    title: str
    records: int
    items: int
    source: str
    url: str | None = None
    member: str | None = None
    occurrences: int | None = None
    checksum: Sequence[str] | None = None
    parts: Mapping[str, int] = field(default_factory=dict)
    law: CountLaw | None = None

    def made(self, kind: str, description: str, ladder: Ladder) -> Dataset:
        """Scores for it, of a kind that its title names where they are not the published ones."""
        title = f"{self.title} ({kind})" if kind in NAMED_KINDS else self.title
        known = {"name": self.name, "title": title, "kind": kind, "records": self.records}
        return Dataset(**known, description=description, ladder=ladder)  # type: ignore[arg-type]

    def has_checksum(self, content: bytes) -> bool | None:
        """Whether an unpacked file has the public checksum; None where none is public."""
        if self.checksum is None:
            return None
        algorithm, _, digest = self.checksum[0].partition(":")
        return hashlib.new(algorithm, content, usedforsecurity=False).hexdigest() == digest

    def part(self, counted: ItemCounts) -> str | None:
        first = self.parts.get(counts_fingerprint(Ladder.of(counted.counts)))
        return f"its first {first:,} records" if first is not None and first == counted.records else None

    def difference(self, counted: ItemCounts) -> str:
        """The numbers of some counts and those expected, or nothing where they agree."""
        numbers = {"records": counted.records, "items": counted.counts.size, "occurrences": int(counted.counts.sum())}
        pairs = [(what, number, getattr(self, what)) for what, number in numbers.items()]
        known = [(what, number, wanted) for what, number, wanted in pairs if number is not None and wanted is not None]
        if all(number == wanted for _, number, wanted in known):
            return ""
        return ", ".join(f"{number:,} {what} (expected {wanted:,})" for what, number, wanted in known)


def _published(law: dict[str, Any] | None = None, **row: Any) -> Published:
    if law:
        row["law"] = CountLaw(**law | {"knots": {rank: float(count) for rank, count in law["knots"]}})
    return Published(**row)


_ROWS = tomllib.loads(files("sparsegate.paper").joinpath("datasets.toml").read_text(encoding="utf-8"))["dataset"]

PUBLISHED: Mapping[str, Published] = MappingProxyType({row["name"]: _published(**row) for row in _ROWS})
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
        """Whether a law stands in for the data."""
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
        published = _named(name, next_step="a file may have any name (--data NAME=FILE)")
        if (law := published.law) is None:
            return zipf()
        what = f"STAND-IN, not the data: {published.items:,} counts through {law}"
        return published.made("stand-in", f"{what}; fitted to {law.fitted_to}", law.ladder(published.items))
    _require(name != "zipf", "must not be given for zipf, which is made", str(file), "leave it out")
    content, path = _unpacked(file), Path(file)
    counted = _counted(content, path)
    largest, told = int(counted.counts.max()), counted.records
    if records is not None:
        least, enough = largest if told is None else told, exact_count(records, "records")
        rule = f"must be at least {least:,}, which {path.name} has"
        _require(enough >= least, rule, records, parameter="records")
        counted = replace(counted, records=records)
    if name not in PUBLISHED:
        return _own(name, counted, path)
    published = PUBLISHED[name]
    rule = f"must not have a count of {largest:,}, more than the {published.records:,} records there are"
    _require(told is not None or largest <= published.records, rule, path.name)
    difference = published.difference(counted)
    if difference and scale_to_records:
        return _scaled(published, counted, path)
    step = (
        "pass the whole file, or scale_to_records=True (--scale-to-records) to scale a shorter one, or give it a name "
        "of its own"
    )
    _require(not difference, f"must be the published {published.title}: {difference}", path.name, step)
    kind, why = {
        True: ("real", ""),
        False: (UNVERIFIED, ", which has the published numbers and not the public checksum"),
        None: (UNVERIFIED, ", which has the published numbers; no checksum of it is public"),
    }[published.has_checksum(content)]
    return published.made(kind, f"{published.source}; read from {path.name}{why}", Ladder.of(counted.counts))


def _own(name: str, counted: ItemCounts, path: Path) -> Dataset:
    rule = "must have a name of at most 64 letters, digits, dots, hyphens and underscores"
    _require(bool(re.fullmatch(r"\w[\w.-]{0,63}", name)), rule, name, parameter="dataset")
    if counted.records is None:
        rule = f"must be given for {path.name}: counts alone do not tell how many records there are"
        raise ParameterError("records", rule, next_step="pass records= (--records)")
    known = {"title": f"{name} ({OWN})", "kind": OWN, "description": f"a file of its own; read from {path.name}"}
    return Dataset(name=name, records=counted.records, ladder=Ladder.of(counted.counts), **known)


def _scaled(published: Published, counted: ItemCounts, path: Path) -> Dataset:
    items, records = counted.counts.size, counted.records
    if records is None:
        rule = "must have records to be scaled to the published number; counts alone do not tell it"
        raise ParameterError("data", rule, path.name, "pass transactions, or records= (--records)")
    rule = f"must not be larger than the published {published.title}: {published.difference(counted)}"
    _require(records <= published.records and items <= published.items, rule, path.name)
    factor, missing, part = published.records / records, published.items - items, published.part(counted)
    how = (
        f"SCALED from the {records:,} records of {path.name} ({part or 'not known to be a part of it'}): counts times "
        f"{factor:.6g}, not rounded, and {missing:,} items of count 1 added to make {published.items:,}"
    )
    kind = "scaled" if part else UNVERIFIED
    scores = np.concatenate((counted.counts * factor, np.ones(missing)))
    return published.made(kind, f"{published.source}; {how}", Ladder.of(scores))


def _named(name: str, *, next_step: str = "see `sparsegate datasets`") -> Published:
    if name not in PUBLISHED:
        rule = f"must be one of {', '.join(PUBLISHED)}"
        raise unknown_key("dataset", rule, name, PUBLISHED, next_step)
    return PUBLISHED[name]


def zipf(total: float | None = None) -> Dataset:
    """Scores proportional to 1/i that sum to ``total``, or to the number of records; the paper does not say to what."""
    published = PUBLISHED["zipf"]
    wanted = published.records if total is None else total
    scores = 1 / np.arange(1.0, published.items + 1)
    description = f"{published.items:,} scores proportional to 1/i that sum to {wanted:,.15g}"
    kind = "exact" if wanted == published.records else "rescaled"
    return published.made(kind, description, Ladder.of(scores * (wanted / scores.sum())))


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
    published = _named(name)
    if published.url is None:
        known = ", ".join(row.name for row in PUBLISHED.values() if row.url)
        what = "is made and not read" if name == "zipf" else "has no public address"
        raise ParameterError("dataset", f"must be one of {known} to be fetched; {name} {what}", name)
    pooch = load_extra("pooch", extra="datasets")
    target = Path(pooch.os_cache("sparsegate") if folder is None else folder)
    download = path = target / published.url.rpartition("/")[2]
    try:
        path = _retrieve(pooch, published, download)
        if published.checksum and not published.has_checksum(_unpacked(path)):
            checksum, source = published.checksum
            rule = f"must have the public checksum of {published.title}, {checksum} ({source}); what was downloaded"
            step = "if you trust a file of another origin, pass it with --data"
            raise ParameterError("data", f"{rule} has not", path.name, step)
        load(published.name, path)
    except SparsegateError:
        for file in (path, download):  # what it came in may be an archive, half of it, or not what its name says
            file.unlink(missing_ok=True)
        raise
    return path


def _retrieve(pooch: Any, published: Published, download: Path) -> Path:
    url, member = published.url, published.member
    processor = pooch.Unzip(members=[member]) if member else None
    options = {"fname": download.name, "path": download.parent, "processor": processor, "progressbar": False}
    try:
        files = pooch.retrieve(url, known_hash=None, **options)
    except (OSError, ValueError, BadZipFile) as error:  # requests' errors are OSErrors
        step = "where there is a network, download it and pass the file with --data"
        raise SparsegateError(f"could not download {url} ({type(error).__name__}); {step}") from None
    for file in files if member else [files]:
        if member is None or file.endswith(Path(member).name):
            return Path(file)
    raise SparsegateError(f"could not find {member} in what was downloaded from {url}")


def how_checked(name: str) -> str:
    """How a fetched file is checked, and what that is worth."""
    checksum, numbers = _named(name).checksum, "its numbers of records and items"
    if checksum is None:
        return f"warning: no checksum of it is public; checked by {numbers} alone"
    if checksum[0].startswith("sha256:"):
        return f"checked by its public SHA-256, and by {numbers}"
    return f"warning: only a SHA-1 of it is public, which can be forged; checked by that, and by {numbers}"
