"""The comparison: every method at every c and epsilon on every dataset, run until it is known who wins where.

All cases are run some times; then those that can still change the winners of a cell, as often again as before, round
after round, until every cell is decided or the most runs are reached. Each round draws from a seed of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path

from sparsegate.budget import Number, exact_count, exact_epsilon
from sparsegate.errors import ParameterError
from sparsegate.evaluation.comparison.comparison_results import ComparisonResults, Ranked, write_comparison
from sparsegate.evaluation.comparison.contestants import COMPARED, LEAGUES, contestants, most_runs, takes_part
from sparsegate.evaluation.comparison.releases import Release, release_options, time_release
from sparsegate.evaluation.comparison.winners import Measured, Standing, sigmas, standing
from sparsegate.evaluation.data.datasets import PUBLISHED, Dataset
from sparsegate.evaluation.experiment.experiments import ExperimentGrid, chosen_datasets, distinct
from sparsegate.evaluation.experiment.progress import Expected, Progress, WorkPlan
from sparsegate.evaluation.experiment.results import Record, ResultFolder, stable_hash, table
from sparsegate.evaluation.experiment.workers import ExperimentCase, WorkerPool, compute_all

DEFAULT_COUNTS = (10, 25, 50, 100, 200, 400)
DEFAULT_EPSILONS = (0.01, 0.03, 0.1, 0.3, 1.0)
DEFAULT_RUNS, MOST_RUNS = 100, 12_800
MEASURES = ("fnr", "total_ser")
"""What winners may be sought by. Not by SER: fewer than c items, all high, have a negative one."""

_RATES = ("ser", "fnr", "selected", "total_ser", "fpr")
_RELEASE_SECONDS = 0.1  # of one release, about: of two million items, 0.2 s


@dataclass(kw_only=True)
class _Tally:
    """All runs of one case so far: mean and sum of squared deviations of each rate."""

    runs: int = 0
    seconds: float = 0.0
    means: dict[str, float] = field(default_factory=lambda: dict.fromkeys(_RATES, 0.0))
    squares: dict[str, float] = field(default_factory=lambda: dict.fromkeys(_RATES, 0.0))

    def add(self, runs: int, record: Record) -> None:
        """Merge the runs of a round: with d the difference of the means, squares grow by d^2 n m / (n + m) as well."""
        both = self.runs + runs
        for rate in _RATES:
            gap = record[f"{rate}_mean"] - self.means[rate]
            within = (runs - 1) * record[f"{rate}_std"] ** 2 if runs > 1 else 0.0
            self.squares[rate] += within + gap**2 * self.runs * runs / both
            self.means[rate] += gap * runs / both
        self.runs, self.seconds = both, self.seconds + record["seconds"]

    def measured(self, rate: str) -> Measured:
        deviation = math.sqrt(self.squares[rate] / (self.runs - 1)) if self.runs > 1 else math.nan
        return Measured(mean=self.means[rate], std=deviation, runs=self.runs)


def compare(
    *,
    datasets: Sequence[str | Dataset] = tuple(PUBLISHED),
    data: Mapping[str, str | Path] | None = None,
    scale_to_records: bool = False,
    counts: Iterable[int] = DEFAULT_COUNTS,
    epsilon: Number | Iterable[Number] = DEFAULT_EPSILONS,
    methods: Sequence[object] = COMPARED,
    mine: Sequence[object] = (),
    peers: bool = True,
    by: str = "fnr",
    runs: int = DEFAULT_RUNS,
    most: int = MOST_RUNS,
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
    datasets, data, scale_to_records, seed, jobs, out, progress, pool: as of ``run``.
    counts: values of c. epsilon: one or more.
    methods: keys of ``METHODS``, or anything with ``select``. mine: more of them, yours.
    peers: run OpenDP's and diffprivlib's top-k, too, where they are installed.
    by: the error that decides who wins: "fnr", or "total_ser".
    runs: how often each case is run at first. most: how often at most, until winners are known.

    >>> found = compare(datasets=["zipf"], counts=[10], epsilon=0.1, methods=["em", "svt-dpbook"], peers=False)
    >>> found.winners[0].standing.winners, found.winners[0].standing.behind
    (('em',), ('svt-dpbook',))
    """
    chosen = chosen_datasets(datasets, data or {}, scale_to_records)
    shares = epsilon if isinstance(epsilon, Iterable) else [epsilon]
    runs, most = exact_count(runs, "runs"), exact_count(most, "most")
    if by not in MEASURES:
        raise ParameterError("by", f"must be one of {', '.join(MEASURES)}", by)
    if runs < 2 or most < runs:
        raise ParameterError("runs", "must be at least 2, and most at least that", (runs, most))
    grid = ExperimentGrid(
        name="first runs",
        datasets=chosen,
        methods=distinct(contestants(methods, mine, peers=peers), "methods"),
        epsilons=distinct([exact_epsilon(share) for share in shares], "epsilon"),
        counts=distinct([exact_count(count, "counts") for count in counts], "counts"),
        runs=runs,
        seed=seed,
    )
    for dataset in chosen.values():
        dataset.ladder.check_count(max(grid.counts))
    table([])  # if PyArrow is missing, say so before the work
    folder = None if out is None else ResultFolder.open(out)
    with nullcontext(pool) if pool else WorkerPool(jobs, WorkPlan(progress)) as workers:
        race = _Race(grid=grid, by=by, most=most, folder=folder, pool=workers)
        race.run()
        seconds = race.release_seconds()
    found = ComparisonResults.of(grid, race.ranked(seconds), race.standings(), by=by, sigmas=race.sigmas)
    if folder is not None:
        write_comparison(folder, found, grid, scale_to_records=scale_to_records, most=most)
    return found


