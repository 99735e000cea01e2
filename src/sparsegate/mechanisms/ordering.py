"""The order of keys that are known as intervals: in floats first, with more digits only where two of them overlap.

A mechanism that adds noise to scores must order real numbers that it knows to a finite precision. ``largest_first``
takes for each key two floats between which it certainly lies, and a function that encloses one key again in units of
2**-bits, for any number of bits; the function draws the digits of noise that it still needs, and remembers them. Keys
whose enclosures are disjoint are in order. A run of keys that overlap or touch is enclosed again with 64 bits, then
128, 256 and so on, until the enclosures are disjoint. So no rounding decides, whatever the precision of the floats;
where two keys are equal with probability zero, that ends.

The work is one sort of floats. With errors of 2**-45 and a hundred thousand keys hardly a pair goes further.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Refine = Callable[[int, int], tuple[int | float, int | float]]
"""refine(number, bits): integers (or infinities) around 2**bits times key ``number``."""

FIRST_BITS = 64


def largest_first(
    low: NDArray[Any],
    high: NDArray[Any],
    count: int,
    refine: Refine,
    *,
    alike: NDArray[np.int64] | None = None,
    bits: int = FIRST_BITS,
) -> NDArray[np.intp]:
    """The numbers of the ``count`` largest keys, largest first (all keys where there are fewer).

    Parameters
    ----------
    low, high: key i lies in [low[i], high[i]], infinities included. Float64, or Python integers in an object array.
    count: how many are wanted; keys that are certainly further back are not enclosed again.
    refine: see ``Refine``.
    alike: a label for each key; keys with the same label need not be told apart, whichever comes first.
    bits: the precision of the next enclosure.

    >>> exact = [3.0, 1.0, 2.0, 2.25]
    >>> low, high = np.array([2.9, 0.9, 1.5, 1.5]), np.array([3.1, 1.1, 2.5, 2.5])
    >>> largest_first(low, high, 3, lambda i, bits: (int(exact[i] * 2**bits),) * 2).tolist()
    [0, 3, 2]
    """
    order = np.argsort(-high, kind="stable")
    # A key begins a new run where all before it are certainly larger.
    floors, highs = np.minimum.accumulate(low[order]), high[order]
    starts = np.flatnonzero(np.concatenate(([True], highs[1:] < floors[:-1])))
    sizes = np.diff(starts, append=order.size)
    for start, size in zip(starts[sizes > 1].tolist(), sizes[sizes > 1].tolist(), strict=True):
        if start >= count:
            break
        run = order[start : start + size]
        if alike is not None and bool((alike[run] == alike[run[0]]).all()):
            continue
        finer = np.array([refine(number, bits) for number in run.tolist()], dtype=object)
        labels = None if alike is None else alike[run]
        within = largest_first(
            finer[:, 0],
            finer[:, 1],
            count - start,
            _of_run(refine, run),
            alike=labels,
            bits=2 * bits,
        )
        order[start : start + within.size] = run[within]
    return order[:count]


def _of_run(refine: Refine, run: NDArray[np.intp]) -> Refine:
    return lambda place, bits: refine(int(run[place]), bits)
