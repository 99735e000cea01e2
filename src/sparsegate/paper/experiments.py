"""The paper's experiment: every method at every c on every dataset, many runs each. Same seed, same numbers.

Beside it, experiments that the paper lacks, and more runs where a verdict needs them.

More runs where a verdict needs them: rounds of batches, merged, until all is decided or a cell has its most runs.

A batch is a case of its own, with a seed of its own: same seed, same numbers, and a batch that is in the folder already
is not computed again. What two batches of n and m runs say together, of means a and b and sums of squares A and B:

    mean = (n a + m b) / (n + m),      sum of squares = A + B + n m (a - b)^2 / (n + m).

The cases of an experiment, and its tables: every method at every epsilon and c on every dataset.

Every alternative reading, run beside ours: the cases that it changes, and more runs until its verdicts are decided.

What an alternative needs more runs of may be a row that it does not change. Such a row goes on from the runs that it
has under ours, and belongs to the alternative from then on: our own rows stay what they are. Two alternatives may share
a case, and the later one goes on from the runs that the earlier one made.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from sparsegate.budget import Number, exact_count, exact_epsilon
from sparsegate.errors import ParameterError
from sparsegate.paper.data import PUBLISHED, Dataset, load
from sparsegate.paper.decisions import LOOKS
from sparsegate.paper.findings import CellKey, Findings, Row, load_findings
from sparsegate.paper.methods import DEFAULT_METHODS, AnyMethod, methods_of
from sparsegate.paper.readings import ALTERNATIVES, FURTHER, OURS, FurtherExperiment, PaperReading
from sparsegate.paper.results import (
    SCORE_COLUMNS,
    ExperimentResults,
    Record,
    ResultFolder,
    manifest,
    replace_text,
    table,
)
from sparsegate.paper.statements import READINGS, STATEMENTS, OpenStatements, judge_readings, under
from sparsegate.paper.workers import ExperimentCase, Progress, WorkerPool, compute_all, shared_pool

if TYPE_CHECKING:
    import pyarrow as pa


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


_T = TypeVar("_T")

SHOWN_SCORES = 300
"""How many of the highest scores are kept for the picture of the datasets."""


@dataclass(frozen=True, kw_only=True)
class ExperimentGrid:
    """Every method at every epsilon and c on every dataset; ``name`` is its folder."""

    name: str
    datasets: Mapping[str, Dataset]
    methods: Sequence[AnyMethod]
    epsilons: Sequence[Fraction]
    counts: Sequence[int]
    runs: int
    seed: int
    reading: PaperReading = OURS

    @classmethod
    def checked(
        cls,
        *,
        name: str,
        datasets: Mapping[str, Dataset],
        methods: Sequence[AnyMethod],
        epsilon: Number | Iterable[Number],
        counts: Iterable[int],
        runs: int,
        seed: int,
        reading: PaperReading = OURS,
    ) -> Self:
        """The grid of what somebody asks for: bad values are refused, and what is asked for twice is there once."""
        shares = epsilon if isinstance(epsilon, Iterable) else [epsilon]
        if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
            raise ParameterError("seed", "must be a whole number of at least 0", seed)
        grid = cls(
            name=name,
            datasets=datasets,
            methods=distinct(methods, "methods"),
            epsilons=distinct([exact_epsilon(share) for share in shares], "epsilon"),
            counts=distinct([exact_count(count, "counts") for count in counts], "counts"),
            runs=exact_count(runs, "runs"),
            seed=seed,
            reading=reading,
        )
        for dataset in datasets.values():
            dataset.ladder.check_count(max(grid.counts))
        return grid

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
            methods=[
                self.reading.method(method)
                for method in methods_of(experiment.chosen([method.key for method in self.methods]))
            ],
            epsilons=experiment.epsilons(self.epsilons),
            counts=counts,
        )

    def under(self, reading: PaperReading) -> ExperimentGrid:
        """What another reading changes of it: all methods on a dataset that is another, or the methods that are."""
        datasets = {name: reading.dataset(data) for name, data in self.datasets.items()}
        others = {name: data for name, data in datasets.items() if data is not self.datasets[name]}
        methods = [reading.method(method) for method in self.methods]
        changed = [method for method, ours in zip(methods, self.methods, strict=True) if method != ours]
        if others:
            return replace(self, datasets=others, methods=methods, reading=reading)
        return replace(self, methods=changed, reading=reading)

    def parameters(self) -> dict[str, object]:
        """What the manifest says of it, beside datasets and methods."""
        epsilons = [float(share) for share in self.epsilons]
        return {"counts": list(self.counts), "epsilon": epsilons, "runs": self.runs, "seed": self.seed}

    def table(self, found: Mapping[CellKey, Gathered]) -> pa.Table:
        """The results, a row for each case."""
        return table([found[case.cell].row(self.datasets) for case in self.cases])

    def write(self, folder: ResultFolder, found: Mapping[CellKey, Gathered], **parameters: object) -> None:
        """Write results, scores and manifest into the folder of the experiment."""
        write_experiment(
            folder,
            [found[case.cell].row(self.datasets) for case in self.cases],
            datasets=self.datasets,
            methods=self.methods,
            parameters={**self.parameters(), **parameters, "reading": str(self.reading)},
        )


def write_experiment(
    folder: ResultFolder,
    rows: Sequence[Mapping[str, Any]],
    *,
    datasets: Mapping[str, Dataset],
    methods: Sequence[AnyMethod],
    parameters: Mapping[str, object],
) -> None:
    """Write results, scores and manifest."""
    scores = [
        {"dataset": name, "stand_in": dataset.stand_in, "rank": rank, "score": score}
        for name, dataset in datasets.items()
        for rank, score in enumerate(dataset.ladder.highest(SHOWN_SCORES).tolist(), start=1)
    ]
    about = manifest(datasets=datasets.values(), methods=methods, parameters=parameters)
    folder.write("results", table(rows))
    folder.write("scores", table(scores, SCORE_COLUMNS))
    replace_text(folder.path / "manifest.json", json.dumps(about, indent=2, ensure_ascii=False) + "\n")


def distinct(values: Sequence[_T], parameter: str) -> list[_T]:
    """The values without repetitions, in their order; there must be some."""
    if not values:
        raise ParameterError(parameter, "must not be empty", next_step="leave it out for the paper's")
    return list(dict.fromkeys(values))


MOST_SELECTIONS = 800_000
"""No case gets more runs for an alternative once c times its runs is so much: at a large c runs are dear."""


@dataclass(frozen=True, kw_only=True)
class AlternativeReading:
    """A reading beside ours, of the experiments in ``grids``, the main one first."""

    reading: PaperReading
    grids: Sequence[ExperimentGrid]

    @cached_property
    def cases(self) -> list[ExperimentCase]:
        """The cases that the reading changes."""
        return [case for grid in self.grids for case in grid.under(self.reading).cases]

    @cached_property
    def datasets(self) -> dict[str, Dataset]:
        """The datasets as it has them."""
        return {name: self.reading.dataset(data) for name, data in self.grids[0].datasets.items()}

    @cached_property
    def methods(self) -> list[AnyMethod]:
        """The methods as it has them."""
        return list(
            {method.key: self.reading.method(method) for grid in self.grids for method in grid.methods}.values()
        )

    def work_off(
        self,
        ours: Mapping[CellKey, Gathered],
        findings: Findings,
        *,
        known: dict[str, Gathered],
        top: ResultFolder,
        pool: WorkerPool,
        most_runs: int | None,
        parameters: Mapping[str, object],
    ) -> None:
        """Run it, and write its folder; ``findings`` are ours, and ``top`` keeps the finished cases of all.

        ``known`` has, by its key, what the alternatives before it made of each case, and then also what this one did.
        """
        name = str(self.reading)
        keys = {case: case.key(self.datasets[case.dataset].fingerprint) for case in self.cases}
        new = [case for case, key in keys.items() if key not in known]
        records = compute_all(new, self.datasets, folder=top, pool=pool, what=name)
        known |= {keys[case]: Gathered.first(case, records[case]) for case in new}
        found = {**ours, **{case.cell: known[key] for case, key in keys.items()}}
        if most_runs is not None:
            paper = [statement for statement in STATEMENTS if statement.kind != "self-check"]
            open_still = OpenStatements(statements=paper, undecided=paper)

            def look(gathered: Mapping[CellKey, Gathered]) -> Mapping[CellKey, float]:
                wanted = open_still.wanting(self._findings(findings, gathered, ours))
                room = {cell: MOST_SELECTIONS / (cell.count * gathered[cell].runs) for cell in wanted}
                return {cell: min(times, room[cell]) for cell, times in wanted.items() if room[cell] > 1}

            found = more_runs(found, self.datasets, look, folder=top, pool=pool, most_runs=most_runs, what=name)
            known |= {key: found[case.cell] for case, key in keys.items()}
        folder = top.path / READINGS / name
        folder.mkdir(parents=True, exist_ok=True)
        write_experiment(
            ResultFolder(path=folder),
            [one.row(self.datasets) for one in self._own(found, ours)],
            datasets=self.datasets,
            methods=self.methods,
            parameters={**self.grids[0].parameters(), **parameters, "reading": str(self.reading)},
        )

    @staticmethod
    def _own(found: Mapping[CellKey, Gathered], ours: Mapping[CellKey, Gathered]) -> list[Gathered]:
        return [one for cell, one in found.items() if one is not ours.get(cell)]

    def _findings(
        self, findings: Findings, found: Mapping[CellKey, Gathered], ours: Mapping[CellKey, Gathered]
    ) -> Findings:
        rows = [Row.of(one.row(self.datasets), self.datasets[one.case.dataset].kind) for one in self._own(found, ours)]
        return under(
            findings,
            self.reading,
            {row.cell: row for row in rows},
            {name: data.described for name, data in self.datasets.items()},
            {method.key: method.described for method in self.methods},
        )


DEFAULT_COUNTS = tuple(range(25, 301, 25))
DEFAULT_EPSILONS = (0.1,)


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
    most_runs: int | None = None,
    reading: PaperReading | Sequence[str] = OURS,
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
    most_runs: go on with the cases that a verdict on one of the paper's statements depends on, see ``statements``,
        until all are decided, or a case has this many runs. The column ``runs`` says how many a row has.
    reading: how the paper is read where it leaves something open, see ``readings``: ["zipf-total=2e6"], say. Under our
        own reading, ``further`` runs every alternative, too.
    progress: called after every case, with the seconds that are expected to be left.
    pool: processes, and their plan, that are shared with other work: they take the place of jobs and progress.

    >>> import sparsegate as sg
    >>> found = sg.paper.run(datasets=["zipf"], counts=[25], methods=["em", "svt-dpbook"], runs=20)
    >>> [round(rate, 1) for rate in found["ser_mean"]]
    [0.0, 0.8]
    """
    read = reading if isinstance(reading, PaperReading) else PaperReading.parse(reading)
    loaded = chosen_datasets(datasets, data or {}, records or {}, scale_to_records)
    chosen = {name: read.dataset(dataset) for name, dataset in loaded.items()}
    jobs = exact_count(jobs, "jobs")
    main = ExperimentGrid.checked(
        name="main",
        datasets=chosen,
        methods=[read.method(method) for method in methods_of(methods)],
        epsilon=epsilon,
        counts=counts,
        runs=runs,
        seed=seed,
        reading=read,
    )
    if most_runs is not None and exact_count(most_runs, "most_runs") < runs:
        raise ParameterError("most_runs", f"must be at least runs, {runs}", most_runs)
    for name, asked in (("further", further), ("most_runs", most_runs)):
        if asked and out is None:
            raise ParameterError(name, "needs a folder to write to", next_step="pass out=")
    table([])  # if PyArrow is missing, say so before the work
    beside = [grid for experiment in FURTHER if further and (grid := main.further(experiment)).cases]
    if out is None:
        with shared_pool(pool, jobs, progress) as workers:
            return ExperimentResults(main.table(_gathered(main.cases, chosen, None, workers)))
    top = ResultFolder.open(out)
    below = [experiment.name for experiment in FURTHER] + [f"{READINGS}/{other}" for other in ALTERNATIVES]
    grids = [(main, top), *((grid, ResultFolder.open(top.path / grid.name)) for grid in beside)]
    alternatives = [
        AlternativeReading(reading=other, grids=[main, *beside]) for other in ALTERNATIVES if further and read == OURS
    ]
    every = [case for grid, _ in grids for case in grid.cases]
    parameters = {"most_runs": most_runs, "scale_to_records": scale_to_records}
    with top.held(), shared_pool(pool, jobs, progress) as workers:
        top.forget(*below)
        expect_later(workers, guessed_batches(every, most_runs or runs))
        for other in alternatives:
            workers.plan.expect(str(other.reading), [case.expected for case in other.cases], jobs=workers.jobs)
            expect_later(workers, guessed_batches(other.cases, most_runs or runs), str(other.reading))
        found = _gathered(every, chosen, top, workers)
        for grid, folder in grids:
            grid.write(folder, found, **parameters)
        if most_runs is not None:
            open_still = OpenStatements()

            def look(found: Mapping[CellKey, Gathered]) -> Mapping[CellKey, float]:
                for grid, folder in grids:
                    grid.write(folder, found, **parameters)
                return open_still.wanting(load_findings(top.path))

            found = more_runs(found, chosen, look, folder=top, pool=workers, most_runs=most_runs)
        ours = load_findings(top.path)
        known: dict[str, Gathered] = {}
        for other in alternatives:
            other.work_off(found, ours, known=known, top=top, pool=workers, most_runs=most_runs, parameters=parameters)
        if alternatives:
            judge_readings(top.path).write(top)
    return ExperimentResults(main.table(found))


