"""One ask and its deadline: the answer leaves at arrival + D, also where the work is not done by then.

The work is done in a thread of its own, which holds the gate's turn; whoever asked waits for it until D is over and no
longer, and has the ask undone and the gate closed at that moment (``overrun``), so that nobody sees when the work
ended. What the thread does after that is clean up: it takes back an outcome that was written later still, and gives
back the turn. A count that is late is not stopped: its work is bounded (``data.constant_work``), and
what could be stopped would tell how far it was.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final, Generic, NoReturn, TypeVar

from sparsegate.errors import OutcomeLost

Answer = TypeVar("Answer")

HEADROOM: Final = 5
"""D is this many times the longest count that is admitted, commits included: a machine is busy at times."""

SHORTEST: Final = 0.25
"""The least D in seconds, unless it is given."""


@dataclass(frozen=True, kw_only=True)
class DelayPlan:
    """How long questions may take, and wait."""

    delay: float = 0.0
    """D in seconds; 0 answers as soon as it can, and then a stopwatch sees how long a count took."""
    capacity: float = math.inf
    """The seconds that a count may take at worst, by public numbers: what could take longer is refused at once."""
    places: int = 4
    """Questions that are counted at once; the others wait, and D does not run."""
    patience: float = 60.0
    """How many seconds a question waits for its turn at a gate."""

    @classmethod
    def measured(cls, *, look: float, commits: float, delay: float | None = None) -> DelayPlan:
        """From a count that looks at every column once, and from the commits of an ask; ``delay`` overrides D.

        Unless D is given, conditions of twice such a look are admitted.

        >>> plan = DelayPlan.measured(look=0.2, commits=0.01)
        >>> plan.delay, round(plan.capacity, 6), DelayPlan.measured(look=0.001, commits=0.01).delay
        (2.1, 0.41, 0.25)
        """
        long = max(SHORTEST, math.ceil(2 * HEADROOM * (look + commits) * 1000 - 1e-6) / 1000)
        longest = (delay or long) / HEADROOM - commits
        return cls(delay=long if delay is None else delay, capacity=max(longest, 1e-9))


class Asking(Generic[Answer]):
    """The course of one ask. Without a delay (D = 0) there is no deadline, and no thread."""

    def __init__(self, delay: float) -> None:
        self._delay = delay
        self._changed = threading.Condition()
        self._arrival: float | None = None
        self._intended = False
        self._expired = False
        self._overrun: Callable[[], None] | None = None
        self._outcome: Callable[[], Answer] | None = None

    def run(self, work: Callable[[], None]) -> Answer:
        """Do the work, which calls the methods below; return or raise what it delivers, when it may leave."""
        if self._delay:
            threading.Thread(target=self._body, args=(work,), daemon=True).start()
            self._wait()
            if self._expired and self._overrun is not None:
                threading.Thread(target=self._overrun, daemon=True).start()
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
            self.deliver(lost)  # does nothing if something was delivered before

    def _wait(self) -> None:
        """Until something is delivered, or D is over."""
        with self._changed:
            while self._outcome is None:
                left = None if self._arrival is None else self._arrival + self._delay - time.monotonic()
                if left is not None and left <= 0:
                    self._expired = True
                    break
                self._changed.wait(left)

    def arrive(self) -> float:
        """The work begins: D runs from here. The moment at which the answer leaves."""
        with self._changed:
            self._arrival = time.monotonic()
            self._changed.notify()
            return self._arrival + self._delay

    def intend(self, overrun: Callable[[], None]) -> None:
        """The intent is committed: from here on whatever comes of it leaves at arrival + D; if nothing has, ``overrun``
        is called then, in a thread of its own."""
        self._intended, self._overrun = True, overrun

    def deliver(self, outcome: Callable[[], Answer]) -> bool:
        """Hand over what is to be returned or raised; False: too late, ``OutcomeLost`` has left."""
        with self._changed:
            if self._expired or (self._outcome is None and self.late):
                self._expired = True
            elif self._outcome is None:
                self._outcome = outcome
            self._changed.notify()
            return not self._expired

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
