"""The (epsilon, delta) gate: its Renyi divergence, bounded from above, and the scales of least variance under it.

*Theorem.* Let rho and nu be discrete Laplace of scales t and b, and the gate close after c ABOVE; s = 2, or 1 where
one person moves all answers one way. For each alpha > 1 and any number of adaptive questions,

    D_alpha <= D_alpha(rho, rho + Delta) + c ln kappa / (alpha - 1),

kappa a supremum over whole x (``_log_kappa``). *Theorem* (**peeling with a small delta**). c adaptive rounds, each
e-bounded-range, as that of the exponential mechanism with weights exp(e q / (s Delta)) is, are (c e**2/8)-zCDP, and
(epsilon, delta)-DP by the conversion of Canonne, Kamath, Steinke (2020, Prop. 12). Permute-and-flip is *not*
bounded-range. All is computed in interval arithmetic and rounded up; only the choice of alpha is a matter of floats,
and each alpha is valid. The formulas: docs/explanation/proofs_in_words/core.md; the proofs: docs/explanation/theory.md.
Machine-checked, for every rational alpha: proofs/README.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Any

from sparsegate.budget import Budget, Number, exact_count, exact_delta, exact_epsilon
from sparsegate.gates.bounds import tight_loss
from sparsegate.gates.calibration import Calibration
from sparsegate.gates.planning import golden_minimum
from sparsegate.gates.variants import VARIANTS, Closes, Compared, Noise, Released, Scales, Variant
from sparsegate.noise.expansions import interval_arithmetic, scaled_floor
from sparsegate.noise.laplace import MAX_SCALE, MIN_SCALE

_ROUND_BITS = 128  # of the bound of one round
_ROUND_DIGITS = 40  # binary digits of the result: short numbers are fast, and rounding down gives away 1e-12 of it
_FAR = 10**100  # the order is searched as if epsilon and ln(1/delta) were within 1e-100 and this
_WIDE, _FINE = 40.0, 90  # how far around the classical order ln(alpha - 1) is searched, and in how many steps


def round_epsilon(*, epsilon: Number, delta: Number, count: int) -> Fraction:
    """The largest e known to be safe for each of ``count`` rounds that are (epsilon, delta)-DP together."""
    exact, count = exact_epsilon(epsilon), exact_count(count, "count")
    return max(exact / count, _bounded_range(exact, exact_delta(delta), count))


def conversion(context: Any, alpha: Any, log_inverse: Any) -> Any:
    """What to add to a Renyi divergence of order alpha for the epsilon at delta, given ln(1/delta)."""
    return (log_inverse - context.log(alpha)) / (alpha - 1) + context.log(1 - 1 / alpha)


def _bounded_range(epsilon: Fraction, delta: Fraction, count: int) -> Fraction:
    """sqrt(8 rho / count) for the largest rho found, rounded down; 0 where alpha asks for more than epsilon alone."""
    square = 8 * zcdp_rho(epsilon=epsilon, delta=delta) / count
    root = math.isqrt(math.floor(square * 4**_ROUND_BITS))
    spare = max(root.bit_length() - _ROUND_DIGITS, 0)
    return Fraction(root >> spare << spare, 1 << _ROUND_BITS)


@lru_cache(maxsize=256)
def zcdp_rho(*, epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest rho found such that what is rho-zCDP is (epsilon, delta)-DP, rounded down; 0 where none is."""
    public = (float(min(epsilon, Fraction(_FAR))), log_inverse(delta))
    order = 1 + Fraction(math.exp(_best_order(*(max(number, 1 / _FAR) for number in public))))
    with interval_arithmetic(_ROUND_BITS) as iv:
        alpha = _exact(iv, order)
        rho = (_exact(iv, epsilon) - conversion(iv, alpha, iv.log(_exact(iv, 1 / delta)))) / alpha
        return Fraction(max(scaled_floor(rho._mpi_[0], 2 * _ROUND_BITS), 0), 4**_ROUND_BITS)


def zcdp_epsilon(*, rho: Number, delta: Number) -> float:
    """The epsilon at which what is rho-zCDP is (epsilon, delta)-DP, rounded up."""
    exact, least = exact_epsilon(rho, "rho"), exact_delta(delta)
    per_order, asked = float(exact), log_inverse(least)
    middle = math.log(max(asked, 1 / _FAR) / max(per_order, 1 / _FAR)) / 2

    def in_floats(x: float) -> float:
        above = math.exp(x)
        return per_order * (1 + above) + (asked - math.log1p(above)) / above - math.log1p(math.exp(-x))

    order = 1 + Fraction(math.exp(golden_minimum(in_floats, middle - _WIDE, middle + _WIDE, steps=_FINE)))
    with interval_arithmetic(_ROUND_BITS) as iv:
        alpha = _exact(iv, order)
        return max(_rounded_up(_exact(iv, exact) * alpha + conversion(iv, alpha, -iv.log(_exact(iv, least)))), 0.0)