def _gathered(
    cases: Sequence[ExperimentCase],
    datasets: Mapping[str, Dataset],
    folder: ResultFolder | None,
    workers: WorkerPool,
) -> dict[CellKey, Gathered]:
    """The first runs of every case, of all experiments at once: no process waits for the last of one."""
    records = compute_all(cases, datasets, folder=folder, pool=workers, what="first runs")
    return {case.cell: Gathered.first(case, records[case]) for case in cases}


def chosen_datasets(
    given: Sequence[str | Dataset],
    files: Mapping[str, str | Path],
    records: Mapping[str, int],
    scale_to_records: bool,
) -> dict[str, Dataset]:
    """The datasets by name, each from its file, or as it is without one."""
    named = {entry.name: entry for entry in given if isinstance(entry, Dataset)}
    wanted = [entry.name if isinstance(entry, Dataset) else entry for entry in given]
    names = distinct(wanted + [name for name in files if name not in PUBLISHED], "datasets")
    if unused := sorted(set(files) - {name for name in names if name not in named}):
        raise ParameterError("data", f"must be for datasets that are run, here {', '.join(names)}", ", ".join(unused))
    if unused := sorted(set(records) - set(files)):
        raise ParameterError("records", "must be for datasets that have a file", ", ".join(unused), "pass its data")
    return {
        name: named.get(name)
        or load(name, files.get(name), records=records.get(name), scale_to_records=scale_to_records)
        for name in names
    }
