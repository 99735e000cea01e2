"""Equal outcomes under one 64-bit key, and keys looked up in a list."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from sparsegate.auditor.outcomes import Integers, Reals

Cells = NDArray[np.intp]
Keys = NDArray[np.uint64]
_DENSE: Final = 1 << 16
_ODD: Final = np.uint64(0x9E3779B97F4A7C15)


def keys(word: Integers, columns: Reals) -> Keys:
    """One key for each outcome, equal for equal outcomes; two different ones share a key once in 10^19.

    A collision merges two outcomes into one: it can hide an event, but cannot make a bound wrong. Without columns the
    key is the word.
    """
    key = word.astype(np.uint64)
    for column in columns.T:
        # -0.0 is 0.0, and there is one NaN.
        bits = np.where(np.isnan(column), np.nan, column + 0.0).view(np.uint64)
        # Small whole numbers have all their bits at the top, where a product would lose them.
        key = (key ^ (key >> np.uint64(29)) ^ bits ^ (bits >> np.uint64(32))) * _ODD
    return key


class Lookup:
    """The place of a key in a sorted list, or the length of the list for a key that is not in it."""

    def __init__(self, known: Keys) -> None:
        self.known = known
        self._dense: Cells | None = None
        if known.size and int(known[-1] - known[0]) < _DENSE:
            # Bits of one shape: a table with a place for each is quicker than a search.
            self._dense = np.full(_DENSE + 1, known.size, dtype=np.intp)
            self._dense[(known - known[0]).astype(np.intp)] = np.arange(known.size)

    def __call__(self, wanted: Keys) -> Cells:
        """The places of the keys."""
        if not self.known.size:
            return np.zeros(wanted.size, dtype=np.intp)
        if self._dense is not None:
            # What is smaller than the first wraps around, to beyond the table.
            place: Cells = self._dense[np.minimum(wanted - self.known[0], np.uint64(_DENSE)).astype(np.intp)]
            return place
        place = np.minimum(np.searchsorted(self.known, wanted), self.known.size - 1)
        return np.where(self.known[place] == wanted, place, self.known.size)
