"""The noise laws in log space, against mpmath and sums over the integers; a law that is not described is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

import mpmath
import numpy as np
import pytest

import sparsegate as sg
from sparsegate.gates.laws import LAWS, GateLaw, NoiseLaw
from sparsegate.noise import discrete_laplace, fill_discrete_laplace

SCALES = (0.02, 0.5, 3.0, 1e3, 1e6)


def masses(scale: float, side: int = 0) -> dict[int, mpmath.mpf]:
    """P[X = k] from its definition: of both sides, of k >= 0 (side 1), of k <= 0 (side -1)."""
    q = mpmath.exp(-1 / mpmath.mpf(scale))
    reach = int(130 * scale) + 40
    total = 1 + q if side == 0 else 1
    return {k: (1 - q) / total * q ** abs(k) for k in range(-reach, reach + 1) if k * side >= 0}


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("side", [0, 1, -1])
def test_continuous_tails_agree_with_mpmath_however_small(scale: float, side: Literal[-1, 0, 1]) -> None:
    law = NoiseLaw(scale=scale, side=side)
    assert law.support == {0: (-np.inf, np.inf), 1: (0, np.inf), -1: (-np.inf, 0)}[side]
    with mpmath.workdps(400):
        for x in (-700.0, -30.0, -1.0, -1e-9, 0.0, 1e-9, 0.3, 5.0, 40.0, 700.0):
            t = x * scale
            beyond = mpmath.exp(-abs(mpmath.mpf(t)) / mpmath.mpf(scale))  # of a one-sided law, on its side
            tail = beyond / 2 if side == 0 else beyond if side * t > 0 else mpmath.mpf(1)
            far, near = (float(mpmath.log(p)) if p > 0 else -np.inf for p in (tail, 1 - tail))
            below, above, weight = (
                float(table(np.array([t]))[0]) for table in (law.log_below, law.log_above, law.log_weight)
            )
            upper_tail = side == 1 or (side == 0 and t > 0)
            assert (below, above) == pytest.approx((near, far) if upper_tail else (far, near), rel=5e-13, abs=0)
            density = mpmath.log(beyond / scale / (2 if side == 0 else 1))
            expected = float(density) if side * t >= 0 else -np.inf
            assert weight == pytest.approx(expected, rel=5e-13, abs=1e-13)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("offset", [0.0, 1e-8, 0.4, 30.0])
def test_continuous_noise_inside_the_absolute_value_agrees_with_mpmath(scale: float, offset: float) -> None:
    law, u = NoiseLaw(scale=scale), offset * scale
    with mpmath.workdps(400):
        for t in (x * scale for x in (1e-9, 0.1, 0.4, 1.0, 29.0, 31.0, 300.0)):
            ends = [(sign * mpmath.mpf(t) - u) / scale for sign in (1, -1)]
            upper, lower = (mpmath.exp(e) / 2 if e < 0 else 1 - mpmath.exp(-e) / 2 for e in ends)
            point, about = np.array([t]), np.array([u])
            inside, outside = (float(mpmath.log(p)) for p in (upper - lower, 1 - (upper - lower)))
            assert float(law.log_inside(point, about)[0]) == pytest.approx(inside, rel=2e-13, abs=1e-300)
            assert float(law.log_outside(point, about)[0]) == pytest.approx(outside, rel=2e-13, abs=1e-15)


@pytest.mark.parametrize("side", [0, 1, -1])
@pytest.mark.parametrize("scale", [0.05, 0.7, 4.0])
def test_discrete_tails_are_sums_of_masses(scale: float, side: Literal[-1, 0, 1]) -> None:
    law = NoiseLaw(scale=scale, lattice=True, side=side)
    with mpmath.workdps(60):
        mass = masses(scale, side)
        for t in (-6, -2, -1, 0, 1, 2, 3, 7):
            below = mpmath.fsum(value for k, value in mass.items() if k < t)
            above = mpmath.fsum(value for k, value in mass.items() if k >= t)
            point, weight = np.array([float(t)]), mass.get(t, mpmath.mpf(0))
            got = [float(table(point)[0]) for table in (law.log_below, law.log_above, law.log_weight)]
            expected = [float(mpmath.log(p)) if p > 0 else -np.inf for p in (below, above, weight)]
            assert got == pytest.approx(expected, rel=1e-13, abs=1e-15)


@pytest.mark.parametrize("scale", [0.3, 0.7, 4.0])
@pytest.mark.parametrize("offset", [0, 1, 5, -3])
def test_noise_inside_the_absolute_value_is_a_sum_of_masses_too(scale: float, offset: int) -> None:
    law = NoiseLaw(scale=scale, lattice=True)
    with mpmath.workdps(60):
        mass = masses(scale)
        for t in (-2, 0, 1, 2, 3, 5, 6, 9, 20):
            inside = mpmath.fsum(value for k, value in mass.items() if abs(offset + k) < t)
            outside = mpmath.fsum(value for k, value in mass.items() if abs(offset + k) >= t)
            point, u = np.array([float(t)]), np.array([float(offset)])
            if inside:
                assert float(law.log_inside(point, u)[0]) == pytest.approx(float(mpmath.log(inside)), rel=1e-12)
            else:
                assert float(law.log_inside(point, u)[0]) == -np.inf
            assert float(law.log_outside(point, u)[0]) == pytest.approx(
                float(mpmath.log(outside)), rel=1e-12, abs=1e-16
            )


class DrawnAlone(GateLaw):
    """A third law, two-sided as Laplace noise is, of which nothing is known but how it is drawn."""

    mark, one_sided, variance = b"?", False, 2
    draw, fill = staticmethod(discrete_laplace), staticmethod(fill_discrete_laplace)


NUMBERS: dict[str, Any] = {"cutoff": 1, "epsilon": 1}
ANALYSES: dict[str, Callable[[sg.variants.Variant], object]] = {
    "tight_epsilon": lambda row: sg.privacy.tight_epsilon(row, **NUMBERS),
    "worst_case": lambda row: sg.privacy.worst_case(row, **NUMBERS),
    "loss": lambda row: sg.privacy.loss(row, [0], [1], [True], **NUMBERS),
    "search": lambda row: sg.privacy.search(row, queries=1, **NUMBERS),
    "renyi": lambda row: sg.privacy.renyi(row, 2, **NUMBERS),
    "gate": lambda row: sg.variants.gate(row, threshold=0, sensitivity=1, **NUMBERS),
    "run": lambda row: sg.run(row, [0], **NUMBERS),
}


@pytest.mark.parametrize("described", [False, True])
@pytest.mark.parametrize("analysis", ANALYSES)
def test_a_third_law_is_refused_by_name_and_never_taken_for_laplace_noise(
    analysis: str, described: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    third = object.__new__(sg.variants.Noise)
    third._name_, third._value_ = "THIRD", "a third law"
    row = replace(sg.VARIANTS["lyu-2017"], noise=third)
    if described:
        monkeypatch.setitem(LAWS, "THIRD", DrawnAlone())  # type: ignore[arg-type]
    with pytest.raises(sg.ParameterError) as refusal:
        ANALYSES[analysis](row)
    assert refusal.value.parameter == "noise"
    assert ("DrawnAlone" if described else "THIRD") in str(refusal.value)
    ANALYSES[analysis](sg.VARIANTS["lyu-2017"])  # which has Laplace noise, and the same numbers
