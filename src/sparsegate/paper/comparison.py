"""The comparison: every method at every c and epsilon on every dataset, run until it is known who wins where.

All cases are run some times; then those that can still change the winners of a cell, as often as it should take to
decide, round after round, until every cell is decided or the most runs are reached.

Who takes part in a comparison: all methods of the evaluation, the peers that are installed, and your own.

**Leagues.** Who promises less may win by that alone, so winners are sought among equals. A method takes part in a
league at a given c and epsilon only if its *true* epsilon is no more than that: rows as claimed that cost more are
shown, and cannot win.

How long one private selection takes: ``select_top`` itself, on the score of every item, with exact noise.

What is simulated on grouped scores takes no such time, so where the library can release what a method selects, that is
timed, once for each dataset and c. A method that is not ours is timed by its own runs.

Who wins where, by intervals: the methods of a cell that are at most a margin worse than the best of them.

Let m_i be the true mean error of method i at one dataset, c and epsilon. The *winners* of a league are

    W = { i : m_i <= min_j m_j + MARGIN },

one winner, or several that tie: a difference of MARGIN or less is none. Of each pair the difference of means has an
interval, that of ``decisions`` with ``sigmas`` as z:

    i is behind      if some j is more than MARGIN better, the whole interval says so;
    i is a winner    if no j is: the whole interval of each difference says so;
    i is undecided   otherwise, and asks for more runs, of itself and of those j.

W is a function of the true means, so another seed gives the same winners, but for cells that end undecided, and but for
the chance of a false decision. ``sigmas`` bounds that chance over all pairs, cells, and looks at them, by FALSE_MAP.

No error is below 0: so the difference to a rival is no more than the upper end of one's own interval, either.

What a comparison leaves: a row for each case with standard errors, and the winners of each cell.

In a folder: results.csv and results.parquet, winners.csv and winners.parquet, results.json, manifest.json.

The first sentences of a comparison: who wins how often in each league, and whose word was taken.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass, replace
from fractions import Fraction
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from statistics import NormalDist
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sparsegate.budget import Number, exact_count
from sparsegate.display.plain import amount_text, plain
from sparsegate.display.sheet import Sheet
from sparsegate.display.tabular import Tabular
from sparsegate.errors import ParameterError, load_extra
from sparsegate.noise import Seeded
from sparsegate.paper.data import PUBLISHED, Dataset
from sparsegate.paper.decisions import CHOSEN, LOOKS, MARGIN, Term, mean_term, reach, times_needed
from sparsegate.paper.experiments import ExperimentGrid, Gathered, chosen_datasets, more_runs
from sparsegate.paper.findings import CellKey
from sparsegate.paper.methods import METHODS, AnyMethod, Method, SuppliedMethod, methods_of
from sparsegate.paper.ranked import Ladder
from sparsegate.paper.results import THRESHOLD, ResultFolder, manifest, replace_text, stable_hash, table, written
from sparsegate.paper.workers import Expected, Progress, WorkerPool, WorkPlan, compute_all
from sparsegate.selection.select import select_top

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib.figure import Figure


LEFT_OUT = ("svt-dpbook-once", "svt-dpbook-monotonic", "svt-s-half-t", "svt-s-double-t", "svt-s-double-t-retr")
"""Alg. 2 with one thing changed, and thresholds that are off: they explain the paper, and are nobody's method."""

COMPARED = tuple(key for key in METHODS if key not in LEFT_OUT)
"""The methods of ours that are compared unless others are asked for."""

DELTA = 1e-6
"""The delta of the league that has one."""

TOUCHED = 10
"""How many scores one person touches at most, in the league that relies on it."""

PEER_RUNS = 2
PEER_WORK = 450_000
"""The peers see every score and take up to minutes for a run: they get two, where items times c are at most this."""

ITEM_WORK = 20_000_000
"""A method of your own sees every score, too: in all of its runs of a case it is shown this many, in four at least."""

_TRUE = 1 + 1e-9  # a true epsilon is a float


