"""Report noisy scores: discrete Laplace noise on every score, the c largest, ties at random.

One person moves at most m scores (``max_items_per_user``), each by at most Delta, which is D steps of a lattice on
which scores and noise live. With s = 1 for monotonic scores, 2 in general, the noise has the scale

    b = min(s c, m) D / epsilon    steps.

*Theorem.* The c items, in the order of their noisy scores, are epsilon-differentially private. Where m <= s c their
noisy scores may be released as well, at no further cost. In zCDP each of the at most m scores that move costs e
tanh(e/2), e = D / b (``budget.pure_rho``). Proof: docs/explanation/proofs_in_words/core.md. Machine-checked:
proofs/README.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sparsegate.gates.laplace import error_bar
from sparsegate.gates.lattice import Lattice
from sparsegate.noise import Source, exact_scale
from sparsegate.noise.clocks import Staircase
from sparsegate.selection.exponential import largest_noisy
from sparsegate.selection.scores import Scores


def noisy_scale(
    *, epsilon: Fraction, count: int, steps: int, monotonic: bool, max_items_per_user: int | None
) -> Fraction:
    """The scale b of the noise, in lattice steps; ``steps`` is D."""
    most = selected_share(count, monotonic)
    return exact_scale((most if max_items_per_user is None else min(most, max_items_per_user)) * steps / epsilon)


def selected_share(count: int, monotonic: bool) -> int:
    """s c: how many scores' worth of noise pays for c selected items, however many a person touches."""
    return count if monotonic else 2 * count


def noisy_groups(
    source: Source, scores: Scores, steps: NDArray[np.int64], *, scale: Fraction, count: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Select ``count`` items: the group of each, and its noisy score in steps, largest first."""
    noise = Staircase(scale)
    placed = replace(scores, values=steps)
    groups, race, rings = largest_noisy(source, placed, rate=1 / noise.unit, count=count, noise=noise, apart=True)
    return groups, steps[groups] + race.noise_below(rings, noise.unit)


@dataclass(frozen=True, kw_only=True)
class Estimated:
    """What noisy scores are worth: discrete Laplace noise of ``scale`` steps on ``total`` scores, ``count`` shown.

    *Theorem.* However the n scores lie, at most (n + c) P[X > t] of the c selected are expected to have noise beyond
    t, on either side. Proof: docs/explanation/proofs_in_words/core.md. Machine-checked: proofs/README.md.

    So with (n + c) P[X > t] <= c (1 - confidence) the share of the selected expected within t of the truth is at least
    ``confidence`` (``error_bar``). With (n + c) P[X > t] <= 1 - confidence all of them are, with that probability,
    because the chance of any is at most the number expected (``error_bar_all``). A score that is no whole number was
    rounded down to the lattice before, by less than a step.
    """

    lattice: Lattice
    scale: Fraction
    count: int
    total: int

    def scores(self, noisy: NDArray[np.int64]) -> NDArray[np.int64] | NDArray[np.float64]:
        """The noisy scores in the units of scores."""
        return noisy if self.lattice.integers else np.ldexp(noisy, self.lattice.exponent)

    def error_bar(self, confidence: float) -> int | float:
        """Within how much of the truth this share of them is expected to be; in the units of scores."""
        return self._bar(confidence, 2 * self.count / (self.total + self.count))

    def error_bar_all(self, confidence: float) -> int | float:
        """Within how much of the truth all of them are, with this probability; in the units of scores."""
        return self._bar(confidence, 2 / (self.total + self.count))

    def _bar(self, confidence: float, share: float) -> int | float:
        steps = error_bar(self.scale, confidence, share=share)  # of both sides together, so twice P[X > t]
        return steps if self.lattice.integers else math.ldexp(steps + 1, self.lattice.exponent)
