"""Divergences of a row: the Renyi divergence of order alpha, and the privacy profile delta(epsilon).

Of a pair of neighbours and a few queries both are exact: sums over all outcomes, whose probabilities have a relative
error below 1e-10. Over all neighbours and any number of adaptive queries the Renyi divergence is bounded, by the least
of what is proven for the row:

- whatever is e-DP is no worse than randomised response at e, of which every e-DP pair is a post-processing (Kairouz,
  Oh, Viswanath 2015): D_alpha <= ln((e^(alpha e) + e^((1-alpha) e)) / (1 + e^e)) / (alpha - 1), which is less than e
  and less than alpha e**2/2;
- a row that draws Laplace noise for its threshold once, says ABOVE and BELOW alone and closes after c ABOVE has the
  bound of ``gates.approximate``.

A pair's profile says nothing about other pairs: one that attains the largest loss may do so with vanishing probability,
where others have the larger delta.
"""

from __future__ import annotations

import math
from contextlib import suppress
from fractions import Fraction
from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike

from sparsegate.budget import Number, exact_count, exact_epsilon
from sparsegate.errors import ParameterError
from sparsegate.gates.approximate import row_renyi_bound
from sparsegate.gates.laws import Floats
from sparsegate.gates.variants import Scales, Variant
from sparsegate.privacy.loss import neighbouring
from sparsegate.privacy.model import Model, Public, analysis, build
from sparsegate.privacy.outcome import log_probabilities, log_sum


@analysis
def renyi(
    row: Variant | str,
    alpha: Number,
    answers: ArrayLike | None = None,
    neighbour: ArrayLike | None = None,
    *,
    threshold: ArrayLike = 0,
    estimates: ArrayLike | None = None,
    queries: int | None = None,
    **public: Unpack[Public],
) -> float:
    """The Renyi divergence of order alpha > 1: exact for a pair, or without one a bound for all of them.

    With ``answers`` on D and on its ``neighbour``, at most 12 each: the larger of D_alpha(A(D)||A(D')) and
    D_alpha(A(D')||A(D)). Without: a number that no pair passes, for at most ``queries`` questions (None: any number),
    math.inf where nothing is known. The other parameters are those of ``log_probability``.

    >>> import sparsegate as sg
    >>> round(sg.privacy.renyi("lyu-2017", 2, [0, 0], [1, -1], epsilon=1), 4)
    0.0487
    >>> round(sg.privacy.renyi("standard", 8, epsilon=1, cutoff=100, monotonic=True), 4)
    0.0756
    >>> sg.privacy.renyi("chen-2015", 8, epsilon=1)
    inf
    """
    order = Fraction(0)
    with suppress(ParameterError):
        order = exact_epsilon(alpha, "alpha")
    if order <= 1:
        raise ParameterError("alpha", "must be larger than 1, and finite", alpha, "pass for instance alpha=2")
    model = build(row, threshold=threshold, **public)
    if answers is None or neighbour is None:
        if answers is not neighbour:
            raise ParameterError("neighbour", "or answers must not be given alone", next_step="pass both, or none")
        return _bound(model, order, None if queries is None else exact_count(queries, "queries"))
    if queries is not None:
        raise ParameterError("queries", "must not be given with answers", queries, "their number is that of answers")
    own, other = _pair(model, answers, neighbour, threshold, estimates)
    return max(_divergence(own, other, float(order)), _divergence(other, own, float(order)))


@analysis
def delta(
    row: Variant | str,
    at: Number,
    answers: ArrayLike,
    neighbour: ArrayLike,
    *,
    threshold: ArrayLike = 0,
    estimates: ArrayLike | None = None,
    **public: Unpack[Public],
) -> float:
    """The privacy profile of a pair: the least delta at which it is (``at``, delta)-indistinguishable, exactly.

    It is the sum over outcomes of what Pr[A(D) = a] has beyond e^at Pr[A(D') = a], for the worse order of the two.
    The other parameters are those of ``loss``.

    >>> import sparsegate as sg
    >>> [round(sg.privacy.delta("lyu-2017", at, [9] * 4 + [0], [10] * 4 + [-1], epsilon=1), 5) for at in (0, 0.5, 1)]
    [0.01481, 3e-05, 0.0]
    """
    factor = float(exact_epsilon(at, "at", zero=True))
    model = build(row, threshold=threshold, **public)
    own, other = _pair(model, answers, neighbour, threshold, estimates)
    return max(_beyond(own, other, factor), _beyond(other, own, factor))


def _pair(
    model: Model, answers: ArrayLike, neighbour: ArrayLike, threshold: ArrayLike, estimates: ArrayLike | None
) -> tuple[Floats, Floats]:
    """ln Pr of each outcome on both sides."""
    if model.numeric or model.row.gap:
        rule = f"must say ABOVE and BELOW alone; {model.row.key} releases numbers, whose outcomes are too many to list"
        raise ParameterError("row", rule, next_step="use privacy.loss for one outcome")
    own, other = neighbouring(model, answers, neighbour, threshold, estimates)
    return log_probabilities(own), log_probabilities(other)


def _divergence(log_p: Floats, log_q: Floats, alpha: float) -> float:
    possible = log_p > -np.inf
    if (log_q[possible] == -np.inf).any():
        return math.inf
    terms = alpha * log_p[possible] + (1 - alpha) * log_q[possible]
    return max(0.0, float(log_sum(terms)) / (alpha - 1))


def _beyond(log_p: Floats, log_q: Floats, at: float) -> float:
    with np.errstate(over="ignore"):  # beyond all floats is beyond all probabilities
        return float(np.maximum(0.0, np.exp(log_p) - np.exp(log_q + at)).sum())


def _bound(model: Model, order: Fraction, queries: int | None) -> float:
    """What no pair of the row passes, in lattice steps where the noise is on a lattice."""
    step = 1 if model.lattice is None else model.lattice.sensitivity
    scales = Scales(*(None if scale is None else scale * step for scale in model.scales))
    return row_renyi_bound(
        order,
        model.row,
        scales=scales,
        sensitivity=step,
        cutoff=model.cutoff,
        monotonic=model.monotonic,
        queries=queries,
        lattice=model.lattice is not None,
    )
