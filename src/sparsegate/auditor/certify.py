"""Certification: bets on an event that was chosen before the runs that decide it; and the search for that event.

**Theorem (coverage).** Let every run of the mechanism be independent of the others, its outcome distributed in the same
way in a call of any size. Let the event be a function of one outcome: whether an outcome is in it depends on nothing
else, neither on the other outcomes of the call nor on how many they are. Then all bounds of ``Bets`` hold together with
probability at least 1 - alpha, whatever the search did, and whenever and for whatever reason one stops.
Proof: docs/explanation/proofs_in_words/auditor.md.

The search is successive halving, with mutations of the best, then a final. What a pair promises is the bound that its
event would certify with the rest of the budget, at the speed of that pair.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from sparsegate.auditor.betting import Bets, Counts
from sparsegate.auditor.blackbox import Part
from sparsegate.auditor.encoding import Sample, joined
from sparsegate.auditor.events import BEYOND_CHANCE, Aim, FoundEvent, OutcomeEvent, Runs, confirmed, find_events
from sparsegate.auditor.neighbours import NeighbourPair, Space, mutation

Draw = Callable[[object, int], Sample]

_NOTHING: Final = Counts(hits1=0, trials1=0, hits2=0, trials2=0)
_PART: Final = 8
_LEAST_BATCH: Final = 64


@dataclass(frozen=True, kw_only=True)
class Registration:
    """All that is fixed before a round of bets; the event is to be likelier on the answers than on the neighbour.

    ``counts``: what earlier rounds of bets on the same event saw.
    """

    pair: NeighbourPair
    event: OutcomeEvent
    chances: tuple[float, float]
    trials: int
    counts: Counts = _NOTHING

    def continued(self, counts: Counts, trials: int) -> Registration:
        chances = counts.hits1 / counts.trials1, counts.hits2 / counts.trials2
        return replace(self, chances=chances, trials=trials, counts=counts)


def certify(registration: Registration, bets: Bets, draw: Draw, *, share: float, over: Callable[[], bool]) -> Counts:
    """Bet this share of the money on the event, on fresh pairs of runs, until the horizon or until it is ``over``.

    ``draw`` hands out some fresh runs on an input, at most as many as asked for. Batches get smaller towards the
    horizon: the stakes there follow the money closely.
    """
    before = registration.counts
    bets.open_round(share, *registration.chances, settled=before.trials1)
    hits, trials = [before.hits1, before.hits2], 0
    while trials < registration.trials and not over():
        remaining = registration.trials - trials
        stakes = bets.stakes(None if before.trials1 else remaining)
        first = draw(registration.pair.answers, min(max(remaining // _PART, _LEAST_BATCH), remaining))
        second = _exactly(draw, registration.pair.neighbour, len(first))
        inside = registration.event.inside(first), registration.event.inside(second)
        bets.settle(stakes, *inside)
        trials += len(first)
        hits = [count + int(np.count_nonzero(side)) for count, side in zip(hits, inside, strict=True)]
    trials += before.trials1
    return Counts(hits1=hits[0], trials1=trials, hits2=hits[1], trials2=trials)


def _exactly(draw: Draw, answers: object, count: int) -> Sample:
    """So many runs, in as many calls as it takes."""
    parts = [draw(answers, count)]
    while (missing := count - sum(map(len, parts))) > 0:
        parts.append(draw(answers, missing))
    return joined(parts)


_KEEP: Final = 3
_CLOSE: Final = 0.2
_CHILDREN: Final = 6
_FINALISTS: Final = 2
_FINAL_SHARES: Final = 4
_LEAST: Final = 100
_AT_LEAST: Final = 4
_MOST: Final = 1 << 20
_MOST_NUMBERS: Final = 1 << 23


@dataclass(kw_only=True)
class Training:
    """Training runs on a pair as it is, or on its magnified image."""

    pair: NeighbourPair
    magnified: int
    one: list[Sample] = field(default_factory=list)
    other: list[Sample] = field(default_factory=list)
    seconds: float = 0.0
    judged: int = 0

    def train(self, draw: Draw, runs: int, over: Callable[[], bool]) -> None:
        """Draw more runs on both inputs, as long as they fit into memory and time; a few in any case."""
        begun = time.perf_counter()
        self.judged = have = sum(map(len, self.one))
        width = self.one[0].columns.shape[1] if self.one else 1
        goal = min(have + runs, _MOST, max(_LEAST, _MOST_NUMBERS // max(width, 1)))
        while have < goal and not (have >= _AT_LEAST and over()):
            self.one.append(draw(self.pair.answers, goal - have))
            self.other.append(_exactly(draw, self.pair.neighbour, len(self.one[-1])))
            have += len(self.one[-1])
        self.one[:], self.other[:] = [joined(self.one)], [joined(self.other)]
        self.seconds += time.perf_counter() - begun

    def split(self) -> tuple[Runs, Runs]:
        """Runs to learn an event from, and runs to judge it by: the newest, which no earlier choice has seen."""
        runs = Runs(one=self.one[0], other=self.other[0], magnified=self.magnified, moves=self.pair.moves)
        size = len(self.one[0])
        return runs.split(self.judged if 0 < self.judged < size else size // 2)


@dataclass(kw_only=True)
class Candidate:
    """A pair in the race, its training runs, close ones first, and what they suggest."""

    pair: NeighbourPair
    trainings: list[Training]
    finding: FoundEvent | None = None

    @property
    def promised(self) -> float:
        return -math.inf if self.finding is None else self.finding.promised

    @property
    def cost(self) -> float:
        samples = [sample for training in self.trainings for sample in (*training.one, *training.other)]
        return sum(training.seconds for training in self.trainings) / max(sum(map(len, samples)), 1)

    def train(self, draw: Draw, runs: int, over: Callable[[], bool]) -> None:
        """Draw ``runs`` more on either input; where there are magnified ones, which tell more, most of them there."""
        for training in self.trainings:
            share = 1.0 if len(self.trainings) == 1 else _CLOSE if training.magnified == 1 else 1 - _CLOSE
            training.train(draw, int(share * runs), over)


@dataclass(frozen=True, kw_only=True)
class Search:
    """A search: where pairs live (None: nowhere but in the list), how far to magnify, what to aim at, what to spend."""

    draw: Draw
    space: Space | None
    magnification: int
    aim: Callable[[float], Aim]
    part: Part
    enough: Callable[[float], bool]
    rng: np.random.Generator
    seed: int

    def best(self, pairs: list[NeighbourPair]) -> Candidate:
        """The candidate that promises most, with the event to certify."""
        live, clear = [self._candidate(pair) for pair in pairs], False
        share = 1 / (screenings(len(live)) + _FINAL_SHARES)
        while len(live) > _FINALISTS and not clear and not self.part.over():
            runs = max(int(share * self.part.total) // (2 * len(live)), _LEAST)
            for candidate in live:
                candidate.train(self.draw, runs, self.part.over)
                candidate.finding = self._screened(candidate)
                if self.part.over():
                    break
            live = self._survivors(live)
            clear = live[0].finding is not None and self.enough(live[0].finding.surely)
        finalists = live[: 1 if clear or self.part.over() else _FINALISTS]
        runs = max(int(_FINAL_SHARES * share * self.part.total) // (2 * len(finalists)), _LEAST)
        for candidate in finalists:
            if not self.part.over() or not all(training.one for training in candidate.trainings):
                candidate.train(self.draw, runs, self.part.over)
            candidate.finding = self._final(candidate, thorough=False)
        winner = max(finalists, key=lambda candidate: candidate.promised)
        winner.finding = self._final(winner, thorough=True)
        return winner

    def _candidate(self, pair: NeighbourPair) -> Candidate:
        trainings = [Training(pair=pair, magnified=1)]
        if self.magnification > 1 and self.space is not None:
            far = self.space.magnified(pair, self.magnification)
            trainings.append(Training(pair=far, magnified=self.magnification))
        return Candidate(pair=pair, trainings=trainings)

    def _events(
        self, parts: tuple[Runs, Runs], aim: Aim, *, caution: float = 1.0, thorough: bool = False
    ) -> list[FoundEvent]:
        return list(find_events(*parts, aim, caution=caution, thorough=thorough, seed=self.seed))

    def _screened(self, candidate: Candidate) -> FoundEvent:
        aim = self.aim(candidate.cost)
        far = candidate.trainings[-1]
        best = _most(self._events(far.split(), aim))
        if far.magnified > 1:
            # Beside magnified runs, close ones count if they show what is beyond chance, or if magnified ones show an
            # endless ratio: whether it is endless close by they cannot tell.
            caution = 1.0 if best.estimate.endless[0] else BEYOND_CHANCE
            best = _most([best, *self._events(candidate.trainings[0].split(), aim, caution=caution)])
        return best

    def _final(self, candidate: Candidate, *, thorough: bool) -> FoundEvent:
        """Events from close runs, and events from magnified runs that close ones confirm."""
        aim, close = self.aim(candidate.cost), candidate.trainings[0].split()
        far = [
            confirmed(finding, close[1], aim, caution=1.0)
            for training in candidate.trainings[1:]
            for finding in self._events(training.split(), aim, thorough=thorough)
        ]
        caution = BEYOND_CHANCE if far and not _most(far).estimate.endless[0] else 1.0
        return _most([*far, *self._events(close, aim, caution=caution, thorough=thorough)])

    def _survivors(self, live: list[Candidate]) -> list[Candidate]:
        keep = sorted(live, key=lambda candidate: -candidate.promised)[: math.ceil(len(live) / _KEEP)]
        if self.space is None or len(keep) <= _FINALISTS:
            return keep
        known = {candidate.pair for candidate in live}
        parents, count = keep[:_FINALISTS], min(_CHILDREN, len(keep))
        children = [mutation(parents[place % len(parents)].pair, self.space, self.rng) for place in range(count)]
        return keep + [self._candidate(pair) for pair in dict.fromkeys(children) if pair not in known]


def screenings(pairs: int) -> int:
    """How many rounds it takes until the finalists are left.

    >>> screenings(3), screenings(9), screenings(100)
    (1, 2, 7)
    """
    rounds = 0
    while pairs > _FINALISTS:
        keep = math.ceil(pairs / _KEEP)
        pairs, rounds = keep + (min(_CHILDREN, keep) if keep > _FINALISTS else 0), rounds + 1
    return rounds


def _most(findings: list[FoundEvent]) -> FoundEvent:
    return max(findings, key=lambda finding: finding.promised)
