"""Equal outcomes get equal words and columns, different ones do not; nonsense is refused by name."""

from __future__ import annotations

import enum
import itertools
import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsegate.auditor.encoding import BITS, Encoder, Sample, joined, outcome_text
from sparsegate.auditor.events import keys
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
    codes = list(
        zip(words_and_columns(sample), keys(sample.word, sample.columns), map(canonical, outcomes), strict=True)
    )
    for one, other in itertools.combinations(codes, 2):
        assert (one[0] == other[0]) == (one[1] == other[1]) == (one[2] == other[2])


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
    assert outcome_text(encoder.shapes[word >> BITS], word, sample.columns[0]) == words


KINDS = st.sampled_from(["?", "i1", "u8", "f2", "f4", "f8"])
WIDTHS = st.sampled_from([(), (0,), (2,), (45,), (2, 2)])
ODD = [math.nan, math.inf, 0.1, -0.0]


def filled(kind: str, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Small whole numbers; in columns of floats odd ones too."""
    values = rng.integers(0, 3, shape).astype(kind)
    return np.where(rng.random(shape) < 0.3, rng.choice(ODD, shape), values).astype(kind) if "f" in kind else values


@given(st.lists(st.tuples(KINDS, WIDTHS), min_size=1, max_size=3), st.booleans(), st.integers(0, 2**32))
def test_arrays_mean_the_same_as_a_list_of_their_rows_and_as_each_row_alone(parts, beside: bool, seed: int) -> None:
    encoder, rng, runs = Encoder("test"), np.random.default_rng(seed), 5
    arrays = tuple(filled(kind, (runs, *width), rng) for kind, width in parts)
    raw = arrays if beside else arrays[0]
    rows = [tuple(array[i].tolist() for array in arrays) if beside else arrays[0][i].tolist() for i in range(runs)]
    together, listed = (joined([encoder.encode(given, runs), WIDE]) for given in (raw, rows))
    one_by_one = joined([*(encoder.encode([row], 1) for row in rows), WIDE])
    single = joined([*(encoder.encode(_rows(raw, slice(i, i + 1)), 1) for i in range(runs)), WIDE])
    for other in (listed, one_by_one, single):
        assert words_and_columns(together) == words_and_columns(other)


WIDE = Sample(word=np.zeros(1, dtype=np.int64), columns=np.zeros((1, 200)))


def _rows(raw: tuple[np.ndarray, ...] | np.ndarray, where: slice) -> tuple[np.ndarray, ...] | np.ndarray:
    return tuple(array[where] for array in raw) if isinstance(raw, tuple) else raw[where]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (np.array([True, False]), np.array([True, 2])),
        (np.array([1.5, 2]), np.array(["above", 2])),
        (np.array([[1, 2], [3, 0]]), np.array([[1, 2, 3], [3, 0, 0]])),
        ((np.array([True]), np.array([0.5])), (np.array([True]), np.array([False]))),
    ],
    ids=["True becomes 1", "2 becomes '2'", "filled up to the longest", "side by side"],
)
def test_arrays_that_say_what_else_the_call_held_are_refused(first, second) -> None:
    encoder = Encoder("my.mech")
    runs = [len(raw[0] if isinstance(raw, tuple) else raw) for raw in (first, second)]
    encoder.encode(first, runs[0], "input")
    encoder.encode(second, runs[1], "another input")
    with pytest.raises(ParameterError, match="one kind and one width for one input, but those of my.mech"):
        encoder.encode(second, runs[1], "input")


def test_arrays_that_keep_each_outcome_as_it_is_may_vary_and_what_lies_behind_a_mask_is_no_part_of_it() -> None:
    encoder = Encoder("my.mech")
    for raw in ([1], np.array([1, 2]), np.array([0.5, 1]), np.array([("a", 1), 2], dtype=object), [(1, 2), 3]):
        encoder.encode(raw, len(raw), "input")
    hidden = np.ma.MaskedArray([[1, 7], [1, 8]], mask=[[False, True], [False, True]])
    assert len(set(words_and_columns(encoder.encode(hidden, 2)))) == 1


def test_structured_arrays_and_arrays_of_strings_are_taken() -> None:
    encoder = Encoder("test")
    table = np.array([(True, 2.0), (False, 3.0)], dtype=[("above", bool), ("value", float)])
    rows = encoder.encode([(True, 2.0), (False, 3.0)], 2)
    assert words_and_columns(encoder.encode(table, 2)) == words_and_columns(rows)
    assert len(set(encoder.encode(np.array(["a", "b", "a"]), 3).word.tolist())) == 2
    mixed = encoder.encode((np.array(["a", "b"]), np.array([1, 2])), 2)
    assert words_and_columns(mixed) == words_and_columns(encoder.encode([("a", 1), ("b", 2)], 2))


def test_a_frozen_encoder_calls_new_shapes_unknown_and_samples_of_different_width_are_joined_with_nan() -> None:
    encoder = Encoder("test")
    encoder.encode(["a"], 1)
    encoder.frozen = True
    assert encoder.encode(["a", "b"], 2).word.tolist() == [0, -1]
    assert encoder.encode(np.array([[1.0, 2.0]]), 1).word.tolist() == [-1]
    both = joined([encoder.encode([(1,)], 1), encoder.encode([(1, 2)], 1)])
    assert np.array_equal(both.columns, [[1, math.nan], [1, 2]], equal_nan=True)


LOOP: list = []
LOOP.append(LOOP)


@pytest.mark.parametrize(
    "raw",
    [
        *(None, 7, "abc", {1, 2, 3}, np.float64(1.0), np.array(1.0), np.zeros(4), (np.zeros(3), np.zeros(2))),
        *([1, 2], [1, None, 2], [1, object(), 2], [1, 1j, 2], [1, (0,) * 5000, 2], [LOOP, 1, 2]),
    ],
)
def test_nonsense_is_refused_by_name(raw: object) -> None:
    with pytest.raises(ParameterError, match=r"my\.mech") as refused:
        Encoder("my.mech").encode(raw, 3)
    assert refused.value.parameter == "mechanism"
