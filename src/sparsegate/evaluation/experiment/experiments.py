"""The paper's experiment: every method at every c on every dataset, many runs each. Same seed, same numbers.

Beside it, experiments that the paper lacks, and more runs where a verdict needs them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from sparsegate.budget import Number, exact_count
from sparsegate.errors import ParameterError
from sparsegate.evaluation.data.datasets import PUBLISHED, Dataset, load
from sparsegate.evaluation.experiment.alternatives import AlternativeReading
from sparsegate.evaluation.experiment.further_experiments import FURTHER
from sparsegate.evaluation.experiment.grids import ExperimentGrid, distinct
from sparsegate.evaluation.experiment.progress import Progress, WorkPlan
from sparsegate.evaluation.experiment.readings import ALTERNATIVES, OURS, PaperReading
from sparsegate.evaluation.experiment.results import ExperimentResults, ResultFolder, table
from sparsegate.evaluation.experiment.rounds import Gathered, expect_later, guessed_batches, more_runs
from sparsegate.evaluation.experiment.workers import ExperimentCase, WorkerPool, compute_all
from sparsegate.evaluation.methods import DEFAULT_METHODS, methods_of
from sparsegate.evaluation.statements.findings import load_findings
from sparsegate.evaluation.statements.judgements import CellKey
from sparsegate.evaluation.statements.paper_statements import OpenStatements
from sparsegate.evaluation.statements.reading_verdicts import READINGS, judge_readings

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
    >>> found = sg.evaluation.run(datasets=["zipf"], counts=[25], methods=["em", "svt-dpbook"], runs=20)
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
        with _shared(pool, jobs, progress) as workers:
            return ExperimentResults(main.table(_gathered(main.cases, chosen, None, workers)))
    top = ResultFolder.open(out)
    below = [experiment.name for experiment in FURTHER] + [f"{READINGS}/{other}" for other in ALTERNATIVES]
    grids = [(main, top), *((grid, ResultFolder.open(top.path / grid.name)) for grid in beside)]
    alternatives = [
        AlternativeReading(reading=other, grids=[main, *beside]) for other in ALTERNATIVES if further and read == OURS
    ]
    every = [case for grid, _ in grids for case in grid.cases]
    parameters = {"most_runs": most_runs, "scale_to_records": scale_to_records}
    with top.held(), _shared(pool, jobs, progress) as workers:
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


def _shared(
    pool: WorkerPool | None, jobs: int, progress: Callable[[Progress], object] | None
) -> AbstractContextManager[WorkerPool]:
    return nullcontext(pool) if pool else WorkerPool(jobs, WorkPlan(progress))


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
