"""The peers, each used the way its documentation shows and in the form that is fastest for it.

Only ``results()`` functions import this module: the processes that measure memory must not have the peers loaded, or
libraries that ours would load on demand are there already and cost nothing.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import opendp.prelude as dp
from diffprivlib.mechanisms import Exponential

dp.enable_features("contrib")

AHEAD = 4096


def vector_laplace(scale: float) -> Callable[[np.ndarray], list[int]]:
    """OpenDP's exact discrete Laplace noise on a vector of i64."""
    return dp.m.make_laplace(dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64"), scale=scale)


class OpenDPGate:
    """The sparse vector technique on OpenDP's exact noise: one call of the measurement for each question.

    A plain object is the form that favours OpenDP: with its own ``new_queryable`` around the same comparison a
    question takes three times as long. It has no lock and checks nothing but the cutoff.
    """

    def __init__(self, threshold: int, cutoff: int, threshold_scale: float, query_scale: float) -> None:
        space = dp.atom_domain(T="i64"), dp.absolute_distance(T="i64")
        self.bar = dp.m.make_laplace(*space, scale=threshold_scale)(threshold)
        self.noisy = dp.m.make_laplace(*space, scale=query_scale)
        self.remaining = cutoff

    def ask(self, answer: int) -> bool:
        if not self.remaining:
            raise RuntimeError("closed")
        above = self.noisy(answer) >= self.bar
        if above:
            self.remaining -= 1
        return above


class OpenDPGateAhead(OpenDPGate):
    """The same with noise drawn ahead in vectors, as ours draws it: the cost of a call is shared by the block."""

    def __init__(self, threshold: int, cutoff: int, threshold_scale: float, query_scale: float) -> None:
        super().__init__(threshold, cutoff, threshold_scale, query_scale)
        self.noise = vector_laplace(query_scale)
        self.zeros = np.zeros(AHEAD, dtype=np.int64)
        self.waiting: list[int] = []

    def ask(self, answer: int) -> bool:
        if not self.remaining:
            raise RuntimeError("closed")
        if not self.waiting:
            self.waiting = self.noise(self.zeros)
        above = answer + self.waiting.pop() >= self.bar
        if above:
            self.remaining -= 1
        return above


def noisy_top_k(count: int, epsilon: float) -> Callable[[np.ndarray], list[int]]:
    """OpenDP's top-k of counts: permute-and-flip, exact, peeled."""
    measurement = dp.m.make_noisy_top_k(
        dp.vector_domain(dp.atom_domain(T="i64")),
        dp.linf_distance(T="i64", monotonic=True),
        dp.max_divergence(),
        k=count,
        scale=count / epsilon,
    )
    assert abs(measurement.map(1) - epsilon) < 1e-9  # the same privacy as ours
    return measurement


def peeled_exponential(values: np.ndarray, count: int, epsilon: float) -> list[int]:
    """diffprivlib's exponential mechanism (in floats), once for each item to select, the winner taken out."""
    utility, candidates, chosen = values.tolist(), list(range(values.size)), []
    for _ in range(count):
        place = Exponential(epsilon=epsilon / count, sensitivity=1, utility=utility, monotonic=True).randomise()
        chosen.append(candidates.pop(place))
        utility.pop(place)
    return chosen
