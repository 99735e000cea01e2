"""Laws of three numbers that stand in for data, and say so.

A stand-in is a law of three numbers with the published number of items, no data at all. Item i of n, counted from
the most frequent, has the count

    max(1, round(C (i + q)**-s exp(-i / k))),

a Zipf-Mandelbrot law with a cut-off; every stand-in uses s, C and one of shift q and cut-off k. Results on a
stand-in show how methods compare on data of that kind. They are not comparable with published values.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from sparsegate.evaluation.simulated.ranked import Ladder


@dataclass(frozen=True, kw_only=True)
class CountLaw:
    """The numbers of the law: s, C, q, k; ``fitted_to`` says in a sentence where they come from."""

    exponent: float
    scale: float
    shift: float = 0.0
    cutoff: float = math.inf
    fitted_to: str

    def ladder(self, items: int) -> Ladder:
        """The counts of ``items`` items.

        >>> CountLaw(exponent=1.0, scale=6.0, fitted_to="nothing").ladder(5).highest(5).tolist()
        [6.0, 3.0, 2.0, 2.0, 1.0]
        """
        rank = np.arange(1.0, items + 1)
        counts = self.scale * (rank + self.shift) ** -self.exponent * np.exp(-rank / self.cutoff)
        counts = np.maximum(np.rint(counts), 1)
        starts = np.flatnonzero(np.diff(counts, prepend=np.inf))  # counts fall, so equal ones are neighbours
        return Ladder(values=counts[starts], sizes=np.diff(starts, append=items), starts=starts)

    def __str__(self) -> str:
        shift = f"(i + {self.shift:g})" if self.shift else "i"
        cutoff = f" exp(-i / {self.cutoff:g})" if math.isfinite(self.cutoff) else ""
        return f"{self.scale:.10g} {shift}**-{self.exponent:g}{cutoff}"


LAWS: Mapping[str, CountLaw] = MappingProxyType(
    {
        "bms-pos": CountLaw(
            exponent=0.682,
            cutoff=234.0,
            scale=268210.3,
            fitted_to=(
                "the 1,000 most frequent items of the first 100,000 records of BMS-POS (8 % off, root mean square); "
                "the counts sum to 3,583,028, the published number of records times the 6.949 items a record has there"
            ),
        ),
        "kosarak": CountLaw(
            exponent=0.826,
            cutoff=17850.0,
            scale=333313.4,
            fitted_to=(
                "the 1,000 most frequent items of the first 100,000 records of Kosarak (19 % off, root mean square); "
                "the counts sum to 7,939,288, the published number of records times the 8.019 items a record has there"
            ),
        ),
        "aol": CountLaw(
            exponent=1.029,
            shift=75.0,
            scale=3515000.0,
            fitted_to=(
                "no data but three values published for c = 150, ε = 0.1 (score error rate 0.15 for EM, 0.59 for SVT-S "
                "1:c^(2/3), 0.99 for SVT-S 1:1) and a least count of 1; the counts sum to 27,574,012, which is a "
                "guess"
            ),
        ),
    }
)
