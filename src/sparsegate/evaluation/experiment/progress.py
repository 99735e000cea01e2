"""How far a run is, and when it will end: the stages that are planned, each with the seconds that it should take.

Work is told in *expected seconds* of one process, and is of some kind (a method, say). What was done of a kind k in
o(k) seconds, and was expected to take e(k), teaches how wrong the expectation is:

    rate(k) = (o(k) + m/10 s) / (e(k) + 1/10 s),      m = the lower median of o(k) / e(k) over the kinds seen.

A stage whose work is shared by several processes takes its part of the time. So with L(k) for the expected seconds
left of kind k, divided by the processes that share them, and likewise D(k) for those that were done,

    left = pace * sum of rate(k) L(k),      pace = (passed + 1 s) / (sum of rate(k) D(k) + 1 s),

where passed is the time since the first case began: processes start once. The pace is what the cases do not see, such
as files that are written. The constants keep the first few numbers from jumping.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median_low

_KIND_PRIOR = 0.1
_PACE_PRIOR = 1.0


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How far a run is: the stage it is in, the cases of that stage, and the expected seconds left of the whole run.

    ``done`` of ``total`` cases are finished, of which ``resumed`` were there already. ``elapsed`` are the seconds since
    the first case began, 0 before.

    >>> from sparsegate import evaluation
    >>> seen = []
    >>> _ = evaluation.run(datasets=["zipf"], counts=[25], methods=["em"], runs=5, progress=seen.append)
    >>> seen[-1].what, seen[-1].done, seen[-1].total
    ('first runs', 1, 1)
    """

    what: str
    """The stage."""
    done: int
    total: int
    resumed: int
    elapsed: float
    seconds_left: float
    """The seconds that are expected to be left."""

    @property
    def share(self) -> float:
        """How much of the whole run has passed, from 0 to 1: elapsed / (elapsed + left)."""
        whole = self.elapsed + self.seconds_left
        return self.elapsed / whole if whole > 0 else 1.0


@dataclass(frozen=True, kw_only=True)
class Expected:
    """Some work: its kind, and the seconds that one process should take for it."""

    kind: str
    seconds: float


class WorkPlan:
    """The stages of a run in their order, and what is left of each; ``report`` is called whenever that changes.

    >>> seen = []
    >>> plan = WorkPlan(seen.append)
    >>> plan.expect("main", [Expected(kind="em", seconds=2.0)] * 3)
    >>> plan.expect("report", [Expected(kind="report", seconds=1.0)])
    >>> with plan.stage("main", total=3):
    ...     plan.advance(Expected(kind="em", seconds=2.0), took=2.0)
    >>> seen[-1].what, seen[-1].done, seen[-1].total
    ('main', 1, 3)
    """

    def __init__(
        self, report: Callable[[Progress], object] | None = None, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._report, self._clock = report, clock
        self._start = self._last = clock()
        self._begun: float | None = None
        self._planned: dict[str, dict[str, float]] = {}  # expected seconds left, by stage and kind
        self._sharing: dict[str, int] = {}
        self._seen: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])  # observed and expected, by kind
        self._machine = 1.0  # the median of the kinds
        self._passed: dict[str, float] = defaultdict(float)  # expected seconds done over the processes, by kind
        self._what, self._done, self._total, self._resumed = "starting", 0, 0, 0

    def expect(self, stage: str, work: Iterable[Expected], *, jobs: int = 1) -> None:
        """What a stage will do, shared by ``jobs`` processes; told again, it replaces what was expected before."""
        left: dict[str, float] = defaultdict(float)
        for part in work:
            left[part.kind] += part.seconds
        self._planned[stage], self._sharing[stage] = left, jobs

    @contextmanager
    def stage(self, what: str, *, total: int = 0, resumed: int = 0) -> Iterator[None]:
        """Be in a stage; whatever was expected of it is over at its end."""
        self._what, self._done, self._total, self._resumed = what, resumed, total, resumed
        began = self._last = self._clock()
        self._tell()
        yield
        if self._done == resumed and (left := self._planned.get(what)):  # it told of no part: it was one
            took = self._clock() - began
            whole = sum(left.values())
            for kind, seconds in list(left.items()):
                self._learn(what, Expected(kind=kind, seconds=seconds), took * seconds / whole if whole else 0.0)
        self._planned.pop(what, None)

    def advance(self, work: Expected, *, took: float | None = None) -> None:
        """A case of this stage is finished, and took its process so many seconds: unless told, since the last one."""
        now = self._clock()
        if took is None:
            took = (now - self._last) * self._sharing.get(self._what, 1)
        self._done += 1
        self._last = now
        self._learn(self._what, work, took)
        self._tell()

    @property
    def seconds_left(self) -> float:
        """The expected seconds left, see above."""
        passed = sum(self._rate(kind) * seconds for kind, seconds in self._passed.items())
        pace = (self._elapsed + _PACE_PRIOR) / (passed + _PACE_PRIOR)
        return pace * sum(self._seconds(left) / self._sharing[stage] for stage, left in self._planned.items())

    @property
    def _elapsed(self) -> float:
        return 0.0 if self._begun is None else self._clock() - self._begun

    def _seconds(self, left: Mapping[str, float]) -> float:
        return sum(self._rate(kind) * seconds for kind, seconds in left.items())

    def _rate(self, kind: str) -> float:
        observed, expected = self._seen.get(kind, (0.0, 0.0))
        return (observed + self._machine * _KIND_PRIOR) / (expected + _KIND_PRIOR)

    def _learn(self, stage: str, work: Expected, took: float) -> None:
        if self._begun is None:
            self._begun = max(self._start, self._clock() - took)
        self._seen[work.kind][0] += took
        self._seen[work.kind][1] += work.seconds
        self._machine = median_low(observed / expected for observed, expected in self._seen.values() if expected)
        self._passed[work.kind] += work.seconds / self._sharing.get(stage, 1)
        if stage in self._planned:
            left = self._planned[stage]
            left[work.kind] = max(0.0, left[work.kind] - work.seconds)

    def _tell(self) -> None:
        if self._report is not None:
            self._report(
                Progress(
                    what=self._what,
                    done=self._done,
                    total=self._total,
                    resumed=self._resumed,
                    elapsed=self._elapsed,
                    seconds_left=self.seconds_left,
                )
            )
