"""When items are selected, as the rings of clocks: how likely an item of some score is to have rung by some time.

Every item carries a clock E, exponential of mean one, and rings when the *hazard* H(z, h) of its score has
grown to E, where h is the time and

    z = (score - level) / scale

is all that the law knows of the item. Clocks have no memory, so what did not ring by h starts afresh there.

*Traversal in random order.* With level the noisy threshold T + rho and scale the scale of nu, one comparison
is positive with probability

    p(z) = exp(z) / 2  for z < 0,        1 - exp(-z) / 2  for z >= 0.

Let time h = k + f say that k passes are over and a share f of the next one. In a pass an item's place is uniform,
so it is selected before time h unless k comparisons failed and the last one came later or failed, too:

    exp(-H(z, h)) = (1 - p)**k (1 - p f).

A pass number is thus geometric, and one pass (h <= 1) is plain SVT. Whether passes keep their order or shuffle anew
makes no difference: noise is fresh in every pass, and independent of the order.

*Exponential mechanism, peeled.* With scale 1 / a, a the factor of a score in its log-weight, H(z, h) = exp(z) h:
the first c rings are c peeled rounds. The level is free.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from sparsegate.evaluation.simulated.ranked import Floats

STEEPEST = 600.0  # a clock exp(600) times faster or slower than the c-th rings at once, or never
_LEAST = 1e-300  # keeps a probability that underflows from dividing by zero: such an item never rings


class ClockLaw(Protocol):
    """How a clock's hazard grows with time; all arguments broadcast."""

    def rate(self, z: Floats) -> Floats:
        """A bound on the growth of the probability to ring: 1 - exp(-H(z, h)) <= h times it."""

    def hazard(self, z: Floats, time: Floats) -> Floats:
        """H(z, h)."""

    def time(self, z: Floats, hazard: Floats) -> Floats:
        """The time h at which the hazard is reached."""


class TraversalLaw:
    """Comparisons with Laplace noise in random order, pass after pass."""

    def rate(self, z: Floats) -> Floats:
        """-log(1 - p): the hazard of a whole pass."""
        below: Floats = -np.log1p(-0.5 * np.exp(np.minimum(z, 0.0)))
        return below + np.maximum(z, 0.0)

    def hazard(self, z: Floats, time: Floats) -> Floats:
        """-k log(1 - p) - log(1 - p f)."""
        passes = np.floor(time)
        result: Floats = passes * self.rate(z) - np.log1p(-positive(z) * (time - passes))
        return result

    def time(self, z: Floats, hazard: Floats) -> Floats:
        """k + f, from the whole passes in the hazard and the rest of it."""
        rate = np.maximum(self.rate(z), _LEAST)
        passes = np.floor(hazard / rate)
        rest = np.maximum(hazard - passes * rate, 0.0)
        result: Floats = passes + np.minimum(-np.expm1(-rest) / np.maximum(positive(z), _LEAST), 1.0)
        return result


class ExponentialLaw:
    """The exponential mechanism, peeled."""

    def rate(self, z: Floats) -> Floats:
        """exp(z)."""
        result: Floats = np.exp(np.clip(z, -STEEPEST, STEEPEST))
        return result

    def hazard(self, z: Floats, time: Floats) -> Floats:
        """exp(z) h; an infinite hazard is as good as a large one."""
        with np.errstate(over="ignore"):
            return self.rate(z) * time

    def time(self, z: Floats, hazard: Floats) -> Floats:
        """The hazard over exp(z)."""
        return hazard / self.rate(z)


def positive(z: Floats) -> Floats:
    """P[nu >= -z] for Laplace noise nu of scale one."""
    tail = 0.5 * np.exp(-np.abs(z))
    result: Floats = np.where(z < 0, tail, 1 - tail)
    return result
