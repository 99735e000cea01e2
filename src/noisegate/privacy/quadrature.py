"""Gauss rules for integrals over a line and for sums over integers, and log-concave integrands in log space.

Every integrand of this room, f(z) = weight of rho at z times the product of the answers' probabilities given rho = z, is
log-concave, and between its break points it is the restriction of an entire function. So:

- *window*: take any z0, and z_R beyond it with f(z_R) <= e^-D f(z0). Concavity of ln f bounds all that lies beyond z_R by
  e^-D / (1 - e^-D) of what lies between the two, for integrals and for sums alike. D = 46 makes that 1e-20.
- *panels*: inside the window, the pieces between break points; on each the n-point Gauss rule of its measure. For N integers in
  a row that is the rule of the discrete Chebyshev (Gram) polynomials, with recurrence b_k = k^2 (N^2 - k^2) / (4(4k^2 - 1)): exact up
  to degree 2n-1, Gauss-Legendre in the limit of large N. So a sum costs no more than an integral, at any scale.
- *adaptation*: the eigenvectors that give the weights also give the coefficients of f in the orthonormal polynomials of the
  panel. Where these have not died away, the panel is halved.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisegate.privacy.laws import Floats

LogIntegrand = Callable[[Floats], Floats]
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


class Rule(NamedTuple):
    """Nodes and weights, a row for each panel; ``basis`` @ values are coefficients in orthonormal polynomials."""

    nodes: Floats
    weights: Floats
    basis: Floats


def gauss(panels: Panels, order: int, *, lattice: bool) -> Rule:
    """The n-point Gauss rule of each panel; at most n integers are summed one by one, with zero weights as padding.

    >>> rule = gauss(Panels(np.array([0.0]), np.array([1e6])), 4, lattice=True)
    >>> round(float((rule.weights * rule.nodes**3).sum()) / sum(k**3 for k in range(1, 10**6 + 1)), 12)
    1.0
    """
    width = panels.end - panels.start
    middle = (panels.start + panels.end + (1.0 if lattice else 0.0)) / 2
    counts, which = np.unique(width if lattice else np.zeros(1), return_inverse=True)
    if not lattice:
        which = np.zeros(width.size, dtype=np.intp)
    unit, share, basis = _golub_welsch(np.maximum(counts, order + 1.0) if lattice else np.array([np.inf]), order)
    nodes, weights = middle[:, None] + width[:, None] / 2 * unit[which], width[:, None] * share[which]
    if lattice:
        few = width <= order
        steps = np.arange(1.0, order + 1)
        nodes[few] = panels.start[few, None] + np.minimum(steps, width[few, None])
        weights[few] = steps <= width[few, None]
    return Rule(nodes, weights, basis[which])


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
    log_f: LogIntegrand, breaks: Floats, low: float, high: float, *, lattice: bool, finest: float
) -> float:
    """ln of the integral, or of the sum, of a log-concave f over (low, high]; either end may be infinite.

    ``breaks`` are the points between which f is smooth; ln f changes by at most one nat or so over the length ``finest``.
    An empty range gives -inf.
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
    total = _adapt(log_f, Panels(edges[:-1], edges[1:]), top, lattice)
    return top + math.log(total) if total > 0 else -math.inf


def graded(breaks: Floats, tail: float, first: float, *, lattice: bool) -> Panels:
    """Panels that double away from every break point, out to ``tail`` beyond the outermost: one grid for many integrands.

    A panel at distance x from its break is x long (``first`` long at the break). Away from the breaks ln f is a straight line up
    to terms that fall like e^(-x/scale), so that with ``first`` a few nats long the fine rule resolves f on all of them.
    """
    first = max(math.floor(first), float(FINE)) if lattice else first
    tail = math.ceil(tail) if lattice else tail

    def steps(span: float) -> Floats:
        return first * 2.0 ** np.arange(max(0, math.ceil(math.log2(span / first))))

    edges = [breaks, breaks[0] - steps(tail), breaks[-1] + steps(tail), breaks[[0, -1]] + [-tail, tail]]
    for start, end in zip(breaks[:-1], breaks[1:], strict=True):
        half = steps((end - start) / 2)
        edges += [start + half, end - half, np.array([(start + end) / 2])]
    every = np.unique(np.floor(np.concatenate(edges)) if lattice else np.concatenate(edges))
    return Panels(every[:-1], every[1:])


def _adapt(log_f: LogIntegrand, panels: Panels, top: float, lattice: bool) -> float:
    """The integral of f e^-top, halving panels until the coefficients of each have died away."""
    order = _COARSE if panels.start.size > _MANY else FINE
    done = 0.0
    while panels.start.size:
        rule = gauss(panels, order, lattice=lattice)
        values = np.exp(log_f(rule.nodes.ravel()).reshape(rule.nodes.shape) - top)
        parts = (rule.weights * values).sum(axis=1)
        good = _error(rule, values, order) * parts <= _TOLERANCE * (done + float(parts.sum()))
        if lattice:
            good |= panels.end - panels.start <= order
        done += math.fsum(parts[good])
        start, end = panels.start[~good], panels.end[~good]
        if order == FINE:
            middle = np.floor((start + end) / 2) if lattice else (start + end) / 2
            whole = (middle <= start) | (middle >= end)  # a panel between neighbouring floats cannot be halved
            done += math.fsum(parts[~good][whole])
            start, middle, end = start[~whole], middle[~whole], end[~whole]
            start, end = np.concatenate((start, middle)), np.concatenate((middle, end))
        panels, order = Panels(start, end), FINE
    return done


def _error(rule: Rule, values: Floats, order: int) -> Floats:
    """The relative error of an n-point Gauss rule, from the rate at which the last coefficients fall: rate^(2n)."""
    coefficients = np.abs(np.einsum("pij,pj->pi", rule.basis[:, [0, -2, -1], :], values))
    first = np.maximum(coefficients[:, 0], 1e-300)
    rates = (coefficients[:, 1] / first) ** (1 / (order - 2)), (coefficients[:, 2] / first) ** (1 / (order - 1))
    return np.minimum(np.maximum(*rates), 10.0) ** (2 * order)


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
        heights = log_f(fan)
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
    fallen = np.flatnonzero(log_f(fan) <= top - DROP)
    if not fallen.size:
        return limit
    at = int(fallen[0])
    between = points(np.linspace(fan[max(at - 1, 0)], fan[at], _FAN))
    between = between if fan[0] <= fan[at] else between[::-1]
    return float(between[int(np.flatnonzero(log_f(between) <= top - DROP)[0])])
