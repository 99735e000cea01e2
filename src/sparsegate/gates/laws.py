"""The laws of rho and nu: of each its sampler, its moments, the law of rho - nu, what a shift costs, and its density.

Whatever depends on the law of a row's noise asks ``row.noise.law``. A law is a subclass of ``GateLaw`` in ``LAWS``;
what it does not say is refused by its name: one that has a sampler and a shift alone runs with ``not_private=True``
where its row is not said to be private, and has no loss. Of one-sided noise the two tails of rho - nu differ, so the
comparison is q + nu >= T + rho + kappa with a public kappa that makes the margin of both sides the same. The law of
rho - nu, and the densities in log space of ``NoiseLaw``, are written out in
docs/explanation/proofs_in_words/core.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar, Final, Literal

import numpy as np
from numpy.typing import NDArray

from sparsegate.errors import ParameterError
from sparsegate.noise import Fill, discrete_laplace, fill_discrete_laplace, fill_geometric, geometric

Floats = NDArray[np.float64]
Loss = Fraction | float  # a Fraction, or math.inf; a float throughout where the rates are floats
Direction = Literal["any", "up", "down"]  # how answers move from D to its neighbour: each as it likes, or all one way

_OUTSIDE: Final = 0.05  # on each side of the middle that kappa centres: that of margin()'s own confidence


class GateLaw:
    """A law of rho and nu, both on the lattice: a subclass has what is named here, and what it leaves out is refused.

    ``mark`` is a byte, kept beside a rho that a gate goes on with; ``variance`` that of continuous noise, in squared
    scales; ``draw`` gives one value, or an array of them, and ``fill`` draws ahead. ``moments`` are the mean and the
    variance on the lattice; ``shift`` is the kappa of noise with these scales; ``tail`` is Pr[rho - nu > t] for ratios
    p and q of rho and nu, where a ratio of 0 is no noise; ``density`` is the ``NoiseLaw`` of a scale, or a subclass
    with ``log_weight``, ``log_below`` and ``log_above`` of its own. The analyser takes it as log-concave, with tails of
    rate 1/scale beyond its last of ``bends``. Do not derive a law from another: what it lacks would not be refused.

    The costs are those of ``bounds``: how many times its rate an alignment costs which moves rho by ``shift`` and an
    answer by ``move``. They must be convex in (shift, move), and bend at whole shifts alone: then whole moves suffice.
    ``rising`` is of how many positives that make the highest move one has the largest loss; ``ratio`` is e1/r.
    """

    mark: ClassVar[bytes]
    one_sided: ClassVar[bool]
    variance: ClassVar[int]
    fill: Fill
    shift: Callable[..., float]

    def rising(self, below: int, above: int, ratio: Loss, direction: Direction, *, gap: bool) -> Iterable[int]:
        return range(above + 1)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        what = "privacy loss" if name.endswith("_cost") else "margin" if name in ("shift", "tail") else name
        rule = f"must be a law of noise whose {what} is known"
        raise ParameterError("noise", rule, type(self).__name__, "say it in sparsegate/gates/laws.py")


class TwoSidedLaplace(GateLaw):
    """Discrete Laplace noise: Pr[X = k] is proportional to e**(-abs(k)/scale)."""

    mark, one_sided, variance = b"L", False, 2
    draw, fill = staticmethod(discrete_laplace), staticmethod(fill_discrete_laplace)

    def moments(self, scale: Fraction | None) -> tuple[float, float]:
        return 0.0, 2 * OneSidedExponential().moments(scale)[1]

    def shift(self, threshold: Fraction | None, query: Fraction | None, *, lattice: bool = True) -> float:
        return 0

    def tail(self, p: Any, q: Any, t: int) -> Any:
        if not p or not q:
            ratio = p or q
            return ratio ** (t + 1) / (1 + ratio)
        norm = (1 - p) * (1 - q) / ((1 + p) * (1 + q))
        p_sum, q_sum = p ** (t + 1) / (1 - p), q ** (t + 1) / (1 - q)  # sums of p**k and q**k over k > t
        equal = (t + 2) * p_sum + p ** (t + 2) / (1 - p) ** 2
        last = equal if p == q else (p * p_sum - q * q_sum) / (p - q)
        return norm * ((p_sum + q_sum) * p * q / (1 - p * q) + last)

    def threshold_cost(self, shift: int) -> Loss:
        return abs(shift)

    def below_cost(self, move: int, shift: int) -> Loss:
        return max(move - shift, 0)

    def above_cost(self, move: int, shift: int, *, gap: bool) -> Loss:
        return abs(shift - move) if gap else max(shift - move, 0)

    def rising(self, below: int, above: int, ratio: Loss, direction: Direction, *, gap: bool) -> Iterable[int]:
        # The loss is concave in h: an end, or beside the kink.
        m, k = below, above
        kinks: dict[Direction, Loss] = {
            "any": Fraction(k - m, 2),
            "up": (k - m + ratio) / (2 if gap else 1),
            "down": (k - m - ratio) / 2,
        }
        kink = kinks[direction]
        return {0, k, *((math.floor(kink), math.floor(kink) + 1) if 0 < kink < k else ())}

    def density(self, scale: float, *, lattice: bool) -> NoiseLaw:
        return NoiseLaw(scale=scale, lattice=lattice)


class OneSidedExponential(GateLaw):
    """Geometric noise: Pr[X >= k] = e**(-k/scale) for k >= 0."""

    mark, one_sided, variance = b"E", True, 1
    draw, fill = staticmethod(geometric), staticmethod(fill_geometric)

    def moments(self, scale: Fraction | None) -> tuple[float, float]:
        """q/(1-q) and q/(1-q)**2 with q = e**(-1/scale)."""
        if scale is None:
            return 0.0, 0.0
        mean = 1 / math.expm1(1 / scale) if scale * 700 > 1 else 0.0
        return mean, mean * (1 + mean)

    def shift(self, threshold: Fraction | None, query: Fraction | None, *, lattice: bool = True) -> float:
        """(b - a)/2, from the two tails."""
        if threshold is None or query is None:
            return 0
        p, q = float(1 / threshold), float(1 / query)
        # What leaves each side: Pr[rho - nu >= x] = up e**(-px), Pr[nu - rho >= x] = down e**(-qx).
        of_rho, of_nu, both = (-math.expm1(-rate) for rate in (p, q, p + q)) if lattice else (p, q, p + q)
        up, down = of_nu / both, of_rho / both
        above = math.log(up / _OUTSIDE) / p if up >= _OUTSIDE else math.log((1 - _OUTSIDE) / down) / q
        below = math.log(down / _OUTSIDE) / q if down >= _OUTSIDE else math.log((1 - _OUTSIDE) / up) / p
        return round((below - above) / 2 + 0.5) if lattice else (below - above) / 2

    def tail(self, p: Any, q: Any, t: int) -> Any:
        both = 1 - p * q
        return (1 - q) * p ** (t + 1) / both if t >= -1 else 1 - (1 - p) * q**-t / both

    def threshold_cost(self, shift: int) -> Loss:
        return math.inf if shift < 0 else shift

    def below_cost(self, move: int, shift: int) -> Loss:
        return math.inf if move > shift else 0

    def above_cost(self, move: int, shift: int, *, gap: bool) -> Loss:
        return math.inf if gap and move > shift else max(shift - move, 0)

    def rising(self, below: int, above: int, ratio: Loss, direction: Direction, *, gap: bool) -> Iterable[int]:
        return {0, min(1, above), above}  # an end of a loss that is linear from h = 1 on

    def density(self, scale: float, *, lattice: bool) -> NoiseLaw:
        return NoiseLaw(scale=scale, lattice=lattice, side=1)


LAWS: Final[Mapping[str, GateLaw]] = {"LAPLACE": TwoSidedLaplace(), "EXPONENTIAL": OneSidedExponential()}


@dataclass(frozen=True, kw_only=True)
class NoiseLaw:
    """Noise of a given scale, on the integers where ``lattice``; ``side`` 1: exponential, -1: minus exponential."""

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

    bends: ClassVar[tuple[float, ...]] = ()
    """Where, besides 0, the density is not smooth: the quadrature of ``privacy.model`` breaks there."""

    @property
    def support(self) -> tuple[float, float]:
        return (0.0 if self.side > 0 else -math.inf), (0.0 if self.side < 0 else math.inf)

    def log_weight(self, x: Floats) -> Floats:
        """The log of the density, or of the mass, at x."""
        inside = self.log_peak - self.rate * np.abs(x)
        return inside if self.side == 0 else np.where(self.side * x >= 0, inside, -np.inf)

    def log_below(self, t: Floats) -> Floats:
        """ln Pr[X < t]."""
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
