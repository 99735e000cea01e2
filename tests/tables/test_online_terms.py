"""How many answers must be paid for: the bound, the step, and the cutoff derived from them."""

from __future__ import annotations

import math
import re
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsegate.errors import ParameterError
from sparsegate.gates.margin import central_shift
from sparsegate.gates.variants import Scales
from sparsegate.tables.online import BETA, UpdateStep, least_cutoff

SCALES = Scales(Fraction(2), Fraction(30), Fraction(10))


def noise(cutoff: int) -> Scales:
    """The scales of epsilon = 3 in equal shares."""
    return Scales(Fraction(1), Fraction(2 * cutoff), Fraction(cutoff))


@given(st.floats(1, 1e6), st.floats(1, 1e6), st.floats(-1, 1), st.floats(0, 1e6))
def test_a_step_never_passes_the_truth_and_goes_at_least_as_far_as_proved(
    error: float, certain: float, off: float, more: float
) -> None:
    truth, step = error + more, UpdateStep(error, certain, True)
    released = truth + off * certain
    if released > 0:
        moved = step.toward(released)
        assert moved <= truth * (1 + 1e-9)
        assert moved >= error * (error - certain) / (error + certain) * (1 - 1e-9)
        assert step.toward(-released) == -moved


def test_the_step_of_a_large_tolerance_is_that_of_the_theorem() -> None:
    step = UpdateStep.of(tolerance=2000, cutoff=20, scales=SCALES)
    assert step.proved
    shift = central_shift(SCALES, lattice=False)
    assert shift > 30 * math.log(2) / 2
    assert step.error == pytest.approx(2000 + shift - 30 * math.log(600_000) - 4 / 1024, rel=1e-12)
    assert step.certain == pytest.approx(10 * math.log(3 * 20 / BETA))
    least = step.error * (step.error - step.certain) / (step.error + step.certain)
    assert step.updates(cells=99, population=10**4) == pytest.approx(10**8 * math.log(100) / (2 * least**2))


def test_nothing_is_proved_where_the_noise_drowns_the_tolerance() -> None:
    step = UpdateStep.of(tolerance=400, cutoff=20, scales=SCALES)
    assert (step.proved, step.error, step.updates(cells=99, population=10**4)) == (False, 400, math.inf)


@pytest.mark.parametrize("tolerance", [90_000, 150_000, 400_000])
def test_the_least_cutoff_is_enough_and_one_less_is_not(tolerance: float) -> None:
    cutoff = least_cutoff(cells=64, population=10**6, tolerance=tolerance, scales=noise)

    def lasts(tried: int) -> bool:
        step = UpdateStep.of(tolerance=tolerance, cutoff=tried, scales=noise(tried))
        return step.updates(cells=64, population=10**6) < tried

    assert lasts(cutoff)
    assert cutoff == 1 or not lasts(cutoff - 1)


def test_a_tolerance_that_no_cutoff_serves_is_refused_and_the_one_named_instead_is_taken() -> None:
    with pytest.raises(ParameterError, match="^cutoff must be given, or else a tolerance of at least") as caught:
        least_cutoff(cells=64, population=10**6, tolerance=5000, scales=noise)
    named = re.search(r"at least ([0-9,]+):", str(caught.value))
    assert named is not None
    assert least_cutoff(cells=64, population=10**6, tolerance=int(named[1].replace(",", "")), scales=noise) >= 1