def _best_order(epsilon: float, log_inverse: float) -> float:
    """ln(alpha - 1) for about the largest rho: a search around the order of the classical conversion."""

    def rho(x: float) -> float:
        above = math.exp(x)
        asked = (log_inverse - math.log1p(above)) / above - math.log1p(math.exp(-x))
        return (epsilon - asked) / (1 + above)

    root = math.sqrt(log_inverse)
    middle = math.log(root * (math.sqrt(epsilon + log_inverse) + root) / epsilon)
    return golden_minimum(lambda x: -rho(x), middle - _WIDE, middle + _WIDE, steps=_FINE)


def log_inverse(delta: Fraction) -> float:
    """ln(1/delta), also where delta is no float."""
    if 2 * delta > 1:
        return -math.log1p(-float(1 - delta))
    return math.log(delta.denominator) - math.log(delta.numerator)


_BITS = 320  # of the bound, beside what differences lose: 1 - q, alpha - 1, 1 - (1-g)**alpha (1-g')**(1-alpha)
_CELLS = 16
_DIGITS = 32  # binary digits of a scale: short numbers are fast, and rounding up gives away 1e-9 of it
_ORDERS = (math.log(1e-3), math.log(1e7))  # ln(alpha - 1) is searched here
_SCALES = (math.log(2.0**-20), math.log(2.0**48))  # ln of a scale in lattice steps
_RAISED = (1e-6, math.log(1e4))  # ln of how far t lies above the least that leaves nothing for the comparisons
_HALVINGS = 40
_CONFIDENCE = 0.95  # of the margin by which a pure and an approximate gate are compared


def or_approximate(pure: Calibration, delta: Number) -> Calibration:
    """The gate, or one under (its epsilon, delta) where its margin is less: only then delta is spent."""
    exact, total, step = exact_delta(delta), pure.budget.total, pure.lattice.sensitivity
    scales = approximate_scales(
        epsilon=total, delta=exact, sensitivity=step, cutoff=pure.cutoff, monotonic=pure.monotonic
    )
    if scales is None or not all(MIN_SCALE <= scale <= MAX_SCALE for scale in scales if scale is not None):
        return pure
    budget = Budget(threshold_epsilon=0, query_epsilon=total, delta=exact)
    approximate = replace(pure, row=VARIANTS["standard"], scales=scales, shift=0, budget=budget)
    return approximate if approximate.margin(_CONFIDENCE) < pure.margin(_CONFIDENCE) else pure


def renyi_bound(
    alpha: Fraction, *, scales: Scales, sensitivity: int, cutoff: int, monotonic: bool, lattice: bool = True
) -> float:
    """D_alpha of a gate of any number of questions, rounded up; scales and sensitivity are in lattice steps.

    Without a lattice they are in any unit, and the noise is continuous: the limit of ever finer steps.
    """
    with interval_arithmetic(_bits(alpha - 1, *scales[:2])) as iv:
        order = _exact(iv, alpha)
        return _rounded_up(_divergence(iv, order, scales, sensitivity, cutoff, monotonic, step=int(lattice)))


def waiting_bound(alpha: Fraction, *, query: Fraction, shift: int, cutoff: int) -> float:
    """c ln kappa / (alpha - 1), rounded up: what c waiting times for an ABOVE add to the divergence of rho."""
    with interval_arithmetic(_bits(alpha - 1, query)) as iv:
        order = _exact(iv, alpha)
        return _rounded_up(cutoff * _log_kappa(iv, order, _exact(iv, query), shift, _CELLS) / (order - 1))


def pure_renyi_bound(alpha: Fraction, epsilon: Fraction) -> float:
    """D_alpha of whatever is epsilon-DP, rounded up: that of randomised response, which is rho one step away."""
    with interval_arithmetic(_bits(alpha - 1, epsilon)) as iv:
        order = _exact(iv, alpha)
        return _rounded_up(_threshold_moment(iv, order, 1 / _exact(iv, epsilon), 1) / (order - 1))


