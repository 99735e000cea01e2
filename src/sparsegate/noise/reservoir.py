"""Noise drawn ahead: a scalar draw costs a list pop, and dies with the process it was drawn for.

Blocks double from 64 to 16,384 draws. When a block is drawn depends only on how many draws were taken, never on their
values, and the sequence is the same whether it is taken one by one or many at once.

A block is drawn in full before it is put in place, and what is taken leaves its place before it is handed out: whatever
interrupts a call, no draw is given twice and none is given that was not drawn. Draws may be lost; that costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sparsegate.errors import GateClosed
from sparsegate.noise.laplace import fill_discrete_laplace
from sparsegate.noise.sources import MARK, Source, birthmark

Fill = Callable[[Source, Fraction, NDArray[np.int64]], None]
"""Fills an array with independent draws of this scale: ``fill_discrete_laplace`` or ``fill_geometric``."""

_FIRST, _LARGEST = 64, 1 << 14
_NONE = np.empty(0, dtype=np.int64)


class Reservoir:
    """Independent draws of one law and scale, in a fixed order. Not thread-safe: its gate holds the lock.

    >>> from sparsegate.noise import Seeded, fill_geometric
    >>> one_sided = Reservoir(Seeded(1), Fraction(20), fill_geometric)
    >>> [one_sided.take() for _ in range(5)]
    [58, 13, 39, 45, 29]
    """

    __slots__ = ("_born", "_fill", "_next_block", "_rest", "_scale", "_source", "_waiting")

    def __init__(self, source: Source, scale: Fraction, fill: Fill = fill_discrete_laplace) -> None:
        self._fill = fill
        self._source = source
        self._scale = scale
        self._next_block = _FIRST
        self._waiting: list[int] = []  # in reverse, so that pop() takes the oldest
        self._rest = _NONE  # after those, in their order
        self._born = birthmark()

    def take(self) -> int:
        """The next draw."""
        if self._born != MARK[0] or not self._waiting:
            self._waiting = self._ahead()[::-1].tolist()
        return self._waiting.pop()

    def take_many(self, count: int) -> NDArray[np.int64]:
        """The next ``count`` draws."""
        if self._born != MARK[0]:
            self._waiting.clear()
        out = np.empty(count, dtype=np.int64)
        done = min(count, len(self._waiting))
        if done:
            taken = self._waiting[-1 : -done - 1 : -1]
            del self._waiting[-done:]
            out[:done] = taken
        while done < count:
            rest = self._ahead()
            step = min(count - done, rest.size)
            self._rest = rest[step:]
            out[done : done + step] = rest[:step]
            done += step
        return out

    def _ahead(self) -> NDArray[np.int64]:
        """Take out what comes after those waiting: a new block where there is nothing yet."""
        if self._born != MARK[0]:
            raise GateClosed(
                "this noise was drawn ahead in another process and died at the fork; make a new gate in this one"
            )
        block, self._rest = self._rest, _NONE
        if not block.size:
            block = np.empty(self._next_block, dtype=np.int64)
            self._fill(self._source, self._scale, block)
            self._next_block = min(2 * self._next_block, _LARGEST)
        return block

    def __repr__(self) -> str:
        return "Reservoir(...)"
