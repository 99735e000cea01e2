"""Processes that outlive a list of cases: started once, and never with one job."""

from __future__ import annotations

import os
import signal
import time
from contextlib import closing, suppress
from pathlib import Path

import pytest

from sparsegate.errors import SparsegateError
from sparsegate.paper.workers import SharedValue, WorkerPool


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
