"""The largest noisy scores as first rings: hazards against the laws of the noise, selections against quadrature."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from scipy import stats
from tests.support.goodness import FALSE_ALARM, law_p
from tests.support.noisy_laws import one_sided_law

from sparsegate.paper.simulation import LaplaceLaw, NoiselessPassLaw, OneSidedLaw, OneSidedPassLaw, simulate

Z = np.linspace(-9, 9, 37)


@pytest.mark.parametrize(("law", "noise"), [(LaplaceLaw(), stats.laplace), (OneSidedLaw(), stats.expon)])
@pytest.mark.parametrize("time", [0.01, 1.0, 30.0])
def test_an_item_has_rung_when_its_noise_passes_the_bar(law, noise, time: float) -> None:
    rung = noise.sf(-(Z + np.log(time)))
    assert -np.expm1(-law.hazard(Z, np.array(time))) == pytest.approx(rung, abs=1e-12)
    assert (rung <= law.rate(Z) * time + 1e-12).all()
    inside = (rung > 1e-9) & (rung < 1 - 1e-9)
    assert law.time(Z[inside], law.hazard(Z[inside], np.array(time))) == pytest.approx(time, rel=1e-5)


@pytest.mark.parametrize(
    ("law", "chance"), [(OneSidedPassLaw(), stats.expon.sf(-Z)), (NoiselessPassLaw(), np.heaviside(Z, 1))]
)
@pytest.mark.parametrize("time", [0.01, 0.7, 1.0])
def test_in_one_pass_an_item_has_rung_when_it_came_and_was_positive(law, chance, time: float) -> None:
    assert -np.expm1(-law.hazard(Z, np.array(time))) == pytest.approx(chance * time, abs=1e-12)
    inside = (chance > 0) & (chance * time < 1)
    assert law.time(Z[inside], law.hazard(Z[inside], np.array(time))) == pytest.approx(time, rel=1e-9)


@pytest.mark.parametrize(("epsilon", "right"), [(0.4, True), (0.5, False)])
def test_simulated_selections_follow_the_law_of_exponential_noise(epsilon: float, right: bool) -> None:
    scores = [5, 3, 0]
    seen = Counter(simulate("one-shot", scores, count=1, epsilon=epsilon, runs=20_000, rng=1)[:, 0].tolist())
    law = {item: chance for (item,), chance in one_sided_law(scores, 2.5, 1).items()}
    assert (law_p(seen, law) > FALSE_ALARM) == right
