"""Noisy counts of the items that were selected.

Each count gets fresh discrete Laplace noise of scale L / eps3, where L is the most that one person can move the counts
of all c selected items together: 1 where a person is a row, which is of one item; otherwise c, or the most candidates a
person can have where that is bounded below c; of clipped sums as many times what one person moves one of them.
*Theorem* (Dwork, McSherry, Nissim, Smith 2006; Ghosh, Roughgarden, Sundararajan 2009): for any fixed items this is
eps3-differentially private, and so the selection and the answers together are (epsilon + eps3, delta)-DP by
composition. Noise that took part in the selection is not used again.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from sparsegate.noise import Source, discrete_laplace, exact_scale


def answer_scale(*, count: int | None, touched: int | None, epsilon: Fraction, sensitivity: int = 1) -> Fraction:
    """The scale L / eps3 of the noise of each count; a bound that is not there is None, and one of them is.

    >>> answer_scale(count=50, touched=None, epsilon=Fraction(1, 2))
    Fraction(100, 1)
    >>> answer_scale(count=50, touched=1, epsilon=Fraction(1, 2))
    Fraction(2, 1)
    """
    moved = min(bound for bound in (count, touched) if bound is not None)
    return exact_scale(moved * sensitivity / epsilon)


def noisy_counts(source: Source, scores: Sequence[int], scale: Fraction) -> tuple[int, ...]:
    """The scores with fresh noise."""
    noise = discrete_laplace(source, scale, len(scores)).tolist()
    return tuple(score + extra for score, extra in zip(scores, noise, strict=True))
