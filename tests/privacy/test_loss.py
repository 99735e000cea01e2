"""Exact losses: the witnesses of the theory, the paper's own counter-examples, and pairs that are no neighbours."""

from __future__ import annotations

import math

import numpy as np
import pytest

import sparsegate as sg
from sparsegate.privacy import log_probability, loss
from sparsegate.privacy.loss import worst_outcome
from sparsegate.privacy.model import NoiseLaw, Points, build, log_integral

B, A = False, True


def below_then_above(row: str, far: int, m: int, c: int, noise: str, epsilon: float = 1) -> float:
    """D = M^m 0^c, D' = (M+1)^m (-1)^c, outcome BELOW^m ABOVE^c."""
    here, there = [far] * m + [0] * c, [far + 1] * m + [-1] * c
    return loss(row, here, there, [B] * m + [A] * c, cutoff=c, epsilon=epsilon, noise=noise)  # type: ignore[arg-type]


@pytest.mark.parametrize("noise", ["continuous", "lattice"])
@pytest.mark.parametrize(
    ("row", "far", "m", "c", "expected"),
    [
        ("lyu-2017", 40, 4, 1, 1.0),
        ("lyu-2017", 60, 7, 2, 1.0),
        ("lyu-2017", 100, 10, 3, 1.0),
        ("lee-clifton-2014", 20, 2, 1, 1.75),
        ("lee-clifton-2014", 20, 3, 2, 3.25),
        ("lee-clifton-2014", 20, 4, 3, 4.75),
    ],
)
def test_the_witnesses_of_the_theory(row: str, far: int, m: int, c: int, expected: float, noise: str) -> None:
    assert below_then_above(row, far, m, c, noise) == pytest.approx(expected, abs=5e-5)


def test_a_tenth_of_epsilon_takes_ten_times_the_distance() -> None:
    assert below_then_above("lyu-2017", 400, 4, 1, "continuous", 0.1) == pytest.approx(0.1, abs=5e-6)
    assert below_then_above("lee-clifton-2014", 200, 4, 3, "continuous", 0.1) == pytest.approx(0.4750, abs=5e-5)


@pytest.mark.parametrize("n", [2, 4, 8, 12])
def test_chen_loses_half_an_epsilon_with_every_query(n: int) -> None:
    m = n // 2
    here, there = [60] * m + [-60] * m, [61] * m + [-61] * m
    assert loss("chen-2015", here, there, [B] * m + [A] * m, epsilon=1) == pytest.approx(n / 2, abs=1e-10)


def test_the_papers_own_pair_for_chen_falls_short_of_that() -> None:
    value = loss("chen-2015", [0] * 12, [1] * 6 + [-1] * 6, [B] * 6 + [A] * 6, epsilon=1)
    assert value == pytest.approx(5.4344, abs=5e-5)


@pytest.mark.parametrize(("t", "expected"), [(1, 0.7367), (5, 4.0308), (10, 8.3466), (20, 17.1437)])
def test_the_published_counter_example_against_gptt_does_work(t: int, expected: float) -> None:
    value = loss("gptt", [0] * t + [1] * t, [1] * t + [0] * t, [B] * t + [A] * t, epsilon=1)
    assert value == pytest.approx(expected, abs=5e-5)
    assert value >= t * 0.5


@pytest.mark.parametrize("m", [1, 4, 11])
def test_the_papers_pair_for_roth_loses_with_every_below(m: int) -> None:
    value = loss("roth-2011", [0] * m + [1], [1] * m + [0], [B] * m + [0], epsilon=1)
    assert value == pytest.approx((m - 1) / 2, abs=1e-12)


@pytest.mark.parametrize("m", [1, 4, 11])
def test_roth_loses_half_an_epsilon_with_every_query(m: int) -> None:
    value = loss("roth-2011", [0] * (m + 1), [1] * (m + 1), [B] * m + [0], epsilon=1, monotonic=True)
    assert value == pytest.approx((m + 1) / 2, abs=1e-12)


