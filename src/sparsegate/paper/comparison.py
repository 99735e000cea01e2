"""The comparison: every method at every c and epsilon on every dataset, run until it is known who wins where.

All cases are run some times; then those that can still change the winners of a cell, round after round. A method takes
part in a league only if its *true* epsilon there is no more than what is asked for. Its winners are those whose mean
error is at most MARGIN above the least: who is behind, who wins and who is undecided is decided by the intervals of
``decisions``, wrongly on any map with probability FALSE_MAP at most. Proof: docs/explanation/proofs_in_words/paper.md.

Where the library can release what a method selects, ``select_top`` itself is timed, on the score of every item with
exact noise, once for each dataset and c. A method that is not ours is timed by its own runs."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from fractions import Fraction
from importlib.metadata import version
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from statistics import NormalDist
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sparsegate.budget import Number, check_choice, exact_count
from sparsegate.display.plain import amount_text, plain
from sparsegate.display.sheet import Sheet
from sparsegate.errors import ParameterError, load_extra
from sparsegate.noise import Seeded
from sparsegate.paper.data import PUBLISHED, Dataset
from sparsegate.paper.decisions import CHOSEN, LOOKS, MARGIN, Quantity, mean_over_runs, most_wanting
from sparsegate.paper.experiments import CaseRunner, ExperimentCase, ExperimentGrid, Gathered, chosen_datasets
from sparsegate.paper.methods import METHODS, AnyMethod, Method, SuppliedMethod, methods_of
from sparsegate.paper.ranked import Ladder
from sparsegate.paper.results import THRESHOLD, CellKey, ExperimentResults, ResultFolder, manifest, stable_hash, table
from sparsegate.paper.workers import Progress, WorkerPool, give_back_memory, shared_pool
from sparsegate.selection.select import select_top

if TYPE_CHECKING:
    from matplotlib.figure import Figure


LEFT_OUT = ("svt-dpbook-once", "svt-dpbook-monotonic", "svt-s-half-t", "svt-s-double-t", "svt-s-double-t-retr")
"""Alg. 2 with one thing changed, and thresholds that are off: they explain the paper, and are nobody's method."""

COMPARED = tuple(key for key in METHODS if key not in LEFT_OUT)
"""The methods of ours that are compared unless others are asked for."""

DELTA = 1e-6  # the delta of the league that has one

TOUCHED = 10  # how many scores one person touches at most, in the league that relies on it

PEER_RUNS = 2
PEER_WORK = 450_000
"""The peers see every score and take up to minutes for a run: they get two, where items times c are at most this."""

ITEM_WORK = 20_000_000
"""A method of your own sees every score, too: in all of its runs of a case it is shown this many, in four at least."""

_TRUE = 1 + 1e-9  # a true epsilon is a float


@dataclass(frozen=True, kw_only=True)
class League:
    """A promise; who takes part has at most this ``delta``, and relies on no more than it says.

    With ``touched`` one person touches at most so many scores; with ``interactive`` items come one after the other, and
    each is answered at once.
    """

    key: str
    title: str
    delta: float = 0.0
    touched: int | None = None
    interactive: bool = False

    def admits(self, method: AnyMethod, *, count: int, epsilon: float) -> bool:
        """Whether the method can win in this league. Peers cannot: two runs decide nothing."""
        touched = method.max_items_per_user
        return (
            not is_peer(method)
            and method.delta <= self.delta
            and (touched is None or (self.touched is not None and touched >= self.touched))
            and (method.interactive or not self.interactive)
            and method.true_epsilon(count=count, epsilon=epsilon) <= epsilon * _TRUE
        )


LEAGUES = (
    League(key="pure", title="ε"),
    League(key="delta", title="ε and δ = 1e-6", delta=DELTA),
    League(key="touched", title=f"ε, at most {TOUCHED} scores a person", touched=TOUCHED),
    League(key="gate", title="ε, one item after the other", interactive=True),
)


