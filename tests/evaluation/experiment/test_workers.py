"""Processes that outlive a list of cases: started once, and never with one job."""

from __future__ import annotations

import os
import time
from contextlib import closing
from pathlib import Path

from sparsegate.evaluation.experiment.workers import WorkerPool


def touch(path: Path) -> int:
    path.touch()
    time.sleep(0.02)
    return os.getpid()


def test_the_same_processes_work_off_one_list_after_the_other(tmp_path: Path) -> None:
    names = [tmp_path / str(number) for number in range(40)]
    with WorkerPool(2) as pool:
        with closing(pool.each(touch, names)) as left:  # left early, as after Ctrl-C
            next(left)
        first = dict(pool.each(touch, names[:6]))
        second = dict(pool.each(touch, names[:6]))
    assert len(list(tmp_path.iterdir())) < len(names)  # what had not begun never did
    assert list(map(sorted, (first, second))) == [sorted(names[:6])] * 2
    assert set(second.values()) <= set(first.values())
    assert os.getpid() not in first.values()


def test_with_one_job_nothing_is_started(tmp_path: Path) -> None:
    with WorkerPool(1) as pool:
        assert dict(pool.each(touch, [tmp_path / "one"])) == {tmp_path / "one": os.getpid()}
