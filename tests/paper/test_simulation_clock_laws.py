"""The two laws of when an item is selected."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sparsegate.paper.simulation import ClockLaw, ExponentialLaw, TraversalLaw, positive

LAWS = [TraversalLaw(), ExponentialLaw()]
Z = np.linspace(-30, 30, 121)


def array(*values: float) -> np.ndarray:
    return np.array(values)


def test_the_chance_of_a_positive_is_the_tail_of_laplace_noise() -> None:
    assert positive(Z) == pytest.approx(stats.laplace.sf(-Z), rel=1e-12)


@pytest.mark.parametrize("passes", [1, 2, 7])
def test_after_whole_passes_every_comparison_must_have_failed(passes: int) -> None:
    z = Z[Z < 5]
    ringing = -np.expm1(-TraversalLaw().hazard(z, array(passes)))
    assert ringing == pytest.approx(1 - (1 - stats.laplace.sf(-z)) ** passes, rel=1e-9)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.999])
def test_within_a_pass_the_place_of_an_item_is_uniform(share: float) -> None:
    before = TraversalLaw().hazard(Z, array(3.0))
    assert -np.expm1(before - TraversalLaw().hazard(Z, array(3 + share))) == pytest.approx(
        positive(Z) * share, rel=1e-9
    )


def test_peeled_clocks_ring_in_proportion_to_their_weights() -> None:
    assert ExponentialLaw().hazard(array(0.0, 1.0, -2.0), array(2.0)) == pytest.approx(2 * np.exp([0, 1, -2]))


@pytest.mark.parametrize("law", LAWS, ids=lambda law: type(law).__name__)
@given(z=st.floats(-20, 8), time=st.floats(0.01, 50))
def test_time_and_hazard_are_inverse(law: ClockLaw, z: float, time: float) -> None:
    assert law.time(array(z), law.hazard(array(z), array(time))) == pytest.approx(time, rel=1e-5)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: type(law).__name__)
@given(z=st.floats(-20, 20), higher=st.floats(0, 5), time=st.floats(0.01, 50), longer=st.floats(0, 5))
def test_hazard_grows_with_the_score_and_with_time(
    law: ClockLaw, z: float, higher: float, time: float, longer: float
) -> None:
    below, above, later = (
        law.hazard(array(z), array(time)),
        law.hazard(array(z + higher), array(time)),
        law.hazard(array(z), array(time + longer)),
    )
    assert (below <= above * (1 + 1e-12)).all()
    assert (below <= later * (1 + 1e-12)).all()


@pytest.mark.parametrize("law", LAWS, ids=lambda law: type(law).__name__)
@pytest.mark.parametrize("time", [0.2, 1.0, 3.5])
def test_the_rate_bounds_the_probability_to_ring(law: ClockLaw, time: float) -> None:
    assert (-np.expm1(-law.hazard(Z, array(time))) <= time * law.rate(Z) * (1 + 1e-12)).all()


@pytest.mark.parametrize("law", LAWS, ids=lambda law: type(law).__name__)
def test_scores_out_of_all_proportion_do_not_overflow(law: ClockLaw) -> None:
    z = array(-1e6, 1e6)
    assert not np.isnan(law.hazard(z, array(1e5))).any()
    assert not np.isnan(law.time(z, array(1.0))).any()
