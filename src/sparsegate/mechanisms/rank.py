"""The count-th largest of private numbers, found in time that their values do not change.

A partition or a sort takes a path that depends on the numbers: among 200,000 equal scores a single one that differs
made ``np.partition`` five times slower. So the number is found digit by digit instead, sixteen bits at a time from
the top, and a digit bit by bit: "is the count-th largest at least this?" is answered by comparing *every* number with
the guess and counting. Which passes are made, over how many numbers, depends on how many there are and on the number
of digits alone; inside a pass there are comparisons and sums, without a branch or an address that depends on the data.

Digits are those of a code that keeps the order. Of whole numbers the sign bit is flipped; of floats too, and all other
bits where the sign is set.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_SIGN, _ALL = np.uint16(0x8000), np.uint16(0xFFFF)
_MINUS_INFINITY = 0x000F_FFFF_FFFF_FFFF


def largest(
    values: NDArray[np.int64] | NDArray[np.float64],
    count: int,
    *,
    sizes: NDArray[np.int64] | None = None,
    digits: int = 4,
) -> int | float:
    """The count-th largest of ``values``, each as often as ``sizes`` says (once unless given).

    With fewer than four ``digits`` the rest of the code is zero: the result is the largest number with such a code
    that at least ``count`` values reach. Two digits of a float are its sign, its exponent and 20 bits.

    >>> largest(np.array([5, -1, 7, 7]), 3), largest(np.array([0.5, -2.0]), 2)
    (5, -2.0)
    >>> largest(np.array([5, 9]), 10**9, sizes=np.array([4 * 10**9, 1]))
    5
    """
    columns = values.astype(values.dtype.newbyteorder("<"), copy=False).view("<u2").reshape(-1, 4)
    flipped = (columns[:, 3] >> 15) * _ALL if values.dtype.kind == "f" else np.uint16(0)
    code, digit = 0, columns[:, 3] ^ (flipped | _SIGN)
    alive, reached = np.ones(values.size, dtype=np.bool_), np.empty(values.size, dtype=np.bool_)

    def reaching(guess: int) -> int:
        """How many values have at least this digit. The array is always the same one: fresh pages cost time."""
        if guess > _ALL:
            return 0
        np.greater_equal(digit, np.uint16(guess), out=reached)
        return int(np.count_nonzero(reached) if sizes is None else np.multiply(reached, sizes).sum())

    for position in range(4):
        best = 0
        if position < digits:
            for bit in range(15, -1, -1):
                guess = best | 1 << bit
                best = guess if reaching(guess) >= count else best
            count -= reaching(best + 1)
        code = code << 16 | best
        if position + 1 < digits:
            # Only numbers with the digits found so far go on: the others have the digit 0, which no guess asks for.
            np.equal(digit, np.uint16(best), out=reached)
            alive &= reached
            np.bitwise_xor(columns[:, 2 - position], flipped, out=digit)
            digit *= alive
    return _decoded(code, values.dtype)


def _decoded(code: int, dtype: np.dtype[np.int64] | np.dtype[np.float64]) -> int | float:
    if dtype.kind == "i":
        return code - (1 << 63)
    code = max(code, _MINUS_INFINITY)  # what lies below reads as NaN
    bits = code ^ (1 << 63) if code >> 63 else code ^ (1 << 64) - 1
    return np.uint64(bits).view(np.float64).item()
