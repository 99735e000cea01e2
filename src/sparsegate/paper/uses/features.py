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
from types import MappingProxyType
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sparsegate.budget import Number, exact_count, exact_epsilon
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
class _Setting:
    scores: NDArray[np.int64]
    k: int
    epsilon: Number
    sensitivity: int
    monotonic: bool
    runs: int
    rng: np.random.Generator
    source: Source

    @property
    def threshold(self) -> int:
        """Between the k-th score and the next, which no public number is likely to be."""
        ranked = np.sort(self.scores)[::-1]
        return int(ranked[self.k] + (ranked[self.k - 1] - ranked[self.k] + 1) // 2)

    @property
    def promise(self) -> dict[str, Any]:
        return {"sensitivity": self.sensitivity, "monotonic": self.monotonic}


@dataclass(frozen=True, kw_only=True)
class FeatureWay:
    """A way to choose: what it is, how it chooses, and the epsilon it truly costs when it is set to ``epsilon``."""

    says: str
    choose: Callable[[_Setting], Chosen]
    true_epsilon: Callable[[_Setting], float]


def _flawed_gate(at: _Setting, answers: NDArray[np.int64], epsilon: Number) -> Chosen:
    return run_many(
        _FLAWED,
        answers,
        runs=at.runs,
        threshold=at.threshold,
        epsilon=epsilon,
        source=at.source,
        not_private=True,
        **at.promise,
    ).above


def _claimed(at: _Setting) -> Chosen:
    """All features in one pass, as published. Of more than k that pass a random k is kept."""
    return _at_most(at, _flawed_gate(at, at.scores, at.epsilon))


def _each(at: _Setting) -> Chosen:
    """A gate for each feature, so that the sum of what they cost is epsilon."""
    one = tight_epsilon(_FLAWED, epsilon=1, queries=1, monotonic=at.monotonic)
    share = exact_epsilon(at.epsilon) / at.scores.size / exact_epsilon(one)
    return _at_most(at, np.hstack([_flawed_gate(at, at.scores[[j]], share) for j in range(at.scores.size)]))


def _at_most(at: _Setting, above: Chosen) -> Chosen:
    lots = np.where(above, at.rng.random(above.shape), 2.0)
    bar = np.sort(lots, axis=1)[:, [at.k - 1]]
    kept: Chosen = above & (lots <= bar)
    return kept


def _best(at: _Setting) -> Chosen:
    """The k highest; ties at random."""
    orders = [np.lexsort((at.rng.random(at.scores.size), -at.scores))[: at.k] for _ in range(at.runs)]
    return _marked(at, orders)


def _one_shot(at: _Setting) -> Chosen:
    ready = Request(count=at.k, epsilon=at.epsilon, method="one-shot", **at.promise).prepare(Scores.each(at.scores))
    return _marked(at, [ready.draw(at.source).groups for _ in range(at.runs)])


def _gate(row: str) -> Callable[[_Setting], Chosen]:
    """One pass in random order at a gate that closes after k positives."""

    def choose(at: _Setting) -> Chosen:
        orders = [at.rng.permutation(at.scores.size) for _ in range(at.runs)]
        given: dict[str, Any] = {"threshold": at.threshold, "epsilon": at.epsilon, "cutoff": at.k, **at.promise}
        source: dict[str, Any] = {"source": at.source, "not_private": True}
        passed = (run_many(row, at.scores[order], runs=1, **given, **source).above[0] for order in orders)
        return _marked(at, (order[above] for order, above in zip(orders, passed, strict=True)))

    return choose


def _subset(at: _Setting) -> Chosen:
    """As the method "subset" does, with its tiles laid once for all runs."""
    rate = selection_rate(epsilon=at.epsilon, count=2, **at.promise)
    sets = Subsets(Scores.each(at.scores), rate, at.k)
    return _marked(at, [sets.draw(at.source) for _ in range(at.runs)])


def _chance(at: _Setting) -> Chosen:
    return _marked(at, [at.rng.permutation(at.scores.size)[: at.k] for _ in range(at.runs)])


def _marked(at: _Setting, numbers: Iterable[Any]) -> Chosen:
    chosen = np.zeros((at.runs, at.scores.size), dtype=np.bool_)
    for run, some in enumerate(numbers):
        chosen[run, some] = True
    return chosen


def _as_said(at: _Setting) -> float:
    return float(exact_epsilon(at.epsilon))


WAYS: Final[Mapping[str, FeatureWay]] = MappingProxyType(
    {
        "best": FeatureWay(says="SelectKBest, not private", choose=_best, true_epsilon=lambda at: math.inf),
        "stoddard-2014": FeatureWay(
            says="SCM14's gate, as published",
            choose=_claimed,
            true_epsilon=lambda at: tight_epsilon(
                _FLAWED, epsilon=at.epsilon, queries=at.scores.size, monotonic=at.monotonic
            ),
        ),
        "stoddard-2014-each": FeatureWay(
            says="SCM14's gate, one for each feature", choose=_each, true_epsilon=_as_said
        ),
        "standard": FeatureWay(says="corrected gate (Alg. 7)", choose=_gate("standard"), true_epsilon=_as_said),
        "liu-2024": FeatureWay(says="gate of this library", choose=_gate("liu-2024"), true_epsilon=_as_said),
        "one-shot": FeatureWay(says="one-shot noise", choose=_one_shot, true_epsilon=_as_said),
        "subset": FeatureWay(says="subset", choose=_subset, true_epsilon=_as_said),
        "chance": FeatureWay(says="k at random", choose=_chance, true_epsilon=lambda at: 0.0),
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
    at = _setting(scores, k, epsilon, sensitivity, monotonic, runs, seed)
    return _way(way).choose(at)


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
    for key in ways:
        for epsilon in epsilons:
            at = _setting(scores, k, epsilon, sensitivity, monotonic, runs, seed)
            chosen = _way(key).choose(at)
            ranked = np.sort(at.scores)[::-1][: at.k]
            found = np.minimum((chosen & (at.scores >= ranked[-1])).sum(axis=1), at.k)
            rows.append(
                FeatureQuality(
                    way=key,
                    epsilon=_as_said(at),
                    true_epsilon=_way(key).true_epsilon(at),
                    recall=float(found.mean() / at.k),
                    kept=float((chosen @ at.scores).mean() / ranked.sum()) if ranked.sum() else 1.0,
                    runs=at.runs,
                    recall_std=float(found.std(ddof=1) / at.k) if at.runs > 1 else math.nan,
                )
            )
    return tuple(rows)


def _way(key: str) -> FeatureWay:
    if key not in WAYS:
        raise ParameterError("way", f"must be one of {', '.join(WAYS)}", key)
    return WAYS[key]


def _setting(
    scores: ArrayLike, k: int, epsilon: Number, sensitivity: int, monotonic: bool, runs: int, seed: int
) -> _Setting:
    numbers = np.asarray(scores)
    if numbers.ndim != 1 or numbers.dtype.kind not in "iu" or not 1 <= exact_count(k, "k") < numbers.size:
        rule = "must be whole numbers, one for each feature, and more than k of them"
        raise ParameterError("scores", rule, numbers.shape, "pass what a score of feature_scores gives")
    return _Setting(
        scores=numbers.astype(np.int64),
        k=k,
        epsilon=epsilon,
        sensitivity=exact_count(sensitivity, "sensitivity"),
        monotonic=monotonic,
        runs=exact_count(runs, "runs"),
        rng=np.random.default_rng(seed),
        source=Seeded(seed).stream(),
    )
