"""Windows of time: which one a row belongs to, when a window closes, and how many people are in it.

**Theorem.** Let ``start``, ``width``, ``lateness`` and the clock be public, and let rows be added, in any order, and
never taken away. Then one person more, with all their rows, moves the count of each window by 0 or by +1; and with
``per_user`` = w those of at most w windows. After a restart the same holds if all rows are added again from ``start``.

Time is public, or it leaks: windows are closed by a clock that the caller brings, never by the rows' own times. Proof,
and what is not in the theorem: docs/explanation/proofs_in_words/uses.md. *An interrupt* leaves a row counted or not
counted, and a window open or closed: in which windows a person counts changes in one step.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Container, Hashable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final

import numpy as np

from sparsegate.budget import Number, exact_count, exact_decimal
from sparsegate.errors import ParameterError
from sparsegate.gates.cells import is_cell
from sparsegate.tables.identity import people

SECOND: Final = 1_000_000
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_FARTHEST: Final = 2**62
_DIGITS: Final = 400
_UNITS: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_DURATION: Final = re.compile(r"(\d{1,9})([smhdw])")
_NUMBER: Final = re.compile(r"-?\d{1,15}(\.\d{1,18})?", re.ASCII)
_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_WEB_SERVER: Final = re.compile(r"\[?(\d\d)/([A-Z][a-z]{2})/(\d{4}):(\d\d:\d\d:\d\d)(?: ([+-]\d{4}))?\]?", re.ASCII)

Duration = str | Number | timedelta
Moment = str | Number | datetime


@dataclass(frozen=True, kw_only=True)
class TimeWindows:
    """Windows of equal width, one after another from ``start`` on: window i is [start + i width, start + (i+1) width).

    All of it is public, and kept in microseconds since 1970, UTC.

    Parameters
    ----------
    width : "30s", "5m", "1h", "7d", a timedelta, or seconds.
    start : where window 0 begins: a datetime, ISO 8601 text, or seconds since 1970; without a zone it is UTC.
    lateness : how long after its end a window waits for late rows; 0 unless given.
    until : where the last window ends; the windows that end by then are all there are. None: they go on.

    >>> import sparsegate as sg
    >>> windows = sg.uses.TimeWindows(width="5m", start="2026-03-01T00:00", until="2026-03-02")
    >>> windows.count, windows.label(109)
    (288, '2026-03-01T09:05:00+00:00')
    """

    width: int
    start: int
    lateness: int
    until: int | None

    def __init__(self, *, width: Duration, start: Moment, lateness: Duration = 0, until: Moment | None = None) -> None:
        object.__setattr__(self, "width", _duration(width, "width"))
        object.__setattr__(self, "start", _public_moment(start, "start"))
        object.__setattr__(self, "lateness", _duration(lateness, "lateness", zero=True))
        object.__setattr__(self, "until", None if until is None else _public_moment(until, "until"))
        if self.until is not None and self.until < self.start + self.width:
            raise ParameterError("until", "must leave room for a window after start", until, "give a later moment")

    @property
    def count(self) -> int | None:
        """How many windows there are; None where they go on."""
        return None if self.until is None else (self.until - self.start) // self.width

    def index(self, moment: int) -> int | None:
        """The window that a moment is in; None before the first and after the last."""
        at = (moment - self.start) // self.width
        return at if at >= 0 and (self.count is None or at < self.count) else None

    def closed_by(self, clock: Moment) -> int:
        """How many windows are closed when the public clock shows this: those that ended ``lateness`` ago or more."""
        over = max(0, (_public_moment(clock, "clock") - self.lateness - self.start) // self.width)
        return over if self.count is None else min(over, self.count)

    def running(self, clock: Moment) -> int:
        """The window that runs when the public clock shows this, whether there is such a window or not."""
        return (_public_moment(clock, "clock") - self.start) // self.width

    def closing(self, window: int) -> float:
        """When a window closes, in seconds since 1970."""
        return (self.start + (window + 1) * self.width + self.lateness) / SECOND

    def label(self, window: int) -> str:
        """When a window begins, in the form of ISO 8601."""
        return moment_text(self.start + window * self.width)

    def settings(self) -> dict[str, Any]:
        """The numbers as JSON has them, without ``until``, which changes no window."""
        return {"width": self.width / SECOND, "start": moment_text(self.start), "lateness": self.lateness / SECOND}


class PeopleInWindows:
    """How many different people have a row in each window. Counts are private: give them to an ``Alert``."""

    def __init__(self, windows: TimeWindows, *, per_user: int | None = None) -> None:
        self._windows = windows
        self._per_user = None if per_user is None else exact_count(per_user, "windows_per_user")
        self._people: defaultdict[int, set[str]] = defaultdict(set)
        self._first: dict[str, tuple[int, ...]] = {}  # the earliest windows of each person, with per_user
        self._next = 0
        self.latest: int | None = None
        """Rows of later windows are dropped: the caller moves it with the clock, so that memory has an end."""

    def add(self, user: Any, time: Any, cell: Any = None) -> None:
        """One row, of any ``cell``. One of nobody, or without a time that reads and is in time, counts nowhere."""
        (person,), moment = people([user]), read_moment(time)
        at = None if moment is None else self._windows.index(moment)
        if person is None or at is None or (self.latest is not None and at > self.latest):
            return
        known = earliest = self._first.get(person, ())
        if self._per_user is not None:
            earliest = tuple(sorted({*known, at})[: self._per_user])
            if at not in earliest:
                return
        if at >= self._next:
            self._people[at].add(person)
        if earliest != known:  # in one step: in which of these windows a person counts follows from it alone
            self._first[person] = earliest

    def take(self, window: int) -> int:
        """Close a window, and all before it: how many people it has."""
        if window < self._next:
            raise ParameterError("window", f"must be {self._next} or later: the others are closed", window)
        # Whichever are fewer: a year of history closes one window after the other, and a jump may leave out many.
        held, few = self._people, window - self._next < len(self._people)
        past = range(self._next, window + 1) if few else [at for at in held if at <= window]
        self._next = window + 1  # first: an interrupt leaves no window that is closed in part
        inside = held.get(window, set())
        for at in past:
            held.pop(at, None)
        if self._per_user is None:
            return len(inside)
        return sum(window in self._first.get(person, ()) for person in inside)


class PeopleInCells:
    """How many different people have a row in each window of each public cell, each person in ``per_user`` cells alone.

    **Theorem.** One person more, with all their rows, moves the counts of at most m = ``per_user`` cells, and each of
    these by 0 or by +1 in every window. *Proof.* The cells of a person are the first m different cells among their
    rows, in the order in which they came: a function of those rows, which nothing that comes later changes. []

    *After a restart* it holds if all rows are added again, in their order. Memory holds everybody seen, and m cells of
    each, beside the people of open windows.
    """

    def __init__(self, windows: TimeWindows, *, cells: Container[Hashable], per_user: int) -> None:
        self._windows, self._cells, self._most = windows, cells, per_user
        self._inside: dict[Hashable, PeopleInWindows] = {}
        self._first: dict[str, tuple[Hashable, ...]] = {}
        self._next = 0
        self.latest: int | None = None
        """As of ``PeopleInWindows``."""

    def add(self, user: Any, time: Any, cell: Any = None) -> None:
        """One row. One of nobody, or in no public cell, counts nowhere."""
        (person,) = people([user])
        if person is None or not is_cell(self._cells, cell):
            return
        known = self._first.get(person, ())
        if cell not in known:
            if len(known) >= self._most:
                return
            self._first[person] = (*known, cell)
        if (inside := self._inside.get(cell)) is None:
            inside = PeopleInWindows(self._windows)
            if self._next:
                inside.take(self._next - 1)
            self._inside[cell] = inside
        inside.latest = self.latest
        inside.add(user, time)

    def take(self, window: int) -> dict[Hashable, int]:
        """Close a window, and all before it: how many people it has in each cell where somebody ever was."""
        if window < self._next:
            raise ParameterError("window", f"must be {self._next} or later: the others are closed", window)
        self._next = window + 1
        return {cell: inside.take(window) for cell, inside in self._inside.items()}


def read_moment(cell: Any) -> int | None:
    """A cell as microseconds since 1970, UTC; None for what is no moment. It never fails, whatever the cell.

    Text is ISO 8601, seconds since 1970, or a web server's 01/Mar/2026:14:07:00 +0100; without a zone it is UTC.
    """
    try:
        if isinstance(cell, str):
            text = cell.strip()
            if match := _WEB_SERVER.fullmatch(text):
                day, month, year, clock, zone = match.groups()
                text = f"{year}-{_MONTHS.index(month) + 1:02d}-{day}T{clock}{zone or ''}"
            if not _NUMBER.fullmatch(text):
                return _micros(datetime.fromisoformat(text))
            return _bounded(Fraction(text) * SECOND)
        if isinstance(cell, datetime):
            return _micros(cell)
        if isinstance(cell, date):
            return _micros(datetime(cell.year, cell.month, cell.day))
        if isinstance(cell, np.datetime64):
            return None if np.isnat(cell) else int(cell.astype("datetime64[us]").astype(np.int64))
        if isinstance(cell, Decimal) and cell.is_finite() and cell and abs(cell.adjusted()) > _DIGITS:
            return None if cell.adjusted() > 0 else (0 if cell > 0 else -1)  # 1E+999999999 takes for ever to write out
        exact = exact_decimal(cell)
        return None if exact is None else _bounded(exact * SECOND)
    except Exception:  # a time zone that fails on this moment, say: a private cell must not fail anything
        return None


def moment_text(micros: int) -> str:
    """Microseconds since 1970 in the form of ISO 8601."""
    try:
        return (_EPOCH + timedelta(microseconds=micros)).isoformat()
    except OverflowError:
        return str(micros / SECOND)


def _micros(moment: datetime) -> int:
    zoned = moment.replace(tzinfo=UTC) if moment.utcoffset() is None else moment
    return (zoned - _EPOCH) // timedelta(microseconds=1)


def _bounded(micros: Fraction) -> int | None:
    whole = math.floor(micros)
    return whole if abs(whole) < _FARTHEST else None


def _public_moment(value: object, parameter: str) -> int:
    if (moment := read_moment(value)) is None:
        rule = "must be a datetime, ISO 8601 text or seconds since 1970"
        raise ParameterError(parameter, rule, value, f'pass for instance {parameter}="2026-03-01T00:00"')
    return moment


def _duration(value: object, parameter: str, *, zero: bool = False) -> int:
    seconds: Fraction | None = None
    if isinstance(value, str) and (match := _DURATION.fullmatch(value.strip())):
        seconds = Fraction(int(match[1]) * _UNITS[match[2]])
    elif isinstance(value, timedelta):
        seconds = Fraction(value // timedelta(microseconds=1), SECOND)
    elif not isinstance(value, str):
        seconds = exact_decimal(value)
    micros = None if seconds is None else seconds * SECOND
    if micros is None or micros.denominator != 1 or not (0 if zero else 1) <= micros < _FARTHEST:
        rule = "must be a duration" + ("" if zero else " of more than 0")
        raise ParameterError(parameter, rule, value, f'pass for instance {parameter}="5m"')
    return int(micros)
