"""The methods: rows of the paper's table with parameters."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from sparsegate.errors import ParameterError
from sparsegate.evaluation import DEFAULT_METHODS, METHODS
from sparsegate.evaluation.methods import method
from sparsegate.mechanisms.variants import VARIANTS

C, EPSILON = 50, 0.1


def test_the_default_methods_are_those_of_the_two_comparisons() -> None:
    assert DEFAULT_METHODS == (
        "svt-dpbook",
        "svt-s-1:1",
        "svt-s-1:3",
        "svt-s-1:c",
        "svt-s-1:c23",
        "svt-retr-1d",
        "svt-retr-2d",
        "svt-retr-3d",
        "svt-retr-4d",
        "svt-retr-5d",
        "em",
    )


@pytest.mark.parametrize(
    ("key", "threshold", "query"),
    [
        ("svt-dpbook", C / 0.05, 2 * C / 0.05),
        ("svt-s-1:1", 1 / 0.05, C / 0.05),
        ("svt-s-1:3", 1 / 0.025, C / 0.075),
        ("svt-s-1:c", (1 + C) / 0.1, (1 + C) / 0.1),
        ("svt-s-1:c23", (1 + C ** (2 / 3)) / 0.1, C * (1 + C ** (-2 / 3)) / 0.1),
        ("svt-retr-3d", (1 + C ** (2 / 3)) / 0.1, C * (1 + C ** (-2 / 3)) / 0.1),
        ("svt-alg1", 1 / 0.05, 2 * C / 0.05),
        ("svt-dpbook-once", C / 0.05, 2 * C / 0.05),
        ("svt-dpbook-monotonic", C / 0.05, C / 0.05),
        ("em", 0, C / 0.1),
        ("one-shot", 0, C / 0.1),
        ("subset", 0, 2 / 0.1),
        ("noisy-scores-1", 0, 1 / 0.1),
        ("noisy-scores-10", 0, 10 / 0.1),
        ("gumbel", 0, 139.52602887611),
    ],
)
def test_noise_has_the_scales_of_the_paper(key: str, threshold: float, query: float) -> None:
    assert METHODS[key].noise(count=C, epsilon=EPSILON) == pytest.approx((threshold, query), rel=1e-6)


@pytest.mark.parametrize("k", range(6))
def test_retraversal_raises_the_threshold_by_standard_deviations(k: int) -> None:
    row = METHODS[f"svt-retr-{k}d"]
    noise = row.noise(count=C, epsilon=EPSILON)
    assert row.raised(100.0, noise) == pytest.approx(100 + k * math.sqrt(2) * noise.query)


@pytest.mark.parametrize("key", ["stoddard-2014", "chen-2015", "gptt", "hardt-rothblum-2010"])
def test_a_row_that_does_not_select_is_refused(key: str) -> None:
    with pytest.raises(ParameterError, match=r"^row must compare"):
        replace(METHODS["svt-s-1:1"], row=VARIANTS[key])


@pytest.mark.parametrize("change", [{"passes": 2}, {"raise_by": 1}])
def test_a_redrawn_threshold_is_not_traversed_again(change: dict[str, int]) -> None:
    with pytest.raises(ParameterError, match=r"^row must draw"):
        replace(METHODS["svt-dpbook"], **change)


def test_an_unknown_key_is_refused_with_the_keys() -> None:
    with pytest.raises(ParameterError, match=r"^method must be one of svt-dpbook, .*got 'svt'"):
        method("svt")
