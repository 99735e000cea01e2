"""The uses that the paper's Introduction names, measured on made data. For research: NOT PRIVATE.

Each of them selects the c best of what it scores with a gate that is not private at the epsilon it claims:

| use | scores | c | original |
|---|---|---|---|
| frequent itemsets | supports of sets of items | 25 | Lee and Clifton 2014 (LC14) |
| feature selection | rows that a column labels right | 10 | Stoddard, Chen and Machanavajjhala 2014 (SCM14) |
| attribute pairs | how much two attributes depend on each other | 13 | Chen et al. 2015 (CXZX15) |

Every gate has the best threshold there is, between the c-th and the next score: a gift, as that number is private. The
original at its true epsilon is run at the claim for which it costs epsilon; SCM14's has none, see ``features``, so
there each feature has a gate of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import product
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sparsegate.budget import Number, exact_count, exact_epsilon
from sparsegate.noise import Seeded
from sparsegate.paper.results import MECHANISMS, OURS, UseRow, write_uses
from sparsegate.paper.uses.features import compare_choices
from sparsegate.paper.uses.itemsets import GATE, PUBLISHED, compare_itemsets
from sparsegate.paper.uses.itemsets import TRUE as ITEMSETS_TRUE
from sparsegate.paper.uses.trees import CHOICES, EdgeTask, dependences, flawed_factor
from sparsegate.paper.workers import WorkerPool
from sparsegate.uses.features import SCORES
from sparsegate.uses.records import contingency
from sparsegate.uses.structure import largest_forest

EPSILONS: Final = (0.1, 0.3, 1.0)
RUNS: Final = 400
LEAST_RUNS: Final = 8  # the costly ones, too, have a standard deviation
STAGE: Final = "uses"
MEASURE: Final = "share of the c best that is missed"
PEOPLE, ITEMS, SETS = 20_000, 200, 25
ROWS, COLUMNS, TELLING = 2_000, 100, 10
ATTRIBUTES, CATEGORIES = 14, 3

Integers = NDArray[np.int64]


Missed: TypeAlias = tuple[float, float, float, float]
"""The mean share that one way missed, its standard deviation over runs, the epsilon it claims, and what it costs."""


@dataclass(frozen=True, kw_only=True)
class MeasuredUse:
    """A use: its data in words, what it calls each of ``MECHANISMS``, and how one of them is measured.

    ``costly`` mechanisms take long, and are run a quarter as often.
    """

    data: str
    ways: tuple[str, ...]
    measure: Callable[[str, Fraction, int, int], Missed]
    costly: tuple[str, ...] = ()


@cache
def made_baskets() -> list[Integers]:
    """Items by Zipf's law, four for a person on average."""
    rng = np.random.default_rng(14)
    shares = 1 / np.arange(1.0, ITEMS + 1)
    drawn = rng.choice(ITEMS, size=4 * PEOPLE, p=shares / shares.sum())
    ends = np.sort(rng.integers(0, drawn.size + 1, size=PEOPLE - 1))
    return np.split(drawn, ends)


@cache
def made_agreements() -> Integers:
    """How many rows each yes-or-no column labels right: of the telling ones 60 to 75 of 100, of the others 50."""
    rng = np.random.default_rng(18)
    classes = rng.integers(0, 2, size=ROWS)
    right = np.append(np.linspace(0.75, 0.60, TELLING), np.full(COLUMNS - TELLING, 0.5))
    agrees = rng.random((ROWS, COLUMNS)) < right
    table = np.where(agrees, classes[:, None], 1 - classes[:, None])
    score = SCORES["agreement"].of_table
    assert score is not None
    return np.array([score(contingency(column, classes, shape=(2, 2))) for column in table.T])


@cache
def made_dependences() -> dict[tuple[int, int], int]:
    """Of attributes that depend on each other along a random tree, some more and some less."""
    rng = np.random.default_rng(1968)
    rows = np.zeros((PEOPLE, ATTRIBUTES), dtype=np.int64)
    rows[:, 0] = rng.integers(0, CATEGORIES, PEOPLE)
    for child, strength in enumerate(rng.uniform(0.1, 0.5, ATTRIBUTES - 1), start=1):
        parent = rows[:, rng.integers(max(0, child - 4), child)]
        rows[:, child] = np.where(rng.random(PEOPLE) < strength, parent, rng.integers(0, CATEGORIES, PEOPLE))
    return dependences(rows, [CATEGORIES] * ATTRIBUTES)


def _itemsets(way: str, epsilon: Fraction, runs: int, seed: int) -> Missed:
    public: dict[str, Any] = {"counts": [SETS], "epsilon": epsilon, "size": 2}
    (row,) = compare_itemsets(made_baskets(), **public, runs=runs, seed=seed, methods=[way])
    return row.fnr, row.fnr_std, row.epsilon, row.true_epsilon


