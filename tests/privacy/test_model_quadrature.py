"""Gauss rules, for reals and for integers, and integrals of log-concave functions in log space."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from sparsegate.privacy.model import FINE, LogIntegrand, Panels, gauss, graded, log_integral

REALS = np.array([0.0])


def integral(
    log_f: LogIntegrand, breaks: object = REALS, low: float = -math.inf, high: float = math.inf, **more: Any
) -> float:
    """``finest`` and ``layer`` are one number here."""
    options = {"lattice": False, "scale": 1.0} | more
    scale = options["scale"]
    return log_integral(log_f, np.asarray(breaks), low, high, lattice=options["lattice"], finest=scale, layer=scale)


@pytest.mark.parametrize("count", [17, 40, 1000, 10**5])
def test_sums_of_polynomials_over_integers_are_exact_up_to_degree_2n_minus_1(count: int) -> None:
    rule = gauss(Panels(np.array([0.0]), np.array([float(count)])), FINE, lattice=True)
    x = (2 * rule.nodes.value - count - 1) / count
    for degree in (0, 1, 2, 13, 2 * FINE - 2, 2 * FINE - 1):
        k = np.arange(1, count + 1, dtype=np.float64)
        exact = math.fsum(((2 * k - count - 1) / count) ** degree)
        assert float((rule.weights * x**degree).sum()) == pytest.approx(exact, rel=1e-13, abs=1e-10 * count)


def test_a_few_integers_are_summed_one_by_one() -> None:
    rule = gauss(Panels(np.array([4.0]), np.array([7.0])), FINE, lattice=True)
    assert rule.nodes.value[0][rule.weights[0] > 0].tolist() == [5.0, 6.0, 7.0]


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e6, 1e12])
@pytest.mark.parametrize("centre", [0.0, 12345.0])
def test_a_laplace_density_integrates_to_one_at_any_scale(scale: float, centre: float) -> None:
    value = integral(
        lambda z: -np.abs(z.past(np.array([centre]))[0]) / scale - math.log(2 * scale), [centre], scale=scale
    )
    assert value == pytest.approx(0, abs=1e-13)


@pytest.mark.parametrize("scale", [0.05, 1.0, 77.7, 1e6, 1e12])
def test_a_discrete_laplace_mass_sums_to_one_at_any_scale(scale: float) -> None:
    log_peak = math.log(math.tanh(0.5 / scale))
    value = integral(lambda z: log_peak - np.abs(z.value) / scale, lattice=True, scale=scale)
    assert value == pytest.approx(0, abs=1e-13)


def test_a_narrow_peak_far_from_every_break_is_found() -> None:
    value = integral(lambda z: -0.5 * (z.past(np.array([1e7]))[0] / 1e-2) ** 2, [0.0, 3e7], scale=1e-2)
    assert value == pytest.approx(math.log(1e-2 * math.sqrt(2 * math.pi)), abs=1e-12)


def test_a_layer_beside_a_break_far_thinner_than_its_piece_is_seen() -> None:
    # e^z (1 - e^(z/b) / 2) for z <= 0: the layer of width b = 1e-6 takes b/2 of the whole.
    value = integral(lambda z: z.value + np.log1p(-np.exp(z.value / 1e-6) / 2), high=0, scale=1e-6)
    assert math.expm1(value) == pytest.approx(-0.5 / (1 + 1e6), rel=1e-9)


def test_graded_panels_cover_the_line_once_and_keep_the_breaks() -> None:
    breaks = np.array([-70.0, 0.0, 5.0, 1e6])
    for lattice in (True, False):
        panels = graded(breaks, 1000.0, 20.0, lattice=lattice)
        assert (panels.start[1:] == panels.end[:-1]).all()
        assert set(breaks) <= {*panels.start, *panels.end}
        assert (panels.start[0], panels.end[-1]) == (-1070.0, 1e6 + 1000)
