"""The public histogram that learns: multiplicative weights over the cells of a domain.

The histogram is a probability p over the cells and over one more, "nowhere", where those of the n people stand who are
in no cell; so people outside of the categories, and an n that is only an upper bound, need no special case. It starts
uniform. A query w with a released answer moves it to

    p'(x) = p(x) exp(eta w(x)) / sum_y p(y) exp(eta w(y)),    eta such that  sum_x p'(x) w(x) = t,

the distribution nearest to p, in relative entropy, of those that give the query the share t.

*Progress.* Let h be the true distribution of the n people, q/n = sum h(x) w(x) their true share, e = sum p(x) w(x).
Where t lies between e and q/n, the relative entropy to the truth falls by

    D(h||p) - D(h||p') = eta (q/n - t) + D(p'||p)  >=  D(p'||p)  >=  2 (t - e)**2,

because eta has the sign of t - e, and by Pinsker's inequality. D(h||p) <= ln(cells + 1) at the start and never falls
below zero, so there are at most ln(cells + 1) / (2 x**2) updates by a share of at least x (Hardt and Rothblum 2010,
with the step fitted instead of fixed).

Moving towards one answer may lose another, so the latest answers that were released are gone through again: where the
histogram has left the interval that an answer is certain to, it moves to the nearer end. If the true share lies in
the interval that is progress too, and it costs no privacy: it looks at nothing but releases.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sparsegate.tables.online.categories import WEIGHT_BITS, Integers

Floats: TypeAlias = NDArray[np.float64]

_ROUNDS: Final = 5
_MOST_ETA: Final = 64.0  # only a share that is all but impossible asks for more in one move
_HALVINGS: Final = 60
_TINY: Final = 1e-300  # no weight is lost to underflow for ever


@dataclass(frozen=True, eq=False, repr=False)
class Lesson:
    """A query whose answer was released: its weights, a set of cells as booleans, and the shares it is certain to."""

    weights: NDArray[np.bool_] | Floats
    low: float
    high: float

    @classmethod
    def of(cls, steps: Integers, *, low: float, high: float) -> Lesson:
        """From weights in steps of 2**-24."""
        if (steps & ((1 << WEIGHT_BITS) - 1)).any():
            return cls(np.ldexp(steps.astype(np.float64), -WEIGHT_BITS), low, high)
        return cls(steps.astype(np.bool_), low, high)


@dataclass(frozen=True, eq=False, repr=False)
class Histogram:
    """The share of people in each cell and, last, nowhere; they sum to one. Public, and never changed in place."""

    shares: Floats

    @classmethod
    def uniform(cls, cells: int) -> Histogram:
        """Nothing is known: every cell, and nowhere, weighs the same.

        >>> Histogram.uniform(3).share(np.array([2**24, 0, 0]))
        0.25
        """
        return cls(np.full(cells + 1, 1 / (cells + 1)))

    def share(self, steps: Integers) -> float:
        """The share of people that a query of such weights, in steps of 2**-24, counts."""
        # Not @: it starts threads, which is slower for a few thousand products, and sums in an order of its own.
        return math.ldexp(float(np.einsum("i,i->", steps.astype(np.float64), self.shares[:-1])), -WEIGHT_BITS)

    def taught(self, lesson: Lesson, target: float, earlier: Iterable[Lesson] = ()) -> Histogram:
        """The histogram after a lesson, moved to the share ``target``, and after the earlier ones were gone through.

        >>> lesson = Lesson(np.array([True, False, False]), 0.4, 0.5)
        >>> Histogram.uniform(3).taught(lesson, 0.4).shares.round(3).tolist()
        [0.4, 0.2, 0.2, 0.2]
        """
        shares, lessons = self.shares.copy(), (*earlier, lesson)
        _move(shares, lesson, target)
        for _ in range(_ROUNDS):
            away = False
            for one in lessons:
                share = float((shares[:-1] * one.weights).sum())
                if not one.low <= share <= one.high:
                    _move(shares, one, one.low if share < one.low else one.high)
                    away = True
            if not away:
                break
        shares /= shares.sum()
        return Histogram(shares)


def _move(shares: Floats, lesson: Lesson, target: float) -> None:
    """Tilt the shares, in place, until the lesson's query has the share ``target``, or as near as one move can."""
    target, cells = min(max(target, 0.0), 1.0), shares[:-1]
    if lesson.weights.dtype == np.bool_:
        # A set of cells: all that matters is how much is inside.
        inside = float((cells * lesson.weights).sum())
        outside = float(shares.sum()) - inside
        inner, outer = target / max(inside, _TINY), (1 - target) / max(outside, _TINY)
        cells *= np.where(lesson.weights, inner, outer)
        shares[-1] *= outer
    else:
        weights = np.append(lesson.weights.astype(np.float64), 0.0)
        eta = _tilt(weights, shares, target)
        shares *= np.exp(eta * weights - max(eta, 0.0))
    shares /= shares.sum()
    np.maximum(shares, _TINY, out=shares)


def _tilt(values: Floats, masses: Floats, target: float) -> float:
    """The eta for which the masses, times exp(eta value), have the mean ``target``; it rises with eta."""
    low, high = -_MOST_ETA, _MOST_ETA
    for _ in range(_HALVINGS):
        eta = (low + high) / 2
        tilted = masses * np.exp(eta * values - max(eta, 0.0))
        mean = float((tilted * values).sum()) / max(float(tilted.sum()), _TINY)
        low, high = (eta, high) if mean < target else (low, eta)
    return (low + high) / 2