@dataclass(frozen=True, kw_only=True)
class League:
    """A promise, and who keeps it: ``admits`` says so of a method whose true epsilon is no more than was asked for."""

    key: str
    title: str
    says: str
    admits: Callable[[AnyMethod], bool]


def _touched(method: AnyMethod) -> int | None:
    return method.touched if isinstance(method, Method) else None


LEAGUES = (
    League(
        key="pure",
        title="ε",
        says="ε-differential privacy, whatever one person does",
        admits=lambda method: not method.delta and _touched(method) is None,
    ),
    League(
        key="delta",
        title="ε and δ = 1e-6",
        says="(ε, 1e-6)-differential privacy; who needs no δ takes part",
        admits=lambda method: method.delta <= DELTA and _touched(method) is None,
    ),
    League(
        key="touched",
        title=f"ε, at most {TOUCHED} scores a person",
        says=f"ε-differential privacy where one person touches at most {TOUCHED} of the scores",
        admits=lambda method: not method.delta and (_touched(method) or TOUCHED) >= TOUCHED,
    ),
    League(
        key="gate",
        title="ε, one item after the other",
        says="ε-differential privacy for items that come one after the other, each answered at once",
        admits=lambda method: not method.delta and _touched(method) is None and method.interactive,
    ),
)


def takes_part(league: League, method: AnyMethod, *, count: int, epsilon: float) -> bool:
    """Whether the method can win in this league. Peers cannot: two runs decide nothing."""
    return not is_peer(method) and league.admits(method) and true_epsilon(method, count, epsilon) <= epsilon * _TRUE


def true_epsilon(method: AnyMethod, count: int, epsilon: float) -> float:
    """What the method costs where it is asked for epsilon; a method that is not ours is taken at its word."""
    return method.true_epsilon(count=count, epsilon=epsilon) if isinstance(method, Method) else epsilon


class OpenDPTopK:
    """OpenDP's top-k of counts: permute-and-flip, peeled; the noise is its own, and no seed reaches it."""

    key, title = "opendp", "OpenDP top-k"

    def select(self, scores: NDArray[Any], count: int, epsilon: float, rng: np.random.Generator) -> list[int]:
        """Scale count / epsilon, which OpenDP itself says is epsilon-DP for counts."""
        dp = load_extra("opendp.prelude", extra="bench")
        dp.enable_features("contrib")
        measurement = dp.m.make_noisy_top_k(
            dp.vector_domain(dp.atom_domain(T="f64", nan=False)),
            dp.linf_distance(T="f64", monotonic=True),
            dp.max_divergence(),
            k=count,
            scale=count / epsilon,
        )
        return list(measurement(scores))


class DiffprivlibTopK:
    """diffprivlib's exponential mechanism, once for each item to select, the winner taken out."""

    key, title = "diffprivlib", "diffprivlib, peeled"

    def select(self, scores: NDArray[Any], count: int, epsilon: float, rng: np.random.Generator) -> list[int]:
        """Each of the rounds spends epsilon / count."""
        mechanism = load_extra("diffprivlib.mechanisms", extra="bench").Exponential
        state = np.random.RandomState(int(rng.integers(1 << 32)))
        utility, candidates, chosen = scores.tolist(), list(range(scores.size)), []
        for _ in range(count):
            share = {"epsilon": epsilon / count, "sensitivity": 1, "monotonic": True}
            place = mechanism(utility=utility, random_state=state, **share).randomise()
            chosen.append(candidates.pop(place))
            utility.pop(place)
        return chosen


PEERS: Mapping[str, object] = MappingProxyType({"opendp": OpenDPTopK(), "diffprivlib": DiffprivlibTopK()})
"""Other libraries' ways to select, by the name of the library."""

NEAREST = MappingProxyType({"opendp": "one-shot", "diffprivlib": "em"})
"""The method of ours that is nearest to a peer.

diffprivlib's has the law of EM. OpenDP's has the noise of one-shot, but draws it anew for each of the c places: of the
scores 3, 2, 1, 0 at c = epsilon = 2 it finds the top two in 73 % of all runs, one-shot in 75 %.
"""


