"""Windows of time: what a row belongs to, when a window closes, and how far one person moves the counts."""

from __future__ import annotations

import random
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

import numpy as np
import pytest

from sparsegate.errors import ParameterError
from sparsegate.uses.windows import PeopleInCells, PeopleInWindows, TimeWindows, read_moment

HOUR = 3600
START = 1_000_000 * HOUR
WINDOWS = TimeWindows(width="1h", start=START)


@pytest.mark.parametrize(
    ("cell", "seconds"),
    [
        ("2026-03-01T09:07:12Z", 1772356032),
        ("2026-03-01T10:07:12+01:00", 1772356032),
        ("1772356032", 1772356032),
        ("01/Mar/2026:10:07:12 +0100", 1772356032),
        (" 1772356032.25 ", 1772356032.25),
        (Decimal("0.000001"), 0.000001),
        (datetime(1970, 1, 1, 1, tzinfo=timezone(timedelta(hours=1))), 0),
        (date(1970, 1, 2), 86400),
        (np.datetime64("2026-03-01T09:07:12.25", "ns"), 1772356032.25),
        (Decimal("1E-999999999"), 0),
        (-1, -1),
    ],
)
def test_a_moment_is_read_in_utc(cell, seconds):
    assert read_moment(cell) == round(seconds * 10**6)


class Broken(datetime):
    def utcoffset(self):
        raise RuntimeError("no zone")


@pytest.mark.parametrize(
    "cell",
    [
        "soon",
        "01/Mai/2026:10:07:12 +0100",
        "9" * 30,
        None,
        True,
        float("inf"),
        10**30,
        [],
        np.datetime64("NaT"),
        Decimal("1E+999999999"),  # 1 and a billion zeros: writing it out stops everything
        Broken(2026, 1, 1),
    ],
)
def test_what_is_no_moment_fails_nothing(cell):
    assert read_moment(cell) is None


def test_a_window_closes_when_the_clock_has_passed_its_end_and_the_lateness():
    windows = TimeWindows(width=timedelta(hours=1), start=START, lateness="10m", until=START + 3.5 * HOUR)
    assert windows.count == 3
    assert [windows.closed_by(START + t) for t in (0, HOUR + 599, HOUR + 600, 99 * HOUR)] == [0, 0, 1, 3]
    assert windows.closing(0) == START + HOUR + 600
    assert [windows.index((START + t) * 10**6) for t in (-1, 0, HOUR - 1, 2 * HOUR, 3 * HOUR)] == [None, 0, 0, 2, None]
    assert windows.label(1) == datetime.fromtimestamp(START + HOUR, UTC).isoformat()


@pytest.mark.parametrize("per_user", [None, 2])
def test_rows_of_closed_windows_are_not_held(per_user):
    people = PeopleInWindows(WINDOWS, per_user=per_user)
    people.take(3)
    for late in range(4):
        people.add(f"late {late}", START + late * HOUR)
    assert not people._people
    people.add("ann", START + 4 * HOUR)
    assert people.take(4) == 1


def test_many_rows_in_one_window_take_one_of_the_places_of_a_person():
    counted = PeopleInWindows(WINDOWS, per_user=2)
    for window in (0, 0, 0, 1, 1, 2):
        counted.add("ann", START + window * HOUR)
    assert [counted.take(window) for window in range(3)] == [1, 1, 0]


def played(events, per_user, again=None):
    """The counts of windows, closed one after another where an event is None; ``again``: a restart, with all rows."""
    counted, counts = PeopleInWindows(WINDOWS, per_user=per_user), []
    for place, event in enumerate(events):
        if event is None:
            counts.append(counted.take(len(counts)))
        else:
            counted.add(event[0], START + event[1] * HOUR)
        if place == again:
            counted = PeopleInWindows(WINDOWS, per_user=per_user)
            for row in events[: place + 1]:
                if row is not None:
                    counted.add(row[0], START + row[1] * HOUR)
            for window in range(len(counts)):
                counted.take(window)
    return counts


