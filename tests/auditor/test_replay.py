"""The same randomness on neighbours shows what noise is added to, and where a program looks at data before noise."""

from __future__ import annotations

import numpy as np
import pytest

from sparsegate.auditor import audit
from sparsegate.errors import ParameterError
from sparsegate.gates.sparse_vector import SparseVector
from sparsegate.noise import Seeded
from sparsegate.testing import assert_private


def count(answers, rng):
    return answers[0] + rng.laplace(scale=1.0)


def centred(answers, rng):
    return rng.laplace(answers[0], 1.0)


def doubled(answers, rng):
    return 2 * answers[0] + rng.laplace(scale=2.0)


def skips_noise(answers, rng):
    return rng.laplace() if answers[0] > 0 else 0.0


def local_scale(answers, rng):
    return answers[0] + rng.laplace(scale=1.0 + abs(answers[0]))


def draws_as_often_as_data_say(answers, rng):
    rng.random()
    for _ in range(int(abs(answers[0])) + 1):
        rng.random()
    return True


def noiseless(answers, rng):
    return bool(answers[0] > 0)


def gate(answers, rng):
    """A sound gate: it stops at its first ABOVE, so how often it draws follows from what it releases."""
    rho, out = rng.laplace(scale=2), []
    for answer in answers:
        out.append(bool(answer + rng.laplace(scale=4) >= rho))
        if out[-1]:
            break
    return out


def place_of_the_maximum(answers, rng):
    return int(np.argmax(answers + rng.exponential(2, size=len(answers))))


def permute_and_flip(answers, rng):
    kept = (
        place for place in rng.permutation(len(answers)) if rng.random() < np.exp((answers[place] - max(answers)) / 4)
    )
    return int(next(kept))


def response(answers, rng):
    return int(rng.binomial(1, 0.7 if answers[0] > 0 else 0.3))


def doubled_whole(answers, rng):
    return int(2 * answers[0] + rng.geometric(0.5) - rng.geometric(0.5))


def test_the_sensitivity_is_that_of_what_the_noise_is_added_to() -> None:
    for mechanism, moved in ((count, 1.0), (centred, 1.0), (doubled, 2.0)):
        replay = audit(mechanism, epsilon=4.0, queries=1, samples=1000, replay=True, seed=1).replay
        assert replay is not None
        assert replay.sensitivity == pytest.approx(moved)
        assert bool(replay.findings) is (moved > 1)


@pytest.mark.parametrize(
    ("mechanism", "finding"),
    [
        (doubled_whole, "moved by 2, the declared sensitivity is 1"),
        (skips_noise, "control flow depends on data before any noise"),
        (local_scale, "draw 1 depends on data: laplace"),
        (draws_as_often_as_data_say, "the number of draws depends on data"),
        (noiseless, "drew nothing from rng"),
    ],
)
def test_a_test_fails_with_what_the_tapes_showed(mechanism, finding: str) -> None:
    with pytest.raises(AssertionError, match=finding):
        assert_private(mechanism, epsilon=50.0, queries=1, samples=1000, replay=True, seed=1)


SOUND = [count, centred, gate, place_of_the_maximum, permute_and_flip, response]


@pytest.mark.parametrize("mechanism", SOUND)
def test_sound_mechanisms_have_no_findings(mechanism) -> None:
    verdict = assert_private(mechanism, epsilon=1.0, queries=4, samples=2000, replay=True, seed=1)
    assert verdict.replay is not None
    assert verdict.replay.tapes == 40
    assert verdict.sentence.count("Replay") == 0


def test_a_source_of_ours_is_a_tape_as_well() -> None:
    def sparse(answers, source):
        running = SparseVector(
            threshold=0, cutoff=1, epsilon=1.0, sensitivity=1, source=source.stream(), not_private=True
        )
        return [bool(answer) for answer in running.ask_many(np.asarray(answers))]

    def leaky(answers, source):
        return [*sparse(answers, source), int(3 * answers[0])]

    assert assert_private(sparse, epsilon=1.0, queries=3, samples=1000, replay=Seeded, seed=1).replay is not None
    with pytest.raises(AssertionError, match="moved by 3"):
        assert_private(leaky, epsilon=50.0, queries=3, samples=1000, replay=Seeded, seed=1)


@pytest.mark.parametrize("replay", [True, Seeded, 7])
def test_a_mechanism_that_takes_no_randomness_cannot_be_replayed(replay: object) -> None:
    with pytest.raises(ParameterError, match="replay"):
        audit(lambda answers: 0, epsilon=1.0, samples=1000, replay=replay)  # type: ignore[arg-type]
