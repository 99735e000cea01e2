"""Processes that outlive a list of cases, scripts without a guard, and the expected end of a run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import closing, suppress
from pathlib import Path

import pytest

from sparsegate.errors import SparsegateError
from sparsegate.paper.workers import Progress, SharedValue, WorkerPool, WorkPlan


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
        with closing(pool.each("work", touch, names)) as left:  # left early, as after Ctrl-C
            next(left)
        first = dict(pool.each("work", touch, names[:6]))
        second = dict(pool.each("work", touch, names[:6]))
        deaf = dict(pool.each("work", deaf_to_ctrl_c, range(6)))
        shared = pool.share(list(range(1000)))
        added = [total for _, total in pool.each("work", total_of, [shared] * 3)]
        next(pool.each("work", time.sleep, [0, 300, 300]))
        raise KeyboardInterrupt
    assert time.monotonic() - begun < 200  # nobody waits for what goes on
    assert len(list(tmp_path.iterdir())) < len(names)  # what had not begun never did
    assert list(map(sorted, (first, second))) == [sorted(names[:6])] * 2
    assert len({*first.values(), *second.values()}) <= 2
    assert os.getpid() not in first.values()
    assert set(dict(WorkerPool(1).each("work", touch, names[:2])).values()) == {os.getpid()}  # one job starts nothing
    assert added == [sum(range(1000))] * 3
    assert not shared.path.exists()  # it goes with the pool
    assert all(deaf.values())  # it is the parent that stops the work


def test_a_process_that_dies_is_told_in_one_line() -> None:
    with pytest.raises(SparsegateError, match=r"^a process died"), WorkerPool(2) as pool:
        list(pool.each("work", os._exit, [3]))


SCRIPT = """
import sparsegate as sg
def first(scores, count, epsilon, rng):
    return list(range(count))
small = {"datasets": ["zipf"], "counts": [25, 50], "runs": 2, "jobs": 2}
print(len(sg.paper.run(**small, methods=["em"])), __file__, __spec__)
sg.paper.run(**small, methods=[first])
"""
GUARDED = SCRIPT.replace("print(", 'if __name__ == "__main__":\n    #').replace("sg.paper.run", "    sg.paper.run")


def script(folder: Path, text: str) -> subprocess.CompletedProcess[str]:
    path = folder / "script.py"
    path.write_text(text, encoding="utf-8")
    return subprocess.run([sys.executable, str(path)], capture_output=True, text=True, timeout=300)


def test_a_script_without_a_guard_runs_once_and_needs_one_for_a_method_of_its_own(tmp_path: Path) -> None:
    done = script(tmp_path, SCRIPT)
    assert done.stdout == f"2 {tmp_path / 'script.py'} None\n"
    told = done.stderr.splitlines()
    assert told[-1].startswith("sparsegate.errors.SparsegateError: a process died")
    assert told[-1].endswith('start below `if __name__ == "__main__":`')
    assert sum("Traceback" in line for line in told) == 1  # the script's own, none of a worker
    guarded = script(tmp_path, GUARDED)
    assert (guarded.returncode, guarded.stderr) == (0, "")


def run_of(*, slow: float, overhead: float = 0.0) -> list[Progress]:
    """A hundred cheap cases and then a dear one, shared by two processes, and a report, with a clock of its own."""
    now, seen = 0.0, list[Progress]()
    plan = WorkPlan(seen.append, jobs=2, clock=lambda: now)
    plan.expect("main", 50.0)  # told again, it counts once
    plan.expect("main", 200.0)
    plan.expect("report", 80.0)
    with plan.stage("main", total=101):
        for seconds in [1.0] * 100 + [100.0]:
            now += slow * seconds / 2 + overhead
            plan.advance(seconds)
    with plan.stage("report"):  # it tells of no case: it is over at its end
        now += slow * 40
    with plan.stage("end"):
        assert seen[-1].seconds_left == 0
    return seen


@pytest.mark.parametrize("world", [{"slow": 1.0}, {"slow": 3.0}, {"slow": 0.25}, {"slow": 1.0, "overhead": 0.2}])
def test_once_some_is_done_the_expected_end_is_within_30_percent(world: dict[str, float]) -> None:
    seen = run_of(**world)
    late = [step for step in seen if step.elapsed > seen[-1].elapsed / 4]
    assert len(late) > 20
    for step in late:
        assert step.elapsed + step.seconds_left == pytest.approx(seen[-1].elapsed, rel=0.3)
    assert (seen[100].done, seen[100].total) == (100, 101)
    assert seen[100].share < 0.5  # the cost of cases counts, not their number
