"""The sparse vector technique over all scores in random order, once or again and again until enough are selected.

With T the public threshold, D the sensitivity in lattice steps and c the number to select,

    rho ~ discrete Laplace(D / eps1)                                once,
    nu  ~ discrete Laplace(2 c D / eps2)    (monotonic: c D / eps2)  afresh for every comparison,

a pass visits the items not yet selected in uniformly random order, selects item i where s_i + nu >= T + k
sqrt(2) scale(nu) + rho, and everything stops at the c-th selection. k raises the threshold by k standard
deviations of nu, so that fewer items pass by luck alone; further passes (retraversal) make up for it.

*Theorem* (Lyu, Su, Li 2017, Alg. 7 and Sec. 5). If one person moves each score by at most D steps, the selected items,
in their order, are (eps1 + eps2)-DP, however many passes are made: the bound for Alg. 7 counts selections and not
comparisons, for queries chosen adaptively. T must be public, and rho is drawn once, for all passes. The rho of zCDP of
all passes is that of one gate with c ABOVE (``gates.accounting.gate_rho``). Only how many items of each group are
positive in a pass is drawn: the first of them in random order are a uniform choice among all of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sparsegate.errors import ParameterError
from sparsegate.gates.calibration import Calibration
from sparsegate.gates.lattice import LIMIT
from sparsegate.noise import Source, binomial, discrete_laplace, uniform_subset
from sparsegate.noise.expansions import Expansion, tail
from sparsegate.selection.scores import Scores

_LARGE = 4096  # members from which a group's positives are drawn as one binomial count
_LANES = 1 << 16  # comparisons made at a time


@dataclass(frozen=True, kw_only=True)
class Traversal:
    """Everything public about a run, in lattice steps; see ``plan_traversal``."""

    count: int
    threshold: int
    rho_scale: Fraction
    nu_scale: Fraction
    passes: int


def plan_traversal(calibration: Calibration, *, threshold: object, raise_by: Fraction, passes: int) -> Traversal:
    """Raise the threshold of a run of the standard row by k = ``raise_by`` standard deviations of nu."""
    rho_scale, nu_scale, _ = calibration.scales
    assert rho_scale is not None
    assert nu_scale is not None
    # sqrt(2) is irrational and the threshold public: rounding down to a whole step costs nothing.
    raised = math.isqrt(math.floor(2 * (raise_by * nu_scale) ** 2))
    steps = calibration.lattice.steps(threshold, "threshold") + raised
    if steps > LIMIT:
        rule = "must leave the threshold within 2**61 lattice steps of zero"
        raise ParameterError("raise_by", rule, float(raise_by), "raise it less")
    return Traversal(count=calibration.cutoff, threshold=steps, rho_scale=rho_scale, nu_scale=nu_scale, passes=passes)


def traversal_groups(source: Source, scores: Scores, steps: NDArray[np.int64], plan: Traversal) -> NDArray[np.int64]:
    """The group of each selected item, in the order selected; ``steps`` are the scores of the groups on the lattice."""
    rho = discrete_laplace(source, plan.rho_scale)
    # Scores lie within 2**61, and rho passes 2**61 with probability exp(-2**13): the cut only keeps int64 safe.
    bar = max(-2 * LIMIT, min(2 * LIMIT, plan.threshold + rho))
    pool = _Pool(scores.multiplicities, bar - steps, plan.nu_scale)
    chosen: list[NDArray[np.int64]] = []
    left = plan.count
    for _ in range(plan.passes):
        selected = pool.traverse(source, left)
        chosen.append(selected)
        left -= selected.size
        if left == 0:
            break
    return np.concatenate(chosen)


class _Pool:
    """The items not selected yet: how many each group has left, and what nu must reach for them."""

    def __init__(self, sizes: NDArray[np.int64], needed: NDArray[np.int64], scale: Fraction) -> None:
        self._left = sizes.copy()
        self._needed = needed
        self._scale = scale
        self._tails: dict[int, tuple[Expansion, bool]] = {}

    def traverse(self, source: Source, quota: int) -> NDArray[np.int64]:
        """Visit every item once, in random order, until ``quota`` are selected; return their groups."""
        positives = np.zeros_like(self._left)
        large = self._left >= _LARGE
        for group in np.flatnonzero(large).tolist():
            positives[group] = self._count(source, group)
        small = np.flatnonzero(~large & (self._left > 0))
        for groups in _batches(small, self._left):
            sizes = self._left[groups]
            nu = discrete_laplace(source, self._scale, int(sizes.sum()))
            above = nu >= np.repeat(self._needed[groups], sizes)
            positives[groups] = np.add.reduceat(above, np.cumsum(sizes) - sizes, dtype=np.int64)
        reached = np.cumsum(positives)
        total = int(reached[-1])
        picks = uniform_subset(source, total, min(quota, total))
        selected = np.searchsorted(reached, np.array(picks, dtype=np.int64), side="right")
        np.subtract.at(self._left, selected, 1)
        return selected

    def _count(self, source: Source, group: int) -> int:
        """How many members of a large group have nu >= needed: an exact binomial count."""
        size, needed = int(self._left[group]), int(self._needed[group])
        if group not in self._tails:
            # P[nu >= t] = 1 - P[nu >= 1 - t]: the rarer side is counted, so that no expansion is a row of ones.
            rare = needed >= 1
            self._tails[group] = tail(1 / self._scale, needed if rare else 1 - needed), rare
        p, rare = self._tails[group]
        counted = binomial(source, size, p)
        return counted if rare else size - counted


def _batches(groups: NDArray[np.intp], sizes: NDArray[np.int64]) -> Iterator[NDArray[np.intp]]:
    """Cut the groups into runs of at most _LANES members; no group alone has that many."""
    reached = np.cumsum(sizes[groups])
    start = 0
    while start < groups.size:
        before = int(reached[start - 1]) if start else 0
        end = int(np.searchsorted(reached, before + _LANES, side="right"))
        yield groups[start:end]
        start = end
