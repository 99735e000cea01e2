"""Exact losses: the witnesses of the theory, the paper's own counter-examples, and pairs that are no neighbours."""

from __future__ import annotations

import math
from typing import Any

import pytest

import sparsegate as sg
from sparsegate.privacy import log_probability, loss
from sparsegate.privacy.loss import worst_outcome
from sparsegate.privacy.model import build

B, A = False, True


def blocks(*parts: tuple[int, int, object, int]) -> tuple[list[int], list[int], list[object]]:
    """Answers on D and on D' and the outcome, from (answer, neighbour, entry, how often)."""
    every = [part[:3] for part in parts for _ in range(part[3])]
    return [row[0] for row in every], [row[1] for row in every], [row[2] for row in every]


def far(place: int, below: int, above: int) -> tuple[list[int], list[int], list[object]]:
    """D = M^m 0^k, D' = (M+1)^m (-1)^k, outcome BELOW^m ABOVE^k."""
    return blocks((place, place + 1, B, below), (0, -1, A, above))


@pytest.mark.parametrize("noise", ["continuous", "lattice"])
@pytest.mark.parametrize(
    ("row", "pair", "expected", "options"),
    [
        ("lyu-2017", far(40, 4, 1), 1.0, {}),
        ("lyu-2017", far(100, 10, 3), 1.0, {"cutoff": 3}),
        ("lyu-2017", far(400, 4, 1), 0.1, {"epsilon": 0.1}),
        ("lee-clifton-2014", far(20, 2, 1), 1.75, {}),
        ("lee-clifton-2014", far(20, 4, 3), 4.75, {"cutoff": 3}),
        ("chen-2015", blocks((60, 61, B, 6), (-60, -61, A, 6)), 6.0, {}),
        ("roth-2011", blocks((0, 1, B, 11), (1, 0, 0, 1)), 5.0, {}),
        ("roth-2011", blocks((0, 1, B, 11), (0, 1, 0, 1)), 6.0, {"monotonic": True}),
        ("roth-2011", blocks((60, 61, B, 9), (0, -1, A, 1)), 1.5, {}),  # the indicators alone
        ("stoddard-2014", ([0, 1], [1, 0], [B, A]), math.inf, {}),
        ("stoddard-2014", ([0, 1], [1, 1], [B, A]), math.inf, {"monotonic": True}),
        ("stoddard-2014", ([1, 0], [1, 0], [B, A]), 0.0, {}),  # what neither dataset can produce teaches nothing
    ],
)
def test_the_losses_that_the_theory_says(row: str, pair: Any, expected: float, options: Any, noise: Any) -> None:
    assert loss(row, *pair, noise=noise, **{"epsilon": 1} | options) == pytest.approx(expected, abs=5e-5)


def test_the_worst_outcome_is_the_largest_of_all_losses() -> None:
    model = build("lyu-2017", epsilon=1)
    here, there = (model.compare(q, 0, None) for q in ([40] * 4 + [0], [41] * 4 + [-1]))
    assert worst_outcome(here, there) == ((B, B, B, B, A), pytest.approx(1, abs=5e-5))


@pytest.mark.parametrize(
    ("answers", "neighbour", "options"),
    [
        ([0, 0], [2, 0], {}),
        ([0, 0], [1, -1], {"monotonic": True}),
        ([0, 0], [1], {}),
        ([0, 0], [0.6, 0], {"sensitivity": 0.5}),
        ([0, 0], [2, 0], {"noise": "lattice"}),
        ([0, 0], [1, -1], {"monotonic": True, "noise": "lattice"}),
    ],
)
def test_pairs_that_are_no_neighbours_are_refused(answers: list[int], neighbour: list[int], options: dict) -> None:
    with pytest.raises(sg.ParameterError, match="neighbour"):
        loss("lyu-2017", answers, neighbour, [B, A], epsilon=1, **options)


@pytest.mark.parametrize("start", [0.1, 1e6 + 0.1])
def test_a_rounding_error_does_not_make_strangers_of_neighbours(start: float) -> None:
    value = loss("lyu-2017", [start], [start + 0.3], [B], epsilon=1, sensitivity=0.3)
    assert 0 < value <= 0.25


@pytest.mark.parametrize(("here", "there"), [(10**15, 10**15 + 2), (10**17, 10**17 + 64), (2**61, 2**62)])
def test_large_whole_numbers_more_than_a_person_apart_are_no_neighbours(here: int, there: int) -> None:
    with pytest.raises(sg.ParameterError, match="^neighbour must differ"):
        loss("lyu-2017", [here], [there], [True], threshold=here, epsilon=1)
    # Differences do not wrap around.
    assert log_probability("lyu-2017", [2**62], [True], threshold=-(2**62), epsilon=1) == pytest.approx(0)
