"""A witness for every row: two neighbours and an outcome whose computed loss comes near the tight value.

The shapes come from the proof that the bounds are attained (docs/explanation/proofs_in_words/privacy.md). With M far
from the threshold, BELOW at M or 0 makes the highest move allowed, ABOVE at 0 or -M the lowest, but those ABOVE at M
the highest that pay more for a released number or gap than for the comparison. A shape is a guess: its loss is computed
exactly, and M doubles until the loss is near enough. How many BELOW and ABOVE are worth trying is a guess, too.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple, Unpack

from sparsegate.budget import exact_count
from sparsegate.errors import ParameterError
from sparsegate.gates.bounds import MOVES, Rates, directions, redrawn_rounds, round_loss, tight_loss
from sparsegate.gates.laws import Direction
from sparsegate.gates.variants import Compared, Released, Variant
from sparsegate.privacy.loss import Found, difference
from sparsegate.privacy.model import Model, Public, analysis, build
from sparsegate.privacy.outcome import transcript

_MARGIN = 1e-2  # by how much a bound must pass a target that the loss itself is to pass
_TRIES = 3  # outcomes tried for each direction: equal bounds may be approached at unequal speed


class Round(NamedTuple):
    """m BELOW and k ABOVE under one rho; ``rising`` of the ABOVE make the highest move that the direction allows."""

    below: int
    above: int
    rising: int = 0


class Profile(NamedTuple):
    """Rounds one after another; the bound on their loss."""

    direction: Direction
    rounds: tuple[Round, ...]
    bound: float


def profiles(model: Model, queries: int | None, target: float, *, bounded: bool) -> Iterator[Profile]:
    """Promising outcomes of at most ``queries`` queries, or of as many as it takes to pass ``target``.

    ``bounded``: whether the loss is, however many queries are asked.
    """
    exact = Rates.of(model.scales, model.row)
    rates = exact._replace(threshold=float(exact.threshold), query=float(exact.query), answer=float(exact.answer))
    for direction in directions(model.row, model.monotonic):
        if model.row.redraws_threshold and model.rho is not None:
            # Half a BELOW beyond 1 + e1/r the limit is approached exponentially fast.
            best = redrawn_rounds(rates, direction, cutoff=model.cutoff, queries=queries, more=0.5)
            rounds = [Round(m, 1) for m in best.closed] + ([Round(best.opened, 0)] if best.opened else [])
            yield Profile(direction, tuple(rounds), float(best.loss))
            continue
        n, ranked = queries or 1, []
        if queries is None and bounded:
            # Half a BELOW beyond m = c + e1/r it is, too; one-sided noise needs one BELOW.
            useful = 1 if rates.law.one_sided else math.ceil(model.cutoff + rates.threshold / rates.query + 0.5)
            ranked = _ranked([(useful, model.cutoff)], rates, direction)
        while not ranked:
            ranked = _ranked([(n - k, k) for k in range(n + 1) if model.reachable(n - k, k)], rates, direction)
            if queries is None and ranked[0][0] < target * (1 + _MARGIN):
                n, ranked = 2 * n, []
        for bound, _, rising, m, k in ranked[:_TRIES]:
            yield Profile(direction, (Round(m, k, rising),), bound)


def _ranked(pairs: list[tuple[int, int]], rates: Rates, direction: Direction) -> list[Any]:
    """The bound on each (m, k), its gap, how many rise, m and k, the largest bound first."""
    bounds = [(round_loss(m, k, rates, direction), m, k) for m, k in pairs]
    return sorted(((float(loss), float(gap), rising, m, k) for (loss, gap, rising), m, k in bounds), reverse=True)


_NEAR = 5e-4  # relative: well within the promised 0.1 %
_DOUBLINGS = 14


@dataclass(frozen=True, kw_only=True, repr=False)
class WorstCase(Found):
    """Neighbours and an outcome with their exact loss; ``tight`` is the supremum over all neighbours and outcomes.

    ``estimates`` are the public ones of a row that compares an error; else None.
    ``loss(row, w.answers, w.neighbour, w.outcome, threshold=w.threshold, estimates=w.estimates, ...)`` is ``w.loss``.

    >>> import sparsegate as sg
    >>> options = {"cutoff": 1, "epsilon": 1}
    >>> w = sg.privacy.worst_case("standard", **options)
    >>> w.outcome, round(w.loss, 3), w.tight
    ((False, False, False, True), 1.0, 1.0)
    >>> again = sg.privacy.loss("standard", w.answers, w.neighbour, w.outcome, threshold=w.threshold, **options)
    >>> again == w.loss
    True
    """

    estimates: tuple[float, ...] | None
    tight: float

    @property
    def _title(self) -> str:
        return f"loss {self.loss:g}, at most {self.tight:g}"


@analysis
def worst_case(
    row: Variant | str, *, queries: int | None = None, at_least: float | None = None, **public: Unpack[Public]
) -> WorstCase:
    """A witness within 0.1 % of the tight loss of at most ``queries`` queries (None: no limit).

    Where the tight loss is infinite, the witness's loss exceeds ``at_least`` (default: twice what the same noise would
    cost in a gate that stops, eps1 + 2c Delta/scale(nu)). The other parameters are those of ``log_probability``.

    >>> import sparsegate as sg
    >>> witness = sg.privacy.worst_case("lee-clifton-2014", cutoff=3, epsilon=0.1)
    >>> round(witness.loss, 4), witness.tight
    (0.475, 0.475)
    """
    queries = None if queries is None else exact_count(queries, "queries")
    model = build(row, **public)
    tight = float(tight_loss(model.row, model.scales, cutoff=model.cutoff, monotonic=model.monotonic, queries=queries))
    if at_least is not None and at_least >= tight:
        raise ParameterError("at_least", f"must be less than the tight loss {tight}", at_least, "leave it out")
    maker = _Maker(model, Fraction(public.get("sensitivity", 1)), bounded=tight < math.inf)
    target = tight * (1 - _NEAR)
    if tight == math.inf:
        e1, r = (1 / float(scale) if scale is not None else 0.0 for scale in model.scales[:2])
        target = at_least if at_least is not None else 2 * (e1 + 2 * model.cutoff * r)
    best: tuple[float, list[_Query]] = (-math.inf, [])
    for made in maker.attempts(queries, target):
        best = max(best, made, key=lambda pair: pair[0])
        if best[0] > target or best[0] == tight:
            break
    return WorstCase(
        answers=tuple(_plain(query.answer) for query in best[1]),
        neighbour=tuple(_plain(query.neighbour) for query in best[1]),
        outcome=tuple(query.entry for query in best[1]),
        threshold=tuple(_plain(query.threshold) for query in best[1]),
        estimates=(0,) * len(best[1]) if maker.errors else None,
        loss=best[0],
        tight=tight,
    )


class _Query(NamedTuple):
    """One query of a witness: its answer on D and on D', its threshold, and what came out (True, False or a number)."""

    answer: Fraction
    neighbour: Fraction
    threshold: Fraction
    entry: Any