def _features(way: str, epsilon: Fraction, runs: int, seed: int) -> Missed:
    score = SCORES["agreement"]
    public: dict[str, Any] = {"k": TELLING, "sensitivity": score.sensitivity, "monotonic": score.monotonic}
    (row,) = compare_choices(made_agreements(), **public, epsilons=[epsilon], runs=runs, seed=seed, ways=[way])
    return 1 - row.recall, row.recall_std, row.epsilon, row.true_epsilon


def _pairs(way: str, epsilon: Fraction, runs: int, seed: int) -> Missed:
    scores = made_dependences()
    ranked = sorted(scores, key=lambda pair: -scores[pair])
    best, edges = set(largest_forest(ranked, ATTRIBUTES)), ATTRIBUTES - 1
    threshold = (scores[ranked[edges - 1]] + scores[ranked[edges]] + 1) // 2
    source = Seeded(seed)
    chosen = [CHOICES[way](EdgeTask(scores, ATTRIBUTES, epsilon, source.stream(), (threshold,))) for _ in range(runs)]
    missed = np.array([1 - len(best & set(run.edges)) / edges for run in chosen])
    claimed = epsilon / flawed_factor(len(scores)) if way == "chen-2015 at its loss" else epsilon
    return float(missed.mean()), float(missed.std(ddof=1)), float(claimed), float(chosen[-1].spent)


USES: Final[Mapping[str, MeasuredUse]] = MappingProxyType(
    {
        "frequent itemsets (LC14)": MeasuredUse(
            data=f"made baskets of {PEOPLE:,} people and {ITEMS:,} items, c = {SETS}",
            ways=(PUBLISHED, ITEMSETS_TRUE, GATE, "items-first"),
            measure=_itemsets,
            costly=(OURS,),
        ),
        "feature selection (SCM14)": MeasuredUse(
            data=f"a made table of {ROWS:,} rows and {COLUMNS} columns, c = {TELLING}",
            ways=("stoddard-2014", "stoddard-2014-each", "standard", "one-shot"),
            measure=_features,
        ),
        "attribute pairs (CXZX15)": MeasuredUse(
            data=f"a made table of {PEOPLE:,} rows and {ATTRIBUTES} attributes, c = {ATTRIBUTES - 1}",
            ways=("chen-2015 as claimed", "chen-2015 at its loss", "corrected gate (Alg. 7)", "one noise"),
            measure=_pairs,
        ),
    }
)
"""Every use by its name."""


@dataclass(frozen=True)
class UseTask:
    """One use, mechanism and epsilon: what one process works off at a time."""

    use: str
    mechanism: str
    epsilon: Fraction
    runs: int
    seed: int

    @property
    def expected(self) -> float:
        """Seconds as measured: a thousandth or half of one for a run, ten times as many for a costly one."""
        each = 0.007 if self.mechanism in USES[self.use].costly else 0.0005
        return 0.02 + self.runs * each


def use_tasks(*, epsilons: Iterable[Number] = EPSILONS, runs: int = RUNS, seed: int = 0) -> list[UseTask]:
    """Every use with every mechanism at every epsilon."""
    exact_count(runs, "runs", least=LEAST_RUNS)
    return [
        UseTask(name, mechanism, share, runs // 4 if mechanism in USES[name].costly else runs, seed)
        for name, share, mechanism in product(USES, map(exact_epsilon, epsilons), MECHANISMS)
    ]


def measure_use(task: UseTask) -> UseRow:
    """Run one mechanism of one use, many times.

    >>> measure_use(UseTask("feature selection (SCM14)", OURS, Fraction(1), 20, 0)).mean < 0.1
    True
    """
    use = USES[task.use]
    way = use.ways[MECHANISMS.index(task.mechanism)]
    mean, std, claimed, true = use.measure(way, task.epsilon, task.runs, task.seed + 1)
    return UseRow(
        use=task.use,
        data=use.data,
        mechanism=task.mechanism,
        way=way,
        claimed_epsilon=claimed,
        true_epsilon=true,
        measure=MEASURE,
        mean=mean,
        std=std,
        runs=task.runs,
        seed=task.seed,
    )


def measure_uses(out: str | Path, pool: WorkerPool, tasks: Sequence[UseTask]) -> tuple[UseRow, ...]:
    """Work the tasks off, and write their rows into the folder of an experiment."""
    measured = dict(pool.each(STAGE, measure_use, tasks, expected=lambda task: task.expected))
    rows = tuple(measured[task] for task in tasks)
    write_uses(out, rows)
    return rows


def plan_uses(pool: WorkerPool, tasks: Iterable[UseTask]) -> None:
    """Let the plan expect the tasks."""
    pool.plan.expect(STAGE, sum(task.expected for task in tasks))
