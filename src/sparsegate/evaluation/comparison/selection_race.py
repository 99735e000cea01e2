"""The comparison: every method at every c and epsilon on every dataset, run until it is known who wins where.

All cases are run some times; then those that can still change the winners of a cell, as often as it should take to
decide, round after round, until every cell is decided or the most runs are reached.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import replace
from pathlib import Path

from sparsegate.budget import Number, exact_count
from sparsegate.errors import ParameterError
from sparsegate.evaluation.comparison.comparison_results import ComparisonResults, WonCell, write_comparison
from sparsegate.evaluation.comparison.contestants import COMPARED, LEAGUES, contestants, run_limit, takes_part
from sparsegate.evaluation.comparison.releases import TimedRelease, release_options, time_release
from sparsegate.evaluation.comparison.winners import MeanError, sigmas, standing
from sparsegate.evaluation.data.datasets import PUBLISHED, Dataset
from sparsegate.evaluation.experiment.experiments import chosen_datasets
from sparsegate.evaluation.experiment.grids import ExperimentGrid
from sparsegate.evaluation.experiment.progress import Expected, Progress, WorkPlan
from sparsegate.evaluation.experiment.results import ResultFolder, stable_hash, table
from sparsegate.evaluation.experiment.rounds import Gathered, more_runs
from sparsegate.evaluation.experiment.workers import WorkerPool, compute_all
from sparsegate.evaluation.statements.decisions import LOOKS
from sparsegate.evaluation.statements.judgements import CellKey

DEFAULT_COUNTS = (10, 25, 50, 100, 200, 400)
DEFAULT_EPSILONS = (0.01, 0.03, 0.1, 0.3, 1.0)
DEFAULT_RUNS, MOST_RUNS = 100, 3_200
MEASURES = ("fnr", "total_ser")
"""What winners may be sought by. Not by SER: fewer than c items, all high, have a negative one."""

_RELEASE_SECONDS = 0.1  # of one release, about: of two million items, 0.2 s


def compare(
    *,
    datasets: Sequence[str | Dataset] = tuple(PUBLISHED),
    data: Mapping[str, str | Path] | None = None,
    records: Mapping[str, int] | None = None,
    scale_to_records: bool = False,
    counts: Iterable[int] = DEFAULT_COUNTS,
    epsilon: Number | Iterable[Number] = DEFAULT_EPSILONS,
    methods: Sequence[object] = COMPARED,
    mine: Sequence[object] = (),
    peers: bool = True,
    by: str = "fnr",
    runs: int = DEFAULT_RUNS,
    most_runs: int = MOST_RUNS,
    seed: int = 0,
    jobs: int = 1,
    out: str | Path | None = None,
    progress: Callable[[Progress], object] | None = None,
    pool: WorkerPool | None = None,
) -> ComparisonResults:
    """Compare ways to select the c highest scores; the results have a row for each case, and the winners of each cell.

    NOT PRIVATE: thresholds are computed from the true scores, as in the paper.

    Parameters
    ----------
    datasets, data, records, scale_to_records, seed, jobs, out, progress, pool: as of ``run``.
    counts: values of c. epsilon: one or more.
    methods: keys of ``METHODS``, or anything with ``select``. mine: more of them, yours.
    peers: run OpenDP's and diffprivlib's top-k, too, where they are installed.
    by: the error that decides who wins: "fnr", or "total_ser".
    runs: how often each case is run at first. most_runs: how often at most, until winners are known.

    >>> import sparsegate as sg
    >>> methods = ["em", "svt-dpbook"]
    >>> found = sg.evaluation.compare(datasets=["zipf"], counts=[10], epsilon=0.1, methods=methods, peers=False)
    >>> found.winners[0].standing.winners, found.winners[0].standing.behind
    (('em',), ('svt-dpbook',))
    """
    chosen = chosen_datasets(datasets, data or {}, records or {}, scale_to_records)
    runs, most_runs = exact_count(runs, "runs"), exact_count(most_runs, "most_runs")
    if by not in MEASURES:
        raise ParameterError("by", f"must be one of {', '.join(MEASURES)}", by)
    if runs < 2 or most_runs < runs:
        raise ParameterError("runs", "must be at least 2, and most_runs at least that", (runs, most_runs))
    grid = ExperimentGrid.checked(
        name="first runs",
        datasets=chosen,
        methods=contestants(methods, mine, peers=peers),
        epsilon=epsilon,
        counts=counts,
        runs=runs,
        seed=seed,
    )
    table([])  # if PyArrow is missing, say so before the work
    folder = None if out is None else ResultFolder.open(out)
    with (
        folder.held() if folder else nullcontext(),
        nullcontext(pool) if pool else WorkerPool(jobs, WorkPlan(progress)) as workers,
    ):
        if folder is not None:
            folder.forget()
        race = _Race(grid, by=by, most_runs=most_runs, folder=folder, pool=workers)
        # Releases first: one of all scores takes memory, and so do workers that have simulated.
        seconds = race.release_seconds()
        gathered = race.run()
        found = ComparisonResults.of(grid, gathered, race.winners(gathered), seconds, by=by, sigmas=race.sigmas)
        if folder is not None:
            write_comparison(folder, found, grid, most_runs=most_runs, scale_to_records=scale_to_records)
    return found


class _Race:
    """The runs of one comparison."""

    def __init__(
        self, grid: ExperimentGrid, *, by: str, most_runs: int, folder: ResultFolder | None, pool: WorkerPool
    ) -> None:
        self._grid, self._by, self._most, self._folder, self._pool = grid, by, most_runs, folder, pool
        limits = {
            case: run_limit(
                case.method, total=grid.datasets[case.dataset].ladder.total, count=case.count, most=most_runs
            )
            for case in grid.cases
        }
        self._limits = {case.cell: limit for case, limit in limits.items()}
        self._cases = [replace(case, runs=min(case.runs, limit)) for case, limit in limits.items() if limit]
        self._parts: dict[tuple[str, str, float, int], list[CellKey]] = {}
        for case in self._cases:
            for league in LEAGUES:
                if takes_part(league, case.method, count=case.count, epsilon=float(case.epsilon)):
                    place = (case.dataset, league.key, float(case.epsilon), case.count)
                    self._parts.setdefault(place, []).append(case.cell)
        cells = len(grid.datasets) * len(grid.epsilons) * len(grid.counts)
        self.sigmas = sigmas(cells=cells, contestants=len(grid.methods), looks=LOOKS)

    def run(self) -> dict[CellKey, Gathered]:
        """The first runs of all, and more of those that can still change who wins."""
        first = [case.expected for case in self._cases]
        # More runs take about twice as long as the first ones: measured on the default grid.
        self._pool.plan.expect("rounds", [*first, *first], jobs=self._pool.jobs)
        records = compute_all(
            self._cases, self._grid.datasets, folder=self._folder, pool=self._pool, what=self._grid.name
        )
        found = {case.cell: Gathered.first(case, records[case]) for case in self._cases}
        return more_runs(
            found, self._grid.datasets, self._wanting, folder=self._folder, pool=self._pool, most_runs=self._most
        )

    def winners(self, found: Mapping[CellKey, Gathered]) -> list[WonCell]:
        """The places of each league with at least two that take part, at each dataset, epsilon and c."""
        return [
            WonCell(
                dataset=dataset,
                league=league,
                epsilon=epsilon,
                count=count,
                standing=standing({cell.method: self._measured(found[cell]) for cell in cells}, sigmas=self.sigmas),
            )
            for (dataset, league, epsilon, count), cells in self._parts.items()
            if len(cells) > 1
        ]

    def _measured(self, found: Gathered) -> MeanError:
        record = found.record
        return MeanError(mean=record[f"{self._by}_mean"], std=record[f"{self._by}_std"], runs=found.runs)

    def _wanting(self, found: Mapping[CellKey, Gathered]) -> dict[CellKey, float]:
        """How many times the runs of each case would decide: of an open pair, of who is less sure and may run."""
        wanted: dict[CellKey, float] = {}
        for won in self.winners(found):
            for pair, times in won.standing.unsure.items():
                cells = [CellKey(won.dataset, method, won.epsilon, won.count) for method in pair]
                lengths = [sum(self._measured(found[cell]).term(self.sigmas)) for cell in cells]
                for cell, length in zip(cells, lengths, strict=True):
                    if length >= max(lengths) / 2 and found[cell].runs < self._limits[cell]:
                        wanted[cell] = max(times, wanted.get(cell, 0.0))
        return wanted

    def release_seconds(self) -> dict[tuple[str, str, int], float]:
        """The seconds of one release, by dataset, method and c, at the middle epsilon."""
        middle = sorted(self._grid.epsilons)[len(self._grid.epsilons) // 2]
        wanted = [
            TimedRelease(dataset=name, key=method.key, options=tuple(options.items()), count=count, epsilon=middle)
            for name in self._grid.datasets
            for method in self._grid.methods
            if (options := release_options(method)) is not None
            for count in self._grid.counts
        ]
        keys = {one: stable_hash("release", self._grid.datasets[one.dataset].fingerprint, one) for one in wanted}
        kept = {one: self._folder.load(keys[one]) if self._folder else None for one in wanted}
        found = {one: record["seconds"] for one, record in kept.items() if record}
        missing = [(one, self._grid.datasets[one.dataset].ladder) for one in wanted if one not in found]
        work, plan = Expected(kind="release", seconds=_RELEASE_SECONDS), self._pool.plan
        plan.expect("releases", [work] * len(missing), jobs=self._pool.jobs)
        with (
            plan.stage("releases", total=len(wanted), resumed=len(found)),
            closing(self._pool.each(time_release, missing)) as finished,
        ):
            for (one, _), took in finished:
                found[one] = took
                plan.advance(work, took=took)
                if self._folder:
                    self._folder.save(keys[one], {"seconds": took})
        return {(one.dataset, one.key, one.count): took for one, took in found.items()}
