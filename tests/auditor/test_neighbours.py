"""Every pair that is tried is a pair of neighbours, and the pairs that matter are among them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsegate.auditor.neighbours import NeighbourPair, Space, known_patterns, mutation, random_pair, taken
from sparsegate.errors import ParameterError


def space(queries: int | tuple[int, int] = 10, **changes: object) -> Space:
    return Space.of(**{"queries": queries, "sensitivity": 1, "epsilon": 1.0, "centre": 0, "monotonic": False} | changes)


def assert_neighbours(pair: NeighbourPair, where: Space) -> None:
    moves = np.subtract(pair.neighbour, pair.answers)
    assert where.least <= len(pair.answers) <= where.most
    assert 0 < np.abs(moves).max() <= where.sensitivity
    assert not where.monotonic or not moves.min() < 0 < moves.max()
    assert all(type(x) is (int if where.whole else float) for x in (*pair.answers, *pair.neighbour))


SPACES = st.builds(
    lambda least, more, sensitivity, epsilon, centre, monotonic: space(
        (least, least + more), sensitivity=sensitivity, epsilon=epsilon, centre=centre, monotonic=monotonic
    ),
    st.integers(1, 5),
    st.integers(0, 12),
    st.sampled_from([1, 3, 1.0, 0.5]),
    st.sampled_from([0.01, 0.1, 1.0, 5.0]),
    st.sampled_from([0, 1000]),
    st.booleans(),
)


@given(SPACES, st.integers(0, 2**32))
def test_every_pair_is_a_pair_of_neighbours(where: Space, seed: int) -> None:
    rng = np.random.default_rng(seed)
    known = known_patterns(where, rng)
    found = [*known, *(random_pair(where, rng) for _ in range(5))]
    found += [mutation(pair, where, rng) for pair in found[:20]]
    assert len(set(known)) == len(known) > 0
    for pair in found:
        assert_neighbours(pair, where)


@pytest.mark.parametrize(
    ("answers", "neighbour", "changes"),
    [
        ((0, 0, 0, 0, 0), (1, 0, 0, 0, 0), {}),
        ((0, 0, 0, 0, 0), (-1, 0, 0, 0, 0), {}),
        ((0, 0, 0, 0, 0), (1, -1, -1, -1, -1), {}),
        ((0, 0, 0, 0, 0), (-1, 1, 1, 1, 1), {}),
        ((0, 0, 0, 0, 0), (-1, -1, 1, 1, 1), {}),
        ((0, 0, 0, 0, 0), (1, 1, 1, 1, 1), {}),
        ((0, 0, 0, 0, 0), (-1, -1, -1, -1, -1), {}),
        ((1, 1, 0, 0, 0), (0, 0, 1, 1, 1), {}),
        ((0, 1), (1, 0), {}),
        ((0,) * 4, (1, 1, -1, -1), {}),
        ((4, 4, 4, 4, 0), (5, 5, 5, 5, -1), {}),
        ((-4, -4, -4, -4, 0), (-5, -5, -5, -5, 1), {}),
        ((2, 2, 2, 2, -2), (3, 3, 3, 3, -3), {}),
        ((4, 4, 4, 4, 0), (5, 5, 5, 5, 0), {"monotonic": True}),
        ((40, 40, 40, 40, 0), (41, 41, 41, 41, -1), {"epsilon": 0.1}),  # levels scale with 1 / epsilon
    ],
)
def test_the_pairs_of_statdp_and_the_extreme_ones_are_tried(answers: tuple, neighbour: tuple, changes: dict) -> None:
    assert NeighbourPair(answers, neighbour) in known_patterns(space(5, **changes), np.random.default_rng(0))


@pytest.mark.parametrize("factor", [1, 2, 5, 10])
def test_a_magnified_pair_is_so_many_times_as_far_apart_around_the_same_middle(factor: int) -> None:
    pair = NeighbourPair((0, 10, 4), (1, 9, 4))
    far = space().magnified(pair, factor)
    assert np.subtract(far.neighbour, far.answers).tolist() == [factor, -factor, 0]
    shift = np.add(far.answers, far.neighbour) - np.add(pair.answers, pair.neighbour)
    assert np.abs(shift).max() <= 1


def test_own_pairs_are_kept_as_numbers_of_the_right_kind() -> None:
    assert space().own(([0, 1], np.array([1, 0]))) == NeighbourPair((0, 1), (1, 0))
    assert space(sensitivity=1.0).own(([0, 1], [1, 0])) == NeighbourPair((0.0, 1.0), (1.0, 0.0))


@pytest.mark.parametrize(
    ("pair", "changes", "rule"),
    [
        (([0], [2]), {}, "at most the sensitivity"),
        (([0, 0], [1, -1]), {"monotonic": True}, "the same way"),
        (([0], [0, 1]), {}, "equally long"),
        (("ab", "cd"), {}, "sequences of numbers"),
        (([0.5], [1.0]), {}, "whole numbers"),
        ((1, 2, 3), {}, "hold pairs"),
    ],
)
def test_own_pairs_that_are_no_neighbours_are_refused(pair: object, changes: dict, rule: str) -> None:
    with pytest.raises(ParameterError, match=rule):
        space(**changes).own(pair)


def test_a_pair_taken_at_its_word_may_be_anything() -> None:
    assert taken(({"a": 1}, {"a": 2})) == NeighbourPair({"a": 1}, {"a": 2})
