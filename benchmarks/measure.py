"""How a figure is taken: times side by side in one run, peak memory in a process of its own.

*Time.* The contenders take turns, round after round, the order reversed every other round, so that a slow spell of the
machine falls on all of them. One round before that is not counted: imports, caches and page faults of a first call. A
figure is the median over the rounds, a ratio the ratio of two medians; the best round stands beside them.

*Memory.* What the operating system had to hand over: the high-water mark of the resident set, less the resident set
when the libraries were loaded and the input was there. tracemalloc would miss what ciphers and linear algebra allocate
outside of Python's hooks. ``ru_maxrss`` would do but for two flaws: on Linux a process inherits the mark of the
one that started it, and nothing sets it back; so the mark is read as VmHWM, after a reset. Where a reset is not
allowed the figure can only come out too large. The input is loaded from a file, which leaves no freed temporaries
behind for the measured call to live in.
"""

from __future__ import annotations

import gc
import json
import math
import resource
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_STATUS = Path("/proc/self/status")

UNITS: dict[str, Callable[[float, int], float]] = {
    "ms": lambda seconds, _: seconds * 1e3,
    "microseconds/query": lambda seconds, queries: seconds / queries * 1e6,
    "queries/s": lambda seconds, queries: queries / seconds,
}
"""From the seconds that this many queries took to the figure shown."""


_ends = [math.inf]


def end_by(moment: float) -> None:
    """Let no timing begin more rounds than it must after this moment of ``time.perf_counter``."""
    _ends.append(moment)


@dataclass(frozen=True)
class Timing:
    """The seconds of each round, for one call that does the work of ``queries`` queries."""

    rounds: tuple[float, ...]
    queries: int = 1

    @property
    def each(self) -> float:
        """Median seconds a query."""
        return statistics.median(self.rounds) / self.queries

    def shown(self, unit: str, of: Callable[[tuple[float, ...]], float] = statistics.median) -> float:
        return _short(UNITS[unit](of(self.rounds), self.queries))


@dataclass(frozen=True)
class Contender:
    """Something to time: ``run(prepare())``, of which only ``run`` counts."""

    run: Callable[[Any], object]
    prepare: Callable[[], object] = lambda: None
    queries: int = 1


def side_by_side(*contenders: Contender, rounds: int, warm: bool = True, within: float = math.inf) -> list[Timing]:
    """Time the contenders in turns; without ``warm`` the first round counts too.

    Two rounds are always made; no further one begins when ``within`` seconds have passed, or the time of ``end_by``.
    """
    begun = time.perf_counter()
    seconds: list[list[float]] = [[] for _ in contenders]
    for number in range(rounds + warm):
        if number >= 2 + warm and (time.perf_counter() - begun > within or time.perf_counter() > _ends[-1]):
            break
        turns = list(zip(contenders, seconds, strict=True))
        for contender, taken in reversed(turns) if number % 2 else turns:
            ready = contender.prepare()
            gc.collect()
            start = time.perf_counter()
            contender.run(ready)
            taken.append(time.perf_counter() - start)
    return [Timing(tuple(s[warm:]), c.queries) for c, s in zip(contenders, seconds, strict=True)]


@dataclass(frozen=True, kw_only=True)
class Result:
    """One figure. ``target`` is a bound such as ">= 40" on the field that ``judged`` names; None: only reported."""

    benchmark: str
    ours: float
    unit: str
    peer: float | None = None
    ratio: float | None = None
    target: str | None = None
    judged: str = "ratio"
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def beyond(self) -> float | None:
        """How many times its bound the figure is, or the bound the figure that is to be large: met up to 1."""
        if self.target is None:
            return None
        sign, bound = self.target.split()
        large, small = (float(bound), self._judged) if sign == ">=" else (self._judged, float(bound))
        return large / small if small else math.inf if large else 1.0

    @property
    def met(self) -> bool | None:
        return None if self.beyond is None else self.beyond <= 1

    @property
    def _judged(self) -> float:
        return float(getattr(self, self.judged))

    def line(self) -> str:
        """The figure as one line of JSON."""
        shown = {name: getattr(self, name) for name in ("benchmark", "ours", "peer", "unit", "ratio", "target", "met")}
        judged = {"judged": self.judged} if self.target else {}
        return json.dumps(shown | judged | self.details)


def versus(
    benchmark: str,
    ours: Timing,
    peer: Timing,
    peer_name: str,
    *,
    unit: str = "ms",
    target: str | None = None,
    judged: str = "ratio",
    speed: bool = True,
    **details: object,
) -> Result:
    """Hold two timings against each other: how many times the peer's speed, or else its time, is ours?"""
    ratio = peer.each / ours.each if speed else ours.each / peer.each
    return Result(
        benchmark=benchmark,
        ours=ours.shown(unit),
        peer=peer.shown(unit),
        unit=unit,
        ratio=_short(ratio),
        target=target,
        judged=judged,
        details={
            "ratio_is": "times the speed of the peer" if speed else "times the time of the peer",
            "peer_name": peer_name,
            "ours_best": ours.shown(unit, min),
            "peer_best": peer.shown(unit, min),
            "rounds": len(ours.rounds),
            **details,
        },
    )


def megabytes_above(call: Callable[[], object]) -> float:
    """Peak memory of this process during the call, above what it holds now, in units of 10**6 bytes."""
    gc.collect()
    try:
        Path("/proc/self/clear_refs").write_text("5")  # sets VmHWM back to VmRSS
    except OSError:
        print("the high-water mark cannot be set back here: memory figures may be too large", file=sys.stderr)
    before = _resident("VmRSS")
    result = call()  # kept: what is handed out counts
    peak = _resident("VmHWM")
    del result
    return _short((peak - before) / 1e6)


def _resident(mark: str) -> int:
    """Bytes resident now (VmRSS) or at most since the last reset (VmHWM)."""
    if _STATUS.exists():
        line = next(line for line in _STATUS.read_text().splitlines() if line.startswith(f"{mark}:"))
        return int(line.split()[1]) * 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def _short(value: float) -> float:
    return float(f"{value:.4g}")
