"""Where a value is on an axis, which numbers stand beside it, and labels that do not meet."""

from __future__ import annotations

import math
from bisect import bisect
from collections.abc import Sequence
from dataclasses import dataclass

_STEPS = (1.0, 2.0, 5.0)


@dataclass(frozen=True, kw_only=True)
class Axis:
    """An axis from ``low`` at ``start`` to ``high`` at ``end``; ``values`` are those that were given, rising."""

    low: float
    high: float
    start: float
    end: float
    log: bool
    ticks: tuple[float, ...]
    values: tuple[float, ...]

    @classmethod
    def of(
        cls,
        values: Sequence[float],
        *,
        start: float,
        end: float,
        log: bool = False,
        rounded: bool = False,
        ticks: Sequence[float] = (),
    ) -> Axis:
        """The axis of these values, with ticks that are round numbers; ``rounded`` ends it at such a number, too.

        It begins at the lowest value: a small one below 0 takes no more room than it needs.
        """
        given = tuple(sorted({value for value in values if math.isfinite(value) and (value > 0 or not log)})) or (1.0,)
        low, high = given[0], given[-1]
        shown = tuple(ticks) or (_decades(low, high) if log else round_ticks(low, high))
        if rounded and not ticks:
            high = max(high, shown[-1])
        shown = tuple(tick for tick in shown if low <= tick <= high)
        if low == high:
            low, high = (low / 2, high * 2) if log else (low - 0.5, high + 0.5)
        return cls(low=low, high=high, start=start, end=end, log=log, ticks=shown, values=given)

    def at(self, value: float) -> float:
        """The place of a value; what is beyond the ends is put there."""
        scale = math.log if self.log else float
        inside = min(max(value, self.low), self.high)
        share = (scale(inside) - scale(self.low)) / (scale(self.high) - scale(self.low))
        return self.start + share * (self.end - self.start)

    def strip(self, value: float) -> tuple[float, float]:
        """Half way to the neighbours of a value, on both sides."""
        place = bisect(self.values, value) - 1
        middle = self.at(value)
        beside = [self.at(v) for v in (*self.values[max(place - 1, 0) : place], *self.values[place + 1 : place + 2])]
        reach = max((abs(middle - other) / 2 for other in beside), default=(self.end - self.start) / 2)
        before = (middle + self.at(self.values[place - 1])) / 2 if place > 0 else middle - reach
        after = (middle + self.at(self.values[place + 1])) / 2 if place + 1 < len(self.values) else middle + reach
        return before, after

    def text(self, tick: float) -> str:
        """The number beside a tick."""
        return f"{tick:,.0f}" if abs(tick) >= 1000 else f"{tick:g}"


def round_ticks(low: float, high: float, most: int = 6) -> tuple[float, ...]:
    """At most this many round numbers from ``low`` on; the last is the first one that is not below ``high``.

    >>> round_ticks(0, 0.83)
    (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
    >>> round_ticks(-0.003, 0.99)
    (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
    """
    span = (high - low) or 1.0
    size = 10.0 ** math.floor(math.log10(span / most))
    for step in (factor * scale for scale in (size, 10 * size) for factor in _STEPS):
        first, last = math.ceil(low / step - 1e-9), math.ceil(high / step - 1e-9)
        if last - first < most:
            break
    return tuple(float(f"{place * step:.12g}") for place in range(first, last + 1))


def _decades(low: float, high: float) -> tuple[float, ...]:
    """The powers of ten from at most low to at least high; with 2 and 5 between where there are few."""
    first, last = math.floor(math.log10(low) + 1e-9), math.ceil(math.log10(high) - 1e-9)
    factors = (1, 2, 5) if high < 100 * low else (1,)
    found = (factor * 10.0**power for power in range(first, max(last, first + 1) + 1) for factor in factors)
    return tuple(tick for tick in found if tick <= 10.0**last)


def spread(wanted: Sequence[float], *, gap: float, low: float, high: float) -> list[float]:
    """Places as near as can be to those wanted, in their order, at least ``gap`` apart, between low and high.

    Where there is no room for that gap, the gap is as large as there is room for.

    >>> spread([50, 51, 10], gap=10, low=0, high=60)
    [45.5, 55.5, 10.0]
    """
    order = sorted(range(len(wanted)), key=lambda place: wanted[place])
    gap = min(gap, (high - low) / max(len(wanted) - 1, 1))
    blocks: list[tuple[list[int], float]] = []
    for place in order:
        members, middle = [place], min(max(float(wanted[place]), low), high)
        while blocks and middle - (len(members) - 1) * gap / 2 < blocks[-1][1] + (len(blocks[-1][0]) + 1) * gap / 2:
            before, other = blocks.pop()
            middle = (other * len(before) + middle * len(members)) / (len(before) + len(members))
            members = before + members
            half = (len(members) - 1) * gap / 2
            middle = min(max(middle, low + half), high - half)
        blocks.append((members, middle))
    found = [0.0] * len(wanted)
    for members, middle in blocks:
        for number, place in enumerate(members):
            found[place] = middle + (number - (len(members) - 1) / 2) * gap
    return found
