"""Top-c when the items that exist are themselves private: the unknown-domain mechanism of Durfee and Rogers (2019).

Let h_(1) >= h_(2) >= ... be the scores in the table, equal ones ordered by label. With a public length dbar >= c, a
rate e, a margin t and m = min(dbar, the most items one person has),

    candidates   the dbar items of largest score, made up to dbar with dummies of score 0,
    bottom       one more candidate, of score B = h_(dbar+1) + 1 + t, where h is 0 when there are no more items,

peel the exponential mechanism at rate e over all dbar + 1 candidates until bottom, or c candidates, were selected;
release the selected items before bottom, in their order, and leave out the dummies. (Dummies are items that nobody
has; a label that is not in the table has score 0 and comes after all dummies. What is said of items below is said of
them, too.)

*Theorem.* For neighbours that differ by one person this is (epsilon, delta)-differentially private with either of

    pure            t >= ln(m / delta) / e,    e = epsilon / c
    bounded-range   t >= ln(m / delta0) / e,   delta0 = delta / (2 (1 + exp(epsilon))),
                    with c rounds, each e-bounded-range, being (epsilon, delta/2)-DP: see ``gates.approximate``

The better one is chosen, from public numbers alone.

*Proof.* Let D' be D with one person more. Every score, every order statistic h_(j) and so B rises by 0 or 1.

1. *Who changes sides.* Let C and C' be the candidates of D and D'. Items that the person does not have keep their order
   among one another, because ties are broken by label, and only fall behind others; so all of C' - C are the person's,
   there are at most m of them, and as many in C - C'. On its side each of these has at most h_(dbar+1) + 1. In C' - C:
   i was no candidate, had at most h_(dbar+1), and rose by at most 1. In C - C': a j of C' - C passed i, so
   h_i <= h'_i <= h'_j <= h_(dbar+1) + 1.
2. *They hardly ever appear.* In the race that peels, a given one of them comes before bottom with probability at most
   exp(e (h_i - B)) <= exp(-e t), so any of them does with probability at most m exp(-e t), on either side.
3. *Pure.* Take a transcript of items in both C and C'. In a round, the weight exp(e s) of what is selected and the sum
   of the weights not yet selected, which are order statistics of the items left, both rise by a factor from 1 to
   exp(e); so their quotient moves by at most exp(e), and c rounds by exp(epsilon). All other transcripts have together,
   by step 2, a probability of at most delta.
4. *Bounded-range.* Let M be the mechanism and R the same race among the candidates common to C and C', and bottom. In a
   round of R, given what was selected before, each log-weight rises by 0 to e and the normaliser moves all outcomes
   alike: the round is e-bounded-range, and so is a round after the end, which has one outcome. So R(D) and R(D') are
   within (epsilon, delta/2) of one another, both ways. Run M and R on the same clocks: as long as no candidate of M
   that R lacks comes before bottom, what comes before bottom, and its order, is the same; by step 2 they differ with
   probability at most delta0, on D and on D'. For every set S of releases

        Pr[M(D) in S] <= Pr[R(D) in S] + delta0
                      <= exp(epsilon) Pr[R(D') in S] + delta/2 + delta0
                      <= exp(epsilon) (Pr[M(D') in S] + delta0) + delta/2 + delta0
                       = exp(epsilon) Pr[M(D') in S] + delta,

    and likewise with D and D' exchanged.

*In zCDP*, the second accounting is (delta/2)-approximately (c e**2/8)-zCDP (``ledger.account`` has the words). *Proof.*
Let P and Q be the laws of M on neighbours, in either order, and in a round, given the common candidates selected so
far, let p and q be the probabilities of the common candidates left, and of bottom: u and v in all, at most 1. As in
step 4 the log of p/q lies in one interval of length e, so for p/u and q/v, which are laws, the sum of (p/u)**alpha
(q/v)**(1-alpha) is at most exp(alpha (alpha-1) e**2/8). Where u > v, make p smaller by the factor v/u. Then the sum of
p**alpha q**(1-alpha) <= v exp(alpha (alpha-1) e**2/8), for each of c rounds; and their products are a measure below P,
and one below Q. The first lacks what leaves the common candidates, at most m exp(-e t) by step 2, and at most the
expected sum over rounds of (u - v)+ <= 1 - v. In a round of the neighbour each of the at most m others has exp(-e t)
times the weight of bottom or less, so 1 - v <= m exp(-e t) q(bottom) <= m exp(-e t) exp(e) p(bottom) for the p of P
itself; and bottom is selected once at most, so the expected sum is at most m exp(e - e t). Together m exp(-e t) (1 +
exp(e)) <= delta0 (1 + exp(epsilon)) = delta/2, as e <= epsilon. [] Of the first accounting that delta would be more
than the one that was given: it counts as what is (epsilon, delta)-DP.

Ties broken by whatever order an engine returns would void step 1. Rounding t up keeps B a whole number, so that it
moves by exactly 0 or 1, costs less than one count, and can only make delta smaller. The order of the items is part of
what is released, under both.

*Sums.* Where one person raises a score by up to S (``tables.sums``), read all scores, and B, in units of S: weights are
exp(e h / S), every h_(j) / S rises by 0 to 1, and the proof is the same, word for word. B = h_(dbar+1) + S (1 + t).

Machine-checked, each step: proofs/README.md.

Everything that about N people have, where the labels that exist are themselves private: optimal partition selection.

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
   sides. Coins are independent, so their losses and deltas add up to m a and m d. [] In zCDP each of the m coins is
   d-approximately (a tanh(a/2))-zCDP (``ledger.account``), and all together m times that: less than epsilon**2 / (2 m).

*Rounding.* The coins are tossed with numbers k(n) / 2**b, from the same recursion with e^a rounded down, e^-a rounded
up, and each k(n) rounded down. Rounding p(n) down keeps the second and third inequality of step 1, for p(n-1) as it was
rounded; and the first holds, too, since e^a rounded down to a multiple of 2**-b is not below 1, nor e^-a rounded up
above it. The theorem is then about the numbers that are used.

*The bar.* With h the least number for which pi(h) >= 1/2, s = N - h puts the even chance at N. A bar below h would need
s < 0: it is refused, with h named. Nothing below s + 1 is ever kept, and nothing from s + f on is ever lost, for f the
least number with pi(f) = 1. All of them are public. For persons with many labels ``tables.weighted`` reaches lower.
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
    """ceil(ln(m / delta) / rate), or one more; with an epsilon for ``both_sides``, of delta0 in place of delta.

    >>> bottom_margin(rate=Fraction(1, 100), delta=Fraction(1, 10**8), max_items_per_user=1)
    1843
    """
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
    """The dbar largest scores as a histogram, dummies of score 0 included, and h_(dbar+1).

    Of the last score only the first labels may be candidates: ranks below the number given here.

    >>> candidates({1: 5, 7: 2, 9: 1}, 4), candidates({9: 1}, 4)
    (({9: 1, 7: 2, 1: 1}, 1), ({9: 1, 0: 3}, 0))
    """
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
    """For how many people the chance of a label is even, and for how many it is 1, by its shares; None: beyond counts.

    >>> reach(Fraction(1, 10), Fraction(1, 10**6))
    (109, 218)
    """
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
    unit, step = 1 << bits, 0
    while True:
        lost = unit - step - delta  # what is left to lose: 1 - pi(n-1) - d
        step = min((grow * step >> bits) + delta, unit + (-shrink * lost >> bits))
        if lost <= 0 or step >= unit:
            return
        yield step


def pick_above(source: Source, histogram: Mapping[int, int], bar: CountBar) -> list[Pick]:
    """Toss the coins: the number of people of each label that is kept, and its rank by label among those with as many.

    >>> from sparsegate.noise import Seeded
    >>> bar = bar_at(4, epsilon=Fraction(1), delta=Fraction(1, 10), max_items_per_user=1)
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
