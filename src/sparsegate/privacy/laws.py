"""The two noise laws in log space: continuous Laplace, and the lattice's discrete Laplace.

Both have exponential tails, so one description serves both. With rate r = 1/scale,

    Pr[X < t]  = beta exp(r t)      for t <= 0,     1 - alpha exp(-r t)   for t > 0
    Pr[X >= t] = 1 - beta exp(r t)  for t <= 0,     alpha exp(-r t)       for t > 0
    weight(x)  = peak exp(-r |x|)

    continuous:  alpha = beta = 1/2,  peak = r/2                                    (a density)
    discrete:    alpha = 1/(1+p),  beta = p/(1+p),  peak = (1-p)/(1+p),  p = exp(-r)   (a mass, at whole t and x)

In the discrete case the two forms of each line agree at t = 0 and at t = 1, so each one is the restriction to the
integers of a function that is smooth on its side of the break: quadrature over the integers rests on that.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class NoiseLaw:
    """Laplace noise of a given scale; on the integers where ``lattice``."""

    scale: float
    lattice: bool = False
    rate: float = field(init=False)
    log_alpha: float = field(init=False)
    log_beta: float = field(init=False)
    log_peak: float = field(init=False)

    def __post_init__(self) -> None:
        rate = 1 / self.scale
        if self.lattice:
            log_alpha = -math.log1p(math.exp(-rate))
            shape = log_alpha, log_alpha - rate, math.log(-math.expm1(-rate)) + log_alpha
        else:
            shape = -math.log(2), -math.log(2), math.log(rate / 2)
        for name, value in zip(("rate", "log_alpha", "log_beta", "log_peak"), (rate, *shape), strict=True):
            object.__setattr__(self, name, value)

    def log_weight(self, x: Floats) -> Floats:
        """The log of the density, or of the mass, at x."""
        return self.log_peak - self.rate * np.abs(x)

    def log_below(self, t: Floats) -> Floats:
        """ln Pr[X < t].

        >>> np.exp(NoiseLaw(scale=1.0).log_below(np.array([-1.0, 0.0, 1.0]))).round(4).tolist()
        [0.1839, 0.5, 0.8161]
        """
        return _two_sided(-self.rate * t, self.log_alpha, self.log_beta, t > 0)

    def log_above(self, t: Floats) -> Floats:
        """ln Pr[X >= t]."""
        return _two_sided(self.rate * t, self.log_beta, self.log_alpha, t <= 0)

    def log_inside(self, t: Floats, offset: Floats, beyond: Floats | None = None) -> Floats:
        """ln Pr[|u + X| < t] for u = |offset|: -inf for t <= 0. ``beyond`` is t - u where that is known better.

        For 0 < t <= u it is beta exp(-r(u-t)) (1 - exp(-r(2t-h))), and for t > u it is 1 - exp(-r(t-u)) pair(u) with
        pair(u) = 1 + beta (exp(-r(2u-h)) - 1); h is 1 on the lattice and 0 in the continuum.
        """
        t, u, beyond = np.broadcast_arrays(t, np.abs(offset), t - np.abs(offset) if beyond is None else beyond)
        inside = np.full(t.shape, -np.inf)
        near, far = (t > 0) & (beyond <= 0), (t > 0) & (beyond > 0)
        step = 1.0 if self.lattice else 0.0
        inside[near] = self.log_beta + self.rate * beyond[near] + _log1mexp(self.rate * (2 * t[near] - step))
        inside[far] = _log1mexp(self.rate * beyond[far] - self._log_pair(u[far]))
        return inside

    def log_outside(self, t: Floats, offset: Floats, beyond: Floats | None = None) -> Floats:
        """ln Pr[|u + X| >= t] for u = |offset|: 0 for t <= 0."""
        t, u, beyond = np.broadcast_arrays(t, np.abs(offset), t - np.abs(offset) if beyond is None else beyond)
        outside = np.zeros(t.shape)
        near, far = (t > 0) & (beyond <= 0), (t > 0) & (beyond > 0)
        outside[near] = np.log1p(-np.exp(self.log_inside(t[near], u[near], beyond[near])))
        outside[far] = self._log_pair(u[far]) - self.rate * beyond[far]
        return outside

    def _log_pair(self, u: Floats) -> Floats:
        """ln pair(u): the share of the second tail, accurate also where it is nearly 1."""
        beta = math.exp(self.log_beta)
        if not self.lattice:
            return np.log1p(beta * np.expm1(-2 * self.rate * u))
        second = beta * np.expm1(-self.rate * np.maximum(2 * u - 1, 0))
        # At u = 0 the exponent would be positive: beta (1/p - 1) = tanh(r/2).
        return np.log1p(np.where(u == 0, math.tanh(self.rate / 2), second))


def _two_sided(exponent: Floats, log_bulk: float, log_tail: float, bulk: NDArray[np.bool_]) -> Floats:
    """ln(1 - e^(log_bulk + exponent)) where ``bulk``, else log_tail - exponent: a cdf left and right of its break."""
    # The clip keeps the unused branch from overflowing; in the bulk the exponent is never positive.
    with np.errstate(divide="ignore"):
        body = np.log1p(-np.exp(log_bulk + np.minimum(exponent, 0.0)))
    return np.where(bulk, body, log_tail - exponent)


def _log1mexp(x: Floats) -> Floats:
    """ln(1 - e^-x) for x > 0, accurate at both ends."""
    with np.errstate(divide="ignore"):
        return np.where(x < math.log(2), np.log(-np.expm1(-np.minimum(x, 1.0))), np.log1p(-np.exp(-np.maximum(x, 0.5))))
