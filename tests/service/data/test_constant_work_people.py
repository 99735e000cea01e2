"""People as runs of bits: one addition finds those who have a match, however long their runs are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsegate.service.data.constant_work import WORD, count_owners, last_rows

LENGTHS = st.integers(1, 5) | st.sampled_from([63, 64, 65, 127, 128, 129, 200])
"""Rows of a person: few, and as many as fill a word, or pass through several."""


def counted(people: list[list[bool]], filling: list[bool]) -> int:
    """By the bits; the filling may match, and is nobody's."""
    rows = [match for person in people for match in person] + filling
    rows += [True] * (-len(rows) % WORD)
    owners = np.repeat(np.arange(len(people)), [len(person) for person in people])
    return count_owners(np.array(rows), last_rows(owners, len(rows)))


@given(st.lists(LENGTHS.flatmap(lambda length: st.lists(st.booleans(), min_size=length, max_size=length)), max_size=30))
def test_owners_are_those_with_a_match(people: list[list[bool]]) -> None:
    assert counted(people, [True] * WORD) == sum(map(any, people))


@given(st.lists(st.tuples(LENGTHS, st.none() | st.integers(0, 199)), min_size=1, max_size=12))
def test_one_match_is_found_wherever_it_is(people: list[tuple[int, int | None]]) -> None:
    """At most one each, so that a carry goes through all the words in between."""
    rows = [[place == at for place in range(length)] for length, at in people]
    assert counted(rows, [True] * WORD) == sum(map(any, rows))


@pytest.mark.parametrize("match", [0, 1, 62, 63, 64, 500, 998, 999])
def test_a_carry_goes_through_as_many_words_as_a_person_has(match: int) -> None:
    rows = [place == match for place in range(1000)]
    assert counted([[False] * 70, rows, [False] * 70], [False] * WORD) == 1


def test_many_people_are_counted_as_by_a_set() -> None:
    rng = np.random.default_rng(1)
    owners = np.sort(rng.integers(0, 20_000, 100_032))
    matches = rng.random(len(owners)) < 0.1
    assert count_owners(matches, last_rows(owners, len(owners))) == len(set(owners[matches].tolist()))
