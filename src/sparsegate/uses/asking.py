"""The life of a use that asks a gate: one question at a time, in the process it was made in, and none after a lost one.

An answer is *lost* if it was drawn, and then cut short or not stored: nobody may see it, it counts, and nothing follows
it here. So a question is marked before anything is drawn, and the mark goes when its answer may be said.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, NoReturn, Self, TypeVar

from sparsegate.errors import GateClosed
from sparsegate.noise.sources import MARK, Uncopied, birthmark

T = TypeVar("T")


class AsksGate(Uncopied, ABC):
    """What is closed at the end; a context manager."""

    _closed_says: ClassVar[str]
    """Why a question is refused, with the reason in braces, and what to do."""

    def __init__(self) -> None:
        self._born, self._lock, self._lost, self._unsaid = birthmark(), threading.Lock(), False, False

    @property
    @abstractmethod
    def _ended(self) -> str:
        """Why it answers no more; empty while it does."""

    @abstractmethod
    def close(self) -> None:
        """Answer no more, and give back."""

    @property
    def _elsewhere(self) -> bool:
        """Whether this is another process than its maker's."""
        return self._born != MARK[0]

    def _in_turn(self, ask: Callable[..., T], *question: Any) -> T:
        """One question after the other."""
        if self._elsewhere:  # before the lock: a fork may have left it held for ever
            self._refuse()
        with self._lock:
            self._settle()
            return ask(*question)

    def _answered(self, draw: Callable[..., T], *question: Any) -> T:
        """Draw an answer and store it, or lose it."""
        if self._ended:
            self._refuse()
        try:
            self._unsaid = True  # from before it is drawn until it may be said
            answer = draw(*question)
            self._unsaid = False
            return answer
        finally:
            self._settle()

    def _settle(self) -> None:
        """End it where the last answer was lost."""
        if self._unsaid:
            self._lost = True
            self._lose()

    def _lose(self) -> None:
        """What else is due when an answer is lost."""

    def _refuse(self) -> NoReturn:
        raise GateClosed(self._closed_says.format(self._ended))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
