"""When an item is selected: hazards against the laws of the noise, and what the simulator needs of every law."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sparsegate.paper.simulation import (
    EXPONENTIAL,
    LAPLACE,
    NOISELESS_PASS,
    ONE_SIDED,
    ONE_SIDED_PASS,
    TRAVERSAL,
    ClockLaw,
    positive,
)

Z = np.linspace(-9, 9, 37)


def array(*values: float) -> np.ndarray:
    return np.array(values)


def rung(law: ClockLaw, z: Any, time: float) -> Any:
    """The probability to have rung."""
    return -np.expm1(-law.hazard(z, array(time)))


def test_a_traversal_compares_in_every_pass_at_a_uniform_place() -> None:
    tail, law = stats.laplace.sf(-Z), TRAVERSAL
    assert positive(Z) == pytest.approx(tail, rel=1e-12)
    for passes in (1, 2, 7):
        assert rung(law, Z, passes) == pytest.approx(1 - (1 - tail) ** passes, rel=1e-9)
    for share in (0.1, 0.5, 0.999):
        inside = -np.expm1(law.hazard(Z, array(3.0)) - law.hazard(Z, array(3 + share)))
        assert inside == pytest.approx(tail * share, rel=1e-9)


@pytest.mark.parametrize(("law", "noise"), [(LAPLACE, stats.laplace), (ONE_SIDED, stats.expon)])
@pytest.mark.parametrize("time", [0.01, 1.0, 30.0])
def test_an_item_has_rung_when_its_noise_passes_the_bar(law: ClockLaw, noise: Any, time: float) -> None:
    chance = noise.sf(-(Z + np.log(time)))
    assert rung(law, Z, time) == pytest.approx(chance, abs=1e-12)
    assert (chance <= law.rate(Z) * time + 1e-12).all()
    inside = (chance > 1e-9) & (chance < 1 - 1e-9)
    assert law.time(Z[inside], law.hazard(Z[inside], array(time))) == pytest.approx(time, rel=1e-5)


@pytest.mark.parametrize(
    ("law", "chance"), [(ONE_SIDED_PASS, stats.expon.sf(-Z)), (NOISELESS_PASS, np.heaviside(Z, 1))]
)
@pytest.mark.parametrize("time", [0.01, 0.7, 1.0])
def test_in_one_pass_an_item_has_rung_when_it_came_and_was_positive(law: ClockLaw, chance: Any, time: float) -> None:
    assert rung(law, Z, time) == pytest.approx(chance * time, abs=1e-12)
    inside = (chance > 0) & (chance * time < 1)
    assert law.time(Z[inside], law.hazard(Z[inside], array(time))) == pytest.approx(time, rel=1e-9)


@pytest.mark.parametrize("law", [TRAVERSAL, EXPONENTIAL], ids=["traversal", "exponential"])
@given(z=st.floats(-20, 8), higher=st.floats(0, 5), time=st.floats(0.01, 50), longer=st.floats(0, 5))
def test_hazard_grows_with_the_score_and_with_time_and_has_an_inverse(
    law: ClockLaw, z: float, higher: float, time: float, longer: float
) -> None:
    hazard = law.hazard(array(z), array(time))
    assert -np.expm1(-hazard) <= time * law.rate(array(z)) * (1 + 1e-12)
    assert (hazard <= law.hazard(array(z + higher), array(time)) * (1 + 1e-12)).all()
    assert (hazard <= law.hazard(array(z), array(time + longer)) * (1 + 1e-12)).all()
    assert law.time(array(z), hazard) == pytest.approx(time, rel=1e-5)
