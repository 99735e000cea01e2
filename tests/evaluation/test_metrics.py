"""The error rates, checked by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsegate.evaluation import Ladder, measure

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


def test_all_runs_are_measured_at_once() -> None:
    rows = [[0, 1, 2], [3, 2, 2], [-1, -1, -1]]
    together = measure(SCORES, np.array(rows), count=3)
    apart = [measure(SCORES, np.array([row]), count=3).ser.item() for row in rows]
    assert together.ser.tolist() == apart


def test_mean_and_standard_deviation_are_those_of_a_sample() -> None:
    summary = measure(SCORES, np.array([[0, 1, 2], [2, 2, 2]]), count=3).summary()
    assert summary["ser_mean"] == pytest.approx(1 / 8)
    assert summary["ser_std"] == pytest.approx(1 / 4 / math.sqrt(2))
    assert summary["fnr_mean"] == pytest.approx(1 / 3)


def test_one_run_has_no_standard_deviation() -> None:
    assert math.isnan(measure(SCORES, np.array([[0, 1, 2]]), count=3).summary()["ser_std"])


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
