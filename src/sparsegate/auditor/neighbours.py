"""Pairs of neighbouring answers worth trying: where privacy loss hides, and where nobody thought to look.

Neighbouring data move every answer by at most the sensitivity Delta; with monotonic queries they move all of them the
same way. Three families, and the caller's own pairs:

- *StatDP's* (Ding et al. 2018): one above, one below, one above and the rest below, one below and the rest above, half
  up and half down, all above, all below, X shape;
- *extreme* ones, at which the loss of sparse vector algorithms is attained: M^m 0^k against (M+Delta)^m (-Delta)^k, its
  mirror image, M^m (-M)^k pushed apart, the monotonic versions, 0^2m against Delta^m (-Delta)^m, (0, Delta) swapped;
- *random* ones, and *mutations* of whatever has done best so far.

Levels M are multiples of u = Delta/epsilon, the natural unit of the noise, around a centre: the mechanism's threshold.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from sparsegate.errors import ParameterError

_LEVELS: Final = (0.0, 0.5, 1.0, 2.0, 4.0)
_STEPS: Final = (-1, 0, 1)
_FARTHEST: Final = 2**62


@dataclass(frozen=True)
class NeighbourPair:
    """Two inputs that differ by one person: tuples of numbers, or whatever the caller passed."""

    answers: Any
    neighbour: Any

    @property
    def moves(self) -> NDArray[np.float64] | None:
        """How the neighbour moves each answer; None where the inputs are no equally long lists of numbers."""
        try:
            moves = np.subtract(self.neighbour, self.answers, dtype=np.float64)
        except (TypeError, ValueError):
            return None
        return moves if moves.ndim == 1 and moves.any() else None


@dataclass(frozen=True)
class Space:
    """What pairs may look like: how many answers, how far apart, in which unit they are laid out."""

    least: int
    most: int
    sensitivity: float
    unit: float
    centre: float
    monotonic: bool
    whole: bool

    @staticmethod
    def of(
        *, queries: int | tuple[int, int], sensitivity: float, epsilon: float, centre: float, monotonic: bool
    ) -> Space:
        """Check the numbers; answers are whole exactly where the sensitivity was given as an int."""
        least, most = bounds_of(queries)
        positive, hint = "must be a positive number", "pass the threshold of your mechanism"
        require_number("sensitivity", sensitivity, positive, lambda x: 0 < x < math.inf, "pass e.g. sensitivity=1")
        require_number("centre", centre, "must be a finite number", math.isfinite, hint)
        whole = isinstance(sensitivity, int | np.integer) and centre == int(centre)
        # A claim of epsilon = 100 or 0.0001 must not put all answers at one place, or beyond any noise.
        unit = sensitivity * min(max(1 / epsilon, 1.0), 1e4)
        farthest = abs(centre) + (most + 10) * unit
        if farthest + sensitivity == farthest or (whole and farthest > _FARTHEST):
            rule = "must be so close to 0 that answers which differ by the sensitivity are different numbers"
            raise ParameterError("centre", rule, centre, "shift the mechanism's answers towards 0")
        return Space(least, most, sensitivity, unit, centre, monotonic, whole)

    def pair(self, base: Iterable[float], moves: Iterable[float]) -> NeighbourPair | None:
        """The pair at these levels (in units u) with these moves (in units Delta); None where it is not allowed."""
        levels, steps = list(base), [max(-1.0, min(1.0, move)) for move in moves]
        if self.monotonic and min(steps) < 0 < max(steps):
            return None
        if not any(steps) or len(levels) > self.most:
            return None
        padding = self.least - len(levels)
        levels, steps = levels + [0.0] * padding, steps + [0.0] * padding
        # On a lattice of steps Delta a pair with whole Delta stays whole.
        places = [self.centre + self.sensitivity * round(level * self.unit / self.sensitivity) for level in levels]
        moved = [self._moved(place, step) for place, step in zip(places, steps, strict=True)]
        return self._numbers(places, moved)

    def _numbers(self, answers: Iterable[float], neighbour: Iterable[float]) -> NeighbourPair:
        number = int if self.whole else float
        return NeighbourPair(tuple(map(number, answers)), tuple(map(number, neighbour)))

    def _moved(self, place: float, step: float) -> float:
        """Not an ulp more than the sensitivity away, whatever rounding does."""
        moved = place + self.sensitivity * step
        while abs(moved - place) > self.sensitivity:
            moved = math.nextafter(moved, place)
        return moved

    def magnified(self, pair: NeighbourPair, factor: int) -> NeighbourPair:
        """The pair ``factor`` times as far apart, with the same middle or nearly so."""
        before = (factor - 1) // 2
        both = list(zip(pair.answers, pair.neighbour, strict=True))
        answers = tuple(a - before * (b - a) for a, b in both)
        return NeighbourPair(answers, tuple(b + (factor - 1 - before) * (b - a) for a, b in both))

    def own(self, pair: object) -> NeighbourPair:
        """The caller's pair, checked against the same rules."""
        two = taken(pair)
        try:
            a, b = np.asarray(two.answers), np.asarray(two.neighbour)
            allowed = a.ndim == 1 and a.shape == b.shape and a.size > 0 and np.isfinite(a - b).all()
        except (TypeError, ValueError):
            allowed = False
        if not allowed:
            rule, step = "must be pairs of equally long sequences of numbers", "pass patterns=False for any other kind"
            raise ParameterError("neighbours", rule, pair, step)
        moves = (b - a) / self.sensitivity
        if np.abs(moves).max() > 1 + 1e-9 or (self.monotonic and moves.min() < 0 < moves.max()):
            way = ", all of them the same way" if self.monotonic else ""
            rule = f"must move each answer by at most the sensitivity, {self.sensitivity:g}{way}"
            step = "raise sensitivity=, or pass patterns=False if these inputs are neighbours in another sense"
            raise ParameterError("neighbours", rule, pair, step)
        if self.whole and not (np.equal(np.mod(a, 1), 0).all() and np.equal(np.mod(b, 1), 0).all()):
            rule = "must be whole numbers where the sensitivity is one"
            raise ParameterError("neighbours", rule, pair, "pass sensitivity=1.0")
        return self._numbers(a.tolist(), b.tolist())


