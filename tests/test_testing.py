"""`assert_private` fails a test with the verdict's sentence, and passes with the verdict."""

from __future__ import annotations

import numpy as np
import pytest

from sparsegate.testing import CONFIDENCE, assert_private


def noisy(scale: float):
    rng = np.random.default_rng(1)
    return lambda answers, n: answers[0] + rng.laplace(scale=scale, size=n)


def test_a_leak_fails_with_the_sentence_of_the_verdict() -> None:
    with pytest.raises(AssertionError, match=r"is NOT private at ε = 1: with 99.9999 % confidence its ε is at least 1"):
        assert_private(noisy(0.7), epsilon=1.0, queries=1, samples=200_000, seed=1)


def test_a_sound_mechanism_passes_and_says_what_was_certified() -> None:
    verdict = assert_private(noisy(1.0), epsilon=1.0, queries=1, samples=200_000, seed=1)
    assert 0.8 < verdict.epsilon_lower <= 1
    assert verdict.confidence == CONFIDENCE == 1 - 1e-6


def test_ten_seconds_are_spent_unless_told_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, object] = {}

    def fake(mechanism: object, **options: object) -> object:
        seen.update(options)
        return type("Quiet", (), {"violates": False, "replay": None})()

    monkeypatch.setattr("sparsegate.testing.audit", fake)
    assert_private(noisy(1.0), epsilon=1.0, monotonic=True)
    assert (seen["budget_seconds"], seen["monotonic"]) == (10.0, True)
    assert_private(noisy(1.0), epsilon=1.0, samples=5000)
    assert (seen["budget_seconds"], seen["samples"]) == (None, 5000)
