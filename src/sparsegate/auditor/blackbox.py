"""The mechanism under audit: called, timed, and held responsible by name.

One thread runs every call and the caller waits for it, so that a call that never comes back can be noticed. What a
timeout can do: the audit ends with an error; a loop in Python code is also ended, by an exception raised inside it.
Code that sleeps or waits outside the interpreter is left behind in its thread, which dies with the process. Code that
never lets go of the interpreter's lock cannot be noticed by anything inside the process.

How many runs a budget buys, in samples or in seconds; and the bar that shows how much of it is gone.
"""

from __future__ import annotations

import contextvars
import copy
import ctypes
import inspect
import math
import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final

import numpy as np

from sparsegate.auditor.neighbours import input_text, require_number, whole
from sparsegate.errors import ParameterError

_SHOWN: Final = 80
_SMALLEST, _LARGEST, _GROWTH = 256, 1 << 16, 4
_POSITIONAL: Final = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def takes_count(mechanism: Callable[..., object]) -> bool:
    """Whether the mechanism needs two positional arguments: a callable that hides its signature does not.

    >>> takes_count(lambda answers: 0), takes_count(lambda answers, n: 0), takes_count(lambda answers, epsilon=1: 0)
    (False, True, False)
    """
    try:
        parameters = inspect.signature(mechanism).parameters.values()
    except (TypeError, ValueError):
        return False
    needed = [p for p in parameters if p.kind in _POSITIONAL and p.default is inspect.Parameter.empty]
    return len(needed) == 2


def name_of(mechanism: Callable[..., object]) -> str:
    """The name that errors and verdicts use: module.function, or the type of a callable object.

    >>> name_of(takes_count)
    'sparsegate.auditor.blackbox.takes_count'
    """
    while hasattr(mechanism, "func"):  # functools.partial
        mechanism = mechanism.func
    owner = mechanism if hasattr(mechanism, "__qualname__") else type(mechanism)
    return f"{owner.__module__}.{owner.__qualname__}"


class BlackBox:
    """Calls the mechanism in a thread of its own, in chunks; counts outcomes. A context manager."""

    def __init__(
        self, mechanism: Callable[..., Any], *, batch: bool | None, call_timeout: float, longest_chunk: float = 2.0
    ) -> None:
        if not callable(mechanism):
            raise ParameterError("mechanism", "must be callable", mechanism, "pass a function of the answers")
        self.name = name_of(mechanism)
        self.batch = takes_count(mechanism) if batch is None else batch
        self.drawn = 0
        self.quickest = math.inf  # seconds a run, in the call that was best at it
        self._mechanism = mechanism
        self._call_timeout = call_timeout
        self._longest = min(longest_chunk, call_timeout / 4)
        self._chunk = _SMALLEST
        self._tasks: queue.SimpleQueue[tuple[Any, int, list[Any]] | None] = queue.SimpleQueue()
        self._results: queue.SimpleQueue[BaseException | None] = queue.SimpleQueue()
        # Settings that are local to a context, such as decimal's, are those of whoever asked for the audit.
        work = contextvars.copy_context().run
        name = f"audit of {self.name}"
        self._thread = threading.Thread(target=work, args=(self._work,), name=name, daemon=True)

    def __enter__(self) -> BlackBox:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._tasks.put(None)

    def chunk(self, wanted: int) -> int:
        """How many outcomes to ask for next."""
        return min(wanted, self._chunk)

    def _resize(self, each: float) -> None:
        """More and more while it is quick, fewer where it is slow: a seeded mechanism is asked alike twice."""
        if each * self._chunk > self._longest:
            self._chunk = max(1, int(self._longest / 2 / each))
        elif each * self._chunk * _GROWTH < self._longest:
            self._chunk = min(self._chunk * _GROWTH, _LARGEST)

    def draw(self, answers: Any, count: int) -> Any:
        """``count`` fresh outcomes: as the batch mechanism returned them, or a list."""
        outcomes: list[Any] = []
        _fresh(answers)  # what cannot be copied is no fault of the mechanism's
        begun = time.perf_counter()
        self._tasks.put((answers, count, outcomes))
        failure = self._wait(answers, outcomes)
        if self.drawn:  # the first call may have had to import and compile
            each = (time.perf_counter() - begun) / count
            self._resize(each)
            self.quickest = min(self.quickest, each)
        self.drawn += count
        if failure is not None:
            rule = f"must answer, but {self.name} raised {type(failure).__name__}: {failure}"
            step = "wrap it so that it takes an array of answers; centre=, queries=(least, most), sensitivity= and "
            step += "patterns=False say which answers it is given"
            raise ParameterError("mechanism", f"{rule} (on {input_text(answers, _SHOWN)})", next_step=step) from failure
        return outcomes[0] if self.batch else outcomes

    def _wait(self, answers: Any, outcomes: list[Any]) -> BaseException | None:
        seen, since = 0, time.perf_counter()
        while True:
            try:
                return self._results.get(timeout=min(0.25, self._call_timeout))
            except queue.Empty:
                if len(outcomes) > seen:
                    seen, since = len(outcomes), time.perf_counter()
                elif time.perf_counter() - since >= self._call_timeout:
                    # SystemExit inside the thread, at its next step of Python code.
                    ident, end = ctypes.c_ulong(self._thread.ident or 0), ctypes.py_object(SystemExit)
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(ident, end)
                    rule = f"must return within call_timeout={self._call_timeout:g} seconds, but {self.name} did not"
                    step = "raise call_timeout=, or look for an endless loop"
                    shown = f"{rule} (on {input_text(answers, _SHOWN)})"
                    raise ParameterError("mechanism", shown, next_step=step) from None

    def _work(self) -> None:
        while (task := self._tasks.get()) is not None:
            answers, count, outcomes = task
            failure: BaseException | None = None
            try:
                if self.batch:
                    outcomes.append(self._mechanism(_fresh(answers), count))
                else:
                    for _ in range(count):
                        outcomes.append(_kept(self._mechanism(_fresh(answers))))
            except BaseException as error:  # also SystemExit: whatever it raised is the mechanism's doing
                failure = error
            self._results.put(failure)


