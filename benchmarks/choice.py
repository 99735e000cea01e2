"""What the rule of method="auto" gives away: the false negative rate of every method it may take, and its regret.

Every method is simulated on the evaluation's grouped scores, RUNS times for each epsilon and c; regret is the rate of the
method that the rule takes less that of the best. Counts are whole, as the rule is for counts; noise is continuous.
SPARSEGATE_KOSARAK and SPARSEGATE_BMS_POS name files of transactions, which are otherwise looked for in ../shared/data.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import numpy as np

from benchmarks.measure import Result
from benchmarks.tables import KOSARAK
from sparsegate.evaluation import METHODS, Ladder, Method, load, measure, simulate
from sparsegate.mechanisms.choice import choose

RUNS = 60
EPSILONS = tuple(Fraction(each) for each in ("0.01", "0.03", "0.1", "0.3", "1"))
COUNTS = (10, 30, 100, 300, 1000)
TOUCHED = (1, 3, 10, 30, 100, None)
DELTA = Fraction(1, 10**6)
ALIKE = 0.01  # rates this close say nothing about which method to take

BMS_POS = Path(os.environ.get("SPARSEGATE_BMS_POS", KOSARAK.with_name("bms-pos-first-100k.dat.gz")))
SAMPLES = {"kosarak": KOSARAK, "bms-pos": BMS_POS}

WAYS: dict[str, Method] = {METHODS[key].selection: METHODS[key] for key in ("em", "one-shot", "subset", "gumbel")} | {
    f"noisy-scores {most}": replace(METHODS["noisy-scores-1"], touched=most) for most in TOUCHED
}


@dataclass(frozen=True)
class Rate:
    """A false negative rate and its standard error."""

    mean: float
    error: float


@dataclass(frozen=True)
class Cell:
    """Public numbers, and the rate of every method that they allow."""

    epsilon: Fraction
    count: int
    touched: int | None
    delta: Fraction
    ordered: bool
    rates: dict[str, Rate]

    @property
    def taken(self) -> str:
        """The method that the rule takes."""
        public = {name: getattr(self, name) for name in ("epsilon", "count", "touched", "delta", "ordered")}
        return choose(**public, monotonic=True)

    @property
    def best(self) -> str:
        return min(self.rates, key=lambda way: self.rates[way].mean)

    @property
    def regret(self) -> float:
        return self.rates[self.taken].mean - self.rates[self.best].mean

    @property
    def error(self) -> float:
        """The standard error of the regret."""
        return float(np.hypot(self.rates[self.taken].error, self.rates[self.best].error))


def data() -> Iterator[tuple[str, Ladder]]:
    """The samples that are there, scaled to the published size; Zipf; and the stand-ins."""
    for name, file in SAMPLES.items():
        if file.exists():
            yield f"{name} sample", load(name, file, scale_to_records=True).ladder
        else:
            print(f"no sample of {name} at {file}: left out", file=sys.stderr)
    for name in ("zipf", "kosarak", "bms-pos", "aol"):
        yield name if name == "zipf" else f"{name} stand-in", load(name).ladder


def rates_of(ladder: Ladder, epsilon: Fraction, count: int) -> dict[str, Rate]:
    """The rate of every way to select."""
    found = {}
    for way, method in WAYS.items():
        rungs = simulate(method, ladder, count=count, epsilon=epsilon, runs=RUNS, rng=1)
        rates = measure(ladder, rungs, count=count).fnr
        found[way] = Rate(float(rates.mean()), float(rates.std(ddof=1)) / RUNS**0.5)
    return found


def cells(epsilon: Fraction, count: int, rates: dict[str, Rate]) -> Iterator[Cell]:
    """All that may be known besides, and the methods that it allows."""
    for touched, delta, ordered in ((m, d, o) for m in TOUCHED for d in (Fraction(0), DELTA) for o in (False, True)):
        allowed = ["exponential", "one-shot"] + ["gumbel"] * bool(delta) + ["subset"] * (not ordered)
        found = {way: rates[way] for way in allowed} | {"noisy-scores": rates[f"noisy-scores {touched}"]}
        yield Cell(epsilon, count, touched, delta, ordered, found)


def shown(name: str, epsilon: Fraction, count: int, rates: dict[str, Rate]) -> str:
    each = "  ".join(f"{way} {rate.mean:.3f}" for way, rate in rates.items())
    return f"{name:17} epsilon {float(epsilon):<5g} c {count:<5} {each}"


def summed(name: str, chosen: list[Cell]) -> Result:
    """The worst regret of these cells; the peer is their mean."""
    worst = max(chosen, key=lambda cell: cell.regret)
    alike = "all alike"
    spread = [max(each.mean for each in cell.rates.values()) - cell.rates[cell.best].mean for cell in chosen]
    wins = Counter(alike if apart < ALIKE else cell.best for apart, cell in zip(spread, chosen, strict=True))
    given = (", delta = 1e-6" if worst.delta else "") + (", ordered" if worst.ordered else "")
    return Result(
        benchmark=f"auto on {name}{given}: worst regret of the false negative rate",
        ours=round(worst.regret, 3),
        peer=round(sum(cell.regret for cell in chosen) / len(chosen), 4),
        unit="missed",
        details={
            "peer_name": f"its mean over {len(chosen)} settings",
            "standard_error": round(worst.error, 3),
            "at": {"epsilon": float(worst.epsilon), "c": worst.count, "m": worst.touched},
            "rates": {way: round(rate.mean, 3) for way, rate in worst.rates.items()},
            "taken": worst.taken,
            "best": dict(wins.most_common()),
            "runs": RUNS,
        },
    )


def results() -> Iterator[Result]:
    for name, ladder in data():
        whole = Ladder.of(np.rint(ladder.highest(ladder.total)))
        found: list[Cell] = []
        for epsilon, count in ((e, c) for e in EPSILONS for c in COUNTS):
            rates = rates_of(whole, epsilon, count)
            print(shown(name, epsilon, count, rates), file=sys.stderr)
            found += cells(epsilon, count, rates)
        for delta, ordered in ((d, o) for o in (False, True) for d in (Fraction(0), DELTA)):
            yield summed(name, [cell for cell in found if (cell.delta, cell.ordered) == (delta, ordered)])
