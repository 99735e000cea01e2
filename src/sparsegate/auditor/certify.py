"""Certification: bets on an event that was chosen before the runs that decide it; and the search for that event.

A round chooses a pair and an event by training runs (``Search``), then bets on fresh pairs of runs (``certify``). What
earlier rounds saw may steer later ones: whether they go on with the same event, and with which stakes.

**Theorem (coverage).** Let every run of the mechanism be independent of the others, its outcome distributed in the same
way in a call of any size. Let the event be a function of one outcome: whether an outcome is in it depends on nothing
else, neither on the other outcomes of the call nor on how many they are. Then all bounds of ``Bets`` hold together with
probability at least 1 - alpha, whatever the search did, and whenever and for whatever reason one stops.

*Proof.* The i-th pair of runs of a batch is the i-th outcome on either input. Pair, event and stakes of the batch are
fixed before it is drawn, and how many runs a call makes follows the clock, and so earlier outcomes, but no later one.
So given the past the pairs of hits are independent with the chances P[E] and Q[E], and ``sparsegate.auditor.betting``
applies. A call that raises or hangs ends the audit without a verdict. ∎

That an event is a function of one outcome is shown where outcomes are encoded (``sparsegate.auditor.encoding``) and
where they are scored (``sparsegate.auditor.events``), and tested by splitting samples in every way.

The search for the pair and the event: successive halving, with mutations of the best, then a final. Round after round
every pair that is still in gets the same number of runs, the third that promises most goes on, and mutations of the
best join in; all rounds cost about the same. What a pair promises is the bound that its event would certify with the
rest of the budget, at the speed of that pair: a long list of answers may leak more and prove less.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from sparsegate.auditor.betting import Bets, Counts
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
        second = [draw(registration.pair.neighbour, len(first))]
        while (missing := len(first) - sum(map(len, second))) > 0:
            second.append(draw(registration.pair.neighbour, missing))
        inside = registration.event.inside(first), registration.event.inside(joined(second))
        bets.settle(stakes, *inside)
        trials += len(first)
        hits = [count + int(np.count_nonzero(side)) for count, side in zip(hits, inside, strict=True)]
    trials += before.trials1
    return Counts(hits1=hits[0], trials1=trials, hits2=hits[1], trials2=trials)


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
            have += len(self.one[-1])
            # As many on the other side, however they come.
            while (missing := have - sum(map(len, self.other))) > 0:
                self.other.append(draw(self.pair.neighbour, missing))
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
    def surely(self) -> float:
        return -math.inf if self.finding is None else self.finding.surely

    @property
    def cost(self) -> float:
        drawn = sum(
            len(sample) for training in self.trainings for held in (training.one, training.other) for sample in held
        )
        return sum(training.seconds for training in self.trainings) / max(drawn, 1)

    def train(self, draw: Draw, runs: int, over: Callable[[], bool]) -> None:
        """Draw ``runs`` more on either input; where there are magnified ones, which tell more, most of them there."""
        for training in self.trainings:
            share = 1.0 if len(self.trainings) == 1 else _CLOSE if training.magnified == 1 else 1 - _CLOSE
            training.train(draw, int(share * runs), over)

    @property
    def trained(self) -> bool:
        return all(training.one and training.other for training in self.trainings)


@dataclass(frozen=True, kw_only=True)
class Search:
    """A search: where pairs live (None: nowhere but in the list), how far to magnify, what to aim at, what to spend."""

    draw: Draw
    space: Space | None
    magnification: int
    aim: Callable[[float], Aim]
    runs_for_share: Callable[[float], int]
    over: Callable[[], bool]
    enough: Callable[[float], bool]
    rng: np.random.Generator
    seed: int

    def best(self, pairs: list[NeighbourPair]) -> Candidate:
        """The candidate that promises most, with the event to certify."""
        live, clear = [self._candidate(pair) for pair in pairs], False
        share = 1 / (screenings(len(live)) + _FINAL_SHARES)
        while len(live) > _FINALISTS and not clear and not self.over():
            runs = max(self.runs_for_share(share) // (2 * len(live)), _LEAST)
            for candidate in live:
                candidate.train(self.draw, runs, self.over)
                candidate.finding = self._screened(candidate)
                if self.over():
                    break
            live = self._survivors(live)
            clear = self.enough(live[0].surely)
        finalists = live[: 1 if clear or self.over() else _FINALISTS]
        runs = max(self.runs_for_share(_FINAL_SHARES * share) // (2 * len(finalists)), _LEAST)
        for candidate in finalists:
            if not candidate.trained or not self.over():
                candidate.train(self.draw, runs, self.over)
            candidate.finding = self._found(candidate, thorough=False)
        winner = max(finalists, key=lambda candidate: candidate.promised)
        winner.finding = self._found(winner, thorough=True)
        return winner

    def _candidate(self, pair: NeighbourPair) -> Candidate:
        trainings = [Training(pair=pair, magnified=1)]
        if self.magnification > 1 and self.space is not None:
            far = self.space.magnified(pair, self.magnification)
            trainings.append(Training(pair=far, magnified=self.magnification))
        return Candidate(pair=pair, trainings=trainings)

    def _screened(self, candidate: Candidate) -> FoundEvent:
        aim = self.aim(candidate.cost)
        far = candidate.trainings[-1]
        best = self._best_of(far, aim, 1.0)
        if far.magnified > 1:
            # Beside magnified runs, close ones count if they show what is beyond chance, or if magnified ones show an
            # endless ratio: whether it is endless close by they cannot tell.
            caution = 1.0 if best.estimate.endless[0] else BEYOND_CHANCE
            best = _most([best, self._best_of(candidate.trainings[0], aim, caution)])
        return best

    def _best_of(self, training: Training, aim: Aim, caution: float) -> FoundEvent:
        learn, judge = training.split()
        return _most(list(find_events(learn, judge, aim, caution=caution, thorough=False, seed=self.seed)))

    def _found(self, candidate: Candidate, *, thorough: bool) -> FoundEvent:
        """Events from close runs, and events from magnified runs that close ones confirm."""
        aim = self.aim(candidate.cost)
        close_learn, close_judge = candidate.trainings[0].split()
        far = []
        for training in candidate.trainings[1:]:
            learn, judge = training.split()
            found = find_events(learn, judge, aim, caution=1.0, thorough=thorough, seed=self.seed)
            far += [confirmed(finding, close_judge, aim, caution=1.0) for finding in found]
        caution = BEYOND_CHANCE if far and not _most(far).estimate.endless[0] else 1.0
        close = find_events(close_learn, close_judge, aim, caution=caution, thorough=thorough, seed=self.seed)
        return _most([*far, *close])

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
