"""A sign of life on a terminal while a command works: which stage, and since when."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def busy(stage: str) -> Iterator[Callable[[str], None]]:
    """Show the stage and the time elapsed, never how much is done: that would tell how many rows there are.

    Yields what changes the stage. Where standard error is no terminal nothing is shown.
    """
    if not sys.stderr.isatty():
        yield lambda stage: None
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(stage, total=None)
        yield lambda stage: progress.update(task, description=stage)
