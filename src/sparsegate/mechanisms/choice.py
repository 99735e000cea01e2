"""Which method ``method="auto"`` takes: a rule that looks at public numbers and at nothing else.

Three ways to need less noise than the c / epsilon of ordinary peeling, each measured by the share of it that is left:

    noisy-scores    min(s c, m) / (s c)    where one person touches at most m scores
    gumbel          (epsilon / c) / e      with a delta; e is what a round may spend, see ``mechanisms.bounded_range``
    subset          1                      where the order of the selected is not asked for

(s = 1 for monotonic scores and 2 otherwise.) The smaller share of the first two is taken where it is at most
WORTHWHILE. Elsewhere the result is a set, by "subset", or in order, by "one-shot". The rule must not look at the
scores: which method ran is published. Where scores lie far apart around the c-th, "subset" makes hardly a mistake and
the rule may give away a little; where they are close, the share decides almost everything. ``python -m benchmarks
choice`` measures what the rule gives away, on all data sets at hand.
"""

from __future__ import annotations

from fractions import Fraction

from sparsegate.mechanisms.bounded_range import round_epsilon

WORTHWHILE = Fraction(1, 2)
"""The share of the noise from which on less noise beats a selection as a set."""


def choose(
    *, count: int, epsilon: Fraction, delta: Fraction, touched: int | None, ordered: bool, monotonic: bool
) -> str:
    """The key of the method to run.

    >>> rest = {"count": 100, "epsilon": Fraction(1, 10), "monotonic": True}
    >>> choose(delta=Fraction(0), touched=1, ordered=False, **rest)
    'noisy-scores'
    >>> choose(delta=Fraction(1, 10**6), touched=None, ordered=False, **rest)
    'gumbel'
    >>> choose(delta=Fraction(0), touched=None, ordered=False, **rest)
    'subset'
    >>> choose(delta=Fraction(0), touched=None, ordered=True, **rest)
    'one-shot'
    """
    most = count if monotonic else 2 * count
    shares = {"noisy-scores": Fraction(most if touched is None else min(most, touched), most)}
    if delta:
        shares["gumbel"] = epsilon / count / round_epsilon(epsilon=epsilon, delta=delta, count=count)
    best = min(shares, key=lambda key: shares[key])
    if shares[best] <= WORTHWHILE:
        return best
    return "one-shot" if ordered else "subset"
