"""Cases of an experiment, the processes that work them off, and when that will end.

Each case draws from a generator of its own, seeded by a hash of (seed, dataset, method, epsilon, c): its numbers depend
neither on the other cases nor on how many processes share the work.

A spawned process imports the main module of its parent before it does anything. A script that starts an experiment
outside of ``if __name__ == "__main__"`` would start it once more in every worker, and Python ends that with pages of
tracebacks. Workers need nothing of that module unless a method was defined there, so it is kept from them; where they
do need it, what is wrong is said in one line.

**The expected end.** Work is told in *expected seconds* of one process, and is of some kind (a method, say). What was
done of a kind k in o(k) seconds, and was expected to take e(k), teaches how wrong the expectation is:

    rate(k) = (o(k) + m/10 s) / (e(k) + 1/10 s),      m = the lower median of o(k) / e(k) over the kinds seen.

A stage whose work is shared by several processes takes its part of the time. So with L(k) for the expected seconds
left of kind k, divided by the processes that share them, and likewise D(k) for those that were done,

    left = pace * sum of rate(k) L(k),      pace = (passed + 1 s) / (sum of rate(k) D(k) + 1 s),

where passed is the time since the first case began: processes start once. The pace is what the cases do not see, such
as files that are written. The constants keep the first few numbers from jumping.
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
from collections import defaultdict
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from statistics import median_low
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any, TypeVar

import numpy as np

from sparsegate.budget import exact_count
from sparsegate.errors import ParameterError, SparsegateError
from sparsegate.paper.data import Dataset
from sparsegate.paper.findings import CellKey
from sparsegate.paper.methods import AnyMethod, SuppliedMethod
from sparsegate.paper.ranked import Ladder
from sparsegate.paper.results import RATES, Record, ResultFolder, stable_hash
from sparsegate.paper.simulation import simulated_errors

GUARD = (
    "the processes ended as soon as they began: a method is defined in the main module, so each of them imports it; "
    'start the experiment below `if __name__ == "__main__":`, or define the method in a module of its own, or pass '
    "jobs=1"
)


def needs_main(work: object) -> bool:
    """Whether some of the work was defined in the main module, so that workers must import it.

    >>> needs_main([1, "two"])
    False
    """
    return b"__main__" in pickle.dumps(work)


@contextmanager
def main_kept_from_workers() -> Iterator[None]:
    """Processes that are spawned meanwhile do not import the main module: it has no name and no file to import."""
    main = vars(sys.modules["__main__"])
    kept: dict[str, Any] = {name: main[name] for name in ("__spec__", "__file__") if name in main}
    try:
        main.update(dict.fromkeys(kept))
        yield
    finally:
        main.update(kept)


def end_second_start() -> None:
    """End a worker that is importing a script without a guard, silently: its parent says why, with ``GUARD``."""
    if getattr(multiprocessing.current_process(), "_inheriting", False):  # as multiprocessing itself asks
        raise SystemExit(1)


_KIND_PRIOR = 0.1
_PACE_PRIOR = 1.0


@dataclass(frozen=True)
class Progress:
    """How far a run is: the stage it is in, the cases of that stage, and the expected seconds left of the whole run.

    ``done`` of ``total`` cases are finished, of which ``resumed`` were there already. ``elapsed`` are the seconds since
    the first case began, 0 before.

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
        pace = (self._elapsed + _PACE_PRIOR) / (self._seconds(self._passed) + _PACE_PRIOR)
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
            times = (self._elapsed, self.seconds_left)
            self._report(Progress(self._what, self._done, self._total, self._resumed, *times))


SIMULATOR = 3
"""Counts the changes of the simulator that change its numbers for a given seed."""

DIED = (
    "a process died: it ran out of memory, was killed, or a method ended it; what was finished is kept, so pass fewer "
    "jobs and go on, or jobs=1 to see where"
)

_Task = TypeVar("_Task")
_Result = TypeVar("_Result")


@dataclass(frozen=True, kw_only=True)
class ExperimentCase:
    """One dataset, method, epsilon and c, with how many runs and from which seed; ``batch`` counts those before it."""

    dataset: str
    method: AnyMethod
    epsilon: Fraction
    count: int
    runs: int
    seed: int
    batch: int = 0

    @property
    def cell(self) -> CellKey:
        """Which row of the results it is."""
        return CellKey(self.dataset, self.method.key, float(self.epsilon), self.count)

    def generator(self) -> np.random.Generator:
        """The case's own randomness."""
        later = (self.batch,) if self.batch else ()
        names = stable_hash(self.seed, self.dataset, self.method.key, self.epsilon, self.count, *later)
        return np.random.default_rng(np.random.SeedSequence(int(names, 16)))

    def key(self, fingerprint: str) -> str:
        """The name of the case in a folder: it holds everything the numbers depend on."""
        law = self.method.law(count=self.count, epsilon=self.epsilon)
        names = (self.dataset, self.method.key, self.epsilon, self.count, self.runs, self.seed, self.batch)
        return stable_hash(SIMULATOR, fingerprint, *law, *names)

    @property
    def expected(self) -> Expected:
        """The time it should take: some for the case, and for each of c positives some for itself and for each run."""
        if isinstance(self.method, SuppliedMethod):  # nobody knows; the plan learns it from the first of its cases
            return Expected(kind=self.method.key, seconds=0.002 + self.runs * 1e-3)
        redraws = self.method.row is not None and self.method.row.redraws_threshold
        positive, run = (8e-5, 12e-7) if redraws else (0.0, 4e-7)  # seconds, measured on every dataset
        return Expected(kind=self.method.key, seconds=0.002 + self.count * (positive + self.runs * run))

    def compute(self, ladder: Ladder) -> Record:
        """Simulate and measure."""
        start = time.perf_counter()
        try:
            errors = simulated_errors(
                self.method, ladder, count=self.count, epsilon=self.epsilon, runs=self.runs, rng=self.generator()
            )
        except ParameterError as error:
            if error.next_step:  # of a method that failed: where it did
                error.args, error.next_step = (f"{error}, on {self.dataset}",), f"{error.next_step}, on {self.dataset}"
            raise
        return errors.summary() | {"seconds": time.perf_counter() - start}


