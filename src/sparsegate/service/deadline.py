"""One ask and its deadline: the answer leaves at arrival + D, also where the work is not done by then.

The work is done in a thread of its own, which holds the gate's turn; whoever asked waits for it until D is over and no
longer. A count that is still running then is stopped. What the thread does after that is clean up: it takes back an
outcome that was written too late, closes the gate, and gives back the turn.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Generic, NoReturn, TypeVar

from sparsegate.service.gates import OutcomeLost

Answer = TypeVar("Answer")


class Asking(Generic[Answer]):
    """The course of one ask. Without a delay (D = 0) there is no deadline, and no thread."""

    def __init__(self, delay: float) -> None:
        self._delay = delay
        self._changed = threading.Condition()
        self._arrival: float | None = None
        self._intended = False
        self._expired = False
        self._stop: Callable[[], None] | None = None
        self._outcome: Callable[[], Answer] | None = None

    def run(self, work: Callable[[], None]) -> Answer:
        """Do the work, which calls the methods below; return or raise what it delivers, when it may leave."""
        if self._delay:
            threading.Thread(target=self._body, args=(work,), daemon=True).start()
            self._wait()
        else:
            self._body(work)
        outcome = self._outcome
        if self._intended and self._arrival is not None:
            wait_until(self._arrival + self._delay)
        if outcome is None or self._expired:
            raise OutcomeLost
        return outcome()

    def _body(self, work: Callable[[], None]) -> None:
        try:
            work()
        except Exception as error:
            # Before the intent a refusal says why; after it there is one outcome, whatever happened.
            self.deliver(lost if self._intended else partial(_refuse, error))
        finally:
            self.deliver(lost)  # where nothing else was

    def _wait(self) -> None:
        """Until something is delivered, or D is over."""
        with self._changed:
            while self._outcome is None:
                left = None if self._arrival is None else self._arrival + self._delay - time.monotonic()
                if left is not None and left <= 0:
                    self._expired = True
                    break
                self._changed.wait(left)
            stop = self._stop if self._expired else None
        if stop is not None:
            # A count that has just ended by itself cannot be stopped any more, and nobody may be told so.
            with suppress(Exception):
                stop()

    def arrive(self) -> None:
        """The turn has come: D runs from here."""
        with self._changed:
            self._arrival = time.monotonic()
            self._changed.notify()

    def intend(self) -> None:
        """The intent is committed: from here on whatever comes of it leaves at arrival + D."""
        self._intended = True

    def can_stop(self, stop: Callable[[], None]) -> None:
        """The count has begun, and this stops it."""
        with self._changed:
            self._stop = stop
            expired = self._expired
        if expired:
            stop()

    def deliver(self, outcome: Callable[[], Answer]) -> bool:
        """Hand over what is to be returned or raised; False: too late, ``OutcomeLost`` has left."""
        with self._changed:
            self._stop = None
            if self._expired or (self._outcome is None and self.late):
                self._expired = True
            elif self._outcome is None:
                self._outcome = outcome
            self._changed.notify()
            return not self._expired

    def left(self) -> float:
        """Seconds until the answer leaves."""
        return 0.0 if self._arrival is None else max(self._arrival + self._delay - time.monotonic(), 0.0)

    @property
    def late(self) -> bool:
        """Whether D is over."""
        over = self._arrival is not None and time.monotonic() >= self._arrival + self._delay
        return self._expired or (self._delay > 0 and self._intended and over)

    def leave(self) -> None:
        """Wait until the answer has left."""
        if self._arrival is not None:
            wait_until(self._arrival + self._delay)


def lost() -> NoReturn:
    """The one text for every cause."""
    raise OutcomeLost


def _refuse(error: Exception) -> NoReturn:
    raise error


def wait_until(moment: float) -> None:
    """Sleep until a moment of the monotonic clock."""
    while (left := moment - time.monotonic()) > 0:
        time.sleep(left)
