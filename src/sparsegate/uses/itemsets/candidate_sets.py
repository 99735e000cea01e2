"""Candidate sets of items, and the support of each: public sets in, numbers of people out.

Items are numbered 0, 1, 2, ..., and a set is a tuple of rising numbers. Which sets are candidates is decided here by
functions of numbers and of sets that were released; only ``ItemBits`` looks at people.

*Support* is the number of people who have all items of a set. Each item is a row of bits, one for a person, and the
support of a set is how many bits are left when its rows are put together by AND. So the work for given candidates is
their number times the people, in words of 64, and does not depend on who has what. Memory: a bit for each item and
person, and 8 bytes for each person and 60 items while the bits are laid.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

ItemSet: TypeAlias = tuple[int, ...]
Integers: TypeAlias = NDArray[np.int64]

MASK_ITEMS: Final = 60
"""Items whose bits one whole number of an engine holds: the sum of them stays below 2**60."""

_BLOCK: Final = 1 << 13
"""Words that are counted at a time: rows of so many stay in the cache of a processor."""


def number_of_sets(items: int, smallest: int, size: int) -> int:
    """How many sets of ``smallest`` to ``size`` items there are.

    >>> number_of_sets(4, 1, 2)
    10
    """
    return sum(math.comb(items, members) for members in range(smallest, size + 1))


def all_sets(items: int, smallest: int, size: int) -> list[ItemSet]:
    """All of them.

    >>> all_sets(3, 2, 3)
    [(0, 1), (0, 2), (1, 2), (0, 1, 2)]
    """
    return [chosen for members in range(smallest, size + 1) for chosen in combinations(range(items), members)]


def joined(released: Iterable[ItemSet], size: int) -> list[ItemSet]:
    """The sets of ``size`` items of which each part of one item less was released (Agrawal, Srikant 1994).

    >>> joined([(0, 1), (0, 2), (1, 2), (1, 3)], 3)
    [(0, 1, 2)]
    """
    parts = {part for part in released if len(part) == size - 1}
    by_start: defaultdict[ItemSet, list[int]] = defaultdict(list)
    for part in sorted(parts):
        by_start[part[:-1]].append(part[-1])
    longer = ((*start, *pair) for start, ends in by_start.items() for pair in combinations(ends, 2))
    return [candidate for candidate in longer if all(part in parts for part in combinations(candidate, size - 1))]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ItemBits:
    """Who has which item: row i has a bit for each person, set where the person has item i. Private."""

    bits: NDArray[np.uint64]

    @classmethod
    def of_masks(cls, items: int, masks: Sequence[Sequence[int]]) -> ItemBits:
        """From rows (mask, mask, ..., people): bit i of a mask is item i of its 60, and ``people`` have just these."""
        table = np.array(masks, dtype=np.int64).reshape(len(masks), -(-items // MASK_ITEMS) + 1)
        each = np.repeat(table[:, :-1], table[:, -1], axis=0)
        rows = (each[:, i // MASK_ITEMS] >> i % MASK_ITEMS & 1 for i in range(items))
        return cls._packed(rows, items, len(each))

    @classmethod
    def of_people(cls, holders: Sequence[Integers], people: int) -> ItemBits:
        """From the numbers of the people who have each item."""

        def row(who: Integers) -> NDArray[np.bool_]:
            held = np.zeros(people, dtype=np.bool_)
            held[who] = True
            return held

        return cls._packed(map(row, holders), len(holders), people)

    @classmethod
    def _packed(cls, rows: Iterable[NDArray[np.generic]], items: int, people: int) -> ItemBits:
        bits = np.zeros((items, 8 * -(-people // 64)), dtype=np.uint8)
        for place, row in zip(bits, rows, strict=True):
            packed = np.packbits(row.astype(np.bool_))
            place[: packed.size] = packed
        return cls(bits=bits.view(np.uint64))

    def supports(self, sets: Sequence[ItemSet]) -> Integers:
        """How many people have all items of each set.

        >>> held = ItemBits.of_people([np.array([0, 1, 2]), np.array([1, 2, 5])], 70)
        >>> held.supports([(0,), (1,), (0, 1)]).tolist()
        [3, 3, 2]
        """
        by_start: defaultdict[ItemSet, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
        for place, members in enumerate(sets):
            places, ends = by_start[members[:-1]]
            places.append(place)
            ends.append(members[-1])
        found = np.zeros(len(sets), dtype=np.int64)
        for begin in range(0, self.bits.shape[1], _BLOCK):
            block = self.bits[:, begin : begin + _BLOCK]
            for start, (places, ends) in by_start.items():
                rows = block[ends]
                if start:
                    rows &= np.bitwise_and.reduce(block[list(start)], axis=0)
                found[places] += np.bitwise_count(rows).sum(axis=1, dtype=np.int64)
        return found
