"""Options that `reproduce` and `compare` share: on what they run, how often, and where results go.

What standard error shows of a run that takes a while: a bar for the whole of it, or a line every few seconds.

Both say the stage, the cases of that stage, how much of the whole has passed, and the expected seconds left. Between
two reports the clock goes on, so that a long case is no stand-still.
"""

from __future__ import annotations

import math
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import Annotated, TypeVar

import typer
from rich.console import Console
from rich.progress import Progress as Bar
from rich.progress import ProgressColumn, Task
from rich.progress_bar import ProgressBar
from rich.text import Text

from sparsegate.errors import ParameterError, SparsegateError, load_extra
from sparsegate.paper.data import PUBLISHED
from sparsegate.paper.workers import Progress, WorkerPool, WorkPlan

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


_T = TypeVar("_T")


def joined(values: Iterable[object]) -> str:
    """Values with commas between: what ``listed`` reads.

    >>> joined((25, 50))
    '25,50'
    """
    return ",".join(map(str, values))


ALL_DATASETS = joined(PUBLISHED)

Counts = Annotated[str, typer.Option(metavar="LIST", help="Values of c, with commas between.")]
Epsilons = Annotated[str, typer.Option("--epsilon", metavar="LIST", help="One epsilon or more, with commas between.")]
Datasets = Annotated[str, typer.Option(metavar="LIST", help="Datasets, by name: see `sparsegate datasets`.")]
Data = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=FILE",
        show_default=False,
        help="The real data for a dataset, or one of your own under a new name; may be repeated.",
    ),
]
Records = Annotated[
    list[str] | None,
    typer.Option(
        metavar="[NAME=]N", show_default=False, help="How many records a file of counts is of; may be repeated."
    ),
]
ScaleToRecords = Annotated[
    bool, typer.Option("--scale-to-records", help="Accept shorter files, and scale their counts.")
]
FirstRuns = Annotated[int, typer.Option("--runs", help="Runs of each cell, to begin with.")]
Jobs = Annotated[int | None, typer.Option(show_default="one a CPU", help="Processes.")]
Seed = Annotated[int, typer.Option(help="Same seed, same numbers.")]
Out = Annotated[
    Path, typer.Option(metavar="FOLDER", help="Folder for results and report; finished cells are kept there.")
]


@contextmanager
def workers(jobs: int | None, out: Path) -> Iterator[WorkerPool]:
    """The processes of a long run, and its progress; Ctrl-C, and a disk that is full, say how to go on."""
    load_extra("matplotlib.figure", extra="plots")  # the report comes last: what it needs is asked for before the work
    kept = f"{out} keeps what is finished: the same command goes on"
    try:
        with (
            shown_progress() as show,
            WorkerPool(os.cpu_count() or 1 if jobs is None else jobs, WorkPlan(show)) as pool,
        ):
            yield pool
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"interrupted; {kept}") from None
    except OSError as error:
        raise SparsegateError(f"could not read or write ({error.strerror or error}); {kept}") from error


def listed(text: str, option: str, kind: Callable[[str], _T]) -> list[_T]:
    """What an option says with commas between."""
    try:
        return [kind(part.strip()) for part in text.split(",") if part.strip()]
    except ValueError:
        raise ParameterError(option, "must be numbers with commas between", text) from None


def data_files(pairs: list[str]) -> dict[str, Path]:
    """The file of each dataset that has one."""
    files: dict[str, Path] = {}
    for pair in pairs:
        name, equals, file = pair.partition("=")
        if not equals or not file:
            raise ParameterError("--data", "must look like kosarak=FILE", pair)
        if name in files:
            raise ParameterError("--data", "must name a dataset once", name)
        files[name] = Path(file)
    return files


def data_records(texts: list[str], files: dict[str, Path]) -> dict[str, int]:
    """How many records there are, by name; a number alone is for the one file there is."""
    found = {}
    for text in texts:
        name, equals, number = text.rpartition("=")
        if not number.isdecimal() or (not equals and len(files) != 1):
            rule = "must look like NAME=N, or be a number where there is one --data"
            raise ParameterError("--records", rule, text)
        found[name if equals else next(iter(files))] = int(number)
    return found
