"""The paper's four datasets: Zipf exactly, the other three from the user's file, or a stand-in that says so.

| | records | items |
|---|---|---|
| BMS-POS | 515,597 | 1,657 |
| Kosarak | 990,002 | 41,270 |
| AOL | 647,377 | 2,290,685 |
| Zipf | 1,000,000 | 10,000 |

The score of an item is the number of records that hold it, so one record moves a score by at most 1, and all of
them the same way.

**Stand-ins** are laws of three numbers with the published number of items, no data at all. Item i of n, counted from
the most frequent, has the count

    max(1, round(C (i + q)**-s exp(-i / k))),

a Zipf-Mandelbrot law with a cut-off; every stand-in uses s, C and one of shift q and cut-off k. Results on a
stand-in show how methods compare on data of that kind. They are not comparable with published values.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from sparsegate.errors import ParameterError, SparsegateError, load_extra
from sparsegate.evaluation.data.readers import ItemCounts, read_counts
from sparsegate.evaluation.simulated.ranked import Ladder


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


NAMED_KINDS = ("stand-in", "scaled", "rescaled")
"""Kinds of datasets that are not what the paper names so: whatever is said of one says its kind."""


@dataclass(frozen=True)
class Published:
    """What is published of a dataset; ``url`` is where to fetch it, ``member`` its place in a zip archive there."""

    name: str
    title: str
    records: int
    items: int
    source: str
    url: str | None = None
    member: str | None = None

    def made(self, kind: str, description: str, ladder: Ladder) -> Dataset:
        """Scores for it, of a kind that its title names where they are not the published ones."""
        title = f"{self.title} ({kind})" if kind in NAMED_KINDS else self.title
        return Dataset(
            name=self.name, title=title, kind=kind, records=self.records, description=description, ladder=ladder
        )


_FIMI, _CUP = "http://fimi.uantwerpen.be/data/kosarak.dat.gz", "http://www.kdd.org/cupfiles/KDDCup2000.zip"
_BASKETS = "baskets of an electronics shop, KDD Cup 2000"
_CLICKS = "clicks on a Hungarian news portal, FIMI repository"
_WORDS = "words of search queries by user, 2006; withdrawn by its publisher"
_MADE = "made: scores proportional to 1/i that sum to the number of records"
_ROWS = (
    Published("bms-pos", "BMS-POS", 515_597, 1_657, _BASKETS, _CUP, "assoc/BMS-POS.dat.gz"),
    Published("kosarak", "Kosarak", 990_002, 41_270, _CLICKS, _FIMI),
    Published("aol", "AOL", 647_377, 2_290_685, _WORDS),
    Published("zipf", "Zipf", 1_000_000, 10_000, _MADE),
)

PUBLISHED: Mapping[str, Published] = MappingProxyType({row.name: row for row in _ROWS})
"""The datasets of the paper by name."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Dataset:
    """Scores to select from. ``kind`` is "exact", "real" or of ``NAMED_KINDS``; ``description`` says it in words."""

    name: str
    title: str
    kind: str
    records: int
    description: str
    ladder: Ladder

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
        digest = hashlib.sha256(self.ladder.values.astype("<f8").tobytes())
        digest.update(self.ladder.sizes.astype("<i8").tobytes())
        return digest.hexdigest()


def load(name: str, file: str | Path | None = None, *, scale_to_records: bool = False) -> Dataset:
    """Load a dataset by name: from ``file`` if there is one, else exactly (zipf) or as a stand-in.

    The file must have the published number of records and items. With ``scale_to_records`` it may be shorter: its
    counts are multiplied by published / own number of records, not rounded, and items of count 1 are added up to the
    published number of items.

    >>> load("zipf").description
    '10,000 scores proportional to 1/i that sum to 1,000,000'
    >>> load("kosarak").stand_in
    True
    """
    published = named(name)
    if file is None:
        return zipf() if name == "zipf" else _stand_in(published)
    if name == "zipf":
        raise ParameterError("data", "must not be given for zipf, which is made", str(file), "leave it out")
    counted = read_counts(file)
    largest = int(counted.counts.max())
    if counted.records is None and largest > published.records:
        rule = f"must not have a count of {largest:,}, more than the {published.records:,} records there are"
        raise ParameterError("data", rule, Path(file).name)
    got = _difference(published, counted)
    if not got:
        return published.made("real", f"{published.source}; read from {Path(file).name}", Ladder.of(counted.counts))
    if not scale_to_records:
        raise ParameterError(
            "data",
            f"must be the published {published.title}: {got}",
            Path(file).name,
            "pass the whole file, or scale_to_records=True (--scale-to-records) to scale a shorter one",
        )
    return _scaled(published, counted, Path(file).name)


def named(name: str) -> Published:
    """What is published of a dataset, or an error that lists the names."""
    if name not in PUBLISHED:
        raise ParameterError("dataset", f"must be one of {', '.join(PUBLISHED)}", name, "see `sparsegate datasets`")
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


def _scaled(published: Published, counted: ItemCounts, file: str) -> Dataset:
    items, records = counted.counts.size, counted.records
    if records is None:
        raise ParameterError(
            "data",
            "must have records to be scaled to the published number; counts alone do not tell it",
            file,
            "pass transactions",
        )
    if records > published.records or items > published.items:
        raise ParameterError(
            "data", f"must not be larger than the published {published.title}: {_difference(published, counted)}", file
        )
    factor = published.records / records
    scores = np.concatenate((counted.counts * factor, np.ones(published.items - items)))
    how = f"SCALED from the {records:,} records of {file}: counts times {factor:.6g}, not rounded"
    added = f"{published.items - items:,} items of count 1 added to make {published.items:,}"
    return published.made("scaled", f"{published.source}; {how}, and {added}", Ladder.of(scores))


def _difference(published: Published, counted: ItemCounts) -> str:
    """Got and expected numbers, or nothing where they agree."""
    pairs = [("items", counted.counts.size, published.items)]
    if counted.records is not None:
        pairs.insert(0, ("records", counted.records, published.records))
    if all(got == expected for _, got, expected in pairs):
        return ""
    return ", ".join(f"{got:,} {what} (expected {expected:,})" for what, got, expected in pairs)


def fetch(name: str, *, folder: str | Path | None = None) -> Path:
    """Download a dataset unless it is there already, check its numbers of records and items, return its path.

    ``folder`` replaces the user's cache. No published checksum exists, so the published numbers are the check; a file
    that fails it is removed. Nothing uses a fetched file by itself: pass its path where you want it used.
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
        load(name, path)
    except ParameterError:
        path.unlink()
        (target / _file_name(published.url)).unlink(missing_ok=True)  # the archive it came in
        raise
    return path


def _retrieve(pooch: Any, url: str, member: str | None, folder: Path) -> Path:
    processor = pooch.Unzip(members=[member]) if member else None
    try:
        found = pooch.retrieve(
            url, known_hash=None, fname=_file_name(url), path=folder, processor=processor, progressbar=False
        )
    except (OSError, ValueError) as error:  # requests' errors are OSErrors
        raise SparsegateError(
            f"could not download {url} ({type(error).__name__}); where there is a network, download it and pass the "
            "file with --data"
        ) from None
    if not member:
        return Path(found)
    return next(Path(file) for file in found if file.endswith(Path(member).name))


def _file_name(url: str) -> str:
    return url.rpartition("/")[2]
