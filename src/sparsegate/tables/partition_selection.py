"""Everything that about N people have, where the labels that exist are themselves private: optimal partition selection.

Let a = epsilon / m and d = delta / m for persons with at most m labels. A label that n people have is kept by a coin
of its own, with the probability p(n) = pi(n - s), and 0 for n <= s, where s >= 0 is a public whole number and

    pi(0) = 0,        pi(n) = min(e^a pi(n-1) + d,  1 - e^-a (1 - pi(n-1) - d),  1).

Released are the labels that are kept, as a set.

*Theorem* (Desfontaines, Voss, Gipson, Mandayam 2022). For neighbours that differ by one person this is (epsilon,
delta)-differentially private; and for s = 0, m = 1 no (epsilon, delta)-DP rule for one label keeps it more often, at
any n. *Proof* of privacy.

1. For every n >= 1:  p(n-1) <= p(n),  p(n) <= e^a p(n-1) + d,  1 - p(n-1) <= e^a (1 - p(n)) + d.  For n <= s all three
   are plain, with zeros for p. For n > s, p(n) is at most the first term of the minimum and at most the second, which
   are the last two inequalities solved for p(n); and no term is below pi(n-1): the first is at least pi(n-1) + d, and
   so is the second as long as that is below 1.
2. So a coin with p(n) on one side and p(n-1) on the other is (a, d)-DP: of the four inequalities, for kept and for not
   kept in both directions, two are those of step 1 and two follow from p(n-1) <= p(n). A label that nobody has on one
   side is a coin with p(0) = 0 there: it is not known to exist, and it is not kept.
3. A person moves the counts of at most m labels, each by one; the coins of all other labels have the same law on both
   sides. Coins are independent, so their losses and deltas add up to m a and m d.

*Rounding.* The coins are tossed with numbers k(n) / 2**b, from the same recursion with e^a rounded down, e^-a rounded
up, and each k(n) rounded down. Rounding p(n) down keeps the second and third inequality of step 1, for p(n-1) as it was
rounded; and the first holds, too, since e^a rounded down to a multiple of 2**-b is not below 1, nor e^-a rounded up
above it. The theorem is then about the numbers that are used.

Machine-checked: `kept_labels_sum_to_one`, `partition_selection_is_private`, `partition_selection_is_optimal`,
`rounded_partition_selection_is_private` (proofs/partition_selection.v).

*The bar.* With h the least number for which pi(h) >= 1/2, s = N - h puts the even chance at N. A bar below h would need
s < 0: it is refused, with h named. Nothing below s + 1 is ever kept, and nothing from s + f on is ever lost, for f the
least number with pi(f) = 1. All of them are public.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from sparsegate.errors import ParameterError
from sparsegate.noise import Source
from sparsegate.noise.bernoulli import bernoulli
from sparsegate.noise.expansions import decay, interval_floor
from sparsegate.tables.counting import Pick

GUARD = 64
"""Bits that a probability has beyond those of d: what rounding takes from a chance is less than one part in 2**50."""

MOST_STEPS = 2**22
"""Numbers of people for which a chance between 0 and 1 is computed, at most."""


@dataclass(frozen=True, kw_only=True)
class CountBar:
    """Which labels are kept: at ``above`` people half, below ``never_below`` none, from ``always_from`` on all.

    ``epsilon`` and ``delta`` are the shares of one label, a and d; all numbers are public.
    """

    epsilon: Fraction
    delta: Fraction
    above: int
    never_below: int
    always_from: int

    def chances(self, wanted: Container[int]) -> dict[int, Fraction]:
        """The probability that a label is kept, for those numbers of people for which it is neither 0 nor 1."""
        bits, steps = steps_of(self.epsilon, self.delta)
        numbered = enumerate(steps, start=self.never_below)
        return {people: Fraction(step, 1 << bits) for people, step in numbered if people in wanted}


def bar_at(above: int, *, epsilon: Fraction, delta: Fraction, touched: int) -> CountBar:
    """The bar with even chances at ``above`` people, for persons who have at most ``touched`` labels.

    >>> bar = bar_at(150, epsilon=Fraction(1, 10), delta=Fraction(1, 10**6), touched=1)
    >>> bar.never_below, bar.always_from
    (42, 259)
    """
    share, part = epsilon / touched, delta / touched
    # 2 ln(1 + 1/d) / a is more than the steps from 0 to 1.
    most = 2 * (math.log(part.denominator) - math.log(part.numerator) + 1)
    if share * MOST_STEPS < most:
        rule = f"is too small for this delta and {touched} labels of a person: a bar would have to be beyond all counts"
        raise ParameterError("epsilon", rule, float(epsilon), "pass more, or count fewer items of each user")
    bits, steps = steps_of(share, part)
    half = sure = 1
    for step in steps:
        half += 2 * step < 1 << bits
        sure += 1
    if above < half:
        raise ParameterError(
            "above",
            f"must be at least {half} for this epsilon and delta, and {touched} labels of a person: what fewer people "
            "have cannot be kept half of the time",
            above,
            f"pass above={half} or more, or more epsilon or delta",
        )
    offset = above - half
    return CountBar(epsilon=share, delta=part, above=above, never_below=offset + 1, always_from=offset + sure)


def steps_of(epsilon: Fraction, delta: Fraction) -> tuple[int, Iterator[int]]:
    """b, and k(1), k(2), ... below 2**b: the chances of a label that 1, 2, ... people have; from there on it is 1.

    >>> bits, steps = steps_of(Fraction(1), Fraction(1, 10))
    >>> [round(step / 2**bits, 4) for step in steps]
    [0.1, 0.3718, 0.8057, 0.9653]
    """
    bits = GUARD + (1 / delta).__ceil__().bit_length()
    rate = min(epsilon, Fraction(bits))  # e^bits is beyond 1/d; a smaller rate is as private
    grow, _ = interval_floor(rate, lambda iv, e: e, bits, 3 * bits)
    shrink = decay(rate).prefix(bits) + 1
    return bits, _steps(bits, grow, shrink, math.floor(delta * (1 << bits)))


def _steps(bits: int, grow: int, shrink: int, delta: int) -> Iterator[int]:
    """``grow`` is at most e^a, ``shrink`` at least e^-a, ``delta`` at most d, all times 2**bits."""
    one, step = 1 << bits, 0
    while True:
        lost = one - step - delta  # what is left to lose: 1 - pi(n-1) - d
        step = min((grow * step >> bits) + delta, one + (-shrink * lost >> bits))
        if lost <= 0 or step >= one:
            return
        yield step


def pick_above(source: Source, histogram: Mapping[int, int], bar: CountBar) -> list[Pick]:
    """Toss the coins: the number of people of each label that is kept, and its rank by label among those with as many.

    >>> from sparsegate.noise import Seeded
    >>> bar = bar_at(4, epsilon=Fraction(1), delta=Fraction(1, 10), touched=1)
    >>> pick_above(Seeded(1), {1: 100, 2: 2, 3: 1, 4: 3, 9: 1}, bar)
    [(2, 0), (4, 1), (4, 2), (9, 0)]
    """
    chances = bar.chances(histogram)
    picks: list[Pick] = []
    for people in sorted(histogram):
        if people >= bar.never_below:
            kept = bernoulli(source, chances.get(people, Fraction(1)), histogram[people])
            picks += [(people, rank) for rank in np.flatnonzero(kept).tolist()]
    return picks
