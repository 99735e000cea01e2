"""Coverage: bounds counted on fresh runs hold as often as they say; bounds counted on training runs do not."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from tests.support.audited import randomized_response, responses, too_many

from sparsegate.auditor.certify import Look, Registration, certify, schedule
from sparsegate.auditor.confidence import Counts, Rule, certified
from sparsegate.auditor.events import Aim, Event, Runs, find_events
from sparsegate.auditor.neighbours import Pair
from sparsegate.auditor.outcomes import Encoder, Sample
from sparsegate.auditor.partitions import Atoms

YES, NO = np.array([1]), np.array([0])
ALPHA = 0.1


def truthful(encoder: Encoder) -> Event:
    """The event that a randomized response says yes."""
    atoms = Atoms.learned(encoder.encode(np.array([True, True, False, False]), 4))
    return Event(partition=atoms, chosen=np.array([False, True, False]))


def certify_response(
    seed: int, trials: int, *, rule: Rule = Rule.RATIO, claim: float = 1.0, stop: bool = False, delta: float = 0.0
) -> tuple[float, float]:
    encoder, mechanism = Encoder("test"), randomized_response(1.0, seed)

    def draw(answers: object, wanted: int) -> Sample:
        return encoder.encode(mechanism(answers, wanted), wanted)  # type: ignore[arg-type]

    registration = Registration(pair=Pair(YES, NO), event=truthful(encoder), rule=rule, looks=schedule(trials, ALPHA))
    bounds, _ = certify(
        registration,
        draw,
        np.random.default_rng(seed),
        epsilon=claim,
        delta=delta,
        stop_at_violation=stop,
        out_of_time=lambda: False,
    )
    return bounds.epsilon, bounds.delta


@pytest.mark.parametrize("trials", [100, 199, 1000, 12_345, 10**7])
def test_the_looks_double_and_share_out_alpha(trials: int) -> None:
    looks = schedule(trials, 0.05)
    assert looks[-1] == Look(trials=trials, alpha=0.95 * 0.05)
    assert sum(look.alpha for look in looks) <= 0.05
    assert all(later.trials // 2 == sooner.trials >= 100 for sooner, later in itertools.pairwise(looks))


@pytest.mark.parametrize("rule", Rule)
@pytest.mark.parametrize("stop", [False, True])
def test_bounds_are_wrong_no_more_often_than_stated(rule: Rule, stop: bool) -> None:
    # The claim, 0.9, is false: stopping as soon as it is refuted must not cost coverage of the true loss, 1.
    runs = 300
    failures = sum(certify_response(seed, 2000, rule=rule, claim=0.9, stop=stop)[0] > 1.0 for seed in range(runs))
    assert not too_many(failures, runs, ALPHA)


def test_the_stated_rate_is_nearly_used_up() -> None:
    # A rule that never fails would pass the test above and prove little: at least a third of alpha is in use.
    failures = sum(certify_response(seed, 2000)[0] > 1.0 for seed in range(300))
    assert failures >= 10


def test_delta_bounds_are_wrong_no_more_often_than_stated() -> None:
    yes, no = np.e / (1 + np.e), 1 / (1 + np.e)
    true = yes - np.exp(0.5) * no
    found = [certify_response(seed, 2000, rule=Rule.RECTANGLE, claim=0.5)[1] for seed in range(300)]
    assert not too_many(sum(delta > true for delta in found), 300, ALPHA)
    assert np.median(found) > 0.8 * true


def peeking(seed: int, *, fresh: bool) -> bool:
    """Learn, judge and count an event on one sample (or count it on a fresh one): is the bound above the truth, 1?"""
    encoder, mechanism = Encoder("test"), responses(1.0, 10, seed)
    one, other = (encoder.encode(mechanism(answers, 2000), 2000) for answers in (YES, NO))
    runs = Runs(one=one, other=other)
    aim = Aim(trials=2000, alpha=ALPHA, delta=0.0)
    found = max(find_events(runs, runs, aim, caution=0.0, thorough=False, seed=0), key=lambda finding: finding.promised)
    inputs = (NO, YES) if found.swapped else (YES, NO)
    if fresh:
        samples = [encoder.encode(mechanism(answers, 2000), 2000) for answers in inputs]
    else:
        samples = [other, one] if found.swapped else [one, other]
    hits = [found.event.hits(sample) for sample in samples]
    counts = Counts(hits1=hits[0], trials1=2000, hits2=hits[1], trials2=2000)
    return certified(counts, rule=Rule.RECTANGLE, alpha=ALPHA, epsilon=1.0, delta=0.0).epsilon > 1.0


def test_counting_on_the_training_runs_breaks_coverage_and_fresh_runs_restore_it() -> None:
    runs = 60
    assert too_many(sum(peeking(seed, fresh=False) for seed in range(runs)), runs, ALPHA)
    assert not too_many(sum(peeking(seed, fresh=True) for seed in range(runs)), runs, ALPHA)


def test_looking_at_the_whole_alpha_each_time_breaks_coverage() -> None:
    # Anyone who stops at the first bound of level alpha that looks good is wrong more often than alpha.
    runs, failures = 300, 0
    for seed in range(runs):
        encoder, mechanism = Encoder("test"), randomized_response(1.0, seed)
        event = truthful(encoder)
        hits1 = hits2 = trials = 0
        for _ in range(60):
            hits1 += event.hits(encoder.encode(mechanism(YES, 100), 100))
            hits2 += event.hits(encoder.encode(mechanism(NO, 100), 100))
            trials += 100
            counts = Counts(hits1=hits1, trials1=trials, hits2=hits2, trials2=trials)
            if certified(counts, rule=Rule.RATIO, alpha=0.5, epsilon=1.0, delta=0.0).epsilon > 1.0:
                failures += 1
                break
    assert too_many(failures, runs, 0.5)


def test_a_violation_stops_the_counting_early() -> None:
    drawn: list[int] = []
    for stop in (True, False):
        encoder, mechanism, counted = Encoder("test"), randomized_response(3.0, 1), [0]

        def draw(answers: object, wanted: int) -> Sample:
            counted[0] += wanted  # noqa: B023
            return encoder.encode(mechanism(answers, wanted), wanted)  # type: ignore[arg-type] # noqa: B023

        registration = Registration(
            pair=Pair(YES, NO), event=truthful(encoder), rule=Rule.RATIO, looks=schedule(10**5, 0.01)
        )
        certify(
            registration,
            draw,
            np.random.default_rng(1),
            epsilon=1.0,
            delta=0.0,
            stop_at_violation=stop,
            out_of_time=lambda: False,
        )
        drawn.append(counted[0])
    assert drawn[0] < 1000 < 1.9 * 10**5 < drawn[1]


def test_running_out_of_time_keeps_the_looks_that_were_finished() -> None:
    encoder, mechanism, ticks = Encoder("test"), randomized_response(1.0, 1), [0]

    def draw(answers: object, wanted: int) -> Sample:
        count = min(wanted, 100)
        return encoder.encode(mechanism(answers, count), count)  # type: ignore[arg-type]

    def out_of_time() -> bool:
        ticks[0] += 1
        return ticks[0] > 60

    registration = Registration(
        pair=Pair(YES, NO), event=truthful(encoder), rule=Rule.RATIO, looks=schedule(10_000, 0.1)
    )
    bounds, counts = certify(
        registration,
        draw,
        np.random.default_rng(1),
        epsilon=1.0,
        delta=0.0,
        stop_at_violation=False,
        out_of_time=out_of_time,
    )
    assert bounds.epsilon > 0.5
    assert 4500 < counts.trials1 < 5500
