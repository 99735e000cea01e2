"""The uses that the paper's Introduction names, as they were measured: rows, their file, and the statement on them.

A use selects the c best of what it scores. Each is measured in four ways: with the original gate at the epsilon that it
claims, with the original at the claim for which it costs that epsilon, with the paper's correct gate, and with the best
that this library has for it. The error is the share of the c best that a run misses, between 0 and 1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType

from sparsegate.evaluation.experiment.results import ResultFolder, read, table

CLAIMED, TRUE, CORRECTED, OURS = "original, as claimed", "original, true ε", "corrected SVT", "ours"
MECHANISMS = (CLAIMED, TRUE, CORRECTED, OURS)

FILE = "uses"

USE_COLUMNS: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("use", "data", "mechanism", "way"), "string"),
        **dict.fromkeys(("claimed_epsilon", "true_epsilon"), "float64"),
        "measure": "string",
        **dict.fromkeys(("mean", "std"), "float64"),
        **dict.fromkeys(("runs", "seed"), "int64"),
    }
)
"""The columns of the file, with their PyArrow types."""


@dataclass(frozen=True, kw_only=True)
class UseRow:
    """One use, mechanism and epsilon: the mean error over runs. ``way`` is what the use calls the mechanism.

    ``epsilon`` is the one that everything is compared at: the original, as claimed, costs more.
    """

    use: str
    data: str
    mechanism: str
    way: str
    claimed_epsilon: float
    true_epsilon: float
    measure: str
    mean: float
    std: float
    runs: int
    seed: int

    @property
    def epsilon(self) -> float:
        """The epsilon that it is compared at: what it costs, but for the original, as claimed."""
        return self.claimed_epsilon if self.mechanism == CLAIMED else self.true_epsilon

    @property
    def error(self) -> float:
        """The standard error of the mean."""
        return self.std / math.sqrt(self.runs) if self.runs > 1 else math.inf


def epsilon_text(epsilon: float) -> str:
    """An epsilon in three digits; there may be none.

    >>> epsilon_text(4.554), epsilon_text(math.inf)
    ('4.55', '∞')
    """
    return "∞" if math.isinf(epsilon) else f"{epsilon:.3g}"


def write_uses(out: str | Path, rows: Sequence[UseRow]) -> None:
    """Write ``uses.csv`` and ``uses.parquet`` into the folder of an experiment."""
    ResultFolder.open(out).write(FILE, table([asdict(row) for row in rows], USE_COLUMNS))


def read_uses(out: str | Path, *, seed: int) -> tuple[UseRow, ...]:
    """The rows in the folder of an experiment, or none: those of another seed are of an earlier one."""
    if not (Path(out) / f"{FILE}.parquet").is_file():
        return ()
    rows = [UseRow(**entry) for entry in read(out, FILE)]
    return tuple(row for row in rows if row.seed == seed)
