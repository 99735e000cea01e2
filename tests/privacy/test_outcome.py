"""ln Pr[A(D) = a] against mpmath, closed forms and sums over all noise."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from numpy.typing import NDArray
from tests.support import exact_reference as reference

import sparsegate as sg
from sparsegate.gates.variants import Scales
from sparsegate.privacy import log_probability

B, A = False, True
TOLERANCE = 1e-10


def close(value: float, exact: object) -> bool:
    """Relative error of the probability, not of its logarithm."""
    return abs(mpmath.expm1(mpmath.mpf(value) - exact)) <= TOLERANCE


def answer_queries(q: NDArray[np.int64] | list[float], outcome: list[bool]) -> list[reference.Query]:
    return [("answer", float(place), above) for place, above in zip(q, outcome, strict=True)]


@pytest.mark.parametrize(
    ("rho", "nu", "q", "outcome"),
    [
        (2, 8, [0, 0], [B, A]),
        (2, 8, [3, -5, 0, 12, 3], [B, A, B, B, A]),
        (10, 1, [0.5, -0.25, 7], [A, B, B]),
        (1, 30, [100, 90, -200], [B, B, A]),  # about 1e-5
        (1, 1, [60, 70, 80, -90, -100], [B, B, B, A, A]),  # about 1e-150
        (1, 1, [100, 120, 140, -150, -180], [B, B, B, A, A]),  # about 1e-300
        (1e6, 1, [1e6 + 1, 1e6, 1e6 - 2], [B, A, B]),  # rho far wider than nu, and far from zero
        (1, 1e6, [3, 10, -7], [B, A, B]),
    ],
)
def test_a_transcript_agrees_with_quadrature_at_50_digits(
    rho: float, nu: float, q: list[float], outcome: list[bool]
) -> None:
    value = log_probability("chen-2015", q, outcome, scales=Scales(Fraction(rho), Fraction(nu), None))
    assert close(value, reference.by_quadrature(rho, nu, answer_queries(q, outcome)))


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("lattice", [False, True], ids=["continuous", "lattice"])
def test_a_random_transcript_agrees_with_the_integral_in_closed_form(seed: int, lattice: bool) -> None:
    rng = np.random.default_rng(seed)
    rho, nu = (float(2.0 ** rng.integers(-3, 21)) for _ in range(2))
    n = int(rng.integers(1, 11))
    q = np.round(rng.normal(size=n) * (rho + nu) * 4)
    outcome = [bool(x) for x in rng.random(n) < 0.5]
    scales, noise = Scales(Fraction(rho), Fraction(nu), None), "lattice" if lattice else "continuous"
    value = log_probability("chen-2015", q, outcome, scales=scales, noise=noise)  # type: ignore[arg-type]
    assert close(value, reference.by_expansion(rho, nu, list(zip(q.tolist(), outcome, strict=True)), lattice=lattice))


def test_a_probability_far_below_the_smallest_float_is_right_too() -> None:
    q, outcome = [9000.0, -4000.5, 8000.25], [B, A, B]
    value = log_probability("chen-2015", q, outcome, scales=Scales(Fraction(3), Fraction(2), None))
    assert value < -3000
    assert close(value, reference.by_expansion(3, 2, list(zip(q, outcome, strict=True)), digits=4000))


@pytest.mark.parametrize(("spread", "share"), [(0.05, 0.5), (2.0, 0.1), (30.0, 0.5)])
def test_sixty_distinct_answers_agree_with_the_integral_in_closed_form(spread: float, share: float) -> None:
    rng = np.random.default_rng(3)
    q = np.round(rng.normal(size=60) * spread * 16, 4)
    outcome = [bool(x) for x in rng.random(60) < share]
    value = log_probability("chen-2015", q, outcome, scales=Scales(Fraction(8), Fraction(16), None))
    assert close(value, reference.by_expansion(8, 16, list(zip(q.tolist(), outcome, strict=True)), digits=150))


@pytest.mark.parametrize("seed", range(6))
def test_noise_inside_the_absolute_value_agrees_with_quadrature(seed: int) -> None:
    rng = np.random.default_rng(seed)
    q, e, t = (rng.integers(-12, 13, 4).astype(float) for _ in range(3))
    outcome = [bool(x) for x in rng.random(4) < 0.5]
    queries = [("inside", (abs(b - a), c), o) for a, b, c, o in zip(q, e, t, outcome, strict=True)]
    value = log_probability(
        "hardt-rothblum-2010-indicator",
        q,
        outcome,
        threshold=t,
        estimates=e,
        cutoff=4,
        scales=Scales(Fraction(3), Fraction(5), None),
    )
    assert close(value, reference.by_quadrature(3, 5, queries))


@pytest.mark.parametrize("seed", range(8))
def test_lattice_sums_agree_with_summing_every_value_of_the_noise(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rho, nu = (float(x) for x in rng.choice([0.3, 1.0, 2.5, 6.0], 2))
    q, t = rng.integers(-6, 7, 5), rng.integers(-4, 5, 5)
    outcome = [bool(x) for x in rng.random(5) < 0.5]
    value = log_probability(
        "chen-2015", q, outcome, threshold=t, scales=Scales(Fraction(rho), Fraction(nu), None), noise="lattice"
    )
    queries = [("answer", int(place), above) for place, above in zip(q - t, outcome, strict=True)]
    assert close(value, reference.Lattice(rho, nu).log_probability(queries))


@pytest.mark.parametrize("seed", range(6))
def test_lattice_sums_with_noise_inside_agree_with_summing_every_value(seed: int) -> None:
    rng = np.random.default_rng(100 + seed)
    q, e, t = (rng.integers(-6, 7, 4) for _ in range(3))
    outcome = [bool(x) for x in rng.random(4) < 0.5]
    value = log_probability(
        "hardt-rothblum-2010-indicator",
        q,
        outcome,
        threshold=t,
        estimates=e,
        cutoff=4,
        scales=Scales(Fraction(3), Fraction(2), None),
        noise="lattice",
    )
    queries = [("inside", (abs(int(b - a)), int(c)), o) for a, b, c, o in zip(q, e, t, outcome, strict=True)]
    assert close(value, reference.Lattice(3, 2).log_probability(queries))


def test_an_answer_equal_to_its_threshold_is_above_on_the_lattice() -> None:
    scales = Scales(None, Fraction(3), None)
    p = math.exp(-1 / 3)
    value = log_probability("standard", [5], [A], threshold=5, scales=scales, noise="lattice")
    assert math.exp(value) == pytest.approx(1 / (1 + p), rel=1e-14)


def test_a_fine_lattice_tends_to_continuous_noise() -> None:
    q, outcome = [3.0, -1.0, 2.0], [B, A, B]
    fine = log_probability("lee-clifton-2014", q, outcome, cutoff=2, epsilon=0.3, noise="lattice", granularity=2**-20)
    assert fine == pytest.approx(log_probability("lee-clifton-2014", q, outcome, cutoff=2, epsilon=0.3), abs=1e-5)


@pytest.mark.parametrize("noise", ["continuous", "lattice"])
def test_redrawn_rounds_multiply(noise: str) -> None:
    q, parameters = [3, 0, 1, 9, -2], {"cutoff": 3, "epsilon": 1, "noise": noise}
    whole = log_probability("dwork-roth-2014", q, [B, A, A, B, B], **parameters)
    rounds = [([3, 0], [B, A]), ([1], [A]), ([9, -2], [B, B])]
    assert whole == pytest.approx(
        sum(log_probability("dwork-roth-2014", *part, **parameters) for part in rounds), abs=1e-13
    )


def test_a_released_noisy_answer_is_a_density_times_a_limited_integral() -> None:
    value = log_probability("roth-2011", [4, 1, 2], [B, B, 0.5], epsilon=1)
    below = reference.by_quadrature(2, 2, answer_queries([4.0, 1.0], [B, B]), high=0.5)
    assert close(value, below + mpmath.log(reference.density(mpmath.mpf(2), mpmath.mpf("-1.5"))))


def test_a_released_noisy_error_limits_the_threshold_by_its_distance_from_the_estimate() -> None:
    value = log_probability("hardt-rothblum-2010", [4, 2], [B, 7.5], estimates=[1, 6], threshold=1, epsilon=1)
    below = reference.by_quadrature(2, 4, [("inside", (3, 1), B)], high=0.5)  # |6 - 7.5| - 1
    assert close(value, below + mpmath.log(reference.density(mpmath.mpf(4), mpmath.mpf("5.5"))))


@pytest.mark.parametrize("row", ["roth-2011", "hardt-rothblum-2010"])
def test_numbers_on_the_lattice_add_up_to_the_indicator(row: str) -> None:
    parameters = {"epsilon": 4, "noise": "lattice", "estimates": [1, -2] if row.startswith("hardt") else None}
    numbers = [log_probability(row, [2, 1], [B, number], **parameters) for number in range(-80, 81)]
    assert math.fsum(map(math.exp, numbers)) == pytest.approx(
        math.exp(log_probability(row, [2, 1], [B, A], **parameters))
    )


def test_a_fresh_answer_is_a_factor_outside_the_integral() -> None:
    budget = sg.Budget(threshold_epsilon=0.5, query_epsilon=0.5, answer_epsilon=1)
    value = log_probability("standard", [4, 1], [B, 3.0], budget=budget)
    bare = log_probability("standard", [4, 1], [B, A], budget=budget)
    assert value - bare == pytest.approx(math.log(0.5) - 2, abs=1e-12)


def test_without_query_noise_only_the_gap_between_the_answers_counts() -> None:
    value = log_probability("stoddard-2014", [0, 1, 3], [B, A, A], epsilon=1)
    assert math.exp(value) == pytest.approx((1 - math.exp(-0.5)) / 2, rel=1e-12)


def test_without_any_noise_the_outcome_is_certain() -> None:
    nothing = Scales(None, None, None)
    assert log_probability("stoddard-2014", [0, -1], [A, B], scales=nothing) == 0
    assert log_probability("stoddard-2014", [0, -1], [A, A], scales=nothing) == -math.inf


@pytest.mark.parametrize("noise", ["continuous", "lattice"])
def test_without_threshold_noise_the_answers_are_independent(noise: str) -> None:
    scales = Scales(None, Fraction(5), None)
    parts = [log_probability("standard", [q], [o], scales=scales, noise=noise) for q, o in ((3, B), (-2, A))]
    assert log_probability("standard", [3, -2], [B, A], scales=scales, noise=noise) == pytest.approx(
        sum(parts), abs=1e-14
    )


def test_what_a_row_cannot_produce_has_no_probability() -> None:
    assert log_probability("stoddard-2014", [1, 0], [B, A], epsilon=1) == -math.inf
    assert log_probability("roth-2011", [1], [0.5], epsilon=1, noise="lattice") == -math.inf  # not a lattice point


def test_answers_may_be_given_as_answer_objects() -> None:
    plain = log_probability("lyu-2017", [0, 3], [B, A], epsilon=1)
    assert log_probability("lyu-2017", [0, 3], [sg.BELOW, sg.ABOVE], epsilon=1) == plain
    with_number = log_probability("roth-2011", [0, 3], [sg.BELOW, sg.Answer(True, 2)], epsilon=1)
    assert with_number == log_probability("roth-2011", [0, 3], [B, 2], epsilon=1)


def test_only_differences_from_the_threshold_matter() -> None:
    near = log_probability("lyu-2017", [3, -4], [B, A], epsilon=1)
    far = log_probability("lyu-2017", [10**12 + 3, -4], [B, A], threshold=[10**12, 0], epsilon=1)
    assert near == pytest.approx(far, abs=1e-14)


def test_a_thousand_equal_comparisons_count_as_a_power() -> None:
    value = log_probability("chen-2015", [0] * 1000, [B] * 1000, scales=Scales(Fraction(1), Fraction(1), None))
    # For equal scales the integral of F(z)^n p(z) is 1/(n+1).
    assert value == pytest.approx(-math.log(1001), abs=1e-12)


@pytest.mark.parametrize(
    ("outcome", "parameters"),
    [
        ([A, B], {}),  # goes on after the last positive
        ([A, A], {}),
        ([B], {}),  # too short
        ([B, B, B], {}),  # too long
        ([B, 1], {}),  # a number where none is released
        ([B, 1.5], {}),
        ([B, math.nan], {"row": "roth-2011"}),
        ([B, "ABOVE"], {}),
        ([B, None], {}),
        (True, {}),
        (None, {}),
        ("ab", {}),
        ([sg.Answer(False, 3), A], {"row": "roth-2011"}),
        ([B, A], {"epsilon": None}),
        ([B, A], {"scales": Scales(Fraction(1), Fraction(1), None)}),
        ([B, A], {"allocation": "1:1", "epsilon": None, "budget": sg.Budget(threshold_epsilon=1, query_epsilon=1)}),
        ([B, A], {"noise": "gaussian"}),
        ([B, A], {"granularity": 1}),
        ([B, A], {"monotonic": 1}),
        ([B, A], {"estimates": [0, 0]}),
        ([B, A], {"row": "hardt-rothblum-2010"}),
        ([B, A], {"threshold": [0, 0, 0]}),
        ([B, A], {"answers": [0, math.inf]}),
        ([B, A], {"answers": [[0, 1]]}),
        ([B, A], {"answers": ["0", "1"]}),
        ([B, A], {"sensitivity": 0}),
        ([B, A], {"epsilon": None, "scales": Scales(Fraction(1), Fraction(1), Fraction(1))}),
    ],
)
def test_a_question_that_makes_no_sense_is_refused(outcome: list[object], parameters: dict[str, object]) -> None:
    given = {"row": "lyu-2017", "answers": [0, 1], "epsilon": 1, "outcome": outcome} | parameters
    with pytest.raises(sg.ParameterError):
        log_probability(**given)  # type: ignore[arg-type]
