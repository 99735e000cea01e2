"""The uses that the paper's Introduction names, measured on made data. For research: NOT PRIVATE.

Each selects the c best of what it scores with a gate that is not private at the epsilon it claims: frequent itemsets
(LC14: supports, c = 25), features (SCM14: rows that a column labels right, c = 10), attribute pairs (CXZX15: how much
two depend on each other, c = 13). Every gate has the best threshold there is, between the c-th and the next score: a
gift, as that number is private. The original at its true epsilon is run at the claim for which it costs epsilon: LC14's
costs (1 + 3c) epsilon / 4 on counts, CXZX15's n epsilon / 2 on n pairs. SCM14's gate adds no noise to the scores, so it
has no true epsilon (`algorithm_5_is_not_private`, proofs/no_query_noise.v): there each feature has a gate of its own,
where one question costs e/2. The score H of a pair moves by at most ``SENSITIVITY``. Proof:
docs/explanation/proofs_in_words/paper.md."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import cache, cached_property, partial
from itertools import product
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sparsegate.budget import Number, exact_count, exact_epsilon
from sparsegate.errors import ParameterError
from sparsegate.gates.bounds import tight_epsilon
from sparsegate.gates.research import run, run_many
from sparsegate.noise import Seeded, Source
from sparsegate.paper.methods import METHODS
from sparsegate.paper.ranked import Ladder
from sparsegate.paper.results import MECHANISMS, OURS, ResultFolder, UseRow, columns_of, table
from sparsegate.paper.simulation import simulate
from sparsegate.paper.workers import WorkerPool
from sparsegate.selection.scores import Scores
from sparsegate.selection.select import AUTO, Request
from sparsegate.uses.features import SCORES
from sparsegate.uses.itemsets import MOST_SETS, Integers, ItemBits, LevelPlan, SetQuestion, all_sets, release_sets
from sparsegate.uses.records import contingency, distance_from_independence
from sparsegate.uses.structure import ChosenEdges, largest_forest, noisy_tree
from sparsegate.uses.tree_model import Codes, Counts, Pair, joint_counts, pairs_of

EPSILONS: Final = (0.1, 0.3, 1.0)
RUNS: Final = 400
LEAST_RUNS: Final = 8  # the costly ones, too, have a standard deviation
STAGE: Final = "uses"
MEASURE: Final = "share of the c best that is missed"
PEOPLE, ITEMS, SETS = 20_000, 200, 25
ROWS, COLUMNS, TELLING = 2_000, 100, 10
ATTRIBUTES, CATEGORIES = 14, 3

Missed: TypeAlias = tuple[Sequence[float], Number, Number]
"""The share of the c best that one way missed in each run, the epsilon it claims, and what it costs."""


class PublicBaskets:
    """Baskets that may be looked at: who has each item, the commonest first."""

    def __init__(self, baskets: Iterable[Iterable[Hashable]]) -> None:
        holders: dict[Hashable, list[int]] = {}
        self.people = 0
        for person, basket in enumerate(baskets):
            self.people = person + 1
            for item in set(basket):
                holders.setdefault(item, []).append(person)
        if not holders:
            raise ParameterError("baskets", "must hold at least one item", next_step="pass a list of lists of items")
        ranked = sorted(holders.values(), key=len, reverse=True)
        self.holders = [np.array(people, dtype=np.int64) for people in ranked]
        self.counts = np.array([len(people) for people in ranked], dtype=np.int64)

    def bits(self, items: Sequence[int]) -> ItemBits:
        return ItemBits.of_people([self.holders[item] for item in items], self.people)

    def short_list(self, *, count: int, smallest: int, size: int) -> Integers:
        """The supports, falling, of all sets of some of the commonest items: the ``count`` best sets are among them.

        No set has more people than the rarest of its items. So once the next item has fewer than the worst of the best
        sets, no set with it, or with a rarer one, is missing.
        """
        items = 16
        while True:
            items = min(items, len(self.counts))
            sets = all_sets(items, smallest, size)
            if len(sets) > MOST_SETS:
                raise ParameterError("size", f"must be smaller: {items} items have over {MOST_SETS:,} sets", size)
            supports = np.sort(self.bits(range(items)).supports(sets))[::-1]
            if items == len(self.counts) or (len(sets) > count and supports[count - 1] >= self.counts[items]):
                return supports
            items += items // 2

    def released(
        self, plan: LevelPlan, epsilon: Fraction, *, runs: int, seed: int, selection: str = AUTO
    ) -> Iterator[Integers]:
        """The supports of what each run of ``frequent_itemsets`` itself would release, with noise from a seed."""
        bits_of: Callable[[tuple[int, ...]], ItemBits] = cache(self.bits)
        source, items = Seeded(seed), self.counts

        def select(scores: Integers, count: int, share: Fraction) -> list[int]:
            request = Request(count=count, epsilon=share, sensitivity=1, monotonic=True, method=selection)
            return list(map(int, request.pick(Scores.each(scores), source.stream()).groups))

        def first(count: int, share: Fraction) -> list[int]:
            return list(range(len(items))) if plan.everything else sorted(select(items, count, share))

        ways: dict[str, Any] = {"first": first, "bits_of": lambda chosen: bits_of(tuple(chosen)), "select": select}
        for _ in range(runs):
            yield np.array(release_sets(plan, epsilon, **ways).supports(), dtype=np.int64)


SET_GATES: Final = MappingProxyType(
    {
        "Lee, Clifton 2014, as claimed": METHODS["alg-4"],
        "Lee, Clifton 2014, true epsilon": METHODS["alg-4-true"],
        "sound gate": METHODS["svt-s-1:c23"],
    }
)
"""The gates for itemsets as they are simulated, on the supports of a short list."""


def best_found(selected: Integers, best: Integers) -> int:
    """How many of the best are among the selected; sets of equal support are as right as each other."""
    last = best[-1]
    return int((selected > last).sum()) + min(int((selected == last).sum()), int((best == last).sum()))


@cache
def made_baskets() -> PublicBaskets:
    """Items by Zipf's law, four for a person on average."""
    rng = np.random.default_rng(14)
    shares = 1 / np.arange(1, ITEMS + 1)
    drawn = rng.choice(ITEMS, size=4 * PEOPLE, p=shares / shares.sum())
    ends = np.sort(rng.integers(0, drawn.size + 1, size=PEOPLE - 1))
    return PublicBaskets(np.split(drawn, ends))


