"""The lattice: fixed by public numbers, rounding down, sensitivity never understated."""

from __future__ import annotations

import math
from collections import UserList, deque
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas
import polars
import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sparsegate.errors import ParameterError
from sparsegate.gates.laplace import laplace
from sparsegate.gates.lattice import LIMIT, Lattice

LARGEST = float(np.finfo(np.float64).max)

FLOATS = st.floats(min_value=-1e9, max_value=1e9)


@given(FLOATS, FLOATS, st.floats(min_value=1e-3, max_value=1e3))
def test_neighbouring_answers_land_at_most_the_lattice_sensitivity_apart(x, y, delta):
    lattice = Lattice.fit(sensitivity=delta)
    low, high = sorted((Fraction(x), Fraction(y)))
    high = min(high, low + Fraction(delta))
    assert 0 <= lattice.steps(high) - lattice.steps(low) <= lattice.sensitivity
    assert lattice.granularity <= Fraction(delta) / 1024 < 2 * lattice.granularity


def test_a_tiny_negative_number_on_a_coarse_lattice_still_rounds_down():
    coarse = Lattice.fit(sensitivity=2.0**30)
    assert coarse.steps(-5e-324) == coarse.steps_many(np.array([-5e-324]))[0] == -1


@pytest.mark.parametrize(
    ("parameter", "bad"),
    [("sensitivity", bad) for bad in (0, -1, math.nan, math.inf, "1", None, True)]
    + [("granularity", bad) for bad in (0, -2, 0.3, 3, math.nan)],
)
def test_a_bad_step_or_sensitivity_is_refused(parameter, bad):
    with pytest.raises(ParameterError) as caught:
        Lattice.fit(**{"sensitivity": 1, parameter: bad})
    assert caught.value.parameter == parameter


@pytest.mark.parametrize("bad", [math.nan, math.inf, 0.5, 2**62, 1e300, "secret", None, 3j, True])
def test_a_bad_threshold_is_refused(bad):
    lattice = Lattice.fit(sensitivity=1)
    for call in (lambda: lattice.steps(bad), lambda: lattice.steps_many([1, bad])):
        with pytest.raises(ParameterError, match="^thresholds? must"):
            call()


NO_NUMBERS = ["secret", None, 3j, True, np.True_, np.longdouble(3), np.timedelta64(5, "ns"), Decimal(3), [3]]


@pytest.mark.parametrize("bad", NO_NUMBERS)
@pytest.mark.parametrize("sensitivity", [1, 1.0])
def test_a_type_that_is_no_number_is_refused_without_being_shown(bad, sensitivity):
    lattice = Lattice.fit(sensitivity=sensitivity)
    for call in (lambda: lattice.private_steps(bad), lambda: lattice.private_steps_many([1, bad])):
        with pytest.raises(ParameterError, match="^answers? must") as caught:
            call()
        assert "secret" not in str(caught.value)
        assert "got" not in str(caught.value)


@pytest.mark.parametrize("dtype", ["longdouble", "complex128", "bool", "m8[ns]", "U3"])
def test_arrays_of_no_numbers_are_refused_by_their_type(dtype):
    for sensitivity in (1, 1.0):
        with pytest.raises(ParameterError, match="^answers must"):
            Lattice.fit(sensitivity=sensitivity).private_steps_many(np.zeros(3, dtype=dtype))


@pytest.mark.parametrize("value", [3.5, 3.0, math.nan, math.inf, 1e300, np.float32(2), Fraction(4, 1), Fraction(1, 3)])
def test_an_integer_lattice_refuses_floats_and_fractions_by_their_type(value):
    lattice = Lattice.fit(sensitivity=1)
    texts = set()
    for call in (
        lambda: lattice.private_steps(value),
        lambda: lattice.private_steps_many([1, value]),
        lambda: lattice.private_steps_many(np.array([value])),
    ):
        with pytest.raises(ParameterError, match="must be a whole number, an int by its type") as caught:
            call()
        texts.add(str(caught.value).replace("answers", "answer"))
    assert len(texts) == 1


LATTICES = [
    Lattice.fit(sensitivity=1),
    Lattice.fit(sensitivity=7, granularity=4),
    Lattice.fit(sensitivity=1.0),
    Lattice.fit(sensitivity=1024.0),
    Lattice.fit(sensitivity=3, granularity=2.0**-80),
    Lattice.fit(sensitivity=2.0**900),
    Lattice.fit(sensitivity=2.0**-900),
    Lattice.fit(sensitivity=2.0**989),
]
WHOLE = st.one_of(
    st.integers(),
    st.sampled_from([0, 2**53 + 1, LIMIT, LIMIT + 1, -LIMIT - 1, 2**63 - 1, -(2**63), 2**64 - 1, 2**64, -(10**400)]),
)
NUMBERS = st.one_of(WHOLE, st.floats(), st.fractions(), st.builds(np.float32, st.floats(width=32)))


def accepted(lattice: Lattice, kinds: st.SearchStrategy[object] = NUMBERS) -> st.SearchStrategy[object]:
    return WHOLE if lattice.integers else kinds


