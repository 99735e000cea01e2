"""The expected end of a run: near the truth from a quarter on, whatever the machine and however wrong the plan."""

from __future__ import annotations

import itertools

import pytest

from sparsegate.paper.workers import Expected, Progress, WorkPlan


class World:
    """A run of two kinds of cases shared by two processes, and a report, on a machine with a clock of its own."""

    def __init__(self, *, slow: dict[str, float], overhead: float = 0.0, order: str = "cd" * 100) -> None:
        self.now, self.seen = 0.0, list[Progress]()
        self._slow, self._overhead, self._order = slow, overhead, order

    def run(self) -> None:
        plan = WorkPlan(self.seen.append, clock=lambda: self.now)
        cases = [Expected(kind={"c": "cheap", "d": "dear"}[kind], seconds=0.1) for kind in self._order]
        report = Expected(kind="report", seconds=4.0)
        plan.expect("main", cases, jobs=2)
        plan.expect("report", [report])
        with plan.stage("main", total=len(cases)):
            for case in cases:
                took = self._slow[case.kind] * case.seconds
                self.now += took / 2 + self._overhead
                plan.advance(case, took=took)
        with plan.stage("report"):
            self.now += self._slow["report"] * report.seconds
        assert plan.seconds_left == 0

    def predicted_end(self, share: float) -> float:
        """The end as it was expected when this share of the time had passed."""
        at = max((step for step in self.seen if step.elapsed <= share * self.now), key=lambda step: step.elapsed)
        return at.elapsed + at.seconds_left


WORLDS = {
    "as planned": {"slow": {"cheap": 1.0, "dear": 1.0, "report": 1.0}},
    "a machine three times as slow": {"slow": {"cheap": 3.0, "dear": 3.0, "report": 3.0}},
    "a machine four times as fast": {"slow": {"cheap": 0.25, "dear": 0.25, "report": 0.25}},
    "one kind far dearer than planned": {"slow": {"cheap": 1.0, "dear": 20.0, "report": 1.0}},
    "the dear kind first": {
        "slow": {"cheap": 1.0, "dear": 20.0, "report": 1.0},
        "order": "c" + "d" * 40 + "c" * 959,
    },
    "time that no case sees": {"slow": {"cheap": 1.0, "dear": 1.0, "report": 1.5}, "overhead": 0.02},
}


@pytest.mark.parametrize(("world", "share"), list(itertools.product(WORLDS, (0.25, 0.5, 0.75))))
def test_from_a_quarter_on_the_expected_end_is_within_30_percent(world: str, share: float) -> None:
    there = World(**WORLDS[world])
    there.run()
    assert there.predicted_end(share) == pytest.approx(there.now, rel=0.3)


def test_the_cost_of_cases_counts_and_not_their_number() -> None:
    now, seen = 0.0, list[Progress]()
    plan = WorkPlan(seen.append, clock=lambda: now)
    cheap, dear = Expected(kind="case", seconds=1.0), Expected(kind="case", seconds=99.0)
    plan.expect("main", [*[cheap] * 99, dear])
    with plan.stage("main", total=100):
        for _ in range(99):
            now += 1.0
            plan.advance(cheap, took=1.0)
        assert seen[-1].share == pytest.approx(0.5)
        assert seen[-1].seconds_left == pytest.approx(99.0)
        assert (seen[-1].done, seen[-1].total) == (99, 100)


def test_a_stage_that_tells_of_no_case_teaches_the_pace_when_it_ends() -> None:
    now = 0.0
    plan = WorkPlan(clock=lambda: now)
    for stage in ("first", "second"):
        plan.expect(stage, [Expected(kind="same", seconds=10.0)])
    with plan.stage("first"):
        now += 30.0
    assert plan.seconds_left == pytest.approx(30.0, rel=0.05)


def test_what_is_expected_can_be_told_again() -> None:
    now = 0.0
    plan = WorkPlan(clock=lambda: now)
    plan.expect("rounds", [Expected(kind="em", seconds=10.0)])
    plan.expect("rounds", [Expected(kind="em", seconds=3.0)])
    assert plan.seconds_left == pytest.approx(3.0)
