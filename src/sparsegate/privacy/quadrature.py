"""Gauss rules for integrals over a line and for sums over integers, and log-concave integrands in log space.

Every integrand of this room, f(z) = weight of rho at z times the product of the answers' probabilities given rho =
z, is log-concave, and between its break points it is the restriction of an entire function. So:

- *window*: take any z0, and z_R beyond it with f(z_R) <= e^-D f(z0). Concavity of ln f bounds all that lies beyond
  z_R by e^-D / (1 - e^-D) of what lies between the two, for integrals and for sums alike. D = 46 makes that 1e-20.
- *panels*: inside the window, the pieces between break points; on each the n-point Gauss rule of its measure. For N
  integers in a row that is the rule of the discrete Chebyshev (Gram) polynomials, with recurrence b_k = k^2 (N^2 -
  k^2) / (4(4k^2 - 1)): exact up to degree 2n-1, Gauss-Legendre in the limit of large N. So a sum costs no more than
  an integral, at any scale.
- *adaptation*: the eigenvectors that give the weights also give the coefficients of f in the orthonormal
  polynomials of the panel. Where these have not died away, the panel is halved.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparsegate.privacy.laws import Floats


@dataclass(frozen=True, slots=True)
class Points:
    """Points base + offset, kept apart: what is measured from a break near the base stays exact far from zero."""

    base: Floats
    offset: Floats

    @property
    def value(self) -> Floats:
        """The points themselves, rounded."""
        return self.base + self.offset

    @property
    def size(self) -> int:
        """How many points there are."""
        return self.offset.size

    def past(self, breaks: Floats) -> Floats:
        """How far each point lies past each break: a row for each break."""
        return (self.base - breaks[:, None]) + self.offset

    def part(self, chosen: slice | NDArray[np.bool_]) -> Points:
        """Some of the points."""
        return Points(self.base[chosen], self.offset[chosen])

    @classmethod
    def at(cls, values: Floats) -> Points:
        """Points given by their values."""
        return cls(values, np.zeros(values.shape))


LogIntegrand = Callable[[Points], Floats]
"""ln f on a flat array of points."""

DROP = 46.0
"""What lies more than e^-46 = 1e-20 below a value inside is left out."""

FINE = 16
"""Nodes of a panel."""

_TOLERANCE = 1e-14  # of the whole, for each panel
_COARSE = 4  # nodes where break points lie so dense that the pieces are short anyway
_MANY = 48  # pieces from which the coarse rule is tried first
_FAN = 33  # points in one round of a search
_NEAR = 20.0  # nats: how near the largest value z0 need be, so that nothing overflows
_DOUBLINGS = 2.0 ** np.arange(-2, 80)


class Panels(NamedTuple):
    """Half-open stretches (start, end]: of reals, or the integers start+1 .. end."""

    start: Floats
    end: Floats

    def part(self, chosen: slice | NDArray[np.bool_]) -> Panels:
        """Some of the panels."""
        return Panels(self.start[chosen], self.end[chosen])

    def joined(self, more: Panels) -> Panels:
        """These panels and more."""
        return Panels(np.concatenate((self.start, more.start)), np.concatenate((self.end, more.end)))


class QuadratureRule(NamedTuple):
    """Nodes and weights, a row for each panel; ``basis`` @ values are coefficients in orthonormal polynomials."""

    nodes: Points
    weights: Floats
    basis: Floats


def gauss(panels: Panels, order: int, *, lattice: bool) -> QuadratureRule:
    """The n-point Gauss rule of each panel; at most n integers are summed one by one, with zero weights as padding.

    >>> rule = gauss(Panels(np.array([0.0]), np.array([1e6])), 4, lattice=True)
    >>> round(float((rule.weights * rule.nodes.value**3).sum()) / sum(k**3 for k in range(1, 10**6 + 1)), 12)
    1.0
    """
    width = panels.end - panels.start
    counts, which = np.unique(width if lattice else 0 * width + np.inf, return_inverse=True)
    unit, share, basis = _golub_welsch(np.maximum(counts, order + 1.0), order)
    # From the panel's start; N integers start one step in.
    offset = ((width + (1.0 if lattice else 0.0)) / 2)[:, None] + width[:, None] / 2 * unit[which]
    weights = width[:, None] * share[which]
    if lattice:
        few, steps = width <= order, np.arange(1.0, order + 1)
        offset[few] = np.minimum(steps, width[few, None])
        weights[few] = steps <= width[few, None]
    return QuadratureRule(Points(np.broadcast_to(panels.start[:, None], offset.shape), offset), weights, basis[which])


def _golub_welsch(counts: Floats, order: int) -> tuple[Floats, Floats, Floats]:
    """Nodes, weights and basis of the uniform measures on N integers, scaled to [-1, 1]; N infinite means Legendre."""
    k = np.arange(1, order)
    off = np.sqrt(k**2 * (1 - (k / counts[:, None]) ** 2) / (4.0 * k**2 - 1))
    jacobi = np.zeros((counts.size, order, order))
    jacobi[:, k, k - 1] = off
    nodes, vectors = np.linalg.eigh(jacobi)  # reads the lower triangle
    first = vectors[:, 0, :]
    return nodes, first**2, vectors * first[:, None, :]


def log_integral(
    log_f: LogIntegrand, breaks: Floats, low: float, high: float, *, lattice: bool, finest: float, layer: float
) -> float:
    """ln of the integral, or of the sum, of a log-concave f over (low, high]; either end may be infinite.

    ``breaks`` are the points between which f is smooth; beside a break ln f bends over the length ``layer``, which a
    long panel would not see; it changes by a nat or so over ``finest``. An empty range gives -inf.
    """
    if lattice:
        low, high = (math.floor(x) if math.isfinite(x) else x for x in (low, high))
    if not low < high:
        return -math.inf
    left, right, top = _window(log_f, breaks, low, high, lattice, finest)
    if top == -math.inf:
        return -math.inf
    inner = breaks[(breaks > left) & (breaks < right)]
    edges = np.unique(np.concatenate(([left], np.floor(inner) if lattice else inner, [right])))
    total = _adapt(log_f, _graded_panels(edges, layer, lattice), top, lattice, layer)
    return top + math.log(total) if total > 0 else -math.inf


def graded(breaks: Floats, tail: float, first: float, *, lattice: bool) -> Panels:
    """Panels that double away from every break point, out to ``tail`` beyond the last: one grid for many integrands.

    A panel at distance x from its break is x long (``first`` long at the break). Away from the breaks ln f is a
    straight line up to terms that fall like e^(-x/scale), so that with ``first`` a few nats long the fine rule
    resolves f on all of them.
    """
    tail = math.ceil(tail) if lattice else tail
    ends = breaks[[0, -1]] + [-tail, tail]
    return _graded_panels(np.concatenate((ends[:1], breaks, ends[1:])), first, lattice)


def _graded_panels(edges: Floats, first: float, lattice: bool) -> Panels:
    """Panels between neighbouring edges that double away from both."""
    first = max(math.floor(first), float(FINE)) if lattice else first
    cuts = [edges]
    for start, end in pairwise(edges):
        doublings = np.arange(max(0, math.ceil(math.log2((end - start) / (2 * first)))), dtype=np.float64)
        if doublings.size or (lattice and end - start > FINE):
            # Halved once more, a run of up to 2n integers is summed one by one, however steep f is there.
            steps = first * np.exp2(doublings)
            cuts += [start + steps, end - steps, np.array([(start + end) / 2])]
    every = np.unique(np.floor(np.concatenate(cuts)) if lattice else np.concatenate(cuts))
    return Panels(every[:-1], every[1:])


def _adapt(log_f: LogIntegrand, panels: Panels, top: float, lattice: bool, layer: float) -> float:
    """The integral of f e^-top, halving panels until the coefficients of each have died away."""
    tolerance = max(_TOLERANCE, 4 * np.finfo(np.float64).eps * abs(top))  # ln f itself is no better than its last bits
    # Only where nothing can bend unseen between few nodes.
    short = (panels.end - panels.start <= layer) & (panels.start.size > _MANY)
    done, order, waiting = 0.0, _COARSE, panels.part(~short)
    panels = panels.part(short)
    while panels.start.size or waiting.start.size:
        rule = gauss(panels, order, lattice=lattice)
        nodes = Points(rule.nodes.base.ravel(), rule.nodes.offset.ravel())
        values = np.exp(log_f(nodes).reshape(rule.weights.shape) - top)
        parts = (rule.weights * values).sum(axis=1)
        good = _error(rule, values, order) * parts <= tolerance * (done + float(parts.sum()))
        if lattice:
            good |= panels.end - panels.start <= order
        done += math.fsum(parts[good])
        bad = panels.part(~good)
        if order == FINE:
            middle = np.floor((bad.start + bad.end) / 2) if lattice else (bad.start + bad.end) / 2
            whole = (middle <= bad.start) | (middle >= bad.end)  # a panel between neighbouring floats cannot be halved
            done += math.fsum(parts[~good][whole])
            bad = Panels(bad.start[~whole], middle[~whole]).joined(Panels(middle[~whole], bad.end[~whole]))
        panels, order, waiting = bad.joined(waiting), FINE, waiting.part(slice(0))
    return done


def _error(rule: QuadratureRule, values: Floats, order: int) -> Floats:
    """The relative error of an n-point Gauss rule, from the rate at which the last coefficients fall: rate^(2n)."""
    coefficients = np.abs(np.einsum("pij,pj->pi", rule.basis[:, [0, -2, -1], :], values))
    first = np.maximum(coefficients[:, 0], 1e-300)
    rates = (coefficients[:, 1] / first) ** (1 / (order - 2)), (coefficients[:, 2] / first) ** (1 / (order - 1))
    rate: Floats = np.minimum(np.maximum(*rates), 10.0)
    return rate ** (2 * order)


def _window(
    log_f: LogIntegrand, breaks: Floats, low: float, high: float, lattice: bool, finest: float
) -> tuple[float, float, float]:
    """(left, right, ln f(z0)): what lies outside (left, right] is negligible, and f(z0) is near the largest value."""
    first = low + 1 if lattice else np.nextafter(low, math.inf)
    out = finest * _DOUBLINGS

    def points(z: Floats) -> Floats:
        return np.unique(np.clip(np.floor(z) if lattice else z, first, high))

    inside = np.unique(np.clip(breaks, low, high))
    some = inside[np.linspace(0, inside.size - 1, min(inside.size, 2 * _FAN)).astype(np.intp)]
    fan = points(np.concatenate((some[0] - out, some, some[-1] + out)))
    while True:
        heights = log_f(Points.at(fan))
        best = int(np.argmax(heights))
        top, beside = float(heights[best]), [max(best - 1, 0), min(best + 1, fan.size - 1)]
        left, right = fan[beside]
        # By concavity the largest value exceeds this one by no more than a few times the drop to its neighbours.
        close = float(heights[beside].min()) >= top - _NEAR
        if close or top == -math.inf or right - left <= (2 if lattice else 1e-15 * abs(left)):
            break
        fan = points(np.append(np.linspace(left, right, _FAN), fan[best]))
    centre = float(fan[best])
    return (
        _edge(log_f, points(np.append(centre - out, low if math.isfinite(low) else centre))[::-1], top, low, points),
        _edge(log_f, points(np.append(centre + out, high if math.isfinite(high) else centre)), top, high, points),
        top,
    )


def _edge(log_f: LogIntegrand, fan: Floats, top: float, limit: float, points: Callable[[Floats], Floats]) -> float:
    """The first point outward at which ln f has fallen by DROP; ``limit`` where it never does."""
    fallen = np.flatnonzero(log_f(Points.at(fan)) <= top - DROP)
    if not fallen.size:
        return limit
    at = int(fallen[0])
    between = points(np.linspace(fan[max(at - 1, 0)], fan[at], _FAN))
    between = between if fan[0] <= fan[at] else between[::-1]
    return float(between[int(np.flatnonzero(log_f(Points.at(between)) <= top - DROP)[0])])
