"""The best scales for a known number of questions: least comparison variance at exactly epsilon under the tight bound.

With at most n questions the supremum of L(m,k) over m + k <= n, k <= c can lie below its limit, and other scales than
the optimal split are better; for a given r the largest admissible e1 follows from the bound, which is piecewise linear
in e1, so that one variable is searched. Exponential noise has half the variance and no such slack. The row of a plan
says whether an ABOVE may release its gap. What is best where: docs/explanation/proofs_in_words/core.md.
Machine-checked: proofs/README.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal, get_args

import numpy as np

from sparsegate.budget import Number, allocation_ratio, check_choice, exact_count, exact_epsilon
from sparsegate.errors import ParameterError
from sparsegate.gates.bounds import tight_loss
from sparsegate.gates.laws import Loss
from sparsegate.gates.variants import VARIANTS, Noise, Scales, Variant

NoiseName = Literal["auto", "laplace", "exponential"]

_GRID = 400
_GOLDEN = (math.sqrt(5) - 1) / 2
_DENOMINATOR = 10**12
_LEAST = Fraction(1, 10**15)


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Scales in units of the sensitivity, the row they are for, and the exact epsilon they spend."""

    row: Variant
    scales: Scales
    epsilon: Fraction
    cutoff: int
    monotonic: bool
    queries: int | None

    def __post_init__(self) -> None:
        if any(scale is not None and scale <= 0 for scale in self.scales):
            rule = "must leave enough of epsilon for the comparisons"
            raise ParameterError("answer_epsilon", rule, next_step="give it less")

    @property
    def variance(self) -> float:
        """Var[nu - rho] in units of the squared sensitivity."""
        return comparison_variance(self.scales, self.row.noise)


def comparison_variance(scales: Scales, noise: Noise = Noise.LAPLACE) -> float:
    """Var[nu - rho] of continuous noise, in units of the squared sensitivity."""
    return float(noise.law.variance * ((scales.threshold or 0) ** 2 + (scales.query or 0) ** 2))


def plan(
    *,
    cutoff: int,
    epsilon: Number,
    monotonic: bool = False,
    queries: int | None = None,
    answer_epsilon: Number = 0,
    noise: NoiseName = "laplace",
) -> Plan:
    """The scales of least comparison variance for ``queries`` questions (None: no limit) at exactly ``epsilon``.

    ``answer_epsilon`` is what numeric answers get: their noise has scale cutoff/answer_epsilon. ``noise`` "auto" takes
    the law of less variance. With ``monotonic`` one person moves all answers one way, and less noise is needed.

    >>> import sparsegate as sg
    >>> sg.privacy.plan(cutoff=10, epsilon=1, queries=8).scales
    Scales(threshold=None, query=Fraction(8, 1), answer=None)
    >>> [sg.privacy.plan(cutoff=10, epsilon=1, queries=n, noise="auto").row.key for n in (8, 80)]
    ['ding-2019', 'exponential-gap']
    """
    check_choice(noise, "noise", get_args(NoiseName), 'pass noise="auto"')
    cutoff = exact_count(cutoff, "cutoff")
    total, share = exact_epsilon(epsilon), exact_epsilon(answer_epsilon, "answer_epsilon", zero=True)
    limit = None if queries is None else exact_count(queries, "queries")
    if share >= total:
        rule = f"must be less than epsilon = {float(total)}"
        raise ParameterError("answer_epsilon", rule, answer_epsilon, "leave something for the gate")
    if not _LEAST <= total <= 1 / _LEAST:
        # No lattice carries such noise, and the search below is in floats.
        rule = f"must lie between {float(_LEAST):g} and {float(1 / _LEAST):g} to be planned for"
        raise ParameterError("epsilon", rule, epsilon, "pass for instance epsilon=0.5")
    search = _Search(cutoff, total, share, monotonic, limit)
    plans = [] if noise == "laplace" else [search.one_sided()]
    if noise != "exponential":
        plans.append(search.two_sided())
    return min(plans, key=lambda p: p.variance)


