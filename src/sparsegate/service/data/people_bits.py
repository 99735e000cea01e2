"""Counting the people who have a row that matches: their rows are runs of bits, and one addition tests all runs.

The rows are in the order of their people; ``ends`` has a bit for the last row of each person, ``matches`` one for each
row that matches. Let I be ones everywhere but at the ends, and add: (matches AND I) + I. Within a run the low part is
x + (2^k - 1), where x holds the matches of all of its rows but the last: it carries into the bit of the end just where
x > 0. Both summands are 0 at the end itself, so the bit there is the carry, and nothing carries on into the next run.
So a person has a match where that bit of the sum, or of ``matches``, is set. (Rows after the last end belong to nobody,
and carry into no end.)

It is one addition of a number with a bit for each row. In words of 64 bits a word hands a carry to the next where its
own sum overflows; or, where its sum is all ones, where it was handed one. That is what the last word before it that is
not all ones says, and a running maximum finds it: the same steps whatever the bits, and whoever has how many rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Words: TypeAlias = npt.NDArray[np.uint64]

WORD: Final = 64
"""The rows are filled up to a multiple of this."""


def packed(bits: npt.NDArray[np.bool_]) -> Words:
    """64 rows to a word, the first in the lowest bit."""
    import numpy as np

    return np.packbits(bits, bitorder="little").view("<u8")


def last_rows(owners: npt.NDArray[np.int64], rows: int) -> Words:
    """The ends, from the numbers of the people in the order of the rows; filled up to ``rows`` with nobody's rows."""
    import numpy as np

    ends = np.zeros(rows, bool)
    ends[: len(owners)] = np.diff(owners, append=-1) != 0
    return packed(ends)


def count_owners(matches: npt.NDArray[np.bool_], ends: Words) -> int:
    """How many people have a row that matches.

    >>> import numpy as np
    >>> match = np.zeros(64, bool)
    >>> match[[0, 1, 4, 9]] = True
    >>> count_owners(match, last_rows(np.array([7, 7, 3, 3, 5]), 64))
    2
    """
    import numpy as np

    found, inside = packed(matches), ~ends
    sums = (found & inside) + inside
    overflows, passes_on = sums < inside, sums == ~np.uint64(0)
    last = np.maximum.accumulate(np.where(passes_on, 0, np.arange(len(sums))))
    sums[1:] += overflows[last[:-1]]
    return int(np.bitwise_count((sums | found) & ends).sum())
