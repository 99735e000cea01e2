"""The methods: rows of the paper's table with parameters."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from sparsegate.errors import ParameterError
from sparsegate.gates.approximate import approximate_epsilon
from sparsegate.gates.variants import VARIANTS, Scales
from sparsegate.paper import METHODS

C, EPSILON = 50, 0.1


BEST = (1 + C ** (2 / 3)) / 0.1, C * (1 + C ** (-2 / 3)) / 0.1  # 1:c^(2/3)
NOISE = {
    (C / 0.05, 2 * C / 0.05): ("svt-dpbook", "svt-dpbook-once"),
    (1 / 0.05, C / 0.05): ("svt-s-1:1", "alg-3"),
    (1 / 0.025, C / 0.075): ("svt-s-1:3",),
    ((1 + C) / 0.1, (1 + C) / 0.1): ("svt-s-1:c",),
    BEST: ("svt-s-1:c23", "svt-retr-3d", "svt-exponential"),
    (1 / 0.05, 2 * C / 0.05): ("svt-alg1",),
    (C / 0.05, C / 0.05): ("svt-dpbook-monotonic",),
    (0, C / 0.1): ("em", "one-shot"),
    (0, 2 / 0.1): ("subset",),
    (0, 1 / 0.1): ("noisy-scores-1",),
    (0, 10 / 0.1): ("noisy-scores-10",),
    (0, 139.52602887611): ("gumbel",),
    (1 / 0.025, 1 / 0.075): ("alg-4",),
    ((1 + 3 * C) / 4 / 0.025, (1 + 3 * C) / 4 / 0.075): ("alg-4-true",),
    (1 / 0.05, 0): ("alg-5",),
    (1 / 0.05, 1 / 0.05): ("alg-6",),
    (0.75 * C / 0.05, 0.75 * 2 * C / 0.05): ("svt-dpbook-true",),
    (0.75 / 0.05, 0.75 * 2 * C / 0.05): ("svt-alg1-true",),
}


def test_noise_has_the_scales_of_the_paper() -> None:
    for scales, keys in NOISE.items():
        for key in keys:
            assert METHODS[key].noise(count=C, epsilon=EPSILON) == pytest.approx(scales, rel=1e-6), key


@pytest.mark.parametrize(("key", "factor"), [("svt-s-half-t", 0.5), ("svt-s-double-t", 2), ("svt-s-double-t-retr", 2)])
def test_a_threshold_that_is_off_is_off_by_its_factor_and_has_the_noise_of_the_others(key: str, factor: float) -> None:
    off, right = METHODS[key], METHODS["svt-s-1:c23"]
    noise = off.noise(count=C, epsilon=EPSILON)
    assert noise == right.noise(count=C, epsilon=EPSILON)
    assert (off.raised(100.0, noise), right.raised(100.0, noise)) == (100 * factor, 100)
    assert off.law(count=C, epsilon=EPSILON) != replace(off, threshold_factor=1).law(count=C, epsilon=EPSILON)


@pytest.mark.parametrize("key", METHODS)
def test_the_true_epsilon_of_a_method_is_that_of_its_noise_and_it_is_asked_for_where_it_is_named(key: str) -> None:
    flawed = {"alg-3": math.inf, "alg-4": (1 + 3 * C) / 40, "alg-5": math.inf, "alg-6": math.inf}
    sound = {"svt-dpbook": 0.075, "svt-alg1": 0.075, "svt-dpbook-once": 0.05 / C + 0.025}
    assert METHODS[key].true_epsilon(count=C, epsilon=EPSILON) == pytest.approx(
        {**flawed, **sound}.get(key, EPSILON), rel=1e-9
    )


def test_a_gate_with_a_delta_is_private_with_it_and_has_less_noise_than_without() -> None:
    gate, pure = (METHODS[key].noise(count=C, epsilon=EPSILON) for key in ("svt-delta", "svt-s-1:c23"))
    scales = Scales(Fraction(gate.threshold), Fraction(gate.query), None)
    spent = approximate_epsilon(scales=scales, sensitivity=1, cutoff=C, monotonic=True, delta=Fraction(1, 10**6))
    assert 0.0999 < spent <= EPSILON * (1 + 1e-9)
    assert gate.query < pure.query / 1.4


@pytest.mark.parametrize(
    ("key", "change", "parameter"),
    [
        *(("svt-s-1:1", {"row": VARIANTS[key]}, "row") for key in ("two-sided", "hardt-rothblum-2010")),
        *((key, {"passes": 2}, "row") for key in ("svt-dpbook", "svt-exponential", "alg-5")),
        ("svt-dpbook", {"raise_by": 1}, "row"),
        ("svt-s-1:1", {"passes": 0}, "passes"),
        ("svt-s-1:1", {"threshold_factor": 0}, "threshold_factor"),
        ("alg-6", {"at_true_epsilon": True}, "at_true_epsilon"),
        ("alg-4", {"delta": 1e-6}, "delta"),
        ("one-shot", {"selection": "no-such-thing"}, "selection"),
    ],
)
def test_a_method_that_nobody_can_simulate_is_refused(key: str, change: dict[str, Any], parameter: str) -> None:
    with pytest.raises(ParameterError) as refused:
        replace(METHODS[key], **change)
    assert refused.value.parameter == parameter
