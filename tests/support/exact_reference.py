"""Outcome probabilities by other means, from the definition of the noise: mpmath at 50 digits and more.

A query is (kind, place, above): kind "answer" flips at rho = place, kind "inside" holds |u + nu| against T + rho with
place = (u, T).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import mpmath
from mpmath import mp

Query = tuple[str, Any, bool]


def density(scale: Any, x: Any) -> Any:
    return mpmath.exp(-abs(x) / scale) / (2 * scale)


def cdf(scale: Any, x: Any) -> Any:
    return mpmath.exp(x / scale) / 2 if x < 0 else 1 - mpmath.exp(-x / scale) / 2


def factor(scale: Any, query: Query, z: Any) -> Any:
    """Pr[this answer | rho = z] for continuous noise."""
    kind, place, above = query
    if kind == "answer":
        x = z - mpmath.mpf(place)
        return cdf(scale, -x) if above else cdf(scale, x)
    u, t = mpmath.mpf(place[0]), mpmath.mpf(place[1]) + z
    if t <= 0:
        return mpmath.mpf(above)
    return cdf(scale, u - t) + cdf(scale, -t - u) if above else cdf(scale, t - u) - cdf(scale, -t - u)


def by_quadrature(rho: float, nu: float, queries: Sequence[Query], *, high: float | None = None) -> Any:
    """ln Pr by adaptive quadrature at 50 digits, piecewise between break points; rho <= ``high`` where given."""
    with mp.workdps(50):
        rho_, nu_ = mpmath.mpf(rho), mpmath.mpf(nu)
        breaks = {mpmath.mpf(0)}
        for kind, place, _ in queries:
            breaks |= (
                {mpmath.mpf(place)} if kind == "answer" else {mpmath.mpf(place[0]) - place[1], -mpmath.mpf(place[1])}
            )
        # The density of rho alone falls by e^-130 over these tails, and every factor only helps or at most doubles.
        tail = 130 * rho_
        edges = sorted(
            breaks | {min(breaks) - tail, max(breaks) + tail} | ({mpmath.mpf(high)} if high is not None else set())
        )
        if high is not None:
            edges = [edge for edge in edges if edge <= high]
        step = 6 / (1 / rho_ + len(queries) / nu_)
        points = [edges[0]]
        for left, right in pairwise(edges):
            count = int(mpmath.ceil((right - left) / step))
            # Panels that grow away from both ends: the integrand bends only near break points.
            offsets = {step * 2**i for i in range(60) if step * 2**i < (right - left) / 2} if count > 4 else set()
            points += sorted({left + o for o in offsets} | {right - o for o in offsets} | {right})

        def integrand(z: Any) -> Any:
            return density(rho_, z) * mpmath.fprod(factor(nu_, query, z) for query in queries)

        return mpmath.log(mpmath.quad(integrand, points, method="gauss-legendre"))


def by_expansion(
    rho: float, nu: float, queries: Sequence[tuple[float, bool]], *, digits: int = 400, lattice: bool = False
) -> Any:
    """ln Pr in closed form: between break points the integrand is a sum of exponentials, integrated term by term.

    On the lattice the terms are geometric series. Cancellation is bought off with digits. Queries are (place, above).
    """
    with mp.workdps(digits):
        s, b = mpmath.mpf(rho), mpmath.mpf(nu)
        p = mpmath.exp(-1 / b) if lattice else mpmath.mpf(1)
        shares = {1: p / (1 + p), -1: 1 / (1 + p)}  # Pr[nu < t] at t = 0 from the left, Pr[nu >= t] from the right
        peak = mpmath.tanh(1 / (2 * s)) if lattice else 1 / (2 * s)
        places = sorted({mpmath.mpf(0)} | {mpmath.mpf(place) for place, _ in queries})
        total = mpmath.mpf(0)
        for left, right in zip([-mpmath.inf, *places], [*places, mpmath.inf], strict=True):
            anchor = left if mpmath.isfinite(left) else right
            terms: dict[int, Any] = {0: mpmath.mpf(1)}  # terms[k] is the coefficient of exp(k (z - anchor) / b)
            for place, above in queries:
                side = 1 if right <= place else -1
                small = {side: shares[side] * mpmath.exp(side * (anchor - place) / b)}
                terms = multiply(terms, small if (side == 1) != above else {0: mpmath.mpf(1), side: -small[side]})
            sign = 1 if right <= 0 else -1
            for k, coefficient in terms.items():
                whole = span(k / b + sign / s, left - anchor, right - anchor, lattice)
                total += coefficient * mpmath.exp(sign * anchor / s) * peak * whole
        return mpmath.log(total)


def multiply(a: dict[int, Any], b: dict[int, Any]) -> dict[int, Any]:
    out: dict[int, Any] = {}
    for i, x in a.items():
        for j, y in b.items():
            out[i + j] = out.get(i + j, 0) + x * y
    return out


def span(rate: Any, left: Any, right: Any, lattice: bool) -> Any:
    """The integral, or the sum over integers, of exp(rate x) over (left, right]."""
    if rate == 0:
        return right - left
    ends = [mpmath.exp(rate * end) if mpmath.isfinite(end) else mpmath.mpf(0) for end in (left, right)]
    return (ends[1] - ends[0]) / (-mpmath.expm1(-rate) if lattice else rate)
