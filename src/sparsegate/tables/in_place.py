"""A table that is counted where it lives, by whoever keeps it: nothing but a histogram and names comes out of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from typing import Any, Self

from sparsegate.tables.counting import Pick
from sparsegate.tables.domain import Sized
from sparsegate.tables.question import Question


class CountsInPlace(ABC):
    """What a table says about items: see ``counting.Counted``."""

    @property
    @abstractmethod
    def histogram(self) -> Mapping[int, int]:
        """How many items have each score above 0, by rising score. Private."""

    @property
    def total(self) -> int:
        """How many items have a score."""
        return sum(self.histogram.values())

    @abstractmethod
    def named(self, picks: Sequence[Pick]) -> list[Any]:
        """The labels of the picked members, in the order of the picks: see ``counting.name_picks``."""


class TableInPlace(ABC):
    """Such a table; leaving the context lets go of everything that was opened for it."""

    name: str

    elsewhere: str
    """What to do where something cannot be counted in place."""

    def __init__(self) -> None:
        self._opened = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: Any) -> None:
        # What could not be let go of must not take a finished release with it.
        with suppress(Exception):
            self._opened.__exit__(*exc)

    @abstractmethod
    def counts(self, question: Question, domain: Any) -> tuple[Sized | None, CountsInPlace]:
        """The size of the public domain, None for "observed"; and the counts, made when they are first asked for."""
