"""Ranked scores and the oracle threshold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsegate.errors import ParameterError
from sparsegate.paper import Ladder, measure
from sparsegate.selection.scores import Scores

LISTS = st.lists(st.integers(-5, 5), min_size=2, max_size=30)


@given(LISTS, st.data())
def test_a_ladder_holds_the_sorted_scores(scores: list[int], data: st.DataObject) -> None:
    ladder = Ladder.of(scores)
    falling = sorted(scores, reverse=True)
    count = data.draw(st.integers(0, len(scores)))
    assert ladder.highest(count).tolist() == falling[:count]
    assert ladder.values[ladder.rungs(np.arange(len(scores)))].tolist() == falling
    assert [ladder.score(rank) for rank in range(1, len(scores) + 1)] == falling
    assert ladder.total == len(scores)


@pytest.mark.parametrize(
    "form",
    [[7, 3, 7], {"a": 7, "b": 3, "c": 7}, Scores.histogram({7: 2, 3: 1}), Scores.of([7, 3, 7]), Ladder.of([7, 3, 7])],
)
def test_every_form_of_scores_gives_the_same_ladder(form: object) -> None:
    ladder = Ladder.of(form)
    assert (ladder.values.tolist(), ladder.sizes.tolist(), ladder.starts.tolist()) == ([7, 3], [2, 1], [0, 2])


def test_the_oracle_threshold_is_the_mean_of_two_neighbours_and_needs_a_next_score() -> None:
    ladder = Ladder.of([9, 9, 4, 4, 1])
    assert [ladder.oracle_threshold(count) for count in (1, 2, 3, 4)] == [9, 6.5, 4, 2.5]
    for count in (0, 5, 1.5):
        with pytest.raises(ParameterError) as refused:
            ladder.oracle_threshold(count)
        assert refused.value.parameter == "count"
    assert repr(Ladder.of([912, 812, 812])) == "Ladder(2 rungs, 3 items)"  # no score is shown


SCORES = [10, 8, 6, 6, 6, 1]  # rungs 0, 1, 2, 2, 2, 3; the top 3 are 10, 8 and one of the 6s, 24 in all


@pytest.mark.parametrize(
    ("selected", "fnr", "fpr", "ser", "total_ser"),
    [
        ([0, 1, 2], 0, 0, 0, 0),
        ([0, 2, 2], 1 / 3, 1 / 3, 1 - 22 / 24, 1 - 22 / 24),
        ([2, 2, 2], 2 / 3, 2 / 3, 1 - 18 / 24, 1 - 18 / 24),
        ([0, 1, 3], 1 / 3, 1 / 3, 1 - 19 / 24, 1 - 19 / 24),
        ([0, -1, -1], 2 / 3, 0, 1 - 10 / 8, 1 - 10 / 24),
        ([2, 2, -1], 2 / 3, 1 / 2, 1 - 6 / 8, 1 - 12 / 24),
        ([3, -1, -1], 1, 1, 1 - 1 / 8, 1 - 1 / 24),
        ([-1, -1, -1], 1, 0, 1, 1),
    ],
)
def test_the_rates_of_a_selection(selected: list[int], fnr: float, fpr: float, ser: float, total_ser: float) -> None:
    errors = measure(SCORES, np.array([selected]), count=3)
    found = [errors.fnr, errors.fpr, errors.ser, errors.total_ser]
    assert [rate.item() for rate in found] == pytest.approx([fnr, fpr, ser, total_ser])
    assert errors.selected.item() == sum(rung >= 0 for rung in selected)


@given(st.lists(st.integers(1, 6), min_size=2, max_size=9), st.data())
def test_false_negatives_and_false_positives_agree_when_enough_are_selected(
    scores: list[int], data: st.DataObject
) -> None:
    ladder = Ladder.of(scores)
    count = data.draw(st.integers(1, len(scores) - 1))
    items = data.draw(st.permutations(range(len(scores))))[:count]
    errors = measure(ladder, ladder.rungs(np.array([items])), count=count)
    assert errors.fnr == pytest.approx(errors.fpr)
    assert errors.ser == pytest.approx(errors.total_ser)
    assert (errors.fnr.item() == 0) == (abs(errors.ser.item()) < 1e-12)


def test_scores_that_sum_to_nothing_have_no_score_error_rate() -> None:
    with pytest.raises(ParameterError) as refused:
        measure([0, 0, 0], np.array([[0, 0]]), count=2)
    assert refused.value.parameter == "scores"
