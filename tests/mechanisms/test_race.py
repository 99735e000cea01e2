"""The race: who is taken along, who is refined, where two enclosures touch. No chance involved."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import pytest
from tests.support.scripted import Scripted, words64

from sparsegate.mechanisms import race
from sparsegate.mechanisms.race import Lane, Ring
from sparsegate.noise import Seeded, Source
from sparsegate.noise.clocks import Clock


def ring(number: int, low: float, high: float, size: int = 1) -> Ring:
    lane = Lane(number, size, (0, 1))
    lane.clocks.append(Clock(number + 1))
    return Ring(high=high, low=low, lane=lane, rank=1)


def groups(rings: Sequence[Ring]) -> list[int]:
    return [each.lane.group for each in rings]


def test_leaders_go_on_while_an_upper_bound_reaches_the_last_lower_bound_that_wins() -> None:
    rings = [ring(0, 1, 10), ring(1, 8, 9), ring(2, 0, 7), ring(3, 5, 6), ring(4, 0, 4)]
    # Two win. The two largest lower bounds taken are 1 and 8 at first, 5 and 8 once ring 3 is there.
    assert groups(race._leaders(Scripted([]), rings, 2)) == [0, 1, 2, 3]
    assert groups(race._leaders(Scripted([]), rings, 1)) == [0, 1]


def test_leaders_take_along_who_could_tie() -> None:
    assert groups(race._leaders(Scripted([]), [ring(0, 5, 9), ring(1, 1, 5), ring(2, 1, 4)], 1)) == [0, 1]


def test_leaders_wind_the_next_clock_of_every_lane_they_take() -> None:
    """A lane of three whose first ring leads: its second and third may lead as well."""
    lane = Lane(0, 3, (100, 1))
    first = lane.wind(*next(race._times(words64(2**62))))
    source = Scripted([words64(*[2**62] * race._BLOCK)])
    taken = race._leaders(source, [first, ring(1, 0, 1, size=2)], 3)
    assert [(each.lane.group, each.rank) for each in taken] == [(0, 1), (0, 2), (0, 3)]
    assert source.left == 0


def refined_to(order: Sequence[int], seen: list[int]) -> object:
    """Let refinement put the rings in the given order, and note whom it was asked for."""

    def refined(self: Ring, source: Source, bits: int) -> Ring:
        seen.append(self.lane.group)
        place = -order.index(self.lane.group)
        return self._replace(low=place, high=place)

    return refined


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_rings_that_overlap_or_touch_are_refined_and_others_are_not(
    order: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []
    monkeypatch.setattr(Ring, "refined", refined_to(order, seen))
    # 0 touches 1 at 50; 1 overlaps 2; 3 and 4 stand apart.
    rings = [ring(4, 0, 9), ring(0, 50, 60), ring(1, 30, 50), ring(2, 25, 31), ring(3, 11, 24)]
    assert groups(race._ordered(Scripted([]), rings, 5, 64)) == [*order, 3, 4]
    assert sorted(seen) == [0, 1, 2]


def test_a_run_is_as_long_as_the_lowest_of_its_bounds_reaches() -> None:
    seen: list[int] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Ring, "refined", refined_to((2, 0, 1), seen))
        # 1 is short and lies inside 0; 2 is below 1 but not below 0.
        assert groups(race._ordered(Scripted([]), [ring(0, 10, 60), ring(1, 50, 55), ring(2, 12, 20)], 3, 64)) == [
            2,
            0,
            1,
        ]


def test_a_refinement_that_does_not_decide_is_refined_again() -> None:
    bits_asked: list[int] = []

    def refined(self: Ring, source: Source, bits: int) -> Ring:
        bits_asked.append(bits)
        place = self.lane.group if bits == 512 else 0
        return self._replace(low=place, high=place)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Ring, "refined", refined)
        assert groups(race._ordered(Scripted([]), [ring(0, 0, 1), ring(1, 0, 1)], 2, 64)) == [1, 0]
    assert bits_asked == [128, 128, 256, 256, 512, 512]


@pytest.mark.parametrize("word", [0, 2**64 - 1])
def test_a_word_at_an_end_leaves_its_key_open_until_more_digits_come(word: int) -> None:
    wound = Lane(0, 1, (0, 1)).wind(*next(race._times(words64(word))))
    assert (wound.low, wound.high) == (-math.inf, math.inf)
    closer = wound.refined(Seeded(1), 128)
    assert -math.inf < closer.low <= closer.high < math.inf
