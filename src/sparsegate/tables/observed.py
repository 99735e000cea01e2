"""Top-c, and everything above a bar, when the items that exist are themselves private.

**The top c** (Durfee and Rogers 2019). Let h_(1) >= h_(2) >= ... be the scores in the table, equal ones ordered by
label. With a public length dbar >= c, a rate e, a margin t and m = min(dbar, the most items one person has),

    candidates   the dbar items of largest score, made up to dbar with dummies of score 0,
    bottom       one more candidate, of score B = h_(dbar+1) + 1 + t, where h is 0 when there are no more items,

peel the exponential mechanism at rate e over all dbar + 1 candidates until bottom, or c candidates, were selected;
release the selected items before bottom, in their order, and leave out the dummies.

*Theorem.* For neighbours that differ by one person this is (epsilon, delta)-differentially private with either of

    pure            t >= ln(m / delta) / e,    e = epsilon / c
    bounded-range   t >= ln(m / delta0) / e,   delta0 = delta / (2 (1 + exp(epsilon))),
                    with c rounds, each e-bounded-range, being (epsilon, delta/2)-DP: see ``gates.approximate``

The second is (delta/2)-approximately (c e**2/8)-zCDP. The better one is chosen, from public numbers alone. Of sums,
that one person raises by up to S, all scores are in units of S: B = h_(dbar+1) + S (1 + t).

**Everything that about N people have**: optimal partition selection (Desfontaines, Voss, Gipson, Mandayam 2022). Let
a = epsilon / m and d = delta / m for persons with at most m labels. A label that n people have is kept by a coin of its
own, with the probability p(n) = pi(n - s), and 0 for n <= s, where s >= 0 is a public whole number and

    pi(0) = 0,        pi(n) = min(e^a pi(n-1) + d,  1 - e^-a (1 - pi(n-1) - d),  1).

*Theorem.* To release the set of labels that are kept is (epsilon, delta)-DP; and for s = 0, m = 1 no (epsilon,
delta)-DP rule for one label keeps it more often, at any n. In zCDP each of the m coins is d-approximately (a
tanh(a/2))-zCDP, and all together m times that. It holds for the numbers k(n) / 2**b that coins are tossed with: e^a
rounded down, e^-a rounded up, each k(n) rounded down. With h the least number for which pi(h) >= 1/2, s = N - h puts
the even chance at N; a bar below h is refused, with h named. Nothing below s + 1 is ever kept, and nothing from s + f
on is ever lost, for f the least number with pi(f) = 1.

Proofs: docs/explanation/proofs_in_words/table_releases.md; machine-checked, each step: proofs/README.md.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np

from sparsegate.budget import Cost
from sparsegate.errors import ParameterError
from sparsegate.gates.approximate import round_epsilon
from sparsegate.noise import Source
from sparsegate.noise.coins import bernoulli
from sparsegate.noise.expansions import decay, interval_arithmetic, interval_floor, scaled_floor
from sparsegate.selection.scores import Scores
from sparsegate.selection.select import Request
from sparsegate.tables.counting import Pick
from sparsegate.tables.weighted import FEW, WeightBar, lowest_bar

_MOST = 2**60  # a bottom beyond every count that fits


@dataclass(frozen=True, kw_only=True)
class Accounting:
    """How (epsilon, delta) becomes the rate e of each of ``count`` rounds, and t, what bottom stands above the rest."""

    name: str
    count: int
    rate: Fraction
    margin: int
    cost: Cost = field(repr=False)


def best_accounting(*, epsilon: Fraction, delta: Fraction, count: int, max_items_per_user: int) -> Accounting:
    """The accounting with the lower bottom. Where that is bounded-range its rate is the larger one, too.

    >>> options = {"epsilon": Fraction(1, 10), "delta": Fraction(1, 10**6)}
    >>> best_accounting(**options, count=1, max_items_per_user=10)
    Accounting(name='pure', count=1, rate=Fraction(1, 10), margin=162)
    >>> best_accounting(**options, count=100, max_items_per_user=1000).name
    'bounded-range'
    """
    both = [
        made(epsilon=epsilon, delta=delta, count=count, max_items_per_user=max_items_per_user)
        for made in (pure, bounded_range)
    ]
    return min(both, key=lambda accounting: accounting.margin)


def pure(*, epsilon: Fraction, delta: Fraction, count: int, max_items_per_user: int) -> Accounting:
    """The first accounting of the theorem: an equal share of epsilon for each round."""
    rate = epsilon / count
    margin = bottom_margin(rate=rate, delta=delta, max_items_per_user=max_items_per_user)
    return Accounting(name="pure", count=count, rate=rate, margin=margin, cost=Cost.of(epsilon, delta))


def bounded_range(*, epsilon: Fraction, delta: Fraction, count: int, max_items_per_user: int) -> Accounting:
    """The second accounting of the theorem: half of delta for the rounds, half for who changes sides.

    Where no order alpha gives more, the rate is epsilon / count, whose rounds need no delta.
    """
    rate = round_epsilon(epsilon=epsilon, delta=delta / 2, count=count)
    margin = bottom_margin(rate=rate, delta=delta, max_items_per_user=max_items_per_user, both_sides=epsilon)
    cost = Cost.of(epsilon, delta)
    if rate <= epsilon:  # as the proof of its rho has it
        cost = replace(cost, rho=count * rate**2 / 8, rho_delta=delta / 2)
    return Accounting(name="bounded-range", count=count, rate=rate, margin=margin, cost=cost)


def bottom_margin(
    *, rate: Fraction, delta: Fraction, max_items_per_user: int, both_sides: Fraction | None = None
) -> int:
    """ceil(ln(m / delta) / rate), or one more; with an epsilon for ``both_sides``, of delta0 in place of delta."""
    odds = max_items_per_user / delta
    with interval_arithmetic(128) as iv:
        factors = iv.mpf(odds.numerator) / iv.mpf(odds.denominator)
        if both_sides is not None:
            factors *= 2 + 2 * iv.exp(iv.mpf(both_sides.numerator) / iv.mpf(both_sides.denominator))
        high = (iv.log(factors) * iv.mpf(rate.denominator) / iv.mpf(rate.numerator))._mpi_[1]
    margin = scaled_floor(high, 0) + 1
    if margin > _MOST:
        raise ParameterError("epsilon", "is too small for this delta: no count could ever be selected", float(rate))
    return max(margin, 0)


def candidates(histogram: Mapping[int, int], dbar: int) -> tuple[dict[int, int], int]:
    """The dbar largest scores as a histogram, dummies included, and h_(dbar+1); of the last score the first labels."""
    largest: dict[int, int] = {}
    left = dbar
    for score in sorted(histogram, reverse=True):
        if taken := min(left, histogram[score]):
            largest[score] = taken
        left -= taken
        if taken < histogram[score]:
            return largest, score
    if left:
        largest[0] = left
    return largest, 0


def pick_observed(
    source: Source, histogram: Mapping[int, int], *, dbar: int, accounting: Accounting, sensitivity: int = 1
) -> list[Pick]:
    """Draw the selection: the picked groups by score, and the rank of each member by label, without the dummies.

    All ``count`` rounds are drawn, and what comes after bottom is dropped: the same law as that of ending there.
    """
    largest, following = candidates(histogram, dbar)
    scores = Scores(
        values=np.array([*largest, following + sensitivity * (1 + accounting.margin)], dtype=np.int64),
        multiplicities=np.array([*largest.values(), 1], dtype=np.int64),
    )
    # What c rounds at this rate would cost by themselves; the theorem above says what they cost here.
    count, epsilon = accounting.count, accounting.rate * accounting.count
    request = Request(count=count, epsilon=epsilon, sensitivity=sensitivity, monotonic=True, method="exponential")
    picks = request.pick(scores, source.stream())
    chosen: list[Pick] = []
    for group, member in zip(picks.groups.tolist(), picks.members.tolist(), strict=True):
        if group == len(largest):  # bottom
            break
        chosen.append((int(scores.values[group]), member))
    return [pick for pick in chosen if pick[0] > 0]


GUARD = 64
"""Bits that a probability has beyond those of d: what rounding takes from a chance is less than one part in 2**50."""

MOST_STEPS = 2**22
"""Numbers of people for which a chance between 0 and 1 is computed, at most."""


MOST_PEOPLE = 2**38
"""The highest bar: the weight of so many people, in parts of 2**-24, fits in 64 bits with noise."""


@dataclass(frozen=True, kw_only=True)
class CountBar:
    """Which labels are kept: at ``above`` people half, below ``never_below`` none, from ``always_from`` on all.

    ``epsilon`` and ``delta`` are the shares of one label, a and d; all numbers are public.
    """

    method: ClassVar = "partition-selection"
    epsilon: Fraction
    delta: Fraction
    above: int
    never_below: int
    always_from: int

    def beyond(self, people: int) -> bool:
        """Whether a label that so many people have is never kept."""
        return self.never_below > people

    def cost(self, epsilon: Fraction, delta: Fraction) -> Cost:
        """What is spent by either rule: on as many coins as a person has labels, each at its share of both."""
        return Cost.of(epsilon, delta, parts=int(epsilon / self.epsilon))

    def chances(self, wanted: Container[int]) -> dict[int, Fraction]:
        """The probability that a label is kept, for those numbers of people for which it is neither 0 nor 1."""
        bits, steps = steps_of(self.epsilon, self.delta)
        numbered = enumerate(steps, start=self.never_below)
        return {people: Fraction(step, 1 << bits) for people, step in numbered if people in wanted}


def bar_at(above: int, *, epsilon: Fraction, delta: Fraction, max_items_per_user: int) -> CountBar | WeightBar:
    """The bar with even chances at ``above`` people, for persons who have at most ``max_items_per_user`` labels.

    Partition selection says what it keeps by numbers of people alone: it is taken where it reaches so low. Below, and
    for persons with more than three labels, weights are.

    >>> bar = bar_at(150, epsilon=Fraction(1, 10), delta=Fraction(1, 10**6), max_items_per_user=1)
    >>> bar.never_below, bar.always_from
    (42, 259)
    >>> type(bar_at(1000, epsilon=Fraction(1, 10), delta=Fraction(1, 10**6), max_items_per_user=10)).__name__
    'WeightBar'
    """
    share, part = epsilon / max_items_per_user, delta / max_items_per_user
    counted = reach(share, part)
    if above > MOST_PEOPLE and (counted is not None or max_items_per_user > FEW):
        rule = f"must be at most {MOST_PEOPLE:,}: no table has more people"
        raise ParameterError("above", rule, next_step="pass a number that counts may reach")
    if counted is not None and above >= counted[0]:
        half, sure = counted
        offset = above - half
        return CountBar(epsilon=share, delta=part, above=above, never_below=offset + 1, always_from=offset + sure)
    weighted = None
    if max_items_per_user > FEW:
        weighted = lowest_bar(epsilon=epsilon, delta=delta, max_items_per_user=max_items_per_user)
    if weighted is not None and above >= weighted.above:
        return weighted.raised(above) if above > weighted.above else weighted
    lowest = [counted[0]] if counted is not None else []
    if weighted is not None:
        lowest.append(weighted.above)
    if not lowest:
        rule = f"is too small for this delta and {max_items_per_user} labels of a person: no bar is within all counts"
        raise ParameterError("epsilon", rule, float(epsilon), "pass more, or count fewer items of each user")
    rule = f"must be at least {min(lowest)} for this epsilon and delta, and {max_items_per_user} labels of a person"
    raise ParameterError("above", rule, above, f"pass above={min(lowest)} or more, or more epsilon or delta")


def reach(epsilon: Fraction, delta: Fraction) -> tuple[int, int] | None:
    """For how many people the chance of a label is even, and for how many it is 1; None where that is beyond counts."""
    # 2 ln(1 + 1/d) / a is more than the steps from 0 to 1.
    if epsilon * MOST_STEPS < 2 * (math.log(delta.denominator) - math.log(delta.numerator) + 1):
        return None
    bits, steps = steps_of(epsilon, delta)
    half = sure = 1
    for step in steps:
        half += 2 * step < 1 << bits
        sure += 1
    return half, sure


def steps_of(epsilon: Fraction, delta: Fraction) -> tuple[int, Iterator[int]]:
    """b, and k(1), k(2), ... below 2**b: the chances of a label that 1, 2, ... people have; from there on it is 1."""
    bits = GUARD + (1 / delta).__ceil__().bit_length()
    rate = min(epsilon, Fraction(bits))  # e^bits is beyond 1/d; a smaller rate is as private
    grow, _ = interval_floor(rate, lambda iv, e: e, bits, 3 * bits)
    shrink = decay(rate).prefix(bits) + 1
    return bits, _steps(bits, grow, shrink, math.floor(delta * (1 << bits)))


def _steps(bits: int, grow: int, shrink: int, delta: int) -> Iterator[int]:
    """``grow`` is at most e^a, ``shrink`` at least e^-a, ``delta`` at most d, all times 2**bits."""
    unit, step = 1 << bits, 0
    while True:
        lost = unit - step - delta  # what is left to lose: 1 - pi(n-1) - d
        step = min((grow * step >> bits) + delta, unit + (-shrink * lost >> bits))
        if lost <= 0 or step >= unit:
            return
        yield step


def pick_above(source: Source, histogram: Mapping[int, int], bar: CountBar) -> list[Pick]:
    """Toss the coins: the number of people of each label that is kept, and its rank among the labels with as many."""
    chances = bar.chances(histogram)
    picks: list[Pick] = []
    for people in sorted(histogram):
        if people >= bar.never_below:
            kept = bernoulli(source, chances.get(people, Fraction(1)), histogram[people])
            picks += [(people, rank) for rank in np.flatnonzero(kept).tolist()]
    return picks