def exact_place(lattice: Lattice, value: object) -> int:
    """The definition, in exact arithmetic."""
    if isinstance(value, float | np.floating) and not math.isfinite(value):
        value = math.copysign(lattice.largest, value) if not math.isnan(value) else -lattice.largest
    exact = Fraction(float(value) if isinstance(value, np.floating) else value)
    return max(-LIMIT, min(LIMIT, math.floor(exact / lattice.granularity)))


@given(st.sampled_from(LATTICES), st.data())
def test_every_value_of_an_accepted_type_has_the_place_that_was_defined(lattice, data):
    value = data.draw(accepted(lattice))
    assert lattice.private_steps(value) == exact_place(lattice, value)


@pytest.mark.parametrize("sequence", [list, tuple, deque, UserList])
def test_numpy_rounds_no_number_of_any_sequence(sequence):
    lattice = Lattice.fit(sensitivity=1, granularity=1)
    assert lattice.private_steps_many(sequence([2**53 + 1, 3.0])).tolist() == [2**53 + 1, 3]


@given(
    st.sampled_from(LATTICES),
    st.one_of(
        *(arrays(kind, st.integers(0, 6)) for kind in ("i1", "i4", "i8", "u2", "u8", "f2", "f4", "f8", ">i8", ">f8"))
    ),
)
def test_arrays_have_the_places_that_their_numbers_have(lattice, array):
    if lattice.integers and array.dtype.kind == "f":
        return
    assert lattice.private_steps_many(array).tolist() == [lattice.private_steps(value) for value in array]


@pytest.mark.parametrize("lattice", LATTICES[2:])
def test_nan_is_read_as_minus_infinity(lattice):
    lowest = lattice.private_steps(-math.inf)
    assert lattice.private_steps(math.nan) == lowest == -lattice.private_steps(math.inf) - (lattice.exponent > 962)
    assert lattice.private_steps_many(np.array([math.nan, -math.nan])).tolist() == [lowest] * 2


def test_neighbouring_integers_do_not_end_two_steps_apart_because_a_float_is_beside_them():
    lattice = Lattice.fit(sensitivity=1, granularity=1)
    here, there = (lattice.private_steps_many([2**53 + k, 3.0])[0] for k in (1, 2))
    assert there - here == 1


def test_two_dimensional_and_ragged_answers_are_refused():
    lattice = Lattice.fit(sensitivity=1)
    for bad in ([[1, 2], [3, 4]], [[1], [2, 3]], 5, np.zeros((2, 2)), [np.zeros(2), np.zeros(2)]):
        for places in (lattice.steps_many, lattice.private_steps_many):
            with pytest.raises(ParameterError, match="one-dimensional"):
                places(bad)


COLUMNS = {
    "pandas": lambda cells: pandas.Series(cells, dtype="Int64"),
    "pandas-array": lambda cells: pandas.array(cells, dtype="Int64"),
    "pandas-arrow": lambda cells: pandas.Series(cells, dtype="int64[pyarrow]"),
    "polars": lambda cells: polars.Series(cells, dtype=polars.Int64),
    "pyarrow": lambda cells: pyarrow.array(cells, pyarrow.int64()),
    "pyarrow-chunked": lambda cells: pyarrow.chunked_array([cells], pyarrow.int64()),
}


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("lattice", [Lattice.fit(sensitivity=1), Lattice.fit(sensitivity=1, granularity=1)], ids=str)
def test_an_empty_group_in_a_column_moves_no_other_answer_and_refuses_none(column, lattice):
    answers = [2**53 + 1, 3, -5]
    for last in (None, 7):
        places = lattice.private_steps_many(COLUMNS[column]([*answers, last])).tolist()
        assert places == [*answers, -LIMIT if last is None else 7]


def test_unsigned_numbers_on_a_lattice_coarser_than_they_are():
    lattice = Lattice.fit(sensitivity=2.0**74)
    assert lattice.exponent == 64
    assert lattice.private_steps_many(np.array([2**64 - 1, 0], dtype=np.uint64)).tolist() == [0, 0]


def test_a_number_of_a_class_that_misreports_itself_has_its_own_place():
    class Odd(int):
        def __int__(self) -> int:
            raise RuntimeError("secret")

        __index__ = __float__ = __int__

    class OddFloat(float):
        def __float__(self) -> float:
            raise RuntimeError("secret")

    lattice = Lattice.fit(sensitivity=1.0)
    assert [lattice.private_steps(value) for value in (Odd(5), OddFloat(5))] == [5 * 1024] * 2
    assert lattice.private_steps_many([Odd(5), OddFloat(5)]).tolist() == [5 * 1024] * 2


def test_a_place_beyond_all_floats_is_the_largest_and_no_error():
    lattice = Lattice.fit(sensitivity=2.0**989)
    top = lattice.private_steps(math.inf)
    far = np.array([top + 10, -top - 10])
    assert [lattice.value(int(steps)) for steps in far] == lattice.values(far).tolist() == [LARGEST, -LARGEST]
    assert lattice.value(top) <= LARGEST
    results = {laplace(math.inf, epsilon=1, sensitivity=2.0**989) for _ in range(20)}
    assert max(results) <= LARGEST
