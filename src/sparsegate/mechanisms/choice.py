"""Which method ``method="auto"`` takes: a rule that looks at public numbers and at nothing else.

Which method ran is published, so the rule must not look at the scores. With a delta, "gumbel" is taken where it leaves
at most WORTHWHILE of the noise of ordinary peeling, (epsilon / c) / e with e what a round may spend (see
``mechanisms.bounded_range``); "exponential" elsewhere.
"""

from __future__ import annotations

from fractions import Fraction

from sparsegate.mechanisms.bounded_range import round_epsilon

WORTHWHILE = Fraction(2, 3)
"""The share of the noise from which on a delta is worth its price."""


def choose(
    *, count: int, epsilon: Fraction, delta: Fraction, touched: int | None, ordered: bool, monotonic: bool
) -> str:
    """The key of the method to run.

    >>> rest = {"count": 100, "epsilon": Fraction(1, 10), "touched": None, "ordered": False, "monotonic": True}
    >>> choose(delta=Fraction(1, 10**6), **rest), choose(delta=Fraction(0), **rest)
    ('gumbel', 'exponential')
    """
    if delta and epsilon / count / round_epsilon(epsilon=epsilon, delta=delta, count=count) <= WORTHWHILE:
        return "gumbel"
    return "exponential"
