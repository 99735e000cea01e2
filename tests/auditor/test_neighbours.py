"""Every pair that is tried is a pair of neighbours, and the pairs that matter are among them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparsegate.auditor.neighbours import NeighbourPair, Space, known_patterns, mutation, random_pair, taken
from sparsegate.errors import ParameterError


def space(queries: int | tuple[int, int] = 10, **changes: object) -> Space:
    return Space.of(**{"queries": queries, "sensitivity": 1, "epsilon": 1.0, "centre": 0, "monotonic": False} | changes)


SPACES = st.fixed_dictionaries(
    {
        "queries": st.tuples(st.integers(1, 5), st.integers(0, 12)).map(lambda least: (least[0], sum(least))),
        "sensitivity": st.sampled_from([1, 3, 1.0, 0.5]),
        "epsilon": st.sampled_from([0.01, 0.1, 1.0, 5.0]),
        "centre": st.sampled_from([0, 1000]),
        "monotonic": st.booleans(),
    }
)


@given(SPACES, st.integers(0, 2**32))
@settings(max_examples=40)
def test_every_pair_is_a_pair_of_neighbours(options: dict, seed: int) -> None:
    where, rng = space(**options), np.random.default_rng(seed)
    known = known_patterns(where, rng)
    pairs = [*known, *(random_pair(where, rng) for _ in range(5))]
    pairs += [mutation(pair, where, rng) for pair in pairs[:20]]
    assert len(set(known)) == len(known) > 0
    for pair in pairs:
        moves = np.subtract(pair.neighbour, pair.answers)
        assert where.least <= len(pair.answers) <= where.most
        assert 0 < np.abs(moves).max() <= where.sensitivity
        assert not where.monotonic or not moves.min() < 0 < moves.max()
        assert all(type(x) is (int if where.whole else float) for x in (*pair.answers, *pair.neighbour))


@pytest.mark.parametrize(
    ("answers", "neighbour", "changes"),
    [
        ((0, 0, 0, 0, 0), (1, 0, 0, 0, 0), {}),
        ((0, 0, 0, 0, 0), (1, -1, -1, -1, -1), {}),
        ((0, 0, 0, 0, 0), (-1, 1, 1, 1, 1), {}),
        ((0, 0, 0, 0, 0), (-1, -1, 1, 1, 1), {}),
        ((0, 0, 0, 0, 0), (1, 1, 1, 1, 1), {}),
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


@pytest.mark.parametrize("factor", [1, 2, 10])
def test_a_magnified_pair_is_so_many_times_as_far_apart_around_the_same_middle(factor: int) -> None:
    pair = NeighbourPair((0, 10, 4), (1, 9, 4))
    far = space().magnified(pair, factor)
    assert np.subtract(far.neighbour, far.answers).tolist() == [factor, -factor, 0]
    shift = np.add(far.answers, far.neighbour) - np.add(pair.answers, pair.neighbour)
    assert np.abs(shift).max() <= 1


@pytest.mark.parametrize(
    ("pair", "changes"),
    [
        (([0], [2]), {}),
        (([0, 0], [1, -1]), {"monotonic": True}),
        (([0], [0, 1]), {}),
        (("ab", "cd"), {}),
        (([0.5], [1.0]), {}),
        ((1, 2, 3), {}),
    ],
)
def test_own_pairs_are_kept_as_numbers_and_refused_where_they_are_no_neighbours(pair: object, changes: dict) -> None:
    assert space().own(([0, 1], np.array([1, 0]))) == NeighbourPair((0, 1), (1, 0))
    assert space(sensitivity=1.0).own(([0, 1], [1, 0])) == NeighbourPair((0.0, 1.0), (1.0, 0.0))
    with pytest.raises(ParameterError) as refused:
        space(**changes).own(pair)
    assert refused.value.parameter == "neighbours"
    assert taken(({"a": 1}, {"a": 2})) == NeighbourPair({"a": 1}, {"a": 2})