def test_the_indicators_of_roth_alone_lose_no_more_than_three_halves() -> None:
    value = loss("roth-2011", [60] * 9 + [0], [61] * 9 + [-1], [B] * 9 + [A], epsilon=1)
    assert value == pytest.approx(1.5, abs=1e-9)


@pytest.mark.parametrize(("there", "monotonic"), [([1, 0], False), ([1, 1], True)])
def test_an_outcome_of_stoddard_that_the_neighbour_cannot_produce(there: list[int], monotonic: bool) -> None:
    assert loss("stoddard-2014", [0, 1], there, [B, A], epsilon=1, monotonic=monotonic) == math.inf


def test_what_neither_dataset_can_produce_teaches_nothing() -> None:
    assert loss("stoddard-2014", [1, 0], [1, 0], [B, A], epsilon=1) == 0


def test_errors_are_compared_through_public_estimates() -> None:
    given = {"estimates": [0] * 5, "threshold": [200] * 5, "epsilon": 1}
    value = loss("hardt-rothblum-2010-repaired", [240] * 4 + [200], [241] * 4 + [199], [B] * 4 + [A], **given)
    assert value == pytest.approx(1, abs=5e-5)


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


@pytest.mark.parametrize("start", [0.1, 0.7, 3.3, 1e6 + 0.1])
def test_a_rounding_error_does_not_make_strangers_of_neighbours(start: float) -> None:
    value = loss("lyu-2017", [start], [start + 0.3], [B], epsilon=1, sensitivity=0.3)
    assert 0 < value <= 0.25


def test_gaps_of_below_break_the_guarantee() -> None:
    # Alg. 1 at epsilon 1 and c = 1, releasing q + nu - rho of ten BELOW and an ABOVE. Half of them rise and half fall,
    # so that no shift of rho pays for any: eleven queries cost 11/4.
    rho, nu, gaps = NoiseLaw(scale=2.0), NoiseLaw(scale=4.0), np.array([-60.0] * 5 + [60.0] * 6)

    def log_density(q: np.ndarray) -> float:
        def log_f(z: Points) -> np.ndarray:
            return rho.log_weight(z.value) + nu.log_weight(z.past(q - gaps)).sum(axis=0)

        breaks = np.unique(np.append(q - gaps, 0.0))
        return log_integral(log_f, breaks, -math.inf, math.inf, lattice=False, finest=0.3, layer=4.0)

    moved = np.array([1.0] * 5 + [-1.0] * 6)
    assert log_density(np.zeros(11)) - log_density(moved) == pytest.approx(2.75, abs=1e-6)


def test_the_gap_of_an_above_costs_nothing_more() -> None:
    rng = np.random.default_rng(5)
    rho, nu = NoiseLaw(scale=2.0), NoiseLaw(scale=4.0)
    for _ in range(200):
        here = rng.normal(size=4) * 8
        there, gap = here + rng.uniform(-1, 1, 4), abs(rng.normal() * 8)

        def log_density(q: np.ndarray, gap: float = gap) -> float:
            def log_f(z: Points) -> np.ndarray:
                gaps = nu.log_weight(z.past(q[3:] - gap)).sum(axis=0)
                return rho.log_weight(z.value) + nu.log_below(z.past(q[:3])).sum(axis=0) + gaps

            breaks = np.unique(np.concatenate((q[:3], q[3:] - gap, [0.0])))
            return log_integral(log_f, breaks, -math.inf, math.inf, lattice=False, finest=0.5, layer=4.0)

        assert abs(log_density(here) - log_density(there)) <= 1 + 1e-9


@pytest.mark.parametrize(("here", "there"), [(10**15, 10**15 + 2), (10**17, 10**17 + 64), (2**61, 2**62)])
def test_large_whole_numbers_more_than_a_person_apart_are_no_neighbours(here: int, there: int) -> None:
    with pytest.raises(sg.ParameterError, match="^neighbour must differ"):
        loss("lyu-2017", [here], [there], [True], threshold=here, epsilon=1)


def test_differences_of_huge_whole_numbers_do_not_wrap_around() -> None:
    assert log_probability("lyu-2017", [2**62], [True], threshold=-(2**62), epsilon=1) == pytest.approx(0)