def _plain(value: Fraction) -> float:
    return int(value) if value.denominator == 1 else float(value)


class _Maker:
    """Lays out queries for a model, at answers whose lattice values move by the whole lattice sensitivity."""

    def __init__(self, model: Model, sensitivity: Fraction, *, bounded: bool) -> None:
        self.model, self.sensitivity, self.bounded = model, sensitivity, bounded
        self.step = model.lattice.granularity if model.lattice is not None else sensitivity
        unit = float(self.step) if model.lattice is not None else 1.0
        self.reach = unit * sum(law.scale for law in (model.rho, model.nu) if law is not None)
        self.errors = model.row.compared is not Compared.ANSWER

    def attempts(self, queries: int | None, target: float) -> Iterator[tuple[float, list[_Query]]]:
        """Witnesses with their losses, better and better."""
        model, zero = self.model, Fraction(0)
        if model.nu is None:
            # BELOW at 0 and ABOVE at Delta say 0 < rho <= Delta; when the first answer rises to Delta nothing is left.
            first = _Query(*self._moved(0.0, 1), zero, False)
            second = _Query(first.neighbour, first.neighbour, zero, True)
            yield self._value([first] if queries == 1 else [first, second])
        elif model.row.released is Released.NOISY_ANSWER:
            # A released value a says rho <= a - T, and below that every BELOW pays its full share.
            count = queries or 2 + math.floor(target * model.nu.scale / model.sensitivity)
            pair = self._moved(self.reach if self.errors else 0.0, 1)
            below, above = (_Query(*pair, zero, entry) for entry in (False, _plain(self._whole(float(pair[0])))))
            yield self._value([below] * (count - 1) + [above])
        else:
            tried = sorted(profiles(model, queries, target, bounded=self.bounded), key=lambda made: -made.bound)
            reached = -math.inf
            for doubling in range(_DOUBLINGS):
                for profile in tried:
                    made = self._best_rounds(profile, self.reach * 2.0 ** (2 + doubling))
                    reached = max(reached, made[0])
                    yield made
                if reached > tried[0].bound * (1 - _NEAR):
                    break  # farther out, rounding only grows

    def _best_rounds(self, profile: Profile, far: float) -> tuple[float, list[_Query]]:
        """Rounds are independent: the best shape of each, one after another."""
        made = {}
        for kind in set(profile.rounds):
            shapes = [self._value(shape) for shape in self._shapes(kind, profile.direction, far)]
            made[kind] = max(shapes, key=lambda pair: pair[0])
        asked = [query for kind in profile.rounds for query in made[kind][1]]
        return sum(made[kind][0] for kind in profile.rounds), asked

    def _value(self, asked: list[_Query]) -> tuple[float, list[_Query]]:
        own, other, thresholds, entries = (list(column) for column in zip(*asked, strict=True))
        sides = (self.model.compare(answers, thresholds, 0 if self.errors else None) for answers in (own, other))
        log_p, log_q = (transcript(side, entries) for side in sides)
        return difference(log_p, log_q), asked

    def _shapes(self, kind: Round, direction: Direction, far: float) -> Iterator[list[_Query]]:
        m, k, rising = kind
        high, low = MOVES[direction]
        for below, above in ((far, 0.0), (far, -far), (0.0, -far)):
            asked = [self._query(below, high, False, m)] * m
            asked += [self._query(far, high, True, m)] * rising + [self._query(above, low, True, m)] * (k - rising)
            # Under one rho the order is free: one in which the row does not stop too soon.
            yield asked[::-1] if k and self.model.closed(m, k - 1) else asked

    def _query(self, place: float, move: int, above: bool, below_count: int) -> _Query:
        """A query whose comparison flips at rho = ``place``, moving up (1), down (-1) or not at all."""
        if not self.errors:
            answer, neighbour = self._moved(place, move)
            return _Query(answer, neighbour, Fraction(0), self._entry(answer, above))
        # |q| rises with a rising q > 0 and falls with a rising q < 0: all answers rise, so the pair is monotonic, too.
        high = self._whole(abs(place) + 32 * self.reach)
        inside = self.model.row.compared is Compared.ERROR_NOISE_INSIDE
        bar = Fraction(0) if inside and not above else high
        size = float(high) if inside and above and below_count else place + float(bar)
        answer, neighbour = self._moved(size if move > 0 else -size, 1)
        return _Query(answer, neighbour, bar, self._entry(answer, above))

    def _entry(self, answer: Fraction, above: bool) -> Any:
        """What a query gives out: with fresh numbers, the number nearest the true answer gains most."""
        fresh = _plain(self._whole(float(answer))) if self.model.fresh is not None else True
        if not above or not self.model.row.gap:
            return above and fresh
        return 0 if fresh is True else (0, fresh)

    def _whole(self, place: float) -> Fraction:
        return math.floor(Fraction(place) / self.step) * self.step

    def _moved(self, place: float, move: int) -> tuple[Fraction, Fraction]:
        """Answers on D and D' near ``place``; they round to lattice values a full lattice sensitivity apart."""
        start = self._whole(place)
        if move <= 0:
            return start, start + move * self.sensitivity
        end = start + math.ceil(self.sensitivity / self.step) * self.step
        return end - self.sensitivity, end
