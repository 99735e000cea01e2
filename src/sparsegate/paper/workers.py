"""The processes that share the work of a run, and how far the run is.

A spawned process imports the main module of its parent first, so a script that starts an experiment outside of ``if
__name__ == "__main__"`` would start it again in every worker. It is kept from workers unless the work names it.
"""

from __future__ import annotations

import ctypes
import hashlib
import multiprocessing
import pickle
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any, TypeVar

from sparsegate.budget import exact_count
from sparsegate.errors import SparsegateError

DIED = (
    "a process died: it ran out of memory, was killed, or a method ended it; what was finished is kept, so pass fewer "
    'jobs and go on, or jobs=1 to see where. With a method of the main module, start below `if __name__ == "__main__":`'
)

_Task = TypeVar("_Task")
_Result = TypeVar("_Result")


@dataclass(frozen=True)
class Progress:
    """How far a run is: the stage it is in, the cases of that stage, and the expected seconds left of the whole run.

    ``done`` of ``total`` cases are finished, of which ``resumed`` were there already. ``elapsed`` are the seconds since
    the run began.

    >>> from sparsegate import paper
    >>> seen = []
    >>> _ = paper.run(datasets=["zipf"], counts=[25], methods=["em"], runs=5, progress=seen.append)
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


class WorkPlan:
    """The work that is expected of each stage; ``report`` is called whenever some is done.

    With l expected seconds left, d done and t passed, l (t + 1 s) / (d + 1 s) should be left: first numbers jump less.
    """

    def __init__(
        self,
        report: Callable[[Progress], object] | None = None,
        *,
        jobs: int = 1,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._report, self._jobs, self._clock, self._start = report, jobs, clock, clock()
        self._left: dict[str, float] = {}
        self._passed = 0.0
        self._what, self._done, self._total, self._resumed = "starting", 0, 0, 0

    def expect(self, stage: str, seconds: float) -> None:
        """What a stage should take one process; told again, it replaces what was expected before."""
        self._left[stage] = seconds / self._jobs

    @contextmanager
    def stage(self, what: str, *, total: int = 0, resumed: int = 0) -> Iterator[None]:
        self._what, self._done, self._total, self._resumed = what, resumed, total, resumed
        self._tell()
        yield
        self._passed += self._left.pop(what, 0.0)

    def advance(self, seconds: float) -> None:
        """A case of this stage, which should have taken so many seconds, is finished."""
        part = min(seconds / self._jobs, self._left.get(self._what, 0.0))
        self._left[self._what] = self._left.get(self._what, 0.0) - part
        self._passed += part
        self._done += 1
        self._tell()

    def _tell(self) -> None:
        if self._report is not None:
            elapsed = self._clock() - self._start
            left = sum(self._left.values()) * (elapsed + 1) / (self._passed + 1)
            self._report(Progress(self._what, self._done, self._total, self._resumed, elapsed, left))


@dataclass(frozen=True, kw_only=True, eq=False)
class SharedValue:
    """A value, or the file that has it."""

    value: Any = None
    path: Path | None = None

    def get(self) -> Any:
        return self.value if self.path is None else _unpickled(self.path)


@lru_cache(maxsize=16)
def _unpickled(path: Path) -> Any:
    return pickle.loads(path.read_bytes())  # noqa: S301 -- of the pool's own folder


class WorkerPool:
    """Processes that are started once for everything a run does; their ``plan`` tells ``progress`` what they have done.

    With one job the work is done in this process. A context manager.
    """

    def __init__(self, jobs: int = 1, progress: Callable[[Progress], object] | None = None) -> None:
        self.jobs = exact_count(jobs, "jobs")
        self.plan = WorkPlan(progress, jobs=self.jobs)
        self._processes: ProcessPoolExecutor | None = None
        self._folder: TemporaryDirectory[str] | None = None

    def __enter__(self) -> WorkerPool:
        return self

    def __exit__(self, stopped_by: object, *_: object) -> None:
        if self._processes is not None:
            if stopped_by is not None:  # Ctrl-C or an error: nobody waits for what goes on, which may be forever
                for process in list((self._processes._processes or {}).values()):
                    process.kill()
            self._processes.shutdown(cancel_futures=True)
        if self._folder is not None:
            self._folder.cleanup()

    def share(self, value: object) -> SharedValue:
        """Let the processes have a large value, once for all the work that needs it.

        It goes through a file: where a process dies while much is written to the pipe of another, Python waits forever.
        """
        if self.jobs == 1:
            return SharedValue(value=value)
        if self._folder is None:
            self._folder = TemporaryDirectory(prefix="sparsegate-")
        content = pickle.dumps(value)
        path = Path(self._folder.name) / hashlib.sha256(content).hexdigest()
        if not path.exists():
            path.write_bytes(content)
        return SharedValue(path=path)

    def each(
        self,
        what: str,
        work: Callable[[_Task], _Result],
        tasks: Sequence[_Task],
        *,
        expected: Callable[[_Task], float] = lambda _: 1.0,
        resumed: int = 0,
    ) -> Iterator[tuple[_Task, _Result]]:
        """A stage of the plan: what the work gives for each task, in the order of finishing.

        ``expected`` are the seconds of a task; ``resumed`` tasks more were finished before. Several processes need a
        function of a module. A task counts as done once its result was dealt with.
        """
        self.plan.expect(what, sum(map(expected, tasks)))
        with self.plan.stage(what, total=len(tasks) + resumed, resumed=resumed):
            for task, result in self._results(work, tasks):
                yield task, result
                self.plan.advance(expected(task))

    def _results(self, work: Callable[[_Task], _Result], tasks: Sequence[_Task]) -> Iterator[tuple[_Task, _Result]]:
        if self.jobs == 1:
            for task in tasks:
                yield task, work(task)
            return
        if getattr(multiprocessing.current_process(), "_inheriting", False):
            raise SystemExit(1)  # a worker that is importing a script without a guard: its parent says why
        needs_main = b"__main__" in pickle.dumps(tasks)
        if self._processes is None:
            # Spawned, not forked: PyArrow has threads, and a fork copies only one of them. And before Ctrl-C is made to
            # wait: Python's tracker of resources starts with it, and lets signals through again.
            spawned = multiprocessing.get_context("spawn")
            self._processes = ProcessPoolExecutor(self.jobs, mp_context=spawned, initializer=_keep_freed_memory)
        with _uninterrupted(), nullcontext() if needs_main else _main_kept_from_workers():
            futures = {self._processes.submit(work, task): task for task in tasks}
        try:
            for future in as_completed(list(futures)):
                yield futures.pop(future), future.result()
        except BrokenProcessPool:
            raise SparsegateError(DIED) from None
        finally:
            for future in futures:
                future.cancel()


def shared_pool(
    pool: WorkerPool | None, jobs: int, progress: Callable[[Progress], object] | None
) -> AbstractContextManager[WorkerPool]:
    """The pool, which stays open, or one of this many processes that tells ``progress``."""
    return nullcontext(pool) if pool else WorkerPool(jobs, progress)


_LIBRARY = ctypes.CDLL(None) if sys.platform == "linux" else None


def _keep_freed_memory() -> None:
    """Let a process keep what its arrays free: to give each back and to ask for it again takes a third of a case.

    M_MMAP_THRESHOLD and M_TRIM_THRESHOLD of glibc's ``mallopt``; elsewhere nothing is done.
    """
    for parameter in (-3, -1) if hasattr(_LIBRARY, "mallopt") else ():
        _LIBRARY.mallopt(parameter, 1 << 30)  # type: ignore[union-attr]


def give_back_memory() -> None:
    """Give back what was kept: after work on all scores, which nothing later needs as much for."""
    if hasattr(_LIBRARY, "malloc_trim"):
        _LIBRARY.malloc_trim(0)  # type: ignore[union-attr]


@contextmanager
def _main_kept_from_workers() -> Iterator[None]:
    """Processes that are spawned meanwhile do not import the main module: it has no name and no file to import."""
    main = vars(sys.modules["__main__"])
    kept: dict[str, Any] = {name: main[name] for name in ("__spec__", "__file__") if name in main}
    try:
        main.update(dict.fromkeys(kept))
        yield
    finally:
        main.update(kept)


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Let Ctrl-C wait while workers start: half a worker would stay behind, and Ctrl-C is not for workers at all.

    A worker inherits the signals that its parent's thread blocks; in the parent, with other threads, the handler waits.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # Ctrl-C reaches the main thread alone
        return
    waiting: list[tuple[int, FrameType | None]] = []
    handler = signal.signal(signal.SIGINT, lambda *caught: waiting.append(caught))
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        signal.signal(signal.SIGINT, handler)
    if waiting and callable(handler):
        handler(*waiting[0])