def _fresh(answers: Any) -> Any:
    """The mechanism gets an input of its own: it may change it."""
    if isinstance(answers, np.ndarray):
        return answers.copy()
    try:
        return copy.deepcopy(answers)
    except Exception as error:
        rule = f"must hold inputs that can be copied, one for each run ({type(error).__name__})"
    step = "pass something that makes the input, and let the mechanism make it"
    raise ParameterError("neighbours", rule, next_step=step)


def _kept(outcome: Any) -> Any:
    """The outcome as it is now: a mechanism may write the next one into the same array."""
    try:
        return copy.deepcopy(outcome)
    except Exception:
        return outcome


DEFAULT_SECONDS: Final = 60.0
_LEAST_SAMPLES: Final = 1000
_TO_SPARE: Final = 0.85
_OVERRUN: Final = 1.25
_LONGEST_CHUNK: Final = 2.0  # seconds


class RunBudget:
    """Turns shares of the budget into numbers of runs.

    With ``samples`` the plan does not look at the clock, so a seeded audit repeats itself; ``seconds`` is then only a
    deadline. Without it the plan follows the speed observed so far.
    """

    def __init__(self, samples: int | None, seconds: float | None) -> None:
        if samples is not None:
            rule = f"must be a whole number, {_LEAST_SAMPLES} at least"
            samples = whole("samples", samples, rule, _LEAST_SAMPLES, "pass e.g. samples=100_000")
        if seconds is not None:
            rule = "must be a positive number of seconds"
            require_number("budget_seconds", seconds, rule, lambda x: 0 < x < math.inf, "pass e.g. budget_seconds=60")
        self.samples = samples
        self.seconds = seconds if seconds is not None else math.inf if samples is not None else DEFAULT_SECONDS
        self._begun = time.perf_counter()
        self._box: BlackBox | None = None

    def box(self, mechanism: Callable[..., Any], *, batch: bool | None, call_timeout: float) -> BlackBox:
        """The mechanism whose runs are counted, in chunks that are short beside the budget."""
        longest = _LONGEST_CHUNK if self.samples is not None else min(_LONGEST_CHUNK, self.seconds / 50)
        self._box = BlackBox(mechanism, batch=batch, call_timeout=call_timeout, longest_chunk=longest)
        return self._box

    @property
    def drawn(self) -> int:
        return self._box.drawn if self._box is not None else 0

    @property
    def elapsed(self) -> float:
        return time.perf_counter() - self._begun

    @property
    def gone(self) -> float:
        return max(self.elapsed / self.seconds, self.drawn / self.samples if self.samples else 0.0)

    @property
    def over(self) -> bool:
        """Whether it is time to stop, come what may: a last look that is nearly done is worth a little more time."""
        return self.elapsed >= _OVERRUN * self.seconds

    def remaining(self, cost: float | None = None) -> int:
        """How many runs the rest of the budget buys, at this many seconds a run or the least seen."""
        if self.samples is not None:
            return max(self.samples - self.drawn, 0)
        if cost is None:
            cost = self._box.quickest if self._box is not None else math.inf
        return max(int(_TO_SPARE * (self.seconds - self.elapsed) / max(cost, 1e-9)), 0)

    def part(self, runs: int, share: float, *, last: bool) -> Part:
        """So many runs from now on, or this share of the time that is left; the last round looks at the time alone."""
        end = self.drawn + _OVERRUN * runs
        gone = self.gone + _OVERRUN * share * (1 - self.gone)
        if last and self.samples is None:
            end = math.inf
        return Part(total=runs, over=lambda: self.drawn >= end or self.gone >= gone)


@dataclass(frozen=True, kw_only=True)
class Part:
    """A part of the budget: how many runs it is, and whether it is spent."""

    total: int
    over: Callable[[], bool]


def progress_bar(wanted: bool) -> Any:
    """A bar of rich on stderr where that is a terminal, or one that shows nothing. A context manager."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    console = Console(stderr=True)
    return Progress(*columns, console=console, transient=True, disable=not (wanted and console.is_terminal))
