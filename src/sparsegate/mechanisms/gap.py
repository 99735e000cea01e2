"""The number that an ABOVE carries: the gap to the threshold, which is free, and a fresh answer, which is paid for.

An ABOVE of a row with ``gap`` releases g = q + nu - T - rho - kappa (``bounds`` says at what cost). As an estimate,

    T + g + kappa - E[nu] + E[rho]  =  q + (nu - E[nu]) - (rho - E[rho])

has variance Var[nu] + Var[rho] and, over all draws, no bias; rho is the same for all answers of a gate, so their
errors go together. A fresh answer q + Lap(c Delta/eps3) is independent of it, and the two are blended by inverse
variance. All weights are public, and the result is rounded to the lattice, by half a step at most (a blend by one): a
function of released numbers alone.

**What it is conditional on.** It is given only where the answer came out ABOVE, and the same nu and rho decided that.
Far above the threshold that says nothing. Near it, an answer is ABOVE because nu was large or rho small, so the gap's
estimate lies too high on average. Measured, in its standard errors: 0.02 for an answer two margins above T, 0.1 for
one margin, 0.7 to 1.5 for an answer at T, and 2.2 to 3 for one a margin below it, which is ABOVE by mistake, 5 % of the
time. A fresh answer has no such bias; a blend has the share of it that the gap has in the blend.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

import numpy as np

from sparsegate.mechanisms.row import Noise, Scales, Variant


def moments(noise: Noise, scale: Fraction | None) -> tuple[float, float]:
    """The mean and the variance of discrete Laplace or geometric noise: with q = e**(-1/scale), q/(1-q), q/(1-q)**2.

    >>> [round(moment, 4) for moment in moments(Noise.EXPONENTIAL, Fraction(2))]
    [1.5415, 3.9177]
    """
    if scale is None:
        return 0.0, 0.0
    mean = 1 / math.expm1(1 / scale) if scale * 700 > 1 else 0.0
    variance = mean * (1 + mean)
    return (0.0, 2 * variance) if noise is Noise.LAPLACE else (mean, variance)


@dataclass(frozen=True, kw_only=True)
class Estimator:
    """How an estimate is made, in lattice steps. ``weight`` is that of the gap: 0 for a fresh answer alone."""

    centre: int
    weight: float
    standard_error: float

    @classmethod
    def of(cls, row: Variant, scales: Scales) -> Self | None:
        """The best estimate from what this row releases; None where an ABOVE releases no more than that."""
        fresh = moments(Noise.LAPLACE, scales.answer)[1]
        if not row.gap:
            return cls(centre=0, weight=0.0, standard_error=math.sqrt(fresh)) if scales.answer else None
        (nu, nu_spread), (rho, rho_spread) = (moments(row.noise, scale) for scale in (scales.query, scales.threshold))
        spread = nu_spread + rho_spread
        weight = fresh / ((fresh + spread) or 1.0) if scales.answer else 1.0
        return cls(centre=round(nu - rho), weight=weight, standard_error=math.sqrt(weight * spread))

    def estimate(self, value: Any, fresh: Any) -> Any:
        """From q + nu - rho, and from a fresh answer where there is one; ints or arrays of them."""
        if fresh is None:
            return value - self.centre
        toward = self.weight * (value - self.centre - fresh)
        return fresh + (round(toward) if isinstance(toward, float) else np.rint(toward).astype(np.int64))