@pytest.mark.parametrize("per_user", [None, 1, 2, 3])
def test_one_person_moves_each_count_by_one_at_most_and_few_where_that_is_asked(per_user):
    chance, most = random.Random(7), 0
    for _ in range(400):
        closings = [None] * 6
        others = [(chance.choice("ab"), chance.randrange(6)) for _ in range(8)]
        own = [("me", chance.randrange(6)) for _ in range(chance.randrange(9))]  # in any order, late or early
        events = [*closings, *others, *own]
        chance.shuffle(events)
        again = chance.choice([None, chance.randrange(len(events))])
        alone = [event for event in events if event is None or event[0] != "me"]
        moves = [a - b for a, b in zip(played(events, per_user, again), played(alone, per_user), strict=True)]
        assert set(moves) <= {0, 1}
        assert per_user is None or sum(moves) <= per_user
        most = max(most, sum(moves))
    assert most >= (per_user or 5)


def cell_counts(rows, most, *, clock):
    """The counts of windows that a public clock closes while rows come in, five at a time."""
    counted, taken = PeopleInCells(WINDOWS, cells=frozenset("abcd"), per_user=most), []
    for batch, closed in enumerate(clock):
        counted.latest = closed + 1
        for who, hour, cell in rows[5 * batch : 5 * batch + 5]:
            if who:
                counted.add(who, START + hour * HOUR, cell)
        while len(taken) < closed:
            taken.append(counted.take(len(taken)))
    return taken


@pytest.mark.parametrize("most", [1, 2])
def test_one_person_moves_the_counts_of_few_cells_by_one_at_most(most):
    """Also with rows that are late, early, in no public cell, or whose order is odd."""
    moved = set()
    for seed in range(300):
        draw = random.Random(seed)
        rows = [(draw.choice("pqrs"), draw.randint(-1, 5), draw.choice("abcdz")) for _ in range(30)]
        clock = sorted(draw.randint(0, 4) for _ in range(6))
        without = [("" if who == "p" else who, hour, cell) for who, hour, cell in rows]  # others come when they came
        differences = {
            cell: [more.get(cell, 0) - fewer.get(cell, 0) for more, fewer in zip(both[0], both[1], strict=True)]
            for both in [[cell_counts(each, most, clock=clock) for each in (rows, without)]]
            for cell in "abcdz"
        }
        assert all(by in (0, 1) for cell in differences.values() for by in cell)
        moved.add(sum(any(cell) for cell in differences.values()))
        assert not any(differences["z"])
    assert max(moved) == most


def test_a_person_counts_in_the_same_cells_when_all_rows_are_added_again():
    """A row dated in the future is early at first and not when it is read again: it takes a place in either case."""
    first = PeopleInCells(WINDOWS, cells=frozenset("abc"), per_user=1)
    first.latest = 1
    for hour, cell in ((9, "a"), (0, "b")):
        first.add("p", START + hour * HOUR, cell)
    assert first.take(0) == {"a": 0}
    again = PeopleInCells(WINDOWS, cells=frozenset("abc"), per_user=1)
    for hour, cell in ((9, "a"), (0, "b"), (1, "c"), (9, "a")):
        again.add("p", START + hour * HOUR, cell)
    assert [again.take(window) for window in (1, 9)] == [{"a": 0}, {"a": 1}]


def test_what_is_no_cell_fails_nothing():
    counted = PeopleInCells(WINDOWS, cells=range(3), per_user=2)
    for cell in ([], None, "x", 7, float("nan"), np.array([1, 2])):
        counted.add("p", START, cell)
    counted.add("p", START, 1)
    counted.add(None, START, 1)
    assert counted.take(0) == {1: 1}
    with pytest.raises(ParameterError):
        counted.take(0)
    counted.add("q", START + HOUR, 2)  # a cell that is new when windows are closed already
    counted.add("q", START, 2)
    assert counted.take(1) == {1: 0, 2: 1}