def opendp_top_k(scores: NDArray[Any], count: int, epsilon: float, rng: np.random.Generator) -> list[int]:
    """OpenDP's top-k of counts: permute-and-flip, peeled; the noise is its own, and no seed reaches it.

    Scale count / epsilon, which OpenDP itself says is epsilon-DP for counts.
    """
    dp = load_extra("opendp.prelude", extra="bench")
    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T="f64", nan=False))
    distance = dp.linf_distance(T="f64", monotonic=True)
    noisy = dp.m.make_noisy_top_k(domain, distance, dp.max_divergence(), k=count, scale=count / epsilon)
    return list(noisy(scores))


def diffprivlib_top_k(scores: NDArray[Any], count: int, epsilon: float, rng: np.random.Generator) -> list[int]:
    """diffprivlib's exponential mechanism, once for each item, at epsilon / count; the winner is taken out."""
    mechanism = load_extra("diffprivlib.mechanisms", extra="bench").Exponential
    state = np.random.RandomState(int(rng.integers(1 << 32)))
    share = {"epsilon": epsilon / count, "sensitivity": 1, "monotonic": True, "random_state": state}
    utility, candidates, chosen = scores.tolist(), list(range(scores.size)), []
    for _ in range(count):
        place = mechanism(utility=utility, **share).randomise()
        chosen.append(candidates.pop(place))
        utility.pop(place)
    return chosen


PEERS: Mapping[str, SuppliedMethod] = MappingProxyType(
    {
        "opendp": SuppliedMethod.of(opendp_top_k, key="opendp", title="OpenDP top-k"),
        "diffprivlib": SuppliedMethod.of(diffprivlib_top_k, key="diffprivlib", title="diffprivlib, peeled"),
    }
)
"""Other libraries' ways to select, by the name of the library."""

NEAREST = MappingProxyType({"opendp": "one-shot", "diffprivlib": "em"})
"""The method of ours that is nearest to a peer: OpenDP's draws the noise of one-shot anew for each of the c places."""


def is_peer(method: AnyMethod) -> bool:
    """Whether the method is that of another library."""
    return isinstance(method, SuppliedMethod) and method.source in [peer.source for peer in PEERS.values()]


def contestants(methods: Sequence[object], mine: Iterable[object], *, peers: bool) -> list[AnyMethod]:
    """The methods of a comparison, in their order; who has a parameter for a delta takes part with one, too.

    Finished cases of the peers that can be imported are those of a version of them.
    """
    installed = [replace(peer, version=version(name)) for name, peer in PEERS.items() if find_spec(name)]
    chosen: list[object] = []
    for method in methods_of([*methods, *(installed if peers else ()), *mine]):
        chosen.append(method)
        if isinstance(method, SuppliedMethod) and method.takes_delta and not method.delta:
            chosen.append(method.at_delta(DELTA))
    return methods_of(chosen)


