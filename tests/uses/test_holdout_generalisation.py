"""How far a holdout may be from its population: the two theorems against what they must cover."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from sparsegate.errors import ParameterError
from sparsegate.uses.holdout import far_from_the_truth

PUBLIC: dict[str, Any] = {"questions": 1000, "cutoff": 20, "values": 1000, "confidence": 0.95}


@pytest.mark.parametrize(("questions", "cutoff", "values"), [(10, 3, 5), (5, 9, 1), (7, 7, 2), (40, 40, 1), (1, 1, 9)])
def test_few_answers_count_every_transcript_and_not_many_times_too_many(
    questions: int, cutoff: int, values: int
) -> None:
    transcripts = sum(math.comb(questions, j) * values**j for j in range(min(questions, cutoff) + 1))
    given: Any = {"questions": questions, "cutoff": cutoff, "values": values, "confidence": 0.9}
    t = far_from_the_truth(10_000, epsilon=1e9, **given)
    failing = 2 * questions * transcripts * math.exp(-2 * 10_000 * t**2)
    assert failing <= 0.1 * (1 + 1e-9)
    assert failing >= 0.1 / (cutoff + 1) / 1.001


@pytest.mark.parametrize("questions", [10**9, 10**12, 10**18, 10**400])
def test_more_questions_than_floats_tell_apart_are_counted_from_above(questions: int) -> None:
    """Differences of logarithms of factorials would be all rounding: at 10**18 questions less than at 10**3."""
    transcripts = sum(math.comb(questions, j) * 1000**j for j in range(21))
    given: Any = {"questions": questions, "cutoff": 20, "values": 1000, "confidence": 0.9}
    t = far_from_the_truth(10**6, epsilon=1e9, **given)
    least = math.log(2 * questions) + math.log(transcripts) + math.log(10)
    assert least * (1 - 1e-9) <= 2 * 10**6 * t**2 <= least + math.log(21) + 0.1


@pytest.mark.parametrize("epsilon", [0.001, 0.02, 0.1])
@pytest.mark.parametrize("size", [1000, 100_000])
def test_private_answers_solve_the_equation_of_the_proof(epsilon: float, size: int) -> None:
    """The chance to fail, by the best p of the proof found numerically, is the one that was allowed."""
    t = far_from_the_truth(size, epsilon=epsilon, **PUBLIC | {"values": 10**300})
    hoeffding = 2 * size * t**2 - math.log(2 * 1000)
    exponents = np.geomspace(1.0001, 1e7, 200_001)
    bound = exponents * size * epsilon**2 / 8 - hoeffding * (1 - 1 / exponents)
    assert math.exp(bound.min()) == pytest.approx(0.05, rel=1e-3)


def test_without_a_look_at_the_data_both_are_the_bound_of_hoeffding() -> None:
    t = far_from_the_truth(500, epsilon=1e-12, questions=1, cutoff=1, values=1, confidence=0.95)
    assert t == pytest.approx(math.sqrt(math.log(2 / 0.05) / 1000), rel=1e-6)


def test_it_falls_with_the_size_and_rises_with_everything_else() -> None:
    plain = far_from_the_truth(10_000, epsilon=0.05, **PUBLIC)
    assert far_from_the_truth(20_000, epsilon=0.05, **PUBLIC) < plain
    assert far_from_the_truth(10_000, epsilon=0.06, **PUBLIC) > plain
    for name, more in (("questions", 2000), ("confidence", 0.99)):
        assert far_from_the_truth(10_000, epsilon=0.05, **PUBLIC | {name: more}) > plain
    assert far_from_the_truth(10, epsilon=1e9, **PUBLIC) == 1


@pytest.mark.parametrize("confidence", [0, 1, math.nan, "0.9", True])
def test_a_confidence_that_is_none_is_refused(confidence: Any) -> None:
    with pytest.raises(ParameterError, match="^confidence must"):
        far_from_the_truth(10, epsilon=1, **PUBLIC | {"confidence": confidence})