def row_renyi_bound(
    alpha: Fraction,
    row: Variant,
    *,
    scales: Scales,
    sensitivity: int,
    cutoff: int,
    monotonic: bool,
    queries: int | None,
    lattice: bool = True,
) -> float:
    """The least of what is proven for D_alpha of a row, rounded up; infinite where nothing is."""
    per_unit = Scales(*(None if scale is None else scale / sensitivity for scale in scales))
    pure = tight_loss(row, per_unit, cutoff=cutoff, monotonic=monotonic, queries=queries)
    least = pure_renyi_bound(alpha, Fraction(pure)) if math.isfinite(pure) else math.inf
    if covered(row, scales):
        one_way = monotonic and row.compared is Compared.ANSWER  # an error |e - q| moves either way
        options = {"scales": scales, "sensitivity": sensitivity, "cutoff": cutoff, "lattice": lattice}
        least = min(least, renyi_bound(alpha, monotonic=one_way, **options))  # type: ignore[arg-type]
    return least


def covered(row: Variant, scales: Scales) -> bool:
    """Whether the theorem is about such a row: Laplace noise, one rho, c ABOVE, and no numbers with them."""
    return (
        row.noise is Noise.LAPLACE
        and row.closes is Closes.ABOVE
        and not row.redraws_threshold
        and not row.gap
        and row.released is not Released.NOISY_ANSWER
        and row.compared is not Compared.ERROR_NOISE_INSIDE
        and scales.answer is None
        and None not in scales[:2]
    )


def approximate_epsilon(*, scales: Scales, sensitivity: int, cutoff: int, monotonic: bool, delta: Fraction) -> float:
    """The epsilon at which such a gate is (epsilon, delta)-DP, rounded up."""
    from mpmath import fp

    asked, public = log_inverse(delta), (scales, sensitivity, cutoff, monotonic)

    def in_floats(x: float) -> float:
        alpha = 1 + math.exp(x)
        return float(_divergence(fp, alpha, *public, cells=1) + conversion(fp, alpha, asked))

    order = 1 + Fraction(math.exp(golden_minimum(in_floats, *_ORDERS)))
    with interval_arithmetic(_bits(order - 1, *scales[:2])) as iv:
        alpha = _exact(iv, order)
        return _rounded_up(_divergence(iv, alpha, *public) + conversion(iv, alpha, -iv.log(_exact(iv, delta))))


@lru_cache(maxsize=256)
def approximate_scales(
    *, epsilon: Fraction, delta: Fraction, sensitivity: int, cutoff: int, monotonic: bool
) -> Scales | None:
    """About the least t**2 + b**2 under (epsilon, delta), in lattice steps; None where delta buys nothing at all."""
    searched = _search(float(epsilon), log_inverse(delta), sensitivity, sensitivity * (2 - monotonic), cutoff)
    if searched is None:
        return None
    threshold, query = map(_short, searched)
    raised = Fraction(1, 10**6)
    while True:
        scales = Scales(threshold, query, None)
        spent = approximate_epsilon(
            scales=scales, sensitivity=sensitivity, cutoff=cutoff, monotonic=monotonic, delta=delta
        )
        if spent <= epsilon:
            return scales
        if query > MAX_SCALE:
            return None
        # The search looked at x = 0 alone: kappa is a little larger, and so is b.
        query, raised = _short(query * (1 + raised)), 2 * raised


def _search(epsilon: float, asked: float, sensitivity: int, shift: int, cutoff: int) -> tuple[float, float] | None:
    """(t, b) in floats: the best order, and for each order the best t, with the b that is left to it."""
    from mpmath import fp

    def with_order(x: float) -> tuple[float, float, float]:
        alpha = 1 + math.exp(x)
        room = (alpha - 1) * (epsilon - conversion(fp, alpha, asked))
        if room <= 0:
            return math.inf, 0.0, 0.0
        least = math.exp(_meets(lambda t: _threshold_moment(fp, alpha, math.exp(t), sensitivity), room, *_SCALES))

        def with_threshold(y: float) -> tuple[float, float, float]:
            t = least * math.exp(y)
            left = (room - _threshold_moment(fp, alpha, t, sensitivity)) / cutoff
            if left <= 0:
                return math.inf, t, math.inf
            b = math.exp(_meets(lambda b: _log_kappa(fp, alpha, math.exp(b), shift, cells=1), left, *_SCALES))
            return t * t + b * b, t, b

        return with_threshold(golden_minimum(lambda y: with_threshold(y)[0], *_RAISED))

    first = _meets(lambda x: conversion(fp, 1 + math.exp(x), asked), epsilon, *_ORDERS)
    variance, threshold, query = with_order(golden_minimum(lambda x: with_order(x)[0], first, _ORDERS[1]))
    return (threshold, query) if math.isfinite(variance) else None


