"""The public histogram: each move is the nearest one, and brings it nearer to the truth."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparsegate.tables.online import Floats, Histogram, Lesson

SEEDS = st.integers(0, 2**32 - 1)


def entropy(h: Floats, p: Floats) -> float:
    """D(h||p)."""
    there = h > 0
    return float((h[there] * np.log(h[there] / p[there])).sum())


@settings(deadline=None)
@given(SEEDS, st.booleans(), st.floats(0.05, 1))
def test_a_move_towards_the_truth_gains_at_least_twice_its_square(seed: int, sets: bool, part: float) -> None:
    generator = np.random.default_rng(seed)
    h, p = generator.dirichlet(np.full(7, 0.3)), generator.dirichlet(np.full(7, 0.8)) + 1e-9
    p /= p.sum()
    weights = generator.random(6) < 0.5 if sets else generator.random(6)
    estimate, truth = float(p[:-1] @ weights), float(h[:-1] @ weights)
    target = estimate + part * (truth - estimate)
    after = Histogram(p).taught(Lesson(weights, -1, 2), target)
    assert math.isclose(float(after.shares[:-1] @ weights), target, abs_tol=1e-9)
    assert math.isclose(after.shares.sum(), 1)
    assert entropy(h, p) - entropy(h, after.shares) >= 2 * (target - estimate) ** 2 - 1e-9


def test_a_set_of_cells_moves_as_its_weights_would() -> None:
    p = np.array([0.1, 0.2, 0.3, 0.4])
    as_set = Histogram(p).taught(Lesson(np.array([True, False, True]), -1, 2), 0.7)
    as_weights = Histogram(p).taught(Lesson(np.array([1.0, 0.0, 1.0]), -1, 2), 0.7)
    assert as_set.shares == pytest.approx(as_weights.shares, abs=1e-12)
    assert as_set.shares == pytest.approx([0.175, 0.1, 0.525, 0.2])


def test_earlier_lessons_are_gone_through_again() -> None:
    first = Lesson(np.array([True, True, False, False]), 0.6, 0.62)
    second = Lesson(np.array([False, True, True, False]), 0.7, 0.72)
    start = Histogram.uniform(4)
    once = start.taught(first, 0.6)
    forgotten, kept = once.taught(second, 0.7), once.taught(second, 0.7, [first])
    assert not first.low <= float(forgotten.shares[:2].sum()) <= first.high
    assert first.low - 1e-3 <= float(kept.shares[:2].sum()) <= first.high + 1e-3
    assert second.low - 1e-3 <= float(kept.shares[1:3].sum()) <= second.high + 1e-3


def test_what_cannot_be_reached_breaks_nothing_and_what_was_lost_comes_back() -> None:
    nobody = Lesson(np.zeros(3), 0.5, 0.6)
    assert Histogram.uniform(3).taught(nobody, 0.5).shares == pytest.approx([0.25] * 4)
    histogram, everyone = Histogram.uniform(3), Lesson(np.array([True, True, True]), -1, 2)
    for target in (0.0, 0.0, 1.0, 0.0, 0.25):
        histogram = histogram.taught(everyone, target)
        assert np.isfinite(histogram.shares).all()
        assert (histogram.shares > 0).all()
    assert float(histogram.shares[:3].sum()) == pytest.approx(0.25)
