"""The race: which lanes go on, how their rings are enclosed, and what more digits change. No chance involved."""

from __future__ import annotations

import itertools
import math

import mpmath
import numpy as np
import pytest
from tests.support.scripted import Scripted, words64

from sparsegate.noise import Seeded
from sparsegate.selection.race import FAR, FIRST_BITS, Lanes, Race


def lanes(*groups: tuple[int, int]) -> Lanes:
    """Lanes of these sizes and whole log-weights."""
    sizes, weights = (np.array(column, dtype=np.int64) for column in zip(*groups, strict=True))
    return Lanes(sizes=sizes, weights=weights.astype(np.float64), exact=lambda lane: (int(weights[lane]), 1))


def keys(words: list[int], size: int, weight: int) -> list[mpmath.mpf]:
    """The keys of all rings of a lane whose clocks have these words, computed another way."""
    times = [-mpmath.log(1 - (mpmath.mpf(word) + mpmath.mpf(1) / 2) / 2**64) for word in words]
    sums = itertools.accumulate(time / (size - place) for place, time in enumerate(times))
    return [weight - mpmath.log(each) for each in sums]


def test_a_lane_goes_on_while_its_last_ring_may_be_among_the_first() -> None:
    """A lane of three far ahead, one of three far behind: once three rings are there, only the first goes on."""
    source = Scripted([words64(2**62, 2**62), words64(2**62, 2**62)])
    race = Race(source, lanes((3, 100), (3, 0)), words64(2**62, 2**62))
    won = race.first(3)
    assert race.lane[won].tolist() == [0, 0, 0]
    assert source.left == 0
    assert list(zip(race.lane.tolist(), race.rank.tolist(), strict=True)) == [
        *((0, 1), (1, 1), (0, 2), (1, 2), (0, 3)),
    ]


def test_a_lane_whose_last_ring_could_tie_goes_on() -> None:
    race = Race(Scripted([]), lanes((2, 0), (2, 0)), words64(2**62, 2**62))
    race.low, last = np.array([1.0, 5.0]), np.array([5.0, 4.9])
    assert race._going(1, last, 1).tolist() == [0]
    race.low = np.array([1.0, 4.9])
    assert race._going(1, last, 1).tolist() == [0, 1]
    assert race._going(2, last, 1).tolist() == []  # nobody is left


def test_as_long_as_there_are_fewer_rings_than_places_everybody_goes_on() -> None:
    race = Race(Scripted([]), lanes((5, 0), (1, 9), (5, -(10**6))), words64(2**62, 2**62, 2**62))
    assert race._going(1, race.high, 3).tolist() == [0, 2]


def test_every_ring_lies_in_its_enclosure_and_every_further_one_inside() -> None:
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
                assert high - low < (2.0**-40 if bits == FIRST_BITS else 2.0**-120)


def test_a_refined_ring_depends_on_the_exact_weight_and_not_on_its_float() -> None:
    off = Lanes(sizes=np.array([1]), weights=np.array([0.25]), exact=lambda lane: (1, 3))
    race = Race(Seeded(1), off, words64(2**63))
    expected = mpmath.mpf(1) / 3 - mpmath.log(mpmath.log(2))
    for bits in (64, 128):
        low, high = race._refined(0, bits)
        assert mpmath.ldexp(low, -bits) - 1e-12 <= expected <= mpmath.ldexp(high, -bits) + 1e-12


@pytest.mark.parametrize("word", [0, 2**64 - 1])
def test_a_word_at_an_end_leaves_its_key_open_until_more_digits_come(word: int) -> None:
    race = Race(Seeded(1), lanes((1, 0)), words64(word))
    assert (race.low[0], race.high[0]) == (-math.inf, math.inf)
    assert race._refined(0, 64) == (-math.inf, math.inf)
    low, high = race._refined(0, 128)
    assert -math.inf < low <= high < math.inf


def test_a_weight_beyond_floats_is_only_known_to_be_beyond_them() -> None:
    huge = Lanes(sizes=np.array([1, 1]), weights=np.array([FAR, -FAR]), exact=lambda lane: (10**400, (1, -1)[lane]))
    race = Race(Seeded(1), huge, words64(2**63, 2**63))
    assert race.high[0] == math.inf
    assert race.low[1] == -math.inf
    assert race.lane[race.first(2)].tolist() == [0, 1]


def test_further_digits_are_drawn_once_and_remembered() -> None:
    race = Race(Seeded(1), lanes((1, 0)), words64(2**62))
    first = race._refined(0, 128)
    assert race._refined(0, 128) == first
