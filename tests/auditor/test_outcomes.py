"""Equal outcomes get equal words and columns, different ones do not; nonsense is refused by name."""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsegate.auditor.lookup import Lookup, keys
from sparsegate.auditor.outcomes import BITS, Encoder, Sample, joined, shown
from sparsegate.errors import ParameterError


class Side(enum.Enum):
    LEFT = 1


@dataclass(frozen=True)
class Answer:
    above: bool
    estimate: float | None = None


SCALARS = st.one_of(
    st.booleans(), st.integers(-5, 5), st.sampled_from([0.5, math.inf]), st.sampled_from(["a", "b", ""]), st.none()
)
OUTCOMES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=4).map(tuple), max_leaves=8)


def words_and_columns(sample: Sample) -> list[tuple]:
    return [
        (w, *("nan" if math.isnan(x) else x for x in row)) for w, row in zip(sample.word, sample.columns, strict=True)
    ]


def canonical(value: object) -> object:
    if isinstance(value, tuple):
        return tuple(canonical(part) for part in value)
    return (type(value) if isinstance(value, bool | str | None) else float, value)


@given(st.lists(OUTCOMES.filter(lambda outcome: outcome is not None), min_size=2, max_size=6))
def test_outcomes_are_told_apart_exactly_where_they_differ(outcomes: list) -> None:
    sample = Encoder("test").encode(outcomes, len(outcomes))
    codes = words_and_columns(sample)
    names = keys(sample.word, sample.columns)
    for i, one in enumerate(outcomes):
        for j, other in enumerate(outcomes):
            same = canonical(one) == canonical(other)
            assert (codes[i] == codes[j]) == same
            assert (names[i] == names[j]) == same


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        (True, "True"),
        (np.True_, "True"),
        (3, "3"),
        (np.float32(0.5), "0.5"),
        (Fraction(1, 4), "0.25"),
        (Decimal("1.5"), "1.5"),
        (10**400, "inf"),
        (-(10**400), "-inf"),
        (math.nan, "nan"),
        ("yes", "'yes'"),
        (b"no", "b'no'"),
        (Side.LEFT, "Side.LEFT"),
        ((), "()"),
        ([1, "a", [True, None]], "(1, 'a', (True, None))"),
        (np.array([[1, 2], [3, 4]]), "((1, 2), (3, 4))"),
        (Answer(True, 2.5), "Answer(True, 2.5)"),
        (Answer(False), "Answer(False, None)"),
        ({"b": 2, "a": 1}, "{('a', 1), ('b', 2)}"),
        ({3, 1}, "{1, 3}"),
        ((True,) * 45, "(" + ", ".join(["True"] * 45) + ")"),
    ],
)
def test_every_kind_of_outcome_is_taken_and_said_again(outcome: object, words: str) -> None:
    encoder = Encoder("test")
    sample = encoder.encode([outcome], 1)
    word = int(sample.word[0])
    assert shown(encoder.shapes[word >> BITS], word, sample.columns[0]) == words


@pytest.mark.parametrize(
    "table",
    [
        np.array([[True, False, True], [False, False, True]]),
        np.array([[1, 2], [3, 4]]),
        np.array([0.5, -0.0, math.inf]),
        np.array([True, False]),
        np.arange(100).reshape(2, 50) % 2 == 0,
        np.arange(12).reshape(2, 3, 2),
    ],
    ids=["bits", "integers", "scalars", "truths", "many bits", "boxes"],
)
def test_an_array_means_the_same_as_a_list_of_its_rows(table: np.ndarray) -> None:
    encoder = Encoder("test")
    fast = encoder.encode(table, len(table))
    slow = encoder.encode([row.reshape(-1) if table.ndim > 1 else row for row in table], len(table))
    assert fast.word.tolist() == slow.word.tolist()
    assert np.array_equal(fast.columns, slow.columns)


