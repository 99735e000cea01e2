"""Neighbours and outcomes whose exact loss is measured, and the largest loss that a blind search finds beside them.

A *far pair* has the shape that attains the bounds of ``sparsegate.mechanisms.bounds``: with M far from the threshold,
every BELOW sits at M, every ABOVE at 0, -M or M, and D' moves them against each other. It is a guess like any
other: its loss is computed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from sparsegate.budget import Budget, Number
from sparsegate.errors import ParameterError
from sparsegate.mechanisms.variants import Compared, Released, Variant
from sparsegate.privacy.laws import NoiseLaw
from sparsegate.privacy.loss import loss
from sparsegate.privacy.loss_search import search
from sparsegate.privacy.model import Noise, build
from sparsegate.privacy.outcome import log_probability

BELOW, ABOVE = False, True

_FAR = 40  # sums of the two noise scales: e^-40 is out of sight
_SEARCHED = 8  # queries of the blind search


class _Shape(NamedTuple):
    """How a BELOW at M moves, where an ABOVE sits in multiples of M, and how that moves."""

    below_moves: int
    above_at: int
    above_moves: int


_SHAPES = {
    "general": (_Shape(1, 0, -1), _Shape(1, -1, -1)),
    "monotonic": (_Shape(1, 0, 0), _Shape(1, -1, 0), _Shape(1, 1, 1), _Shape(0, -1, -1)),
}


@dataclass(frozen=True, kw_only=True)
class AnswerPair:
    """Answers on D and on D' (Delta = 1), an outcome, and the threshold or thresholds."""

    answers: Sequence[float]
    neighbour: Sequence[float]
    outcome: Sequence[Any]
    threshold: Sequence[float] | float = 0


def repeated(*blocks: tuple[float, float, Any, int]) -> AnswerPair:
    """A pair from (answer on D, answer on D', outcome, how often) blocks.

    >>> repeated((0, 1, BELOW, 2), (0, -1, ABOVE, 1)).neighbour
    [1, 1, -1]
    """
    rows = [block[:3] for block in blocks for _ in range(block[3])]
    answers, neighbour, outcome = ([row[i] for row in rows] for i in range(3))
    return AnswerPair(answers=answers, neighbour=neighbour, outcome=outcome)


@dataclass(frozen=True, kw_only=True)
class ClaimSetting:
    """A row with its public parameters: epsilon split as its authors did, or a budget."""

    row: Variant
    cutoff: int = 1
    epsilon: Number | None = None
    budget: Budget | None = None
    monotonic: bool = False
    noise: Noise = "continuous"

    @property
    def shares(self) -> Budget:
        """The budget, given or split."""
        if self.budget is not None:
            return self.budget
        return self.row.budget(self.epsilon, cutoff=self.cutoff, monotonic=self.monotonic)

    @property
    def query_law(self) -> NoiseLaw:
        """The law of nu; of every row but the one without query noise."""
        law = build(self.row, cutoff=self.cutoff, budget=self.shares, monotonic=self.monotonic, noise=self.noise).nu
        if law is None:
            raise ParameterError("row", "must add noise to the queries", self.row.key)
        return law

    def log_probability(self, answers: Sequence[float], outcome: Sequence[Any]) -> float:
        """ln Pr[A(D) = outcome] at threshold 0."""
        return log_probability(
            self.row,
            answers,
            outcome,
            cutoff=self.cutoff,
            budget=self.shares,
            monotonic=self.monotonic,
            noise=self.noise,
        )

    def loss(self, pair: AnswerPair) -> float:
        """The exact loss of a pair."""
        return loss(
            self.row,
            pair.answers,
            pair.neighbour,
            pair.outcome,
            threshold=pair.threshold,
            estimates=None if self.row.compared is Compared.ANSWER else 0,
            cutoff=self.cutoff,
            budget=self.shares,
            monotonic=self.monotonic,
            noise=self.noise,
        )

    def far_pairs(self) -> list[AnswerPair]:
        """The shapes that attain the bounds, with as many BELOW as are of use."""
        threshold, query, _ = self.row.scales(self.shares, cutoff=self.cutoff, monotonic=self.monotonic)
        if threshold is None or query is None:
            raise ParameterError("row", "must add noise to the threshold and to the queries", self.row.key)
        far = _FAR * math.ceil(threshold + query)
        rounds, k = (self.cutoff, 1) if self.row.redraws_threshold else (1, self.cutoff)
        m = k + math.ceil(query / threshold) + 1  # one more than the k + e1/r from which a BELOW costs nothing
        pairs = []
        for below_moves, above_at, above_moves in _SHAPES["monotonic" if self.monotonic else "general"]:
            start = above_at * far
            end = float(start) if self.shares.answers else ABOVE
            one_round = (far, far + below_moves, BELOW, m), (start, start + above_moves, end, k)
            pairs.append(repeated(*one_round * rounds))
        return pairs

    def worst(
        self,
        *,
        queries: int = _SEARCHED,
        thresholds: Sequence[float] = (0,),
        pairs: Sequence[AnswerPair] | None = None,
    ) -> float:
        """The largest exact loss over the pairs (default: the far ones) and over what a blind search climbs to."""
        found = search(
            self.row,
            queries=queries,
            thresholds=thresholds,
            cutoff=self.cutoff,
            budget=self.shares,
            monotonic=self.monotonic,
            noise=self.noise,
        )
        # The search works on one shared grid; what it found is measured again by adaptive quadrature.
        climbed = AnswerPair(
            answers=_whole(found.answers),
            neighbour=_whole(found.neighbour),
            threshold=_whole(found.threshold),
            outcome=found.outcome,
        )
        return max(self.loss(pair) for pair in (climbed, *(self.far_pairs() if pairs is None else pairs)))


def _whole(values: Sequence[float]) -> list[float]:
    """Whole numbers as ints: they, and only they, live on the integer lattice."""
    return [int(value) for value in values] if all(float(value).is_integer() for value in values) else list(values)


def indicators(row: Variant) -> Variant:
    """The same algorithm, releasing ABOVE or BELOW alone."""
    return replace(row, released=Released.NOTHING)


def listed(values: Sequence[float], digits: int = 4) -> str:
    """Numbers for a line of evidence.

    >>> listed([1, 0.25, math.inf])
    '1.0000, 0.2500, inf'
    """
    return ", ".join(f"{value:.{digits}f}" for value in values)
