"""The event found is close to the best one; a cell is a function of one outcome, in any order and company."""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Callable
from functools import cache, partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.audited import laplace, laplace_vector, responses

from sparsegate.auditor.encoding import Encoder, Sample, joined
from sparsegate.auditor.events import (
    Aim,
    Bins,
    FoundEvent,
    OutcomeEvent,
    Partition,
    Runs,
    Slices,
    confirmed,
    find_events,
)

ONE, ZERO = np.array([1]), np.array([0])
AIM = Aim(trials=1e5, alpha=0.01, delta=0.0)


def samples(mechanism: Callable, one: np.ndarray, other: np.ndarray, runs: int) -> tuple[Runs, Encoder]:
    encoder = Encoder("test")
    drawn = [encoder.encode(mechanism(answers, runs), runs) for answers in (one, other)]
    return Runs(one=drawn[0], other=drawn[1]), encoder


def best(runs: Runs, *, thorough: bool = False) -> FoundEvent:
    learn, judge = runs.split(len(runs.one) // 2)
    events = find_events(learn, judge, AIM, caution=1.0, thorough=thorough, seed=1)
    return max(events, key=lambda finding: finding.promised)


def true_loss(finding: FoundEvent, mechanism: Callable, one: np.ndarray, other: np.ndarray, encoder: Encoder) -> float:
    """The log ratio of the event's probabilities, on many fresh runs."""
    inputs = (other, one) if finding.swapped else (one, other)
    hits = [finding.event.hits(encoder.encode(mechanism(answers, 200_000), 200_000)) for answers in inputs]
    return math.log(hits[0] / hits[1])


@pytest.mark.parametrize(("mechanism", "cut", "least"), [(laplace(1.0, 1), 1, 0.93), (responses(1.0, 10, 1), 0, 0.45)])
def test_noise_is_told_apart_by_the_tail_and_many_bits_by_a_score_on_the_listed_outcomes(mechanism, cut, least) -> None:
    runs, encoder = samples(mechanism, ONE, ZERO, 20_000)
    event = best(runs)
    assert isinstance(event.event.partition, Bins)
    assert len(event.event.partition.cuts) == cut
    assert true_loss(event, mechanism, ONE, ZERO, encoder) > least
    assert event.event.words(encoder.shapes)


def test_vectors_of_numbers_are_told_apart_by_classifiers(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sklearn")
    mechanism, one, zero = laplace_vector(2.0, 1), np.ones(4), np.zeros(4)
    runs, encoder = samples(mechanism, one, zero, 20_000)
    learn, judge = runs.split(len(runs.one) // 2)
    for learners in (2, 1):
        every = list(find_events(learn, judge, AIM, caution=1.0, thorough=True, seed=1))
        classified = [f for f in every if isinstance(f.event.partition, Slices) and not f.event.partition.tally]
        assert len({f.event.partition.label for f in classified}) == learners  # type: ignore[union-attr]
        scored = max(classified, key=lambda f: f.promised)
        assert true_loss(scored, mechanism, one, zero, encoder) > 1.3
        assert "score" in scored.event.words(encoder.shapes)
        monkeypatch.setitem(sys.modules, "sklearn.ensemble", None)  # without it there is logistic regression


def test_both_directions_are_tried_and_what_the_neighbour_cannot_give_promises_more_with_more_runs() -> None:
    def mechanism(answers: np.ndarray, n: int, low: float = 0.05) -> np.ndarray:
        return np.random.default_rng(int(answers[0])).random(n) < (0.5 if answers[0] else low)

    assert not best(samples(mechanism, ONE, ZERO, 2000)[0]).swapped
    assert best(samples(mechanism, ZERO, ONE, 2000)[0]).swapped
    endless = partial(mechanism, low=0.0)
    promised = [best(samples(endless, ONE, ZERO, runs)[0]).promised for runs in (200, 20_000)]
    assert promised[1] > promised[0] + 3
    rng = np.random.default_rng(4)
    assert best(samples(lambda answers, n: rng.integers(0, 3000, n), ONE, ZERO, 20_000)[0]).promised < 0.02


def test_an_event_from_magnified_runs_is_weighed_with_close_ones() -> None:
    mechanism = laplace(0.1, 1)
    far, encoder = samples(mechanism, np.array([10]), ZERO, 20_000)
    learn, judge = Runs(one=far.one, other=far.other, magnified=10.0).split(10_000)
    event = max(find_events(learn, judge, AIM, caution=1.0, thorough=False, seed=1), key=lambda f: f.promised)
    assert event.estimate.loss[0] == pytest.approx(0.1, rel=0.2)
    drawn = [encoder.encode(mechanism(answers, 20_000), 20_000) for answers in (ONE, ZERO)]
    same = confirmed(event, Runs(one=drawn[0], other=drawn[1]), AIM, caution=1.0)
    assert same.estimate.error[0] < event.estimate.error[0] + 0.1 * event.estimate.loss[0]
    nothing = confirmed(event, Runs(one=drawn[1], other=drawn[1]), AIM, caution=1.0)
    assert nothing.promised < same.promised


def test_an_outcome_of_a_shape_never_seen_in_training_is_in_no_event() -> None:
    encoder = Encoder("test")
    drawn = [encoder.encode(["a", "b"] * 500, 1000), encoder.encode(["b", "b"] * 500, 1000)]
    atoms, _ = Bins.atoms(joined(drawn))
    encoder.frozen = True
    everything = OutcomeEvent(partition=atoms, chosen=np.ones(atoms.size, dtype=bool))
    assert everything.hits(encoder.encode(["a", "new", "b", "newer"], 4)) == 2


RUNS = 4000


def lattice_noise(answers: list[int], n: int, rng: np.random.Generator) -> np.ndarray:
    """Two whole numbers with geometric noise: few outcomes, so that many of them share a score."""
    return np.array(answers) + rng.geometric(0.5, (n, 2)) - rng.geometric(0.5, (n, 2))


def real_noise(answers: list[int], n: int, rng: np.random.Generator) -> np.ndarray:
    """Two doubles, now and then infinite or NaN."""
    odd = rng.choice([0.0, 0.0, 0.0, np.inf, -np.inf, np.nan], (n, 2))
    return np.array(answers) + rng.laplace(size=(n, 2)) + odd


def transcripts(answers: list[int], n: int, rng: np.random.Generator) -> list:
    """Tuples of many lengths and kinds."""
    above = answers[0] + rng.laplace(size=(n, 5)) > 1
    return [
        (*row[: 1 + int(np.argmax(row))].tolist(), "cut" if row[0] else None, *((float(place % 50),) * int(row[1])))
        for place, row in enumerate(above)
    ]


MECHANISMS: dict[str, Callable] = {"lattice": lattice_noise, "reals": real_noise, "transcripts": transcripts}


@cache
def trained(name: str, kind: str) -> tuple[Partition, Sample]:
    """A partition learned from two samples, and fresh outcomes to look up in it."""
    encoder, rng = Encoder("test"), np.random.default_rng(1)
    one, other, fresh = (
        encoder.encode(MECHANISMS[name](answers, RUNS, rng), RUNS) for answers in ([1, 1], [0, 0], [1, 0])
    )
    if kind == "atoms":
        return Bins.atoms(joined([one, other]))[0], fresh
    if kind == "bins":
        return Bins.learned(joined([one, other])) or Bins.atoms(one)[0], fresh
    if kind == "boosting":
        pytest.importorskip("sklearn")
    scored = Slices.learned(one, other, boosted=kind == "boosting", seed=1)
    assert scored is not None
    return scored, fresh


KINDS = ["atoms", "bins", "logistic", "boosting"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", MECHANISMS)
@given(order=st.randoms(use_true_random=False), ends=st.lists(st.integers(0, 600), max_size=12))
@settings(max_examples=4)
def test_cells_and_scores_are_the_same_to_the_last_bit_in_any_order_and_company(
    name: str, kind: str, order, ends: list[int]
) -> None:
    partition, fresh = trained(name, kind)
    places = list(range(600))
    order.shuffle(places)
    together = partition.cells(fresh)[places]
    assert len(set(together)) > 1
    bounds = sorted({0, 1, 2, *ends, 600})
    for begin, end in itertools.pairwise(bounds):
        chosen = places[begin:end]
        part = Sample(word=fresh.word[chosen], columns=fresh.columns[chosen])
        assert partition.cells(part).tolist() == together[begin:end].tolist()
        if isinstance(partition, Slices):
            assert np.array_equal(partition.score(part), partition.score(fresh)[chosen])


@pytest.mark.parametrize("name", MECHANISMS)
def test_no_outcome_of_training_is_so_close_to_a_cut_that_rounding_could_move_it(name: str) -> None:
    encoder, rng = Encoder("test"), np.random.default_rng(1)
    one, other = (encoder.encode(MECHANISMS[name](answers, RUNS, rng), RUNS) for answers in ([1, 1], [0, 0]))
    scored, _ = trained(name, "logistic")
    assert isinstance(scored, Slices)
    scores = np.unique(scored.score(joined([one, other])))
    assert scored.cuts.size >= 5
    for cut in scored.cuts:
        below, above = scores[scores < cut].max(), scores[scores > cut].min()
        assert cut == pytest.approx((below + above) / 2, abs=1e-12)
        assert above - below > 1e-10 * np.abs(scores).max()


def test_to_refute_a_claim_the_event_counts_that_needs_the_fewest_pairs() -> None:
    """The likelier event needs 64 times as few pairs as the one whose ratio is larger, and counts 8 times as much."""
    aim = Aim(trials=1e7, alpha=0.01, delta=0.0, refutes=0.1)
    p2 = np.array([0.2, 0.2 / 64])
    p1 = p2 * math.exp(0.14)
    noise = np.sqrt(p1 * (1 - p1) + math.exp(0.2) * p2 * (1 - p2))
    needed = [aim.needed(float(one), float(other)) for one, other in zip(p1, p2, strict=True)]
    assert needed == pytest.approx((3.5 * noise / (p1 - math.exp(0.1) * p2)) ** 2)
    promised = aim.promised(p1, p2)
    assert promised[0] / promised[1] == pytest.approx(math.sqrt(needed[1] / needed[0]), rel=0.01)
    assert aim.needed(0.2, 0.2) == math.inf
    assert Aim(trials=1e7, alpha=0.01, delta=0.0).needed(0.5, 0.2) is None
    # Just where the pairs are enough both ways of counting agree.
    at = Aim(trials=needed[1] * (2.3263 / 3.5) ** 2, alpha=0.01, delta=0.0, refutes=0.1)
    assert at.promised(p1[1:], p2[1:]) == pytest.approx([0.1], rel=0.02)
