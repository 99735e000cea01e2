"""The exact privacy loss of an outcome: ln Pr[A(D) = a] - ln Pr[A(D') = a] for two neighbouring datasets.

A bound that holds for every single outcome holds for every set of outcomes, and the reverse. Machine-checked:
`within_events` (proofs/privacy.v).
"""

from __future__ import annotations

from typing import NamedTuple, Unpack

import numpy as np
from numpy.typing import ArrayLike

from sparsegate.errors import ParameterError
from sparsegate.mechanisms.variants import Variant
from sparsegate.privacy.enumeration import log_probabilities, possible_outcomes
from sparsegate.privacy.model import Comparisons, ModelOptions, build
from sparsegate.privacy.outcome import Outcome, transcript

_ROUNDING = 4 * np.finfo(np.float64).eps  # answers are floats: two of them may differ by the sensitivity and a rounding


def loss(
    row: Variant | str,
    answers: ArrayLike,
    neighbour: ArrayLike,
    outcome: Outcome,
    *,
    threshold: ArrayLike = 0,
    estimates: ArrayLike | None = None,
    **options: Unpack[ModelOptions],
) -> float:
    """ln Pr[A(D) = outcome] - ln Pr[A(D') = outcome]; infinite where only D can produce it, 0 where neither can.

    ``answers`` are those on D, ``neighbour`` those on D'. They may differ by at most the sensitivity in each place,
    and in one direction only where ``monotonic``. The other parameters are those of ``log_probability``.

    >>> import sparsegate as sg
    >>> round(sg.privacy.loss("lyu-2017", [40] * 4 + [0], [41] * 4 + [-1], [False] * 4 + [True], epsilon=1), 4)
    1.0
    """
    model = build(row, threshold=threshold, **options)
    here, there = (model.compare(values, threshold, estimates) for values in (answers, neighbour))
    require_neighbours(here, there)
    return difference(transcript(here, outcome), transcript(there, outcome))


def difference(here: float, there: float) -> float:
    """here - there for logs of probabilities; nothing is learned from what neither side can produce."""
    return 0.0 if here == there else here - there


def require_neighbours(here: Comparisons, there: Comparisons) -> None:
    """Refuse pairs that one person cannot turn into each other."""
    if here.answer.shape != there.answer.shape:
        raise ParameterError(
            "neighbour", f"must have as many entries as answers, {here.answer.size}", there.answer.size
        )
    change, model = there.answer - here.answer, here.model
    slack = 0.0 if model.lattice is not None else _ROUNDING * (np.abs(here.answer) + np.abs(there.answer))
    # Rounding of large floats is forgiven, but never more than a thousandth of a person.
    if (np.abs(change) > model.sensitivity + np.minimum(slack, 1e-3 * model.sensitivity)).any():
        raise ParameterError(
            "neighbour",
            "must differ from answers by at most the sensitivity in each place",
            next_step="raise sensitivity=",
        )
    if model.monotonic and (change > 0).any() and (change < 0).any():
        raise ParameterError(
            "neighbour",
            "must lie on one side of answers where the queries are monotonic",
            next_step="pass monotonic=False",
        )


class Worst(NamedTuple):
    """The outcome of the largest loss, and that loss."""

    outcome: tuple[bool, ...]
    loss: float


def worst_outcome(here: Comparisons, there: Comparisons) -> Worst:
    """The largest loss between two neighbours over all outcomes, without the numbers that positives may release."""
    require_neighbours(here, there)
    first, second = log_probabilities(here), log_probabilities(there)
    with np.errstate(invalid="ignore"):
        losses = np.where(first == second, 0.0, first - second)
    at = int(np.argmax(losses))
    return Worst(possible_outcomes(here.model, here.answer.size).outcomes[at], float(losses[at]))
