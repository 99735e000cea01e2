"""Values as JSON takes them."""

from __future__ import annotations

import json
import math
from enum import Enum
from fractions import Fraction

import numpy as np
import pytest
from tests.support.hostile_settings import hostile_settings

from sparsegate.display.plain import amount_text, exact_text, plain, rounded


class Side(Enum):
    ABOVE = "above"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Fraction(1, 10), "0.1"),
        (Fraction(1, 3), "1/3"),
        (math.inf, "inf"),
        (np.float64("nan"), "nan"),
        (np.int64(7), 7),
        (np.array([1.5, -math.inf]), [1.5, "-inf"]),
        (Side.ABOVE, "above"),
        ({"a": (1, None)}, {"a": [1, None]}),
        (object, "<class 'object'>"),
    ],
)
def test_everything_is_something_that_json_has(value: object, expected: object) -> None:
    assert plain(value) == expected
    json.dumps(plain(value), allow_nan=False)


def test_an_amount_is_the_decimal_that_it_prints_as_and_a_sum_has_two_digits_of_its_bar() -> None:
    assert [amount_text(value) for value in (0.1, 1e-12, 3, Fraction(5, 4))] == ["0.1", "0.000000000001", "3", "1.25"]
    sums = [(123456.789, 0.031), (123456.789, 310.0), (5, 0)]
    assert [rounded(*each) for each in sums] == ["123,456.789", "123,457", "5"]


def test_an_amount_reads_the_same_whatever_the_context_is() -> None:
    amounts = [Fraction(1, 8), Fraction(123_456_789, 10**12), Fraction(20), Fraction(10**4000 + 1, 7**4000)]
    expected = [exact_text(amount) for amount in amounts]
    with hostile_settings("raise"):
        assert [exact_text(amount) for amount in amounts] == expected