def test_arrays_side_by_side_mean_tuples() -> None:
    encoder = Encoder("test")
    bits, values = np.array([[True, False], [False, True]]), np.array([1.5, 2.5])
    beside = encoder.encode((bits, values), 2)
    rows = encoder.encode([((True, False), 1.5), ((False, True), 2.5)], 2)
    assert words_and_columns(beside) == words_and_columns(rows)


def test_structured_arrays_and_arrays_of_strings_are_taken() -> None:
    encoder = Encoder("test")
    table = np.array([(True, 2.0), (False, 3.0)], dtype=[("above", bool), ("value", float)])
    rows = encoder.encode([(True, 2.0), (False, 3.0)], 2)
    assert words_and_columns(encoder.encode(table, 2)) == words_and_columns(rows)
    assert len(set(encoder.encode(np.array(["a", "b", "a"]), 3).word.tolist())) == 2
    mixed = encoder.encode((np.array(["a", "b"]), np.array([1, 2])), 2)
    assert words_and_columns(mixed) == words_and_columns(encoder.encode([("a", 1), ("b", 2)], 2))


def test_minus_zero_is_zero_and_there_is_one_nan() -> None:
    words = np.zeros(4, dtype=np.int64)
    columns = np.array([[0.0], [-0.0], [math.nan], [-math.nan]])
    first, second, third, fourth = keys(words, columns)
    assert first == second != third == fourth


def test_a_frozen_encoder_calls_new_shapes_unknown() -> None:
    encoder = Encoder("test")
    encoder.encode(["a"], 1)
    encoder.frozen = True
    assert encoder.encode(["a", "b"], 2).word.tolist() == [0, -1]
    assert encoder.encode(np.array([[1.0, 2.0]]), 1).word.tolist() == [-1]


def test_samples_of_different_width_are_joined_with_nan() -> None:
    encoder = Encoder("test")
    both = joined([encoder.encode([(1,)], 1), encoder.encode([(1, 2)], 1)])
    assert np.array_equal(both.columns, [[1, math.nan], [1, 2]], equal_nan=True)


@given(st.lists(st.integers(0, 2**64 - 1), min_size=1, unique=True), st.lists(st.integers(0, 2**64 - 1)))
def test_a_lookup_finds_what_it_knows_and_nothing_else(known: list[int], wanted: list[int]) -> None:
    for values in (known, [value % 1000 for value in known]):
        listed = sorted(set(values))
        asked = [*wanted, *values]
        found = Lookup(np.array(listed, dtype=np.uint64))(np.array(asked, dtype=np.uint64))
        assert found.tolist() == [listed.index(key) if key in listed else len(listed) for key in asked]


@pytest.mark.parametrize(
    ("raw", "rule"),
    [
        (None, "as a list or an array, my.mech returned None"),
        (7, "as a list or an array, my.mech returned an int"),
        ("abc", "as a list or an array, my.mech returned a str"),
        ({1, 2, 3}, "as a list or an array, my.mech returned a set"),
        (np.float64(1.0), "as a list or an array"),
        (np.array(1.0), "my.mech returned one instead of 3"),
        (np.zeros(4), "my.mech returned 4 instead of 3"),
        ((np.zeros(3), np.zeros(2)), "my.mech returned 2 instead of 3"),
        ([1, 2], "my.mech returned 2 instead of 3"),
        ([1, None, 2], "but my.mech returned None"),
        ([1, object(), 2], "but my.mech returned an object"),
        ([1, 1j, 2], "but my.mech returned a complex"),
        ([1, (0,) * 5000, 2], "at most 4096 parts"),
    ],
)
def test_nonsense_is_refused_by_name(raw: object, rule: str) -> None:
    with pytest.raises(ParameterError, match=rule):
        Encoder("my.mech").encode(raw, 3)


def test_an_outcome_that_holds_itself_is_refused() -> None:
    loop: list = []
    loop.append(loop)
    with pytest.raises(ParameterError, match="holds itself"):
        Encoder("my.mech").encode([loop], 1)
