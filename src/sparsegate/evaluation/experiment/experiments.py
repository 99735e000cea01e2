"""The paper's experiment: every method at every c on every dataset, many runs each. Same seed, same numbers.

Beside it, experiments that the paper lacks: other values of epsilon, larger c, thresholds that are off, and methods
with one thing changed. Each goes into
a folder of its own below the results, with the datasets, runs and seed of the main experiment, and holds only the cases
that the main experiment does not have.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from sparsegate.budget import Number, exact_count, exact_epsilon
from sparsegate.errors import ParameterError
from sparsegate.evaluation.data.datasets import PUBLISHED, Dataset, load
from sparsegate.evaluation.experiment.progress import Progress, WorkPlan
from sparsegate.evaluation.experiment.results import (
    SCORE_COLUMNS,
    ExperimentResults,
    Record,
    ResultFolder,
    manifest,
    replace_text,
    table,
)
from sparsegate.evaluation.experiment.workers import ExperimentCase, WorkerPool, compute_all
from sparsegate.evaluation.methods import DEFAULT_METHODS, AnyMethod, methods_of

if TYPE_CHECKING:
    import pyarrow as pa

DEFAULT_COUNTS = tuple(range(25, 301, 25))
DEFAULT_EPSILONS = (0.1,)
SHOWN_SCORES = 300
"""How many of the highest scores are kept for the picture of the datasets."""

_T = TypeVar("_T")


@dataclass(frozen=True, kw_only=True)
class FurtherExperiment:
    """One further experiment; ``name`` is its folder.

    ``methods`` maps each method to the one it is compared with, which must be in the main experiment. ``factors``
    multiply the first epsilon there. ``near`` are values of c, each of which takes the nearest one there is;
    ``exactly`` are values of c whatever there is, on datasets of more items. Without either it is every c there is.
    """

    name: str
    methods: Mapping[str, str]
    factors: tuple[Fraction, ...] = (Fraction(1),)
    near: tuple[int, ...] = ()
    exactly: tuple[int, ...] = ()

    @property
    def same_epsilon(self) -> bool:
        """Whether it runs at the main experiment's epsilon."""
        return self.factors == (Fraction(1),)

    def counts(self, main: Sequence[int]) -> list[int]:
        """The values of c, from those of the main experiment.

        >>> EPSILON.counts([25, 80, 300]), ABLATION.counts([25, 80]), THRESHOLDS.counts([30, 50]), LARGE.counts([400])
        ([80], [25, 80], [30, 50], [])
        """
        if self.exactly:
            return [count for count in self.exactly if count not in main]
        nearest = dict.fromkeys(min(main, key=lambda c: abs(c - wanted)) for wanted in self.near)
        return list(nearest or main)

    def epsilons(self, main: Sequence[Fraction]) -> list[Fraction]:
        """The values of epsilon, less those that the main experiment has."""
        wanted = [main[0] * factor for factor in self.factors]
        return wanted if self.same_epsilon else [share for share in wanted if share not in main]

    def chosen(self, main: Sequence[str]) -> list[str]:
        """The methods whose counterpart is in the main experiment, less those that have all their cases there."""
        done = set(main) if self.same_epsilon and not self.exactly else set()
        return [key for key, beside in self.methods.items() if beside in main and key not in done]


EPSILON = FurtherExperiment(
    name="epsilon",
    methods={key: key for key in ("svt-dpbook", "svt-s-1:1", "svt-s-1:c23", "svt-retr-3d", "em")},
    factors=(Fraction(1, 2), Fraction(2), Fraction(4), Fraction(8)),
    near=(100,),
)
"""Error against epsilon at one c. With epsilon 0.1 and c = 50, 200 in the main experiment, eps/c is met twice."""

ABLATION = FurtherExperiment(
    name="ablation",
    methods={
        "svt-dpbook-once": "svt-dpbook",
        "svt-alg1": "svt-dpbook",
        "svt-dpbook-monotonic": "svt-dpbook",
        "svt-retr-0d": "svt-s-1:c23",
        "alg-4": "svt-s-1:3",
    },
)
"""Alg. 2 with its threshold noise, or its query noise, exchanged; retraversal without a raised threshold; and Alg. 4,
which has no factor c in its query noise, and is not private."""

