"""The noise laws in log space: Laplace or one-sided exponential, in the continuum or on the lattice.

All have exponential tails, so one description serves all. With rate r = 1/scale,

    Pr[X < t]  = beta exp(r t)      for t <= 0,     1 - alpha exp(-r t)   for t > 0
    Pr[X >= t] = 1 - beta exp(r t)  for t <= 0,     alpha exp(-r t)       for t > 0
    weight(x)  = peak exp(-r |x|)   inside the support, else 0

    two-sided    continuous:  alpha = beta = 1/2,  peak = r/2                                 (a density)
                 discrete:    alpha = 1/(1+p),  beta = p/(1+p),  peak = (1-p)/(1+p)           (a mass, at whole t and x)
    X >= 0 only  alpha = 1,  beta = 0,  peak = r   or  1-p
    X <= 0 only  alpha = 0,  beta = 1   or  p,     peak = r   or  1-p                         p = exp(-r)

On the lattice the first form of each line is exact up to t = 0 and the second from t = 0 on (from t = 1 on for X <=
0), so each one is the restriction to the integers of a function that is smooth on its side of the break: quadrature
over the integers rests on that. No mechanism here has noise X <= 0: the sign is one of the traps that a row can fall
into, and the analyser must be able to say what it costs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class NoiseLaw:
    """Noise of a given scale; on the integers where ``lattice``; ``side`` 1: exponential, -1: minus exponential."""

    scale: float
    lattice: bool = False
    side: Literal[-1, 0, 1] = 0
    rate: float = field(init=False)
    log_alpha: float = field(init=False)
    log_beta: float = field(init=False)
    log_peak: float = field(init=False)

    def __post_init__(self) -> None:
        rate = 1 / self.scale
        step, one_side = (rate, math.log(-math.expm1(-rate))) if self.lattice else (0.0, math.log(rate))
        both = -math.log1p(math.exp(-step))  # ln 1/(1+p), or ln 1/2
        shape = {
            0: (both, both - step, one_side + both),
            1: (0.0, -math.inf, one_side),
            -1: (-math.inf, -step, one_side),
        }[self.side]
        for name, value in zip(("rate", "log_alpha", "log_beta", "log_peak"), (rate, *shape), strict=True):
            object.__setattr__(self, name, value)

    @property
    def support(self) -> tuple[float, float]:
        """The least and the largest value."""
        return (0.0 if self.side > 0 else -math.inf), (0.0 if self.side < 0 else math.inf)

    def log_weight(self, x: Floats) -> Floats:
        """The log of the density, or of the mass, at x.

        >>> np.exp(NoiseLaw(scale=2.0, side=1).log_weight(np.array([-1.0, 0.0, 1.0]))).round(4).tolist()
        [0.0, 0.5, 0.3033]
        """
        inside = self.log_peak - self.rate * np.abs(x)
        return inside if self.side == 0 else np.where(self.side * x >= 0, inside, -np.inf)

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
    return np.where(bulk, _log1mexp(-log_bulk - np.minimum(exponent, 0.0)), log_tail - exponent)


def _log1mexp(x: Floats) -> Floats:
    """ln(1 - e^-x) for x >= 0, accurate at both ends."""
    with np.errstate(divide="ignore"):
        return np.where(x < math.log(2), np.log(-np.expm1(-np.minimum(x, 1.0))), np.log1p(-np.exp(-np.maximum(x, 0.5))))
