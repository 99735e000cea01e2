"""Cases of an experiment: what one is, and how a list of them is worked off, by one process or by several.

Each case draws from a generator of its own, seeded by a hash of (seed, dataset, method, epsilon, c): its numbers depend
neither on the other cases nor on how many processes share the work.
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
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any, TypeVar

import numpy as np

from sparsegate.budget import exact_count
from sparsegate.errors import ParameterError, SparsegateError
from sparsegate.evaluation.data.datasets import Dataset
from sparsegate.evaluation.experiment.main_module import GUARD, end_second_start, main_kept_from_workers, needs_main
from sparsegate.evaluation.experiment.progress import Expected, WorkPlan
from sparsegate.evaluation.experiment.results import RATES, Record, ResultFolder, stable_hash
from sparsegate.evaluation.methods import AnyMethod
from sparsegate.evaluation.simulated.ranked import Ladder
from sparsegate.evaluation.simulated.simulation import simulated_errors
from sparsegate.evaluation.statements.judgements import CellKey
from sparsegate.evaluation.supplied_methods import SuppliedMethod

SIMULATOR = 3
"""Counts the changes of the simulator that change its numbers for a given seed."""

DIED = (
    "a process died: it ran out of memory, was killed, or a method ended it; what was finished is kept, so pass fewer "
    "jobs and go on, or jobs=1 to see where"
)

_Given = TypeVar("_Given")
_Found = TypeVar("_Found")


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
        self, work: Callable[[_Given], _Found], given: Sequence[_Given]
    ) -> Generator[tuple[_Given, _Found], None, None]:
        """What the work gives for each, in the order of finishing. Several processes need a function of a module."""
        if self.jobs == 1:
            for one in given:
                yield one, work(one)
            return
        end_second_start()
        with_main = needs_main(given)
        if self._processes is None:
            # Spawned, not forked: PyArrow has threads, and a fork copies only one of them. And before Ctrl-C is made to
            # wait: Python's tracker of resources starts with it, and lets signals through again.
            spawned = multiprocessing.get_context("spawn")
            self._processes = ProcessPoolExecutor(self.jobs, mp_context=spawned, initializer=_keep_freed_memory)
        with _uninterrupted(), nullcontext() if with_main else main_kept_from_workers():
            futures = {self._processes.submit(work, one): one for one in given}
        try:
            for future in as_completed(list(futures)):
                yield futures.pop(future), future.result()
        except BrokenProcessPool:
            if with_main and len(futures) + 1 >= len(given):  # none has done anything
                raise SparsegateError(GUARD) from None
            raise SparsegateError(DIED) from None
        finally:
            for future in futures:
                future.cancel()


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
        key=lambda given: given[0].expected.seconds,
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


def _compute(given: tuple[ExperimentCase, SharedValue]) -> Record:
    case, ladder = given
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
    handler = signal.signal(signal.SIGINT, lambda *given: waiting.append(given))
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        signal.signal(signal.SIGINT, handler)
    if waiting and callable(handler):
        handler(*waiting[0])
