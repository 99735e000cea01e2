"""Coverage: bounds from fresh runs hold as often as they say; bounds counted on training runs do not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from tests.support.audited import randomized_response, responses, too_many

from sparsegate.auditor.betting import Bets, Counts, DPLadder
from sparsegate.auditor.certify import Registration, certify
from sparsegate.auditor.encoding import Encoder, Sample
from sparsegate.auditor.events import Aim, Bins, OutcomeEvent, Runs, find_events
from sparsegate.auditor.neighbours import NeighbourPair

YES, NO = np.array([1]), np.array([0])
ALPHA = 0.1
EPSILONS = np.linspace(0, 4, 401)


def truthful(encoder: Encoder) -> OutcomeEvent:
    """The event that a randomized response says yes."""
    atoms, _ = Bins.atoms(encoder.encode(np.array([True, True, False, False]), 4))
    return OutcomeEvent(partition=atoms, chosen=np.array([False, True, False]))


class Response:
    """A randomized response that is certified in chunks, and remembers what it said."""

    def __init__(self, seed: int, *, leak: float = 1.0, chunk: int = 10**9) -> None:
        self.encoder = Encoder("test")
        self.event = truthful(self.encoder)
        self.outcomes: dict[int, list[bool]] = {0: [], 1: []}
        deltas = DPLadder(values=np.linspace(0, 1, 101), level=ALPHA, epsilon=0.5)
        self.bets = Bets([DPLadder(values=EPSILONS, level=ALPHA), deltas])
        self._mechanism, self._chunk = randomized_response(leak, seed), chunk

    def draw(self, answers: object, wanted: int) -> Sample:
        count = min(wanted, self._chunk)
        outcomes = self._mechanism(answers, count)  # type: ignore[arg-type]
        self.outcomes[int(answers[0])] += outcomes.tolist()  # type: ignore[index]
        return self.encoder.encode(outcomes, count)

    def certify(self, trials: int, *, over: Callable[[], bool] = lambda: False) -> Counts:
        pair = NeighbourPair(YES, NO)
        registration = Registration(pair=pair, event=self.event, chances=(0.7, 0.3), trials=trials)
        return certify(registration, self.bets, self.draw, share=1.0, over=over)


@pytest.mark.parametrize("stop", [False, True])
def test_bounds_are_wrong_no_more_often_than_stated(stop: bool) -> None:
    # The claim, 0.9, is false: stopping as soon as it is refuted must not cost coverage of the true loss, 1.
    epsilons, deltas = [], []
    for seed in range(120):
        response = Response(seed)
        response.certify(2000, over=lambda response=response: stop and response.bets.bounds()[0] > 0.9)
        epsilons.append(response.bets.bounds()[0])
        deltas.append(response.bets.bounds()[1])
    yes, no = np.e / (1 + np.e), 1 / (1 + np.e)
    true = yes - np.exp(0.5) * no
    assert not too_many(sum(epsilon >= 1.0 for epsilon in epsilons), 120, ALPHA)
    assert not too_many(sum(delta >= true for delta in deltas), 120, ALPHA)
    assert np.median(epsilons) > 0.85
    assert np.median(deltas) > 0.6 * true


def peeking(seed: int, *, fresh: bool) -> bool:
    """Learn, judge and bet on an event on one sample (or bet on a fresh one): is the bound above the truth, 1?"""
    encoder, mechanism = Encoder("test"), responses(1.0, 10, seed)
    one, other = (encoder.encode(mechanism(answers, 2000), 2000) for answers in (YES, NO))
    runs = Runs(one=one, other=other)
    aim = Aim(trials=2000, alpha=ALPHA, delta=0.0)
    best = max(find_events(runs, runs, aim, caution=0.0, thorough=False, seed=0), key=lambda finding: finding.promised)
    kept = {1: one, 0: other}

    def draw(answers: object, wanted: int) -> Sample:
        side = int(answers[0])  # type: ignore[index]
        if fresh:
            return encoder.encode(mechanism(answers, wanted), wanted)
        drawn, kept[side] = kept[side].part(slice(wanted)), kept[side].part(slice(wanted, None))
        return drawn

    bets = Bets([DPLadder(values=EPSILONS, level=ALPHA)])
    pair = NeighbourPair(NO, YES) if best.swapped else NeighbourPair(YES, NO)
    registration = Registration(pair=pair, event=best.event, chances=(0.2, 0.05), trials=2000)
    certify(registration, bets, draw, share=1.0, over=lambda: False)
    return bets.bounds()[0] >= 1.0


def test_betting_on_the_training_runs_breaks_coverage_and_fresh_runs_restore_it() -> None:
    runs = 60
    assert too_many(sum(peeking(seed, fresh=False) for seed in range(runs)), runs, ALPHA)
    assert not too_many(sum(peeking(seed, fresh=True) for seed in range(runs)), runs, ALPHA)


@pytest.mark.parametrize("chunk", [7, 10**6])
def test_the_evidence_counts_every_run_once_and_nothing_else(chunk: int) -> None:
    response = Response(3, chunk=chunk)
    counts = response.certify(100)
    yes, no = response.outcomes[1], response.outcomes[0]
    assert counts == Counts(hits1=sum(yes), trials1=100, hits2=sum(no), trials2=100)
    assert len(yes) == len(no) == 100


def test_stakes_are_placed_before_the_runs_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    response, events = Response(1, chunk=10), []
    stakes, draw = response.bets.stakes, response.draw
    monkeypatch.setattr(response.bets, "stakes", lambda left: events.append("stake") or stakes(left))
    monkeypatch.setattr(response, "draw", lambda answers, wanted: events.append("draw") or draw(answers, wanted))
    response.certify(40)
    assert events == ["stake", "draw", "draw"] * 4