def _meets(of: Callable[[float], float], target: float, low: float, high: float) -> float:
    """Where a falling function meets the target, or the high end where it does not."""
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if of(middle) <= target else (middle, high)
    return high


def _short(scale: Fraction | float) -> Fraction:
    """A scale of few binary digits, not below the given one."""
    exact = Fraction(scale)
    unit = Fraction(2) ** (exact.numerator.bit_length() - exact.denominator.bit_length() - _DIGITS)
    return math.ceil(exact / unit) * unit


def _divergence(
    ctx: Any,
    alpha: Any,
    scales: Scales,
    sensitivity: int,
    cutoff: int,
    monotonic: bool,
    *,
    cells: int = _CELLS,
    step: int = 1,
) -> Any:
    """D_alpha in a context of mpmath; ``step`` is 1 on the lattice and 0 for continuous noise."""
    threshold, query = (_exact(ctx, scale) for scale in scales[:2] if scale is not None)
    shift = sensitivity if monotonic else 2 * sensitivity
    comparisons = cutoff * _log_kappa(ctx, alpha, query, shift, cells, step)
    return (_threshold_moment(ctx, alpha, threshold, sensitivity, step) + comparisons) / (alpha - 1)


def _threshold_moment(ctx: Any, alpha: Any, scale: Any, shift: int, step: int = 1) -> Any:
    """(alpha - 1) D_alpha of Laplace noise against itself, ``shift`` away."""
    share, twice = shift / scale, 2 * alpha - 1
    ends = 1 + ctx.exp(-twice * share)
    if step:
        q, w = ctx.exp(-1 / scale), ctx.exp(-twice / scale)
        total = (ends + (1 - q) * w * (1 - ctx.exp(-twice * (shift - 1) / scale)) / (1 - w)) / (1 + q)
    else:
        total = (ends + (2 - ends) / twice) / 2
    return (alpha - 1) * share + ctx.log(total)


def _log_kappa(ctx: Any, alpha: Any, scale: Any, shift: int, cells: int, step: int = 1) -> Any:
    """Ln kappa from above, over cells of the x from ``step - shift`` to 0; with one cell, ln h at x = 0."""
    log_norm = ctx.log(1 + ctx.exp(-step / scale))
    if step:
        cells = min(shift, cells)
        starts = [1 - shift + shift * j // cells for j in range(cells + 1)]  # of the whole x of a cell
        ends = [(left, right - 1) for left, right in pairwise(starts)]
    else:
        ends = list(pairwise(ctx.mpf(shift) * (j - cells) / cells for j in range(cells + 1)))

    def log_below(x: Any) -> Any:  # ln Pr[nu < x] for x <= 0
        return (x - step) / scale - log_norm

    def of_cell(left: Any, right: Any) -> Any:
        log_g, log_rest = ctx.log(1 - ctx.exp(log_below(left))), log_below(left)
        log_ratio = ctx.log(1 - ctx.exp(log_below(right))) + (right + shift) / scale + log_norm
        survived = alpha * log_rest + (1 - alpha) * ctx.log(1 - ctx.exp(log_g - log_ratio))
        return log_g + (alpha - 1) * log_ratio - ctx.log(1 - ctx.exp(survived))

    return max((of_cell(left, right) for left, right in (ends if cells > 1 else [(0, 0)])), key=_end)


def _exact(ctx: Any, x: Fraction) -> Any:
    return ctx.mpf(x.numerator) / ctx.mpf(x.denominator)


def _bits(*numbers: Fraction | None) -> int:
    """Enough of them however large or small the numbers are."""
    sizes = (abs(x.numerator.bit_length() - x.denominator.bit_length()) for x in numbers if x is not None)
    return _BITS + 3 * sum(sizes)


def _end(x: Any) -> Any:
    """The upper end of an interval, to all its digits: two that round to one float may not be mistaken."""
    return x if isinstance(x, float) else x.b


def _rounded_up(interval: Any) -> float:
    """A float that is not below the interval, which may have no end."""
    bits = 1100  # finer than any float
    end = interval.b
    if not -(2.0**1023) < end < 2.0**1023:
        return math.inf
    near = float(Fraction(scaled_floor(end._mpi_[1], bits) + 1, 1 << bits))
    return math.nextafter(near, math.inf)
