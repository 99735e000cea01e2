"""Mechanisms whose privacy loss is known exactly, as batch callables with a seed of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import stats
from tests.support.goodness import FALSE_ALARM

Batch = Callable[[np.ndarray, int], Any]


def too_many(failures: int, runs: int, rate: float) -> bool:
    """Whether this many failures are more than chance at that rate, by an exact binomial test at level 1e-6."""
    return bool(stats.binom.sf(failures - 1, runs, rate) < FALSE_ALARM)


def randomized_response(epsilon: float, seed: int) -> Batch:
    """Whether the first answer is positive, told truly with probability e^eps/(1 + e^eps): loss exactly epsilon."""
    rng = np.random.default_rng(seed)
    lie = 1 / (1 + np.exp(epsilon))

    def mechanism(answers: np.ndarray, n: int) -> Any:
        return (answers[0] > 0) ^ (rng.random(n) < lie)

    return mechanism


def responses(epsilon: float, bits: int, seed: int) -> Batch:
    """This many (`bits`) independent randomized responses, epsilon in all: 2**bits outcomes, loss exactly epsilon."""
    rng = np.random.default_rng(seed)
    lie = 1 / (1 + np.exp(epsilon / bits))

    def mechanism(answers: np.ndarray, n: int) -> Any:
        return (answers[0] > 0) ^ (rng.random((n, bits)) < lie)

    return mechanism


def laplace(epsilon: float, seed: int) -> Batch:
    """The first answer with Laplace noise: loss exactly epsilon."""
    rng = np.random.default_rng(seed)
    return lambda answers, n: answers[0] + rng.laplace(scale=1 / epsilon, size=n)


def laplace_vector(epsilon: float, seed: int) -> Batch:
    """All answers with Laplace noise, the budget shared out: loss exactly epsilon."""
    rng = np.random.default_rng(seed)
    return lambda answers, n: answers + rng.laplace(scale=len(answers) / epsilon, size=(n, len(answers)))


def geometric(epsilon: float, seed: int) -> Batch:
    """The first answer with two-sided geometric noise: loss exactly epsilon."""
    rng = np.random.default_rng(seed)
    p = -np.expm1(-epsilon)
    return lambda answers, n: answers[0] + rng.geometric(p, n) - rng.geometric(p, n)


def words(epsilon: float, seed: int) -> Batch:
    """Randomized response over four words, as strings: loss exactly epsilon."""
    rng = np.random.default_rng(seed)
    names = np.array(["north", "east", "south", "west"])
    truth = np.exp(epsilon) / (np.exp(epsilon) + 3)

    def mechanism(answers: np.ndarray, n: int) -> Any:
        right = int(answers[0]) % 4
        other = (right + rng.integers(1, 4, n)) % 4
        return names[np.where(rng.random(n) < truth, right, other)].tolist()

    return mechanism


SOUND: dict[str, Callable[[float, int], Batch]] = {
    "randomized response": randomized_response,
    "geometric": geometric,
    "laplace": laplace,
    "laplace vector": laplace_vector,
    "ten responses": lambda epsilon, seed: responses(epsilon, 10, seed),
    "words": words,
}
"""Each is exactly epsilon-private: no smaller epsilon is true of it, no larger one is proven of it."""