def run_limit(method: AnyMethod, *, total: int, count: int, most: int) -> int:
    """How often a case of so many items may be run: simulated on grouped scores the most, else by its work."""
    if is_peer(method):
        return PEER_RUNS if total * count <= PEER_WORK else 0
    if isinstance(method, SuppliedMethod) and not method.grouped:
        return min(most, max(4, ITEM_WORK // total))
    return most


def release_options(method: AnyMethod) -> dict[str, Any] | None:
    """What ``select_top`` is told to select as the method does, but for a threshold; None where it cannot."""
    if not isinstance(method, Method):
        return None
    if method.row is None:
        promise = {"max_items_per_user": method.max_items_per_user, "delta": method.delta}
        return {"method": method.selection, **{name: value for name, value in promise.items() if value}}
    if method.key == "svt-retr-3d":  # the other retraversals differ in a number
        return {"method": "retraversal", "raise_by": method.raise_by}
    gate = method.row.key == "standard" and method.passes == 1 and not method.delta
    return {"method": "sparse-vector", "allocation": method.allocation} if gate else None


Release: TypeAlias = tuple[str, str, int]  # one selection to be timed: its dataset, method and c


def time_release(work: tuple[Release, Ladder, Mapping[str, Any], Fraction]) -> float:
    """The seconds of one release. Seeded, so not private: nothing is handed out."""
    (_, _, count), ladder, told, epsilon = work
    scores = np.repeat(ladder.values, ladder.sizes)
    np.random.default_rng(count).shuffle(scores)
    options = {"sensitivity": 1.0, "monotonic": True, "source": Seeded(1), "not_private": True, **told}
    if options["method"] in ("sparse-vector", "retraversal"):
        options["threshold"] = ladder.oracle_threshold(count)
    start = time.perf_counter()
    select_top(scores, count=count, epsilon=epsilon, **options)
    took = time.perf_counter() - start
    del scores
    give_back_memory()
    return took


FALSE_MAP = 4e-3
"""The chance that any cell of any map shows somebody who does not belong there, or leaves out somebody who does."""


@dataclass(frozen=True, kw_only=True)
class CellPlaces:
    """One cell: the winners, best first; who is behind; who is undecided; and the lowest mean error of all.

    ``wanting`` are the cases that need more runs, and how many times as many would decide, if nothing else changed.
    """

    winners: tuple[str, ...] = ()
    behind: tuple[str, ...] = ()
    undecided: tuple[str, ...] = ()
    wanting: Mapping[CellKey, float] = field(default_factory=dict)
    best: float = math.nan

    @property
    def decided(self) -> bool:
        return not self.undecided


def sigmas(*, cells: int, contestants: int, looks: int) -> float:
    """Half the length of an interval, in standard errors: FALSE_MAP is shared by all ordered pairs and all looks."""
    comparisons = max(1, cells * contestants * (contestants - 1) * looks * CHOSEN)
    return -NormalDist().inv_cdf(FALSE_MAP / comparisons)


def standing(measured: Mapping[str, Quantity]) -> CellPlaces:
    """The places of all that take part, by their mean errors."""
    order = sorted(measured, key=lambda key: (measured[key].value, key))
    places: dict[str, list[str]] = {"winners": [], "behind": [], "undecided": []}
    unsure: list[Quantity] = []
    for key in order:
        own, open_gaps = measured[key], []
        for rival in (rival for rival in order if rival != key):
            gap = own - measured[rival]
            if gap.lowest > MARGIN:
                places["behind"].append(key)
                break
            if min(gap.highest, own.highest) > MARGIN:  # no error is below 0
                open_gaps.append(gap)
        else:
            places["undecided" if open_gaps else "winners"].append(key)
            unsure += open_gaps
    wanting = most_wanting(dict.fromkeys(gap.widest, gap.needed(MARGIN)) for gap in unsure)
    best = measured[order[0]].value if order else math.nan
    return CellPlaces(**{name: tuple(keys) for name, keys in places.items()}, wanting=wanting, best=best)


def tallied(standings: Iterable[CellPlaces]) -> dict[str, tuple[int, int]]:
    """How many cells each method wins alone, and in how many it ties; most alone first."""
    alone, tied = Counter[str](), Counter[str]()
    for places in standings:
        (alone if places.decided and len(places.winners) == 1 else tied).update(places.winners)
    counts = {key: (alone[key], tied[key]) for key in alone | tied}
    return dict(sorted(counts.items(), key=lambda entry: (-entry[1][0], -sum(entry[1]))))


_RATES = ("fnr", "precision", "ser", "total_ser")

# Of the results, with their PyArrow types. An ``error`` is a standard error; ``true_epsilon`` is empty for a method
# that is not ours, and ``seconds``, of one selection among all scores, where nobody can release what it selects.
COLUMNS: Mapping[str, str] = {
    "dataset": "string",
    "stand_in": "bool_",
    "method": "string",
    **dict.fromkeys(("epsilon", "true_epsilon", "delta"), "float64"),
    **dict.fromkeys(("count", "runs"), "int64"),
    **{f"{rate}_{what}": "float64" for rate in _RATES for what in ("mean", "error")},
    **dict.fromkeys(("selected_mean", "seconds"), "float64"),
}
WINNER_COLUMNS: Mapping[str, str] = {  # several names have a space between
    **dict.fromkeys(("dataset", "league"), "string"),
    "epsilon": "float64",
    "count": "int64",
    **dict.fromkeys(("winners", "undecided"), "string"),
    "best": "float64",
}


@dataclass(frozen=True)
class WonCell:
    """The places of a league at one dataset, epsilon and c."""

    dataset: str
    league: str
    epsilon: float
    count: int
    standing: CellPlaces

    def row(self) -> dict[str, Any]:
        held = {**vars(self), **vars(self.standing)}
        return {name: held[name] for name in WINNER_COLUMNS}


@dataclass(frozen=True, eq=False, repr=False)
class ComparisonResults(ExperimentResults):
    """A row for each case in ``table``; ``winners`` has a cell for each league, dataset, epsilon and c.

    ``titles`` are those of methods and datasets by their keys; ``by`` is the error that decided.
    """

    winners: Sequence[WonCell]
    titles: Mapping[str, str]
    by: str
    sigmas: float

    def _columns(self) -> dict[str, list[Any]]:
        return dict(self.table.to_pydict())  # dataframes have the cases; the sheet only counts winners

    def to_dict(self) -> dict[str, Any]:
        """The results as JSON takes them, by the schema "sparsegate/comparison/1": see docs/reference/json.md."""

        def exact(row: dict[str, Any]) -> dict[str, Any]:
            return {**plain(row), "epsilon": amount_text(row["epsilon"])}

        return {
            "schema": "sparsegate/comparison/1",
            "by": self.by,
            "margin": MARGIN,
            "false_map": FALSE_MAP,
            "items": [exact(row) for row in self],
            "winners": [exact(cell.row()) for cell in self.winners],
        }

    @property
    def unchecked(self) -> list[str]:
        """The methods that take part and are not ours: that they are private is their word alone."""
        supplied = {row["method"] for row in self if row["true_epsilon"] is None}
        placed = [key for cell in self.winners for key in (*cell.standing.winners, *cell.standing.undecided)]
        return [key for key in dict.fromkeys(placed) if key in supplied]

    def league(self, key: str) -> list[WonCell]:
        return [cell for cell in self.winners if cell.league == key]

    def sheet(self) -> Sheet:
        """Who wins how many cells of which league."""
        rows = [
            (league.title, self.titles[key], alone, tied)
            for league in LEAGUES
            for key, (alone, tied) in tallied(cell.standing for cell in self.league(league.key)).items()
        ]
        columns = dict(zip(("league", "method", "alone", "tied"), zip(*rows, strict=True), strict=True)) if rows else {}
        title = f"winners of {len(self.winners)} cells; {THRESHOLD}"
        return Sheet(title=title, columns=columns, numbers=frozenset({"alone", "tied"}))

    def plot(self) -> Figure:
        """Who wins where: a map of c and epsilon for each dataset."""
        from sparsegate.paper.comparison_page import draw_maps

        return draw_maps(self, LEAGUES[0])

    def write(self, folder: ResultFolder, about: Mapping[str, Any]) -> None:
        """Write all files but the report: ``about`` is the manifest."""
        rows = [cell.row() for cell in self.winners]
        named = [row | {name: " ".join(row[name]) for name in ("winners", "undecided")} for row in rows]
        folder.write("results", self.table)
        folder.write("winners", table(named, WINNER_COLUMNS))
        folder.write_json("results", self.to_dict())
        rule = {"margin": MARGIN, "false_map": FALSE_MAP, "sigmas": self.sigmas}
        folder.write_json("manifest", {**about, **rule}, indent=2)


DEFAULT_COUNTS = (10, 25, 50, 100, 200, 400)
DEFAULT_EPSILONS = (0.01, 0.03, 0.1, 0.3, 1.0)
DEFAULT_RUNS, MOST_RUNS = 100, 3_200
USE_EPSILONS, USE_RUNS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0), 1000
MEASURES = ("fnr", "total_ser")
"""What winners may be sought by. Not by SER: fewer than c items, all high, have a negative one."""

_RELEASE_SECONDS, _PAGE_SECONDS = 0.1, 6.0  # about: of two million items, 0.2 s


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
    uses: bool = False,
    by: str = "fnr",
    runs: int = DEFAULT_RUNS,
    most_runs: int = MOST_RUNS,
    seed: int = 0,
    jobs: int = 1,
    out: str | Path | None = None,
    latex: bool = False,
    progress: Callable[[Progress], object] | None = None,
    pool: WorkerPool | None = None,
) -> ComparisonResults:
    """Compare ways to select the c highest scores; the results have a row for each case, and the winners of each cell.

    NOT PRIVATE: thresholds are computed from the true scores, as in the paper.

    Parameters
    ----------
    datasets, data, records, scale_to_records, seed, jobs, progress, pool: as of ``run``.
    counts: values of c. epsilon: one or more.
    methods: keys of ``METHODS``, or anything with ``select``. mine: more of them, yours.
    peers: run OpenDP's and diffprivlib's top-k, too, where they are installed.
    uses: measure itemsets, features and attribute pairs, too, for the report.
    by: the error that decides who wins: "fnr", or "total_ser".
    runs: how often each case is run at first. most_runs: how often at most, until winners are known.
    out: a folder for results, winners, manifest, maps and ``report.html``. Cases that are there already are not
        computed again.
    latex: write the maps as PDF and as LaTeX, too; it needs out.

    >>> import sparsegate as sg
    >>> methods = ["em", "svt-dpbook"]
    >>> found = sg.paper.compare(datasets=["zipf"], counts=[10], epsilon=0.1, methods=methods, peers=False)
    >>> found.winners[0].standing.winners, found.winners[0].standing.behind
    (('em',), ('svt-dpbook',))
    """
    from sparsegate.paper import uses as measured
    from sparsegate.paper.comparison_page import write_page

    chosen = chosen_datasets(datasets, data or {}, records or {}, scale_to_records)
    check_choice(by, "by", MEASURES)
    most_runs = exact_count(most_runs, "most_runs")
    runs = exact_count(runs, "runs", least=2, most=most_runs)
    for name, asked in (("uses", uses), ("latex", latex)):
        if asked and out is None:
            raise ParameterError(name, "needs a folder to write to", next_step="pass out=")
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
    if out is not None:
        load_extra("matplotlib.figure", extra="plots")
    tasks = measured.use_tasks(epsilons=USE_EPSILONS, runs=USE_RUNS, seed=seed) if uses else []
    folder = None if out is None else ResultFolder.open(out)
    with folder.held() if folder else nullcontext(), shared_pool(pool, jobs, progress) as workers:
        if folder is not None:
            folder.forget()
            workers.plan.expect("page", _PAGE_SECONDS)
            measured.plan_uses(workers, tasks)
        race = _Race(grid, by=by, most_runs=most_runs, folder=folder, pool=workers)
        # Releases first: one of all scores takes memory, and so do workers that have simulated.
        seconds = race.release_seconds()
        gathered = race.run()
        rows = [
            _row(case, chosen, seconds.get((cell.dataset, cell.method, cell.count))) for cell, case in gathered.items()
        ]
        titles = {name: dataset.title for name, dataset in chosen.items()}
        titles |= {method.key: method.title for method in grid.methods}
        results = ComparisonResults(table(rows, COLUMNS), race.winners(gathered), titles, by, race.sigmas)
        if folder is not None:
            parameters = grid.parameters() | {"by": by, "most_runs": most_runs, "scale_to_records": scale_to_records}
            about = manifest(datasets=chosen.values(), methods=grid.methods, parameters=parameters)
            results.write(folder, about)
            use_rows = measured.measure_uses(folder.path, workers, tasks) if tasks else ()
            with workers.plan.stage("page"):
                write_page(folder.path, results, about, use_rows, latex=latex)
    return results


