"""The race: which lanes go on, how their rings are enclosed, and what more digits change. No chance involved."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.scripted import Scripted, words64

from sparsegate.noise import Seeded
from sparsegate.selection.race import FAR, FIRST_BITS, Lanes, Race, Refine, largest, largest_first


def lanes(*groups: tuple[int, int]) -> Lanes:
    """Lanes of these sizes and whole log-weights."""
    sizes, weights = (np.array(column, dtype=np.int64) for column in zip(*groups, strict=True))
    return Lanes(sizes=sizes, weights=weights.astype(np.float64), exact=lambda lane: (int(weights[lane]), 1))


def keys(words: list[int], size: int, weight: int) -> list[mpmath.mpf]:
    """The keys of all rings of a lane whose clocks have these words, computed another way."""
    times = [-mpmath.log(1 - (mpmath.mpf(word) + mpmath.mpf(1) / 2) / 2**64) for word in words]
    sums = itertools.accumulate(time / (size - place) for place, time in enumerate(times))
    return [weight - mpmath.log(each) for each in sums]


def test_a_lane_goes_on_while_its_last_ring_may_be_among_the_first():
    """A lane of three far ahead, one of three far behind: once three rings are there, only the first goes on."""
    source = Scripted([words64(2**62, 2**62), words64(2**62, 2**62)])
    race = Race(source, lanes((3, 100), (3, 0)), words64(2**62, 2**62))
    won = race.first(3)
    assert race.lane[won].tolist() == [0, 0, 0]
    assert source.left == 0
    assert list(zip(race.lane.tolist(), race.rank.tolist(), strict=True)) == [*((0, 1), (1, 1), (0, 2), (1, 2), (0, 3))]


def test_a_lane_whose_last_ring_could_tie_goes_on():
    race = Race(Scripted([]), lanes((2, 0), (2, 0)), words64(2**62, 2**62))
    race.low, last = np.array([1.0, 5.0]), np.array([5.0, 4.9])
    assert race._going(1, last, 1).tolist() == [0]
    race.low = np.array([1.0, 4.9])
    assert race._going(1, last, 1).tolist() == [0, 1]
    assert race._going(2, last, 1).tolist() == []  # nobody is left


def test_every_ring_lies_in_its_enclosure_and_every_further_one_inside():
    size, words = 5_000, Seeded(1).bytes(8 * 4096).view("<u8")
    script = [words[1 << power : 2 << power] for power in range(12)]
    race = Race(Scripted(script, seed=1), lanes((size, 7)), words[:1])
    race.first(4_000)
    assert race.rank.tolist() == list(range(1, 4097))
    with mpmath.workdps(50):
        unknown = mpmath.ldexp(1, -50)  # what the digits of the clocks after the first 64 may change
        exact = keys(words.tolist(), size, 7)
        for ring in (0, 1, 2, 3, 300, 1023, 1024, 4095):
            assert race.low[ring] <= exact[ring] <= race.high[ring]
            assert race.high[ring] - race.low[ring] < 2.0**-38
            for bits in (FIRST_BITS, 2 * FIRST_BITS):
                low, high = (mpmath.ldexp(bound, -bits) for bound in race._refined(ring, bits))
                assert low - unknown <= exact[ring] <= high + unknown
                assert high - low < 2.0**-40


def test_a_refined_ring_depends_on_the_exact_weight_and_not_on_its_float():
    off = Lanes(sizes=np.array([1]), weights=np.array([0.25]), exact=lambda lane: (1, 3))
    race = Race(Seeded(1), off, words64(2**63))
    expected = mpmath.mpf(1) / 3 - mpmath.log(mpmath.log(2))
    for bits in (64, 128):
        low, high = race._refined(0, bits)
        assert mpmath.ldexp(low, -bits) - 1e-12 <= expected <= mpmath.ldexp(high, -bits) + 1e-12


def test_a_weight_beyond_floats_is_only_known_to_be_beyond_them():
    huge = Lanes(sizes=np.array([1, 1]), weights=np.array([FAR, -FAR]), exact=lambda lane: (10**400, (1, -1)[lane]))
    race = Race(Seeded(1), huge, words64(2**63, 2**63))
    assert race.high[0] == math.inf
    assert race.low[1] == -math.inf
    assert race.lane[race.first(2)].tolist() == [0, 1]


def order(bounds: Sequence[tuple[float, float]], count: int, refine: Refine, alike: Sequence[int] = ()) -> list[int]:
    low, high = np.array(bounds, dtype=np.float64).T
    labels = np.array(alike, dtype=np.int64) if alike else None
    return largest_first(low, high, count, refine, alike=labels).tolist()


def refined_to(wanted: Sequence[int], seen: list[tuple[int, int]]) -> Refine:
    """Let refinement put the keys in the given order, and note whom it was asked for."""

    def refine(number: int, bits: int) -> tuple[int, int]:
        seen.append((number, bits))
        return -wanted.index(number), -wanted.index(number)

    return refine


@pytest.mark.parametrize("wanted", list(itertools.permutations(range(3))))
def test_keys_that_overlap_or_touch_are_refined_and_others_are_not(wanted):
    seen: list[tuple[int, int]] = []
    # 0 touches 1 at 50; 1 overlaps 2; 3 and 4 stand apart.
    bounds = [(50, 60), (30, 50), (25, 31), (11, 24), (0, 9)]
    assert order(bounds, 5, refined_to(wanted, seen)) == [*wanted, 3, 4]
    assert sorted(seen) == [(0, 64), (1, 64), (2, 64)]


def test_a_run_is_as_long_as_the_lowest_of_its_bounds_reaches():
    # 1 is short and lies inside 0; 2 is below 1 but not below 0.
    assert order([(10, 60), (50, 55), (12, 20)], 3, refined_to((2, 0, 1), [])) == [2, 0, 1]


def test_keys_that_are_alike_are_told_apart_only_where_another_comes_between():
    assert order([(0, 9), (1, 9), (-5, -4)], 3, refined_to((), []), alike=[1, 1, 2]) == [0, 1, 2]
    seen: list[tuple[int, int]] = []
    assert order([(0, 9), (1, 9), (-5, 5)], 3, refined_to((0, 2, 1), seen), alike=[1, 1, 2]) == [0, 2, 1]
    assert len(seen) == 3


@given(
    st.lists(st.tuples(st.integers(-(2**40), 2**40), st.integers(0, 2**42)), min_size=1, max_size=30),
    st.integers(1, 30),
)
def test_the_order_is_the_one_of_the_keys(keys, count):
    """Keys are whole multiples of 2**-100, all different; the first enclosures are as wide as chance made them."""
    exact = [(key << 60) + place for place, (key, _) in enumerate(keys)]
    bounds = [((key - width) * 2.0**-40, (key + width + 1) * 2.0**-40) for key, width in keys]
    low, high = np.array(bounds).T

    def refine(number: int, bits: int) -> tuple[int, int]:
        scaled = exact[number] << bits >> 100
        return scaled, scaled + 1

    wanted = sorted(range(len(keys)), key=exact.__getitem__, reverse=True)[:count]
    assert largest_first(low, high, count, refine).tolist() == wanted


WHOLE = st.lists(st.one_of(st.integers(-(2**63), 2**63 - 1), st.integers(-3, 3)), min_size=1, max_size=30)
REAL = st.lists(st.floats(allow_nan=False), min_size=1, max_size=30)


@given(st.one_of(WHOLE, REAL), st.data())
def test_it_is_the_one_a_sort_finds(values, data):
    count = data.draw(st.integers(1, len(values)))
    assert (
        largest(np.array(values, dtype=np.int64 if type(values[0]) is int else np.float64), count)
        == sorted(values)[-count]
    )
