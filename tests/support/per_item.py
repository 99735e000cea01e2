"""Selections item by item, to hold the grouped simulator against: by the library's own runners, and by plain numpy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy import stats

import sparsegate as sg
from sparsegate.gates.variants import Noise
from sparsegate.paper import Ladder, Method
from sparsegate.paper.methods import NoiseScales

Outcome = tuple[int, ...]


def outcomes(rungs: np.ndarray, ladder: Ladder) -> Counter[Outcome]:
    """How many items of each rung a run selected, counted over runs."""
    numbers = np.stack([(rungs == rung).sum(axis=1) for rung in range(ladder.values.size)], axis=1)
    found, times = np.unique(numbers, axis=0, return_counts=True)
    return Counter(dict(zip(map(tuple, found.tolist()), times.tolist(), strict=True)))


def numpy_runs(method: Method, ladder: Ladder, *, count: int, epsilon: float, runs: int, seed: int) -> Counter[Outcome]:
    """The same from a simulation that visits every item, with nothing clever about it."""
    rng, scores = np.random.default_rng(seed), np.repeat(ladder.values, ladder.sizes)
    chosen = [ladder.rungs_of(scores[_select(rng, method, ladder, scores, count, epsilon)]) for _ in range(runs)]
    return Counter(tuple(np.bincount(rungs, minlength=ladder.values.size).tolist()) for rungs in chosen)


def real_runs(method: Method, ladder: Ladder, *, count: int, epsilon: float, runs: int, seed: int) -> Counter[Outcome]:
    """The same from the runners for private data: exact noise, on a lattice so fine (2**-10) that no test can tell."""
    scores = np.repeat(ladder.values, ladder.sizes)
    rungs = np.repeat(np.arange(ladder.values.size), ladder.sizes)
    order, source = np.random.default_rng(seed), sg.Seeded(seed)
    promise = {"epsilon": epsilon, "sensitivity": 1.0, "monotonic": True}
    common: Any = {**promise, "source": source, "not_private": True}
    threshold = method.threshold_factor * ladder.oracle_threshold(count)
    seen: Counter[Outcome] = Counter()
    for _ in range(runs):
        if method.row is None:
            way: Any = {"method": method.selection, "max_items_per_user": method.max_items_per_user}
            chosen = sg.select_top(scores, count=count, **way, **common).indices
        elif method.passes > 1:
            chosen = sg.select_top(
                scores,
                count=count,
                method="retraversal",
                threshold=threshold,
                raise_by=method.raise_by,
                max_passes=method.passes,
                allocation=method.allocation or "optimal",
                **common,
            ).indices
        else:
            shuffled = order.permutation(scores.size)
            answers = sg.run(
                method.row,
                scores[shuffled],
                threshold=threshold,
                cutoff=count,
                allocation=method.allocation,
                **common,
            )
            chosen = shuffled[[place for place, answer in enumerate(answers) if answer][:count]]
        seen[tuple(np.bincount(rungs[chosen], minlength=ladder.values.size).tolist())] += 1
    return seen


def two_sample_p(one: Counter[Outcome], other: Counter[Outcome]) -> float:
    """The p-value of a chi-square test that two samples have one law; outcomes too rare to expect 10 are pooled."""
    sizes = np.array([one.total(), other.total()])
    cells = np.array([[one[outcome], other[outcome]] for outcome in one | other])
    rare = cells.sum(axis=1) * sizes.min() < 10 * sizes.sum()
    if rare.any():
        cells = np.vstack([cells[~rare], cells[rare].sum(axis=0)])
    expected = cells.sum(axis=1)[:, None] * sizes / sizes.sum()
    return float(stats.chi2.sf(((cells - expected) ** 2 / expected).sum(), len(cells) - 1))


def _select(
    rng: np.random.Generator, method: Method, ladder: Ladder, scores: np.ndarray, count: int, epsilon: float
) -> np.ndarray:
    rho_scale, nu_scale = method.noise(count=count, epsilon=epsilon)
    if method.row is None:
        noise: Any = {"one-shot": rng.exponential, "noisy-scores": rng.laplace}.get(method.selection, rng.gumbel)
        return np.argsort(scores / nu_scale + noise(size=scores.size))[-count:]
    threshold = method.threshold_factor * ladder.oracle_threshold(count) + method.raise_by * np.sqrt(2) * nu_scale
    draw: Any = lambda scale, size=None: rng.laplace(0, scale, size)  # noqa: E731
    if method.row.noise is Noise.EXPONENTIAL:
        draw, threshold = rng.exponential, method.raised(threshold, NoiseScales(rho_scale, nu_scale))
    order, rho, chosen = rng.permutation(scores.size), draw(rho_scale), np.empty(0, dtype=np.int64)
    for _ in range(method.passes):
        noisy = scores[order] + draw(nu_scale, order.size)
        if method.row.redraws_threshold:
            found = order[list(_redrawn(rng, noisy - threshold, rho, rho_scale, count))]
        else:
            found = order[noisy >= threshold + rho][: count - chosen.size]
        chosen, order = np.concatenate((chosen, found)), order[~np.isin(order, found)]
        if chosen.size == count:
            break
    return chosen


def _redrawn(rng: np.random.Generator, surplus: np.ndarray, rho: float, rho_scale: float, count: int) -> Iterable[int]:
    found = 0
    for place, value in enumerate(surplus.tolist()):
        if value >= rho:
            yield place
            found += 1
            if found == count:
                return
            rho = rng.laplace(0, rho_scale)
