"""More runs where a verdict needs them: rounds of batches, merged, until all is decided or a cell has its most runs.

A batch is a case of its own, with a seed of its own: same seed, same numbers, and a batch that is in the folder already
is not computed again. What two batches of n and m runs say together, of means a and b and sums of squares A and B:

    mean = (n a + m b) / (n + m),      sum of squares = A + B + n m (a - b)^2 / (n + m).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from sparsegate.evaluation.data.datasets import Dataset
from sparsegate.evaluation.experiment.results import Record, ResultFolder
from sparsegate.evaluation.experiment.workers import ExperimentCase, WorkerPool, compute_all
from sparsegate.evaluation.statements.decisions import LOOKS
from sparsegate.evaluation.statements.judgements import CellKey

MOST_RUNS = 12_800
"""The most runs of a cell: with 100 to begin with, twice as many in each of seven rounds."""

USUAL_RUNS = 1_000
"""The mean of what a cell has in the end, under the defaults: for the expected time, before the first round."""

LEAST, MOST = 1.25, 4.0
"""A round multiplies the runs of a cell by what it is expected to need, between these: the expectation is a guess."""


@dataclass(frozen=True, kw_only=True)
class Gathered:
    """What the batches of a case say together; ``case`` is the first of them."""

    case: ExperimentCase
    runs: int
    batches: int
    record: Record

    @classmethod
    def first(cls, case: ExperimentCase, record: Record) -> Gathered:
        """What one batch says."""
        return cls(case=case, runs=case.runs, batches=1, record=record)

    def row(self, datasets: Mapping[str, Dataset]) -> dict[str, Any]:
        """Its line of the results."""
        case = self.case
        return {
            "dataset": case.dataset,
            "stand_in": datasets[case.dataset].stand_in,
            "method": case.method.key,
            "epsilon": float(case.epsilon),
            "count": case.count,
            "runs": self.runs,
            **self.record,
        }

    def next_batch(self, times: float, *, most_runs: int) -> ExperimentCase | None:
        """The batch that makes it so many times the runs; None if it has the most already."""
        wanted = min(math.ceil(self.runs * min(max(times, LEAST), MOST)), most_runs)
        return replace(self.case, runs=wanted - self.runs, batch=self.batches) if wanted > self.runs else None

    def later_batch(self, batch: ExperimentCase, times: float, most_runs: int) -> ExperimentCase:
        """What it should need after the next batch, as if it were one; of no runs, if it is nothing."""
        return replace(batch, runs=max(math.ceil(min(self.runs * times, most_runs)) - self.runs - batch.runs, 0))

    def with_batch(self, batch: ExperimentCase, record: Record) -> Gathered:
        """What it says with one batch more."""
        return Gathered(
            case=self.case,
            runs=self.runs + batch.runs,
            batches=self.batches + 1,
            record=merged(self.record, self.runs, record, batch.runs),
        )


def merged(first: Record, runs: int, second: Record, more: int) -> Record:
    """The means and deviations of two batches together; seconds add up."""
    total, found = runs + more, {"seconds": first["seconds"] + second["seconds"]}
    for name in (name.removesuffix("_mean") for name in first if name.endswith("_mean")):
        a, b = first[f"{name}_mean"], second[f"{name}_mean"]
        squares = sum(
            0.0 if n == 1 else (n - 1) * record[f"{name}_std"] ** 2 for record, n in ((first, runs), (second, more))
        )
        squares += runs * more * (a - b) ** 2 / total
        found |= {f"{name}_mean": (runs * a + more * b) / total, f"{name}_std": math.sqrt(squares / (total - 1))}
    return found


def more_runs(
    found: Mapping[CellKey, Gathered],
    datasets: Mapping[str, Dataset],
    look: Callable[[Mapping[CellKey, Gathered]], Mapping[CellKey, float]],
    *,
    folder: ResultFolder | None,
    pool: WorkerPool,
    most_runs: int,
    what: str = "rounds",
) -> dict[CellKey, Gathered]:
    """Add batches to the cells that a ``look`` finds wanting, and look again: ``LOOKS`` times in all."""
    gathered = dict(found)
    for _ in range(LOOKS - 1):
        wanting = look(gathered)
        batches = {
            cell: batch
            for cell, times in wanting.items()
            if (batch := gathered[cell].next_batch(times, most_runs=most_runs)) is not None
        }
        later = {cell: gathered[cell].later_batch(batch, wanting[cell], most_runs) for cell, batch in batches.items()}
        expect_later(pool, [batch for batch in later.values() if batch.runs], what)
        if not batches:
            return gathered
        records = compute_all(list(batches.values()), datasets, folder=folder, pool=pool, what=what)
        gathered |= {cell: gathered[cell].with_batch(batch, records[batch]) for cell, batch in batches.items()}
    expect_later(pool, [], what)
    look(gathered)
    return gathered


def expect_later(pool: WorkerPool, batches: Iterable[ExperimentCase], what: str = "rounds") -> None:
    """Let the plan expect the rounds that are not the next."""
    pool.plan.expect(f"{what}, later", [batch.expected for batch in batches], jobs=pool.jobs)


def guessed_batches(cases: Iterable[ExperimentCase], most_runs: int) -> list[ExperimentCase]:
    """What the rounds will probably add to some cases, before anything is known: up to ``USUAL_RUNS`` each."""
    more = ((case, min(USUAL_RUNS, most_runs) - case.runs) for case in cases)
    return [replace(case, runs=runs) for case, runs in more if runs > 0]
