"""Cases of an experiment: what one is, and how a list of them is worked off, by one process or by several.

Each case draws from a generator of its own, seeded by a hash of (seed, dataset, method, epsilon, c): its numbers depend
neither on the other cases nor on how many processes share the work.
"""

from __future__ import annotations

import multiprocessing
import signal
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import closing, contextmanager
from dataclasses import dataclass
from fractions import Fraction
from types import FrameType
from typing import TypeAlias

import numpy as np

from sparsegate.evaluation.data.datasets import Dataset
from sparsegate.evaluation.experiment.results import Record, ResultFolder, stable_hash
from sparsegate.evaluation.methods import Method
from sparsegate.evaluation.simulated.ranked import Ladder, measure
from sparsegate.evaluation.simulated.simulation import simulate

SIMULATOR = 1
"""Counts the changes of the simulator that change its numbers for a given seed."""

_ladders: dict[str, Ladder] = {}  # of a worker process, filled when it starts


@dataclass(frozen=True, kw_only=True)
class ExperimentCase:
    """One dataset, method, epsilon and c, with how many runs and from which seed."""

    dataset: str
    method: Method
    epsilon: Fraction
    count: int
    runs: int
    seed: int

    def generator(self) -> np.random.Generator:
        """The case's own randomness."""
        names = stable_hash(self.seed, self.dataset, self.method.key, self.epsilon, self.count)
        return np.random.default_rng(np.random.SeedSequence(int(names, 16)))

    def key(self, fingerprint: str) -> str:
        """The name of the case in a folder: it holds everything the numbers depend on."""
        row, noise = self.method.row, self.method.noise(count=self.count, epsilon=self.epsilon)
        law = (
            *noise,
            self.method.raise_by,
            self.method.passes,
            self.method.selection if row is None else row.redraws_threshold,
        )
        names = (self.dataset, self.method.key, self.epsilon, self.count, self.runs, self.seed)
        return stable_hash(SIMULATOR, fingerprint, *law, *names)

    def compute(self, ladder: Ladder) -> Record:
        """Simulate and measure."""
        start = time.perf_counter()
        rungs = simulate(
            self.method, ladder, count=self.count, epsilon=self.epsilon, runs=self.runs, rng=self.generator()
        )
        found = measure(ladder, rungs, count=self.count).summary()
        return found | {"seconds": time.perf_counter() - start}


Finished: TypeAlias = Generator[tuple[ExperimentCase, Record], None, None]


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How far an experiment is: ``done`` of ``total`` cases, of which ``resumed`` were there already."""

    done: int
    total: int
    resumed: int


def compute_all(
    cases: Sequence[ExperimentCase],
    datasets: Mapping[str, Dataset],
    *,
    folder: ResultFolder | None,
    jobs: int,
    progress: Callable[[Progress], object] | None,
) -> dict[ExperimentCase, Record]:
    """Compute the cases that the folder does not have, and keep each as soon as it is done."""
    fingerprints = {name: data.fingerprint for name, data in datasets.items()}
    ladders = {name: data.ladder for name, data in datasets.items()}
    keys = {case: case.key(fingerprints[case.dataset]) for case in cases}
    records = {}
    for case, key in keys.items():
        if folder is not None and (record := folder.load(key)) is not None:
            records[case] = record
    resumed = len(records)

    def report() -> None:
        if progress is not None:
            progress(Progress(done=len(records), total=len(keys), resumed=resumed))

    report()
    missing = [case for case in keys if case not in records]
    with closing(_in_turn(missing, ladders) if jobs == 1 else _by_several(missing, ladders, jobs)) as finished:
        for case, record in finished:
            if folder is not None:
                folder.save(keys[case], record)
            records[case] = record
            report()
    return records


def _in_turn(cases: Sequence[ExperimentCase], ladders: Mapping[str, Ladder]) -> Finished:
    for case in cases:
        yield case, case.compute(ladders[case.dataset])


def _by_several(cases: Sequence[ExperimentCase], ladders: dict[str, Ladder], jobs: int) -> Finished:
    # Spawned, not forked: PyArrow has threads, and a fork copies only one of them.
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(jobs, mp_context=context, initializer=_start_worker, initargs=(ladders,))
    try:
        with _uninterrupted():
            futures = {pool.submit(_work, case): case for case in cases}
        for future in as_completed(futures):
            yield futures[future], future.result()
    finally:
        pool.shutdown(cancel_futures=True)  # after Ctrl-C or an error: what has not begun never will


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


def _start_worker(ladders: dict[str, Ladder]) -> None:
    _ladders.update(ladders)


def _work(case: ExperimentCase) -> Record:
    return case.compute(_ladders[case.dataset])
