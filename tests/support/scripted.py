"""A source that hands out given digits, to walk a sampler through branches that chance hardly ever finds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsegate.noise import Seeded


class Scripted(Seeded):
    """Every draw takes the next entry: an int for a word or an integer, an array for bytes.

    After the last one draws fail, or come from the seed where one is given.
    """

    def __init__(self, script: Iterable[int | NDArray[Any]], seed: int | None = None) -> None:
        super().__init__(seed or 0)
        self._script = list(script)
        self._ends = seed is None

    @property
    def left(self) -> int:
        return len(self._script)

    def _next(self) -> Any:
        assert self._script or not self._ends, "drew more than it needs"
        return self._script.pop(0) if self._script else None

    def stream(self) -> Scripted:
        return self

    def word(self) -> int:
        given = self._next()
        return super().word() if given is None else int(given)

    def integer(self, bits: int) -> int:
        given = self._next()
        if given is None:
            return super().integer(bits)
        assert 0 <= given < 1 << bits
        return int(given)

    def bytes(self, count: int) -> NDArray[np.uint8]:
        given = self._next()
        if given is None:
            return super().bytes(count)
        assert given.nbytes == count
        return np.ascontiguousarray(given).view(np.uint8)


def digits16(*digits: int) -> NDArray[np.uint16]:
    """Sixteen-bit digits, as the lanes draw them."""
    return np.array(digits, dtype="<u2")


def words64(*words: int) -> NDArray[np.uint64]:
    """64-bit words, as the clocks draw them."""
    return np.array(words, dtype="<u8")
