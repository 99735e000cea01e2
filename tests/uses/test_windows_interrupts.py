"""A row that is interrupted is counted or not, and nobody counts in a window too many: at every instruction."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import pytest
from tests.support.interrupts import interrupt_everywhere

import sparsegate as sg
from sparsegate.uses.windows import PeopleInWindows

HOUR = 3600
WINDOWS = sg.uses.TimeWindows(width="1h", start=0)
LAST = 8
Row = tuple[str, int]

BEFORE: Sequence[Row] = [("ann", 5), ("ann", 6), ("bob", 5), ("bob", 7), ("cem", 6), ("ann", 5)]
NOW: Row = ("ann", 2)  # takes the place of window 6
AFTER: Sequence[Row] = [("ann", 7), ("ann", 1), ("ann", 6), ("ann", 2), ("bob", 2), ("cem", 1)]


def added(counted: PeopleInWindows, rows: Sequence[Row]) -> PeopleInWindows:
    for person, window in rows:
        counted.add(person, window * HOUR)
    return counted


def counts(counted: PeopleInWindows) -> list[int]:
    return [counted.take(window) for window in range(LAST)]


def expected(rows: Sequence[Row], most: int | None) -> list[int]:
    """How many people have each window among their first ones."""
    windows: defaultdict[str, set[int]] = defaultdict(set)
    for person, window in rows:
        windows[person].add(window)
    kept = [sorted(each)[:most] for each in windows.values()]
    return [sum(window in each for each in kept) for window in range(LAST)]


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
@pytest.mark.parametrize("most", [None, 1, 2])
@pytest.mark.parametrize("after", [[], AFTER])
def test_a_row_is_counted_or_not_wherever_it_is_interrupted(
    after: Sequence[Row], most: int | None, error: type[BaseException]
) -> None:
    either = [expected([*BEFORE, *more, *after], most) for more in ([], [NOW])]
    seen = []

    def check(counted: PeopleInWindows) -> None:
        seen.append(counts(added(counted, after)))
        assert seen[-1] in either
        assert max(map(len, counted._first.values()), default=0) <= (most or 0)

    for opcodes in (False, True):
        interrupt_everywhere(
            lambda: added(PeopleInWindows(WINDOWS, per_user=most), BEFORE),
            lambda counted: added(counted, [NOW]),
            check,
            error=error,
            opcodes=opcodes,
        )
    assert len(seen) > 100
    assert either[0] in seen


@pytest.mark.parametrize("most", [None, 2])
@pytest.mark.parametrize("window", [5, 7])
def test_a_window_is_open_or_closed_wherever_its_end_is_interrupted(window: int, most: int | None) -> None:
    true = expected(BEFORE, most)

    def check(counted: PeopleInWindows) -> None:
        added(counted, [("dan", window)])  # late, where it is closed
        if counted._next > window:
            with pytest.raises(sg.ParameterError, match="the others are closed"):
                counted.take(window)
        else:
            assert counted.take(window) == true[window] + 1
        assert [counted.take(later) for later in range(window + 1, LAST)] == true[window + 1 :]

    places = interrupt_everywhere(
        lambda: added(PeopleInWindows(WINDOWS, per_user=most), BEFORE),
        lambda counted: counted.take(window),
        check,
        opcodes=True,
    )
    assert places > 30