class _Race:
    """The rounds of one comparison."""

    def __init__(
        self, *, grid: ExperimentGrid, by: str, most: int, folder: ResultFolder | None, pool: WorkerPool
    ) -> None:
        self._grid, self._by, self._folder, self._pool = grid, by, folder, pool
        self._looks = 1 + int(math.log2(most // grid.runs))
        self._limits = {case: self._limit(case, grid.runs << (self._looks - 1)) for case in grid.cases}
        self._tallies = {case: _Tally() for case, limit in self._limits.items() if limit}
        self._cells: dict[tuple[str, Fraction, int], dict[str, ExperimentCase]] = {}
        for case in self._tallies:
            self._cells.setdefault((case.dataset, case.epsilon, case.count), {})[case.method.key] = case
        self._leagues = {
            (place, league.key): [
                case
                for case in cases.values()
                if takes_part(league, case.method, count=case.count, epsilon=float(case.epsilon))
            ]
            for place, cases in self._cells.items()
            for league in LEAGUES
        }
        self.sigmas = sigmas(cells=len(self._cells), contestants=len(grid.methods), looks=self._looks)

    def _limit(self, case: ExperimentCase, cap: int) -> int:
        return most_runs(case.method, total=self._grid.datasets[case.dataset].ladder.total, count=case.count, cap=cap)

    def run(self) -> None:
        """All rounds."""
        self._round(0, list(self._tallies), "first runs")
        for number in range(1, self._looks):
            wanting = self._wanting()
            if not wanting:
                return
            self._round(number, wanting, "rounds")

    def _round(self, number: int, cases: Sequence[ExperimentCase], what: str) -> None:
        """Round 0 makes the first runs, and round k as many as there were before it."""
        seed = self._grid.seed if not number else int(stable_hash(self._grid.seed, "round", number), 16)
        batches = {}
        for case in cases:
            size = min(self._grid.runs << max(number - 1, 0), self._limits[case] - self._tallies[case].runs)
            batches[replace(case, runs=size, seed=seed)] = case
        # Half of the cases want twice the runs again: the next round takes about as long as this one.
        self._pool.plan.expect("rounds", [batch.expected for batch in batches] if number + 1 < self._looks else [])
        records = compute_all(list(batches), self._grid.datasets, folder=self._folder, pool=self._pool, what=what)
        for batch, case in batches.items():
            self._tallies[case].add(batch.runs, records[batch])

    def _wanting(self) -> list[ExperimentCase]:
        """The cases whose further runs can help to decide a cell: of an open pair, who is less sure, if it may run."""
        wanted = set()
        for (dataset, _, share, count), place in self.standings().items():
            cases = self._cells[dataset, share, count]
            for pair in place.unsure:
                tallies = {key: self._tallies[cases[key]] for key in pair}
                errors = {key: tally.measured(self._by).error(self.sigmas) for key, tally in tallies.items()}
                for key in pair:
                    if errors[key] >= max(errors.values()) / 2 and tallies[key].runs < self._limits[cases[key]]:
                        wanted.add(cases[key])
        return [case for case in self._tallies if case in wanted]

    def standings(self) -> dict[tuple[str, str, Fraction, int], Standing]:
        """The winners of each league with at least two that take part, at each dataset, epsilon and c."""
        return {
            (dataset, league, share, count): standing(
                {case.method.key: self._tallies[case].measured(self._by) for case in cases}, sigmas=self.sigmas
            )
            for ((dataset, share, count), league), cases in self._leagues.items()
            if len(cases) > 1
        }

    def release_seconds(self) -> dict[tuple[str, str, int], float]:
        """The seconds of one release, by dataset, method and c, at the middle epsilon."""
        middle = sorted(self._grid.epsilons)[len(self._grid.epsilons) // 2]
        wanted = [
            Release(dataset=name, key=method.key, options=tuple(options.items()), count=count, epsilon=middle)
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

    def ranked(self, seconds: Mapping[tuple[str, str, int], float]) -> list[Ranked]:
        """What is known of each case that was run."""
        return [
            Ranked(
                case=case,
                rates={rate: tally.measured(rate) for rate in _RATES},
                seconds=seconds.get((case.dataset, case.method.key, case.count)),
                own_seconds=tally.seconds / tally.runs,
            )
            for case, tally in self._tallies.items()
        ]
