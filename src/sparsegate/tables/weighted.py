"""Labels that are themselves private, where a person has many: the weighted Gaussian of Gopi et al. (2020, Thm. 5.1).

A person with w labels, cut to m first by a rule that looks at that person alone (``counting.cut_users``), so w <= m,
adds to each of them the weight v_w = floor(2**k / sqrt(w)) / 2**k. A label of total weight H is kept if

    H + sigma N >= T,        N standard normal, of its own for each label that somebody has.

Released are the labels that are kept, as a set. With optimal partition selection (``tables.observed``) the people that
a label takes grow with m, here with sqrt(m): at epsilon = 1, delta = 1e-6 and m = 100 a label needs 1,313 people there
for an even chance, and here 252 who have 100 labels each, 80 who have 10, or 44 who have 3.

*Theorem.* Let delta' = delta/2, let sigma meet the theorem of ``gates.gaussian`` for (epsilon, delta'), and let

    t Pr[v_t + sigma N >= T] <= delta'      for t = 1, ..., m.

For neighbours that differ by one person this is (epsilon, delta)-differentially private; and it is delta'-approximately
1/(2 sigma**2)-zCDP as ``ledger.account`` says it. All is in whole numbers of parts of 2**-24, and exact.

At T a label of N people with m labels each has an even chance for N = T / v_m, rounded up; a public bar above that
raises T to N v_m. No label is certain to be left out, or kept.

**The top c in two stages.** First labels are found in this way at (epsilon / 2, delta1), at the lowest bar: the set K.
Then c of K are selected by the number of their people, of the same cut table, by a method for a public domain at
(epsilon / 2, delta2), delta1 + delta2 = delta. Where K has fewer than c labels, dummies that nobody has make it up to
c, and are left out of what is released.

*Theorem.* This is (epsilon, delta)-DP, and rhos, and the deltas beside them, add.

Two stages are taken where fewer people who have m/2 labels each have an even chance than the bottom of one selection
asks for (``tables.observed``); both are public. Which labels are missed is private: of what is selected no distance to
the true number c is promised. Proofs: docs/explanation/proofs_in_words/table_releases.md.
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
from sparsegate.gates.gaussian import PARTS, gaussian_sigma, normal_tail
from sparsegate.noise import Source
from sparsegate.noise.gaussian import normal_floor
from sparsegate.tables.counting import Pick

FEW: Final = 3
"""For so many labels of a person, or fewer, optimal partition selection needs no more people."""

_MOST_LABELS: Final = 2**32
_STEPS: Final = 64  # a block of t is at most a 64-th of its least wide
_GUARD: Final = 64


def weight(labels: int) -> int:
    """floor(2**24 / sqrt(w)): what a person with w labels adds to each."""
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
    """Draw the noise of every label: the weight of each that is kept, and its rank among the labels of that weight."""
    weights = np.array(sorted(histogram), dtype=np.int64)
    sizes = np.array([histogram[each] for each in weights.tolist()], dtype=np.int64)
    starts = np.cumsum(sizes) - sizes
    noise = normal_floor(source, bar.sigma, int(sizes.sum()))
    kept = np.flatnonzero(noise >= bar.threshold - np.repeat(weights, sizes))
    groups = np.searchsorted(starts, kept, side="right") - 1
    return list(zip(weights[groups].tolist(), (kept - starts[groups]).tolist(), strict=True))
