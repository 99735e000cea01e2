"""How long one private selection takes: ``select_top`` itself, on the score of every item, with exact noise.

What is simulated on grouped scores takes no such time, so where the library can release what a method selects, that is
timed, once for each dataset and c. A method that is not ours is timed by its own runs.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from sparsegate.evaluation.methods import METHODS, AnyMethod, Method
from sparsegate.evaluation.simulated.ranked import Ladder
from sparsegate.mechanisms.selection import select_top
from sparsegate.noise import Seeded

RETRAVERSED = METHODS["svt-retr-3d"]
"""The one retraversal that is timed: others differ in a number."""


@dataclass(frozen=True, kw_only=True)
class TimedRelease:
    """One selection to be timed."""

    dataset: str
    key: str
    options: tuple[tuple[str, Any], ...]
    count: int
    epsilon: Fraction


def release_options(method: AnyMethod) -> dict[str, Any] | None:
    """What ``select_top`` is told to select as the method does, but for a threshold; None where it cannot."""
    if not isinstance(method, Method):
        return None
    if method.row is None:
        given = {"touched": method.touched, "delta": method.delta}
        return {"method": method.selection, **{name: value for name, value in given.items() if value}}
    if method == RETRAVERSED:
        return {"method": "retraversal", "raise_by": method.raise_by}
    if method.row.key == "standard" and method.passes == 1 and not method.delta:
        return {"method": "sparse-vector", "allocation": method.allocation}
    return None


def time_release(given: tuple[TimedRelease, Ladder]) -> float:
    """The seconds of one release. Seeded, so not private: nothing is handed out."""
    release, ladder = given
    scores = np.repeat(ladder.values, ladder.sizes)
    np.random.default_rng(release.count).shuffle(scores)
    options = dict(release.options)
    if options["method"] in ("sparse-vector", "retraversal"):
        options["threshold"] = ladder.oracle_threshold(release.count)
    fixed: dict[str, Any] = {"sensitivity": 1.0, "monotonic": True, "source": Seeded(1), "not_private": True}
    start = time.perf_counter()
    select_top(scores, count=release.count, epsilon=release.epsilon, **fixed, **options)
    return time.perf_counter() - start