THRESHOLDS = FurtherExperiment(
    name="thresholds",
    methods=dict.fromkeys(("svt-s-half-t", "svt-s-double-t", "svt-s-double-t-retr"), "svt-s-1:c23"),
    near=(25, 50, 75, 100, 150, 200, 300),
)
"""A threshold that is half, or twice, the oracle's."""

LARGE = FurtherExperiment(
    name="large-c", methods={key: key for key in ("svt-s-1:c23", "svt-retr-5d", "em")}, exactly=(400,)
)
"""The largest c of the paper's itemset miners (LC14)."""

LARGEST = FurtherExperiment(name="largest-c", methods={"em": "em"}, exactly=(140_106,))
"""The largest c of the paper's neural networks (SS15)."""

FURTHER = (EPSILON, ABLATION, THRESHOLDS, LARGE, LARGEST)


@dataclass(frozen=True, kw_only=True)
class ExperimentGrid:
    """Every method at every epsilon and c on every dataset; ``name`` is the stage of the run that works it off."""

    name: str
    datasets: Mapping[str, Dataset]
    methods: Sequence[AnyMethod]
    epsilons: Sequence[Fraction]
    counts: Sequence[int]
    runs: int
    seed: int

    @property
    def cases(self) -> list[ExperimentCase]:
        """A case for each."""
        return [
            ExperimentCase(dataset=name, method=method, epsilon=share, count=count, runs=self.runs, seed=self.seed)
            for name in self.datasets
            for share in self.epsilons
            for method in self.methods
            for count in self.counts
        ]

    def further(self, experiment: FurtherExperiment) -> ExperimentGrid:
        """The grid of a further experiment beside this one; it may be empty."""
        counts = experiment.counts(self.counts)
        most = max(counts, default=0)
        return replace(
            self,
            name=experiment.name,
            datasets={name: data for name, data in self.datasets.items() if data.ladder.total > most},
            methods=methods_of(experiment.chosen([method.key for method in self.methods])),
            epsilons=experiment.epsilons(self.epsilons),
            counts=counts,
        )

    def parameters(self) -> dict[str, object]:
        """What the manifest says of it, beside datasets and methods."""
        epsilons = [float(share) for share in self.epsilons]
        return {"counts": list(self.counts), "epsilon": epsilons, "runs": self.runs, "seed": self.seed}


def run(
    *,
    datasets: Sequence[str | Dataset] = tuple(PUBLISHED),
    data: Mapping[str, str | Path] | None = None,
    records: Mapping[str, int] | None = None,
    scale_to_records: bool = False,
    counts: Iterable[int] = DEFAULT_COUNTS,
    epsilon: Number | Iterable[Number] = DEFAULT_EPSILONS,
    methods: Sequence[object] = DEFAULT_METHODS,
    runs: int = 100,
    seed: int = 0,
    jobs: int = 1,
    out: str | Path | None = None,
    further: bool = False,
    progress: Callable[[Progress], object] | None = None,
    pool: WorkerPool | None = None,
) -> ExperimentResults:
    """Run the experiment; the results have a row for each case, see ``results.COLUMNS``, and a PyArrow ``table``.

    NOT PRIVATE: thresholds are computed from the true scores, as in the paper.

    Parameters
    ----------
    datasets: names, or ``Dataset`` values of your own.
    data: a file for each name that has one; without a file bms-pos, kosarak and aol are stand-ins. A file under a name
        that is not the paper's is one more dataset.
    records: how many records there are in a file of counts, by name.
    scale_to_records: accept files with fewer records than published, and scale their counts.
    counts: values of c. epsilon: one or more.
    methods: keys of ``METHODS``, ``Method`` values, or your own: functions ``select(scores, count, epsilon, rng)``, or
        objects that have one, see ``supplied_methods``.
    runs: how often each case is simulated.
    seed: a whole number of at least 0; the same seed gives the same numbers, but for the column ``seconds``.
    jobs: processes. More than one needs an ``if __name__ == "__main__"`` only for methods of the main module itself.
    out: a folder for results, scores (the 300 highest of each dataset), manifest and cases. Cases that are there
        already are not computed again, so what was interrupted goes on.
    further: run what the paper lacks, too, in folders below ``out``.
    progress: called after every case, with the seconds that are expected to be left.
    pool: processes, and their plan, that are shared with other work: they take the place of jobs and progress.

    >>> found = run(datasets=["zipf"], counts=[25], methods=["em", "svt-dpbook"], runs=20)
    >>> [round(rate, 1) for rate in found["ser_mean"]]
    [0.0, 0.8]
    """
    chosen = _datasets(datasets, data or {}, records or {}, scale_to_records)
    selectors = _distinct(methods_of(methods), "methods")
    shares = epsilon if isinstance(epsilon, Iterable) else [epsilon]
    epsilons = _distinct([exact_epsilon(share) for share in shares], "epsilon")
    wanted = _distinct([exact_count(c, "counts") for c in counts], "counts")
    runs, jobs = exact_count(runs, "runs"), exact_count(jobs, "jobs")
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise ParameterError("seed", "must be a whole number of at least 0", seed)
    if further and out is None:
        raise ParameterError("further", "needs a folder to write to", next_step="pass out=")
    for dataset in chosen.values():
        dataset.ladder.check_count(max(wanted))
    table([])  # if PyArrow is missing, say so before the work
    main = ExperimentGrid(
        name="main", datasets=chosen, methods=selectors, epsilons=epsilons, counts=wanted, runs=runs, seed=seed
    )
    beside = [grid for experiment in FURTHER if further and (grid := main.further(experiment)).cases]
    folder = None if out is None else ResultFolder.open(out)
    with nullcontext(pool) if pool else WorkerPool(jobs, WorkPlan(progress)) as workers:
        for grid in (main, *beside):
            workers.plan.expect(grid.name, [case.expected for case in grid.cases], jobs=workers.jobs)
        found = _work_off(main, folder, workers, scale_to_records)
        if folder is not None:
            for grid in beside:
                _work_off(grid, ResultFolder.open(folder.path / grid.name), workers, scale_to_records=False)
    return ExperimentResults(found)


