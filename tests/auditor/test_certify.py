"""Coverage: bounds counted on fresh runs hold as often as they say; bounds counted on training runs do not."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats
from tests.support.audited import randomized_response, responses, too_many
from tests.support.goodness import FALSE_ALARM

from sparsegate.auditor import certify as certification
from sparsegate.auditor.certify import Look, Registration, certify, schedule
from sparsegate.auditor.confidence import BoundRule, Bounds, Counts, certified
from sparsegate.auditor.encoding import Encoder, Sample
from sparsegate.auditor.events import Aim, Atoms, OutcomeEvent, Runs, find_events
from sparsegate.auditor.neighbours import NeighbourPair

YES, NO = np.array([1]), np.array([0])
ALPHA = 0.1


def truthful(encoder: Encoder) -> OutcomeEvent:
    """The event that a randomized response says yes."""
    atoms = Atoms.learned(encoder.encode(np.array([True, True, False, False]), 4))
    return OutcomeEvent(partition=atoms, chosen=np.array([False, True, False]))


class Response:
    """A randomized response that is certified in chunks, and remembers what it said."""

    def __init__(self, seed: int, *, leak: float = 1.0, chunk: int = 10**9) -> None:
        self.encoder = Encoder("test")
        self.event = truthful(self.encoder)
        self.said: dict[int, list[bool]] = {0: [], 1: []}
        self._mechanism, self._chunk, self._seed = randomized_response(leak, seed), chunk, seed

    def draw(self, answers: object, wanted: int) -> Sample:
        count = min(wanted, self._chunk)
        outcomes = self._mechanism(answers, count)  # type: ignore[arg-type]
        self.said[int(answers[0])] += outcomes.tolist()  # type: ignore[index]
        return self.encoder.encode(outcomes, count)

    def certify(
        self,
        trials: int,
        *,
        rule: BoundRule = BoundRule.RATIO,
        alpha: float = ALPHA,
        claim: float = 1.0,
        stop: bool = False,
        out_of_time: Callable[[], bool] = lambda: False,
    ) -> tuple[Bounds, Counts]:
        return certify(
            Registration(pair=NeighbourPair(YES, NO), event=self.event, rule=rule, looks=schedule(trials, alpha)),
            self.draw,
            np.random.default_rng(self._seed),
            epsilon=claim,
            delta=0.0,
            stop_at_violation=stop,
            out_of_time=out_of_time,
        )


@pytest.mark.parametrize("trials", [100, 199, 1000, 12_345, 10**7])
def test_the_looks_double_and_share_out_alpha(trials: int) -> None:
    looks = schedule(trials, 0.05)
    assert looks[-1] == Look(trials=trials, alpha=0.95 * 0.05)
    assert sum(look.alpha for look in looks) <= 0.05
    assert all(later.trials // 2 == sooner.trials >= 100 for sooner, later in itertools.pairwise(looks))


@pytest.mark.parametrize("rule", BoundRule)
@pytest.mark.parametrize("stop", [False, True])
def test_bounds_are_wrong_no_more_often_than_stated(rule: BoundRule, stop: bool) -> None:
    # The claim, 0.9, is false: stopping as soon as it is refuted must not cost coverage of the true loss, 1.
    runs = 300
    found = (Response(seed).certify(2000, rule=rule, claim=0.9, stop=stop)[0] for seed in range(runs))
    failures = sum(bounds.epsilon > 1.0 for bounds in found)
    assert not too_many(failures, runs, ALPHA)
    # A rule that never fails would prove little: of the ratio at least a third of alpha is in use.
    assert failures >= 10 or rule is BoundRule.RECTANGLE


def test_delta_bounds_are_wrong_no_more_often_than_stated() -> None:
    yes, no = np.e / (1 + np.e), 1 / (1 + np.e)
    true = yes - np.exp(0.5) * no
    found = [Response(seed).certify(2000, rule=BoundRule.RECTANGLE, claim=0.5)[0].delta for seed in range(300)]
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
    return certified(counts, rule=BoundRule.RECTANGLE, alpha=ALPHA, epsilon=1.0, delta=0.0).epsilon > 1.0


def test_counting_on_the_training_runs_breaks_coverage_and_fresh_runs_restore_it() -> None:
    runs = 60
    assert too_many(sum(peeking(seed, fresh=False) for seed in range(runs)), runs, ALPHA)
    assert not too_many(sum(peeking(seed, fresh=True) for seed in range(runs)), runs, ALPHA)


@pytest.mark.parametrize("chunk", [1, 7, 10**6])
def test_the_evidence_counts_every_run_once_and_nothing_else(chunk: int) -> None:
    response = Response(3, chunk=chunk)
    _, counts = response.certify(100)
    assert counts == Counts(
        hits1=sum(response.said[1]),
        trials1=len(response.said[1]),
        hits2=sum(response.said[0]),
        trials2=len(response.said[0]),
    )


def test_every_look_is_certified_at_its_own_level_and_at_its_own_counts(monkeypatch) -> None:
    seen: list[tuple[float, Counts]] = []

    def noted(counts: Counts, *, alpha: float, **rest) -> Bounds:
        seen.append((alpha, counts))
        return certified(counts, alpha=alpha, **rest)

    monkeypatch.setattr(certification, "certified", noted)
    Response(1).certify(1000)
    assert [alpha for alpha, _ in seen] == [look.alpha for look in schedule(1000, ALPHA)]
    assert sum(alpha for alpha, _ in seen) <= ALPHA
    assert all(sooner.trials1 < later.trials1 for (_, sooner), (_, later) in itertools.pairwise(seen))


def sizes(trials: int, runs: int) -> tuple[np.ndarray, np.ndarray]:
    """Runs made on the answers and on the neighbour, over many certifications."""
    counts = [Response(seed).certify(trials)[1] for seed in range(runs)]
    return np.array([found.trials1 for found in counts]), np.array([found.trials2 for found in counts])


def dispersion_p(sample: np.ndarray, mean: float) -> float:
    """Two-sided p-value of the spread of Poisson numbers of this mean: sum (x - mean)^2/mean is about chi-square."""
    law, found = stats.chi2(sample.size), float(((sample - mean) ** 2).sum() / mean)
    return float(2 * min(law.cdf(found), law.sf(found)))


def test_sample_sizes_are_poisson_and_independent_of_one_another() -> None:
    # 99 is below two looks of a hundred: one look, whose size is the last.
    one, other = sizes(99, 400)
    assert min(dispersion_p(one, 99), dispersion_p(other, 99)) > FALSE_ALARM
    assert dispersion_p(one - other + 198, 198) > FALSE_ALARM  # a difference has the variance of both
    assert dispersion_p(one, 99 / 1.2) < FALSE_ALARM  # the twin: a mean a fifth off
    assert dispersion_p(np.full(400, 99), 99) < FALSE_ALARM
    assert dispersion_p(one - one + 198, 198) < FALSE_ALARM


def test_a_violation_stops_the_counting_early() -> None:
    drawn = []
    for stop in (True, False):
        response = Response(1, leak=3.0)
        response.certify(10**5, alpha=0.01, stop=stop)
        drawn.append(sum(map(len, response.said.values())))
    assert drawn[0] < 1000 < 1.9 * 10**5 < drawn[1]


def test_running_out_of_time_keeps_the_looks_that_were_finished() -> None:
    ticks = itertools.count(1)
    bounds, counts = Response(1, chunk=100).certify(10_000, out_of_time=lambda: next(ticks) > 60)
    assert bounds.epsilon > 0.5
    assert 4500 < counts.trials1 < 5500
