"""One value for each record, in whole steps of a public range: every value has a place, and no type slips through."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsegate.errors import ParameterError
from sparsegate.uses.records import STEPS, public_range, record_steps

pandas = pytest.importorskip("pandas")

VALUES = st.floats() | st.booleans() | st.none() | st.integers(-(10**400), 10**400) | st.fractions()


@pytest.mark.parametrize(
    ("values", "meant"),
    [
        ([True, False, True], [STEPS, 0, STEPS]),
        ([0.5, math.nan, 9], [STEPS // 2, 0, STEPS]),
        (np.array([1, 0, 2], dtype=np.uint8), [STEPS, 0, STEPS]),
        (pandas.Series([True, None, 0.25]), [STEPS, 0, STEPS // 4]),
        (pandas.array([1, None, 0], dtype="Int64"), [STEPS, 0, 0]),
        (pandas.array([True, None, False], dtype="boolean"), [STEPS, 0, 0]),
        (np.ma.masked_array([1, 1, 0], [False, True, True]), [STEPS, 0, 0]),
        (np.ma.masked_array([1, 1], [False, True], dtype=object), [STEPS, 0]),
        ([10**400, -(10**400), Fraction(10**400)], [STEPS, 0, STEPS]),
        (np.array([1, -1], dtype=np.longdouble) * np.finfo(np.longdouble).max, [STEPS, 0]),
        ([], []),
    ],
)
def test_every_number_has_a_place_and_a_gap_the_lowest(values, meant):
    assert record_steps(values, "values", low=0, high=1).tolist() == meant


@given(st.lists(VALUES, max_size=6), VALUES)
def test_a_record_is_read_the_same_whoever_else_is_there(others, value):
    """A list of floats, of truths and of objects is read on three ways; a record's place must not depend on which."""
    (alone,) = record_steps([value], "values", low=-2, high=3)
    assert 0 <= alone <= STEPS
    among = record_steps([*others, value], "values", low=-2, high=3)
    assert among.tolist() == [*record_steps(others, "values", low=-2, high=3), alone]


def test_the_range_of_a_record_is_checked():
    assert public_range(Fraction(1, 2), 3) == (0.5, 3.0)
    for low, high in ((1, 1), (0, math.nan), (0, math.inf), (0, 10**400), (1e16, Fraction(10**16) + Fraction(1, 9))):
        with pytest.raises(ParameterError, match="^low and high must be finite numbers"):
            public_range(low, high)