@dataclass(frozen=True, kw_only=True, eq=False)
class SharedValue:
    """A value, or the file that has it."""

    value: Any = None
    path: Path | None = None

    def get(self) -> Any:
        """The value; a process reads the file once."""
        return self.value if self.path is None else _unpickled(self.path)


@lru_cache(maxsize=16)
def _unpickled(path: Path) -> Any:
    return pickle.loads(path.read_bytes())  # noqa: S301 -- of the pool's own folder


class WorkerPool:
    """Processes that are started once for everything a run does, and ``plan``, which is told what they have done.

    With one job the work is done here, and nothing is started. A context manager.
    """

    def __init__(self, jobs: int = 1, plan: WorkPlan | None = None) -> None:
        self.jobs, self.plan = exact_count(jobs, "jobs"), plan or WorkPlan()
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
        self, work: Callable[[_Task], _Result], tasks: Sequence[_Task]
    ) -> Generator[tuple[_Task, _Result], None, None]:
        """What the work gives for each, in the order of finishing. Several processes need a function of a module."""
        if self.jobs == 1:
            for task in tasks:
                yield task, work(task)
            return
        end_second_start()
        with_main = needs_main(tasks)
        if self._processes is None:
            # Spawned, not forked: PyArrow has threads, and a fork copies only one of them. And before Ctrl-C is made to
            # wait: Python's tracker of resources starts with it, and lets signals through again.
            spawned = multiprocessing.get_context("spawn")
            self._processes = ProcessPoolExecutor(self.jobs, mp_context=spawned, initializer=_keep_freed_memory)
        with _uninterrupted(), nullcontext() if with_main else main_kept_from_workers():
            futures = {self._processes.submit(work, task): task for task in tasks}
        try:
            for future in as_completed(list(futures)):
                yield futures.pop(future), future.result()
        except BrokenProcessPool:
            if with_main and len(futures) + 1 >= len(tasks):  # none has done anything
                raise SparsegateError(GUARD) from None
            raise SparsegateError(DIED) from None
        finally:
            for future in futures:
                future.cancel()


def shared_pool(
    pool: WorkerPool | None, jobs: int, progress: Callable[[Progress], object] | None
) -> AbstractContextManager[WorkerPool]:
    """The pool, which stays open, or one of this many processes whose plan tells ``progress``."""
    return nullcontext(pool) if pool else WorkerPool(jobs, WorkPlan(progress))


def compute_all(
    cases: Sequence[ExperimentCase],
    datasets: Mapping[str, Dataset],
    *,
    folder: ResultFolder | None,
    pool: WorkerPool,
    what: str = "experiment",
) -> dict[ExperimentCase, Record]:
    """Compute the cases that the folder does not have, and keep each as soon as it is done."""
    for method in {case.method for case in cases}:
        if isinstance(method, SuppliedMethod):
            method.check_jobs(pool.jobs)
    fingerprints = {name: data.fingerprint for name, data in datasets.items()}
    keys = {case: case.key(fingerprints[case.dataset]) for case in cases}
    records = {}
    for case, key in keys.items():
        record = folder.load(key) if folder is not None and case.method.kept else None
        if record is not None and record.keys() >= RATES:
            records[case] = record
    ladders = {name: pool.share(data.ladder) for name, data in datasets.items()}
    # The dearest first: one that comes last would leave the other processes with nothing to do.
    missing = sorted(
        ((case, ladders[case.dataset]) for case in keys if case not in records),
        key=lambda task: task[0].expected.seconds,
        reverse=True,
    )
    pool.plan.expect(what, [case.expected for case, _ in missing], jobs=pool.jobs)
    with (
        pool.plan.stage(what, total=len(keys), resumed=len(records)),
        closing(pool.each(_compute, missing)) as finished,
    ):
        for (case, _), record in finished:
            if folder is not None and case.method.kept:
                folder.save(keys[case], record)
            records[case] = record
            pool.plan.advance(case.expected, took=record["seconds"])
    return records


def _compute(task: tuple[ExperimentCase, SharedValue]) -> Record:
    case, ladder = task
    return case.compute(ladder.get())


def _keep_freed_memory() -> None:
    """Let a process keep what its arrays free: to give each back and to ask for it again takes a third of a case.

    M_MMAP_THRESHOLD and M_TRIM_THRESHOLD of glibc's ``mallopt``; elsewhere nothing is done.
    """
    library = ctypes.CDLL(None) if sys.platform == "linux" else None
    for parameter in (-3, -1) if hasattr(library, "mallopt") else ():
        library.mallopt(parameter, 1 << 30)  # type: ignore[union-attr]


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Let Ctrl-C wait while workers start: half a worker would stay behind, and Ctrl-C is not for workers at all.

    A worker keeps the signals blocked that are blocked in the thread that starts it. The parent has other threads, so
    there the handler must wait, too.
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
