"""Values to compare results with: those printed in the paper, and those of an independent per-item simulation.

A published value of a real dataset says nothing about a stand-in for it, nor about a part of it scaled up, and the
other way round; ``kinds`` says on which kind of dataset a value can be met.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from sparsegate.evaluation.findings import Findings, Row
from sparsegate.evaluation.verdicts import SIGMAS, Outcome, Verdict

PAPER = "printed in the paper, 100 runs"
CHECK = "independent per-item simulation, 30 runs"


@dataclass(frozen=True, kw_only=True)
class Value:
    """A mean SER at epsilon 0.1, to so many digits, of so many runs; with ``below`` only a bound on it is known."""

    dataset: str
    method: str
    count: int
    ser: float
    digits: int
    runs: int
    kinds: tuple[str, ...]
    source: str
    below: bool = False

    def __str__(self) -> str:
        return f"{'< ' if self.below else ''}{self.ser:.{self.digits}f}"

    def check(self, findings: Findings) -> Outcome:
        """Compare with the results; the other side's Monte Carlo error is taken to be like ours."""
        row = findings.get(self.dataset, self.method, self.count, 0.1)
        if row is None:
            return Outcome(verdict=Verdict.NOT_RUN, numbers="")
        numbers = f"SER {row.ser_mean:.3f} ± {row.ser_error:.3f}"
        kind = findings.datasets[self.dataset]["kind"]
        if kind not in self.kinds:
            return Outcome(verdict=Verdict.NOT_COMPARABLE, numbers=f"{numbers}, but on {_NAMES.get(kind, kind)}")
        return Outcome(verdict=Verdict.of(self.holds(row)), numbers=numbers)

    def holds(self, row: Row) -> bool:
        """Whether the row agrees with the value, within rounding and Monte Carlo error."""
        theirs = 0.0 if self.below else row.ser_std / self.runs**0.5
        tolerance = 0.5 * 10**-self.digits + SIGMAS * math.hypot(row.ser_error, theirs)
        excess = row.ser_mean - self.ser
        return bool(excess <= tolerance and (self.below or excess >= -tolerance))


_NAMES = {"stand-in": "a stand-in", "scaled": "a part of the data, scaled", "real": "the whole data"}


def _values(
    dataset: str, count: int, sers: dict[str, float], *, source: str, kinds: tuple[str, ...], digits: int
) -> tuple[Value, ...]:
    runs = 100 if source == PAPER else 30
    return tuple(
        Value(
            dataset=dataset, method=method, count=count, ser=ser, digits=digits, runs=runs, kinds=kinds, source=source
        )
        for method, ser in sers.items()
    )


_SVT_S = ("svt-s-1:1", "svt-s-1:3", "svt-s-1:c", "svt-s-1:c23")

VALUES = (
    *_values("kosarak", 50, {"svt-dpbook": 0.705}, source=PAPER, kinds=("real",), digits=3),
    *(
        Value(
            dataset="kosarak",
            method=method,
            count=50,
            ser=0.05,
            digits=2,
            runs=100,
            kinds=("real",),
            source=PAPER,
            below=True,
        )
        for method in _SVT_S
    ),
    *_values("aol", 150, {"em": 0.15, "svt-s-1:c23": 0.59, "svt-s-1:1": 0.99}, source=PAPER, kinds=("real",), digits=2),
    *_values(
        "zipf",
        100,
        {
            "svt-dpbook": 0.970,
            "svt-s-1:1": 0.960,
            "svt-s-1:3": 0.949,
            "svt-s-1:c23": 0.950,
            "em": 0.261,
            "svt-retr-1d": 0.839,
            "svt-retr-3d": 0.273,
            "svt-retr-5d": 0.274,
        },
        source=CHECK,
        kinds=("exact",),
        digits=3,
    ),
    *_values("kosarak", 50, {"svt-dpbook": 0.66}, source=CHECK, kinds=("scaled",), digits=2),
    *_values(
        "kosarak",
        50,
        {"svt-s-1:1": 0.066, "svt-s-1:3": 0.015, "svt-s-1:c23": 0.005, "em": 0.000},
        source=CHECK,
        kinds=("scaled",),
        digits=3,
    ),
    *_values(
        "kosarak",
        100,
        {"svt-dpbook": 0.973, "svt-s-1:1": 0.904, "svt-s-1:3": 0.643, "svt-s-1:c23": 0.353, "em": 0.034},
        source=CHECK,
        kinds=("scaled",),
        digits=3,
    ),
)
"""Every value; the scaled ones are of the first 100,000 records of Kosarak."""