def _work_off(
    grid: ExperimentGrid, folder: ResultFolder | None, workers: WorkerPool, scale_to_records: bool
) -> pa.Table:
    """Compute a grid, and write what a folder holds, if there is one."""
    records = compute_all(grid.cases, grid.datasets, folder=folder, pool=workers, what=grid.name)
    found = table([_row(case, grid.datasets[case.dataset], records[case]) for case in grid.cases])
    if folder is not None:
        parameters = {**grid.parameters(), "scale_to_records": scale_to_records}
        about = manifest(datasets=grid.datasets.values(), methods=grid.methods, parameters=parameters)
        _write(folder, found, grid.datasets, about)
    return found


def _datasets(
    given: Sequence[str | Dataset],
    files: Mapping[str, str | Path],
    records: Mapping[str, int],
    scale_to_records: bool,
) -> dict[str, Dataset]:
    named = {entry.name: entry for entry in given if isinstance(entry, Dataset)}
    wanted = [entry.name if isinstance(entry, Dataset) else entry for entry in given]
    names = _distinct(wanted + [name for name in files if name not in PUBLISHED], "datasets")
    if unused := sorted(set(files) - {name for name in names if name not in named}):
        raise ParameterError("data", f"must be for datasets that are run, here {', '.join(names)}", ", ".join(unused))
    if unused := sorted(set(records) - set(files)):
        raise ParameterError("records", "must be for datasets that have a file", ", ".join(unused), "pass its data")
    return {
        name: named.get(name)
        or load(name, files.get(name), records=records.get(name), scale_to_records=scale_to_records)
        for name in names
    }


def _distinct(values: list[_T], parameter: str) -> list[_T]:
    """The values without repetitions, in their order; there must be some."""
    if not values:
        raise ParameterError(parameter, "must not be empty", next_step="leave it out for the paper's")
    return list(dict.fromkeys(values))


def _row(case: ExperimentCase, dataset: Dataset, record: Record) -> dict[str, Any]:
    return {
        "dataset": case.dataset,
        "stand_in": dataset.stand_in,
        "method": case.method.key,
        "epsilon": float(case.epsilon),
        "count": case.count,
        "runs": case.runs,
        **record,
    }


def _write(folder: ResultFolder, found: pa.Table, datasets: Mapping[str, Dataset], about: dict[str, Any]) -> None:
    scores = [
        {"dataset": name, "stand_in": dataset.stand_in, "rank": rank, "score": score}
        for name, dataset in datasets.items()
        for rank, score in enumerate(dataset.ladder.highest(SHOWN_SCORES).tolist(), start=1)
    ]
    folder.write("results", found)
    folder.write("scores", table(scores, SCORE_COLUMNS))
    replace_text(folder.path / "manifest.json", json.dumps(about, indent=2, ensure_ascii=False) + "\n")
