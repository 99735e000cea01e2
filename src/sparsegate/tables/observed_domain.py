"""Top-c when the items that exist are themselves private: the unknown-domain mechanism of Durfee and Rogers (2019).

Let h_(1) >= h_(2) >= ... be the scores in the table, equal ones ordered by label, and 0 where there are no more items.
With a public length dbar >= c, a rate e = epsilon / c and m = min(dbar, the most items one person has),

    candidates   the dbar items of largest score, made up to dbar with dummies of score 0,
    bottom       one more candidate, of score B = h_(dbar+1) + 1 + ceil(ln(m / delta) / e),

peel the exponential mechanism at rate e over all dbar + 1 candidates until bottom, or c candidates, were selected;
release the selected items before bottom, in their order, and leave out the dummies.

*Theorem.* For neighbours that differ by one person this is (epsilon, delta)-differentially private. *Proof.* One person
moves every score, every order statistic h_(j) and so B by 0 or 1, all in one direction.

1. Take a transcript whose items are candidates on both sides. In a round, the weight exp(e s) of the item selected (or
   of bottom) and the sum of the weights not yet selected, which are order statistics of the items left, both move by a
   factor from 1 to exp(e) in the same direction; their quotient moves by at most exp(e). There are at most c rounds.
2. An item i that is a candidate on one side only has h_i <= h_(dbar+1) + 1 there: going to the other side some j passed
   it, and j was at most h_(dbar+1) and moved by at most 1. So i comes before bottom with probability at most
   exp(e (h_i - B)) <= delta / m. Items the person does not have keep their order among one another, because ties are
   broken by label, so there are at most m such i, and one of them is released with probability at most delta.

Ties broken by whatever order an engine returns would void step 2. Rounding the logarithm up keeps B a whole number, so
that it moves by exactly 0 or 1, costs less than one count, and can only make delta smaller.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import numpy as np

from sparsegate.errors import ParameterError
from sparsegate.mechanisms.scores import Scores
from sparsegate.mechanisms.selection import Request
from sparsegate.noise import Source
from sparsegate.noise.expansions import interval_arithmetic, scaled_floor
from sparsegate.tables.counting import Pick

_MOST = 2**60  # a bottom beyond every count that fits


def bottom_margin(*, rate: Fraction, delta: Fraction, touched: int) -> int:
    """ceil(ln(touched / delta) / rate), or one more: what bottom stands above h_(dbar+1) + 1.

    >>> bottom_margin(rate=Fraction(1, 100), delta=Fraction(1, 10**8), touched=1)
    1843
    """
    odds = touched / delta
    with interval_arithmetic(128) as iv:
        quotient = iv.log(iv.mpf(odds.numerator) / iv.mpf(odds.denominator)) * iv.mpf(rate.denominator)
        high = (quotient / iv.mpf(rate.numerator))._mpi_[1]
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
        if left == 0:
            return largest, score
        largest[score] = min(left, histogram[score])
        left -= largest[score]
        if largest[score] < histogram[score]:
            return largest, score
    if left:
        largest[0] = left
    return largest, 0


def pick_observed(
    source: Source, histogram: Mapping[int, int], *, request: Request, dbar: int, delta: Fraction, touched: int | None
) -> list[Pick]:
    """Draw the selection: the picked groups by score, and the rank of each member by label, without the dummies.

    ``touched`` is the most items that one person has; None where nothing but dbar bounds it.
    """
    rate = Fraction(request.epsilon) / request.count
    largest, following = candidates(histogram, dbar)
    margin = bottom_margin(rate=rate, delta=delta, touched=min(dbar, dbar if touched is None else touched))
    scores = Scores(
        values=np.array([*largest, following + 1 + margin], dtype=np.int64),
        multiplicities=np.array([*largest.values(), 1], dtype=np.int64),
    )
    picks = request.pick(scores, source.stream())
    bottom = len(largest)
    chosen: list[Pick] = []
    for group, member in zip(picks.groups.tolist(), picks.members.tolist(), strict=True):
        if group == bottom:
            break
        chosen.append((int(scores.values[group]), member))
    return [pick for pick in chosen if pick[0] > 0]