def installed_peers() -> list[SuppliedMethod]:
    """The peers that can be imported here; finished cases are those of a version of them."""
    return [SuppliedMethod.of(peer, version=version(name)) for name, peer in PEERS.items() if find_spec(name)]


def is_peer(method: AnyMethod) -> bool:
    """Whether the method is that of another library."""
    return isinstance(method, SuppliedMethod) and method.source in PEERS.values()


def contestants(given: Sequence[object], mine: Iterable[object], *, peers: bool) -> list[AnyMethod]:
    """The methods of a comparison, in their order; who has a parameter for a delta takes part with one, too."""
    found = methods_of([*given, *(installed_peers() if peers else ()), *mine])
    return methods_of(each for one in found for each in _with_delta(one))


def _with_delta(method: AnyMethod) -> list[AnyMethod]:
    if isinstance(method, SuppliedMethod) and method.takes_delta and not method.delta:
        return [method, method.at_delta(DELTA)]
    return [method]


def run_limit(method: AnyMethod, *, total: int, count: int, most: int) -> int:
    """How often a case of so many items may be run: simulated on grouped scores the most, else by its work."""
    if is_peer(method):
        return PEER_RUNS if total * count <= PEER_WORK else 0
    if isinstance(method, SuppliedMethod) and not method.grouped:
        return min(most, max(4, ITEM_WORK // total))
    return most


RETRAVERSED = METHODS["svt-retr-3d"]
"""The one retraversal that is timed: others differ in a number."""


@dataclass(frozen=True, kw_only=True)
class TimedRelease:
    """One selection to be timed."""

    dataset: str
    key: str
    options: tuple[tuple[str, Any], ...]
    count: int
    epsilon: Fraction


def release_options(method: AnyMethod) -> dict[str, Any] | None:
    """What ``select_top`` is told to select as the method does, but for a threshold; None where it cannot."""
    if not isinstance(method, Method):
        return None
    if method.row is None:
        given = {"max_items_per_user": method.touched, "delta": method.delta}
        return {"method": method.selection, **{name: value for name, value in given.items() if value}}
    if method == RETRAVERSED:
        return {"method": "retraversal", "raise_by": method.raise_by}
    if method.row.key == "standard" and method.passes == 1 and not method.delta:
        return {"method": "sparse-vector", "allocation": method.allocation}
    return None


def time_release(given: tuple[TimedRelease, Ladder]) -> float:
    """The seconds of one release. Seeded, so not private: nothing is handed out."""
    release, ladder = given
    scores = np.repeat(ladder.values, ladder.sizes)
    np.random.default_rng(release.count).shuffle(scores)
    options = dict(release.options)
    if options["method"] in ("sparse-vector", "retraversal"):
        options["threshold"] = ladder.oracle_threshold(release.count)
    fixed: dict[str, Any] = {"sensitivity": 1.0, "monotonic": True, "source": Seeded(1), "not_private": True}
    start = time.perf_counter()
    select_top(scores, count=release.count, epsilon=release.epsilon, **fixed, **options)
    return time.perf_counter() - start


FALSE_MAP = 1e-3
"""The chance that any cell of any map shows somebody who does not belong there, or leaves out somebody who does."""


@dataclass(frozen=True, kw_only=True)
class MeanError:
    """A mean over runs, the standard deviation of a run, and how many there were."""

    mean: float
    std: float
    runs: int

    def term(self, sigmas: float) -> Term:
        """What its interval is made of."""
        return mean_term(self.mean, self.std, self.runs, sigmas)


@dataclass(frozen=True, kw_only=True)
class CellPlaces:
    """One cell: the winners, best first; who is behind; who is undecided, and by which pairs.

    ``unsure`` says of each such pair how many times its runs would decide, if the difference stayed as it is.

    ``best`` is the lowest mean error of all that take part.
    """

    winners: tuple[str, ...]
    behind: tuple[str, ...]
    undecided: tuple[str, ...]
    unsure: Mapping[tuple[str, str], float]
    best: float

    @property
    def decided(self) -> bool:
        """Whether everybody's place is known."""
        return not self.undecided


def sigmas(*, cells: int, contestants: int, looks: int) -> float:
    """Half the length of an interval, in standard errors: FALSE_MAP is shared by all ordered pairs and all looks.

    >>> round(sigmas(cells=120, contestants=27, looks=8), 2)
    6.05
    """
    comparisons = max(1, cells * contestants * (contestants - 1) * looks * CHOSEN)
    return -NormalDist().inv_cdf(FALSE_MAP / comparisons)


def standing(measured: Mapping[str, MeanError], *, sigmas: float, margin: float = MARGIN) -> CellPlaces:
    """The places of all that take part.

    >>> best, close, far = (MeanError(mean=mean, std=0.05, runs=3200) for mean in (0.10, 0.105, 0.2))
    >>> found = standing({"far": far, "best": best, "close": close}, sigmas=6)
    >>> found.winners, found.behind
    (('best', 'close'), ('far',))
    """
    order = sorted(measured, key=lambda key: (measured[key].mean, key))
    terms = {key: measured[key].term(sigmas) for key in order}
    alone = {key: reach([term.deviation], [term.up], sigmas) for key, term in terms.items()}
    winners: list[str] = []
    behind: list[str] = []
    undecided: list[str] = []
    unsure: dict[tuple[str, str], float] = {}
    for key in order:
        open_pairs: dict[tuple[str, str], float] = {}
        for rival in order:
            gap, own, other = measured[key].mean - measured[rival].mean, terms[key], terms[rival]
            deviations, higher, lower = (own.deviation, other.deviation), (own.up, other.down), (own.down, other.up)
            if rival != key and gap - reach(deviations, lower, sigmas) > margin:
                behind.append(key)
                break
            if rival != key and min(gap + reach(deviations, higher, sigmas), measured[key].mean + alone[key]) > margin:
                unseen = lower if gap > margin else higher
                open_pairs[key, rival] = times_needed(abs(gap - margin), deviations, unseen, sigmas)
        else:
            (undecided if open_pairs else winners).append(key)
            unsure |= open_pairs
    return CellPlaces(
        winners=tuple(winners),
        behind=tuple(behind),
        undecided=tuple(undecided),
        unsure=unsure,
        best=min((one.mean for one in measured.values()), default=math.nan),
    )


def tallied(standings: Iterable[CellPlaces]) -> dict[str, tuple[int, int]]:
    """How many cells each method wins alone, and in how many it ties; most alone first."""
    found: dict[str, list[int]] = {}
    for one in standings:
        for key in one.winners:
            alone = one.decided and len(one.winners) == 1
            found.setdefault(key, [0, 0])[0 if alone else 1] += 1
    order = sorted(found, key=lambda key: (-found[key][0], -sum(found[key])))
    return {key: (found[key][0], found[key][1]) for key in order}


_RATES = ("fnr", "precision", "ser", "total_ser")

COLUMNS: Mapping[str, str] = {
    "dataset": "string",
    "stand_in": "bool_",
    "method": "string",
    "epsilon": "float64",
    "true_epsilon": "float64",
    "delta": "float64",
    "count": "int64",
    "runs": "int64",
    **{f"{rate}_{what}": "float64" for rate in _RATES for what in ("mean", "error")},
    "selected_mean": "float64",
    "seconds": "float64",
}
"""The columns of the results, with their PyArrow types. An ``error`` is a standard error.

``true_epsilon`` is empty for a method that is not ours: what it costs is what it says, and nobody has checked it.
``precision`` is the share of the selected that belong to the top c; ``seconds`` are those of one selection among all
scores, empty where nobody can release what the method selects.
"""

WINNER_COLUMNS: Mapping[str, str] = {
    "dataset": "string",
    "league": "string",
    "epsilon": "float64",
    "count": "int64",
    "winners": "string",
    "undecided": "string",
    "best": "float64",
}
"""The columns of the winners; several names have a space between."""


@dataclass(frozen=True, kw_only=True)
class WonCell:
    """The places of a league at one dataset, epsilon and c."""

    dataset: str
    league: str
    epsilon: float
    count: int
    standing: CellPlaces

    def row(self) -> dict[str, Any]:
        """The row of the table of winners."""
        names = ("dataset", "league", "epsilon", "count")
        return {name: getattr(self, name) for name in names} | {
            "winners": " ".join(self.standing.winners),
            "undecided": " ".join(self.standing.undecided),
            "best": self.standing.best,
        }


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ComparisonResults(Tabular):
    """A row for each case in ``table``; ``winners`` has a cell for each league, dataset, epsilon and c.

    ``titles`` are those of methods and datasets by their keys; ``by`` is the error that decided.
    """

    table: pa.Table
    winners: Sequence[WonCell]
    titles: Mapping[str, str]
    by: str
    sigmas: float

    @classmethod
    def of(
        cls,
        grid: ExperimentGrid,
        gathered: Mapping[CellKey, Gathered],
        winners: Sequence[WonCell],
        seconds: Mapping[tuple[str, str, int], float],
        *,
        by: str,
        sigmas: float,
    ) -> ComparisonResults:
        """The results of a comparison that was run; ``seconds`` are those of a release by dataset, method and c."""
        rows = [
            _row(one, grid.datasets[cell.dataset].stand_in, seconds.get((cell.dataset, cell.method, cell.count)))
            for cell, one in gathered.items()
        ]
        titles = {name: dataset.title for name, dataset in grid.datasets.items()}
        return cls(
            table=table(rows, COLUMNS),
            winners=winners,
            titles=titles | {method.key: method.title for method in grid.methods},
            by=by,
            sigmas=sigmas,
        )

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.table.to_pylist())

    def to_arrow(self) -> pa.Table:
        """The PyArrow table."""
        return self.table

    def _columns(self) -> dict[str, list[Any]]:
        return dict(self.table.to_pydict())  # dataframes have the cases; the sheet only counts winners

    def to_dict(self) -> dict[str, Any]:
        """The results as JSON takes them, by the schema "sparsegate/comparison/1": see docs/reference/json.md."""
        return {
            "schema": "sparsegate/comparison/1",
            "by": self.by,
            "margin": MARGIN,
            "false_map": FALSE_MAP,
            "items": [{**plain(row), "epsilon": amount_text(row["epsilon"])} for row in self],
            "winners": [
                {
                    **plain({**cell.row(), "winners": cell.standing.winners, "undecided": cell.standing.undecided}),
                    "epsilon": amount_text(cell.epsilon),
                }
                for cell in self.winners
            ],
        }

    @property
    def unchecked(self) -> list[str]:
        """The methods that take part and are not ours: that they are private is their word alone."""
        supplied = {row["method"] for row in self if row["true_epsilon"] is None}
        placed = [key for cell in self.winners for key in (*cell.standing.winners, *cell.standing.undecided)]
        return [key for key in dict.fromkeys(placed) if key in supplied]

    def league(self, key: str) -> list[WonCell]:
        """The cells of one league."""
        return [cell for cell in self.winners if cell.league == key]

    def sheet(self) -> Sheet:
        """Who wins how many cells of which league."""
        rows = [
            (league.title, self.titles[key], alone, tied)
            for league in LEAGUES
            for key, (alone, tied) in tallied(cell.standing for cell in self.league(league.key)).items()
        ]
        columns = dict(zip(("league", "method", "alone", "tied"), zip(*rows, strict=True), strict=True)) if rows else {}
        return Sheet(
            title=f"winners of {len(self.winners)} cells; {THRESHOLD}",
            columns=columns,
            numbers=frozenset({"alone", "tied"}),
        )

    def plot(self) -> Figure:
        """Who wins where: a map of c and epsilon for each dataset."""
        from sparsegate.paper.comparison_page import draw_maps

        return draw_maps(self, LEAGUES[0])


def _row(found: Gathered, stand_in: bool, release: float | None) -> dict[str, Any]:
    case, method, record = found.case, found.case.method, found.record
    supplied = isinstance(method, SuppliedMethod)
    row = {
        "dataset": case.dataset,
        "stand_in": stand_in,
        "method": method.key,
        "epsilon": float(case.epsilon),
        "true_epsilon": None if supplied else true_epsilon(method, case.count, float(case.epsilon)),
        "delta": float(method.delta),
        "count": case.count,
        "runs": found.runs,
        "selected_mean": record["selected_mean"],
        "seconds": record["seconds"] / found.runs if supplied else release,
    }
    for rate in _RATES:
        source = "fpr" if rate == "precision" else rate
        row[f"{rate}_mean"] = 1 - record["fpr_mean"] if rate == "precision" else record[f"{rate}_mean"]
        row[f"{rate}_error"] = record[f"{source}_std"] / math.sqrt(found.runs)
    return row


def write_comparison(
    folder: ResultFolder, found: ComparisonResults, grid: ExperimentGrid, **parameters: object
) -> None:
    """Write all files but the report."""
    folder.write("results", found.table)
    folder.write("winners", table([cell.row() for cell in found.winners], WINNER_COLUMNS))
    replace_text(folder.path / "results.json", json.dumps(found.to_dict(), ensure_ascii=False) + "\n")
    shown = {**grid.parameters(), "by": found.by, **parameters}
    about = manifest(datasets=grid.datasets.values(), methods=grid.methods, parameters=shown)
    about["margin"], about["false_map"], about["sigmas"] = MARGIN, FALSE_MAP, found.sigmas
    replace_text(folder.path / "manifest.json", json.dumps(about, indent=2, ensure_ascii=False) + "\n")


def read_comparison(folder: str | Path) -> ComparisonResults:
    """Read back what ``compare`` wrote into a folder."""
    path = Path(folder)
    about = json.loads(written(path, "manifest.json").read_text(encoding="utf-8"))
    parquet = load_extra("pyarrow.parquet", extra="evaluation")
    places = parquet.read_table(written(path, "winners.parquet")).to_pylist()
    cells = [
        WonCell(
            **{name: row[name] for name in ("dataset", "league", "epsilon", "count")},
            standing=CellPlaces(
                winners=tuple(row["winners"].split()),
                behind=(),
                undecided=tuple(row["undecided"].split()),
                unsure={},
                best=row["best"],
            ),
        )
        for row in places
    ]
    titles = {entry["name"]: entry["title"] for entry in about["datasets"]}
    return ComparisonResults(
        table=parquet.read_table(written(path, "results.parquet")),
        winners=cells,
        titles=titles | {entry["key"]: entry["title"] for entry in about["methods"]},
        by=about["parameters"]["by"],
        sigmas=about["sigmas"],
    )


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
    >>> found = sg.paper.compare(datasets=["zipf"], counts=[10], epsilon=0.1, methods=methods, peers=False)
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


MOST_NAMED = 3
"""Who wins less often than so many others is not named."""


def headlines(found: ComparisonResults) -> dict[str, str]:
    """Of each league, who wins how many cells alone; how many are ties, or undecided; and whom nobody has checked."""
    told = {}
    for league in LEAGUES:
        cells = [cell.standing for cell in found.league(league.key)]
        if not cells:
            continue
        alone = [(key, count) for key, (count, _) in tallied(cells).items() if count]
        ties = sum(one.decided and len(one.winners) > 1 for one in cells)
        rest = sum(count for _, count in alone[MOST_NAMED:])
        parts = [
            *(f"{found.titles[key]} wins {count}" for key, count in alone[:MOST_NAMED]),
            *([f"others {rest}"] if rest else []),
            f"{ties} {'tie' if ties == 1 else 'ties'}",
            f"{sum(not one.decided for one in cells)} undecided",
        ]
        told[league.title] = f"of {len(cells)} cells " + "; ".join(parts)
    if found.unchecked:
        names = ", ".join(found.titles[key] for key in found.unchecked)
        told["taken at their word"] = f"{names}; whether that is private was not checked, see sg.audit"
    return told
