"""The exact privacy loss of an outcome: ln Pr[A(D) = a] - ln Pr[A(D') = a] for two neighbouring datasets.

A bound that holds for every single outcome holds for every set of outcomes, and the reverse. Machine-checked:
proofs/README.md.

``search`` looks for the largest loss and knows nothing of the bounds: coordinate ascent from random starts, over a grid
of answers, on both datasets at once. Queries under one rho are exchangeable, and rounds with a rho of their own are
independent: docs/explanation/proofs_in_words/privacy.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sparsegate.budget import exact_count
from sparsegate.display.sheet import Sheet
from sparsegate.display.tabular import Printed
from sparsegate.errors import ParameterError
from sparsegate.gates.laws import Direction, Floats
from sparsegate.gates.variants import Compared, Released, Variant
from sparsegate.privacy.model import Comparisons, Model, Public, analysis, build
from sparsegate.privacy.outcome import (
    MOST_QUERIES,
    Outcome,
    log_probabilities,
    possible_outcomes,
    rho_grid,
    said_outcome,
    spans,
    transcript,
)

_ROUNDING = 4 * np.finfo(np.float64).eps  # answers are floats: two of them may differ by the sensitivity and a rounding


@analysis
def loss(
    row: Variant | str,
    answers: ArrayLike,
    neighbour: ArrayLike,
    outcome: Outcome,
    *,
    threshold: ArrayLike = 0,
    estimates: ArrayLike | None = None,
    **public: Unpack[Public],
) -> float:
    """ln Pr[A(D) = outcome] - ln Pr[A(D') = outcome]; infinite where only D can produce it, 0 where neither can.

    ``answers`` are those on D, ``neighbour`` those on D'. They may differ by at most the sensitivity in each place,
    and in one direction only where ``monotonic``. The other parameters are those of ``log_probability``.

    >>> import sparsegate as sg
    >>> round(sg.privacy.loss("lyu-2017", [40] * 4 + [0], [41] * 4 + [-1], [False] * 4 + [True], epsilon=1), 4)
    1.0
    """
    own, other = neighbouring(build(row, threshold=threshold, **public), answers, neighbour, threshold, estimates)
    return difference(transcript(own, outcome), transcript(other, outcome))


def difference(log_p: float, log_q: float) -> float:
    """ln p - ln q; nothing is learned from what neither side can produce."""
    return 0.0 if log_p == log_q else log_p - log_q


def neighbouring(
    model: Model, answers: ArrayLike, neighbour: ArrayLike, threshold: ArrayLike, estimates: ArrayLike | None
) -> tuple[Comparisons, Comparisons]:
    """Both sides of a pair, ready to be compared."""
    own, other = (model.compare(values, threshold, estimates) for values in (answers, neighbour))
    return require_neighbours(own, other)


def require_neighbours(own: Comparisons, other: Comparisons) -> tuple[Comparisons, Comparisons]:
    """Both; refuses pairs that one person cannot turn into each other."""
    if own.answer.shape != other.answer.shape:
        raise ParameterError("neighbour", f"must have as many entries as answers, {own.answer.size}", other.answer.size)
    change, model = other.answer - own.answer, own.model
    slack = 0.0 if model.lattice is not None else _ROUNDING * (np.abs(own.answer) + np.abs(other.answer))
    # Rounding of large floats is forgiven, but never more than a thousandth of a person.
    if (np.abs(change) > model.sensitivity + np.minimum(slack, 1e-3 * model.sensitivity)).any():
        rule = "must differ from answers by at most the sensitivity in each place"
        raise ParameterError("neighbour", rule, next_step="raise sensitivity=")
    if model.monotonic and (change > 0).any() and (change < 0).any():
        rule = "must lie on one side of answers where the queries are monotonic"
        raise ParameterError("neighbour", rule, next_step="pass monotonic=False")
    return own, other


class Worst(NamedTuple):
    """An outcome, and its loss."""

    outcome: tuple[bool, ...]
    loss: float


def worst_outcome(own: Comparisons, other: Comparisons) -> Worst:
    """Of all outcomes, without the numbers that positives may release."""
    first, second = map(log_probabilities, require_neighbours(own, other))
    with np.errstate(invalid="ignore"):
        losses = np.where(first == second, 0.0, first - second)
    at = int(np.argmax(losses))
    return Worst(possible_outcomes(own.model, own.answer.size).outcomes[at], float(losses[at]))


Indices = NDArray[np.intp]

_FAR = (8, 30)  # sums of the two noise scales
_PARTS = 4  # steps in one sensitivity, around each anchor
_SWEEPS = 30
_SMALL = 1e-280  # sums below this have lost digits to underflow: they are taken in log space


@dataclass(frozen=True, kw_only=True, repr=False)
class Found(Printed):
    """The largest loss met, and where: ``answers`` on D, those of its ``neighbour``, its ``threshold``s.

    ``outcome`` is True for ABOVE, or the number that it released; ``loss`` is ln Pr_D[outcome] - ln Pr_D'[outcome].

    >>> import sparsegate as sg
    >>> found = sg.privacy.search("stoddard-2014", queries=2, epsilon=1, restarts=2)
    >>> found.loss, found.outcome, found.answers, found.neighbour
    (inf, (False, True), (1.0, 2.0), (2.0, 2.0))
    """

    answers: tuple[float, ...]
    neighbour: tuple[float, ...]
    threshold: tuple[float, ...]
    outcome: tuple[Any, ...]
    loss: float

    def sheet(self) -> Sheet:
        """A row for each question."""
        fields = {"answer": self.answers, "neighbour": self.neighbour, "threshold": self.threshold}
        if estimates := getattr(self, "estimates", None):
            fields["estimate"] = estimates
        columns = {**fields, "outcome": said_outcome(self.outcome, len(self.answers))}
        return Sheet(title=self._title, columns=columns, numbers=frozenset(fields))

    @property
    def _title(self) -> str:
        return f"largest loss met: {self.loss:g}"


class _Options(NamedTuple):
    """What one query may be: factor row ``own`` on D, ``other`` on D', and the gain from its released number.

    A gap of g is a gap of 0 where both answers lie g lower, so 0 is the only gap that need be tried.
    """

    log_factors: Floats
    own: Indices
    other: Indices
    gain: Floats
    answer: Floats
    neighbour: Floats
    threshold: Floats
    number: Floats


class _Climb(NamedTuple):
    """A local maximum: the loss, and which option each query took."""

    loss: float
    below: Indices
    above: Indices


@analysis
def search(
    row: Variant | str,
    *,
    queries: int = 6,
    thresholds: Sequence[float] = (0,),
    restarts: int = 4,
    seed: int = 0,
    **public: Unpack[Public],
) -> Found:
    """The largest loss found over the outcomes of up to ``queries`` queries, from ``restarts`` random starts for each.

    ``thresholds`` are those that a query may be asked with; one ``seed`` finds the same again. The other parameters are
    those of ``log_probability``.

    >>> import sparsegate as sg
    >>> found = sg.privacy.search("lee-clifton-2014", queries=3, epsilon=0.1, restarts=2)
    >>> round(found.loss, 4), found.outcome
    (0.175, (False, False, True))
    """
    queries = exact_count(queries, "queries", most=MOST_QUERIES)
    model = build(row, threshold=np.asarray(thresholds), **public)
    rng = np.random.default_rng(seed)
    best = Found(answers=(), neighbour=(), threshold=(), outcome=(), loss=-math.inf)
    for direction in _directions(model):
        climber = _Climber(model, queries, thresholds, direction, rng)
        tops: dict[tuple[int, int], _Climb] = {}
        for count in range(1, queries + 1):
            for outcome in possible_outcomes(model, count).outcomes:
                rounds = list(spans(outcome)) if model.row.redraws_threshold else [(0, len(outcome) - 1, None)]
                parts = []
                for start, end, _ in rounds:
                    k = sum(outcome[start : end + 1])
                    key = end + 1 - start - k, k
                    if key not in tops:
                        tops[key] = max((climber.climb(*key) for _ in range(restarts)), key=lambda top: top.loss)
                    parts.append(tops[key])
                if sum(part.loss for part in parts) > best.loss:
                    best = climber.describe(outcome, parts, rounds)
    return best


def largest_losses(
    row: Variant | str, counts: Sequence[tuple[int, int]], *, restarts: int = 4, seed: int = 0, **public: Unpack[Public]
) -> dict[tuple[int, int], float]:
    """The largest loss found for each (m, k): m BELOW and k ABOVE under one rho, also where the row stops before.

    >>> found = largest_losses("liu-2024", [(0, 1), (1, 0), (1, 1)], epsilon=1, allocation="1:1")
    >>> [round(loss, 4) for loss in found.values()]
    [0.25, 0.5, 1.0]
    """
    model = build(row, **public)
    rng = np.random.default_rng(seed)
    climbers = [_Climber(model, max(map(sum, counts)), (0,), way, rng) for way in _directions(model)]
    return {(m, k): max(climber.climb(m, k).loss for climber in climbers for _ in range(restarts)) for m, k in counts}


def _directions(model: Model) -> tuple[Direction, ...]:
    return ("up", "down") if model.monotonic else ("any",)


class _Climber:
    """Candidate answers and their factors on one grid of rho, for neighbours that move in one direction."""

    def __init__(
        self, model: Model, queries: int, thresholds: Sequence[float], direction: Direction, rng: np.random.Generator
    ) -> None:
        values = _candidates(model)
        q, bar = np.tile(values, len(thresholds)), np.repeat(np.asarray(thresholds), values.size)
        self.rng = rng
        self.points = points = model.compare(q, bar, None if model.row.compared is Compared.ANSWER else 0)
        self.z, self.log_weight = rho_grid(model, points.breaks(), queries)
        change = points.answer - points.answer[:, None]
        near = (np.abs(change) <= model.sensitivity * (1 + 1e-12)) & (points.bar == points.bar[:, None])
        sides = {"any": near, "up": near & (change >= 0), "down": near & (change <= 0)}
        own, other = np.nonzero(sides[direction])
        none, nothing = np.full(own.size, np.nan), np.zeros(own.size)
        self.below = _Options(points.log_below(self.z), own, other, nothing, q[own], q[other], bar[own], none)
        self.gap = model.row.gap
        self.above = self.below._replace(log_factors=(points.log_gap if self.gap else points.log_above)(self.z))
        if model.numeric:
            self.above = self._with_numbers(model, self.above, q)
        self.factors = {id(options): np.exp(options.log_factors) for options in (self.below, self.above)}

    def _with_numbers(self, model: Model, options: _Options, values: Floats) -> _Options:
        """The number that gains most for each pair; where it is the compared value itself, it sets the factor."""
        points = self.points
        law = model.fresh if model.fresh is not None else model.nu
        assert law is not None
        log_weight = law.log_weight(points.answer - points.answer[:, None])
        gains = log_weight[options.own] - log_weight[options.other]  # a row for each pair, a column for each number
        if model.row.released is not Released.NOISY_ANSWER:
            best = gains.argmax(axis=1)
            return options._replace(gain=gains.max(axis=1), number=values[best])
        # ABOVE says z <= a - T, whatever the answers are: so the options are the numbers, each with its best pair.
        numbers = np.arange(values.size)
        pair = np.where(points.bar[options.own][:, None] == points.bar, gains, -np.inf).argmax(axis=0)
        limit = (np.abs(points.answer) if points.inside else points.answer) - points.bar
        with np.errstate(divide="ignore"):
            log_factors = np.log((self.z.past(limit) <= 0).astype(np.float64))
        answer, neighbour, bar = (column[pair] for column in (options.answer, options.neighbour, options.threshold))
        return _Options(log_factors, numbers, numbers, gains[pair, numbers], answer, neighbour, bar, values)

    def climb(self, below: int, above: int) -> _Climb:
        """Coordinate ascent from a random start."""
        kinds = [self.below] * below + [self.above] * above
        chosen = np.array([self.rng.integers(kind.own.size) for kind in kinds], dtype=np.intp)
        loss = -math.inf
        for _ in range(_SWEEPS):
            before = loss
            for i in self.rng.permutation(len(kinds)):
                at, value = self._best_option(kinds, chosen, int(i))
                if value > loss:
                    chosen[i], loss = at, value
            if loss <= before + 1e-13 or loss == math.inf:
                break
        return _Climb(loss, chosen[:below], chosen[below:])

    def _best_option(self, kinds: list[_Options], chosen: Indices, i: int) -> tuple[int, float]:
        """The best option for query i with all others as they are, and the loss with it."""
        others = [(kind, at) for j, (kind, at) in enumerate(zip(kinds, chosen, strict=True)) if j != i]
        kind = kinds[i]
        logs = []
        for side in ("own", "other"):
            rest = self.log_weight + sum(k.log_factors[getattr(k, side)[at]] for k, at in others)
            logs.append(self._log_totals(kind, rest)[getattr(kind, side)])
        with np.errstate(invalid="ignore"):
            values = np.where(logs[0] == -np.inf, -np.inf, logs[0] - logs[1]) + kind.gain
        best = int(np.argmax(values))
        return best, float(values[best]) + sum(float(k.gain[at]) for k, at in others)

    def _log_totals(self, kind: _Options, rest: Floats) -> Floats:
        """ln of the sum over the grid of each row of factors times the rest."""
        top = float(rest.max())
        if top == -math.inf:
            return np.full(kind.log_factors.shape[0], -np.inf)
        totals = self.factors[id(kind)] @ np.exp(rest - top)
        small = totals < _SMALL
        logs = np.log(np.where(small, 1.0, totals)) + top
        logs[small] = np.logaddexp.reduce(kind.log_factors[small] + rest, axis=1)
        return logs

    def describe(self, outcome: tuple[bool, ...], parts: list[_Climb], rounds: list[Any]) -> Found:
        """The climbs of all rounds laid out in the order of an outcome."""
        rows: list[tuple[Any, ...]] = []
        for (start, end, _), part in zip(rounds, parts, strict=True):
            left = {True: list(part.above), False: list(part.below)}
            for above in outcome[start : end + 1]:
                options, at = (self.above if above else self.below), left[above].pop()
                number = float(options.number[at])
                released = ([0.0] if above and self.gap else []) + ([] if math.isnan(number) else [number])
                entry = tuple(released) if len(released) > 1 else released[0] if released else above
                place = (float(column[at]) for column in (options.answer, options.neighbour, options.threshold))
                rows.append((*place, entry))
        names, columns = ("answers", "neighbour", "threshold", "outcome"), zip(*rows, strict=True)
        return Found(**dict(zip(names, columns, strict=True)), loss=sum(part.loss for part in parts))


def _candidates(model: Model) -> Floats:
    """Answers around zero in fine steps, and around values far from it on both sides, in the answers' units."""
    unit = float(model.lattice.granularity) if model.lattice is not None else 1.0
    step = model.sensitivity
    reach = sum(law.scale for law in (model.rho, model.nu) if law is not None)
    anchors = {0.0} | {sign * round(far * reach / step) * step for far in _FAR for sign in (-1, 1)}
    parts = {anchor + step * part / _PARTS for anchor in anchors for part in range(-_PARTS, _PARTS + 1)}
    parts |= {sign * 2 * step for sign in (-1, 1)}
    if model.lattice is not None:
        parts = {float(math.floor(value)) for value in parts}
    return np.array(sorted(parts)) * unit
