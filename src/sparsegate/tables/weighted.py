"""Labels that are themselves private, where a person has many: the weighted Gaussian of Gopi et al. (2020, Thm. 5.1).

A person with w labels, cut to m first by a rule that looks at that person alone (``counting.cut_users``), so w <= m,
adds to each of them the weight v_w = floor(2**k / sqrt(w)) / 2**k. A label of total weight H is kept if

    H + sigma N >= T,        N standard normal, of its own for each label that somebody has.

Released are the labels that are kept, as a set. With optimal partition selection (``tables.observed``) each label of a
person has an m-th of epsilon: the people it takes grow with m. Here they grow with sqrt(m), and with the root of how
many labels people do have, if that is less: at epsilon = 1, delta = 1e-6 and m = 100 a label needs 1,313 people there
for an even chance, and here 252 who have 100 labels each, 80 who have 10, or 44 who have 3.

*Theorem.* Let delta' = delta/2, let sigma meet the theorem of ``gates.normal`` for (epsilon, delta'), and let

    t Pr[v_t + sigma N >= T] <= delta'      for t = 1, ..., m.

For neighbours that differ by one person this is (epsilon, delta)-differentially private; and it is delta'-approximately
1/(2 sigma**2)-zCDP as ``ledger.account`` says it.

*Proof.* Let D' be D with one person more, who has w <= m labels after the cut; all others keep theirs. Of these labels
t are new: nobody in D has them. Let A be the labels of D, P the law of what is released of D, which is a set of labels
of A, and P' that of what is released of D' without the new labels.

1. *The labels of A* get the noise sigma N on H, which moves by v_w in w - t of them: by at most sqrt(w) v_w <= 1 in
   Euclidean norm. What is kept of A is a function of H + sigma N. So P and P' are within (epsilon, delta') of each
   other, both ways, and their Renyi divergences are at most alpha / (2 sigma**2).
2. *A new label* has H = v_w <= v_t, since t <= w. So by the union bound, one of them is kept with a probability r <=
   t Pr[v_t + sigma N >= T] <= delta'. Its noise is independent of that of A: what is released of D' has, on the subsets
   of A, the measure (1 - r) P', and all else has the mass r.
3. *From D' to D.* For a set S of releases, Pr[M(D') in S] <= r + P'(S) <= delta' + e**epsilon P(S) + delta'.
4. *From D to D'.* P(S) <= e**epsilon P'(S) + delta', and Pr[M(D') in S] >= (1 - r) P'(S). If e**epsilon P'(S) <= 1,
   P(S) - e**epsilon (1 - r) P'(S) <= delta' + r e**epsilon P'(S) <= delta' + r <= delta. Else P(S) <= 1 and
   e**epsilon (1 - r) P'(S) > 1 - r, so the difference is below r <= delta.
5. *zCDP.* From D' to D take p = (1 - r) P', which lacks a mass of r <= delta': the sum of p**alpha P**(1-alpha) is at
   most that of P'. From D to D' take p = (1 - r) P: the sum of p**alpha ((1 - r) P')**(1-alpha) is 1 - r times that of
   P and P'. []

With a weight of 1/w**(1/4), or with T for t = 1 alone, it is false: the tests compute by how much.

*Numbers.* All is in whole numbers of parts of 2**-24: the weights, sigma, T, and sigma N rounded down, which is exact
(``noise.gaussian.normal_floor``): for whole H and T, H + sigma N >= T if and only if H + floor(sigma N) >= T. The
weights are rounded down, which keeps step 1 and, as v_w <= v_t for t <= w, step 2. sigma is rounded up. T is found in
floats, and then holds by whole numbers: the tail of the normal law is bounded from above (``gates.normal.normal_tail``)
for blocks of t, a to b, at v_a and delta' / b; it is raised until it does.

*The bar.* At T a label of N people with m labels each has an even chance for N = T / v_m, rounded up. A public bar
above that raises T to N v_m. Where people have fewer labels, fewer of them do. No label is certain to be left out, or
kept.

**The top c in two stages.** First labels are found in this way at (epsilon / 2, delta1), at the lowest bar: the set K.
Then c of K are selected by the number of their people, of the same cut table, by a method for a public domain at
(epsilon / 2, delta2), delta1 + delta2 = delta. Where K has fewer than c labels, dummies that nobody has make it up to
c, and are left out of what is released.

*Theorem.* This is (epsilon, delta)-DP, and rhos, and the deltas beside them, add.

*Proof.* Fix K. Its labels, and as many dummies as K asks for, are then a public list, and c and the noise hang on
public numbers alone, not on K. A person's cut looks at that person alone and not at K, so a person still moves each
number by at most one, all of them in one direction, and at most m of them: what the second stage is proved for. So for
every K it is (epsilon / 2, delta2)-DP, and its rho is the same. That is adaptive composition: K and what was selected
are together (epsilon, delta)-DP (``budget.Cost``), and what is released is a function of both. []

Noise made for as many rounds as K happens to have labels would not do: the rho of fewer than c rounds may be more than
the one that was charged. (People might be cut anew, to m labels of K, and popular labels then lose fewer of theirs; but
that is another pass over the table.)

*Which is taken*: two stages, where fewer people who have m/2 labels each have an even chance than the bottom of one
selection asks for (``tables.observed``). That grows with the root of c, and this with the root of m; both are public.
Which labels are missed is private: of what is selected no distance to the true number c is promised.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar, Final

import numpy as np

from sparsegate.budget import Cost
from sparsegate.gates.normal import PARTS, gaussian_sigma, normal_tail
from sparsegate.noise import Source
from sparsegate.noise.gaussian import normal_floor
from sparsegate.tables.counting import Pick

FEW: Final = 3
"""For so many labels of a person, or fewer, optimal partition selection needs no more people."""

_MOST_LABELS: Final = 2**32
_STEPS: Final = 64  # a block of t is at most a 64-th of its least wide
_GUARD: Final = 64


def weight(labels: int) -> int:
    """floor(2**24 / sqrt(w)): what a person with w labels adds to each.

    >>> [weight(labels) / 2**24 for labels in (1, 4, 100)]
    [1.0, 0.5, 0.09999996423721313]
    """
    return math.isqrt(4**PARTS // labels)


@dataclass(frozen=True, kw_only=True)
class WeightBar:
    """Which labels are kept: at ``above`` people who have ``max_items_per_user`` labels each half of the time.

    ``sigma`` and ``threshold`` are whole numbers of parts of 2**-24; all numbers are public.
    """

    method: ClassVar = "weighted-gaussian"
    above: int
    sigma: int
    threshold: int
    max_items_per_user: int

    @property
    def rho(self) -> Fraction:
        """Of zCDP, beside half of delta."""
        return Fraction(4**PARTS, 2 * self.sigma**2)

    def beyond(self, people: int) -> bool:
        """Whether a label that so many people have, and they no other, is more likely than not left out."""
        return self.even_chance(1) > people

    def cost(self, epsilon: Fraction, delta: Fraction) -> Cost:
        """What is spent by either rule, at the epsilon and delta that the bar was made for."""
        plain = Cost.of(epsilon, delta)
        return plain if self.rho > plain.rho else replace(plain, rho=self.rho, rho_delta=delta / 2)

    def even_chance(self, labels: int) -> int:
        """How many people who have so many labels each it takes for an even chance."""
        return -(-self.threshold // weight(labels))

    def raised(self, above: int) -> WeightBar:
        """The bar for a public number of people above this one."""
        return replace(self, above=above, threshold=above * weight(self.max_items_per_user))


@lru_cache(maxsize=64)
def lowest_bar(*, epsilon: Fraction, delta: Fraction, max_items_per_user: int) -> WeightBar | None:
    """The lowest bar of the theorem; None where there is none in the range of the numbers.

    >>> bar = lowest_bar(epsilon=Fraction(1), delta=Fraction(1, 10**6), max_items_per_user=100)
    >>> bar.above, [bar.even_chance(labels) for labels in (10, 3, 1)]
    (252, [80, 44, 26])
    """
    sigma = gaussian_sigma(epsilon=epsilon, delta=delta / 2)
    if sigma is None or max_items_per_user > _MOST_LABELS:
        return None
    parts = int(sigma * 2**PARTS)
    threshold = _threshold(parts, delta / 2, max_items_per_user)
    bar = WeightBar(above=1, sigma=parts, threshold=threshold, max_items_per_user=max_items_per_user)
    return replace(bar, above=bar.even_chance(max_items_per_user))


def _threshold(sigma: int, delta: Fraction, most: int) -> int:
    """A T for which t Pr[v_t + sigma N >= T] <= delta for every t up to ``most``, about the least."""
    from scipy.special import ndtri_exp  # heavy, and only needed where a bar is made

    blocks = [(weight(first), delta / last) for first, last in _blocks(most)]
    logs = [math.log(chance.numerator) - math.log(chance.denominator) for _, chance in blocks]
    nearest = [add - math.floor(sigma * float(ndtri_exp(log))) for (add, _), log in zip(blocks, logs, strict=True)]
    threshold, step = max(nearest), 1
    bits = (most / delta).__ceil__().bit_length() + _GUARD
    for add, chance in blocks:
        allowed = math.floor(chance * (1 << bits))
        while normal_tail(Fraction(threshold - add, sigma), bits)[1] > allowed:
            threshold, step = threshold + step, 2 * step
    return threshold


def _blocks(most: int) -> Iterator[tuple[int, int]]:
    first = 1
    while first <= most:
        last = min(first + first // _STEPS, most)
        yield first, last
        first = last + 1


def pick_weighted(source: Source, histogram: Mapping[int, int], bar: WeightBar) -> list[Pick]:
    """Draw the noise of every label: the weight of each that is kept, and its rank by label among those of that weight.

    >>> from sparsegate.noise import Seeded
    >>> bar = lowest_bar(epsilon=Fraction(1), delta=Fraction(1, 10**6), max_items_per_user=10)
    >>> pick_weighted(Seeded(1), {weight(10): 100, 75 * weight(10): 3, 200 * weight(10): 1}, bar)
    [(397906575, 1), (1061084200, 0)]
    """
    weights = np.array(sorted(histogram), dtype=np.int64)
    sizes = np.array([histogram[each] for each in weights.tolist()], dtype=np.int64)
    starts = np.cumsum(sizes) - sizes
    noise = normal_floor(source, bar.sigma, int(sizes.sum()))
    kept = np.flatnonzero(noise >= bar.threshold - np.repeat(weights, sizes))
    groups = np.searchsorted(starts, kept, side="right") - 1
    return list(zip(weights[groups].tolist(), (kept - starts[groups]).tolist(), strict=True))
