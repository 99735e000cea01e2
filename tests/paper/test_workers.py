"""Processes that outlive a list of cases, scripts without a guard, and the expected end of a run."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import time
from contextlib import closing, suppress
from pathlib import Path

import pytest

from sparsegate.errors import SparsegateError
from sparsegate.paper.workers import Expected, Progress, SharedValue, WorkerPool, WorkPlan


def touch(path: Path) -> int:
    path.touch()
    time.sleep(0.02)
    return os.getpid()


def deaf_to_ctrl_c(_: int) -> bool:
    time.sleep(0.02)
    return signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, [])


def total_of(shared: SharedValue) -> int:
    return sum(shared.get())


def test_the_same_processes_work_off_one_list_after_the_other(tmp_path: Path) -> None:
    names = [tmp_path / str(number) for number in range(40)]
    begun = time.monotonic()
    with suppress(KeyboardInterrupt), WorkerPool(2) as pool:
        with closing(pool.each(touch, names)) as left:  # left early, as after Ctrl-C
            next(left)
        first = dict(pool.each(touch, names[:6]))
        second = dict(pool.each(touch, names[:6]))
        deaf = dict(pool.each(deaf_to_ctrl_c, range(6)))
        shared = pool.share(list(range(1000)))
        added = [total for _, total in pool.each(total_of, [shared] * 3)]
        next(pool.each(time.sleep, [0, 300, 300]))
        raise KeyboardInterrupt
    assert time.monotonic() - begun < 200  # nobody waits for what goes on
    assert len(list(tmp_path.iterdir())) < len(names)  # what had not begun never did
    assert list(map(sorted, (first, second))) == [sorted(names[:6])] * 2
    assert len({*first.values(), *second.values()}) <= 2
    assert os.getpid() not in first.values()
    assert added == [sum(range(1000))] * 3
    assert not shared.path.exists()  # it goes with the pool
    assert all(deaf.values())  # it is the parent that stops the work


def test_a_process_that_dies_is_told_in_one_line() -> None:
    with pytest.raises(SparsegateError, match=r"^a process died"), WorkerPool(2) as pool:
        list(pool.each(os._exit, [3]))


def test_with_one_job_nothing_is_started(tmp_path: Path) -> None:
    with WorkerPool(1) as pool:
        assert dict(pool.each(touch, [tmp_path / "one"])) == {tmp_path / "one": os.getpid()}


OURS = """
import sparsegate as sg
found = sg.paper.run(datasets=["zipf"], counts=[25, 50], methods=["em"], runs=2, jobs=2)
print(len(found), __file__, __spec__)
"""
ITS_OWN = """
import sparsegate as sg
def first(scores, count, epsilon, rng):
    return list(range(count))
sg.paper.run(datasets=["zipf"], counts=[25, 50], methods=[first], runs=2, jobs=2)
"""


def script(folder: Path, text: str) -> subprocess.CompletedProcess[str]:
    path = folder / "script.py"
    path.write_text(text, encoding="utf-8")
    return subprocess.run([sys.executable, str(path)], capture_output=True, text=True, timeout=60)


def test_a_script_without_a_guard_runs_once(tmp_path: Path) -> None:
    done = script(tmp_path, OURS)
    assert (done.stdout, done.stderr) == (f"2 {tmp_path / 'script.py'} None\n", "")


def test_a_method_of_the_script_itself_needs_a_guard_and_one_line_says_so(tmp_path: Path) -> None:
    said = script(tmp_path, ITS_OWN).stderr.splitlines()
    assert said[-1].startswith("sparsegate.errors.SparsegateError: the processes ended as soon as they began")
    assert sum("Traceback" in line for line in said) == 1  # the script's own, none of a worker
    guarded = script(tmp_path, ITS_OWN.replace("sg.paper.run", 'if __name__ == "__main__":\n    sg.paper.run'))
    assert (guarded.returncode, guarded.stderr) == (0, "")


class World:
    """A run of two kinds of cases shared by two processes, and a report, on a machine with a clock of its own."""

    def __init__(self, *, slow: dict[str, float], overhead: float = 0.0, order: str = "cd" * 100) -> None:
        self.now, self.seen = 0.0, list[Progress]()
        plan = WorkPlan(self.seen.append, clock=lambda: self.now)
        cases = [Expected(kind={"c": "cheap", "d": "dear"}[kind], seconds=0.1) for kind in order]
        report = Expected(kind="report", seconds=4.0)
        plan.expect("main", cases, jobs=2)
        plan.expect("report", [report])
        with plan.stage("main", total=len(cases)):
            for case in cases:
                took = slow[case.kind] * case.seconds
                self.now += took / 2 + overhead
                plan.advance(case, took=took)
        with plan.stage("report"):
            self.now += slow["report"] * report.seconds
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
    run = World(**WORLDS[world])
    assert run.predicted_end(share) == pytest.approx(run.now, rel=0.3)


def test_the_cost_of_cases_counts_and_not_their_number_and_can_be_told_again() -> None:
    now, seen = 0.0, list[Progress]()
    plan = WorkPlan(seen.append, clock=lambda: now)
    cheap, dear = Expected(kind="case", seconds=1.0), Expected(kind="case", seconds=99.0)
    plan.expect("main", [dear])
    plan.expect("main", [*[cheap] * 99, dear])
    with plan.stage("main", total=100):
        for _ in range(99):
            now += 1.0
            plan.advance(cheap, took=1.0)
        assert (seen[-1].share, seen[-1].seconds_left) == pytest.approx((0.5, 99.0))
        assert (seen[-1].done, seen[-1].total) == (99, 100)


def test_a_stage_that_tells_of_no_case_teaches_the_pace_when_it_ends() -> None:
    now = 0.0
    plan = WorkPlan(clock=lambda: now)
    for stage in ("first", "second"):
        plan.expect(stage, [Expected(kind="same", seconds=10.0)])
    with plan.stage("first"):
        now += 30.0
    assert plan.seconds_left == pytest.approx(30.0, rel=0.05)
