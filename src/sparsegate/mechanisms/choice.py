"""Which method ``method="auto"`` takes: a rule that looks at public numbers and at nothing else.

Three ways to need less noise than the c / epsilon of ordinary peeling, each measured by the share of it that is left:

    noisy-scores    min(s c, m) / (s c)    where one person touches at most m scores
    gumbel          (epsilon / c) / e      with a delta; e is what a round may spend, see ``mechanisms.bounded_range``
    subset          1                      where the order of the selected is not asked for

(s = 1 for monotonic scores and 2 otherwise.) The smaller share of the first two is taken where it is at most
WORTHWHILE. Elsewhere the result is a set, by "subset", or in order, by "one-shot". The rule must not look at the
scores: which method ran is published.

The limits have the least mean regret of the false negative rate, or 0.001 more, on all data sets at hand, whichever of
them is left out. The number d of candidates is public as well, but is not used. To tell c scores of about q from
many candidates with nothing, "subset" needs epsilon q > 2 log C(d, c), about 2 c log(e d/c), and "one-shot" half of it:
between the two "subset" can miss all, and from there on it is often far better. Where q lies is private. A rule that
takes "one-shot" where c < 2 log(d/c) gains .022 on the stand-in for AOL, which has a flat head, and loses up to .014 on
each other data set. ``python -m benchmarks choice`` measures what the rule gives away.
"""

from __future__ import annotations

from fractions import Fraction

from sparsegate.mechanisms.bounded_range import round_epsilon

WORTHWHILE = {"subset": Fraction(7, 10), "one-shot": Fraction(9, 10)}
"""The share of the noise up to which less noise is better than this method."""


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
    otherwise = "one-shot" if ordered else "subset"
    return best if shares[best] <= WORTHWHILE[otherwise] else otherwise
