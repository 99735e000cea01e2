"""The uses that the paper's Introduction names, measured on made data. For research: NOT PRIVATE.

Each of them selects the c best of what it scores with a gate that is not private at the epsilon it claims:

| use | scores | c | original |
|---|---|---|---|
| frequent itemsets | supports of sets of items | 25 | Lee and Clifton 2014 (LC14) |
| feature selection | rows that a column labels right | 10 | Stoddard, Chen and Machanavajjhala 2014 (SCM14) |
| attribute pairs | how much two attributes depend on each other | 13 | Chen et al. 2015 (CXZX15) |

Every gate has the best threshold there is, between the c-th and the next score: a gift, as that number is private. The
original at its true epsilon is run at the claim for which it costs epsilon; SCM14's has none, see
``feature_comparison``, so there each feature has a gate of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparsegate.budget import Number, exact_count, exact_epsilon
from sparsegate.errors import ParameterError
from sparsegate.noise import Seeded
from sparsegate.paper.findings import MECHANISMS, OURS, UseRow, write_uses
from sparsegate.paper.uses.features import compare_choices
from sparsegate.paper.uses.itemsets import GATE, PUBLISHED, compare_itemsets
from sparsegate.paper.uses.itemsets import TRUE as ITEMSETS_TRUE
from sparsegate.paper.uses.trees import CHOICES, flawed_factor
from sparsegate.paper.workers import Expected, WorkerPool
from sparsegate.uses.dependency_tree import largest_forest
from sparsegate.uses.features import SCORES
from sparsegate.uses.records import contingency
from sparsegate.uses.tree_model import dependences

EPSILONS: Final = (0.1, 0.3, 1.0)
RUNS: Final = 400
LEAST_RUNS: Final = 8
STAGE: Final = "uses"
MEASURE: Final = "share of the c best that is missed"
PEOPLE, ITEMS, SETS = 20_000, 200, 25
ROWS, COLUMNS, TELLING = 2_000, 100, 10
ATTRIBUTES, CATEGORIES = 14, 3

Integers = NDArray[np.int64]


class Missed(NamedTuple):
    """What one way missed: mean and standard deviation over runs, and what it claims and costs."""

    mean: float
    std: float
    claimed: float
    true: float


Measured = Callable[[str, Fraction, int, int], Missed]


@dataclass(frozen=True, kw_only=True)
class MeasuredUse:
    """A use: its data in words, what it calls each mechanism, and how one of them is measured.

    ``costly`` mechanisms take long, and are run a quarter as often.
    """

    name: str
    data: str
    ways: Mapping[str, str]
    measure: Measured
    costly: frozenset[str] = frozenset()


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
    (row,) = compare_itemsets(
        made_baskets(), counts=[SETS], epsilon=epsilon, runs=runs, seed=seed, size=2, methods=[way]
    )
    return Missed(row.fnr, row.fnr_std, row.epsilon, row.true_epsilon)


def _features(way: str, epsilon: Fraction, runs: int, seed: int) -> Missed:
    score = SCORES["agreement"]
    promise: dict[str, Any] = {"sensitivity": score.sensitivity, "monotonic": score.monotonic}
    (row,) = compare_choices(
        made_agreements(), k=TELLING, epsilons=[epsilon], runs=runs, seed=seed, ways=[way], **promise
    )
    return Missed(1 - row.recall, row.recall_std, row.epsilon, row.true_epsilon)


def _pairs(way: str, epsilon: Fraction, runs: int, seed: int) -> Missed:
    scores = made_dependences()
    ranked = sorted(scores, key=lambda pair: -scores[pair])
    best, edges = set(largest_forest(ranked, ATTRIBUTES)), ATTRIBUTES - 1
    last, following = scores[ranked[edges - 1]], scores[ranked[edges]]
    source, missed, spent = Seeded(seed), np.zeros(runs), epsilon
    for run in range(runs):
        chosen = CHOICES[way](scores, ATTRIBUTES, epsilon, source.stream(), ((last + following + 1) // 2,))
        missed[run], spent = 1 - len(best & set(chosen.edges)) / edges, chosen.spent
    claimed = epsilon / flawed_factor(len(scores)) if way == "chen-2015 at its loss" else epsilon
    return Missed(float(missed.mean()), float(missed.std(ddof=1)), float(claimed), float(spent))


def _use(name: str, data: str, ways: tuple[str, str, str, str], measure: Measured, *costly: str) -> MeasuredUse:
    named = dict(zip(MECHANISMS, ways, strict=True))
    return MeasuredUse(name=name, data=data, ways=named, measure=measure, costly=frozenset(costly))


USES: Final[Mapping[str, MeasuredUse]] = MappingProxyType(
    {
        use.name: use
        for use in (
            _use(
                "frequent itemsets (LC14)",
                f"made baskets of {PEOPLE:,} people and {ITEMS:,} items, c = {SETS}",
                (PUBLISHED, ITEMSETS_TRUE, GATE, "items-first"),
                _itemsets,
                OURS,
            ),
            _use(
                "feature selection (SCM14)",
                f"a made table of {ROWS:,} rows and {COLUMNS} columns, c = {TELLING}",
                ("stoddard-2014", "stoddard-2014-each", "standard", "one-shot"),
                _features,
            ),
            _use(
                "attribute pairs (CXZX15)",
                f"a made table of {PEOPLE:,} rows and {ATTRIBUTES} attributes, c = {ATTRIBUTES - 1}",
                ("chen-2015 as claimed", "chen-2015 at its loss", "corrected gate (Alg. 7)", "one noise"),
                _pairs,
            ),
        )
    }
)
"""Every use by its name."""


@dataclass(frozen=True, kw_only=True)
class UseTask:
    """One use, mechanism and epsilon: what one process works off at a time."""

    use: str
    mechanism: str
    epsilon: Fraction
    runs: int
    seed: int


def use_tasks(*, epsilons: Iterable[Number] = EPSILONS, runs: int = RUNS, seed: int = 0) -> list[UseTask]:
    """Every use with every mechanism at every epsilon."""
    shares = [exact_epsilon(epsilon) for epsilon in epsilons]
    if exact_count(runs, "runs") < LEAST_RUNS:
        rule = f"must be at least {LEAST_RUNS}, so that the costly ones have a standard deviation"
        raise ParameterError("runs", rule, runs)
    return [
        UseTask(
            use=use.name,
            mechanism=mechanism,
            epsilon=share,
            runs=runs // 4 if mechanism in use.costly else runs,
            seed=seed,
        )
        for use in USES.values()
        for share in shares
        for mechanism in MECHANISMS
    ]


def measure_use(task: UseTask) -> UseRow:
    """Run one mechanism of one use, many times.

    >>> task = UseTask(use="feature selection (SCM14)", mechanism=OURS, epsilon=Fraction(1), runs=20, seed=0)
    >>> measure_use(task).mean < 0.1
    True
    """
    use = USES[task.use]
    way = use.ways[task.mechanism]
    found = use.measure(way, task.epsilon, task.runs, task.seed + 1)
    return UseRow(
        use=use.name,
        data=use.data,
        mechanism=task.mechanism,
        way=way,
        claimed_epsilon=found.claimed,
        true_epsilon=found.true,
        measure=MEASURE,
        mean=found.mean,
        std=found.std,
        runs=task.runs,
        seed=task.seed,
    )


def measure_uses(out: str | Path, pool: WorkerPool, tasks: Sequence[UseTask]) -> tuple[UseRow, ...]:
    """Work the tasks off, and write their rows into the folder of an experiment."""
    plan_uses(pool, tasks)
    found: dict[UseTask, UseRow] = {}
    with pool.plan.stage(STAGE, total=len(tasks)), closing(pool.each(measure_use, tasks)) as finished:
        for task, row in finished:
            found[task] = row
            pool.plan.advance(_expected(task))
    rows = tuple(found[task] for task in tasks)
    write_uses(out, rows)
    return rows


def plan_uses(pool: WorkerPool, tasks: Iterable[UseTask]) -> None:
    """Let the plan expect the tasks."""
    pool.plan.expect(STAGE, [_expected(task) for task in tasks], jobs=pool.jobs)


def _expected(task: UseTask) -> Expected:
    """Seconds as measured: a thousandth or half of one for a run, ten times as many for a costly one."""
    costly = task.mechanism in USES[task.use].costly
    return Expected(kind=f"{task.use}, {task.mechanism}", seconds=0.02 + task.runs * (0.007 if costly else 0.0005))
