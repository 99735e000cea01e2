"""How many runs a budget buys, in samples or in seconds; and the bar that shows how much of it is gone."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Final

from sparsegate.auditor.blackbox import BlackBox
from sparsegate.auditor.neighbours import require_number, whole

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
        """Runs so far."""
        return self._box.drawn if self._box is not None else 0

    @property
    def elapsed(self) -> float:
        """Seconds since the audit began."""
        return time.perf_counter() - self._begun

    @property
    def gone(self) -> float:
        """The share of the budget that is spent."""
        return max(self.elapsed / self.seconds, self.drawn / self.samples if self.samples else 0.0)

    @property
    def over(self) -> bool:
        """Whether it is time to stop, come what may: a last look that is nearly done is worth a little more time."""
        return self.elapsed >= _OVERRUN * self.seconds

    def runs(self, share: float) -> int:
        """How many runs this share of the whole budget buys; what training costs besides drawing is counted in."""
        if self.samples is not None:
            return int(share * self.samples)
        return int(share * self.seconds * self.drawn / self.elapsed)

    def remaining(self, cost: float) -> int:
        """How many runs the rest of the budget buys at this many seconds a run, with some time to spare."""
        if self.samples is not None:
            return max(self.samples - self.drawn, 0)
        return max(int(_TO_SPARE * (self.seconds - self.elapsed) / max(cost, 1e-9)), 0)


class Bar:
    """A progress bar on stderr where that is a terminal, or nothing. A context manager."""

    def __init__(self, wanted: bool) -> None:
        self._progress: Any = None
        self._task: Any = None
        if wanted:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

            columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
            console = Console(stderr=True)
            self._progress = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
            self._task = self._progress.add_task("audit", total=1.0)

    def __enter__(self) -> Bar:
        if self._progress is not None:
            self._progress.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._progress is not None:
            self._progress.stop()

    def show(self, done: float, what: str) -> None:
        """Say how far the audit is."""
        if self._progress is not None:
            self._progress.update(self._task, completed=min(done, 1.0), description=what)
