"""How often each way to choose features finds the k best, on scores that are known. For research: NOT PRIVATE.

**The gate of Stoddard, Chen and Machanavajjhala (2014)**, row "stoddard-2014", says of every feature whether its score
reaches one noisy threshold. It adds no noise to the scores, so two questions can have an outcome that is possible on
one table and impossible on its neighbour (`algorithm_5_is_not_private`, proofs/no_query_noise.v):
``tight_epsilon("stoddard-2014", epsilon=e, queries=n)`` is infinite for every e and every n >= 2. No setting of it has
a finite true epsilon on two features. To compare at equal true epsilon each of the d features is asked at a gate of its
own, where one question costs e/2, and the d gates add up to epsilon: the way "stoddard-2014-each".

Ways with a threshold are given the best one there is, between the k-th and the next score. That is a number nobody has:
it is private. A gate with a public threshold does worse.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import product
from types import MappingProxyType
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sparsegate.budget import Number, check_choice, exact_count, exact_epsilon
from sparsegate.errors import ParameterError
from sparsegate.gates.bounds import tight_epsilon
from sparsegate.gates.research import run_many
from sparsegate.noise import Seeded, Source
from sparsegate.selection.exponential import selection_rate
from sparsegate.selection.scores import Scores
from sparsegate.selection.select import Request
from sparsegate.selection.subset import Subsets

Chosen = NDArray[np.bool_]
"""A row for each run, a column for each feature."""

_FLAWED: Final = "stoddard-2014"


@dataclass(frozen=True, kw_only=True)
class _Task:
    """Scores to choose the k best of, ``runs`` times: what every way is given."""

    scores: NDArray[np.int64]
    k: int
    epsilon: Number
    promise: Mapping[str, Any]
    runs: int
    rng: np.random.Generator
    source: Source

    def gate(self, row: str, answers: NDArray[np.int64], epsilon: Number, *, runs: int, cutoff: int = 1) -> Chosen:
        """Which answers a gate says ABOVE to, its threshold between the k-th score and the next."""
        ranked = np.sort(self.scores)[::-1]
        return run_many(
            row,
            answers,
            runs=runs,
            threshold=int(ranked[self.k] + (ranked[self.k - 1] - ranked[self.k] + 1) // 2),
            epsilon=epsilon,
            cutoff=cutoff,
            source=self.source,
            not_private=True,
            **self.promise,
        ).above

    def marked(self, choose: Callable[[], Any]) -> Chosen:
        """What a function that gives the numbers of some features chooses in each run."""
        chosen = np.zeros((self.runs, self.scores.size), dtype=np.bool_)
        for run in range(self.runs):
            chosen[run, choose()] = True
        return chosen

    def at_most_k(self, above: Chosen) -> Chosen:
        """Of more than k that passed, a random k."""
        lots = np.where(above, self.rng.random(above.shape), 2.0)
        kept: Chosen = above & (lots <= np.sort(lots, axis=1)[:, [self.k - 1]])
        return kept


def _best(task: _Task) -> Chosen:
    """SelectKBest, not private: the k highest; ties at random."""
    return task.marked(lambda: np.lexsort((task.rng.random(task.scores.size), -task.scores))[: task.k])


def _published(task: _Task) -> Chosen:
    """The gate as published: all features in one pass."""
    return task.at_most_k(task.gate(_FLAWED, task.scores, task.epsilon, runs=task.runs))


def _each(task: _Task) -> Chosen:
    """A gate as published for each feature, so that the sum of what they cost is epsilon."""
    alone = tight_epsilon(_FLAWED, epsilon=1, queries=1, monotonic=task.promise["monotonic"])
    share = exact_epsilon(task.epsilon) / task.scores.size / exact_epsilon(alone)
    gates = [task.gate(_FLAWED, task.scores[[j]], share, runs=task.runs) for j in range(task.scores.size)]
    return task.at_most_k(np.hstack(gates))


def _gate(row: str, task: _Task) -> Chosen:
    """One pass in random order at a gate that closes after k positives."""

    def passed() -> Any:
        order = task.rng.permutation(task.scores.size)
        return order[task.gate(row, task.scores[order], task.epsilon, runs=1, cutoff=task.k)[0]]

    return task.marked(passed)


def _one_shot(task: _Task) -> Chosen:
    request = Request(count=task.k, epsilon=task.epsilon, method="one-shot", **task.promise)
    prepared = request.prepare(Scores.each(task.scores))
    return task.marked(lambda: prepared.draw(task.source).groups)


def _subset(task: _Task) -> Chosen:
    """As the method "subset" does, with its tiles laid once for all runs."""
    rate = selection_rate(epsilon=task.epsilon, count=2, **task.promise)
    sets = Subsets(Scores.each(task.scores), rate, task.k)
    return task.marked(lambda: sets.draw(task.source))


def _chance(task: _Task) -> Chosen:
    """k at random."""
    return task.marked(lambda: task.rng.permutation(task.scores.size)[: task.k])


WAYS: Final[Mapping[str, Callable[[_Task], Chosen]]] = MappingProxyType(
    {
        "best": _best,
        "stoddard-2014": _published,
        "stoddard-2014-each": _each,
        "standard": partial(_gate, "standard"),  # Alg. 7
        "liu-2024": partial(_gate, "liu-2024"),  # the gate of this library
        "one-shot": _one_shot,
        "subset": _subset,
        "chance": _chance,
    }
)
"""Every way by its key."""


@dataclass(frozen=True, kw_only=True)
class FeatureQuality:
    """How well one way did at one epsilon: the shares of the k best, and of their scores' sum, that it found.

    ``epsilon`` is what the way was set to; ``true_epsilon`` what it costs: infinity for what is not private.
    ``recall_std`` is the standard deviation of ``recall`` over the runs.
    """

    way: str
    epsilon: float
    true_epsilon: float
    recall: float
    kept: float
    runs: int
    recall_std: float


def choose_many(
    way: str,
    scores: ArrayLike,
    *,
    k: int,
    epsilon: Number,
    sensitivity: int,
    monotonic: bool = False,
    runs: int = 100,
    seed: int = 1,
) -> Chosen:
    """Choose ``k`` features ``runs`` times; a way with a threshold may choose fewer.

    >>> choose_many("subset", [900, 20, 800, 10], k=2, epsilon=1, sensitivity=1, runs=2).tolist()
    [[True, False, True, False], [True, False, True, False]]
    """
    check_choice(way, "way", WAYS)
    numbers = np.asarray(scores)
    if numbers.ndim != 1 or numbers.dtype.kind not in "iu" or not 1 <= exact_count(k, "k") < numbers.size:
        rule = "must be whole numbers, one for each feature, and more than k of them"
        raise ParameterError("scores", rule, numbers.shape, "pass what a score of feature_scores gives")
    task = _Task(
        scores=numbers.astype(np.int64),
        k=k,
        epsilon=epsilon,
        promise={"sensitivity": exact_count(sensitivity, "sensitivity"), "monotonic": monotonic},
        runs=exact_count(runs, "runs"),
        rng=np.random.default_rng(seed),
        source=Seeded(seed).stream(),
    )
    return WAYS[way](task)


def compare_choices(
    scores: ArrayLike,
    *,
    k: int,
    epsilons: Iterable[Number],
    sensitivity: int,
    monotonic: bool = False,
    runs: int = 100,
    seed: int = 1,
    ways: Iterable[str] = tuple(WAYS),
) -> tuple[FeatureQuality, ...]:
    """A row for each way and epsilon: how much of the best k features it finds. A seed gives the same rows again.

    >>> rows = compare_choices([900, 20, 800, 10], k=2, epsilons=[1], sensitivity=1, ways=["subset", "stoddard-2014"])
    >>> [(row.way, row.true_epsilon, row.recall) for row in rows]
    [('subset', 1.0, 1.0), ('stoddard-2014', inf, 1.0)]
    """
    rows = []
    public: dict[str, Any] = {"k": k, "sensitivity": sensitivity, "monotonic": monotonic, "runs": runs, "seed": seed}
    for way, epsilon in product(ways, list(epsilons)):
        chosen, values = choose_many(way, scores, epsilon=epsilon, **public), np.asarray(scores, dtype=np.int64)
        ranked = np.sort(values)[::-1][:k]
        hits = np.minimum((chosen & (values >= ranked[-1])).sum(axis=1), k)
        claimed = float(exact_epsilon(epsilon))
        flawed = tight_epsilon(_FLAWED, epsilon=epsilon, queries=values.size, monotonic=monotonic)
        row = FeatureQuality(
            way=way,
            epsilon=claimed,
            true_epsilon={"best": math.inf, _FLAWED: flawed, "chance": 0.0}.get(way, claimed),
            recall=float(hits.mean() / k),
            kept=float((chosen @ values).mean() / ranked.sum()) if ranked.sum() else 1.0,
            runs=runs,
            recall_std=float(hits.std(ddof=1) / k) if runs > 1 else math.nan,
        )
        rows.append(row)
    return tuple(rows)
