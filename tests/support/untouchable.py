"""A source of noise for tests of what comes before the draw: refusals, and what the ledger is charged."""

from __future__ import annotations

import numpy as np

from sparsegate.noise import Seeded


class Untouchable(Seeded):
    """A source that must not be drawn from."""

    def stream(self) -> Untouchable:
        return self

    def bytes(self, count: int) -> np.ndarray:
        raise AssertionError("drawn")

    def word(self) -> int:
        raise AssertionError("drawn")

    def integer(self, bits: int) -> int:
        raise AssertionError("drawn")
