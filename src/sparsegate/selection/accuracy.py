"""How far below the c-th score a selected item can be: the worst over all scores, from public numbers alone.

Scores are whole numbers q_1 >= ... >= q_d, c < d. *Promise*: with W = ``within``, every selected item has a score of
at least q_c - W with probability ``confidence``, whatever the scores are; and every item of a score above q_c + W is
selected, with the same probability (for "subset" where d >= 2 c). It holds if and only if B(W + 1) <= 1 - confidence,
where B(g) is the largest probability, over all scores, that an item of score q_c - g or less is selected. B for each
kind of noise, and for sets: docs/explanation/proofs_in_words/core.md; the proofs: docs/explanation/theory.md. **A
public threshold** ("sparse-vector", "retraversal") promises nothing of the kind: one far below q_c lets the first c
items pass that come, whatever they have.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sparsegate.errors import ParameterError
from sparsegate.gates.calibration import least_whole
from sparsegate.selection.subset import log_binomials

Floats = NDArray[np.float64]

GRID: Final = 1 / 256
_DEEP: Final = 14.0  # cells end where what is left is exp(-14) of 1 - confidence
_SUMMED: Final = 4096  # factors of the product that are multiplied one by one
_MOST: Final = 2**62  # a depth beyond every count


@dataclass(frozen=True, kw_only=True)
class Promise:
    """``beyond(g)`` is B(g); ``least_wrong(N)`` bounds the probability of a wrong set from below, for N people."""

    beyond: Callable[[int], float]
    least_wrong: Callable[[int], float]

    def within(self, confidence: float) -> int | None:
        """The least W of the promise; None where it is beyond every count."""
        most = 1 - check_confidence(confidence)
        if self.beyond(_MOST) > most:
            return None
        return least_whole(lambda gap: self.beyond(gap) <= most) - 1


def check_confidence(confidence: float) -> float:
    """A probability that a promise can be made for."""
    if not 0.5 <= confidence <= 1 - 1e-9:
        rule = "must lie between 0.5 and 0.999999999"
        raise ParameterError("confidence", rule, confidence, "leave it out for 0.95")
    return float(confidence)


def peeled_case(*, rate: Fraction, count: int, total: int) -> Promise:
    """Gumbel noise; ``rate`` is a."""
    factor, first = float(rate), np.arange(1, min(count, _SUMMED) + 1)
    rest = math.log(max(count, _SUMMED) / _SUMMED)  # the sum of 1/k over the other factors, or more

    def beyond(gap: int) -> float:
        if total == count:
            return 0.0
        rivals = math.exp(math.log(total - count) - factor * gap)
        return -math.expm1(-float(np.log1p(rivals / first).sum()) - rivals * rest)

    return Promise(beyond=beyond, least_wrong=beyond)


def one_shot_case(*, rate: Fraction, count: int, total: int) -> Promise:
    """Exponential noise of scale 1/rate."""
    factor = float(rate)

    def below(y: Floats) -> Floats:
        return -np.expm1(-factor * np.maximum(y, 0))

    return _noise_case(count, total, exceeded=lambda tail: -np.log(tail) / factor, below=below)


def noisy_case(*, scale: Fraction, count: int, total: int) -> Promise:
    """Discrete Laplace noise X, and a coin u, uniform on (0, 1), for ties: the noise is X + u.

    With q = exp(-1/scale), Pr[X + u > k + s] = q**k (1 - s (1 - q)) / (1 + q) for whole k >= 0 and 0 <= s <= 1;
    X + u has the law of 1 - (X + u).
    """
    factor = 1 / float(scale)
    lost, both = -math.expm1(-factor), 1 + math.exp(-factor)  # 1 - q and 1 + q

    def tail(z: Floats) -> Floats:
        """Pr[X + u > z] for z >= 0."""
        whole = np.floor(z)
        return np.exp(-factor * whole) * (1 - (z - whole) * lost) / both

    def below(y: Floats) -> Floats:
        return np.where(y <= 1, tail(1 - np.minimum(y, 1)), 1 - tail(np.maximum(y, 0)))

    def exceeded(chance: Floats) -> Floats:
        upper = chance <= 1 / both
        held = np.maximum(np.where(upper, chance, 1 - chance) * both, 1e-300)
        whole = np.maximum(np.floor(-np.log(held) / factor), 0)
        z = whole + np.clip((1 - held * np.exp(factor * whole)) / lost, 0, 1)
        return np.where(upper, z, 1 - z)

    return _noise_case(count, total, exceeded=exceeded, below=below)


def _noise_case(
    count: int, total: int, *, exceeded: Callable[[Floats], Floats], below: Callable[[Floats], Floats]
) -> Promise:
    """From the number that one noise exceeds with a given probability, and the probability that it is below one."""
    ends = np.arange(GRID, _DEEP - math.log(1e-9), GRID)
    weights = np.diff(-np.expm1(-ends), prepend=0.0)
    if total > count:
        highest = exceeded(-np.expm1(np.log(-np.expm1(-ends)) / (total - count)))

    def beyond(gap: int) -> float:
        if total == count:
            return 0.0
        with np.errstate(divide="ignore"):  # log(0): a cell in which the least of c is below for sure
            passed = -np.expm1(count * np.log1p(-below(highest - float(gap))))
        return float(passed @ weights) + math.exp(-float(ends[-1]))

    return Promise(beyond=beyond, least_wrong=beyond)


def subset_case(*, rate: Fraction, count: int, total: int) -> Promise:
    """The exponential mechanism over sets; ``rate`` is a."""
    factor = float(rate)
    sets = float(log_binomials(np.array([total]), np.array([count]))[0])

    def others(good: int) -> float:
        """log(C - good)."""
        return sets + math.log1p(-good * math.exp(-sets))

    def clear(gap: int) -> float:
        if total == count:
            return 0.0
        return _odds(others(1) - 2 * factor * gap)

    def beyond(gap: int) -> float:
        if total < count + 2:
            return clear(gap)
        middle = min(math.log(count) / (2 * factor), gap - 1)
        steps = {math.floor(middle), min(math.ceil(middle), gap - 1)}
        good = min(factor * t + math.log1p(count * math.exp(-2 * factor * t)) for t in steps)
        return max(clear(gap), _odds(others(count + 1) - factor * gap - good))

    return Promise(beyond=beyond, least_wrong=clear)


def _odds(log_ratio: float) -> float:
    """R / (1 + R)."""
    return 1 / (1 + math.exp(-log_ratio)) if log_ratio > -700 else 0.0
