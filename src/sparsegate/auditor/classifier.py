"""A score that tells two samples apart, cut into cells: for outcomes that are long or hold several numbers.

The best event at any size is a set {outcome : p1/p2 >= t} (Neyman and Pearson). A classifier that is trained to say
which of two equally large samples an outcome came from estimates p1/(p1 + p2), which rises with that ratio. Logistic
regression on ranks needs nothing but numpy; gradient boosting is tried too where scikit-learn is installed. A poor
classifier gives a weak bound, never a wrong one.

*The score is a function of one outcome alone.* A product of a matrix and a vector is none: BLAS adds in an order that
depends on how many rows there are, and a last bit decides on which side of a cut an outcome lies. Here a score is made
of additions, multiplications and comparisons of numbers of its own row, column after column, each rounded as IEEE 754
says; the trees of gradient boosting add the values of their leaves in the same way. No score of training lies on a cut.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from sparsegate.auditor.encoding import BITS, Integers, Reals, Sample, Shape, joined
from sparsegate.auditor.partitions import Cells, range_of

_CUTS: Final = 63
_CONFUSED: Final = 1e-9
_KNOTS: Final = 33
_MOST_SHAPES: Final = 16
_MOST_ROWS: Final = 30_000
_RIDGE: Final = 1e-3
_STEPS: Final = 12


@dataclass(frozen=True, kw_only=True)
class Features:
    """An outcome as numbers of about the same size: its shape, its bits, the rank of each number and its square."""

    shapes: Integers
    bits: int
    knots: tuple[Reals, ...]

    @staticmethod
    def learned(sample: Sample) -> Features:
        """Ranks are read off quantiles of the training sample."""
        found, count = np.unique(sample.word >> BITS, return_counts=True)
        used = int(np.bitwise_or.reduce(np.maximum(sample.word, 0) & ((1 << BITS) - 1))).bit_length()
        knots = []
        for column in sample.columns.T:
            finite = column[np.isfinite(column)]
            spread = np.unique(np.quantile(finite, np.linspace(0, 1, _KNOTS))) if finite.size else np.zeros(0)
            knots.append(spread)
        return Features(shapes=found[np.argsort(-count)[1:_MOST_SHAPES]], bits=used, knots=tuple(knots))

    def of(self, sample: Sample) -> Reals:
        """One row for each outcome."""
        rows = [np.ones(len(sample)), *(sample.word >> BITS == shape for shape in self.shapes)]
        rows += [(sample.word >> bit) & 1 for bit in range(self.bits)]
        for column, knots in zip(sample.wide(len(self.knots)).T, self.knots, strict=True):
            if knots.size > 1:
                rank = _rank(column, knots)
                rows.append(rank)
                if knots.size > 2:
                    rows.append(rank * rank)
        return np.column_stack(rows).astype(np.float64)


@dataclass(frozen=True, kw_only=True)
class Slices:
    """The score of a classifier, cut into cells."""

    score: Callable[[Sample], Reals]
    cuts: Reals
    learner: str

    @staticmethod
    def learned(one: Sample, other: Sample, *, boosted: bool, seed: int) -> Slices | None:
        """Train on the two samples; None where scikit-learn would be needed and is not there."""
        size = min(len(one), len(other), _MOST_ROWS)
        both = joined([one.part(slice(size)), other.part(slice(size))])
        label = np.repeat([1.0, 0.0], size)
        features = Features.learned(both)
        table = features.of(both)
        fit = _boosting(table, label, seed) if boosted else _logistic(table, label)
        if fit is None:
            return None
        return Slices(
            score=lambda sample: fit(features.of(sample)),
            cuts=_cuts(fit(table)),
            learner="gradient boosting" if boosted else "logistic regression",
        )

    @property
    def size(self) -> int:
        """Slices of the score."""
        return self.cuts.size + 1

    def cells(self, sample: Sample) -> Cells:
        """The slice that the score lies in."""
        return np.searchsorted(self.cuts, self.score(sample))

    def words(self, chosen: list[int], shapes: list[Shape]) -> str:
        """What a score means can only be said by its range."""
        edges = np.concatenate([[-np.inf], self.cuts, [np.inf]])
        first, last = min(chosen), max(chosen)
        which = f"{range_of(edges[first], edges[last + 1])}" if len(chosen) == last - first + 1 else "x in some ranges"
        return f"an outcome whose score x by {self.learner} has {which}"


def _rank(column: Reals, knots: Reals) -> Reals:
    """Where a number lies among the knots, from -1 to 1, linear in between; 0 where there is none."""
    inside = np.clip(column, knots[0], knots[-1])
    below = np.clip(np.searchsorted(knots, inside, side="right") - 1, 0, knots.size - 2)
    part = (inside - knots[below]) / (knots[below + 1] - knots[below])
    return np.where(np.isnan(column), 0.0, (below + part) * 2 / (knots.size - 1) - 1)


def _cuts(scores: Reals) -> Reals:
    """Slices of about the same mass; each cut lies midway between two scores that rounding cannot confuse."""
    found, count = np.unique(scores, return_counts=True)
    gaps = np.flatnonzero(np.diff(found) > _CONFUSED * np.abs(found).max())
    mass = np.cumsum(count)[gaps] / scores.size
    wanted = np.unique(np.searchsorted(mass, np.arange(1, _CUTS + 1) / (_CUTS + 1)))
    at = gaps[wanted[wanted < gaps.size]]
    return (found[at] + found[at + 1]) / 2


def _logistic(table: Reals, label: Reals) -> Callable[[Reals], Reals]:
    """Newton's method for logistic regression with a ridge."""
    weights = np.zeros(table.shape[1])
    ridge = _RIDGE * len(label)
    for _ in range(_STEPS):
        chance = 1 / (1 + np.exp(-np.clip(table @ weights, -30, 30)))
        curvature = (table * (chance * (1 - chance))[:, None]).T @ table + ridge * np.eye(weights.size)
        step = np.linalg.solve(curvature, table.T @ (label - chance) - ridge * weights)
        weights = weights + step
        if np.abs(step).max() < 1e-6:
            break

    def score(rows: Reals) -> Reals:
        total = np.zeros(len(rows))
        for column, weight in zip(rows.T, weights, strict=True):
            total += column * weight
        return total

    return score


def _boosting(table: Reals, label: Reals, seed: int) -> Callable[[Reals], Reals] | None:
    try:
        from sklearn.ensemble import HistGradientBoostingClassifier
        from threadpoolctl import threadpool_limits  # comes with scikit-learn
    except ImportError:
        return None
    model: Any = HistGradientBoostingClassifier(
        max_iter=40, max_leaf_nodes=15, min_samples_leaf=50, early_stopping=False, random_state=seed
    )

    def score(rows: Reals) -> Reals:
        # Its threads wait actively: on a busy machine more of them are slower than one.
        with threadpool_limits(1):
            return np.asarray(model.decision_function(rows), dtype=np.float64)

    with threadpool_limits(1):
        model.fit(table, label)
    return score
