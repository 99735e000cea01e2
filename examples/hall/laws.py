"""What the mechanisms of the hall lose, computed from their definitions: sums and integrals, no sampling.

**NVFlare's filter** (2.8 and later). In units of its clip gamma: rho ~ Lap(1/e1) is drawn once, and each coordinate is
compared, |w_i| + Lap(2c/e2) >= tau + rho, pass after pass over those not yet accepted, until at least c are. A pass is
never cut short, so more than c may be accepted. Of all accepted, c places are drawn, with replacement or without;
those that were drawn leave with clip(w_i) + Lap(2c/e3), and the number of passes leaves with them.

Given rho, with p_i = Pr[Lap(2c/e2) >= tau + rho - |w_i|], coordinate i is accepted before pass n with probability
1 - (1-p_i)^(n-1), in it with (1-p_i)^(n-1) p_i, and not at all with (1-p_i)^n. ``FilterLaw.probability`` sums over how
many are accepted early (fewer than c) and in all (at least c), and integrates over rho.

**Theorem.** It loses at most e1 + (2 - 1/c) e2 + e3; so for c = 1 no more than the e1 + e2 + e3 that it reports.
Proof. Let r = e2/(2c); align rho on D with rho + 1 on D', which costs e1. Then every p_i falls, by at most e^(2r): all
that is BELOW costs nothing. Fix the passes n and who was accepted before the last one: at most c - 1, each at 2r. Of
the last pass some must be accepted, for S to be drawn and for c to be reached: at most c in all, each at 2r. All
others of that pass only add to the accepted, and the chance that S is drawn falls with their number: where each is
accepted less often, on D', it is the larger. Sum over who was accepted, and integrate over rho: e1 + 2r(2c - 1). The
numbers that leave are at most c, each moves by at most 2, at noise 2c/e3: e3.

**Report noisy max** with Laplace noise of scale b, where one score may rise and the others fall by s: at most 2s/b, and
in the limit of scores far apart no less: of two scores that differ by g >= 0 the lower wins with probability
(1 + g/(2b)) e^(-g/b) / 2.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_REACH, _PIECES, _NODES = 45.0, 300, 12
_STEPS = (0.0, 0.5, 1.0)


def onto(draws: int, places: int) -> int:
    """In how many ways so many draws fall on all of the places."""
    return sum((-1) ** j * math.comb(places, j) * (places - j) ** draws for j in range(places + 1))


@dataclass(frozen=True, kw_only=True)
class FilterLaw:
    """The law of NVFlare's filter with c uploads; tau and weights in units of gamma."""

    uploads: int
    threshold: float
    query: float
    release: float
    tau: float = 0.1
    replace: bool = True
    _kinks: tuple[float, ...] = field(default=(0.0, 0.25, 0.5, 0.75, 1.0), repr=False)

    @cached_property
    def _nodes(self) -> tuple[Floats, Floats]:
        """Places of rho and their weights; the pieces end where an integrand bends."""
        far = _REACH / self.threshold
        ends = np.unique([0.0, *(place - self.tau for place in self._kinks), *np.linspace(-far, far, _PIECES)])
        nodes, weights = np.polynomial.legendre.leggauss(_NODES)
        half, middle = np.diff(ends) / 2, (ends[1:] + ends[:-1]) / 2
        rho = (middle[:, None] + half[:, None] * nodes).ravel()
        mass = (half[:, None] * weights).ravel() * self.threshold / 2 * np.exp(-self.threshold * np.abs(rho))
        return rho, mass

    def _tail(self, size: float) -> Floats:
        x = (self.tau + self._nodes[0] - size) * self.query / (2 * self.uploads)
        return np.where(x >= 0, 0.5 * np.exp(-np.abs(x)), 1 - 0.5 * np.exp(-np.abs(x)))

    def probability(self, weights: Sequence[float], drawn: frozenset[int], passes: int) -> float:
        """That exactly these places are drawn, after so many passes."""
        rho, mass = self._nodes
        counts = {(0, 0): np.ones(rho.size)}  # (accepted before the last pass, accepted in it) -> probability
        for place, weight in enumerate(weights):
            accepted = self._tail(min(abs(weight), 1.0))
            waited = (1 - accepted) ** (passes - 1)
            ways = [(1, 0, 1 - waited), (0, 1, waited * accepted)]
            if place not in drawn:
                ways.append((0, 0, waited * (1 - accepted)))
            further: dict[tuple[int, int], Floats] = {}
            for ((early, late), known), (more_early, more_late, chance) in product(counts.items(), ways):
                if early + more_early < self.uploads:
                    at = (early + more_early, late + more_late)
                    further[at] = further.get(at, 0.0) + known * chance
            counts = further
        total = sum(known * self._share(early + late, len(drawn)) for (early, late), known in counts.items())
        return float(np.sum(mass * total))

    def _share(self, accepted: int, drawn: int) -> float:
        if accepted < self.uploads:
            return 0.0
        if self.replace:
            return onto(self.uploads, drawn) / accepted**self.uploads
        return 1 / math.comb(accepted, self.uploads) if drawn == self.uploads else 0.0

    def loss(self, weights: Sequence[float], other: Sequence[float], drawn: frozenset[int], passes: int) -> float:
        """The loss of one outcome, at the released values that tell most."""
        here, there = (self.probability(side, drawn, passes) for side in (weights, other))
        moved = sum(abs(np.clip(weights[i], -1, 1) - np.clip(other[i], -1, 1)) for i in drawn)
        return math.log(here / there) + float(moved) * self.release / (2 * self.uploads)

    def largest(self, coordinates: int, *, passes: Sequence[int] = (1, 2, 3, 6)) -> float:
        """The largest loss of many pairs: those drawn move alike, the others all rise, all fall, or stay."""
        best = 0.0
        sizes = range(1, self.uploads + 1) if self.replace else [self.uploads]
        for size, start, end, others, count in product(
            sizes, (-1.0, *_STEPS), _STEPS, ((0.0, 1.0), (1.0, 0.0), (1.0, 1.0), (0.0, 0.0)), passes
        ):
            here, there = (
                [own] * size + [rest] * (coordinates - size) for own, rest in zip((start, end), others, strict=True)
            )
            drawn = frozenset(range(size))
            best = max(best, self.loss(here, there, drawn, count), self.loss(there, here, drawn, count))
        return best


def noisy_max_loss(gap: float, moved: float, scale: float = 1.0) -> float:
    """The loss of two scores that differ by gap, and on the neighbour by gap - moved, when the lower one wins."""
    there, here = gap / scale, (gap - moved) / scale
    return moved / scale + math.log1p(here / 2) - math.log1p(there / 2)
