"""What `reproduce` and `compare` share: on what they run, how often, where results go, and their progress."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Annotated, Any, TypeVar

import typer

from sparsegate.cli.options import option
from sparsegate.errors import ParameterError, SparsegateError, load_extra
from sparsegate.paper.data import PUBLISHED
from sparsegate.paper.workers import Progress

LINE_SECONDS = 5.0
"""Where there is no terminal, a line is written at most this often; a shorter run writes none."""

_T = TypeVar("_T")


def joined(values: Iterable[object]) -> str:
    """Values with commas between: what ``listed`` reads."""
    return ", ".join(map(str, values))


ALL_DATASETS = joined(PUBLISHED)

Counts = Annotated[str, option("LIST", "Values of c, with commas between.")]
Epsilons = Annotated[str, option("LIST", "One epsilon or more, with commas between.", "--epsilon")]
Datasets = Annotated[str, option("LIST", "Datasets, by name: see `sparsegate datasets`.")]
Data = Annotated[
    list[str] | None,
    option("NAME=FILE", "The real data for a dataset, or one of your own under a new name; may be repeated."),
]
Records = Annotated[list[str] | None, option("[NAME=]N", "How many records a file of counts is of; may be repeated.")]
ScaleToRecords = Annotated[bool, option("", "Accept shorter files, and scale their counts.", "--scale-to-records")]
FirstRuns = Annotated[int, option("", "Runs of each cell, to begin with.", "--runs")]
Latex = Annotated[bool, option("", "Write figures as PDF and tables as LaTeX, too.", "--latex")]
Jobs = Annotated[int | None, option("", "Processes.", show_default="one a CPU")]
Seed = Annotated[int, option("", "Same seed, same numbers.")]
Out = Annotated[Path, option("FOLDER", "Folder for results and report; finished cells are kept there.")]


_SAME = ("scale_to_records", "runs", "seed", "latex")


def shared_grid(told: Mapping[str, Any]) -> dict[str, Any]:
    """The options that both commands have, of all that one was told, as the library takes them."""
    files = _data_files(told["data"] or [])
    return {
        "datasets": listed(told["datasets"], "datasets", str),
        "data": files,
        "records": _data_records(told["records"] or [], files),
        "counts": listed(told["counts"], "counts", int),
        "epsilon": listed(told["epsilon"], "epsilon", float),
        "most_runs": max(told["runs"], told["most_runs"]),
        **{name: told[name] for name in _SAME},
    }


def listed(text: str, parameter: str, kind: Callable[[str], _T]) -> list[_T]:
    """What an option says with commas between."""
    try:
        return [kind(part.strip()) for part in text.split(",") if part.strip()]
    except ValueError:
        raise ParameterError(parameter, "must be numbers with commas between", text) from None


def _data_files(pairs: list[str]) -> dict[str, Path]:
    files: dict[str, Path] = {}
    for pair in pairs:
        name, _, file = pair.partition("=")
        if not file:
            raise ParameterError("data", "must look like kosarak=FILE", pair)
        if name in files:
            raise ParameterError("data", "must name a dataset once", name)
        files[name] = Path(file)
    return files


def _data_records(texts: list[str], files: dict[str, Path]) -> dict[str, int]:
    """How many records there are, by name; a number alone is for the one file there is."""
    numbers = {}
    for text in texts:
        name, equals, number = text.rpartition("=")
        if not number.isdecimal() or (not equals and len(files) != 1):
            rule = "must look like NAME=N, or be a number where there is one --data"
            raise ParameterError("records", rule, text)
        numbers[name if equals else next(iter(files))] = int(number)
    return numbers


@contextmanager
def long_run(jobs: int | None, out: Path) -> Iterator[dict[str, Any]]:
    """How many processes a long run has, and who is told of its progress; what stops it says how to go on."""
    load_extra("matplotlib.figure", extra="plots")  # the report comes last: what it needs is asked for before the work
    kept = f"{out} keeps what is finished: the same command goes on"
    try:
        with shown_progress() as show:
            yield {"jobs": os.cpu_count() or 1 if jobs is None else jobs, "progress": show}
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"interrupted; {kept}") from None
    except OSError as error:
        raise SparsegateError(f"could not read or write ({error.strerror or error}); {kept}") from error


@contextmanager
def shown_progress() -> Iterator[Callable[[Progress], None]]:
    """Show on standard error what is told to the function that this yields: a bar, or a line every few seconds.

    The share never falls: a plan may grow.
    """
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    share, written = 0.0, monotonic()
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(24), TextColumn("{task.fields[left]}"), TimeElapsedColumn())
    with Bar(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=1.0, left="")

        def show(progress: Progress) -> None:
            nonlocal share, written
            share = max(share, min(progress.share, 0.99))
            stage = progress.what + (f" {progress.done}/{progress.total}" if progress.total else "")
            minutes, seconds = divmod(max(1, math.ceil(progress.seconds_left)), 60)
            left = f"{int(100 * share)} %, {f'{minutes}:{seconds:02}' if minutes else f'{seconds} s'} left"
            bar.update(task, description=stage, completed=share, left=left)
            if not console.is_terminal and monotonic() - written >= LINE_SECONDS:
                written = monotonic()
                typer.echo(f"{stage}: {left}", err=True)

        yield show
