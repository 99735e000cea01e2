"""Options that `reproduce` and `compare` share: on what they run, how often, and where results go."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from sparsegate.cli.long_run import shown_progress
from sparsegate.errors import ParameterError, SparsegateError, load_extra
from sparsegate.evaluation.data.datasets import PUBLISHED
from sparsegate.evaluation.experiment.progress import WorkPlan
from sparsegate.evaluation.experiment.workers import WorkerPool

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
