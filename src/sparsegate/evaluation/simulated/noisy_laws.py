"""The c largest noisy scores, as the first c rings of clocks: what ``arrivals`` needs to simulate such methods.

Let a bar come down from infinity, at t = level - scale log(h) at time h, and let an item ring when the bar meets its
noisy score. With z = (score - level) / scale it has rung by time h with probability P[noise >= -(z + log h)], noise in
units of its scale, so

    exp(-H(z, h)) = P[noise < -(z + log h)].

The first c rings are the c largest noisy scores, and the level is free. With Gumbel noise this is the exponential
mechanism. Here are Laplace noise ("noisy-scores") and exponential noise ("one-shot").

One pass of a traversal whose noise is not Laplace's has a law of the same form. An item comes at a uniform time and is
positive with probability p(z), so it has rung by time h <= 1 with probability p(z) h, and

    exp(-H(z, h)) = 1 - p(z) h.

With exponential noise nu of scale one p(z) = P[nu >= -z] = exp(min(z, 0)); without noise it is 0 or 1.
"""

from __future__ import annotations

import math

import numpy as np

from sparsegate.evaluation.simulated.clock_laws import STEEPEST, ExponentialLaw, TraversalLaw
from sparsegate.evaluation.simulated.ranked import Floats

_LEAST = 1e-300  # a time before every ring


class LaplaceLaw(ExponentialLaw):
    """The largest of scores with Laplace noise; exp(z) bounds P[noise >= -z] here, too."""

    def hazard(self, z: Floats, time: Floats) -> Floats:
        """-log(1 - p(z + log h)), p as in a traversal."""
        return TraversalLaw().rate(z + np.log(np.maximum(time, _LEAST)))

    def time(self, z: Floats, hazard: Floats) -> Floats:
        """Where the bar stands at the quantile 1 - exp(-H) of the noise."""
        with np.errstate(divide="ignore"):
            lower = np.log(-2 * np.expm1(-np.minimum(hazard, math.log(2))))
        bar = np.where(hazard < math.log(2), lower, hazard - math.log(2)) - z
        result: Floats = np.exp(np.clip(bar, -STEEPEST, STEEPEST))
        return result


class OneSidedLaw(ExponentialLaw):
    """The largest of scores with exponential noise: who the bar has passed by more than nothing has rung."""

    def hazard(self, z: Floats, time: Floats) -> Floats:
        """-log(1 - exp(z) h), infinite where the bar is below the score."""
        with np.errstate(over="ignore", divide="ignore"):
            return -np.log1p(-np.minimum(self.rate(z) * time, 1.0))

    def time(self, z: Floats, hazard: Floats) -> Floats:
        """The quantile 1 - exp(-H) over exp(z)."""
        result: Floats = -np.expm1(-hazard) / self.rate(z)
        return result


class OneSidedPassLaw(OneSidedLaw):
    """One pass, comparing with exponential noise."""

    def rate(self, z: Floats) -> Floats:
        """P[nu >= -z]."""
        result: Floats = np.exp(np.clip(z, -STEEPEST, 0.0))
        return result


class NoiselessPassLaw(OneSidedLaw):
    """One pass, comparing without noise."""

    def rate(self, z: Floats) -> Floats:
        """1 where the score reaches the level."""
        return np.where(z >= 0, 1.0, 0.0)
