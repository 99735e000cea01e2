"""The lattice: fixed by public numbers, rounding down, sensitivity never understated."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsegate.errors import ParameterError
from sparsegate.mechanisms.lattice import LIMIT, Lattice

FLOATS = st.floats(min_value=-1e9, max_value=1e9)


@given(FLOATS, FLOATS, st.floats(min_value=1e-3, max_value=1e3))
def test_neighbouring_answers_land_at_most_the_lattice_sensitivity_apart(x: float, y: float, delta: float) -> None:
    lattice = Lattice.fit(sensitivity=delta)
    low, high = sorted((Fraction(x), Fraction(y)))
    high = min(high, low + Fraction(delta))
    assert 0 <= lattice.steps(high) - lattice.steps(low) <= lattice.sensitivity
    assert lattice.granularity <= Fraction(delta) / 1024 < 2 * lattice.granularity


@given(st.lists(FLOATS, max_size=30), st.sampled_from([1.0, 0.3, 2.0**-20, 1e5, 2.0**20]))
def test_an_array_is_rounded_as_its_numbers_are(values: list[float], delta: float) -> None:
    lattice = Lattice.fit(sensitivity=delta)
    assert lattice.steps_many(np.array(values, dtype=np.float64)).tolist() == [lattice.steps(v) for v in values]


@given(st.lists(st.integers(-(10**12), 10**12), max_size=30), st.sampled_from([None, 4, 2.0**-10]))
def test_whole_numbers_are_rounded_the_same_in_every_container(values: list[int], granularity: object) -> None:
    lattice = Lattice.fit(sensitivity=3, granularity=granularity)  # type: ignore[arg-type]
    one_by_one = [lattice.steps(v) for v in values]
    assert lattice.steps_many(values).tolist() == one_by_one
    assert lattice.steps_many(np.array(values, dtype=object)).tolist() == one_by_one


def test_a_tiny_negative_number_on_a_coarse_lattice_still_rounds_down() -> None:
    coarse = Lattice.fit(sensitivity=2.0**30)
    assert coarse.steps(-5e-324) == coarse.steps_many(np.array([-5e-324]))[0] == -1


def test_ints_make_an_integer_lattice_and_floats_do_not() -> None:
    assert Lattice.fit(sensitivity=1, threshold=5).integers
    assert not Lattice.fit(sensitivity=1.0, threshold=5).integers
    assert not Lattice.fit(sensitivity=1, threshold=5.0).integers
    assert Lattice.fit(sensitivity=np.int64(2), threshold=np.int32(5)).sensitivity == 2


def test_values_come_back_in_units_of_the_step() -> None:
    lattice = Lattice.fit(sensitivity=1.0)
    assert lattice.value(lattice.steps(2.75)) == 2.75
    assert lattice.values(np.array([1024])).tolist() == [1.0]
    assert type(Lattice.fit(sensitivity=1).value(3)) is int


@pytest.mark.parametrize("bad", [0, -1, math.nan, math.inf, "1", None, True])
def test_a_sensitivity_that_is_no_positive_number_is_refused(bad: object) -> None:
    with pytest.raises(ParameterError, match="^sensitivity must be a positive"):
        Lattice.fit(sensitivity=bad)  # type: ignore[arg-type]


@pytest.mark.parametrize("bad", [0, -2, 0.3, 3, math.nan])
def test_a_granularity_that_is_no_power_of_two_is_refused(bad: object) -> None:
    with pytest.raises(ParameterError, match="^granularity must be a power of two"):
        Lattice.fit(sensitivity=1, granularity=bad)  # type: ignore[arg-type]


@pytest.mark.parametrize("bad", [math.nan, math.inf, 0.5, 2**62, 1e300, "secret", None, 3j])
def test_a_bad_answer_is_refused_without_being_shown(bad: object) -> None:
    lattice = Lattice.fit(sensitivity=1)
    for call in (lambda: lattice.steps(bad), lambda: lattice.steps_many([1, bad])):  # type: ignore[list-item]
        with pytest.raises(ParameterError, match="^answers? must") as caught:
            call()
        assert "secret" not in str(caught.value)
        assert "got" not in str(caught.value)


@pytest.mark.parametrize("kind", [np.int64, np.uint64, np.float64])
def test_arrays_beyond_the_limit_are_refused(kind: type) -> None:
    lattice = Lattice.fit(sensitivity=1)
    assert lattice.steps_many(np.array([2**60], dtype=kind)).tolist() == [2**60]
    with pytest.raises(ParameterError, match=r"within 2\*\*61"):
        lattice.steps_many(np.array([LIMIT * 2], dtype=kind))
    fine = Lattice.fit(sensitivity=1, granularity=2.0**-40)
    with pytest.raises(ParameterError, match=r"within 2\*\*61"):
        fine.steps_many(np.array([2**30], dtype=kind))


def test_two_dimensional_and_ragged_answers_are_refused() -> None:
    lattice = Lattice.fit(sensitivity=1)
    for bad in ([[1, 2], [3, 4]], [[1], [2, 3]], 5):
        with pytest.raises(ParameterError, match="one-dimensional"):
            lattice.steps_many(bad)  # type: ignore[arg-type]
