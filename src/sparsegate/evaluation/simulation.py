"""What a method selects, simulated many times on grouped scores. NOT PRIVATE: an oracle threshold, noise in floats.

The law is that of the per-item mechanism with real-valued noise, items in random order. The time hangs on c and on the
number of runs, and hardly on the number of items; see ``race`` and ``redrawn`` for how.
"""

from __future__ import annotations

import math

import numpy as np

from sparsegate.budget import Number, exact_count
from sparsegate.evaluation.alg2 import first_positives
from sparsegate.evaluation.arrivals import Buckets, first_rings
from sparsegate.evaluation.hazards import Exponential, Traversal
from sparsegate.evaluation.methods import Method, method
from sparsegate.evaluation.ranked import Integers, Ladder, Rankable

_SELECTIONS = 1 << 20  # runs times c at a time: some 200 MB


def simulate(
    selected_by: Method | str,
    scores: Rankable,
    *,
    count: int,
    epsilon: Number,
    runs: int,
    rng: np.random.Generator | int,
) -> Integers:
    """Select ``count`` items ``runs`` times: a row for each run, of rungs of ``Ladder.of(scores)``.

    A run that selected fewer has NOBODY (-1) in the places left. Rows are in no particular order.

    Parameters
    ----------
    selected_by: a method, or its key.
    scores: anything that ``Ladder.of`` takes: an array, a mapping, ``Scores`` or a ladder.
    count: c, from 1 to one less than the number of items.
    epsilon: what one run would cost if its threshold were public, > 0.
    runs: how many, at least 1.
    rng: a numpy generator, or a seed for one.

    >>> scores = [900, 800, 700] + [10] * 1000
    >>> simulate("em", scores, count=3, epsilon=1, runs=2, rng=1).tolist()
    [[0, 1, 2], [0, 1, 2]]
    """
    chosen, ladder = method(selected_by), Ladder.of(scores)
    count, runs = ladder.check_count(count), exact_count(runs, "runs")
    generator = np.random.default_rng(rng)
    batch = max(1, _SELECTIONS // count)
    sizes = [min(batch, runs - start) for start in range(0, runs, batch)]
    return np.concatenate([_simulate(generator, chosen, ladder, count, epsilon, size) for size in sizes])


def _simulate(
    rng: np.random.Generator, chosen: Method, ladder: Ladder, count: int, epsilon: Number, runs: int
) -> Integers:
    noise = chosen.noise(count=count, epsilon=epsilon)
    threshold = chosen.raised(ladder.oracle_threshold(count), noise)
    buckets = Buckets.cut(ladder, count=count, scale=noise.query)
    if chosen.row is None:
        levels = np.full(runs, threshold)
        return first_rings(rng, buckets, Exponential(), levels=levels, scale=noise.query, count=count, end=math.inf)
    if chosen.row.redraws_threshold:
        return first_positives(
            rng, buckets, threshold=threshold, rho_scale=noise.threshold, nu_scale=noise.query, count=count, runs=runs
        )
    levels = threshold + rng.laplace(0.0, noise.threshold, runs)
    end = float(chosen.passes)
    return first_rings(rng, buckets, Traversal(), levels=levels, scale=noise.query, count=count, end=end)
