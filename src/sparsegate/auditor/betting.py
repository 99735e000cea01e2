"""Bets against a claim: money that a private mechanism cannot make, counted at any time.

An (epsilon, delta)-private mechanism has P[E] <= e^epsilon Q[E] + delta, so of a run on either input Z = 1[the first is
in E] - e^epsilon 1[the second is in E] - delta has a mean of at most 0. Money starts at 1; a pair of runs multiplies it
by 1 + lambda Z, with a stake 0 <= lambda < 1/(e^epsilon + delta).

**Theorem (any stopping time).** If the claim is true and runs are independent, the money reaches 1/alpha, ever, with
probability at most alpha: whatever pairs, events and stakes were chosen from the past, and whenever and why one stops.
Proof, claims of rho and RDP, and why the stakes are strong: docs/explanation/proofs_in_words/auditor.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]

_BOLDEST: Final = 0.95
_SEED_PAIRS: Final = 4.0
_ROUNDING: Final = 1 + 1e-9
_DOUBT, _LITTLE_DOUBT = 2.0, 0.5
_ORDERS: Final = (1.02, 1.25, 1.5, 2.0, 3.0, 5.0, 9.0, 17.0, 33.0, 65.0)
_BISECTIONS, _HALVINGS = 60, 16
_LEAST_CHANCE: Final = 1e-12
_HIDDEN: Final = 1e-12
_MOST_LOG: Final = 700.0


@dataclass(frozen=True, kw_only=True)
class Counts:
    """Hits of one event among independent runs on the answers (1) and on the neighbour (2)."""

    hits1: int
    trials1: int
    hits2: int
    trials2: int


@dataclass(frozen=True, kw_only=True)
class DPLadder:
    """(epsilon, delta)-privacy for one delta and many epsilons; with ``epsilon``, for that one and many deltas.

    A ladder has ``values`` of one parameter of a claim in ascending order, and a ``level``: how often its bound may be
    wrong. Its ``lines`` are, for each value, e^epsilon and delta such that the claim implies P[E] <= e^epsilon Q[E] +
    delta, where training thinks that P[E] and Q[E] are ``p1`` and ``p2``.
    """

    values: Reals
    level: float
    delta: float = 0.0
    epsilon: float | None = None

    def lines(self, p1: float, p2: float) -> tuple[Reals, Reals]:
        if self.epsilon is None:
            return np.exp(self.values), np.full(self.values.size, self.delta)
        return np.full(self.values.size, math.exp(min(self.epsilon, _MOST_LOG))), self.values


@dataclass(frozen=True, kw_only=True)
class RenyiLadder:
    """rho-zCDP for many rhos; or, with one ``order`` alpha, D_alpha <= r for many r."""

    values: Reals
    level: float
    order: float | None = None

    def lines(self, p1: float, p2: float) -> tuple[Reals, Reals]:
        """Tangents of what the claim allows, where the way from (m, m) to (p1, p2) leaves it; m lies in the middle."""
        p1, p2 = (min(max(p, _LEAST_CHANCE), 1 - _LEAST_CHANCE) for p in (p1, p2))
        middle, best = (p1 + p2) / 2, np.full(self.values.size, -np.inf)
        ratio, delta = np.ones(self.values.size), np.ones(self.values.size)
        for order in _ORDERS if self.order is None else (self.order,):
            # No less than what rounding hides: the weaker claim follows from the one with a smaller value.
            allowed = np.maximum((order - 1) * self.values * (order if self.order is None else 1), _HIDDEN * order)
            inside, outside = np.zeros(self.values.size), np.ones(self.values.size)
            for _ in range(_BISECTIONS):
                at = (inside + outside) / 2
                within = _log_moment(middle + at * (p1 - middle), middle + at * (p2 - middle), order)[0] < allowed
                inside, outside = np.where(within, at, inside), np.where(within, outside, at)
            u, v = middle + outside * (p1 - middle), middle + outside * (p2 - middle)
            moment, by_p, by_q = _log_moment(u, v, order)
            # Rounded the safe way; where training saw nothing that the claim forbids there is nothing to bet on.
            usable = (moment >= allowed) & (by_p > 0) & (by_q < 0)
            slope = np.where(usable, -by_q, 1.0) / np.where(usable, by_p, 1.0)
            offset = np.where(usable, np.maximum(u - slope * v, 0.0) + _LEAST_CHANCE, 1.0)
            edge = (p1 - slope * p2 - offset) / np.sqrt(p1 * (1 - p1) + slope**2 * p2 * (1 - p2))
            better = usable & (edge > best)
            best, ratio, delta = (np.where(better, a, b) for a, b in ((edge, best), (slope, ratio), (offset, delta)))
        return ratio, delta


ClaimLadder: TypeAlias = DPLadder | RenyiLadder


def _log_moment(p: Reals, q: Reals, order: float) -> tuple[Reals, Reals, Reals]:
    """ln f(p, q) = (alpha - 1) D_alpha of two events of these chances, and both derivatives of f, divided by f."""
    hit, miss = (order * np.log(x) + (1 - order) * np.log(y) for x, y in ((p, q), (1 - p, 1 - q)))
    moment = np.logaddexp(hit, miss)  # at large orders f itself is beyond all doubles
    hit, miss = np.exp(hit - moment), np.exp(miss - moment)
    return moment, order * (hit / p - miss / (1 - p)), (1 - order) * (hit / q - miss / (1 - q))


def rungs(claim: float, most: float, *, fine: int = 900, coarse: int = 200) -> Reals:
    """Values up to three times the claim in equal steps, then in equal ratios; one of them is just above the claim.

    >>> ladder = rungs(0.1, 25.0)
    >>> float(ladder[0]), round(float(ladder[ladder > 0.1][0]), 6), round(float(ladder[-1]))
    (0.0, 0.10001, 25)
    """
    first = np.linspace(0, min(3 * claim, most), fine)
    rest = np.geomspace(3 * claim, most, coarse) if most > 3 * claim else np.zeros(0)
    return np.unique(np.concatenate([first, rest, [claim * (1 + 1e-4)]]))


class Bets:
    """The money on every rung of some ladders, over rounds of betting. In each a share of it is at stake."""

    def __init__(self, ladders: Sequence[ClaimLadder]) -> None:
        self._ladders = ladders
        self._goal = np.concatenate([np.full(ladder.values.size, _ROUNDING / ladder.level) for ladder in ladders])
        self._kept = np.ones(self._goal.size)
        self._log_stake = np.full(self._goal.size, -np.inf)
        self.fallen = np.zeros(self._goal.size, dtype=np.bool_)

    @property
    def _money(self) -> Reals:
        return cast(Reals, self._kept + np.exp(np.minimum(self._log_stake, _MOST_LOG)))

    def open_round(self, share: float, p1: float, p2: float, settled: int = 0) -> None:
        """Put a share of the money at stake on an event that training takes to be this likely on either input.

        ``settled``: pairs that were bet on it before, and showed those chances.
        """
        lines = [ladder.lines(p1, p2) for ladder in self._ladders]
        ratio, delta = (np.concatenate(part) for part in zip(*lines, strict=True))
        money = self._money
        with np.errstate(divide="ignore"):  # what is lost is lost
            self._kept, self._log_stake = (1 - share) * money, np.log(share * money)
        self._boldest = _BOLDEST / (ratio + delta)
        # What is seen when (both, only the first, only the second, neither) are in the event.
        self._gains = np.stack([1 - ratio, np.ones_like(ratio), -ratio, np.zeros_like(ratio)]) - delta
        chances = np.array([p1 * p2, p1 * (1 - p2), (1 - p1) * p2, (1 - p1) * (1 - p2)])
        self._cells, self._settled = (_SEED_PAIRS + settled) * chances, settled

    def stakes(self, remaining: int | None) -> Reals:
        """lambda on each rung, for pairs still to be drawn, with this many until the horizon if there is one."""
        from scipy.special import ndtri

        share = self._cells / self._cells.sum()
        seen = np.maximum(share, 0.25 / self._cells.sum())  # what was never seen may still happen
        second = seen @ self._gains**2
        if remaining is None:
            stake = self._fastest(seen, _LITTLE_DOUBT * np.sqrt(second / self._settled))
        else:
            missing = np.log(np.maximum(self._goal - self._kept, 1e-300))
            chance = np.exp(np.clip(self._log_stake - missing, -_MOST_LOG + 10, -1e-12))
            bold = np.exp(-(ndtri(chance) ** 2) / 2) / math.sqrt(2 * math.pi) / chance
            bold = bold / np.sqrt(second * max(remaining, 1))
            grown = self._fastest(seen, _DOUBT * np.sqrt(second / self._settled)) if self._settled else 0.0
            stake = np.minimum(np.maximum(bold, grown), self._boldest)
        return np.where(self.fallen, 0.0, stake)

    def _fastest(self, share: Reals, doubt: Reals) -> Reals:
        """The stake of fastest growth where means are smaller by a doubt: E[Z/(1 + lambda Z)] = doubt."""
        low, high = np.zeros_like(doubt), self._boldest
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            more = share @ (self._gains / (1 + middle * self._gains)) > doubt
            low, high = np.where(more, middle, low), np.where(more, high, middle)
        return low

    def settle(self, stakes: Reals, first: NDArray[np.bool_], second: NDArray[np.bool_]) -> None:
        """Multiply the money by what pairs of runs gained: whether each was in the event, on the first and second."""
        both, in_first, in_second = (int(np.count_nonzero(x)) for x in (first & second, first, second))
        cells = np.array(
            [both, in_first - both, in_second - both, first.size - in_first - in_second + both], dtype=np.float64
        )
        self._log_stake = self._log_stake + cells @ np.log1p(stakes * self._gains)
        self._cells = self._cells + cells
        self._settled += first.size
        self.fallen |= self._money >= self._goal

    def evidence(self) -> Reals:
        """By how many standard errors the gains of this round are above 0, on each rung."""
        pairs = self._cells.sum()
        mean, square = self._cells @ self._gains / pairs, self._cells @ self._gains**2 / pairs
        return cast(Reals, mean * np.sqrt(pairs / np.maximum(square - mean**2, 1e-300)))

    def bounds(self) -> list[float]:
        """The last rung of each ladder below the first that stands; 0 where even the first one stands."""
        bounds, start = [], 0
        for ladder in self._ladders:
            fallen = self.fallen[start : start + ladder.values.size]
            height = ladder.values.size if fallen.all() else int(np.argmin(fallen))
            bounds.append(float(ladder.values[height - 1]) if height else 0.0)
            start += ladder.values.size
        return bounds


def promise(p1: Reals, p2: Reals, *, trials: float, z: float, delta: float) -> Reals:
    """About what epsilon events of these probabilities would certify with this many pairs: good enough to choose by.

    It solves (p1 - delta - e^epsilon p2) sqrt(n) = z sqrt(p1 (1 - p1) + e^(2 epsilon) p2 (1 - p2)), with one hit more
    on the neighbour, which keeps it usable down to no hit at all.
    """
    p2 = np.minimum(p2 + 1 / trials, 1.0)
    v1, v2, mean = p1 * np.maximum(1 - p1, 0), p2 * np.maximum(1 - p2, 0), np.maximum(p1 - delta, 0.0)
    top = trials * mean**2 - z**2 * v1
    root = np.sqrt(np.maximum(trials * (mean**2 * v2 + p2**2 * v1) - z**2 * v1 * v2, 0.0))
    return np.log(np.maximum(top / (trials * mean * p2 + z * root + 1e-300), 1e-12))


def promised_rho(p1: Reals, p2: Reals, *, trials: float, z: float) -> Reals:
    """About what rho they would certify: for close p1, p2 it is 2 (arcsin sqrt p1 - arcsin sqrt p2)^2."""
    angle = np.arcsin(np.sqrt(np.clip(p1, 0, 1))) - np.arcsin(np.sqrt(np.clip(p2, 0, 1)))
    return 2 * np.maximum(angle - z / math.sqrt(2 * trials), 0.0) ** 2 + 1e-9 * angle
