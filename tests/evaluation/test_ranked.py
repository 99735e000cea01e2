"""Ranked scores and the oracle threshold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsegate.errors import ParameterError
from sparsegate.evaluation import Ladder
from sparsegate.mechanisms.scores import Scores

LISTS = st.lists(st.integers(-5, 5), min_size=2, max_size=30)


@given(LISTS)
def test_a_ladder_holds_the_sorted_scores(scores: list[int]) -> None:
    ladder = Ladder.of(scores)
    falling = sorted(scores, reverse=True)
    assert ladder.highest(len(scores)).tolist() == falling
    assert ladder.values[ladder.rungs(np.arange(len(scores)))].tolist() == falling
    assert [ladder.score(rank) for rank in range(1, len(scores) + 1)] == falling
    assert ladder.total == len(scores)


@given(LISTS, st.data())
def test_the_highest_scores_are_cut_where_asked(scores: list[int], data: st.DataObject) -> None:
    count = data.draw(st.integers(0, len(scores)))
    assert Ladder.of(scores).highest(count).tolist() == sorted(scores, reverse=True)[:count]


@pytest.mark.parametrize(
    "form",
    [[7, 3, 7], {"a": 7, "b": 3, "c": 7}, Scores.histogram({7: 2, 3: 1}), Scores.of([7, 3, 7]), Ladder.of([7, 3, 7])],
)
def test_every_form_of_scores_gives_the_same_ladder(form: object) -> None:
    ladder = Ladder.of(form)
    assert (ladder.values.tolist(), ladder.sizes.tolist(), ladder.starts.tolist()) == ([7, 3], [2, 1], [0, 2])


@pytest.mark.parametrize(("count", "threshold"), [(1, 9), (2, 6.5), (3, 4), (4, 2.5)])
def test_the_oracle_threshold_is_the_mean_of_two_neighbours(count: int, threshold: float) -> None:
    assert Ladder.of([9, 9, 4, 4, 1]).oracle_threshold(count) == threshold


@pytest.mark.parametrize("count", [0, 5, 1.5])
def test_an_oracle_threshold_needs_a_next_score(count: object) -> None:
    with pytest.raises(ParameterError, match=r"^count must"):
        Ladder.of([9, 9, 4, 4, 1]).oracle_threshold(count)


def test_a_ladder_does_not_print_its_scores() -> None:
    assert repr(Ladder.of([912, 812, 812])) == "Ladder(2 rungs, 3 items)"
