"""The paper's experiment: every method at every c on every dataset, many runs each. Same seed, same numbers.

Each *case* draws from a generator of its own, seeded by a hash of (seed, dataset, method, epsilon, c): its numbers
depend neither on the other cases nor on how many processes share the work. A *batch* of further runs is a case of its
own, added until all is decided, or a cell has its most runs. An *alternative reading* is run where it changes a case;
a row of ours that it needs more runs of goes on from ours, belongs to the alternative from then on, and ours stays what
it is. Of two alternatives that share a case, the later one goes on from the runs that the earlier one made."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from sparsegate.budget import Number, exact_count, exact_epsilon
from sparsegate.errors import ParameterError
from sparsegate.paper.data import PUBLISHED, Dataset, load
from sparsegate.paper.decisions import LOOKS
from sparsegate.paper.methods import DEFAULT_METHODS, AnyMethod, SuppliedMethod, methods_of
from sparsegate.paper.ranked import Ladder
from sparsegate.paper.readings import ALTERNATIVES, FURTHER, OURS, FurtherExperiment, PaperReading
from sparsegate.paper.results import (
    COLUMNS,
    SCORE_COLUMNS,
    CellKey,
    ExperimentResults,
    Findings,
    Record,
    ResultFolder,
    Row,
    load_findings,
    manifest,
    stable_hash,
    table,
)
from sparsegate.paper.simulation import least_ser, simulated_errors
from sparsegate.paper.statements import READINGS, STATEMENTS, OpenStatements, judge_readings, settled_by, under
from sparsegate.paper.workers import Progress, SharedValue, WorkerPool, shared_pool

SIMULATOR = 4  # counts the changes of what the simulator says of a case for a given seed
MOST_RUNS = 12_800  # the most runs of a cell: with 100 to begin with, twice as many in each of seven rounds
# The mean of what a cell has in the end, under the defaults: for the expected time, before the first round
USUAL_RUNS = 1_000

# A round multiplies the runs of a cell by what it is expected to need, between these: the expectation is a guess
LEAST, MOST = 1.25, 4.0


@dataclass(frozen=True, kw_only=True)
class ExperimentCase:
    """One dataset, method, epsilon and c, with how many runs and from which seed; ``batch`` counts those before it."""

    dataset: str
    method: AnyMethod
    epsilon: Fraction
    count: int
    runs: int
    seed: int
    batch: int = 0

    @property
    def cell(self) -> CellKey:
        return CellKey(self.dataset, self.method.key, float(self.epsilon), self.count)

    def generator(self) -> np.random.Generator:
        later = (self.batch,) if self.batch else ()
        names = stable_hash(self.seed, self.dataset, self.method.key, self.epsilon, self.count, *later)
        return np.random.default_rng(np.random.SeedSequence(int(names, 16)))

    def key(self, fingerprint: str) -> str:
        """The name of the case in a folder: it holds everything the numbers depend on."""
        law = self.method.law(count=self.count, epsilon=self.epsilon)
        names = (self.dataset, self.method.key, self.epsilon, self.count, self.runs, self.seed, self.batch)
        return stable_hash(SIMULATOR, fingerprint, *law, *names)

    @property
    def expected(self) -> float:
        """The seconds it should take: some for the case, and for each of c positives some for itself and each run."""
        if isinstance(self.method, SuppliedMethod):  # nobody knows
            return 0.002 + self.runs * 1e-3
        redraws = self.method.row is not None and self.method.row.redraws_threshold
        positive, run = (8e-5, 12e-7) if redraws else (0.0, 4e-7)  # measured on every dataset
        return 0.002 + self.count * (positive + self.runs * run)

    def compute(self, ladder: Ladder) -> Record:
        public: dict[str, Any] = {"count": self.count, "epsilon": self.epsilon}
        start = time.perf_counter()
        try:
            errors = simulated_errors(self.method, ladder, **public, runs=self.runs, rng=self.generator())
        except ParameterError as error:
            if error.next_step:  # of a method that failed: where it did
                error.args, error.next_step = (f"{error}, on {self.dataset}",), f"{error.next_step}, on {self.dataset}"
            raise
        record = errors.summary()
        if not self.batch:  # the same for all batches
            record["ser_least"] = least_ser(self.method, ladder, **public)
        return record | {"seconds": time.perf_counter() - start}


def _compute(task: tuple[ExperimentCase, SharedValue]) -> Record:
    case, ladder = task
    return case.compute(ladder.get())


@dataclass(frozen=True, kw_only=True)
class Gathered:
    """What the batches of a case say together; ``case`` is the first of them."""

    case: ExperimentCase
    runs: int
    batches: int
    record: Record

    def row(self, datasets: Mapping[str, Dataset]) -> dict[str, Any]:
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

    def with_batch(self, batch: Gathered) -> Gathered:
        record = merged(self.record, self.runs, batch.record, batch.runs)
        return Gathered(case=self.case, runs=self.runs + batch.runs, batches=self.batches + 1, record=record)


def merged(first: Record, runs: int, second: Record, more: int) -> Record:
    """The means and deviations of two batches together, their squares with n m (a - b)^2 / (n + m); seconds add up."""
    total, record = runs + more, first | {"seconds": first["seconds"] + second["seconds"]}
    for name in (name.removesuffix("_mean") for name in first if name.endswith("_mean")):
        a, b = first[f"{name}_mean"], second[f"{name}_mean"]
        batches = ((first, runs), (second, more))
        squares = sum(0.0 if n == 1 else (n - 1) * batch[f"{name}_std"] ** 2 for batch, n in batches)
        squares += runs * more * (a - b) ** 2 / total
        record |= {f"{name}_mean": (runs * a + more * b) / total, f"{name}_std": math.sqrt(squares / (total - 1))}
    return record


@dataclass(frozen=True, kw_only=True)
class CaseRunner:
    """Runs cases of some datasets in the processes of a ``pool``; a ``folder``, if any, keeps the finished ones."""

    datasets: Mapping[str, Dataset]
    folder: ResultFolder | None
    pool: WorkerPool

    def run(self, cases: Sequence[ExperimentCase], what: str = "first runs") -> dict[ExperimentCase, Gathered]:
        """What each case says; those that the folder does not have are computed, and kept as soon as they are done."""
        for method in {case.method for case in cases}:
            if isinstance(method, SuppliedMethod):
                method.check_jobs(self.pool.jobs)
        fingerprints = {name: data.fingerprint for name, data in self.datasets.items()}
        folders = {case: self.folder if case.method.kept else None for case in cases}
        keys = {case: case.key(fingerprints[case.dataset]) for case in cases}
        records, rates = {}, {name for name in COLUMNS if name.endswith(("_mean", "_std", "seconds"))}
        for case, folder in folders.items():
            if folder and (record := folder.load(keys[case])) is not None and record.keys() >= rates:
                records[case] = record
        ladders = {name: self.pool.share(data.ladder) for name, data in self.datasets.items()}
        # The dearest first: one that comes last would leave the other processes with nothing to do.
        missing = sorted((case for case in keys if case not in records), key=lambda case: case.expected, reverse=True)
        tasks = [(case, ladders[case.dataset]) for case in missing]
        for (case, _), record in self.pool.each(
            what, _compute, tasks, expected=lambda task: task[0].expected, resumed=len(records)
        ):
            if folder := folders[case]:
                folder.save(keys[case], record)
            records[case] = record
        return {case: Gathered(case=case, runs=case.runs, batches=1, record=records[case]) for case in cases}

    def first_runs(self, cases: Sequence[ExperimentCase]) -> dict[CellKey, Gathered]:
        """The first runs of every case, of all experiments at once: no process waits for the last of one."""
        return {case.cell: gathered for case, gathered in self.run(cases).items()}

    def more_runs(
        self,
        first: Mapping[CellKey, Gathered],
        look: Callable[[Mapping[CellKey, Gathered]], Mapping[CellKey, float]],
        *,
        most_runs: int,
        what: str = "rounds",
    ) -> dict[CellKey, Gathered]:
        """Add batches to the cells that a ``look`` finds wanting, and look again: ``LOOKS`` times in all."""
        gathered = dict(first)
        for _ in range(LOOKS - 1):
            batches = {
                cell: batch
                for cell, times in look(gathered).items()
                if (batch := gathered[cell].next_batch(times, most_runs=most_runs)) is not None
            }
            if not batches:
                return gathered
            more = self.run(list(batches.values()), what)
            gathered |= {cell: gathered[cell].with_batch(more[batch]) for cell, batch in batches.items()}
        look(gathered)
        return gathered


_T = TypeVar("_T")

SHOWN_SCORES = 300  # how many of the highest scores are kept for the picture of the datasets


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
        cls, *, methods: Sequence[AnyMethod], epsilon: Any, counts: Iterable[int], runs: int, seed: int, **others: Any
    ) -> ExperimentGrid:
        """The grid of what somebody asks for: bad values are refused, and what is asked for twice is there once."""
        if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
            raise ParameterError("seed", "must be a whole number of at least 0", seed)
        shares = epsilon if isinstance(epsilon, Iterable) else [epsilon]
        grid = cls(
            methods=distinct(methods, "methods"),
            epsilons=distinct([exact_epsilon(share) for share in shares], "epsilon"),
            counts=distinct([exact_count(count, "counts") for count in counts], "counts"),
            runs=exact_count(runs, "runs"),
            seed=seed,
            **others,
        )
        for dataset in grid.datasets.values():
            dataset.ladder.check_count(max(grid.counts))
        return grid

    @property
    def cases(self) -> list[ExperimentCase]:
        return [
            ExperimentCase(dataset=name, method=method, epsilon=share, count=count, runs=self.runs, seed=self.seed)
            for name in self.datasets
            for share in self.epsilons
            for method in self.methods
            for count in self.counts
        ]

    def further(self, experiment: FurtherExperiment) -> ExperimentGrid:
        counts = experiment.counts(self.counts)
        keys = experiment.chosen([method.key for method in self.methods])
        return replace(
            self,
            name=experiment.name,
            datasets={name: data for name, data in self.datasets.items() if data.ladder.total > max(counts, default=0)},
            methods=[self.reading.method(method) for method in methods_of(keys)],
            epsilons=experiment.epsilons(self.epsilons),
            counts=counts,
        )

    def under(self, reading: PaperReading) -> ExperimentGrid:
        datasets = {name: reading.dataset(data) for name, data in self.datasets.items()}
        methods = [reading.method(method) for method in self.methods]
        return replace(self, datasets=datasets, methods=methods, reading=reading)

    def changed(self, reading: PaperReading) -> ExperimentGrid:
        """What another reading changes of it: all methods on a dataset that is another, or the methods that are."""
        whole = self.under(reading)
        datasets = {name: data for name, data in whole.datasets.items() if data is not self.datasets[name]}
        if datasets:
            return replace(whole, datasets=datasets)
        pairs = zip(whole.methods, self.methods, strict=True)
        return replace(whole, methods=[method for method, ours in pairs if method != ours])

    def parameters(self) -> dict[str, object]:
        epsilons = [float(share) for share in self.epsilons]
        return {"counts": list(self.counts), "epsilon": epsilons, "runs": self.runs, "seed": self.seed}

    def rows(self, gathered: Mapping[CellKey, Gathered]) -> list[dict[str, Any]]:
        return [gathered[case.cell].row(self.datasets) for case in self.cases]

    def write(self, folder: ResultFolder, rows: Sequence[Mapping[str, Any]], parameters: Mapping[str, object]) -> None:
        scores = [
            {"dataset": name, "stand_in": dataset.stand_in, "rank": rank, "score": score}
            for name, dataset in self.datasets.items()
            for rank, score in enumerate(dataset.ladder.highest(SHOWN_SCORES).tolist(), start=1)
        ]
        about = manifest(
            datasets=self.datasets.values(),
            methods=self.methods,
            parameters={**self.parameters(), **parameters, "reading": str(self.reading)},
        )
        folder.write("results", table(rows))
        folder.write("scores", table(scores, SCORE_COLUMNS))
        folder.write_json("manifest", about, indent=2)


def distinct(values: Sequence[_T], parameter: str) -> list[_T]:
    """The values without repetitions, in their order; there must be some."""
    if not values:
        raise ParameterError(parameter, "must not be empty", next_step="leave it out for the paper's")
    return list(dict.fromkeys(values))


# No case gets more runs for an alternative once c times its runs is so much: at a large c runs are dear
MOST_SELECTIONS = 800_000


@dataclass(frozen=True, kw_only=True)
class _Evaluation:
    """The grids of a run, the main one first; ``top`` keeps the finished cases of all, below it each has its folder."""

    grids: Sequence[ExperimentGrid]
    top: ResultFolder
    pool: WorkerPool
    most_runs: int | None
    parameters: Mapping[str, object]

    def runner(self, datasets: Mapping[str, Dataset]) -> CaseRunner:
        return CaseRunner(datasets=datasets, folder=self.top, pool=self.pool)

    def write(self, gathered: Mapping[CellKey, Gathered]) -> Findings:
        for grid in self.grids:
            folder = self.top if grid is self.grids[0] else ResultFolder(path=self.top.path / grid.name)
            grid.write(folder, grid.rows(gathered), self.parameters)
        return load_findings(self.top.path)

    def ours(self) -> dict[CellKey, Gathered]:
        runner = self.runner(self.grids[0].datasets)
        gathered = runner.first_runs([case for grid in self.grids for case in grid.cases])
        if self.most_runs is not None:
            open_still = OpenStatements()
            gathered = runner.more_runs(
                gathered, lambda now: open_still.wanting(self.write(now)), most_runs=self.most_runs
            )
        return gathered

    def alternative(
        self,
        reading: PaperReading,
        cases: Sequence[ExperimentCase],
        ours: Mapping[CellKey, Gathered],
        findings: Findings,
        known: dict[str, Gathered],
    ) -> None:
        """Run the ``cases`` that a reading changes, and write its folder; ``findings`` are ours.

        ``known`` has, by its key, what the alternatives before it made of each case, and then also what this one did.
        """
        every = {method.key: method for grid in self.grids for method in grid.methods}
        whole = replace(self.grids[0], methods=list(every.values())).under(reading)
        name, datasets = str(reading), whole.datasets
        keys = {case: case.key(datasets[case.dataset].fingerprint) for case in cases}
        runner = self.runner(datasets)
        first = runner.run([case for case, key in keys.items() if key not in known], name)
        known |= {keys[case]: result for case, result in first.items()}
        gathered = {**ours, **{case.cell: known[key] for case, key in keys.items()}}

        def own_rows(gathered: Mapping[CellKey, Gathered]) -> list[dict[str, Any]]:
            return [case.row(datasets) for cell, case in gathered.items() if case is not ours.get(cell)]

        if self.most_runs is not None:
            judged = [each for each in STATEMENTS if each.kind != "self-check" and not settled_by(each, reading)]
            open_still = OpenStatements(statements=judged, undecided=judged)
            described = {name: data.described for name, data in datasets.items()}
            methods = {method.key: method.described for method in whole.methods}

            def look(gathered: Mapping[CellKey, Gathered]) -> Mapping[CellKey, float]:
                by_cell = {row.cell: row for row in map(Row.of, own_rows(gathered))}
                wanted = open_still.wanting(under(findings, reading, by_cell, described, methods))
                room = {cell: MOST_SELECTIONS / (cell.count * gathered[cell].runs) for cell in wanted}
                return {cell: min(times, room[cell]) for cell, times in wanted.items() if room[cell] > 1}

            gathered = runner.more_runs(gathered, look, most_runs=self.most_runs, what=name)
            known |= {key: gathered[case.cell] for case, key in keys.items()}
        folder = self.top.path / READINGS / name
        folder.mkdir(parents=True, exist_ok=True)
        whole.write(ResultFolder(path=folder), own_rows(gathered), self.parameters)


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
        objects that have one, see ``paper.methods``.
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
    >>> results = sg.paper.run(datasets=["zipf"], counts=[25], methods=["em", "svt-dpbook"], runs=20)
    >>> [round(rate, 1) for rate in results["ser_mean"]]
    [0.0, 0.8]
    """
    read = reading if isinstance(reading, PaperReading) else PaperReading.parse(reading)
    loaded = chosen_datasets(datasets, data or {}, records or {}, scale_to_records)
    jobs = exact_count(jobs, "jobs")
    public: dict[str, Any] = {"epsilon": epsilon, "counts": counts, "runs": runs, "seed": seed}
    main = ExperimentGrid.checked(name="main", datasets=loaded, methods=methods_of(methods), **public).under(read)
    if most_runs is not None and exact_count(most_runs, "most_runs") < runs:
        raise ParameterError("most_runs", f"must be at least runs, {runs}", most_runs)
    for name, asked in (("further", further), ("most_runs", most_runs)):
        if asked and out is None:
            raise ParameterError(name, "needs a folder to write to", next_step="pass out=")
    table([])  # if PyArrow is missing, say so before the work
    if out is None:
        with shared_pool(pool, jobs, progress) as workers:
            runner = CaseRunner(datasets=main.datasets, folder=None, pool=workers)
            return ExperimentResults(table(main.rows(runner.first_runs(main.cases))))
    top = ResultFolder.open(out)
    grids = [main, *(grid for experiment in FURTHER if further and (grid := main.further(experiment)).cases)]
    for grid in grids[1:]:
        ResultFolder.open(top.path / grid.name)
    others = {
        other: [case for grid in grids for case in grid.changed(other).cases]
        for other in ALTERNATIVES
        if further and read == OURS
    }
    rounds = min(USUAL_RUNS, most_runs or runs) / runs
    with top.held(), shared_pool(pool, jobs, progress) as workers:
        top.forget(*(experiment.name for experiment in FURTHER), *(f"{READINGS}/{other}" for other in ALTERNATIVES))
        seconds = sum(case.expected for grid in grids for case in grid.cases)
        workers.plan.expect("rounds", max(rounds - 1, 0) * seconds)
        for other, cases in others.items():
            workers.plan.expect(str(other), max(rounds, 1) * sum(case.expected for case in cases))
        parameters = {"most_runs": most_runs, "scale_to_records": scale_to_records}
        whole = _Evaluation(grids=grids, top=top, pool=workers, most_runs=most_runs, parameters=parameters)
        gathered = whole.ours()
        findings = whole.write(gathered)
        known: dict[str, Gathered] = {}
        for other, cases in others.items():
            whole.alternative(other, cases, gathered, findings, known)
        if others:
            judge_readings(top.path).write(top)
    return ExperimentResults(table(main.rows(gathered)))


def chosen_datasets(
    wanted: Sequence[str | Dataset],
    files: Mapping[str, str | Path],
    records: Mapping[str, int],
    scale_to_records: bool,
) -> dict[str, Dataset]:
    """The datasets by name, each from its file, or as it is without one."""
    named = {entry.name: entry for entry in wanted if isinstance(entry, Dataset)}
    names = [entry.name if isinstance(entry, Dataset) else entry for entry in wanted]
    names = distinct(names + [name for name in files if name not in PUBLISHED], "datasets")
    if unused := sorted(set(files) - {name for name in names if name not in named}):
        raise ParameterError("data", f"must be for datasets that are run, here {', '.join(names)}", ", ".join(unused))
    if unused := sorted(set(records) - set(files)):
        raise ParameterError("records", "must be for datasets that have a file", ", ".join(unused), "pass its data")
    return {
        name: named.get(name)
        or load(name, files.get(name), records=records.get(name), scale_to_records=scale_to_records)
        for name in names
    }
