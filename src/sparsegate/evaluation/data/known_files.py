"""What is publicly known of the files of datasets, so that one file does not pass for another.

A file is *verified* by its public checksum: numbers of records, items and occurrences are easily made up. A part of a
file is known by its number of records and the fingerprint of its counts, which depends neither on the form of the file
nor on the names of the items. Everything else is an *unverified file*, and is called so wherever it is named.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from types import MappingProxyType

from sparsegate.evaluation.data.readers import ItemCounts
from sparsegate.evaluation.simulated.ranked import Ladder

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
