"""Scores: groups, their validation, and the names of their members."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.goodness import FALSE_ALARM, law_p
from tests.support.selection_laws import named

from sparsegate.errors import ParameterError
from sparsegate.noise import Seeded
from sparsegate.selection.scores import Scores

LARGEST = 2.0**1022
SECRET = 8675309  # a score that must show in no message


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=30), st.integers(0, 2**32), st.data())
def test_drawn_members_are_different_items_of_the_groups_picked(values, seed, data):
    scores = Scores.of(values)
    every = np.repeat(np.arange(scores.values.size), scores.multiplicities)
    count = data.draw(st.integers(0, len(values)))
    groups = np.array(data.draw(st.permutations(every.tolist()))[:count], dtype=np.int64)
    numbers = named(Seeded(seed), scores, groups)
    assert len(set(numbers)) == count
    assert [sorted(values)[number] for number in numbers] == scores.values[groups].tolist()


def test_a_member_of_a_group_is_drawn_uniformly():
    scores, source = Scores.of([1, 1, 1, 0]), Seeded(3)
    groups = np.array([1, 0, 1])
    seen = Counter(tuple(named(source, scores, groups)) for _ in range(3000))
    law = {(a, 0, b): 1 / 6 for a in (1, 2, 3) for b in (1, 2, 3) if a != b}
    assert law_p(seen, law) > FALSE_ALARM


@pytest.mark.parametrize(
    "bad",
    [
        [],
        [[SECRET]],
        [[SECRET], [SECRET, SECRET]],
        SECRET,
        np.array([SECRET], dtype=np.longdouble),
        [Fraction(SECRET)],
        [SECRET + 0j],
        [True, False],
        ["8675309"],
        {"a": None},
    ],
)
def test_scores_that_are_no_numbers_by_their_type_are_refused_without_showing_them(bad):
    with pytest.raises(ParameterError, match=r"^scores must") as caught:
        Scores.each(bad)
    assert str(SECRET) not in str(caught.value)


@pytest.mark.parametrize(
    ("given", "taken"),
    [
        ([1.5, math.nan, math.inf, -math.inf], [1.5, -LARGEST, LARGEST, -LARGEST]),
        (np.array([math.nan, 2.0]), [-LARGEST, 2.0]),
        ([5, 10**30, -(10**30)], [5, 2**63 - 1, -(2**63)]),
        (np.array([2**64 - 1, 3], dtype=np.uint64), [2**63 - 1, 3]),
        ({"a": 2**53 + 1, "b": 0.5, "c": -(2**60)}, [2.0**53, 0.5, -(2.0**53)]),
        ([np.int32(4), np.float32(0.5)], [4.0, 0.5]),
        (np.array([7, 2.5], dtype=object), [7.0, 2.5]),
    ],
)
def test_no_value_of_a_score_is_refused(given, taken):
    """Clamped, and NaN to the lower end: so a refusal tells a type and nothing else."""
    values = Scores.each(given).values
    assert values.tolist() == taken
    assert values.dtype == (np.int64 if all(type(number) is int for number in taken) else np.float64)


@given(st.integers(2**53 - 3, 2**53 + 9))
def test_scores_one_apart_stay_at_most_one_apart_beside_a_float(score):
    here, there = (Scores.each([score + k, 0.5]).values[0] for k in (0, 1))
    assert 0 <= there - here <= 1


@pytest.mark.parametrize("size", [0, -1, 1.0, True, "2", None, 10**30])
def test_multiplicities_must_be_positive_whole_numbers(size):
    with pytest.raises(ParameterError, match=r"^multiplicities must") as caught:
        Scores.histogram({SECRET: size})
    assert str(SECRET) not in str(caught.value)


def test_multiplicities_that_overflow_a_running_total_are_refused():
    with pytest.raises(ParameterError, match=r"sum to at most 2\*\*62"):
        Scores.histogram({1: 2**62, 2: 2**62})


def test_names_must_be_as_many_as_items():
    with pytest.raises(ParameterError, match="one entry for each item"):
        Scores(values=np.array([1, 2]), multiplicities=np.array([1, 2]), items=("a",))