def taken(pair: object) -> NeighbourPair:
    """The caller's pair, taken at their word."""
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        step = "pass neighbours=[(answers, neighbour)]"
        raise ParameterError("neighbours", "must hold pairs (answers, neighbour)", pair, step)
    return NeighbourPair(*pair)


def known_patterns(space: Space, rng: np.random.Generator) -> list[NeighbourPair]:
    """The short pairs and StatDP's, then the extreme ones in random order: a small budget tries some of each kind."""
    extreme = list(_extreme(space.most))
    shuffled = [extreme[place] for place in rng.permutation(len(extreme))]
    pairs = (space.pair(base, moves) for base, moves in (*_short(space), *_statdp(space), *shuffled))
    return list(dict.fromkeys(pair for pair in pairs if pair is not None))


def _short(space: Space) -> Iterator[tuple[list[float], list[float]]]:
    """Whole lists first, half up and half down: what never stops leaks most there. Then the shortest."""
    most, step = space.most, space.sensitivity / space.unit
    if most >= 2:
        yield [0.0] * most, [1.0] * (most // 2) + [-1.0] * (most - most // 2)
        yield [0.0, step], [1.0, -1.0]
    yield [0.0], [1.0]
    if most >= 2:
        yield [0.0] * most, [-1.0] * (most - 1) + [1.0]
        yield [0.0, step], [1.0, 0.0]
    for half in sorted({1, most // 4, most // 2}):
        if 0 < 2 * half <= most:
            yield [0.0] * 2 * half, [1.0] * half + [-1.0] * half


def _statdp(space: Space) -> Iterator[tuple[list[float], list[float]]]:
    step = space.sensitivity / space.unit
    for n in sorted({space.most, min(space.most, 5)}):
        half, zeros = n // 2, [0.0] * n
        firsts = ((1, 1.0, 0.0), (1, -1.0, 0.0), (1, 1.0, -1.0), (1, -1.0, 1.0), (half, -1.0, 1.0))
        for many, first, rest in (*firsts, (n, 1.0, 0.0), (n, -1.0, 0.0)):
            yield zeros, [first] * many + [rest] * (n - many)
        yield [step] * half + [0.0] * (n - half), [-1.0] * half + [1.0] * (n - half)


def _extreme(most: int) -> Iterator[tuple[list[float], list[float]]]:
    heads = {1, 2, 4, 6, 8, most // 2, most - 1} & set(range(1, most))
    for level in _LEVELS:
        for n in sorted({most, (most + 1) // 2}):
            yield [level] * n, [1.0] * n
            yield [-level] * n, [1.0] * n
        for m in sorted(heads):
            for k in sorted({1, most - m}):
                yield [level] * m + [0.0] * k, [1.0] * m + [-1.0] * k
                yield [-level] * m + [0.0] * k, [-1.0] * m + [1.0] * k
                yield [level] * m + [-level] * k, [1.0] * m + [-1.0] * k
                yield [level] * m + [0.0] * k, [1.0] * m + [0.0] * k
                yield [-level] * m + [0.0] * k, [0.0] * m + [1.0] * k


def random_pair(space: Space, rng: np.random.Generator) -> NeighbourPair:
    """A few levels, blocks of answers at each, every block moved one way."""
    while True:
        length = int(rng.integers(space.least, space.most + 1))
        blocks = np.sort(rng.integers(0, int(rng.integers(1, 4)), length))
        levels = rng.choice([-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0], 3)
        moves = rng.choice(_STEPS, 3)
        if space.monotonic:
            moves = np.abs(moves) * rng.choice([-1, 1])
        pair = space.pair(levels[blocks].tolist(), moves[blocks].tolist())
        if pair is not None:
            return pair


def mutation(pair: NeighbourPair, space: Space, rng: np.random.Generator) -> NeighbourPair:
    """The same pair with an answer more or less, cut short, a block at another level, an answer moved another way."""
    for _ in range(20):
        base = [(x - space.centre) / space.unit for x in pair.answers]
        moves = [(b - a) / space.sensitivity for a, b in zip(pair.answers, pair.neighbour, strict=True)]
        place = int(rng.integers(len(base)))
        match int(rng.integers(5)):
            case 0:
                base.insert(place, base[place])
                moves.insert(place, moves[place])
            case 1 if len(base) > 1:
                base.pop(place)
                moves.pop(place)
            case 2 if place:
                # What comes after the end of an outcome costs time and tells nothing.
                base, moves = base[: place + 1], moves[: place + 1]
            case 3:
                chosen, shift = base[place], float(rng.choice([-0.5, -0.25, 0.25, 0.5]))
                base = [x + shift if x == chosen else x for x in base]
            case _:
                moves[place] = float(rng.choice(_STEPS))
        mutant = space.pair(base, moves)
        if mutant is not None and mutant != pair:
            return mutant
    return random_pair(space, rng)


def input_text(answers: Any, most: int) -> str:
    """An input in words, cut to this many characters."""
    text = repr(answers.tolist() if isinstance(answers, np.ndarray) else answers)
    return text if len(text) <= most else text[: most - 1] + "…"


def require_number(name: str, value: Any, rule: str, holds: Callable[[Any], bool], next_step: str = "") -> None:
    """Raise unless the value is a real number for which the rule holds."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or not holds(value):
        raise ParameterError(name, rule, value, next_step)


def whole(name: str, value: Any, rule: str, least: int, next_step: str = "") -> int:
    """The value as an int of at least ``least``."""
    require_number(name, value, rule, lambda number: number >= least and number % 1 == 0, next_step)
    return int(value)


def bounds_of(queries: Any) -> tuple[int, int]:
    """The least and the most answers: from a number n, (1, n); or from a pair.

    >>> bounds_of(10), bounds_of((2, 5))
    ((1, 10), (2, 5))
    """
    rule, hint = "must be a whole number n >= 1, or a pair (least, most)", "pass e.g. queries=10"
    both = queries if isinstance(queries, tuple | list) else (1, queries)
    numbers = [whole("queries", n, rule, 1, hint) for n in both]
    if len(numbers) != 2 or numbers[0] > numbers[1]:
        raise ParameterError("queries", rule, queries, hint)
    return numbers[0], numbers[1]