def _row(gathered: Gathered, datasets: Mapping[str, Dataset], release: float | None) -> dict[str, Any]:
    row, case, method = gathered.row(datasets), gathered.case, gathered.case.method
    supplied = isinstance(method, SuppliedMethod)
    row |= {
        "true_epsilon": None if supplied else method.true_epsilon(count=case.count, epsilon=float(case.epsilon)),
        "delta": float(method.delta),
        "precision_mean": 1 - row["fpr_mean"],
        "precision_std": row["fpr_std"],
        "seconds": row["seconds"] / gathered.runs if supplied else release,
    }
    return row | {f"{rate}_error": row[f"{rate}_std"] / math.sqrt(gathered.runs) for rate in _RATES}


class _Race:
    """The runs of one comparison."""

    def __init__(
        self, grid: ExperimentGrid, *, by: str, most_runs: int, folder: ResultFolder | None, pool: WorkerPool
    ) -> None:
        self._grid, self._by, self._most, self._folder, self._pool = grid, by, most_runs, folder, pool
        self._limits: dict[CellKey, int] = {}
        self._cases: list[ExperimentCase] = []
        self._parts: dict[tuple[str, str, float, int], list[CellKey]] = {}
        for case in grid.cases:
            total, epsilon = grid.datasets[case.dataset].ladder.total, float(case.epsilon)
            if limit := run_limit(case.method, total=total, count=case.count, most=most_runs):
                self._limits[case.cell] = limit
                self._cases.append(replace(case, runs=min(case.runs, limit)))
                for league in LEAGUES:
                    if league.admits(case.method, count=case.count, epsilon=epsilon):
                        place = (case.dataset, league.key, epsilon, case.count)
                        self._parts.setdefault(place, []).append(case.cell)
        cells = len(grid.datasets) * len(grid.epsilons) * len(grid.counts)
        self.sigmas = sigmas(cells=cells, contestants=len(grid.methods), looks=LOOKS)

    def run(self) -> dict[CellKey, Gathered]:
        # More runs take about twice as long as the first ones: measured on the default grid.
        self._pool.plan.expect("rounds", 2 * sum(case.expected for case in self._cases))
        runner = CaseRunner(datasets=self._grid.datasets, folder=self._folder, pool=self._pool)
        return runner.more_runs(runner.first_runs(self._cases), self._wanting, most_runs=self._most)

    def winners(self, gathered: Mapping[CellKey, Gathered]) -> list[WonCell]:
        """The places of each league with at least two that take part, at each dataset, epsilon and c."""

        def error(cell: CellKey) -> Quantity:
            mean, std = (gathered[cell].record[f"{self._by}_{what}"] for what in ("mean", "std"))
            return mean_over_runs((cell, self._by), mean, std, gathered[cell].runs, sigmas=self.sigmas)

        return [
            WonCell(*place, standing({cell.method: error(cell) for cell in cells}))
            for place, cells in self._parts.items()
            if len(cells) > 1
        ]

    def _wanting(self, gathered: Mapping[CellKey, Gathered]) -> dict[CellKey, float]:
        wanted = most_wanting(won.standing.wanting for won in self.winners(gathered))
        return {cell: times for cell, times in wanted.items() if gathered[cell].runs < self._limits[cell]}

    def release_seconds(self) -> dict[Release, float]:
        """The seconds of one release, by dataset, method and c, at the middle epsilon."""
        middle = sorted(self._grid.epsilons)[len(self._grid.epsilons) // 2]
        keys, missing, seconds = {}, [], {}
        told = {method.key: release_options(method) for method in self._grid.methods}
        for release in product(self._grid.datasets, told, self._grid.counts):
            dataset, options = self._grid.datasets[release[0]], told[release[1]]
            if options is None:
                continue
            keys[release] = stable_hash("release", dataset.fingerprint, release, options, middle)
            if record := self._folder and self._folder.load(keys[release]):
                seconds[release] = record["seconds"]
            else:
                missing.append((release, dataset.ladder, options, middle))
        for (release, *_), took in self._pool.each(
            "releases", time_release, missing, expected=lambda _: _RELEASE_SECONDS, resumed=len(seconds)
        ):
            seconds[release] = took
            if self._folder:
                self._folder.save(keys[release], {"seconds": took})
        return seconds


MOST_NAMED = 3  # who wins less often than so many others is not named


def headlines(results: ComparisonResults) -> dict[str, str]:
    """Of each league, who wins how many cells alone; how many are ties, or undecided; and whom nobody has checked."""
    sentences = {}
    for league in LEAGUES:
        if not (cells := [cell.standing for cell in results.league(league.key)]):
            continue
        alone = [(key, count) for key, (count, _) in tallied(cells).items() if count]
        ties = sum(places.decided and len(places.winners) > 1 for places in cells)
        parts = [f"{results.titles[key]} wins {count}" for key, count in alone[:MOST_NAMED]]
        if rest := sum(count for _, count in alone[MOST_NAMED:]):
            parts.append(f"others {rest}")
        undecided = sum(not places.decided for places in cells)
        parts += [f"{ties} {'tie' if ties == 1 else 'ties'}", f"{undecided} undecided"]
        sentences[league.title] = f"of {len(cells)} cells " + "; ".join(parts)
    if results.unchecked:
        names = ", ".join(results.titles[key] for key in results.unchecked)
        sentences["taken at their word"] = f"{names}; whether that is private was not checked, see sg.audit"
    return sentences
