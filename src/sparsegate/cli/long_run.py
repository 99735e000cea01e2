"""What standard error shows of a run that takes a while: a bar for the whole of it, or a line every few seconds.

Both say the stage, the cases of that stage, how much of the whole has passed, and the expected seconds left. Between
two reports the clock goes on, so that a long case is no stand-still.
"""

from __future__ import annotations

import math
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from time import monotonic

from rich.console import Console
from rich.progress import Progress as Bar
from rich.progress import ProgressColumn, Task
from rich.progress_bar import ProgressBar
from rich.text import Text

from sparsegate.evaluation.experiment.progress import Progress

LINE_SECONDS = 5.0
"""Where there is no terminal, a line is written this often; a shorter run writes none."""


class _Latest:
    """The last report, and what it has become since then. The share never falls: a plan may grow."""

    def __init__(self) -> None:
        self._told: Progress | None = None
        self._at, self._share = 0.0, 0.0

    def tell(self, progress: Progress) -> None:
        self._told, self._at = progress, monotonic()

    def now(self) -> tuple[Progress, float] | None:
        """The progress, and its share; None before the first report."""
        if self._told is None:
            return None
        since = monotonic() - self._at if self._told.elapsed else 0.0  # while processes start, nothing passes
        left = max(self._told.seconds_left - since, 0.0)
        now = replace(self._told, elapsed=self._told.elapsed + since, seconds_left=left)
        self._share = max(self._share, min(now.share, 0.99))
        return now, self._share


class _Shown(ProgressColumn):
    """A column of the bar, made of the latest report."""

    max_refresh = None

    def __init__(self, latest: _Latest, render: Callable[[Progress, float], Text | ProgressBar]) -> None:
        super().__init__()
        self._latest, self._render = latest, render

    def render(self, task: Task) -> Text | ProgressBar:
        found = self._latest.now()
        return Text(task.description) if found is None else self._render(*found)


@contextmanager
def shown_progress() -> Iterator[Callable[[Progress], None]]:
    """Show what is told to the function that this yields, until the run is over."""
    latest = _Latest()
    if Console(stderr=True).is_terminal:
        columns = (
            _Shown(latest, lambda now, share: Text(stage_of(now))),
            _Shown(latest, lambda now, share: ProgressBar(total=1.0, completed=share, width=24)),
            _Shown(latest, lambda now, share: Text(left_of(now, share))),
        )
        with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
            bar.add_task("", total=None)
            yield latest.tell
        return
    over = threading.Event()
    lines = threading.Thread(target=_write_lines, args=(latest, over), daemon=True)
    lines.start()
    try:
        yield latest.tell
    finally:
        over.set()
        lines.join()


def _write_lines(latest: _Latest, over: threading.Event) -> None:
    while not over.wait(LINE_SECONDS):
        if (found := latest.now()) is not None:
            sys.stderr.write(f"{stage_of(found[0])}: {left_of(*found)}\n")
            sys.stderr.flush()


def stage_of(progress: Progress) -> str:
    """The stage, and how many of its cases are done.

    >>> stage_of(Progress(what="ablation", done=3, total=192, resumed=0, elapsed=9.0, seconds_left=41.2))
    'ablation 3/192'
    """
    return f"{progress.what} {progress.done}/{progress.total}" if progress.total else progress.what


def left_of(progress: Progress, share: float) -> str:
    """How much has passed, and what is left.

    >>> progress = Progress(what="main", done=3, total=9, resumed=0, elapsed=9.0, seconds_left=75.2)
    >>> left_of(progress, progress.share)
    '10 %, 1:16 left'
    """
    minutes, seconds = divmod(max(1, math.ceil(progress.seconds_left)), 60)
    left = f"{minutes}:{seconds:02}" if minutes else f"{seconds} s"
    return f"{int(100 * share)} %, {left} left"
