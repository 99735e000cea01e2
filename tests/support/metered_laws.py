"""All transcripts of gates that pay for each ABOVE, and of releases between their questions, on two neighbours."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sparsegate.gates.per_above import Price

Floats = NDArray[np.float64]


def tail(x: Floats | int, scale: float) -> Floats:
    """Pr[nu >= x] of discrete Laplace noise."""
    x, q = np.asarray(x, dtype=float), math.exp(-1 / scale)
    return np.where(x >= 0, q ** np.maximum(x, 0) / (1 + q), 1 - q ** (1 - np.minimum(x, 0)) / (1 + q))


@dataclass(frozen=True, kw_only=True)
class Side:
    """What was seen of one gate has this probability with each value of its rho, on one dataset."""

    weights: Floats
    rhos: Floats
    query: float

    @classmethod
    def opened(cls, price: Price, *, monotonic: bool, reach: int) -> Side:
        threshold = float(1 / price.opening)
        rhos, q = np.arange(-reach, reach + 1.0), math.exp(-1 / threshold)
        weights = (1 - q) / (1 + q) * q ** np.abs(rhos)
        return cls(weights=weights, rhos=rhos, query=float((2 - monotonic) / price.above))

    def asked(self, answer: int) -> tuple[Side, Side]:
        """After BELOW, and after ABOVE, to an answer this far above the threshold."""
        above = tail(self.rhos - answer, self.query)
        return replace(self, weights=self.weights * (1 - above)), replace(self, weights=self.weights * above)


Question = tuple[int, int, int]
"""Which gate, the answer on one dataset, and on the other; gate -1 is a release: randomised response."""

History = tuple[tuple[Question, int], ...]


@dataclass(frozen=True, kw_only=True)
class Play:
    """Who asks what. ``room`` is the rho for everything; a gate that cannot hold the next ABOVE is closed."""

    price: Price
    monotonic: bool
    gates: int
    depth: int
    asks: Callable[[History], Question]
    room: Fraction = Fraction(10**9)
    release: Fraction = Fraction(1, 4)
    holds: bool = True
    """False: the trap, which asks first and looks whether an ABOVE can be paid for afterwards."""
    seen: int | None = None
    """Where it is not None, rho is 0 and was released, on the other dataset as this: opening costs nothing more."""

    def transcripts(self, reach: int = 60) -> Iterator[tuple[float, float, Fraction]]:
        """The two probabilities of each transcript, and what it was charged."""
        side = other = Side.opened(self.price, monotonic=self.monotonic, reach=reach)
        begin = self.gates * self.price.opening_rho
        if self.seen is not None:
            side = replace(side, rhos=np.zeros(1), weights=np.ones(1))
            other, begin = replace(side, rhos=side.rhos + self.seen), Fraction(0)
        held = self.gates * self.price.above_rho if self.holds else Fraction(0)
        assert begin + held <= self.room
        yield from self._from((), [(side, other)] * self.gates, 1.0, 1.0, begin, frozenset(range(self.gates)))

    def _from(
        self,
        history: History,
        sides: list[tuple[Side, Side]],
        p: float,
        q: float,
        charged: Fraction,
        open_gates: frozenset[int],
    ) -> Iterator[tuple[float, float, Fraction]]:
        """``p`` and ``q`` are of the releases alone."""
        price, (gate, own, other) = self.price, self.asks(history)
        if len(history) == self.depth:
            for left, right in sides:
                p, q = p * left.weights.sum(), q * right.weights.sum()
            yield p, q, charged
        elif gate < 0:
            epsilon = float(self.release)
            high = 1 / (1 + math.exp(-epsilon))
            held = len(open_gates) * price.above_rho if self.holds else 0
            if charged + self.release**2 / 2 + held > self.room:
                yield from self._from((*history, ((gate, 0, 0), 2)), sides, p, q, charged, open_gates)
                return
            for said, (of_p, of_q) in enumerate(((high, 1 - high), (1 - high, high))):
                after = (*history, ((gate, 0, 0), said))
                cost = charged + self.release**2 / 2
                yield from self._from(after, sides, p * of_p, q * of_q, cost, open_gates)
        elif gate not in open_gates:
            yield from self._from((*history, ((gate, 0, 0), 2)), sides, p, q, charged, open_gates)
        else:
            lefts, rights = sides[gate][0].asked(own), sides[gate][1].asked(other)
            for said in (0, 1):
                now, cost, still = [*sides], charged, open_gates
                now[gate] = (lefts[said], rights[said])
                if said:
                    cost = charged + price.above_rho
                    reserved = len(open_gates) if self.holds else 0
                    if not self.holds and cost > self.room:
                        cost = charged  # it was seen, and could not be paid for
                    if cost + reserved * price.above_rho > self.room or cost == charged:
                        still = open_gates - {gate}
                yield from self._from((*history, ((gate, own, other), said)), now, p, q, cost, still)


MOVES = {"general": (-1, 0, 1), "up": (0, 1), "down": (-1, 0)}


def adaptive(
    seed: int, moves: str, gates: int, *, releases: bool = True, reach: int = 2
) -> Callable[[History], Question]:
    """Questions that are an arbitrary function of all that was said."""

    def asks(history: History) -> Question:
        drawn = random.Random(f"{seed} {[said for _, said in history]}")
        gate = drawn.randrange(-1 if releases else 0, gates)
        own = drawn.randint(-reach, reach)
        return gate, own, own + drawn.choice(MOVES[moves])

    return asks


def steady(answer: int, move: int, gates: int) -> Callable[[History], Question]:
    """The same question again and again, to each gate in turn."""
    return lambda history: (len(history) % gates, answer, answer + move)


def searching(move: int, reach: int, places: int) -> Callable[[History], Question]:
    """Looks for rho by halves, with answers that do not move, and then asks at it again and again with some that do."""

    def asks(history: History) -> Question:
        low, high = -reach, reach
        for (_, middle, _), above in history[:places]:
            low, high = (low, middle) if above else (middle, high)
        middle = (low + high) // 2
        return 0, middle, middle + (move if len(history) >= places else 0)

    return asks


def excess(play: Play, alpha: float, *, charged: bool = True, **options: int) -> float:
    """ln E_Q[(P/Q)**alpha exp(-alpha (alpha - 1) charges)], the larger of both orders; or with all of the room.

    Where rho was seen the order is that for which it is moved.
    """
    rows, totals = list(play.transcripts(**options)), []
    assert math.isclose(sum(p for p, _, _ in rows), 1, rel_tol=1e-9)
    for turned in (False, True)[: 1 + (play.seen is None)]:
        costs = ((q, p, cost) if turned else (p, q, cost) for p, q, cost in rows)
        paid = -alpha * (alpha - 1)
        totals.append(
            sum(p * (p / q) ** (alpha - 1) * math.exp(paid * float(c if charged else play.room)) for p, q, c in costs)
        )
    return math.log(max(totals))
