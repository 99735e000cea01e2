"""Run a function in several threads at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Argument = TypeVar("Argument")
Result = TypeVar("Result")


def at_once(work: Callable[[Argument], Result], arguments: Iterable[Argument]) -> list[Result]:
    """Run ``work`` on each argument in a thread of its own; return the results in order, or raise what one raised."""
    each = list(arguments)
    with ThreadPoolExecutor(max_workers=len(each)) as pool:
        return list(pool.map(work, each))
