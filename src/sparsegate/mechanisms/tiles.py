"""Classes of sets, (a, b) with a <= c < b, tiled so that a tile bounds the weights of its classes closely.

Class (a, b) holds C(b-a-1, c-a) sets that all weigh exp(-f(a) - g(b)), f falling and g rising. So in a tile of classes,
a from a0 to a1 and b from b0 to b1, no class weighs more than C(b1-a0-1, c-a0) exp(-f(a1) - g(b0)), nor less than
C(b0-a1-1, c-a1) exp(-f(a0) - g(b1)). There are far too many classes to look at each. Tiling starts from one tile and
halves those that say least, until all upper bounds together are at most (1 + LOOSE) times all lower ones. What is left
is mostly a few hundred tiles around the classes that matter.

The upper bounds hold whatever floats round: a draw in proportion to them, accepted with the ratio of weight to bound,
is exact. The lower bounds, and with them where tiling stops, only decide how often a draw is accepted.
Machine-checked: `rejection_law`, `rejection_ends` (proofs/rejection.v).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparsegate.mechanisms.binomials import ERROR, log_binomials

Positions = NDArray[np.int64]
Exponents = Callable[[Positions], NDArray[np.float64]]

LOOSE = 0.5
MOST = 1 << 18
"""None is halved once there are this many: enough but for scores made to fall as fast as sets grow in number."""


class Tiles(NamedTuple):
    """Tiles [a0, a1] x [b0, b1], and logarithms of bounds on the weight of all their classes together."""

    a0: Positions
    a1: Positions
    b0: Positions
    b1: Positions
    upper: NDArray[np.float64]
    lower: NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Classes:
    """The classes of sets of ``count`` out of ``total`` items, 1 <= count < total.

    ``f`` and ``g`` give floats that do not exceed the truth. ``besides`` is the logarithm of the weight of what is in
    no class: tiles that are light beside it need not be halved.
    """

    count: int
    total: int
    f: Exponents
    g: Exponents
    besides: float

    def tile(self) -> Tiles:
        """Tiles that cover every class once."""
        one, last, total = (np.array([number]) for number in (1, self.count, self.total))
        tiles = self._bounded(one, last, last + 1, total)
        while tiles.a0.size < MOST and (heavy := self._heavy(tiles)).any():
            halves = self._halved(Tiles._make(each[heavy] for each in tiles))
            tiles = Tiles._make(np.concatenate((old[~heavy], new)) for old, new in zip(tiles, halves, strict=True))
        return tiles

    def _heavy(self, tiles: Tiles) -> NDArray[np.bool_]:
        """The tiles to halve: with more than their share of what the bounds leave open; none where that is little."""
        top = max(float(tiles.upper.max()), self.besides)
        least = np.exp(tiles.lower - top)
        spare = np.exp(tiles.upper - top) - least
        allowed = LOOSE * (float(least.sum()) + math.exp(self.besides - top))
        if float(spare.sum()) <= allowed:
            return np.zeros(spare.size, dtype=np.bool_)
        heavy: NDArray[np.bool_] = spare > allowed / (2 * spare.size)
        return heavy & ((tiles.a0 < tiles.a1) | (tiles.b0 < tiles.b1))

    def _halved(self, tiles: Tiles) -> Tiles:
        """Each tile as two: cut across the side along which weights differ more."""
        a0, a1, b0, b1, *_ = tiles
        near, left, low = (log_binomials(b - a - 1, self.count - a) for a, b in ((a0, b1), (a1, b1), (a0, b0)))
        along_a = near - left + self.f(a0) - self.f(a1)
        along_b = near - low + self.g(b1) - self.g(b0)
        across = (a0 < a1) & ((along_a >= along_b) | (b0 == b1))
        middle_a, middle_b = a0 + (a1 - a0) // 2, b0 + (b1 - b0) // 2
        return self._bounded(
            np.concatenate((a0, np.where(across, middle_a + 1, a0))),
            np.concatenate((np.where(across, middle_a, a1), a1)),
            np.concatenate((b0, np.where(across, b0, middle_b + 1))),
            np.concatenate((np.where(across, b1, middle_b), b1)),
        )

    def _bounded(self, a0: Positions, a1: Positions, b0: Positions, b1: Positions) -> Tiles:
        classes = np.log((a1 - a0 + 1).astype(np.float64)) + np.log((b1 - b0 + 1).astype(np.float64))
        most, least = (log_binomials(b - a - 1, self.count - a) for a, b in ((a0, b1), (a1, b0)))
        upper = classes + most - self.f(a1) - self.g(b0)
        upper += ERROR * (2 + classes + most + np.abs(upper))
        return Tiles(a0, a1, b0, b1, upper, classes + least - self.f(a0) - self.g(b1))
