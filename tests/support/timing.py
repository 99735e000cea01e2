"""Does the time of a call tell two neighbouring inputs apart? Interleaved, and exact whatever the machine is doing.

In every round both inputs are timed, in an order drawn by a coin. If the time does not depend on which of the two was
given, either is the slower one with probability 1/2, independently in every round, however the machine's speed drifts:
so the number of rounds in which the second was slower is Binomial(rounds, 1/2), and the p-value below is exact (cf.
Reparaz, Balasch, Verbauwhede 2017, *dude, is my code constant time?*, who use Welch's t). Both inputs are copied into
one buffer first, so that neither owns the luckier pages.
"""

from __future__ import annotations

import gc
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from tests.support.goodness import FALSE_ALARM

BARELY = 0.05
"""A difference of one part in twenty is no leak to this test, however certain: a Python integer of one more digit, or
one that is not among the small ones kept ready, takes 10 to 20 nanoseconds more, 3 % of a question."""


@dataclass(frozen=True)
class Duel:
    """In how many rounds the second input took longer, and by how much."""

    slower: int
    rounds: int
    ratio: float

    @property
    def leaks(self) -> bool:
        """Whether the time tells the inputs apart; a call that does not leak is accused at most once in a million."""
        return stats.binomtest(self.slower, self.rounds).pvalue < FALSE_ALARM and abs(self.ratio - 1) > BARELY


def duel(call: Callable[[Any], object], first: Any, second: Any, *, rounds: int, seed: int = 1) -> Duel:
    """Time ``call`` on both inputs, ``rounds`` times each."""
    coins = random.Random(seed)
    shared = np.empty_like(first) if isinstance(first, np.ndarray) else None
    inputs, slower = (first, second), 0
    times: list[tuple[int, int]] = []
    for number in (0, 1, 1, 0):  # warm
        call(_placed(inputs[number], shared))
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        for _ in range(rounds):
            taken = [0, 0]
            start = coins.getrandbits(1)
            for number in (start, 1 - start):
                value = _placed(inputs[number], shared)
                begun = time.thread_time_ns()
                call(value)
                taken[number] = time.thread_time_ns() - begun
            times.append((taken[0], taken[1]))
            slower += coins.getrandbits(1) if taken[0] == taken[1] else taken[1] > taken[0]
    finally:
        if was_enabled:
            gc.enable()
    medians = np.median(times, axis=0)
    return Duel(slower, rounds, float(medians[1] / medians[0]))


def _placed(value: Any, shared: NDArray[Any] | None) -> Any:
    if shared is None:
        return value
    np.copyto(shared, value)
    return shared
