"""The exact probability of a transcript: ln Pr[A(D) = a] for any row, any answers, any thresholds.

    Pr[A(D) = a] = int Pr[rho = z] prod_BELOW Pr[q_i + nu_i < T_i + z] prod_ABOVE Pr[q_i + nu_i >= T_i + z] dz

(the paper's Eq. for Pr[A(D) = a], Sec. 3.1). A row that redraws rho after a positive gives a product of such
integrals, one for each round. A positive that releases its own noisy value a_i contributes the density of nu at a_i
- q_i, and limits the integral to z <= a_i - T_i (|e_i - a_i| - T_i for errors). A fresh numeric answer contributes
a factor outside the integral. On the lattice, integrals are sums and densities are probabilities.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from numbers import Real
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sparsegate.errors import ParameterError
from sparsegate.mechanisms.gate import Answer
from sparsegate.mechanisms.variants import Compared, Released, Variant
from sparsegate.privacy.laws import Floats
from sparsegate.privacy.model import Comparisons, Model, ModelOptions, build
from sparsegate.privacy.quadrature import LogIntegrand, Points, log_integral

Outcome = Sequence[Any]
"""BELOW and ABOVE as bools or ``Answer`` objects; a number stands for an ABOVE that released it."""

_CELLS = 1 << 17  # comparisons times points evaluated at a time: 1 MB


def log_probability(
    row: Variant | str,
    answers: ArrayLike,
    outcome: Outcome,
    *,
    threshold: ArrayLike = 0,
    estimates: ArrayLike | None = None,
    **options: Unpack[ModelOptions],
) -> float:
    """ln Pr[A(D) = outcome]: the probability to 1e-10 of itself, however small; -inf where impossible.

    Where the row releases numbers, an outcome that holds them has a density (continuous noise) or a probability
    (lattice), and an ABOVE without a number stands for all of them: the probability of the indicators alone.

    Parameters: ``answers`` q_i(D); ``threshold`` T, one or one for each answer; ``estimates`` e_i for rows that
    compare errors; ``scales`` in units of the sensitivity (those of a plan, say) instead of ``epsilon`` or
    ``budget``; ``noise`` "continuous", as in the paper, or "lattice", as in a run; ``granularity`` the lattice
    step.

    >>> round(log_probability("lyu-2017", [0], [False], epsilon=1), 6) == round(-math.log(2), 6)
    True
    """
    model = build(row, threshold=threshold, **options)
    return transcript(model.compare(answers, threshold, estimates), outcome)


def transcript(comparisons: Comparisons, outcome: Outcome) -> float:
    """The same for answers that are ready."""
    above, numbers = read_outcome(comparisons.model, outcome, comparisons.answer.size)
    asked = comparisons[: above.size]
    return math.fsum(_round(asked[at], above[at], numbers[at]) for at in _rounds(asked.model, above))


def read_outcome(model: Model, outcome: Outcome, queries: int) -> tuple[NDArray[np.bool_], list[Any]]:
    """Which answers are ABOVE, and the number that each one released."""
    if not isinstance(outcome, Sequence | np.ndarray) or isinstance(outcome, str | bytes):
        raise ParameterError("outcome", "must be a list of answers", outcome, "pass for instance [False, True]")
    numbers: list[Any] = []
    number: Any
    above = np.zeros(len(outcome), dtype=np.bool_)
    for i, entry in enumerate(outcome):
        if isinstance(entry, Answer):
            above[i], number = entry.above, entry.estimate
        elif isinstance(entry, bool | np.bool_):
            above[i], number = entry, None
        elif isinstance(entry, Real):
            above[i], number = True, entry
        else:
            raise ParameterError(
                "outcome", "must hold bools, Answers or numbers", entry, "pass for instance [False, True]"
            )
        if number is not None and not (model.numeric and above[i] and math.isfinite(number)):
            raise ParameterError(
                "outcome",
                "must hold finite numbers, and only where an ABOVE releases one; "
                f"here {model.row.key} releases {model.row.released.value}",
                number,
                "pass True or False",
            )
        numbers.append(number)
    given = int(above.sum())
    stopped = given == model.positives_allowed and bool(above[-1])
    if given > model.positives_allowed or (given == model.positives_allowed and not stopped):
        raise ParameterError(
            "outcome", f"must end with ABOVE number {model.cutoff}: {model.row.key} stops there", given
        )
    if len(outcome) > queries or (len(outcome) < queries and not stopped):
        raise ParameterError(
            "outcome",
            f"must have one entry for each of the {queries} answers, or end where the row stops",
            len(outcome),
        )
    return above, numbers


def _rounds(model: Model, above: NDArray[np.bool_]) -> list[slice]:
    """Stretches that share one rho."""
    ends = [int(i) + 1 for i in np.flatnonzero(above)] if model.row.redraws_threshold else []
    edges = sorted({0, *ends, above.size})
    return [slice(a, b) for a, b in pairwise(edges)]


def _round(asked: Comparisons, above: NDArray[np.bool_], numbers: list[Any]) -> float:
    model = asked.model
    constant, high = 0.0, math.inf
    compared = np.ones(above.size, dtype=np.bool_)
    for i, number in enumerate(numbers):
        if number is None:
            continue
        noise = model.released(number) - asked.answer[i]
        if math.isnan(noise):
            return -math.inf
        law = model.fresh
        if model.row.released is Released.NOISY_ANSWER:
            # nu is known now, so the comparison says only how far up rho may lie.
            law, compared[i] = model.nu, False
            high = min(high, _pinned(asked, i, noise))
        if law is None and noise:
            return -math.inf
        constant += float(law.log_weight(np.array(noise))) if law is not None else 0.0
    below, over = asked[~above], asked[above & compared]
    low = -math.inf
    if model.nu is None:
        low, high = max(below.centre, default=low), min(high, *over.centre, math.inf)
    elif asked.inside:
        low = max(-below.bar, default=low)  # |.| < T + z needs T + z > 0
    if model.rho is None:
        return constant + float(_log_factors(below, over)(Points.at(np.zeros(1)))[0]) if low < 0 <= high else -math.inf
    nu_rate, layer = (model.nu.rate, model.nu.scale) if model.nu is not None else (0.0, model.rho.scale)
    return constant + log_integral(
        _log_factors(below, over),
        asked.breaks(),
        low,
        high,
        lattice=model.lattice is not None,
        finest=1 / (model.rho.rate + above.size * nu_rate),
        layer=layer,
    )


def _pinned(asked: Comparisons, i: int, noise: float) -> float:
    """The largest z for which a positive with this noise is ABOVE."""
    compared = asked.model.row.compared
    if compared is Compared.ANSWER:
        value = asked.answer[i] + noise
    elif compared is Compared.ERROR_NOISE_INSIDE:
        value = abs(asked.estimate[i] - asked.answer[i] - noise)
    else:
        value = abs(asked.estimate[i] - asked.answer[i]) + noise
    return float(value - asked.bar[i])


def _log_factors(below: Comparisons, over: Comparisons) -> LogIntegrand:
    """ln of the integrand at an array of points; equal comparisons are computed once."""
    rho = below.model.rho
    parts = [
        (group, count, sign)
        for group, count, sign in ((*_grouped(below), False), (*_grouped(over), True))
        if count.size
    ]
    step = max(1, _CELLS // max(1, *(count.size for _, count, _ in parts), 1))

    def log_f(z: Points) -> Floats:
        total = rho.log_weight(z.value) if rho is not None else np.zeros(z.size)
        if below.model.nu is not None:
            for start in range(0, z.size, step):
                some = z.part(slice(start, start + step))
                for group, count, sign in parts:
                    total[start : start + step] += count @ (group.log_above(some) if sign else group.log_below(some))
        return total

    return log_f


def _grouped(comparisons: Comparisons) -> tuple[Comparisons, Floats]:
    """One of each kind of comparison, and how many there are of it."""
    keys = np.stack((comparisons.value, comparisons.bar if comparisons.inside else 0 * comparisons.bar))
    _, first, counts = np.unique(keys, axis=1, return_index=True, return_counts=True)
    return comparisons[first], counts.astype(np.float64)