def _itemsets(way: str, epsilon: Fraction, runs: int, seed: int) -> Missed:
    public, size = made_baskets(), 2
    supports = public.short_list(count=SETS, smallest=1, size=size)
    if way in SET_GATES:
        ladder = Ladder.of(supports)
        rungs = simulate(SET_GATES[way], ladder, count=SETS, epsilon=epsilon, runs=runs, rng=seed)
        selected: Iterable[Integers] = (ladder.values[rung[rung >= 0]].astype(np.int64) for rung in rungs)
    else:
        plan = SetQuestion(count=SETS, size=size, smallest=1, method=way, pool=None).plan(len(public.counts))
        selected = public.released(plan, epsilon, runs=runs, seed=seed)
    missed = [1 - best_found(each, supports[:SETS]) / SETS for each in selected]
    factor = Fraction(tight_epsilon("lee-clifton-2014", cutoff=SETS, epsilon=1, monotonic=True))
    claimed = epsilon / factor if way.endswith("true epsilon") else epsilon
    return missed, claimed, epsilon * factor if way.endswith("as claimed") else epsilon


Chosen = NDArray[np.bool_]  # A row for each run, a column for each feature

_FLAWED_FEATURES: Final = "stoddard-2014"


@dataclass(frozen=True, kw_only=True)
class FeatureTask:
    """Scores to choose the k best of, ``runs`` times: what every way is given."""

    scores: Integers
    k: int
    epsilon: Number
    sensitivity: int
    monotonic: bool
    runs: int
    seed: int

    @cached_property
    def rng(self) -> np.random.Generator:
        return np.random.default_rng(self.seed)

    @cached_property
    def source(self) -> Source:
        return Seeded(self.seed).stream()

    @property
    def promise(self) -> dict[str, Any]:
        return {"sensitivity": self.sensitivity, "monotonic": self.monotonic}

    def gate(self, row: str, answers: Integers, epsilon: Number, *, runs: int, cutoff: int = 1) -> Chosen:
        """Which answers a gate says ABOVE to, its threshold between the k-th score and the next."""
        below, least = np.sort(self.scores)[-self.k - 1], np.sort(self.scores)[-self.k]
        public: dict[str, Any] = {
            "threshold": int(below + (least - below + 1) // 2),
            "cutoff": cutoff,
            "epsilon": epsilon,
        }
        return run_many(row, answers, runs=runs, source=self.source, not_private=True, **public, **self.promise).above

    def marked(self, choose: Callable[[], Any]) -> Chosen:
        """What a function that gives the numbers of some features chooses in each run."""
        chosen = np.zeros((self.runs, self.scores.size), dtype=np.bool_)
        for row in chosen:
            row[choose()] = True
        return chosen

    def at_most_k(self, above: Chosen) -> Chosen:
        lots = np.where(above, self.rng.random(above.shape), 2.0)
        kept: Chosen = above & (lots <= np.sort(lots, axis=1)[:, [self.k - 1]])
        return kept

    def recall(self, chosen: Chosen) -> NDArray[np.float64]:
        """The share of the k best that each run found; features of equal score are as good as each other."""
        best = self.scores >= np.sort(self.scores)[-self.k]
        shares: NDArray[np.float64] = np.minimum((chosen & best).sum(axis=1), self.k) / self.k
        return shares


def _published(task: FeatureTask) -> Chosen:
    return task.at_most_k(task.gate(_FLAWED_FEATURES, task.scores, task.epsilon, runs=task.runs))


def _each(task: FeatureTask) -> Chosen:
    """A gate as published for each feature, so that the sum of what they cost is epsilon."""
    alone = tight_epsilon(_FLAWED_FEATURES, epsilon=1, queries=1, monotonic=task.monotonic)
    share = exact_epsilon(task.epsilon) / task.scores.size / exact_epsilon(alone)
    gates = [task.gate(_FLAWED_FEATURES, task.scores[[j]], share, runs=task.runs) for j in range(task.scores.size)]
    return task.at_most_k(np.hstack(gates))


def one_pass(row: str, task: FeatureTask) -> Chosen:
    """One pass in random order at a gate that closes after k positives."""

    def passed() -> Any:
        order = task.rng.permutation(task.scores.size)
        return order[task.gate(row, task.scores[order], task.epsilon, runs=1, cutoff=task.k)[0]]

    return task.marked(passed)


def _one_shot(task: FeatureTask) -> Chosen:
    request = Request(count=task.k, epsilon=task.epsilon, method="one-shot", **task.promise)
    prepared = request.prepare(Scores.each(task.scores))
    return task.marked(lambda: prepared.draw(task.source).groups)


FEATURE_WAYS: Final[Mapping[str, Callable[[FeatureTask], Chosen]]] = MappingProxyType(
    {
        _FLAWED_FEATURES: _published,
        f"{_FLAWED_FEATURES}-each": _each,
        "standard": partial(one_pass, "standard"),  # Alg. 7
        "one-shot": _one_shot,
    }
)
"""How features are chosen."""


@cache
def made_agreements() -> Integers:
    """How many rows each yes-or-no column labels right: of the telling ones 60 to 75 of 100, of the others 50."""
    rng = np.random.default_rng(18)
    classes = rng.integers(0, 2, size=ROWS)
    right = np.append(np.linspace(0.75, 0.60, TELLING), np.full(COLUMNS - TELLING, 0.5))
    agrees = rng.random((ROWS, COLUMNS)) < right
    answers = np.where(agrees, classes[:, None], 1 - classes[:, None])
    score = SCORES["agreement"].of_table
    assert score is not None
    return np.array([score(contingency(column, classes, shape=(2, 2))) for column in answers.T])


def _features(way: str, epsilon: Fraction, runs: int, seed: int) -> Missed:
    scores, score = made_agreements(), SCORES["agreement"]
    promise: dict[str, Any] = {"sensitivity": score.sensitivity, "monotonic": score.monotonic}
    task = FeatureTask(scores=scores, k=TELLING, epsilon=epsilon, runs=runs, seed=seed, **promise)
    missed = 1 - task.recall(FEATURE_WAYS[way](task))
    flawed = way == _FLAWED_FEATURES
    true = tight_epsilon(way, epsilon=epsilon, queries=scores.size, monotonic=True) if flawed else epsilon
    return missed.tolist(), epsilon, true


SENSITIVITY: Final = 2  # the most that one person moves the score of any pair, up or down


def dependence(counts: Counts) -> int:
    """H, the score of one table of counts; private."""
    total = int(counts.sum())
    return distance_from_independence(counts) // (2 * total) if total else 0


def dependences(codes: Codes, sizes: Sequence[int]) -> dict[Pair, int]:
    """H of every pair of attributes; private. Each has ``SENSITIVITY``, and one person may move all of them."""
    return {(i, j): dependence(joint_counts(codes, sizes, i, j)) for i, j in pairs_of(len(sizes))}


@dataclass(frozen=True)
class EdgeTask:
    """Edges to choose among ``count`` attributes: what every way is given."""

    scores: Mapping[Pair, int]
    count: int
    epsilon: Fraction
    source: Source
    thresholds: tuple[int, ...]

    @property
    def middle(self) -> int:
        return self.thresholds[len(self.thresholds) // 2]

    def passed(self, row: str, epsilon: Fraction, *, cutoff: int = 1) -> tuple[Pair, ...]:
        """The pairs that a gate with the middle threshold lets through, less those that close a cycle."""
        pairs = sorted(self.scores)
        public: dict[str, Any] = {
            "threshold": self.middle,
            "sensitivity": SENSITIVITY,
            "cutoff": cutoff,
            "epsilon": epsilon,
        }
        answers = run(row, [self.scores[pair] for pair in pairs], source=self.source, not_private=True, **public)
        return largest_forest([pair for pair, answer in zip(pairs, answers, strict=False) if answer.above], self.count)


def _flawed_edges(task: EdgeTask, *, honest: bool) -> ChosenEdges:
    """The gate of Chen et al. over all pairs: it never closes, so its loss grows with the number of pairs.

    ``honest``: run at that claim for which its loss is the epsilon there is. ``spent`` is what it truly costs.
    """
    factor = flawed_factor(len(task.scores))
    claim = task.epsilon / factor if honest else task.epsilon
    return ChosenEdges(task.passed("chen-2015", claim), claim * factor)


@cache
def flawed_factor(pairs: int) -> Fraction:
    """By how much the gate of Chen et al. costs more than it claims, on this many pairs."""
    return Fraction(tight_epsilon("chen-2015", epsilon=1, queries=pairs))


EDGE_WAYS: Final[Mapping[str, Callable[[EdgeTask], ChosenEdges]]] = MappingProxyType(
    {
        "chen-2015 as claimed": partial(_flawed_edges, honest=False),
        "chen-2015 at its loss": partial(_flawed_edges, honest=True),
        # The paper's gate (Alg. 7) in the place of Chen et al.'s: it closes after d - 1 positives.
        "corrected gate (Alg. 7)": lambda task: ChosenEdges(
            task.passed("standard", task.epsilon, cutoff=task.count - 1), task.epsilon
        ),
        "one noise": lambda task: noisy_tree(
            task.scores, task.count, epsilon=task.epsilon, source=task.source, reach=2 * SENSITIVITY
        ),
    }
)
"""How edges are chosen by H."""


@cache
def made_dependences() -> dict[Pair, int]:
    """Of attributes that depend on each other along a random tree, some more and some less."""
    rng = np.random.default_rng(1968)
    rows = np.zeros((PEOPLE, ATTRIBUTES), dtype=np.int64)
    rows[:, 0] = rng.integers(0, CATEGORIES, PEOPLE)
    for child, strength in enumerate(rng.uniform(0.1, 0.5, ATTRIBUTES - 1), start=1):
        parent = rows[:, rng.integers(max(0, child - 4), child)]
        rows[:, child] = np.where(rng.random(PEOPLE) < strength, parent, rng.integers(0, CATEGORIES, PEOPLE))
    return dependences(rows, [CATEGORIES] * ATTRIBUTES)


def _pairs(way: str, epsilon: Fraction, runs: int, seed: int) -> Missed:
    scores = made_dependences()
    ranked = sorted(scores, key=lambda pair: -scores[pair])
    best, edges = set(largest_forest(ranked, ATTRIBUTES)), ATTRIBUTES - 1
    threshold = (scores[ranked[edges - 1]] + scores[ranked[edges]] + 1) // 2
    source = Seeded(seed)
    chosen = [EDGE_WAYS[way](EdgeTask(scores, ATTRIBUTES, epsilon, source.stream(), (threshold,))) for _ in range(runs)]
    missed = [1 - len(best & set(each.edges)) / edges for each in chosen]
    claimed = epsilon / flawed_factor(len(scores)) if way == "chen-2015 at its loss" else epsilon
    return missed, claimed, chosen[-1].spent


@dataclass(frozen=True, kw_only=True)
class MeasuredUse:
    """A use: its data in words, what it calls each of ``MECHANISMS``, and how one of them is measured.

    ``costly`` mechanisms take long, and are run a quarter as often.
    """

    data: str
    ways: Iterable[str]
    measure: Callable[[str, Fraction, int, int], Missed]
    costly: tuple[str, ...] = ()


USES: Final[Mapping[str, MeasuredUse]] = MappingProxyType(
    {
        "frequent itemsets (LC14)": MeasuredUse(
            data=f"made baskets of {PEOPLE:,} people and {ITEMS:,} items, c = {SETS}",
            ways=(*SET_GATES, "items-first"),
            measure=_itemsets,
            costly=(OURS,),
        ),
        "feature selection (SCM14)": MeasuredUse(
            data=f"a made table of {ROWS:,} rows and {COLUMNS} columns, c = {TELLING}",
            ways=FEATURE_WAYS,
            measure=_features,
        ),
        "attribute pairs (CXZX15)": MeasuredUse(
            data=f"a made table of {PEOPLE:,} rows and {ATTRIBUTES} attributes, c = {ATTRIBUTES - 1}",
            ways=EDGE_WAYS,
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
    """Run one mechanism of one use, many times."""
    use = USES[task.use]
    way = dict(zip(MECHANISMS, use.ways, strict=True))[task.mechanism]
    missed, claimed, true = use.measure(way, task.epsilon, task.runs, task.seed + 1)
    numbers = {"claimed_epsilon": claimed, "true_epsilon": true, "mean": np.mean(missed), "std": np.std(missed, ddof=1)}
    known: dict[str, Any] = {name: float(number) for name, number in numbers.items()}
    known |= {"use": task.use, "data": use.data, "mechanism": task.mechanism, "way": way, "measure": MEASURE}
    return UseRow(**known, runs=task.runs, seed=task.seed)


def measure_uses(out: str | Path, pool: WorkerPool, tasks: Sequence[UseTask]) -> tuple[UseRow, ...]:
    """Work the tasks off, and write their rows into the folder of an experiment."""
    measured = dict(pool.each(STAGE, measure_use, tasks, expected=lambda task: task.expected))
    rows = tuple(measured[task] for task in tasks)
    ResultFolder.open(out).write("uses", table([asdict(row) for row in rows], columns_of(UseRow)))
    return rows


def plan_uses(pool: WorkerPool, tasks: Iterable[UseTask]) -> None:
    """Let the plan expect the tasks."""
    pool.plan.expect(STAGE, sum(task.expected for task in tasks))
