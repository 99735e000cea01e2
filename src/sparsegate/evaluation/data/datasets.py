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
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

import numpy as np

from sparsegate.budget import exact_count
from sparsegate.errors import ParameterError, unknown_key
from sparsegate.evaluation.data.count_laws import LAWS
from sparsegate.evaluation.data.known_files import counts_fingerprint, has_checksum, other_file, part_of
from sparsegate.evaluation.data.readers import ItemCounts, counts_in, unpacked
from sparsegate.evaluation.simulated.ranked import Ladder

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

>>> from sparsegate import evaluation
>>> {name: row.items for name, row in evaluation.PUBLISHED.items()}
{'bms-pos': 1657, 'kosarak': 41270, 'aol': 2290685, 'zipf': 10000}
"""


@dataclass(frozen=True, kw_only=True, eq=False)
class Dataset:
    """Scores to select from. ``kind`` is "exact", "real" or of ``NAMED_KINDS``; ``description`` says it in words.

    >>> from sparsegate import evaluation
    >>> zipf = evaluation.load("zipf")
    >>> zipf.title, zipf.kind, zipf.items, zipf.records
    ('Zipf', 'exact', 10000, 1000000)
    >>> evaluation.load("kosarak").title
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
    >>> sg.evaluation.load("zipf").description
    '10,000 scores proportional to 1/i that sum to 1,000,000'
    >>> sg.evaluation.load("kosarak").stand_in
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
