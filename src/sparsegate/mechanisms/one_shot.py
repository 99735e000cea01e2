"""One-shot selection: exponential noise on every score, once, and the c largest in their order.

Item i of score q_i gets the noisy score q_i + x_i, x_i exponential of scale b = s c Delta / epsilon (s = 1 for
monotonic scores, 2 in general), and the c largest noisy scores are selected, largest first. For c = 1 this is
permute-and-flip (McKenna, Sheldon 2020; Ding et al. 2021 showed that they are the same), which never does worse than
the exponential mechanism.

*Theorem.* The c items in their order are epsilon-differentially private.

*Proof.* Let q become q' = q + d for a neighbour, abs(d_i) <= Delta, and let t be the most that any d_i is, but at least
0. Fix an outcome, c items in an order. Map the noise of each selected item from x_i to x_i + t - d_i, and leave all
others. Noise stays positive, since t >= d_i. Under q' the selected have their noisy scores under q plus t, in the same
order, and no other rose by more than t: the outcome is the same. The map is a translation, and the density falls by a
factor of exp(sum over the selected of (t - d_i) / b) at most. Monotonic scores: all d_i lie between 0 and Delta, so
does t; or all lie between -Delta and 0, and t = 0. Thus t - d_i <= Delta, together c Delta / b = epsilon. In general
t - d_i <= 2 Delta, together 2 c Delta / b = epsilon.

Whole scores are put in the same order by geometric noise, ties at random: the whole part of an exponential variable is
geometric, and its fraction is independent of that. This form of the theorem is checked by Coq.
Machine-checked: `one_shot_sums_to_one`, `one_shot_selects`, `one_shot_is_private` (proofs/one_shot.v).

The sign matters: with noise that is subtracted the items left behind pay, and there is no bound to how many they are.
One score that moves alone costs as much as all, so this noise gains nothing where a person touches few scores; and a
round of it is not bounded-range, so it gains nothing from a delta.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sparsegate.mechanisms.exponential import largest_noisy
from sparsegate.mechanisms.scores import Scores
from sparsegate.noise import Source
from sparsegate.noise.clock_noise import OneSided


def one_shot_groups(source: Source, scores: Scores, *, rate: Fraction, count: int) -> NDArray[np.int64]:
    """Select ``count`` items, 1 <= count <= scores.total: the group of each, in the order selected; rate = 1/b.

    >>> from sparsegate.noise import Seeded
    >>> scores = Scores.histogram({0: 10**9, 30: 2, 40: 1})
    >>> one_shot_groups(Seeded(1), scores, rate=Fraction(1), count=5).tolist()
    [2, 1, 1, 0, 0]
    """
    return largest_noisy(source, scores, rate=rate, count=count, noise=OneSided()).groups