@dataclass(frozen=True)
class _Search:
    """The search of one plan: ``share`` of ``total`` goes to numeric answers, a3 = share/c to each."""

    cutoff: int
    total: Fraction
    share: Fraction
    monotonic: bool
    limit: int | None

    def _plan(self, row: Variant, threshold: Fraction | None, query: Fraction) -> Plan:
        scales = Scales(threshold, query, self.cutoff / self.share if self.share else None)
        return Plan(
            row=row,
            scales=scales,
            epsilon=self.total if threshold is None else Fraction(self._loss(row, scales)),
            cutoff=self.cutoff,
            monotonic=self.monotonic,
            queries=self.limit,
        )

    def _loss(self, row: Variant, scales: Scales) -> Loss:
        return tight_loss(row, scales, cutoff=self.cutoff, monotonic=self.monotonic, queries=self.limit)

    def two_sided(self) -> Plan:
        """Laplace noise, with its gaps where they are free."""
        rate = self._best_rate()
        candidates = [self._raised(rate, self._largest_threshold(rate))]
        if self.limit is not None:
            candidates.append(self._without_threshold_noise(self.limit))
        best = min(candidates, key=lambda p: p.variance)
        with_gap = VARIANTS["ding-2019"]
        return replace(best, row=with_gap) if self._loss(with_gap, best.scales) <= self.total else best

    def _largest_threshold(self, r: float) -> float:
        """The largest e1 with L(n-k, k) <= epsilon for every k <= c, in floats; infinite where none binds."""
        queries = math.inf if self.limit is None else self.limit
        k = np.arange(min(self.cutoff, queries) + 1.0)
        m, eps, a3 = queries - k, float(self.total), float(self.share / self.cutoff)
        if not self.monotonic:
            allowed = eps - k * a3 - 2 * np.minimum(k, m) * r
            return float(np.where((m + k) * r + k * a3 > eps, allowed, math.inf).min())
        # Rising: d positives move up. e1 binds from the first whole d at which (n-k) r + d a3 passes epsilon.
        first = np.clip(np.floor((eps - m * r) / a3 + 1e-12) + 1, 0, k) if a3 else np.zeros_like(k)
        allowed = eps - k * r + np.minimum(first * (r - a3), k * (r - a3))
        rising = np.where(m * r + k * a3 > eps, allowed, math.inf)
        falling = np.where(k * (r + a3) > eps, eps - m * r - k * a3, math.inf)
        return float(min(rising.min(), falling.min()))

    def _best_rate(self) -> float:
        """Minimise 1/e1(r)**2 + 1/r**2: a grid finds the basin, golden sections its floor."""

        def variance(r: float) -> float:
            e1 = self._largest_threshold(r)
            return math.inf if e1 <= 0 else 1 / e1**2 + 1 / r**2

        left = float(self.total) - self.cutoff * float(self.share / self.cutoff)
        grid = np.geomspace(left / (1e3 * self.cutoff), float(self.total), _GRID)
        at = int(np.argmin([variance(float(r)) for r in grid]))
        low, high = float(grid[max(at - 1, 0)]), float(grid[min(at + 1, _GRID - 1)])
        return golden_minimum(variance, low, high, steps=80)

    def _raised(self, rate: float, threshold: float) -> Plan:
        """Rationals near the searched floats, raised to the boundary: they spend exactly epsilon, and never more."""
        row, total = VARIANTS["standard"], self.total
        answer = self.cutoff / self.share if self.share else None

        def loss(e1: Fraction, r: Fraction) -> Loss:
            return self._loss(row, Scales(1 / e1, 1 / r, answer))

        r, e1 = (Fraction(x * (1 - 1e-8)).limit_denominator(_DENOMINATOR) for x in (rate, min(threshold, float(total))))
        if not self.share:
            # Without answers the bound is homogeneous in (e1, r): one exact factor takes both to the boundary.
            factor = total / Fraction(loss(e1, r))
            r, e1 = r * factor, e1 * factor
        r = _to_boundary(lambda x: loss(e1, x), r, total)
        e1 = _to_boundary(lambda x: loss(x, r), e1, total)
        return self._plan(row, 1 / e1, 1 / r)

    def _without_threshold_noise(self, limit: int) -> Plan:
        """rho = 0: L is linear in k, so the largest r follows from the ends k = 0 and k = min(c, n)."""
        k = min(self.cutoff, limit)
        left = self.total - k * self.share / self.cutoff
        rates = [left / limit]
        if self.monotonic:
            rates = [self.total / limit, left / k, *([left / (limit - k)] if limit > k else [])]
        return self._plan(VARIANTS["standard"], None, 1 / min(rates))

    def one_sided(self) -> Plan:
        """Exponential noise: L is linear, so the best split is the optimal one, within what answers leave of it."""
        total, share, positives = self.total, self.share, self.cutoff
        if self.limit is not None:
            positives = min(positives, self.limit if share else max(self.limit - 1, 1))
        ratio = allocation_ratio("optimal", cutoff=positives, monotonic=self.monotonic)
        if self.monotonic:
            # max(e1 + max(cr, eps3), cr + eps3) = eps
            queries = min(max(total * ratio / (1 + ratio), share), total - share)
            threshold = total - max(queries, share)
        else:
            threshold = (total - share) / (1 + ratio)
            queries = total - share - threshold
        rate = queries / (positives if self.monotonic else 2 * positives)
        return self._plan(VARIANTS["exponential-gap"], 1 / threshold, 1 / rate)


def golden_minimum(of: Callable[[float], float], low: float, high: float, *, steps: int = 28) -> float:
    """About where a function of one valley is least: golden sections."""
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left, at_right = of(left), of(right)
    for _ in range(steps):
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - _GOLDEN * (high - low)
            at_left = of(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + _GOLDEN * (high - low)
            at_right = of(right)
    return (low + high) / 2


def _to_boundary(loss: Callable[[Fraction], Loss], x: Fraction, total: Fraction) -> Fraction:
    """The point where the loss, piecewise linear in x, reaches the total, if it does within one part in 10**7."""
    further = x * (1 + Fraction(1, 10**7))
    at_x, at_further = Fraction(loss(x)), Fraction(loss(further))
    if at_further <= total or at_x == total:
        return further if at_further <= total else x
    exact = x + (total - at_x) / (at_further - at_x) * (further - x)
    return exact if loss(exact) <= total else x


def check_plan_work(*, cutoff: int, queries: int | None, most: int) -> None:
    """Refuse a plan that would take minutes and all memory: it looks at every number of positives."""
    if queries is not None:
        limit = most // 20 if queries < 3 * cutoff + 10 else most
        if min(cutoff, queries) > limit:
            rule = f"must be at most {limit} for a gate that is planned for {queries} questions"
            raise ParameterError("cutoff", rule, cutoff, "leave out queries")
