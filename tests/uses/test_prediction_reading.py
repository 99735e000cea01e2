"""How answers are read: exactly, within their bounds, and without ever raising."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsegate.uses.prediction import LEVELS, WHOLE, Reader, Reading

READER = Reader(vocabulary=3, clip=4.0, gives="logits")
SHARES = Reader(vocabulary=3, clip=4.0, gives="probabilities")
PUBLIC = READER.read([0.0, 0.0, 0.0])

anything = st.one_of(
    st.lists(st.floats(), min_size=3, max_size=3),
    st.lists(st.floats(-10, 10), min_size=3, max_size=3),
    st.sampled_from(
        [None, "text", [1.0], [[1, 2, 3]], [1j, 0, 0], [True] * 3, [None] * 3, object(), 5, {}, [2**70] * 3]
    ),
)


def read(answer: Any, reader: Reader = READER) -> Reading:
    reading = reader.read(answer)
    assert reading is not None
    return reading


def test_a_reading_is_the_distribution_and_the_clipped_logits() -> None:
    reading = read([1.0, -1.0, -99.0])
    assert reading.scores.tolist() == [LEVELS, LEVELS // 2, 0]
    assert reading.weights / WHOLE == pytest.approx(np.exp([0, -2, -100]) / (1 + math.exp(-2)), abs=1e-11)
    moved = read([1e300, -math.inf, 1e300])
    assert (moved.weights[0], moved.weights[1], moved.scores.tolist()) == (WHOLE // 2, 0, [LEVELS, 0, LEVELS])
    assert read(np.array([1, 2, 3], dtype=np.int16)).scores.tolist() == read([1.0, 2.0, 3.0]).scores.tolist()
    assert read([0.5, 0.5, 0], SHARES).scores.tolist() == [LEVELS, LEVELS, 0]
    assert read([8, 4, 4], SHARES).weights.tolist() == [WHOLE // 2, WHOLE // 4, WHOLE // 4]


@pytest.mark.parametrize(
    "answer", [[0, 0, math.nan], [0, 0, math.inf], [-math.inf] * 3, [1, 2], [[1, 2, 3]], "abc", None]
)
def test_what_is_no_answer_is_an_abstention(answer: Any) -> None:
    assert READER.read(answer) is None


@pytest.mark.parametrize("answer", [[1, 1, -1], [0, 0, 0], [1, math.inf, 0], [math.nan, 1, 1]])
def test_what_are_no_probabilities_is_an_abstention(answer: Any) -> None:
    assert SHARES.read(answer) is None


def test_an_answer_that_fails_when_it_is_looked_at_is_an_abstention() -> None:
    class Trap:
        def __array__(self, *given: Any, **named: Any) -> Any:
            raise SystemExit("patient 17")

    assert READER.read(Trap()) is None


@given(st.lists(anything, min_size=1, max_size=4), anything, st.sampled_from([READER, SHARES]))
def test_one_answer_moves_the_distance_by_one_batch_and_each_score_by_all_levels_at_most(
    others: list[Any], other: Any, reader: Reader
) -> None:
    assert PUBLIC is not None
    one, two, nobody = (reader.gathered([*others[1:], mine], PUBLIC) for mine in (others[0], other, None))
    assert abs(one.distance - two.distance) <= 1
    assert np.abs(one.scores - two.scores).max() <= LEVELS
    assert 0 <= (one.scores - nobody.scores).min() <= (one.scores - nobody.scores).max() <= LEVELS
    assert 0 <= one.distance <= len(others)
    for answer in (others[0], other):
        reading = reader.read(answer)
        if reading is not None:
            assert reading.weights.sum() == WHOLE
            assert reading.weights.min() >= 0
            assert reading.scores.max() == LEVELS


def test_the_bounds_are_attained() -> None:
    far = float("inf")
    assert PUBLIC is not None
    sure = [[0, -far, -far], [-far, 0, -far]]
    public = read(sure[0])
    agree, differ = (READER.gathered([mine], public) for mine in sure)
    assert differ.distance - agree.distance == 1
    assert (differ.scores - agree.scores).tolist() == [-LEVELS, LEVELS, 0]
    assert READER.gathered([None, sure[1]], public).distance == Fraction(1)
